//! Arrow to manifests.

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int32Array, Int64Array, ListArray, MapArray,
    RecordBatch, StringArray, StructArray,
};
use arrow::datatypes::{DataType, Int32Type, Int64Type};

use crate::error::{EngineError, Result};
use crate::manifest::columns::{RUN_NUMBERS, RUN_STAMP, VECTOR_NUMBERS};
use crate::manifest::container::{Codec, pack};
use crate::manifest::cursor::{put_bytes, put_long};
use crate::manifest::entry::{COLUMNS, Kind, avro_schema, is_addition};

const ROWS_PER_BLOCK: usize = 2000;

enum Source<'a> {
    Text(&'a StringArray),
    Map(&'a MapArray, &'a StringArray, &'a StringArray),
    Long(&'a Int64Array),
    Int(&'a Int32Array),
    Flag(&'a BooleanArray),
    List(&'a ListArray, &'a StringArray),
    Vector(&'a StructArray, &'a StringArray, [&'a Int64Array; 3]),
    Runs(&'a ListArray, [&'a Int64Array; 5], &'a StringArray),
}

fn wrong(name: &str, array: &ArrayRef) -> EngineError {
    EngineError::internal(format!("manifest column `{name}` is {}", array.data_type()))
}

impl<'a> Source<'a> {
    fn new(name: &str, kind: Kind, array: &'a ArrayRef) -> Result<Self> {
        let fail = || wrong(name, array);
        Ok(match kind {
            Kind::Text => Self::Text(array.as_string_opt().ok_or_else(fail)?),
            Kind::Long => Self::Long(array.as_primitive_opt::<Int64Type>().ok_or_else(fail)?),
            Kind::Int => Self::Int(array.as_primitive_opt::<Int32Type>().ok_or_else(fail)?),
            Kind::Flag => Self::Flag(array.as_boolean_opt().ok_or_else(fail)?),
            Kind::Map => {
                let map = array.as_map_opt().ok_or_else(fail)?;
                let keys = map.keys().as_string_opt().ok_or_else(fail)?;
                Self::Map(map, keys, map.values().as_string_opt().ok_or_else(fail)?)
            }
            Kind::List => {
                let list = array.as_list_opt().ok_or_else(fail)?;
                Self::List(list, list.values().as_string_opt().ok_or_else(fail)?)
            }
            Kind::Vector => {
                let rows = array.as_struct_opt().ok_or_else(fail)?;
                let column = |member: &str| rows.column_by_name(member).ok_or_else(fail);
                let file = column("file")?.as_string_opt().ok_or_else(fail)?;
                let mut numbers = Vec::with_capacity(3);
                for member in VECTOR_NUMBERS {
                    let number = column(member)?.as_primitive_opt::<Int64Type>();
                    numbers.push(number.ok_or_else(fail)?);
                }
                Self::Vector(rows, file, [numbers[0], numbers[1], numbers[2]])
            }
            Kind::Runs => {
                let list = array.as_list_opt().ok_or_else(fail)?;
                let items = list.values().as_struct_opt().ok_or_else(fail)?;
                let column = |member: &str| items.column_by_name(member).ok_or_else(fail);
                let mut numbers = Vec::with_capacity(RUN_NUMBERS.len());
                for member in RUN_NUMBERS {
                    let number = column(member)?.as_primitive_opt::<Int64Type>();
                    numbers.push(number.ok_or_else(fail)?);
                }
                let stamps = column(RUN_STAMP)?.as_string_opt().ok_or_else(fail)?;
                let numbers = numbers.try_into().map_err(|_| fail())?;
                Self::Runs(list, numbers, stamps)
            }
        })
    }

    fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Text(array) => array.is_null(row),
            Self::Map(array, ..) => array.is_null(row),
            Self::Long(array) => array.is_null(row),
            Self::Int(array) => array.is_null(row),
            Self::Flag(array) => array.is_null(row),
            Self::List(array, _) => array.is_null(row),
            Self::Vector(array, ..) => array.is_null(row),
            Self::Runs(array, ..) => array.is_null(row),
        }
    }

    fn put(&self, out: &mut Vec<u8>, row: usize) {
        match self {
            Self::Text(array) => put_bytes(out, array.value(row).as_bytes()),
            Self::Long(array) => put_long(out, array.value(row)),
            Self::Int(array) => put_long(out, i64::from(array.value(row))),
            Self::Flag(array) => out.push(u8::from(array.value(row))),
            Self::Map(array, keys, values) => {
                let offsets = array.value_offsets();
                let range = offsets[row] as usize..offsets[row + 1] as usize;
                let members: Vec<usize> = range.filter(|at| values.is_valid(*at)).collect();
                put_block(out, members.len());
                for at in &members {
                    put_bytes(out, keys.value(*at).as_bytes());
                    put_bytes(out, values.value(*at).as_bytes());
                }
                end_blocks(out, members.len());
            }
            Self::List(array, items) => {
                let offsets = array.value_offsets();
                let range = offsets[row] as usize..offsets[row + 1] as usize;
                put_block(out, range.len());
                range.clone().for_each(|at| put_bytes(out, items.value(at).as_bytes()));
                end_blocks(out, range.len());
            }
            Self::Vector(_, file, numbers) => {
                put_bytes(out, file.value(row).as_bytes());
                numbers.iter().for_each(|number| put_long(out, number.value(row)));
            }
            Self::Runs(array, numbers, stamps) => {
                let offsets = array.value_offsets();
                let range = offsets[row] as usize..offsets[row + 1] as usize;
                put_block(out, range.len());
                for at in range.clone() {
                    numbers.iter().for_each(|number| put_long(out, number.value(at)));
                    if stamps.is_null(at) {
                        out.push(0);
                    } else {
                        out.push(2);
                        put_bytes(out, stamps.value(at).as_bytes());
                    }
                }
                end_blocks(out, range.len());
            }
        }
    }
}

fn put_block(out: &mut Vec<u8>, count: usize) {
    put_long(out, count as i64);
}

fn end_blocks(out: &mut Vec<u8>, count: usize) {
    // an empty block has ended the list already
    if count > 0 {
        put_long(out, 0);
    }
}

/// A manifest of these entries.
pub fn encode(batches: &[RecordBatch], codec: Codec) -> Result<Vec<u8>> {
    let has_values = |name: &str| {
        batches.iter().any(|batch| {
            batch.column_by_name(name).is_some_and(|column| {
                column.data_type() != &DataType::Null && column.null_count() < column.len()
            })
        })
    };
    let wanted: Vec<usize> = (0..COLUMNS.len())
        .filter(|at| !is_addition(COLUMNS[*at].0) || has_values(COLUMNS[*at].0))
        .collect();
    let mut blocks = Vec::new();
    for batch in batches {
        let mut start = 0;
        while start < batch.num_rows() {
            let rows = ROWS_PER_BLOCK.min(batch.num_rows() - start);
            blocks.push((rows, encode_rows(&batch.slice(start, rows), &wanted)?));
            start += rows;
        }
    }
    pack(&avro_schema(&wanted), codec, blocks)
}

fn encode_rows(batch: &RecordBatch, wanted: &[usize]) -> Result<Vec<u8>> {
    let mut sources = Vec::with_capacity(wanted.len());
    for at in wanted {
        let (name, kind, required, _) = COLUMNS[*at];
        let array = batch
            .column_by_name(name)
            .ok_or_else(|| EngineError::internal(format!("no manifest column `{name}`")))?;
        if required && array.null_count() > 0 {
            return Err(EngineError::internal(format!("manifest column `{name}` has nulls")));
        }
        sources.push((required, Source::new(name, kind, array)?));
    }
    let mut out = Vec::new();
    for row in 0..batch.num_rows() {
        for (required, source) in &sources {
            if *required {
                source.put(&mut out, row);
            } else if source.is_null(row) {
                out.push(0);
            } else {
                out.push(2);
                source.put(&mut out, row);
            }
        }
    }
    Ok(out)
}
