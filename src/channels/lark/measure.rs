//! What the benches drive: the long connection's frames in, answers out, without a socket; texts in,
//! cards out, without a platform.

use std::sync::Arc;

use prost::bytes::Bytes;

use super::LarkBot;
use super::api::TEXT_BYTES_MAX;
use super::render::{Known, cost};
use super::socket::frame::Frame;
use super::socket::reception::Reception;
use crate::base::Clock;
use crate::envelope::Inlet;
use crate::task::TaskSet;

/// The part of a connection that frames pass through.
pub struct Frames(Reception);

impl std::fmt::Debug for Frames {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Frames").finish_non_exhaustive()
    }
}

impl Frames {
    /// Frames for `bot`.
    pub fn new(
        bot: Arc<LarkBot>,
        inlet: Arc<dyn Inlet>,
        clock: Arc<dyn Clock>,
        tasks: TaskSet,
    ) -> Self {
        Self(Reception::new(bot, inlet, clock, tasks))
    }

    /// Takes the bytes of one frame.
    pub fn receive(&mut self, frame: &Bytes) {
        self.0.receive(frame.clone());
    }

    /// Waits for the next answer.
    pub async fn answer(&mut self) -> Bytes {
        self.0.next_answer().await
    }

    /// How many events are not answered.
    pub fn in_work(&self) -> usize {
        self.0.in_work()
    }
}

/// An event as the server sends it.
pub fn event_frame(number: u64, message_id: &str, payload: &str) -> Bytes {
    let headers = [
        ("type", "event"),
        ("message_id", message_id),
        ("sum", "1"),
        ("seq", "0"),
        ("trace_id", "trace-evt-1"),
        ("timestamp", "1760000000123"),
    ];
    Frame::data(number, &headers, payload).write()
}

/// Reads a frame and nothing of what is in it.
pub fn read_alone(frame: &Bytes) -> bool {
    Frame::read(frame.clone()).is_some()
}

/// The `content` member of a message that shows a text as a card.
pub fn card_of(text: &str) -> String {
    super::Said::Markdown(text, Known::default()).content()
}

/// How much of [`most_of_a_part`] a text takes.
pub fn cost_of(text: &str) -> usize {
    cost(text)
}

/// The most that one message may take.
pub fn most_of_a_part() -> usize {
    TEXT_BYTES_MAX
}
