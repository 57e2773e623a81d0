//! The layer (feature `tower`).

use std::cell::Cell;
use std::convert::Infallible;
use std::future::{Future, Pending, Ready, pending, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use fusebox_breaker::tower::{BreakerError, BreakerLayer};
use fusebox_breaker::{Breaker, Category, Cause, ManualClock, Outcome, Rejected, State};
use tower_layer::Layer;
use tower_service::Service;

use crate::rig::Rig;

/// Fails for odd numbers.
#[derive(Clone)]
struct Odd;

impl Service<u32> for Odd {
    type Response = u32;
    type Error = &'static str;
    type Future = Ready<Result<u32, &'static str>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, number: u32) -> Self::Future {
        ready(if number.is_multiple_of(2) { Ok(number) } else { Err("odd") })
    }
}

/// Never answers, and is not ready the first time.
#[derive(Clone, Default)]
struct Hangs {
    asked: Cell<u32>,
}

impl Service<u32> for Hangs {
    type Response = u32;
    type Error = Infallible;
    type Future = Pending<Result<u32, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.asked.set(self.asked.get() + 1);
        if self.asked.get() == 1 { Poll::Pending } else { Poll::Ready(Ok(())) }
    }

    fn call(&mut self, _: u32) -> Self::Future {
        pending()
    }
}

fn classify<T, E>(result: &Result<T, E>) -> Outcome {
    if result.is_ok() { Outcome::Success } else { Outcome::failure(Category::SERVER) }
}

type Classify<T, E> = fn(&Result<T, E>) -> Outcome;

fn layer<T, E>(breaker: &Arc<Breaker<ManualClock>>) -> BreakerLayer<Classify<T, E>, ManualClock> {
    BreakerLayer::new(Arc::clone(breaker), classify)
}

fn poll<T>(future: impl Future<Output = T>) -> Poll<T> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn services_of_a_layer_share_the_breaker() {
    let rig = Rig::plain();
    let layer = layer(&rig.breaker);
    let (mut a, mut b) = (layer.layer(Odd), layer.layer(Odd).clone());
    assert_eq!(poll(a.call(2)), Poll::Ready(Ok(2)));
    for _ in 0..5 {
        assert_eq!(poll(a.call(1)), Poll::Ready(Err(BreakerError::Inner("odd"))));
    }
    let rejected = poll(b.call(2));
    assert!(matches!(
        rejected,
        Poll::Ready(Err(BreakerError::Rejected(Rejected::CircuitOpen { .. })))
    ));
}

#[test]
fn readiness_asks_the_inner_service_alone() {
    let rig = Rig::open();
    let mut service = layer(&rig.breaker).layer(Hangs::default());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(service.poll_ready(&mut cx).is_pending());
    assert_eq!(service.poll_ready(&mut cx), Poll::Ready(Ok(())), "open is no reason to wait");
    rig.to(60);
    for _ in 0..10 {
        assert!(service.poll_ready(&mut cx).is_ready());
    }
    assert_eq!(rig.breaker.view().in_flight, 0, "no permit before the call");
}

#[test]
fn a_dropped_response_is_a_dropped_permit() {
    let rig = Rig::half_open();
    let mut service = layer(&rig.breaker).layer(Hangs::default());
    let response = service.call(1);
    assert_eq!(rig.breaker.view().in_flight, 1);
    drop(response);
    let view = rig.breaker.view();
    assert_eq!((view.state, view.cause), (State::Open, Some(Cause::ProbeDropped)));
}
