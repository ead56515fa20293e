//! The rules for what is due, case by case.

use super::*;

fn at(text: &str) -> Timestamp {
    let time: jiff::Timestamp = format!("{text}Z").replace(' ', "T").parse().unwrap();
    Timestamp::from_millis(u64::try_from(time.as_millisecond()).unwrap())
}

fn misfire(text: &str) -> Misfire {
    let (policy, hours) = text.split_once(' ').unwrap();
    Misfire {
        policy: match policy {
            "skip" => MisfireWord::Skip,
            "once" => MisfireWord::Once,
            "all" => MisfireWord::All,
            other => panic!("{other}"),
        },
        within: Duration::from_secs(3600 * hours.parse::<u64>().unwrap()),
    }
}

/// What runs (without the date if it is that of `now`), what was missed, and what comes next.
fn decided(zone: &str, (cron, rule): (&str, &str), last: &str, now: &str) -> (String, u64, String) {
    let timetable = Timetable::new(cron, zone).unwrap();
    let due = due(&timetable, misfire(rule), at(last), at(now));
    let text = |time: &Timestamp| time.to_string().replace(":00.000Z", "").replace('T', " ");
    let run: Vec<String> = due.run.iter().map(text).collect();
    assert!(due.next.is_none_or(|next| next > due.until), "{due:?}");
    (run.join(","), due.missed, due.next.map(|next| text(&next)).unwrap_or_default())
}

/// Cron, rule, the last time decided about, now; then what is run, how many were missed, and the
/// next time. Lines that begin with `#` say what happens.
const TABLE: &str = "
# Nothing is due.
0 9 * * *|once 2|2026-12-01 09:00|2026-12-02 08:59:59.999||0|2026-12-02 09:00
# It is nine.
0 9 * * *|once 2|2026-12-01 09:00|2026-12-02 09:00|2026-12-02 09:00|0|2026-12-03 09:00
0 9 * * *|skip 2|2026-12-01 09:00|2026-12-02 09:00|2026-12-02 09:00|0|2026-12-03 09:00
0 9 * * *|all 2|2026-12-01 09:00|2026-12-02 09:00|2026-12-02 09:00|0|2026-12-03 09:00
# It was nine; that is decided.
0 9 * * *|all 2|2026-12-02 09:00|2026-12-02 09:00:01||0|2026-12-03 09:00
# A start after nine.
0 9 * * *|once 2|2026-12-01 09:00|2026-12-02 11:00|2026-12-02 09:00|0|2026-12-03 09:00
0 9 * * *|once 2|2026-12-01 09:00|2026-12-02 11:00:00.001||1|2026-12-03 09:00
0 9 * * *|skip 2|2026-12-01 09:00|2026-12-02 09:01|2026-12-02 09:00|0|2026-12-03 09:00
0 9 * * *|skip 2|2026-12-01 09:00|2026-12-02 09:01:01||1|2026-12-03 09:00
# The daemon was down for days.
0 9 * * *|once 2|2026-12-01 09:00|2026-12-05 10:00|2026-12-05 09:00|3|2026-12-06 09:00
0 9 * * *|once 2|2026-12-01 09:00|2026-12-05 20:00||4|2026-12-06 09:00
0 9 * * *|all 24|2026-12-01 09:00|2026-12-05 09:00|2026-12-04 09:00,2026-12-05 09:00|2|2026-12-06 09:00
# The clock goes forward by hours.
0 * * * *|all 2|2026-12-02 09:00|2026-12-02 15:30|2026-12-02 14:00,2026-12-02 15:00|4|2026-12-02 16:00
0 * * * *|once 2|2026-12-02 09:00|2026-12-02 15:30|2026-12-02 15:00|5|2026-12-02 16:00
# It goes back: what was run does not come again.
0 * * * *|all 2|2026-12-02 15:00|2026-12-02 09:00||0|2026-12-02 16:00
# It was wrong by years.
0 * * * *|all 2|2036-12-02 15:00|2026-12-02 09:10||0|2026-12-02 10:00
# 29 February.
0 9 29 2 *|once 2|2028-02-28 09:00|2028-02-29 09:00|2028-02-29 09:00|0|2032-02-29 09:00
0 9 29 2 *|once 2|2028-02-29 09:00|2031-12-31 09:00||0|2032-02-29 09:00
";

#[test]
fn each_time_is_run_when_it_is_there_and_what_was_missed_as_the_rule_says() {
    for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('|').collect();
        let [cron, rule, last, now, run, missed, next] = cells.as_slice() else { panic!("{line}") };
        let expected = ((*run).to_owned(), missed.parse().unwrap(), (*next).to_owned());
        assert_eq!(decided("UTC", (cron, rule), last, now), expected, "{line}");
    }
}

#[test]
fn changes_of_the_clock_neither_lose_nor_double_a_time() {
    let rule = ("30 2 * * *", "once 2");
    let berlin = |last, now| decided("Europe/Berlin", rule, last, now);
    // In spring 02:30 is 03:00, which is one o'clock in UTC.
    let next = "2027-03-28 01:00".to_owned();
    assert_eq!(berlin("2027-03-27 01:30", "2027-03-28 00:59:59"), (String::new(), 0, next.clone()));
    let behind = "2027-03-29 00:30".to_owned();
    assert_eq!(berlin("2027-03-27 01:30", "2027-03-28 01:00"), (next, 0, behind.clone()));
    assert_eq!(berlin("2027-03-28 01:00", "2027-03-28 01:30"), (String::new(), 0, behind));
    // In autumn the first 02:30 counts, at half past midnight in UTC.
    let first = "2026-10-25 00:30".to_owned();
    let behind = "2026-10-26 01:30".to_owned();
    assert_eq!(berlin("2026-10-24 00:30", "2026-10-25 00:30"), (first, 0, behind.clone()));
    assert_eq!(berlin("2026-10-25 00:30", "2026-10-25 01:30"), (String::new(), 0, behind));
}

#[test]
fn what_is_made_up_for_and_what_is_counted_is_bounded() {
    let minutely = Timetable::new("* * * * *", "UTC").unwrap();
    let (last, now) = (at("2020-01-01 00:00"), at("2026-12-02 09:00"));
    let found = due(&minutely, misfire("all 24"), last, now);
    assert_eq!(found.run.len(), MADE_UP_MAX);
    assert_eq!(found.run.last(), Some(&now));
    assert_eq!(found.missed, MISSED_COUNTED_MAX + 24 * 60 + 1 - 24);
    assert_eq!((found.until, found.next), (now, Some(at("2026-12-02 09:01"))));
}
