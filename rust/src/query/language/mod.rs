//! The query language: parses text into a syntax tree, with positions for errors.
//!
//! ```text
//! any    = every { OR every }
//! every  = unary { [AND] unary }
//! unary  = (NOT | + | -) unary | atom [ ^ [=] number ]
//! atom   = group | bounds | field : scoped | { field [ ^ number ] , … } : scoped | *  | value
//! group  = ( any ) [ ~ number [ % ] ]
//! scoped = group | bounds | *  | value
//! bounds = IN [ words ] | range | (> | >= | < | <=) word
//! value  = "phrase" [~ n | *] | 'words' | /regex/ | word [~ [n] [, prefix]]
//! ```

mod parser;
#[cfg(test)]
mod tests;
mod values;

use crate::error::Result;
use parser::Parser;

#[derive(Debug, Clone, PartialEq)]
pub enum Ast {
    All,
    And(Vec<Ast>),
    Or(Vec<Ast>),
    Not(Box<Ast>),
    Boost(Box<Ast>, f32),
    /// Every match has this score.
    Constant(Box<Ast>, f32),
    /// At least this many of the parts must match.
    AtLeast(Vec<Ast>, usize),
    /// Words without a field are searched in these fields, each with its weight.
    Within {
        fields: Vec<(String, f32)>,
        arg: Box<Ast>,
        position: usize,
    },
    Leaf {
        field: Option<String>,
        query: FieldQuery,
        position: usize,
    },
}

/// The query of one field.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldQuery {
    Word(String),
    /// `*` and `?` are wildcards, a backslash escapes the next character.
    Wildcard(String),
    Fuzzy {
        word: String,
        distance: u8,
        /// The number of leading characters that must match.
        prefix: usize,
    },
    Phrase {
        text: String,
        slop: u32,
        prefix: bool,
    },
    Words(String),
    Regex(String),
    Range {
        lower: Option<(String, bool)>,
        upper: Option<(String, bool)>,
    },
    Set(Vec<String>),
    Exists,
}

pub fn parse(text: &str) -> Result<Ast> {
    Parser::new(text).parse()
}

/// Replaces `now`, `now-1h` and so on as ends of ranges by timestamps. A text that cannot be parsed is returned
/// unchanged: parsing it later reports the error.
pub fn at_time(text: &str, now: i64) -> String {
    let mut parser = Parser::new(text);
    parser.now = Some(now);
    if parser.parse().is_err() {
        return text.to_owned();
    }
    let (mut fixed, mut at) = (String::new(), 0);
    for (start, end, time) in &parser.times {
        fixed.extend(&parser.chars[at..*start]);
        fixed.push_str(time);
        at = *end;
    }
    fixed.extend(&parser.chars[at..]);
    fixed
}
