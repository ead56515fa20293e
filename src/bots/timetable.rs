//! When a schedule is due: a cron expression in a time zone.
//!
//! A day on which the clock is put forward lacks some times: what falls among them is due at the
//! first minute behind. A day on which it is put back has some twice: those are due at the first.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

use super::cron::Cron;
use crate::base::Timestamp;

/// How many local times may fall onto one moment or lie behind it: a skipped day has 1440 minutes.
const LOCAL_TIMES_MAX: u32 = 3000;

/// Why there is no timetable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimetableError {
    /// The cron expression.
    #[error("{0}")]
    Cron(String),
    /// The time zone.
    #[error("there is no time zone `{0}`; write it like \"Asia/Shanghai\" or \"UTC\"")]
    Zone(String),
}

/// The moments at which a schedule is due.
#[derive(Clone, Debug)]
pub struct Timetable {
    cron: Cron,
    zone: TimeZone,
}

/// A time zone by its IANA name. The machine's own tables come first, then those built in.
pub(super) fn zone(name: &str) -> Result<TimeZone, TimetableError> {
    TimeZone::get(name).map_err(|_unknown| TimetableError::Zone(name.to_owned()))
}

impl Timetable {
    /// The times of `cron` in the zone of that IANA name.
    ///
    /// # Errors
    /// Either makes no sense; in words for whoever wrote it.
    pub fn new(cron: &str, zone_name: &str) -> Result<Self, TimetableError> {
        let cron = Cron::parse(cron).map_err(TimetableError::Cron)?;
        Ok(Self { cron, zone: zone(zone_name)? })
    }

    /// The first moment behind `after`; `None` beyond the calendar.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let millis = i64::try_from(after.as_millis()).ok()?;
        let mut local = self.zone.to_datetime(jiff::Timestamp::from_millisecond(millis).ok()?);
        for _time in 0..LOCAL_TIMES_MAX {
            local = self.cron.next(local)?;
            let moment = self.moment(local)?;
            if moment > after {
                return Some(moment);
            }
        }
        None
    }

    fn moment(&self, local: DateTime) -> Option<Timestamp> {
        let ambiguous = self.zone.to_ambiguous_timestamp(local);
        let moment = match ambiguous.offset() {
            AmbiguousOffset::Gap { .. } => {
                let before = ambiguous.earlier().ok()?;
                self.zone.following(before).next()?.timestamp()
            }
            AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => {
                ambiguous.earlier().ok()?
            }
        };
        u64::try_from(moment.as_millisecond()).ok().map(Timestamp::from_millis)
    }

    /// A moment in local time, as RFC 3339.
    pub fn local(&self, moment: Timestamp) -> String {
        in_zone(&self.zone, moment, "%Y-%m-%dT%H:%M:%S%:z")
    }
}

/// A moment in the zone of that IANA name, date and minute; in UTC if there is no such zone.
pub fn local_minute(zone_name: &str, moment: Timestamp) -> String {
    in_zone(&zone(zone_name).unwrap_or(TimeZone::UTC), moment, "%Y-%m-%d %H:%M")
}

fn in_zone(zone: &TimeZone, moment: Timestamp, format: &str) -> String {
    let millis = i64::try_from(moment.as_millis()).unwrap_or(i64::MAX);
    match jiff::Timestamp::from_millisecond(millis) {
        Ok(time) => time.to_zoned_datetime(zone.clone()).strftime(format).to_string(),
        Err(_beyond_the_calendar) => moment.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        let time: jiff::Timestamp = text.parse().unwrap();
        Timestamp::from_millis(u64::try_from(time.as_millisecond()).unwrap())
    }

    /// The next moments, in local time.
    fn moments(cron: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
        let timetable = Timetable::new(cron, zone).unwrap();
        let mut moment = at(after);
        let mut next = || {
            moment = timetable.next_after(moment).unwrap();
            timetable.local(moment)
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn times_are_local() {
        let found = moments("0 9 * * 1-5", "Asia/Shanghai", "2026-12-04T00:59:59.999Z", 2);
        assert_eq!(found, ["2026-12-04T09:00:00+08:00", "2026-12-07T09:00:00+08:00"]);
        let found = moments("30 9 * * *", "Asia/Kolkata", "2026-12-04T04:00:00Z", 1);
        assert_eq!(found, ["2026-12-05T09:30:00+05:30"]);
        assert_eq!(local_minute("Asia/Shanghai", at("2026-12-04T17:30:00Z")), "2026-12-05 01:30");
    }

    #[test]
    fn what_the_spring_skips_is_due_at_the_first_minute_behind() {
        // 2027-03-28, 02:00 to 03:00 do not exist.
        let found = moments("30 2 * * *", "Europe/Berlin", "2027-03-27T02:00:00Z", 3);
        let expected =
            ["2027-03-28T03:00:00+02:00", "2027-03-29T02:30:00+02:00", "2027-03-30T02:30:00+02:00"];
        assert_eq!(found, expected);
        // Several that fall together are one.
        let found = moments("*/20 2,3 * * *", "Europe/Berlin", "2027-03-28T00:00:00Z", 3);
        let expected =
            ["2027-03-28T03:00:00+02:00", "2027-03-28T03:20:00+02:00", "2027-03-28T03:40:00+02:00"];
        assert_eq!(found, expected);
        // A whole day that a country left out.
        let found = moments("0 9 * * *", "Pacific/Apia", "2011-12-29T20:00:00Z", 2);
        assert_eq!(found, ["2011-12-31T00:00:00+14:00", "2011-12-31T09:00:00+14:00"]);
    }

    #[test]
    fn what_the_autumn_repeats_is_due_once_and_at_the_first() {
        // 2026-10-25, 02:00 to 03:00 come twice.
        let found = moments("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2);
        assert_eq!(found, ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]);
        let found = moments("*/30 * * * *", "Europe/Berlin", "2026-10-24T23:59:00Z", 4);
        let expected = [
            "2026-10-25T02:00:00+02:00",
            "2026-10-25T02:30:00+02:00",
            "2026-10-25T03:00:00+01:00",
            "2026-10-25T03:30:00+01:00",
        ];
        assert_eq!(found, expected);
        // Asked in the middle of the second hour.
        let found = moments("15 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", 1);
        assert_eq!(found, ["2026-10-26T02:15:00+01:00"]);
    }

    #[test]
    fn a_zone_that_nobody_knows_is_named() {
        for zone in ["", "Shanghai", "Asia/Shangai", "GMT+8x"] {
            let error = Timetable::new("0 9 * * *", zone).unwrap_err();
            assert!(error.to_string().contains(&format!("`{zone}`")), "{error}");
        }
        assert!(Timetable::new("0 9 * * *", "UTC").is_ok());
    }
}
