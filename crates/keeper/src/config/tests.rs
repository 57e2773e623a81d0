//! What a file means, and what is wrong with it.

use super::*;
use crate::alert::Severity;
use alloy::primitives::{B256, address};
use std::{fs, time::Duration};
use tempfile::TempDir;

/// A folder with a file, and what the file names.
fn folder(file: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    write("keeper.toml", file);
    write("key", "k3y5ecret\n");
    write("hook", "https://hooks.example/5ecret\n");
    write("whsec", "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n");
    write("short", "whsec_5ecret\n");
    write("empty", "\n");
    write("chat.j2", "{{ label }}");
    let deployment = |chain: u64| {
        serde_json::json!({ "chainId": chain, "contracts": {
            "vault": { "address": "0x00000000000000000000000000000000000000AA", "block": 7, "breakers": { "oracle": "0x07" } },
            "plain": { "address": "0x00000000000000000000000000000000000000BB", "block": 7 },
        } })
    };
    write("1.json", &deployment(1).to_string());
    write("2.json", &deployment(2).to_string());
    dir
}

fn read(file: &str) -> Result<Config, String> {
    read_with(file, &Overrides::default())
}

fn read_with(file: &str, overrides: &Overrides) -> Result<Config, String> {
    let dir = folder(file);
    Config::read(&dir.path().join("keeper.toml"), overrides).map_err(|refusal| {
        let text = refusal.to_string();
        assert!(!text.contains("5ecret"), "{text}");
        text.replace(dir.path().to_str().unwrap(), "DIR")
    })
}

/// One chain with nodes, and one contract.
const NODES: &str = "\
[[profile.default.chain.1.provider]]
name = \"a\"
http = \"https://eth.example/v2/${file:key}\"
";
const CHAIN: &str = "\
[chain.mainnet]
id = 1
[[chain.mainnet.watch]]
address = \"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed\"
start = 5
";

fn valid(more: &str) -> Config {
    read(&format!("{NODES}{CHAIN}{more}")).unwrap()
}

/// The problems of a file that has these lines below a valid one, with their lines counted from there.
fn problems(more: &str) -> Vec<String> {
    let above = format!("{NODES}{CHAIN}");
    let lines = above.lines().count();
    let refusal = read(&format!("{above}{more}")).map(|_| ()).expect_err(more);
    let relative = |problem: &str| {
        let problem =
            problem.strip_prefix("DIR/keeper.toml:").unwrap_or_else(|| panic!("{problem}"));
        let (line, rest) = problem.split_once(':').unwrap();
        match line.parse::<usize>().unwrap().checked_sub(lines) {
            Some(line) if line > 0 => format!("{line}:{rest}"),
            _ => format!("above {line}:{rest}"),
        }
    };
    refusal.lines().map(relative).collect()
}

#[test]
fn three_lines_are_enough_and_the_rest_has_defaults() {
    let Config { settings, .. } = valid("");
    let [chain] = &settings.chains[..] else { panic!("{settings:?}") };
    assert_eq!((chain.name.as_str(), chain.id, chain.profile.as_str()), ("mainnet", 1, "default"));
    assert_eq!((chain.poll, chain.confirmations), (None, Confirmations::Finalized));
    assert_eq!((chain.confirmations_fallback, chain.reorg_window, chain.max_lag), (64, 256, 3));
    assert_eq!(chain.verify, Verify::Auto);
    let [WatchSettings::Contract(contract)] = &chain.watch[..] else { panic!("{chain:?}") };
    assert_eq!(contract.address, address!("5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"));
    assert_eq!((contract.start, contract.read_back, &contract.label), (Some(5), true, &None));
    assert!(settings.channels.is_empty() && settings.routes.is_empty());
    assert!(settings.heartbeat.is_none());
    assert!(settings.store.url.expose().ends_with("/keeper.db"), "beside the file");
    assert_eq!(settings.store.keep, Duration::from_secs(400 * 86_400));
    let server = settings.server.unwrap();
    assert_eq!(
        (server.listen.to_string().as_str(), server.allow_remote),
        ("127.0.0.1:9547", false)
    );
    assert_eq!((settings.log.format, settings.log.level), (LogFormat::Text, LogLevel::Info));
}

#[test]
fn every_key_is_read() {
    let file = r#"
[[profile.mine.chain.10.provider]]
name = "b"
http = "http://127.0.0.1:1"
[chain.op]
id = 10
profile = "mine"
poll = "2s"
confirmations = 12
confirmations_fallback = 30
reorg_window = 100
max_lag = 0
verify = "second"
tx_link = "https://explorer.example/tx/{tx}"
[[chain.op.watch]]
address = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
label = "feed"
start = "latest"
breakers = { "0x07" = "oracle", "0x0a" = "backup" }
read_back = false
[[chain.op.watch]]
anywhere = true
start = 7
max_contracts = 5
alert = true
[[chain.mainnet.watch]]
deployments = "1.json"
[channel.hook]
type = "webhook"
url = "${file:hook}"
secrets = ["${file:whsec}", "${file:whsec}"]
confirm = false
[channel.local]
type = "slack"
url = "http://127.0.0.1:1/literal"
template = "chat.j2"
[channel.disc]
type = "discord"
url = "https://discord.example/${file:key}"
storm = { messages = 3, per = "10s" }
[channel.chat]
type = "telegram"
token = "${file:key}"
chat = "-1001234567890"
confirm = true
[channel.pager]
type = "pagerduty"
key = "${file:key}"
url = "http://127.0.0.1:2/"
[[route]]
match = { chain = "op", label = "feed*", type = "breaker.*", severity = "warning" }
channels = ["hook", "chat"]
[[route]]
channels = ["pager"]
[heartbeat]
url = "https://beat.example/${file:key}"
every = "30s"
[builder]
status_url = "http://127.0.0.1:18551/status"
[store]
url = "sqlite:data/k.db"
keep = "30d"
[server]
listen = "0.0.0.0:80"
hosts = ["keeper.internal"]
allow_remote = true
[log]
format = "json"
level = "debug"
"#;
    let Config { settings, .. } = valid(file);
    let [mainnet, op] = &settings.chains[..] else { panic!("{settings:?}") };
    let builder = settings.builder.as_ref().unwrap();
    assert_eq!(builder.status_url.expose(), "http://127.0.0.1:18551/status");
    let [_, WatchSettings::Deployments { path, deployment }] = &mainnet.watch[..] else {
        panic!("{mainnet:?}")
    };
    assert!(path.ends_with("1.json") && deployment.contracts.len() == 2);
    assert_eq!(
        (op.id, op.poll, op.confirmations),
        (10, Some(Duration::from_secs(2)), Confirmations::Blocks(12))
    );
    assert_eq!(
        (op.confirmations_fallback, op.reorg_window, op.max_lag, op.verify),
        (30, 100, 0, Verify::Second)
    );
    assert_eq!(op.tx_link.as_deref(), Some("https://explorer.example/tx/{tx}"));
    let [WatchSettings::Contract(feed), WatchSettings::Anywhere(any)] = &op.watch[..] else {
        panic!("{op:?}")
    };
    assert_eq!((feed.label.as_deref(), feed.start, feed.read_back), (Some("feed"), None, false));
    assert_eq!(feed.breakers[&B256::with_last_byte(7)], "oracle");
    assert_eq!((any.start, any.max_contracts, any.alert), (Some(7), 5, true));

    let channel =
        |name: &str| settings.channels.iter().find(|channel| channel.name == name).unwrap();
    let ChannelKind::Webhook { url, secrets } = &channel("hook").kind else { panic!() };
    assert_eq!((url.expose(), secrets.len()), ("https://hooks.example/5ecret", 2));
    assert!(!channel("hook").confirm && channel("hook").storm.is_none());
    assert!(
        matches!(&channel("local").kind, ChannelKind::Slack { url } if url.expose().ends_with("literal"))
    );
    assert_eq!(channel("local").template.as_deref(), Some("{{ label }}"));
    assert_eq!(channel("local").storm, Some(Storm { messages: 10, per: Duration::from_secs(60) }));
    assert_eq!(channel("disc").storm, Some(Storm { messages: 3, per: Duration::from_secs(10) }));
    let ChannelKind::Telegram { token, chat, url } = &channel("chat").kind else { panic!() };
    assert_eq!(
        (token.expose(), chat.as_str(), url.expose()),
        ("k3y5ecret", "-1001234567890", "https://api.telegram.org")
    );
    assert!(channel("chat").confirm && !channel("disc").confirm);
    assert!(
        matches!(&channel("pager").kind, ChannelKind::PagerDuty { key, .. } if key.expose() == "k3y5ecret")
    );

    let [first, second] = &settings.routes[..] else { panic!() };
    assert_eq!(
        (first.chain.as_deref(), first.label.as_deref(), first.kind.as_deref()),
        (Some("op"), Some("feed*"), Some("breaker.*"))
    );
    assert_eq!(
        (first.severity, &first.channels[..]),
        (Some(Severity::Warning), &["hook".to_owned(), "chat".to_owned()][..])
    );
    assert!(second.chain.is_none() && second.severity.is_none());
    assert_eq!(settings.heartbeat.unwrap().every, Duration::from_secs(30));
    assert!(settings.store.url.expose().ends_with("/data/k.db"));
    let server = settings.server.unwrap();
    assert_eq!((server.listen.port(), server.hosts.len(), server.allow_remote), (80, 1, true));
    assert_eq!((settings.log.format, settings.log.level), (LogFormat::Json, LogLevel::Debug));
}

#[test]
fn each_problem_has_its_place_and_a_remedy() {
    for (more, want) in [
        // Keys that mean nothing.
        ("[chains]\n", "1:2: chains: unknown key; did you mean chain?"),
        ("[log]\nfromat = \"json\"\n", "2:1: log.fromat: unknown key; did you mean format?"),
        ("lable = \"x\"\n", "1:1: chain.mainnet.watch[0].lable: unknown key; did you mean label?"),
        (
            "[profile.default.chain.1]\nstrateg = \"fastest\"\n",
            "2:1: profile.default.chain.1.strateg: unknown key; did you mean strategy?",
        ),
        (
            "[[route]]\nmatch = { kind = \"x\" }\nchannels = []\n",
            "2:11: route[0].match.kind: unknown key; known here: chain, label, type, severity",
        ),
        // Those that mean nothing yet.
        (
            "probe = { signer = \"ops\" }\n",
            "1:1: chain.mainnet.watch[0].probe: comes with probing; remove it",
        ),
        (
            "legacy = { read = \"breaker()\" }\n",
            "1:12: chain.mainnet.watch[0].legacy.read: comes with probing; remove it",
        ),
        (
            "legacy = { call = \"safeAsk()\" }\n",
            "1:12: chain.mainnet.watch[0].legacy.call: comes with probing; remove it",
        ),
        (
            "legacy = { cal = 1 }\n",
            "1:12: chain.mainnet.watch[0].legacy.cal: unknown key; did you mean call?",
        ),
        ("legacy = true\n", "1:1: chain.mainnet.watch[0].legacy: must be a table"),
        ("[signer]\nops = {}\n", "1:2: signer: comes with probing; remove it"),
        ("[probe]\nenabled = true\n", "1:2: probe: comes with probing; remove it"),
        // What is watched.
        ("label = \"a\\nb\"\n", "1:1: chain.mainnet.watch[0].label: a label is 1 to 64"),
        (
            "breakers = { \"7\" = \"x\" }\n",
            "1:14: chain.mainnet.watch[0].breakers.7: is no breaker's id",
        ),
        ("breakers = { \"0x7\" = 1 }\n", "1:14: chain.mainnet.watch[0].breakers.0x7: must be text"),
        (
            "breakers = { \"0x7\" = \"a\", \"0x07\" = \"b\" }\n",
            "chain.mainnet.watch[0].breakers.0x7: is the same breaker",
        ),
        (
            "breakers = { \"0x7\" = \"a\", \"0x8\" = \"a\" }\n",
            "1:27: chain.mainnet.watch[0].breakers.0x8: another breaker of this contract has this label",
        ),
        (
            "[[chain.mainnet.watch]]\nstart = 1\n",
            "1:1: chain.mainnet.watch[1]: must have exactly one of deployments, address and anywhere",
        ),
        (
            "[[chain.mainnet.watch]]\nanywhere = false\n",
            "2:1: chain.mainnet.watch[1].anywhere: can only be true",
        ),
        (
            "[[chain.mainnet.watch]]\naddress = \"0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359\"\n",
            "1:1: chain.mainnet.watch[1].start: missing; write the block",
        ),
        (
            "[[chain.mainnet.watch]]\naddress = \"0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed\"\nstart = 1\n",
            "2:1: chain.mainnet.watch[1].address: has a wrong checksum",
        ),
        (
            "[[chain.mainnet.watch]]\naddress = \"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed\"\nstart = 1\n",
            "2:1: chain.mainnet.watch[1].address: is watched twice",
        ),
        (
            "[[chain.mainnet.watch]]\ndeployments = \"2.json\"\n",
            "2:1: chain.mainnet.watch[1].deployments: the file is of chain 2, and this one is 1",
        ),
        (
            "[[chain.mainnet.watch]]\ndeployments = \"none.json\"\n",
            "2:1: chain.mainnet.watch[1].deployments: DIR/none.json: No such file",
        ),
        (
            "[[chain.mainnet.watch]]\ndeployments = \"1.json\"\n[[chain.mainnet.watch]]\ndeployments = \"1.json\"\n",
            "4:1: chain.mainnet.watch[2].deployments: is watched twice",
        ),
        (
            "label = \"vault\"\n[[chain.mainnet.watch]]\ndeployments = \"1.json\"\n",
            "3:1: chain.mainnet.watch[1].deployments: vault in it: another contract of this chain has this label",
        ),
        ("[chain.Main]\n", "1:8: chain.Main: this name must be"),
        (
            "[chain.other]\nid = 1\n[[chain.other.watch]]\nanywhere = true\n",
            "2:1: chain.other.id: chain.mainnet is the same chain",
        ),
        (
            "[chain.other]\nid = 2\n[[chain.other.watch]]\nanywhere = true\n",
            "2:1: chain.other.id: the profile has no nodes of chain 2",
        ),
        (
            "[chain.other]\nid = 1\nprofile = \"p\"\n",
            "3:1: chain.other.profile: there is no such profile; there are: default",
        ),
        ("[chain.other]\nid = 0\n", "2:1: chain.other.id: must be a whole number, 1 …"),
        ("[chain.other]\n", "1:8: chain.other.id: missing"),
        ("[chain.other]\n", "1:8: chain.other: watches nothing; add [[chain.other.watch]]"),
        ("[chain.other]\npoll = \"1ms\"\n", "2:1: chain.other.poll: must be a duration"),
        (
            "[chain.other]\nconfirmations = \"latest\"\n",
            "2:1: chain.other.confirmations: must be \"finalized\" or \"safe\", or a number, 1 …",
        ),
        ("[chain.other]\nconfirmations = 0\n", "2:1: chain.other.confirmations: must be"),
        (
            "[chain.other]\nverify = true\n",
            "2:1: chain.other.verify: must be \"auto\", \"receipts\", \"second\" or \"off\"",
        ),
        (
            "[chain.other]\ntx_link = \"https://a/\"\n",
            "2:1: chain.other.tx_link: is no link to a transaction",
        ),
        // Who is told.
        ("[channel.a]\nurl = \"5ecret\"\n", "1:10: channel.a.type: missing; write \"webhook\""),
        ("[channel.a]\ntype = \"slak\"\n", "2:1: channel.a.type: must be \"webhook\", \"slack\""),
        (
            "[channel.a]\ntype = \"slack\"\n",
            "1:10: channel.a.url: missing; write url = \"${HOOK_URL}\"",
        ),
        (
            "[channel.a]\ntype = \"slack\"\nurl = \"https://a.example/5ecret\"\n",
            "3:1: channel.a.url: holds a key, so it has no place in the file",
        ),
        (
            "[channel.a]\ntype = \"slack\"\nurl = \"http://a.example/${file:key}\"\n",
            "3:1: channel.a.url: goes over a network unsealed",
        ),
        (
            "[channel.a]\ntype = \"slack\"\nurl = \"${file:key}\"\n",
            "3:1: channel.a.url: is no URL with a host",
        ),
        (
            "[channel.a]\ntype = \"slack\"\nurl = \"ftp://a/${file:key}\"\n",
            "3:1: channel.a.url: has another scheme than https",
        ),
        (
            "[channel.a]\ntype = \"slack\"\nurl = \"${file:hook}\"\ntoken = \"5ecret\"\n",
            "4:1: channel.a.token: unknown key",
        ),
        (
            "[channel.a]\ntype = \"slack\"\nurl = \"${file:hook}\"\ntemplate = \"none\"\n",
            "4:1: channel.a.template: the file DIR/none cannot be read: entity not found",
        ),
        (
            "[channel.a]\ntype = \"slack\"\nurl = \"${file:hook}\"\nstorm = { messages = 0 }\n",
            "4:11: channel.a.storm.messages: must be a whole number, 1 … 10000",
        ),
        (
            "[channel.a]\ntype = \"webhook\"\nurl = \"${file:hook}\"\n",
            "1:10: channel.a.secrets: missing",
        ),
        (
            "[channel.a]\ntype = \"webhook\"\nurl = \"${file:hook}\"\nsecrets = []\n",
            "4:1: channel.a.secrets: must be a list of texts, at least one",
        ),
        (
            "[channel.a]\ntype = \"webhook\"\nurl = \"${file:hook}\"\nsecrets = [\"5ecret\"]\n",
            "4:12: channel.a.secrets[0]: is a secret, so it has no place in the file",
        ),
        (
            "[channel.a]\ntype = \"webhook\"\nurl = \"${file:hook}\"\nsecrets = [\"${file:whsec}\", \"${file:short}\"]\n",
            "4:29: channel.a.secrets[1]: is no webhook secret",
        ),
        (
            "[channel.a]\ntype = \"webhook\"\nurl = \"${file:hook}\"\nsecrets = [\"${file:whsec}\"]\nstorm = {}\n",
            "5:1: channel.a.storm: is for chats",
        ),
        (
            "[channel.a]\ntype = \"telegram\"\ntoken = \"5ecret\"\nchat = \"1\"\n",
            "3:1: channel.a.token: is a secret",
        ),
        (
            "[channel.a]\ntype = \"telegram\"\ntoken = \"x${file:key}\"\nchat = \"1\"\n",
            "3:1: channel.a.token: is a secret",
        ),
        (
            "[channel.a]\ntype = \"telegram\"\ntoken = \"${file:key}\"\nchat = \"a b\"\n",
            "4:1: channel.a.chat: is no chat",
        ),
        (
            "[channel.a]\ntype = \"telegram\"\ntoken = \"${file:none}\"\nchat = \"1\"\n",
            "3:1: channel.a.token: the file DIR/none cannot be read",
        ),
        (
            "[channel.a]\ntype = \"telegram\"\ntoken = \"${file:empty}\"\nchat = \"1\"\n",
            "3:1: channel.a.token: the file DIR/empty is empty",
        ),
        (
            "[channel.a]\ntype = \"pagerduty\"\nkey = \"${KEEPER_TEST_NOT_SET}\"\n",
            "3:1: channel.a.key: the environment variable KEEPER_TEST_NOT_SET is not set; export it",
        ),
        ("[[route]]\n", "1:1: route[0].channels: missing"),
        (
            "[[route]]\nchannels = [\"hok\"]\n[channel.hook]\ntype = \"slack\"\nurl = \"${file:hook}\"\n",
            "2:13: route[0].channels[0]: there is no such channel; did you mean hook?",
        ),
        (
            "[[route]]\nchannels = [\"5ecret\"]\n",
            "2:13: route[0].channels[0]: there is no such channel: the file has none",
        ),
        (
            "[[route]]\nmatch = { chain = \"5ecret\" }\n",
            "2:11: route[0].match.chain: there is no such chain; there are: mainnet",
        ),
        (
            "[[route]]\nmatch = { type = \"breaker.open\" }\n",
            "2:11: route[0].match.type: matches no type of alert; did you mean breaker.opened?",
        ),
        ("[[route]]\nmatch = { label = \"[\" }\n", "2:11: route[0].match.label: is no pattern"),
        (
            "[[route]]\nmatch = { severity = \"high\" }\n",
            "2:11: route[0].match.severity: must be \"info\", \"warning\" or \"critical\"",
        ),
        // The rest.
        ("[heartbeat]\n", "1:2: heartbeat.url: missing"),
        (
            "[heartbeat]\nurl = \"http://a.example/\"\n",
            "2:1: heartbeat.url: goes over a network unsealed",
        ),
        ("[store]\nurl = \"postgres://u:5ecret@a/\"\n", "2:1: store.url: names no SQLite file"),
        (
            "[store]\nkeep = \"1h\"\n",
            "2:1: store.keep: must be a duration with its unit, such as \"30s\" or \"1m30s\", 1d … 36500d",
        ),
        ("[server]\nlisten = \"localhost\"\n", "2:1: server.listen: is no address to listen at"),
        (
            "[server]\nlisten = \"0.0.0.0:1\"\n",
            "2:1: server.listen: can be reached from other machines",
        ),
        ("[server]\nhosts = [\"a:1\"]\n", "2:10: server.hosts[0]: is no name of a host"),
        ("[server]\nhosts = \"a\"\n", "2:1: server.hosts: must be a list of texts"),
        ("[builder]\n", "1:2: builder.status_url: missing"),
        ("[builder]\nstatus_url = \"x\"\n", "2:1: builder.status_url: is no URL with a host"),
        (
            "[builder]\nstatus_url = \"http://a.example/status\"\n",
            "2:1: builder.status_url: goes over a network unsealed",
        ),
        (
            "[builder]\nstatus_url = \"http://127.0.0.1:18551\"\n",
            "2:1: builder.status_url: must end in /status",
        ),
        (
            "[builder]\npolicy = \"seed\"\nstatus_url = \"http://127.0.0.1:18551/status\"\n",
            "2:1: builder.policy: unknown key",
        ),
        (
            "[[chain.mainnet.watch]]\nanywhere = true\ncode_hashes = []\n",
            "3:1: chain.mainnet.watch[1].code_hashes: is not looked at yet; remove it",
        ),
        ("[log]\nformat = \"xml\"\n", "2:1: log.format: must be \"text\" or \"json\""),
    ] {
        let found = problems(more);
        assert!(found.iter().any(|problem| problem.contains(want)), "{more}\n{want}\n{found:#?}");
    }
}

#[test]
fn sections_of_another_type_are_told_once() {
    for (more, want) in [
        ("log = 1\n", "log: must be a table"),
        ("route = 1\n", "route: must be a list of tables"),
        ("channel = 1\n", "channel: must be a table of tables"),
        ("channel = { a = 1 }\n", "channel.a: must be a table"),
        ("route = [1]\n", "route[0]: must be a table"),
        ("store = []\n", "store: must be a table"),
    ] {
        let problems = read(&format!("{more}{NODES}{CHAIN}")).map(|_| ()).unwrap_err();
        assert_eq!(problems.lines().count(), 1, "{problems}");
        assert!(problems.contains(want), "{problems}");
    }
    let problems = read(&format!("chain = 1\n{NODES}")).map(|_| ()).unwrap_err();
    assert!(problems.contains("1:1: chain: must be a table of tables"), "{problems}");
}

#[test]
fn a_file_without_chains_says_what_to_add() {
    let problems = read(NODES).map(|_| ()).unwrap_err();
    assert_eq!(
        problems,
        "DIR/keeper.toml:1:1: chain: missing; add [chain.mainnet] with id = 1, and a [[chain.mainnet.watch]]"
    );
}

#[test]
fn what_is_in_effect_is_shown_with_defaults_and_without_secrets() {
    let channels = r#"
[channel.hook]
type = "webhook"
url = "https://hooks.example/literal/${file:key}"
secrets = ["${file:whsec}"]
[channel.local]
type = "slack"
url = "http://127.0.0.1:1/literal"
"#;
    let effective = valid(channels).effective;
    let shown = effective.to_string();
    assert!(
        !shown.contains("5ecret") && !shown.contains("literal") && !shown.contains("whsec_"),
        "{shown}"
    );
    assert_eq!(effective["channel"]["hook"]["url"], "https://hooks.example/…${file:key}");
    assert_eq!(effective["channel"]["hook"]["secrets"][0], "${file:whsec}");
    assert_eq!(effective["channel"]["hook"]["confirm"], true);
    assert_eq!(effective["channel"]["local"]["url"], "http://127.0.0.1:1/…");
    assert_eq!(effective["channel"]["local"]["storm"]["per"], "1m");
    assert_eq!(effective["chain"]["mainnet"]["confirmations"], "finalized");
    assert_eq!(effective["chain"]["mainnet"]["watch"][0]["read_back"], true);
    assert_eq!(
        effective["profile"]["default"]["chain"]["1"]["provider"][0]["http"],
        "https://eth.example/…${file:key}"
    );
    assert_eq!(effective["store"]["url"], "sqlite:keeper.db");
    assert_eq!(effective["server"]["listen"], "127.0.0.1:9547");
}

#[test]
fn the_command_line_goes_before_the_file_and_the_file_before_the_default() {
    let file = format!(
        "{NODES}{CHAIN}[store]\nurl = \"sqlite:file.db\"\n[server]\nlisten = \"127.0.0.1:1\"\n[log]\nlevel = \"warn\"\n"
    );
    let of = |file: &str, overrides: &Overrides| {
        let Config { settings, effective, .. } = read_with(file, overrides).unwrap();
        let store = settings.store.url.expose().rsplit('/').next().unwrap().to_owned();
        let server = settings.server.unwrap();
        assert_eq!(effective["server"]["listen"], server.listen.to_string());
        assert_eq!(effective["log"]["level"], settings.log.level.name());
        (store, server.listen.port(), settings.log.level)
    };
    let given = Overrides {
        store: Some("sqlite:/tmp/flag.db".to_owned()),
        listen: Some(([127, 0, 0, 1], 2).into()),
        log: Some(LogLevel::Error),
        ..Overrides::default()
    };
    let none = Overrides::default();
    let bare = format!("{NODES}{CHAIN}");
    assert_eq!(of(&bare, &none), ("keeper.db".to_owned(), 9547, LogLevel::Info));
    assert_eq!(of(&file, &none), ("file.db".to_owned(), 1, LogLevel::Warn));
    assert_eq!(of(&file, &given), ("flag.db".to_owned(), 2, LogLevel::Error));
    assert_eq!(of(&bare, &given), ("flag.db".to_owned(), 2, LogLevel::Error));

    let remote = Overrides { listen: Some(([0, 0, 0, 0], 2).into()), ..Overrides::default() };
    assert!(read_with(&bare, &remote).unwrap_err().contains("add --allow-remote"));
    let allowed = Overrides { allow_remote: true, ..remote };
    assert!(read_with(&bare, &allowed).unwrap().settings.server.unwrap().allow_remote);
    // A password in a URL of another kind is not shown.
    let secret =
        Overrides { store: Some("postgres://u:5ecret@a/".to_owned()), ..Overrides::default() };
    assert!(!read_with(&bare, &secret).unwrap().effective.to_string().contains("5ecret"));
}

#[test]
fn nodes_of_the_command_line_take_the_place_of_those_of_one_chain() {
    let urls = ["http://127.0.0.1:1/5ecret", "http://127.0.0.1:2"].map(fusebox_rpc::SecretUrl::new);
    let hosts = |config: &Config, chain: u64| -> Vec<String> {
        let providers = &config.pools.rpc.profiles["default"].chains[&chain].providers;
        providers.iter().map(|provider| provider.name.clone()).collect()
    };
    let one = format!("{NODES}{CHAIN}");
    let other = "[[profile.default.chain.2.provider]]\nname = \"b\"\nhttp = \"http://127.0.0.1:3\"\n[chain.other]\nid = 2\n[[chain.other.watch]]\nanywhere = true\n";
    let two = format!("{one}{other}");
    for is_variable in [false, true] {
        let given = Overrides { rpc_url: urls.to_vec(), is_variable, ..Overrides::default() };
        let config = read_with(&one, &given).unwrap();
        assert_eq!(hosts(&config, 1), ["127.0.0.1", "127.0.0.1_2"]);
        assert!(!config.effective.to_string().contains("5ecret"));
        // Those of the file need not be there at all, nor their keys.
        assert_eq!(hosts(&read_with(CHAIN, &given).unwrap(), 1).len(), 2);
        let unset = one.replace("file:key", "KEEPER_TEST_NOT_SET");
        assert_eq!(hosts(&read_with(&unset, &given).unwrap(), 1).len(), 2);
        let named = Overrides { chain: Some(2), ..given.clone() };
        let config = read_with(&two, &named).unwrap();
        assert_eq!((hosts(&config, 1), hosts(&config, 2).len()), (vec!["a".to_owned()], 2));
        // Several chains, and nobody says which: a flag is an error, a variable may be meant for others.
        match read_with(&two, &given) {
            Ok(config) => {
                assert!(is_variable && hosts(&config, 1) == ["a"] && hosts(&config, 2) == ["b"])
            }
            Err(refusal) => {
                assert!(!is_variable && refusal.contains("say with --chain"), "{refusal}")
            }
        }
    }
    let nowhere = Overrides { rpc_url: urls.to_vec(), chain: Some(9), ..Overrides::default() };
    assert!(read_with(&two, &nowhere).unwrap_err().contains("--chain 9 is not in the file"));
    let bad = ["ws://a/5ecret"].map(fusebox_rpc::SecretUrl::new);
    let bad = Overrides { rpc_url: bad.to_vec(), ..Overrides::default() };
    assert!(
        read_with(&one, &bad).unwrap_err().starts_with("--rpc-url number 1: has another scheme")
    );
}

#[test]
fn a_proxy_and_a_look_at_the_store_need_no_secret_of_a_channel() {
    let dir = folder(&format!(
        "{NODES}{CHAIN}[channel.a]\ntype = \"slack\"\nurl = \"${{KEEPER_TEST_NOT_SET}}\"\n[store]\nurl = \"sqlite:x.db\"\n"
    ));
    let path = dir.path().join("keeper.toml");
    assert_eq!(Pools::read(&path).unwrap().rpc.profiles.len(), 1);
    assert!(store(&path).unwrap().url.expose().ends_with("/x.db"));
    assert!(Config::read(&path, &Overrides::default()).is_err());
    // A misspelt section is told all the same.
    fs::write(&path, format!("{NODES}[stroe]\n")).unwrap();
    for refusal in [Pools::read(&path).map(|_| ()), store(&path).map(|_| ())] {
        assert!(
            refusal
                .unwrap_err()
                .to_string()
                .ends_with("4:2: stroe: unknown key; did you mean store?")
        );
    }
}
