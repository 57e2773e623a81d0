//! The sidecar's own paths.

use super::{Setup, TOKEN, header, serve};
use fusebox_builder::{OnUnknown, Paths, Token};

#[tokio::test]
async fn an_admin_who_knows_the_token_holds_it_open_or_closed_or_resets_it() {
    let setup = Setup::start().await;
    let mut client = setup.client().await;
    let token = format!("Authorization: Bearer {TOKEN}");
    let good = [token.as_str()];
    assert_eq!(client.post("/admin/force-open", &good, b"").await.status, 200);
    assert_eq!(client.get(&header(101)).await.status, 204);
    assert_eq!(client.get("/status").await.json()["override"], "force-open");
    assert_eq!(client.post("/admin/clear", &good, b"").await.status, 200);
    assert_eq!(client.get(&header(101)).await.status, 200);
    setup.trip().await;
    assert_eq!(client.post("/admin/force-closed?ttl=60", &good, b"").await.status, 200);
    assert_eq!(client.get(&header(107)).await.status, 200);
    assert_eq!(client.post("/admin/clear", &good, b"").await.status, 200);
    assert_eq!(client.get(&header(107)).await.status, 204);
    assert_eq!(client.post("/admin/reset", &good, b"").await.status, 200);
    assert_eq!(client.get(&header(107)).await.status, 200);
    let status = client.get("/status").await.json();
    let causes: Vec<_> = status["transitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["cause"].as_str().unwrap())
        .collect();
    assert_eq!(causes, ["reset", "clear", "force-closed", "missed-run", "clear", "force-open"]);
}

#[tokio::test]
async fn whoever_does_not_know_the_token_changes_nothing() {
    let setup = Setup::start().await;
    let mut client = setup.client().await;
    let longer = format!("Authorization: Bearer {TOKEN}x");
    for wrong in [
        "X: y",
        "Authorization: Bearer 0123456789abcdeF",
        "Authorization: Basic 0123456789abcdef",
        &longer,
    ] {
        assert_eq!(client.post("/admin/force-open", &[wrong], b"").await.status, 401, "{wrong}");
    }
    let right = format!("Authorization: Bearer {TOKEN}");
    assert_eq!(client.post("/admin/explode", &[&right], b"").await.status, 404);
    assert_eq!(client.post("/admin/force-open?ttl=0", &[&right], b"").await.status, 400);
    assert_eq!(client.send("GET", "/admin/force-open", &[&right], b"").await.status, 405);
    assert_eq!(client.get(&header(101)).await.status, 200);
    assert!(Token::new("fifteen bytes..").is_err());
    assert!(Token::new(" 0123456789abcdef\n").is_ok());
}

#[tokio::test]
async fn an_admin_is_heard_before_any_node_is() {
    let setup = Setup::unknown(OnUnknown::Local).await;
    let mut client = setup.client().await;
    let token = format!("Authorization: Bearer {TOKEN}");
    assert_eq!(client.post("/admin/force-closed", &[&token], b"").await.status, 200);
    assert_eq!(client.get(&header(101)).await.status, 200);
    setup.join();
    assert_eq!(client.get("/status").await.json()["override"], "force-closed");
}

#[tokio::test]
async fn own_paths_can_be_moved_away_and_then_pass_like_any_other() {
    let setup = Setup::start().await;
    let (builder, _tasks) = serve(setup.sidecar.with_paths(Paths::Builder)).await;
    let (own, _tasks_too) = serve(setup.sidecar.with_paths(Paths::Own)).await;
    let mut client = super::Client::connect(builder).await;
    assert_eq!(client.get("/status").await.body, b"{}");
    assert_eq!(setup.relay.requests()[0].target(), "/status");
    let mut client = super::Client::connect(own).await;
    assert_eq!(client.get("/status").await.json()["policy"], "seed");
    assert_eq!(client.get(&header(101)).await.status, 404);
}

#[tokio::test]
async fn a_status_says_which_process_it_is_of_since_each_counts_its_transitions_from_1() {
    let (first, second) = (Setup::unknown(OnUnknown::Local).await, Setup::start().await);
    let status = first.client().await.get("/status").await.json();
    assert_eq!((&status["started_ms"], &status["genesis"]), (&1_201_000.into(), &().into()));
    let other = second.client().await.get("/status").await.json();
    assert_eq!(other["genesis"], 0);
    let (one, two) = (status["instance"].as_str().unwrap(), other["instance"].as_str().unwrap());
    assert!(one.len() == 16 && one != two, "{one} {two}");
    first.join();
    let again = first.client().await.get("/status").await.json();
    assert_eq!(again["instance"], one);
}
