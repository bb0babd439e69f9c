//! Term and token counts of a split, for scores: they cannot change while the split is open.

use std::collections::HashMap;
use std::sync::Mutex;

use tantivy::Term;
use tantivy::schema::Field;

use crate::error::Result;
use crate::store::lock;

/// Beyond this many words the cache is cleared: they are counted again when needed.
const MAX_TERMS: usize = 8192;

#[derive(Default)]
pub struct TermCounts {
    terms: Mutex<HashMap<Term, u64>>,
    tokens: Mutex<HashMap<Field, u64>>,
}

impl TermCounts {
    /// Living rows that have a term.
    pub fn term(&self, term: &Term, count: impl FnOnce() -> Result<u64>) -> Result<u64> {
        if let Some(rows) = lock(&self.terms).get(term) {
            return Ok(*rows);
        }
        let rows = count()?;
        let mut terms = lock(&self.terms);
        if terms.len() >= MAX_TERMS {
            terms.clear();
        }
        terms.insert(term.clone(), rows);
        Ok(rows)
    }

    /// Tokens of a field in living rows.
    pub fn tokens(&self, field: Field, count: impl FnOnce() -> Result<u64>) -> Result<u64> {
        if let Some(tokens) = lock(&self.tokens).get(&field) {
            return Ok(*tokens);
        }
        let tokens = count()?;
        lock(&self.tokens).insert(field, tokens);
        Ok(tokens)
    }
}
