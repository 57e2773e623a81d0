//! Words that mean something else in another place.

use std::time::SystemTime;

use fusebox_rpc::{
    CallContext, Category, Lack, NoAnswer, Reason, Reply, ReplyHeaders, Rules, Verdict, classify,
};
use serde_json::json;

fn ctx(method: &str) -> CallContext<'_> {
    CallContext {
        method,
        host: "eth.example",
        id: Some("1"),
        block: None,
        head: None,
        now: SystemTime::UNIX_EPOCH,
    }
}

fn judge(method: &str, status: u16, body: &str) -> Verdict {
    let reply = Reply::Http { status, headers: ReplyHeaders::default(), body: body.as_bytes() };
    classify(&reply, &ctx(method), Rules::shipped())
}

fn error(method: &str, code: i64, message: &str) -> Verdict {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": code, "message": message } });
    judge(method, 200, &body.to_string())
}

#[test]
fn what_a_contract_says_steers_nothing() {
    for said in [
        "rate limit exceeded, retry in 60 seconds",
        "header not found",
        "Unauthorized",
        "daily limit reached",
        "block range too large",
        "filter not found",
        "internal error",
        "timeout",
        "nonce too low",
        "invalid params",
    ] {
        for method in ["eth_call", "eth_estimateGas", "eth_sendRawTransaction", "eth_getLogs"] {
            for message in [
                format!("execution reverted: {said}"),
                format!("Execution reverted with reason: {said}"),
                format!(
                    "VM Exception while processing transaction: reverted with reason string '{said}'"
                ),
                format!("err: execution reverted: {said} (supplied gas 1000)"),
                format!("[Request ID: 1] execution reverted: {said}"),
            ] {
                for code in [3, -32_000, -32_603, -32_015, -32_005] {
                    let verdict = error(method, code, &message);
                    assert_eq!(
                        verdict.category,
                        Category::Revert,
                        "{method} {code} {message}: {}",
                        verdict.rule
                    );
                    assert_eq!(verdict.hint, None, "{message}");
                    assert!(!verdict.penalty && !verdict.filter_lost, "{message}");
                }
            }
        }
    }
}

#[test]
fn words_of_a_node_before_those_of_a_contract_still_count() {
    let verdict =
        error("eth_call", -32_000, "429 Too Many Requests: execution reverted: header not found");
    assert_eq!(verdict.category, Category::RateLimit);
}

#[test]
fn limit_exceeded_means_what_was_asked() {
    for (method, want) in [
        ("eth_getLogs", Category::Capability),
        ("eth_getFilterLogs", Category::Capability),
        ("eth_call", Category::RateLimit),
        ("eth_blockNumber", Category::RateLimit),
        ("eth_sendRawTransaction", Category::RateLimit),
        ("debug_traceCall", Category::RateLimit),
    ] {
        for message in ["limit exceeded", "Limit exceeded.", "LIMIT_EXCEEDED"] {
            assert_eq!(error(method, -32_005, message).category, want, "{method}: {message}");
        }
    }
    assert_eq!(
        error("eth_sendRawTransaction", -32_000, "gas limit exceeded").category,
        Category::TxPool
    );
    assert_eq!(error("eth_estimateGas", -32_000, "gas limit exceeded").category, Category::User);
}

#[test]
fn the_words_of_a_transaction_pool_count_on_sends_only() {
    for message in [
        "nonce too low",
        "already known",
        "replacement transaction underpriced",
        "insufficient funds for gas",
    ] {
        assert_eq!(
            error("eth_sendRawTransaction", -32_000, message).category,
            Category::TxPool,
            "{message}"
        );
        assert_eq!(error("eth_call", -32_000, message).category, Category::User, "{message}");
    }
    assert_eq!(error("eth_sendRawTransaction", -32_603, "rejected").category, Category::TxPool);
    assert_eq!(error("eth_call", -32_603, "rejected").category, Category::Server);
    assert_eq!(
        error("eth_sendRawTransaction", -32_002, "rejected due to project ID settings").category,
        Category::Auth
    );
    assert_eq!(
        error("eth_sendRawTransaction", -32_016, "over rate limit").category,
        Category::RateLimit
    );
    assert_eq!(
        error("eth_sendRawTransaction", -32_000, "unknown block").category,
        Category::DataUnavailable
    );
}

#[test]
fn a_range_that_is_wrong_is_no_limit() {
    for message in [
        "invalid block range params",
        "Invalid block range",
        "invalid params: fromBlock greater than toBlock",
    ] {
        let verdict = error("eth_getLogs", -32_602, message);
        assert_eq!((verdict.category, verdict.range), (Category::User, None), "{message}");
    }
    let ahead = error("eth_getLogs", -32_602, "block range extends beyond current head block");
    assert_eq!(ahead.category, Category::DataUnavailable);
}

#[test]
fn a_rate_beside_a_plan_is_a_rate() {
    for (message, want) in [
        (
            "You've exceeded the 25 requests per second limit of your current plan, please upgrade",
            Category::RateLimit,
        ),
        ("100/second request limit reached - upgrade your plan", Category::RateLimit),
        ("rate limit exceeded, see your plan", Category::RateLimit),
        ("You've reached the usage limit for your current plan", Category::Quota),
        ("daily rate limit exceeded", Category::Quota),
        ("monthly quota exceeded", Category::Quota),
    ] {
        assert_eq!(error("eth_call", -32_000, message).category, want, "{message}");
    }
}

#[test]
fn a_missing_block_is_no_missing_method() {
    for (message, want) in [
        ("the method eth_foo does not exist/is not available", Category::Capability),
        ("method handler: block 0x1 does not exist", Category::DataUnavailable),
        ("block does not exist", Category::DataUnavailable),
        ("unknown blockchain", Category::Server),
    ] {
        assert_eq!(error("eth_call", -32_000, message).category, want, "{message}");
    }
    // Nobody may learn from a plan without history that eth_call itself is unsupported.
    let plan = error(
        "eth_call",
        -32_002,
        "Archive, Debug and Trace requests are not available on your current plan.",
    );
    assert_eq!((plan.category, plan.lack), (Category::Capability, Some(Lack::Archive)));
}

#[test]
fn words_then_status_then_code() {
    let body =
        |message: &str| json!({ "error": { "code": -32_602, "message": message } }).to_string();
    assert_eq!(
        judge("eth_call", 403, &body("Monthly capacity limit exceeded")).category,
        Category::Quota
    );
    assert_eq!(judge("eth_call", 403, &body("xyzzy")).category, Category::Auth);
    assert_eq!(judge("eth_call", 503, &body("xyzzy")).category, Category::Server);
    assert_eq!(judge("eth_call", 504, &body("xyzzy")).category, Category::Timeout);
    // 400 and 404 come with any error and outrank nothing.
    assert_eq!(judge("eth_call", 400, &body("xyzzy")).category, Category::User);
    assert_eq!(judge("eth_call", 404, &body("xyzzy")).category, Category::User);
}

#[test]
fn every_status_without_an_error_object_has_a_category() {
    for status in 100..=599 {
        let want = match status {
            200..=299 => Category::Server,
            401 | 403 => Category::Auth,
            402 => Category::Quota,
            405 | 413 | 414 | 415 | 501 => Category::Capability,
            408 | 504 => Category::Timeout,
            429 => Category::RateLimit,
            _ => Category::Server,
        };
        for body in ["", "{", r#"{"jsonrpc":"2.0","id":1}"#, "[]"] {
            let verdict = judge("eth_call", status, body);
            assert_eq!(verdict.category, want, "{status} {body:?}");
            assert!(!verdict.soft, "{status} {body:?}");
        }
        let html = if status == 429 { Category::RateLimit } else { Category::Server };
        assert_eq!(judge("eth_call", status, "<html></html>").category, html, "{status}");
    }
}

#[test]
fn a_result_is_a_success_only_with_2xx_and_its_own_id() {
    let result = r#"{"jsonrpc":"2.0","id":1,"result":"0x1"}"#;
    assert_eq!(judge("eth_call", 200, result).category, Category::Success);
    for status in [301, 400, 404, 429, 500] {
        assert_eq!(judge("eth_call", status, result).category, Category::Server, "{status}");
    }
    for (id, want) in [
        ("1", Category::Success),
        ("null", Category::Success),
        ("2", Category::Server),
        ("\"1\"", Category::Server),
        ("{}", Category::Server),
    ] {
        let body = format!(r#"{{"id":{id},"result":"0x1"}}"#);
        assert_eq!(judge("eth_call", 200, &body).category, want, "{id}");
    }
    assert_eq!(
        judge("eth_call", 200, r#"{"result":"0x1"}"#).category,
        Category::Success,
        "no id at all"
    );
    // A gateway's error under an invented id is still about this request.
    let foreign = r#"{"id":0,"error":{"code":429,"message":"slow down"}}"#;
    assert_eq!(judge("eth_call", 429, foreign).category, Category::RateLimit);
}

#[test]
fn null_is_an_answer_unless_the_endpoint_must_have_the_block() {
    let reply = Reply::Ws { body: br#"{"id":1,"result":null}"# };
    let at = |block, head| {
        let ctx = CallContext { block, head, ..ctx("eth_getBlockByNumber") };
        classify(&reply, &ctx, Rules::shipped()).category
    };
    assert_eq!(at(Some(9), Some(10)), Category::DataUnavailable);
    assert_eq!(at(Some(10), Some(10)), Category::DataUnavailable);
    assert_eq!(at(Some(11), Some(10)), Category::Success);
    assert_eq!(at(None, Some(10)), Category::Success);
    assert_eq!(at(Some(9), None), Category::Success);
}

#[test]
fn no_answer_is_a_timeout_by_our_clock_and_else_the_network() {
    let of = |why| classify(&Reply::None(why), &ctx("eth_call"), Rules::shipped());
    assert_eq!(of(NoAnswer::Deadline).category, Category::Timeout);
    for why in [
        NoAnswer::Dns,
        NoAnswer::Connect,
        NoAnswer::Tls,
        NoAnswer::Certificate,
        NoAnswer::Reset,
        NoAnswer::CutBody,
        NoAnswer::Closed(None),
        NoAnswer::Closed(Some(1006)),
    ] {
        assert_eq!(of(why).category, Category::Network, "{why:?}");
        assert!(of(why).penalty, "{why:?}");
    }
}

#[test]
fn an_unknown_error_costs_one_failover_and_no_penalty() {
    let verdict = error("eth_call", -32_000, "xyzzy");
    assert_eq!(verdict.category, Category::Server);
    assert_eq!((verdict.soft, verdict.penalty), (true, false));
    assert_eq!(verdict.rule, Reason::Unknown);
}

#[test]
fn the_message_of_a_parse_error_is_the_callers_own() {
    assert_eq!(error("eth_call", -32_700, "parse error near: rate limit").category, Category::User);
}

#[test]
fn a_gateway_knows_nothing_of_blocks() {
    assert_eq!(judge("eth_call", 404, "Not Found").category, Category::Server);
    assert_eq!(judge("eth_call", 400, "invalid request").category, Category::Server);
    assert_eq!(judge("eth_call", 403, "error code: 1015").category, Category::RateLimit);
    assert_eq!(
        judge("eth_call", 200, "Too many requests, retry in 5s").category,
        Category::RateLimit
    );
    assert_eq!(judge("eth_call", 401, "xyzzy").category, Category::Auth);
}

#[test]
fn numbers_and_links_are_no_words() {
    assert_eq!(
        error("eth_call", -32_000, "block not found: 10150000").category,
        Category::DataUnavailable
    );
    let link = "header not found, see https://docs.example/rate-limits/security/plan";
    assert_eq!(error("eth_call", -32_000, link).category, Category::DataUnavailable);
    let broken = "invalid character '<' looking for beginning of value";
    assert_eq!(error("eth_call", -32_000, broken).category, Category::Server);
}
