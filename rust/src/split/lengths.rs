//! The lengths of the texts of a field, as scores use them: one byte per row, exact up to 40 tokens.

use tantivy::fieldnorm::FieldNormReader;
use tantivy::schema::Field;
use tantivy::{Index, SegmentReader};

use super::sidecar::{Encoding, Sidecar};
use crate::error::Result;

/// The sum of the lengths of all rows; none if the field does not record them.
pub fn sum_lengths(reader: &SegmentReader, field: Field) -> Result<Option<u64>> {
    let Some(lengths) = reader.fieldnorms_readers().get_field(field)? else {
        return Ok(None);
    };
    let mut counts = [0u64; 256];
    for doc in 0..reader.max_doc() {
        counts[lengths.fieldnorm_id(doc) as usize] += 1;
    }
    let length = |id: usize| u64::from(FieldNormReader::id_to_fieldnorm(id as u8));
    Ok(Some(counts.iter().enumerate().map(|(id, rows)| rows * length(id)).sum()))
}

/// Writes the sums of all text columns of a complete index into its sidecar.
pub fn note_lengths(index: &Index, sidecar: &mut Sidecar) -> Result<()> {
    let schema = index.schema();
    let readers = index
        .searchable_segments()?
        .iter()
        .map(SegmentReader::open)
        .collect::<tantivy::Result<Vec<_>>>()?;
    for column in sidecar.columns.iter_mut().filter(|column| column.encoding == Encoding::Text) {
        let field = schema.get_field(&column.name)?;
        column.tokens =
            readers.iter().map(|reader| sum_lengths(reader, field)).sum::<Result<Option<u64>>>()?;
    }
    Ok(())
}
