//! What a turn looks up: a whole message and what it carries.

use super::super::raw::{Download, download};
use super::{Endpoint, LarkApi, answers, get, undecodable};
use crate::base::MessageId;
use crate::channels::lark::api::{ApiError, MessageRecord};
use crate::envelope::AttachmentKind;

impl LarkApi {
    /// Reads one message with everything that belongs to it, itself first: of a merged forward
    /// the messages it holds. Empty if the platform says that it does not exist any more.
    pub async fn get_whole(&self, message: &MessageId) -> Result<Vec<MessageRecord>, ApiError> {
        let path = ["im", "v1", "messages", message.as_str()];
        // Else cards of the second generation are nothing but a request to update the client.
        let query = [("card_msg_content_type", "user_card_content")];
        let call = get(Endpoint::GetMessage, &path, &query);
        match self.call(&call).await {
            Ok(answer) => {
                let page = answers::page(&answer).ok_or(undecodable(call.endpoint))?;
                let records: Vec<_> = page.items.iter().filter_map(answers::message).collect();
                let is_there = records.first().is_some_and(|record| !record.deleted);
                Ok(if is_there { records } else { Vec::new() })
            }
            Err(error) if error.is_gone() => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Downloads the beginning of what a message carries.
    pub async fn resource(
        &self,
        message: &MessageId,
        key: &str,
        kind: AttachmentKind,
    ) -> Result<Download, ApiError> {
        let path = ["im", "v1", "messages", message.as_str(), "resources", key];
        let query = [("type", resource_type(kind))];
        let call = get(Endpoint::Resource, &path, &query);
        let answer = self.call(&call).await?;
        download(&answer).ok_or(undecodable(call.endpoint))
    }
}

/// The platform knows two types of resources, whatever the message is.
const fn resource_type(kind: AttachmentKind) -> &'static str {
    match kind {
        AttachmentKind::Image => "image",
        AttachmentKind::File
        | AttachmentKind::Audio
        | AttachmentKind::Video
        | AttachmentKind::Sticker
        | AttachmentKind::Forward => "file",
    }
}

#[cfg(test)]
#[path = "fetch_tests.rs"]
mod tests;
