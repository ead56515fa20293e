//! Cron expressions: five fields, as every crontab has them.
//!
//! Written here because it is less than the crates for it bring along: the kept ones carry a
//! second library for calendars and zones, or second versions of what is built already.

use jiff::civil::{Date, DateTime};

/// How many days ahead a time is looked for: 29 February on a given day of the week comes every 28
/// years, and once in 40.
const DAYS_AHEAD_MAX: u32 = 15_000;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// A field: what it is called, and what it may hold.
struct Field {
    name: &'static str,
    least: u32,
    most: u32,
    /// Words for its values, from `least` on.
    words: &'static [&'static str],
}

const MINUTE: Field = Field { name: "minute", least: 0, most: 59, words: &[] };
const HOUR: Field = Field { name: "hour", least: 0, most: 23, words: &[] };
const DAY: Field = Field { name: "day of the month", least: 1, most: 31, words: &[] };
const MONTH: Field = Field { name: "month", least: 1, most: 12, words: &MONTHS };
/// 0 and 7 are Sunday.
const WEEKDAY: Field = Field { name: "day of the week", least: 0, most: 7, words: &WEEKDAYS };

/// Minutes of local time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cron {
    minutes: Values,
    hours: Values,
    days: Values,
    months: Values,
    weekdays: Values,
}

/// The values of a field, a bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Values {
    bits: u64,
    /// It begins with `*`: of the two fields for days the other one decides alone.
    is_star: bool,
}

impl Values {
    fn has(self, value: u32) -> bool {
        self.bits.checked_shr(value).is_some_and(|bits| bits & 1 == 1)
    }

    /// The least value from `from` on.
    fn first_from(self, from: u32) -> Option<u32> {
        let bits = self.bits.checked_shr(from)?;
        (bits != 0).then(|| from + bits.trailing_zeros())
    }
}

impl Cron {
    /// Reads an expression.
    ///
    /// # Errors
    /// What is wrong with it, and what would be right.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields.as_slice() else {
            return Err(format!(
                "it has {} fields; there are five: minute hour day month weekday",
                fields.len()
            ));
        };
        let mut weekdays = WEEKDAY.values(weekdays)?;
        if weekdays.has(WEEKDAY.most) {
            weekdays.bits |= 1;
        }
        let cron = Self {
            minutes: MINUTE.values(minutes)?,
            hours: HOUR.values(hours)?,
            days: DAY.values(days)?,
            months: MONTH.values(months)?,
            weekdays,
        };
        // From a leap year on: whatever comes at all comes within the days ahead.
        let somewhere = jiff::civil::date(2024, 1, 1).at(0, 0, 0, 0);
        match cron.next(somewhere) {
            Some(_time) => Ok(cron),
            None => Err("no day of any year is such a day".to_owned()),
        }
    }

    /// The first minute behind `after` that is one of these.
    pub(super) fn next(&self, after: DateTime) -> Option<DateTime> {
        let mut date = after.date();
        let mut from =
            u32::try_from(after.hour()).ok()? * 60 + u32::try_from(after.minute()).ok()?;
        from += 1;
        for _day in 0..DAYS_AHEAD_MAX {
            if self.has_day(date)
                && let Some((hour, minute)) = self.minute_from(from)
            {
                let (hour, minute) = (i8::try_from(hour).ok()?, i8::try_from(minute).ok()?);
                return Some(date.at(hour, minute, 0, 0));
            }
            date = date.tomorrow().ok()?;
            from = 0;
        }
        None
    }

    /// The first hour and minute from a minute of the day on.
    fn minute_from(&self, from: u32) -> Option<(u32, u32)> {
        let (hour, minute) = (from / 60, from % 60);
        if self.hours.has(hour)
            && let Some(minute) = self.minutes.first_from(minute)
        {
            return Some((hour, minute));
        }
        Some((self.hours.first_from(hour + 1)?, self.minutes.first_from(0)?))
    }

    fn has_day(&self, date: Date) -> bool {
        let has = |values: Values, value: i8| u32::try_from(value).is_ok_and(|it| values.has(it));
        let is_day = has(self.days, date.day());
        let is_weekday = has(self.weekdays, date.weekday().to_sunday_zero_offset());
        // As crontabs have it: where both are given, either is enough.
        let fits = if self.days.is_star || self.weekdays.is_star {
            is_day && is_weekday
        } else {
            is_day || is_weekday
        };
        fits && has(self.months, date.month())
    }
}

impl Field {
    fn values(&self, text: &str) -> Result<Values, String> {
        let mut bits = 0;
        for item in text.split(',') {
            bits |= self.item(item).ok_or_else(|| self.refusal(item))?;
        }
        Ok(Values { bits, is_star: text.starts_with('*') })
    }

    /// `*`, `7`, `mon`, `1-5`, each with a step behind a slash where it is more than one value.
    fn item(&self, item: &str) -> Option<u64> {
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, Some(number(step)?)),
            None => (item, None),
        };
        let (first, last) = match range.split_once('-') {
            _ if range == "*" => (self.least, self.most),
            Some((first, last)) => (self.value(first)?, self.value(last)?),
            None if step.is_some() => return None,
            None => (self.value(range)?, self.value(range)?),
        };
        let step = usize::try_from(step.unwrap_or(1)).ok().filter(|step| *step > 0)?;
        if first > last {
            return None;
        }
        (first..=last)
            .step_by(step)
            .try_fold(0, |bits, value| Some(bits | 1_u64.checked_shl(value)?))
    }

    fn value(&self, text: &str) -> Option<u32> {
        let named = self.words.iter().position(|word| text.eq_ignore_ascii_case(word));
        let value = match named {
            Some(place) => self.least + u32::try_from(place).ok()?,
            None => number(text)?,
        };
        (self.least..=self.most).contains(&value).then_some(value)
    }

    fn refusal(&self, item: &str) -> String {
        let words = match (self.words.first(), self.words.last()) {
            (Some(first), Some(last)) => format!(" or {first} to {last}"),
            _none => String::new(),
        };
        format!(
            "`{item}` is no {}: {} to {}{words}, `*`, ranges like 1-5, steps like */2 and lists \
             with commas",
            self.name, self.least, self.most
        )
    }
}

/// Digits alone: no sign, no blanks.
fn number(text: &str) -> Option<u32> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next_of(cron: &str, after: &str) -> String {
        let cron = Cron::parse(cron).unwrap();
        cron.next(after.parse().unwrap()).unwrap().strftime("%F %H:%M").to_string()
    }

    #[test]
    fn the_next_time_is_found() {
        // 2026-12-01 is a Tuesday.
        let table = [
            ("0 9 * * 1-5", "2026-12-01 08:59:59", "2026-12-01 09:00"),
            ("0 9 * * 1-5", "2026-12-01 09:00:00", "2026-12-02 09:00"),
            ("0 9 * * 1-5", "2026-12-04 09:00:30", "2026-12-07 09:00"),
            ("*/15 * * * *", "2026-12-01 23:46", "2026-12-02 00:00"),
            ("5,50 8-10/2 * * *", "2026-12-01 08:50", "2026-12-01 10:05"),
            ("0 0 29 2 *", "2026-12-01 00:00", "2028-02-29 00:00"),
            ("0 0 29 2 *", "2096-03-01 00:00", "2104-02-29 00:00"),
            ("0 0 31 * *", "2026-11-01 00:00", "2026-12-31 00:00"),
            ("0 8 * * 0", "2026-12-01 00:00", "2026-12-06 08:00"),
            ("0 8 * * 7", "2026-12-01 00:00", "2026-12-06 08:00"),
            ("0 8 * * SUN", "2026-12-01 00:00", "2026-12-06 08:00"),
            ("0 8 * * fri-7", "2026-12-06 08:00", "2026-12-11 08:00"),
            ("0 8 1 jan,JUL *", "2026-12-01 00:00", "2027-01-01 08:00"),
            // Both days given: either will do.
            ("0 8 13 * 5", "2026-12-01 00:00", "2026-12-04 08:00"),
            ("0 8 13 * 5", "2026-12-11 08:00", "2026-12-13 08:00"),
            ("59 23 31 12 *", "2026-12-31 23:59", "2027-12-31 23:59"),
        ];
        for (cron, after, expected) in table {
            assert_eq!(next_of(cron, after), expected, "{cron} after {after}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused_with_the_field() {
        let table = [
            ("", "0 fields"),
            ("0 9 * *", "4 fields"),
            ("0 0 9 * * 1", "6 fields"),
            ("@daily", "1 fields"),
            ("60 9 * * *", "`60` is no minute: 0 to 59"),
            ("-1 9 * * *", "`-1` is no minute"),
            ("0 24 * * *", "`24` is no hour"),
            ("0 9 0 * *", "`0` is no day of the month: 1 to 31"),
            ("0 9 * 13 *", "`13` is no month: 1 to 12 or jan to dec"),
            ("0 9 * * 8", "`8` is no day of the week"),
            ("0 9 * * mo", "`mo` is no day of the week: 0 to 7 or sun to sat"),
            ("0 9 L * *", "`L` is no day of the month"),
            ("0 9 * * 5#2", "`5#2` is no day"),
            ("0 17-9 * * *", "`17-9` is no hour"),
            ("*/0 * * * *", "`*/0` is no minute"),
            ("5/10 * * * *", "`5/10` is no minute"),
            ("1,,2 * * * *", "`` is no minute"),
            ("+5 * * * *", "`+5` is no minute"),
            ("0 0 30 2 *", "no day of any year"),
            ("0 0 31 4,6,9,11 *", "no day of any year"),
        ];
        for (cron, expected) in table {
            let text = Cron::parse(cron).unwrap_err();
            assert!(text.contains(expected), "{cron}: {text}");
        }
    }
}
