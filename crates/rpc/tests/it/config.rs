//! A configuration is read whole, and whatever is wrong with it is said at once.

use std::time::Duration;

use fusebox_rpc::{
    ConfigErrors, HedgeAfter, MethodClass, Problem, RpcConfig, Scope, Strategy, Transport,
};
use serde_json::Value;

/// The example of the design, with its variables.
const EXAMPLE: &str = r#"
[breaker]
failure_threshold = 5
category_thresholds = { server = 5, network = 3, timeout = 2, auth = 2, lag = 3 }
time_window = { period = "60s", min_calls = 20, failure_percent = 50 }
scope = "method_class"
[profile.default.chain.1]
strategy = "priority"
genesis = "0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3"
deadlines = { connect = "3s", attempt = "5s", logs = "15s", call = "20s" }
hedge = { after = "p95", max = 1 }
[[profile.default.chain.1.provider]]
name = "alchemy"
http = "https://eth-mainnet.g.alchemy.com/v2/${ALCHEMY_KEY}"
ws = "wss://eth-mainnet.g.alchemy.com/v2/${ALCHEMY_KEY}"
max_rps = 25
[[profile.default.chain.1.provider]]
name = "own-node"
http = "http://10.0.0.5:8545"
headers = { authorization = "Bearer ${NODE_TOKEN}" }
"#;

fn filled() -> String {
    EXAMPLE.replace("${ALCHEMY_KEY}", "MARKERkey0123456789").replace("${NODE_TOKEN}", "MARKERtoken")
}

fn read(text: &str) -> Result<RpcConfig, ConfigErrors> {
    RpcConfig::from_value(toml::from_str::<Value>(text).expect("TOML"))
}

/// Key and problem of each error.
fn errors(text: &str) -> Vec<(String, Problem)> {
    read(text)
        .expect_err("it is wrong")
        .0
        .into_iter()
        .map(|error| (error.key, error.problem))
        .collect()
}

/// The one error of a chain that has a good provider and this besides.
fn only(chain: &str) -> (String, Problem) {
    let text = format!(
        "[profile.p.chain.1]\n{chain}\n[[profile.p.chain.1.provider]]\nname = 'a'\nhttp = 'http://a.example'\n"
    );
    let mut found = errors(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// The one error of a provider with this besides its name.
fn only_provider(rest: &str) -> (String, Problem) {
    let mut found = errors(&format!("[[profile.p.chain.1.provider]]\nname = 'a'\n{rest}\n"));
    assert_eq!(found.len(), 1, "{found:?}");
    let (key, problem) = found.remove(0);
    (key.replace("profile.p.chain.1.provider[0]", "*"), problem)
}

#[test]
fn the_example_is_read_as_written() {
    let config = read(&filled()).unwrap();
    let chain = &config.profiles["default"].chains[&1];
    assert_eq!(chain.strategy, Strategy::Priority);
    assert_eq!(chain.genesis.unwrap()[..2], [0xd4, 0xe5]);
    assert_eq!(chain.deadlines.logs, Duration::from_secs(15));
    assert_eq!(chain.hedge.unwrap().after, HedgeAfter::Percentile(95));
    assert_eq!((chain.max_lag_blocks, chain.auto_split), (3, true));
    let [alchemy, own] = &chain.providers[..] else { panic!("two providers") };
    assert_eq!(alchemy.max_rps.map(u32::from), Some(25));
    assert_eq!(alchemy.ws.as_ref().unwrap().transport(), Transport::Ws);
    assert_eq!(
        own.http.as_ref().unwrap().headers()["authorization"].expose(),
        "Bearer MARKERtoken"
    );
    assert_eq!(config.breaker.scope(), Scope::MethodClass);
    assert_eq!(
        config.breaker,
        read("[[profile.p.chain.1.provider]]\nname='a'\nws='ws://a.example'").unwrap().breaker
    );
}

#[test]
fn a_variable_that_is_not_filled_in_is_named() {
    let variable = |name: &str| Problem::Variable { name: name.to_owned() };
    let provider = "profile.default.chain.1.provider";
    assert_eq!(
        errors(EXAMPLE),
        [
            (format!("{provider}[0].http"), variable("ALCHEMY_KEY")),
            (format!("{provider}[0].ws"), variable("ALCHEMY_KEY")),
            (format!("{provider}[1].headers.authorization"), variable("NODE_TOKEN")),
        ]
    );
    let two = only_two("http = 'http://${A}.example/${B}'");
    assert_eq!(two, [variable("A"), variable("B")]);
    assert_eq!(only_provider("http = 'http://a.example/${se-cret}'").1, Problem::VariableName);
    assert_eq!(only_provider("http = 'http://a.example/${secret'").1, Problem::VariableName);
}

fn only_two(rest: &str) -> Vec<Problem> {
    let found = errors(&format!("[[profile.p.chain.1.provider]]\nname = 'a'\n{rest}\n"));
    found.into_iter().map(|(_, problem)| problem).collect()
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let found = read(
        r#"
        oops = 1
        [breaker]
        scope = "host"
        failure_treshold = 3
        [profile.a.chain.0]
        [profile.a.chain.1]
        strategy = "random"
        deadlines = { connect = "9s", atempt = "1s" }
        [[profile.a.chain.1.provider]]
        name = "x"
        http = "ftp://a.example"
        breaker = { cooldown = 5 }
        [[profile.a.chain.1.provider]]
        name = "x"
        "#,
    )
    .unwrap_err();
    let keys: Vec<_> = found.0.iter().map(|error| error.key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "breaker.scope",
            "breaker.failure_treshold",
            "profile.a.chain.0",
            "profile.a.chain.1.strategy",
            "profile.a.chain.1.deadlines.connect",
            "profile.a.chain.1.deadlines.atempt",
            "profile.a.chain.1.provider[0].http",
            "profile.a.chain.1.provider[0].breaker.cooldown",
            "profile.a.chain.1.provider[1]",
            "profile.a.chain.1.provider[1].name",
            "oops",
        ]
    );
    let shown = found.to_string();
    assert_eq!(shown.lines().count(), keys.len(), "{shown}");
    assert!(shown.contains(
        "profile.a.chain.1.deadlines.atempt: unknown key; known here: connect, attempt, logs, call"
    ));
}

#[test]
fn each_problem_has_its_key() {
    let deadline = |name: &str| format!("profile.p.chain.1.deadlines.{name}");
    let (key, problem) = only("deadlines = { attempt = '21s' }");
    assert_eq!(key, deadline("attempt"));
    assert!(matches!(problem, Problem::DeadlineOrder { other: "call", .. }));
    let (key, problem) = only("deadlines = { attempt = '30s', call = '60s' }");
    assert_eq!(key, deadline("attempt"));
    assert!(
        matches!(problem, Problem::AttemptOutlivesLease { lease, .. } if lease == Duration::from_secs(30))
    );
    assert!(read(&chain("deadlines = { attempt = '29999ms', call = '60s' }")).is_ok());
    assert!(matches!(
        only("deadlines = { logs = '30s', call = '60s' }").1,
        Problem::AttemptOutlivesLease { .. }
    ));

    for genesis in
        ["", "0x", "d4e5", &format!("0x{}", "g".repeat(64)), &format!("0x{}", "ü".repeat(32))]
    {
        assert_eq!(only(&format!("genesis = '{genesis}'")).1, Problem::Genesis, "{genesis}");
    }
    for after in ["p49", "p100", "p", "fast", "0s", "3"] {
        assert_eq!(
            only(&format!("hedge = {{ after = '{after}' }}")).1,
            Problem::HedgeAfter,
            "{after}"
        );
    }
    assert!(matches!(
        only("hedge = { after = 'p95', max = 4 }").1,
        Problem::OutOfRange { min: 1, max: 3, got: 4 }
    ));
    assert!(matches!(only("hedge = { after = 'p95', max = 0 }").1, Problem::OutOfRange { .. }));
    let send = only("idempotent = ['bor_getAuthor', 'eth_sendRawTransaction']").1;
    assert_eq!(send, Problem::NotIdempotent { method: "eth_sendRawTransaction".to_owned() });
    for wrong in [
        "block_time = 12",
        "block_time = '0s'",
        "block_time = '12'",
        "block_time = '-1s'",
        "auto_split = 'yes'",
    ] {
        assert!(matches!(only(wrong).1, Problem::WrongType { .. }), "{wrong}");
    }

    assert_eq!(only_provider(""), ("*".to_owned(), Problem::NoUrl));
    for url in ["a.example", "", "https://", "s3cret"] {
        assert_eq!(
            only_provider(&format!("http = '{url}'")).1,
            Problem::Url { wanted: "https" },
            "{url}"
        );
    }
    assert_eq!(
        only_provider("ws = 'https://a.example'").1,
        Problem::Scheme { wanted: "ws or wss" }
    );
    assert_eq!(
        only_provider("http = 'wss://a.example'").1,
        Problem::Scheme { wanted: "http or https" }
    );
    assert_eq!(only_provider("http = 5").1, Problem::WrongType { wanted: "text" });
    let good = "http = 'http://a.example'";
    assert!(matches!(
        only_provider(&format!("{good}\nmax_rps = 0")).1,
        Problem::OutOfRange { min: 1, .. }
    ));
    for header in ["'x y' = 'a'", "'' = 'a'", "x = \"a\\r\\nb: c\"", "x = 'ü'"] {
        let (key, problem) = only_provider(&format!("{good}\nheaders = {{ {header} }}"));
        assert_eq!(problem, Problem::Header, "{header}");
        assert!(key.starts_with("*.headers."), "{key}");
    }
    for name in ["", "a b", "a/b", "ü", &"x".repeat(65)] {
        let found = errors(&format!("[[profile.p.chain.1.provider]]\nname = '{name}'\n{good}"));
        assert_eq!(
            found,
            [("profile.p.chain.1.provider[0].name".to_owned(), Problem::Name)],
            "{name}"
        );
    }
    let unnamed = errors(&format!("[[profile.p.chain.1.provider]]\n{good}"));
    assert_eq!(unnamed, [("profile.p.chain.1.provider[0].name".to_owned(), Problem::Missing)]);
}

fn chain(rest: &str) -> String {
    format!(
        "[profile.p.chain.1]\n{rest}\n[[profile.p.chain.1.provider]]\nname = 'a'\nhttp = 'http://a.example'\n"
    )
}

#[test]
fn nobody_to_ask_is_an_error() {
    for (text, key) in [
        ("", "profile"),
        ("[profile]", "profile"),
        ("[profile.p]", "profile.p"),
        ("[profile.p.chain]", "profile.p"),
        ("[profile.p.chain.1]", "profile.p.chain.1"),
        ("[profile.p.chain.1]\nprovider = []", "profile.p.chain.1"),
    ] {
        let found = errors(text);
        assert!(
            matches!(&found[..], [(at, Problem::NoProvider { .. })] if at == key),
            "{text}: {found:?}"
        );
    }
    for id in ["0", "01", "-1", "mainnet", "18446744073709551616"] {
        let found = errors(&format!(
            "[[profile.p.chain.{id}.provider]]\nname = 'a'\nhttp = 'http://a.example'"
        ));
        assert_eq!(found, [(format!("profile.p.chain.{id}"), Problem::ChainId)]);
    }
}

#[test]
fn one_server_has_one_breaker() {
    let two = |a: &str, b: &str| {
        format!(
            "[[profile.a.chain.1.provider]]\nname = 'x'\nhttp = 'https://u:p@A.example/'\n{a}\n\
             [[profile.b.chain.1.provider]]\nname = 'y'\nhttp = 'https://u:p@a.example:443'\n{b}\n"
        )
    };
    let threshold = "breaker = { failure_threshold = 3 }";
    // The same server under two names is no error.
    assert!(read(&two("", "")).is_ok());
    assert!(read(&two(threshold, threshold)).is_ok());
    let want = Problem::TwoBreakers { other: "profile.a.chain.1.provider[0].http".to_owned() };
    assert_eq!(
        errors(&two(threshold, "")),
        [("profile.b.chain.1.provider[0].http".to_owned(), want)]
    );
    // Another key is another customer of that server, and may be judged otherwise.
    assert!(read(&two(threshold, "").replace("u:p@a", "u:q@a")).is_ok());
}

#[test]
fn settings_of_breakers_lie_on_top_of_each_other() {
    let text = "[breaker]\nfailure_threshold = 7\nscope = 'endpoint'\n\
        [[profile.p.chain.1.provider]]\nname = 'a'\nhttp = 'http://a.example'\nbreaker = { cooldown = '5s' }\n\
        [[profile.p.chain.1.provider]]\nname = 'b'\nhttp = 'http://b.example'\nbreaker = { scope = 'method_class' }\n";
    let config = read(text).unwrap();
    let [a, b] = &config.profiles["p"].chains[&1].providers[..] else { panic!("two providers") };
    assert_eq!(a.breaker.settings()["failure_threshold"], 7);
    assert_eq!(a.breaker.settings()["cooldown"], "5s");
    assert_eq!(a.breaker.settings()["time_window"]["period"], "60s", "the pool's default");
    assert_eq!((a.breaker.scope(), b.breaker.scope()), (Scope::Endpoint, Scope::MethodClass));
    assert!(!b.breaker.settings().contains_key("cooldown"));
    assert!(!a.breaker.settings().contains_key("scope"), "that one is the pool's");
    let lease = text.replace("cooldown = '5s'", "probe_lease = '10s'");
    assert!(matches!(
        &errors(&lease)[..],
        [(key, Problem::AttemptOutlivesLease { provider, .. })] if key.ends_with(".logs") && provider == "a"
    ));
}

#[test]
fn no_secret_is_shown_by_a_configuration_or_its_errors() {
    let config = read(&filled()).unwrap();
    let shown = format!("{config:?} {config:#?}");
    assert!(!shown.contains("MARKER"), "{shown}");
    for wrong in [
        "http = 'MARKER0123456789'",
        "http = 'MARKER0123456789:x'",
        "http = 'MARKER0123456789://a.example'",
        "http = 'https://a.example:MARKER0123456789/'",
        "http = 'ftp://u:MARKER0123456789@a.example/MARKER0123456789?k=MARKER0123456789'",
        "http = 'https://a.example/${MARKER 0123456789}'",
        "http = ['MARKER0123456789']",
        "http = 'http://a.example'\nheaders = { x = \"MARKER0123456789\\n\" }",
        "http = 'http://a.example'\nheaders = { x = ['MARKER0123456789'] }",
        "http = 'http://a.example'\nheaders = 'MARKER0123456789'",
    ] {
        let found =
            read(&format!("[[profile.p.chain.1.provider]]\nname = 'a'\n{wrong}\n")).unwrap_err();
        assert!(!format!("{found} {found:?}").contains("MARKER"), "{wrong} gave {found}");
    }
}

#[test]
fn a_configuration_is_read_by_serde_too() {
    let config: RpcConfig = toml::from_str(&filled()).unwrap();
    assert_eq!(config, read(&filled()).unwrap());
    let error = toml::from_str::<RpcConfig>("[profile.p.chain.0]\n[profile.q.chain.0]")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("profile.p.chain.0: is no chain id") && error.contains("profile.q.chain.0"),
        "{error}"
    );
    assert_eq!(MethodClass::ALL.len(), 6);
}
