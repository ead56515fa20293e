use futures_util::future::join_all;

use super::super::transport::Endpoint;
use super::*;
use crate::base::{ManualClock, SystemClock};

fn keys(chat: &str) -> Vec<Key> {
    vec![Key::Place(chat.to_owned()), Key::Method("cli_1".to_owned(), Endpoint::Create)]
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_passes_in_time_and_in_order() {
    let limiter = Limiter::new(Arc::new(SystemClock::default()));
    let passed = Mutex::new(Vec::new());
    let callers = (0..12).map(|number| {
        let (limiter, passed) = (&limiter, &passed);
        async move {
            limiter.pass(keys("oc_1")).await.unwrap();
            passed.lock().unwrap().push(number);
        }
    });
    join_all(callers).await;
    let passed = passed.into_inner().unwrap();
    assert_eq!(passed.len(), 12);
    assert!(passed[..5].iter().all(|number| *number < 5) && passed[10..].iter().all(|n| *n >= 10));
    assert!(limiter.lock().callers.is_empty());
}

#[tokio::test]
async fn who_would_wait_long_is_told_so_at_once() {
    let clock = ManualClock::at(Timestamp::from_millis(1_760_000_000_000));
    let limiter = Limiter::new(Arc::new(clock.clone()));
    limiter.close(Key::Place("oc_1".to_owned()), Duration::from_secs(60));
    assert_eq!(limiter.pass(keys("oc_1")).await, Err(Duration::from_secs(60)));
    assert_eq!(limiter.pass(keys("oc_2")).await, Ok(()));
    clock.advance(Duration::from_secs(60));
    assert_eq!(limiter.pass(keys("oc_1")).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn who_waits_in_vain_or_goes_away_leaves_the_queue() {
    let clock = ManualClock::at(Timestamp::from_millis(1_760_000_000_000));
    let limiter = Limiter::new(Arc::new(clock));
    limiter.close(Key::Place("oc_1".to_owned()), Duration::from_secs(1));
    // The clock stands still.
    assert_eq!(limiter.pass(keys("oc_1")).await, Err(LATER));
    let gone = tokio::time::timeout(Duration::from_millis(10), limiter.pass(keys("oc_1"))).await;
    assert!(gone.is_err());
    let state = limiter.lock();
    assert!(state.callers.is_empty() && state.pace.next_wait(Timestamp::default()).is_none());
}
