//! The sidecar of a merged split, from those of its inputs.

use std::cmp::Ordering;

use arrow::datatypes::DataType;
use roaring::RoaringBitmap;
use serde_json::Value;
use tantivy::columnar::DynamicColumn;
use tantivy::{Index, ReloadPolicy, SegmentReader};

use crate::error::{EngineError, Result};
use crate::merge::input::OpenInput;
use crate::source::Run;
use crate::split::{
    CapitalWords, Capitals, Encoding, Layout, NullRows, Sidecar, SidecarColumn, SourceFiles,
    to_spark,
};
use crate::write::Bounds;

/// Whether the columns of both inputs have the same meaning, so that their sidecars can be folded.
pub fn have_one_meaning(left: &OpenInput, right: &OpenInput) -> bool {
    match (&left.sidecar, &right.sidecar) {
        (None, None) => true,
        (Some(left), Some(right)) => {
            let meaning = |c: &SidecarColumn| {
                let (name, source) = (c.name.clone(), c.source.clone());
                (family(c).to_owned(), name, c.encoding, source, c.address.clone())
            };
            left.columns.iter().map(meaning).eq(right.columns.iter().map(meaning))
        }
        _ => false,
    }
}

/// The type of a column, as far as its numbers on disk depend on it: a decimal that was widened has
/// another scale, an integer is the same number.
fn family(column: &SidecarColumn) -> Value {
    match column.arrow_type() {
        Some(kind) if kind.is_signed_integer() => to_spark(&DataType::Int64),
        Some(kind) if kind.is_floating() => to_spark(&DataType::Float64),
        // an older sidecar writes the same type differently
        Some(kind) => to_spark(&kind),
        None => column.data_type.clone(),
    }
}

/// The widest type of one family.
fn widest(parts: &[Part<'_>]) -> Value {
    let types = parts.iter().filter_map(|part| part.column.arrow_type());
    let widest = types.max_by_key(|kind| kind.primitive_width().unwrap_or_default());
    widest.map_or_else(|| parts[0].column.data_type.clone(), |kind| to_spark(&kind))
}

/// The sidecar and the null rows of the merged index; none if the inputs have none.
/// Bounds of strings have up to `length` characters.
pub fn fold(
    open: &[OpenInput],
    merged: &Index,
    length: usize,
) -> Result<(Option<Sidecar>, NullRows)> {
    let Some(sidecars) =
        open.iter().map(|input| input.sidecar.as_ref()).collect::<Option<Vec<_>>>()
    else {
        return Ok((None, NullRows::default()));
    };
    let mut nulls = NullRows::default();
    for (at, column) in sidecars[0].columns.iter().enumerate() {
        let rows = null_rows(open, &column.name)?;
        if sidecars.iter().any(|sidecar| sidecar.columns[at].nulls > 0) && !rows.is_empty() {
            nulls.columns.insert(column.name.clone(), rows);
        }
    }
    let segment = only_segment(merged)?;
    let any_deleted = open.iter().any(|input| !input.deleted.is_empty());
    let columns = (0..sidecars[0].columns.len())
        .map(|at| {
            let parts: Vec<Part<'_>> =
                sidecars.iter().map(|s| Part { column: &s.columns[at], rows: s.rows }).collect();
            let mut column = fold_column(&parts, &segment, &nulls, any_deleted)?;
            if any_deleted {
                (column.min, column.max) = without_deleted(&segment, &column, length)?;
            }
            Ok(column)
        })
        .collect::<Result<Vec<_>>>()?;
    let any = |layout| sidecars.iter().any(|sidecar| sidecar.layout == layout);
    let layout = [Layout::Companion, Layout::Lean].into_iter().find(|layout| any(*layout));
    let layout = layout.unwrap_or_default();
    let mut sidecar = Sidecar::new(layout, u64::from(segment.max_doc()), columns);
    sidecar.source = runs(open)?.map(|runs| SourceFiles { runs, table: source_table(open) });
    Ok((Some(sidecar), nulls))
}

/// The capitals of the columns that every input lists, without words that only deleted rows have.
pub fn capitals(open: &[OpenInput], merged: &Index) -> Result<Capitals> {
    let mut capitals = Capitals::default();
    for name in open[0].capitals.columns.keys() {
        let parts = open.iter().map(|input| input.capitals.columns.get(name));
        let Some(parts) = parts.collect::<Option<Vec<_>>>() else { continue };
        let Some(mut words) = CapitalWords::union(parts.into_iter()) else { continue };
        if open.iter().any(|input| !input.deleted.is_empty()) {
            let index = only_segment(merged)?.inverted_index(merged.schema().get_field(name)?)?;
            let mut terms = index.terms().stream()?;
            let next = || terms.advance().then(|| crc32fast::hash(terms.key()));
            words.retain(std::iter::from_fn(next));
        }
        capitals.columns.insert(name.clone(), words);
    }
    Ok(capitals)
}

/// The source's definition from the last input that has one.
pub fn source_table(open: &[OpenInput]) -> Option<Value> {
    let known = |input: &OpenInput| input.sidecar.as_ref()?.source.as_ref()?.table.clone();
    open.iter().rev().find_map(known)
}

/// The rows of the source that stay, when companions are merged.
pub fn runs(open: &[OpenInput]) -> Result<Option<Vec<Run>>> {
    let files = |input: &OpenInput| Some(input.sidecar.as_ref()?.source.as_ref()?.runs.clone());
    if open.iter().all(|input| files(input).is_none()) {
        return Ok(None);
    }
    let mut all: Vec<Run> = Vec::new();
    for input in open {
        let runs = files(input)
            .ok_or_else(|| EngineError::internal("a companion merges only with companions"))?;
        let mut first = 0u32;
        for run in runs {
            let end = first + run.rows as u32;
            let gone = input.deleted.range_cardinality(first..end);
            first = end;
            if gone == run.rows {
                continue;
            }
            if gone > 0 {
                return Err(EngineError::internal("only whole runs leave a companion"));
            }
            match all.last_mut() {
                Some(last) if continues(last, &run) => last.rows += run.rows,
                _ => all.push(run),
            }
        }
    }
    Ok(Some(all))
}

/// Whether a run begins where another one of the same file ends.
fn continues(last: &Run, next: &Run) -> bool {
    last.file() == next.file() && last.footer == next.footer && last.row + last.rows == next.row
}

/// A column of one input.
struct Part<'a> {
    column: &'a SidecarColumn,
    rows: u64,
}

fn only_segment(index: &Index) -> Result<SegmentReader> {
    let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
    let segments = reader.searcher().segment_readers().to_vec();
    segments.into_iter().next().ok_or_else(|| EngineError::internal("a merge made no segment"))
}

fn fold_column(
    parts: &[Part<'_>],
    segment: &SegmentReader,
    nulls: &NullRows,
    any_deleted: bool,
) -> Result<SidecarColumn> {
    let before: u64 = parts.iter().map(|part| part.column.nulls).sum();
    let first = parts[0].column;
    let count = match nulls.columns.get(&first.name) {
        Some(rows) => rows.len(),
        None if before == 0 || !any_deleted => before,
        None if !first.encoding.is_object() && is_fast(segment, &first.name)? => {
            fast_nulls(segment, &first.name)?
        }
        // every null was deleted
        None => 0,
    };
    // an input with only nulls has no bounds and changes none
    let bounded = || parts.iter().filter(|part| part.column.nulls < part.rows);
    let encoding = first.encoding;
    let min = fold_bound(encoding, bounded().map(|part| part.column.min.as_ref()), Ordering::Less);
    let max =
        fold_bound(encoding, bounded().map(|part| part.column.max.as_ref()), Ordering::Greater);
    let overlong = parts.iter().any(|part| part.column.overlong);
    let inexact = parts.iter().any(|part| part.column.inexact);
    let data_type = widest(parts);
    Ok(SidecarColumn { overlong, inexact, nulls: count, min, max, data_type, ..first.clone() })
}

/// The bounds of a merged column without values of rows that were deleted: strings that nobody has any
/// more must not stay readable. Numbers may be bounds that no row has.
fn without_deleted(
    segment: &SegmentReader,
    column: &SidecarColumn,
    length: usize,
) -> Result<(Option<Value>, Option<Value>)> {
    let bounds = (column.min.clone(), column.max.clone());
    match column.encoding {
        Encoding::String if !column.overlong && bounds != (None, None) => {
            Ok(live_strings(segment, &column.name)?.to_json(length))
        }
        Encoding::String | Encoding::StringBytes | Encoding::Text => Ok((None, None)),
        _ => Ok(bounds),
    }
}

/// The first and the last of the strings that a fast column has.
fn live_strings(segment: &SegmentReader, name: &str) -> Result<Bounds> {
    for handle in segment.fast_fields().dynamic_column_handles(name)? {
        if let DynamicColumn::Str(strings) = handle.open()? {
            let terms = strings.dictionary();
            let Some(last) = terms.num_terms().checked_sub(1) else { continue };
            let term = |ord: usize| -> Result<Vec<u8>> {
                let mut bytes = Vec::new();
                terms.ord_to_term(ord as u64, &mut bytes)?;
                Ok(bytes)
            };
            return Ok(Bounds::Text(term(0)?, term(last)?));
        }
    }
    Ok(Bounds::None)
}

fn is_fast(segment: &SegmentReader, name: &str) -> Result<bool> {
    let schema = segment.schema();
    Ok(schema.get_field(name).is_ok_and(|field| schema.get_field_entry(field).is_fast()))
}

/// Rows of a fast column without a value.
fn fast_nulls(segment: &SegmentReader, name: &str) -> Result<u64> {
    let mut values = 0;
    for handle in segment.fast_fields().dynamic_column_handles(name)? {
        values += u64::from(handle.open()?.num_values());
    }
    Ok(u64::from(segment.max_doc()).saturating_sub(values))
}

/// Null rows of a column in the numbering of the merged split.
fn null_rows(open: &[OpenInput], column: &str) -> Result<RoaringBitmap> {
    let mut all = RoaringBitmap::new();
    let mut base = 0;
    for input in open {
        if let Some(rows) = input.nulls.columns.get(column) {
            let mut deleted = input.deleted.iter().peekable();
            let mut gone = 0;
            let kept = (rows - &input.deleted).into_iter().map(|row| {
                while deleted.next_if(|&d| d < row).is_some() {
                    gone += 1;
                }
                base + row - gone
            });
            all.append(kept).map_err(EngineError::internal)?;
        }
        base += input.rows - input.deleted.len() as u32;
    }
    Ok(all)
}

/// The outermost of several bounds; unknown if one of them is.
fn fold_bound<'a>(
    encoding: Encoding,
    bounds: impl Iterator<Item = Option<&'a Value>>,
    outer: Ordering,
) -> Option<Value> {
    let mut found: Option<&Value> = None;
    for bound in bounds {
        let bound = bound?;
        found = match found {
            Some(held) if order(encoding, bound, held)? != outer => Some(held),
            _ => Some(bound),
        };
    }
    found.cloned()
}

/// Order of two bounds of a column; none if they are not what the encoding says.
fn order(encoding: Encoding, left: &Value, right: &Value) -> Option<Ordering> {
    match encoding {
        Encoding::Bool => Some(left.as_bool()?.cmp(&right.as_bool()?)),
        Encoding::F64 => {
            let (left, right) = (float(left)?, float(right)?);
            let nan = || left.is_nan().cmp(&right.is_nan());
            Some(left.partial_cmp(&right).unwrap_or_else(nan))
        }
        Encoding::DecimalI64 | Encoding::DecimalBytes => {
            Some(unscaled(left)?.cmp(&unscaled(right)?))
        }
        Encoding::String | Encoding::StringBytes | Encoding::Text => {
            Some(left.as_str()?.cmp(right.as_str()?))
        }
        _ => Some(left.as_i64()?.cmp(&right.as_i64()?)),
    }
}

fn float(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

/// Both strings of a column have the same scale.
fn unscaled(value: &Value) -> Option<i128> {
    value.as_str()?.replace('.', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fold_all(encoding: Encoding, bounds: &[Value], outer: Ordering) -> Option<Value> {
        fold_bound(encoding, bounds.iter().map(|v| Some(v).filter(|v| !v.is_null())), outer)
    }

    #[test]
    fn bounds_fold_in_the_order_of_their_type() {
        let max = |encoding, bounds: &[Value]| fold_all(encoding, bounds, Ordering::Greater);
        assert_eq!(max(Encoding::I64, &[json!(9), json!(10)]), Some(json!(10)));
        assert_eq!(
            max(Encoding::F64, &[json!("Infinity"), json!("NaN"), json!(1)]),
            Some(json!("NaN"))
        );
        assert_eq!(
            max(Encoding::DecimalI64, &[json!("9.50"), json!("-10.00")]),
            Some(json!("9.50"))
        );
        assert_eq!(max(Encoding::String, &[json!("9"), json!("10")]), Some(json!("9")));
        let min = |encoding, bounds: &[Value]| fold_all(encoding, bounds, Ordering::Less);
        assert_eq!(
            min(Encoding::DecimalBytes, &[json!("9.50"), json!("-10.00")]),
            Some(json!("-10.00"))
        );
        assert_eq!(min(Encoding::F64, &[json!("NaN"), json!(-1.5)]), Some(json!(-1.5)));
    }

    #[test]
    fn one_unknown_bound_makes_the_whole_unknown() {
        assert_eq!(fold_all(Encoding::I64, &[json!(1), Value::Null], Ordering::Less), None);
    }
}
