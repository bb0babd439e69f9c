//! Splits merged here, opened by tantivy.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use roaring::RoaringBitmap;
use tantivy::Index;

use super::*;
use crate::directory::BundleDirectory;
use crate::split::{NULLS_FILE, NullRows, SIDECAR_FILE, Sidecar};
use crate::write::{FieldSpec, Role, SplitWriter, WriteOptions};

fn rows(range: std::ops::Range<i64>) -> RecordBatch {
    let ids: Int64Array = range.clone().map(|i| (i % 5 != 0).then_some(i)).collect();
    let texts: StringArray = range.map(|i| (i % 3 != 0).then(|| format!("word{i}"))).collect();
    let columns: [(&str, ArrayRef, bool); 2] =
        [("id", Arc::new(ids), true), ("text", Arc::new(texts), true)];
    RecordBatch::try_from_iter_with_nullable(columns).expect("columns of one length")
}

fn write(store: &Store, path: &str, range: std::ops::Range<i64>) -> Result<()> {
    let spec = FieldSpec { name: "text".into(), role: Role::Text, ..FieldSpec::default() };
    let batch = rows(range);
    let mut writer = SplitWriter::new(batch.schema(), vec![spec], WriteOptions::default())?;
    writer.write(&batch)?;
    writer.finish(store, path, None).map(|_| ())
}

fn input(path: &str, deleted: &[u32]) -> MergeInput {
    let bitmap: RoaringBitmap = deleted.iter().copied().collect();
    let mut bytes = Vec::new();
    bitmap.serialize_into(&mut bytes).expect("memory");
    let deleted = (!deleted.is_empty()).then_some(bytes);
    MergeInput { path: path.into(), footer: None, deleted }
}

struct Opened {
    ids: Vec<Option<i64>>,
    nulls: NullRows,
    sidecar: Sidecar,
}

fn open_sidecar(store: &Store, path: &str) -> Result<Sidecar> {
    let directory = BundleDirectory::open(store.source(path, None)?, None)?;
    Ok(serde_json::from_slice(&directory.file(SIDECAR_FILE)?.expect("a sidecar"))?)
}

fn open(store: &Store, path: &str) -> Result<Opened> {
    let directory = BundleDirectory::open(store.source(path, None)?, None)?;
    let sidecar = open_sidecar(store, path)?;
    let nulls =
        directory.file(NULLS_FILE)?.map_or(Ok(NullRows::default()), |b| NullRows::parse(&b))?;
    let searcher = Index::open(directory)?.reader()?.searcher();
    let segment = searcher.segment_reader(0);
    let ids = segment.fast_fields().i64("id")?;
    Ok(Opened { ids: (0..segment.max_doc()).map(|row| ids.first(row)).collect(), nulls, sidecar })
}

fn merge_all(store: &Store, inputs: &[MergeInput]) -> Result<Merged> {
    merge(inputs, store, "merged.split", None, None, &WriteOptions::default(), &Cancel::default())
}

#[test]
fn deleted_rows_go_and_the_others_keep_their_order() -> Result<()> {
    let store = Store::open("memory:///merge-order", "")?;
    write(&store, "a", 0..10)?;
    write(&store, "b", 10..20)?;
    let merged = merge_all(&store, &[input("a", &[0, 1, 9]), input("b", &[3, 4, 5])])?;
    assert_eq!(merged.split.num_records, 14);
    let kept: Vec<i64> = (2..9).chain(10..13).chain(16..20).collect();
    let opened = open(&store, "merged.split")?;
    let ids: Vec<Option<i64>> = kept.iter().map(|i| (i % 5 != 0).then_some(*i)).collect();
    assert_eq!(opened.ids, ids);
    let nulls: Vec<u32> = (0..14).filter(|&row| kept[row as usize] % 3 == 0).collect();
    assert_eq!(opened.nulls.columns["text"].iter().collect::<Vec<_>>(), nulls);
    let id = opened.sidecar.column("id").expect("a column");
    assert_eq!(id.nulls, ids.iter().filter(|id| id.is_none()).count() as u64);
    assert_eq!((id.min.clone(), id.max.clone()), (Some(1.into()), Some(19.into())));
    assert_eq!(opened.sidecar.column("text").map(|c| c.nulls), Some(nulls.len() as u64));
    Ok(())
}

#[test]
fn a_damaged_input_is_named_and_left_out() -> Result<()> {
    let store = Store::open("memory:///merge-damage", "")?;
    write(&store, "a", 0..10)?;
    write(&store, "b", 10..20)?;
    let mut bytes = store.get("b")?.to_vec();
    let middle = bytes.len() / 4;
    bytes[middle] ^= 0x40;
    store.put("b", bytes.into())?;
    let merged = merge_all(&store, &[input("a", &[]), input("b", &[]), input("gone", &[])])?;
    assert_eq!(merged.split.num_records, 10);
    let skipped: Vec<&str> = merged.skipped.iter().map(|s| s.path.as_str()).collect();
    assert_eq!(skipped, ["b", "gone"]);
    assert!(merge_all(&store, &[input("b", &[])]).is_err());
    Ok(())
}

#[test]
fn an_asked_stop_ends_a_merge() -> Result<()> {
    let store = Store::open("memory:///merge-stop", "")?;
    write(&store, "a", 0..10)?;
    let cancel = Cancel::default();
    cancel.ask();
    let stopped =
        merge(&[input("a", &[])], &store, "x", None, None, &WriteOptions::default(), &cancel);
    assert!(matches!(stopped, Err(EngineError::Interrupted)), "{stopped:?}");
    Ok(())
}

#[test]
fn every_row_may_be_deleted() -> Result<()> {
    let store = Store::open("memory:///merge-empty", "")?;
    write(&store, "a", 0..3)?;
    let merged = merge_all(&store, &[input("a", &[0, 1, 2])])?;
    assert_eq!(merged.split.num_records, 0);
    Ok(())
}

#[test]
fn splits_of_different_layouts_are_written_again() -> Result<()> {
    let store = Store::open("memory:///merge-layouts", "")?;
    write(&store, "a", 0..10)?;
    let lean = WriteOptions { layout: crate::split::Layout::Lean, ..WriteOptions::default() };
    let batch = rows(10..20);
    let mut writer = SplitWriter::new(batch.schema(), vec![], lean)?;
    writer.write(&batch)?;
    writer.finish(&store, "b", None)?;
    let inputs = [input("a", &[0, 1]), input("b", &[9])];
    assert!(matches!(merge_all(&store, &inputs), Err(EngineError::Internal { .. })));
    let target = Target { schema: batch.schema(), fields: vec![], rewrite: false };
    let (options, cancel) = (WriteOptions::default(), Cancel::default());
    let merged = merge(&inputs, &store, "merged.split", Some(&target), None, &options, &cancel)?;
    assert_eq!(merged.split.num_records, 17);
    let opened = open(&store, "merged.split")?;
    let ids: Vec<Option<i64>> = (2..19).map(|i| (i % 5 != 0).then_some(i)).collect();
    assert_eq!(opened.ids, ids);
    Ok(())
}

#[test]
fn strings_of_deleted_rows_are_no_bounds() -> Result<()> {
    let store = Store::open("memory:///merge-bounds", "")?;
    let spec = FieldSpec { name: "text".into(), role: Role::Text, ..FieldSpec::default() };
    let strings = || Arc::new(StringArray::from(vec!["anna", "bert", "zoe"])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("name", strings()), ("text", strings())])?;
    let mut writer = SplitWriter::new(batch.schema(), vec![spec], WriteOptions::default())?;
    writer.write(&batch)?;
    writer.finish(&store, "a", None)?;
    let bounds = |deleted: &[u32], column: &str| -> Result<_> {
        let (path, options) = (format!("{column}-{deleted:?}"), WriteOptions::default());
        merge(&[input("a", deleted)], &store, &path, None, None, &options, &Cancel::default())?;
        let found = open_sidecar(&store, &path)?;
        let column = found.column(column).expect("a column");
        Ok((column.min.clone(), column.max.clone()))
    };
    let of = |min: &str, max: &str| (Some(min.into()), Some(max.into()));
    assert_eq!(bounds(&[], "name")?, of("anna", "zoe"));
    assert_eq!(bounds(&[], "text")?, of("anna", "zoe"));
    assert_eq!(bounds(&[0], "name")?, of("bert", "zoe"));
    assert_eq!(bounds(&[0, 2], "name")?, of("bert", "bert"));
    // only rows tell what a text column still has
    assert_eq!(bounds(&[0], "text")?, (None, None));
    Ok(())
}
