//! The log line of each event.

use super::Event;

impl Event<'_> {
    /// Writes the log line; the counting layer sees it by its `event` field.
    #[expect(clippy::too_many_lines, reason = "a table: one arm an event, nothing to factor out")]
    #[expect(
        clippy::cognitive_complexity,
        reason = "the logging macros branch, this table does not"
    )]
    pub fn emit(&self) {
        use tracing::{debug, error, info, warn};
        match self {
            Self::Listening { address, startup_ms } => {
                info!(event = "listening", %address, startup_ms, "the server accepts connections");
            }
            Self::BotNotStarted { bot, reason } => {
                error!(event = "bot_not_started", bot, reason, "a bot is not started");
            }
            Self::BotReady { bot } => {
                info!(event = "bot_ready", bot, "a bot knows its identity");
            }
            Self::BotIdentityFailed { bot, error } => {
                warn!(event = "bot_identity_failed", bot, %error, "a bot could not learn its identity");
            }
            Self::RequestRefused { bot, status, code } => {
                warn!(event = "request_refused", bot, status, code, "a request was refused");
            }
            Self::HookUnknown { name } => {
                warn!(event = "hook_unknown", name, "a hook that does not exist was called");
            }
            Self::HookRefused { hook, status, code } => {
                warn!(event = "hook_refused", hook, status, code, "a call of a hook was refused");
            }
            Self::HookCalled { hook, id, duplicate } => {
                info!(event = "hook_called", hook, %id, duplicate, "a call of a hook is stored");
            }
            Self::HookTemplateFailed { hook, error } => {
                error!(event = "hook_template_failed", hook, %error, "a template of a hook failed");
            }
            Self::Accepted { turn, bot, message_id } => {
                info!(
                    event = "accepted",
                    %turn,
                    bot,
                    message_id,
                    "an event is stored and acknowledged"
                );
            }
            Self::Duplicate => info!(event = "duplicate", "an event was delivered again"),
            Self::NoWork { bot, subject, verdict } => {
                info!(event = "no_work", bot, subject, verdict, "an event starts no work");
            }
            Self::AccessEmpty { bot, chat, keys } => {
                warn!(event = "access_empty", bot, chat, keys, "nobody is let in: a list is empty");
            }
            Self::Paired { bot, user, by } => {
                info!(event = "paired", bot, user, by, "an admin let a stranger in");
            }
            Self::Noted { bot, kind, verdict, is_first: true } => {
                info!(
                    event = "noted",
                    bot,
                    kind,
                    verdict,
                    "an event of a new type is noted; further ones are counted alone"
                );
            }
            Self::Noted { bot, kind, verdict, is_first: false } => {
                debug!(event = "noted", bot, kind, verdict, "an event is noted");
            }
            Self::NotAccepted { error } => {
                error!(event = "not_accepted", %error, "an event could not be stored");
            }
            Self::TurnClosed { turn, verdict, elapsed_ms } => {
                info!(event = "turn_closed", %turn, verdict, elapsed_ms, "a turn ended");
            }
            Self::Replayed { failed, turn } => {
                info!(event = "replayed", %failed, %turn, "a failed turn is done again");
            }
            Self::TurnFailed { turn, error } => {
                error!(event = "turn_failed", %turn, %error, "a turn could not go on");
            }
            Self::Recovered { turns } => {
                info!(event = "recovered", turns, "unfinished work is taken up again");
            }
            Self::RecordUnreadable { kind, key, error } => {
                error!(event = "record_unreadable", kind, %key, %error, "a stored record is left out");
            }
            Self::Expired { what, deleted } => {
                info!(event = "expired", what, deleted, "records that were too old are gone");
            }
            Self::TurnLeftOpen { turn, bot } => {
                warn!(event = "turn_left_open", %turn, bot, "work waits for a bot that is missing");
            }
            Self::ModelFailed { model, error } => {
                warn!(event = "model_failed", model, %error, "a model call failed");
            }
            Self::ModelRetried { model, failures, error } => {
                warn!(event = "model_retried", model, failures, %error, "a model call is repeated");
            }
            Self::ModelRests { model, rest_s, error } => {
                error!(event = "model_rests", model, rest_s, %error, "a model is not asked for a while");
            }
            Self::ModelBack { model } => {
                info!(event = "model_back", model, "a model answers again");
            }
            Self::ModelReplaced { model, by } => {
                warn!(event = "model_replaced", model, by, "another model is asked");
            }
            Self::Compacted { how, before, after } => {
                info!(event = "compacted", how, before, after, "a conversation was made shorter");
            }
            Self::ToolDenied { tool, reason } => {
                info!(event = "tool_denied", tool, reason, "a tool call was not allowed");
            }
            Self::SendRetried { turn, failures, error } => {
                warn!(event = "send_retried", %turn, failures, %error, "a send failed and is repeated");
            }
            Self::SendAbandoned { turn, error } => {
                error!(event = "send_abandoned", %turn, %error, "a send was given up");
            }
            Self::SideEffectFailed { what, error } => {
                warn!(event = "side_effect_failed", what, %error, "a side effect did not work");
            }
            Self::ScopeMissing { app, scopes, link } => {
                error!(event = "scope_missing", app, scopes, link, "the app lacks a permission");
            }
            Self::UsageNotKept { error } => {
                warn!(event = "usage_not_kept", %error, "the counts of calls could not be kept");
            }
            Self::StoreRepaired { action } => {
                warn!(event = "store_repaired", action, "the store was repaired at start");
            }
            Self::RecipeSkipped { file, reason } => {
                warn!(event = "recipe_skipped", %file, %reason, "a knowledge file is not used");
            }
            Self::ScheduleBegun { bot, schedule } => {
                info!(event = "schedule_begun", bot, schedule, "a schedule begins");
            }
            Self::ScheduleRan { bot, schedule, message_id } => {
                info!(event = "schedule_ran", bot, schedule, message_id, "a schedule was due");
            }
            Self::ScheduleMissed { bot, schedule, times } => {
                warn!(
                    event = "schedule_missed",
                    bot, schedule, times, "times of a schedule passed"
                );
            }
            Self::ScheduleHeldUp { bot, schedule, error } => {
                error!(event = "schedule_held_up", bot, schedule, %error, "a schedule cannot go on");
            }
            Self::LinkUp { bot } => info!(event = "link_up", bot, "a long connection stands"),
            Self::LinkDown { bot, reason, wait_ms } => {
                warn!(event = "link_down", bot, %reason, wait_ms, "a long connection is lost");
            }
            Self::LinkFailed { bot, error, wait_ms } => {
                warn!(event = "link_failed", bot, %error, wait_ms, "there is no long connection");
            }
            Self::LinkRefused { bot, error, wait_ms } => {
                error!(event = "link_refused", bot, %error, wait_ms, "a long connection is refused");
            }
            Self::FrameUnusable { bot, what, is_first: true } => {
                warn!(
                    event = "frame_unusable",
                    bot, what, "a frame is of no use; further ones are counted alone"
                );
            }
            Self::FrameUnusable { bot, what, is_first: false } => {
                debug!(event = "frame_unusable", bot, what, "a frame is of no use");
            }
            Self::FragmentsDropped { bot, events } => {
                warn!(event = "fragments_dropped", bot, events, "events stayed incomplete");
            }
            Self::EventPutOff { bot, code } => {
                warn!(event = "event_put_off", bot, code, "an event is left for another delivery");
            }
            Self::Draining => info!(event = "draining", "no new work is taken"),
            Self::Drained { unfinished } => {
                info!(event = "drained", unfinished, "the work at hand has ended");
            }
            Self::TaskPanicked { owner, name } => {
                error!(event = "task_panicked", owner, name, "a task panicked");
            }
            Self::Impossible { what } => {
                error!(event = "impossible", what, "a state that should not exist");
            }
        }
    }
}
