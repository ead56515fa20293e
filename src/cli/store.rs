//! `larkspur store`: looking after the data.

mod draft;
mod repair;

use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};

use self::draft::{Draft, is_taken};
use super::admin_client::{Verb, ask, download, path_to};
use super::arguments::{OpenTurnsWord, Output, StoreCommand};
use super::{Exit, Unsaid, complain, heard, say};
use crate::app::{self, Compacted, CopyError, OpenTurns, Restored, StoreError};
use crate::base::{Clock, Disposition, SystemClock};
use crate::config::{Settings, StoreEngine};

/// Why a command ended without its work done.
struct Undone(String, Exit);

impl From<CopyError> for Undone {
    fn from(error: CopyError) -> Self {
        let exit = match &error {
            CopyError::Store(error) => match error.disposition() {
                Disposition::Retry { .. } | Disposition::Fatal => Exit::TryLater,
                Disposition::Reject => Exit::Failed,
            },
            // As with data of a newer version.
            CopyError::Newer { .. } => Exit::TryLater,
            CopyError::NotACopy { .. }
            | CopyError::NotEmpty { .. }
            | CopyError::NoData { .. }
            | CopyError::File { .. } => Exit::Failed,
        };
        Self(error.to_string(), exit)
    }
}

impl From<Unsaid> for Undone {
    fn from(unsaid: Unsaid) -> Self {
        Self(unsaid.to_string(), Exit::Unwritten)
    }
}

fn unwritten(error: &io::Error, file: &Path) -> Undone {
    Undone(format!("{}: {error}", file.display()), Exit::Unwritten)
}

/// Runs one of the commands.
pub(super) async fn run(settings: Settings, what: StoreCommand) -> Result<Exit, Unsaid> {
    let done = match what {
        StoreCommand::Expire(output) => return expire(&settings, output).await,
        _ if settings.store == StoreEngine::Memory => {
            let text = "the configuration keeps nothing on the disk (store.engine = \"memory\")";
            Err(Undone(text.to_owned(), Exit::Failed))
        }
        StoreCommand::Export { file } if file == Path::new("-") => {
            export_to_stdout(&settings).await
        }
        StoreCommand::Export { file } => export_to(&settings, &file).await.map(|()| Exit::Done),
        StoreCommand::Backup { target } => backup(&settings, &target).await,
        StoreCommand::Restore { file, open_turns } => restore(&settings, &file, open_turns),
        StoreCommand::Compact(output) => compact(&settings, output),
        StoreCommand::Repair { accept_loss, output } => {
            repair::repair(&settings, accept_loss, output).await
        }
    };
    Ok(done.unwrap_or_else(|Undone(text, exit)| {
        complain(&format!("larkspur: {text}"));
        exit
    }))
}

/// From the data folder, or from the daemon that has it open. The inner result is that of writing.
async fn export(settings: &Settings, out: &mut dyn Write) -> Result<io::Result<()>, Undone> {
    let mut out = Remembering { out, refused: None };
    let copied = match app::export_stopped(settings, &mut out).await {
        Err(CopyError::Store(StoreError::InUse { .. })) => {
            let copied = download(settings, &path_to(&["store", "export"]), &mut out).await;
            copied.map_err(|error| Undone(error.text().to_owned(), Exit::TryLater))
        }
        other => other.map_err(Undone::from),
    };
    match out.refused {
        Some(error) => Ok(Err(error)),
        None => copied.map(Ok),
    }
}

/// Tells a copy that could not be made from one that could not be written.
struct Remembering<'w> {
    out: &'w mut dyn Write,
    refused: Option<io::Error>,
}

impl Remembering<'_> {
    fn remember(&mut self, error: io::Error) -> io::Error {
        let kind = error.kind();
        if kind != io::ErrorKind::Interrupted {
            self.refused = Some(error);
        }
        kind.into()
    }
}

impl Write for Remembering<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes).map_err(|error| self.remember(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush().map_err(|error| self.remember(error))
    }
}

async fn export_to_stdout(settings: &Settings) -> Result<Exit, Undone> {
    let mut out = io::stdout();
    let written = export(settings, &mut out).await?;
    heard(written.and_then(|()| out.flush()))?;
    Ok(Exit::Done)
}

/// Into a file that appears when it is whole. Only its owner may read it: it holds what people
/// wrote.
async fn export_to(settings: &Settings, target: &Path) -> Result<(), Undone> {
    if is_taken(target) {
        return Err(taken(target));
    }
    let begun = Draft::begin(target).map_err(|error| unwritten(&error, target))?;
    for left_over in &begun.left_over {
        complain(&format!(
            "larkspur: {} is left of a copy that was cut off. It holds what people wrote, and \
             nothing needs it: delete it.",
            left_over.display()
        ));
    }
    let draft = begun.draft;
    let io = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => taken(target),
        _other => unwritten(&error, target),
    };
    let rows = match fill(settings, &draft).await {
        Ok(Ok(rows)) => rows,
        Ok(Err(error)) => {
            draft.discard();
            return Err(io(error));
        }
        Err(undone) => {
            draft.discard();
            return Err(undone);
        }
    };
    draft.publish(target).map_err(io)?;
    say(&format!("{}: {rows} records. It holds what people wrote.", target.display()))?;
    Ok(())
}

/// Writes a draft and reads it back. The inner result is that of writing.
async fn fill(settings: &Settings, draft: &Draft) -> Result<io::Result<u64>, Undone> {
    let mut out = BufWriter::new(draft.file());
    if let Err(error) = export(settings, &mut out).await?.and_then(|()| out.flush()) {
        return Ok(Err(error));
    }
    Ok(Ok(app::verify_copy(draft.path())?))
}

fn taken(target: &Path) -> Undone {
    let text = format!("{} is there already; a copy replaces nothing", target.display());
    Undone(text, Exit::Failed)
}

async fn backup(settings: &Settings, target: &Path) -> Result<Exit, Undone> {
    let file = if target.is_dir() {
        let now = SystemClock::default().now().to_string().replace([':', '-'], "");
        target.join(format!("larkspur-{now}.jsonl"))
    } else {
        target.to_owned()
    };
    export_to(settings, &file).await?;
    say(&format!(
        "Put it into an empty data folder with: larkspur store restore {}",
        file.display()
    ))?;
    Ok(Exit::Done)
}

fn restore(settings: &Settings, file: &Path, word: OpenTurnsWord) -> Result<Exit, Undone> {
    let rule = match word {
        OpenTurnsWord::Fail => OpenTurns::Fail,
        OpenTurnsWord::Keep => OpenTurns::Keep,
    };
    let restored = tokio::task::block_in_place(|| app::restore(settings, file, rule))?;
    let Restored { records, open_turns } = restored;
    say(&format!("{records} records are in {}.", settings.data_dir.display()))?;
    if open_turns > 0 {
        say(&match rule {
            OpenTurns::Fail => format!(
                "Turns that were open when the copy was made: {open_turns}. They may have been \
                 answered since, so they are failed now: `larkspur events failed` lists them, \
                 `larkspur events replay` does them again."
            ),
            OpenTurns::Keep => format!(
                "Turns that were open when the copy was made: {open_turns}. The daemon goes on \
                 with them; who was answered since may be answered a second time."
            ),
        })?;
    }
    Ok(Exit::Done)
}

fn compact(settings: &Settings, output: Output) -> Result<Exit, Undone> {
    let compacted = tokio::task::block_in_place(|| app::compact(settings))?;
    let Compacted { records, bytes_before, bytes_after } = compacted;
    say(&if output.json {
        let report = json!({
            "records": records, "bytes_before": bytes_before, "bytes_after": bytes_after,
        });
        report.to_string()
    } else {
        let mib = |bytes| bytes >> 20;
        format!(
            "{records} records, written anew: {} MiB before, {} MiB after.",
            mib(bytes_before),
            mib(bytes_after)
        )
    })?;
    Ok(Exit::Done)
}

async fn expire(settings: &Settings, output: Output) -> Result<Exit, Unsaid> {
    let swept = match ask(settings, Verb::Post, &path_to(&["store", "expire"])).await {
        Ok(swept) => swept,
        Err(error) => {
            complain(error.text());
            return Ok(Exit::TryLater);
        }
    };
    if output.json {
        say(&swept.to_string())?;
        return Ok(Exit::Done);
    }
    let Some(deleted) = swept.get("deleted").and_then(Value::as_object) else {
        say("The daemon is at it; its log says what is gone (`expired`).")?;
        return Ok(Exit::Done);
    };
    let gone = deleted.iter().filter(|(_, count)| count.as_u64() != Some(0));
    let lines: Vec<String> = gone.map(|(what, count)| format!("{what}: {count}")).collect();
    say(&if lines.is_empty() {
        "Nothing was too old.".to_owned()
    } else {
        format!("Deleted: {}.", lines.join(", "))
    })?;
    Ok(Exit::Done)
}
