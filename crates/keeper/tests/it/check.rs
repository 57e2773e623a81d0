//! `keeper check --online`: each node by itself, the contracts, the store.

use crate::{
    config::Folder,
    support::{Chain, stderr, stdout, write_deployment},
};
use fusebox_testkit::{Chain as Scripted, Node};

fn provider(chain: u64, name: &str, url: &str) -> String {
    format!("[[profile.default.chain.{chain}.provider]]\nname = \"{name}\"\nhttp = \"{url}\"\n")
}

fn chain(id: u64, watch: &str) -> String {
    format!("[chain.dev]\nid = {id}\n[[chain.dev.watch]]\n{watch}\n")
}

#[tokio::test]
async fn what_is_well_is_told_of_each_node_and_it_ends_with_0() {
    let dev = Chain::start().await;
    dev.trip().await;
    let watch = "deployments = \"31337.json\"";
    let folder = Folder::with(&(provider(31337, "main", &dev.url()) + &chain(31337, watch)));
    write_deployment(&folder.path("31337.json"), 31337, dev.host, "0x00");
    let output = folder.run(&["check", "--online"], &[]);
    let out = stdout(&output);
    assert!(output.status.success(), "{out}{}", stderr(&output));
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines[0], "ok     the file: 1 chain, 1 contract, 0 channels, 0 routes");
    assert!(lines[1].starts_with("ok     dev main: head 7, genesis 0x"), "{out}");
    assert!(lines[1].contains("has finalized, safe, receipts, logs by hash"), "{out}");
    assert!(lines[2].contains("keeper.db is made at the first start"), "{out}");
    assert!(!folder.path("keeper.db").exists());
}

#[tokio::test]
async fn an_address_without_a_contract_ends_with_3() {
    let dev = Chain::start().await;
    let watch =
        "address = \"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed\"\nlabel = \"vault\"\nstart = 0";
    let folder = Folder::with(&(provider(31337, "main", &dev.url()) + &chain(31337, watch)));
    let output = folder.run(&["check", "--online"], &[]);
    assert_eq!(output.status.code(), Some(3));
    let want =
        "wrong  dev: there is no contract at 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed (vault)";
    assert!(stdout(&output).contains(want), "{}", stdout(&output));
    assert!(
        stderr(&output).starts_with("error: 1 finding: dev: there is no contract"),
        "{}",
        stderr(&output)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_are_wrong_silent_or_behind_are_findings() {
    let node = |id: u64, blocks: u64| {
        let chain = Scripted::with_id(id);
        chain.mine_empty(blocks);
        Node::scripted(&chain)
    };
    let watch = "anywhere = true";
    let ahead = node(5, 10).start().await.unwrap();
    let other = node(6, 10).start().await.unwrap();
    let behind = node(5, 2).start().await.unwrap();
    for (nodes, code, want) in [
        (vec![ahead.url()], Some(0), "ok     dev n0: head 10"),
        (vec![other.url()], Some(4), "dev n0 is on another chain: it says 0x6, the file says 5"),
        (vec![ahead.url(), other.url()], Some(4), "dev n1 is on another chain"),
        (
            vec!["http://127.0.0.1:1".to_owned()],
            Some(6),
            "dev n0 gives no answer: the connection is refused",
        ),
        (vec![ahead.url(), "http://127.0.0.1:1".to_owned()], Some(7), "dev n1 gives no answer"),
        (vec![ahead.url(), behind.url()], Some(7), "dev n1 is 8 blocks behind the best node"),
    ] {
        let providers = nodes.iter().enumerate();
        let providers: String =
            providers.map(|(at, url)| provider(5, &format!("n{at}"), url)).collect();
        let folder = Folder::with(&(providers + &chain(5, watch)));
        let output = tokio::task::spawn_blocking(move || folder.run(&["check", "--online"], &[]))
            .await
            .unwrap();
        let out = stdout(&output);
        assert_eq!(output.status.code(), code, "{out}{}", stderr(&output));
        assert!(out.contains(want), "{want}\n{out}");
    }
}

#[test]
fn a_store_that_is_none_ends_with_5() {
    let file = provider(1, "a", "http://127.0.0.1:1") + &chain(1, "anywhere = true");
    let folder = Folder::with(&file);
    std::fs::write(folder.path("keeper.db"), "not a database, whatever it is").unwrap();
    let output = folder.run(&["check", "--online"], &[]);
    let out = stdout(&output);
    // The node is silent as well; the store is graver.
    assert_eq!(output.status.code(), Some(5), "{out}");
    assert!(
        out.contains("it is no SQLite database") && out.contains("dev a gives no answer"),
        "{out}"
    );
    assert!(stderr(&output).starts_with("error: 2 findings: the store "), "{}", stderr(&output));
}

/// A file with a chat at this address, and a template.
fn chat(url: &str, template: &str, route: &str) -> Folder {
    let folder = Folder::with(&format!(
        "{}{}[channel.chat]\ntype = \"slack\"\nurl = \"{url}/5ecret\"\ntemplate = \"chat.j2\"\n[[route]]\n{route}\nchannels = [\"chat\"]\n",
        provider(1, "a", "http://127.0.0.1:1"),
        chain(1, "anywhere = true"),
    ));
    std::fs::write(folder.path("chat.j2"), template).unwrap();
    folder
}

#[test]
fn a_template_is_rendered_with_each_type_that_a_route_has_for_it() {
    const NOWHERE: &str = "http://127.0.0.1:1";
    let breakers = "match = { type = \"breaker.*\" }";
    for (template, route, code, want) in [
        ("{{ title }}", "", Some(0), ""),
        ("{{ data.label }} is {{ data.state }}", breakers, Some(0), ""),
        // Not every alert is about a breaker.
        ("{{ data.label }}", "", Some(3), "channel.chat.template: fails for chain.behind and"),
        (
            "{{ data.labl }}",
            breakers,
            Some(3),
            "channel.chat.template: fails for breaker.opened and 6 more types",
        ),
        ("{{ title", breakers, Some(3), "channel.chat.template: "),
        (
            "{% for a in range(100000) %}{{ a }}{% endfor %}",
            breakers,
            Some(3),
            "channel.chat.template: fails",
        ),
    ] {
        let output = chat(NOWHERE, template, route).run(&["check"], &[]);
        let (out, err) = (stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), code, "{template}\n{out}{err}");
        assert!(out.contains(want) || out.replace(", and", " and").contains(want), "{want}\n{out}");
        assert!(!format!("{out}{err}").contains("5ecret"), "{out}{err}");
    }
}

#[test]
fn a_test_message_is_sent_to_each_channel_and_what_comes_of_it_is_told() {
    // Answers each with the status that its path does not tell: the first is taken, the second is not.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let sink = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let mut heard = Vec::new();
        for status in ["200 OK", "500 Broken"] {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = String::new();
            while !request.contains("nothing happened") {
                let mut piece = [0; 4096];
                let length = stream.read(&mut piece).unwrap();
                assert!(length > 0, "{request}");
                request += &String::from_utf8_lossy(&piece[..length]);
            }
            write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                .unwrap();
            heard.push(request);
        }
        heard
    });
    for (code, want) in [
        (Some(0), "ok     channel chat has taken a test message"),
        (Some(7), "wrong  channel chat answers with status 500"),
        (Some(7), "wrong  channel chat: it refused the connection"),
    ] {
        let output =
            chat(&url, "{{ title }}: {{ data.summary }}", "").run(&["check", "--send-test"], &[]);
        let (out, err) = (stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), code, "{out}{err}");
        assert!(out.contains(want), "{want}\n{out}");
        assert!(!format!("{out}{err}").contains("5ecret"), "{out}{err}");
    }
    assert!(sink.join().unwrap()[0].starts_with("POST /5ecret HTTP/1.1"));
}
