//! `larkspur store`: looking after the data.

mod repair;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::admin_client::{Verb, ask, download, path_to};
use super::arguments::{Output, StoreCommand};
use super::{Exit, Unsaid, complain, heard, say};
use crate::app::{self, Compacted, CopyError, StoreError};
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
        StoreCommand::Restore { file } => restore(&settings, &file),
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
async fn export_to(settings: &Settings, file: &Path) -> Result<(), Undone> {
    let mut draft = file.as_os_str().to_owned();
    draft.push(".part");
    let draft = PathBuf::from(draft);
    let io = |error: io::Error| unwritten(&error, &draft);
    let opened =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft);
    let mut out = BufWriter::new(opened.map_err(io)?);
    let written = async {
        export(settings, &mut out).await?.map_err(io)?;
        out.flush().map_err(io)?;
        out.get_ref().sync_all().map_err(io)?;
        Ok(app::verify_copy(&draft)?)
    };
    let rows = match written.await {
        Ok(rows) => rows,
        Err(undone) => {
            fs::remove_file(&draft).unwrap_or_default();
            return Err(undone);
        }
    };
    fs::rename(&draft, file).map_err(io)?;
    sync_folder_of(file).map_err(io)?;
    say(&format!("{}: {rows} records. It holds what people wrote.", file.display()))?;
    Ok(())
}

fn sync_folder_of(file: &Path) -> io::Result<()> {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => File::open(folder)?.sync_all(),
        _here => File::open(".")?.sync_all(),
    }
}

async fn backup(settings: &Settings, target: &Path) -> Result<Exit, Undone> {
    let file = if target.is_dir() {
        let now = SystemClock::default().now().to_string().replace([':', '-'], "");
        target.join(format!("larkspur-{now}.jsonl"))
    } else {
        target.to_owned()
    };
    if file.exists() {
        let text = format!("{} is there already; a backup replaces nothing", file.display());
        return Err(Undone(text, Exit::Failed));
    }
    export_to(settings, &file).await?;
    say(&format!(
        "Put it into an empty data folder with: larkspur store restore {}",
        file.display()
    ))?;
    Ok(Exit::Done)
}

fn restore(settings: &Settings, file: &Path) -> Result<Exit, Undone> {
    let rows = tokio::task::block_in_place(|| app::restore(settings, file))?;
    say(&format!("{rows} records are in {}.", settings.data_dir.display()))?;
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
