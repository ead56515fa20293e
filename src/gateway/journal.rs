//! The engine's journal and ledger over the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;

use crate::agent::{Decision, Input, Journal, JournalEntryV1, JournalError, Record};
use crate::base::{Clock, TurnId};
use crate::store::{Change, LedgerV1, Store, StoreError};

/// Whether nothing came of a run yet: no model was heard, no tool begun.
pub(super) fn is_only_begun(entries: &[JournalEntryV1]) -> bool {
    entries.iter().all(|entry| match entry {
        JournalEntryV1::Input { input } => matches!(**input, Input::Started { .. }),
        JournalEntryV1::Resumed { .. } => true,
        JournalEntryV1::ToolStarted { .. } => false,
    })
}

/// One turn's journal.
pub(super) struct TurnJournal {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    turn: TurnId,
    next: AtomicU32,
}

impl TurnJournal {
    /// Opens the journal of a turn and reads what it holds.
    pub(super) async fn open(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        turn: TurnId,
    ) -> Result<(Self, Vec<JournalEntryV1>), StoreError> {
        let stored = store.journal(turn).await?;
        let next = u32::try_from(stored.len()).unwrap_or(u32::MAX);
        let entries = stored
            .iter()
            .map(|bytes| serde_json::from_slice(bytes))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| StoreError::Record { kind: "journal", cause: error.to_string() })?;
        Ok((Self { store, clock, turn, next: AtomicU32::new(next) }, entries))
    }

    fn change(&self, record: Record) -> Result<Change, JournalError> {
        match record {
            Record::Entry(entry) => {
                let entry =
                    serde_json::to_vec(&entry).map_err(|error| JournalError(error.to_string()))?;
                let sequence = self.next.fetch_add(1, Ordering::Relaxed);
                Ok(Change::PutJournal { turn: self.turn, sequence, entry })
            }
            Record::Decision(decision) => {
                Ok(Change::PutLedger(Box::new(self.ledger_row(decision))))
            }
        }
    }

    fn ledger_row(&self, decision: Decision) -> LedgerV1 {
        LedgerV1 {
            turn: self.turn,
            iteration: decision.action.iteration,
            index: decision.action.index,
            tool: decision.action.tool,
            fingerprint: decision.action.fingerprint,
            verdict: decision.verdict.word().to_owned(),
            source: decision.source.to_owned(),
            reason: decision.reason,
            at: self.clock.now(),
        }
    }
}

#[async_trait]
impl Journal for TurnJournal {
    async fn record(&self, records: Vec<Record>) -> Result<(), JournalError> {
        let changes =
            records.into_iter().map(|record| self.change(record)).collect::<Result<_, _>>()?;
        self.store.commit(changes).await.map_err(|error| JournalError(error.to_string()))
    }
}
