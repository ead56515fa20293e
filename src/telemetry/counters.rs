//! Counts events by name, those of a hook also by the hook. The log line is the only call site: the counter listens.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// What a count is about: the event, and the hook of the configuration if it is one's.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Labels {
    event: Option<String>,
    hook: Option<String>,
}

/// How often each event happened. Clones share the counts.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    counts: Arc<Mutex<BTreeMap<Labels, u64>>>,
}

impl Counters {
    /// How often the named event happened.
    pub fn count(&self, name: &str) -> u64 {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let named = counts.iter().filter(|(labels, _)| labels.event.as_deref() == Some(name));
        named.map(|(_, count)| count).sum()
    }

    /// The counts in Prometheus text format.
    pub fn render(&self) -> String {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = "# TYPE larkspur_events_total counter\n".to_owned();
        for (labels, count) in counts.iter() {
            let event = labels.event.as_deref().unwrap_or_default();
            let hook = labels.hook.as_ref().map(|name| format!(",hook=\"{name}\""));
            let hook = hook.unwrap_or_default();
            text.push_str(&format!("larkspur_events_total{{event=\"{event}\"{hook}}} {count}\n"));
        }
        text
    }
}

impl Visit for Labels {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "event" => self.event = Some(value.to_owned()),
            "hook" => self.hook = Some(value.to_owned()),
            _ => {}
        }
    }

    fn record_debug(&mut self, _field: &Field, _value: &dyn std::fmt::Debug) {}
}

impl<S: Subscriber> Layer<S> for Counters {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut labels = Labels::default();
        event.record(&mut labels);
        if labels.event.is_some() {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            *counts.entry(labels).or_insert(0) += 1;
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
