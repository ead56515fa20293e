//! What keeps the daemon from being ready, and what is not in order although it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::admin::Readiness;
use crate::base::BotName;
use crate::channels::lark::{IdentityState, LarkBots};
use crate::envelope::{Link, LinkState, Links};
use crate::gateway::LeftOpen;
use crate::store::Store;

/// Turns that are named; the log names all.
const TURNS_NAMED_MAX: usize = 5;

/// Looks at the bots, the store and the drain.
pub(super) struct AppReadiness {
    pub(super) lark: Arc<LarkBots>,
    pub(super) not_started: Vec<String>,
    /// The open turns with which the start could not go on. The next may.
    pub(super) left_open: LeftOpen,
    pub(super) store: Arc<dyn Store>,
    pub(super) drain: CancellationToken,
}

impl Readiness for AppReadiness {
    fn missing(&self) -> Vec<String> {
        let mut missing = self.not_started.clone();
        if !self.store.is_accepting() {
            missing.push("the store does not take anything: see the log".to_owned());
        }
        if self.drain.is_cancelled() {
            missing.push("the daemon is draining".to_owned());
        }
        for bot in self.lark.all() {
            let name = bot.name();
            match bot.identity().state() {
                IdentityState::Known { .. } => {}
                IdentityState::Unknown { last_error: None } => {
                    missing.push(format!("bot {name}: the platform was not reached yet"));
                }
                IdentityState::Unknown { last_error: Some(error) } => {
                    missing.push(format!("bot {name}: the platform cannot be reached: {error}"));
                }
                IdentityState::Refused { error } => {
                    missing.push(format!("bot {name}: the credentials are refused: {error}"));
                }
            }
            missing.extend(self.lark.link(name).and_then(|link| without_link(name, &link)));
        }
        missing
    }

    fn degraded(&self) -> Vec<String> {
        let LeftOpen { unreadable: turns, absent: bots } = &self.left_open;
        unreadable(turns).into_iter().chain(absent(bots)).collect()
    }
}

/// A bot whose long connection does not stand hears nothing.
fn without_link(bot: &BotName, link: &Link) -> Option<String> {
    let heard = link.last_event.map(|at| format!("; the last event came at {at}"));
    let heard = heard.unwrap_or_default();
    match &link.state {
        LinkState::Connected { .. } => None,
        LinkState::Connecting { last_error: None, .. } => {
            Some(format!("bot {bot}: the long connection does not stand yet{heard}"))
        }
        LinkState::Connecting { since, last_error: Some(error) } => {
            Some(format!("bot {bot}: the long connection is down since {since}: {error}{heard}"))
        }
        LinkState::Refused { since, error } => {
            Some(format!("bot {bot}: no long connection since {since}: {error}{heard}"))
        }
    }
}

fn unreadable(turns: &[String]) -> Option<String> {
    if turns.is_empty() {
        return None;
    }
    let named: Vec<&str> = turns.iter().take(TURNS_NAMED_MAX).map(String::as_str).collect();
    let more = if turns.len() > TURNS_NAMED_MAX { ", …" } else { "" };
    Some(format!(
        "open turns that cannot be read and are left where they are: {} ({}{more}); `larkspur store repair` says why",
        turns.len(),
        named.join(", "),
    ))
}

/// Every bot is named: there are few, and each has to be looked after.
fn absent(bots: &BTreeMap<BotName, usize>) -> Option<String> {
    let waiting = |(bot, turns): (&BotName, &usize)| format!("{bot} ({turns})");
    let waiting: Vec<String> = bots.iter().map(waiting).collect();
    (!waiting.is_empty())
        .then(|| format!("open turns wait for bots that do not run here: {}", waiting.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Timestamp;

    #[test]
    fn a_long_connection_that_does_not_stand_is_named_with_its_reason_and_its_last_event() {
        let since = Timestamp::from_millis(1_760_000_000_000);
        let said = |state, last_event| {
            let link = Link { state, last_event, connects: 1, frames: 1, fragments_dropped: 0 };
            without_link(&BotName::new("b"), &link)
        };
        assert_eq!(said(LinkState::Connected { since }, None), None);
        let error = "the credentials are refused: the app secret is wrong (code 1)".to_owned();
        let refused = said(LinkState::Refused { since, error }, None).unwrap();
        let expected = "bot b: no long connection since 2025-10-09T08:53:20.000Z: the credentials \
                        are refused: the app secret is wrong (code 1)";
        assert_eq!(refused, expected);
        let down = LinkState::Connecting { since, last_error: Some("it broke: reset".to_owned()) };
        let down = said(down, Some(since)).unwrap();
        assert!(
            down.ends_with(": it broke: reset; the last event came at 2025-10-09T08:53:20.000Z")
        );
    }

    #[test]
    fn bots_that_are_waited_for_are_named_with_their_turns() {
        assert_eq!(absent(&BTreeMap::new()), None);
        let bots = BTreeMap::from([(BotName::new("a"), 2), (BotName::new("b"), 1)]);
        assert!(absent(&bots).unwrap().ends_with(": a (2), b (1)"));
    }

    #[test]
    fn unreadable_turns_are_counted_and_a_few_are_named() {
        assert_eq!(unreadable(&[]), None);
        let turns: Vec<String> = (1..=6).map(|number| format!("turn-{number}")).collect();
        let one = unreadable(&turns[..1]).unwrap();
        assert!(one.contains("are: 1 (turn-1);"), "{one}");
        let many = unreadable(&turns).unwrap();
        assert!(many.contains("are: 6 (turn-1, turn-2, turn-3, turn-4, turn-5, …);"), "{many}");
    }
}
