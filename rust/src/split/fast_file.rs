//! Replaces columns of a segment's columnar file; the bytes of all other columns do not change.

use std::io::{self, Write};

use ownedbytes::OwnedBytes;
use tantivy::directory::FileSlice;
use tantivy::directory::footer::Footer;
use tantivy_columnar::column_values::{CodecType, serialize_u64_based_column_values};
use tantivy_columnar::{
    ColumnType, ColumnarReader, DynamicColumnHandle, MonotonicallyMappableToU64,
};
use tantivy_sstable::{Dictionary, RangeSSTable};

use crate::error::{EngineError, Result};

/// Behind the file's dictionary of columns: its length, the number of rows and the version of the format.
const ROWS_AND_VERSION: usize = 4 + 8;
/// Ends the footer that tantivy puts behind every file.
const FOOTER_MAGIC: u32 = 1337;

/// A column in place of another one.
pub struct Replaced {
    pub kind: ColumnType,
    pub bytes: OwnedBytes,
}

impl Replaced {
    /// A column with these values in the rows in which the other one has its own.
    pub fn new<T: MonotonicallyMappableToU64>(
        handle: &DynamicColumnHandle,
        kind: ColumnType,
        values: &[T],
    ) -> Result<Replaced> {
        let old = handle.file_slice().read_bytes()?;
        let length = old.last_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes) as usize);
        let rows = length.and_then(|length| old.get(..length));
        let rows = rows.ok_or_else(|| EngineError::corrupt("", "a column is cut"))?;
        let mut bytes = rows.to_vec();
        bytes.extend(encode(values)?);
        bytes.extend((rows.len() as u32).to_le_bytes());
        Ok(Replaced { kind, bytes: OwnedBytes::new(bytes) })
    }
}

/// Values in tantivy's encoding. Linear interpolation takes longer to read, so it must save a lot.
fn encode<T: MonotonicallyMappableToU64>(values: &[T]) -> Result<Vec<u8>> {
    let encoded = |codec: CodecType| -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        serialize_u64_based_column_values(&values, &[codec], &mut bytes)?;
        Ok(bytes)
    };
    let (packed, lines) = (encoded(CodecType::Bitpacked)?, encoded(CodecType::BlockwiseLinear)?);
    Ok(if lines.len() < packed.len() / 4 * 3 { lines } else { packed })
}

/// Rewrites the file, with its footer. `replace` is called for every column.
pub fn replace_columns(
    file: FileSlice,
    mut replace: impl FnMut(&str, &DynamicColumnHandle) -> Result<Option<Replaced>>,
    out: impl Write,
) -> Result<()> {
    let (footer, body) = Footer::extract_footer(file)?;
    let mut out = Summed::new(out);
    let mut columns = Dictionary::<RangeSSTable>::builder(Vec::new())?;
    let mut end = 0;
    for (name, handle) in ColumnarReader::open(body.clone())?.iter_columns()? {
        let Replaced { kind, bytes } = match replace(&name, &handle)? {
            Some(replaced) => replaced,
            None => {
                Replaced { kind: handle.column_type(), bytes: handle.file_slice().read_bytes()? }
            }
        };
        out.write_all(&bytes)?;
        let start = end;
        end += bytes.len() as u64;
        let mut key = name.into_bytes();
        key.extend([0, kind.to_code()]);
        columns.insert(&key, &(start..end))?;
    }
    let columns = columns.finish()?;
    out.write_all(&columns)?;
    out.write_all(&(columns.len() as u64).to_le_bytes())?;
    out.write_all(&body.slice_from_end(ROWS_AND_VERSION).read_bytes()?)?;
    out.seal(&footer)?;
    Ok(())
}

/// A file that replaces one of an index; computes the checksum of what is written.
pub struct Summed<W> {
    out: W,
    sum: crc32fast::Hasher,
}

impl<W: Write> Summed<W> {
    pub fn new(out: W) -> Self {
        Self { out, sum: crc32fast::Hasher::new() }
    }

    /// Ends the file like the one it replaces, with the checksum of what was written.
    pub fn seal(&mut self, replaced: &Footer) -> io::Result<()> {
        let crc = self.sum.clone().finalize();
        let footer = serde_json::to_vec(&Footer { crc, ..replaced.clone() })?;
        self.out.write_all(&footer)?;
        self.out.write_all(&(footer.len() as u32).to_le_bytes())?;
        self.out.write_all(&FOOTER_MAGIC.to_le_bytes())?;
        self.out.flush()
    }
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
