//! Durations and sizes that make sense: with every one of them a value is refused that would make
//! each question fail, or forget everything at once.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::base::parse;
use crate::base::problem::Problems;

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// `server.request_timeout`
pub(super) const REQUEST_TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(100)..=HOUR;
/// `server.drain_timeout`; zero leaves all work at hand to the next start.
pub(super) const DRAIN_TIMEOUT: RangeInclusive<Duration> = Duration::ZERO..=HOUR;
/// `server.body_max`, in bytes. Events with long messages must fit.
pub(super) const BODY_BYTES: RangeInclusive<usize> = (64 << 10)..=(64 << 20);
/// `retention.*`. Attachments wait some minutes for their question, and people look at what
/// failed some time later.
pub(super) const RETENTION: RangeInclusive<Duration> =
    HOUR..=Duration::from_secs(36_500 * 24 * 3600);
/// `models.NAME.timeout`
pub(super) const MODEL_TIMEOUT: RangeInclusive<Duration> = Duration::from_secs(1)..=DAY;
/// `models.NAME.idle_timeout`
pub(super) const IDLE_TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(100)..=DAY;
/// `models.NAME.retry_wait`
pub(super) const RETRY_WAIT: RangeInclusive<Duration> = Duration::from_millis(10)..=HOUR;

/// Reads a duration of a range; anything else is a problem of `key`.
pub(super) fn duration(
    key: &str,
    text: &str,
    allowed: &RangeInclusive<Duration>,
    problems: &mut Problems<'_>,
) -> Option<Duration> {
    match parse::duration(text) {
        Ok(duration) if allowed.contains(&duration) => Some(duration),
        Ok(_) => {
            let (least, most) = (duration_text(*allowed.start()), duration_text(*allowed.end()));
            problems.error(key, format!("it is from \"{least}\" to \"{most}\""));
            None
        }
        Err(error) => {
            problems.error(key, error.to_string());
            None
        }
    }
}

/// Reads a size of a range, in bytes; anything else is a problem of `key`.
pub(super) fn size(
    key: &str,
    text: &str,
    allowed: &RangeInclusive<usize>,
    problems: &mut Problems<'_>,
) -> Option<usize> {
    match parse::size(text) {
        Ok(size) if allowed.contains(&size) => Some(size),
        Ok(_) => {
            let (least, most) = (size_text(*allowed.start()), size_text(*allowed.end()));
            problems.error(key, format!("it is from \"{least}\" to \"{most}\""));
            None
        }
        Err(error) => {
            problems.error(key, error.to_string());
            None
        }
    }
}

/// As it is written, in the greatest unit that makes a whole number of it.
fn duration_text(duration: Duration) -> String {
    let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];
    whole(duration.as_millis(), &units).unwrap_or_else(|| "0s".to_owned())
}

fn size_text(bytes: usize) -> String {
    let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
    let bytes = u128::try_from(bytes).unwrap_or(u128::MAX);
    whole(bytes, &units).unwrap_or_else(|| "0B".to_owned())
}

fn whole(number: u128, units: &[(&str, u128)]) -> Option<String> {
    let fits = |(_, unit): &&(&str, u128)| number >= *unit && number.is_multiple_of(*unit);
    let (name, unit) = units.iter().find(fits)?;
    Some(format!("{}{name}", number.checked_div(*unit)?))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::super::{DEFAULT_TOML, Environment, load_file};

    /// A key, what is too little, the least, the most, what is too much.
    const TABLE: [(&str, [&str; 4]); 11] = [
        ("server.request_timeout", ["\"99ms\"", "\"100ms\"", "\"1h\"", "\"3601s\""]),
        ("server.drain_timeout", ["\"-1s\"", "\"0s\"", "\"1h\"", "\"61m\""]),
        ("server.body_max", ["\"65535B\"", "\"64KiB\"", "\"64MiB\"", "\"65MiB\""]),
        ("retention.messages", ["\"59m\"", "\"1h\"", "\"36500d\"", "\"36501d\""]),
        ("retention.overheard", ["\"0s\"", "\"1h\"", "\"36500d\"", "\"36501d\""]),
        ("retention.ledger", ["\"1ms\"", "\"1h\"", "\"36500d\"", "\"36501d\""]),
        ("models.main.timeout", ["\"999ms\"", "\"1s\"", "\"1d\"", "\"25h\""]),
        ("models.main.idle_timeout", ["\"0s\"", "\"100ms\"", "\"1d\"", "\"25h\""]),
        ("models.main.retry_wait", ["\"0s\"", "\"10ms\"", "\"1h\"", "\"2h\""]),
        ("models.main.concurrency", ["0", "1", "1024", "1025"]),
        ("models.main.retries", ["-1", "0", "10", "11"]),
    ];

    /// The problems of a file with this value, without the file's name.
    fn problems_of(file: &Path, key: &str, value: &str) -> Vec<String> {
        let (section, name) = key.rsplit_once('.').unwrap();
        let model = match section {
            "models.main" => "provider = \"ollama\"\nmodel = \"x\"\n",
            _other => "\n\n",
        };
        fs::write(file, format!("[{section}]\n{model}{name} = {value}\n")).unwrap();
        let problems = load_file(Some(file), &Environment::default()).err().unwrap_or_default();
        let start = format!("{}:", file.display());
        problems.iter().map(|problem| problem.to_string().replace(&start, "")).collect()
    }

    #[test]
    fn what_is_out_of_its_range_is_an_error_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("larkspur.toml");
        for (key, [less, least, most, more]) in TABLE {
            for fine in [least, most] {
                assert_eq!(problems_of(&file, key, fine), Vec::<String>::new(), "{key} = {fine}");
            }
            for wrong in [less, more] {
                let problems = problems_of(&file, key, wrong);
                assert_eq!(problems.len(), 1, "{key} = {wrong}: {problems:?}");
                assert!(problems[0].starts_with(&format!("4: {key}: ")), "{problems:?}");
            }
            let range = format!("from {least} to {most}");
            assert!(problems_of(&file, key, more)[0].contains(&range), "{key}: {range}");
        }
    }

    /// The keys below `table` whose values count something.
    fn counting(prefix: &str, table: &toml::Table, found: &mut BTreeSet<String>) {
        use crate::base::parse;
        for (name, value) in table {
            let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            match value {
                toml::Value::Table(table) => counting(&key, table, found),
                toml::Value::Integer(_) => drop(found.insert(key)),
                toml::Value::String(text)
                    if parse::duration(text).is_ok() || parse::size(text).is_ok() =>
                {
                    found.insert(key);
                }
                _other => {}
            }
        }
    }

    #[test]
    fn every_duration_size_and_count_of_the_configuration_has_its_range() {
        let (main, models) = DEFAULT_TOML.split_once("\n# [models.main]\n").unwrap();
        let models: Vec<&str> =
            models.lines().map(|line| line.strip_prefix("# ").unwrap_or(line)).collect();
        let whole = format!("{main}\n[models.main]\n{}", models.join("\n"));
        let mut found = BTreeSet::new();
        counting("", &toml::from_str(&whole).unwrap(), &mut found);
        // Any number of tokens is one that a model may have; nothing here depends on it.
        assert!(found.remove("models.main.context_window"));
        let ranged: BTreeSet<String> = TABLE.iter().map(|(key, _)| (*key).to_owned()).collect();
        assert_eq!(found, ranged);
    }
}
