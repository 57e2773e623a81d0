//! What a reply means. The one place where it is decided.
//!
//! Status, code and message of providers contradict each other: a monthly quota comes as −32600 "invalid request", a
//! range limit as −32005 "rate limit", a rate limit as HTTP 200. The words are the most reliable of the three, so they
//! go first; then the status, because a gateway sets it; the code is last, because every vendor has its own. What a
//! contract says steers nothing: its words are cut off before anything is looked for in them.

use serde_json::Value;

use crate::context::CallContext;
use crate::envelope::{Envelope, ErrorParts};
use crate::hint::Hints;
use crate::method::MethodClass;
use crate::range;
use crate::reply::{NoAnswer, Reply, ReplyHeaders};
use crate::rules::{Case, Rule, Rules, Step};
use crate::verdict::{Category, Lack, Reason, Verdict};

/// JSON-RPC's "parse error". Its message quotes what could not be parsed, so the words are the caller's.
const PARSE_ERROR: i64 = -32_700;

/// Judges a reply. Total and pure: the same reply in the same context has the same verdict, and there is always one.
///
/// ```
/// use fusebox_rpc::{CallContext, Category, Reply, ReplyHeaders, Rules, classify};
/// use std::time::{Duration, SystemTime};
///
/// let ctx = CallContext {
///     method: "eth_call", host: "eth.example", id: Some("1"), block: None, head: None, now: SystemTime::UNIX_EPOCH,
/// };
/// let reply = Reply::Http {
///     status: 200,
///     headers: ReplyHeaders { retry_after: Some("2"), ..Default::default() },
///     body: br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"rate limit exceeded"}}"#,
/// };
/// let verdict = classify(&reply, &ctx, Rules::shipped());
/// assert_eq!(verdict.category, Category::RateLimit);
/// assert_eq!(verdict.hint, Some(Duration::from_secs(2)));
/// assert!(!verdict.penalty);
/// ```
#[must_use]
pub fn classify(reply: &Reply<'_>, ctx: &CallContext<'_>, rules: &Rules) -> Verdict {
    match *reply {
        Reply::None(why) => {
            let is_late = matches!(why, NoAnswer::Deadline);
            let category = if is_late { Category::Timeout } else { Category::Network };
            Verdict::new(category, Reason::NoAnswer(why))
        }
        Reply::Http { status, headers, body } => {
            Answer { status: Some(status), headers, ctx, rules }.judge(body)
        }
        Reply::Ws { body } => {
            Answer { status: None, headers: ReplyHeaders::default(), ctx, rules }.judge(body)
        }
    }
}

/// What a body looks like.
enum Body<'a> {
    Html,
    Envelope(Envelope<'a>),
    Text(&'a str),
    /// Empty, truncated, not UTF-8, or JSON of another form.
    Broken,
}

impl<'a> Body<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii();
        let text = || std::str::from_utf8(bytes).ok();
        match bytes.first() {
            None => Self::Broken,
            Some(b'<') => Self::Html,
            Some(b'{' | b'[') => {
                text().and_then(Envelope::parse).map_or(Self::Broken, Self::Envelope)
            }
            Some(_) => text().map_or(Self::Broken, Self::Text),
        }
    }
}

/// A reply that did arrive. No status means a WebSocket message, which counts as 200.
struct Answer<'a> {
    status: Option<u16>,
    headers: ReplyHeaders<'a>,
    ctx: &'a CallContext<'a>,
    rules: &'a Rules,
}

impl Answer<'_> {
    fn judge(&self, body: &[u8]) -> Verdict {
        match Body::of(body) {
            Body::Html if self.status == Some(429) => {
                self.finish(self.shaped(Category::RateLimit), &ErrorParts::default())
            }
            Body::Html => self.finish(self.shaped(Category::Server), &ErrorParts::default()),
            Body::Envelope(envelope) => match envelope.error() {
                Some(parts) => self.finish(self.error(&parts), &parts),
                None => self.no_error(&envelope),
            },
            Body::Text(text) => {
                let parts = ErrorParts::plain(text);
                let case = Case::new(self.ctx, self.status, &parts);
                let said = self
                    .by_words(&case, &parts)
                    .filter(|verdict| is_known_to_gateways(verdict.category));
                self.finish(said.unwrap_or_else(|| self.by_status_alone()), &parts)
            }
            Body::Broken => self.finish(self.by_status_alone(), &ErrorParts::default()),
        }
    }

    fn is_2xx(&self) -> bool {
        self.status.is_none_or(|status| (200..300).contains(&status))
    }

    fn shaped(&self, category: Category) -> Verdict {
        Verdict::new(category, Reason::Shape)
    }

    fn no_error(&self, envelope: &Envelope<'_>) -> Verdict {
        let verdict = match envelope.result {
            None => self.by_status_alone(),
            Some("null") if !self.is_2xx() => self.by_status_alone(),
            Some(_) if !self.is_2xx() || self.is_foreign(envelope.id) => {
                self.shaped(Category::Server)
            }
            Some("null")
                if self.ctx.block.zip(self.ctx.head).is_some_and(|(block, head)| block <= head) =>
            {
                Verdict::new(Category::DataUnavailable, Reason::NullBlock)
            }
            Some(_) => return Verdict::new(Category::Success, Reason::Result),
        };
        self.finish(verdict, &ErrorParts::default())
    }

    /// Whether a result carries another id than the request. Errors are not asked: gateways that answer for a node often
    /// invent one, and the error is about this request all the same.
    fn is_foreign(&self, id: Option<&str>) -> bool {
        let (Some(asked), Some(given)) = (self.ctx.id, id.filter(|id| *id != "null")) else {
            return false;
        };
        let value = |text| serde_json::from_str::<Value>(text).ok();
        asked != given && value(asked) != value(given)
    }

    fn error(&self, parts: &ErrorParts) -> Verdict {
        let case = Case::new(self.ctx, self.status, parts);
        let words = || self.by_words(&case, parts);
        let status = || {
            self.status
                .filter(|status| outranks_code(*status))
                .and_then(|_| self.by(&case, Step::Status))
        };
        let code = || self.by(&case, Step::Code);
        words().or_else(status).or_else(code).unwrap_or_else(|| Verdict {
            penalty: false,
            soft: true,
            ..Verdict::new(Category::Server, Reason::Unknown)
        })
    }

    /// Host rules, then families of phrases.
    fn by_words(&self, case: &Case<'_>, parts: &ErrorParts) -> Option<Verdict> {
        if let Some(verdict) = self.by(case, Step::Host) {
            return Some(verdict);
        }
        if case.code == Some(PARSE_ERROR) {
            return None;
        }
        if parts.reverted {
            return Some(Verdict::new(Category::Revert, Reason::Rule("revert.data".into())));
        }
        let found = self.rules.find(case, |rule| matches!(rule.step, Step::Words(_)));
        match found {
            Some(rule) => Some(self.apply(rule)),
            // Some node said "execution reverted" after words of its own that mean nothing to us.
            None if case.words.iter().any(|words| words.contract_spoke) => {
                Some(Verdict::new(Category::Revert, Reason::Rule("revert.embedded".into())))
            }
            None => None,
        }
    }

    /// Status when there is no error to read; a 2xx without a result is malformed.
    fn by_status_alone(&self) -> Verdict {
        let case = Case { ctx: self.ctx, status: self.status, code: None, words: Vec::new() };
        let by_status = (!self.is_2xx()).then(|| self.by(&case, Step::Status)).flatten();
        by_status.unwrap_or_else(|| self.shaped(Category::Server))
    }

    fn by(&self, case: &Case<'_>, step: Step) -> Option<Verdict> {
        self.rules.find(case, |rule| rule.step == step).map(|rule| self.apply(rule))
    }

    fn apply(&self, rule: &Rule) -> Verdict {
        Verdict {
            lack: rule.lack,
            filter_lost: rule.filter_lost,
            ..Verdict::new(rule.category, Reason::Rule(rule.id.clone()))
        }
    }

    /// Reads out of the error what its category makes meaningful.
    fn finish(&self, mut verdict: Verdict, parts: &ErrorParts) -> Verdict {
        if verdict.category == Category::Quota && parts.backs_off {
            verdict.category = Category::RateLimit;
        }
        if verdict.category == Category::Capability {
            let about_blocks = match verdict.lack {
                Some(lack) => lack == Lack::Range,
                None => self.ctx.class() == MethodClass::Logs,
            };
            verdict.range = range::offered(parts, about_blocks);
            if verdict.lack == Some(Lack::Batch) {
                verdict.max_batch = range::longest(parts);
            }
        }
        if verdict.category.takes_hint() {
            let resets = verdict.category == Category::RateLimit;
            let hints = Hints {
                headers: self.headers,
                waits: &parts.waits,
                texts: &parts.texts,
                resets,
                now: self.ctx.now,
            };
            verdict.hint = hints.longest();
        }
        verdict
    }
}

/// Plain text comes from a gateway, which knows nothing of blocks, transactions and parameters: its "not found" is about
/// a path.
fn is_known_to_gateways(category: Category) -> bool {
    !matches!(
        category,
        Category::DataUnavailable | Category::User | Category::Revert | Category::TxPool
    )
}

/// Statuses that a gateway sets on purpose. 400 and 404 go with any error at all.
fn outranks_code(status: u16) -> bool {
    matches!(status, 401 | 402 | 403 | 408 | 429) || status >= 500
}
