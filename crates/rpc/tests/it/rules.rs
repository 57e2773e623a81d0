//! A user's rules on top of ours.

use std::time::SystemTime;

use fusebox_rpc::{CallContext, Category, Reply, Rules, RulesError, Verdict, classify};

fn judge(rules: &Rules, host: &str, code: i64, message: &str) -> Verdict {
    let ctx = CallContext {
        method: "eth_call",
        host,
        id: None,
        block: None,
        head: None,
        now: SystemTime::UNIX_EPOCH,
    };
    let body = serde_json::json!({ "error": { "code": code, "message": message } }).to_string();
    classify(&Reply::Ws { body: body.as_bytes() }, &ctx, rules)
}

#[test]
fn a_new_rule_is_looked_at_before_all_of_its_kind() {
    let mine = "[[rule]]\nid = 'mine'\ncategory = 'rate_limit'\nphrases = ['flux capacitor']";
    let rules = Rules::shipped().with(mine).unwrap();
    let verdict = judge(&rules, "eth.example", -32_000, "the flux capacitor is cold");
    assert_eq!(
        (verdict.category, verdict.rule.to_string().as_str()),
        (Category::RateLimit, "mine")
    );
    assert!(judge(Rules::shipped(), "eth.example", -32_000, "the flux capacitor is cold").soft);
    // The families stay in their order, and all that shipped is still there.
    assert_eq!(
        judge(&rules, "eth.example", 3, "execution reverted: flux capacitor").category,
        Category::Revert
    );
    assert_eq!(
        judge(&rules, "eth.example", -32_000, "header not found").category,
        Category::DataUnavailable
    );
}

#[test]
fn a_rule_with_a_known_id_takes_its_place() {
    let mine = "[[rule]]\nid = 'code.method'\ncategory = 'user'\ncodes = [-32601]";
    let rules = Rules::shipped().with(mine).unwrap();
    assert_eq!(judge(&rules, "eth.example", -32_601, "xyzzy").category, Category::User);
    assert_eq!(
        judge(&rules, "eth.example", -32_004, "xyzzy").category,
        Category::Server,
        "its other code went with it"
    );
}

#[test]
fn a_host_rule_goes_first_and_only_at_its_host() {
    let mine = "[hosts]\nmine = ['rpc.mine.example']\n\
                [[rule]]\nid = 'mine'\ncategory = 'server'\nhosts = ['mine']\nphrases = ['header not found']";
    let rules = Rules::shipped().with(mine).unwrap();
    for (host, want) in [
        ("mine", Category::Server),
        ("rpc.mine.example", Category::Server),
        ("eu.rpc.mine.example", Category::Server),
        ("notrpc.mine.example", Category::DataUnavailable),
        ("rpc.mine.example.org", Category::DataUnavailable),
        ("", Category::DataUnavailable),
    ] {
        assert_eq!(judge(&rules, host, -32_000, "header not found").category, want, "{host}");
    }
    // Not even a rule for a host may read what a contract says.
    assert_eq!(
        judge(&rules, "mine", 3, "execution reverted: header not found").category,
        Category::Revert
    );
    // Our own hosts are still known.
    assert_eq!(judge(&rules, "lb.drpc.org", 30, "Request timeout").category, Category::RateLimit);
    assert_eq!(judge(&rules, "eth.example", 30, "Request timeout").category, Category::Timeout);
}

#[test]
fn a_wrong_file_is_refused_by_the_id_of_the_rule() {
    let error = |text: &str| Rules::shipped().with(text).unwrap_err();
    let rule = |rest: &str| format!("[[rule]]\nid = 'x'\n{rest}");
    assert!(matches!(error("rule = 1"), RulesError::Syntax(_)));
    assert!(matches!(error(&rule("category = 'oops'\ncodes = [1]")), RulesError::Syntax(_)));
    assert!(
        matches!(error(&rule("category = 'user'\ncode = [1]")), RulesError::Syntax(_)),
        "a key that is none"
    );
    let id = "x".to_owned();
    let twice = format!("{0}\n{0}", rule("category = 'user'\ncodes = [1]"));
    assert_eq!(error(&twice), RulesError::Duplicate { id: id.clone() });
    assert_eq!(error(&rule("category = 'user'")), RulesError::Unconditional { id: id.clone() });
    assert_eq!(
        error(&rule("category = 'user'\nmethods = ['a']")),
        RulesError::Unconditional { id: id.clone() }
    );
    let blank = error(&rule("category = 'user'\nphrases = ['^*$']"));
    assert_eq!(blank, RulesError::BlankPhrase { id: id.clone(), phrase: "^*$".into() });
    for category in [Category::Success, Category::Network] {
        let text = rule(&format!("category = '{category}'\ncodes = [1]"));
        assert_eq!(error(&text), RulesError::Category { id: id.clone(), category });
    }
    for (status, text) in
        [("99", "99"), ("600", "600"), ("'500'", "500"), ("'599-500'", "599-500"), ("-1", "-1")]
    {
        let got = error(&rule(&format!("category = 'user'\nstatus = [{status}]")));
        assert_eq!(got, RulesError::Status { id: id.clone(), text: text.into() });
        assert!(got.to_string().contains("\"x\""), "{got}");
    }
}
