//! A model whose failures that pass are waited out, and that is left alone while they do not.
//!
//! A wrapper: repetitions with growing waits, a breaker, and a limit of calls at the same time.
//! Dropping the call ends a wait as it ends a connection; it is then neither repeated nor counted.
//! Models of one server share its [`Gate`]; the breaker is each model's own.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Semaphore;

use super::breaker::{Breaker, Ticket};
use super::port::{LlmError, LlmErrorKind, Model, ModelReply, ModelRequest, StreamSink};
use crate::base::retry::Backoff;
use crate::base::{Clock, Timestamp};
use crate::telemetry::Event;

/// All waits of one call together. A provider that asks for more is not waited for.
const WAITS_MAX: Duration = Duration::from_secs(60);

/// How many calls of one server may be at work at the same time. Who comes first goes first. A
/// session makes one call after the other, so this is fair between sessions. Clones share it.
#[derive(Clone, Debug)]
pub struct Gate(Arc<Semaphore>);

impl Gate {
    /// Room for `calls` at the same time.
    pub fn new(calls: usize) -> Self {
        Self(Arc::new(Semaphore::new(calls)))
    }
}

/// How failures are waited out.
#[derive(Clone, Copy, Debug)]
pub struct RetryRules {
    /// So often a call is repeated.
    pub retries: u32,
    /// The wait before the first repetition; doubled before each further one. Up to a half of it is
    /// added, a different part each time, so that not all come back at once.
    pub first_wait: Duration,
}

/// The wrapper.
pub struct ResilientModel {
    inner: Arc<dyn Model>,
    rules: RetryRules,
    gate: Gate,
    clock: Arc<dyn Clock>,
    breaker: Mutex<Breaker>,
    waits: AtomicU64,
}

impl ResilientModel {
    /// Wraps `inner`.
    pub fn new(
        inner: Arc<dyn Model>,
        rules: RetryRules,
        gate: Gate,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (breaker, waits) = (Mutex::default(), AtomicU64::default());
        Self { inner, rules, gate, clock, breaker, waits }
    }

    fn enter(&self) -> Result<Call<'_>, LlmError> {
        let now = self.clock.now();
        let entered = self.breaker.lock().unwrap_or_else(PoisonError::into_inner).enter(now);
        match entered {
            Ok(ticket) => Ok(Call { model: self, ticket: Some(ticket) }),
            Err(rest) => Err(LlmError {
                kind: LlmErrorKind::CircuitOpen,
                retry_after: None,
                text: match rest.as_secs() {
                    0 => "it failed too often and is just being tried again".to_owned(),
                    seconds => format!("it failed too often and is not asked for {seconds} s"),
                },
            }),
        }
    }

    /// The wait before another try, unless the failure is final.
    fn wait_after(&self, error: &LlmError, failures: u32, waited: Duration) -> Option<Duration> {
        if failures > self.rules.retries || !passes_by_itself(error.kind) {
            return None;
        }
        let backoff = Backoff::new(self.rules.first_wait, WAITS_MAX);
        let wait = error.retry_after.unwrap_or_else(|| backoff.after_failures(failures));
        let nth = self.waits.fetch_add(1, Ordering::Relaxed);
        let wait = wait.saturating_add(jitter(self.clock.now(), nth, self.rules.first_wait / 2));
        (waited.saturating_add(wait) <= WAITS_MAX).then_some(wait)
    }

    async fn try_once(
        &self,
        request: &ModelRequest,
        sink: &mut dyn StreamSink,
    ) -> Result<ModelReply, LlmError> {
        // A gate is never closed; the place is given back when the call ends, or is dropped.
        let _place = self.gate.0.acquire().await;
        self.inner.complete(request, sink).await
    }
}

/// Failures that another try may not meet again. A time-out has cost its time already, and what a
/// provider refuses or garbles is the same a moment later.
const fn passes_by_itself(kind: LlmErrorKind) -> bool {
    match kind {
        LlmErrorKind::RateLimited
        | LlmErrorKind::Overloaded
        | LlmErrorKind::Network
        | LlmErrorKind::CutOff => true,
        LlmErrorKind::Timeout
        | LlmErrorKind::ContextTooLong
        | LlmErrorKind::Unauthorised
        | LlmErrorKind::Rejected
        | LlmErrorKind::Malformed
        | LlmErrorKind::CircuitOpen => false,
    }
}

/// A part of `most`, different for each moment and number.
fn jitter(now: Timestamp, nth: u64, most: Duration) -> Duration {
    let mut mixed = now.as_millis() ^ nth.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let most = u64::try_from(most.as_micros()).unwrap_or(u64::MAX);
    Duration::from_micros((mixed ^ (mixed >> 31)) % most.saturating_add(1))
}

/// One call as the breaker sees it. Dropped without an outcome, it says nothing.
struct Call<'a> {
    model: &'a ResilientModel,
    ticket: Option<Ticket>,
}

impl Call<'_> {
    fn breaker<T>(&self, change: impl FnOnce(&mut Breaker) -> T) -> T {
        change(&mut self.model.breaker.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn succeeded(mut self) {
        self.ticket = None;
        if self.breaker(Breaker::succeeded) {
            Event::ModelBack { model: self.model.name() }.emit();
        }
    }

    fn failed(mut self, error: &LlmError) {
        // Whoever refuses a request or a key is alive.
        let counts = passes_by_itself(error.kind) || error.kind == LlmErrorKind::Timeout;
        if let Some(ticket) = self.ticket.take_if(|_| counts) {
            let now = self.model.clock.now();
            if let Some(rest) = self.breaker(|breaker| breaker.failed(ticket, now)) {
                let model = self.model.name();
                Event::ModelRests { model, rest_s: rest.as_secs(), error }.emit();
            }
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            let now = self.model.clock.now();
            self.breaker(|breaker| breaker.left(ticket, now));
        }
    }
}

impl fmt::Debug for ResilientModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ResilientModel").field("name", &self.name()).finish_non_exhaustive()
    }
}

#[async_trait]
impl Model for ResilientModel {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn context_window(&self) -> u64 {
        self.inner.context_window()
    }

    fn resting(&self) -> Vec<String> {
        let now = self.clock.now();
        let breaker = self.breaker.lock().unwrap_or_else(PoisonError::into_inner);
        if breaker.is_resting(now) { vec![self.name().to_owned()] } else { Vec::new() }
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        sink: &mut dyn StreamSink,
    ) -> Result<ModelReply, LlmError> {
        let call = self.enter()?;
        let mut waited = Duration::ZERO;
        let mut failures = 0;
        loop {
            let error = match self.try_once(request, sink).await {
                Ok(reply) => {
                    call.succeeded();
                    return Ok(reply);
                }
                Err(error) => error,
            };
            failures += 1;
            let Some(wait) = self.wait_after(&error, failures, waited) else {
                call.failed(&error);
                return Err(error);
            };
            Event::ModelRetried { model: self.name(), failures, error: &error }.emit();
            waited = waited.saturating_add(wait);
            tokio::time::sleep(wait).await;
            // Only now: until here the beginning of a reply is better than none.
            sink.restart();
        }
    }
}

#[cfg(test)]
#[path = "resilient_tests.rs"]
mod tests;
