//! Group keys: every value of a key gets a small number, numbers of several keys are combined.

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, StringArray, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use arrow::row::{OwnedRow, RowConverter, SortField};
use std::sync::Arc;

use super::raw::{Block, Raw};
use super::request::{Key, NamedRange};
use crate::columns::convert::{cast, whole_values};
use crate::error::{EngineError, Result};
use crate::hash::NumberMap;
use crate::open::Column;
use crate::query::{KindOf, range_test};
use crate::search::one_zero;

/// Ranges of numbers up to this wide are numbered directly.
const DIRECT: i128 = 1 << 16;

/// Values of one key seen so far; number 0 is null.
pub enum Numbered {
    /// The position in the dictionary, plus one.
    Terms,
    /// The distance from the smallest value, plus one.
    Direct(i64),
    Numbers(NumberMap<i64, u32>, Vec<i64>),
    Floats(NumberMap<u64, u32>, Vec<f64>),
    Rows(Box<RowNumbers>),
    Ranges,
}

pub struct RowNumbers {
    converter: RowConverter,
    numbers: HashMap<OwnedRow, u32>,
    rows: Vec<OwnedRow>,
}

/// One key of a grouping over one segment.
pub struct KeyColumn<'a> {
    key: &'a Key,
    column: Option<&'a Column>,
    numbered: Numbered,
    tests: Vec<RangeTest>,
}

/// What a value must be to lie in a range, and the number of the range's name.
struct RangeTest {
    number: u32,
    holds: Holds,
}

enum Holds {
    /// Numbers are compared as doubles, the way the SQL function does it: NaN is in no bounded range.
    Between(Option<f64>, Option<f64>),
    Typed(crate::query::ValueTest),
}

impl RangeTest {
    fn contains(&self, value: f64) -> bool {
        match &self.holds {
            Holds::Between(from, to) => {
                from.is_none_or(|from| value >= from) && to.is_none_or(|to| value < to)
            }
            Holds::Typed(_) => false,
        }
    }
}

impl<'a> KeyColumn<'a> {
    pub fn new(key: &'a Key, column: Option<&'a Column>, raw: &Raw) -> Result<KeyColumn<'a>> {
        let mut tests = Vec::new();
        let numbered = match (key, raw) {
            (Key::Range { range }, _) => {
                tests = range_tests(&range.ranges, column)?;
                Numbered::Ranges
            }
            (Key::Histogram { .. }, _) => Numbered::Floats(NumberMap::default(), Vec::new()),
            (Key::DateHistogram { .. } | Key::DateTrunc { .. }, _) => numbers(),
            (Key::Column { .. }, Raw::Terms(_)) => Numbered::Terms,
            (Key::Column { .. }, Raw::F64(_)) => Numbered::Floats(NumberMap::default(), Vec::new()),
            (Key::Column { .. }, Raw::Arrays(_)) => match column {
                Some(column) => Numbered::Rows(Box::new(row_numbers(&column.data_type)?)),
                None => numbers(),
            },
            (Key::Column { .. }, raw) => match raw.number_bounds() {
                Some((low, high)) if i128::from(high) - i128::from(low) < DIRECT => {
                    Numbered::Direct(low)
                }
                _ => numbers(),
            },
        };
        Ok(KeyColumn { key, column, numbered, tests })
    }

    /// Whether numbers are small and dense from the start.
    pub fn dense_limit(&self, raw: &Raw) -> Option<usize> {
        match (&self.numbered, raw) {
            (Numbered::Terms, Raw::Terms(terms)) => Some(terms.num_terms() + 1),
            (Numbered::Direct(low), raw) => {
                raw.number_bounds().map(|(_, high)| (high - low) as usize + 2)
            }
            _ => None,
        }
    }

    /// The number of each row's value.
    pub fn number(
        &mut self,
        raw: &Raw,
        block: &Block,
        rows: usize,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        out.clear();
        if matches!(block, Block::Absent) {
            out.resize(rows, 0);
            return Ok(());
        }
        match self.key {
            Key::Column { .. } => self.number_values(block, out)?,
            Key::Histogram { histogram } => {
                let (interval, offset) = (histogram.interval, histogram.offset);
                let values = float_values(raw, block, self.column)?;
                let Numbered::Floats(map, seen) = &mut self.numbered else { return Ok(()) };
                out.extend(values.iter().map(|value| {
                    value.map_or(0, |value| {
                        let bucket = ((value - offset) / interval).floor() * interval + offset;
                        number_float(map, seen, bucket)
                    })
                }));
            }
            Key::DateHistogram { date_histogram } => {
                let values = micros_values(raw, block, self.column)?;
                let Numbered::Numbers(map, seen) = &mut self.numbered else { return Ok(()) };
                out.extend(values.iter().map(|value| {
                    value.map_or(0, |value| number_of(map, seen, date_histogram.begin_of(value)))
                }));
            }
            Key::DateTrunc { date_trunc } => {
                let values = micros_values(raw, block, self.column)?;
                let present = || values.iter().flatten().copied();
                let (least, most) = (present().min().unwrap_or(0), present().max().unwrap_or(0));
                let clocks = date_trunc.clock.span(least, most);
                let Numbered::Numbers(map, seen) = &mut self.numbered else { return Ok(()) };
                for value in &values {
                    out.push(value.map_or(0, |value| {
                        number_of(map, seen, clocks.truncate(value, date_trunc.unit))
                    }));
                }
            }
            Key::Range { .. } => {
                out.resize(rows, 0);
                number_ranges(&self.tests, raw, block, self.column, out)?;
            }
        }
        Ok(())
    }

    /// Whether values are numbered by their position in a dictionary.
    pub fn is_terms(&self) -> bool {
        matches!(self.numbered, Numbered::Terms)
    }

    fn number_values(&mut self, block: &Block, out: &mut Vec<u32>) -> Result<()> {
        match (&mut self.numbered, block) {
            (Numbered::Terms, Block::Terms(ords, nulls)) => match nulls {
                None => out.extend(ords.iter().map(|ord| ord + 1)),
                Some(nulls) => out.extend(
                    ords.iter()
                        .enumerate()
                        .map(|(r, ord)| if nulls.is_null(r) { 0 } else { ord + 1 }),
                ),
            },
            (Numbered::Direct(low), Block::Numbers(values, nulls)) => {
                let low = *low;
                let number = |v: &i64| v.wrapping_sub(low) as u32 + 1;
                match nulls {
                    None => out.extend(values.iter().map(number)),
                    Some(nulls) => out.extend(
                        values
                            .iter()
                            .enumerate()
                            .map(|(r, v)| if nulls.is_null(r) { 0 } else { number(v) }),
                    ),
                }
            }
            (Numbered::Numbers(map, seen), Block::Numbers(values, nulls)) => {
                for (row, &value) in values.iter().enumerate() {
                    let null = nulls.as_ref().is_some_and(|n| n.is_null(row));
                    out.push(if null { 0 } else { number_of(map, seen, value) });
                }
            }
            (Numbered::Floats(map, seen), Block::Floats(values, nulls)) => {
                for (row, &value) in values.iter().enumerate() {
                    let null = nulls.as_ref().is_some_and(|n| n.is_null(row));
                    out.push(if null { 0 } else { number_float(map, seen, value) });
                }
            }
            (Numbered::Rows(rows), Block::Array(array)) => rows.number(&one_zero(array)?, out)?,
            _ => return Err(EngineError::internal("a key changed its form")),
        }
        Ok(())
    }

    /// The values behind some numbers, in the wanted type.
    pub fn values(&self, raw: &Raw, numbers: &[u32], target: &DataType) -> Result<ArrayRef> {
        let array: ArrayRef = match &self.numbered {
            Numbered::Ranges => {
                let Key::Range { range } = self.key else {
                    return Err(EngineError::internal("no ranges"));
                };
                let name =
                    |n: &u32| n.checked_sub(1).map(|n| range.ranges[n as usize].name.as_str());
                Arc::new(numbers.iter().map(name).collect::<StringArray>())
            }
            Numbered::Terms => {
                let ords: Vec<Option<u32>> = numbers.iter().map(|n| n.checked_sub(1)).collect();
                let column = self.column.ok_or_else(|| EngineError::internal("no column"))?;
                return raw.terms_to_array(column, &ords, target);
            }
            Numbered::Direct(low) => {
                let value = |n: &u32| n.checked_sub(1).map(|distance| low + i64::from(distance));
                let values: Vec<Option<i64>> = numbers.iter().map(value).collect();
                return raw.numbers_to_array(self.column, &values, target);
            }
            Numbered::Numbers(_, seen) => {
                let value = |n: &u32| n.checked_sub(1).map(|at| seen[at as usize]);
                let values: Vec<Option<i64>> = numbers.iter().map(value).collect();
                if matches!(self.key, Key::Column { .. }) {
                    return raw.numbers_to_array(self.column, &values, target);
                }
                return micros_to_array(values, target);
            }
            Numbered::Floats(_, seen) => {
                let value = |n: &u32| n.checked_sub(1).map(|at| seen[at as usize]);
                Arc::new(numbers.iter().map(value).collect::<Float64Array>())
            }
            Numbered::Rows(rows) => {
                let column = self.column.ok_or_else(|| EngineError::internal("no column"))?;
                rows.values(&column.data_type, numbers)?
            }
        };
        cast(&array, target)
    }
}

fn numbers() -> Numbered {
    Numbered::Numbers(NumberMap::default(), Vec::new())
}

fn range_tests(ranges: &[NamedRange], column: Option<&Column>) -> Result<Vec<RangeTest>> {
    let Some(column) = column else {
        return Ok(Vec::new());
    };
    let test = |range: &NamedRange| {
        // ranges of one name are one group
        let first = ranges.iter().position(|other| other.name == range.name).unwrap_or_default();
        Ok(RangeTest { number: first as u32 + 1, holds: holds(range, column)? })
    };
    ranges.iter().map(test).collect()
}

fn holds(range: &NamedRange, column: &Column) -> Result<Holds> {
    if column.data_type.is_numeric() {
        let bound = |value: &Option<serde_json::Value>| match value {
            Some(value) if !value.is_null() => value.as_f64().map(Some).ok_or_else(|| {
                EngineError::bad_query(format!("{value} is not a bound of a range of numbers"))
            }),
            _ => Ok(None),
        };
        let (from, to) = (bound(&range.from)?, bound(&range.to)?);
        return Ok(Holds::Between(from, to));
    }
    let kind = KindOf::of(&column.data_type).ok_or_else(|| {
        EngineError::bad_query(format!("column `{}` has no order for ranges", column.name))
    })?;
    Ok(Holds::Typed(range_test(kind, range.from.as_ref(), range.to.as_ref())?))
}

/// The number of the first range each row lies in; rows that have one already keep it.
fn number_ranges(
    tests: &[RangeTest],
    raw: &Raw,
    block: &Block,
    column: Option<&Column>,
    out: &mut [u32],
) -> Result<()> {
    let numeric = column.is_some_and(|c| c.data_type.is_numeric());
    if numeric {
        let values = float_values(raw, block, column)?;
        for (row, value) in values.iter().enumerate() {
            let hit = value.and_then(|v| tests.iter().find(|test| test.contains(v)));
            out[row] = hit.map_or(0, |test| test.number);
        }
        return Ok(());
    }
    let array = block_array(raw, block, column)?;
    for test in tests {
        let Holds::Typed(typed) = &test.holds else { continue };
        for (row, hit) in typed.check(&array)?.into_iter().enumerate() {
            if hit && out[row] == 0 {
                out[row] = test.number;
            }
        }
    }
    Ok(())
}

fn row_numbers(data_type: &DataType) -> Result<RowNumbers> {
    let converter = RowConverter::new(vec![SortField::new(data_type.clone())])?;
    Ok(RowNumbers { converter, numbers: HashMap::new(), rows: Vec::new() })
}

impl RowNumbers {
    fn number(&mut self, array: &ArrayRef, out: &mut Vec<u32>) -> Result<()> {
        let rows = self.converter.convert_columns(std::slice::from_ref(array))?;
        for (at, row) in rows.iter().enumerate() {
            if array.is_null(at) {
                out.push(0);
                continue;
            }
            let next = self.rows.len() as u32 + 1;
            let row = row.owned();
            let number = *self.numbers.entry(row.clone()).or_insert(next);
            if number == next {
                self.rows.push(row);
            }
            out.push(number);
        }
        Ok(())
    }

    fn values(&self, data_type: &DataType, numbers: &[u32]) -> Result<ArrayRef> {
        let rows = self.rows.iter().map(OwnedRow::row);
        let distinct = self.converter.convert_rows(rows)?.pop();
        let distinct = distinct.unwrap_or_else(|| arrow::array::new_empty_array(data_type));
        let places: UInt32Array = numbers.iter().map(|n| n.checked_sub(1)).collect();
        Ok(take(&distinct, &places, None)?)
    }
}

fn number_of(map: &mut NumberMap<i64, u32>, seen: &mut Vec<i64>, value: i64) -> u32 {
    *map.entry(value).or_insert_with(|| {
        seen.push(value);
        seen.len() as u32
    })
}

/// One zero and one NaN, as grouping has it.
fn number_float(map: &mut NumberMap<u64, u32>, seen: &mut Vec<f64>, value: f64) -> u32 {
    let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
    *map.entry(value.to_bits()).or_insert_with(|| {
        seen.push(value);
        seen.len() as u32
    })
}

/// A block as an array of the column's type.
pub fn block_array(raw: &Raw, block: &Block, column: Option<&Column>) -> Result<ArrayRef> {
    match block {
        Block::Array(array) => Ok(array.clone()),
        Block::Floats(values, nulls) => {
            Ok(Arc::new(Float64Array::new(values.clone().into(), nulls.clone())))
        }
        Block::Numbers(values, nulls) => {
            let column = column.ok_or_else(|| EngineError::internal("no column"))?;
            let value = |row: usize| {
                (!nulls.as_ref().is_some_and(|n| n.is_null(row))).then_some(values[row])
            };
            let values: Vec<Option<i64>> = (0..values.len()).map(value).collect();
            raw.numbers_to_array(Some(column), &values, &column.data_type)
        }
        _ => Err(EngineError::internal("a key cannot be read as values")),
    }
}

fn float_values(raw: &Raw, block: &Block, column: Option<&Column>) -> Result<Vec<Option<f64>>> {
    let array = block_array(raw, block, column)?;
    let array = match array.data_type() {
        DataType::Date32 | DataType::Timestamp(..) | DataType::Duration(_) => whole_values(&array)?,
        _ => array,
    };
    let floats = cast(&array, &DataType::Float64)?;
    Ok(floats.as_primitive::<Float64Type>().iter().collect())
}

fn micros_values(raw: &Raw, block: &Block, column: Option<&Column>) -> Result<Vec<Option<i64>>> {
    let array = block_array(raw, block, column)?;
    let days = array.data_type() == &DataType::Date32;
    let step = if days { 86_400_000_000 } else { 1 };
    let numbers = whole_values(&array)?;
    let numbers = numbers.as_primitive::<Int64Type>();
    Ok(numbers.iter().map(|v| v.map(|v| v.wrapping_mul(step))).collect())
}

fn micros_to_array(micros: Vec<Option<i64>>, target: &DataType) -> Result<ArrayRef> {
    let days = target == &DataType::Date32;
    let step = if days { 86_400_000_000 } else { 1 };
    let values = micros.into_iter().map(|v| v.map(|v| v.div_euclid(step)));
    let array: ArrayRef = Arc::new(values.collect::<Int64Array>());
    crate::columns::convert::from_whole(&array, target)
}
