//! Splits written here, opened by tantivy.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use tantivy::collector::Count;
use tantivy::query::{AllQuery, TermQuery};
use tantivy::schema::{IndexRecordOption, OwnedValue};
use tantivy::{Index, TantivyDocument, Term};

use crate::directory::BundleDirectory;
use crate::error::{EngineError, Result};
use crate::split::{Encoding, SIDECAR_FILE, Sidecar};
use crate::store::Store;
use crate::tokenizer;
use crate::write::{FieldSpec, Role, SplitWriter, WriteOptions};

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .expect("columns of one length")
}

fn log_batch(rows: std::ops::Range<i64>) -> RecordBatch {
    let ids: Int64Array = rows.clone().map(Some).collect();
    let texts: StringArray = rows
        .map(|i| (i % 10 != 3).then(|| format!("Connection {i} to host{} lost", i % 7)))
        .collect();
    batch(vec![("id", Arc::new(ids)), ("message", Arc::new(texts))])
}

fn message_spec() -> Vec<FieldSpec> {
    vec![FieldSpec { name: "message".into(), role: Role::Text, ..FieldSpec::default() }]
}

fn open(writer: &mut SplitWriter) -> Result<(Index, Sidecar)> {
    let folder = tempfile::tempdir()?;
    let store = Store::open(&folder.path().to_string_lossy(), "")?;
    let split = writer.finish(&store, "a.split", None)?;
    let source = store.source("a.split", None)?;
    assert_eq!(source.len(), split.size);
    let directory = BundleDirectory::open(source, Some(split.footer_start))?;
    let sidecar = directory.file(SIDECAR_FILE)?.expect("a sidecar");
    let index = Index::open(directory)?;
    tokenizer::register(&index.schema(), index.tokenizers());
    Ok((index, serde_json::from_slice(&sidecar)?))
}

fn count(index: &Index, field: &str, text: &str) -> Result<usize> {
    let term = Term::from_field_text(index.schema().get_field(field)?, text);
    let query = TermQuery::new(term, IndexRecordOption::Basic);
    Ok(index.reader()?.searcher().search(&query, &Count)?)
}

#[test]
fn rows_are_found_by_their_words() -> Result<()> {
    let rows = log_batch(0..1000);
    let mut writer = SplitWriter::new(rows.schema(), message_spec(), WriteOptions::default())?;
    writer.write(&rows)?;
    let (index, sidecar) = open(&mut writer)?;
    assert_eq!(index.reader()?.searcher().search(&AllQuery, &Count)?, 1000);
    assert_eq!(count(&index, "message", "connection")?, 900);
    assert_eq!(count(&index, "message", "host6")?, 127);
    assert_eq!(sidecar.rows, 1000);
    assert_eq!(sidecar.column("message").map(|c| c.nulls), Some(100));
    assert_eq!(sidecar.column("id").and_then(|c| c.max.clone()), Some(999.into()));
    Ok(())
}

#[test]
fn a_full_heap_spills_and_rows_keep_their_order() -> Result<()> {
    let options = WriteOptions { heap_bytes: 20 << 20, ..WriteOptions::default() };
    let mut writer = SplitWriter::new(log_batch(0..1).schema(), message_spec(), options)?;
    for start in (0..150_000).step_by(10_000) {
        let rows = log_batch(start..start + 10_000);
        assert!(writer.accepts(&rows)?);
        writer.write(&rows)?;
        assert!(writer.memory_bytes() < 40 << 20, "{}", writer.memory_bytes());
    }
    let (index, sidecar) = open(&mut writer)?;
    assert_eq!(index.searchable_segment_ids()?.len(), 1);
    assert_eq!(sidecar.rows, 150_000);
    let searcher = index.reader()?.searcher();
    let ids = searcher.segment_reader(0).fast_fields().i64("id")?;
    assert!((0..150_000).all(|row| ids.first(row) == Some(i64::from(row))));
    assert_eq!(count(&index, "message", "connection")?, 135_000);
    Ok(())
}

#[test]
fn a_date_out_of_range_needs_another_split() -> Result<()> {
    let times = |micros: i64| {
        let column: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![micros]));
        batch(vec![("t", column)])
    };
    let (near, far) = (times(0), times(i64::MAX));
    let mut writer = SplitWriter::new(near.schema(), vec![], WriteOptions::default())?;
    writer.write(&near)?;
    assert!(!writer.accepts(&far)?);
    assert!(matches!(writer.write(&far), Err(EngineError::BadValue { .. })));
    let (_, sidecar) = open(&mut writer)?;
    assert_eq!(sidecar.columns[0].encoding, Encoding::Timestamp);
    writer.write(&far)?;
    assert!(writer.accepts(&near)?);
    writer.write(&near)?;
    let (_, sidecar) = open(&mut writer)?;
    assert_eq!(sidecar.columns[0].encoding, Encoding::MicrosI64);
    assert_eq!(sidecar.columns[0].max, Some(i64::MAX.into()));
    Ok(())
}

#[test]
fn json_text_is_kept_exactly_when_parsing_would_change_it() -> Result<()> {
    let texts: ArrayRef = Arc::new(StringArray::from(vec![r#"{"a":1}"#, r#"{ "a": 1.50 }"#]));
    let rows = batch(vec![("j", texts)]);
    let spec = FieldSpec { name: "j".into(), role: Role::Json, ..FieldSpec::default() };
    let mut writer = SplitWriter::new(rows.schema(), vec![spec], WriteOptions::default())?;
    writer.write(&rows)?;
    let (index, sidecar) = open(&mut writer)?;
    let source = sidecar.columns[0].source.as_deref().expect("a field of exact texts");
    let field = index.schema().get_field(source)?;
    let searcher = index.reader()?.searcher();
    let text = |row| -> Result<Option<OwnedValue>> {
        let document: TantivyDocument = searcher.doc(tantivy::DocAddress::new(0, row))?;
        Ok(document.get_first(field).map(OwnedValue::from))
    };
    assert_eq!(text(0)?, None);
    assert_eq!(text(1)?, Some(OwnedValue::Str(r#"{ "a": 1.50 }"#.into())));
    Ok(())
}

#[test]
fn a_value_that_is_no_json_object_is_refused() -> Result<()> {
    for bad in ["[1]", "1", "{", ""] {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![bad]));
        let rows = batch(vec![("j", texts)]);
        let spec = FieldSpec { name: "j".into(), role: Role::Json, ..FieldSpec::default() };
        let mut writer = SplitWriter::new(rows.schema(), vec![spec], WriteOptions::default())?;
        assert!(matches!(writer.write(&rows), Err(EngineError::BadValue { .. })), "{bad}");
    }
    Ok(())
}

#[test]
fn a_writer_without_rows_makes_an_empty_split() -> Result<()> {
    let mut writer =
        SplitWriter::new(log_batch(0..1).schema(), message_spec(), WriteOptions::default())?;
    let (index, sidecar) = open(&mut writer)?;
    assert_eq!(index.reader()?.searcher().num_docs(), 0);
    assert_eq!(sidecar.rows, 0);
    Ok(())
}
