//! Column types as the sidecar stores them: Spark's JSON, as the log has it.

use std::str::FromStr;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, TimeUnit};
use serde_json::{Value, json};

const MICROS: TimeUnit = TimeUnit::Microsecond;
const DURATION: &str = "interval day to second";

/// Types without members and their names.
const SIMPLE: [(&str, DataType); 14] = [
    ("void", DataType::Null),
    ("boolean", DataType::Boolean),
    ("byte", DataType::Int8),
    ("short", DataType::Int16),
    ("integer", DataType::Int32),
    ("long", DataType::Int64),
    ("float", DataType::Float32),
    ("double", DataType::Float64),
    ("string", DataType::Utf8),
    ("binary", DataType::Binary),
    ("date", DataType::Date32),
    ("timestamp_ntz", DataType::Timestamp(MICROS, None)),
    (DURATION, DataType::Duration(MICROS)),
    // a name is parsed as the first of its types
    ("string", DataType::LargeUtf8),
];

/// Spark's JSON of a type that a split can hold.
pub fn to_spark(data_type: &DataType) -> Value {
    use DataType as D;
    match data_type {
        D::Utf8View => json!("string"),
        D::LargeBinary | D::BinaryView => json!("binary"),
        D::Timestamp(_, Some(_)) => json!("timestamp"),
        D::Timestamp(_, None) => json!("timestamp_ntz"),
        D::Duration(_) => json!(DURATION),
        D::Decimal128(precision, scale) => json!(format!("decimal({precision},{scale})")),
        D::Struct(fields) => {
            let fields: Vec<Value> = fields.iter().map(member).collect();
            json!({"type": "struct", "fields": fields})
        }
        D::List(item) | D::LargeList(item) | D::FixedSizeList(item, _) => json!({
            "type": "array",
            "elementType": to_spark(item.data_type()),
            "containsNull": item.is_nullable(),
        }),
        D::Map(entries, _) => map(entries.data_type()),
        other => {
            let named = SIMPLE.iter().find(|(_, simple)| simple == other);
            named.map_or_else(|| json!(other.to_string()), |(name, _)| json!(name))
        }
    }
}

fn member(field: &FieldRef) -> Value {
    json!({
        "name": field.name(),
        "type": to_spark(field.data_type()),
        "nullable": field.is_nullable(),
        "metadata": {},
    })
}

fn map(entries: &DataType) -> Value {
    let DataType::Struct(fields) = entries else { return Value::Null };
    let [key, value] = fields.as_ref() else { return Value::Null };
    json!({
        "type": "map",
        "keyType": to_spark(key.data_type()),
        "valueType": to_spark(value.data_type()),
        "valueContainsNull": value.is_nullable(),
    })
}

/// The type of Spark's JSON, or of Arrow's display name, which version 1 of the sidecar has.
pub fn parse(value: &Value) -> Option<DataType> {
    match value {
        Value::String(name) => {
            simple(name).or_else(|| DataType::from_str(name).ok().map(|kind| unescaped(&kind)))
        }
        Value::Object(_) => nested(value),
        _ => None,
    }
}

/// Arrow escapes quotes when it prints the names of members, and leaves them so when it parses.
fn unescaped(kind: &DataType) -> DataType {
    let field = |field: &FieldRef| {
        let name = field.name().replace("\\\"", "\"").replace("\\\\", "\\");
        let kind = unescaped(field.data_type());
        Arc::new(Field::new(name, kind, field.is_nullable()))
    };
    match kind {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        DataType::List(item) => DataType::List(field(item)),
        DataType::LargeList(item) => DataType::LargeList(field(item)),
        DataType::Map(entries, sorted) => DataType::Map(field(entries), *sorted),
        other => other.clone(),
    }
}

fn simple(name: &str) -> Option<DataType> {
    if let Some(numbers) = name.strip_prefix("decimal(").and_then(|rest| rest.strip_suffix(')')) {
        let (precision, scale) = numbers.split_once(',')?;
        return Some(DataType::Decimal128(precision.parse().ok()?, scale.parse().ok()?));
    }
    if name == "timestamp" {
        return Some(DataType::Timestamp(MICROS, Some("UTC".into())));
    }
    SIMPLE.iter().find(|(simple, _)| *simple == name).map(|(_, found)| found.clone())
}

fn nested(value: &Value) -> Option<DataType> {
    let nullable = |name: &str| value.get(name).and_then(Value::as_bool).unwrap_or(true);
    match value.get("type")?.as_str()? {
        "struct" => {
            let fields = value.get("fields")?.as_array()?.iter().map(|field| {
                let nullable = field.get("nullable").and_then(Value::as_bool).unwrap_or(true);
                Some(Field::new(field.get("name")?.as_str()?, parse(field.get("type")?)?, nullable))
            });
            Some(DataType::Struct(fields.collect::<Option<Fields>>()?))
        }
        "array" => {
            let element = parse(value.get("elementType")?)?;
            let item = Field::new("element", element, nullable("containsNull"));
            Some(DataType::List(Arc::new(item)))
        }
        "map" => {
            let key = Field::new("key", parse(value.get("keyType")?)?, false);
            let held = parse(value.get("valueType")?)?;
            let held = Field::new("value", held, nullable("valueContainsNull"));
            let entries = DataType::Struct(Fields::from(vec![key, held]));
            Some(DataType::Map(Arc::new(Field::new("entries", entries, false)), false))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<DataType> {
        let mut found: Vec<DataType> = SIMPLE[..13].iter().map(|(_, kind)| kind.clone()).collect();
        found.push(DataType::Timestamp(MICROS, Some("UTC".into())));
        found.push(DataType::Decimal128(38, 10));
        let members = Fields::from(vec![
            Field::new("a \"b\"", DataType::Date32, true),
            Field::new("c", DataType::Decimal128(5, 2), false),
        ]);
        let list = DataType::List(Field::new("element", DataType::Struct(members), false).into());
        let entries = Fields::from(vec![
            Field::new("key", DataType::Utf8, false),
            Field::new("value", list.clone(), true),
        ]);
        found.push(list);
        let entries = Field::new("entries", DataType::Struct(entries), false);
        found.push(DataType::Map(Arc::new(entries), false));
        found
    }

    #[test]
    fn every_type_comes_back() {
        for kind in samples() {
            assert_eq!(parse(&to_spark(&kind)), Some(kind));
        }
    }

    #[test]
    fn the_names_of_version_1_are_read() {
        for kind in samples() {
            assert_eq!(parse(&json!(kind.to_string())), Some(kind));
        }
    }

    #[test]
    fn what_is_no_type_is_none() {
        let texts = [json!("decimal(x,1)"), json!("novel"), json!({"type": "array"}), json!(7)];
        assert!(texts.iter().all(|text| parse(text).is_none()));
    }
}
