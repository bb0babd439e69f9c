//! What the query language may ask of a field, and how it is asked: language to tree.

use std::collections::BTreeMap;

use arrow::datatypes::DataType;
use serde::Deserialize;
use serde_json::{Value, json};

use super::address;
use super::language::{Asked, Ast};
use super::tokens::tokenize_as;
use super::tree::{Bound, Mode, Node};
use crate::columns::build::member_type;
use crate::columns::text::{self, iso_date, iso_micros};
use crate::error::{EngineError, Result};
use crate::open::{Layout, is_text, split_path};
use crate::split::Encoding;
use crate::tokenizer;

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// How a field is searched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FieldKind {
    Text {
        positions: bool,
    },
    /// A whole value, of which the index has a hash.
    Hashed,
    Exact,
    Bool,
    Whole,
    Float,
    Decimal,
    Date,
    Timestamp,
    Ip,
    /// A value inside JSON whose type is not known.
    Json,
    /// Nothing can be asked but whether it exists.
    Opaque,
}

/// The fields a query may name.
#[derive(Debug, Default)]
pub struct Fields {
    kinds: BTreeMap<String, (FieldKind, Option<DataType>)>,
    /// Tokenizers that leave out words, by field.
    stopping: BTreeMap<String, String>,
    /// A field that is not there has no values, instead of being an error.
    pub lenient: bool,
}

/// The fields among these whose tokenizers leave out words.
fn stopping<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> BTreeMap<String, String> {
    let found = fields.filter(|(_, tokenizer)| tokenizer::stops(tokenizer));
    found.map(|(name, tokenizer)| (name.to_owned(), tokenizer.to_owned())).collect()
}

/// A field as Python describes it.
#[derive(Debug, Clone, Deserialize)]
pub struct Described {
    pub name: String,
    #[serde(default, rename = "type")]
    data_type: String,
    #[serde(default)]
    role: String,
    #[serde(default)]
    record: String,
    /// The name that the index keeps; nothing for whole values.
    #[serde(default)]
    pub tokenizer: String,
}

impl Described {
    pub fn list(value: Value) -> Result<Vec<Described>> {
        serde_json::from_value(value)
            .map_err(|e| EngineError::bad_query(format!("fields of a query: {e}")))
    }
}

impl Fields {
    /// From `[{"name", "type": Spark's name of the type, "role", "record"}]`.
    pub fn from_value(value: Value) -> Result<Fields> {
        let fields = Described::list(value)?;
        let stopping = stopping(fields.iter().map(|f| (f.name.as_str(), f.tokenizer.as_str())));
        let kinds = fields.into_iter().map(|field| {
            let kind = kind_by_name(&field);
            (field.name, (kind, None))
        });
        Ok(Fields { kinds: kinds.collect(), stopping, lenient: false })
    }

    pub fn of_layout(layout: &Layout) -> Fields {
        let kinds = layout.iter().map(|column| {
            let kind = match column.encoding {
                Encoding::Text => {
                    text_kind(column.tokenizer.as_deref().unwrap_or_default(), column.positions())
                }
                Encoding::Ip => FieldKind::Ip,
                Encoding::Json | Encoding::Struct | Encoding::List | Encoding::Map => {
                    FieldKind::Json
                }
                Encoding::StringBytes => FieldKind::Exact,
                Encoding::String if !column.number_as_text => FieldKind::Exact,
                _ => kind_of(&column.data_type),
            };
            (column.name.clone(), (kind, Some(column.data_type.clone())))
        });
        let tokenizers =
            layout.iter().filter_map(|c| Some((c.name.as_str(), c.tokenizer.as_deref()?)));
        Fields { kinds: kinds.collect(), stopping: stopping(tokenizers), lenient: true }
    }

    /// Columns of rows outside any index, as a split with the same columns has them.
    pub fn of_rows<'a>(
        columns: impl Iterator<Item = (&'a Described, &'a DataType)> + Clone,
    ) -> Fields {
        let tokenizers = columns.clone().map(|(f, _)| (f.name.as_str(), f.tokenizer.as_str()));
        let stopping = stopping(tokenizers);
        let kinds = columns.map(|(field, data_type)| {
            let kind = match field.role.as_str() {
                "text" | "json" | "ip" => kind_by_name(field),
                _ if data_type.is_nested() => FieldKind::Json,
                _ => kind_of(data_type),
            };
            (field.name.clone(), (kind, Some(data_type.clone())))
        });
        Fields { kinds: kinds.collect(), stopping, lenient: false }
    }

    pub fn kind(&self, name: &str) -> Option<FieldKind> {
        if let Some((kind, _)) = self.kinds.get(name) {
            return Some(*kind);
        }
        let parts = split_path(name);
        (1..parts.len()).rev().find_map(|cut| {
            let (kind, data_type) = self.kinds.get(&parts[..cut].join("."))?;
            if *kind != FieldKind::Json {
                return None;
            }
            Some(data_type.as_ref().map_or(FieldKind::Json, |t| leaf_kind(t, &parts[cut..])))
        })
    }

    /// Fields a word without a field is looked up in, with their weights.
    fn defaults(&self, wanted: &[String], mode: Mode) -> Vec<(String, f32)> {
        if !wanted.is_empty() {
            return wanted.iter().map(|name| (name.clone(), 1.0)).collect();
        }
        let is_text = |kind: &FieldKind| matches!(kind, FieldKind::Text { .. });
        let fits = |kind: &FieldKind| match mode {
            Mode::Any => !matches!(kind, FieldKind::Opaque | FieldKind::Json),
            Mode::Text => is_text(kind),
            Mode::Exact => !is_text(kind) && !matches!(kind, FieldKind::Opaque | FieldKind::Json),
        };
        let found = self.kinds.iter().filter(|(_, (kind, _))| fits(kind));
        found.map(|(name, _)| (name.clone(), 1.0)).collect()
    }
}

fn leaf_kind(data_type: &DataType, path: &[String]) -> FieldKind {
    let mut data_type = data_type;
    for part in path {
        match member_type(data_type, part) {
            Some(inner) => data_type = inner,
            None => return FieldKind::Json,
        }
    }
    while let DataType::List(item) = data_type {
        data_type = item.data_type();
    }
    match kind_of(data_type) {
        FieldKind::Exact | FieldKind::Opaque => FieldKind::Json,
        kind => kind,
    }
}

fn kind_of(data_type: &DataType) -> FieldKind {
    use DataType as D;
    match data_type {
        D::Boolean => FieldKind::Bool,
        D::Int8 | D::Int16 | D::Int32 | D::Int64 | D::Duration(_) => FieldKind::Whole,
        D::Float32 | D::Float64 => FieldKind::Float,
        D::Decimal128(..) => FieldKind::Decimal,
        D::Date32 => FieldKind::Date,
        D::Timestamp(..) => FieldKind::Timestamp,
        other if is_text(other) => FieldKind::Exact,
        _ => FieldKind::Opaque,
    }
}

fn text_kind(tokenizer: &str, positions: bool) -> FieldKind {
    if tokenizer == tokenizer::HASH { FieldKind::Hashed } else { FieldKind::Text { positions } }
}

fn kind_by_name(field: &Described) -> FieldKind {
    match field.role.as_str() {
        "text" => {
            let positions = field.record.is_empty() || field.record == "position";
            return text_kind(&field.tokenizer, positions);
        }
        "json" => return FieldKind::Json,
        "ip" => return FieldKind::Ip,
        _ => {}
    }
    match field.data_type.as_str() {
        "boolean" => FieldKind::Bool,
        "byte" | "tinyint" | "short" | "smallint" | "integer" | "int" | "long" | "bigint" => {
            FieldKind::Whole
        }
        "float" | "real" | "double" => FieldKind::Float,
        "date" => FieldKind::Date,
        "timestamp" | "timestamp_ntz" | "timestamp_ltz" => FieldKind::Timestamp,
        "binary" => FieldKind::Opaque,
        name if name.starts_with("decimal") => FieldKind::Decimal,
        name if name.starts_with("interval") => FieldKind::Whole,
        name if name.starts_with("struct")
            || name.starts_with("array")
            || name.starts_with("map") =>
        {
            FieldKind::Json
        }
        _ => FieldKind::Exact,
    }
}

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

/// A field cannot be asked this; the reason is shown when the field was named.
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
            Ast::Leaf { field: Some(field), asked, position } => {
                self.named(field, asked, *position)?
            }
            Ast::Leaf { field: None, asked, position } => self.unnamed(asked, *position)?,
        })
    }

    /// A word that the tokenizer leaves out is not asked for beside others.
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

    /// Whether a node asks only for words that are in no index.
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

    fn named(&self, field: &str, asked: &Asked, position: usize) -> Result<Node> {
        let Some(kind) = self.fields.kind(field) else {
            return if self.fields.lenient { Ok(Node::None) } else { Err(self.unknown(field)) };
        };
        ask(field, kind, asked).map_err(|misfit| self.refused(misfit, position))
    }

    fn within(&self, fields: &[(String, f32)], arg: &Ast, position: usize) -> Result<Node> {
        for (field, _) in fields {
            if self.fields.kind(field).is_none() && !self.fields.lenient {
                return Err(self.unknown(field));
            }
        }
        let inner = Lowering { text: self.text, fields: self.fields, defaults: fields.to_vec() };
        match arg {
            Ast::Leaf { field: None, asked, .. } => inner.unnamed(asked, position),
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

    /// In any default field that can be asked this; an error only if none can.
    fn unnamed(&self, asked: &Asked, position: usize) -> Result<Node> {
        let mut found = Vec::new();
        let mut refused = None;
        for (field, weight) in &self.defaults {
            let Some(kind) = self.fields.kind(field) else { continue };
            match ask(field, kind, asked) {
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

fn ask(field: &str, kind: FieldKind, asked: &Asked) -> Result<Node, Misfit> {
    if *asked == Asked::Exists {
        return Ok(Node::Exists { field: field.to_owned() });
    }
    match kind {
        FieldKind::Text { positions } => ask_text(field, positions, asked),
        FieldKind::Hashed => ask_hashed(field, asked),
        FieldKind::Exact => ask_exact(field, asked),
        FieldKind::Json => ask_json(field, asked),
        FieldKind::Opaque => Err(Misfit(format!("field `{field}` cannot be searched"))),
        _ => ask_typed(field, kind, asked),
    }
}

fn ask_text(field: &str, positions: bool, asked: &Asked) -> Result<Node, Misfit> {
    let name = || field.to_owned();
    Ok(match asked {
        Asked::Word(text) => Node::TokenTerm { field: name(), text: text.clone() },
        Asked::Wildcard(pattern) => Node::TokenWildcard { field: name(), pattern: pattern.clone() },
        Asked::Fuzzy { word, distance, prefix } => {
            Node::Fuzzy { field: name(), text: word.clone(), distance: *distance, prefix: *prefix }
        }
        Asked::Phrase { text, .. } if !positions && text.split_whitespace().count() > 1 => {
            let detail = format!("field `{field}` keeps no positions, it has no phrases");
            return Err(Misfit(detail));
        }
        Asked::Phrase { text, prefix: true, .. } => {
            Node::PhrasePrefix { field: name(), text: text.clone() }
        }
        Asked::Phrase { text, slop, .. } => {
            Node::Phrase { field: name(), text: text.clone(), slop: *slop }
        }
        Asked::Words(text) => {
            let words = text.split_whitespace();
            let args = words.map(|word| Node::TokenTerm { field: name(), text: word.to_owned() });
            Node::And { args: args.collect() }
        }
        Asked::Regex(pattern) => Node::TokenRegex { field: name(), pattern: pattern.clone() },
        Asked::Set(values) => {
            let args = values.iter().map(|v| Node::TokenTerm { field: name(), text: v.clone() });
            Node::Or { args: args.collect() }
        }
        Asked::Range { .. } => {
            return Err(Misfit(format!("field `{field}` is text and has no order for a range")));
        }
        Asked::Exists => Node::Exists { field: name() },
    })
}

/// Only whole values can be asked for.
fn ask_hashed(field: &str, asked: &Asked) -> Result<Node, Misfit> {
    match asked {
        Asked::Word(_) | Asked::Words(_) | Asked::Set(_) | Asked::Phrase { prefix: false, .. } => {
            ask_exact(field, asked)
        }
        _ => Err(Misfit(format!("field `{field}` is exact_only: it is found by whole values"))),
    }
}

fn ask_exact(field: &str, asked: &Asked) -> Result<Node, Misfit> {
    let name = || field.to_owned();
    Ok(match asked {
        Asked::Range { lower, upper } => {
            let bound = |end: &Option<(String, bool)>| {
                end.as_ref()
                    .map(|(text, inclusive)| Bound { value: json!(text), inclusive: *inclusive })
            };
            Node::Range { field: name(), lower: bound(lower), upper: bound(upper) }
        }
        Asked::Phrase { text, prefix: true, .. } => {
            Node::PhrasePrefix { field: name(), text: text.clone() }
        }
        Asked::Phrase { text, .. } | Asked::Words(text) => {
            Node::TokenTerm { field: name(), text: text.clone() }
        }
        other => return ask_text(field, true, other),
    })
}

/// Inside JSON a word may be a text, a number or a truth value.
fn ask_json(field: &str, asked: &Asked) -> Result<Node, Misfit> {
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
    Ok(match asked {
        Asked::Word(text) | Asked::Phrase { text, prefix: false, .. } | Asked::Words(text) => {
            equals(text)
        }
        Asked::Phrase { text, .. } => Node::Prefix { field: name(), value: json!(text) },
        Asked::Set(values) => Node::Or { args: values.iter().map(|v| equals(v)).collect() },
        Asked::Wildcard(pattern) => Node::Regex { field: name(), pattern: wildcard_regex(pattern) },
        Asked::Regex(pattern) => {
            Node::Regex { field: name(), pattern: format!("\\A(?:{pattern})\\z") }
        }
        Asked::Range { lower, upper } => {
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
        Asked::Fuzzy { .. } => {
            return Err(Misfit(format!("field `{field}` is JSON and has no fuzzy words")));
        }
        Asked::Exists => Node::Exists { field: name() },
    })
}

fn json_number(text: &str) -> Option<Value> {
    text.parse::<i64>().map(|n| json!(n)).or_else(|_| text.parse::<f64>().map(|n| json!(n))).ok()
}

/// Wildcards as a regular expression over the whole text.
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

fn ask_typed(field: &str, kind: FieldKind, asked: &Asked) -> Result<Node, Misfit> {
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
    match asked {
        Asked::Word(text) | Asked::Words(text) | Asked::Phrase { text, prefix: false, .. } => {
            equals(text)
        }
        Asked::Wildcard(pattern) if kind == FieldKind::Ip => equals(pattern),
        Asked::Set(values) => {
            let args = values.iter().map(|v| equals(v)).collect::<Result<_, _>>()?;
            Ok(Node::Or { args })
        }
        Asked::Range { lower, upper } => {
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
        _ => {
            Err(Misfit(format!("field `{field}` is not text: only values and ranges can be asked")))
        }
    }
}
