use std::sync::atomic::AtomicBool;
use std::sync::{Condvar, Mutex};

use tokio_util::sync::CancellationToken;

use super::*;
use crate::base::{SessionKey, Timestamp};
use crate::envelope::DedupKey;
use crate::store::expiry::Expiring;
use crate::store::kv::{KeyRange, KvStore, Visit};
use crate::store::memory::MemoryEngine;
use crate::store::port::Store;
use crate::store::record::SessionV1;
use crate::task::TaskSet;

/// Lets commits pass unless it is shut.
#[derive(Debug, Default)]
struct Gate {
    shut: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn set_shut(&self, shut: bool) {
        *self.shut.lock().unwrap() = shut;
        self.opened.notify_all();
    }

    fn pass(&self) {
        let shut = self.shut.lock().unwrap();
        drop(self.opened.wait_while(shut, |shut| *shut).unwrap());
    }
}

/// Memory whose commits wait at a gate and can be made to fail.
#[derive(Debug, Default)]
struct Gated {
    memory: MemoryEngine,
    gate: Arc<Gate>,
    full: Arc<AtomicBool>,
    batches: Arc<AtomicU32>,
}

impl Engine for Gated {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.memory.get(key)
    }

    fn scan(
        &self,
        range: &KeyRange,
        direction: Direction,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        self.memory.scan(range, direction, visit)
    }

    fn apply(&self, batch: &Batch) -> Result<(), StoreError> {
        self.gate.pass();
        self.batches.fetch_add(1, Ordering::SeqCst);
        if self.full.load(Ordering::SeqCst) {
            return Err(StoreError::Disk("full".to_owned()));
        }
        self.memory.apply(batch)
    }

    fn close(&self) {
        self.memory.close();
    }
}

fn open(engine: Gated) -> KvStore<Gated> {
    let tasks = TaskSet::new("test", CancellationToken::new());
    KvStore::open(engine, tasks, Faults::default()).unwrap()
}

fn key(number: u64) -> DedupKey {
    DedupKey::new(Timestamp::from_millis(number), &[])
}

fn session(name: &str) -> Change {
    Change::PutSession { key: SessionKey::new(name), session: Box::default() }
}

#[tokio::test]
async fn what_waits_together_is_one_batch_and_a_duplicate_in_it_waits_too() {
    let engine = Gated::default();
    let (gate, batches) = (Arc::clone(&engine.gate), Arc::clone(&engine.batches));
    let store = open(engine);
    batches.store(0, Ordering::SeqCst);
    gate.set_shut(true);
    let store = &store;
    let mut calls: Vec<_> = (0..50_u64)
        .map(|number| {
            let changes = vec![session("s")];
            Box::pin(async move { (number, store.accept(&[key(number / 2)], changes).await) })
        })
        .collect();
    for call in &mut calls {
        assert!(futures_util::poll!(call).is_pending());
    }
    gate.set_shut(false);
    for (number, answer) in futures_util::future::join_all(calls).await {
        let new = answer.unwrap() == Acceptance::New;
        assert_eq!(new, number % 2 == 0, "{number}");
    }
    // The first may have gone alone; the rest was there when the gate opened.
    let batches = batches.load(Ordering::SeqCst);
    assert!((1..=2).contains(&batches), "{batches}");
    store.close().await;
}

#[tokio::test]
async fn a_failed_batch_fails_everybody_and_leaves_nothing() {
    let engine = Gated::default();
    let full = Arc::clone(&engine.full);
    let store = open(engine);
    full.store(true, Ordering::SeqCst);
    let keys = [key(1)];
    let (first, second, third) = futures_util::future::join3(
        store.accept(&keys, vec![session("a")]),
        store.accept(&keys, vec![session("b")]),
        store.commit(vec![session("c")]),
    )
    .await;
    assert!(matches!(first, Err(StoreError::Disk(_))));
    assert!(matches!(second, Err(StoreError::Disk(_))));
    assert!(matches!(third, Err(StoreError::Disk(_))));
    full.store(false, Ordering::SeqCst);
    for name in ["a", "b", "c"] {
        let stored = store.session(&SessionKey::new(name)).await.unwrap();
        assert_eq!(stored, None);
    }
    let again = store.accept(&keys, vec![session("a")]).await.unwrap();
    assert_eq!(again, Acceptance::New);
    let stored = store.session(&SessionKey::new("a")).await.unwrap();
    assert_eq!(stored, Some(SessionV1::default()));
    store.close().await;
}

#[tokio::test]
async fn closing_serves_what_was_handed_in() {
    let engine = Gated::default();
    let gate = Arc::clone(&engine.gate);
    let store = open(engine);
    gate.set_shut(true);
    let mut call = Box::pin(store.accept(&[], vec![session("a")]));
    assert!(futures_util::poll!(&mut call).is_pending());
    let mut close = Box::pin(store.close());
    assert!(futures_util::poll!(&mut close).is_pending());
    gate.set_shut(false);
    close.await;
    assert_eq!(call.await.unwrap(), Acceptance::New);
}

#[tokio::test]
async fn what_is_written_beside_its_expiry_stays() {
    let engine = Gated::default();
    let gate = Arc::clone(&engine.gate);
    let store = open(engine);
    let name = SessionKey::new("s");
    let changed_at = |millis| {
        let updated_at = Timestamp::from_millis(millis);
        let session = Box::new(SessionV1 { updated_at, ..SessionV1::default() });
        Change::PutSession { key: name.clone(), session }
    };
    store.commit(vec![changed_at(1)]).await.unwrap();
    gate.set_shut(true);
    let mut first = Box::pin(store.commit(vec![session("another")]));
    assert!(futures_util::poll!(&mut first).is_pending());
    // Once the thread has that, the next two wait together for the batch behind it.
    while store.queue.capacity() < store.queue.max_capacity() {
        tokio::task::yield_now().await;
    }
    let now = Timestamp::from_millis(9);
    let rule = Rule { what: Expiring::Sessions, now, before: Timestamp::from_millis(5) };
    let expire = vec![Step::Expire(rule, vec![key::session(&name)])];
    let mut write = Box::pin(store.commit(vec![changed_at(8)]));
    let mut expiry = Box::pin(store.write_steps(Vec::new(), Vec::new(), expire));
    assert!(futures_util::poll!(&mut write).is_pending());
    assert!(futures_util::poll!(&mut expiry).is_pending());
    gate.set_shut(false);
    first.await.unwrap();
    write.await.unwrap();
    expiry.await.unwrap();
    let kept = store.session(&name).await.unwrap();
    assert_eq!(kept.map(|session| session.updated_at), Some(Timestamp::from_millis(8)));
    store.close().await;
}
