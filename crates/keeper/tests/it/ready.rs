//! Whether a keeper can be relied upon, as it says itself, and how it ends.

use crate::{
    daemon::{Daemon, SECRET},
    support::{Chain, Running, keeper},
};
use fusebox_testkit::{Door, Node, Sink, SinkAnswer};
use std::time::Duration;
use tokio::time::Instant;

const DEADLINE: Duration = Duration::from_secs(20);

fn daemon(chain: &Chain, url: &str, more: &str) -> Daemon {
    Daemon::new(&format!(
        r#"
[breaker]
cooldown = "1s"
max_cooldown = "1s"
[[profile.default.chain.31337.provider]]
name = "node"
http = "{url}"
[chain.dev]
id = 31337
poll = "100ms"
[[chain.dev.watch]]
address = "{}"
start = 1
{more}
"#,
        chain.host
    ))
}

/// What /ready says once it says this.
async fn ready(address: &str, status: u16) -> String {
    let asked = async {
        loop {
            let answer = reqwest::get(format!("http://{address}/ready")).await.unwrap();
            let is_it = answer.status().as_u16() == status;
            let text = answer.text().await.unwrap();
            if is_it {
                return text;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(DEADLINE, asked).await.unwrap_or_else(|_| panic!("it is never {status}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn case_10_while_no_node_answers_it_is_not_ready_says_why_and_recovers_by_itself() {
    let chain = Chain::start().await;
    let node = Node::proxy(chain.url()).start().await.unwrap();
    let daemon = daemon(&chain, &node.url(), "");
    let keeper = daemon.start();
    let said = keeper.says("at http://");
    let address = said.split_once("at http://").unwrap().1.to_owned();
    ready(&address, 200).await;
    node.door(Door::Refused).await;
    let why = ready(&address, 503).await;
    assert!(why.contains("dev: no answer from node"), "{why}");
    let opened = chain.trip().await;
    node.door(Door::Open).await;
    ready(&address, 200).await;
    let line = keeper.json();
    assert_eq!(
        (&line["type"], &line["block"]["number"]),
        (&"breaker.opened".into(), &opened.into())
    );
    assert_eq!(keeper.stop("TERM").0, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_hangs_has_as_long_as_the_grace_says() {
    let chain = Chain::start().await;
    let sink = Sink::builder().secret(SECRET).answer(SinkAnswer::Hang).start().await.unwrap();
    let more = format!(
        "[channel.hook]\ntype = \"webhook\"\nurl = \"{}\"\nsecrets = [\"${{HOOK_SECRET}}\"]\n[[route]]\nchannels = [\"hook\"]\n",
        sink.url()
    );
    let daemon = daemon(&chain, &chain.url(), &more);
    let file = daemon.file();
    let mut command = keeper(["run", "-q", "--grace", "0s", "--listen", "127.0.0.1:0", "--config"]);
    command.arg(&file).env("HOOK_SECRET", SECRET).current_dir(file.parent().unwrap());
    let keeper = Running::spawn(command);
    // That it has started is told at once.
    sink.received(1).await;
    assert_eq!(keeper.said(), Vec::<String>::new(), "nothing to look at");
    let asked = Instant::now();
    assert_eq!(keeper.stop("TERM").0, Some(0));
    assert!(asked.elapsed() < Duration::from_secs(8), "{:?}", asked.elapsed());
}
