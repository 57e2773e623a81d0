//! What a caller tells the breaker about a call.

use std::fmt;
use std::time::Duration;

/// What kind of failure it was. Each kind has its own streak, and may have its own threshold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Category(u8);

impl Category {
    /// How many there are.
    pub const COUNT: usize = 8;

    /// No kind was given.
    pub const GENERIC: Self = Self(0);
    /// It answered, with an error of its own making.
    pub const SERVER: Self = Self(1);
    /// It could not be reached.
    pub const NETWORK: Self = Self(2);
    /// It did not answer in time.
    pub const TIMEOUT: Self = Self(3);
    /// It refused the caller's credentials.
    pub const AUTH: Self = Self(4);
    /// It answers with what was true some time ago.
    pub const LAG: Self = Self(5);
    /// Free for use.
    pub const CUSTOM_A: Self = Self(6);
    /// Free for use.
    pub const CUSTOM_B: Self = Self(7);

    /// All of them, in the order of their index.
    pub const ALL: [Self; Self::COUNT] = [
        Self::GENERIC,
        Self::SERVER,
        Self::NETWORK,
        Self::TIMEOUT,
        Self::AUTH,
        Self::LAG,
        Self::CUSTOM_A,
        Self::CUSTOM_B,
    ];

    const NAMES: [&'static str; Self::COUNT] =
        ["generic", "server", "network", "timeout", "auth", "lag", "custom_a", "custom_b"];

    /// Its place in [`Category::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The name it has unless [`CategoryNames`] gives another.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::NAMES[self.index()]
    }

    /// The category of that name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|category| category.name() == name)
    }

    pub(crate) const fn from_bits(bits: u8) -> Self {
        Self(bits & 0b111)
    }
}

impl fmt::Debug for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How an application calls its categories, where that differs from [`Category::name`].
///
/// Only for display: configuration and data keep the fixed names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CategoryNames([Option<Box<str>>; Category::COUNT]);

impl CategoryNames {
    /// Gives `category` another name.
    #[must_use]
    pub fn with(mut self, category: Category, name: &str) -> Self {
        self.0[category.index()] = Some(name.into());
        self
    }

    /// The name of `category`.
    #[must_use]
    pub fn get(&self, category: Category) -> &str {
        self.0[category.index()].as_deref().unwrap_or(category.name())
    }

    #[cfg(feature = "serde")]
    pub(crate) fn given(&self) -> impl Iterator<Item = (Category, &str)> {
        Category::ALL.into_iter().filter_map(|c| self.0[c.index()].as_deref().map(|name| (c, name)))
    }
}

/// A failure, as the breaker needs to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind of failure it was.
    pub category: Category,
    /// How long the other side asked to be left alone. If this failure opens the breaker, it replaces the back-off.
    pub retry_after: Option<Duration>,
}

impl Failure {
    /// A failure without a hint.
    #[must_use]
    pub const fn new(category: Category) -> Self {
        Self { category, retry_after: None }
    }

    /// The same failure with a hint.
    #[must_use]
    pub const fn retry_after(self, hint: Duration) -> Self {
        Self { category: self.category, retry_after: Some(hint) }
    }
}

impl From<Category> for Failure {
    fn from(category: Category) -> Self {
        Self::new(category)
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did what it should.
    Success,
    /// It answered in time, and the caller dislikes the answer: a revert, bad parameters. It is healthy, but this is no
    /// sample in a window.
    Answered,
    /// Nothing can be concluded: a rate limit, a hedge that lost.
    Neutral,
    /// It failed.
    Failure(Failure),
}

impl Outcome {
    /// A failure of `category` without a hint.
    #[must_use]
    pub const fn failure(category: Category) -> Self {
        Self::Failure(Failure::new(category))
    }
}
