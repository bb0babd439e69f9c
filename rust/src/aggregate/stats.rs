//! Count, sum and extremes of one column per group, in one pass over each block.

use std::cmp::Ordering;

use super::accumulate::{Groups, for_each};
use super::functions::State;
use super::raw::{Block, Raw};

/// A number that has a sum and an order.
pub trait Number: Copy + PartialOrd {
    type Sum: Copy;
    const ZERO: Self::Sum;
    const LEAST: Self;
    const MOST: Self;

    fn add(self, sum: &mut Self::Sum);

    /// Not a number: above all numbers, though no comparison says so.
    fn is_odd(self) -> bool;
}

impl Number for f64 {
    type Sum = f64;
    const ZERO: f64 = 0.0;
    const LEAST: f64 = f64::NEG_INFINITY;
    const MOST: f64 = f64::INFINITY;

    #[inline]
    fn add(self, sum: &mut f64) {
        *sum += self;
    }

    #[inline]
    fn is_odd(self) -> bool {
        self.is_nan()
    }
}

impl Number for i64 {
    type Sum = i128;
    const ZERO: i128 = 0;
    const LEAST: i64 = i64::MIN;
    const MOST: i64 = i64::MAX;

    #[inline]
    fn add(self, sum: &mut i128) {
        *sum += i128::from(self);
    }

    #[inline]
    fn is_odd(self) -> bool {
        false
    }
}

/// What is known of the values of one group; a segment has fewer rows than a `u32` counts.
#[derive(Clone, Copy)]
pub struct Group<T: Number> {
    sum: T::Sum,
    least: T,
    most: T,
    count: u32,
    odd: u32,
}

impl<T: Number> Group<T> {
    const EMPTY: Self = Group { sum: T::ZERO, least: T::MOST, most: T::LEAST, count: 0, odd: 0 };

    #[inline]
    fn add(&mut self, value: T) {
        value.add(&mut self.sum);
        // without branches, because the order of groups is not predictable
        self.least = if value < self.least { value } else { self.least };
        self.most = if value > self.most { value } else { self.most };
        self.count += 1;
        self.odd += u32::from(value.is_odd());
    }
}

/// The statistics of one column that a request needs, for all groups.
pub enum Stats {
    Floats(Vec<Group<f64>>),
    Whole(Vec<Group<i64>>),
}

impl Stats {
    /// Nothing for columns that are not numbers on disk.
    pub fn of(raw: &Raw) -> Option<Stats> {
        match raw {
            Raw::F64(_) => Some(Stats::Floats(Vec::new())),
            Raw::I64(_) | Raw::U64(_) | Raw::Bool(_) | Raw::Date(_) => {
                Some(Stats::Whole(Vec::new()))
            }
            Raw::Absent | Raw::Terms(_) | Raw::Arrays(_) => None,
        }
    }

    pub fn resize(&mut self, groups: usize) {
        match self {
            Stats::Floats(all) => all.resize(groups, Group::EMPTY),
            Stats::Whole(all) => all.resize(groups, Group::EMPTY),
        }
    }

    pub fn update(&mut self, block: &Block, groups: &Groups<'_>) {
        match (self, block) {
            (Stats::Floats(all), Block::Floats(values, nulls)) => {
                for_each(values, nulls.as_ref(), groups, |group, &value| all[group].add(value));
            }
            (Stats::Whole(all), Block::Numbers(values, nulls)) => {
                for_each(values, nulls.as_ref(), groups, |group, &value| all[group].add(value));
            }
            _ => {}
        }
    }

    /// Copies the result of one function to its state.
    pub fn fill(&self, state: &mut State) {
        match (self, state) {
            (Stats::Floats(all), State::Count(counts)) => *counts = counts_of(all),
            (Stats::Whole(all), State::Count(counts)) => *counts = counts_of(all),
            (Stats::Floats(all), State::SumFloat { sums, seen }) => {
                *sums = all.iter().map(|group| group.sum).collect();
                *seen = seen_of(all);
            }
            (Stats::Whole(all), State::SumWhole { sums, seen, overflow, .. }) => {
                *sums = all.iter().map(|group| group.sum).collect();
                *seen = seen_of(all);
                *overflow = vec![false; all.len()];
            }
            (Stats::Floats(all), State::Float { best, seen, wants }) => {
                let best_of = |group: &Group<f64>| match wants {
                    Ordering::Less if group.odd < group.count => group.least,
                    Ordering::Greater if group.odd == 0 => group.most,
                    _ => f64::NAN,
                };
                *best = all.iter().map(best_of).collect();
                *seen = seen_of(all);
            }
            (Stats::Whole(all), State::Whole { best, seen, wants, .. }) => {
                let least = *wants == Ordering::Less;
                *best = all.iter().map(|g| if least { g.least } else { g.most }).collect();
                *seen = seen_of(all);
            }
            _ => {}
        }
    }
}

fn counts_of<T: Number>(groups: &[Group<T>]) -> Vec<i64> {
    groups.iter().map(|group| i64::from(group.count)).collect()
}

fn seen_of<T: Number>(groups: &[Group<T>]) -> Vec<bool> {
    groups.iter().map(|group| group.count > 0).collect()
}
