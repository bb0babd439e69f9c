//! Exact aggregation in columnar loops: per segment, in blocks, with any query and deletion vector.

mod calendar;
mod functions;
mod keys;
mod merge;
mod raw;
mod request;

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use tantivy::BitSet;
use tantivy::query::Weight;

pub use request::{Function, Key, Request};

use crate::cancel::Cancel;
use crate::columns::Docs;
use crate::error::{At, EngineError, Result};
use crate::open::{Column, Split};
use crate::query::Node;
use crate::search::{self, Matches};
use crate::split::Encoding;
use functions::{Groups, State, mask_block};
use keys::{DROPPED, KeyColumn, NumberMap};
use raw::{Block, Raw};

const BLOCK: usize = 8192;
/// Combinations of two keys up to this many are numbered in a table instead of a hash map.
const DENSE: usize = 1 << 20;

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
    let weight = if node.is_all() { None } else { Some(search::weight(split, node)?) };
    let mut parts = Vec::new();
    for segment in 0..split.segments.len() {
        let run = SegmentRun::open(split, segment, request)?;
        parts.push(run.aggregate(weight.as_deref(), schema, cancel).at(&split.path)?);
    }
    merge::merge(request, schema, parts)
}

/// One column that keys or functions need, read once per block.
struct Input<'a> {
    column: Option<&'a Column>,
    raw: Raw,
    /// Documents with a value, where only that is asked of a column that is slow to read.
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
                Encoding::String | Encoding::DecimalBytes | Encoding::Ip => {
                    if need == Need::Presence { Need::Order } else { need }
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
        let mut grouping = Grouping::new(&keys, &self.inputs, &self.key_inputs);
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

    fn block(
        &mut self,
        docs: &[u32],
        keys: &mut [KeyColumn<'_>],
        states: &mut [State],
        grouping: &mut Grouping,
    ) -> Result<()> {
        let mut blocks = self.read(&Docs::of(docs))?;
        if keys.is_empty() {
            return update(states, &self.function_inputs, &blocks, 1, &Groups::One(docs.len()));
        }
        let inputs = &self.inputs;
        let mut groups = grouping.assign(
            keys,
            |key| {
                let at = self.key_inputs[key];
                (&inputs[at].raw, &blocks[at])
            },
            docs.len(),
        )?;
        if keys.iter().any(KeyColumn::may_drop) && groups.contains(&DROPPED) {
            let kept: Vec<u32> =
                docs.iter().zip(&groups).filter(|(_, g)| **g != DROPPED).map(|(d, _)| *d).collect();
            groups.retain(|&group| group != DROPPED);
            blocks = self.read(&Docs::of(&kept))?;
        }
        let count = grouping.len();
        update(states, &self.function_inputs, &blocks, count, &Groups::Many(&groups))
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
        mut states: Vec<State>,
        grouping: &Grouping,
        schema: &SchemaRef,
    ) -> Result<RecordBatch> {
        let rows = if keys.is_empty() { 1 } else { grouping.len() };
        states.iter_mut().for_each(|state| state.resize(rows));
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
        Ok(RecordBatch::try_new_with_options(schema.clone(), arrays, &options)?)
    }
}

/// What a column is read for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Need {
    Presence,
    Order,
    Values,
}

fn update(
    states: &mut [State],
    inputs: &[Option<usize>],
    blocks: &[Block],
    groups: usize,
    of: &Groups<'_>,
) -> Result<()> {
    for (state, input) in states.iter_mut().zip(inputs) {
        state.resize(groups);
        state.update(input.map(|at| &blocks[at]), of)?;
    }
    Ok(())
}

/// Groups found so far: the numbers of several keys combined step by step.
struct Grouping {
    steps: Vec<Step>,
}

/// Combines the number so far with the number of one more key.
struct Step {
    table: Option<(usize, Vec<u32>)>,
    map: NumberMap<u64, u32>,
    pairs: Vec<(u32, u32)>,
}

impl Grouping {
    fn new(keys: &[KeyColumn<'_>], inputs: &[Input<'_>], key_inputs: &[usize]) -> Grouping {
        let mut before = Some(1usize);
        let steps = keys.iter().zip(key_inputs).map(|(key, &at)| {
            let limit = key.dense_limit(&inputs[at].raw);
            let size = before.zip(limit).and_then(|(before, limit)| {
                before.checked_mul(limit).filter(|&size| size <= DENSE)
            });
            before = size;
            let table = size.zip(limit).map(|(size, limit)| (limit, vec![u32::MAX; size]));
            Step { table, map: NumberMap::default(), pairs: Vec::new() }
        });
        Grouping { steps: steps.collect() }
    }

    fn len(&self) -> usize {
        self.steps.last().map_or(1, |step| step.pairs.len())
    }

    fn assign<'b>(
        &mut self,
        keys: &mut [KeyColumn<'_>],
        block: impl Fn(usize) -> (&'b Raw, &'b Block),
        rows: usize,
    ) -> Result<Vec<u32>> {
        // the commonest grouping, by one text column without nulls, needs no step between
        if let [key] = &*keys
            && key.is_terms()
            && let (_, Block::Terms(ords, None)) = block(0)
            && let Some(groups) = self.steps[0].number_terms(ords)
        {
            return Ok(groups);
        }
        let mut groups = vec![0u32; rows];
        let mut numbers = Vec::with_capacity(rows);
        for (at, key) in keys.iter_mut().enumerate() {
            let (raw, values) = block(at);
            key.number(raw, values, rows, &mut numbers)?;
            self.steps[at].combine(&mut groups, &numbers);
        }
        Ok(groups)
    }

    /// For every group the number of one key's value.
    fn numbers_of(&self, key: usize) -> Vec<u32> {
        let mut groups: Vec<u32> = (0..self.len() as u32).collect();
        for step in self.steps[key + 1..].iter().rev() {
            groups.iter_mut().for_each(|group| *group = step.pairs[*group as usize].0);
        }
        groups.iter().map(|&group| self.steps[key].pairs[group as usize].1).collect()
    }
}

impl Step {
    /// Groups of positions in a dictionary; nothing if the dictionary is too large for a table.
    fn number_terms(&mut self, ords: &[u32]) -> Option<Vec<u32>> {
        let (_, table) = self.table.as_mut()?;
        let pairs = &mut self.pairs;
        let groups = ords.iter().map(|&ord| {
            let known = table.get_mut(ord as usize + 1)?;
            if *known == u32::MAX {
                pairs.push((0, ord + 1));
                *known = pairs.len() as u32 - 1;
            }
            Some(*known)
        });
        groups.collect()
    }

    fn combine(&mut self, groups: &mut [u32], numbers: &[u32]) {
        let pairs = &mut self.pairs;
        let mut add = |group: u32, number: u32| {
            pairs.push((group, number));
            pairs.len() as u32 - 1
        };
        match &mut self.table {
            Some((limit, table)) => {
                for (group, &number) in groups.iter_mut().zip(numbers) {
                    // with a table the groups before are numbered below its rows
                    let slot = *group as usize * *limit + number as usize;
                    let Some(known) = table.get_mut(slot) else {
                        *group = DROPPED;
                        continue;
                    };
                    if *known == u32::MAX {
                        *known = add(*group, number);
                    }
                    *group = *known;
                }
            }
            None => {
                for (group, &number) in groups.iter_mut().zip(numbers) {
                    if *group == DROPPED || number == DROPPED {
                        *group = DROPPED;
                        continue;
                    }
                    let both = u64::from(*group) << 32 | u64::from(number);
                    *group = *self.map.entry(both).or_insert_with(|| add(*group, number));
                }
            }
        }
    }
}
