//! What the model answers: rules, modes, turns.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::captured::Captured;

/// One call of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolCall {
    pub(crate) name: String,
    /// As it goes over the wire; not checked.
    pub(crate) arguments: String,
}

impl ToolCall {
    pub(crate) fn new(name: &str, arguments: &Value) -> Self {
        Self { name: name.to_owned(), arguments: arguments.to_string() }
    }
}

/// One answer of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// A text and the end.
    Text(String),
    /// Calls of tools, perhaps with words before them.
    Calls { text: String, calls: Vec<ToolCall> },
    /// Nothing at all.
    Empty,
    /// A call whose arguments are not JSON.
    Malformed(String),
    /// A text that the output cap cut off.
    Truncated(String),
    /// An HTTP error.
    Fail { status: u16, body: Value, retry_after_s: Option<u64> },
    /// No answer until the client hangs up.
    Stall,
    /// The beginning of a text, then nothing more until the client hangs up (streamed), or as
    /// `Stall`.
    StallAfter(String),
    /// The beginning of a text, then the connection breaks.
    Cut(String),
    /// The beginning of a text, then an error within the stream.
    FailAfter(String),
    /// Another answer, later.
    Later(Duration, Box<Turn>),
}

impl Turn {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    pub(crate) fn call(name: &str, arguments: &Value) -> Self {
        Self::calls(vec![ToolCall::new(name, arguments)])
    }

    pub(crate) fn calls(calls: Vec<ToolCall>) -> Self {
        let text = String::new();
        Self::Calls { text, calls }
    }

    pub(crate) fn rate_limited(retry_after_s: Option<u64>) -> Self {
        let error = json!({"message": "Rate limit reached", "type": "rate_limit_error", "code": "rate_limit_exceeded"});
        Self::Fail { status: 429, body: json!({"error": error}), retry_after_s }
    }

    pub(crate) fn server_error() -> Self {
        let error =
            json!({"message": "The server had an error", "type": "server_error", "code": null});
        Self::Fail { status: 500, body: json!({"error": error}), retry_after_s: None }
    }

    pub(crate) fn overloaded() -> Self {
        let error = json!({"message": "Overloaded", "type": "overloaded_error", "code": null});
        Self::Fail { status: 529, body: json!({"error": error}), retry_after_s: None }
    }

    pub(crate) fn context_length() -> Self {
        let error = json!({
            "message": "This model's maximum context length is 8192 tokens. Please reduce the length of the messages.",
            "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded",
        });
        Self::Fail { status: 400, body: json!({"error": error}), retry_after_s: None }
    }

    pub(crate) fn unauthorized() -> Self {
        let error = json!({"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"});
        Self::Fail { status: 401, body: json!({"error": error}), retry_after_s: None }
    }

    pub(crate) fn later(self, wait: Duration) -> Self {
        Self::Later(wait, Box::new(self))
    }
}

/// How the model behaves.
#[derive(Clone, Debug)]
pub(crate) enum Mode {
    /// `answer to: <the last user's text>`.
    Echo,
    /// These turns, one per request; when they are used up, the next rule decides.
    Script(VecDeque<Turn>),
    /// Always the same short text.
    Lazy,
    /// Always the same turn.
    Same(Turn),
    /// The same call for ever.
    Obstinate(ToolCall),
    /// A mix of everything, by seed and request number; a chance in a thousand of each failure.
    Random { seed: u64, failures_per_mille: u16 },
    /// Does what the user writes: each line `call <tool> <json>` is a call, `say <text>` an
    /// answer; after results, the answer holds them. Anything else is echoed.
    Obedient,
}

impl Mode {
    pub(crate) fn script(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self::Script(turns.into_iter().collect())
    }
}

/// When a rule applies.
#[derive(Clone, Debug)]
pub(crate) enum When {
    Always,
    /// The last user's text holds this.
    UserSays(String),
    /// The system's text holds this.
    SystemSays(String),
    /// The request follows tool results.
    AfterResults,
}

/// A mode and when it applies. The first rule that gives a turn decides.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) when: When,
    pub(crate) mode: Mode,
}

impl Rule {
    pub(crate) fn always(mode: Mode) -> Self {
        Self { when: When::Always, mode }
    }

    pub(crate) fn when(when: When, mode: Mode) -> Self {
        Self { when, mode }
    }
}

/// How long the model thinks before it answers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Latency {
    Fixed(Duration),
    /// Between two bounds, by seed and request number.
    Random {
        seed: u64,
        least: Duration,
        most: Duration,
    },
}

impl Latency {
    pub(crate) fn of(self, number: usize) -> Duration {
        match self {
            Self::Fixed(wait) => wait,
            Self::Random { seed, least, most } => {
                let range = u64::try_from(most.saturating_sub(least).as_millis()).unwrap_or(0);
                least + Duration::from_millis(drawn(seed, number, "latency") % (range + 1))
            }
        }
    }
}

/// The turn for a request. Without a rule that applies, the model echoes.
pub(crate) fn decide(rules: &mut [Rule], request: &Captured) -> Turn {
    for rule in rules {
        let applies = match &rule.when {
            When::Always => true,
            When::UserSays(text) => request.last_user().contains(text.as_str()),
            When::SystemSays(text) => request.system().contains(text.as_str()),
            When::AfterResults => !request.fresh_results().is_empty(),
        };
        if applies && let Some(turn) = turn_of(&mut rule.mode, request) {
            return turn;
        }
    }
    echo(request)
}

fn echo(request: &Captured) -> Turn {
    Turn::Text(format!("answer to: {}", request.last_user()))
}

fn turn_of(mode: &mut Mode, request: &Captured) -> Option<Turn> {
    match mode {
        Mode::Echo => Some(echo(request)),
        Mode::Script(turns) => turns.pop_front(),
        Mode::Lazy => Some(Turn::text("ok")),
        Mode::Same(turn) => Some(turn.clone()),
        Mode::Obstinate(call) => Some(Turn::calls(vec![call.clone()])),
        Mode::Random { seed, failures_per_mille } => {
            Some(random(*seed, *failures_per_mille, request))
        }
        Mode::Obedient => Some(obey(request)),
    }
}

fn obey(request: &Captured) -> Turn {
    let results = request.fresh_results();
    if !results.is_empty() {
        return Turn::Text(format!("results: {}", results.join(" | ")));
    }
    let text = request.last_user();
    let calls: Vec<ToolCall> = text
        .lines()
        .filter_map(|line| {
            let (_, order) = line.split_once("call ")?;
            let (name, arguments) = order.split_once(' ').unwrap_or((order, "{}"));
            let name = name.to_owned();
            let arguments = arguments.to_owned();
            request.tools().contains(&name.as_str()).then_some(ToolCall { name, arguments })
        })
        .collect();
    if !calls.is_empty() {
        return Turn::calls(calls);
    }
    match text.split_once("say ") {
        Some((_, words)) => Turn::text(words),
        None => echo(request),
    }
}

fn random(seed: u64, failures_per_mille: u16, request: &Captured) -> Turn {
    let draw = |what| drawn(seed, request.number, what);
    if draw("fails") % 1000 < u64::from(failures_per_mille) {
        return match draw("failure") % 6 {
            0 => Turn::rate_limited(None),
            1 => Turn::server_error(),
            2 => Turn::Empty,
            3 => Turn::Cut("cut off in the mid".to_owned()),
            4 => Turn::Malformed(request.tools().first().unwrap_or(&"nothing").to_string()),
            _ => Turn::Truncated("and so on and so".to_owned()),
        };
    }
    let tools = request.tools();
    let many = u64::try_from(tools.len()).unwrap_or(0);
    if many > 0
        && request.tool_choice().is_none_or(|choice| choice != "none")
        && draw("calls").is_multiple_of(3)
    {
        let index = usize::try_from(draw("tool") % many).unwrap_or(0);
        return Turn::call(tools[index], &json!({}));
    }
    echo(request)
}

/// A number that follows from the seed, the request and what it is for.
fn drawn(seed: u64, number: usize, what: &str) -> u64 {
    let digest = Sha256::digest(format!("{seed}:{number}:{what}"));
    let first: [u8; 8] = digest[..8].try_into().unwrap();
    u64::from_be_bytes(first)
}
