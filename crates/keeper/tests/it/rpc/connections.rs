//! More clients than there is room for.

use super::proxy::{Start, file, node};
use std::{io::Write, net::TcpStream, time::Duration};

#[tokio::test]
async fn who_comes_when_there_is_no_place_left_waits_for_one() {
    let node = node().start().await.unwrap();
    let mut proxy = Start::with(&file(&[&node])).run().await;
    let connect = |_| {
        let mut line = TcpStream::connect(&proxy.address).unwrap();
        line.write_all(b"POST / HTTP/1.1\r\nHost: ").unwrap();
        line
    };
    let mut lines: Vec<_> = (0..512).map(connect).collect();
    let late = proxy.client.get(proxy.url("/health")).timeout(Duration::from_millis(500));
    assert!(late.send().await.unwrap_err().is_timeout(), "it is not served");
    drop(lines.pop());
    assert_eq!(proxy.get("/health").await.status, 200);
    drop(lines);
    proxy.signal("TERM");
    assert_eq!(proxy.ended().await, Some(0));
}
