//! A client that writes exactly the bytes that a test says, and keeps those that come.

use std::{net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{Instant, timeout},
};

/// Longer than any answer takes.
const DEADLINE: Duration = Duration::from_secs(25);

pub(crate) struct Client {
    stream: TcpStream,
    address: SocketAddr,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Got {
    pub(crate) status: u16,
    /// The lines of the head, without the first.
    pub(crate) headers: Vec<String>,
    pub(crate) body: Vec<u8>,
    pub(crate) took: Duration,
}

impl Got {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, address }
    }

    pub(crate) async fn get(&mut self, path: &str) -> Got {
        self.send("GET", path, &[], b"").await
    }

    pub(crate) async fn post(&mut self, path: &str, headers: &[&str], body: &[u8]) -> Got {
        let length = format!("Content-Length: {}", body.len());
        let mut all = headers.to_vec();
        all.push(&length);
        self.send("POST", path, &all, body).await
    }

    pub(crate) async fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[&str],
        body: &[u8],
    ) -> Got {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.address);
        for header in headers {
            head += header;
            head += "\r\n";
        }
        head += "\r\n";
        self.raw(&[head.as_bytes(), body].concat()).await
    }

    /// Writes all and reads one answer.
    pub(crate) async fn raw(&mut self, bytes: &[u8]) -> Got {
        let begun = Instant::now();
        self.write(bytes).await;
        let mut got = self.read().await;
        got.took = begun.elapsed();
        got
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    pub(crate) async fn read(&mut self) -> Got {
        timeout(DEADLINE, self.answer()).await.expect("an answer comes")
    }

    async fn answer(&mut self) -> Got {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.stream.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.trim_end().split("\r\n").map(str::to_owned);
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<String> = lines.collect();
        let length = headers.iter().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().unwrap())
        });
        let mut body = vec![0; length.unwrap_or(0)];
        self.stream.read_exact(&mut body).await.unwrap();
        Got { status, headers, body, took: Duration::ZERO }
    }
}
