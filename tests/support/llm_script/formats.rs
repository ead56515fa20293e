//! The formats of the providers: requests are told in the words of chat completions, so that one
//! set of rules serves all, and each format's own demands are checked on the way.

use serde_json::{Value, json};

/// What a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// `POST /v1/chat/completions`.
    Chat,
    /// `POST /v1/messages`.
    Anthropic,
    /// `POST /v1beta/models/{model}:streamGenerateContent`.
    Gemini,
}

impl Format {
    /// The header that carries the key.
    pub(crate) fn key_header(self) -> &'static str {
        match self {
            Self::Chat => "authorization",
            Self::Anthropic => "x-api-key",
            Self::Gemini => "x-goog-api-key",
        }
    }

    /// The word of the configuration.
    pub(crate) fn provider(self) -> &'static str {
        match self {
            Self::Chat => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// A failure in the provider's own words. Gemini says 400 to a wrong key.
    pub(crate) fn failure(self, status: u16, body: &Value, retry_s: Option<u64>) -> (u16, Value) {
        let error = &body["error"];
        let code = error["code"].as_str().unwrap_or_default();
        match self {
            Self::Chat => (status, body.clone()),
            Self::Anthropic => {
                let (kind, message) = match (status, code) {
                    (_, "context_length_exceeded") => (
                        "invalid_request_error",
                        "prompt is too long: 210000 tokens > 200000 maximum",
                    ),
                    (401, _) => ("authentication_error", "invalid x-api-key"),
                    (429, _) => ("rate_limit_error", "This request would exceed your rate limit"),
                    (529, _) => ("overloaded_error", "Overloaded"),
                    (500.., _) => ("api_error", "Internal server error"),
                    _ => ("invalid_request_error", error["message"].as_str().unwrap_or_default()),
                };
                let error = json!({"type": kind, "message": message});
                (status, json!({"type": "error", "error": error}))
            }
            Self::Gemini => {
                let (status, word, message) = match (status, code) {
                    (_, "context_length_exceeded") => (
                        400,
                        "INVALID_ARGUMENT",
                        "The input token count (1200000) exceeds the maximum number of tokens \
                         allowed (1048576).",
                    ),
                    (401, _) => {
                        (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.")
                    }
                    (429, _) => (
                        429,
                        "RESOURCE_EXHAUSTED",
                        "You exceeded your current quota, please check your plan and billing \
                         details.",
                    ),
                    (529 | 503, _) => (503, "UNAVAILABLE", "The model is overloaded."),
                    (500.., _) => (500, "INTERNAL", "An internal error has occurred."),
                    _ => (status, "INVALID_ARGUMENT", "Invalid argument."),
                };
                let mut error = json!({"code": status, "message": message, "status": word});
                if let Some(seconds) = retry_s {
                    let kind = "type.googleapis.com/google.rpc.RetryInfo";
                    error["details"] =
                        json!([{"@type": kind, "retryDelay": format!("{seconds}s")}]);
                }
                (status, json!({"error": error}))
            }
        }
    }

    /// An error that comes within a stream.
    pub(crate) fn error_event(self) -> String {
        let body = json!({"error": {"message": "Overloaded", "type": "overloaded_error"}});
        let (_, error) = self.failure(529, &body, None);
        match self {
            Self::Anthropic => format!("event: error\ndata: {error}\n\n"),
            Self::Chat | Self::Gemini => format!("data: {error}\n\n"),
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn call(id: &str, name: &Value, arguments: &Value) -> Value {
    json!({"id": id, "type": "function", "function": {
        "name": name, "arguments": arguments.to_string(),
    }})
}

fn assistant(text: &str, calls: Vec<Value>) -> Value {
    let content = if text.is_empty() { Value::Null } else { text.into() };
    let mut message = json!({"role": "assistant", "content": content});
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    message
}

/// What is retold so far, and what is wrong with it.
#[derive(Default)]
struct Retelling {
    messages: Vec<Value>,
    wrong: Vec<String>,
    /// The ids and names of the calls of the last message.
    open: Vec<(String, Value)>,
}

impl Retelling {
    fn begin(system: &str) -> Self {
        let mut retelling = Self::default();
        if !system.is_empty() {
            retelling.messages.push(json!({"role": "system", "content": system}));
        }
        retelling
    }

    fn say(&mut self, place: usize, what: &str) {
        self.wrong.push(format!("message {place}: {what}"));
    }

    fn result(&mut self, id: &str, content: &Value) {
        self.messages.push(json!({"role": "tool", "tool_call_id": id, "content": content}));
    }

    /// A message of Anthropic's.
    fn blocks(&mut self, place: usize, message: &Value) {
        let role = message["role"].as_str().unwrap_or_default();
        let blocks = match &message["content"] {
            Value::String(text) => vec![json!({"type": "text", "text": text})],
            content => list(content).to_vec(),
        };
        let (mut text, mut calls, mut answered) = (String::new(), Vec::new(), Vec::new());
        for block in &blocks {
            let id = |name: &str| block[name].as_str().unwrap_or_default();
            match (role, id("type")) {
                (_, "text") => {
                    if id("text").trim().is_empty() {
                        self.say(place, "a blank text");
                    }
                    text.push_str(id("text"));
                }
                ("assistant", "tool_use") => {
                    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
                    if !id("id").chars().all(is_plain) || !block["input"].is_object() {
                        self.say(place, &format!("a bad call: {block}"));
                    }
                    calls.push(call(id("id"), &block["name"], &block["input"]));
                }
                ("user", "tool_result") => {
                    if !text.is_empty() {
                        self.say(place, "a result behind a text");
                    }
                    answered.push(id("tool_use_id").to_owned());
                    self.result(id("tool_use_id"), &block["content"]);
                }
                (role, kind) => self.say(place, &format!("a `{kind}` of `{role}`")),
            }
        }
        let open: Vec<String> = self.open.drain(..).map(|(id, _)| id).collect();
        if open != answered {
            self.say(place, &format!("the results {answered:?} are not those of {open:?}"));
        }
        self.finish(place, (role, "assistant"), &text, calls);
    }

    /// A content of Gemini's. `made` counts the ids made up for calls without one.
    fn parts(&mut self, place: usize, content: &Value, made: &mut usize) {
        let role = content["role"].as_str().unwrap_or_default();
        let (mut calls, mut answers) = (Vec::new(), 0);
        let asked = std::mem::take(&mut self.open);
        for part in list(&content["parts"]) {
            let (called, response) = (&part["functionCall"], &part["functionResponse"]);
            if called.is_object() {
                *made += 1;
                let id = called["id"].as_str().map_or(format!("made_{made}"), str::to_owned);
                if !called["args"].is_object() {
                    self.say(place, "arguments that are no object");
                }
                calls.push(call(&id, &called["name"], &called["args"]));
            } else if response.is_object() {
                // By the id where there is one, else by the order.
                let found = match response["id"].as_str() {
                    Some(id) => asked.iter().find(|(known, _)| known == id),
                    None => asked.get(answers),
                };
                answers += 1;
                match found {
                    Some((id, name)) if *name == response["name"] => {
                        self.result(id, &response["response"]["content"]);
                    }
                    _ => self.say(place, &format!("{response} has no call in {asked:?}")),
                }
            }
        }
        if answers != asked.len() {
            self.say(place, &format!("{answers} responses to {} calls", asked.len()));
        }
        self.finish(place, (role, "model"), &texts(content), calls);
    }

    fn finish(&mut self, place: usize, roles: (&str, &str), text: &str, calls: Vec<Value>) {
        let (role, assistants) = roles;
        if place == 0 && role != "user" {
            self.say(place, "the first one is not the user's");
        }
        let is_result = self.messages.last().is_some_and(|last| last["role"] == "tool");
        if text.is_empty() && calls.is_empty() && !is_result {
            self.say(place, "nothing in it");
        }
        let name = |call: &Value| {
            let id = call["id"].as_str().unwrap_or_default();
            (id.to_owned(), call["function"]["name"].clone())
        };
        self.open = calls.iter().map(name).collect();
        if role == assistants {
            self.messages.push(assistant(text, calls));
        } else if role != "user" {
            self.say(place, &format!("role `{role}`"));
        } else if !text.is_empty() {
            self.messages.push(json!({"role": "user", "content": text}));
        }
    }
}

/// A request to Anthropic, retold, and what is wrong with it.
pub(crate) fn from_anthropic(body: &Value) -> (Value, Vec<String>) {
    let mut retelling = Retelling::begin(body["system"].as_str().unwrap_or_default());
    for (place, message) in list(&body["messages"]).iter().enumerate() {
        retelling.blocks(place, message);
    }
    if body["temperature"].as_f64().is_some_and(|heat| !(0.0..=1.0).contains(&heat)) {
        retelling.wrong.push("a temperature beyond 1".to_owned());
    }
    let tools = list(&body["tools"]).iter().map(|tool| tool_of(tool, "input_schema"));
    let choice = body["tool_choice"]["type"].as_str();
    let retold = Retold {
        model: &body["model"],
        messages: retelling.messages,
        tools: tools.collect(),
        choice: choice.map(|word| if word == "any" { "required" } else { word }.to_owned()),
        max_tokens: &body["max_tokens"],
        temperature: &body["temperature"],
        streams: body["stream"] == true,
    };
    (retold.body(), retelling.wrong)
}

fn texts(content: &Value) -> String {
    list(&content["parts"]).iter().filter_map(|part| part["text"].as_str()).collect()
}

/// A request to Gemini, retold, and what is wrong with it.
pub(crate) fn from_gemini(model: &str, body: &Value) -> (Value, Vec<String>) {
    let mut retelling = Retelling::begin(&texts(&body["systemInstruction"]));
    let mut made = 0;
    for (place, content) in list(&body["contents"]).iter().enumerate() {
        retelling.parts(place, content, &mut made);
    }
    let declared = list(&body["tools"]).iter().flat_map(|tool| list(&tool["functionDeclarations"]));
    let mode = body["toolConfig"]["functionCallingConfig"]["mode"].as_str();
    let retold = Retold {
        model: &json!(model),
        messages: retelling.messages,
        tools: declared.map(|tool| tool_of(tool, "parametersJsonSchema")).collect(),
        choice: mode.map(|word| match word {
            "ANY" => "required".to_owned(),
            word => word.to_lowercase(),
        }),
        max_tokens: &body["generationConfig"]["maxOutputTokens"],
        temperature: &body["generationConfig"]["temperature"],
        streams: true,
    };
    (retold.body(), retelling.wrong)
}

fn tool_of(tool: &Value, schema: &str) -> Value {
    json!({"type": "function", "function": {
        "name": tool["name"], "description": tool["description"], "parameters": tool[schema],
    }})
}

/// The parts of a request in the words of chat completions.
struct Retold<'a> {
    model: &'a Value,
    messages: Vec<Value>,
    tools: Vec<Value>,
    choice: Option<String>,
    max_tokens: &'a Value,
    temperature: &'a Value,
    streams: bool,
}

impl Retold<'_> {
    fn body(self) -> Value {
        let mut body = json!({
            "model": self.model, "messages": self.messages, "max_tokens": self.max_tokens,
            "stream": self.streams, "stream_options": {"include_usage": true},
        });
        if !self.tools.is_empty() {
            body["tools"] = self.tools.into();
        }
        if let Some(choice) = self.choice {
            body["tool_choice"] = choice.into();
        }
        if !self.temperature.is_null() {
            body["temperature"] = self.temperature.clone();
        }
        body
    }
}
