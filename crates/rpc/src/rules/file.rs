//! What a file of rules looks like, and what can be wrong with one.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::Deserialize;

use super::{FAMILIES, Rule, Step};
use crate::method::MethodClass;
use crate::phrase::Phrase;
use crate::verdict::{Category, Lack};

/// What is wrong with a file of rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RulesError {
    /// It is no TOML, or has a key or a value that rules do not have.
    #[error("rules: {0}")]
    Syntax(Box<toml::de::Error>),
    /// Two rules of one file share an id.
    #[error("rules: two rules have the id {id:?}; rename one")]
    Duplicate {
        /// The id.
        id: String,
    },
    /// A rule that would match everything.
    #[error("rules: {id:?} has none of hosts, status, codes and phrases; add one")]
    Unconditional {
        /// The rule.
        id: String,
    },
    /// A phrase without any letters or digits.
    #[error("rules: {id:?} has the phrase {phrase:?}, which has no words; remove it")]
    BlankPhrase {
        /// The rule.
        id: String,
        /// The phrase.
        phrase: String,
    },
    /// A rule cannot make an error a success, nor tell that nothing arrived.
    #[error(
        "rules: {id:?} has the category {category}, which is not decided by rules; choose another"
    )]
    Category {
        /// The rule.
        id: String,
        /// Its category.
        category: Category,
    },
    /// A status that no HTTP reply has.
    #[error(
        "rules: {id:?} has the status {text:?}; write 100 … 599 or a range such as \"500-599\""
    )]
    Status {
        /// The rule.
        id: String,
        /// What it says.
        text: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleFile {
    #[serde(default)]
    pub(super) hosts: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub(super) rule: Vec<RuleText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleText {
    pub(super) id: String,
    pub(super) category: Category,
    pub(super) lack: Option<Lack>,
    #[serde(default)]
    pub(super) filter_lost: bool,
    #[serde(default)]
    pub(super) late: bool,
    #[serde(default)]
    pub(super) hosts: Vec<String>,
    #[serde(default)]
    pub(super) methods: Vec<String>,
    #[serde(default)]
    pub(super) classes: Vec<MethodClass>,
    #[serde(default)]
    pub(super) status: Vec<StatusText>,
    #[serde(default)]
    pub(super) codes: Vec<i64>,
    #[serde(default)]
    pub(super) phrases: Vec<String>,
    #[serde(default)]
    pub(super) unless: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum StatusText {
    One(i64),
    Range(String),
}

impl StatusText {
    fn range(&self) -> Result<RangeInclusive<u16>, String> {
        let (first, last) = match self {
            Self::One(status) => (u16::try_from(*status).ok(), u16::try_from(*status).ok()),
            Self::Range(text) => {
                text.split_once('-').map_or((None, None), |(a, b)| (a.parse().ok(), b.parse().ok()))
            }
        };
        match (first, last) {
            (Some(first @ 100..=599), Some(last @ 100..=599)) if first <= last => Ok(first..=last),
            _ => Err(match self {
                Self::One(status) => status.to_string(),
                Self::Range(text) => text.clone(),
            }),
        }
    }
}

impl TryFrom<RuleText> for Rule {
    type Error = RulesError;

    fn try_from(text: RuleText) -> Result<Self, RulesError> {
        let id = text.id.clone();
        if !FAMILIES.contains(&text.category) {
            return Err(RulesError::Category { id, category: text.category });
        }
        let Some(step) = Step::of(&text) else { return Err(RulesError::Unconditional { id }) };
        let phrases = |raw: &[String]| {
            let parse = |phrase: &String| {
                Phrase::parse(phrase).ok_or_else(|| RulesError::BlankPhrase {
                    id: text.id.clone(),
                    phrase: phrase.clone(),
                })
            };
            raw.iter().map(parse).collect::<Result<Vec<_>, _>>()
        };
        let status = text.status.iter().map(StatusText::range).collect::<Result<Vec<_>, _>>();
        Ok(Self {
            category: text.category,
            lack: text.lack,
            filter_lost: text.filter_lost,
            step,
            phrases: phrases(&text.phrases)?,
            unless: phrases(&text.unless)?,
            status: status.map_err(|text| RulesError::Status { id: id.clone(), text })?,
            id: id.into(),
            hosts: text.hosts,
            methods: text.methods,
            classes: text.classes,
            codes: text.codes,
        })
    }
}
