//! Counts events by name. The log line is the only call site: the counter listens.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// How often each event happened. Clones share the counts.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    counts: Arc<Mutex<BTreeMap<String, u64>>>,
}

impl Counters {
    /// How often the named event happened.
    pub fn count(&self, name: &str) -> u64 {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied().unwrap_or(0)
    }

    /// The counts in Prometheus text format.
    pub fn render(&self) -> String {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = "# TYPE larkspur_events_total counter\n".to_owned();
        for (name, count) in counts.iter() {
            text.push_str(&format!("larkspur_events_total{{event=\"{name}\"}} {count}\n"));
        }
        text
    }
}

#[derive(Default)]
struct EventName(Option<String>);

impl Visit for EventName {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "event" {
            self.0 = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, _field: &Field, _value: &dyn std::fmt::Debug) {}
}

impl<S: Subscriber> Layer<S> for Counters {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut name = EventName::default();
        event.record(&mut name);
        if let Some(name) = name.0 {
            *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_insert(0) +=
                1;
        }
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;
    use crate::telemetry;

    #[test]
    fn every_emitted_event_is_counted_by_its_name() {
        let counters = Counters::default();
        let subscriber = tracing_subscriber::registry().with(counters.clone());
        tracing::subscriber::with_default(subscriber, || {
            telemetry::Event::Draining.emit();
            telemetry::Event::Draining.emit();
            tracing::info!("not an event");
        });
        assert_eq!(counters.count("draining"), 2);
        assert!(counters.render().contains("larkspur_events_total{event=\"draining\"} 2"));
    }
}
