//! Recompresses the rows of a merged split.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use tantivy::directory::footer::Footer;
use tantivy::directory::{AntiCallToken, Directory, TerminatingWrite, WritePtr};
use tantivy::index::SegmentComponent;
use tantivy::store::{StoreReader, StoreWriter};
use tantivy::{Index, TantivyError};

use crate::error::{EngineError, Result};
use crate::split::fast_file::Summed;
use crate::write::Scratch;

/// A temporary file that replaces one of the index.
const NEW_FILE: &str = "rows.store";

/// Rewrites the row store with the settings of the index. Tantivy copies blocks of the same codec unchanged,
/// whatever their level.
pub fn compress_rows(index: &Index, scratch: &Scratch) -> Result<()> {
    if !index.schema().fields().any(|(_, entry)| entry.is_stored()) {
        return Ok(());
    }
    let segments = index.searchable_segment_metas()?;
    let [segment] = segments.as_slice() else {
        return Err(EngineError::internal("a merge has one segment"));
    };
    let path = segment.relative_path(SegmentComponent::Store);
    let file = scratch.open_read(&path).map_err(TantivyError::from)?;
    let (footer, body) = Footer::extract_footer(file)?;
    let rows = StoreReader::open(body, 1)?;
    let settings = index.settings();
    let (compressor, block_bytes) = (settings.docstore_compression, settings.docstore_blocksize);
    let out = Sealed::create(scratch, footer)?;
    let mut writer = StoreWriter::new(out, compressor, block_bytes, false)?;
    for row in 0..segment.max_doc() {
        writer.store_bytes(&rows.get_document_bytes(row)?)?;
    }
    writer.close()?;
    Ok(std::fs::rename(scratch.path(NEW_FILE), scratch.path(&path.to_string_lossy()))?)
}

/// A file of an index, which ends with its checksum.
struct Sealed {
    out: Summed<WritePtr>,
    footer: Footer,
}

impl Sealed {
    fn create(scratch: &Scratch, footer: Footer) -> Result<WritePtr> {
        let out = scratch.open_write(Path::new(NEW_FILE)).map_err(TantivyError::from)?;
        Ok(BufWriter::new(Box::new(Sealed { out: Summed::new(out), footer })))
    }
}

impl Write for Sealed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl TerminatingWrite for Sealed {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.out.seal(&self.footer)
    }
}
