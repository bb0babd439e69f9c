//! Spans of values as the numbers on disk, and the queries that find rows between two ends.

use std::ops::Bound as End;

use arrow::datatypes::DataType;
use tantivy::query::{EmptyQuery, ExistsQuery, Query, RangeQuery};
use tantivy::{Term, i64_to_u64, u64_to_f64};

use super::leaf::any_of;
use super::literal::{FloatSpan, Span};
use super::ranges::ColumnRange;
use crate::open::Column;
use crate::split::Encoding;
use crate::split::decimals::{LARGEST, decode};

const MICROS_PER_DAY: i128 = 86_400_000_000;

/// The values of a span as the numbers on disk, where the column's type was widened since.
pub fn written_span(column: &Column, span: &Span) -> Span {
    use Encoding as E;
    if column.number_as_text {
        return span.clone();
    }
    match (column.encoding, &column.data_type, span) {
        (
            E::I64 | E::DecimalI64 | E::DecimalBytes,
            DataType::Decimal128(_, scale),
            Span::Whole(low, high),
        ) => rescaled(*low, *high, i32::from(*scale) - i32::from(column.scale)),
        (E::Date | E::DaysI64, DataType::Timestamp(..), Span::Whole(low, high)) => {
            coarser(*low, *high, MICROS_PER_DAY)
        }
        (E::I64, DataType::Float32 | DataType::Float64, Span::Float(span)) => whole_floats(span),
        _ => span.clone(),
    }
}

/// A span of unscaled numbers with fewer digits after the point (or with more, below zero).
fn rescaled(low: i128, high: i128, digits: i32) -> Span {
    let Some(factor) = 10i128.checked_pow(digits.unsigned_abs()) else {
        return Span::Whole(low, high);
    };
    if digits < 0 {
        return Span::Whole(low.saturating_mul(factor), high.saturating_mul(factor));
    }
    coarser(low, high, factor)
}

/// The numbers whose multiples by `factor` lie in a span; open ends stay open.
fn coarser(low: i128, high: i128, factor: i128) -> Span {
    let least = if low == i128::MIN { low } else { -(-low).div_euclid(factor) };
    let most = if high == i128::MAX { high } else { high.div_euclid(factor) };
    if least > most { Span::Empty } else { Span::Whole(least, most) }
}

/// The whole numbers in a span of floats.
fn whole_floats(span: &FloatSpan) -> Span {
    let least = match span.lower {
        None => i128::MIN,
        // NaN is above all of them
        Some((end, _)) if end.is_nan() => return Span::Empty,
        Some((end, inclusive)) => {
            (end.ceil() as i128).saturating_add(i128::from(!inclusive && end.fract() == 0.0))
        }
    };
    let most = match span.upper {
        None => i128::MAX,
        Some((end, _)) if end.is_nan() => i128::MAX,
        Some((end, inclusive)) => {
            (end.floor() as i128).saturating_sub(i128::from(!inclusive && end.fract() == 0.0))
        }
    };
    if least > most { Span::Empty } else { Span::Whole(least, most) }
}

pub fn text_end<T>(end: Option<(T, bool)>, term: impl Fn(T) -> Term) -> End<Term> {
    match end {
        None => End::Unbounded,
        Some((value, true)) => End::Included(term(value)),
        Some((value, false)) => End::Excluded(term(value)),
    }
}

pub fn fast_range(lower: End<Term>, upper: End<Term>) -> Box<dyn Query> {
    ColumnRange::boxed(lower, upper)
}

pub fn range_query(column: &Column, lower: End<Term>, upper: End<Term>) -> Box<dyn Query> {
    if lower == End::Unbounded && upper == End::Unbounded {
        return Box::new(ExistsQuery::new(column.written_name.clone(), false));
    }
    if column.fast {
        return fast_range(lower, upper);
    }
    Box::new(RangeQuery::new(lower, upper))
}

/// The rows whose double is in a span, found among the whole numbers that stand for them: none is a NaN.
pub fn decimals(column: &Column, span: FloatSpan) -> Box<dyn Query> {
    // the first whole number whose double is beyond an end
    let first = |beyond: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (-LARGEST, LARGEST);
        while low < high {
            let middle = low + (high - low) / 2;
            if beyond(decode(middle, column.scale as u8)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    };
    let least = span.lower.map_or(-LARGEST, |(end, inclusive)| {
        first(&|value| value > end || (inclusive && value == end))
    });
    let most = span.upper.filter(|(end, _)| !end.is_nan()).map_or(LARGEST, |(end, inclusive)| {
        first(&|value| value > end || (!inclusive && value == end)) - 1
    });
    if least > most {
        return Box::new(EmptyQuery);
    }
    // tantivy compares the bits of a term with those of the column, and the field is one of doubles
    let term = |whole| Term::from_field_f64(column.field, u64_to_f64(i64_to_u64(whole)));
    fast_range(End::Included(term(least)), End::Included(term(most)))
}

/// Two zeros are one number and every NaN is the greatest, wherever its bits sort it.
pub fn floats(column: &Column, span: FloatSpan) -> Box<dyn Query> {
    let term = |value: f64| Term::from_field_f64(column.field, value);
    let zero = |value: f64, sign: f64| if value == 0.0 { 0.0f64.copysign(sign) } else { value };
    let with_nan = match span.upper {
        None => true,
        Some((end, inclusive)) => end.is_nan() && inclusive,
    };
    let lower = match span.lower {
        None => End::Included(term(f64::NEG_INFINITY)),
        // only NaN is at or beyond NaN
        Some((end, inclusive)) if end.is_nan() => {
            if !inclusive || !with_nan {
                return Box::new(EmptyQuery);
            }
            End::Excluded(term(f64::INFINITY))
        }
        Some((end, true)) => End::Included(term(zero(end, -1.0))),
        Some((end, false)) => End::Excluded(term(zero(end, 1.0))),
    };
    let upper = match span.upper {
        // a NaN with a positive sign sorts above infinity
        _ if with_nan => End::Unbounded,
        Some((end, true)) => End::Included(term(zero(end, 1.0))),
        Some((end, false)) if !end.is_nan() => End::Excluded(term(zero(end, -1.0))),
        _ => End::Included(term(f64::INFINITY)),
    };
    let mut parts = vec![range_query(column, lower, upper)];
    if with_nan {
        let low_end = End::Excluded(term(f64::NEG_INFINITY));
        parts.push(range_query(column, End::Unbounded, low_end));
    }
    any_of(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_a_wider_type_are_found_among_the_numbers_on_disk() {
        assert_eq!(coarser(-250, 250, 100), Span::Whole(-2, 2));
        assert_eq!(coarser(101, 199, 100), Span::Empty);
        assert_eq!(coarser(i128::MIN, 99, 100), Span::Whole(i128::MIN, 0));
        assert_eq!(rescaled(-250, 250, 2), coarser(-250, 250, 100));
        assert_eq!(rescaled(1, 2, -2), Span::Whole(100, 200));
    }

    #[test]
    fn spans_of_floats_hold_the_whole_numbers_in_them() {
        let span = |lower, upper| whole_floats(&FloatSpan { lower, upper });
        assert_eq!(span(Some((0.5, true)), Some((3.0, false))), Span::Whole(1, 2));
        assert_eq!(span(Some((1.0, false)), None), Span::Whole(2, i128::MAX));
        assert_eq!(span(None, Some((f64::NAN, false))), Span::Whole(i128::MIN, i128::MAX));
        assert_eq!(span(Some((f64::NAN, true)), None), Span::Empty);
        assert_eq!(span(Some((0.25, true)), Some((0.75, true))), Span::Empty);
    }
}
