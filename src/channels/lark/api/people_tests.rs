use serde_json::json;

use super::*;
use crate::channels::lark::Failure;
use crate::channels::lark::testing::{self, Platform};

fn ann() -> UserId {
    UserId::new("ou_ann")
}

const GET_ANN: &str = "GET /open-apis/contact/v3/users/ou_ann?user_id_type=open_id&\
                       department_id_type=open_department_id";

fn groups_call(group_type: &str, token: &str) -> String {
    format!(
        "GET /open-apis/contact/v3/group/member_belong?member_id=ou_ann&member_id_type=open_id&\
         group_type={group_type}&page_size=1000{token}"
    )
}

#[tokio::test]
async fn departments_are_told_by_their_open_ids() {
    let platform = Platform::start().await;
    let answer = json!({"code": 0, "data": {"user": {"department_ids": ["od-1", "od-2"]}}});
    platform.on(GET_ANN, 200, &answer);
    let api = platform.api(&testing::clock());
    assert_eq!(api.departments_of(&ann()).await.unwrap(), ["od-1", "od-2"]);
}

#[tokio::test]
async fn a_person_without_the_member_of_departments_is_no_answer() {
    let platform = Platform::start().await;
    platform.on(GET_ANN, 200, &json!({"code": 0, "data": {"user": {"name": "Ann"}}}));
    let api = platform.api(&testing::clock());
    let error = api.departments_of(&ann()).await.unwrap_err();
    assert_eq!(error.failure(), &Failure::Undecodable);
}

#[tokio::test]
async fn groups_of_both_kinds_are_read_to_their_last_page() {
    let platform = Platform::start().await;
    let page = |groups: &[&str], token: Option<&str>| {
        json!({"code": 0, "data": {
            "group_list": groups, "has_more": token.is_some(), "page_token": token,
        }})
    };
    platform.on(&groups_call("1", ""), 200, &page(&["g1"], Some("t/1")));
    platform.on(&groups_call("1", "&page_token=t%2F1"), 200, &page(&["g2"], None));
    platform.on(&groups_call("2", ""), 200, &json!({"code": 0, "data": {"has_more": false}}));
    let api = platform.api(&testing::clock());
    assert_eq!(api.groups_of(&ann()).await.unwrap(), ["g1", "g2"]);
}

#[tokio::test]
async fn a_chat_of_a_bot_has_no_owner() {
    let platform = Platform::start().await;
    let call = "GET /open-apis/im/v1/chats/oc_1?user_id_type=open_id";
    platform.on(call, 200, &json!({"code": 0, "data": {"owner_id": "ou_ann"}}));
    platform.on(call, 200, &json!({"code": 0, "data": {"chat_mode": "group"}}));
    let api = platform.api(&testing::clock());
    let chat = ChatId::new("oc_1");
    assert_eq!(api.owner_of(&chat).await.unwrap().as_deref(), Some("ou_ann"));
    assert_eq!(api.owner_of(&chat).await.unwrap(), None);
}

#[tokio::test]
async fn names_come_for_those_who_are_known_by_each_kind_of_id() {
    let platform = Platform::start().await;
    let call =
        |kind: &str| format!("POST /open-apis/contact/v3/users/basic_batch?user_id_type={kind}");
    let users = json!([{"user_id": "ou_ann", "name": "Ann"}, {"user_id": "ou_ben"}]);
    platform.on(&call("open_id"), 200, &json!({"code": 0, "data": {"users": users}}));
    let users = json!([{"user_id": "on_cat", "name": "Cat"}]);
    platform.on(&call("union_id"), 200, &json!({"code": 0, "data": {"users": users}}));
    let api = platform.api(&testing::clock());
    let asked = ["cli_bot", "ou_ann", "on_cat", "ou_ben"].map(UserId::new);
    let names = api.names_of(&asked).await.unwrap();
    assert_eq!(names, [(ann(), "Ann".to_owned()), (UserId::new("on_cat"), "Cat".to_owned())]);
    let seen = platform.seen();
    let bodies: Vec<_> = seen.iter().filter(|seen| seen.path.contains("basic")).collect();
    assert_eq!(bodies.len(), 2);
    assert_eq!(bodies[0].body, json!({"user_ids": ["ou_ann", "ou_ben"]}));
    assert_eq!(bodies[1].body, json!({"user_ids": ["on_cat"]}));
    assert_eq!(api.names_of(&[UserId::new("cli_bot")]).await, Ok(Vec::new()));
    assert_eq!(platform.seen().len(), seen.len(), "only people have names");
}

#[test]
fn ids_tell_their_kind() {
    assert_eq!(["ou_1", "on_1", "6f2b0680"].map(id_type), ["open_id", "union_id", "user_id"]);
}
