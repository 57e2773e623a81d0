//! What passes, byte for byte.

use super::{Setup, header};
use fusebox_builder::MAX_BODY;
use fusebox_testkit::{HttpReply, RelayAnswer};
use std::time::Duration;

const V1: &str = "/eth/v1/builder/blinded_blocks";
const V2: &str = "/eth/v2/builder/blinded_blocks";

#[tokio::test]
async fn case_14_a_signed_block_arrives_once_and_on_a_connection_of_its_own_whatever_the_state() {
    let setup = Setup::start().await;
    let mut client = setup.client().await;
    assert_eq!(client.get(&header(101)).await.status, 200);
    // The pooled connection is closed under it.
    setup.relay.close_idle();
    setup.trip().await;
    let block: Vec<u8> = (0..100_000_u32).map(|i| i as u8).collect();
    for (path, status) in [(V1, 200), (V2, 202), (V1, 400), (V2, 502), (V1, 503)] {
        setup.relay.answer(
            path,
            HttpReply::new(status).header("X-Relay", "a").body(if status == 202 {
                ""
            } else {
                "said"
            }),
        );
        let before = setup.relay.requests();
        let got = client
            .post(
                path,
                &["Content-Type: application/octet-stream", "eth-consensus-version: fulu"],
                &block,
            )
            .await;
        assert_eq!(got.status, status);
        assert_eq!(got.body, if status == 202 { &b""[..] } else { b"said" });
        let requests = setup.relay.requests_for("blinded_blocks");
        let last = requests.last().unwrap();
        assert_eq!(setup.relay.requests().len(), before.len() + 1, "once");
        assert_eq!(last.body, block);
        assert!(
            before.iter().all(|request| request.connection != last.connection),
            "a new connection"
        );
    }
    assert_eq!(client.get(&header(107)).await.status, 204);
}

#[tokio::test]
async fn case_14_a_client_that_leaves_takes_no_signed_block_back() {
    let setup = Setup::start().await;
    setup.relay.answer(V2, RelayAnswer::Later(Duration::from_millis(300), HttpReply::new(202)));
    let mut client = setup.client().await;
    client
        .write(
            format!("POST {V2} HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nblock").as_bytes(),
        )
        .await;
    setup.relay.asked("blinded_blocks", 1).await;
    assert_eq!(setup.sidecar.submits(), 1);
    drop(client);
    setup.sidecar.idle().await;
    assert_eq!(setup.live.status()["upstream"]["answer"], 202);
}

#[tokio::test]
async fn case_15_what_passes_is_changed_in_nothing_but_its_hop() {
    let setup = Setup::start().await;
    setup.trip().await;
    let reply = HttpReply::new(200)
        .header("Date", "yesterday")
        .header("X-Many", "1")
        .header("X-Many", "2, 3");
    setup.relay.answer("status", reply.header("Keep-Alive", "timeout=5").body("{ }"));
    let mut client = setup.client().await;
    let headers = [
        "Accept: application/octet-stream;q=1.0,application/json;q=0.9",
        "Eth-Consensus-Version: electra",
        "Date-Milliseconds: 1700000000000",
        "X-Timeout-Ms: 950",
        "User-Agent: Lighthouse/v7",
        "X-Many: a",
        "x-many: b",
        "Accept-Encoding: gzip",
        "Connection: X-Mine",
        "X-Mine: gone",
        "Keep-Alive: 5",
    ];
    let target = "/eth/v1/builder/status?a=%2F%20b&&c=d";
    let got = client.send("GET", target, &headers, b"").await;
    assert_eq!(got.headers, ["date: yesterday", "x-many: 1", "x-many: 2, 3", "content-length: 3"]);
    assert_eq!(got.body, b"{ }");
    let request = &setup.relay.requests()[0];
    let mut lines: Vec<_> = request.head.split("\r\n").collect();
    assert_eq!(lines.remove(0), format!("GET {target} HTTP/1.1"));
    lines.retain(|line| !line.to_ascii_lowercase().starts_with("host:"));
    let mut expected = headers[..8].to_vec();
    expected.sort_unstable();
    lines.sort_unstable();
    assert_eq!(lines, expected, "with their own case, and nothing added");
    assert_eq!(request.header("x-many"), ["a", "b"], "in order");
    assert_eq!(request.header("host"), [setup.relay.url().trim_start_matches("http://")]);
}

#[tokio::test]
async fn case_15_registrations_of_20_mib_pass_and_one_byte_more_does_not() {
    let setup = Setup::start().await;
    setup.trip().await;
    let path = "/eth/v1/builder/validators";
    let full = vec![b'x'; MAX_BODY as usize];
    let mut client = setup.client().await;
    for kind in ["Content-Type: application/json", "Content-Type: application/octet-stream"] {
        assert_eq!(client.post(path, &[kind], &full).await.status, 200);
        let request = setup.relay.requests().pop().unwrap();
        assert!(request.body == full, "{} bytes", request.body.len());
    }
    let more = vec![b'x'; MAX_BODY as usize + 1];
    let got = setup.client().await.post(path, &[], &more).await;
    assert_eq!((got.status, &got.json()["code"]), (413, &413.into()));
    let chunked = [format!("{:x}\r\n", more.len()).as_bytes(), &more, b"\r\n0\r\n\r\n"].concat();
    let got =
        setup.client().await.send("POST", path, &["Transfer-Encoding: chunked"], &chunked).await;
    assert_eq!(got.status, 413);
    assert_eq!(setup.relay.requests().len(), 2);
}

#[tokio::test]
async fn a_body_in_chunks_passes_and_so_does_one_that_waits_to_be_asked_for() {
    let setup = Setup::start().await;
    let path = "/eth/v1/builder/validators";
    let mut client = setup.client().await;
    let got = client
        .send("POST", path, &["Transfer-Encoding: chunked"], b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
        .await;
    assert_eq!(got.status, 200);
    client.write(format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n").as_bytes()).await;
    assert_eq!(client.read().await.status, 100);
    assert_eq!(client.raw(b"xyz").await.status, 200);
    let bodies: Vec<_> = setup.relay.requests().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies, ["abcde", "xyz"]);
}

#[tokio::test]
async fn a_pooled_connection_that_the_relay_closed_costs_no_header() {
    let setup = Setup::start().await;
    let mut client = setup.client().await;
    for _ in 0..5 {
        assert_eq!(client.get(&header(101)).await.status, 200);
        setup.relay.close_idle();
    }
    assert_eq!(setup.relay.requests().len(), 5);
}

#[tokio::test]
async fn more_than_256_requests_are_not_taken_and_signed_blocks_are_all_the_same() {
    let setup = Setup::start().await;
    setup.relay.answer("validators", RelayAnswer::Hang);
    let mut clients = Vec::new();
    for _ in 0..256 {
        let mut client = setup.client().await;
        client
            .write(
                b"POST /eth/v1/builder/validators HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
            )
            .await;
        clients.push(client);
    }
    setup.relay.asked("validators", 256).await;
    let mut client = setup.client().await;
    assert_eq!(client.get("/eth/v1/builder/status").await.status, 503);
    assert_eq!(client.post(V2, &[], b"signed").await.status, 200);
}
