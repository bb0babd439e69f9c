//! State manifests: one Avro record, to and from plain values.

use serde_json::Value;

use crate::error::{EngineError, Result};
use crate::manifest::container::{Codec, Container, pack};
use crate::manifest::cursor::{Cursor, put_bytes, put_long};
use crate::manifest::schema::{self, Node};

/// The schema of existing tables, followed by our own fields.
const SCHEMA: &str = r#"{"type":"record","name":"StateManifest","namespace":"io.indextables.state","fields":[{"name":"formatVersion","type":"int"},{"name":"stateVersion","type":"long"},{"name":"createdAt","type":"long"},{"name":"numFiles","type":"long"},{"name":"totalBytes","type":"long"},{"name":"manifests","type":{"type":"array","items":{"type":"record","name":"ManifestInfoItem","fields":[{"name":"path","type":"string"},{"name":"numEntries","type":"long"},{"name":"minAddedAtVersion","type":"long"},{"name":"maxAddedAtVersion","type":"long"},{"name":"partitionBounds","type":["null",{"type":"map","values":{"type":"record","name":"PartitionBoundsItem","fields":[{"name":"min","type":["null","string"],"default":null},{"name":"max","type":["null","string"],"default":null}]}}],"default":null},{"name":"tombstoneCount","type":"long","default":0},{"name":"liveEntryCount","type":"long","default":-1},{"name":"supersedes","type":"long","default":0}]}}},{"name":"tombstones","type":{"type":"array","items":"string"},"default":[]},{"name":"schemaRegistry","type":{"type":"map","values":"string"},"default":{}},{"name":"protocolVersion","type":"int","default":4},{"name":"metadata","type":["null","string"],"default":null},{"name":"actions","type":{"type":"array","items":"string"},"default":[]}]}"#;

/// The one record of a state manifest.
pub fn decode(data: &[u8]) -> Result<Value> {
    let container = Container::open(data)?;
    let record = schema::parse(container.schema)?;
    let mut found = None;
    container.for_each_block(|count, bytes| {
        let mut cursor = Cursor::new(bytes);
        for _ in 0..count {
            if found.replace(record.json(&mut cursor)?).is_some() {
                return Err(EngineError::corrupt("", "it holds more than one state"));
            }
        }
        if cursor.remaining() > 0 {
            return Err(EngineError::corrupt("", "a block has bytes after its record"));
        }
        Ok(())
    })?;
    found.ok_or_else(|| EngineError::corrupt("", "it holds no state"))
}

/// The bytes of a state manifest from a value with the members of the schema.
pub fn encode(value: &Value, codec: Codec) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    put(&mut out, &schema::parse(SCHEMA)?, value)?;
    pack(SCHEMA, codec, [(1, out)])
}

fn put(out: &mut Vec<u8>, node: &Node, value: &Value) -> Result<()> {
    let wrong = || EngineError::internal(format!("a state manifest cannot hold {value}"));
    match node {
        Node::Int | Node::Long => put_long(out, value.as_i64().ok_or_else(wrong)?),
        Node::Text => put_bytes(out, value.as_str().ok_or_else(wrong)?.as_bytes()),
        Node::Array(item) => {
            let items = value.as_array().ok_or_else(wrong)?;
            if !items.is_empty() {
                put_long(out, items.len() as i64);
                items.iter().try_for_each(|each| put(out, item, each))?;
            }
            put_long(out, 0);
        }
        Node::Map(inner) => {
            let members = value.as_object().ok_or_else(wrong)?;
            if !members.is_empty() {
                put_long(out, members.len() as i64);
                for (key, each) in members {
                    put_bytes(out, key.as_bytes());
                    put(out, inner, each)?;
                }
            }
            put_long(out, 0);
        }
        Node::Record(fields) => {
            for (name, field) in fields {
                put(out, field, value.get(name).ok_or_else(wrong)?)?;
            }
        }
        // all unions here are a null and one other type
        Node::Union(branches) => match value {
            Value::Null => put_long(out, 0),
            _ => {
                put_long(out, 1);
                put(out, branches.get(1).ok_or_else(wrong)?, value)?;
            }
        },
        _ => return Err(wrong()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_comes_back() -> Result<()> {
        let text = r#"{"formatVersion":1,"stateVersion":7,"createdAt":1,"numFiles":2,"totalBytes":-3,"manifests":[{"path":"manifests/m.avro","numEntries":2,"minAddedAtVersion":0,"maxAddedAtVersion":7,"partitionBounds":{"d":{"min":"a","max":null}},"tombstoneCount":0,"liveEntryCount":-1,"supersedes":1}],"tombstones":["x"],"schemaRegistry":{"h":"[]"},"protocolVersion":5,"metadata":null,"actions":["{}"]}"#;
        let value: Value = serde_json::from_str(text)?;
        assert_eq!(decode(&encode(&value, Codec::Zstd(3))?)?, value);
        Ok(())
    }
}
