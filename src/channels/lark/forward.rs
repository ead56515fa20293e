//! Merged forwards: from the flat list of the platform to lines in order.

use super::api::MessageRecord;
use crate::base::{MessageId, UserId};
use crate::envelope::{Attachment, Forwarded};

/// Forwards inside of forwards deeper than this are named only.
const DEPTH_MAX: usize = 3;
/// At most this many messages of one forward are taken.
const MESSAGES_MAX: usize = 50;

/// What a forward holds, each nested forward followed by what that holds, and how many messages
/// were left out. What they carry is fetched by the id of the outermost forward.
pub(super) fn flatten(container: &MessageId, records: &[MessageRecord]) -> (Vec<Forwarded>, usize) {
    let mut lines = Vec::new();
    collect(container, container, records, 0, &mut lines);
    let held = records.iter().filter(|record| record.id != *container).count();
    let left_out = held.saturating_sub(lines.len());
    (lines, left_out)
}

fn collect(
    container: &MessageId,
    upper: &MessageId,
    records: &[MessageRecord],
    depth: usize,
    lines: &mut Vec<Forwarded>,
) {
    let inside = |record: &&MessageRecord| {
        // A child that names no parent is one of the outermost.
        let its_upper = record.upper.as_ref().unwrap_or(container);
        its_upper == upper && record.id != *container && record.id != *upper
    };
    for record in records.iter().filter(inside) {
        if lines.len() >= MESSAGES_MAX {
            return;
        }
        lines.push(line(container, record, depth));
        if depth + 1 < DEPTH_MAX {
            collect(container, &record.id, records, depth + 1, lines);
        }
    }
}

fn line(container: &MessageId, record: &MessageRecord, depth: usize) -> Forwarded {
    Forwarded {
        depth,
        sender: record.sender.as_ref().map(UserId::new),
        text: record.text.clone(),
        attachments: Attachment::carried(&record.attachments, container),
    }
}
