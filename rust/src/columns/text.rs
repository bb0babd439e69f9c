//! Parses numbers, dates and timestamps from strings.

use arrow::datatypes::DataType;
use tantivy::time::{Date, Month, PrimitiveDateTime, Time};

use super::convert::MICROS_PER_DAY;

const EPOCH_JULIAN: i64 = 2_440_588;

/// A whole number of the type: digits, or a date or time in ISO form (days, microseconds).
pub fn whole(text: &str, target: &DataType) -> Option<i64> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    match target {
        DataType::Date32 => iso_date(text.get(..10).unwrap_or(text)).map(i64::from),
        DataType::Timestamp(..) => iso_micros(text),
        _ => None,
    }
}

pub fn float(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" | "inf" => Some(f64::INFINITY),
        "-Infinity" | "-inf" => Some(f64::NEG_INFINITY),
        _ => text.parse().ok(),
    }
}

/// Days since the epoch of `yyyy-MM-dd`.
pub fn iso_date(text: &str) -> Option<i32> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut parts = digits.split('-');
    let year: i32 = number(parts.next()?, 4..=6)?;
    let month: u8 = number(parts.next()?, 1..=2)?;
    let day: u8 = number(parts.next()?, 1..=2)?;
    if parts.next().is_some() {
        return None;
    }
    let year = if negative { -year } else { year };
    let date = Date::from_calendar_date(year, Month::try_from(month).ok()?, day).ok()?;
    i32::try_from(i64::from(date.to_julian_day()) - EPOCH_JULIAN).ok()
}

fn number<T: std::str::FromStr>(digits: &str, len: std::ops::RangeInclusive<usize>) -> Option<T> {
    let plain = len.contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    if plain { digits.parse().ok() } else { None }
}

/// Microseconds since the epoch of `yyyy-MM-dd[(T| )HH:mm[:ss[.f]][zone]]`, UTC without a zone.
pub fn iso_micros(text: &str) -> Option<i64> {
    let cut = text.find(['T', 't', ' ']).unwrap_or(text.len());
    let days = i64::from(iso_date(&text[..cut])?);
    let midnight = days.checked_mul(MICROS_PER_DAY)?;
    if cut == text.len() {
        return Some(midnight);
    }
    let clock = &text[cut + 1..];
    let zone_at = clock.find(['Z', 'z', '+', '-']).unwrap_or(clock.len());
    let offset = zone_seconds(&clock[zone_at..])?;
    let (seconds, fraction) = clock_parts(&clock[..zone_at])?;
    midnight.checked_add((seconds - offset) * 1_000_000 + fraction)
}

fn clock_parts(clock: &str) -> Option<(i64, i64)> {
    let (whole, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut parts = whole.split(':');
    let hour: u8 = number(parts.next()?, 1..=2)?;
    let minute: u8 = number(parts.next()?, 1..=2)?;
    let second: u8 = parts.next().map_or(Some(0), |s| number(s, 1..=2))?;
    if parts.next().is_some() || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let time = Time::from_hms(hour, minute, second).ok()?;
    let seconds = PrimitiveDateTime::new(Date::from_julian_day(EPOCH_JULIAN as i32).ok()?, time);
    let micros = format!("{fraction:0<6}");
    let micros = micros.get(..6)?.parse().ok()?;
    Some((seconds.assume_utc().unix_timestamp(), micros))
}

fn zone_seconds(zone: &str) -> Option<i64> {
    let sign = match zone.chars().next() {
        None | Some('Z' | 'z') => return (zone.len() <= 1).then_some(0),
        Some('-') => -1,
        Some(_) => 1,
    };
    let digits: String = zone[1..].chars().filter(|c| *c != ':').collect();
    let hours: i64 = number(digits.get(..2)?, 2..=2)?;
    let minutes: i64 = if digits.len() == 2 { 0 } else { number(&digits[2..], 2..=2)? };
    Some(sign * (hours * 3600 + minutes * 60))
}

/// The unscaled value of a decimal string at a scale; `None` if it is not a number or loses digits.
pub fn decimal(text: &str, scale: i8) -> Option<i128> {
    let (digits, written) = unscaled(text)?;
    rescale(digits, written, scale)
}

/// Digits without the point and how many of them come after it; exponents are understood.
pub fn unscaled(text: &str) -> Option<(i128, i8)> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let negative = whole.starts_with('-');
    let whole = whole.strip_prefix(['-', '+']).unwrap_or(whole);
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut number = 0i128;
    for byte in whole.bytes().chain(fraction.bytes()) {
        if !byte.is_ascii_digit() {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(i128::from(byte - b'0'))?;
    }
    let scale = i8::try_from(i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?).ok()?;
    Some((if negative { -number } else { number }, scale))
}

/// The same number with another number of digits after the point, if it has one.
pub fn rescale(number: i128, from: i8, to: i8) -> Option<i128> {
    let steps = i32::from(to) - i32::from(from);
    let factor = 10i128.checked_pow(steps.unsigned_abs())?;
    if steps >= 0 {
        return number.checked_mul(factor);
    }
    (number % factor == 0).then_some(number / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_read() {
        assert_eq!(iso_date("1970-01-02"), Some(1));
        assert_eq!(iso_date("0001-01-01"), Some(-719_162));
        assert_eq!(iso_date("2024-02-30"), None);
        assert_eq!(iso_micros("1970-01-01T00:00:01.5Z"), Some(1_500_000));
        assert_eq!(iso_micros("1970-01-01 01:00:00+01:00"), Some(0));
        assert_eq!(iso_micros("1969-12-31T23:59:59.999999"), Some(-1));
        assert_eq!(iso_micros("1970-01-01T25:00"), None);
    }

    #[test]
    fn decimals_keep_every_digit() {
        assert_eq!(decimal("12.30", 2), Some(1230));
        assert_eq!(decimal("-0.5", 3), Some(-500));
        assert_eq!(decimal("1E+3", 0), Some(1000));
        assert_eq!(decimal("1.25", 1), None);
        assert_eq!(decimal("x", 1), None);
    }
}
