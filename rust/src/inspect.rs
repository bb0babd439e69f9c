//! Describes a split, and verifies its bytes.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tantivy::Index;

use crate::directory::BundleDirectory;
use crate::error::{At, Result};
use crate::open::{Column, Split, read_sidecar};
use crate::split::{SIDECAR_FILE, SidecarColumn, to_spark};
use crate::store::Store;
use crate::texts::outward_type;
use crate::write::doc_mapping;

/// Counts, columns, the document mapping and the files of a split.
pub fn describe(split: &Split) -> Result<Value> {
    let sidecar = split.sidecar.as_ref();
    let columns: Vec<Value> = match sidecar {
        // a column without a type has no field
        Some(sidecar) => sidecar.columns.iter().map(|note| column(split, note)).collect(),
        None => split.layout.iter().map(facts).collect(),
    };
    let files: BTreeMap<String, u64> = split
        .directory
        .files()
        .map(|(path, len)| (path.to_string_lossy().into_owned(), len))
        .collect();
    Ok(json!({
        "path": split.path,
        "size": split.directory.len(),
        "footer_start": split.directory.footer_start(),
        "footer_end": split.directory.len(),
        "num_docs": split.num_docs(),
        "num_deleted": split.num_deleted(),
        "segments": split.segments.len(),
        "writer": sidecar.map(|s| s.writer.as_str()),
        "layout": sidecar.map(|s| s.layout),
        "source": sidecar.and_then(|s| s.source.as_ref()),
        "columns": columns,
        "doc_mapping": doc_mapping(&split.index).at(&split.path)?,
        "files": files,
    }))
}

/// A column according to the sidecar and the index.
fn column(split: &Split, note: &SidecarColumn) -> Value {
    let mut found = split.layout.get(&note.name).map_or_else(
        || {
            let kind = note.arrow_type().map_or_else(|| note.data_type.clone(), |t| to_spark(&t));
            json!({"name": note.name, "type": kind, "encoding": note.encoding})
        },
        facts,
    );
    found["nulls"] = json!(note.nulls);
    found["min"] = json!(note.min);
    found["max"] = json!(note.max);
    found
}

fn facts(column: &Column) -> Value {
    json!({
        "name": column.name,
        "type": to_spark(&outward_type(&column.data_type)),
        "encoding": column.encoding,
        "fast": column.fast,
        "indexed": column.indexed,
        "stored": column.stored,
        "tokenizer": column.tokenizer,
        "positions": column.positions(),
    })
}

/// Bytes by component: fast columns and norms by field, the rest in total.
pub fn components(split: &Split) -> Result<Vec<Value>> {
    let mut sizes: BTreeMap<(u8, String), u64> = BTreeMap::new();
    let mut add = |kind: u8, field: &str, bytes: u64| {
        *sizes.entry((kind, field.to_owned())).or_default() += bytes;
    };
    for segment in &split.segments {
        let usage = segment.reader.space_usage().at(&split.path)?;
        for field in usage.fast_fields().fields() {
            add(0, field.field_name(), field.total().get_bytes());
        }
        for field in usage.fieldnorms().fields() {
            add(1, field.field_name(), field.total().get_bytes());
        }
        add(2, "", usage.termdict().total().get_bytes());
        add(3, "", usage.postings().total().get_bytes());
        add(4, "", usage.positions().total().get_bytes());
        add(5, "", usage.store().total().get_bytes());
    }
    Ok(sizes
        .into_iter()
        .map(|((kind, field), bytes)| {
            let (key, component) = match kind {
                0 => (format!("{field}.fastfield"), "fastfield"),
                1 => (format!("{field}.fieldnorm"), "fieldnorm"),
                2 => ("_term_total".to_owned(), "term"),
                3 => ("_postings_total".to_owned(), "postings"),
                4 => ("_positions_total".to_owned(), "positions"),
                _ => ("_store".to_owned(), "store"),
            };
            json!({
                "component_key": key,
                "size_bytes": bytes,
                "component_type": component,
                "field_name": (!field.is_empty()).then_some(field),
            })
        })
        .collect())
}

/// All problems with the bytes of a split, by file; empty if there are none. Damage that prevents opening it is
/// an error.
pub fn verify(store: &Store, path: &str) -> Result<Vec<(String, String)>> {
    let directory = BundleDirectory::open(store.source_once(path, None)?, None).at(path)?;
    let sidecar = read_sidecar(&directory).at(path)?;
    let mut problems = Vec::new();
    let mut report = |file: &str, problem: String| problems.push((file.to_owned(), problem));
    for (file, &written) in sidecar.iter().flat_map(|sidecar| &sidecar.checksums) {
        match directory.file(file).at(path)? {
            None => report(file, "the file is missing".to_owned()),
            Some(bytes) => {
                let found = crc32fast::hash(&bytes);
                if found != written {
                    report(file, format!("checksum {found:08x}, {written:08x} was written"));
                }
            }
        }
    }
    let index = Index::open(directory).at(path)?;
    // tantivy writes a checksum at the end of each of its files
    for file in index.validate_checksum().at(path)? {
        report(&file.to_string_lossy(), "tantivy's checksum differs".to_owned());
    }
    let metas = index.searchable_segment_metas().at(path)?;
    let rows: u64 = metas.iter().map(|segment| u64::from(segment.max_doc())).sum();
    if let Some(sidecar) = sidecar.filter(|sidecar| sidecar.rows != rows) {
        report(SIDECAR_FILE, format!("{} rows are said, {rows} found", sidecar.rows));
    }
    Ok(problems)
}
