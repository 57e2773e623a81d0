//! Who is let in.

use super::proxy::{Got, Proxy, Start, file, node};
use crate::support::{keeper, stderr};
use reqwest::{Method, RequestBuilder};

const ASK: &str = r#"{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}"#;

async fn send(proxy: &Proxy, with: impl Fn(RequestBuilder) -> RequestBuilder) -> Got {
    let request = proxy.client.post(proxy.url("/")).body(ASK);
    Got::of(with(request).send().await.unwrap()).await
}

#[tokio::test]
async fn a_page_of_any_site_gets_nothing_done() {
    let node = node().start().await.unwrap();
    let proxy = Start::with(&file(&[&node])).run().await;
    let json = ("content-type", "application/json");
    let refused = [
        // A rebound name: the browser believes that it is at home.
        vec![("host", "evil.example:9545"), ("origin", "http://evil.example:9545"), json],
        vec![("host", "evil.example:9545"), json],
        // A request across sites.
        vec![("origin", "https://evil.example"), json],
        vec![("origin", "https://evil.example"), ("content-type", "text/plain")],
        vec![("origin", "null"), json],
        vec![("origin", "http://127.0.0.1:1"), json],
        // What a form can send, by a browser that hides where it comes from.
        vec![("content-type", "text/plain")],
        vec![("content-type", "application/x-www-form-urlencoded")],
        vec![],
    ];
    for headers in refused {
        let got = send(&proxy, |request| {
            headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))
        })
        .await;
        let want = if headers.len() > 1 { 403 } else { 415 };
        assert_eq!(got.status, want, "{headers:?}: {got:?}");
        assert!(got.header("access-control-allow-origin").is_none());
    }
    // It may not read either, nor ask whether it may, nor open a WebSocket.
    for path in ["/status", "/metrics", "/health", "/"] {
        for (method, header) in
            [(Method::GET, "host"), (Method::GET, "origin"), (Method::OPTIONS, "origin")]
        {
            let request =
                proxy.client.request(method, proxy.url(path)).header(header, "http://evil.example");
            assert_eq!(request.send().await.unwrap().status().as_u16(), 403, "{path} {header}");
        }
    }
    let upgrade = proxy.client.get(proxy.url("/")).header("origin", "https://evil.example");
    let upgrade = upgrade.header("connection", "upgrade").header("upgrade", "websocket");
    let upgrade = upgrade
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    assert_eq!(upgrade.send().await.unwrap().status().as_u16(), 403);
    node.assert_never("eth_blockNumber");

    let got = send(&proxy, |request| request.header(json.0, json.1)).await;
    assert_eq!(got.json()["result"], "0x5");
    assert_eq!(got.header("x-content-type-options"), Some("nosniff"));
    let same = proxy.url("");
    let got = send(&proxy, |request| request.header(json.0, json.1).header("origin", &same)).await;
    assert_eq!(got.json()["result"], "0x5", "a client that names the address it asks");
}

#[tokio::test]
async fn a_page_or_a_name_that_is_allowed_gets_in() {
    let node = node().start().await.unwrap();
    let origin = "http://localhost:3000";
    let args = ["--allow-origin", origin, "--allow-host", "keeper.internal"];
    let proxy = Start::with(&file(&[&node])).args(args).run().await;
    let got = send(&proxy, |request| {
        request.header("origin", origin).header("content-type", "application/json")
    })
    .await;
    assert_eq!(got.json()["result"], "0x5");
    assert_eq!(got.header("access-control-allow-origin"), Some(origin));
    let preflight = proxy.client.request(Method::OPTIONS, proxy.url("/"));
    let preflight =
        preflight.header("origin", origin).header("access-control-request-method", "POST");
    let got = Got::of(preflight.send().await.unwrap()).await;
    assert_eq!((got.status, got.header("access-control-allow-origin")), (204, Some(origin)));
    assert_eq!(got.header("access-control-allow-headers"), Some("content-type"));
    let got = send(&proxy, |request| {
        request.header("host", "keeper.internal:9545").header("content-type", "application/json")
    })
    .await;
    assert_eq!(got.json()["result"], "0x5");
    let other = send(&proxy, |request| {
        request.header("origin", "http://localhost:3001").header("content-type", "application/json")
    });
    assert_eq!(other.await.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_machines_are_let_in_on_purpose_only() {
    let node = node().start().await.unwrap();
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let start = Start::with(&file(&[&node])).args(["--listen", listen]);
        let output = start.output();
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("--allow-remote"), "{}", stderr(&output));
    }
    let proxy =
        Start::with(&file(&[&node])).args(["--listen", "0.0.0.0:0", "--allow-remote"]).run().await;
    assert_eq!(proxy.ask("eth_blockNumber").await.json()["result"], "0x5");
}

#[tokio::test]
async fn other_paths_and_methods_say_what_there_is() {
    let node = node().start().await.unwrap();
    let proxy = Start::with(&file(&[&node])).run().await;
    let got = proxy.get("/").await;
    assert_eq!((got.status, got.header("allow")), (405, Some("POST")));
    assert!(got.text.contains("send a POST"));
    assert_eq!(proxy.post_to("/status", ASK).await.status, 405);
    assert_eq!(proxy.get("/a/b").await.status, 404);
    assert_eq!(proxy.get("/health").await.json()["status"], "ok");
}

#[test]
fn an_address_that_is_taken_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let args = ["rpc", "-r", "http://127.0.0.1:1", "--chain", "1", "--listen", &address];
    let output = keeper(args).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains(&format!("cannot listen at {address}")),
        "{}",
        stderr(&output)
    );
}
