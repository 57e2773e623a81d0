//! There is a verdict for every reply, and it never contradicts itself.

use std::time::{Duration, SystemTime};

use fusebox_rpc::{
    CallContext, Category, NoAnswer, Reply, ReplyHeaders, Rules, Verdict, batch_elements, classify,
};
use proptest::prelude::*;

const METHODS: [&str; 7] = [
    "eth_call",
    "eth_getLogs",
    "eth_sendRawTransaction",
    "eth_getFilterChanges",
    "eth_getBlockByNumber",
    "",
    "💥",
];

fn judge(reply: &Reply<'_>, method: &str, now: SystemTime) -> Verdict {
    let ctx = CallContext {
        method,
        host: "lb.drpc.org",
        id: Some("1"),
        block: Some(7),
        head: Some(9),
        now,
    };
    let verdict = classify(reply, &ctx, Rules::shipped());
    assert_eq!(verdict, classify(reply, &ctx, Rules::shipped()), "the same twice");
    verdict
}

/// What must hold between the parts of any verdict.
fn assert_consistent(verdict: &Verdict) {
    let failure = matches!(
        verdict.category,
        Category::Auth | Category::Server | Category::Timeout | Category::Network
    );
    assert_eq!(verdict.penalty, failure && !verdict.soft, "{verdict:?}");
    assert!(!verdict.soft || verdict.category == Category::Server, "{verdict:?}");
    assert!(!verdict.filter_lost || verdict.category == Category::DataUnavailable, "{verdict:?}");
    let capable = verdict.range.is_none() && verdict.lack.is_none();
    assert!(capable || verdict.category == Category::Capability, "{verdict:?}");
    let waits = [
        Category::RateLimit,
        Category::Quota,
        Category::Server,
        Category::Timeout,
        Category::Network,
    ];
    assert!(verdict.hint.is_none() || waits.contains(&verdict.category), "{verdict:?}");
}

/// JSON that looks like an answer, with anything anywhere.
fn answerish() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        prop::num::f64::NORMAL.prop_map(|n| format!("{n:e}")),
        "-?[1-9][0-9]{0,40}",
        "[1-9][0-9]{0,2}e[0-9]{1,4}",
        any::<String>().prop_map(|text| serde_json::Value::from(text).to_string()),
        Just(r#""\ud800""#.to_owned()),
        Just(r#""execution reverted: \u0000""#.to_owned()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let key = prop_oneof![
            Just("id"),
            Just("result"),
            Just("error"),
            Just("code"),
            Just("message"),
            Just("data"),
            Just("rate"),
            Just("from"),
            Just("to"),
            Just("retry_after"),
            Just("retry_after_ms"),
            Just("backoff_seconds"),
            Just("x"),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec((key, inner), 0..6).prop_map(|fields| {
                let fields: Vec<_> =
                    fields.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
                format!("{{{}}}", fields.join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_bytes_have_a_verdict(
        body in prop::collection::vec(any::<u8>(), 0..300),
        status in any::<u16>(),
        method in prop::sample::select(&METHODS[..]),
    ) {
        let headers = ReplyHeaders::default();
        assert_consistent(&judge(&Reply::Http { status, headers, body: &body }, method, SystemTime::UNIX_EPOCH));
        assert_consistent(&judge(&Reply::Ws { body: &body }, method, SystemTime::UNIX_EPOCH));
        let _ = batch_elements(&body);
    }

    #[test]
    fn any_answer_has_a_verdict(
        body in answerish(),
        status in prop_oneof![Just(200_u16), Just(429), Just(403), Just(500), any::<u16>()],
        header in ".{0,40}",
        epoch in any::<u32>(),
        method in prop::sample::select(&METHODS[..]),
    ) {
        let headers = ReplyHeaders {

            date: Some(&header),
            retry_after: Some(&header),
            ratelimit_reset: Some(&header),
            x_ratelimit_reset: Some(&header),
        };
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(epoch.into());
        assert_consistent(&judge(&Reply::Http { status, headers, body: body.as_bytes() }, method, now));
        assert_consistent(&judge(&Reply::Ws { body: body.as_bytes() }, method, now));
    }

    #[test]
    fn a_revert_is_a_revert_whatever_the_contract_says(said in any::<String>(), code in any::<i32>()) {
        // −32700 is the one code whose message is not looked at.
        prop_assume!(code != -32_700);
        let message = format!("execution reverted: {said}");
        let body = serde_json::json!({ "id": 1, "error": { "code": code, "message": message } }).to_string();
        let reply = Reply::Http { status: 200, headers: ReplyHeaders::default(), body: body.as_bytes() };
        let ctx = CallContext {
            method: "eth_call", host: "eth.example", id: None, block: None, head: None, now: SystemTime::UNIX_EPOCH,
        };
        prop_assert_eq!(classify(&reply, &ctx, Rules::shipped()).category, Category::Revert);
    }

    #[test]
    fn a_result_is_a_success_whatever_it_says(result in answerish()) {
        prop_assume!(result.trim() != "null");
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        let reply = Reply::Ws { body: body.as_bytes() };
        let ctx = CallContext {
            method: "eth_call", host: "eth.example", id: Some("1"), block: None, head: None, now: SystemTime::UNIX_EPOCH,
        };
        prop_assert_eq!(classify(&reply, &ctx, Rules::shipped()).category, Category::Success);
    }
}

#[test]
fn depth_and_length_do_not_matter() {
    let deep = "[".repeat(200_000) + &"]".repeat(200_000);
    let long = "9".repeat(1_000_000);
    for body in [
        format!(r#"{{"id":1,"result":{deep}}}"#),
        format!(r#"{{"id":1,"result":{long}}}"#),
        format!(r#"{{"id":1,"error":{{"code":{long},"message":{deep},"data":{deep}}}}}"#),
        format!(
            r#"{{"id":1,"error":{{"code":-32000,"message":"rate limit","data":{{"rate":{deep}}}}}}}"#
        ),
        format!(
            r#"{{"id":1,"error":{{"message":"{}","data":"{}"}}}}"#,
            "limit ".repeat(100_000),
            "block ".repeat(100_000)
        ),
        deep.clone(),
        "{\"error\":".repeat(100_000),
    ] {
        for method in ["eth_call", "eth_getLogs"] {
            assert_consistent(&judge(
                &Reply::Ws { body: body.as_bytes() },
                method,
                SystemTime::UNIX_EPOCH,
            ));
        }
    }
    let deep_result = format!(r#"{{"id":1,"result":{deep}}}"#);
    let verdict = judge(
        &Reply::Ws { body: deep_result.as_bytes() },
        "debug_traceCall",
        SystemTime::UNIX_EPOCH,
    );
    assert_eq!(verdict.category, Category::Success);
}

#[test]
fn nothing_has_a_verdict_too() {
    for why in [NoAnswer::Deadline, NoAnswer::Connect, NoAnswer::Closed(Some(1000))] {
        assert_consistent(&judge(&Reply::None(why), "eth_call", SystemTime::UNIX_EPOCH));
    }
}
