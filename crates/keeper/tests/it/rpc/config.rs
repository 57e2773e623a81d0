//! What is wrong with a configuration, by file, line and column.

use super::proxy::{CHAIN, Start, file, node, node_of, provider};
use crate::support::{stderr, stdout};
use fusebox_testkit::{RpcError, on};
use std::fs;

/// The lines of standard error, without the path; and the exit code.
fn refused(start: &Start) -> (Option<i32>, Vec<String>) {
    let output = start.output();
    assert_eq!(stdout(&output), "");
    let text = stderr(&output).replace(start.path().to_str().unwrap(), "keeper.toml");
    (output.status.code(), text.lines().map(str::to_owned).collect())
}

#[test]
fn all_problems_are_told_at_once_each_with_its_place_and_a_remedy() {
    let file = "\
[breaker]
failure_treshold = 3
[profile.default.chain.1]
strategy = \"fastest\"
deadlines = { attempt = \"1h\" }
[[profile.default.chain.1.provider]]
name = \"vendor\"
http = \"https://eth.example/v2/${RPC_TEST_NOT_SET}\"
[[profile.default.chain.1.provider]]
name = \"vendor\"
http = \"ws://eth.example/v2/5ecret\"
headers = { authorization = \"Bearer ${file:none}\" }
";
    let (code, lines) = refused(&Start::with(file));
    assert_eq!(code, Some(3));
    for (line, want) in [
        "keeper.toml:2:1: breaker.failure_treshold: unknown field",
        "keeper.toml:5:15: profile.default.chain.1.deadlines.attempt: is 3600s, longer than call (20s)",
        "keeper.toml:5:15: profile.default.chain.1.deadlines.attempt: is 3600s, not shorter than the probe lease",
        "keeper.toml:8:1: profile.default.chain.1.provider[0].http: the environment variable RPC_TEST_NOT_SET is not set; export it",
        "keeper.toml:10:1: profile.default.chain.1.provider[1].name: another provider of this chain has the name \"vendor\"; rename one",
        "keeper.toml:11:1: profile.default.chain.1.provider[1].http: has another scheme than http or https; write",
        "keeper.toml:12:13: profile.default.chain.1.provider[1].headers.authorization: the file ",
    ]
    .iter()
    .enumerate()
    {
        let found = lines.get(line).unwrap_or_else(|| panic!("{lines:#?}"));
        assert!(found.trim_start_matches("error: ").starts_with(want), "{want}\n{lines:#?}");
    }
    assert_eq!(lines.len(), 7, "{lines:#?}");
}

#[tokio::test]
async fn a_breaker_that_cannot_be_is_pointed_at() {
    let node = node().start().await.unwrap();
    for (breaker, want) in [
        ("failure_treshold = 3", "keeper.toml:5:1: breaker.failure_treshold: unknown field"),
        // Only in the whole is it wrong.
        ("cooldown = \"1h\"", "keeper.toml:1:1: profile.default.chain.31337.provider[0].breaker: "),
    ] {
        let config = format!("{}[breaker]\n{breaker}\n", file(&[&node]));
        let (code, lines) = refused(&Start::with(&config));
        assert_eq!(code, Some(3));
        assert!(lines[0].contains(want), "{lines:?}");
    }
}

#[test]
fn what_is_no_toml_is_pointed_at_and_not_repeated() {
    let (code, lines) = refused(&Start::with("[breaker]\ncooldown = 5ecret\n"));
    assert_eq!(code, Some(3));
    assert!(lines[0].starts_with("error: keeper.toml:2:"), "{lines:?}");
    assert!(!lines[0].contains("5ecret"), "{lines:?}");
}

#[tokio::test]
async fn variables_and_files_make_a_url_that_works() {
    let node = node().start().await.unwrap();
    let url = node.url();
    let start = Start::with(&provider(CHAIN, "a", "${RPC_TEST_URL}/${file:key}"));
    fs::write(start.path().with_file_name("key"), "k3y\n").unwrap();
    let proxy = start.env("RPC_TEST_URL", &url).run().await;
    assert_eq!(proxy.ask("eth_blockNumber").await.json()["result"], "0x5");
}

#[tokio::test]
async fn rules_of_ones_own_say_what_an_unknown_error_means() {
    let maintenance = RpcError::new(-1, "back in 5 minutes");
    let node = node().rule(on("eth_gasPrice").error(maintenance)).start().await.unwrap();
    let start = Start::with(&format!("rules = \"mine.toml\"\n{}", file(&[&node])));
    let mine =
        "[[rule]]\nid = \"mine\"\ncategory = \"rate_limit\"\nphrases = [\"back in * minutes\"]\n";
    fs::write(start.path().with_file_name("mine.toml"), mine).unwrap();
    let proxy = start.run().await;
    assert_eq!(proxy.ask("eth_gasPrice").await.json()["error"]["code"], -1);
    let metrics = proxy.get("/metrics").await.text;
    assert!(metrics.contains("class=\"head\",category=\"success\"}"), "{metrics}");
    assert!(metrics.contains("category=\"rate_limit\"}"), "{metrics}");
}

#[test]
fn rules_that_are_none_are_pointed_at() {
    for (rules, want) in [
        ("7", "rules: is no text; name a file of rules"),
        ("\"none.toml\"", "none.toml cannot be read: entity not found"),
        ("\"mine.toml\"", "rules: \"mine\" has none of hosts, status, codes and phrases; add one"),
    ] {
        let providers = provider(CHAIN, "a", "http://127.0.0.1:1");
        let start = Start::with(&format!("rules = {rules}\n{providers}"));
        let mine = "[[rule]]\nid = \"mine\"\ncategory = \"server\"\n";
        fs::write(start.path().with_file_name("mine.toml"), mine).unwrap();
        let (code, lines) = refused(&start);
        assert_eq!(code, Some(3), "{lines:?}");
        assert!(lines[0].starts_with("error: keeper.toml:1:1: rules: "), "{lines:?}");
        assert!(lines[0].contains(want), "{lines:?}");
        assert_eq!(lines.len(), 1, "{lines:?}");
    }
}

#[tokio::test]
async fn the_file_and_the_address_may_come_from_the_environment_and_flags_win() {
    let node = node().start().await.unwrap();
    let start = Start::with(&file(&[&node]));
    let path = start.path();
    let proxy = Start::bare().env("KEEPER_CONFIG", path.to_str().unwrap()).run().await;
    assert_eq!(proxy.ask("eth_blockNumber").await.json()["result"], "0x5");
    let proxy = Start::bare()
        .args(["-r", &node.url()])
        .env("KEEPER_CONFIG", "/no/such/file")
        .env("KEEPER_RPC_LISTEN", "127.0.0.1:1")
        .run()
        .await;
    assert_eq!(proxy.ask("eth_blockNumber").await.json()["result"], "0x5");
}

#[tokio::test]
async fn a_command_line_that_asks_for_what_is_not_there_ends_with_2() {
    let node = node().start().await.unwrap();
    let config = file(&[&node]);
    for (start, want) in [
        (Start::bare(), "give --config FILE, or --rpc-url URL"),
        (
            Start::with(&config).args(["--profile", "other"]),
            "--profile other is not in keeper.toml; it has default",
        ),
        (
            Start::with(&config).args(["--chain", "1"]),
            "--chain 1 is not among the chains of the profile: 31337",
        ),
        (Start::with(&config).args(["-r", "http://a"]), "cannot be used with"),
        (
            Start::bare().args(["-r", "ws://a"]),
            "--rpc-url number 1: has another scheme than http or https",
        ),
        (Start::bare().args(["-r", "http://a", "--chain", "0"]), "--chain: is no chain id"),
    ] {
        let (code, lines) = refused(&start);
        assert_eq!(code, Some(2), "{lines:?}");
        assert!(lines.join("\n").contains(want), "{want}: {lines:?}");
    }
    let (code, lines) = refused(&Start::bare().args(["--config", "/no/such/file"]));
    assert_eq!(code, Some(3));
    assert!(lines[0].contains("/no/such/file: cannot be read"), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_are_all_on_another_chain_end_with_4_and_one_that_is_not_serves() {
    let (wrong, right) = (node_of(5).start().await.unwrap(), node().start().await.unwrap());
    let url = wrong.url();
    let two = provider(CHAIN, "a", &url) + &provider(CHAIN, "b", &format!("{url}/b"));
    let (code, lines) = refused(&Start::with(&two));
    assert_eq!(code, Some(4));
    assert!(
        lines.last().unwrap().contains("every endpoint of chain 31337 serves another chain"),
        "{lines:?}"
    );

    // Not reachable is not wrong.
    let away = provider(CHAIN, "b", "http://127.0.0.1:1");
    let mut proxy = Start::with(&(provider(CHAIN, "a", &url) + &away)).run().await;
    proxy.says("ALARM: a serves another chain: it says 0x5, not 0x7a69").await;
    proxy.signal("TERM");
    assert_eq!(proxy.ended().await, Some(0));

    let mut proxy = Start::with(&file(&[&wrong, &right])).run().await;
    proxy.says("ALARM: a serves another chain").await;
    assert_eq!(proxy.ask("eth_blockNumber").await.json()["result"], "0x5");
    let a = proxy.endpoint("a").await;
    assert_eq!(
        (&a["right_chain"], &a["classes"][0]["state"]),
        (&false.into(), &"forced-open".into())
    );

    // Without a file they are asked, and must agree.
    let (code, lines) = refused(&Start::bare().args(["-r", &url, "-r", &right.url()]));
    assert_eq!(code, Some(4));
    let want = format!(
        "the node at {url} is on chain 5, the node at {} is on chain 31337: say which one is meant with --chain",
        right.url()
    );
    assert!(lines[0].contains(&want), "{want}\n{lines:?}");
}

/// The blocks of the page in this language.
fn of_the_page(language: &str) -> Vec<String> {
    let page = include_str!("../../../../../docs/operations/rpc.md");
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn the_file_of_the_page_starts_a_proxy() {
    let [file] = of_the_page("toml").try_into().unwrap();
    let start = Start::with(&file).env("VENDOR_KEY", "k3y");
    fs::write(start.path().with_file_name("node.token"), "t0ken\n").unwrap();
    let proxy = start.run().await;
    let status = proxy.get("/status").await.json();
    let names = status["chains"][0]["endpoints"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|endpoint| endpoint["provider"].as_str().unwrap()).collect();
    assert_eq!(names, ["vendor", "own-node", "vendor"]);
}

#[test]
fn every_command_of_the_page_is_one_the_parser_takes() {
    use clap::Parser;
    let blocks = of_the_page("sh").join("");
    let commands: Vec<_> = blocks.lines().filter(|line| line.starts_with("keeper ")).collect();
    assert!(commands.len() >= 4, "{commands:?}");
    for command in commands {
        fusebox_keeper::Cli::try_parse_from(command.split_whitespace())
            .unwrap_or_else(|error| panic!("{error}"));
    }
}
