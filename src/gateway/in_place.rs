//! Posts that take the place of the message before: a message shows one state after the other of
//! the same thing until that is over.
//!
//! Which message shows something is kept in the commit that notes its arrival. A chat's posts wait
//! in one line, so when a post is sent everything before it is settled: either the message is known
//! or there is none. Nothing is decided before that, and what was tried once is tried as it was.
//! Only cards can be changed; in every other form each state is a message of its own.

use serde::{Deserialize, Serialize};

use super::deliver::Sending;
use super::flow::Gateway;
use super::turn::TurnError;
use crate::base::{MessageId, Timestamp};
use crate::envelope::{Form, InPlace, Operation};
use crate::store::{Change, InboxV1, Kept, SendState, SendV1, Shelf, StoreError};

/// A message that shows the state of something.
#[derive(Debug, Serialize, Deserialize)]
struct ShownV1 {
    message: MessageId,
    /// When it was sent or changed last; the record goes by this.
    at: Timestamp,
    /// What it shows is over: it changes for nothing but a repetition of that.
    #[serde(default)]
    is_over: bool,
}

impl Kept for ShownV1 {
    const SHELF: Shelf = Shelf::InPlace;
}

/// A record is of one bot in one chat: whoever points a hook elsewhere begins there anew.
fn key(row: &InboxV1, place: &InPlace) -> String {
    format!("{}/{}/{}", row.bot, row.message.reply_fn.destination().chat, place.key)
}

impl Gateway {
    /// Makes a post that was never tried the change of the message that shows the same, if there is
    /// one.
    pub(super) async fn aim(
        &self,
        sending: &Sending<'_>,
        send: &mut SendV1,
    ) -> Result<(), TurnError> {
        let Some(place) = &sending.row.in_place else { return Ok(()) };
        let is_untried = send.state == SendState::Planned && send.first_try_at.is_none();
        if let Operation::Create { destination, text, form: Form::Card, card: None } =
            &send.operation
            && is_untried
        {
            let key = key(sending.row, place);
            let shown = match ShownV1::load(self.shared.store.as_ref(), &key).await {
                // Without a record, one that cannot be read is as good as none.
                Err(StoreError::Record { .. }) => None,
                found => found?,
            };
            let shown = shown.filter(|shown| place.is_last || !shown.is_over);
            if let Some(ShownV1 { message, .. }) = shown {
                let (destination, text) = (destination.clone(), text.clone());
                send.operation = Operation::ChangeText { message, destination, text };
            }
        }
        Ok(())
    }
}

/// What is to be kept together with the arrival of a post.
pub(super) fn kept_place(
    row: &InboxV1,
    send: &SendV1,
    now: Timestamp,
) -> Result<Option<Change>, StoreError> {
    let can_change = matches!(
        send.operation,
        Operation::Create { form: Form::Card, card: None, .. } | Operation::ChangeText { .. }
    );
    let is_shown = can_change && send.state == SendState::Confirmed;
    match (&row.in_place, &send.delivered_id) {
        (Some(place), Some(id)) if is_shown => {
            let is_over = place.is_last;
            let shown = ShownV1 { message: MessageId::new(id), at: now, is_over };
            shown.change(&key(row, place)).map(Some)
        }
        _ => Ok(None),
    }
}
