//! Every event the daemon reports.

use std::fmt::{Debug, Display};

/// What a field of an event needs: to be readable in logs.
pub trait Shown: Display + Debug {}

impl<T: Display + Debug> Shown for T {}

/// Something that happened, worth a log line and a count.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The HTTP server accepts connections.
    Listening {
        /// The bound address.
        address: &'a dyn Shown,
        /// Milliseconds since the daemon was built from its configuration.
        startup_ms: u64,
    },
    /// A bot of the configuration does not run.
    BotNotStarted {
        /// Its name.
        bot: &'a str,
        /// What is missing.
        reason: &'a str,
    },
    /// A bot's platform identity is known: it can be addressed.
    BotReady {
        /// Its name.
        bot: &'a str,
    },
    /// The platform refused the bot's credentials or could not be reached; tried again later.
    BotIdentityFailed {
        /// Its name.
        bot: &'a str,
        /// Why.
        error: &'a dyn Shown,
    },
    /// An inbound request was refused before anything was stored.
    RequestRefused {
        /// The bot of the URL.
        bot: &'a str,
        /// The HTTP status.
        status: u16,
        /// A stable code.
        code: &'a str,
    },
    /// A program called a URL of a hook that does not exist.
    HookUnknown {
        /// The name in the URL.
        name: &'a str,
    },
    /// A call of a hook was refused before anything was stored.
    HookRefused {
        /// The hook.
        hook: &'a str,
        /// The HTTP status.
        status: u16,
        /// A stable code.
        code: &'a str,
    },
    /// A call of a hook was stored and acknowledged.
    HookCalled {
        /// The hook.
        hook: &'a str,
        /// The id that `larkspur why` takes.
        id: &'a dyn Shown,
        /// Whether it had come before.
        duplicate: bool,
    },
    /// The template of a hook failed on a call, which is posted as it came.
    HookTemplateFailed {
        /// The hook.
        hook: &'a str,
        /// Why.
        error: &'a dyn Shown,
    },
    /// An event was stored and acknowledged.
    Accepted {
        /// The turn it became.
        turn: &'a dyn Shown,
        /// The bot it is for.
        bot: &'a str,
        /// The platform's id of the message, which `larkspur why` takes.
        message_id: &'a str,
    },
    /// The platform delivered an event again.
    Duplicate,
    /// An event that starts no work.
    NoWork {
        /// The bot.
        bot: &'a str,
        /// The message, or whatever else the event is known by.
        subject: &'a str,
        /// The verdict's word.
        verdict: &'a str,
    },
    /// Nobody is let in to a chat, because a list of the bot is empty. Said once a chat.
    AccessEmpty {
        /// The bot.
        bot: &'a str,
        /// The chat.
        chat: &'a str,
        /// The keys of the empty lists.
        keys: &'a str,
    },
    /// An admin let a stranger in.
    Paired {
        /// The bot.
        bot: &'a str,
        /// Who was let in.
        user: &'a str,
        /// By whom.
        by: &'a str,
    },
    /// An event that is no message. Each type is shown once; all are counted.
    Noted {
        /// The bot.
        bot: &'a str,
        /// The platform's name of the type.
        kind: &'a str,
        /// The verdict's word.
        verdict: &'a str,
        /// Whether this is the first of its type.
        is_first: bool,
    },
    /// An event could not be stored; the platform will send it again.
    NotAccepted {
        /// Why.
        error: &'a dyn Shown,
    },
    /// A turn ended.
    TurnClosed {
        /// The turn.
        turn: &'a dyn Shown,
        /// The verdict's word.
        verdict: &'a str,
        /// From acceptance to here.
        elapsed_ms: u64,
    },
    /// An operator had a failed turn done again.
    Replayed {
        /// The turn that failed.
        failed: &'a dyn Shown,
        /// The turn that does it again.
        turn: &'a dyn Shown,
    },
    /// A turn could not go on and will be taken up again.
    TurnFailed {
        /// The turn.
        turn: &'a dyn Shown,
        /// Why.
        error: &'a dyn Shown,
    },
    /// Unfinished work was found at start.
    Recovered {
        /// How many turns.
        turns: usize,
    },
    /// A stored record cannot be read. It is left where it is, and what it stands for is not done.
    RecordUnreadable {
        /// Which kind of record.
        kind: &'a str,
        /// Its key.
        key: &'a dyn Shown,
        /// Why.
        error: &'a dyn Shown,
    },
    /// Records that were too old are gone.
    Expired {
        /// Which kind.
        what: &'a str,
        /// How many.
        deleted: usize,
    },
    /// Unfinished work is for a bot that does not run: it waits for a start with that bot.
    TurnLeftOpen {
        /// The turn.
        turn: &'a dyn Shown,
        /// The bot.
        bot: &'a str,
    },
    /// A model call failed.
    ModelFailed {
        /// The model.
        model: &'a str,
        /// Why.
        error: &'a dyn Shown,
    },
    /// A model call failed and is repeated.
    ModelRetried {
        /// The model.
        model: &'a str,
        /// Failures so far.
        failures: u32,
        /// Why.
        error: &'a dyn Shown,
    },
    /// A model failed too often: its breaker is open, it is not asked for a while.
    ModelRests {
        /// The model.
        model: &'a str,
        /// For how long.
        rest_s: u64,
        /// The last failure.
        error: &'a dyn Shown,
    },
    /// A model whose breaker was open answers again.
    ModelBack {
        /// The model.
        model: &'a str,
    },
    /// A model did not answer, and another one is asked.
    ModelReplaced {
        /// The model.
        model: &'a str,
        /// The other one.
        by: &'a str,
    },
    /// A tool was not run.
    ToolDenied {
        /// The tool.
        tool: &'a str,
        /// The reason given to the model.
        reason: &'a str,
    },
    /// A send failed and will be tried again.
    SendRetried {
        /// The turn.
        turn: &'a dyn Shown,
        /// Failures so far.
        failures: u32,
        /// Why.
        error: &'a dyn Shown,
    },
    /// A send was given up.
    SendAbandoned {
        /// The turn.
        turn: &'a dyn Shown,
        /// Why.
        error: &'a dyn Shown,
    },
    /// A nicety (a reaction) did not work; the answer is not affected.
    SideEffectFailed {
        /// Which.
        what: &'a str,
        /// Why.
        error: &'a dyn Shown,
    },
    /// The app lacks a permission; said once a day for each.
    ScopeMissing {
        /// The app.
        app: &'a str,
        /// The scopes of which one is needed, as the platform names them.
        scopes: &'a str,
        /// Where it is granted.
        link: &'a str,
    },
    /// The counts of platform calls could not be kept; tried again later.
    UsageNotKept {
        /// Why.
        error: &'a dyn Shown,
    },
    /// The store had to be repaired at start.
    StoreRepaired {
        /// What was done.
        action: &'a str,
    },
    /// A file of the knowledge folder could not be used.
    RecipeSkipped {
        /// The file.
        file: &'a dyn Shown,
        /// Why.
        reason: &'a dyn Shown,
    },
    /// A schedule is new, or its times are.
    ScheduleBegun {
        /// The bot.
        bot: &'a str,
        /// The schedule.
        schedule: &'a str,
    },
    /// A schedule was due, and its work is taken over.
    ScheduleRan {
        /// The bot.
        bot: &'a str,
        /// The schedule.
        schedule: &'a str,
        /// What `larkspur why` takes.
        message_id: &'a str,
    },
    /// Times of a schedule at which nothing ran are too long ago to be made up for.
    ScheduleMissed {
        /// The bot.
        bot: &'a str,
        /// The schedule.
        schedule: &'a str,
        /// How many.
        times: u64,
    },
    /// The work of a schedule could not be handed in; tried again every second, told once.
    ScheduleHeldUp {
        /// The bot.
        bot: &'a str,
        /// The schedule.
        schedule: &'a str,
        /// Why.
        error: &'a dyn Shown,
    },
    /// A bot's long connection stands.
    LinkUp {
        /// The bot.
        bot: &'a str,
    },
    /// A bot's long connection is lost; connected again after a while.
    LinkDown {
        /// The bot.
        bot: &'a str,
        /// Why.
        reason: &'a dyn Shown,
        /// How long until the next try.
        wait_ms: u64,
    },
    /// A bot's long connection did not come about; tried again after a while.
    LinkFailed {
        /// The bot.
        bot: &'a str,
        /// Why.
        error: &'a dyn Shown,
        /// How long until then.
        wait_ms: u64,
    },
    /// The platform refuses a bot's long connection; tried again all the same, minutes later.
    LinkRefused {
        /// The bot.
        bot: &'a str,
        /// Why.
        error: &'a dyn Shown,
        /// How long until then.
        wait_ms: u64,
    },
    /// Something of no use came over a long connection; the first of a bot's is shown.
    FrameUnusable {
        /// The bot.
        bot: &'a str,
        /// What is wrong with it.
        what: &'a str,
        /// Whether this is the first.
        is_first: bool,
    },
    /// Events were given up whose pieces did not come together; the platform delivers them again.
    FragmentsDropped {
        /// The bot.
        bot: &'a str,
        /// How many.
        events: usize,
    },
    /// An event of a long connection was not taken; the platform delivers it again.
    EventPutOff {
        /// The bot.
        bot: &'a str,
        /// A stable code.
        code: &'a str,
    },
    /// The daemon stops taking work and finishes what it has.
    Draining,
    /// The drain ended.
    Drained {
        /// Tasks that did not end in time; their work goes on at the next start.
        unfinished: usize,
    },
    /// A task panicked.
    TaskPanicked {
        /// Whose task.
        owner: &'a str,
        /// Which.
        name: &'a str,
    },
    /// A state that the code holds impossible.
    Impossible {
        /// What was found.
        what: &'a str,
    },
}

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
