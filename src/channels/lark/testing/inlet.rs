//! An inlet that does what a test says.

use std::collections::VecDeque;
use std::sync::Mutex;

use async_trait::async_trait;
use tokio::sync::watch;

use crate::base::Verdict;
use crate::envelope::{Arrival, Button, Inlet, InletError, Press, PressReply, Submitted, Tone};

/// The chat whose messages are taken only while the gate is open.
pub(crate) const SLOW_CHAT: &str = "oc_slow";

/// Takes what comes, unless it is told to fail, and knows what it took.
pub(crate) struct TestInlet {
    taken: Mutex<Vec<String>>,
    pressed: Mutex<Vec<Button>>,
    pub(crate) fails: Mutex<VecDeque<InletError>>,
    gate: watch::Sender<bool>,
}

impl Default for TestInlet {
    fn default() -> Self {
        Self {
            taken: Mutex::default(),
            pressed: Mutex::default(),
            fails: Mutex::default(),
            gate: watch::channel(false).0,
        }
    }
}

impl TestInlet {
    /// The ids of messages, and the types of what is none, in the order in which they were taken.
    pub(crate) fn taken(&self) -> Vec<String> {
        self.taken.lock().unwrap().clone()
    }

    /// The buttons that were pressed, as the channel judged them.
    pub(crate) fn pressed(&self) -> Vec<Button> {
        self.pressed.lock().unwrap().clone()
    }

    pub(crate) fn open_gate(&self) {
        self.gate.send_replace(true);
    }
}

#[async_trait]
impl Inlet for TestInlet {
    async fn submit(&self, arrival: Arrival) -> Result<Submitted, InletError> {
        if let Some(error) = self.fails.lock().unwrap().pop_front() {
            return Err(error);
        }
        let name = match arrival {
            Arrival::Message(incoming) => {
                let destination = incoming.message.reply_fn.destination();
                if destination.chat.as_str() == SLOW_CHAT {
                    self.gate.subscribe().wait_for(|is_open| *is_open).await.unwrap();
                }
                assert_ne!(incoming.message.content, "panic", "on purpose");
                incoming.message.id.to_string()
            }
            Arrival::Notice(notice) => notice.event_type,
            Arrival::Errand(_) => panic!("no channel of a platform hands in errands"),
        };
        self.taken.lock().unwrap().push(name);
        Ok(Submitted::NoWork(Verdict::Filtered))
    }

    async fn press(&self, press: Press) -> PressReply {
        self.pressed.lock().unwrap().push(press.button);
        self.taken.lock().unwrap().push(press.event_type);
        PressReply { tone: Tone::Info, text: "pressed".to_owned(), card: None }
    }
}
