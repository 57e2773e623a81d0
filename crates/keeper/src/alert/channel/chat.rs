//! Chats: Slack's incoming webhooks, Discord's webhooks, and Telegram's bots.

use super::{Markup, Request, SecretText};
use crate::alert::{Severity, text::severity};
use serde_json::{Value, json};
use std::{fmt, time::Duration};
use url::Url;

pub(super) enum Chat {
    Slack(Url),
    Discord(Url),
    Telegram { url: Url, chat: String },
}

impl fmt::Debug for Chat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Slack(_) => "Slack",
            Self::Discord(_) => "Discord",
            Self::Telegram { .. } => "Telegram",
        })
    }
}

impl Chat {
    /// A bot's token is a part of its URL.
    pub(super) fn telegram(mut url: Url, token: &SecretText, chat: &str) -> Self {
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push(&format!("bot{}", token.expose())).push("sendMessage");
        }
        Self::Telegram { url, chat: chat.to_owned() }
    }

    pub(super) fn url(&self) -> &Url {
        match self {
            Self::Slack(url) | Self::Discord(url) | Self::Telegram { url, .. } => url,
        }
    }

    pub(super) fn markup(&self) -> Markup {
        match self {
            Self::Slack(_) => Markup::Slack,
            Self::Discord(_) => Markup::Discord,
            Self::Telegram { .. } => Markup::Telegram,
        }
    }

    /// The text, and the document that it is made of.
    pub(super) fn request(&self, text: &str, body: &Value) -> Request {
        let document = match self {
            Self::Slack(_) => json!({ "text": text, "unfurl_links": false }),
            Self::Discord(_) => json!({
                "embeds": [{ "description": text, "color": colour(severity(body)) }],
                // Whatever a label says, nobody is called.
                "allowed_mentions": { "parse": [] },
            }),
            Self::Telegram { chat, .. } => json!({
                "chat_id": chat,
                "text": text,
                "parse_mode": "HTML",
                "link_preview_options": { "is_disabled": true },
            }),
        };
        Request::json(self.url().clone(), document.to_string().into_bytes())
    }

    pub(super) fn said(&self, document: &Value, body: &[u8]) -> (Option<Duration>, Option<String>) {
        let (hint, text) = match self {
            // A word as it is: `invalid_payload`, `no_service`.
            Self::Slack(_) => (None, Some(String::from_utf8_lossy(body).into_owned())),
            Self::Discord(_) => (document["retry_after"].as_f64(), text(&document["message"])),
            Self::Telegram { .. } => {
                (document["parameters"]["retry_after"].as_f64(), text(&document["description"]))
            }
        };
        // What is no time, as a negative number, is no hint.
        (hint.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()), text)
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(ToOwned::to_owned)
}

fn colour(severity: Severity) -> u32 {
    match severity {
        Severity::Info => 0x4f_81_bd,
        Severity::Warning => 0xe0_8e_0b,
        Severity::Critical => 0xc0_39_2b,
    }
}
