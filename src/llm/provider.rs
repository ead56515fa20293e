//! A model behind a provider's server, streamed.
//!
//! The wire formats are the genai crate's; this file drives its stream under limits of time and
//! size. It never retries; that is the wrapper's. The future owns the connection: dropping it closes the
//! connection at once.

use std::fmt;
use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::StreamExt;
use genai::chat::{ChatStream, ChatStreamEvent, StreamEnd};
use genai::resolver::{AuthData, Endpoint};
use genai::{ModelIden, ServiceTarget};
use url::Url;

use super::failure;
use super::port::{LlmError, LlmErrorKind, Model, ModelReply, ModelRequest, StreamSink};
use super::wire::{self, WireFormat};
use crate::base::Secret;
use crate::net::HttpFactory;

/// The longest text of one reply, in bytes.
const TEXT_BYTES_MAX: usize = 4 << 20;
/// The longest arguments of one tool call, in bytes of JSON.
const ARGUMENTS_BYTES_MAX: usize = 1 << 20;
/// How long may be worked on the bytes of one event. The library searches a long line again with
/// each piece of it, and tells nobody how long the line is: a server that never ends one would
/// take this process's time for ever.
const EVENT_WORK_MAX: Duration = Duration::from_millis(500);

/// How to reach a model.
#[derive(Clone, Debug)]
pub struct ProviderSettings {
    /// The name for `/status`, logs and the price list.
    pub name: String,
    /// What the server speaks.
    pub format: WireFormat,
    /// The model's name as the provider knows it.
    pub model: String,
    /// The server with the version path, `https://api.example.com/v1`; a query is kept.
    pub base_url: String,
    /// Sent as the format wants it; `None` for servers without keys.
    pub api_key: Option<Secret>,
    /// The longest time of one call, from connecting to the end of the stream.
    pub timeout: Duration,
    /// The longest silence: until the server begins to answer, and between the pieces it sends.
    pub idle_timeout: Duration,
    /// How many tokens a request and its reply may have together; 0 if unknown.
    pub context_window: u64,
}

/// A model of a provider.
pub struct ProviderModel {
    settings: ProviderSettings,
    client: genai::Client,
    endpoint: Endpoint,
    auth: AuthData,
}

impl ProviderModel {
    /// A model that is asked over clients of `http`. Does no I/O.
    ///
    /// # Errors
    /// [`LlmErrorKind::Rejected`] if the address is no HTTP address, or no client can be built.
    pub fn new(settings: ProviderSettings, http: &HttpFactory) -> Result<Self, LlmError> {
        let rejected =
            |text: String| LlmError { kind: LlmErrorKind::Rejected, retry_after: None, text };
        let base = base_url(&settings.base_url).ok_or_else(|| {
            rejected("the base_url is not an http:// or https:// address".to_owned())
        })?;
        let client =
            http.client_within(settings.timeout).map_err(|error| rejected(error.to_string()))?;
        let client = genai::Client::builder()
            .with_reqwest(client)
            .build()
            .map_err(|_built_without_io| rejected("the client cannot be built".to_owned()))?;
        let auth = match &settings.api_key {
            Some(key) => AuthData::from_single(key.expose()),
            // Without a key no header for it is sent at all, not even an empty one.
            None => wire::keyless(settings.format, &base, &settings.model)
                .map_err(|error| rejected(error.to_string()))?,
        };
        Ok(Self { settings, client, endpoint: Endpoint::from_owned(base.as_str()), auth })
    }

    fn target(&self) -> ServiceTarget {
        ServiceTarget {
            endpoint: self.endpoint.clone(),
            auth: self.auth.clone(),
            model: ModelIden::new(self.settings.format.adapter(), self.settings.model.as_str()),
        }
    }

    async fn ask(
        &self,
        request: &ModelRequest,
        sink: &mut dyn StreamSink,
    ) -> Result<ModelReply, LlmError> {
        let options = wire::options(request, self.settings.format, &self.settings.model)
            .with_stream_header_timeout(self.settings.idle_timeout)
            .with_stream_read_timeout(self.settings.idle_timeout);
        let response = self
            .client
            .exec_chat_stream(self.target(), wire::request(request), Some(&options))
            .await
            .map_err(|error| failure::of(&error))?;
        read(response.stream, self.settings.format, sink).await
    }
}

/// The address with a slash at the end of its path, so that joining keeps the whole path.
fn base_url(text: &str) -> Option<Url> {
    let mut url = Url::parse(text.trim()).ok()?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return None;
    }
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Some(url)
}

/// Reads the stream to its end event, or to the first error: after one the rest means nothing.
async fn read(
    mut stream: ChatStream,
    format: WireFormat,
    sink: &mut dyn StreamSink,
) -> Result<ModelReply, LlmError> {
    let mut text = String::new();
    let mut heard_anything = false;
    while let Some(event) = next_event(&mut stream).await {
        match event? {
            ChatStreamEvent::Start => continue,
            ChatStreamEvent::Chunk(chunk) => {
                if chunk.content.len() > TEXT_BYTES_MAX.saturating_sub(text.len()) {
                    return Err(failure::malformed("the reply is too long"));
                }
                text.push_str(&chunk.content);
                sink.text(&chunk.content);
            }
            ChatStreamEvent::ToolCallChunk(chunk) => {
                let arguments = chunk.tool_call.fn_arguments.as_str().map_or(0, str::len);
                if arguments > ARGUMENTS_BYTES_MAX {
                    return Err(failure::malformed("the arguments of a tool call are too long"));
                }
            }
            // The library makes an end up for streams without one.
            ChatStreamEvent::End(end) if wire::is_made_up(format, &end) => break,
            ChatStreamEvent::End(end) => return Ok(reply(text, end)),
            ChatStreamEvent::ReasoningChunk(_)
            | ChatStreamEvent::ThoughtSignatureChunk(_)
            | ChatStreamEvent::Heartbeat => {}
        }
        heard_anything = true;
    }
    Err(if heard_anything {
        LlmError {
            kind: LlmErrorKind::CutOff,
            retry_after: None,
            text: "the stream ended before its end".to_owned(),
        }
    } else {
        failure::malformed("the answer is not an event stream")
    })
}

/// The next event, unless putting it together takes too much work.
#[expect(clippy::disallowed_methods, reason = "measures work; nothing depends on the time of day")]
async fn next_event(stream: &mut ChatStream) -> Option<Result<ChatStreamEvent, LlmError>> {
    let mut worked = Duration::ZERO;
    poll_fn(|context| {
        let begun = Instant::now();
        let polled = stream.poll_next_unpin(context);
        worked += begun.elapsed();
        match polled {
            Poll::Pending if worked > EVENT_WORK_MAX => {
                Poll::Ready(Some(Err(failure::malformed("the reply does not come in events"))))
            }
            other => {
                other.map(|event| event.map(|event| event.map_err(|error| failure::of(&error))))
            }
        }
    })
    .await
}

fn reply(text: String, end: StreamEnd) -> ModelReply {
    ModelReply {
        text,
        finish: wire::finish(end.captured_stop_reason.as_ref()),
        usage: wire::usage(end.captured_usage.as_ref()),
        calls: wire::calls(end.captured_into_tool_calls().unwrap_or_default()),
    }
}

impl fmt::Debug for ProviderModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ProviderModel")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Model for ProviderModel {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn context_window(&self) -> u64 {
        self.settings.context_window
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        sink: &mut dyn StreamSink,
    ) -> Result<ModelReply, LlmError> {
        let asked = Box::pin(self.ask(request, sink));
        tokio::time::timeout(self.settings.timeout, asked)
            .await
            .unwrap_or_else(|_elapsed| Err(failure::timeout()))
    }
}

#[cfg(test)]
#[path = "provider_tests.rs"]
mod tests;
