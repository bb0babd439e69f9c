//! Conditions on members of nested values, checked on Arrow arrays or on JSON texts.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::datatypes::DataType;
use serde_json::Value;

use super::ANY_MEMBER;
use super::test::{Leaf, Test};
use crate::columns::convert::cast;
use crate::columns::stored_value::Stored;
use crate::error::Result;
use crate::texts::{TEXT, bytes_of};

/// Which rows have a value at the path that passes; of a list, any element may.
pub fn of_values(array: &ArrayRef, path: &[String], test: &Test) -> Result<Vec<bool>> {
    match (array.data_type(), path) {
        // the wrapper around the elements of a list is only on disk
        (DataType::List(_), [first, rest @ ..]) if first == ANY_MEMBER => {
            of_values(array, rest, test)
        }
        (DataType::List(_), _) => {
            let list = array.as_list::<i32>();
            let hits = of_values(list.values(), path, test)?;
            let any = |row: usize| {
                let range =
                    list.value_offsets()[row] as usize..list.value_offsets()[row + 1] as usize;
                list.is_valid(row) && hits[range].contains(&true)
            };
            Ok((0..list.len()).map(any).collect())
        }
        (DataType::Struct(_), [first, rest @ ..]) => {
            let rows = array.as_struct();
            let Some(member) = rows.column_by_name(first) else {
                return Ok(vec![false; array.len()]);
            };
            let mut hits = of_values(member, rest, test)?;
            hits.iter_mut().enumerate().for_each(|(row, hit)| *hit &= rows.is_valid(row));
            Ok(hits)
        }
        (DataType::Map(..), [first, rest @ ..]) => {
            let map = array.as_map();
            let keys = key_texts(map.keys())?;
            let hits = of_values(map.values(), rest, test)?;
            let any = |row: usize| {
                let range =
                    map.value_offsets()[row] as usize..map.value_offsets()[row + 1] as usize;
                let at = range.clone().find(|&at| keys[at].as_deref() == Some(first.as_bytes()));
                map.is_valid(row) && at.is_some_and(|at| hits[at])
            };
            Ok((0..map.len()).map(any).collect())
        }
        (DataType::Struct(_) | DataType::Map(..), []) => Ok(match test {
            Test::Exists => (0..array.len()).map(|row| array.is_valid(row)).collect(),
            _ => vec![false; array.len()],
        }),
        (_, [_, ..]) => Ok(vec![false; array.len()]),
        (_, []) => test.check(array),
    }
}

fn key_texts(keys: &ArrayRef) -> Result<Vec<Option<Vec<u8>>>> {
    let texts = match keys.data_type() {
        kind if *kind == TEXT => keys.clone(),
        DataType::Boolean => {
            let keys: &BooleanArray = keys.as_boolean();
            return Ok(keys.iter().map(|key| key.map(|k| k.to_string().into_bytes())).collect());
        }
        _ => cast(keys, &DataType::Utf8)?,
    };
    Ok(bytes_of(&texts)?.iter().map(|text| text.map(<[u8]>::to_vec)).collect())
}

/// The same for texts that are JSON.
pub fn of_texts(array: &ArrayRef, path: &[String], test: &Test, leaf: &Leaf) -> Result<Vec<bool>> {
    let holds = |text: Option<&[u8]>| match text.map(serde_json::from_slice::<Value>) {
        Some(Ok(value)) => json_holds(&value, path, test, leaf),
        _ => Ok(false),
    };
    bytes_of(array)?.iter().map(holds).collect()
}

fn json_holds(value: &Value, path: &[String], test: &Test, leaf: &Leaf) -> Result<bool> {
    let stored = match (value, path) {
        (Value::Array(items), _) => {
            for item in items {
                if json_holds(item, path, test, leaf)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        (Value::Object(members), [first, rest @ ..]) => {
            return match members.get(first) {
                Some(value) => json_holds(value, rest, test, leaf),
                None => Ok(false),
            };
        }
        (Value::Object(_), []) => return Ok(matches!(test, Test::Exists)),
        (_, [_, ..]) | (Value::Null, []) => return Ok(false),
        (Value::Bool(truth), []) => Stored::Bool(*truth),
        (Value::String(text), []) => Stored::Str(text),
        (Value::Number(number), []) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => Stored::I64(whole),
            (_, Some(whole)) => Stored::U64(whole),
            _ => Stored::F64(number.as_f64().unwrap_or(f64::NAN)),
        },
    };
    test.check_stored(stored, leaf)
}
