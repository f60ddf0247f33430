//! A Recorder hears everything: spans, their fields, events, of every level, and what dependencies say by `log`.

use std::fmt::{Debug, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

static HEARD: Mutex<String> = Mutex::new(String::new());

struct Recorder(AtomicU64);

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        let _ = write!(self.0, " {field}={value}");
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, " {field}={value:?}");
    }
}

fn hear(metadata: Option<&Metadata<'_>>, record: impl FnOnce(&mut Fields<'_>)) {
    let mut heard = HEARD.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(metadata) = metadata {
        let _ = write!(heard, "{} {}", metadata.target(), metadata.name());
    }
    record(&mut Fields(&mut heard));
    heard.push('\n');
}

impl Subscriber for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        hear(Some(span.metadata()), |fields| span.record(fields));
        Id::from_u64(self.0.fetch_add(1, Ordering::Relaxed))
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        hear(None, |fields| values.record(fields));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        hear(Some(event.metadata()), |fields| event.record(fields));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl log::Log for Recorder {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let mut heard = HEARD.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = writeln!(heard, "{} {}", record.target(), record.args());
    }

    fn flush(&self) {}
}

/// From here on everything of this process is heard.
pub fn install() {
    static LOGGER: Recorder = Recorder(AtomicU64::new(1));
    tracing::subscriber::set_global_default(Recorder(AtomicU64::new(1))).unwrap();
    log::set_logger(&LOGGER).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
}

/// What was heard since the last time.
pub fn take() -> String {
    std::mem::take(&mut HEARD.lock().unwrap_or_else(PoisonError::into_inner))
}
