//! One provider: a name, its URLs, and what goes along.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use super::breaker::BreakerSettings;
use super::error::Problem;
use super::table::{Table, text};
use crate::endpoint::Endpoint;
use crate::secret::{SecretText, SecretUrl};

/// Longer names break tables and dashboards.
const LONGEST_NAME: usize = 64;

/// A provider of one chain.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ProviderConfig {
    /// What logs and metrics call it.
    pub name: String,
    /// Its HTTP endpoint.
    pub http: Option<Endpoint>,
    /// Its WebSocket endpoint.
    pub ws: Option<Endpoint>,
    /// Calls per second at most. `None` = no bound of ours.
    pub max_rps: Option<NonZeroU32>,
    /// Its share with the strategy `load_balanced`. Default 1.
    pub weight: NonZeroU32,
    /// Its breakers' settings, merged with those of the file.
    pub breaker: BreakerSettings,
}

impl ProviderConfig {
    pub(super) fn read(
        mut table: Table<'_>,
        chain: u64,
        breaker: &BreakerSettings,
    ) -> Option<Self> {
        let name = read_name(&mut table);
        let headers = read_headers(&mut table);
        let no_url = !table.has("http") && !table.has("ws");
        let http = read_url(&mut table, "http", &HTTP, chain, &headers);
        let ws = read_url(&mut table, "ws", &WS, chain, &headers);
        let max_rps = count(&mut table, "max_rps");
        let weight = count(&mut table, "weight").unwrap_or(NonZeroU32::MIN);
        let breaker = breaker.under(table.table("breaker"));
        if no_url {
            table.fail_here(Problem::NoUrl);
        }
        table.finish();
        Some(Self { name: name?, http, ws, max_rps, weight, breaker })
    }

    /// Its endpoints, with the keys under which they are configured.
    pub(super) fn endpoints(&self) -> impl Iterator<Item = (&'static str, &Endpoint)> {
        [("http", &self.http), ("ws", &self.ws)]
            .into_iter()
            .filter_map(|(key, endpoint)| Some((key, endpoint.as_ref()?)))
    }
}

fn read_name(table: &mut Table<'_>) -> Option<String> {
    let Some(name) = table.text("name") else {
        table.fail("name", Problem::Missing);
        return None;
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(allowed) {
        table.fail("name", Problem::Name);
        return None;
    }
    Some(name)
}

fn count(table: &mut Table<'_>, name: &'static str) -> Option<NonZeroU32> {
    let count = table.number(name, 1, u32::MAX.into())?;
    u32::try_from(count).ok().and_then(NonZeroU32::new)
}

fn read_headers(table: &mut Table<'_>) -> BTreeMap<String, SecretText> {
    let mut headers = BTreeMap::new();
    for (key, name, value) in table.table("headers").into_iter().flat_map(Table::entries) {
        let path = key.strip_prefix(&format!("{}.", table.key)).unwrap_or(&key);
        let Some(value) = text(value) else {
            table.fail(path, Problem::WrongType { wanted: "text" });
            continue;
        };
        let unfilled = unfilled(&value);
        if !unfilled.is_empty() {
            unfilled.into_iter().for_each(|problem| table.fail(path, problem));
        } else if !is_header(&name, &value) {
            table.fail(path, Problem::Header);
        } else {
            headers.insert(name, SecretText::new(value));
        }
    }
    headers
}

/// The token characters of RFC 9110, and a value that needs no quoting and smuggles no second header.
fn is_header(name: &str, value: &str) -> bool {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty()
        && name.bytes().all(token)
        && value.bytes().all(|b| b == b' ' || b.is_ascii_graphic())
}

/// What a URL may begin with.
struct Schemes {
    known: [&'static str; 2],
    in_words: &'static str,
    example: &'static str,
}

const HTTP: Schemes =
    Schemes { known: ["http", "https"], in_words: "http or https", example: "https" };
const WS: Schemes = Schemes { known: ["ws", "wss"], in_words: "ws or wss", example: "wss" };

fn read_url(
    table: &mut Table<'_>,
    name: &'static str,
    schemes: &Schemes,
    chain: u64,
    headers: &BTreeMap<String, SecretText>,
) -> Option<Endpoint> {
    let url = SecretUrl::new(table.text(name)?);
    let unfilled = unfilled(url.expose());
    if !unfilled.is_empty() {
        unfilled.into_iter().for_each(|problem| table.fail(name, problem));
        return None;
    }
    let endpoint = Endpoint::new(chain, &url, headers);
    match url.parse() {
        Some(parsed) if schemes.known.contains(&parsed.scheme()) && endpoint.is_some() => {
            return endpoint;
        }
        Some(_) => table.fail(name, Problem::Scheme { wanted: schemes.in_words }),
        None => table.fail(name, Problem::Url { wanted: schemes.example }),
    }
    None
}

/// A problem for each variable that is still written as `${NAME}`.
fn unfilled(text: &str) -> Vec<Problem> {
    let name = |rest: &str| {
        let (name, _) = rest.split_once('}')?;
        let is_name =
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        is_name.then(|| name.to_owned())
    };
    let problem =
        |rest| name(rest).map_or(Problem::VariableName, |name| Problem::Variable { name });
    text.split("${").skip(1).map(problem).collect()
}
