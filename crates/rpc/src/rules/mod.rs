//! The rules of classification, as data.
//!
//! Providers change their words more often than we release. So what their words mean is a file: a user who meets a new
//! payload adds a rule to a file of their own, and sends us the payload.

mod file;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};

use crate::context::CallContext;
use crate::envelope::ErrorParts;
use crate::method::MethodClass;
use crate::phrase::{Phrase, Words};
use crate::verdict::{Category, Lack};
use file::{RuleFile, RuleText};

pub use file::RulesError;

/// The file that ships with this crate.
const SHIPPED: &str = include_str!("../../data/rules.toml");

/// Which families of phrases are looked at before which. The order is the order of trust: words about a revert are the
/// most specific there are, "invalid" is the least.
const FAMILIES: [Category; 10] = [
    Category::Revert,
    Category::TxPool,
    Category::Capability,
    Category::Quota,
    Category::RateLimit,
    Category::Auth,
    Category::DataUnavailable,
    Category::Timeout,
    Category::Server,
    Category::User,
];

/// What words, codes and statuses mean. See `data/rules.toml` in this crate for the format.
#[derive(Debug, Clone)]
pub struct Rules {
    hosts: BTreeMap<String, Vec<String>>,
    rules: Vec<Rule>,
}

/// One rule: it applies where everything that it names applies.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) id: Arc<str>,
    pub(crate) category: Category,
    pub(crate) lack: Option<Lack>,
    pub(crate) filter_lost: bool,
    pub(crate) step: Step,
    hosts: Vec<String>,
    methods: Vec<String>,
    classes: Vec<MethodClass>,
    status: Vec<RangeInclusive<u16>>,
    codes: Vec<i64>,
    phrases: Vec<Phrase>,
    unless: Vec<Phrase>,
}

/// When a rule is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// It names hosts: before all others, as it knows most.
    Host,
    /// It names words.
    Words(usize),
    /// It names a status only.
    Status,
    /// It names codes.
    Code,
}

impl Step {
    fn of(rule: &RuleText) -> Option<Self> {
        if !rule.hosts.is_empty() {
            return Some(Self::Host);
        }
        if !rule.phrases.is_empty() {
            // A lost filter comes right after reverts: what is to be done about it differs from all other absences.
            let family = FAMILIES.iter().position(|family| *family == rule.category)?;
            return Some(Self::Words(match (rule.late, rule.filter_lost) {
                (true, _) => FAMILIES.len() * 2,
                (false, true) => 1,
                (false, false) => family * 2,
            }));
        }
        match (rule.codes.is_empty(), rule.status.is_empty()) {
            (false, _) => Some(Self::Code),
            (true, false) => Some(Self::Status),
            (true, true) => None,
        }
    }
}

/// The error under judgement.
pub(crate) struct Case<'a> {
    pub(crate) ctx: &'a CallContext<'a>,
    pub(crate) status: Option<u16>,
    pub(crate) code: Option<i64>,
    pub(crate) words: Vec<Words>,
}

impl<'a> Case<'a> {
    pub(crate) fn new(ctx: &'a CallContext<'a>, status: Option<u16>, parts: &ErrorParts) -> Self {
        Self {
            ctx,
            status,
            code: parts.code,
            words: parts.texts.iter().map(|text| Words::new(text)).collect(),
        }
    }
}

impl Rules {
    /// The rules that ship with this crate.
    #[must_use]
    pub fn shipped() -> &'static Self {
        static SHIPPED_RULES: OnceLock<Rules> = OnceLock::new();
        SHIPPED_RULES.get_or_init(|| Self::parse(SHIPPED).expect("the shipped file is tested"))
    }

    /// Rules from the text of one file, without the shipped ones.
    ///
    /// # Errors
    ///
    /// The first thing wrong with the file.
    pub fn parse(text: &str) -> Result<Self, RulesError> {
        let file: RuleFile =
            toml::from_str(text).map_err(|error| RulesError::Syntax(Box::new(error)))?;
        let mut seen = BTreeSet::new();
        if let Some(rule) = file.rule.iter().find(|rule| !seen.insert(rule.id.as_str())) {
            return Err(RulesError::Duplicate { id: rule.id.clone() });
        }
        let mut rules = file.rule.into_iter().map(Rule::try_from).collect::<Result<Vec<_>, _>>()?;
        rules.sort_by_key(|rule| rule.step);
        Ok(Self { hosts: file.hosts, rules })
    }

    /// These rules with a user's file on top: a rule with a known id takes its place, a new one is looked at before
    /// all of its kind, and host names are added.
    ///
    /// # Errors
    ///
    /// As [`Rules::parse`].
    pub fn with(&self, text: &str) -> Result<Self, RulesError> {
        let mut merged = Self::parse(text)?;
        let known = |rules: &[Rule], id: &str| rules.iter().any(|rule| &*rule.id == id);
        let kept: Vec<_> =
            self.rules.iter().filter(|rule| !known(&merged.rules, &rule.id)).cloned().collect();
        merged.rules.extend(kept);
        merged.rules.sort_by_key(|rule| rule.step);
        for (provider, domains) in &self.hosts {
            merged.hosts.entry(provider.clone()).or_default().extend(domains.iter().cloned());
        }
        Ok(merged)
    }

    /// The first rule of a kind that applies.
    pub(crate) fn find(&self, case: &Case<'_>, kind: impl Fn(&Rule) -> bool) -> Option<&Rule> {
        self.rules.iter().filter(|rule| kind(rule)).find(|rule| self.applies(rule, case))
    }

    fn applies(&self, rule: &Rule, case: &Case<'_>) -> bool {
        let said = |phrase: &Phrase| case.words.iter().any(|words| phrase.is_in(words));
        let method = |pattern: &String| match pattern.strip_suffix('*') {
            Some(prefix) => case.ctx.method.starts_with(prefix),
            None => case.ctx.method == pattern,
        };
        let holds = |named: bool, applies: bool| !named || applies;
        holds(
            !rule.hosts.is_empty(),
            rule.hosts.iter().any(|host| self.is_host(host, case.ctx.host)),
        ) && holds(!rule.methods.is_empty(), rule.methods.iter().any(method))
            && holds(!rule.classes.is_empty(), rule.classes.contains(&case.ctx.class()))
            && holds(
                !rule.status.is_empty(),
                case.status
                    .is_some_and(|status| rule.status.iter().any(|range| range.contains(&status))),
            )
            && holds(
                !rule.codes.is_empty(),
                case.code.is_some_and(|code| rule.codes.contains(&code)),
            )
            && holds(!rule.phrases.is_empty(), rule.phrases.iter().any(said))
            && !rule.unless.iter().any(said)
    }

    /// Whether `host` is the provider or the domain `named`, or a subdomain of it.
    fn is_host(&self, named: &str, host: &str) -> bool {
        let under = |domain: &str| {
            host.strip_suffix(domain).is_some_and(|left| left.is_empty() || left.ends_with('.'))
        };
        under(named)
            || self
                .hosts
                .get(named)
                .is_some_and(|domains| domains.iter().any(|domain| under(domain)))
    }
}
