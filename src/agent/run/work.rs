//! What a started run holds, and what becomes of it with each reply.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::CALLS_PER_ROUND_MAX;
use super::words::{Outcome, RunSpec, Source, ToolResult};
use crate::agent::clean::clean_final_answer;
use crate::agent::window::{Window, history_budget};
use crate::agent::{prompt, summary};
use crate::base::limit::is_blank;
use crate::base::{Say, Timestamp};
use crate::llm::{
    ChatMessage, Finish, LlmErrorKind, ModelReply, ModelRequest, ToolCall, ToolChoice, Usage,
};

/// After the first failure of the model the run waits this long.
const STRIKE_WAIT: Duration = Duration::from_millis(2000);
/// This many failures in a row end the run.
const STRIKES_MAX: u32 = 2;
/// How many empty replies in a row a run of the system takes.
const SYSTEM_EMPTY_RETRIES: u32 = 2;
/// What the forced summary is asked with, for people and for the system.
pub(super) const SUMMARY_TEMPERATURE_USER: f64 = 0.5;
const SUMMARY_TEMPERATURE_SYSTEM: f64 = 0.3;

/// One call and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CallLog {
    /// The tool.
    pub tool: String,
    /// The arguments as JSON text.
    pub arguments: String,
    /// The observation or the error.
    pub observation: String,
    /// Whether it worked.
    pub succeeded: bool,
    /// Whether it told anything new.
    pub is_news: bool,
}

/// Where a run is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub(super) enum Phase {
    /// Not started.
    Created,
    /// The model was asked in the ordinary course.
    Thinking,
    /// The tools were called.
    Acting { calls: Vec<ToolCall> },
    /// The model failed; the round begins again at this time.
    Waiting { until: Timestamp },
    /// The model was asked for a forced summary.
    Summarising { since: Timestamp },
    /// Over.
    Finished { outcome: Outcome },
}

impl Phase {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Thinking => "thinking",
            Self::Acting { .. } => "acting",
            Self::Waiting { .. } => "waiting",
            Self::Summarising { .. } => "summarising",
            Self::Finished { .. } => "finished",
        }
    }
}

/// What a started run holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Work {
    pub(super) spec: RunSpec,
    pub(super) started_at: Timestamp,
    /// The time of the last input.
    pub(super) heard_at: Timestamp,
    pub(super) iteration: u32,
    pub(super) strikes: u32,
    pub(super) empty_replies: u32,
    pub(super) window: Window,
    /// The conversation was too long for the model once; it will not be made shorter again.
    #[serde(default)]
    pub(super) squeezed: bool,
    pub(super) nudge: Option<String>,
    pub(super) heard: Vec<String>,
    /// The beginning of the last reply that broke off: better than nothing at the end.
    #[serde(default)]
    pub(super) said: String,
    /// What last went wrong, for operators.
    #[serde(default)]
    pub(super) trouble: String,
    pub(super) log: Vec<CallLog>,
    pub(super) usage: Usage,
    pub(super) model_calls: u32,
}

impl Work {
    pub(super) fn new(spec: RunSpec, at: Timestamp) -> Self {
        let context = prompt::context(&spec.context);
        let asked = context.into_iter().chain(std::iter::once(spec.question.clone()));
        let pinned = asked.map(|text| ChatMessage::User { text }).collect();
        let budget = history_budget(spec.context_window, spec.source);
        Self {
            window: Window::new(budget, spec.history.clone(), pinned),
            squeezed: false,
            spec,
            started_at: at,
            heard_at: at,
            iteration: 0,
            strikes: 0,
            empty_replies: 0,
            nudge: None,
            heard: Vec::new(),
            said: String::new(),
            trouble: String::new(),
            log: Vec::new(),
            usage: Usage::default(),
            model_calls: 0,
        }
    }

    /// Exits first, then the next question to the model.
    pub(super) fn begin_round(&mut self, at: Timestamp) -> Phase {
        let is_late = at.since(self.started_at) >= self.spec.wall_time;
        if is_late {
            return self.time_is_over(at);
        }
        if self.iteration >= self.spec.iterations_max {
            self.trouble = format!("no answer within {} rounds", self.spec.iterations_max);
            return self.begin_summary(at);
        }
        self.iteration += 1;
        for text in self.heard.drain(..) {
            self.window.push(ChatMessage::User { text });
        }
        self.window.compact(self.iteration);
        Phase::Thinking
    }

    /// From this round on no tools are offered: the model has to come to an end.
    fn tools_withheld(&self) -> bool {
        let max = self.spec.iterations_max;
        // 80 % of the rounds, rounded up, but never the first.
        let withheld_from = max.saturating_mul(4).div_ceil(5).max(2);
        self.iteration >= withheld_from
    }

    pub(super) fn request(&self) -> ModelRequest {
        let mut messages = self.window.messages();
        let withheld = self.tools_withheld() && !self.spec.tools.is_empty();
        let last_rounds =
            withheld.then(|| prompt::last_rounds(self.iteration, self.spec.iterations_max));
        // What is said to the model only now stands behind everything that providers may cache.
        for text in self.nudge.iter().cloned().chain(last_rounds) {
            messages.push(ChatMessage::User { text });
        }
        ModelRequest {
            system: self.spec.system.clone(),
            messages,
            tools: self.spec.tools.clone(),
            tool_choice: if withheld || self.spec.tools.is_empty() {
                ToolChoice::None
            } else {
                ToolChoice::Auto
            },
            max_tokens: self.spec.max_tokens,
            temperature: self.spec.temperature,
        }
    }

    pub(super) fn summary_request(&self) -> ModelRequest {
        let context = prompt::context(&self.spec.context).unwrap_or_default();
        let text = prompt::forced_summary(
            format!("{context}\n\n{}", self.spec.question).trim_start(),
            &summary::call_list(&self.log),
            &summary::observations(&self.log),
        );
        ModelRequest {
            system: self.spec.system.clone(),
            messages: vec![ChatMessage::User { text }],
            tools: Vec::new(),
            tool_choice: ToolChoice::None,
            max_tokens: self.spec.max_tokens,
            temperature: match self.spec.source {
                Source::User => SUMMARY_TEMPERATURE_USER,
                Source::System => SUMMARY_TEMPERATURE_SYSTEM,
            },
        }
    }

    fn count(&mut self, reply: &ModelReply) {
        self.model_calls += 1;
        self.usage.input += reply.usage.input;
        self.usage.output += reply.usage.output;
        self.usage.cached += reply.usage.cached;
    }

    pub(super) fn replied(&mut self, reply: ModelReply, at: Timestamp) -> Phase {
        if reply.usage.input > 0 {
            self.window.learn(&self.request(), reply.usage.input);
        }
        self.count(&reply);
        self.strikes = 0;
        self.nudge = None;
        let may_call = !self.tools_withheld() && !self.spec.tools.is_empty();
        if may_call && !reply.calls.is_empty() {
            self.empty_replies = 0;
            self.said.clear();
            return self.begin_acting(reply);
        }
        let text = clean_final_answer(&reply.text);
        if text.is_empty() {
            return self.empty(reply.calls.is_empty(), at);
        }
        if !self.heard.is_empty() {
            // The person said more meanwhile: this was an answer to half of the question.
            self.window.push(ChatMessage::Assistant { text, calls: Vec::new() });
            return self.begin_round(at);
        }
        match reply.finish {
            Finish::Length | Finish::Filtered => self.partial(&text),
            Finish::Stop => Phase::Finished { outcome: Outcome::Answered { text, partial: false } },
        }
    }

    /// An answer that was cut short, and says so.
    fn partial(&self, text: &str) -> Phase {
        let text = format!("{}\n\n{text}", Say::Partial.text(self.spec.locale));
        Phase::Finished { outcome: Outcome::Answered { text, partial: true } }
    }

    fn begin_acting(&mut self, reply: ModelReply) -> Phase {
        let mut calls = reply.calls;
        let dropped = calls.split_off(calls.len().min(CALLS_PER_ROUND_MAX));
        if !dropped.is_empty() {
            let names: Vec<String> = dropped.into_iter().map(|call| call.name).collect();
            self.nudge = Some(prompt::dropped_calls(&names, CALLS_PER_ROUND_MAX));
        }
        self.window.push(ChatMessage::Assistant { text: reply.text, calls: calls.clone() });
        Phase::Acting { calls }
    }

    /// Nothing to show: neither text nor calls, or calls only although no tools were offered.
    fn empty(&mut self, is_blank: bool, at: Timestamp) -> Phase {
        self.empty_replies += 1;
        let trouble = if is_blank {
            "the model's reply was empty"
        } else {
            "the model called tools that it was not offered"
        };
        trouble.clone_into(&mut self.trouble);
        let retries = match self.spec.source {
            Source::System => SYSTEM_EMPTY_RETRIES,
            Source::User => u32::from(self.spec.has_fallback),
        };
        if self.empty_replies <= retries {
            if is_blank {
                // The round is taken back: an empty reply must not cost one. Calls do: a model
                // that goes on calling would otherwise be asked more often than there are rounds.
                self.iteration -= 1;
            }
            return self.begin_round(at);
        }
        self.begin_summary(at)
    }

    /// The model failed, perhaps behind these words.
    pub(super) fn broke_off(&mut self, text: &str, said: String) {
        self.trouble = format!("the model failed: {text}");
        if !is_blank(&said) {
            self.said = said;
        }
    }

    pub(super) fn failed(
        &mut self,
        kind: LlmErrorKind,
        retry_after: Option<Duration>,
        at: Timestamp,
    ) -> Phase {
        self.strikes += 1;
        if matches!(kind, LlmErrorKind::CircuitOpen | LlmErrorKind::Unauthorised) {
            // Asking again, even for a summary, would only be refused again.
            return self.finish_synthetic();
        }
        self.iteration -= 1;
        if kind == LlmErrorKind::ContextTooLong && !self.squeezed {
            self.squeezed = true;
            if self.window.squeeze(self.iteration + 1) {
                return self.begin_round(at);
            }
        }
        let until = at.after(STRIKE_WAIT.max(retry_after.unwrap_or_default()));
        let in_time = until < self.started_at.after(self.spec.wall_time);
        if self.strikes < STRIKES_MAX && in_time {
            return Phase::Waiting { until };
        }
        self.begin_summary(at)
    }

    pub(super) fn acted(&mut self, calls: &[ToolCall], results: Vec<ToolResult>) {
        for (call, result) in calls.iter().zip(results) {
            self.log.push(CallLog {
                tool: call.name.clone(),
                arguments: call.arguments.to_string(),
                observation: result.text.clone(),
                succeeded: result.succeeded,
                is_news: result.is_news,
            });
            self.window.push(ChatMessage::Tool {
                call_id: result.call_id,
                name: result.name,
                text: result.text,
            });
        }
    }

    /// The wall time ends the run.
    pub(super) fn time_is_over(&mut self, at: Timestamp) -> Phase {
        let earlier = match self.trouble.as_str() {
            "" => String::new(),
            trouble => format!("; before that, {trouble}"),
        };
        self.trouble = format!("its time was over{earlier}");
        self.begin_summary(at)
    }

    /// A run that must end: with a summary if there is something to sum up.
    pub(super) fn begin_summary(&mut self, at: Timestamp) -> Phase {
        if self.log.iter().any(|call| call.succeeded) {
            return Phase::Summarising { since: at };
        }
        self.apologise()
    }

    /// The end of a run that found nothing: with the beginning of a reply, if there is one.
    fn apologise(&self) -> Phase {
        let begun = clean_final_answer(&self.said);
        if !begun.is_empty() {
            return self.partial(&begun);
        }
        let reference = self.spec.turn.to_string();
        let text = Say::Apology { reference }.text(self.spec.locale);
        let reason = self.trouble.clone();
        Phase::Finished { outcome: Outcome::Apologised { text, reason } }
    }

    pub(super) fn summarised(&mut self, reply: &ModelReply) -> Phase {
        self.count(reply);
        let text = clean_final_answer(&reply.text);
        if text.is_empty() {
            return self.finish_synthetic();
        }
        self.partial(&text)
    }

    /// Half a summary is worth more than the raw findings.
    pub(super) fn summary_failed(&self, said: &str) -> Phase {
        let text = clean_final_answer(said);
        if text.is_empty() { self.finish_synthetic() } else { self.partial(&text) }
    }

    /// The end of a run whose model cannot even sum up.
    pub(super) fn finish_synthetic(&self) -> Phase {
        if !self.log.iter().any(|call| call.succeeded) {
            return self.apologise();
        }
        let text = summary::synthetic(&self.log, self.spec.locale);
        Phase::Finished { outcome: Outcome::Answered { text, partial: true } }
    }
}
