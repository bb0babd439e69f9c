//! The first rows by an order: candidates are kept as byte strings whose order is the wanted one.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Float32Array, Float64Array, RecordBatch, UInt32Array,
};
use arrow::compute::{SortOptions, concat_batches, take_record_batch};
use arrow::datatypes::{DataType, Field, Float64Type, Schema};
use arrow::row::{OwnedRow, RowConverter, SortField};

use super::matches::Matches;
use super::options::SortKey;
use super::output::{Output, SCORE_COLUMN};
use super::points::Points;
use super::score::Scoring;
use crate::columns::convert::cast;
use crate::columns::{Docs, SegmentColumns};
use crate::error::{EngineError, Result};
use crate::open::Split;
use crate::query::Node;

const BLOCK: usize = 8192;

/// A row of the result: where it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    pub segment: usize,
    pub doc: u32,
    pub score: f32,
}

struct Candidate {
    row: OwnedRow,
    segment: usize,
    doc: u32,
}

/// The first `limit` matching rows by the keys; equal ones in document order.
pub fn first_by_keys(
    scoring: &Scoring,
    node: &Node,
    keys: &[SortKey],
    limit: usize,
) -> Result<Vec<Place>> {
    let split = &scoring.split;
    let weight = if node.is_all() { None } else { Some(super::weight(split, node)?) };
    let types: Vec<DataType> =
        keys.iter().map(|key| key_type(split, key)).collect::<Result<_>>()?;
    let sort = keys.iter().zip(&types).map(|(key, data_type)| {
        let options = SortOptions { descending: !key.ascending, nulls_first: key.nulls_first() };
        SortField::new_with_options(data_type.clone(), options)
    });
    let converter = RowConverter::new(sort.collect())?;
    let scored = keys.iter().any(|key| is_score(split, key));
    let fields: Vec<Field> = keys
        .iter()
        .zip(&types)
        .filter(|(key, _)| !is_score(split, key))
        .map(|(key, data_type)| Field::new(&key.field, data_type.clone(), true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let mut kept = Kept { candidates: Vec::new(), worst: None, limit };
    let mut docs = Vec::with_capacity(BLOCK);
    for segment in 0..split.segments.len() {
        let mut matches = Matches::new(split, segment, weight.as_deref())?;
        let mut columns =
            SegmentColumns::open(split, segment, schema.clone(), matches.size_hint())?;
        let mut points =
            if scored { Some(Points::open(scoring, segment, node, true)?) } else { None };
        loop {
            docs.clear();
            matches.fill(&mut docs, BLOCK);
            if docs.is_empty() || limit == 0 {
                break;
            }
            let arrays = columns.read(&Docs::of(&docs))?;
            let mut arrays = arrays.iter().map(one_zero).collect::<Result<Vec<_>>>()?;
            if let Some(points) = &mut points {
                let scores: ArrayRef = Arc::new(Float32Array::from(points.scores(&docs)));
                for (at, _) in keys.iter().enumerate().filter(|(_, key)| is_score(split, key)) {
                    arrays.insert(at, scores.clone());
                }
            }
            let rows = converter.convert_columns(&arrays)?;
            for (at, row) in rows.iter().enumerate() {
                kept.offer(row, segment, docs[at]);
            }
        }
    }
    Ok(kept.finish())
}

struct Kept {
    candidates: Vec<Candidate>,
    worst: Option<OwnedRow>,
    limit: usize,
}

impl Kept {
    #[inline]
    fn offer(&mut self, row: arrow::row::Row<'_>, segment: usize, doc: u32) {
        // rows come in document order, so an equal one is later
        if self.worst.as_ref().is_some_and(|worst| row >= worst.row()) {
            return;
        }
        self.candidates.push(Candidate { row: row.owned(), segment, doc });
        if self.candidates.len() >= self.limit.saturating_mul(2).max(4096) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        self.candidates.sort_unstable_by(|a, b| {
            a.row.cmp(&b.row).then(a.segment.cmp(&b.segment)).then(a.doc.cmp(&b.doc))
        });
        self.candidates.truncate(self.limit);
        if self.candidates.len() == self.limit {
            self.worst = self.candidates.last().map(|c| c.row.clone());
        }
    }

    fn finish(mut self) -> Vec<Place> {
        self.cut();
        let places = self.candidates.iter();
        places.map(|c| Place { segment: c.segment, doc: c.doc, score: 0.0 }).collect()
    }
}

/// Whether a key is the score, not a column of the table with that name.
fn is_score(split: &Split, key: &SortKey) -> bool {
    key.field == SCORE_COLUMN && !split.layout.is_column(SCORE_COLUMN)
}

fn key_type(split: &Split, key: &SortKey) -> Result<DataType> {
    let Some(column) = split.layout.get(&key.field) else {
        return Ok(if is_score(split, key) { DataType::Float32 } else { DataType::Null });
    };
    if column.data_type.is_nested() {
        return Err(EngineError::bad_query(format!("column `{}` has no order", key.field)));
    }
    Ok(column.data_type.clone())
}

/// Floats with one zero and one NaN, so that their bytes order as Spark orders them.
pub fn one_zero(array: &ArrayRef) -> Result<ArrayRef> {
    if !matches!(array.data_type(), DataType::Float32 | DataType::Float64) {
        return Ok(array.clone());
    }
    let floats = cast(array, &DataType::Float64)?;
    let floats = floats.as_primitive::<Float64Type>();
    let plain = |v: f64| if v.is_nan() { f64::NAN } else { v + 0.0 };
    let values: Vec<f64> = floats.values().iter().map(|&v| plain(v)).collect();
    let same: ArrayRef = Arc::new(Float64Array::new(values.into(), floats.nulls().cloned()));
    cast(&same, array.data_type())
}

/// Reads rows in the order of their places.
pub fn read_places(split: &Arc<Split>, output: &Output, places: &[Place]) -> Result<RecordBatch> {
    let mut batches = Vec::new();
    let mut order = vec![0u32; places.len()];
    let mut next = 0u32;
    for segment in 0..split.segments.len() {
        let mut here: Vec<usize> =
            (0..places.len()).filter(|&at| places[at].segment == segment).collect();
        if here.is_empty() {
            continue;
        }
        here.sort_unstable_by_key(|&at| places[at].doc);
        let docs: Vec<u32> = here.iter().map(|&at| places[at].doc).collect();
        let scores: Vec<f32> = here.iter().map(|&at| places[at].score).collect();
        let mut columns = output.open(split, segment, docs.len())?;
        batches.push(output.read(&mut columns, &Docs::of(&docs), &scores)?);
        for at in here {
            order[at] = next;
            next += 1;
        }
    }
    match batches.len() {
        0 => Ok(RecordBatch::new_empty(output.schema.clone())),
        _ if output.schema.fields().is_empty() => Ok(batches.swap_remove(0)),
        _ => {
            let all = concat_batches(&output.schema, &batches)?;
            Ok(take_record_batch(&all, &UInt32Array::from(order))?)
        }
    }
}
