//! Loops that add the values of a block to the states of their groups.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Decimal128Type, Int64Type};

use super::raw::Block;
use crate::columns::convert::whole_values;
use crate::error::Result;
use crate::query::compare_floats;

/// Which group each row of a block belongs to.
pub enum Groups<'a> {
    /// All rows to group 0.
    One(usize),
    Many(&'a [u32]),
}

/// Calls `visit` with the group of every value that is not null.
#[inline]
pub fn for_each<T>(
    values: &[T],
    nulls: Option<&NullBuffer>,
    groups: &Groups<'_>,
    mut visit: impl FnMut(usize, &T),
) {
    match (groups, nulls) {
        (Groups::One(_), None) => values.iter().for_each(|value| visit(0, value)),
        (Groups::One(_), Some(nulls)) => {
            nulls.valid_indices().for_each(|row| visit(0, &values[row]));
        }
        (Groups::Many(groups), None) => {
            groups.iter().zip(values).for_each(|(&group, value)| visit(group as usize, value));
        }
        (Groups::Many(groups), Some(nulls)) => {
            nulls.valid_indices().for_each(|row| visit(groups[row] as usize, &values[row]));
        }
    }
}

pub fn count(counts: &mut [i64], block: Option<&Block>, groups: &Groups<'_>) {
    let nulls = match block {
        Some(Block::Absent) => return,
        Some(block) => block.nulls(),
        None => None,
    };
    match (groups, nulls) {
        (Groups::One(rows), None) => counts[0] += *rows as i64,
        (Groups::One(rows), Some(nulls)) => counts[0] += (*rows - nulls.null_count()) as i64,
        (Groups::Many(groups), None) => {
            groups.iter().for_each(|&group| counts[group as usize] += 1);
        }
        (Groups::Many(groups), Some(nulls)) => {
            nulls.valid_indices().for_each(|row| counts[groups[row] as usize] += 1);
        }
    }
}

pub fn sum_numbers(
    sums: &mut [i128],
    seen: &mut [bool],
    values: &[i64],
    nulls: Option<&NullBuffer>,
    groups: &Groups<'_>,
) {
    if let (Groups::One(_), None) = (groups, nulls) {
        sums[0] += values.iter().map(|&value| i128::from(value)).sum::<i128>();
        seen[0] |= !values.is_empty();
        return;
    }
    for_each(values, nulls, groups, |group, &value| {
        sums[group] += i128::from(value);
        seen[group] = true;
    });
}

pub fn sum_floats(
    sums: &mut [f64],
    seen: &mut [bool],
    values: &[f64],
    nulls: Option<&NullBuffer>,
    groups: &Groups<'_>,
) {
    if let (Groups::One(_), None) = (groups, nulls) {
        // four independent sums run in parallel
        let (fours, rest) = values.as_chunks::<4>();
        let mut lanes = [0.0f64; 4];
        for four in fours {
            for (lane, value) in lanes.iter_mut().zip(four) {
                *lane += value;
            }
        }
        sums[0] += lanes.iter().sum::<f64>() + rest.iter().sum::<f64>();
        seen[0] |= !values.is_empty();
        return;
    }
    for_each(values, nulls, groups, |group, &value| {
        sums[group] += value;
        seen[group] = true;
    });
}

/// NaN is the greatest number.
pub fn extreme_float(
    best: &mut [f64],
    seen: &mut [bool],
    wants: Ordering,
    values: &[f64],
    nulls: Option<&NullBuffer>,
    groups: &Groups<'_>,
) {
    let smaller = wants == Ordering::Less;
    if let (Groups::One(_), None) = (groups, nulls)
        && !values.is_empty()
    {
        let found = if smaller { smallest(values) } else { greatest(values) };
        if !seen[0] || compare_floats(found, best[0]) == wants {
            best[0] = found;
            seen[0] = true;
        }
        return;
    }
    if smaller {
        for_each(values, nulls, groups, |group, &value| {
            let held = &mut best[group];
            if value < *held || held.is_nan() || !seen[group] {
                *held = value;
                seen[group] = true;
            }
        });
    } else {
        for_each(values, nulls, groups, |group, &value| {
            let held = &mut best[group];
            if value > *held || value.is_nan() || !seen[group] {
                *held = value;
                seen[group] = true;
            }
        });
    }
}

/// Four comparisons at once; NaN loses each, so it is the result only if there is nothing else.
fn smallest(values: &[f64]) -> f64 {
    let (fours, rest) = values.as_chunks::<4>();
    let mut lanes = [f64::INFINITY; 4];
    for four in fours {
        for (lane, &value) in lanes.iter_mut().zip(four) {
            *lane = if value < *lane { value } else { *lane };
        }
    }
    let found = lanes.iter().chain(rest).copied().fold(f64::INFINITY, f64::min);
    if found < f64::INFINITY || values.contains(&f64::INFINITY) { found } else { f64::NAN }
}

fn greatest(values: &[f64]) -> f64 {
    let (fours, rest) = values.as_chunks::<4>();
    let mut lanes = [f64::NEG_INFINITY; 4];
    let mut nan = [false; 4];
    for four in fours {
        for at in 0..4 {
            let value = four[at];
            lanes[at] = if value > lanes[at] { value } else { lanes[at] };
            nan[at] |= value.is_nan();
        }
    }
    if nan.contains(&true) || rest.iter().any(|v| v.is_nan()) {
        return f64::NAN;
    }
    lanes.iter().chain(rest).copied().fold(f64::NEG_INFINITY, f64::max)
}

pub fn sum_array(
    sums: &mut [i128],
    seen: &mut [bool],
    overflow: &mut [bool],
    array: &ArrayRef,
    groups: &Groups<'_>,
) -> Result<()> {
    let mut add = |group: usize, value: i128| {
        seen[group] = true;
        match sums[group].checked_add(value) {
            Some(sum) => sums[group] = sum,
            None => overflow[group] = true,
        }
    };
    if matches!(array.data_type(), DataType::Decimal128(..)) {
        let values = array.as_primitive::<Decimal128Type>();
        for_each(values.values(), values.nulls(), groups, |group, &value| add(group, value));
    } else {
        let values = whole_values(array)?;
        let values = values.as_primitive::<Int64Type>();
        for_each(values.values(), values.nulls(), groups, |g, &value| add(g, i128::from(value)));
    }
    Ok(())
}

#[inline]
pub fn extreme<T: Copy>(
    best: &mut [i64],
    seen: &mut [bool],
    wants: Ordering,
    values: &[T],
    nulls: Option<&NullBuffer>,
    groups: &Groups<'_>,
    number: impl Fn(T) -> i64,
) {
    if let (Groups::One(_), None) = (groups, nulls) {
        let found = values.iter().map(|&v| number(v));
        let found = if wants == Ordering::Less { found.min() } else { found.max() };
        if let Some(value) = found
            && (!seen[0] || value.cmp(&best[0]) == wants)
        {
            best[0] = value;
            seen[0] = true;
        }
        return;
    }
    for_each(values, nulls, groups, |group, &value| {
        let value = number(value);
        if !seen[group] || value.cmp(&best[group]) == wants {
            best[group] = value;
            seen[group] = true;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn four_at_once_find_the_same_extremes(values in proptest::collection::vec(
            proptest::sample::select(vec![
                0.0, 1.5, -3.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY,
            ]), 1..20)) {
            let least = values.iter().copied().min_by(|a, b| compare_floats(*a, *b));
            let most = values.iter().copied().max_by(|a, b| compare_floats(*a, *b));
            let same = |a: f64, b: Option<f64>| {
                b.is_some_and(|b| compare_floats(a, b) == Ordering::Equal)
            };
            prop_assert!(same(smallest(&values), least));
            prop_assert!(same(greatest(&values), most));
        }
    }
}
