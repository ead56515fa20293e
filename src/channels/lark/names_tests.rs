use serde_json::json;

use super::*;
use crate::channels::lark::testing::{self, Platform};

const ANN: &str = "GET /open-apis/contact/v3/users/ou_ann?user_id_type=open_id";

fn asked(platform: &Platform) -> usize {
    platform.seen().iter().filter(|seen| seen.path.contains("/contact/")).count()
}

#[tokio::test]
async fn a_name_is_asked_for_once_a_day() {
    let platform = Platform::start().await;
    let clock = testing::clock();
    let api = platform.api(&clock);
    let names = Names::new(Arc::new(clock.clone()));
    let ann = UserId::new("ou_ann");
    for expected in 1..=2 {
        platform.on(ANN, 200, &json!({"code": 0, "data": {"user": {"name": "Ann\nLee"}}}));
        for _ in 0..3 {
            assert_eq!(names.of(&api, &ann).await.as_deref(), Some("Ann Lee"));
        }
        assert_eq!(asked(&platform), expected);
        clock.advance(DAY);
    }
    assert_eq!(names.of(&api, &UserId::new("cli_bot")).await, None);
    assert_eq!(asked(&platform), 2, "only people have names");
}

#[tokio::test]
async fn without_the_right_nobody_is_asked_about_for_a_day() {
    let platform = Platform::start().await;
    let clock = testing::clock();
    let api = platform.api(&clock);
    let names = Names::new(Arc::new(clock.clone()));
    platform.on(ANN, 400, &json!({"code": 99_991_672, "msg": "no scope"}));
    for user in ["ou_ann", "ou_ben", "ou_ann"] {
        assert_eq!(names.of(&api, &UserId::new(user)).await, None);
    }
    assert_eq!(asked(&platform), 1);
    clock.advance(DAY);
    platform.on(ANN, 200, &json!({"code": 0, "data": {"user": {"name": "Ann"}}}));
    assert_eq!(names.of(&api, &UserId::new("ou_ann")).await.as_deref(), Some("Ann"));
}

#[tokio::test]
async fn somebody_out_of_sight_says_nothing_about_others() {
    let platform = Platform::start().await;
    let clock = testing::clock();
    let api = platform.api(&clock);
    let names = Names::new(Arc::new(clock.clone()));
    platform.on(ANN, 400, &json!({"code": 41_050, "msg": "no user authority"}));
    assert_eq!(names.of(&api, &UserId::new("ou_ann")).await, None);
    assert_eq!(names.of(&api, &UserId::new("ou_ann")).await, None);
    assert_eq!(asked(&platform), 1);
    let ben = "GET /open-apis/contact/v3/users/on_ben?user_id_type=union_id";
    platform.on(ben, 200, &json!({"code": 0, "data": {"user": {"name": "Ben"}}}));
    assert_eq!(names.of(&api, &UserId::new("on_ben")).await.as_deref(), Some("Ben"));
}
