//! Counts, sums and extremes per group.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Float64Array, Int64Array,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Float64Type};
use arrow::row::{OwnedRow, RowConverter, SortField};

use super::accumulate::{
    Groups, count, extreme, extreme_float, for_each, sum_array, sum_floats, sum_numbers,
};
use super::raw::{Block, Raw};
use super::request::Function;
use crate::columns::convert::{cast, from_whole};
use crate::columns::text::rescale;
use crate::error::{EngineError, Result};
use crate::open::Column;
use crate::query::KindOf;

/// The state of one function for all groups.
pub enum State {
    Count(Vec<i64>),
    SumWhole {
        sums: Vec<i128>,
        seen: Vec<bool>,
        overflow: Vec<bool>,
        scale: i8,
    },
    SumFloat {
        sums: Vec<f64>,
        seen: Vec<bool>,
    },
    /// Smallest or largest number on disk, or position in a dictionary.
    Whole {
        best: Vec<i64>,
        seen: Vec<bool>,
        wants: Ordering,
        terms: bool,
    },
    Float {
        best: Vec<f64>,
        seen: Vec<bool>,
        wants: Ordering,
    },
    Rows(Box<RowState>),
    /// The column has no value here.
    Nothing(usize),
}

pub struct RowState {
    converter: RowConverter,
    best: Vec<Option<OwnedRow>>,
    wants: Ordering,
}

impl State {
    pub fn new(function: &Function, column: Option<&Column>, raw: &Raw) -> Result<State> {
        let wants = match function {
            Function::CountStar | Function::Count { .. } => return Ok(State::Count(Vec::new())),
            Function::Sum { .. } => return sum_state(column, raw),
            Function::Min { .. } => Ordering::Less,
            Function::Max { .. } => Ordering::Greater,
        };
        let Some(column) = column else {
            return Ok(State::Nothing(0));
        };
        let (best, seen) = (Vec::new(), Vec::new());
        Ok(match raw {
            Raw::Absent => State::Nothing(0),
            Raw::F64(_) => State::Float { best: Vec::new(), seen, wants },
            Raw::Terms(_) => State::Whole { best, seen, wants, terms: true },
            Raw::Arrays(_) => {
                let converter = RowConverter::new(vec![SortField::new(column.data_type.clone())])?;
                State::Rows(Box::new(RowState { converter, best: Vec::new(), wants }))
            }
            _ => State::Whole { best, seen, wants, terms: false },
        })
    }

    /// Makes room for new groups.
    pub fn resize(&mut self, groups: usize) {
        match self {
            State::Count(counts) => counts.resize(groups, 0),
            State::SumWhole { sums, seen, overflow, .. } => {
                sums.resize(groups, 0);
                seen.resize(groups, false);
                overflow.resize(groups, false);
            }
            State::SumFloat { sums, seen } => {
                sums.resize(groups, 0.0);
                seen.resize(groups, false);
            }
            State::Whole { best, seen, .. } => {
                best.resize(groups, 0);
                seen.resize(groups, false);
            }
            State::Float { best, seen, .. } => {
                best.resize(groups, 0.0);
                seen.resize(groups, false);
            }
            State::Rows(rows) => rows.best.resize(groups, None),
            State::Nothing(count) => *count = groups,
        }
    }

    /// Adds a block of values; for a count of rows there is no block.
    pub fn update(&mut self, block: Option<&Block>, groups: &Groups<'_>) -> Result<()> {
        match self {
            State::Count(counts) => count(counts, block, groups),
            State::SumWhole { sums, seen, overflow, .. } => match block {
                Some(Block::Numbers(values, nulls)) => {
                    sum_numbers(sums, seen, values, nulls.as_ref(), groups);
                }
                Some(Block::Array(array)) => sum_array(sums, seen, overflow, array, groups)?,
                _ => {}
            },
            State::SumFloat { sums, seen } => match block {
                Some(Block::Floats(values, nulls)) => {
                    sum_floats(sums, seen, values, nulls.as_ref(), groups);
                }
                Some(Block::Array(array)) => {
                    let floats = cast(array, &DataType::Float64)?;
                    let floats = floats.as_primitive::<Float64Type>();
                    sum_floats(sums, seen, floats.values(), floats.nulls(), groups);
                }
                _ => {}
            },
            State::Whole { best, seen, wants, .. } => match block {
                Some(Block::Numbers(values, nulls)) => {
                    extreme(best, seen, *wants, values, nulls.as_ref(), groups, |v| v);
                }
                Some(Block::Terms(ords, nulls)) => {
                    extreme(best, seen, *wants, ords, nulls.as_ref(), groups, i64::from);
                }
                _ => {}
            },
            State::Float { best, seen, wants } => {
                if let Some(Block::Floats(values, nulls)) = block {
                    extreme_float(best, seen, *wants, values, nulls.as_ref(), groups);
                }
            }
            State::Rows(rows) => {
                if let Some(Block::Array(array)) = block {
                    rows.update(array, groups)?;
                }
            }
            State::Nothing(_) => {}
        }
        Ok(())
    }

    /// The result per group, in the wanted type.
    pub fn finish(
        self,
        raw: &Raw,
        column: Option<&Column>,
        target: &DataType,
        ansi: bool,
    ) -> Result<ArrayRef> {
        let name = column.map_or("", |c| c.name.as_str());
        match self {
            State::Count(counts) => cast(&(Arc::new(Int64Array::from(counts)) as ArrayRef), target),
            State::SumWhole { sums, seen, overflow, scale } => {
                finish_sums(name, &sums, seen, &overflow, scale, target, ansi)
            }
            State::SumFloat { sums, seen } => {
                let nulls = NullBuffer::from(seen);
                let array: ArrayRef = Arc::new(Float64Array::new(sums.into(), Some(nulls)));
                cast(&array, target)
            }
            State::Whole { best, seen, terms, .. } => {
                let values = best.iter().zip(&seen).map(|(&v, &seen)| seen.then_some(v));
                if terms {
                    let column = column.ok_or_else(|| EngineError::internal("no column"))?;
                    let ords: Vec<Option<u32>> = values.map(|v| v.map(|v| v as u32)).collect();
                    return raw.terms_to_array(column, &ords, target);
                }
                let values: Vec<Option<i64>> = values.collect();
                raw.numbers_to_array(column, &values, target)
            }
            State::Float { best, seen, .. } => {
                let nulls = NullBuffer::from(seen);
                let array: ArrayRef = Arc::new(Float64Array::new(best.into(), Some(nulls)));
                cast(&array, target)
            }
            State::Rows(rows) => rows.finish(target),
            State::Nothing(groups) => Ok(arrow::array::new_null_array(target, groups)),
        }
    }
}

fn sum_state(column: Option<&Column>, raw: &Raw) -> Result<State> {
    let Some(column) = column else {
        return Ok(State::Nothing(0));
    };
    let whole =
        |scale| State::SumWhole { sums: Vec::new(), seen: Vec::new(), overflow: Vec::new(), scale };
    match KindOf::of(&column.data_type) {
        _ if matches!(raw, Raw::Absent) => Ok(State::Nothing(0)),
        Some(KindOf::Float) => Ok(State::SumFloat { sums: Vec::new(), seen: Vec::new() }),
        Some(KindOf::Whole) => Ok(whole(0)),
        // unscaled numbers on disk have the scale they were written with
        Some(KindOf::Decimal(_)) if matches!(raw, Raw::I64(_)) => Ok(whole(column.scale)),
        Some(KindOf::Decimal(scale)) => Ok(whole(scale)),
        _ => Err(EngineError::bad_query(format!("column `{}` has no sum", column.name))),
    }
}

fn finish_sums(
    name: &str,
    sums: &[i128],
    seen: Vec<bool>,
    overflow: &[bool],
    scale: i8,
    target: &DataType,
    ansi: bool,
) -> Result<ArrayRef> {
    let too_large = || EngineError::Overflow { column: name.to_owned() };
    if let DataType::Decimal128(precision, wanted) = target {
        let limit = 10i128.checked_pow(u32::from(*precision)).unwrap_or(i128::MAX);
        let mut values = Vec::with_capacity(sums.len());
        for (at, &sum) in sums.iter().enumerate() {
            let fits = rescale(sum, scale, *wanted)
                .filter(|v| v.unsigned_abs() < limit.unsigned_abs() && !overflow[at]);
            if fits.is_none() && ansi && seen[at] {
                return Err(too_large());
            }
            values.push(fits.filter(|_| seen[at]));
        }
        let array = Decimal128Array::from(values);
        return Ok(Arc::new(array.with_precision_and_scale(*precision, *wanted)?));
    }
    let mut values = Vec::with_capacity(sums.len());
    for &sum in sums {
        match i64::try_from(sum) {
            Ok(value) => values.push(value),
            Err(_) if ansi => return Err(too_large()),
            Err(_) => values.push(sum as i64),
        }
    }
    let array: ArrayRef = Arc::new(Int64Array::new(values.into(), Some(NullBuffer::from(seen))));
    from_whole(&array, target)
}

impl RowState {
    fn update(&mut self, array: &ArrayRef, groups: &Groups<'_>) -> Result<()> {
        let rows = self.converter.convert_columns(std::slice::from_ref(array))?;
        let places: Vec<u32> = (0..array.len() as u32).collect();
        let nulls = array.logical_nulls();
        let (best, wants) = (&mut self.best, self.wants);
        for_each(&places, nulls.as_ref(), groups, |group, &at| {
            let row = rows.row(at as usize);
            let better = best[group].as_ref().is_none_or(|held| row.cmp(&held.row()) == wants);
            if better {
                best[group] = Some(row.owned());
            }
        });
        Ok(())
    }

    fn finish(self, target: &DataType) -> Result<ArrayRef> {
        let found: Vec<_> = self.best.iter().flatten().map(OwnedRow::row).collect();
        let dense = self.converter.convert_rows(found)?.pop();
        let Some(dense) = dense else {
            return Ok(arrow::array::new_null_array(target, self.best.len()));
        };
        let mut next = 0u32;
        let places: arrow::array::UInt32Array = self
            .best
            .iter()
            .map(|row| {
                row.as_ref().map(|_| {
                    next += 1;
                    next - 1
                })
            })
            .collect();
        cast(&arrow::compute::take(&dense, &places, None)?, target)
    }
}

/// Rows of a mask that are true, for tests of presence.
pub fn mask_block(mask: Vec<bool>) -> Block {
    let nulls = NullBuffer::from(mask.clone());
    Block::Array(Arc::new(BooleanArray::new(mask.into(), Some(nulls))))
}
