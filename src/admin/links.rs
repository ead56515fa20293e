//! The long connections of bots in Prometheus text format.

use crate::base::{BotName, Timestamp};
use crate::envelope::{Link, LinkState};

/// What one metric says of a connection.
type Number = fn(&Link) -> u64;

/// Name, type, number.
const METRICS: [(&str, &str, Number); 5] = [
    ("larkspur_link_connected", "gauge", |link| {
        u64::from(matches!(link.state, LinkState::Connected { .. }))
    }),
    ("larkspur_link_last_event_timestamp_ms", "gauge", |link| {
        link.last_event.map_or(0, Timestamp::as_millis)
    }),
    ("larkspur_link_connects_total", "counter", |link| link.connects),
    ("larkspur_link_frames_total", "counter", |link| link.frames),
    ("larkspur_link_fragments_dropped_total", "counter", |link| link.fragments_dropped),
];

/// One line for each bot and metric; nothing without a bot.
pub(super) fn render(links: &[(BotName, Link)]) -> String {
    let mut text = String::new();
    for (name, kind, number) in METRICS.iter().filter(|_| !links.is_empty()) {
        text.push_str(&format!("# TYPE {name} {kind}\n"));
        for (bot, link) in links {
            text.push_str(&format!("{name}{{bot=\"{bot}\"}} {}\n", number(link)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connection_has_its_numbers() {
        let since = Timestamp::from_millis(1);
        let link = |state| Link {
            state,
            last_event: Some(Timestamp::from_millis(7)),
            connects: 2,
            frames: 3,
            fragments_dropped: 4,
        };
        let up = link(LinkState::Connected { since });
        let down = link(LinkState::Connecting { since, last_error: None });
        assert_eq!(render(&[]), "");
        let text = render(&[(BotName::new("a"), up), (BotName::new("b"), down)]);
        for line in [
            "# TYPE larkspur_link_connected gauge",
            "larkspur_link_connected{bot=\"a\"} 1",
            "larkspur_link_connected{bot=\"b\"} 0",
            "larkspur_link_last_event_timestamp_ms{bot=\"a\"} 7",
            "larkspur_link_connects_total{bot=\"a\"} 2",
            "larkspur_link_frames_total{bot=\"b\"} 3",
            "larkspur_link_fragments_dropped_total{bot=\"b\"} 4",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }
}
