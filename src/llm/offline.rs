//! Answers from the knowledge base when there is no model to ask.
//!
//! It behaves like a careful model with one idea: search for the question, then show what was
//! found and where. It knows the tool by its name and its result as the JSON text
//! `{"hits":[{"id","title","excerpt","source"}]}`, nothing more.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;

use super::port::{
    ChatMessage, Finish, LlmError, Model, ModelReply, ModelRequest, StreamSink, ToolCall,
    ToolChoice, Usage,
};
use crate::base::limit::ellipsis;
use crate::base::{Locale, Say};

/// The tool that is asked for.
const SEARCH_TOOL: &str = "search_knowledge";
/// The id of its one call in a run, by which it knows a run of its own again.
const CALL_ID: &str = "offline_1";
/// How many recipes an answer shows.
const HITS_SHOWN_MAX: usize = 3;
/// The longest question that is repeated in an answer, in characters.
const QUERY_SHOWN_CHARS_MAX: usize = 60;
/// The longest question that is searched for, in characters.
const QUERY_CHARS_MAX: usize = 1000;

/// The offline answerer.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfflineModel {
    stands_in: bool,
}

impl OfflineModel {
    /// An offline answerer. It has no settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// One that answers for a model which cannot be asked, and says so.
    pub fn standing_in() -> Self {
        Self { stands_in: true }
    }

    /// Whether the run of this request was begun by an offline answerer.
    pub fn has_begun(request: &ModelRequest) -> bool {
        request.messages.iter().any(|message| match message {
            ChatMessage::Assistant { calls, .. } => calls.iter().any(|call| call.id == CALL_ID),
            ChatMessage::User { .. } | ChatMessage::Tool { .. } => false,
        })
    }
}

#[async_trait]
impl Model for OfflineModel {
    fn name(&self) -> &'static str {
        "offline"
    }

    fn context_window(&self) -> u64 {
        0
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        sink: &mut dyn StreamSink,
    ) -> Result<ModelReply, LlmError> {
        let question = question(&request.messages);
        let results = results(&request.messages);
        let may_search = request.tool_choice != ToolChoice::None
            && request.tools.iter().any(|tool| tool.name == SEARCH_TOOL);
        if may_search && results.is_empty() && !question.trim().is_empty() {
            return Ok(call(question));
        }
        let mut pieces = answer(question, &found(&results));
        if self.stands_in {
            let locale = Locale::of_text(question);
            pieces.insert(0, format!("{}\n\n", Say::OfflineInstead.text(locale)));
        }
        for piece in &pieces {
            sink.text(piece);
        }
        Ok(reply(pieces.concat(), Vec::new()))
    }
}

fn call(question: &str) -> ModelReply {
    let query: String = question.chars().take(QUERY_CHARS_MAX).collect();
    let call = ToolCall {
        id: CALL_ID.to_owned(),
        name: SEARCH_TOOL.to_owned(),
        arguments: json!({ "query": query, "limit": HITS_SHOWN_MAX }),
    };
    reply(String::new(), vec![call])
}

fn reply(text: String, calls: Vec<ToolCall>) -> ModelReply {
    ModelReply { text, calls, finish: Finish::Stop, usage: Usage::default() }
}

/// The last thing a person said.
fn question(messages: &[ChatMessage]) -> &str {
    let mut said = messages.iter().rev().filter_map(|message| match message {
        ChatMessage::User { text } => Some(text.as_str()),
        ChatMessage::Assistant { .. } | ChatMessage::Tool { .. } => None,
    });
    said.next().unwrap_or_default()
}

/// The results of tools since then, each with its tool's name.
fn results(messages: &[ChatMessage]) -> Vec<(&str, &str)> {
    let since =
        messages.iter().rev().take_while(|message| !matches!(message, ChatMessage::User { .. }));
    since
        .filter_map(|message| match message {
            ChatMessage::Tool { name, text, .. } => Some((name.as_str(), text.as_str())),
            ChatMessage::User { .. } | ChatMessage::Assistant { .. } => None,
        })
        .collect()
}

#[derive(Deserialize)]
struct Hit {
    id: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    excerpt: String,
    #[serde(default)]
    source: String,
}

/// The hits of the latest search; none if there was none or its result is not readable.
fn found(results: &[(&str, &str)]) -> Vec<Hit> {
    let of_search = results.iter().filter(|(name, _)| *name == SEARCH_TOOL);
    let mut readable = of_search.filter_map(|(_, text)| read_hits(text));
    readable.next().unwrap_or_default()
}

/// The hits as far as they are whole: frames that the engine may put around a tool's output, and
/// a cut at its end, do no harm.
fn read_hits(text: &str) -> Option<Vec<Hit>> {
    let (_, behind) = text.split_once("\"hits\"")?;
    let (_, mut rest) = behind.split_once('[')?;
    let mut hits = Vec::new();
    loop {
        rest = rest.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Hit>();
        let Some(Ok(hit)) = values.next() else {
            return Some(hits);
        };
        hits.push(hit);
        rest = rest.get(values.byte_offset()..)?;
    }
}

/// The answer in the pieces in which it is streamed.
fn answer(question: &str, hits: &[Hit]) -> Vec<String> {
    let locale = Locale::of_text(question);
    if hits.is_empty() {
        let query = ellipsis(&one_line(question), QUERY_SHOWN_CHARS_MAX);
        return vec![Say::OfflineNothing { query }.text(locale)];
    }
    let head = Say::OfflineFound.text(locale);
    let listed =
        hits.iter().take(HITS_SHOWN_MAX).zip(1..).map(|(hit, number)| entry(hit, number, locale));
    std::iter::once(head).chain(listed).collect()
}

fn entry(hit: &Hit, number: usize, locale: Locale) -> String {
    let title = one_line(if hit.title.is_empty() { &hit.id } else { &hit.title });
    let id = one_line(&hit.id);
    let source = one_line(&hit.source);
    let cited = match (locale, source.is_empty()) {
        (_, true) => format!("[{id}]"),
        (Locale::ZhCn, false) => format!("[{id}]（{source}）"),
        (Locale::EnUs, false) => format!("[{id}] ({source})"),
    };
    let excerpt = passage(&hit.excerpt);
    let excerpt = if excerpt.is_empty() { excerpt } else { format!("\n{excerpt}") };
    // No item of a list: the lists and the code of a passage would have to be part of it.
    format!("\n\n**{number}. {title}** {cited}{excerpt}")
}

/// The lines of a passage without what is too much in them; code stays as it is.
fn passage(excerpt: &str) -> String {
    let mut is_code = false;
    let mut lines = Vec::new();
    for line in excerpt.lines() {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        let line = if is_code && !is_fence { line.trim_end().to_owned() } else { one_line(line) };
        if !line.is_empty() {
            lines.push(line);
        }
    }
    lines.join("\n")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
#[path = "offline_tests.rs"]
mod tests;
