//! Random damage to texts and bytes, for tests of parsers: whatever comes, nothing may panic.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A small generator of pseudo-random numbers (xorshift); the same seed gives the same numbers.
#[derive(Debug)]
pub(crate) struct Mutator {
    state: u64,
}

impl Mutator {
    /// Seeded by the clock, or by `LARKSPUR_SEED`; says its seed, so that a failure can be repeated.
    #[expect(clippy::disallowed_methods, reason = "a seed that differs from run to run, printed")]
    pub(crate) fn seeded(what: &str) -> Self {
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let clock = u64::try_from(clock.as_nanos() & u128::from(u64::MAX)).unwrap_or(1);
        let given = std::env::var("LARKSPUR_SEED").ok().and_then(|seed| seed.parse().ok());
        let state = given.unwrap_or(clock) | 1;
        println!("{what}: LARKSPUR_SEED={state}");
        Self { state }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let limit = u64::try_from(limit.max(1)).unwrap_or(1);
        usize::try_from(self.state % limit).unwrap_or(0)
    }

    /// `source` with one to four injuries: bytes changed, cut out, doubled, or replaced by what
    /// parsers like least.
    pub(crate) fn damage(&mut self, source: &[u8]) -> Vec<u8> {
        const NASTY: [&[u8]; 16] = [
            b"\"",
            b"\\",
            b"\\u0000",
            b"\\ud800",
            b"\xff\xfe",
            b"{",
            b"[[[[[[[[",
            b"null",
            b"-1",
            b"1e999",
            b"99999999999999999999",
            b"@_user_1",
            b"@_all",
            b"\xef\xbb\xbf",
            b"---",
            b"=",
        ];
        let mut bytes = source.to_vec();
        for _ in 0..=self.below(4) {
            let from = self.below(bytes.len() + 1);
            let to = (from + self.below(24)).min(bytes.len());
            match self.below(4) {
                0 if from < bytes.len() => bytes[from] = u8::try_from(self.below(256)).unwrap_or(0),
                1 => drop(bytes.drain(from..to)),
                2 => {
                    let copy = bytes[from..to].to_vec();
                    bytes.splice(from..from, copy);
                }
                _ => {
                    let nasty = NASTY[self.below(NASTY.len())];
                    bytes.splice(from..to, nasty.iter().copied());
                }
            }
        }
        bytes
    }

    /// The same for text; what is no UTF-8 any more is replaced.
    pub(crate) fn damage_text(&mut self, source: &str) -> String {
        String::from_utf8_lossy(&self.damage(source.as_bytes())).into_owned()
    }
}

/// How often each source is damaged: a second or two a test. `LARKSPUR_ROUNDS` sets another number
/// for a longer hunt.
#[expect(clippy::disallowed_methods, reason = "a test's own setting")]
pub(crate) fn rounds() -> usize {
    std::env::var("LARKSPUR_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(200)
}
