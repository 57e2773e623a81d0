//! The webhook sink, met by a plain sender.

use crate::support::{client, is_cut, within};
use base64::{Engine, prelude::BASE64_STANDARD};
use fusebox_testkit::{Door, HttpReply, ManualClock, Sink, SinkAnswer, Unverified};
use hmac::{Hmac, Mac};
use reqwest::Response;
use sha2::Sha256;
use std::time::Duration;

const NOW: u64 = 1_767_323_045;

fn secret(byte: u8) -> String {
    format!("whsec_{}", BASE64_STANDARD.encode([byte; 32]))
}

fn sign(byte: u8, id: &str, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(&[byte; 32]).unwrap();
    mac.update(format!("{id}.{NOW}.{body}").as_bytes());
    format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
}

async fn send(sink: &Sink, id: &str, signature: &str, body: &str) -> reqwest::Result<Response> {
    let request = client().post(format!("{}/hook?a=1", sink.url())).body(body.to_owned());
    let request = request.header("webhook-id", id).header("webhook-timestamp", NOW.to_string());
    request.header("webhook-signature", signature).send().await
}

fn clock() -> ManualClock {
    ManualClock::new(Duration::from_secs(NOW))
}

#[tokio::test]
async fn what_is_signed_verifies_with_either_secret() {
    let both = format!("{} {}", sign(1, "msg_a", "{}"), sign(2, "msg_a", "{}"));
    for (secrets, by) in [(vec![1], vec![0]), (vec![2], vec![0]), (vec![1, 3, 2], vec![0, 2])] {
        let builder = Sink::builder().clock(clock());
        let builder = secrets.into_iter().fold(builder, |b, byte| b.secret(&secret(byte)));
        let sink = builder.start().await.unwrap();
        assert_eq!(send(&sink, "msg_a", &both, "{}").await.unwrap().status(), 204);
        let deliveries = sink.received(1).await;
        assert_eq!(deliveries[0].verified, Ok(by));
        assert_eq!(
            (deliveries[0].path.as_str(), &deliveries[0].body[..]),
            ("/hook?a=1", &b"{}"[..])
        );
        sink.assert_verified();
    }
}

#[tokio::test]
async fn what_is_not_signed_is_recorded_as_such() {
    let sink = Sink::builder().secret(&secret(1)).clock(clock()).start().await.unwrap();
    send(&sink, "msg_a", &sign(2, "msg_a", "{}"), "{}").await.unwrap();
    assert_eq!(sink.deliveries()[0].verified, Err(Unverified::Wrong));
    let check = std::panic::AssertUnwindSafe(|| sink.assert_verified());
    assert!(std::panic::catch_unwind(check).is_err());
}

#[tokio::test]
async fn answers_are_played_in_order_and_ids_are_counted_once() {
    let later = HttpReply::new(429).header("retry-after", "60").body("later");
    let builder = Sink::builder().answer(500).answer(later).answer(SinkAnswer::Close);
    let sink = builder.start().await.unwrap();
    let once = async |id: &'static str| send(&sink, id, "", "{}").await;
    assert_eq!(once("msg_a").await.unwrap().status(), 500);
    let later = once("msg_a").await.unwrap();
    assert_eq!(
        (later.status().as_u16(), &later.headers()["retry-after"]),
        (429, &"60".parse().unwrap())
    );
    assert!(is_cut(once("msg_b").await));
    assert_eq!(once("msg_a").await.unwrap().status(), 204);
    assert_eq!(sink.ids(), ["msg_a", "msg_b"]);
    assert_eq!(sink.deliveries().len(), 4);
    sink.answer(410);
    assert_eq!(once("msg_c").await.unwrap().status(), 410);
}

#[tokio::test]
async fn one_message_can_be_refused_for_ever() {
    let poison =
        |delivery: &fusebox_testkit::Delivery| (delivery.id == "msg_x").then(|| 400.into());
    let sink = Sink::builder().answer_by(poison).answer(202).start().await.unwrap();
    for (id, status) in [("msg_x", 400), ("msg_x", 400), ("msg_y", 202), ("msg_x", 400)] {
        assert_eq!(send(&sink, id, "", "{}").await.unwrap().status(), status);
    }
}

#[tokio::test]
async fn a_sink_hangs_and_its_door_shuts() {
    let sink = Sink::builder().answer(SinkAnswer::Hang).start().await.unwrap();
    let url = sink.url();
    let hanging = tokio::spawn(async move { client().post(url).send().await });
    sink.received(1).await;
    assert!(!hanging.is_finished());
    sink.door(Door::Refused).await;
    assert!(is_cut(within(hanging).await.unwrap()));
    assert!(send(&sink, "msg_a", "", "{}").await.unwrap_err().is_connect());
    sink.door(Door::Open).await;
    assert_eq!(send(&sink, "msg_a", "", "{}").await.unwrap().status(), 204);
}

#[tokio::test]
async fn an_answer_takes_its_time() {
    let (clock, slow) = (clock(), Duration::from_secs(2));
    let answer = SinkAnswer::Later(slow, HttpReply::new(202));
    let sink = Sink::builder().clock(clock.clone()).answer(answer).start().await.unwrap();
    let url = sink.url();
    let answered = tokio::spawn(async move { client().post(url).send().await });
    clock.sleeping(1).await;
    assert!(sink.deliveries().len() == 1 && !answered.is_finished());
    clock.advance(slow);
    assert_eq!(within(answered).await.unwrap().unwrap().status(), 202);
}
