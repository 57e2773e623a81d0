//! Nothing is allocated after a breaker is made, but by whoever drains its events.

use fusebox_breaker::{Config, CountWindow, Outcome, State, TimeWindow};

use crate::rig::{GENERIC, Rig, plain, seconds};

#[test]
fn no_call_and_no_transition_allocates() {
    let slow_percent = Some(50);
    let rules = [
        plain(),
        Config { call_events: true, event_capacity: 16, ..plain() },
        Config {
            count_window: Some(CountWindow { slow_percent, ..CountWindow::default() }),
            time_window: Some(TimeWindow::default()),
            slow_call: Some(seconds(1)),
            ..plain()
        },
    ];
    for cfg in rules {
        let rig = Rig::new(cfg);
        let allocated = allocation_counter::measure(|| {
            for _ in 0..100 {
                rig.succeed(20);
                rig.fail(5);
                assert!(rig.ask().is_err());
                rig.clock.set(rig.deadline());
                drop(rig.permit());
                rig.clock.set(rig.deadline());
                rig.does(Outcome::Neutral);
                rig.succeed(2);
            }
        });
        assert_eq!(allocated.count_total, 0);
        assert_eq!(rig.breaker.state(), State::Closed);
    }
    let counts = allocation_counter::measure(|| drop(std::hint::black_box(Box::new(GENERIC))));
    assert_eq!(counts.count_total, 1, "the counter counts");
}
