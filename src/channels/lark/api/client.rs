//! The calls of the client.

mod fetch;
mod link;
mod picture;

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};

use super::super::identity::Identity;
use super::super::settings::SettingsError;
use super::answers::{self, BotInfo, MessageRecord, Page};
use super::card::Said;
use super::error::{ApiError, Failure};
use super::limiter::Limiter;
use super::pace::Key;
use super::token::TokenCache;
use super::transport::{Call, Endpoint, LarkApp, Transport};
use crate::base::{ChatId, Clock, MessageId, Secret, Timestamp, UserId};
use crate::task::TaskSet;
use crate::telemetry::CallMeter;

/// The items asked for per page, the most the platform gives.
const PAGE_ITEMS: &str = "50";
/// How many pages of a list are read at most.
pub(super) const PAGES_MAX: usize = 20;

/// What all apps share.
#[derive(Clone, Debug)]
pub struct LarkDeps {
    /// For outgoing calls.
    pub client: reqwest::Client,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Who owns the renewal of tokens.
    pub tasks: TaskSet,
    /// Keeps all apps together below the platform's rates.
    pub limiter: Limiter,
    /// Counts the calls.
    pub meter: CallMeter,
}

/// The client of one app. Clones share the token.
#[derive(Clone, Debug)]
pub struct LarkApi {
    app: Arc<LarkApp>,
    pub(super) transport: Transport,
    pub(super) tokens: Arc<TokenCache>,
    tasks: TaskSet,
    limiter: Limiter,
    identity: Arc<Identity>,
}

impl LarkApi {
    /// A client for `app`. Makes no call.
    ///
    /// # Errors
    /// [`SettingsError::BaseUrl`] if the base URL is not an `http` or `https` address.
    pub fn new(
        app: LarkApp,
        deps: &LarkDeps,
        identity: Arc<Identity>,
    ) -> Result<Self, SettingsError> {
        Ok(Self {
            transport: Transport::new(&app, deps)?,
            app: Arc::new(app),
            tokens: Arc::new(TokenCache::new(Arc::clone(&deps.clock))),
            tasks: deps.tasks.clone(),
            limiter: deps.limiter.clone(),
            identity,
        })
    }

    /// Whether a sender's or operator's id is this app's.
    pub fn is_own(&self, id: &str) -> bool {
        id == self.app.app_id || self.identity.open_id().as_ref().map(UserId::as_str) == Some(id)
    }

    /// Asks who the bot is.
    pub async fn bot_info(&self) -> Result<BotInfo, ApiError> {
        let call = get(Endpoint::BotInfo, &["bot", "v3", "info"], &[]);
        let answer = self.call(&call).await?;
        answers::bot_info(&answer).ok_or(undecodable(call.endpoint))
    }

    /// Sends a message to a chat, or to a person by any of their ids. Repetitions with the same `uuid` (at most 50 characters) within an
    /// hour make one message. Returns its id.
    pub async fn create(
        &self,
        chat: &ChatId,
        said: Said<'_>,
        uuid: &str,
    ) -> Result<MessageId, ApiError> {
        let body = json!({
            "receive_id": chat.as_str(),
            "msg_type": said.message_type(),
            "content": said.content(),
            "uuid": uuid,
        });
        let call = Call {
            endpoint: Endpoint::Create,
            method: Method::POST,
            path: &["im", "v1", "messages"],
            query: &[("receive_id_type", receive_id_type(chat.as_str()))],
            body: Some(body),
        };
        self.sent(call, chat).await
    }

    /// Replies to a message of `chat`, in its thread if `in_thread`. For `uuid` see
    /// [`LarkApi::create`]. Returns the id of the reply.
    pub async fn reply(
        &self,
        chat: &ChatId,
        message: &MessageId,
        said: Said<'_>,
        in_thread: bool,
        uuid: &str,
    ) -> Result<MessageId, ApiError> {
        let mut body = json!({
            "msg_type": said.message_type(),
            "content": said.content(),
            "uuid": uuid,
        });
        if in_thread && let Some(members) = body.as_object_mut() {
            members.insert("reply_in_thread".to_owned(), Value::Bool(true));
        }
        let call = Call {
            endpoint: Endpoint::Reply,
            method: Method::POST,
            path: &["im", "v1", "messages", message.as_str(), "reply"],
            query: &[],
            body: Some(body),
        };
        self.sent(call, chat).await
    }

    async fn sent(&self, call: Call<'_>, chat: &ChatId) -> Result<MessageId, ApiError> {
        let answer = self.call_at(&call, Some(Key::Place(chat.as_str().to_owned()))).await?;
        answers::data_text(&answer, "message_id")
            .map(MessageId::new)
            .ok_or(undecodable(call.endpoint))
    }

    /// Puts what is said in the place of the card of an own message; the platform allows it for
    /// fourteen days.
    pub async fn change_card(&self, message: &MessageId, said: Said<'_>) -> Result<(), ApiError> {
        let call = Call {
            endpoint: Endpoint::ChangeCard,
            method: Method::PATCH,
            path: &["im", "v1", "messages", message.as_str()],
            query: &[],
            body: Some(json!({ "content": said.content() })),
        };
        self.call_at(&call, Some(Key::Message(message.as_str().to_owned()))).await.map(drop)
    }

    /// Takes an own message back.
    pub async fn recall(&self, message: &MessageId) -> Result<(), ApiError> {
        let path = ["im", "v1", "messages", message.as_str()];
        self.call(&delete(Endpoint::Recall, &path)).await.map(drop)
    }

    /// Puts a reaction on a message. Returns the reaction's id.
    pub async fn react(&self, message: &MessageId, emoji: &str) -> Result<String, ApiError> {
        let call = Call {
            endpoint: Endpoint::React,
            method: Method::POST,
            path: &["im", "v1", "messages", message.as_str(), "reactions"],
            query: &[],
            body: Some(json!({ "reaction_type": { "emoji_type": emoji } })),
        };
        let answer = self.call(&call).await?;
        answers::data_text(&answer, "reaction_id").ok_or(undecodable(call.endpoint))
    }

    /// Takes the reaction `reaction_id` from a message. Without an id every reaction with `emoji`
    /// that this app has put there is looked for and taken away.
    pub async fn unreact(
        &self,
        message: &MessageId,
        emoji: &str,
        reaction_id: Option<&str>,
    ) -> Result<(), ApiError> {
        if let Some(id) = reaction_id {
            return self.delete_reaction(message, id).await;
        }
        for id in self.own_reactions(message, emoji).await? {
            self.delete_reaction(message, &id).await?;
        }
        Ok(())
    }

    async fn delete_reaction(&self, message: &MessageId, id: &str) -> Result<(), ApiError> {
        let path = ["im", "v1", "messages", message.as_str(), "reactions", id];
        self.call(&delete(Endpoint::Unreact, &path)).await.map(drop)
    }

    async fn own_reactions(
        &self,
        message: &MessageId,
        emoji: &str,
    ) -> Result<Vec<String>, ApiError> {
        let path = ["im", "v1", "messages", message.as_str(), "reactions"];
        let query = [("reaction_type", emoji), ("page_size", PAGE_ITEMS)];
        let mut own = Vec::new();
        self.pages(Endpoint::Reactions, &path, &query, |page| {
            let reactions = page.items.iter().filter_map(answers::reaction);
            own.extend(
                reactions
                    .filter(|found| found.emoji == emoji && self.is_own(&found.operator))
                    .map(|found| found.id),
            );
            true
        })
        .await?;
        Ok(own)
    }

    /// Reads a chat's messages since `since`, oldest first, at most `limit` (and a thousand).
    pub async fn history(
        &self,
        chat: &ChatId,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<MessageRecord>, ApiError> {
        // The platform asks for seconds here while it writes milliseconds everywhere else.
        let start = (since.as_millis() / 1000).to_string();
        let query = [
            ("container_id_type", "chat"),
            ("container_id", chat.as_str()),
            ("start_time", start.as_str()),
            ("sort_type", "ByCreateTimeAsc"),
            ("page_size", PAGE_ITEMS),
        ];
        let mut records = Vec::new();
        self.pages(Endpoint::History, &["im", "v1", "messages"], &query, |page| {
            let messages = page.items.iter().filter_map(answers::message);
            records.extend(messages.filter(|record| record.created_at >= since));
            records.len() < limit
        })
        .await?;
        records.truncate(limit);
        Ok(records)
    }

    /// Reads a thread's messages since `since`, oldest first; of more than `limit` (and a
    /// thousand) the newest.
    pub async fn thread(
        &self,
        thread: &str,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<MessageRecord>, ApiError> {
        // A thread has no time range, so it is read backwards.
        let query = [
            ("container_id_type", "thread"),
            ("container_id", thread),
            ("sort_type", "ByCreateTimeDesc"),
            ("page_size", PAGE_ITEMS),
        ];
        let mut records = Vec::new();
        self.pages(Endpoint::History, &["im", "v1", "messages"], &query, |page| {
            let before = records.len();
            let messages = page.items.iter().filter_map(answers::message);
            records.extend(messages.take_while(|record| record.created_at >= since));
            records.len() == before + page.items.len() && records.len() < limit
        })
        .await?;
        records.truncate(limit);
        records.reverse();
        Ok(records)
    }

    /// Reads a list page by page, as long as `take` wants more.
    async fn pages(
        &self,
        endpoint: Endpoint,
        path: &[&str],
        query: &[(&str, &str)],
        mut take: impl FnMut(&Page<'_>) -> bool,
    ) -> Result<(), ApiError> {
        let mut token = String::new();
        for _ in 0..PAGES_MAX {
            let mut query = query.to_vec();
            if !token.is_empty() {
                query.push(("page_token", &token));
            }
            let answer = self.call(&get(endpoint, path, &query)).await?;
            let page = answers::page(&answer).ok_or(undecodable(endpoint))?;
            match (take(&page), page.next) {
                (true, Some(next)) => token = next,
                _ => break,
            }
        }
        Ok(())
    }

    pub(super) async fn call(&self, call: &Call<'_>) -> Result<Value, ApiError> {
        self.call_at(call, None).await
    }

    /// A call with a token, at its turn. `place` is the chat or message whose own rate it counts
    /// against. One whose token the platform finds invalid is repeated with a new one, once; that
    /// is safe, since a call refused for its token was not carried out.
    async fn call_at(&self, call: &Call<'_>, place: Option<Key>) -> Result<Value, ApiError> {
        let method = Key::Method(self.app.app_id.clone(), call.endpoint);
        let keys = place.iter().cloned().chain([method.clone()]).collect();
        self.limiter.pass(keys).await.map_err(|wait| ApiError {
            endpoint: call.endpoint,
            status: None,
            failure: Failure::TooFast,
            retry_after: Some(wait),
        })?;
        // Only now: the token must be valid when the call leaves, not when it began to wait.
        let token = self.token().await?;
        let outcome = match self.transport.exchange(call, Some(&token)).await {
            Err(error) if error.wants_new_token() => {
                self.tokens.forget(&token);
                let token = self.token().await?;
                self.transport.exchange(call, Some(&token)).await
            }
            outcome => outcome,
        };
        if let Err(error) = &outcome
            && let Some(wait) = error.asks_for_pause()
        {
            let is_of_place = error.code() == Some(CODE_PLACE_RATE);
            self.limiter.close(place.filter(|_| is_of_place).unwrap_or(method), wait);
        }
        outcome
    }

    async fn token(&self) -> Result<Arc<Secret>, ApiError> {
        if let Some((token, wants_renewal)) = self.tokens.present() {
            if wants_renewal {
                let api = self.clone();
                let cancel = self.tasks.cancellation().clone();
                self.tasks.spawn("renew_token", async move {
                    // A failure is no affair of anybody while the old token goes on.
                    tokio::select! {
                        () = cancel.cancelled() => {}
                        _ = api.tokens.renew(&api.transport, &api.app) => {}
                    }
                    api.tokens.renewal_ended();
                });
            }
            return Ok(token);
        }
        self.tokens.renew(&self.transport, &self.app).await
    }
}

/// The rate limit of one chat or message (section 5.3), which comes without a time to wait.
const CODE_PLACE_RATE: i64 = 230_020;

/// What kind of id that is, by its form (section 8).
fn receive_id_type(id: &str) -> &'static str {
    match id.split_once('_') {
        _ if id.contains('@') => "email",
        Some(("oc", _)) => "chat_id",
        Some(("ou", _)) => "open_id",
        Some(("on", _)) => "union_id",
        _ => "user_id",
    }
}

pub(super) fn get<'a>(
    endpoint: Endpoint,
    path: &'a [&'a str],
    query: &'a [(&'a str, &'a str)],
) -> Call<'a> {
    Call { endpoint, method: Method::GET, path, query, body: None }
}

fn delete<'a>(endpoint: Endpoint, path: &'a [&'a str]) -> Call<'a> {
    Call { endpoint, method: Method::DELETE, path, query: &[], body: None }
}

/// The platform said yes, but not what was asked for.
pub(super) fn undecodable(endpoint: Endpoint) -> ApiError {
    ApiError { endpoint, status: Some(200), failure: Failure::Undecodable, retry_after: None }
}
