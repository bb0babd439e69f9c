//! The tokens of texts, for users who want to see them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int32Array, ListArray, StringArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Fields};

use super::analyzer;
use crate::error::Result;
use crate::texts::{bytes_of, lossy};

/// The tokens of each text: their texts, positions and byte ranges.
pub fn analyze(tokenizer: &str, texts: &ArrayRef) -> Result<ListArray> {
    let mut analyzer = analyzer(tokenizer)?;
    let texts = bytes_of(texts)?;
    let mut words: Vec<String> = Vec::new();
    let mut numbers: [Vec<i32>; 3] = Default::default();
    let mut lengths = Vec::with_capacity(texts.len());
    for text in texts.iter() {
        let before = words.len();
        analyzer.token_stream(&lossy(text.unwrap_or_default())).process(&mut |token| {
            words.push(token.text.clone());
            let places = [token.position, token.offset_from, token.offset_to];
            numbers.iter_mut().zip(places).for_each(|(column, place)| column.push(place as i32));
        });
        lengths.push(words.len() - before);
    }
    let mut columns: Vec<ArrayRef> = vec![Arc::new(StringArray::from(words))];
    columns.extend(numbers.map(|column| Arc::new(Int32Array::from(column)) as ArrayRef));
    let fields = token_fields();
    let tokens = StructArray::try_new(fields.clone(), columns, None)?;
    let item = Arc::new(Field::new("element", DataType::Struct(fields), true));
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(ListArray::try_new(item, offsets, Arc::new(tokens), texts.nulls().cloned())?)
}

fn token_fields() -> Fields {
    let number = |name| Field::new(name, DataType::Int32, true);
    let text = Field::new("text", DataType::Utf8, true);
    Fields::from(vec![text, number("position"), number("start"), number("end")])
}
