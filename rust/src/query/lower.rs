//! Lowers a parsed query to a tree, by the kind of each field it names.

use serde_json::{Value, json};

use super::address;
use super::fields::{FieldKind, Fields};
use super::language::{Ast, FieldQuery};
use super::tokens::tokenize_as;
use super::tree::{Bound, Mode, Node};
use crate::columns::convert::MICROS_PER_DAY;
use crate::columns::text::{self, iso_date, iso_micros};
use crate::error::{EngineError, Result};

/// Turns a parsed query into a tree; `text` is what was parsed, for errors.
pub fn lower(
    ast: &Ast,
    text: &str,
    fields: &Fields,
    wanted: &[String],
    mode: Mode,
) -> Result<Node> {
    let defaults = fields.defaults(wanted, mode);
    Lowering { text, fields, defaults }.node(ast)
}

struct Lowering<'a> {
    text: &'a str,
    fields: &'a Fields,
    defaults: Vec<(String, f32)>,
}

/// Why a field cannot answer a query; shown if the query names the field.
struct Misfit(String);

impl Lowering<'_> {
    fn node(&self, ast: &Ast) -> Result<Node> {
        let nodes = |parts: &[Ast]| parts.iter().map(|p| self.node(p)).collect::<Result<Vec<_>>>();
        Ok(match ast {
            Ast::All => Node::All,
            Ast::And(parts) => Node::And { args: self.without_stops(nodes(parts)?)? },
            Ast::Or(parts) => Node::Or { args: nodes(parts)? },
            Ast::Not(arg) => Node::Not { arg: Box::new(self.node(arg)?) },
            Ast::Boost(arg, boost) => Node::Boost { arg: Box::new(self.node(arg)?), boost: *boost },
            Ast::Constant(arg, score) => {
                Node::Constant { arg: Box::new(self.node(arg)?), score: *score }
            }
            Ast::AtLeast(parts, count) => Node::AtLeast { args: nodes(parts)?, count: *count },
            Ast::Within { fields, arg, position } => self.within(fields, arg, *position)?,
            Ast::Leaf { field: Some(field), query, position } => {
                self.named(field, query, *position)?
            }
            Ast::Leaf { field: None, query, position } => self.unnamed(query, *position)?,
        })
    }

    /// Drops stop words, unless there are no other words.
    fn without_stops(&self, args: Vec<Node>) -> Result<Vec<Node>> {
        if self.fields.stopping.is_empty() {
            return Ok(args);
        }
        let stops = args.iter().map(|arg| self.is_stop(arg)).collect::<Result<Vec<_>>>()?;
        if stops.iter().all(|stop| *stop) {
            return Ok(args);
        }
        Ok(args.into_iter().zip(stops).filter(|(_, stop)| !stop).map(|(arg, _)| arg).collect())
    }

    /// Whether a node searches only for stop words, which are never indexed.
    fn is_stop(&self, node: &Node) -> Result<bool> {
        Ok(match node {
            Node::TokenTerm { field, text } | Node::Phrase { field, text, .. } => {
                match self.fields.stopping.get(field) {
                    Some(tokenizer) => tokenize_as(tokenizer, text)?.is_empty(),
                    None => false,
                }
            }
            Node::Boost { arg, .. } | Node::Constant { arg, .. } => self.is_stop(arg)?,
            Node::Or { args } if !args.is_empty() => {
                let stops = args.iter().map(|arg| self.is_stop(arg));
                stops.collect::<Result<Vec<_>>>()?.into_iter().all(|stop| stop)
            }
            _ => false,
        })
    }

    fn named(&self, field: &str, query: &FieldQuery, position: usize) -> Result<Node> {
        let Some(kind) = self.fields.kind(field) else {
            return if self.fields.lenient { Ok(Node::None) } else { Err(self.unknown(field)) };
        };
        lower_field(field, kind, query).map_err(|misfit| self.refused(misfit, position))
    }

    fn within(&self, fields: &[(String, f32)], arg: &Ast, position: usize) -> Result<Node> {
        for (field, _) in fields {
            if self.fields.kind(field).is_none() && !self.fields.lenient {
                return Err(self.unknown(field));
            }
        }
        let inner = Lowering { text: self.text, fields: self.fields, defaults: fields.to_vec() };
        match arg {
            Ast::Leaf { field: None, query, .. } => inner.unnamed(query, position),
            arg => inner.node(arg),
        }
    }

    fn unknown(&self, field: &str) -> EngineError {
        EngineError::UnknownField {
            field: field.to_owned(),
            available: self.fields.kinds.keys().cloned().collect::<Vec<_>>().join(", "),
        }
    }

    fn refused(&self, Misfit(detail): Misfit, position: usize) -> EngineError {
        EngineError::QuerySyntax { query: self.text.to_owned(), position, detail }
    }

    /// In any default field that can answer the query; an error only if none can.
    fn unnamed(&self, query: &FieldQuery, position: usize) -> Result<Node> {
        let mut found = Vec::new();
        let mut refused = None;
        for (field, weight) in &self.defaults {
            let Some(kind) = self.fields.kind(field) else { continue };
            match lower_field(field, kind, query) {
                Ok(node) if *weight == 1.0 => found.push(node),
                Ok(node) => found.push(Node::Boost { arg: Box::new(node), boost: *weight }),
                Err(misfit) => refused = Some(misfit),
            }
        }
        match (found.len(), refused) {
            (0, Some(misfit)) if self.defaults.len() == 1 => Err(self.refused(misfit, position)),
            (0, _) => Ok(Node::None),
            (1, _) => Ok(found.swap_remove(0)),
            _ => Ok(Node::Or { args: found }),
        }
    }
}

fn lower_field(field: &str, kind: FieldKind, query: &FieldQuery) -> Result<Node, Misfit> {
    if *query == FieldQuery::Exists {
        return Ok(Node::Exists { field: field.to_owned() });
    }
    match kind {
        FieldKind::Text { positions } => lower_text(field, positions, query),
        FieldKind::Hashed => lower_hashed(field, query),
        FieldKind::Exact => lower_exact(field, query),
        FieldKind::Json => lower_json(field, query),
        FieldKind::Opaque => Err(Misfit(format!("field `{field}` cannot be searched"))),
        _ => lower_typed(field, kind, query),
    }
}

fn lower_text(field: &str, positions: bool, query: &FieldQuery) -> Result<Node, Misfit> {
    let name = || field.to_owned();
    Ok(match query {
        FieldQuery::Word(text) => Node::TokenTerm { field: name(), text: text.clone() },
        FieldQuery::Wildcard(pattern) => {
            Node::TokenWildcard { field: name(), pattern: pattern.clone() }
        }
        FieldQuery::Fuzzy { word, distance, prefix } => {
            Node::Fuzzy { field: name(), text: word.clone(), distance: *distance, prefix: *prefix }
        }
        FieldQuery::Phrase { text, .. } if !positions && text.split_whitespace().count() > 1 => {
            let detail = format!("field `{field}` keeps no positions, it has no phrases");
            return Err(Misfit(detail));
        }
        FieldQuery::Phrase { text, prefix: true, .. } => {
            Node::PhrasePrefix { field: name(), text: text.clone() }
        }
        FieldQuery::Phrase { text, slop, .. } => {
            Node::Phrase { field: name(), text: text.clone(), slop: *slop }
        }
        FieldQuery::Words(text) => {
            let words = text.split_whitespace();
            let args = words.map(|word| Node::TokenTerm { field: name(), text: word.to_owned() });
            Node::And { args: args.collect() }
        }
        FieldQuery::Regex(pattern) => Node::TokenRegex { field: name(), pattern: pattern.clone() },
        FieldQuery::Set(values) => {
            let args = values.iter().map(|v| Node::TokenTerm { field: name(), text: v.clone() });
            Node::Or { args: args.collect() }
        }
        FieldQuery::Range { .. } => {
            return Err(Misfit(format!("field `{field}` is text and has no order for a range")));
        }
        FieldQuery::Exists => Node::Exists { field: name() },
    })
}

/// Only whole values can be found.
fn lower_hashed(field: &str, query: &FieldQuery) -> Result<Node, Misfit> {
    match query {
        FieldQuery::Word(_)
        | FieldQuery::Words(_)
        | FieldQuery::Set(_)
        | FieldQuery::Phrase { prefix: false, .. } => lower_exact(field, query),
        _ => Err(Misfit(format!("field `{field}` is exact_only: it is found by whole values"))),
    }
}

fn lower_exact(field: &str, query: &FieldQuery) -> Result<Node, Misfit> {
    let name = || field.to_owned();
    Ok(match query {
        FieldQuery::Range { lower, upper } => {
            let bound = |end: &Option<(String, bool)>| {
                end.as_ref()
                    .map(|(text, inclusive)| Bound { value: json!(text), inclusive: *inclusive })
            };
            Node::Range { field: name(), lower: bound(lower), upper: bound(upper) }
        }
        FieldQuery::Phrase { text, prefix: true, .. } => {
            Node::PhrasePrefix { field: name(), text: text.clone() }
        }
        FieldQuery::Phrase { text, .. } | FieldQuery::Words(text) => {
            Node::TokenTerm { field: name(), text: text.clone() }
        }
        other => return lower_text(field, true, other),
    })
}

/// Inside JSON a word may be a string, a number or a boolean.
fn lower_json(field: &str, query: &FieldQuery) -> Result<Node, Misfit> {
    let name = || field.to_owned();
    let equals = |word: &str| {
        let mut values = vec![json!(word)];
        if let Ok(number) = word.parse::<i64>() {
            values.push(json!(number));
        } else if let Ok(number) = word.parse::<f64>() {
            values.push(json!(number));
        }
        if let Ok(truth) = word.parse::<bool>() {
            values.push(json!(truth));
        }
        let args = values.into_iter().map(|value| Node::Term { field: name(), value });
        Node::Or { args: args.collect() }
    };
    Ok(match query {
        FieldQuery::Word(text)
        | FieldQuery::Phrase { text, prefix: false, .. }
        | FieldQuery::Words(text) => equals(text),
        FieldQuery::Phrase { text, .. } => Node::Prefix { field: name(), value: json!(text) },
        FieldQuery::Set(values) => Node::Or { args: values.iter().map(|v| equals(v)).collect() },
        FieldQuery::Wildcard(pattern) => {
            Node::Regex { field: name(), pattern: wildcard_regex(pattern) }
        }
        FieldQuery::Regex(pattern) => {
            Node::Regex { field: name(), pattern: format!("\\A(?:{pattern})\\z") }
        }
        FieldQuery::Range { lower, upper } => {
            let number = |end: &Option<(String, bool)>| {
                end.as_ref().is_none_or(|(text, _)| text.parse::<f64>().is_ok())
            };
            let numeric = number(lower) && number(upper);
            let bound = |end: &Option<(String, bool)>| {
                end.as_ref().map(|(text, inclusive)| Bound {
                    value: json_number(text).filter(|_| numeric).unwrap_or_else(|| json!(text)),
                    inclusive: *inclusive,
                })
            };
            Node::Range { field: name(), lower: bound(lower), upper: bound(upper) }
        }
        FieldQuery::Fuzzy { .. } => {
            return Err(Misfit(format!("field `{field}` is JSON and has no fuzzy words")));
        }
        FieldQuery::Exists => Node::Exists { field: name() },
    })
}

fn json_number(text: &str) -> Option<Value> {
    text.parse::<i64>().map(|n| json!(n)).or_else(|_| text.parse::<f64>().map(|n| json!(n))).ok()
}

/// Wildcards as a regular expression over the whole string.
pub fn wildcard_regex(pattern: &str) -> String {
    let mut regex = String::from("(?s)\\A");
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '*' => regex.push_str(".*"),
            '?' => regex.push('.'),
            '\\' => regex.push_str(&regex::escape(&chars.next().unwrap_or('\\').to_string())),
            c => regex.push_str(&regex::escape(&c.to_string())),
        }
    }
    regex.push_str("\\z");
    regex
}

/// A value of a typed field and, for a whole day of a timestamp, the first value after it.
fn typed_value(field: &str, kind: FieldKind, text: &str) -> Result<(Value, Option<Value>), Misfit> {
    let wrong = |what: &str| Misfit(format!("`{text}` is not {what}, as field `{field}` needs"));
    Ok(match kind {
        FieldKind::Bool => match text {
            "true" => (json!(true), None),
            "false" => (json!(false), None),
            _ => return Err(wrong("`true` or `false`")),
        },
        FieldKind::Whole => {
            (json!(text.parse::<i64>().map_err(|_| wrong("a whole number"))?), None)
        }
        FieldKind::Float => {
            let number = text::float(text).ok_or_else(|| wrong("a number"))?;
            (if number.is_finite() { json!(number) } else { json!(text) }, None)
        }
        FieldKind::Decimal => {
            text::unscaled(text).ok_or_else(|| wrong("a decimal number"))?;
            (json!(text), None)
        }
        FieldKind::Date => {
            let day = iso_date(text.get(..10).unwrap_or(text)).ok_or_else(|| wrong("a date"))?;
            (json!(day), None)
        }
        FieldKind::Timestamp => match iso_date(text) {
            Some(day) => {
                let start = i64::from(day) * MICROS_PER_DAY;
                (json!(start), Some(json!(start + MICROS_PER_DAY)))
            }
            None => (json!(iso_micros(text).ok_or_else(|| wrong("a date or time"))?), None),
        },
        FieldKind::Ip => {
            address::parse(text).ok_or_else(|| wrong("an address or network"))?;
            (json!(text), None)
        }
        _ => return Err(wrong("a value")),
    })
}

fn lower_typed(field: &str, kind: FieldKind, query: &FieldQuery) -> Result<Node, Misfit> {
    let name = || field.to_owned();
    let equals = |text: &str| -> Result<Node, Misfit> {
        Ok(match typed_value(field, kind, text)? {
            (value, None) => Node::Term { field: name(), value },
            (start, Some(end)) => Node::Range {
                field: name(),
                lower: Some(Bound { value: start, inclusive: true }),
                upper: Some(Bound { value: end, inclusive: false }),
            },
        })
    };
    match query {
        FieldQuery::Word(text)
        | FieldQuery::Words(text)
        | FieldQuery::Phrase { text, prefix: false, .. } => equals(text),
        FieldQuery::Wildcard(pattern) if kind == FieldKind::Ip => equals(pattern),
        FieldQuery::Set(values) => {
            let args = values.iter().map(|v| equals(v)).collect::<Result<_, _>>()?;
            Ok(Node::Or { args })
        }
        FieldQuery::Range { lower, upper } => {
            let lower = lower.as_ref().map(|(text, inclusive)| {
                let (start, after) = typed_value(field, kind, text)?;
                // beyond a day means beyond all of it
                Ok(match (after, *inclusive) {
                    (Some(after), false) => Bound { value: after, inclusive: true },
                    (_, inclusive) => Bound { value: start, inclusive },
                })
            });
            let upper = upper.as_ref().map(|(text, inclusive)| {
                let (start, after) = typed_value(field, kind, text)?;
                Ok(match (after, *inclusive) {
                    (Some(after), true) => Bound { value: after, inclusive: false },
                    (_, inclusive) => Bound { value: start, inclusive },
                })
            });
            Ok(Node::Range { field: name(), lower: lower.transpose()?, upper: upper.transpose()? })
        }
        _ => Err(Misfit(format!(
            "field `{field}` is not text: only values and ranges can be searched"
        ))),
    }
}
