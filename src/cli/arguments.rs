//! What can be typed.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::base::Locale;

/// A chat-bot gateway daemon for Lark/Feishu with an agent engine inside.
#[derive(Debug, Parser)]
#[command(name = "larkspur", version, about, max_term_width = 100)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,

    /// The main configuration file [default: config/larkspur.toml, else
    /// /etc/larkspur/larkspur.toml]
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Set a bot up: asks, says where each value is found, writes the files and checks them
    Init {
        /// Where the files go
        #[arg(default_value = ".")]
        dir: PathBuf,
        /// The language of the questions and of the bot [default: that of the environment]
        #[arg(long, value_enum)]
        locale: Option<LocaleWord>,
        /// Take all defaults instead of asking
        #[arg(long)]
        yes: bool,
        /// Replace files that are there; the old ones stay beside with `.bak`
        #[arg(long)]
        force: bool,
        /// Another address of the platform, of a private deployment, say
        #[arg(long, value_name = "URL", default_value = "", hide_default_value = true)]
        base_url: String,
    },
    /// Run the daemon
    Run,
    /// Show all problems of the configuration at once, each with file, line and key
    Check(Output),
    /// Ask a bot one question, here in the terminal
    Ask {
        /// The question
        #[arg(required = true)]
        text: Vec<String>,
        /// The bot [default: the first]
        #[arg(long)]
        bot: Option<String>,
        #[command(flatten)]
        output: Output,
    },
    /// Ask the running daemon what became of a message
    Why {
        /// The id of the message, or of an answer to it (om_…)
        message: String,
        #[command(flatten)]
        output: Output,
    },
    /// List what runs by the clock: when next, when last, how often it was missed
    Jobs(Output),
    /// List turns that failed, and have them done again
    Events {
        #[command(subcommand)]
        what: EventsCommand,
    },
    /// Look after the data: copies, repair, what is too old
    Store {
        #[command(subcommand)]
        what: StoreCommand,
    },
    /// Try it: a playground with a web chat, the daemon, sample knowledge and a bot, in one process
    ///
    /// Needs no account, network or key. With a key of OpenAI, Anthropic, Gemini or DeepSeek in the
    /// environment (`OPENAI_API_KEY` and so on) that model answers, else the knowledge base alone.
    Demo {
        /// Where its files go, and stay [default: a folder of its own that goes with it]
        #[arg(long)]
        dir: Option<PathBuf>,
        /// Where the web chat listens; port 0 takes any free port
        #[arg(long, default_value = "127.0.0.1:8790")]
        listen: SocketAddr,
        /// The language of the bot [default: that of the environment]
        #[arg(long, value_enum)]
        locale: Option<LocaleWord>,
        /// Another model of the provider whose key is found
        #[arg(long)]
        model: Option<String>,
    },
    /// Run the playground: the Feishu platform on this machine, driven by HTTP
    Sim {
        /// Where to listen; port 0 takes any free port
        #[arg(long, default_value = "127.0.0.1:8790")]
        listen: SocketAddr,
        /// Where the bot's events go: the address of the daemon with `/lark/NAME/events`
        #[arg(long, value_name = "URL")]
        event_url: Option<String>,
        /// The bot's events go over the long connections that it opens, and nowhere else
        #[arg(long, conflicts_with = "event_url")]
        websocket: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum EventsCommand {
    /// List the turns that failed, oldest first
    Failed(Output),
    /// Have failed turns done again: each once, however often this is asked for
    Replay {
        /// The id of a failed turn, as `larkspur events failed` lists it
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        id: Option<String>,
        /// All that were not done again yet
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        output: Output,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum StoreCommand {
    /// Write a copy of everything that is stored, as JSON Lines; the daemon may run meanwhile
    Export {
        /// A file that does not exist yet; `-` for standard output
        file: PathBuf,
    },
    /// Write a copy and read it back: to a file, or under a name with the time into a folder
    Backup {
        /// A file that does not exist yet, or a folder
        target: PathBuf,
    },
    /// Put a copy into the empty data folder; the daemon must not run
    Restore {
        /// What `export` or `backup` wrote
        file: PathBuf,
        /// What becomes of turns that are open in the copy: since it was made they may have been
        /// answered
        #[arg(long, value_enum, default_value_t = OpenTurnsWord::Fail)]
        open_turns: OpenTurnsWord,
    },
    /// Repair the data where that can be done and read every record; the daemon must not run
    Repair {
        /// If the data cannot be opened, go on with what can still be read of them; the old files
        /// are kept beside
        #[arg(long)]
        accept_loss: bool,
        #[command(flatten)]
        output: Output,
    },
    /// Write the data anew without the gaps that years of changes leave: half the room, and faster;
    /// the daemon must not run
    Compact(Output),
    /// Have the running daemon delete now what its retention no longer keeps
    Expire(Output),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum LocaleWord {
    /// Chinese
    #[value(name = "zh-CN")]
    ZhCn,
    /// English
    #[value(name = "en-US")]
    EnUs,
}

impl From<LocaleWord> for Locale {
    fn from(word: LocaleWord) -> Self {
        match word {
            LocaleWord::ZhCn => Self::ZhCn,
            LocaleWord::EnUs => Self::EnUs,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum OpenTurnsWord {
    /// They end as failed; `larkspur events replay` does them again
    Fail,
    /// The daemon goes on with them, and may answer some a second time
    Keep,
}

#[derive(Args, Clone, Copy, Debug)]
pub(super) struct Output {
    /// Print JSON, for other programs
    #[arg(long)]
    pub(super) json: bool,
}
