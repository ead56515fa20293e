//! Works on many events at once, but on those of one chat in the order of their arrival.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::base::ChatId;

/// Work on its way, and the chat that it is about.
struct Running<F> {
    chat: Option<ChatId>,
    work: F,
}

impl<F: Future + Unpin> Future for Running<F> {
    type Output = (Option<ChatId>, F::Output);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let done = Pin::new(&mut self.work).poll(context);
        done.map(|done| (self.chat.take(), done))
    }
}

/// What is worked on, and what waits for its predecessor in the same chat.
pub(super) struct Lanes<F> {
    running: FuturesUnordered<Running<F>>,
    /// For every chat that something runs in, what is to follow.
    waiting: HashMap<ChatId, VecDeque<F>>,
    len: usize,
}

impl<F: Future + Unpin> Lanes<F> {
    pub(super) fn new() -> Self {
        Self { running: FuturesUnordered::new(), waiting: HashMap::new(), len: 0 }
    }

    /// Adds work; what is about no chat waits for nothing.
    pub(super) fn push(&mut self, chat: Option<ChatId>, work: F) {
        self.len = self.len.saturating_add(1);
        match chat.clone().map(|chat| self.waiting.entry(chat)) {
            Some(Entry::Occupied(mut line)) => return line.get_mut().push_back(work),
            Some(Entry::Vacant(line)) => drop(line.insert(VecDeque::new())),
            None => {}
        }
        self.run(chat, work);
    }

    /// The next result; `None` if there is no work. May be dropped and called again.
    pub(super) async fn next(&mut self) -> Option<F::Output> {
        let (chat, done) = self.running.next().await?;
        self.len = self.len.saturating_sub(1);
        if let Some(Entry::Occupied(mut line)) = chat.map(|chat| self.waiting.entry(chat)) {
            match line.get_mut().pop_front() {
                Some(next) => {
                    let chat = line.key().clone();
                    self.run(Some(chat), next);
                }
                None => drop(line.remove()),
            }
        }
        Some(done)
    }

    /// How much is not done.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    fn run(&mut self, chat: Option<ChatId>, work: F) {
        self.running.push(Running { chat, work });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use futures_util::FutureExt;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn within_a_chat_the_next_begins_when_the_one_before_is_done() {
        let mut lanes = Lanes::new();
        let begun = Arc::new(Mutex::new(Vec::new()));
        let mut ends = HashMap::new();
        for (name, place) in [("a1", "a"), ("a2", "a"), ("b1", "b"), ("a3", "a")] {
            let (end, ended) = oneshot::channel::<()>();
            ends.insert(name, end);
            let begun = Arc::clone(&begun);
            let work = async move {
                begun.lock().unwrap().push(name);
                ended.await.unwrap();
                name
            };
            lanes.push(Some(ChatId::new(place)), work.boxed());
        }
        lanes.push(None, std::future::ready("press").boxed());
        let begun = || begun.lock().unwrap().clone();
        assert_eq!(lanes.next().await, Some("press"));
        assert!(lanes.next().now_or_never().is_none());
        assert_eq!(begun(), ["a1", "b1"]);
        ends.remove("b1").unwrap().send(()).unwrap();
        assert_eq!(lanes.next().await, Some("b1"));
        for name in ["a1", "a2", "a3"] {
            assert_eq!(begun().last(), Some(&if name == "a1" { "b1" } else { name }));
            ends.remove(name).unwrap().send(()).unwrap();
            assert_eq!(lanes.next().await, Some(name));
            assert!(lanes.next().now_or_never().is_none_or(|done| done.is_none()));
        }
        assert_eq!((lanes.len(), lanes.waiting.len()), (0, 0), "nothing is left behind");
    }
}
