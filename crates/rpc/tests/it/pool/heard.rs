//! Everything that metrics, traces and logs say, as text: ours and that of every crate below, at every level.

use std::cell::RefCell;
use std::fmt::Write;
use std::sync::{Arc, Mutex, Once};

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};

/// A recorder, a subscriber and a logger that only write down.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<String>>);

impl Heard {
    pub(crate) fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }

    /// Hears what this thread says, until what it returns is dropped. Other tests have threads of their own.
    pub(crate) fn listen(&self) -> impl Drop + '_ {
        static BRIDGE: Once = Once::new();
        BRIDGE.call_once(|| {
            log::set_logger(&Bridge).unwrap();
            log::set_max_level(log::LevelFilter::Trace);
        });
        LISTENING.set(Some(self.clone()));
        Listening {
            _metrics: metrics::set_default_local_recorder(self),
            _traces: tracing::subscriber::set_default(self.clone()),
        }
    }

    fn write(&self, text: &str) {
        writeln!(self.0.lock().unwrap(), "{text}").unwrap();
    }
}

thread_local! {
    static LISTENING: RefCell<Option<Heard>> = const { RefCell::new(None) };
}

struct Listening<'h> {
    _metrics: metrics::LocalRecorderGuard<'h>,
    _traces: tracing::subscriber::DefaultGuard,
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        LISTENING.take();
    }
}

/// A process has one logger: it asks who listens on the thread.
struct Bridge;

impl log::Log for Bridge {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        LISTENING.with_borrow(Option::is_some)
    }

    fn log(&self, record: &log::Record<'_>) {
        LISTENING.with_borrow(|heard| {
            if let Some(heard) = heard {
                heard.write(&format!("log {}: {}", record.target(), record.args()));
            }
        });
    }

    fn flush(&self) {}
}

impl Recorder for Heard {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        self.write(&key.to_string());
        Counter::noop()
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        self.write(&key.to_string());
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        self.write(&key.to_string());
        Histogram::noop()
    }
}

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl Subscriber for Heard {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut fields = Fields(String::new());
        attributes.record(&mut fields);
        self.write(&fields.0);
        Id::from_u64(1)
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(String::new());
        event.record(&mut fields);
        self.write(&format!("trace {}: {}", event.metadata().target(), fields.0));
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        let mut fields = Fields(String::new());
        values.record(&mut fields);
        self.write(&fields.0);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
