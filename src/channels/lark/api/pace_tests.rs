use proptest::prelude::*;

use super::*;

const START: Timestamp = Timestamp::from_millis(1_760_000_000_000);

fn at(millis: u64) -> Timestamp {
    START.after(Duration::from_millis(millis))
}

fn send(app: &str, chat: &str) -> Vec<Key> {
    vec![Key::Place(chat.to_owned()), Key::Method(app.to_owned(), Endpoint::Create)]
}

fn method(app: &str) -> Key {
    Key::Method(app.to_owned(), Endpoint::Create)
}

/// Who went when, stepping through time until nobody waits.
fn run(pace: &mut Pace, mut now: u64) -> Vec<(u64, u64)> {
    let mut gone = Vec::new();
    loop {
        gone.extend(pace.step(at(now)).into_iter().map(|number| (number, now)));
        match pace.next_wait(at(now)) {
            Some(wait) => now += u64::try_from(wait.as_millis()).unwrap().max(1),
            None => return gone,
        }
    }
}

#[test]
fn a_chat_takes_five_a_second_whatever_bot_speaks() {
    let mut pace = Pace::default();
    for number in 0..12 {
        pace.join(send(if number % 2 == 0 { "cli_1" } else { "cli_2" }, "oc_1")).unwrap();
    }
    let gone = run(&mut pace, 0);
    let times: Vec<u64> = gone.iter().map(|(_, at)| *at).collect();
    assert_eq!(times, [0, 0, 0, 0, 0, 1100, 1100, 1100, 1100, 1100, 2200, 2200]);
    let order: Vec<u64> = gone.iter().map(|(number, _)| *number).collect();
    assert_eq!(order, (1..=12).collect::<Vec<_>>(), "in the order of arrival");
}

#[test]
fn a_chat_that_waits_takes_nothing_from_another() {
    let mut pace = Pace::default();
    for _ in 0..200 {
        pace.join(send("cli_1", "oc_busy")).unwrap();
    }
    let other = pace.join(send("cli_1", "oc_other")).unwrap();
    let gone = pace.step(at(0));
    assert_eq!(gone, [1, 2, 3, 4, 5, other]);
}

#[test]
fn an_app_takes_fifty_a_second_and_a_thousand_a_minute_of_each_method() {
    let mut pace = Pace::default();
    for number in 0..1010 {
        pace.join(send("cli_1", &format!("oc_{number}"))).unwrap();
    }
    let other_app = pace.join(send("cli_2", "oc_x")).unwrap();
    let reply = Key::Method("cli_1".to_owned(), Endpoint::Reply);
    let other_method = pace.join(vec![reply]).unwrap();
    let first = pace.step(at(0));
    assert_eq!(first.len(), 52);
    assert!(first.contains(&other_app) && first.contains(&other_method));
    let later = run(&mut pace, 1);
    assert_eq!(later.iter().filter(|(_, at)| *at <= 1100).count(), 50);
    assert_eq!(later.iter().filter(|(_, at)| *at < 60_100).count(), 950, "then it is a thousand");
    assert!(later.last().unwrap().1 >= 60_100);
}

#[test]
fn a_message_is_changed_five_times_a_second() {
    let mut pace = Pace::default();
    for _ in 0..6 {
        pace.join(vec![Key::Message("om_1".to_owned())]).unwrap();
    }
    assert_eq!(pace.step(at(0)).len(), 5);
    assert_eq!(pace.wait(&[Key::Message("om_1".to_owned())], at(0)).as_millis(), 1100);
}

#[test]
fn a_limit_that_the_platform_met_is_closed_for_everybody_until_it_says() {
    let mut pace = Pace::default();
    pace.close(method("cli_1"), at(0), Duration::from_secs(7));
    pace.close(method("cli_1"), at(1), Duration::from_secs(2));
    let first = pace.join(send("cli_1", "oc_1")).unwrap();
    let second = pace.join(send("cli_1", "oc_2")).unwrap();
    let other = pace.join(send("cli_2", "oc_1")).unwrap();
    assert!(pace.step(at(0)).is_empty(), "who waits for the chat first is not overtaken in it");
    assert_eq!(pace.wait(&send("cli_1", "oc_3"), at(10)).as_millis(), 6990);
    assert_eq!(pace.step(at(7000)), [first, second, other]);
}

#[test]
fn a_clock_that_is_put_back_closes_nothing() {
    let mut pace = Pace::default();
    let late = Duration::from_secs(3600);
    for _ in 0..5 {
        pace.join(send("cli_1", "oc_1")).unwrap();
    }
    pace.close(method("cli_1"), at(0).after(late), Duration::from_secs(60));
    assert!(pace.step(at(0).after(late)).is_empty());
    assert_eq!(pace.step(at(0)).len(), 5);
    pace.join(send("cli_1", "oc_1")).unwrap();
    assert_eq!(run(&mut pace, 0).len(), 1);
}

#[test]
fn who_leaves_the_queue_holds_nobody_up() {
    let mut pace = Pace::default();
    pace.close(method("cli_1"), at(0), Duration::from_secs(7));
    let first = pace.join(send("cli_1", "oc_1")).unwrap();
    let second = pace.join(send("cli_2", "oc_1")).unwrap();
    assert!(pace.step(at(0)).is_empty());
    pace.leave(first);
    assert_eq!(pace.step(at(0)), [second]);
}

#[test]
fn neither_queue_nor_windows_grow_without_end() {
    let mut pace = Pace::default();
    for number in 0..30_000 {
        pace.join(vec![Key::Place(format!("oc_{number}"))]).unwrap();
        assert_eq!(pace.step(at(number)).len(), 1);
    }
    assert!(pace.windows.len() <= WINDOWS_KEPT + 1, "{}", pace.windows.len());
    pace.close(method("cli_1"), at(0), Duration::from_secs(3600));
    let joined = (0..WAITING_MAX + 5).filter_map(|_| pace.join(send("cli_1", "oc_1"))).count();
    assert_eq!(joined, WAITING_MAX);
}

proptest! {
    /// Whatever comes in, no window of any limit holds more than it may, and nobody in a chat is
    /// overtaken.
    #[test]
    fn no_limit_is_ever_exceeded(calls in prop::collection::vec((0u64..200, 0usize..2, 0usize..4), 1..150)) {
        let mut pace = Pace::default();
        let mut now = 0;
        let mut keys_of: HashMap<u64, Vec<Key>> = HashMap::new();
        let mut gone: Vec<(u64, u64)> = Vec::new();
        for (pause, app, chat) in calls {
            now += pause;
            let keys = send(&format!("cli_{app}"), &format!("oc_{chat}"));
            let number = pace.join(keys.clone()).unwrap();
            keys_of.insert(number, keys);
            gone.extend(pace.step(at(now)).into_iter().map(|number| (number, now)));
        }
        gone.extend(run(&mut pace, now));
        prop_assert_eq!(gone.len(), keys_of.len(), "everybody goes");
        for rate in RATES {
            let mut times: HashMap<Key, Vec<(u64, u64)>> = HashMap::new();
            for (number, when) in &gone {
                for key in keys_of[number].iter().filter(|key| key.scope() == rate.scope) {
                    times.entry(key.clone()).or_default().push((*number, *when));
                }
            }
            let span = u64::try_from(rate.span.as_millis()).unwrap();
            for (key, went) in times {
                for window in went.windows(rate.most + 1) {
                    prop_assert!(window[rate.most].1 - window[0].1 >= span, "{:?}", key);
                }
                if key.keeps_order() {
                    prop_assert!(went.is_sorted_by_key(|(number, _)| *number), "{:?}", key);
                }
            }
        }
    }
}
