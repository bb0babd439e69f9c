//! Which group each row belongs to.

use std::borrow::Cow;

use arrow::array::BooleanArray;

use super::keys::KeyColumn;
use super::raw::{Block, Raw};
use crate::error::{EngineError, Result};
use crate::hash::NumberMap;

/// Combinations of two keys up to this many are numbered in a table instead of a hash map.
const DENSE: usize = 1 << 20;
/// With at most this many terms in its dictionary a column's positions there are its groups.
const FEW: usize = 1 << 12;

/// Groups found so far: the numbers of several keys combined step by step.
pub struct Grouping {
    steps: Vec<Step>,
    /// Grouping by one column of few terms: which of them have occurred.
    terms: Option<Terms>,
}

struct Terms {
    /// The last one is null.
    seen: Vec<bool>,
    /// Whether only null may not have been seen.
    complete: bool,
}

/// Combines the number so far with the number of one more key.
struct Step {
    table: Option<(usize, Vec<u32>)>,
    map: NumberMap<u64, u32>,
    pairs: Vec<(u32, u32)>,
}

impl Grouping {
    pub fn new<'r>(keys: &[KeyColumn<'_>], raw: impl Fn(usize) -> &'r Raw) -> Grouping {
        if let [key] = keys
            && key.is_terms()
            && let Raw::Terms(terms) = raw(0)
            && terms.num_terms() <= FEW
        {
            let groups = terms.num_terms() + 1;
            let terms = Terms { seen: vec![false; groups], complete: false };
            return Grouping { steps: Vec::new(), terms: Some(terms) };
        }
        let mut before = Some(1usize);
        let steps = keys.iter().enumerate().map(|(at, key)| {
            let limit = key.dense_limit(raw(at));
            let size = before.zip(limit).and_then(|(before, limit)| {
                before.checked_mul(limit).filter(|&size| size <= DENSE)
            });
            before = size;
            let table = size.zip(limit).map(|(size, limit)| (limit, vec![u32::MAX; size]));
            Step { table, map: NumberMap::default(), pairs: Vec::new() }
        });
        Grouping { steps: steps.collect(), terms: None }
    }

    /// How many groups there are, with those that `seen` leaves out.
    pub fn len(&self) -> usize {
        match &self.terms {
            Some(terms) => terms.seen.len(),
            None => self.steps.last().map_or(1, |step| step.pairs.len()),
        }
    }

    /// The groups that have rows, if some have none.
    pub fn seen(&self) -> Option<BooleanArray> {
        let terms = self.terms.as_ref().filter(|terms| terms.seen.contains(&false))?;
        Some(BooleanArray::from(terms.seen.clone()))
    }

    pub fn assign<'b>(
        &mut self,
        keys: &mut [KeyColumn<'_>],
        block: impl Fn(usize) -> (&'b Raw, &'b Block),
        rows: usize,
    ) -> Result<Cow<'b, [u32]>> {
        if let Some(terms) = &mut self.terms {
            let groups = terms.groups(block(0).1, rows);
            terms.mark(&groups, matches!(groups, Cow::Owned(_)))?;
            return Ok(groups);
        }
        let mut groups = vec![0u32; rows];
        let mut numbers = Vec::with_capacity(rows);
        for (at, key) in keys.iter_mut().enumerate() {
            let (raw, values) = block(at);
            key.number(raw, values, rows, &mut numbers)?;
            self.steps[at].combine(&mut groups, &numbers)?;
        }
        Ok(Cow::Owned(groups))
    }

    /// For every group the number of one key's value.
    pub fn numbers_of(&self, key: usize) -> Vec<u32> {
        if let Some(terms) = &self.terms {
            let null = terms.seen.len() as u32 - 1;
            return (0..=null).map(|group| if group == null { 0 } else { group + 1 }).collect();
        }
        let mut groups: Vec<u32> = (0..self.len() as u32).collect();
        for step in self.steps[key + 1..].iter().rev() {
            groups.iter_mut().for_each(|group| *group = step.pairs[*group as usize].0);
        }
        groups.iter().map(|&group| self.steps[key].pairs[group as usize].1).collect()
    }
}

impl Terms {
    fn groups<'b>(&self, block: &'b Block, rows: usize) -> Cow<'b, [u32]> {
        let null = self.seen.len() as u32 - 1;
        match block {
            Block::Terms(ords, None) => Cow::Borrowed(ords),
            Block::Terms(ords, Some(nulls)) => {
                let group =
                    |(row, ord): (usize, &u32)| if nulls.is_null(row) { null } else { *ord };
                Cow::Owned(ords.iter().enumerate().map(group).collect())
            }
            _ => Cow::Owned(vec![null; rows]),
        }
    }

    /// Notes which groups occur, until all terms have; the states rely on every group being known.
    fn mark(&mut self, groups: &[u32], nulls: bool) -> Result<()> {
        let known = self.seen.len() as u32;
        if groups.iter().any(|&group| group >= known) {
            return Err(missing_term());
        }
        if !self.complete || nulls {
            groups.iter().for_each(|&group| self.seen[group as usize] = true);
            let (_, terms) = self.seen.split_last().unwrap_or((&false, &[]));
            self.complete = !terms.contains(&false);
        }
        Ok(())
    }
}

fn missing_term() -> EngineError {
    EngineError::corrupt("", "a term is missing")
}

impl Step {
    fn combine(&mut self, groups: &mut [u32], numbers: &[u32]) -> Result<()> {
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
                    let known = table.get_mut(slot).ok_or_else(missing_term)?;
                    if *known == u32::MAX {
                        *known = add(*group, number);
                    }
                    *group = *known;
                }
            }
            None => {
                for (group, &number) in groups.iter_mut().zip(numbers) {
                    let both = u64::from(*group) << 32 | u64::from(number);
                    *group = *self.map.entry(both).or_insert_with(|| add(*group, number));
                }
            }
        }
        Ok(())
    }
}
