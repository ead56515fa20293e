//! What the platform tells of people and chats.

use serde_json::json;

use crate::support::{Client, playground};

#[tokio::test]
async fn departments_and_groups_of_a_person_are_told_by_each_kind_of_id() {
    let sim = playground().await;
    let client = Client::of(&sim).await;
    let ann = sim.change_user("ann", |user| {
        user.departments = vec!["od-1".to_owned()];
        user.groups = vec!["g1".to_owned()];
    });
    for (id, kind) in [(&ann.open_id, "open_id"), (&ann.union_id, "union_id")] {
        let path = format!("/open-apis/contact/v3/users/{id}?user_id_type={kind}");
        let user = client.call("GET", &path, None).await;
        assert_eq!(user.json["data"]["user"]["department_ids"], json!(["od-1"]), "{}", user.text);
        for (group_type, groups) in [(1, json!(["g1"])), (2, json!([]))] {
            let path = format!(
                "/open-apis/contact/v3/group/member_belong?member_id={id}&member_id_type={kind}\
                 &group_type={group_type}"
            );
            let found = client.call("GET", &path, None).await;
            assert_eq!(found.json["data"]["group_list"], groups, "{}", found.text);
        }
    }
}

#[tokio::test]
async fn people_of_other_tenants_and_unknown_ones_are_out_of_reach() {
    let sim = playground().await;
    let client = Client::of(&sim).await;
    let eve = sim.change_user("eve", |user| user.tenant_key = "another".to_owned());
    for id in [eve.open_id.as_str(), "ou_nobody", "eve"] {
        let path = format!("/open-apis/contact/v3/users/{id}");
        assert_eq!(client.call("GET", &path, None).await.code(), 41_050, "{id}");
    }
    let path = "/open-apis/contact/v3/users/ou_1?user_id_type=alias";
    assert_ne!(client.call("GET", path, None).await.code(), 0);
    assert_ne!(Client::anonymous(&sim).call("GET", path, None).await.code(), 0);
}

#[tokio::test]
async fn names_are_told_for_ten_people_at_a_time() {
    let sim = playground().await;
    let client = Client::of(&sim).await;
    let ann = sim.change_user("ann", |user| user.name = "Ann Example".to_owned());
    let path = "/open-apis/contact/v3/users/basic_batch?user_id_type=open_id";
    let body = json!({"user_ids": [ann.open_id, "ou_nobody"]});
    let found = client.call("POST", path, Some(&body)).await;
    let users = json!([{"user_id": ann.open_id, "name": "Ann Example"}]);
    assert_eq!(found.json["data"]["users"], users);
    for count in [0, 11] {
        let body = json!({"user_ids": vec!["ou_1"; count]});
        assert_ne!(client.call("POST", path, Some(&body)).await.code(), 0, "{count}");
    }
}

#[tokio::test]
async fn a_chat_names_its_owner_to_bots_that_are_in_it() {
    let sim = playground().await;
    let client = Client::of(&sim).await;
    let group = sim.group("g1", &["ann"]);
    let path = format!("/open-apis/im/v1/chats/{}", group.chat_id);
    let of_a_bot = client.call("GET", &path, None).await;
    assert_eq!(of_a_bot.json["data"]["owner_id"], json!(null));
    let change = json!({"owner": "ann"});
    client.call("PATCH", "/sim/v1/chats/g1", Some(&change)).await;
    let owned = client.call("GET", &path, None).await;
    assert_eq!(owned.data("/owner_id"), sim.user("ann").open_id);
    sim.change_chat("g1", |chat| chat.bots.clear()).unwrap();
    let outside = client.call("GET", &path, None).await;
    assert_eq!((outside.code(), &outside.json["data"]["owner_id"]), (0, &json!(null)));
    assert_ne!(client.call("GET", "/open-apis/im/v1/chats/oc_none", None).await.code(), 0);
}
