//! How a column of the table is found in a file: by field id, by its names there, or by its own name.

use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;
use serde::{Deserialize, Serialize};

/// What identifies a column after a rename.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Identity {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<i32>,
    /// Names in the files; the first one that exists is used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

impl Identity {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether both are the same column: by id, else by the first name.
    pub fn matches(&self, other: &Identity) -> bool {
        match (self.id, other.id) {
            (Some(left), Some(right)) => left == right,
            (None, None) => self.names.first() == other.names.first(),
            _ => false,
        }
    }
}

/// A column or member of the table, and how it is found in the files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Address {
    pub name: String,
    pub names: Vec<String>,
    pub id: Option<i32>,
    /// Members of a struct, `element` of a list, `key` and `value` of a map; those that are not
    /// listed are found by name.
    pub children: Vec<Address>,
}

/// What a lookup found.
pub enum Found {
    At(usize),
    Missing,
    /// The column is ambiguous, and why.
    Unclear(&'static str),
}

impl Address {
    pub fn named(name: &str) -> Address {
        Address { name: name.to_owned(), ..Address::default() }
    }

    pub fn identity(&self) -> Identity {
        Identity { id: self.id, names: self.names.clone() }
    }

    /// The address of a member, by its name in the table.
    pub fn child(&self, name: &str) -> Address {
        let found = self.children.iter().find(|child| child.name == name);
        found.cloned().unwrap_or_else(|| Address::named(name))
    }

    /// Which of the fields of a file it is; `has_ids` says whether the file has ids at all.
    pub fn find(&self, fields: &Fields, case_sensitive: bool, has_ids: bool) -> Found {
        if let Some(id) = self.id.filter(|_| has_ids) {
            let found = fields.iter().position(|field| field_id(field) == Some(id));
            return found.map_or(Found::Missing, Found::At);
        }
        if !self.names.is_empty() {
            let named = |name: &String| fields.iter().position(|field| field.name() == name);
            return self.names.iter().find_map(named).map_or(Found::Missing, Found::At);
        }
        if self.id.is_some() {
            return Found::Unclear("the file has no field ids, and the table no name mapping");
        }
        let same = |field: &&FieldRef| {
            field.name() == &self.name
                || (!case_sensitive && field.name().to_lowercase() == self.name.to_lowercase())
        };
        let mut matching = fields.iter().enumerate().filter(|(_, field)| same(field));
        match (matching.next(), matching.next()) {
            (None, _) => Found::Missing,
            (Some((at, _)), None) => Found::At(at),
            _ => Found::Unclear("two of its columns have this name in different cases"),
        }
    }
}

fn field_id(field: &Field) -> Option<i32> {
    field.metadata().get(PARQUET_FIELD_ID_META_KEY)?.parse().ok()
}

/// Whether any field of a file has an id.
pub fn has_ids(fields: &Fields) -> bool {
    fields.iter().any(|field| {
        field_id(field).is_some()
            || match field.data_type() {
                DataType::Struct(members) => has_ids(members),
                DataType::List(item) | DataType::Map(item, _) => {
                    has_ids(&Fields::from(vec![item.clone()]))
                }
                _ => false,
            }
    })
}
