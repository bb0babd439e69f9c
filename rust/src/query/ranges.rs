//! Rows whose number in a fast column lies between two ends. Tantivy compares the values of most columns one by one,
//! with a branch for each; here whole blocks are decoded and compared.

use std::ops::Bound as End;
use std::sync::Arc;

use tantivy::columnar::{
    Cardinality, Column, ColumnType, ColumnValues, MonotonicallyMappableToU64,
};
use tantivy::query::{
    ConstScorer, EnableScoring, Explanation, FastFieldRangeQuery, Query, Scorer, Weight,
};
use tantivy::schema::Type;
use tantivy::{DocId, DocSet, Score, SeekDangerResult, SegmentReader, TERMINATED, Term};

/// Rows that are decoded at a time, at most; after a jump, as few as `FIRST_ROWS`.
const BLOCK_ROWS: usize = 1024;
const FIRST_ROWS: usize = 64;

/// The rows with a value between two ends, looked for in the fast column of a field.
#[derive(Debug, Clone)]
pub struct ColumnRange {
    lower: End<Term>,
    upper: End<Term>,
}

impl ColumnRange {
    pub fn boxed(lower: End<Term>, upper: End<Term>) -> Box<dyn Query> {
        Box::new(ColumnRange { lower, upper })
    }

    /// The column of numbers of one segment and the ends of the range, both included; nothing for other
    /// kinds of columns.
    fn numbers(&self, reader: &SegmentReader) -> tantivy::Result<Option<Numbers>> {
        let term = match (&self.lower, &self.upper) {
            (End::Included(term) | End::Excluded(term), _) => term,
            (_, End::Included(term) | End::Excluded(term)) => term,
            _ => return Ok(None),
        };
        if !matches!(term.typ(), Type::U64 | Type::I64 | Type::F64 | Type::Date) {
            return Ok(None);
        }
        let low = match &self.lower {
            End::Included(term) => number(term),
            End::Excluded(term) => number(term).and_then(|low| low.checked_add(1)),
            End::Unbounded => Some(0),
        };
        let high = match &self.upper {
            End::Included(term) => number(term),
            End::Excluded(term) => number(term).and_then(|high| high.checked_sub(1)),
            End::Unbounded => Some(u64::MAX),
        };
        let ends = low.zip(high).filter(|(low, high)| low <= high);
        let Some((low, high)) = ends else { return Ok(None) };
        let types = [ColumnType::U64, ColumnType::I64, ColumnType::F64, ColumnType::DateTime];
        let name = reader.schema().get_field_name(term.field());
        let handles = reader.fast_fields().dynamic_column_handles(name)?;
        let Some(handle) = handles.iter().find(|h| types.contains(&h.column_type())) else {
            return Ok(None);
        };
        let column = handle.open_u64_lenient()?;
        Ok(column.map(|column| {
            let is_packed = is_packed(&column, handle.num_bytes().get_bytes());
            Numbers { column, low, width: high - low, is_packed }
        }))
    }
}

/// The value of a term as the column has it.
fn number(term: &Term) -> Option<u64> {
    let value = term.value();
    value
        .as_u64()
        .or_else(|| value.as_i64().map(|number| number.to_u64()))
        .or_else(|| value.as_f64().map(|number| number.to_u64()))
        .or_else(|| value.as_date().map(|time| time.to_u64()))
}

/// Whether all values of a column have the same few bits, which tantivy compares many at a time. Otherwise they are
/// stored relative to a line, which takes fewer bytes.
fn is_packed(column: &Column<u64>, bytes: u64) -> bool {
    let bits = u64::from(u64::BITS - (column.max_value() - column.min_value()).leading_zeros());
    bits <= 32 && bytes >= u64::from(column.values.num_vals()) * bits / 8
}

/// A column, and the numbers from `low` to `low + width`.
struct Numbers {
    column: Column<u64>,
    low: u64,
    width: u64,
    is_packed: bool,
}

impl Numbers {
    /// Whether the least and the greatest value leave something to look for.
    fn is_undecided(&self) -> bool {
        let (least, most) = (self.column.min_value(), self.column.max_value());
        let high = self.low + self.width;
        (least < self.low || most > high) && least <= high && most >= self.low
    }

    fn count(&self) -> u32 {
        let values = &self.column.values;
        if self.is_packed {
            let mut found = Vec::with_capacity(BLOCK_ROWS);
            let starts = (0..values.num_vals()).step_by(BLOCK_ROWS);
            let counts = starts.map(|start| {
                let rows = start..values.num_vals().min(start + BLOCK_ROWS as u32);
                found.clear();
                values.get_row_ids_for_value_range(
                    self.low..=self.low + self.width,
                    rows,
                    &mut found,
                );
                found.len() as u32
            });
            return counts.sum();
        }
        let mut block = [0; BLOCK_ROWS];
        let mut count = 0;
        let mut next = 0;
        while next < values.num_vals() {
            let rows = BLOCK_ROWS.min((values.num_vals() - next) as usize);
            let block = &mut block[..rows];
            values.get_range(u64::from(next), block);
            let inside = |value: &&u64| value.wrapping_sub(self.low) <= self.width;
            count += block.iter().filter(inside).count() as u32;
            next += rows as u32;
        }
        count
    }
}

impl Query for ColumnRange {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        let plain = FastFieldRangeQuery::new(self.lower.clone(), self.upper.clone());
        Ok(Box::new(RangeWeight { range: self.clone(), plain: plain.weight(scoring)? }))
    }
}

struct RangeWeight {
    range: ColumnRange,
    /// Tantivy's own, for what needs no or another comparison.
    plain: Box<dyn Weight>,
}

impl Weight for RangeWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let numbers = self.range.numbers(reader)?.filter(|numbers| {
            let is_full = numbers.column.get_cardinality() == Cardinality::Full;
            is_full && !numbers.is_packed && numbers.is_undecided()
        });
        match numbers {
            Some(numbers) => Ok(Box::new(ConstScorer::new(RangeDocs::new(numbers), boost))),
            None => self.plain.scorer(reader, boost),
        }
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        self.plain.explain(reader, doc)
    }

    fn count(&self, reader: &SegmentReader) -> tantivy::Result<u32> {
        if let Some(alive) = reader.alive_bitset() {
            return Ok(self.scorer(reader, 1.0)?.count(alive));
        }
        // where a row has at most one value, values are counted as rows
        let numbers = self.range.numbers(reader)?.filter(|numbers| {
            numbers.column.get_cardinality() != Cardinality::Multivalued && numbers.is_undecided()
        });
        match numbers {
            Some(numbers) => Ok(numbers.count()),
            None => self.plain.count(reader),
        }
    }
}

/// Rows of a column in which every row has one value.
struct RangeDocs {
    values: Arc<dyn ColumnValues<u64>>,
    low: u64,
    width: u64,
    /// Rows that were found, of which those before `at` are done.
    found: Vec<DocId>,
    at: usize,
    /// The first row that was not looked at.
    next: u32,
    step: usize,
}

impl RangeDocs {
    fn new(numbers: Numbers) -> RangeDocs {
        let Numbers { column, low, width, .. } = numbers;
        let mut docs = RangeDocs {
            values: column.values,
            low,
            width,
            found: Vec::with_capacity(BLOCK_ROWS),
            at: 0,
            next: 0,
            step: FIRST_ROWS,
        };
        docs.find_more();
        docs
    }

    /// Looks on until something is found or the column ends.
    fn find_more(&mut self) {
        let mut block = [0; BLOCK_ROWS];
        self.at = 0;
        self.found.clear();
        while self.found.is_empty() && self.next < self.values.num_vals() {
            let rows = self.step.min((self.values.num_vals() - self.next) as usize);
            let block = &mut block[..rows];
            self.values.get_range(u64::from(self.next), block);
            // every row is written, and stays if it is inside: no branch depends on a value
            self.found.resize(rows, 0);
            let mut len = 0;
            for (row, value) in (self.next..).zip(block.iter()) {
                self.found[len] = row;
                len += usize::from(value.wrapping_sub(self.low) <= self.width);
            }
            self.found.truncate(len);
            self.next += rows as u32;
            self.step = BLOCK_ROWS.min(2 * self.step);
        }
    }
}

impl DocSet for RangeDocs {
    fn advance(&mut self) -> DocId {
        self.at += 1;
        if self.at >= self.found.len() {
            self.find_more();
        }
        self.doc()
    }

    fn doc(&self) -> DocId {
        self.found.get(self.at).copied().unwrap_or(TERMINATED)
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc() >= target {
            return self.doc();
        }
        if target >= self.next {
            self.next = target;
            self.step = FIRST_ROWS;
            self.at = self.found.len();
        } else {
            self.at += self.found[self.at..].partition_point(|&row| row < target);
        }
        if self.at >= self.found.len() {
            self.find_more();
        }
        self.doc()
    }

    /// Only whether the target itself is inside: its value tells.
    fn seek_danger(&mut self, target: DocId) -> SeekDangerResult {
        if target >= self.values.num_vals() {
            return SeekDangerResult::SeekLowerBound(TERMINATED);
        }
        if self.values.get_val(target).wrapping_sub(self.low) > self.width {
            return SeekDangerResult::SeekLowerBound(target + 1);
        }
        self.found.clear();
        self.found.push(target);
        self.at = 0;
        self.next = target + 1;
        self.step = FIRST_ROWS;
        SeekDangerResult::Found
    }

    fn size_hint(&self) -> u32 {
        self.values.num_vals() / 10
    }

    fn cost(&self) -> u64 {
        // as tantivy's own: going through a column costs less than through as many postings
        u64::from(self.values.num_vals()) * 4 / 5
    }
}
