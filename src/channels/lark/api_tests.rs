use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;

use super::codes::{Meaning, ROWS};
use super::*;
use crate::base::{ChatId, Disposition, MessageId, Origin, Timestamp};
use crate::channels::lark::testing::{self, APP, Platform, Seen, TOKEN_CALL};
use crate::envelope::Certainty;

#[path = "api/token_tests.rs"]
mod tokens;

const CREATE: &str = "POST /open-apis/im/v1/messages?receive_id_type=chat_id";

async fn create(api: &LarkApi) -> Result<MessageId, ApiError> {
    api.create(&ChatId::new("oc_1"), Said::Text("hello"), "uuid-1").await
}

/// Into a chat of its own: one chat takes five a second.
async fn create_in(api: &LarkApi, number: usize) -> Result<MessageId, ApiError> {
    api.create(&ChatId::new(format!("oc_{number}")), Said::Text("hello"), "uuid-1").await
}

/// Waits for what happens beside the calls.
async fn until(condition: impl Fn() -> bool) {
    let holds = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), holds).await.expect("it comes to this");
}

#[tokio::test]
async fn other_refusals_are_not_repeated() {
    let platform = Platform::start().await;
    let api = platform.api(&testing::clock());
    platform.on(CREATE, 400, &json!({"code": 230_002, "msg": "Bot not in chat"}));
    let error = create(&api).await.unwrap_err();
    assert_eq!(platform.count(CREATE), 1);
    assert_eq!(
        error.to_string(),
        "create_message: the platform refused with code 230002 (Bot not in chat), HTTP 400: the \
         bot is not in this chat: add it to the group again"
    );
}

fn refused(endpoint: Endpoint, status: u16, code: Option<i64>) -> ApiError {
    ApiError {
        endpoint,
        status: Some(status),
        failure: Failure::Refused { code, message: String::new() },
        retry_after: None,
    }
}

#[test]
fn every_row_of_the_code_table_says_what_to_do() {
    let retry = Disposition::Retry { after: None };
    for row in &ROWS {
        let endpoint = match row.code {
            231_015 => Endpoint::React,
            200_220..=200_860 | 300_120..=300_317 => Endpoint::UpdateEntity,
            _ => Endpoint::Create,
        };
        let error = refused(endpoint, 400, Some(row.code));
        let (disposition, certainty) = match row.meaning {
            Meaning::Slower => (retry, Certainty::NotSent),
            Meaning::InFlight => (retry, Certainty::MayHaveBeenSent),
            Meaning::Token | Meaning::App => (Disposition::Fatal, Certainty::NotSent),
            Meaning::Gone | Meaning::Content | Meaning::Words | Meaning::Stale | Meaning::Never => {
                (Disposition::Reject, Certainty::NotSent)
            }
        };
        assert_eq!(error.disposition(), disposition, "{}", row.code);
        assert_eq!(error.certainty(), certainty, "{}", row.code);
    }
    let mut codes: Vec<i64> = ROWS.iter().map(|row| row.code).collect();
    codes.dedup();
    assert!(codes.len() == ROWS.len() && codes.contains(&230_049));
}

#[test]
fn what_a_failed_send_may_have_done_follows_from_how_it_failed() {
    let retry = Disposition::Retry { after: None };
    let sent = Certainty::MayHaveBeenSent;
    let not_sent = Certainty::NotSent;
    let table = [
        (400, Some(230_020), retry, not_sent),
        (429, Some(99_991_400), retry, not_sent),
        (429, None, retry, not_sent),
        (400, Some(230_049), retry, sent),
        (200, Some(230_002), Disposition::Reject, not_sent),
        (400, Some(424_242), Disposition::Reject, not_sent),
        (400, Some(99_991_672), Disposition::Fatal, not_sent),
        (404, None, Disposition::Reject, not_sent),
        (503, Some(99_991_400), retry, not_sent),
        (500, None, retry, sent),
        (503, Some(1), retry, sent),
    ];
    for (status, code, disposition, certainty) in table {
        let error = refused(Endpoint::Create, status, code);
        assert_eq!(error.disposition(), disposition, "{status} {code:?}");
        assert_eq!(error.certainty(), certainty, "{status} {code:?}");
    }
}

#[test]
fn what_only_reads_leaves_no_send_in_doubt() {
    for (endpoint, certainty) in [
        (Endpoint::TenantToken, Certainty::NotSent),
        (Endpoint::History, Certainty::NotSent),
        (Endpoint::Reactions, Certainty::NotSent),
        (Endpoint::Create, Certainty::MayHaveBeenSent),
        (Endpoint::Reply, Certainty::MayHaveBeenSent),
        (Endpoint::CreateEntity, Certainty::NotSent),
        (Endpoint::UpdateEntity, Certainty::MayHaveBeenSent),
        (Endpoint::Recall, Certainty::MayHaveBeenSent),
        (Endpoint::React, Certainty::MayHaveBeenSent),
        (Endpoint::Unreact, Certainty::MayHaveBeenSent),
    ] {
        let late =
            ApiError { endpoint, status: None, failure: Failure::TimedOut, retry_after: None };
        assert_eq!(late.certainty(), certainty, "{endpoint:?}");
        assert_eq!(refused(endpoint, 500, None).certainty(), certainty, "{endpoint:?}");
    }
}

#[tokio::test]
async fn the_platforms_wait_is_taken_over() {
    let platform = Platform::start().await;
    let body = json!({"code": 99_991_400, "msg": "slow down"}).to_string();
    for (headers, seconds) in [
        (vec![("x-ogw-ratelimit-reset", "7"), ("retry-after", "9")], 7),
        (vec![("retry-after", "9")], 9),
        (vec![("retry-after", "999999")], 300),
        (vec![("x-ogw-ratelimit-reset", "18446744073709551615")], 300),
    ] {
        platform.raw(CREATE, 429, headers, body.clone());
        let api = platform.api(&testing::clock());
        let after = Some(Duration::from_secs(seconds));
        let error = create(&api).await.unwrap_err();
        assert_eq!(error.disposition(), Disposition::Retry { after });
    }
}

#[tokio::test]
async fn a_limit_met_by_one_is_closed_for_all_calls_of_the_method_and_the_chat() {
    let platform = Platform::start().await;
    let clock = testing::clock();
    let api = platform.api(&clock);
    let wait = |seconds| Disposition::Retry { after: Some(Duration::from_secs(seconds)) };
    let gateway = json!({"code": 99_991_400, "msg": "slow down"}).to_string();
    platform.raw(CREATE, 429, vec![("x-ogw-ratelimit-reset", "60")], gateway);
    create(&api).await.unwrap_err();
    let held = create_in(&api, 2).await.unwrap_err();
    assert_eq!((held.failure(), held.disposition()), (&Failure::TooFast, wait(60)));
    assert_eq!(held.certainty(), Certainty::NotSent);
    assert_eq!(platform.count(CREATE), 1);
    let (chat, message) = (ChatId::new("oc_2"), MessageId::new("om_1"));
    assert!(api.reply(&chat, &message, Said::Text("another method"), false, "u").await.is_ok());
    clock.advance(Duration::from_secs(60));
    create(&api).await.unwrap();

    // The limit of a chat or message comes without a time: a second is its span.
    platform.on(CREATE, 400, &json!({"code": 230_020, "msg": "slow down"}));
    create(&api).await.unwrap_err();
    assert!(create_in(&api, 3).await.is_ok(), "another chat");
    assert_eq!(platform.count(CREATE), 4);
}

#[tokio::test]
async fn the_kind_of_a_receiver_follows_from_its_form() {
    let platform = Platform::start().await;
    let api = platform.api(&testing::clock());
    let table = [
        ("oc_1", "chat_id"),
        ("ou_1", "open_id"),
        ("on_1", "union_id"),
        ("a_b@c.example", "email"),
        ("e1f2", "user_id"),
    ];
    for (id, kind) in table {
        api.create(&ChatId::new(id), Said::Text("hi"), "u").await.unwrap();
        let call = format!("POST /open-apis/im/v1/messages?receive_id_type={kind}");
        assert_eq!(platform.count(&call), 1, "{id}");
    }
    let refusal = json!({"code": 99_992_361, "msg": "open_id cross app"});
    platform.on("POST /open-apis/im/v1/messages?receive_id_type=open_id", 400, &refusal);
    let error = api.create(&ChatId::new("ou_2"), Said::Text("hi"), "u").await.unwrap_err();
    assert_eq!(error.disposition(), Disposition::Reject);
    assert!(error.to_string().contains("belongs to another app"), "{error}");
}

#[test]
fn that_an_answers_target_is_gone_is_known_by_code_and_by_words() {
    let said = |endpoint, status, code, message: &str| ApiError {
        failure: Failure::Refused { code, message: message.to_owned() },
        ..refused(endpoint, status, code)
    };
    let words = "The message was withdrawn.";
    let reply = Endpoint::Reply;
    let table = [
        (reply, 400, Some(230_011), "", true),
        (reply, 400, Some(231_003), "", true),
        (reply, 400, Some(230_110), "", true),
        (reply, 400, Some(230_019), "", true),
        (reply, 400, None, words, true),
        (reply, 400, Some(424_242), words, true),
        // A rate limit, whatever others take it for.
        (reply, 400, Some(230_020), words, false),
        (reply, 400, Some(230_002), words, false),
        (reply, 500, None, words, false),
        (reply, 400, None, "bad", false),
        (Endpoint::Create, 400, Some(230_011), words, false),
    ];
    for (endpoint, status, code, message, gone) in table {
        let error = said(endpoint, status, code, message);
        assert_eq!(error.is_target_gone(), gone, "{endpoint:?} {status} {code:?} {message}");
    }
}

#[test]
fn other_words_may_pass_only_where_these_words_are_refused() {
    let words = "The message was withdrawn.";
    let table = [
        (400, Some(230_022), "", true),
        (400, Some(99_992_402), "", true),
        (400, Some(424_242), "", true),
        // What it answers is gone, and the words say so.
        (400, Some(424_242), words, false),
        (500, Some(230_022), "", false),
        (400, Some(230_035), "", false),
        (400, Some(99_991_672), "", false),
        (400, Some(230_011), "", false),
        (400, None, "bad", false),
    ];
    for (status, code, message, expected) in table {
        let error = ApiError {
            failure: Failure::Refused { code, message: message.to_owned() },
            ..refused(Endpoint::Reply, status, code)
        };
        assert_eq!(error.is_content_refused(), expected, "{status} {code:?} {message}");
    }
}

#[tokio::test]
async fn every_call_is_counted_by_its_method() {
    let platform = Platform::start().await;
    let clock = testing::clock();
    let deps = testing::deps(&clock);
    let bot = crate::channels::lark::LarkBot::new(testing::settings(&platform.url), &deps).unwrap();
    create(bot.api()).await.unwrap();
    platform.on(CREATE, 400, &json!({"code": 230_002}));
    create(bot.api()).await.unwrap_err();
    let month = deps.meter.take_fresh().remove(0);
    assert_eq!((month.app.as_str(), month.month.as_str()), (APP, "2025-10"));
    let calls: Vec<(&str, u64)> =
        month.calls.iter().map(|(method, calls)| (method.as_str(), *calls)).collect();
    assert_eq!(calls, [("create_message", 2), ("tenant_access_token", 1)]);
}

#[tokio::test]
async fn a_thread_is_read_backwards_as_far_as_asked() {
    let platform = Platform::start().await;
    let api = platform.api(&testing::clock());
    let list = "GET /open-apis/im/v1/messages?container_id_type=thread&container_id=omt_1\
                &sort_type=ByCreateTimeDesc&page_size=50";
    let item = |id: &str, time: u64| json!({"message_id": id, "create_time": time.to_string()});
    let page = json!({"code": 0, "data": {"has_more": true, "page_token": "p2", "items": [
        item("om_3", 1_760_000_002_000), item("om_2", 1_760_000_001_000),
        item("om_1", 1_760_000_000_000),
    ]}});
    platform.on(list, 200, &page);
    let since = Timestamp::from_millis(1_760_000_001_000);
    let records = api.thread("omt_1", since, 10).await.unwrap();
    let ids: Vec<&str> = records.iter().map(|record| record.id.as_str()).collect();
    assert_eq!(ids, ["om_2", "om_3"]);
    assert_eq!(platform.count(list), 1);
    assert_eq!(platform.seen().len(), 2, "no second page");
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_leaves_the_send_in_doubt() {
    let platform = Platform::start().await;
    let api = platform.api(&testing::clock());
    let huge = format!("{{\"code\":0,\"x\":\"{}\"}}", "a".repeat(9 * 1024 * 1024));
    for body in ["<html>", "", "{\"code\":0}", "{\"code\":\"0\"}", &huge] {
        platform.raw(CREATE, 200, Vec::new(), body.to_owned());
        let error = create(&api).await.unwrap_err();
        assert_eq!(*error.failure(), Failure::Undecodable);
        assert_eq!(error.certainty(), Certainty::MayHaveBeenSent);
        assert_eq!(error.disposition(), Disposition::Retry { after: None });
    }
}

#[tokio::test]
async fn a_silent_platform_leaves_the_send_in_doubt() {
    let platform = Platform::start().await;
    let mut api = platform.api(&testing::clock());
    create(&api).await.unwrap();
    api.transport.timeout = Duration::from_millis(100);
    platform.raw(CREATE, 0, Vec::new(), String::new());
    let error = create(&api).await.unwrap_err();
    assert_eq!(*error.failure(), Failure::TimedOut);
    assert_eq!(error.certainty(), Certainty::MayHaveBeenSent);
    assert_eq!(error.disposition(), Disposition::Retry { after: None });
}

#[tokio::test]
async fn without_a_connection_nothing_was_sent() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let bot = testing::bot(&url, &testing::clock());
    let error = create(bot.api()).await.unwrap_err();
    assert!(matches!(error.failure(), Failure::NotConnected(_)));
    assert_eq!(error.certainty(), Certainty::NotSent);
    assert_eq!(error.disposition(), Disposition::Retry { after: None });
}

#[tokio::test]
async fn errors_show_no_secret() {
    let platform = Platform::start().await;
    platform.on(TOKEN_CALL, 400, &json!({"code": 10014, "msg": "a\nb".repeat(500)}));
    let api = platform.api(&testing::clock());
    let error = create(&api).await.unwrap_err();
    let shown = format!("{error} {error:?} {api:?}");
    assert!(!shown.contains("app-secret-of-the-test"));
    assert!(!error.to_string().contains('\n'));
    assert!(error.to_string().len() < 400);
}

#[tokio::test]
async fn messages_go_out_as_the_platform_wants_them() {
    let platform = Platform::start().await;
    let api = platform.api(&testing::clock());
    let message = MessageId::new("om_1");
    create(&api).await.unwrap();
    api.reply(&ChatId::new("oc_1"), &message, Said::Text("<at user_id=\"all\">"), true, "u-2")
        .await
        .unwrap();
    api.recall(&MessageId::new("om/../x?y")).await.unwrap();
    let seen: Vec<Seen> = platform.seen().into_iter().skip(1).collect();
    assert_eq!(
        seen[0].body,
        json!({
            "receive_id": "oc_1", "msg_type": "text",
            "content": "{\"text\":\"hello\"}", "uuid": "uuid-1",
        })
    );
    assert_eq!(seen[1].path, "/open-apis/im/v1/messages/om_1/reply");
    assert_eq!(
        seen[1].body,
        json!({
            "msg_type": "text", "uuid": "u-2", "reply_in_thread": true,
            "content": "{\"text\":\"<\u{200b}at user_id=\\\"all\\\">\"}",
        })
    );
    assert_eq!(seen[2].method, "DELETE");
    assert_eq!(seen[2].path, "/open-apis/im/v1/messages/om%2F..%2Fx%3Fy");
}

#[tokio::test]
async fn without_an_id_the_own_reactions_are_looked_for_on_every_page() {
    let platform = Platform::start().await;
    let api = platform.api(&testing::clock());
    let list = "GET /open-apis/im/v1/messages/om_1/reactions?reaction_type=Typing&page_size=50";
    let item = |id: &str, operator: &str, emoji: &str| {
        json!({
            "reaction_id": id,
            "operator": {"operator_id": operator, "operator_type": "app"},
            "reaction_type": {"emoji_type": emoji},
        })
    };
    platform.on(
        list,
        200,
        &json!({"code": 0, "data": {"has_more": true, "page_token": "p2", "items": [
            item("r_other", "cli_other", "Typing"), item("r_1", APP, "Typing"),
        ]}}),
    );
    platform.on(
        &format!("{list}&page_token=p2"),
        200,
        &json!({"code": 0, "data": {"has_more": false, "page_token": "", "items": [
            item("r_ok", APP, "OK"), item("r_2", APP, "Typing"),
        ]}}),
    );
    let message = MessageId::new("om_1");
    api.unreact(&message, "Typing", None).await.unwrap();
    let deleted: Vec<String> = platform
        .seen()
        .into_iter()
        .filter(|seen| seen.method == "DELETE")
        .map(|seen| seen.path)
        .collect();
    assert_eq!(
        deleted,
        [
            "/open-apis/im/v1/messages/om_1/reactions/r_1",
            "/open-apis/im/v1/messages/om_1/reactions/r_2",
        ]
    );
}

#[tokio::test]
async fn history_is_read_in_order_up_to_its_limit() {
    let platform = Platform::start().await;
    let api = platform.api(&testing::clock());
    let list = "GET /open-apis/im/v1/messages?container_id_type=chat&container_id=oc_1\
                &start_time=1760000000&sort_type=ByCreateTimeAsc&page_size=50";
    let item = |id: &str, time: u64| {
        json!({
            "message_id": id, "msg_type": "text", "create_time": time.to_string(),
            "parent_id": "om_q", "sender": {"id": APP, "sender_type": "app"},
            "body": {"content": "{\"text\":\"@_user_1 hi\"}"},
            "mentions": [{"key": "@_user_1", "id": "ou_1", "id_type": "open_id", "name": "Rui"}],
        })
    };
    let page = json!({"code": 0, "data": {"has_more": true, "page_token": "p2", "items": [
        item("om_before", 1_760_000_000_100), item("om_1", 1_760_000_000_500),
        item("om_2", 1_760_000_001_000), item("om_3", 1_760_000_002_000),
    ]}});
    platform.on(list, 200, &page);
    let since = Timestamp::from_millis(1_760_000_000_500);
    let records = api.history(&ChatId::new("oc_1"), since, 2).await.unwrap();
    let ids: Vec<&str> = records.iter().map(|record| record.id.as_str()).collect();
    assert_eq!(ids, ["om_1", "om_2"]);
    assert_eq!(records[0].text, "@Rui hi");
    assert_eq!(records[0].parent, Some(MessageId::new("om_q")));
    assert_eq!(platform.count(list), 1);
}
