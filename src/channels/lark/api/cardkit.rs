//! Card entities: cards that change after they were sent, and texts that grow in them (protocol
//! page, section 6.1).

use reqwest::Method;
use serde_json::{Value, json};

use super::answers;
use super::client::{LarkApi, undecodable};
use super::error::ApiError;
use super::transport::{Call, Endpoint};
use crate::envelope::Growing;

/// A change of an entity: `uuid` is the same for every try of it.
#[derive(Clone, Copy, Debug)]
pub(in crate::channels::lark) struct Change<'a> {
    /// Which entity, and the change's place among all of it.
    pub growing: &'a Growing,
    /// At most 64 characters.
    pub uuid: &'a str,
}

impl LarkApi {
    /// Makes an entity of a card. Returns its id; it lives for fourteen days and can be sent once.
    pub(in crate::channels::lark) async fn create_entity(
        &self,
        card: &Value,
    ) -> Result<String, ApiError> {
        let call = Call {
            endpoint: Endpoint::CreateEntity,
            method: Method::POST,
            path: &["cardkit", "v1", "cards"],
            query: &[],
            body: Some(entity(card)),
        };
        let answer = self.call(&call).await?;
        answers::data_text(&answer, "card_id").ok_or(undecodable(call.endpoint))
    }

    /// Puts a card in the place of an entity's.
    pub(in crate::channels::lark) async fn update_entity(
        &self,
        change: Change<'_>,
        card: &Value,
    ) -> Result<(), ApiError> {
        let path = ["cardkit", "v1", "cards", &change.growing.growth];
        let body = json!({"card": entity(card)});
        self.change_entity(Endpoint::UpdateEntity, Method::PUT, &path, (change, body)).await
    }

    /// Puts the whole of a text in the place of the one that an element shows. Where it goes on
    /// behind that one's end, people see it being typed.
    pub(in crate::channels::lark) async fn stream_text(
        &self,
        change: Change<'_>,
        element: &str,
        text: &str,
    ) -> Result<(), ApiError> {
        let growth = &change.growing.growth;
        let path = ["cardkit", "v1", "cards", growth, "elements", element, "content"];
        let body = json!({"content": text});
        self.change_entity(Endpoint::StreamText, Method::PUT, &path, (change, body)).await
    }

    /// Lets texts of an entity grow, for ten minutes from now, or no more.
    pub(in crate::channels::lark) async fn let_grow(
        &self,
        change: Change<'_>,
        grows: bool,
    ) -> Result<(), ApiError> {
        let path = ["cardkit", "v1", "cards", &change.growing.growth, "settings"];
        let settings = json!({"config": {"streaming_mode": grows}}).to_string();
        let body = json!({"settings": settings});
        self.change_entity(Endpoint::EntitySettings, Method::PATCH, &path, (change, body)).await
    }

    async fn change_entity(
        &self,
        endpoint: Endpoint,
        method: Method,
        path: &[&str],
        (change, mut body): (Change<'_>, Value),
    ) -> Result<(), ApiError> {
        if let Some(members) = body.as_object_mut() {
            members.insert("uuid".to_owned(), Value::from(change.uuid));
            members.insert("sequence".to_owned(), Value::from(change.growing.sequence));
        }
        let call = Call { endpoint, method, path, query: &[], body: Some(body) };
        self.call(&call).await.map(drop)
    }
}

fn entity(card: &Value) -> Value {
    json!({"type": "card_json", "data": card.to_string()})
}
