//! The tokens of one column of a batch: every distinct token once, and each row as token numbers.

use std::collections::HashMap;
use std::ops::Range;

use arrow::array::{Array, ArrayRef};

use super::near::are_near;
use crate::error::Result;
use crate::texts::{bytes_of, lossy};
use crate::tokenizer::{self, MAX_TOKEN_LENGTH};

/// A dictionary of the batch's tokens, so that a condition on tokens is checked once per distinct token.
pub struct Words {
    numbers: HashMap<Vec<u8>, u32>,
    tokens: Vec<Vec<u8>>,
    /// Number and position of each token of each row.
    placed: Vec<(u32, u32)>,
    ends: Vec<usize>,
}

impl Words {
    /// The tokens that this tokenizer makes of each row; a raw value is a token of its own bytes.
    pub fn of(array: &ArrayRef, tokenizer: &str) -> Result<Words> {
        let values = bytes_of(array)?;
        let mut words = Words {
            numbers: HashMap::new(),
            tokens: Vec::new(),
            placed: Vec::new(),
            ends: Vec::with_capacity(values.len()),
        };
        let mut analyzer = tokenizer::analyzer(tokenizer)?;
        let raw = tokenizer::is_raw(tokenizer);
        for row in 0..values.len() {
            if values.is_valid(row) && raw {
                words.add(values.value(row), 0);
            } else if values.is_valid(row) {
                let text = lossy(values.value(row));
                analyzer.token_stream(&text).process(&mut |token| {
                    words.add(token.text.as_bytes(), token.position as u32);
                });
            }
            words.ends.push(words.placed.len());
        }
        Ok(words)
    }

    fn add(&mut self, token: &[u8], position: u32) {
        // a longer token is never indexed
        if token.len() > MAX_TOKEN_LENGTH {
            return;
        }
        let number = match self.numbers.get(token) {
            Some(number) => *number,
            None => {
                let number = self.tokens.len() as u32;
                self.numbers.insert(token.to_vec(), number);
                self.tokens.push(token.to_vec());
                number
            }
        };
        self.placed.push((number, position));
    }

    fn row(&self, row: usize) -> Range<usize> {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        start..self.ends[row]
    }

    /// Rows that have any token for which this holds.
    pub fn any(&self, holds: impl Fn(&[u8]) -> bool) -> Vec<bool> {
        let wanted: Vec<bool> = self.tokens.iter().map(|token| holds(token)).collect();
        self.rows(|tokens| tokens.iter().any(|(number, _)| wanted[*number as usize]))
    }

    /// Rows that have this token.
    pub fn has(&self, token: &str) -> Vec<bool> {
        match self.numbers.get(token.as_bytes()) {
            Some(wanted) => self.rows(|tokens| tokens.iter().any(|(number, _)| number == wanted)),
            None => vec![false; self.ends.len()],
        }
    }

    /// Rows that contain a phrase with at most `slop` moves; with `prefix` the last word is a prefix.
    pub fn phrase(&self, words: &[(usize, String)], slop: u32, prefix: bool) -> Vec<bool> {
        let last = words.len() - 1;
        let wanted: Vec<Vec<bool>> = words
            .iter()
            .enumerate()
            .map(|(at, (_, word))| {
                let word = word.as_bytes();
                let goes_on = prefix && at == last;
                let fits = |token: &Vec<u8>| token == word || (goes_on && token.starts_with(word));
                self.tokens.iter().map(fits).collect()
            })
            .collect();
        self.rows(|tokens| {
            let places: Vec<Vec<i64>> = words
                .iter()
                .zip(&wanted)
                .map(|((offset, _), wanted)| {
                    let here = tokens.iter().filter(|(number, _)| wanted[*number as usize]);
                    here.map(|(_, position)| i64::from(*position) - *offset as i64).collect()
                })
                .collect();
            are_near(&places, slop)
        })
    }

    fn rows(&self, holds: impl Fn(&[(u32, u32)]) -> bool) -> Vec<bool> {
        (0..self.ends.len()).map(|row| holds(&self.placed[self.row(row)])).collect()
    }
}
