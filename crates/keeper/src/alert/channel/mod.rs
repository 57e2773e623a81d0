//! Where messages go: what a channel is sent, and what it says to that.

mod chat;
mod pagerduty;
mod template;
mod webhook;

pub(crate) use template::TemplateError;

use super::{
    http::{Heard, Request, UrlError, checked},
    markup::Markup,
    text::Text,
};
use crate::config::{ChannelKind, ChannelSettings, Storm};
use chat::Chat;
use fusebox_rpc::{Scrubber, SecretText};
use pagerduty::PagerDuty;
use serde_json::Value;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use template::Template;
use webhook::Webhook;

/// How much of what a channel says about an error is kept.
const SAID: usize = 200;

/// A channel that can be sent to.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) name: String,
    /// Where many messages become one; never for programs, which count what they get.
    pub(crate) storm: Option<Storm>,
    kind: Kind,
    template: Option<Template>,
    /// Whether it was told that the template fails.
    told: AtomicBool,
    secrets: Scrubber,
}

#[derive(Debug)]
enum Kind {
    Webhook(Webhook),
    Chat(Chat),
    PagerDuty(PagerDuty),
}

/// A channel that cannot be. Nothing of a secret is shown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChannelError {
    #[error("channel.{channel}.url {why}")]
    Url { channel: String, why: UrlError },
    #[error("channel.{channel}.secrets[{nth}] {why}")]
    Secret { channel: String, nth: usize, why: SecretError },
    #[error(
        "channel.{channel} has no secret, and receivers could not tell its messages from others'"
    )]
    Unsigned { channel: String },
    #[error("channel.{channel}.template: {why}")]
    Template { channel: String, why: TemplateError },
    #[error(
        "channel.{channel} is a webhook, which has no template: its document is what programs read"
    )]
    NoTemplate { channel: String },
}

/// A secret that cannot sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SecretError {
    #[error("does not begin with whsec_")]
    Prefix,
    #[error("is no base64 after whsec_")]
    Base64,
    #[error("has {0} bytes in place of 24 to 64")]
    Length(usize),
}

impl Channel {
    /// # Errors
    /// [`ChannelError`].
    pub(crate) fn new(settings: &ChannelSettings) -> Result<Self, ChannelError> {
        let name = &settings.name;
        let url =
            |url| checked(url).map_err(|why| ChannelError::Url { channel: name.clone(), why });
        let mut secrets = Scrubber::default();
        let kind = match &settings.kind {
            ChannelKind::Webhook { url: to, secrets } => {
                Kind::Webhook(Webhook::new(name, url(to)?, secrets)?)
            }
            ChannelKind::Slack { url: to } => Kind::Chat(Chat::Slack(url(to)?)),
            ChannelKind::Discord { url: to } => Kind::Chat(Chat::Discord(url(to)?)),
            ChannelKind::Telegram { token, chat, url: to } => {
                secrets.add(token.expose());
                // A bot's number and its secret.
                token.expose().split(':').skip(1).for_each(|part| secrets.add(part));
                Kind::Chat(Chat::telegram(url(to)?, token, chat))
            }
            ChannelKind::PagerDuty { key, url: to } => {
                secrets.add(key.expose());
                Kind::PagerDuty(PagerDuty { url: url(to)?, key: key.clone() })
            }
        };
        if let Kind::Chat(chat) = &kind {
            // Every part: tokens of chats are parts of paths.
            secrets.add_url(chat.url());
            chat.url().path_segments().into_iter().flatten().for_each(|part| secrets.add(part));
        }
        let template = match (&settings.template, kind.markup()) {
            (None, _) => None,
            (Some(_), None) => return Err(ChannelError::NoTemplate { channel: name.clone() }),
            (Some(source), Some(markup)) => Some(
                Template::new(source, markup)
                    .map_err(|why| ChannelError::Template { channel: name.clone(), why })?,
            ),
        };
        let storm = settings.storm.filter(|_| matches!(kind, Kind::Chat(_)));
        let told = AtomicBool::new(false);
        Ok(Self { name: name.clone(), storm, kind, template, told, secrets })
    }

    /// Whether people read it, line after line.
    pub(crate) fn is_chat(&self) -> bool {
        matches!(self.kind, Kind::Chat(_))
    }

    /// Whether the answer 410 is a wish never to be asked again.
    pub(crate) fn ends_when_gone(&self) -> bool {
        matches!(self.kind, Kind::Webhook(_))
    }

    /// What is sent at that time, in unix seconds: one document, or several about one key in one.
    pub(crate) fn request(&self, id: &str, bodies: &[&str], now: u64) -> Request {
        let parsed = || bodies.iter().map(|body| serde_json::from_str(body).unwrap_or_default());
        match (&self.kind, bodies) {
            (Kind::Webhook(webhook), bodies) => {
                // Never merged: there is one.
                webhook.request(id, bodies.last().copied().unwrap_or_default(), now)
            }
            (Kind::Chat(chat), [_]) => {
                let body = parsed().next().unwrap_or_default();
                chat.request(&self.markup(&body, chat.markup()), &body)
            }
            (Kind::Chat(chat), _) => {
                let bodies: Vec<Value> = parsed().collect();
                let text = laid_out(&Text::of_many(&bodies), chat.markup());
                chat.request(&text, bodies.last().unwrap_or(&Value::Null))
            }
            (Kind::PagerDuty(pagerduty), _) => {
                let body = parsed().next_back().unwrap_or_default();
                pagerduty.request(&self.markup(&body, Markup::Plain), &body)
            }
        }
    }

    /// What people read, by the template if there is one and it can.
    fn markup(&self, body: &Value, markup: Markup) -> String {
        let text = Text::of(body);
        let Some(template) = &self.template else {
            // The summary of an incident is its title; the rest is in its details.
            return match markup {
                Markup::Plain => markup.fit(&markup.line(&text.title), "", false),
                _ => laid_out(&text, markup),
            };
        };
        match template.render(body, &text) {
            Ok(made) => markup.fit(&made, &links(&text, markup), false),
            Err(error) => {
                // An alert in other words is better than none.
                if !self.told.swap(true, Ordering::Relaxed) {
                    crate::output::log(&format!(
                        "channel {}: its template fails, so the built-in text is sent: {error}",
                        self.name
                    ));
                }
                laid_out(&text, markup)
            }
        }
    }

    /// What the template makes of a document.
    ///
    /// # Errors
    /// When it cannot.
    pub(crate) fn preview(&self, body: &Value) -> Result<(), TemplateError> {
        self.template.as_ref().map_or(Ok(()), |it| it.render(body, &Text::of(body)).map(drop))
    }

    /// When it wants it again, by its own words; and what it says about the error.
    pub(crate) fn said(&self, heard: &Heard) -> (Option<Duration>, Option<String>) {
        let Heard::Answer { retry_after, body, .. } = heard else { return (None, None) };
        let document: Value = serde_json::from_slice(body).unwrap_or_default();
        let (hint, text) = match &self.kind {
            // The answer of anybody's program may quote anything.
            Kind::Webhook(_) => (None, None),
            Kind::Chat(chat) => chat.said(&document, body),
            Kind::PagerDuty(_) => (None, document["message"].as_str().map(ToOwned::to_owned)),
        };
        let text = text.map(|text| {
            let clean = self.secrets.scrub(&text);
            clean.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SAID).collect()
        });
        (hint.max(*retry_after), text)
    }
}

impl Kind {
    fn markup(&self) -> Option<Markup> {
        match self {
            Self::Webhook(_) => None,
            Self::Chat(chat) => Some(chat.markup()),
            Self::PagerDuty(_) => Some(Markup::Plain),
        }
    }
}

/// The built-in text.
fn laid_out(text: &Text, markup: Markup) -> String {
    let lines = text.lines.iter().map(|line| markup.line(line));
    let all: Vec<_> = std::iter::once(markup.bold(&text.title)).chain(lines).collect();
    markup.fit(&all.join("\n"), &links(text, markup), true)
}

fn links(text: &Text, markup: Markup) -> String {
    let link = |(name, url): &(&str, String)| {
        // A runbook may be a path in the repository.
        markup.link(name, url).or_else(|| {
            (!url.contains("://") && url.len() < SAID)
                .then(|| markup.line(&format!("{name}: {url}")))
        })
    };
    text.links.iter().filter_map(link).collect::<Vec<_>>().join(" · ")
}
