//! Timestamps relative to now: `now`, `now-1h`, `now+30m`, `now-1d/d` (rounded down to the day), in UTC.

use tantivy::time::{Month, OffsetDateTime};

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// Microseconds since the epoch of such an expression; None if it is not one.
pub fn evaluate(text: &str, now: i64) -> Option<i64> {
    let mut rest = text.strip_prefix("now")?;
    let mut at = now;
    while let Some(sign) = rest.chars().next() {
        rest = &rest[sign.len_utf8()..];
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, tail) = rest.split_at(digits);
        let unit = tail.chars().next()?;
        rest = &tail[unit.len_utf8()..];
        at = match sign {
            '/' if number.is_empty() => round(at, unit)?,
            '+' | '-' => {
                let amount: i64 = if number.is_empty() { 1 } else { number.parse().ok()? };
                add(at, if sign == '-' { -amount } else { amount }, unit)?
            }
            _ => return None,
        };
    }
    Some(at)
}

/// The time as the query language reads it.
pub fn render(at: i64) -> Option<String> {
    let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(at) * 1000).ok()?;
    let (year, month, day) = (time.year(), u8::from(time.month()), time.day());
    let (hour, minute, second, micros) = time.to_hms_micro();
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z"))
}

/// The length of a unit, if it is fixed.
fn fixed(unit: char) -> Option<i64> {
    Some(match unit {
        's' => SECOND,
        'm' => 60 * SECOND,
        'h' => 3600 * SECOND,
        'd' => DAY,
        'w' => 7 * DAY,
        _ => return None,
    })
}

fn add(at: i64, amount: i64, unit: char) -> Option<i64> {
    match (fixed(unit), unit) {
        (Some(length), _) => at.checked_add(amount.checked_mul(length)?),
        (None, 'M') => add_months(at, amount),
        (None, 'y') => add_months(at, amount.checked_mul(12)?),
        _ => None,
    }
}

/// The same day of another month, or its last day if it is shorter.
fn add_months(at: i64, months: i64) -> Option<i64> {
    let date = date_of(at)?;
    let month = i64::from(date.year()) * 12 + i64::from(u8::from(date.month())) - 1;
    let month = month.checked_add(months)?;
    let year = i32::try_from(month.div_euclid(12)).ok()?;
    let of_year = Month::try_from(u8::try_from(month.rem_euclid(12)).ok()? + 1).ok()?;
    let day = date.day().min(of_year.length(year));
    let moved = tantivy::time::Date::from_calendar_date(year, of_year, day).ok()?;
    let days = i64::from(moved.to_julian_day()) - i64::from(date.to_julian_day());
    at.checked_add(days.checked_mul(DAY)?)
}

fn round(at: i64, unit: char) -> Option<i64> {
    let midnight = at - at.rem_euclid(DAY);
    let date = date_of(at)?;
    Some(match (unit, fixed(unit)) {
        // the epoch was a Thursday, weeks start on Monday
        ('w', _) => midnight - (midnight / DAY + 3).rem_euclid(7) * DAY,
        (_, Some(length)) => at - at.rem_euclid(length),
        ('M', _) => midnight - i64::from(date.day() - 1) * DAY,
        ('y', _) => midnight - i64::from(date.ordinal() - 1) * DAY,
        _ => return None,
    })
}

fn date_of(at: i64) -> Option<tantivy::time::Date> {
    OffsetDateTime::from_unix_timestamp(at.div_euclid(SECOND)).ok().map(OffsetDateTime::date)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::text::iso_micros;

    #[test]
    fn times_are_relative_to_now() {
        let now = iso_micros("2024-02-29T12:34:56.5Z").expect("a time");
        let cases = [
            ("now", "2024-02-29T12:34:56.5Z"),
            ("now-1h", "2024-02-29T11:34:56.5Z"),
            ("now+90s", "2024-02-29T12:36:26.5Z"),
            ("now-d", "2024-02-28T12:34:56.5Z"),
            ("now/d", "2024-02-29T00:00:00Z"),
            ("now-1d/d", "2024-02-28T00:00:00Z"),
            ("now/d+8h-1m", "2024-02-29T07:59:00Z"),
            ("now/w", "2024-02-26T00:00:00Z"),
            ("now/M", "2024-02-01T00:00:00Z"),
            ("now/y", "2024-01-01T00:00:00Z"),
            ("now-1y", "2023-02-28T12:34:56.5Z"),
            ("now+1M", "2024-03-29T12:34:56.5Z"),
            ("now-12M/M", "2023-02-01T00:00:00Z"),
        ];
        for (text, expected) in cases {
            assert_eq!(evaluate(text, now), iso_micros(expected), "{text}");
        }
        for bad in [
            "",
            "tomorrow",
            "now-",
            "now-1",
            "now-1x",
            "now 1h",
            "now/2d",
            "nowish",
            "now-9999999999y",
        ] {
            assert_eq!(evaluate(bad, now), None, "{bad}");
        }
    }
}
