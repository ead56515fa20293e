//! Durations and sizes as people write them: `"180s"`, `"1MiB"`.

use std::time::Duration;

/// Why a text is not a duration or size: what was read and what would be accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {kind}; write it like {example}")]
pub struct UnitError {
    text: String,
    kind: &'static str,
    example: &'static str,
}

fn split_number(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    Some((number.parse().ok()?, unit.trim()))
}

/// Reads `"150ms"`, `"180s"`, `"10m"`, `"26h"` or `"90d"`.
///
/// # Errors
/// A missing or unknown unit, a sign, a fraction, or a number beyond 64 bits.
pub fn duration(text: &str) -> Result<Duration, UnitError> {
    let error = || UnitError {
        text: text.to_owned(),
        kind: "duration",
        example: r#""150ms", "180s", "10m", "26h" or "90d""#,
    };
    let (number, unit) = split_number(text.trim()).ok_or_else(error)?;
    let millis = match unit {
        "ms" => Some(number),
        "s" => number.checked_mul(1000),
        "m" => number.checked_mul(60_000),
        "h" => number.checked_mul(3_600_000),
        "d" => number.checked_mul(86_400_000),
        _ => None,
    };
    millis.map(Duration::from_millis).ok_or_else(error)
}

/// Reads `"512B"`, `"64KiB"`, `"1MiB"` or `"2GiB"` into bytes.
///
/// # Errors
/// A missing or unknown unit, a sign, a fraction, or a number beyond this machine's word.
pub fn size(text: &str) -> Result<usize, UnitError> {
    let error = || UnitError {
        text: text.to_owned(),
        kind: "size",
        example: r#""512B", "64KiB", "1MiB" or "2GiB""#,
    };
    let (number, unit) = split_number(text.trim()).ok_or_else(error)?;
    let bytes = match unit {
        "B" => Some(number),
        "KiB" => number.checked_mul(1 << 10),
        "MiB" => number.checked_mul(1 << 20),
        "GiB" => number.checked_mul(1 << 30),
        _ => None,
    };
    bytes.and_then(|bytes| usize::try_from(bytes).ok()).ok_or_else(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(duration("150ms"), Ok(Duration::from_millis(150)));
        assert_eq!(duration("180s"), Ok(Duration::from_secs(180)));
        assert_eq!(duration(" 26 h "), Ok(Duration::from_secs(93_600)));
        assert_eq!(duration("90d"), Ok(Duration::from_secs(7_776_000)));
        for bad in [
            "",
            "180",
            "s",
            "-1s",
            "1.5s",
            "99999999999999999999s",
            "1 year",
            "18446744073709551615d",
        ] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_need_a_unit() {
        assert_eq!(size("512B"), Ok(512));
        assert_eq!(size("1MiB"), Ok(1 << 20));
        for bad in ["", "1", "1MB", "-1B", "1.5MiB", "18446744073709551615GiB"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
