//! Conditions on one column as tantivy queries: by the index where it is exact, else by the values.

use std::ops::Bound as End;
use std::sync::Arc;

use arrow::datatypes::DataType;
use serde_json::Value;
use tantivy::query::{
    AllQuery, BooleanQuery, EmptyQuery, ExistsQuery, Occur, Query, TermQuery, TermSetQuery,
};
use tantivy::schema::{FieldType, IndexRecordOption};
use tantivy::{BitSet, DateTime, Term};

use super::ascending::adjacent_rows;
use super::blocks::Finder;
use super::inside::InsideWord;
use super::json::Place;
use super::literal::{FloatSpan, Kind, Span};
use super::needles::{needle_of, trigrams_of};
use super::parts::Cover;
use super::scan::{FunctionQuery, scan_column, scan_path};
use super::spans::{decimals, fast_range, floats, range_query, text_end, written_span};
use super::test::{Leaf, Test};
use super::tree::{Bound, Node};
use super::{address, dictionary, tokens};
use crate::columns::convert::{Unit, i128_to_sortable, member_type, unit_of};
use crate::error::Result;
use crate::open::{Column, Split};
use crate::split::Encoding;
use crate::texts::lossy;
use crate::tokenizer::MAX_TOKEN_LENGTH;

/// A field of the tree as it is in this split.
pub struct Target<'a> {
    pub split: &'a Arc<Split>,
    pub column: &'a Column,
    pub path: Vec<String>,
}

const NANOS_PER_DAY: i128 = 86_400_000_000_000;
/// Up to this many values are looked up one by one.
const FEW_TERMS: usize = 64;
/// So many rows of a column of numbers are compared in the time of one lookup, which decodes a block of the dictionary.
const ROWS_PER_LOOKUP: u64 = 8192;
/// The same for one term of a dictionary that is decoded whole.
const ROWS_PER_TERM: u64 = 4;
/// The same for splits where every lookup is a request.
const FEW_REMOTE: usize = 4;

pub fn any_of(mut queries: Vec<Box<dyn Query>>) -> Box<dyn Query> {
    match queries.len() {
        0 => Box::new(EmptyQuery),
        1 => queries.swap_remove(0),
        _ => Box::new(BooleanQuery::new(queries.into_iter().map(|q| (Occur::Should, q)).collect())),
    }
}

pub fn term_query(term: Term) -> Box<dyn Query> {
    Box::new(TermQuery::new(term, IndexRecordOption::Basic))
}

impl<'a> Target<'a> {
    pub fn resolve(split: &'a Arc<Split>, field: &str) -> Option<Target<'a>> {
        let (column, path) = split.layout.resolve(field)?;
        Some(Target { split, column, path })
    }

    /// Equality with one value.
    pub fn term(&self, value: &Value) -> Result<Box<dyn Query>> {
        self.set(std::slice::from_ref(value))
    }

    /// Equality with any of several values.
    pub fn set(&self, values: &[Value]) -> Result<Box<dyn Query>> {
        let values: Vec<&Value> = values.iter().filter(|v| !v.is_null()).collect();
        if values.is_empty() {
            return Ok(Box::new(EmptyQuery));
        }
        if self.is_nested() {
            let spans = values.iter().map(|v| Span::point(self.leaf_kind(v), v));
            let spans = spans.collect::<Result<Vec<_>>>()?;
            if let Some(query) = self.place().and_then(|place| place.equals(&spans)) {
                return Ok(query);
            }
            return Ok(self.nested(Test::spans(spans)));
        }
        if self.column.encoding == Encoding::Ip {
            let texts = values.iter().filter_map(|v| v.as_str());
            return Ok(any_of(texts.map(|t| address::equals(self.column, t)).collect()));
        }
        let Some(kind) = self.kind() else {
            return Ok(Box::new(EmptyQuery));
        };
        let spans = values.iter().map(|v| Span::point(kind, v)).collect::<Result<Vec<_>>>()?;
        // each looked-up value of a remote split costs requests, its fast column only one
        let remote = self.split.directory.is_remote() && self.column.fast;
        let few = spans.len() <= if remote { FEW_REMOTE } else { FEW_TERMS };
        if !few && (remote || self.is_scanned_sooner(spans.len())?) {
            return Ok(scan_column(self.split, self.column, Test::spans(spans), None));
        }
        let written: Vec<Span> = spans.iter().map(|span| written_span(self.column, span)).collect();
        if !few && let Some(terms) = self.exact_terms(&written) {
            return Ok(Box::new(TermSetQuery::new(terms)));
        }
        if !few && !matches!(self.column.encoding, Encoding::String | Encoding::StringBytes) {
            return Ok(scan_column(self.split, self.column, Test::spans(spans), None));
        }
        let queries = spans.into_iter().map(|span| self.span(span));
        Ok(any_of(queries.collect::<Result<_>>()?))
    }

    pub fn range(&self, lower: Option<&Bound>, upper: Option<&Bound>) -> Result<Box<dyn Query>> {
        if self.is_nested() {
            let sample = lower.or(upper).map_or(&Value::Null, |b| &b.value);
            if sample.is_number() && self.leaf_type().is_none() {
                return Ok(self.nested(Test::spans(vec![Span::numbers(lower, upper)?])));
            }
            let span = Span::range(self.leaf_kind(sample), lower, upper)?;
            if let Some(query) = self.place().and_then(|place| place.range(&span)) {
                return Ok(query);
            }
            return Ok(self.nested(Test::spans(vec![span])));
        }
        if self.column.encoding == Encoding::Ip {
            return Ok(address::range(self.column, lower, upper));
        }
        match self.kind() {
            Some(kind) => self.span(Span::range(kind, lower, upper)?),
            None => Ok(Box::new(EmptyQuery)),
        }
    }

    /// A condition on whole text values; `node` is what it is the pattern of.
    pub fn matching(&self, pattern: dictionary::Pattern, node: &Node) -> Result<Box<dyn Query>> {
        if self.is_nested() {
            return Ok(self.nested(Test::Text(pattern.as_function())));
        }
        if let Some(needle) = needle_of(node) {
            if let Some(cover) = Cover::of(self.split, self.column, &needle) {
                return Ok(cover.matching(self.split, self.column, pattern));
            }
            if let Some(inside) = InsideWord::of(self.split, self.column, needle, node)? {
                return Ok(inside.matching(self.split, pattern));
            }
        }
        if let Some(among) = self.with_trigrams(node) {
            let test = Test::Text(pattern.as_function());
            return Ok(scan_column(self.split, self.column, test, Some(among)));
        }
        match self.column.encoding {
            Encoding::String | Encoding::StringBytes if !self.column.number_as_text => {
                Ok(dictionary::matching(self.split, self.column, pattern))
            }
            _ => Ok(match Finder::of(self.column, node) {
                Some(finder) => finder.matching(self.split, self.column, pattern),
                None => {
                    let test = Test::Text(pattern.as_function());
                    scan_column(self.split, self.column, test, None)
                }
            }),
        }
    }

    /// The rows that have the trigrams of a pattern; nothing where no index tells.
    pub fn with_trigrams(&self, node: &Node) -> Option<Box<dyn Query>> {
        let field = self.column.trigrams?;
        let parts: Vec<_> = trigrams_of(node)
            .iter()
            .map(|three| (Occur::Must, term_query(Term::from_field_text(field, three))))
            .collect();
        (!parts.is_empty()).then(|| Box::new(BooleanQuery::new(parts)) as Box<dyn Query>)
    }

    /// The value is not null.
    pub fn exists(&self) -> Result<Box<dyn Query>> {
        let column = self.column;
        if !self.path.is_empty() {
            let known = self.place().and_then(|place| place.exists());
            return Ok(known.unwrap_or_else(|| self.nested(Test::Exists)));
        }
        if column.nulls == Some(0) {
            return Ok(Box::new(AllQuery));
        }
        // a list of a fast text column of another writer holds tokens, but a value without tokens exists too
        if column.fast && !column.is_json() && column.encoding != Encoding::Text {
            return Ok(Box::new(ExistsQuery::new(column.written_name.clone(), false)));
        }
        if column.nulls.is_some() {
            let name = column.written_name.clone();
            return Ok(FunctionQuery::boxed(self.split, move |split, at| {
                let rows = split.null_rows()?;
                let segment = &split.segments[at];
                let max_doc = segment.reader.max_doc();
                let mut found = BitSet::with_max_value_and_full(max_doc);
                if let Some(nulls) = rows.columns.get(&name) {
                    for row in nulls.range(segment.base..segment.base + max_doc) {
                        found.remove(row - segment.base);
                    }
                }
                Ok(found)
            }));
        }
        Ok(scan_column(self.split, column, Test::Exists, None))
    }

    fn is_nested(&self) -> bool {
        !self.path.is_empty()
            || matches!(self.column.encoding, Encoding::List | Encoding::Struct | Encoding::Map)
    }

    fn kind(&self) -> Option<Kind> {
        if self.column.encoding == Encoding::Json {
            return Some(Kind::Text);
        }
        Kind::of(&self.column.data_type)
    }

    /// The type of the values at the path; a list is judged by its elements.
    fn leaf_type(&self) -> Option<DataType> {
        if self.column.encoding == Encoding::Json {
            return None;
        }
        leaf_of(&self.column.data_type, &self.path)
    }

    /// What the numbers at the path count: they are those of the type they were written as.
    fn leaf_unit(&self) -> Unit {
        let written = self.column.written.as_ref();
        unit_of(written.and_then(|written| leaf_of(written, &self.path)).as_ref())
    }

    fn leaf_kind(&self, value: &Value) -> Kind {
        self.leaf_type().as_ref().and_then(Kind::of).unwrap_or_else(|| Kind::guess(value))
    }

    fn place(&self) -> Option<Place<'_>> {
        let leaf = self.leaf_type();
        let days_as_times =
            matches!(leaf, Some(DataType::Timestamp(..))) && self.leaf_unit() == Unit::Days;
        if days_as_times {
            return None;
        }
        Place::new(self.split, self.column, &self.path, leaf)
    }

    fn nested(&self, test: Test) -> Box<dyn Query> {
        // the elements of a list lie below its wrapper
        let mut path = self.path.clone();
        if self.column.encoding == Encoding::List {
            path.insert(0, super::ANY_MEMBER.to_owned());
        }
        let leaf = Leaf { declared: self.leaf_type(), unit: self.leaf_unit() };
        scan_path(self.split, self.column, path, leaf, test)
    }

    /// Whether it takes less time to go through the column of whole numbers than to look up so many of them.
    fn is_scanned_sooner(&self, numbers: usize) -> Result<bool> {
        let is_whole = matches!(self.kind(), Some(Kind::Whole | Kind::Decimal(_)));
        let rows = self.split.num_docs() + self.split.num_deleted();
        if !self.column.fast || !is_whole || rows > ROWS_PER_LOOKUP * numbers as u64 {
            return Ok(false);
        }
        // many lookups decode the whole dictionary, which takes less time if it has few terms
        Ok(!self.column.indexed || rows <= ROWS_PER_TERM * self.num_terms()?)
    }

    fn num_terms(&self) -> Result<u64> {
        let segments = self.split.segments.iter();
        let terms = segments.map(|segment| -> Result<u64> {
            Ok(segment.reader.inverted_index(self.column.field)?.terms().num_terms() as u64)
        });
        terms.sum()
    }

    /// Terms that match exactly these values in the inverted index, if there are any.
    fn exact_terms(&self, spans: &[Span]) -> Option<Vec<Term>> {
        let column = self.column;
        if !column.indexed || column.number_as_text {
            return None;
        }
        let mut terms = Vec::with_capacity(spans.len());
        for span in spans {
            match (column.encoding, span) {
                (_, Span::Empty) => {}
                (Encoding::Bool, Span::Bool { no, yes }) => {
                    let values = [(*no, false), (*yes, true)];
                    let wanted = values.iter().filter(|(wanted, _)| *wanted);
                    terms.extend(wanted.map(|(_, v)| Term::from_field_bool(column.field, *v)));
                }
                (
                    Encoding::I64
                    | Encoding::DecimalI64
                    | Encoding::DaysI64
                    | Encoding::MicrosI64
                    | Encoding::DurationI64,
                    Span::Whole(low, high),
                ) if low == high => {
                    if let Ok(value) = i64::try_from(*low) {
                        terms.push(self.integer(value)?);
                    }
                }
                (Encoding::DecimalBytes, Span::Whole(low, high)) if low == high => {
                    terms.push(Term::from_field_bytes(column.field, &i128_to_sortable(*low)));
                }
                (Encoding::F64, Span::Float(FloatSpan { lower, upper })) if lower == upper => {
                    let (value, inclusive) = (*lower)?;
                    if value.is_nan() || !inclusive {
                        return None;
                    }
                    terms.push(Term::from_field_f64(column.field, value));
                    if value == 0.0 {
                        terms.push(Term::from_field_f64(column.field, -value));
                    }
                }
                (Encoding::String, Span::Text(Some((low, true)), Some((high, true))))
                    if low == high && low.len() <= MAX_TOKEN_LENGTH =>
                {
                    // a field of texts has no value that is not UTF-8
                    let text = std::str::from_utf8(low);
                    terms.extend(text.map(|text| Term::from_field_text(column.field, text)));
                }
                (Encoding::StringBytes, Span::Text(Some((low, true)), Some((high, true))))
                    if low == high && low.len() <= MAX_TOKEN_LENGTH =>
                {
                    terms.push(Term::from_field_bytes(column.field, low));
                }
                (Encoding::Bytes, Span::Bytes(Some((low, true)), Some((high, true))))
                    if low == high && low.len() <= MAX_TOKEN_LENGTH =>
                {
                    terms.push(Term::from_field_bytes(column.field, low));
                }
                _ => return None,
            }
        }
        Some(terms)
    }

    fn integer(&self, value: i64) -> Option<Term> {
        match self.split.schema.get_field_entry(self.column.field).field_type() {
            FieldType::U64(_) => {
                u64::try_from(value).ok().map(|v| Term::from_field_u64(self.column.field, v))
            }
            _ => Some(Term::from_field_i64(self.column.field, value)),
        }
    }

    fn span(&self, span: Span) -> Result<Box<dyn Query>> {
        let column = self.column;
        let written = written_span(column, &span);
        if written == Span::Empty {
            return Ok(Box::new(EmptyQuery));
        }
        if let Some(query) = self.ascending(&written)? {
            return Ok(query);
        }
        if let Some(terms) = self.exact_terms(std::slice::from_ref(&written)) {
            return Ok(any_of(terms.into_iter().map(term_query).collect()));
        }
        let scan = |span: Span| scan_column(self.split, column, Test::spans(vec![span]), None);
        // texts are compared as numbers; what is in no index and in no column is looked at row by row
        if column.number_as_text || !(column.indexed || column.fast) {
            return Ok(scan(span));
        }
        Ok(match (column.encoding, written) {
            (
                Encoding::I64
                | Encoding::DecimalI64
                | Encoding::DaysI64
                | Encoding::MicrosI64
                | Encoding::DurationI64,
                Span::Whole(low, high),
            ) => self.integers(low, high),
            (Encoding::Date | Encoding::Timestamp, _) if !column.fast => scan(span),
            (Encoding::Date, Span::Whole(low, high)) => self.dates(low, high, NANOS_PER_DAY),
            (Encoding::Timestamp, Span::Whole(low, high)) => self.dates(low, high, 1000),
            (Encoding::DecimalBytes, Span::Whole(low, high)) => {
                let term = |v: i128| Term::from_field_bytes(column.field, &i128_to_sortable(v));
                range_query(column, End::Included(term(low)), End::Included(term(high)))
            }
            (Encoding::F64, Span::Float(span)) => floats(column, span),
            (Encoding::F64Decimal, Span::Float(span)) => decimals(column, span),
            (Encoding::String | Encoding::StringBytes, Span::Text(low, high)) => {
                let long = [&low, &high]
                    .iter()
                    .any(|end| end.as_ref().is_some_and(|(text, _)| text.len() > MAX_TOKEN_LENGTH));
                if long && column.overlong == Some(false) && low == high {
                    return Ok(Box::new(EmptyQuery));
                }
                let as_bytes = column.encoding == Encoding::StringBytes;
                let has_term = |end: &Option<(Vec<u8>, bool)>| {
                    as_bytes || end.as_ref().is_none_or(|(b, _)| std::str::from_utf8(b).is_ok())
                };
                if long || !column.fast || !has_term(&low) || !has_term(&high) {
                    return Ok(scan(Span::Text(low, high)));
                }
                let term = |bytes: Vec<u8>| match std::str::from_utf8(&bytes) {
                    Ok(text) if !as_bytes => Term::from_field_text(column.field, text),
                    _ => Term::from_field_bytes(column.field, &bytes),
                };
                range_query(column, text_end(low, term), text_end(high, term))
            }
            (Encoding::Text, Span::Text(low, high)) => {
                let among = match (&low, &high) {
                    (Some((low, true)), Some((high, true))) if low == high => {
                        tokens::all_tokens(self.split, column, &lossy(low))
                    }
                    _ => None,
                };
                let test = Test::spans(vec![Span::Text(low, high)]);
                scan_column(self.split, column, test, among)
            }
            _ => scan(span),
        })
    }

    /// The rows of a span of integers, where those of the column are known to ascend.
    fn ascending(&self, written: &Span) -> Result<Option<Box<dyn Query>>> {
        let column = self.column;
        let is_integer = matches!(
            column.encoding,
            Encoding::I64
                | Encoding::DecimalI64
                | Encoding::DaysI64
                | Encoding::MicrosI64
                | Encoding::DurationI64
        );
        let Span::Whole(low, high) = *written else { return Ok(None) };
        if !is_integer || !column.fast || column.inexact {
            return Ok(None);
        }
        let low = i64::try_from(low.max(i128::from(i64::MIN)));
        let high = i64::try_from(high.min(i128::from(i64::MAX)));
        match (low, high) {
            (Ok(low), Ok(high)) => adjacent_rows(self.split, column, low, high),
            _ => Ok(None),
        }
    }

    fn integers(&self, low: i128, high: i128) -> Box<dyn Query> {
        let (Ok(low), Ok(high)) = (
            i64::try_from(low.max(i128::from(i64::MIN))),
            i64::try_from(high.min(i128::from(i64::MAX))),
        ) else {
            return Box::new(EmptyQuery);
        };
        let unsigned = matches!(
            self.split.schema.get_field_entry(self.column.field).field_type(),
            FieldType::U64(_)
        );
        if unsigned && high < 0 {
            return Box::new(EmptyQuery);
        }
        let low = if unsigned { low.max(0) } else { low };
        match (self.integer(low), self.integer(high)) {
            (Some(low), Some(high)) => {
                range_query(self.column, End::Included(low), End::Included(high))
            }
            _ => Box::new(EmptyQuery),
        }
    }

    /// Dates are kept as nanoseconds; the index knows them only by the second.
    fn dates(&self, low: i128, high: i128, step: i128) -> Box<dyn Query> {
        let (min, max) = (i128::from(i64::MIN), i128::from(i64::MAX));
        let start = low.saturating_mul(step).max(min);
        let stop = high.saturating_mul(step).saturating_add(step - 1).min(max);
        let (Ok(start), Ok(stop)) = (i64::try_from(start), i64::try_from(stop)) else {
            return Box::new(EmptyQuery);
        };
        let term =
            |nanos| Term::from_field_date(self.column.field, DateTime::from_timestamp_nanos(nanos));
        fast_range(End::Included(term(start)), End::Included(term(stop)))
    }
}

fn leaf_of(data_type: &DataType, path: &[String]) -> Option<DataType> {
    let mut data_type = data_type;
    for part in path {
        data_type = member_type(data_type, part)?;
    }
    while let DataType::List(item) = data_type {
        data_type = item.data_type();
    }
    Some(data_type.clone())
}
