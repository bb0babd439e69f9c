//! Query texts.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::language::{self, Ast};
use super::{Fields, Mode, Node, lower};
use crate::error::Result;

/// A query text that is parsed once for all splits: the meaning of its words depends on the fields of each
/// split, its grammar does not.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct SearchText {
    text: String,
    parsed: Arc<OnceLock<Ast>>,
}

impl SearchText {
    /// The tree for these fields; `wanted` are the fields of words without a field.
    pub fn lower(&self, known: &Fields, wanted: &[String], mode: Mode) -> Result<Node> {
        lower::lower(self.ast()?, &self.text, known, wanted, mode)
    }

    fn ast(&self) -> Result<&Ast> {
        match self.parsed.get() {
            Some(ast) => Ok(ast),
            None => {
                let ast = language::parse(&self.text)?;
                Ok(self.parsed.get_or_init(|| ast))
            }
        }
    }
}

impl From<String> for SearchText {
    fn from(text: String) -> Self {
        Self { text, parsed: Arc::default() }
    }
}

impl From<&str> for SearchText {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<SearchText> for String {
    fn from(text: SearchText) -> Self {
        text.text
    }
}

impl PartialEq for SearchText {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
