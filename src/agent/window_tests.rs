use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::agent::run::Source;
use crate::llm::{ToolCall, ToolChoice};

fn user(text: &str) -> ChatMessage {
    ChatMessage::User { text: text.to_owned() }
}

fn call(id: &str, name: &str, arguments: serde_json::Value) -> ToolCall {
    ToolCall { id: id.to_owned(), name: name.to_owned(), arguments }
}

/// A round: one call and a result of so many characters.
fn round(number: usize, chars: usize) -> [ChatMessage; 2] {
    let id = format!("c{number}");
    [
        ChatMessage::Assistant {
            text: String::new(),
            calls: vec![call(&id, "read_file", json!({"file_path": format!("f{number}")}))],
        },
        ChatMessage::Tool { call_id: id, name: "read_file".to_owned(), text: "x".repeat(chars) },
    ]
}

fn extend(window: &mut Window, messages: impl IntoIterator<Item = ChatMessage>) {
    for message in messages {
        window.push(message);
    }
}

fn window(budget: u64, rounds: &[usize]) -> Window {
    let mut window = Window::new(budget, Vec::new(), vec![user("the question")]);
    for (number, chars) in rounds.iter().enumerate() {
        extend(&mut window, round(number, *chars));
    }
    window
}

/// Every result has its call before it, and every call its result.
fn is_paired(messages: &[ChatMessage]) -> bool {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        match message {
            ChatMessage::Assistant { calls, .. } => {
                if !open.is_empty() {
                    return false;
                }
                open = calls.iter().map(|call| call.id.as_str()).collect();
            }
            ChatMessage::Tool { call_id, .. } => {
                let Some(at) = open.iter().position(|id| id == call_id) else { return false };
                open.remove(at);
            }
            ChatMessage::User { .. } if !open.is_empty() => return false,
            ChatMessage::User { .. } => {}
        }
    }
    open.is_empty()
}

fn levels(window: &Window) -> Vec<CompactionLevel> {
    window.log().iter().map(|compaction| compaction.level).collect()
}

#[test]
fn a_conversation_that_fits_stays_as_it_is() {
    let mut window = window(20_000, &[3000, 3000, 3000]);
    let before = window.messages();
    window.compact(4);
    assert_eq!((window.messages(), levels(&window)), (before, Vec::new()));
}

#[test]
fn at_the_first_level_long_results_before_the_last_round_are_cut() {
    let mut window = window(5_000, &[6000, 1900, 3200]);
    assert!((600..800).contains(&window.usage()), "{}", window.usage());
    window.compact(4);
    assert_eq!(levels(&window), [CompactionLevel::Results]);
    let texts: Vec<usize> = window
        .messages()
        .iter()
        .filter_map(|message| match message {
            ChatMessage::Tool { text, .. } => Some(text.len()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, [500 + "\n[cut: the whole has 6000 characters]".len(), 1900, 3200]);
}

#[test]
fn at_the_second_level_all_but_two_rounds_become_a_digest() {
    let mut window = window(5_000, &[3000, 3000, 3000, 3000, 1000]);
    assert!((800..950).contains(&window.usage()), "{}", window.usage());
    window.compact(6);
    assert_eq!(levels(&window), [CompactionLevel::Rounds]);
    let messages = window.messages();
    let [question, digest, .., last] = messages.as_slice() else { panic!("{messages:?}") };
    assert_eq!(question, &user("the question"));
    let ChatMessage::User { text } = digest else { panic!("{digest:?}") };
    assert!(text.contains("3 rounds with 3 results (read_file x3)"), "{text}");
    assert!(text.contains("\"file_path\":\"f2\"") && !text.contains("\"f3\""), "{text}");
    assert_eq!((messages.len(), last.clone()), (6, round(4, 1000)[1].clone()));
}

#[test]
fn at_the_third_level_the_last_round_and_late_history_stay() {
    let history: Vec<ChatMessage> = (0..10)
        .flat_map(|number| {
            let answer = format!("answer {number} {}", "y".repeat(1000));
            [
                user(&format!("question {number}")),
                ChatMessage::Assistant { text: answer, calls: Vec::new() },
            ]
        })
        .collect();
    let mut window = Window::new(4_000, history, vec![user("the question")]);
    for number in 0..3 {
        extend(&mut window, round(number, 2000));
    }
    window.push(user("and mind the docs"));
    extend(&mut window, round(3, 2000));
    window.compact(5);
    assert_eq!(levels(&window), [CompactionLevel::Most]);
    let (history, pinned, since) = window.parts();
    assert!(!history.is_empty() && history.len() < 20, "{}", history.len());
    assert!(matches!(history[0], ChatMessage::User { .. }), "whole exchanges");
    assert_eq!((pinned, since), (&[user("the question")][..], &round(3, 2000)[..]));
    let told = window.digest.text().unwrap();
    let first = window.messages().remove(0);
    assert!(matches!(first, ChatMessage::User { text } if text.contains("earlier messages")));
    assert!(told.contains("[The person also said:] and mind the docs"), "{told}");
    assert!(window.usage() < 800, "{}", window.usage());
}

#[test]
fn what_was_submitted_is_known_to_the_end() {
    let mut window = Window::new(3_000, Vec::new(), vec![user("q")]);
    let submit = |number: usize, title: &str| {
        let id = format!("s{number}");
        let call = call(&id, "submit_knowledge", json!({"title": title, "text": "z"}));
        let result = ChatMessage::Tool {
            call_id: id,
            name: "submit_knowledge".to_owned(),
            text: "ok".to_owned(),
        };
        [ChatMessage::Assistant { text: String::new(), calls: vec![call] }, result]
    };
    extend(&mut window, submit(0, "Use the pool"));
    for number in 1..4 {
        extend(&mut window, round(number, 4000));
        window.compact(2);
    }
    extend(&mut window, submit(9, "Close it"));
    for number in 10..13 {
        extend(&mut window, round(number, 4000));
        window.compact(3);
    }
    let told = window.digest.text().unwrap();
    assert!(told.contains("[Submitted so far: Use the pool; Close it]"), "{told}");
}

#[test]
fn what_may_never_go_is_cut_and_says_so_if_it_is_too_large_alone() {
    let mut window = window(2_000, &[100_000]);
    window.compact(2);
    assert_eq!(levels(&window).last(), Some(&CompactionLevel::Protected));
    assert!(window.usage() <= 1000, "{}", window.usage());
    let ChatMessage::Tool { text, .. } = window.messages().pop().unwrap() else { panic!() };
    assert!(text.ends_with("\n[cut: the whole has 100000 characters]"), "{}", text.len());
}

#[test]
fn a_conversation_that_the_provider_calls_too_long_gets_shorter_whatever_the_estimate() {
    let mut long = window(20_000, &[3000, 3000]);
    let before = long.tokens();
    assert!(long.squeeze(3) && long.tokens() < before);
    let mut one = window(20_000, &[3000]);
    let before = one.tokens();
    assert!(one.squeeze(2) && one.tokens() <= before / 2 + 1, "{before} {}", one.tokens());
    assert!(!Window::new(20_000, Vec::new(), vec![user("short")]).squeeze(1));
}

#[test]
fn results_get_less_room_the_fuller_it_is_and_a_round_shares_it() {
    let room = |rounds: &[usize], calls: usize| window(5_000, rounds).result_chars_max(calls);
    assert_eq!(room(&[], 1), 6000);
    assert_eq!(room(&[4000, 3500], 1), 3000);
    assert_eq!(room(&[6000, 4500], 1), 1500);
    assert_eq!(room(&[6000, 8000], 1), 800);
    assert_eq!((room(&[], 2), room(&[], 3), room(&[], 8)), (3000, 4000, 3000));
}

#[test]
fn the_budget_follows_from_the_models_context() {
    let both =
        |context| (history_budget(context, Source::System), history_budget(context, Source::User));
    assert_eq!(both(1_000_000), (48_000, 36_000));
    assert_eq!(both(400_000), (48_000, 36_000));
    assert_eq!(both(200_000), (32_000, 24_000));
    assert_eq!(both(64_000), (24_000, 20_000));
    assert_eq!(both(16_000), (14_000, 12_000));
    assert_eq!(both(8_192), (6_144, 5_324));
    assert_eq!(both(0), (14_000, 12_000), "unknown");
}

#[test]
fn the_estimate_learns_from_what_the_provider_counts() {
    let mut window = window(20_000, &[3000]);
    let request = |window: &Window| ModelRequest {
        system: "s".repeat(400),
        messages: window.messages(),
        tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        max_tokens: 1,
        temperature: 0.0,
    };
    let before = window.tokens();
    let asked = request(&window);
    let estimated = before + text_tokens(&asked.system);
    window.learn(&asked, estimated * 2);
    assert_eq!(window.tokens(), before * 2);
    window.learn(&asked, 0);
    assert_eq!(window.tokens(), before * 2, "a provider that does not count says nothing");
    window.learn(&asked, estimated * 50);
    assert_eq!(window.tokens(), before * 4, "nobody is that far off");
}

/// Histories, rounds of several calls, and people who say more.
fn messages() -> impl Strategy<Value = Vec<Vec<ChatMessage>>> {
    let text = prop_oneof!["[a-z ]{0,4000}", "[一-龥]{0,1500}", "\\{[a-z\":, ]{0,2500}\\}"];
    let round = (prop::collection::vec(text, 1..4), any::<bool>()).prop_map(|(texts, says)| {
        let ids = (0..texts.len()).map(|number| format!("id{number}"));
        let calls = ids.clone().map(|id| call(&id, "search_code", json!({"pattern": "p"})));
        let mut round =
            vec![ChatMessage::Assistant { text: String::new(), calls: calls.collect() }];
        round.extend(ids.zip(texts).map(|(call_id, text)| ChatMessage::Tool {
            call_id,
            name: "search_code".to_owned(),
            text,
        }));
        if says {
            round.push(user("more"));
        }
        round
    });
    prop::collection::vec(round, 0..14)
}

proptest! {
    #[test]
    fn whatever_comes_it_fits_nothing_is_orphaned_and_the_question_stays(
        rounds in messages(),
        budget in 2_000_u64..20_000,
        early in 0..12_usize,
    ) {
        let history: Vec<ChatMessage> = (0..early)
            .flat_map(|number| {
                let text = "h".repeat(number * 150);
                [user(&text), ChatMessage::Assistant { text, calls: Vec::new() }]
            })
            .collect();
        let mut window = Window::new(budget, history, vec![user("the question")]);
        let mut said = 0;
        for (round, iteration) in rounds.into_iter().zip(1..) {
            said += usize::from(matches!(round.last(), Some(ChatMessage::User { .. })));
            extend(&mut window, round);
            window.compact(iteration);
            let messages = window.messages();
            prop_assert!(window.usage() <= 1000, "{} after {:?}", window.usage(), window.log());
            prop_assert!(is_paired(&messages), "{messages:?}");
            prop_assert!(messages.contains(&user("the question")));
            let text = serde_json::to_string(&messages).unwrap();
            prop_assert_eq!(text.matches("more\"").count() + text.matches("also said:] more\\n").count(), said);
        }
        let replayed: Window =
            serde_json::from_value(serde_json::to_value(&window).unwrap()).unwrap();
        prop_assert_eq!(replayed, window);
    }
}
