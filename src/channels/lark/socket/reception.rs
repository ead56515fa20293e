//! From a frame's bytes to the bytes of its answer. Knows nothing of the connection.
//!
//! An event is answered after the inlet took it, and not before. What can never be read is
//! acknowledged as well, counted and shown once: another delivery of it cannot help.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost::bytes::Bytes;
use serde_json::{Value, json};

use super::super::bot::LarkBot;
use super::super::dispatch::{self, Circumstances, NotTaken, Work};
use super::super::event::Opened;
use super::super::link::LinkCell;
use super::config::ClientConfig;
use super::fragments::Fragments;
use super::frame::{Frame, Kind};
use super::lanes::Lanes;
use crate::base::{Clock, Timestamp};
use crate::envelope::Inlet;
use crate::task::{TaskSet, ToTheEnd};
use crate::telemetry::Event;

/// At most so many events are worked on at once; more stay with the platform until there is room.
const IN_WORK_MAX: usize = 256;

const TAKEN: Bytes = Bytes::from_static(b"{\"code\":200}");
const PUT_OFF: Bytes = Bytes::from_static(b"{\"code\":500}");

/// Where the frames of one connection arrive.
pub(in crate::channels::lark) struct Reception {
    bot: Arc<LarkBot>,
    inlet: Arc<dyn Inlet>,
    clock: Arc<dyn Clock>,
    tasks: TaskSet,
    fragments: Fragments,
    lanes: Lanes<Answering>,
}

impl Reception {
    pub(in crate::channels::lark) fn new(
        bot: Arc<LarkBot>,
        inlet: Arc<dyn Inlet>,
        clock: Arc<dyn Clock>,
        tasks: TaskSet,
    ) -> Self {
        Self { bot, inlet, clock, tasks, fragments: Fragments::default(), lanes: Lanes::new() }
    }

    /// Takes a frame. Returns what the server wants from now on, if it says so.
    pub(in crate::channels::lark) fn receive(&mut self, frame: Bytes) -> Option<ClientConfig> {
        let Some(frame) = Frame::read(frame) else {
            self.unusable("it is no frame");
            return None;
        };
        match frame.kind() {
            Kind::Pong => return frame.payload.and_then(|payload| ClientConfig::read(&payload)),
            Kind::Control => {}
            Kind::Event => self.event(frame),
            Kind::UnknownData => {
                self.unusable("its data is of an unknown type");
                self.lanes.push(None, Answering::Ready(frame.answer(TAKEN, 0).write()));
            }
            Kind::Unknown => self.unusable("it is neither control nor data"),
        }
        None
    }

    /// The next answer to send; waits for ever while nothing is worked on. May be dropped and
    /// called again.
    pub(in crate::channels::lark) async fn next_answer(&mut self) -> Bytes {
        match self.lanes.next().await {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }

    /// How many events are worked on.
    pub(in crate::channels::lark) fn in_work(&self) -> usize {
        self.lanes.len()
    }

    /// Whether no further frame should be taken now.
    pub(super) fn is_full(&self) -> bool {
        self.lanes.len() >= IN_WORK_MAX
    }

    fn event(&mut self, mut frame: Frame) {
        let now = self.clock.now();
        let payload = frame.payload.take().unwrap_or_default();
        let Some(body) = self.join(&frame, payload, now) else { return };
        if let Some(link) = self.bot.link_cell() {
            link.event(now);
        }
        match self.open(&body, now) {
            Ok(work) => {
                let chat = dispatch::chat_of(&work);
                let answer = self.carry_out(work, frame, now);
                self.lanes.push(chat, answer);
            }
            Err(reason) => {
                if let NotTaken::Undecodable(what) = reason {
                    self.unusable(what);
                }
                let said = said(&self.bot, Err(reason));
                self.lanes.push(None, Answering::Ready(frame.answer(said, 0).write()));
            }
        }
    }

    /// The whole event, once it is there.
    fn join(&mut self, frame: &Frame, payload: Bytes, now: Timestamp) -> Option<Bytes> {
        let Some(piece) = frame.piece() else { return Some(payload) };
        let joined = self.fragments.add(piece, payload, now);
        if joined.dropped > 0 {
            let (bot, events) = (self.bot.name().as_str(), joined.dropped);
            Event::FragmentsDropped { bot, events }.emit();
            if let Some(link) = self.bot.link_cell() {
                link.dropped(u64::try_from(events).unwrap_or(u64::MAX));
            }
        }
        joined.whole
    }

    /// The connection belongs to the app: what comes over it needs no further proof.
    fn open(&self, body: &[u8], now: Timestamp) -> Result<Work, NotTaken> {
        let opened = Opened::parse(body).ok_or(NotTaken::Undecodable("it holds no event"))?;
        if opened.encrypt.is_some() {
            return Err(NotTaken::Undecodable("its event is encrypted"));
        }
        if opened.head.app_id.as_deref().is_some_and(|app_id| app_id != self.bot.app_id()) {
            return Err(NotTaken::Undecodable("its event is for another app"));
        }
        // Nothing is signed here, so nothing is stale, and no header comes along.
        let circumstances = Circumstances { is_stale: false, refresh_token: None, now };
        dispatch::decode(&self.bot, opened, circumstances)
    }

    fn carry_out(&self, work: Work, frame: Frame, began_at: Timestamp) -> Answering {
        let working = dispatch::carry_out(Arc::clone(&self.inlet), work);
        // A connection that breaks is no reason to stop.
        let work = self.tasks.to_the_end("event", working);
        let (bot, clock) = (Arc::clone(&self.bot), Arc::clone(&self.clock));
        Answering::Working { work, frame, bot, clock, began_at }
    }

    fn unusable(&self, what: &str) {
        let is_first = self.bot.link_cell().is_none_or(LinkCell::unusable);
        Event::FrameUnusable { bot: self.bot.name().as_str(), what, is_first }.emit();
    }
}

/// An answer on its way.
#[expect(clippy::large_enum_variant, reason = "nearly all of them are the large one")]
enum Answering {
    /// It is there.
    Ready(Bytes),
    /// It is there when the event has been carried out.
    Working {
        work: ToTheEnd<Outcome>,
        frame: Frame,
        bot: Arc<LarkBot>,
        clock: Arc<dyn Clock>,
        began_at: Timestamp,
    },
}

/// What an event comes to: the body of a reply if somebody waits for one.
type Outcome = Result<Option<Value>, NotTaken>;

impl Future for Answering {
    type Output = Bytes;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Bytes> {
        match &mut *self {
            Self::Ready(answer) => Poll::Ready(std::mem::take(answer)),
            Self::Working { work, frame, bot, clock, began_at } => {
                let outcome = std::task::ready!(Pin::new(work).poll(context));
                // A panic in there is the event's misfortune.
                let said = said(bot, outcome.unwrap_or(Err(NotTaken::Unavailable)));
                let elapsed = clock.now().since(*began_at).as_millis();
                let elapsed = u64::try_from(elapsed).unwrap_or(u64::MAX);
                Poll::Ready(std::mem::take(frame).answer(said, elapsed).write())
            }
        }
    }
}

/// What is answered. A failure makes the platform deliver again.
fn said(bot: &LarkBot, outcome: Outcome) -> Bytes {
    let code = match outcome {
        Ok(None) | Err(NotTaken::Undecodable(_)) => return TAKEN,
        Ok(Some(reply)) => {
            let data = STANDARD.encode(reply.to_string());
            return json!({ "code": 200, "data": data }).to_string().into();
        }
        Err(NotTaken::IdentityUnknown) => "identity_unknown",
        Err(NotTaken::Unavailable) => "unavailable",
        Err(NotTaken::Draining) => "draining",
        Err(NotTaken::UnknownBot) => "unknown_bot",
    };
    Event::EventPutOff { bot: bot.name().as_str(), code }.emit();
    PUT_OFF
}

#[cfg(test)]
#[path = "reception_tests.rs"]
mod tests;
