//! The file as `keeper check` and `keeper run` meet it.

use crate::support::{keeper, stderr, stdout};
use std::{fs, path::PathBuf, process::Output};
use tempfile::TempDir;

/// In each secret of the file.
const MARK: &str = "5ecretMARKER0123456789";

/// A folder with a file in it.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn with(file: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("keeper.toml"), file).unwrap();
        Self(dir)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn run(&self, args: &[&str], env: &[(&str, &str)]) -> Output {
        let mut command = keeper(args);
        command.env("KEEPER_CONFIG", self.path("keeper.toml")).envs(env.iter().copied());
        command.output().unwrap()
    }
}

/// A file in which every secret is a reference, or a literal where that is allowed.
fn full(more: &str) -> String {
    format!(
        r#"
[[profile.default.chain.1.provider]]
name = "main"
http = "http://user:{MARK}@127.0.0.1:1/v2/{MARK}?key={MARK}"
headers = {{ authorization = "Bearer {MARK}" }}
[[profile.default.chain.1.provider]]
name = "other"
http = "http://127.0.0.1:1/${{TEST_SECRET}}"
[chain.mainnet]
id = 1
[[chain.mainnet.watch]]
address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
label = "vault"
start = 5
[channel.hook]
type = "webhook"
url = "http://127.0.0.1:1/{MARK}"
secrets = ["${{TEST_WHSEC}}"]
[channel.chat]
type = "telegram"
token = "${{TEST_SECRET}}"
chat = "1"
url = "http://127.0.0.1:1"
[channel.pager]
type = "pagerduty"
key = "${{file:key}}"
url = "http://127.0.0.1:1"
[[route]]
channels = ["hook", "chat", "pager"]
[heartbeat]
url = "http://127.0.0.1:1/{MARK}"
{more}"#
    )
}

const WHSEC: &str = "whsec_NWVjcmV0TUFSS0VSMDEyMzQ1Njc4OTAxMjM0NTY3ODkw";

fn env() -> [(&'static str, &'static str); 2] {
    [("TEST_SECRET", MARK), ("TEST_WHSEC", WHSEC)]
}

/// Fails where a secret is shown.
fn clean(output: &Output) -> (Option<i32>, String, String) {
    let (out, err) = (stdout(output), stderr(output));
    for text in [&out, &err] {
        for secret in [MARK, &WHSEC[6..]] {
            assert!(!text.contains(secret), "{text}");
        }
    }
    (output.status.code(), out, err)
}

/// Case 24.
#[test]
fn unknown_key_bad_checksum_unset_variable_and_duplicate_watch_are_told_with_their_places_and_end_with_3()
 {
    let file = "\
[[profile.default.chain.1.provider]]
name = \"main\"
http = \"https://eth.example/v2/${KEEPER_TEST_NOT_SET}\"
[chain.mainnet]
id = 1
polll = \"2s\"
[[chain.mainnet.watch]]
address = \"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed\"
start = 1
[[chain.mainnet.watch]]
address = \"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed\"
start = 1
[[chain.mainnet.watch]]
address = \"0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d35a\"
start = 1
";
    let folder = Folder::with(file);
    for command in ["check", "run"] {
        let (code, out, err) = clean(&folder.run(&[command], &[]));
        assert_eq!((code, out.as_str()), (Some(3), ""), "{err}");
        let err = err.replace(folder.path("keeper.toml").to_str().unwrap(), "keeper.toml");
        let want = [
            "error: keeper.toml:3:1: profile.default.chain.1.provider[0].http: the environment variable KEEPER_TEST_NOT_SET is not set; export it",
            "keeper.toml:6:1: chain.mainnet.polll: unknown key; did you mean poll?",
            "keeper.toml:11:1: chain.mainnet.watch[1].address: is watched twice; remove one",
            "keeper.toml:14:1: chain.mainnet.watch[2].address: has a wrong checksum (EIP-55): a digit is mistyped, or a letter's case; copy it again from where it is right",
        ];
        assert_eq!(err.lines().collect::<Vec<_>>(), want);
    }
}

#[test]
fn no_command_shows_a_secret_of_the_file() {
    let folder = Folder::with(&full(""));
    fs::write(folder.path("key"), format!("{MARK}\n")).unwrap();
    let (code, out, _) = clean(&folder.run(&["check"], &env()));
    assert_eq!(code, Some(0));
    assert!(out.starts_with("ok     the file: 1 chain, 1 contract, 3 channels, 1 route"), "{out}");
    let (code, out, _) = clean(&folder.run(&["check", "--json"], &env()));
    assert_eq!(code, Some(0));
    let effective: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(effective["channel"]["chat"]["token"], "${TEST_SECRET}");
    assert_eq!(effective["chain"]["mainnet"]["max_lag"], 3);
    let (code, _, err) = clean(&folder.run(&["check", "--online"], &env()));
    assert_eq!(code, Some(6), "{err}");
    for args in [
        &["status"][..],
        &["events"],
        &["mute", "vault", "--for", "1h", "--reason", "x"],
        &["events", "retry", "--all-dead"],
        &["events", "enable", "hook"],
    ] {
        let (code, _, err) = clean(&folder.run(args, &env()));
        assert_eq!(code, Some(5), "{err}");
        // Their store needs none of the secrets.
        assert_eq!(clean(&folder.run(args, &[])).0, Some(5));
    }
    for broken in [
        format!("[channel.slack]\ntype = \"slack\"\nurl = \"https://hooks.example/{MARK}\"\n"),
        format!("[channel.tg]\ntype = \"telegram\"\nchat = \"1\"\ntoken = \"{MARK}\"\n"),
        format!("[channel.tg]\ntype = \"telegram\"\nchat = \"{MARK}\"\ntoken = \"${{TEST_SECRET}}\"\n"),
        format!("[channel.pd]\ntype = \"pagerduty\"\nkey = {MARK}\n"),
        format!("[channel.pd]\ntype = \"{MARK}\"\n"),
        format!("[channel.wh]\ntype = \"webhook\"\nurl = \"${{TEST_SECRET}}\"\nsecrets = [\"{WHSEC}\", \"${{TEST_SECRET}}\"]\n"),
        "[store]\nurl = \"postgres://u:${TEST_SECRET}@a/b\"\n".to_owned(),
        "[log]\nformat = \"${TEST_SECRET}\"\n".to_owned(),
        "[server]\nlisten = \"${TEST_SECRET}\"\nhosts = [\"${TEST_SECRET}:1\"]\n".to_owned(),
        "[[chain.mainnet.watch]]\naddress = \"${TEST_SECRET}\"\nlabel = \"${TEST_SECRET}\\n\"\nstart = \"${TEST_SECRET}\"\n".to_owned(),
        "[[chain.mainnet.watch]]\ndeployments = \"${TEST_SECRET}\"\n".to_owned(),
        "[[route]]\nmatch = { chain = \"${TEST_SECRET}\", type = \"${TEST_SECRET}\", label = \"[${TEST_SECRET}\" }\nchannels = [\"${TEST_SECRET}\"]\n".to_owned(),
    ] {
        let folder = Folder::with(&full(&broken));
        fs::write(folder.path("key"), format!("{MARK}\n")).unwrap();
        for args in [&["check"][..], &["check", "--json"], &["run"]] {
            let (code, out, err) = clean(&folder.run(args, &env()));
            assert_eq!((code, out.as_str()), (Some(3), ""), "{broken}\n{err}");
        }
    }
    // Nor of the command line.
    let url = format!("http://127.0.0.1:1/{MARK}");
    let (code, _, err) = clean(&folder.run(&["check", "--online", "--rpc-url", &url], &env()));
    assert_eq!(code, Some(6), "{err}");
}

#[test]
fn flags_go_before_variables_variables_before_the_file_and_the_file_before_defaults() {
    let plain = "\
[[profile.default.chain.1.provider]]
name = \"main\"
http = \"http://127.0.0.1:1\"
[chain.mainnet]
id = 1
[[chain.mainnet.watch]]
anywhere = true
";
    let stored = format!("{plain}[store]\nurl = \"sqlite:of-the-file.db\"\n");
    let store = |file: &str, args: &[&str], env: &[(&str, &str)]| {
        let args = [&["check", "--json"], args].concat();
        let (code, out, err) = clean(&Folder::with(file).run(&args, env));
        assert_eq!(code, Some(0), "{err}");
        let effective: serde_json::Value = serde_json::from_str(&out).unwrap();
        effective["store"]["url"].as_str().unwrap().to_owned()
    };
    let variable = [("KEEPER_STORE", "sqlite:of-the-variable.db")];
    let flag = ["--store", "sqlite:of-the-flag.db"];
    assert_eq!(store(plain, &[], &[]), "sqlite:keeper.db");
    assert_eq!(store(&stored, &[], &[]), "sqlite:of-the-file.db");
    assert_eq!(store(&stored, &[], &variable), "sqlite:of-the-variable.db");
    assert_eq!(store(&stored, &flag, &variable), "sqlite:of-the-flag.db");

    // The file itself: --config before KEEPER_CONFIG.
    let folder = Folder::with("nonsense");
    let other = Folder::with(plain);
    let path = other.path("keeper.toml");
    let (code, ..) = clean(&folder.run(&["check", "--config", path.to_str().unwrap()], &[]));
    assert_eq!(code, Some(0));

    // Nodes: the variable stands for those of one chain, and never decides between several.
    let two = format!(
        "{plain}[[profile.default.chain.2.provider]]\nname = \"b\"\nhttp = \"http://127.0.0.1:2\"\n[chain.other]\nid = 2\n[[chain.other.watch]]\nanywhere = true\n"
    );
    let urls = [("ETH_RPC_URL", "http://127.0.0.1:3/5ecretMARKER0123456789")];
    let (code, _, err) = clean(&Folder::with(plain).run(&["check"], &urls));
    assert_eq!(code, Some(0));
    assert!(err.contains("the nodes of mainnet are those of ETH_RPC_URL"), "{err}");
    let (code, _, err) = clean(&Folder::with(&two).run(&["check"], &urls));
    assert_eq!(code, Some(0));
    assert!(err.contains("warning: ETH_RPC_URL is set and is not used"), "{err}");
    let (code, _, err) =
        clean(&Folder::with(&two).run(&["check", "-r", "http://127.0.0.1:3"], &urls));
    assert_eq!(code, Some(2));
    assert!(err.contains("say with --chain which one"), "{err}");
    let named = ["check", "-r", "http://127.0.0.1:3", "--chain", "2"];
    assert_eq!(clean(&Folder::with(&two).run(&named, &urls)).0, Some(0));
}

#[test]
fn a_file_and_a_target_of_the_command_line_exclude_each_other() {
    let folder = Folder::with("");
    let path = folder.path("keeper.toml");
    let args = ["run", "--config", path.to_str().unwrap(), "--anywhere"];
    let (code, _, err) = clean(&folder.run(&args, &[]));
    assert_eq!(code, Some(2));
    assert!(err.contains("cannot be used with"), "{err}");
    // The variable only stands for a file where one is wanted.
    let (code, _, err) = clean(&folder.run(&["run", "--anywhere"], &[]));
    assert_eq!(code, Some(2));
    assert!(err.contains("--rpc-url"), "{err}");
}

/// The page, and its blocks in a language.
fn of_the_page(language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    PAGE.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

const PAGE: &str = include_str!("../../../../docs/operations/keeper.md");

#[test]
fn the_file_of_the_page_is_valid_and_says_the_defaults() {
    let [file] = of_the_page("toml").try_into().unwrap();
    let folder = Folder::with(&file);
    fs::create_dir(folder.path("deployments")).unwrap();
    let host = "0x00000000000000000000000000000000000000AA".parse().unwrap();
    crate::support::write_deployment(&folder.path("deployments/1.json"), 1, host, "0x00");
    fs::write(folder.path("telegram.token"), format!("{MARK}\n")).unwrap();
    let secrets = [
        ("MAIN_KEY", MARK),
        ("HOOK_URL", "https://hooks.example/5ecretMARKER0123456789"),
        ("HOOK_SECRET", WHSEC),
        ("SLACK_PATH", MARK),
        ("PD_KEY", MARK),
        ("BEAT_KEY", MARK),
    ];
    let (code, out, err) = clean(&folder.run(&["check", "--json"], &secrets));
    assert_eq!(code, Some(0), "{err}");
    let effective: serde_json::Value = serde_json::from_str(&out).unwrap();
    // Without what has a default it is in effect all the same.
    let defaults = [
        "profile = \"default\"\n",
        "poll =",
        "confirmations =",
        "confirmations_fallback",
        "reorg_window",
        "max_lag",
        "verify",
        "read_back",
        "max_contracts",
        "alert",
        "confirm =",
        "storm",
        "every",
        "keep",
        "listen",
        "allow_remote",
        "format",
        "level",
        "start = \"latest\"",
        "url = \"sqlite",
    ];
    let short: String = file
        .lines()
        .map(|line| format!("{line}\n"))
        .filter(|line| !defaults.iter().any(|key| line.starts_with(key)))
        .collect();
    assert!(short.lines().count() + defaults.len() <= file.lines().count());
    fs::write(folder.path("keeper.toml"), short).unwrap();
    let (code, out, err) = clean(&folder.run(&["check", "--json"], &secrets));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&out).unwrap(), effective);
}

#[test]
fn every_key_is_on_the_page() {
    for section in ["chain", "watch", "channel", "route", "heartbeat", "store", "server", "log"] {
        assert!(PAGE.contains(&format!("| `{section}.")), "{section}");
    }
    // What is said of a key that is not known is the list of those that are.
    let unknown = |section: &str| {
        let folder = Folder::with(&full(section));
        fs::write(folder.path("key"), MARK).unwrap();
        let (_, _, err) = clean(&folder.run(&["check"], &env()));
        let (_, known) = err.split_once("known here: ").unwrap_or_else(|| panic!("{err}"));
        known.lines().next().unwrap().split(", ").map(str::to_owned).collect::<Vec<_>>()
    };
    for section in [
        "[chain.other]\nid = 1\nzzzzzzzz = 1\n",
        "[[chain.mainnet.watch]]\naddress = \"0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359\"\nzzzzzzzz = 1\n",
        "[[chain.mainnet.watch]]\nanywhere = true\nzzzzzzzz = 1\n",
        "[channel.x]\ntype = \"slack\"\nzzzzzzzz = 1\n",
        "[channel.x]\ntype = \"telegram\"\nzzzzzzzz = 1\n",
        "[channel.x]\ntype = \"pagerduty\"\nzzzzzzzz = 1\n",
        "[channel.x]\ntype = \"webhook\"\nzzzzzzzz = 1\n",
        "[store]\nzzzzzzzz = 1\n",
        "[server]\nzzzzzzzz = 1\n",
        "[log]\nzzzzzzzz = 1\n",
        "[zzzzzzzz]\n",
    ] {
        for key in unknown(section) {
            let shown = [
                format!("`{key}`"),
                format!(".{key}`"),
                format!("[{key}]"),
                format!("[[{key}]]"),
                format!("`{key}."),
            ];
            assert!(shown.iter().any(|shown| PAGE.contains(shown)), "{key} of {section}");
        }
    }
}

#[test]
fn every_command_of_the_page_is_one_the_parser_takes() {
    use clap::Parser;
    let blocks = of_the_page("sh").join("");
    let commands: Vec<_> = blocks.lines().filter(|line| line.starts_with("keeper ")).collect();
    assert!(commands.len() >= 6, "{commands:?}");
    for command in commands {
        fusebox_keeper::Cli::try_parse_from(command.split_whitespace())
            .unwrap_or_else(|error| panic!("{error}"));
    }
}
