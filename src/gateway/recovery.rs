//! What start-up does with unfinished work: every open turn goes back to where it was.

use tokio_util::sync::CancellationToken;

use super::flow::Gateway;
use super::sessions::Job;
use crate::store::{Lane, StoreError};
use crate::telemetry::Event;

impl Gateway {
    /// Takes up all open turns in the order of their acceptance. Called once, before the first
    /// arrival, so that nothing new overtakes them.
    ///
    /// # Errors
    /// The store cannot be read; nothing was started.
    pub async fn recover(&self) -> Result<usize, StoreError> {
        let open = self.shared.store.open_turns().await?;
        let turns = open.len();
        let mut lines = Vec::new();
        for (turn, row) in open {
            // An answer that is planned is delivered in its session's order, too.
            match row.lane {
                Lane::Session => {
                    let key = row.message.session.id.clone();
                    let job = Job { turn, row, stop: CancellationToken::new(), recovered: true };
                    if self.shared.sessions.restore(&key, job) {
                        lines.push(key);
                    }
                }
                Lane::Control | Lane::Delivery => self.start_aside(turn, row, true),
            }
        }
        for key in lines {
            self.start_worker(key);
        }
        if turns > 0 {
            Event::Recovered { turns }.emit();
        }
        Ok(turns)
    }
}
