//! Avro schemas as a tree: the writer's description of its records.

use std::collections::HashMap;

use serde_json::Value;

use crate::error::{EngineError, Result};
use crate::manifest::cursor::Cursor;

const MAX_DEPTH: usize = 32;

#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    Text,
    Enum(Vec<String>),
    Fixed(usize),
    Array(Box<Node>),
    Map(Box<Node>),
    Record(Vec<(String, Node)>),
    Union(Vec<Node>),
}

pub fn parse(text: &str) -> Result<Node> {
    let value: Value = serde_json::from_str(text).map_err(|e| bad(&e.to_string()))?;
    node(&value, &mut HashMap::new(), 0)
}

fn bad(detail: &str) -> EngineError {
    EngineError::corrupt("", format!("its Avro schema: {detail}"))
}

fn node(value: &Value, named: &mut HashMap<String, Node>, depth: usize) -> Result<Node> {
    if depth > MAX_DEPTH {
        return Err(bad("nested too deep"));
    }
    match value {
        Value::String(name) => primitive(name)
            .or_else(|| named.get(name.rsplit('.').next().unwrap_or(name)).cloned())
            .ok_or_else(|| bad(&format!("unknown type `{name}`"))),
        Value::Array(branches) => Ok(Node::Union(
            branches.iter().map(|b| node(b, named, depth + 1)).collect::<Result<_>>()?,
        )),
        Value::Object(_) => complex(value, named, depth),
        _ => Err(bad("a type is neither a name, a list nor an object")),
    }
}

fn primitive(name: &str) -> Option<Node> {
    Some(match name {
        "null" => Node::Null,
        "boolean" => Node::Boolean,
        "int" => Node::Int,
        "long" => Node::Long,
        "float" => Node::Float,
        "double" => Node::Double,
        "bytes" => Node::Bytes,
        "string" => Node::Text,
        _ => return None,
    })
}

fn complex(value: &Value, named: &mut HashMap<String, Node>, depth: usize) -> Result<Node> {
    let inner = |key: &str| value.get(key).ok_or_else(|| bad(&format!("no `{key}`")));
    let made = match inner("type")? {
        Value::String(kind) => match kind.as_str() {
            "array" => Node::Array(Box::new(node(inner("items")?, named, depth + 1)?)),
            "map" => Node::Map(Box::new(node(inner("values")?, named, depth + 1)?)),
            "fixed" => {
                let size = inner("size")?.as_u64().ok_or_else(|| bad("bad `size`"))?;
                Node::Fixed(usize::try_from(size).map_err(|_| bad("bad `size`"))?)
            }
            "enum" => Node::Enum(
                inner("symbols")?
                    .as_array()
                    .ok_or_else(|| bad("bad `symbols`"))?
                    .iter()
                    .map(|s| s.as_str().map(str::to_owned).ok_or_else(|| bad("bad symbol")))
                    .collect::<Result<_>>()?,
            ),
            "record" | "error" => {
                let fields = inner("fields")?.as_array().ok_or_else(|| bad("bad `fields`"))?;
                let mut parsed = Vec::with_capacity(fields.len());
                for field in fields {
                    let name = field.get("name").and_then(Value::as_str);
                    let kind = field.get("type").ok_or_else(|| bad("a field has no type"))?;
                    let name = name.ok_or_else(|| bad("a field has no name"))?;
                    parsed.push((name.to_owned(), node(kind, named, depth + 1)?));
                }
                Node::Record(parsed)
            }
            _ => node(inner("type")?, named, depth + 1)?,
        },
        nested => node(nested, named, depth + 1)?,
    };
    if let Some(name) = value.get("name").and_then(Value::as_str) {
        named.insert(name.rsplit('.').next().unwrap_or(name).to_owned(), made.clone());
    }
    Ok(made)
}

impl Node {
    /// The fewest bytes a value takes.
    pub fn least_bytes(&self) -> usize {
        match self {
            Self::Null => 0,
            Self::Float => 4,
            Self::Double => 8,
            Self::Fixed(size) => *size,
            Self::Record(fields) => fields.iter().map(|(_, n)| n.least_bytes()).sum(),
            _ => 1,
        }
    }

    /// Skips a value.
    pub fn skip(&self, cursor: &mut Cursor<'_>) -> Result<()> {
        match self {
            Self::Null => {}
            Self::Boolean => drop(cursor.boolean()?),
            Self::Int | Self::Long | Self::Enum(_) => drop(cursor.long()?),
            Self::Float => drop(cursor.take(4)?),
            Self::Double => drop(cursor.take(8)?),
            Self::Bytes | Self::Text => drop(cursor.bytes()?),
            Self::Fixed(size) => drop(cursor.take(*size)?),
            Self::Array(item) => loop {
                let count = cursor.block(item.least_bytes())?;
                if count == 0 {
                    break;
                }
                if item.least_bytes() > 0 {
                    (0..count).try_for_each(|_| item.skip(cursor))?;
                }
            },
            Self::Map(value) => loop {
                let count = cursor.block(1 + value.least_bytes())?;
                if count == 0 {
                    break;
                }
                for _ in 0..count {
                    cursor.bytes()?;
                    value.skip(cursor)?;
                }
            },
            Self::Record(fields) => {
                fields.iter().try_for_each(|(_, field)| field.skip(cursor))?;
            }
            Self::Union(branches) => self.branch(branches, cursor)?.skip(cursor)?,
        }
        Ok(())
    }

    fn branch<'n>(&self, branches: &'n [Node], cursor: &mut Cursor<'_>) -> Result<&'n Node> {
        let index = usize::try_from(cursor.long()?).unwrap_or(usize::MAX);
        branches.get(index).ok_or_else(|| EngineError::corrupt("", "a union has no such branch"))
    }

    /// A value as JSON; for the one record of a state manifest, not for rows.
    pub fn json(&self, cursor: &mut Cursor<'_>) -> Result<Value> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Boolean => cursor.boolean()?.into(),
            Self::Int | Self::Long => cursor.long()?.into(),
            Self::Float => {
                let raw = cursor.take(4)?;
                f32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]]).into()
            }
            Self::Double => {
                let mut raw = [0; 8];
                raw.copy_from_slice(cursor.take(8)?);
                f64::from_le_bytes(raw).into()
            }
            Self::Text => cursor.text()?.into(),
            Self::Bytes => latin(cursor.bytes()?).into(),
            Self::Fixed(size) => latin(cursor.take(*size)?).into(),
            Self::Enum(symbols) => {
                let index = usize::try_from(cursor.long()?).unwrap_or(usize::MAX);
                symbols.get(index).map_or(Value::Null, |s| s.as_str().into())
            }
            Self::Array(item) => {
                let mut items = Vec::new();
                loop {
                    // an item without bytes could be repeated endlessly
                    let count = cursor.block(item.least_bytes().max(1))?;
                    if count == 0 {
                        break Value::Array(items);
                    }
                    for _ in 0..count {
                        items.push(item.json(cursor)?);
                    }
                }
            }
            Self::Map(value) => {
                let mut members = serde_json::Map::new();
                loop {
                    let count = cursor.block(1 + value.least_bytes())?;
                    if count == 0 {
                        break Value::Object(members);
                    }
                    for _ in 0..count {
                        let key = cursor.text()?.to_owned();
                        members.insert(key, value.json(cursor)?);
                    }
                }
            }
            Self::Record(fields) => {
                let mut members = serde_json::Map::new();
                for (name, field) in fields {
                    members.insert(name.clone(), field.json(cursor)?);
                }
                Value::Object(members)
            }
            Self::Union(branches) => self.branch(branches, cursor)?.json(cursor)?,
        })
    }
}

/// Bytes as JSON has them by Avro's specification: one character each.
fn latin(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(byte)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_nested_without_end_is_refused() {
        let deep = format!("{}\"null\"{}", "[".repeat(200), "]".repeat(200));
        assert!(parse(&deep).is_err());
    }

    #[test]
    fn names_refer_to_earlier_types() {
        let text = r#"{"type":"record","name":"a.R","fields":[
            {"name":"x","type":{"type":"fixed","name":"F","size":3}},{"name":"y","type":"F"}]}"#;
        let parsed = parse(text).ok();
        let fields = vec![("x".into(), Node::Fixed(3)), ("y".into(), Node::Fixed(3))];
        assert_eq!(parsed, Some(Node::Record(fields)));
    }
}
