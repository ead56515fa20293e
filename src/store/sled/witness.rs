//! Whether the log still holds everything that was acknowledged.
//!
//! sled takes a log that ends early for one that was never longer. So each synced batch carries
//! its number, and a file beside the log says which number was acknowledged last. The file itself
//! is not synced: after a power cut it may be behind the log, which is harmless, but never ahead.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// The key of the number; behind the records and the pieces of values.
pub(super) const COMMIT_KEY: &[u8] = b"\x7fcommit";

/// The file of the number acknowledged last.
#[derive(Debug)]
pub(super) struct Witness(File);

impl Witness {
    pub(super) fn open(path: &Path) -> std::io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        Ok(Self(options.open(path)?))
    }

    /// Notes that a batch is durable. Without the note the witness merely knows less.
    pub(super) fn acknowledge(&self, commit: u64) {
        // Always as many bytes: the number is overwritten in place, even on a full disk.
        if let Err(error) = self.0.write_all_at(format!("{commit:020}\n").as_bytes(), 0) {
            tracing::debug!(%error, "an acknowledged commit is not witnessed");
        }
    }
}

/// The number acknowledged last, 0 if nobody knows.
pub(super) fn acknowledged(path: &Path) -> u64 {
    fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// The number of the last synced batch in the log, 0 if there is none.
pub(super) fn stored(db: &sled::Db) -> Result<u64, sled::Error> {
    let number = db.get(COMMIT_KEY)?.map(|bytes| <[u8; 8]>::try_from(bytes.as_ref()));
    match number {
        Some(Ok(bytes)) => Ok(u64::from_be_bytes(bytes)),
        Some(Err(_length)) => {
            Err(sled::Error::ReportableBug("a commit's number has a wrong length".to_owned()))
        }
        None => Ok(0),
    }
}
