use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::columns::Docs;
use crate::texts::TEXT;

/// A file of `rows` numbers and their texts, with pages of 100 rows and groups of 1000.
fn write(folder: &std::path::Path, name: &str, rows: i32, page_index: bool) -> Result<Run> {
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..rows));
    let texts = (0..rows).map(|n| (n % 7 != 0).then(|| format!("{name} {n}")));
    let texts: ArrayRef = Arc::new(StringArray::from_iter(texts));
    let batch = RecordBatch::try_from_iter([("Number", numbers), ("text", texts)])?;
    let statistics = if page_index { EnabledStatistics::Page } else { EnabledStatistics::None };
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(1000))
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(100)
        .set_statistics_enabled(statistics)
        .set_offset_index_disabled(!page_index)
        .build();
    let path = folder.join(name);
    let failed = |e: parquet::errors::ParquetError| EngineError::internal(e);
    let file = std::fs::File::create(&path)?;
    let mut writer =
        ArrowWriter::try_new(file, batch.schema(), Some(properties)).map_err(failed)?;
    writer.write(&batch).map_err(failed)?;
    writer.close().map_err(failed)?;
    let size = std::fs::metadata(&path)?.len();
    let path = name.to_owned();
    Ok(Run { path, row: 0, rows: rows as u64, size, file_rows: None, stamp: None, footer: None })
}

fn wanted() -> Arc<Schema> {
    Arc::new(Schema::new(vec![
        Field::new("number", DataType::Int64, true),
        Field::new("text", TEXT, true),
        Field::new("nowhere", DataType::Float64, true),
    ]))
}

fn open(folder: &std::path::Path) -> Result<Arc<Source>> {
    Ok(Arc::new(Source::open(&folder.to_string_lossy(), "", json!({}))?))
}

/// The rows of documents as `(file, row)`.
fn expected(runs: &[Run], doc: u64) -> (String, i64) {
    let mut first = 0;
    for run in runs {
        if doc < first + run.rows {
            return (run.path.clone(), (run.row + doc - first) as i64);
        }
        first += run.rows;
    }
    unreachable!("no document {doc}")
}

fn check(runs: &[Run], docs: &[u32], arrays: &[ArrayRef]) {
    let (numbers, texts) = (arrays[0].as_primitive::<Int64Type>(), arrays[1].as_binary::<i64>());
    assert_eq!(numbers.len(), docs.len());
    assert_eq!(arrays[2].null_count(), docs.len());
    for (at, &doc) in docs.iter().enumerate() {
        let (file, row) = expected(runs, u64::from(doc));
        assert_eq!(numbers.value(at), row, "document {doc}");
        let text = (row % 7 != 0).then(|| format!("{file} {row}").into_bytes());
        assert_eq!(texts.iter().nth(at).flatten(), text.as_deref(), "document {doc}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn documents_are_the_rows_of_their_files(
        docs in proptest::collection::btree_set(0u32..6400, 1..400),
        dense in (0u32..6000, 1u32..2500),
        step in 1usize..3000,
        page_index in any::<bool>(),
    ) {
        let folder = tempfile::tempdir()?;
        let run = |result: Result<()>| result.map_err(|e| TestCaseError::fail(e.to_string()));
        run((|| {
            let mut runs = vec![
                write(folder.path(), "a", 2500, page_index)?,
                write(folder.path(), "b", 400, page_index)?,
                write(folder.path(), "c", 4000, page_index)?,
            ];
            // a file may be cut over two splits
            runs[2].row = 500;
            runs[2].rows = 3500;
            let known = Arc::new(Runs::new(runs.clone(), 6400)?);
            let mut rows = SourceRows::new(open(folder.path())?, known, wanted());
            let scattered: Vec<u32> = docs.into_iter().collect();
            let stretch: Vec<u32> = (dense.0..(dense.0 + dense.1).min(6400)).collect();
            let every: Vec<u32> = (0..6400).collect();
            for list in [scattered, stretch, every] {
                for docs in list.chunks(step) {
                    check(&runs, docs, &rows.read(&Docs::of(docs), 0)?);
                }
            }
            Ok(())
        })())?;
    }
}

#[test]
fn a_file_is_fed_from_any_row_on() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let run = write(folder.path(), "a", 2500, true)?;
    let source = open(folder.path())?;
    assert_eq!(Facts::read(&source, run.file())?.rows, 2500);
    for first in [0, 1, 999, 2499, 2500] {
        let mut next = first as i64;
        for batch in feed(source.clone(), run.file(), &wanted(), first, 300)? {
            let batch = batch?;
            let numbers = batch.column(0).as_primitive::<Int64Type>();
            for number in numbers.values() {
                assert_eq!(*number, next);
                next += 1;
            }
        }
        assert_eq!(next, 2500);
    }
    Ok(())
}

#[test]
fn another_file_in_its_place_is_named() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut run = write(folder.path(), "a", 300, true)?;
    let source = open(folder.path())?;
    run.footer = Some(Facts::read(&source, run.file())?.footer);
    let read = |run: &Run| {
        let runs = Arc::new(Runs::new(vec![run.clone()], run.rows)?);
        SourceRows::new(open(folder.path())?, runs, wanted()).read(&Docs::List(&[3]), 0)
    };
    read(&run)?;
    let changed =
        |e: EngineError| matches!(e, EngineError::SourceChanged { path, .. } if path == "a");
    assert!(
        read(&Run { footer: run.footer.map(|sum| sum ^ 1), ..run.clone() }).is_err_and(changed)
    );
    assert!(read(&Run { size: run.size + 1, ..run.clone() }).is_err_and(changed));
    assert!(read(&Run { rows: 301, footer: None, ..run.clone() }).is_err_and(changed));
    std::fs::write(folder.path().join("a"), vec![b'x'; run.size as usize])?;
    assert!(
        read(&run).is_err_and(|e| matches!(e, EngineError::Corrupt { path, .. } if path == "a"))
    );
    std::fs::remove_file(folder.path().join("a"))?;
    let missing = |e: EngineError| matches!(e, EngineError::SourceMissing { path } if path == "a");
    assert!(read(&run).is_err_and(missing));
    Ok(())
}

#[test]
fn columns_are_found_by_id_name_or_not_at_all() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let ids = |id: &str| [(parquet::arrow::PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_owned())];
    let fields = vec![
        Field::new("a", DataType::Int64, true).with_metadata(ids("7")),
        Field::new("A", DataType::Int64, true).with_metadata(ids("8")),
    ];
    let columns: Vec<ArrayRef> =
        vec![Arc::new(Int64Array::from(vec![1])), Arc::new(Int64Array::from(vec![2]))];
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
    let file = std::fs::File::create(folder.path().join("f"))?;
    let failed = |e: parquet::errors::ParquetError| EngineError::internal(e);
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).map_err(failed)?;
    writer.write(&batch).map_err(failed)?;
    writer.close().map_err(failed)?;
    let size = std::fs::metadata(folder.path().join("f"))?.len();
    let read = |lookup: Value| -> Result<Option<i64>> {
        let source = Source::open(&folder.path().to_string_lossy(), "", lookup)?;
        let id = FileId { path: "f".to_owned(), size, stamp: None };
        let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]));
        let mut rows = feed(Arc::new(source), id, &schema, 0, 10)?;
        let batch = rows.next().transpose()?.ok_or_else(|| EngineError::internal("no rows"))?;
        Ok(batch.column(0).as_primitive::<Int64Type>().iter().next().flatten())
    };
    let column = |address: Value| json!({"columns": [address]});
    assert_eq!(read(column(json!({"name": "a", "id": 8})))?, Some(2));
    assert_eq!(read(column(json!({"name": "a", "id": 9})))?, None);
    assert_eq!(read(column(json!({"name": "a", "names": ["x", "A"]})))?, Some(2));
    assert_eq!(read(json!({"case_sensitive": true}))?, Some(1));
    let unclear = |e: EngineError| matches!(e, EngineError::SourceAddress { .. });
    assert!(read(json!({})).is_err_and(unclear));
    Ok(())
}

#[test]
fn no_path_leads_out_of_the_source() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let source = open(folder.path())?;
    for path in ["../x", "s3://bucket/x", "https://host/x"] {
        let id = FileId { path: path.to_owned(), size: 1, stamp: None };
        let refused = Facts::read(&source, id).err();
        assert!(matches!(refused, Some(EngineError::BadPath { .. })), "{path}: {refused:?}");
    }
    Ok(())
}
