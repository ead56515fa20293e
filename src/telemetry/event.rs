//! Every event the daemon reports.

mod emit;

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
    /// The conversation of a run was made shorter.
    Compacted {
        /// How much had to go.
        how: &'a str,
        /// Tokens before it, by estimate.
        before: u64,
        /// And after it.
        after: u64,
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
