//! `[channel.NAME]` and `[[route]]`: who is told, and of what.

use super::{
    ChannelKind, ChannelSettings, RouteSettings, Storm,
    section::{Section, Web},
    value,
};
use crate::alert::{AlertType, Severity};
use fusebox_rpc::SecretUrl;
use globset::Glob;
use std::{fs, path::Path, time::Duration};

const TELEGRAM: &str = "https://api.telegram.org";
const PAGER_DUTY: &str = "https://events.pagerduty.com/v2/enqueue";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Webhook,
    Slack,
    Discord,
    Telegram,
    PagerDuty,
}

impl Type {
    /// Whether people read along there, whom a storm would drown.
    fn is_chat(self) -> bool {
        matches!(self, Self::Slack | Self::Discord | Self::Telegram)
    }
}

/// All channels, in the order of their names.
pub(super) fn read(root: &mut Section<'_>, folder: &Path) -> Vec<ChannelSettings> {
    let channels = root.entries("channel", |name, section| channel(name, section, folder));
    channels.into_iter().flatten().collect()
}

fn channel(name: &str, section: &mut Section<'_>, folder: &Path) -> Option<ChannelSettings> {
    let types = [
        ("webhook", Type::Webhook),
        ("slack", Type::Slack),
        ("discord", Type::Discord),
        ("telegram", Type::Telegram),
        ("pagerduty", Type::PagerDuty),
    ];
    let kind = section.given_word("type", &types);
    let remedy = "write \"webhook\", \"slack\", \"discord\", \"telegram\" or \"pagerduty\"";
    let Some(of) = section.needed("type", kind, remedy) else {
        // Which keys belong here depends on it.
        section.ignore();
        return None;
    };
    let kind = self::kind(of, section);
    let is_webhook = of == Type::Webhook;
    Some(ChannelSettings {
        name: name.to_owned(),
        confirm: section.flag("confirm", is_webhook),
        storm: match of.is_chat() {
            true => Some(section.section("storm", storm)),
            false => {
                section
                    .later("storm", "is for chats: here each message is sent by itself; remove it");
                None
            }
        },
        template: match is_webhook {
            true => {
                section.later(
                    "template",
                    "is for people: what a webhook sends has a fixed form; remove it",
                );
                None
            }
            false => section.parsed("template", |name| template(&folder.join(name))),
        },
        kind: kind?,
    })
}

fn kind(of: Type, section: &mut Section<'_>) -> Option<ChannelKind> {
    match of {
        Type::Webhook => {
            let (url, secrets) = (url(section), secrets(section));
            Some(ChannelKind::Webhook { url: url?, secrets: secrets? })
        }
        Type::Slack => url(section).map(|url| ChannelKind::Slack { url }),
        Type::Discord => url(section).map(|url| ChannelKind::Discord { url }),
        Type::Telegram => {
            let token = section.secret("token");
            let token = section.needed("token", token, "write token = \"${TG_TOKEN}\"");
            let chat = section.parsed("chat", chat);
            let chat = section.needed("chat", chat, "write the chat's number, or @ and its name");
            Some(ChannelKind::Telegram { url: api(section, TELEGRAM)?, token: token?, chat: chat? })
        }
        Type::PagerDuty => {
            let key = section.secret("key");
            let key =
                section.needed("key", key, "write key = \"${PD_KEY}\", the integration's key");
            Some(ChannelKind::PagerDuty { url: api(section, PAGER_DUTY)?, key: key? })
        }
    }
}

fn url(section: &mut Section<'_>) -> Option<SecretUrl> {
    let url = section.url("url", Web::Key);
    section.needed("url", url, "write url = \"${HOOK_URL}\"")
}

fn secrets(section: &mut Section<'_>) -> Option<Vec<fusebox_rpc::SecretText>> {
    let secrets = section.secrets("secrets");
    let secrets = section.needed("secrets", secrets, "write secrets = [\"${HOOK_SECRET}\"]")?;
    let mut checked = Vec::new();
    for (key, secret) in secrets {
        if let Err(why) = value::webhook_secret(&secret) {
            section.fail_at(key, why);
        }
        checked.push(secret);
    }
    Some(checked)
}

/// Where an API is that takes its key elsewhere.
fn api(section: &mut Section<'_>, default: &str) -> Option<SecretUrl> {
    if section.has("url") {
        return section.url("url", Web::Sealed);
    }
    section.or_default("url", default);
    Some(SecretUrl::new(default))
}

fn chat(text: &str) -> Result<String, String> {
    let is_number = text.parse::<i64>().is_ok();
    let is_name = text.strip_prefix('@').is_some_and(|name| {
        !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
    });
    match is_number || is_name {
        true => Ok(text.to_owned()),
        false => Err("is no chat, which is a number in quotes, or @ and a name".to_owned()),
    }
}

fn storm(section: &mut Section<'_>) -> Storm {
    let messages = section.number("messages", 10, 1..=10_000);
    Storm {
        messages: u32::try_from(messages).unwrap_or(u32::MAX),
        per: section.duration("per", "1m", ["1s", "1d"]),
    }
}

fn template(path: &Path) -> Result<String, String> {
    let shown = path.display();
    fs::read_to_string(path)
        .map_err(|error| format!("the file {shown} cannot be read: {}", error.kind()))
}

/// All routes, in the order of the file.
pub(super) fn routes(
    root: &mut Section<'_>,
    chains: &[String],
    channels: &[String],
) -> Vec<RouteSettings> {
    root.list("route", |section| {
        let mut route = section.section("match", |section| matching(section, chains));
        let named = section.texts("channels");
        if named.is_empty() {
            section.fail(
                "channels",
                "missing; name the channels that are told, as channels = [\"hook\"]",
            );
        }
        for (key, name) in named {
            match channels.contains(&name) {
                true if route.channels.contains(&name) => {
                    section.fail_at(key, "is there twice; remove one")
                }
                true => route.channels.push(name),
                false => section.fail_at(key, none_such("channel", &name, channels)),
            }
        }
        route
    })
}

fn matching(section: &mut Section<'_>, chains: &[String]) -> RouteSettings {
    RouteSettings {
        chain: section.parsed("chain", |name| match chains.iter().any(|chain| chain == name) {
            true => Ok(name.to_owned()),
            false => Err(none_such("chain", name, chains)),
        }),
        label: section.parsed("label", |glob| self::glob(glob).map(|_| glob.to_owned())),
        kind: section.parsed("type", |glob| {
            let matcher = self::glob(glob)?.compile_matcher();
            match AlertType::ALL.iter().any(|kind| matcher.is_match(kind.name())) {
                true => Ok(glob.to_owned()),
                false => {
                    let known: Vec<_> = AlertType::ALL.iter().map(|kind| kind.name()).collect();
                    Err(match value::nearest(glob, &known) {
                        Some(nearest) => {
                            format!("matches no type of alert; did you mean {nearest}?")
                        }
                        None => {
                            format!("matches no type of alert; there are: {}", known.join(", "))
                        }
                    })
                }
            }
        }),
        severity: section.given_word(
            "severity",
            &[Severity::Info, Severity::Warning, Severity::Critical].map(|one| (one.name(), one)),
        ),
        channels: Vec::new(),
    }
}

fn glob(glob: &str) -> Result<Glob, String> {
    Glob::new(glob).map_err(|error| format!("is no pattern: {}", error.kind()))
}

/// Names of the file may be shown, the one that was looked for may be anything.
fn none_such(what: &str, name: &str, known: &[String]) -> String {
    let known: Vec<_> = known.iter().map(String::as_str).collect();
    match value::nearest(name, &known) {
        Some(nearest) => format!("there is no such {what}; did you mean {nearest}?"),
        None if known.is_empty() => format!("there is no such {what}: the file has none"),
        None => format!("there is no such {what}; there are: {}", known.join(", ")),
    }
}

/// How often a heart beats that nobody has set.
pub(super) const HEARTBEAT: &str = "1m";

/// `[heartbeat]`, where it is.
pub(super) fn heartbeat(root: &mut Section<'_>) -> Option<super::HeartbeatSettings> {
    if !root.has("heartbeat") {
        return None;
    }
    root.section("heartbeat", |section| {
        let url = section.url("url", Web::Sealed);
        let url = section.needed("url", url, "write the URL that is to be asked");
        let every: Duration = section.duration("every", HEARTBEAT, ["1s", "1d"]);
        Some(super::HeartbeatSettings { url: url?, every })
    })
}
