//! `call` and its siblings.

use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use fusebox_breaker::{CallError, Category, Cause, Outcome, Rejected, State};

use crate::rig::{Rig, at};

/// Polls once; the futures here wait for nothing, or for ever.
fn poll<T>(future: impl Future<Output = T>) -> Poll<T> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn ready<T>(future: impl Future<Output = T>) -> T {
    match poll(future) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("pending"),
    }
}

#[test]
fn call_hands_through_what_the_function_returns() {
    let rig = Rig::plain();
    assert_eq!(rig.breaker.call(|| Ok::<_, &str>(7)), Ok(7));
    assert_eq!(rig.breaker.call(|| Err::<u8, _>("down")), Err(CallError::Inner("down")));
    assert_eq!(rig.breaker.view().streaks[Category::GENERIC.index()], 1);
}

#[test]
fn call_does_not_run_the_function_while_open() {
    let rig = Rig::open();
    let ran = Cell::new(false);
    let result = rig.breaker.call(|| {
        ran.set(true);
        Ok::<_, &str>(())
    });
    assert!(matches!(result, Err(CallError::Rejected(Rejected::CircuitOpen { .. }))));
    assert!(!ran.get());
}

#[test]
fn call_with_lets_the_caller_say_what_a_result_means() {
    let rig = Rig::plain();
    for _ in 0..10 {
        let reverted = rig.breaker.call_with(|_| Outcome::Answered, || Err::<(), _>("reverted"));
        assert_eq!(reverted, Err(CallError::Inner("reverted")));
    }
    assert_eq!(rig.breaker.view().total_streak, 0);
    for _ in 0..5 {
        let stale = rig.breaker.call_with(|_| Outcome::failure(Category::LAG), || Ok::<_, ()>(1));
        assert_eq!(stale, Ok(1));
    }
    assert_eq!(rig.stored(), State::Open);
}

#[test]
fn a_panicking_call_counts_as_a_timeout() {
    let rig = Rig::plain();
    let call = AssertUnwindSafe(|| rig.breaker.call(|| -> Result<(), ()> { panic!("on purpose") }));
    assert!(catch_unwind(call).is_err());
    assert_eq!(rig.breaker.view().streaks[Category::TIMEOUT.index()], 1);
}

#[test]
fn call_async_awaits_and_settles() {
    let rig = Rig::plain();
    assert_eq!(ready(rig.breaker.call_async(|| async { Ok::<_, ()>(3) })), Ok(3));
    for _ in 0..5 {
        assert!(ready(rig.breaker.call_async(|| async { Err::<(), _>(()) })).is_err());
    }
    let rejected = ready(rig.breaker.call_async(|| async { Ok::<_, ()>(3) }));
    assert!(matches!(rejected, Err(CallError::Rejected(_))));
    let neutral = |_: &Result<(), ()>| Outcome::Neutral;
    rig.to(60);
    assert_eq!(ready(rig.breaker.call_async_with(neutral, || async { Ok(()) })), Ok(()));
    assert_eq!(rig.breaker.view().successes, 0);
}

#[test]
fn a_dropped_async_call_is_a_dropped_permit() {
    let rig = Rig::plain();
    for _ in 0..5 {
        let hung = rig.breaker.call_async(std::future::pending::<Result<(), ()>>);
        assert!(poll(hung).is_pending());
    }
    assert_eq!(
        rig.breaker.view().cause,
        Some(Cause::Total),
        "five hung calls, each given up by its caller"
    );
}

#[test]
fn an_async_call_that_is_never_polled_takes_no_permit() {
    let rig = Rig::plain();
    for _ in 0..10 {
        drop(rig.breaker.call_async(std::future::pending::<Result<(), ()>>));
    }
    assert_eq!(rig.breaker.view().total_streak, 0);
}

#[test]
fn times_that_the_caller_knows_need_no_clock() {
    let rig = Rig::open();
    assert!(rig.breaker.try_acquire_at(at(59)).is_err());
    let probe = rig.breaker.try_acquire_at(at(60)).expect("at its deadline");
    probe.settle_at(Outcome::failure(Category::SERVER), at(61));
    assert_eq!(rig.deadline(), at(181));
}

#[test]
fn futures_and_permits_cross_threads() {
    fn is_send<T: Send>(_: &T) {}
    let rig = Rig::plain();
    let permit = rig.permit();
    is_send(&permit);
    is_send(&rig.breaker.call_async(|| async { Ok::<_, ()>(()) }));
    std::thread::spawn(move || permit.settle(Outcome::Success)).join().unwrap();
}

#[test]
fn errors_read_like_sentences_and_keep_their_source() {
    use std::error::Error;
    let rig = Rig::open();
    let error = rig.breaker.call(|| Err::<(), _>(std::io::Error::other("x"))).unwrap_err();
    assert_eq!(error.to_string(), "circuit open (too many consecutive failures): retry in 60s");
    assert!(error.source().is_some_and(|source| source.is::<Rejected>()));
    let inner: CallError<std::io::Error> = CallError::Inner(std::io::Error::other("cable cut"));
    assert_eq!(inner.to_string(), "cable cut");
    assert!(inner.source().is_some_and(|source| source.is::<std::io::Error>()));
}
