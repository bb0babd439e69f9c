//! The rules of a time zone (offsets from UTC and their transitions), and timestamps truncated by them.

use serde::Deserialize;

use super::calendar::{first_of_month, truncate, year_of};
use super::request::Unit;

const SECOND: i64 = 1_000_000;
const DAY_SECONDS: i64 = 86_400;
/// More than a year: truncation never moves a timestamp further. No offset is a whole day.
const LONGEST_CUT: i64 = 370 * DAY_SECONDS * SECOND;
const FARTHEST_CLOCK: i64 = 2 * DAY_SECONDS * SECOND;

/// The rules of a time zone; the default is UTC. All numbers are seconds.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// The offset before the first transition.
    offset: i64,
    /// The transitions and the offsets after them, in order.
    #[serde(default)]
    transitions: Vec<(i64, i64)>,
    /// The yearly transitions after the last one in the list.
    #[serde(default)]
    rules: Vec<Rule>,
    /// Whether the start of a week or longer unit in an overlap keeps the offset of the timestamp, as that of a day
    /// does; otherwise it is the earlier one. Versions of Spark differ.
    #[serde(default)]
    keeps_offset: bool,
}

/// A yearly transition.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    month: i64,
    /// The day of the month; negative days count from its end.
    day: i64,
    /// From Monday, which is 1: the first one from the day on, or the last one up to a negative day.
    weekday: Option<i64>,
    /// The second of the day, at an offset of `shift` from UTC.
    second: i64,
    shift: i64,
    offset: i64,
}

impl Rule {
    /// The transition in a year, in seconds since the epoch.
    fn at(&self, year: i64) -> i64 {
        let day = match self.day {
            1.. => first_of_month(year, self.month) + self.day - 1,
            _ if self.month == 12 => first_of_month(year + 1, 1) + self.day,
            _ => first_of_month(year, self.month + 1) + self.day,
        };
        // the epoch was a Thursday
        let today = (day + 3).rem_euclid(7) + 1;
        let day = match self.weekday {
            Some(weekday) if self.day > 0 => day + (weekday - today).rem_euclid(7),
            Some(weekday) => day - (today - weekday).rem_euclid(7),
            None => day,
        };
        day * DAY_SECONDS + self.second - self.shift
    }
}

/// A transition: its timestamp and the offsets before and after it, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Change {
    at: i64,
    before: i64,
    after: i64,
}

impl Change {
    /// Whether a local time is in the gap or overlap of the transition.
    fn is_about(&self, local: i64) -> bool {
        local >= self.at.saturating_add(self.before.min(self.after)) && local < self.passed()
    }

    /// The end of the gap or overlap in local time.
    fn passed(&self) -> i64 {
        self.at.saturating_add(self.before.max(self.after))
    }
}

/// The transitions of a zone for a range of timestamps.
#[derive(Debug)]
pub struct Span {
    /// The offset before the first transition.
    offset: i64,
    changes: Vec<Change>,
    keeps_offset: bool,
}

impl Clock {
    /// The transitions for truncating timestamps (in microseconds) from `least` to `most`.
    pub fn span(&self, least: i64, most: i64) -> Span {
        let least = least.saturating_sub(LONGEST_CUT);
        let most = most.saturating_add(FARTHEST_CLOCK);
        let until = |limit: i64| {
            self.transitions.partition_point(|(at, _)| at.saturating_mul(SECOND) <= limit)
        };
        let (from, to) = (until(least).saturating_sub(1), until(most));
        let mut found = self.transitions[from..to].to_vec();
        if to == self.transitions.len() {
            found.extend(self.yearly(least, most));
        }
        let first = from.checked_sub(1).map_or(self.offset, |at| self.transitions[at].1);
        let mut before = first * SECOND;
        let change = |(at, after): (i64, i64)| {
            let change = Change { at: at.saturating_mul(SECOND), before, after: after * SECOND };
            before = change.after;
            change
        };
        let changes = found.into_iter().map(change).collect();
        Span { offset: first * SECOND, changes, keeps_offset: self.keeps_offset }
    }

    /// The yearly transitions between two timestamps, including the one before.
    fn yearly(&self, least: i64, most: i64) -> Vec<(i64, i64)> {
        let last = self.transitions.last().map_or(i64::MIN, |(at, _)| *at);
        let first = year_of(least.max(last.saturating_mul(SECOND))) - 2;
        let mut found: Vec<(i64, i64)> = (first..=year_of(most))
            .flat_map(|year| self.rules.iter().map(move |rule| (rule.at(year), rule.offset)))
            .filter(|(at, _)| *at > last)
            .collect();
        found.sort_unstable();
        found
    }
}

impl Span {
    /// The start of the unit that contains a timestamp in local time; the same as Spark's.
    ///
    /// If the start is in an overlap, it has the timestamp's own offset for units up to a day, and that or the
    /// earlier one for longer units. If it is in a gap, it is moved by the length of the gap or, for longer
    /// units, to the end of the gap.
    pub fn truncate(&self, micros: i64, unit: Unit) -> i64 {
        if matches!(unit, Unit::Second | Unit::Millisecond | Unit::Microsecond) {
            return truncate(micros, unit);
        }
        let own = self.offset_at(micros);
        let local = truncate(micros.wrapping_add(own), unit);
        let of_day = matches!(unit, Unit::Day | Unit::Hour | Unit::Minute);
        let keeps = of_day || self.keeps_offset;
        let at = self.changes.partition_point(|change| change.passed() <= local);
        match self.changes.get(at) {
            Some(change) if change.is_about(local) => {
                if change.after > change.before && !of_day {
                    change.at
                } else if change.after < change.before && keeps && own == change.after {
                    local.wrapping_sub(change.after)
                } else {
                    local.wrapping_sub(change.before)
                }
            }
            Some(change) => local.wrapping_sub(change.before),
            None => local.wrapping_sub(self.changes.last().map_or(self.offset, |last| last.after)),
        }
    }

    fn offset_at(&self, micros: i64) -> i64 {
        match self.changes.partition_point(|change| change.at <= micros) {
            0 => self.offset,
            at => self.changes[at - 1].after,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tantivy::time::OffsetDateTime;
    use tantivy::time::format_description::well_known::Rfc3339;

    fn micros(text: &str) -> i64 {
        let time = OffsetDateTime::parse(text, &Rfc3339).expect("a time");
        i64::try_from(time.unix_timestamp_nanos() / 1000).expect("a near time")
    }

    fn cut(clock: &Clock, text: &str, unit: Unit) -> String {
        let at = micros(text);
        let found = clock.span(at, at).truncate(at, unit);
        assert_eq!(found, clock.span(i64::MIN / 4, i64::MAX / 4).truncate(at, unit), "{text}");
        let time = OffsetDateTime::from_unix_timestamp(found / SECOND).expect("a near time");
        time.format(&Rfc3339).expect("a time")
    }

    /// The rules of New York from 2006 on.
    fn new_york() -> Clock {
        serde_json::from_value(serde_json::json!({
            "offset": -18000,
            "transitions": [[1_143_961_200, -14400], [1_162_101_600, -18000]],
            "rules": [
                {"month": 3, "day": 8, "weekday": 7, "second": 7200, "shift": -18000, "offset": -14400},
                {"month": 11, "day": 1, "weekday": 7, "second": 7200, "shift": -14400, "offset": -18000},
            ],
        }))
        .expect("a clock")
    }

    #[test]
    fn timestamps_are_cut_by_the_clocks_of_their_time() {
        let zone = new_york();
        assert_eq!(cut(&zone, "2006-07-04T03:10:00Z", Unit::Day), "2006-07-03T04:00:00Z");
        assert_eq!(cut(&zone, "2006-01-01T03:10:00Z", Unit::Year), "2005-01-01T05:00:00Z");
        assert_eq!(cut(&zone, "2026-11-01T23:10:00Z", Unit::Day), "2026-11-01T04:00:00Z");
        assert_eq!(cut(&zone, "2026-11-02T05:00:00Z", Unit::Day), "2026-11-02T05:00:00Z");
        assert_eq!(cut(&zone, "2026-11-20T05:00:00Z", Unit::Quarter), "2026-10-01T04:00:00Z");
        assert_eq!(cut(&zone, "9020-03-14T06:59:00Z", Unit::Month), "9020-03-01T05:00:00Z");
    }

    #[test]
    fn hours_that_clocks_show_twice_stay_apart() {
        let zone = new_york();
        assert_eq!(cut(&zone, "2026-11-01T05:59:00Z", Unit::Hour), "2026-11-01T05:00:00Z");
        assert_eq!(cut(&zone, "2026-11-01T06:59:00Z", Unit::Hour), "2026-11-01T06:00:00Z");
    }

    #[test]
    fn a_month_that_begins_twice_begins_as_asked() {
        // an overlap from one o'clock to midnight on 1916-10-01, as in Berlin
        let berlin = |keeps: bool| -> Clock {
            serde_json::from_value(serde_json::json!({
                "offset": 7200, "transitions": [[-1_680_483_600, 3600]], "keeps_offset": keeps,
            }))
            .expect("a clock")
        };
        let at = "1916-10-20T12:00:00Z";
        assert_eq!(cut(&berlin(false), at, Unit::Month), "1916-09-30T22:00:00Z");
        assert_eq!(cut(&berlin(true), at, Unit::Month), "1916-09-30T23:00:00Z");
        assert_eq!(cut(&berlin(false), "1916-10-01T12:00:00Z", Unit::Day), "1916-09-30T23:00:00Z");
    }

    #[test]
    fn a_begin_that_clocks_skip_is_the_next_one() {
        // a gap from midnight to one o'clock on 2018-11-04, a Sunday, as in Brazil
        let zone: Clock = serde_json::from_value(serde_json::json!({
            "offset": -10800, "transitions": [[1_541_300_400, -7200]],
        }))
        .expect("a clock");
        assert_eq!(cut(&zone, "2018-11-04T09:00:00Z", Unit::Day), "2018-11-04T03:00:00Z");
        assert_eq!(cut(&zone, "2018-11-05T01:59:00Z", Unit::Day), "2018-11-04T03:00:00Z");
        assert_eq!(cut(&zone, "2018-11-05T01:59:00Z", Unit::Week), "2018-10-29T03:00:00Z");
    }
}
