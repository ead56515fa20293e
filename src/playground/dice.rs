//! Everything random, from one seed: a digest of the seed and a counter.

use sha2::{Digest, Sha256};

/// A source of ids, initialisation vectors and chances.
#[derive(Debug)]
pub(crate) struct Dice {
    seed: u64,
    drawn: u64,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Sixteen fresh bytes.
    pub(crate) fn bytes(&mut self) -> [u8; 16] {
        self.drawn += 1;
        let mut digest = Sha256::new();
        digest.update(self.seed.to_be_bytes());
        digest.update(self.drawn.to_be_bytes());
        first_half(digest.finalize().into())
    }

    /// Thirty-two fresh hexadecimal digits.
    pub(crate) fn hex(&mut self) -> String {
        hex::encode(self.bytes())
    }

    /// A number below `end`; 0 if there is none.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u128::try_from(end).unwrap_or(u128::MAX).max(1);
        usize::try_from(u128::from_be_bytes(self.bytes()) % end).unwrap_or_default()
    }

    /// Whether a chance of `per_mille` in a thousand came true.
    pub(crate) fn chance(&mut self, per_mille: u16) -> bool {
        let drawn = u128::from_be_bytes(self.bytes()) % 1000;
        drawn < u128::from(per_mille)
    }
}

fn first_half(digest: [u8; 32]) -> [u8; 16] {
    digest.first_chunk::<16>().copied().unwrap_or_default()
}

/// The same thirty-two digits for the same name: ids of people and chats hold across runs, so that
/// a configuration can name them.
pub(crate) fn stable_hex(kind: &str, name: &str) -> String {
    let mut digest = Sha256::new();
    digest.update(kind.as_bytes());
    digest.update(b":");
    digest.update(name.as_bytes());
    hex::encode(first_half(digest.finalize().into()))
}
