//! Random operations, and what a store must hold after them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Subject, done, key, sample};
use crate::base::TurnId;
use crate::store::{Acceptance, Change, Found, Store};

/// Operations of one run; the store is opened again a few times in between.
const OPERATIONS: u32 = 400;
const OPERATIONS_BETWEEN_OPENINGS: u32 = 130;

const TURNS: u64 = 5;
const KEYS: u64 = 60;

/// A small random source (`SplitMix64`): the same numbers for the same seed, everywhere.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit.max(1)
    }
}

/// What the store should hold.
#[derive(Default)]
struct Model {
    keys: BTreeSet<u64>,
    open: BTreeSet<TurnId>,
    journal: BTreeMap<(TurnId, u32), Vec<u8>>,
    sends: BTreeMap<(TurnId, u16), String>,
    sessions: BTreeMap<u64, u64>,
    ledger: BTreeMap<TurnId, String>,
    closed: BTreeSet<TurnId>,
}

impl Model {
    /// Makes a random change and keeps it in mind.
    fn change(&mut self, dice: &mut Dice) -> Change {
        let turn = sample::turn(dice.below(TURNS));
        let number = dice.below(12);
        match dice.below(7) {
            0 => {
                self.open.insert(turn);
                sample::inbox(turn)
            }
            1 | 2 => {
                let sequence = u32::try_from(number).unwrap_or(0);
                // Now and then beyond the size that engines may cut at.
                let length = dice.below(40) * dice.below(400);
                let fill = u8::try_from(dice.below(256)).unwrap_or(0);
                let entry = vec![fill; usize::try_from(length).unwrap_or(0)];
                self.journal.insert((turn, sequence), entry.clone());
                sample::journal(turn, sequence, &entry)
            }
            3 => {
                let (part, text) = (u16::try_from(number).unwrap_or(0), dice.below(9).to_string());
                self.sends.insert((turn, part), text.clone());
                sample::send(turn, part, &text)
            }
            4 => {
                let epoch = dice.below(1000);
                self.sessions.insert(number, epoch);
                sample::session(&sample::session_key(&number.to_string()), epoch)
            }
            5 => {
                let verdict = dice.below(9).to_string();
                self.ledger.insert(turn, verdict.clone());
                sample::ledger(turn, &verdict)
            }
            _close => {
                self.open.remove(&turn);
                self.journal.retain(|(of, _), _| *of != turn);
                self.sends.retain(|(of, _), _| *of != turn);
                self.closed.insert(turn);
                sample::close(turn, &[])
            }
        }
    }

    async fn compare(&self, store: &dyn Store, context: &str) {
        let open = done(store.open_turns().await);
        let open: Vec<TurnId> = open.rows.into_iter().map(|(turn, _row)| turn).collect();
        assert!(open.iter().eq(&self.open), "{open:?}, {context}");
        for number in 0..TURNS {
            let turn = sample::turn(number);
            let journal: Vec<&Vec<u8>> = self
                .journal
                .range((turn, 0)..=(turn, u32::MAX))
                .map(|(_place, entry)| entry)
                .collect();
            let stored = done(store.journal(turn).await);
            assert!(stored.iter().eq(journal), "journal of {number}, {context}");
            let sends: Vec<_> = self
                .sends
                .range((turn, 0)..=(turn, u16::MAX))
                .map(|((_turn, part), text)| (*part, sample::send_record(text)))
                .collect();
            assert_eq!(done(store.sends(turn).await), sends, "{context}");
            let ledger: Vec<_> = self
                .ledger
                .get(&turn)
                .map(|verdict| sample::ledger_record(turn, verdict))
                .into_iter()
                .collect();
            assert_eq!(done(store.ledger(turn).await), ledger, "{context}");
            let found = match done(store.find(&sample::trigger(turn)).await) {
                Some(Found::Open(..)) => (true, self.closed.contains(&turn)),
                Some(Found::Closed(..)) => (false, true),
                Some(Found::Noted(_)) | None => (false, false),
            };
            let expected = (self.open.contains(&turn), self.closed.contains(&turn));
            assert_eq!(found, expected, "find {number}, {context}");
        }
        for number in 0..12 {
            let key = sample::session_key(&number.to_string());
            let expected = self.sessions.get(&number).copied();
            let stored = done(store.session(&key).await);
            assert_eq!(stored, expected.map(sample::session_record), "{context}");
        }
    }
}

/// Hundreds of random batches, with openings in between where data is durable.
pub async fn random_operations_agree_with_a_model<S: Subject>(subject: &S, seed: u64) {
    let mut dice = Dice(seed);
    let mut model = Model::default();
    let mut store = done(subject.open());
    for operation in 1..=OPERATIONS {
        let number = dice.below(KEYS);
        // An acceptance of a known key must change nothing, so the model changes nothing either.
        let duplicate = dice.below(2) == 0 && model.keys.contains(&number);
        let accepts = duplicate || dice.below(3) == 0;
        let mut forgotten = Model::default();
        let known = model.keys.contains(&number);
        let target = if accepts && known { &mut forgotten } else { &mut model };
        let changes = (0..dice.below(4)).map(|_| target.change(&mut dice)).collect();
        if accepts {
            let answer = done(store.accept(&[key(number)], changes).await);
            assert_eq!(answer == Acceptance::Duplicate, known, "key {number}, seed {seed}");
            model.keys.insert(number);
        } else {
            done(store.commit(changes).await);
        }
        let context = format!("operation {operation}, seed {seed}");
        if S::DURABLE && operation % OPERATIONS_BETWEEN_OPENINGS == 0 {
            store.close().await;
            drop(store);
            store = done(subject.open());
            model.compare(&*store, &context).await;
        } else if operation % 20 == 0 {
            model.compare(&*store, &context).await;
        }
    }
    store.close().await;
}
