//! Bad input: each names the thing and the remedy, ends with the code of its kind, and shows no secret.

use crate::support::{
    Chain, Running, anvil, keeper, keeper_output, stderr, stdout, write_deployment,
};
use alloy::primitives::Address;

/// Port 1 is privileged and nobody listens there.
const NOBODY: &str = "http://127.0.0.1:1";

fn refused(args: &[&str], code: i32, parts: &[&str]) {
    let output = keeper_output(args);
    let err = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {err}");
    assert_eq!(stdout(&output), "", "{args:?}");
    for part in parts {
        assert!(err.contains(part), "{args:?}: no `{part}` in {err}");
    }
}

#[test]
fn usage_errors_end_with_2() {
    let address = Address::repeat_byte(1).to_string();
    let usage = "Usage: keeper";
    refused(&["run", "-r", NOBODY, "--watch", "0x1234"], 2, &["0x1234", "--watch"]);
    refused(&["run", "-r", NOBODY, "--wach", &address], 2, &["--wach", usage]);
    refused(&["run", "-r", NOBODY], 2, &["--config", "--watch", "--deployment", "--anywhere"]);
    refused(
        &["run", "-r", NOBODY, "--anywhere", "--watch", &address],
        2,
        &["cannot be used with", usage],
    );
    refused(&["run", "--anywhere"], 2, &["--rpc-url"]);
    refused(&["status", "-r", NOBODY, "--anywhere"], 2, &["--anywhere", usage]);
    refused(&["run", "-r", NOBODY, "--anywhere", "--from-block", "-1"], 2, &["-1"]);
    refused(&["bake"], 2, &["bake", usage]);
    refused(&["run", "-r", "localhost", "--anywhere"], 2, &["--rpc-url", "http://127.0.0.1:8545"]);
    refused(
        &["run", "-r", "ws://127.0.0.1:8545", "--anywhere"],
        2,
        &["WebSocket", "HTTP endpoint"],
    );
    refused(&["status", "-r", "ftp://127.0.0.1", "--watch", &address], 2, &["another scheme"]);
}

#[test]
fn an_unreadable_deployment_ends_with_3() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("1.json");
    let path = file.to_str().unwrap();
    refused(&["run", "-r", NOBODY, "--deployment", path], 3, &[path, "script/Deploy.s.sol"]);
    std::fs::write(&file, "{\"chainId\": 1,").unwrap();
    refused(&["run", "-r", NOBODY, "--deployment", path], 3, &[path, "line 1 column 14"]);
    std::fs::write(&file, "{\"chainId\": 1, \"contracts\": {}}").unwrap();
    refused(
        &["run", "-r", NOBODY, "--deployment", path],
        3,
        &[path, "no contract in it has breakers"],
    );
    for id in ["0x0g", "7"] {
        write_deployment(&file, 1, Address::repeat_byte(1), id);
        let parts =
            [path, "breaker `primary`", &format!("`{id}`"), "at most 64 hexadecimal digits"];
        refused(&["run", "-r", NOBODY, "--deployment", path], 3, &parts);
    }
}

#[test]
fn a_node_that_is_not_there_ends_a_status_with_6() {
    let address = Address::repeat_byte(1).to_string();
    refused(
        &["status", "-r", NOBODY, "--watch", &address],
        6,
        &["no answer from http://127.0.0.1:1", "refused"],
    );
}

#[tokio::test]
async fn a_node_of_another_chain_ends_with_4() {
    let chain = Chain::start().await;
    let (url, host) = (chain.url(), chain.host.to_string());
    for command in ["run", "status"] {
        refused(
            &[command, "-r", &url, "--watch", &host, "--chain", "1"],
            4,
            &["chain 31337", "--chain", "says 1"],
        );
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("10.json");
    write_deployment(&file, 10, chain.host, &format!("{:#066x}", 0));
    let path = file.to_str().unwrap();
    for command in ["run", "status"] {
        refused(&[command, "-r", &url, "--deployment", path], 4, &["chain 31337", path, "says 10"]);
    }
}

#[tokio::test]
async fn an_address_without_what_is_looked_for_ends_with_3() {
    let chain = Chain::start().await;
    let (url, nobody) = (chain.url(), Address::repeat_byte(0x11).to_string());
    for command in ["run", "status"] {
        refused(
            &[command, "-r", &url, "--watch", &nobody],
            3,
            &["no contract", &nobody, "check the address"],
        );
    }
    let moody = chain.moody.to_string();
    refused(&["status", "-r", &url, "--watch", &moody], 3, &[&moody, "does not list its breakers"]);

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("31337.json");
    write_deployment(&file, 31337, chain.host, &format!("{:#066x}", 7));
    let path = file.to_str().unwrap();
    refused(&["status", "-r", &url, "--deployment", path], 3, &["slot 0x07", "no breaker"]);

    write_deployment(&file, 31337, Address::repeat_byte(0x11), "0x00");
    for command in ["run", "status"] {
        refused(
            &[command, "-r", &url, "--deployment", path],
            3,
            &["no contract", &nobody, path, "`resilient`", "run script/Deploy.s.sol again"],
        );
    }
}

#[test]
fn something_that_is_no_node_is_told_apart() {
    // A server that answers everything with a page.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
            stream
                .write_all(
                    b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\n<html",
                )
                .ok();
        }
    });
    let address = Address::repeat_byte(1).to_string();
    refused(
        &["status", "-r", &url, "--watch", &address],
        6,
        &["not that of an Ethereum node", "is the URL right?"],
    );
}

#[tokio::test]
async fn no_output_ever_holds_the_key_in_a_url() {
    let secret = "s3cr3tkey";
    let address = Address::repeat_byte(1).to_string();
    let anvil = anvil().spawn();
    let port = anvil.port();
    let wrong = [
        format!("http://127.0.0.1:1/v2/{secret}"),
        format!("http://127.0.0.1:1/?key={secret}"),
        format!("http://user:{secret}@127.0.0.1:1"),
        format!("https://127.0.0.1:{port}/{secret}"),
        format!("http://127.0.0.1:{port}/{secret}"),
        format!("http://{secret}.invalid:99999/"),
        secret.to_owned(),
        format!("{secret}:x@127.0.0.1:1/"),
        format!("ws://127.0.0.1:1/{secret}"),
    ];
    for url in &wrong {
        for args in [
            &["status", "-r", url, "--watch", &address][..],
            &["run", "-r", url, "--watch", "no address"],
        ] {
            let output = keeper_output(args);
            assert!(!output.status.success(), "{args:?}");
            for text in [stdout(&output), stderr(&output)] {
                assert!(!text.contains(secret), "{text}");
            }
        }
    }
    let help = keeper(["run", "--help"]).env("ETH_RPC_URL", &wrong[0]).output().unwrap();
    assert!(!stdout(&help).contains(secret));

    let running = Running::start(["run", "-r", &wrong[0], "--anywhere"]);
    assert!(!running.says("no answer from").contains(secret));
}
