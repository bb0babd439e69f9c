//! The members of an action on one line, as cells of their columns.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::manifest::column::{HIVE_NULL, is_inside};
use crate::manifest::columns::VECTOR_NUMBERS;
use crate::manifest::entry::Kind;

/// The years 1 to 9999 in milliseconds, the range of a timestamp column.
const TIMESTAMPS: Range<i64> = -62_135_596_800_000..253_402_300_800_000;

/// A member that has a column; `default` is the value if the line does not have it.
pub struct Member {
    pub name: &'static str,
    pub kind: Kind,
    pub rule: Rule,
    pub default: Option<Cell<'static>>,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Rule {
    Plain,
    Path,
    Partition,
    Timestamp,
    /// A column that lines have no member for.
    Unlogged,
}

/// The value of a member on one line.
#[derive(Clone)]
pub enum Cell<'a> {
    Absent,
    Text(Cow<'a, str>),
    Map(Vec<(Cow<'a, str>, Cow<'a, str>)>),
    Long(i64),
    Flag(bool),
    List(Vec<Cow<'a, str>>),
    Vector(Cow<'a, str>, [i64; 3]),
}

/// Reads the members of an action into cells, in the order of their columns; what has no column goes
/// into the last one, as JSON.
pub struct Members {
    pub shape: &'static [Member],
}

impl<'de> DeserializeSeed<'de> for Members {
    type Value = Vec<Cell<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Members {
    type Value = Vec<Cell<'de>>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an action")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut cells: Vec<Cell<'de>> = vec![Cell::Absent; self.shape.len()];
        let mut seen = vec![false; self.shape.len()];
        let mut others = Map::new();
        let mut next = 0;
        while let Some(name) = object.next_key_seed(TextSeed)? {
            // writers use a fixed order: the next member is most often the one after the last
            let wanted = |at: &usize| {
                let member = &self.shape[*at];
                member.rule != Rule::Unlogged && member.name == name
            };
            let Some(at) = (next..self.shape.len()).chain(0..next).find(wanted) else {
                let value = object.next_value::<Value>()?;
                if !is_exact(&value) || others.contains_key(name.as_ref()) {
                    return Err(A::Error::custom("left to the caller"));
                }
                if !value.is_null() {
                    others.insert(name.into_owned(), value);
                }
                continue;
            };
            if std::mem::replace(&mut seen[at], true) {
                return Err(A::Error::custom("a member twice"));
            }
            cells[at] = object.next_value_seed(CellSeed { member: &self.shape[at] })?;
            next = at + 1;
        }
        self.complete(&mut cells);
        if !others.is_empty() {
            cells[self.shape.len() - 1] = Cell::Text(Value::Object(others).to_string().into());
        }
        Ok(cells)
    }
}

impl Members {
    /// Without the flag, a line has footer offsets if both are present.
    fn complete(&self, cells: &mut [Cell<'_>]) {
        let at = |name: &str| self.shape.iter().position(|member| member.name == name);
        if let (Some(flag), Some(start), Some(end)) =
            (at("hasFooterOffsets"), at("footerStartOffset"), at("footerEndOffset"))
            && matches!(cells[flag], Cell::Absent)
        {
            let known = matches!(cells[start], Cell::Long(_))
                && matches!(cells[end], Cell::Long(end) if end != 0);
            cells[flag] = Cell::Flag(known);
        }
    }
}

/// Whether rewriting a value gives the same value: floats are left to the caller.
fn is_exact(value: &Value) -> bool {
    match value {
        Value::Number(number) => !number.is_f64(),
        Value::Array(items) => items.iter().all(is_exact),
        Value::Object(members) => members.values().all(is_exact),
        _ => true,
    }
}

struct CellSeed {
    member: &'static Member,
}

impl<'de> DeserializeSeed<'de> for CellSeed {
    type Value = Cell<'de>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for CellSeed {
    type Value = Cell<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}", self.member.kind)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Cell::Absent)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        if self.member.kind != Kind::Flag {
            return Err(E::custom("a flag"));
        }
        Ok(Cell::Flag(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        let fits = match self.member.kind {
            Kind::Long => self.member.rule != Rule::Timestamp || TIMESTAMPS.contains(&value),
            Kind::Int => i32::try_from(value).is_ok(),
            _ => false,
        };
        if fits { Ok(Cell::Long(value)) } else { Err(E::custom("out of range")) }
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        self.visit_i64(i64::try_from(value).map_err(E::custom)?)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        self.text(Cow::Owned(value.to_owned()))
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Self::Value, E> {
        self.text(Cow::Borrowed(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        if self.member.kind != Kind::List {
            return Err(A::Error::custom("a list"));
        }
        let mut found = Vec::new();
        while let Some(item) = items.next_element_seed(TextSeed)? {
            found.push(item);
        }
        Ok(Cell::List(found))
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Self::Value, A::Error> {
        match self.member.kind {
            Kind::Map => map(object, self.member.rule == Rule::Partition),
            Kind::Vector => vector(object),
            _ => Err(A::Error::custom("an object")),
        }
    }
}

impl CellSeed {
    fn text<'de, E: Error>(self, value: Cow<'de, str>) -> Result<Cell<'de>, E> {
        let fits = self.member.kind == Kind::Text
            && (self.member.rule != Rule::Path || is_inside(value.as_bytes()));
        if fits { Ok(Cell::Text(value)) } else { Err(E::custom("a text")) }
    }
}

fn map<'de, A: MapAccess<'de>>(mut object: A, partition: bool) -> Result<Cell<'de>, A::Error> {
    let mut found: Vec<(Cow<'de, str>, Option<Cow<'de, str>>)> = Vec::new();
    while let Some(name) = object.next_key_seed(TextSeed)? {
        found.push((name, object.next_value_seed(OptionalTextSeed)?));
    }
    if has_twice(&found) {
        return Err(A::Error::custom("a member twice"));
    }
    let null = |text: &Cow<'_, str>| partition && text.as_bytes() == HIVE_NULL;
    let kept = found.into_iter().filter_map(|(name, value)| Some((name, value?)));
    Ok(Cell::Map(kept.filter(|(_, value)| !null(value)).collect()))
}

/// Whether two members have the same name; few are compared pairwise, many are hashed.
fn has_twice<T>(members: &[(Cow<'_, str>, T)]) -> bool {
    const FEW: usize = 16;
    if members.len() > FEW {
        let mut names = HashSet::with_capacity(members.len());
        return !members.iter().all(|(name, _)| names.insert(name.as_ref()));
    }
    members.iter().enumerate().any(|(at, (name, _))| members[..at].iter().any(|(n, _)| n == name))
}

fn vector<'de, A: MapAccess<'de>>(mut object: A) -> Result<Cell<'de>, A::Error> {
    let mut file = None;
    let mut numbers = [None; 3];
    while let Some(name) = object.next_key_seed(TextSeed)? {
        match VECTOR_NUMBERS.iter().position(|number| *number == name) {
            Some(at) if numbers[at].is_none() => numbers[at] = Some(object.next_value::<i64>()?),
            None if name == "file" && file.is_none() => {
                file = Some(object.next_value_seed(TextSeed)?);
            }
            _ => return Err(A::Error::custom("an unusual vector")),
        }
    }
    match (file, numbers) {
        (Some(file), [Some(offset), Some(length), Some(cardinality)])
            if is_inside(file.as_bytes()) =>
        {
            Ok(Cell::Vector(file, [offset, length, cardinality]))
        }
        _ => Err(A::Error::custom("a vector without a place")),
    }
}

/// A string, borrowed from the line unless it has escapes.
struct TextSeed;

impl<'de> DeserializeSeed<'de> for TextSeed {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for TextSeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a string")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(value.to_owned()))
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(value))
    }
}

struct OptionalTextSeed;

impl<'de> DeserializeSeed<'de> for OptionalTextSeed {
    type Value = Option<Cow<'de, str>>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for OptionalTextSeed {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a string or null")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        TextSeed.deserialize(json).map(Some)
    }
}
