//! What is known of a bot's long connection: written by its task, read by everybody else.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use super::bot::LarkBots;
use crate::base::{BotName, Timestamp};
use crate::envelope::{Link, LinkState, Links};

/// The shared cell that holds the state of one connection.
#[derive(Debug, Default)]
pub(super) struct LinkCell {
    /// `None` before the first try.
    state: RwLock<Option<LinkState>>,
    connects: AtomicU64,
    frames: AtomicU64,
    fragments_dropped: AtomicU64,
    unusable: AtomicU64,
    /// Milliseconds; 0 before the first.
    last_event: AtomicU64,
}

impl LinkCell {
    /// What is known now.
    pub(super) fn link(&self) -> Link {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner).clone();
        let since = Timestamp::default();
        let last_event = Timestamp::from_millis(self.last_event.load(Ordering::Relaxed));
        Link {
            state: state.unwrap_or(LinkState::Connecting { since, last_error: None }),
            last_event: (last_event != since).then_some(last_event),
            connects: self.connects.load(Ordering::Relaxed),
            frames: self.frames.load(Ordering::Relaxed),
            fragments_dropped: self.fragments_dropped.load(Ordering::Relaxed),
        }
    }

    pub(super) fn connected(&self, since: Timestamp) {
        self.connects.fetch_add(1, Ordering::Relaxed);
        self.set(LinkState::Connected { since });
    }

    /// There is no connection (any more), and `error` says why. Since when, is kept over the tries.
    pub(super) fn failed(&self, now: Timestamp, error: Option<String>) {
        let since = self.down_since(now);
        self.set(LinkState::Connecting { since, last_error: error });
    }

    pub(super) fn refused(&self, now: Timestamp, error: String) {
        let since = self.down_since(now);
        self.set(LinkState::Refused { since, error });
    }

    /// A frame came in.
    pub(super) fn heard(&self) {
        self.frames.fetch_add(1, Ordering::Relaxed);
    }

    /// An event came in.
    pub(super) fn event(&self, now: Timestamp) {
        self.last_event.store(now.as_millis(), Ordering::Relaxed);
    }

    pub(super) fn dropped(&self, events: u64) {
        self.fragments_dropped.fetch_add(events, Ordering::Relaxed);
    }

    /// Something came in that is of no use. Returns whether it is the first.
    pub(super) fn unusable(&self) -> bool {
        self.unusable.fetch_add(1, Ordering::Relaxed) == 0
    }

    fn down_since(&self, now: Timestamp) -> Timestamp {
        match &*self.state.read().unwrap_or_else(PoisonError::into_inner) {
            Some(LinkState::Connecting { since, .. } | LinkState::Refused { since, .. }) => *since,
            Some(LinkState::Connected { .. }) | None => now,
        }
    }

    fn set(&self, state: LinkState) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Some(state);
    }
}

impl Links for LarkBots {
    fn link(&self, bot: &BotName) -> Option<Link> {
        self.get(bot)?.link_cell().map(LinkCell::link)
    }

    fn links(&self) -> Vec<(BotName, Link)> {
        let bots = self.all();
        let links =
            bots.iter().filter_map(|bot| Some((bot.name().clone(), bot.link_cell()?.link())));
        let mut links: Vec<(BotName, Link)> = links.collect();
        links.sort_by(|(left, _), (right, _)| left.cmp(right));
        links
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_a_connection_is_away_is_kept_over_all_tries() {
        let at = Timestamp::from_millis;
        let cell = LinkCell::default();
        cell.failed(at(5), None);
        cell.failed(at(6), Some("no route".to_owned()));
        cell.refused(at(7), "wrong secret".to_owned());
        let error = "wrong secret".to_owned();
        assert_eq!(cell.link().state, LinkState::Refused { since: at(5), error });
        cell.connected(at(8));
        assert_eq!(cell.link().state, LinkState::Connected { since: at(8) });
        cell.failed(at(9), None);
        let state = LinkState::Connecting { since: at(9), last_error: None };
        assert_eq!((cell.link().state, cell.link().connects), (state, 1));
    }
}
