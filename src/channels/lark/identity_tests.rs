use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::super::testing::{self, OWN, Platform, TOKEN_CALL};
use super::*;

const INFO: &str = "GET /open-apis/bot/v3/info";

#[tokio::test]
async fn the_identity_is_learnt_after_failures_and_the_task_ends() {
    let platform = Platform::start().await;
    platform.on(INFO, 503, &json!({}));
    platform.on(
        INFO,
        200,
        &json!({"code": 0, "msg": "ok", "bot": {"open_id": OWN, "app_name": "gateway-bot"}}),
    );
    let bot = Arc::new(testing::bot(&platform.url, &testing::clock()));
    assert_eq!(bot.identity().state(), IdentityState::Unknown { last_error: None });
    let tasks = TaskSet::new("test", CancellationToken::new());
    learn_identity(Arc::clone(&bot), &tasks);
    assert_eq!(tasks.join(Duration::from_secs(30)).await, 0);
    assert_eq!(bot.identity().open_id(), Some(UserId::new(OWN)));
    assert_eq!(platform.count(INFO), 2);
}

#[tokio::test]
async fn refused_credentials_are_told_apart_from_an_unreachable_platform() {
    let platform = Platform::start().await;
    let bot = testing::bot(&platform.url, &testing::clock());
    platform.on(TOKEN_CALL, 400, &json!({"code": 10014, "msg": "app secret invalid"}));
    assert!(ask(&bot, 0).await.is_err());
    let IdentityState::Refused { error } = bot.identity().state() else {
        panic!("not refused");
    };
    assert!(error.contains("10014"));
    platform.on(INFO, 500, &json!({}));
    assert_eq!(ask(&bot, 6).await, Err(Duration::from_secs(60)));
    assert!(matches!(bot.identity().state(), IdentityState::Unknown { last_error: Some(_) }));
}

#[tokio::test]
async fn the_task_ends_when_it_is_told_to() {
    let bot = Arc::new(testing::bot("http://127.0.0.1:1", &testing::clock()));
    let tasks = TaskSet::new("test", CancellationToken::new());
    learn_identity(bot, &tasks);
    tasks.cancellation().cancel();
    assert_eq!(tasks.join(Duration::from_secs(30)).await, 0);
}
