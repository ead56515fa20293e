//! The platform's times: seconds, milli-, micro- or nanoseconds, told apart by their length.

use crate::base::Timestamp;

/// Reads a time of any of the platform's forms; `None` if it is none of them.
///
/// The longest count of seconds has ten digits until the year 2286, and each finer unit has three
/// more. A fraction behind seconds is honoured to the millisecond.
pub(in crate::channels::lark) fn platform_time(text: &str) -> Option<Timestamp> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let number: u64 = whole.parse().ok()?;
    let millis = match whole.len() {
        ..=10 => number.checked_mul(1000)?.checked_add(thousandths(fraction))?,
        11..=13 => number,
        14..=16 => number / 1000,
        _ => number / 1_000_000,
    };
    Some(Timestamp::from_millis(millis))
}

fn thousandths(fraction: &str) -> u64 {
    let mut digits = fraction.bytes().map(|byte| u64::from(byte - b'0'));
    (0..3).fold(0, |sum, _| sum * 10 + digits.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_of_a_time_follows_from_its_length() {
        let millis = |text: &str| platform_time(text).map(Timestamp::as_millis);
        assert_eq!(millis("1760000000"), Some(1_760_000_000_000));
        assert_eq!(millis("1760000000123"), Some(1_760_000_000_123));
        assert_eq!(millis("1760000000123456"), Some(1_760_000_000_123));
        assert_eq!(millis("1760000000123456789"), Some(1_760_000_000_123));
        assert_eq!(millis("1502199207.7171419"), Some(1_502_199_207_717));
        assert_eq!(millis("1760000000.5"), Some(1_760_000_000_500));
        for bad in ["", "-1", "1e9", "now", "17600000001760000000999", "1.x"] {
            assert_eq!(millis(bad), None, "{bad}");
        }
    }
}
