//! The query tree as it arrives from Python.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::text::SearchText;
use crate::error::{EngineError, Result};

/// One node; values are encoded by the type of their column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Node {
    All,
    None,
    Term {
        field: String,
        value: Value,
    },
    Set {
        field: String,
        values: Vec<Value>,
    },
    Range {
        field: String,
        lower: Option<Bound>,
        upper: Option<Bound>,
    },
    Prefix {
        field: String,
        value: Value,
    },
    Suffix {
        field: String,
        value: Value,
    },
    Contains {
        field: String,
        value: Value,
    },
    Like {
        field: String,
        pattern: String,
        #[serde(default = "backslash")]
        escape: String,
    },
    Regex {
        field: String,
        pattern: String,
    },
    Exists {
        field: String,
    },
    And {
        args: Vec<Node>,
    },
    Or {
        args: Vec<Node>,
    },
    Not {
        arg: Box<Node>,
    },
    Search {
        query: SearchText,
        #[serde(default)]
        fields: Vec<String>,
        #[serde(default)]
        mode: Mode,
    },
    /// Rows that may contain a string in any case: those that have its trigrams, or all.
    Trigrams {
        field: String,
        text: String,
    },
    /// At least this many of the arguments must match.
    AtLeast {
        args: Vec<Node>,
        count: usize,
    },
    /// Every match has the same score.
    Constant {
        arg: Box<Node>,
        score: f32,
    },
    TokenTerm {
        field: String,
        text: String,
    },
    Phrase {
        field: String,
        text: String,
        #[serde(default)]
        slop: u32,
    },
    PhrasePrefix {
        field: String,
        text: String,
    },
    TokenWildcard {
        field: String,
        pattern: String,
    },
    TokenRegex {
        field: String,
        pattern: String,
    },
    Fuzzy {
        field: String,
        text: String,
        #[serde(default = "one")]
        distance: u8,
        #[serde(default)]
        prefix: usize,
    },
    Boost {
        arg: Box<Node>,
        boost: f32,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    pub value: Value,
    pub inclusive: bool,
}

/// The fields of a search that names none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    #[default]
    Any,
    Text,
    Exact,
}

fn backslash() -> String {
    "\\".to_owned()
}

fn one() -> u8 {
    1
}

impl Node {
    pub fn from_value(value: Value) -> Result<Node> {
        serde_json::from_value(value).map_err(|e| EngineError::bad_query(e.to_string()))
    }

    /// Whether the index stores the number of its rows, so that none has to be read.
    pub fn is_lookup(&self) -> bool {
        matches!(self, Node::All | Node::Term { .. })
    }

    /// Whether it searches for words and is scored, as opposed to a condition on values.
    pub fn is_search(&self) -> bool {
        matches!(
            self,
            Node::Search { .. }
                | Node::TokenTerm { .. }
                | Node::Phrase { .. }
                | Node::PhrasePrefix { .. }
                | Node::TokenWildcard { .. }
                | Node::TokenRegex { .. }
                | Node::Fuzzy { .. }
        )
    }

    /// Whether every document matches.
    pub fn is_all(&self) -> bool {
        match self {
            Node::All => true,
            Node::And { args } => args.iter().all(Node::is_all),
            Node::Boost { arg, .. } | Node::Constant { arg, .. } => arg.is_all(),
            _ => false,
        }
    }
}
