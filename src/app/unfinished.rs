//! The turns that are open in a copy. Since it was made the daemon may have gone on and answered
//! them, and the copy does not know.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use crate::base::{Clock, Faults, MessageId, SystemClock, Timestamp, TurnId};
use crate::gateway::end_as_failed;
use crate::store::{self, Change, SendState, SendV1, Store, StoreError};
use crate::task::TaskSet;

/// What a turn is closed with that is not gone on with.
const REASON: &str = "it was open in the copy that was restored, so it may have been answered";
/// Changes of one commit.
const CHANGES_MAX: usize = 500;

/// What becomes of turns that are open in a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenTurns {
    /// They end as failed, and can be done again.
    Fail,
    /// The daemon goes on with them. An answer that was planned already is looked up in its chat;
    /// one that was not is made and sent, perhaps a second time.
    Keep,
}

/// Settles the open turns of the store in `data_dir`, which is not in use yet. Blocking, within
/// the runtime. Returns how many there are.
///
/// # Errors
/// As the store.
pub(super) fn settle(data_dir: &Path, rule: OpenTurns) -> Result<usize, StoreError> {
    let tasks = TaskSet::new("restore", CancellationToken::new());
    let store = store::open_sled(data_dir, tasks, Faults::default())?;
    tokio::runtime::Handle::current().block_on(async {
        let settled = settle_all(store.as_ref(), rule).await;
        store.close().await;
        settled
    })
}

async fn settle_all(store: &dyn Store, rule: OpenTurns) -> Result<usize, StoreError> {
    let now = SystemClock::default().now();
    // Those that cannot be read stay where they are: the daemon leaves them out, too.
    let open = store.open_turns().await?.rows;
    let mut changes = Vec::new();
    for (turn, row) in &open {
        let sends = store.sends(*turn).await?;
        changes.extend(match rule {
            OpenTurns::Fail => end_as_failed(*turn, row, REASON, delivered(&sends), now)?,
            OpenTurns::Keep => doubt(*turn, row.accepted_at, sends),
        });
        if changes.len() >= CHANGES_MAX {
            store.commit(std::mem::take(&mut changes)).await?;
        }
    }
    if !changes.is_empty() {
        store.commit(changes).await?;
    }
    Ok(open.len())
}

fn delivered(sends: &[(u16, SendV1)]) -> Vec<MessageId> {
    sends.iter().filter_map(|(_, send)| send.delivered_id.as_deref().map(MessageId::new)).collect()
}

/// What the copy takes for untried may have been sent since, at the earliest when its message was
/// accepted.
fn doubt(turn: TurnId, accepted_at: Timestamp, sends: Vec<(u16, SendV1)>) -> Vec<Change> {
    let untried = sends.into_iter().filter(|(_, send)| send.state == SendState::Planned);
    let doubted = untried.map(|(part, send)| {
        let first_try_at = send.first_try_at.or(Some(accepted_at));
        let send = SendV1 { state: SendState::InFlight, doubtful: true, first_try_at, ..send };
        Change::PutSend { turn, part, send: Box::new(send) }
    });
    doubted.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::{BotName, ChatId, Verdict};
    use crate::envelope::{AgentMessage, Channel, Destination, Form, Operation};
    use crate::store::{AdmittedV1, Found, InboxV1, Lane, Shelf};

    const ACCEPTED_AT: Timestamp = Timestamp::from_millis(1_760_000_000_000);

    fn send(state: SendState, delivered_id: Option<&str>) -> SendV1 {
        let (bot, chat) = (BotName::new("b"), ChatId::new("c"));
        let destination = Destination::reply(bot, Channel::Cli, chat, MessageId::new("m"));
        SendV1 {
            operation: Operation::Reply {
                destination,
                text: "t".to_owned(),
                form: Form::Text,
                card: None,
            },
            uuid: "u".to_owned(),
            state,
            first_try_at: None,
            settled_at: None,
            doubtful: false,
            delivered_id: delivered_id.map(str::to_owned),
            reason: String::new(),
            cause: None,
            repeats: 0,
            refused: None,
        }
    }

    /// A turn of whose answer one part arrived, one is on its way and one waits.
    async fn half_answered() -> (Arc<dyn Store>, TurnId) {
        let tasks = TaskSet::new("test", CancellationToken::new());
        let store = store::memory(tasks).unwrap();
        let turn = TurnId::from_bytes([7; 16]);
        let row = InboxV1 {
            bot: BotName::new("b"),
            message: AgentMessage::from_cli(BotName::new("b"), MessageId::new("om_q"), "hi"),
            lane: Lane::Session,
            accepted_at: ACCEPTED_AT,
            closing: None,
            admitted: AdmittedV1::default(),
            merged: Vec::new(),
            in_place: None,
        };
        let mut changes = vec![Change::PutInbox { turn, row: Box::new(row) }];
        let sends = [
            send(SendState::Confirmed, Some("om_1")),
            SendV1 { doubtful: true, ..send(SendState::InFlight, None) },
            send(SendState::Planned, None),
        ];
        for (part, send) in (0..).zip(sends) {
            changes.push(Change::PutSend { turn, part, send: Box::new(send) });
        }
        store.commit(changes).await.unwrap();
        (store, turn)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_turn_that_ends_as_failed_is_kept_with_what_was_sent_for_it() {
        let (store, turn) = half_answered().await;
        assert_eq!(settle_all(store.as_ref(), OpenTurns::Fail).await.unwrap(), 1);
        assert!(store.open_turns().await.unwrap().rows.is_empty());
        assert!(store.sends(turn).await.unwrap().is_empty());
        for id in ["om_q", "om_1"] {
            let found = store.find(&MessageId::new(id)).await.unwrap();
            let Some(Found::Closed(_, receipt)) = found else { panic!("{id}: {found:?}") };
            assert_eq!((receipt.verdict, receipt.reason.as_str()), (Verdict::Failed, REASON));
        }
        let kept = store.kept(Shelf::Failed, &turn.to_string()).await.unwrap();
        assert!(kept.is_some(), "it can be done again");
        assert_eq!(settle_all(store.as_ref(), OpenTurns::Fail).await.unwrap(), 0);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_a_kept_turn_had_planned_may_have_been_sent() {
        let (store, turn) = half_answered().await;
        let before = store.sends(turn).await.unwrap();
        assert_eq!(settle_all(store.as_ref(), OpenTurns::Keep).await.unwrap(), 1);
        let after = store.sends(turn).await.unwrap();
        assert_eq!(after[..2], before[..2]);
        let (_, planned) = &after[2];
        assert_eq!((planned.state, planned.doubtful), (SendState::InFlight, true));
        assert_eq!(planned.first_try_at, Some(ACCEPTED_AT));
    }
}
