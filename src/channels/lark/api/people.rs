//! The calls about people: departments, user groups, names, owners of chats.

use reqwest::Method;
use serde_json::{Value, json};

use super::client::{LarkApi, PAGES_MAX, get, undecodable};
use super::error::ApiError;
use super::transport::{Call, Endpoint};
use crate::base::{ChatId, UserId};

/// How many people's names the platform tells in one call.
const NAMES_PER_CALL: usize = 10;

/// The platform's word for the kind of a person's id.
fn id_type(user: &str) -> &'static str {
    match user.split_once('_') {
        Some(("ou", _)) => "open_id",
        Some(("on", _)) => "union_id",
        _ => "user_id",
    }
}

impl LarkApi {
    /// The departments that a person is directly in, by their open ids (`od-…`).
    pub async fn departments_of(&self, user: &UserId) -> Result<Vec<String>, ApiError> {
        let path = ["contact", "v3", "users", user.as_str()];
        let query = [
            ("user_id_type", id_type(user.as_str())),
            ("department_id_type", "open_department_id"),
        ];
        let call = get(Endpoint::GetUser, &path, &query);
        let answer = self.call(&call).await?;
        // Without the scope for departments the platform leaves the member out: that is no
        // answer, and nobody must be let in or kept out by it.
        let departments = answer.pointer("/data/user/department_ids");
        departments.and_then(texts).ok_or(undecodable(call.endpoint))
    }

    /// The user groups that a person belongs to, ordinary and dynamic.
    pub async fn groups_of(&self, user: &UserId) -> Result<Vec<String>, ApiError> {
        let path = ["contact", "v3", "group", "member_belong"];
        let mut groups = Vec::new();
        for group_type in ["1", "2"] {
            let mut token = String::new();
            for _ in 0..PAGES_MAX {
                let mut query = vec![
                    ("member_id", user.as_str()),
                    ("member_id_type", id_type(user.as_str())),
                    ("group_type", group_type),
                    ("page_size", "1000"),
                ];
                if !token.is_empty() {
                    query.push(("page_token", &token));
                }
                let call = get(Endpoint::UserGroups, &path, &query);
                let answer = self.call(&call).await?;
                let data = answer.get("data").ok_or(undecodable(call.endpoint))?;
                groups.extend(data.get("group_list").and_then(texts).unwrap_or_default());
                let next = data.get("page_token").and_then(Value::as_str).unwrap_or_default();
                if data.get("has_more").and_then(Value::as_bool) != Some(true) || next.is_empty() {
                    break;
                }
                next.clone_into(&mut token);
            }
        }
        Ok(groups)
    }

    /// The open id of a chat's owner; `None` if a bot owns it.
    pub async fn owner_of(&self, chat: &ChatId) -> Result<Option<String>, ApiError> {
        let path = ["im", "v1", "chats", chat.as_str()];
        let call = get(Endpoint::GetChat, &path, &[("user_id_type", "open_id")]);
        let answer = self.call(&call).await?;
        let data = answer.get("data").ok_or(undecodable(call.endpoint))?;
        let owner = data.get("owner_id").and_then(Value::as_str);
        Ok(owner.filter(|owner| !owner.is_empty()).map(str::to_owned))
    }

    /// The names of people by their open or union ids, of at most ten each; who is not known, or
    /// has another id, is left out.
    pub async fn names_of(&self, users: &[UserId]) -> Result<Vec<(UserId, String)>, ApiError> {
        let mut names = Vec::new();
        for kind in ["open_id", "union_id"] {
            let ids = users.iter().map(UserId::as_str).filter(|id| id_type(id) == kind);
            let ids: Vec<&str> = ids.take(NAMES_PER_CALL).collect();
            if ids.is_empty() {
                continue;
            }
            let call = Call {
                endpoint: Endpoint::UserNames,
                method: Method::POST,
                path: &["contact", "v3", "users", "basic_batch"],
                query: &[("user_id_type", kind)],
                body: Some(json!({ "user_ids": ids })),
            };
            let answer = self.call(&call).await?;
            let found = answer.pointer("/data/users").and_then(Value::as_array);
            names.extend(found.into_iter().flatten().filter_map(named));
        }
        Ok(names)
    }
}

/// The id and the name of a person of an answer.
fn named(person: &Value) -> Option<(UserId, String)> {
    let text = |member: &str| person.get(member)?.as_str().filter(|text| !text.is_empty());
    Some((UserId::new(text("user_id")?), text("name")?.to_owned()))
}

/// The texts of a list; `None` if it is no list.
fn texts(value: &Value) -> Option<Vec<String>> {
    let items = value.as_array()?;
    Some(items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect())
}

#[cfg(test)]
#[path = "people_tests.rs"]
mod tests;
