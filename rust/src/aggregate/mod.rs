//! Exact aggregation in columnar loops: per segment, in blocks, with any query and deletion vector.

mod calendar;
mod functions;
mod grouping;
mod keys;
mod merge;
mod raw;
mod request;
mod stats;

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use tantivy::BitSet;
use tantivy::query::Weight;

pub use request::{Function, Key, Request};

use crate::cancel::Cancel;
use crate::columns::{Docs, build};
use crate::error::{At, EngineError, Result};
use crate::open::{Column, Split};
use crate::query::Node;
use crate::search::{self, Matches};
use crate::split::Encoding;
use functions::{Groups, State, mask_block};
use grouping::Grouping;
use keys::KeyColumn;
use raw::{Block, Raw};
use stats::Stats;

const BLOCK: usize = 8192;

/// Aggregates the matching rows: group keys first, then one column per function, in `schema`.
pub fn aggregate(
    split: &Arc<Split>,
    node: &Node,
    request: &Request,
    schema: &SchemaRef,
    cancel: &Cancel,
) -> Result<RecordBatch> {
    let wanted = request.group_by.len() + request.functions.len();
    if schema.fields().len() != wanted {
        let detail = format!("{} columns are asked for, {wanted} computed", schema.fields().len());
        return Err(EngineError::bad_query(detail));
    }
    if request.counts_rows() {
        return counted(search::count(split, node)?, schema);
    }
    let weight = if node.is_all() { None } else { Some(search::weight(split, node)?) };
    let mut parts = Vec::new();
    for segment in 0..split.segments.len() {
        let run = SegmentRun::open(split, segment, request)?;
        parts.push(run.aggregate(weight.as_deref(), schema, cancel).at(&split.path)?);
    }
    merge::merge(request, schema, parts)
}

/// The number of rows, which the index often knows without going through them.
fn counted(rows: u64, schema: &SchemaRef) -> Result<RecordBatch> {
    let rows: ArrayRef = Arc::new(Int64Array::from(vec![rows as i64]));
    let arrays = schema.fields().iter().map(|field| build::cast(&rows, field.data_type()));
    Ok(RecordBatch::try_new(schema.clone(), arrays.collect::<Result<_>>()?)?)
}

/// One column that keys or functions need, read once per block.
struct Input<'a> {
    column: Option<&'a Column>,
    raw: Raw,
    /// Documents with a value, where a request needs only that of a column that is slow to read.
    present: Option<BitSet>,
}

struct SegmentRun<'a> {
    split: &'a Arc<Split>,
    segment: usize,
    request: &'a Request,
    inputs: Vec<Input<'a>>,
    key_inputs: Vec<usize>,
    function_inputs: Vec<Option<usize>>,
}

impl<'a> SegmentRun<'a> {
    fn open(split: &'a Arc<Split>, segment: usize, request: &'a Request) -> Result<Self> {
        let mut run = SegmentRun {
            split,
            segment,
            request,
            inputs: Vec::new(),
            key_inputs: Vec::new(),
            function_inputs: Vec::new(),
        };
        let mut known: HashMap<(String, Need), usize> = HashMap::new();
        for key in &request.group_by {
            let need = if matches!(key, Key::Column { .. }) { Need::Order } else { Need::Values };
            let at = run.input(key.field(), need, &mut known)?;
            run.key_inputs.push(at);
        }
        for function in &request.functions {
            let need = match function {
                Function::Sum { .. } => Need::Values,
                Function::Count { .. } => Need::Presence,
                _ => Need::Order,
            };
            let at = function.field().map(|f| run.input(f, need, &mut known)).transpose()?;
            run.function_inputs.push(at);
        }
        Ok(run)
    }

    fn input(
        &mut self,
        field: &str,
        need: Need,
        known: &mut HashMap<(String, Need), usize>,
    ) -> Result<usize> {
        let column = self.split.layout.get(field);
        // a fast number is read the same way whatever it is needed for, so it is read once
        let need = match column {
            Some(c) if c.fast && !c.is_json() => match c.encoding {
                Encoding::String
                | Encoding::StringBytes
                | Encoding::DecimalBytes
                | Encoding::Ip => {
                    if need == Need::Presence {
                        Need::Order
                    } else {
                        need
                    }
                }
                _ => Need::Order,
            },
            _ => need,
        };
        if let Some(&at) = known.get(&(field.to_owned(), need)) {
            return Ok(at);
        }
        let input = if need == Need::Presence && column.is_some() {
            let present = self.presence(field)?;
            Input { column, raw: Raw::Absent, present: Some(present) }
        } else {
            let raw = Raw::open(self.split, self.segment, column, need == Need::Values)?;
            Input { column, raw, present: None }
        };
        self.inputs.push(input);
        known.insert((field.to_owned(), need), self.inputs.len() - 1);
        Ok(self.inputs.len() - 1)
    }

    fn presence(&self, field: &str) -> Result<BitSet> {
        let weight = search::weight(self.split, &Node::Exists { field: field.to_owned() })?;
        let reader = &self.split.segments[self.segment].reader;
        let mut found = BitSet::with_max_value(reader.max_doc());
        weight.for_each_no_score(reader, &mut |docs| {
            docs.iter().for_each(|&doc| {
                found.insert(doc);
            });
        })?;
        Ok(found)
    }

    fn aggregate(
        mut self,
        weight: Option<&dyn Weight>,
        schema: &SchemaRef,
        cancel: &Cancel,
    ) -> Result<RecordBatch> {
        let mut matches = Matches::new(self.split, self.segment, weight)?;
        let mut keys = Vec::new();
        for (key, &at) in self.request.group_by.iter().zip(&self.key_inputs) {
            keys.push(KeyColumn::new(key, self.inputs[at].column, &self.inputs[at].raw)?);
        }
        let mut states = Vec::new();
        for (function, at) in self.request.functions.iter().zip(&self.function_inputs) {
            let absent = Raw::Absent;
            let (column, raw) = match at {
                Some(at) => (self.inputs[*at].column, &self.inputs[*at].raw),
                None => (None, &absent),
            };
            states.push(State::new(function, column, raw)?);
        }
        let mut states = States { each: states, shared: self.shared_stats() };
        let mut grouping = Grouping::new(&keys, |key| &self.inputs[self.key_inputs[key]].raw);
        let mut docs = Vec::with_capacity(BLOCK);
        loop {
            cancel.check()?;
            docs.clear();
            matches.fill(&mut docs, BLOCK);
            if docs.is_empty() {
                break;
            }
            self.block(&docs, &mut keys, &mut states, &mut grouping)?;
        }
        self.finish(&keys, states, &grouping, schema)
    }

    /// Columns of which several functions are asked per group.
    fn shared_stats(&self) -> Vec<(usize, Stats)> {
        if self.key_inputs.is_empty() {
            return Vec::new();
        }
        let asked = |at: usize| self.function_inputs.iter().filter(|i| **i == Some(at)).count();
        (0..self.inputs.len())
            .filter(|&at| asked(at) > 1)
            .filter_map(|at| Stats::of(&self.inputs[at].raw).map(|stats| (at, stats)))
            .collect()
    }

    fn block(
        &mut self,
        docs: &[u32],
        keys: &mut [KeyColumn<'_>],
        states: &mut States,
        grouping: &mut Grouping,
    ) -> Result<()> {
        let blocks = self.read(&Docs::of(docs))?;
        if keys.is_empty() {
            return states.update(&self.function_inputs, &blocks, 1, &Groups::One(docs.len()));
        }
        let inputs = &self.inputs;
        let groups = grouping.assign(
            keys,
            |key| {
                let at = self.key_inputs[key];
                (&inputs[at].raw, &blocks[at])
            },
            docs.len(),
        )?;
        let count = grouping.len();
        states.update(&self.function_inputs, &blocks, count, &Groups::Many(&groups))
    }

    fn read(&mut self, docs: &Docs<'_>) -> Result<Vec<Block>> {
        self.inputs
            .iter_mut()
            .map(|input| match &input.present {
                Some(present) => {
                    let mask = (0..docs.len()).map(|at| present.contains(docs.get(at)));
                    Ok(mask_block(mask.collect()))
                }
                None => input.raw.read(docs),
            })
            .collect()
    }

    fn finish(
        &self,
        keys: &[KeyColumn<'_>],
        states: States,
        grouping: &Grouping,
        schema: &SchemaRef,
    ) -> Result<RecordBatch> {
        let rows = if keys.is_empty() { 1 } else { grouping.len() };
        let states = states.finish(&self.function_inputs, rows);
        let mut arrays: Vec<ArrayRef> = Vec::new();
        for (at, key) in keys.iter().enumerate() {
            let numbers = grouping.numbers_of(at);
            let raw = &self.inputs[self.key_inputs[at]].raw;
            arrays.push(key.values(raw, &numbers, schema.field(at).data_type())?);
        }
        for (at, state) in states.into_iter().enumerate() {
            let absent = Raw::Absent;
            let (column, raw) = match self.function_inputs[at] {
                Some(input) => (self.inputs[input].column, &self.inputs[input].raw),
                None => (None, &absent),
            };
            let target = schema.field(keys.len() + at).data_type();
            arrays.push(state.finish(raw, column, target, self.request.ansi)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let found = RecordBatch::try_new_with_options(schema.clone(), arrays, &options)?;
        match grouping.seen() {
            Some(seen) => Ok(filter_record_batch(&found, &seen)?),
            None => Ok(found),
        }
    }
}

/// What a column is read for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Need {
    Presence,
    Order,
    Values,
}

/// The states of all functions.
struct States {
    each: Vec<State>,
    /// What several functions ask of one input is found in one pass; their states stay empty.
    shared: Vec<(usize, Stats)>,
}

impl States {
    fn update(
        &mut self,
        inputs: &[Option<usize>],
        blocks: &[Block],
        groups: usize,
        of: &Groups<'_>,
    ) -> Result<()> {
        for (at, stats) in &mut self.shared {
            stats.resize(groups);
            stats.update(&blocks[*at], of);
        }
        for (state, &input) in self.each.iter_mut().zip(inputs) {
            if self.shared.iter().any(|(at, _)| Some(*at) == input) {
                continue;
            }
            state.resize(groups);
            state.update(input.map(|at| &blocks[at]), of)?;
        }
        Ok(())
    }

    /// The state of each function, with room for all groups.
    fn finish(mut self, inputs: &[Option<usize>], groups: usize) -> Vec<State> {
        for (state, &input) in self.each.iter_mut().zip(inputs) {
            if let Some((_, stats)) = self.shared.iter().find(|(at, _)| Some(*at) == input) {
                stats.fill(state);
            }
            state.resize(groups);
        }
        self.each
    }
}
