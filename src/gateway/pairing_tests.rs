use super::*;
use crate::store::memory;
use crate::task::TaskSet;

const NOW: Timestamp = Timestamp::from_millis(1_760_000_000_000);

fn bot() -> BotName {
    BotName::new("b")
}

fn user(number: usize) -> UserId {
    UserId::new(format!("ou_{number}"))
}

#[test]
fn codes_are_long_unlike_each_other_and_of_letters_that_nobody_mixes_up() {
    let codes: std::collections::HashSet<String> = (0..1000).map(|_| fresh_code()).collect();
    assert_eq!(codes.len(), 1000);
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() && !"01IOio".contains(letter);
    assert!(codes.iter().all(|code| code.len() == 8 && code.chars().all(is_plain)));
    for place in 0..8 {
        let letters: std::collections::HashSet<char> =
            codes.iter().filter_map(|code| code.chars().nth(place)).collect();
        assert!(letters.len() >= 30, "place {place} is not random: {letters:?}");
    }
}

#[test]
fn a_person_has_one_code_a_day_and_it_ends_after_a_day() {
    let pairings = Pairings::default();
    let offer = pairings.offer(&bot(), &user(1), NOW).unwrap();
    assert!(pairings.offer(&bot(), &user(1), NOW.after(CODE_LIFE / 2)).is_none());
    assert!(pairings.offer(&BotName::new("c"), &user(1), NOW).is_some(), "another bot's affair");
    let almost = NOW.after(CODE_LIFE).before(Duration::from_millis(1));
    assert_eq!(pairings.owner_of(&bot(), &offer.code, almost), Some(user(1)));
    assert_eq!(pairings.owner_of(&bot(), &offer.code, NOW.after(CODE_LIFE)), None);
    let next = pairings.offer(&bot(), &user(1), NOW.after(CODE_LIFE)).unwrap();
    assert_ne!(next.code, offer.code);
    assert_eq!(next.changes(&bot()).unwrap().len(), 2, "the old one is taken from the store");
}

#[test]
fn strangers_cannot_fill_the_store() {
    let pairings = Pairings::default();
    let given = (0..1000).filter(|number| pairings.offer(&bot(), &user(*number), NOW).is_some());
    assert_eq!(given.count(), CODES_MAX);
    let later = NOW.after(CODE_LIFE);
    let again = pairings.offer(&bot(), &user(2000), later).unwrap();
    assert_eq!(again.changes(&bot()).unwrap().len(), CODES_MAX + 1, "all expired ones go");
}

#[test]
fn a_code_that_was_not_stored_is_given_again() {
    let pairings = Pairings::default();
    let offer = pairings.offer(&bot(), &user(1), NOW).unwrap();
    pairings.withdraw(&bot(), &offer);
    assert!(pairings.offer(&bot(), &user(1), NOW).is_some());
}

#[test]
fn wrong_codes_are_counted_by_the_hour() {
    let (pairings, admin) = (Pairings::default(), user(9));
    for _ in 0..TRIES_MAX {
        assert!(pairings.may_try(&bot(), &admin, NOW));
        pairings.count_wrong(&bot(), &admin, NOW);
    }
    assert!(!pairings.may_try(&bot(), &admin, NOW));
    assert!(pairings.may_try(&bot(), &user(8), NOW), "another admin may");
    assert!(pairings.may_try(&bot(), &admin, NOW.after(TRIES_SPAN)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_is_known_after_a_restart() {
    let tasks = TaskSet::new("test", tokio_util::sync::CancellationToken::new());
    let store = memory(tasks).unwrap();
    let pairings = Pairings::default();
    let offer = pairings.offer(&bot(), &user(1), NOW).unwrap();
    let waiting = pairings.offer(&bot(), &user(2), NOW).unwrap();
    for offer in [&offer, &waiting] {
        store.commit(offer.changes(&bot()).unwrap()).await.unwrap();
    }
    let by = user(9);
    let step = PairingStep::LetIn { code: offer.code.clone(), user: user(1), by };
    store.commit(step.changes(&bot(), NOW).unwrap()).await.unwrap();

    let restarted = Pairings::default();
    restarted.load(store.as_ref(), &bot()).await.unwrap();
    assert!(restarted.is_paired(&bot(), &user(1)));
    assert!(!restarted.is_paired(&bot(), &user(2)));
    assert_eq!(restarted.owner_of(&bot(), &offer.code, NOW), None, "a code is good once");
    assert_eq!(restarted.owner_of(&bot(), &waiting.code, NOW), Some(user(2)));

    let step = PairingStep::Revoke { user: user(1) };
    store.commit(step.changes(&bot(), NOW).unwrap()).await.unwrap();
    restarted.load(store.as_ref(), &bot()).await.unwrap();
    assert!(!restarted.is_paired(&bot(), &user(1)));
}
