//! Truncates timestamps to the start of a year, month, week and so on.

use super::request::Unit;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// Days since the epoch of the first day of a month (proleptic Gregorian calendar).
pub fn first_of_month(year: i64, month: i64) -> i64 {
    // years start in March, so that the leap day is the last day of its year
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let day_of_year = (153 * month + 2) / 5;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719_468
}

/// Year and month of a day since the epoch.
fn month_of(day: i64) -> (i64, i64) {
    let day = day + 719_468;
    let era = day.div_euclid(146_097);
    let of_era = day.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let year = year + era * 400 + i64::from(month >= 10);
    (year, if month < 10 { month + 3 } else { month - 9 })
}

/// The year of a timestamp in UTC.
pub fn year_of(micros: i64) -> i64 {
    month_of(micros.div_euclid(DAY)).0
}

/// The start of the unit that contains a timestamp (microseconds since the epoch); weeks start on Monday.
pub fn truncate(micros: i64, unit: Unit) -> i64 {
    let floor = |step: i64| micros - micros.rem_euclid(step);
    let day = micros.div_euclid(DAY);
    let first = |year: i64, month: i64| first_of_month(year, month) * DAY;
    match unit {
        Unit::Microsecond => micros,
        Unit::Millisecond => floor(1000),
        Unit::Second => floor(SECOND),
        Unit::Minute => floor(60 * SECOND),
        Unit::Hour => floor(3600 * SECOND),
        Unit::Day => floor(DAY),
        // the epoch was a Thursday
        Unit::Week => (day - (day + 3).rem_euclid(7)) * DAY,
        Unit::Month => {
            let (year, month) = month_of(day);
            first(year, month)
        }
        Unit::Quarter => {
            let (year, month) = month_of(day);
            first(year, month - (month - 1) % 3)
        }
        Unit::Year => first(month_of(day).0, 1),
    }
}

/// The start of the span of `step` months that contains a timestamp; spans are counted from the year 0.
pub fn truncate_months(micros: i64, step: i64) -> i64 {
    let (year, month) = month_of(micros.div_euclid(DAY));
    let months = year * 12 + month - 1;
    let first = months.div_euclid(step) * step;
    first_of_month(first.div_euclid(12), first.rem_euclid(12) + 1).saturating_mul(DAY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_days_are_cut_right() {
        let at = 1_709_210_096_123_456; // 2024-02-29T12:34:56.123456Z, a Thursday
        let day = |unit| truncate(at, unit) / DAY;
        assert_eq!(day(Unit::Year), 19_723);
        assert_eq!(day(Unit::Quarter), 19_723);
        assert_eq!(day(Unit::Month), 19_754);
        assert_eq!(day(Unit::Week), 19_779);
        assert_eq!(truncate(at, Unit::Minute) % DAY, (12 * 60 + 34) * 60 * SECOND);
        assert_eq!(truncate(-1, Unit::Year), -365 * DAY);
        assert_eq!(truncate_months(at, 1), 19_754 * DAY);
        assert_eq!(truncate_months(at, 12), 19_723 * DAY);
        assert_eq!(truncate_months(at, 5), 19_631 * DAY); // 24,285 months: October 2023
        assert_eq!(truncate_months(-1, 12), -365 * DAY);
    }

    proptest! {
        #[test]
        fn months_and_days_agree_with_the_calendar(day in -700_000i32..2_000_000) {
            use tantivy::time::Date;
            let date = Date::from_julian_day(day + 2_440_588).ok();
            let (year, month) = month_of(i64::from(day));
            if let Some(date) = date {
                prop_assert_eq!((i64::from(date.year()), i64::from(u8::from(date.month()))), (year, month));
                let first = first_of_month(year, month);
                prop_assert_eq!(i64::from(day) - first + 1, i64::from(date.day()));
            }
        }
    }
}
