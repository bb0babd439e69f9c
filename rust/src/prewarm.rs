//! Loads parts of a split into the caches before queries need them.

use std::collections::BTreeSet;

use tantivy::HasLen;
use tantivy::directory::{CompositeFile, FileSlice};
use tantivy::index::SegmentComponent as Part;

use crate::cancel::Cancel;
use crate::error::{At, EngineError, Result};
use crate::open::{Segment, Split};
use crate::profile::{self, Section};

/// Bytes of one request: large enough to be worth one, small enough to run concurrently.
const STEP: usize = 8 << 20;
/// Requests in flight.
const PARALLEL: usize = 8;

/// What was loaded, and which of the wanted fields the split does not have.
#[derive(Debug)]
pub struct Loaded {
    pub bytes: u64,
    pub missing: Vec<String>,
}

/// Reads the named parts (`TERM`, `POSTINGS`, `POSITIONS`, `FASTFIELD`, `FIELDNORM`, `STORE`) of the
/// named fields, or of all when none is named. Opening the split has loaded its footer already.
pub fn prewarm(split: &Split, parts: &[String], fields: &[String]) -> Result<Loaded> {
    let _timer = profile::start(Section::Prewarm);
    let missing = fields.iter().filter(|name| split.layout.get(name).is_none()).cloned().collect();
    let mut loaded = Loaded { bytes: 0, missing };
    if !split.directory.is_remote() {
        return Ok(loaded);
    }
    for segment in &split.segments {
        for part in parts.iter().collect::<BTreeSet<_>>() {
            for slice in slices(split, segment, part, fields).at(&split.path)? {
                loaded.bytes += slice.len() as u64;
                load(&slice).at(&split.path)?;
            }
        }
    }
    Ok(loaded)
}

fn slices(
    split: &Split,
    segment: &Segment,
    part: &str,
    fields: &[String],
) -> Result<Vec<FileSlice>> {
    let component = match part {
        "TERM" => Part::Terms,
        "POSTINGS" => Part::Postings,
        "POSITIONS" => Part::Positions,
        "FASTFIELD" => Part::FastFields,
        "FIELDNORM" => Part::FieldNorms,
        "STORE" => Part::Store,
        other => return Err(EngineError::bad_option("segments", other, "not a part of a split")),
    };
    let by_field = !matches!(component, Part::FastFields | Part::Store);
    if matches!(component, Part::FastFields) && !fields.is_empty() {
        return fast_slices(split, segment, fields);
    }
    let file = segment.open(component)?;
    if fields.is_empty() || !by_field {
        return Ok(vec![file]);
    }
    let composite = CompositeFile::open(&file)?;
    let columns = fields.iter().filter_map(|name| split.layout.get(name));
    Ok(columns.filter_map(|column| composite.open_read(column.field)).collect())
}

fn fast_slices(split: &Split, segment: &Segment, fields: &[String]) -> Result<Vec<FileSlice>> {
    let readers = segment.reader.fast_fields();
    let mut found = Vec::new();
    // a field without a fast column has nothing to load
    let columns = fields.iter().filter_map(|name| split.layout.get(name));
    for name in columns.filter(|column| column.fast).map(|column| &column.field_name) {
        let mut handles = readers.dynamic_column_handles(name)?;
        handles.extend(readers.dynamic_subpath_column_handles(name)?);
        found.extend(handles.iter().map(|handle| handle.file_slice().clone()));
    }
    Ok(found)
}

fn load(slice: &FileSlice) -> std::io::Result<()> {
    let len = slice.len();
    let starts: Vec<usize> = (0..len).step_by(STEP).collect();
    for few in starts.chunks(PARALLEL) {
        std::thread::scope(|scope| {
            let reads: Vec<_> = few
                .iter()
                .map(|&at| {
                    let part = slice.slice(at..(at + STEP).min(len));
                    let cancel = Cancel::current();
                    scope.spawn(move || Cancel::during(cancel, || part.read_bytes().map(|_| ())))
                })
                .collect();
            reads.into_iter().try_for_each(|read| {
                read.join().unwrap_or_else(|_| Err(std::io::Error::other("a reader failed")))
            })
        })?;
    }
    Ok(())
}
