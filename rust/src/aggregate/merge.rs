//! Partial results of several segments as one.

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{concat_batches, take};
use arrow::datatypes::SchemaRef;
use arrow::row::{RowConverter, SortField};
use std::collections::HashMap;

use super::accumulate::Groups;
use super::functions::State;
use super::raw::{Block, Raw};
use super::request::{Function, Request};
use crate::error::{EngineError, Result};
use crate::open::Column;
use crate::split::Encoding;

pub fn merge(
    request: &Request,
    schema: &SchemaRef,
    mut parts: Vec<RecordBatch>,
) -> Result<RecordBatch> {
    let keys = request.group_by.len();
    if parts.is_empty() {
        let empty = RecordBatch::new_empty(schema.clone());
        return if keys > 0 { Ok(empty) } else { combine(request, schema, &empty, &[], 1) };
    }
    if parts.len() == 1 {
        return parts.pop().ok_or_else(|| EngineError::internal("no partial result"));
    }
    let rows = concat_rows(schema, &parts)?;
    let (groups, first) = group_rows(&rows, keys)?;
    let count = if keys == 0 { 1 } else { first.len() };
    let merged = combine(request, schema, &rows, &groups, count)?;
    if keys == 0 {
        return Ok(merged);
    }
    let places = UInt32Array::from(first);
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(schema.fields().len());
    for at in 0..keys {
        arrays.push(take(rows.column(at), &places, None)?);
    }
    arrays.extend(merged.columns()[keys..].iter().cloned());
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    Ok(RecordBatch::try_new_with_options(schema.clone(), arrays, &options)?)
}

fn concat_rows(schema: &SchemaRef, parts: &[RecordBatch]) -> Result<RecordBatch> {
    if schema.fields().is_empty() {
        let rows = parts.iter().map(RecordBatch::num_rows).sum();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        return Ok(RecordBatch::try_new_with_options(schema.clone(), Vec::new(), &options)?);
    }
    Ok(concat_batches(schema, parts)?)
}

/// The group of every row, and the first row of every group.
fn group_rows(rows: &RecordBatch, keys: usize) -> Result<(Vec<u32>, Vec<u32>)> {
    if keys == 0 {
        return Ok((vec![0; rows.num_rows()], Vec::new()));
    }
    let columns = &rows.columns()[..keys];
    let fields = columns.iter().map(|c| SortField::new(c.data_type().clone())).collect();
    let converter = RowConverter::new(fields)?;
    let encoded = converter.convert_columns(columns)?;
    let mut known = HashMap::new();
    let (mut groups, mut first) = (Vec::new(), Vec::new());
    for (at, row) in encoded.iter().enumerate() {
        let next = first.len() as u32;
        let group = *known.entry(row).or_insert(next);
        if group == next {
            first.push(at as u32);
        }
        groups.push(group);
    }
    Ok((groups, first))
}

/// Counts are summed, sums too, extremes compared.
fn combine(
    request: &Request,
    schema: &SchemaRef,
    rows: &RecordBatch,
    groups: &[u32],
    count: usize,
) -> Result<RecordBatch> {
    let keys = request.group_by.len();
    let mut arrays: Vec<ArrayRef> = rows.columns()[..keys]
        .iter()
        .map(|c| arrow::array::new_null_array(c.data_type(), count))
        .collect();
    for (at, call) in request.functions.iter().enumerate() {
        let function = &call.function;
        let array = rows.column(keys + at).clone();
        let target = schema.field(keys + at).data_type();
        let column = partial_column(schema.field(keys + at).name(), target);
        let counts = matches!(function, Function::Count { .. } | Function::CountStar);
        let fold = match function {
            Function::Count { .. } | Function::CountStar => Function::Sum { field: String::new() },
            other => other.clone(),
        };
        let raw = Raw::partial();
        let mut state = State::new(&fold, Some(&column), &raw)?;
        state.resize(count);
        state.update(Some(&Block::Array(array)), &Groups::Many(groups))?;
        let mut folded = state.finish(&raw, Some(&column), target, request.ansi)?;
        if counts && rows.num_rows() == 0 {
            folded = arrow::compute::cast(&arrow::array::Int64Array::from(vec![0; count]), target)?;
        }
        arrays.push(folded);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    Ok(RecordBatch::try_new_with_options(schema.clone(), arrays, &options)?)
}

/// A column that exists only as partial results.
fn partial_column(name: &str, data_type: &arrow::datatypes::DataType) -> Column {
    let scale = match data_type {
        arrow::datatypes::DataType::Decimal128(_, scale) => *scale,
        _ => 0,
    };
    Column::computed(name, data_type.clone(), Encoding::Null, scale)
}
