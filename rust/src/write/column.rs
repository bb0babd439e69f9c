//! One column of a writer: its encoding by type and role, and the facts of its values.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr};

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, LargeBinaryArray, StringArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Decimal128Type};
use serde_json::Value as Json;

use crate::columns::convert::{NANOS_PER_DAY, cast, i128_to_sortable};
use crate::error::{EngineError, Result};
use crate::split::Encoding;
use crate::texts::{bytes_of, lossy, lossy_texts, small_bytes_of};
use crate::write::bounds::{self, Bounds};
use crate::write::nested::{Strings, has_broken, is_plain_key, node, whole_numbers};
use crate::write::options::{FieldSpec, Role};
use crate::write::row::Cells;

/// Longer values of a raw string have neither a term nor a whole fast value.
pub const LONGEST_TERM: usize = 65_530;
/// A term inside JSON also holds the path to it.
const LONGEST_JSON_TERM: usize = 65_000;
const NANOS_PER_MICRO: i64 = 1_000;

/// A column as the caller declared it.
#[derive(Debug, Clone)]
pub struct Column {
    pub name: String,
    pub data_type: DataType,
    pub spec: FieldSpec,
    /// The encoding as long as every value fits it.
    pub preferred: Encoding,
}

impl Column {
    pub fn new(name: &str, data_type: &DataType, spec: FieldSpec) -> Result<Self> {
        let preferred = encoding(name, data_type, spec.role)?;
        if name.is_empty() || name.starts_with('-') {
            return Err(EngineError::bad_value(name, "a name cannot be empty or begin with `-`"));
        }
        Ok(Self { name: name.to_owned(), data_type: data_type.clone(), spec, preferred })
    }

    /// Whether minimum and maximum are kept, unless the caller does not want them.
    pub fn has_bounds(&self) -> bool {
        use Encoding as E;
        let eligible = matches!(
            self.preferred,
            E::Bool
                | E::I64
                | E::F64
                | E::DecimalI64
                | E::DecimalBytes
                | E::String
                | E::Text
                | E::Date
                | E::Timestamp
                | E::DurationI64
        );
        eligible && self.spec.stats.unwrap_or(true)
    }

    /// The encoding that holds these values, too.
    pub fn encoding_for(&self, facts: &Facts) -> Encoding {
        match self.preferred {
            Encoding::Date if facts.beyond_dates => Encoding::DaysI64,
            Encoding::Timestamp if facts.beyond_dates => Encoding::MicrosI64,
            Encoding::String if facts.not_utf8 => Encoding::StringBytes,
            other => other,
        }
    }
}

fn encoding(name: &str, data_type: &DataType, role: Role) -> Result<Encoding> {
    use DataType as D;
    let found = match data_type {
        D::Null => Encoding::Null,
        D::Boolean => Encoding::Bool,
        D::Int8 | D::Int16 | D::Int32 | D::Int64 => Encoding::I64,
        D::Float32 | D::Float64 => Encoding::F64,
        D::Decimal128(precision, _) if *precision <= 18 => Encoding::DecimalI64,
        D::Decimal128(..) => Encoding::DecimalBytes,
        D::Utf8 | D::LargeUtf8 | D::Utf8View => match role {
            Role::Auto | Role::String => return Ok(Encoding::String),
            Role::Text => return Ok(Encoding::Text),
            Role::Json => return Ok(Encoding::Json),
            Role::Ip => return Ok(Encoding::Ip),
        },
        D::Binary | D::LargeBinary | D::BinaryView => Encoding::Bytes,
        D::Date32 => Encoding::Date,
        D::Timestamp(..) => Encoding::Timestamp,
        D::Duration(_) => Encoding::DurationI64,
        D::Struct(_) => Encoding::Struct,
        D::List(_) | D::LargeList(_) | D::FixedSizeList(..) => Encoding::List,
        D::Map(..) => Encoding::Map,
        other => {
            return Err(EngineError::UnsupportedType {
                column: name.to_owned(),
                data_type: other.to_string(),
            });
        }
    };
    let fits = match role {
        Role::Auto => true,
        Role::Json => matches!(found, Encoding::Struct | Encoding::List | Encoding::Map),
        Role::String | Role::Text | Role::Ip => false,
    };
    if fits {
        Ok(found)
    } else {
        let role = format!("{role:?}").to_lowercase();
        let allowed = format!("`{name}` is a {data_type}, only a string column has this role");
        Err(EngineError::bad_option(format!("indexing.typemap.{name}"), role, allowed))
    }
}

/// What the values of a batch require of their field.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts {
    /// Some date does not fit 64 bits of nanoseconds.
    pub beyond_dates: bool,
    pub overlong: bool,
    /// Some text does not survive parsing, rendering or decoding.
    pub inexact: bool,
    /// Some string is not UTF-8, so its field must hold bytes.
    pub not_utf8: bool,
}

impl Facts {
    /// Whatever values there can be.
    pub fn any() -> Self {
        Self { beyond_dates: true, overlong: true, inexact: true, not_utf8: true }
    }

    pub fn and(self, other: Self) -> Self {
        Self {
            beyond_dates: self.beyond_dates || other.beyond_dates,
            overlong: self.overlong || other.overlong,
            inexact: self.inexact || other.inexact,
            not_utf8: self.not_utf8 || other.not_utf8,
        }
    }
}

/// The values of a column in one batch, ready to be bound to a field.
#[derive(Debug)]
pub struct Prepared {
    pub cells: Option<Cells>,
    pub nulls: Option<NullBuffer>,
    pub null_count: usize,
    pub facts: Facts,
    /// Exact strings of the values that are inexact otherwise; null elsewhere.
    pub source: Option<BinaryArray>,
    /// The bytes of every value of a string column.
    pub exact: Option<Cells>,
    /// What is stored for a nested value, if its index has other strings.
    pub stored: Option<Cells>,
    pub bounds: Bounds,
}

/// Converts one column of a batch.
pub fn prepare(column: &Column, array: &ArrayRef) -> Result<Prepared> {
    let array = &plain(array)?;
    let mut facts = Facts::default();
    let mut bounds = Bounds::None;
    let (mut source, mut exact, mut stored) = (None, None, None);
    let wants_bounds = column.has_bounds();
    let cells = match column.preferred {
        Encoding::Null => None,
        Encoding::Bool => {
            let values = array.as_boolean().clone();
            bounds = bounds::of_bools(&values);
            Some(Cells::Bool(values))
        }
        Encoding::I64 | Encoding::Date | Encoding::Timestamp | Encoding::DurationI64 => {
            let values = whole_numbers(array)?;
            bounds = bounds::of_whole_numbers(&values);
            facts.beyond_dates = beyond_dates(column.preferred, &bounds);
            Some(Cells::I64(values))
        }
        Encoding::F64 | Encoding::F64Decimal => {
            let values = cast(array, &DataType::Float64)?.as_primitive().clone();
            bounds = if wants_bounds { bounds::of_floats(&values) } else { Bounds::None };
            Some(Cells::F64(values))
        }
        Encoding::DecimalI64 | Encoding::DecimalBytes => {
            bounds = bounds::of_decimals(array);
            Some(decimals(column.preferred, array))
        }
        Encoding::String | Encoding::Text => {
            let texts = texts(array)?;
            if wants_bounds {
                bounds = text_bounds(&texts.bytes);
            }
            facts.overlong = longest(&texts.bytes) > LONGEST_TERM;
            facts.not_utf8 = texts.broken.is_some();
            if column.preferred == Encoding::Text {
                source = texts.broken;
            } else {
                exact = Some(texts.bytes);
            }
            Some(texts.text)
        }
        Encoding::Bytes => {
            let cells = bytes(array)?;
            facts.overlong = longest(&cells) > LONGEST_TERM;
            Some(cells)
        }
        Encoding::Json => {
            let values;
            (values, source) = json(column, array, &mut facts)?;
            Some(Cells::Json(values))
        }
        Encoding::Ip => {
            let values;
            (values, source) = addresses(column, array)?;
            Some(Cells::Ip(values))
        }
        Encoding::Struct | Encoding::List | Encoding::Map => {
            let node = node(&column.name, array, Strings::Decoded)?;
            facts.overlong = node.longest() > LONGEST_JSON_TERM;
            if has_broken(array)? {
                // as with values that are too long, only the doc store has every string
                facts.overlong = true;
                stored = Some(object(column, self::node(&column.name, array, Strings::Exact)?));
            }
            Some(object(column, node))
        }
        Encoding::DaysI64 | Encoding::MicrosI64 | Encoding::StringBytes => {
            return Err(EngineError::internal("a fallback encoding cannot be preferred"));
        }
    };
    facts.inexact = source.is_some();
    let broken = |bytes: &BinaryArray| StringArray::try_from_binary(bytes.clone()).is_err();
    facts.not_utf8 |= source.as_ref().is_some_and(broken);
    if !wants_bounds {
        bounds = Bounds::None;
    }
    let nulls = array.logical_nulls();
    let null_count = nulls.as_ref().map_or(0, NullBuffer::null_count);
    let nulls = nulls.filter(|_| null_count > 0);
    Ok(Prepared { cells, nulls, null_count, facts, source, exact, stored, bounds })
}

/// Without dictionary or run encoding.
fn plain(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Dictionary(_, values) => cast(array, values),
        _ => Ok(array.clone()),
    }
}

fn beyond_dates(encoding: Encoding, bounds: &Bounds) -> bool {
    let unit = nanos(encoding);
    match bounds {
        Bounds::I64(min, max) if unit > 1 => {
            min.checked_mul(unit).is_none() || max.checked_mul(unit).is_none()
        }
        _ => false,
    }
}

/// Nanoseconds of one unit of a date or timestamp column.
pub fn nanos(encoding: Encoding) -> i64 {
    match encoding {
        Encoding::Date => NANOS_PER_DAY,
        Encoding::Timestamp => NANOS_PER_MICRO,
        _ => 1,
    }
}

fn decimals(encoding: Encoding, array: &ArrayRef) -> Cells {
    let values = array.as_primitive::<Decimal128Type>();
    if encoding == Encoding::DecimalI64 {
        Cells::I64(values.unary(|value| value as i64))
    } else {
        Cells::Bytes(values.iter().map(|value| value.map(i128_to_sortable)).collect())
    }
}

/// The strings of a batch: as a text field takes them, their bytes, and those that are not UTF-8.
struct Texts {
    text: Cells,
    bytes: Cells,
    broken: Option<BinaryArray>,
}

fn texts(array: &ArrayRef) -> Result<Texts> {
    if let Some(bytes) = small_bytes_of(array)
        && let Ok(text) = StringArray::try_from_binary(bytes.clone())
    {
        return Ok(Texts { text: Cells::Text(text), bytes: Cells::Bytes(bytes), broken: None });
    }
    let bytes = bytes_of(array)?;
    let (text, broken) = lossy_texts(&bytes);
    let broken = (!broken.is_empty()).then(|| only_rows(&bytes, &broken));
    Ok(Texts { text: Cells::LargeText(text), bytes: Cells::LargeBytes(bytes), broken })
}

/// Some values, null in all other rows.
fn only_rows(bytes: &LargeBinaryArray, rows: &[usize]) -> BinaryArray {
    let mut wanted = rows.iter().copied().peekable();
    let kept = (0..bytes.len()).map(|row| wanted.next_if_eq(&row).map(|row| bytes.value(row)));
    kept.collect()
}

fn bytes(array: &ArrayRef) -> Result<Cells> {
    Ok(match array.data_type() {
        DataType::Binary => Cells::Bytes(array.as_binary::<i32>().clone()),
        _ => Cells::LargeBytes(cast(array, &DataType::LargeBinary)?.as_binary::<i64>().clone()),
    })
}

fn text_bounds(cells: &Cells) -> Bounds {
    match cells {
        Cells::Bytes(values) => bounds::of_texts(values.iter()),
        Cells::LargeBytes(values) => bounds::of_texts(values.iter()),
        _ => Bounds::None,
    }
}

fn longest(cells: &Cells) -> usize {
    fn of<T: Copy + Into<i64>>(offsets: &[T]) -> usize {
        let lengths = offsets.windows(2).map(|pair| pair[1].into() - pair[0].into());
        lengths.max().unwrap_or(0) as usize
    }
    match cells {
        Cells::Bytes(values) => of(values.value_offsets()),
        Cells::LargeBytes(values) => of(values.value_offsets()),
        _ => 0,
    }
}

fn object(column: &Column, node: crate::write::nested::Node) -> Cells {
    use crate::write::nested::Node;
    match node {
        // pairs instead of an object are recognized because they are not wrapped
        Node::List { .. } if !has_plain_keys(&column.data_type) => {
            Cells::Wrapped(column.name.clone(), node)
        }
        other => Cells::Object(other),
    }
}

fn has_plain_keys(data_type: &DataType) -> bool {
    match data_type {
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(pair) => is_plain_key(pair[0].data_type()),
            _ => false,
        },
        _ => false,
    }
}

/// Values of parsed strings, and the strings that rendering does not give back.
type Parsed<T> = (Vec<T>, Option<BinaryArray>);

fn json(column: &Column, array: &ArrayRef, facts: &mut Facts) -> Result<Parsed<Json>> {
    convert(&bytes_of(array)?, |text| {
        let value: Json = serde_json::from_str(text).map_err(|error| {
            EngineError::bad_value(
                &column.name,
                format!("`{}` is not JSON: {error}", excerpt(text)),
            )
        })?;
        if !value.is_object() {
            let detail = format!("`{}` is not a JSON object", excerpt(text));
            return Err(EngineError::bad_value(&column.name, detail));
        }
        facts.overlong |= text.len() > LONGEST_JSON_TERM;
        let rendered = value.to_string();
        Ok((value, rendered == text))
    })
}

fn addresses(column: &Column, array: &ArrayRef) -> Result<Parsed<Ipv6Addr>> {
    convert(&bytes_of(array)?, |text| {
        let parsed: IpAddr = text.parse().map_err(|_| {
            let detail = format!("`{}` is not an IP address", excerpt(text));
            EngineError::bad_value(&column.name, detail)
        })?;
        let address = match parsed {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        Ok((address, render_address(address) == text))
    })
}

/// An address as it is shown: IPv4 in its own form.
pub fn render_address(address: Ipv6Addr) -> String {
    address.to_ipv4_mapped().map_or_else(|| address.to_string(), |address| address.to_string())
}

/// Converts strings one by one; `parse` returns the value and whether rendering it gives the text back.
fn convert<T: Placeholder>(
    array: &LargeBinaryArray,
    mut parse: impl FnMut(&str) -> Result<(T, bool)>,
) -> Result<Parsed<T>> {
    let mut kept: Vec<Option<&[u8]>> = Vec::new();
    let mut values = Vec::with_capacity(array.len());
    for (row, bytes) in array.iter().enumerate() {
        let Some(bytes) = bytes else {
            values.push(T::placeholder());
            continue;
        };
        let text = lossy(bytes);
        let (value, exact) = parse(&text)?;
        values.push(value);
        if !exact || matches!(text, Cow::Owned(_)) {
            kept.resize(array.len(), None);
            kept[row] = Some(bytes);
        }
    }
    let source = (!kept.is_empty()).then(|| kept.into_iter().collect());
    Ok((values, source))
}

/// Placeholder in a row without a value; never read.
trait Placeholder {
    fn placeholder() -> Self;
}

impl Placeholder for Json {
    fn placeholder() -> Self {
        Self::Null
    }
}

impl Placeholder for Ipv6Addr {
    fn placeholder() -> Self {
        Self::UNSPECIFIED
    }
}

fn excerpt(text: &str) -> &str {
    text.char_indices().nth(60).map_or(text, |(end, _)| &text[..end])
}
