//! All sections but the pool's.

use super::{
    LogFormat, LogLevel, LogSettings, ServerSettings, Settings, StoreSettings, builder,
    chain::{self, Around, LATER},
    channel,
    section::Section,
};
use crate::Refusal;
use fusebox_rpc::SecretText;
use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::Path,
};

/// Where a keeper says how it is. 9545 is the proxy's.
const LISTEN: &str = "127.0.0.1:9547";
const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9547);

const STORE: &str = "sqlite:keeper.db";

pub(super) fn settings(root: &mut Section<'_>, around: &Around<'_>) -> Settings {
    for later in ["signer", "probe"] {
        root.later(later, LATER);
    }
    let chains = chain::read(root, around);
    let channels = channel::read(root, around.folder);
    // Also those that are wrong: it is enough to be told once.
    let names = |of: &str| root.names(of);
    let (chain_names, channel_names) = (names("chain"), names("channel"));
    Settings {
        routes: channel::routes(root, &chain_names, &channel_names),
        heartbeat: channel::heartbeat(root),
        builder: builder::builder(root),
        store: root.section("store", |section| store(section, around.folder)),
        server: Some(root.section("server", |section| server(section, around.is_remote_fine))),
        log: root.section("log", log),
        chains,
        channels,
    }
}

pub(super) fn store(section: &mut Section<'_>, folder: &Path) -> StoreSettings {
    let url = section.parsed("url", |url| place(url, folder));
    let url = url.unwrap_or_else(|| {
        section.or_default("url", STORE);
        SecretText::new(format!("sqlite:{}", folder.join("keeper.db").display()))
    });
    StoreSettings { url, keep: section.duration("keep", "400d", ["1d", "36500d"]) }
}

/// The URL of a store, with its path seen from the file.
fn place(url: &str, folder: &Path) -> Result<SecretText, String> {
    match url.strip_prefix("sqlite:") {
        Some(":memory:") => Ok(SecretText::new(url)),
        Some(path) if !path.is_empty() => {
            let path = folder.join(path.strip_prefix("//").unwrap_or(path));
            Ok(SecretText::new(format!("sqlite:{}", path.display())))
        }
        _ => Err("names no SQLite file; write sqlite:keeper.db".to_owned()),
    }
}

fn server(section: &mut Section<'_>, is_remote_fine: bool) -> ServerSettings {
    let listen = section.parsed("listen", |text| {
        text.parse().map_err(|_| format!("is no address to listen at, which has a port: {LISTEN}"))
    });
    let hosts = section.texts("hosts").into_iter().filter_map(|(key, host)| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
        let is_host = !host.is_empty() && host.chars().all(allowed);
        if !is_host {
            section.fail_at(
                key,
                "is no name of a host, which has letters, digits, dots and dashes, and no port",
            );
        }
        is_host.then_some(host)
    });
    let hosts = hosts.collect();
    let allow_remote = section.flag("allow_remote", false);
    section.or_default("listen", LISTEN);
    let listen: SocketAddr = listen.unwrap_or(DEFAULT_LISTEN);
    if !listen.ip().is_loopback() && !allow_remote && !is_remote_fine {
        section.fail("listen", NOT_LOOPBACK);
    }
    ServerSettings { listen, hosts, allow_remote }
}

const NOT_LOOPBACK: &str = "can be reached from other machines; if that is meant, add allow_remote = true, or start with --allow-remote";

/// The same for an address of the command line.
pub(super) fn check_listen(listen: SocketAddr, allow_remote: bool) -> Result<(), Refusal> {
    match listen.ip().is_loopback() || allow_remote {
        true => Ok(()),
        false => Err(Refusal::Usage(format!(
            "--listen {listen} can be reached from other machines: add --allow-remote if that is meant"
        ))),
    }
}

fn log(section: &mut Section<'_>) -> LogSettings {
    LogSettings {
        format: section.word("format", &[("text", LogFormat::Text), ("json", LogFormat::Json)]),
        level: section.word(
            "level",
            &[
                ("info", LogLevel::Info),
                ("warn", LogLevel::Warn),
                ("error", LogLevel::Error),
                ("debug", LogLevel::Debug),
            ],
        ),
    }
}
