//! Exact aggregation in columnar loops: per segment, in blocks, with any query and deletion vector.

mod accumulate;
mod calendar;
mod clock;
mod functions;
mod grouping;
mod inputs;
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
use tantivy::query::Weight;

pub use request::Request;

use crate::cancel::Cancel;
use crate::columns::{Docs, convert};
use crate::error::{At, EngineError, Result};
use crate::open::Split;
use crate::query::Node;
use crate::search::{self, Matches};
use accumulate::Groups;
use functions::State;
use grouping::Grouping;
use inputs::{Input, Inputs, Member};
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
        return count_rows(split, node, request, schema);
    }
    let members = inputs::members(split, request)?;
    let weight = if node.is_all() { None } else { Some(search::weight(split, node)?) };
    let mut parts = Vec::new();
    for segment in 0..split.segments.len() {
        let run = SegmentRun::open(split, segment, request, &members)?;
        parts.push(run.aggregate(weight.as_deref(), schema, cancel).at(&split.path)?);
    }
    merge::merge(request, schema, parts)
}

/// Row counts, which the index often has without reading the rows.
fn count_rows(
    split: &Arc<Split>,
    node: &Node,
    request: &Request,
    schema: &SchemaRef,
) -> Result<RecordBatch> {
    let mut arrays = Vec::new();
    for (call, field) in request.functions.iter().zip(schema.fields()) {
        let rows = match &call.only {
            None => search::count(split, node)?,
            Some(only) if node.is_all() => search::count(split, only)?,
            Some(only) => {
                search::count(split, &Node::And { args: vec![node.clone(), only.clone()] })?
            }
        };
        let rows: ArrayRef = Arc::new(Int64Array::from(vec![rows as i64]));
        arrays.push(convert::cast(&rows, field.data_type())?);
    }
    Ok(RecordBatch::try_new(schema.clone(), arrays)?)
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
    fn open(
        split: &'a Arc<Split>,
        segment: usize,
        request: &'a Request,
        members: &'a HashMap<String, Member>,
    ) -> Result<Self> {
        let mut inputs = Inputs::new(split, segment, members);
        let keys = request.group_by.iter().map(|key| inputs.of_key(key));
        let key_inputs = keys.collect::<Result<_>>()?;
        let calls = request.functions.iter().map(|call| inputs.of_call(call));
        let function_inputs = calls.collect::<Result<_>>()?;
        let inputs = inputs.each;
        Ok(SegmentRun { split, segment, request, inputs, key_inputs, function_inputs })
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
        for (call, at) in self.request.functions.iter().zip(&self.function_inputs) {
            let absent = Raw::Absent;
            let (column, raw) = match at {
                Some(at) => (self.inputs[*at].column, &self.inputs[*at].raw),
                None => (None, &absent),
            };
            states.push(State::new(&call.function, column, raw)?);
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

    /// Columns with several functions per group.
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
        self.inputs.iter_mut().map(|input| input.read(docs)).collect()
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

/// The states of all functions.
struct States {
    each: Vec<State>,
    /// Several functions of one input are computed in one pass; their states stay empty.
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
