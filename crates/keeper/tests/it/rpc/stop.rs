//! How it ends.

use super::proxy::{Start, file, node};
use fusebox_testkit::on;
use std::{fs::File, io::Write, net::TcpStream, process::Command, time::Duration};

#[tokio::test]
async fn what_is_under_way_is_answered_and_nothing_new_is_taken() {
    for signal in ["TERM", "INT", "HUP"] {
        let slow = on("eth_gasPrice").delay(Duration::from_millis(700)).answer("0x1");
        let node = node().rule(slow).start().await.unwrap();
        let mut proxy = Start::with(&file(&[&node])).run().await;
        // One that is connected and says nothing must not hold it up.
        let silent = TcpStream::connect(&proxy.address).unwrap();
        let call = async {
            let got = proxy.ask("eth_gasPrice").await;
            (got.status, got.json()["result"].clone())
        };
        let stop = async {
            node.called("eth_gasPrice", 1).await;
            proxy.signal(signal);
            tokio::time::sleep(Duration::from_millis(200)).await;
            TcpStream::connect(&proxy.address).map(drop)
        };
        let (answer, refused) = tokio::join!(call, stop);
        assert_eq!(answer, (200, "0x1".into()));
        assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
        assert_eq!(proxy.ended().await, Some(0));
        drop(silent);
    }
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once() {
    for (first, second, code) in [("INT", "INT", 130), ("HUP", "TERM", 143), ("TERM", "HUP", 129)] {
        is_ended_at_once(first, second, code).await;
    }
}

async fn is_ended_at_once(first: &str, second: &str, code: i32) {
    let node = node().rule(on("eth_gasPrice").hang()).start().await.unwrap();
    let mut proxy = Start::with(&file(&[&node])).run().await;
    let url = proxy.url("/");
    let client = proxy.client.clone();
    let call = tokio::spawn(async move {
        let request = client.post(url).header("content-type", "application/json");
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice"}"#;
        request.body(body).send().await.is_err()
    });
    node.called("eth_gasPrice", 1).await;
    proxy.signal(first);
    proxy.says("stopping: 1 under way").await;
    proxy.signal(second);
    assert_eq!(proxy.ended().await, Some(code));
    assert!(call.await.unwrap(), "its answer never came");
}

#[tokio::test]
async fn half_a_request_is_not_waited_for_as_long_as_a_call_takes() {
    let node = node().start().await.unwrap();
    let mut proxy = Start::with(&file(&[&node])).run().await;
    let head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let halves = [head.to_owned(), format!("{head}Content-Length: 100\r\n\r\n{{")];
    let _lines = halves.map(|half| {
        let mut line = TcpStream::connect(&proxy.address).unwrap();
        line.write_all(half.as_bytes()).unwrap();
        line
    });
    assert_eq!(proxy.get("/health").await.status, 200);
    proxy.signal("TERM");
    let ended = tokio::time::timeout(Duration::from_secs(12), proxy.ended()).await;
    assert_eq!(ended.expect("before deadlines.call is over"), Some(0));
}

#[tokio::test]
async fn a_file_that_does_not_come_is_not_waited_for_at_the_end() {
    let start = Start::bare();
    let pipe = start.path();
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut proxy = start.args(["--config", pipe.to_str().unwrap()]).spawn();
    // It opens the pipe, and reads until there is something, or nobody who writes.
    let _writer = File::options().write(true).open(&pipe).unwrap();
    proxy.signal("TERM");
    assert_eq!(proxy.ended().await, Some(0));
}
