//! Values of a file as values of the table: read with Spark's types, widened to the table's types.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryBuilder, LargeBinaryBuilder, ListArray, MapArray, StructArray,
    new_null_array,
};
use arrow::datatypes::{
    DataType, Date32Type, FieldRef, Fields, TimeUnit, TimestampMicrosecondType,
};

use super::address::{Address, Found};
use super::file::SourceFile;
use crate::columns::convert::cast;
use crate::error::{EngineError, Result};
use crate::texts::TEXT;

/// 1582-10-15: before it, the calendars of old and new writers differ.
const GREGORIAN_DAYS: i32 = -141_427;
/// 1900-01-01: before it, they also differ in what they take for the offsets of time zones.
const MODERN_MICROS: i64 = -2_208_988_800_000_000;

/// Where values come from.
pub struct Place<'a> {
    pub file: &'a SourceFile,
    pub column: &'a str,
    pub case_sensitive: bool,
    pub check_calendar: bool,
}

impl Place<'_> {
    fn mismatch(&self, found: &DataType, wanted: &DataType) -> EngineError {
        EngineError::SourceType {
            path: self.file.id.path.clone(),
            column: self.column.to_owned(),
            found: found.to_string(),
            wanted: crate::texts::outward_type(wanted).to_string(),
        }
    }
}

/// The values of a column of a file in the type of the table's column.
pub fn conform(
    place: &Place<'_>,
    array: &ArrayRef,
    wanted: &DataType,
    address: &Address,
) -> Result<ArrayRef> {
    use DataType as D;
    let found = array.data_type();
    match (found, wanted) {
        (D::Null, _) => Ok(new_null_array(wanted, array.len())),
        (D::Struct(inner), D::Struct(members)) => {
            conform_struct(place, array.as_struct(), inner, members, address)
        }
        (D::List(inner), D::List(item)) => {
            let list = array.as_list::<i32>();
            let child = child_of(address, item.name(), "element");
            let values = conform(place, list.values(), item.data_type(), &child)?;
            check_element(place, inner, item)?;
            let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
            Ok(Arc::new(ListArray::try_new(item.clone(), offsets, values, nulls)?))
        }
        (D::Map(..), D::Map(entries, sorted)) => {
            conform_map(place, array.as_map(), entries, *sorted, address)
        }
        _ => conform_leaf(place, array, wanted),
    }
}

/// Members of lists and maps are addressed by the names of the format, whatever Arrow calls them.
fn child_of(address: &Address, name: &str, standard: &str) -> Address {
    let listed = address.children.iter().find(|child| child.name == standard);
    listed.cloned().unwrap_or_else(|| address.child(name))
}

fn check_element(place: &Place<'_>, found: &FieldRef, wanted: &FieldRef) -> Result<()> {
    // an element that may be null does not fit a list whose elements may not
    if found.is_nullable() && !wanted.is_nullable() {
        return Err(place.mismatch(found.data_type(), wanted.data_type()));
    }
    Ok(())
}

fn conform_struct(
    place: &Place<'_>,
    array: &StructArray,
    inner: &Fields,
    members: &Fields,
    address: &Address,
) -> Result<ArrayRef> {
    let mut arrays = Vec::with_capacity(members.len());
    for member in members {
        let child = address.child(member.name());
        let found = child.find(inner, place.case_sensitive, place.file.footer.has_ids);
        arrays.push(match found {
            Found::At(at) => conform(place, array.column(at), member.data_type(), &child)?,
            Found::Missing => new_null_array(member.data_type(), array.len()),
            Found::Unclear(detail) => {
                let (path, column) = (place.file.id.path.clone(), place.column.to_owned());
                let detail = format!("member `{}`: {detail}", member.name());
                return Err(EngineError::SourceAddress { path, column, detail });
            }
        });
    }
    let nulls = array.nulls().cloned();
    let members: Fields = members
        .iter()
        .map(|member| Arc::new(member.as_ref().clone().with_nullable(true)))
        .collect();
    let nullable = StructArray::try_new_with_length(members, arrays, nulls, array.len())?;
    Ok(Arc::new(nullable))
}

fn conform_map(
    place: &Place<'_>,
    array: &MapArray,
    entries: &FieldRef,
    sorted: bool,
    address: &Address,
) -> Result<ArrayRef> {
    let D::Struct(members) = entries.data_type() else {
        return Err(place.mismatch(array.data_type(), entries.data_type()));
    };
    let [key, value] = [&members[0], &members[1]];
    let keys = child_of(address, key.name(), "key");
    let values = child_of(address, value.name(), "value");
    let arrays = vec![
        conform(place, array.keys(), key.data_type(), &keys)?,
        conform(place, array.values(), value.data_type(), &values)?,
    ];
    let pairs = StructArray::try_new(members.clone(), arrays, None)?;
    let (offsets, nulls) = (array.offsets().clone(), array.nulls().cloned());
    Ok(Arc::new(MapArray::try_new(entries.clone(), offsets, pairs, nulls, sorted)?))
}

use DataType as D;

fn conform_leaf(place: &Place<'_>, array: &ArrayRef, wanted: &DataType) -> Result<ArrayRef> {
    let found = array.data_type();
    match (found, wanted) {
        (D::Binary, D::Binary) | (D::Boolean, D::Boolean) => Ok(array.clone()),
        (D::Binary, wanted) if *wanted == TEXT => cast(array, wanted),
        (D::FixedSizeBinary(16), wanted) if *wanted == TEXT => Ok(uuids(array)),
        (D::FixedSizeBinary(_), D::Binary) => Ok(plain_bytes(array)),
        (D::Date32, D::Date32 | D::Timestamp(_, None)) => {
            check_days(place, array)?;
            cast(array, wanted)
        }
        (D::Timestamp(unit, zone), D::Timestamp(TimeUnit::Microsecond, to)) => {
            // a timestamp without a time zone may be read as an instant, never the reverse
            let known = matches!(unit, TimeUnit::Millisecond | TimeUnit::Microsecond);
            if !known || (zone.is_some() && to.is_none()) {
                return Err(place.mismatch(found, wanted));
            }
            let micros = cast(array, &D::Timestamp(TimeUnit::Microsecond, zone.clone()))?;
            check_micros(place, &micros)?;
            let typed = micros.as_primitive::<TimestampMicrosecondType>().clone();
            Ok(Arc::new(typed.with_timezone_opt(to.clone())))
        }
        // intervals have no type of their own in files
        (D::Int64, D::Duration(TimeUnit::Microsecond)) => cast(array, wanted),
        (from, to) if from == to && is_number(from) => Ok(array.clone()),
        (from, to) if widens(from, to) => cast(array, to),
        _ => Err(place.mismatch(found, wanted)),
    }
}

fn is_number(kind: &DataType) -> bool {
    kind.is_signed_integer() || matches!(kind, D::Float32 | D::Float64 | D::Decimal128(..))
}

/// Digits before the point of a whole number.
fn digits(kind: &DataType) -> Option<u8> {
    Some(match kind {
        D::Int8 | D::UInt8 => 3,
        D::Int16 | D::UInt16 => 5,
        D::Int32 | D::UInt32 => 10,
        D::Int64 => 20,
        D::UInt64 => 20,
        _ => return None,
    })
}

/// Whether every value of a type is a value of the other, by Spark's rules.
fn widens(from: &DataType, to: &DataType) -> bool {
    let bits = |kind: &DataType| kind.primitive_width().unwrap_or(0);
    match (from, to) {
        (from, to) if from.is_signed_integer() && to.is_signed_integer() => bits(from) < bits(to),
        // unsigned numbers are read as the next larger type
        (from, to) if from.is_unsigned_integer() && to.is_signed_integer() => bits(from) < bits(to),
        (D::Int8 | D::Int16 | D::Int32, D::Float64) | (D::Float32, D::Float64) => true,
        (D::Decimal128(p, s), D::Decimal128(to_p, to_s)) => {
            to_s >= s && i16::from(*to_p) - i16::from(*to_s) >= i16::from(*p) - i16::from(*s)
        }
        (from, D::Decimal128(precision, scale)) => {
            let whole = i16::from(*precision) - i16::from(*scale);
            digits(from).is_some_and(|digits| i16::from(digits) <= whole)
        }
        _ => false,
    }
}

fn check_days(place: &Place<'_>, array: &ArrayRef) -> Result<()> {
    if !place.check_calendar || !place.file.footer.old_dates {
        return Ok(());
    }
    let days = array.as_primitive::<Date32Type>();
    refuse(place, days.iter().flatten().any(|day| day < GREGORIAN_DAYS))
}

fn check_micros(place: &Place<'_>, array: &ArrayRef) -> Result<()> {
    let footer = &place.file.footer;
    if !place.check_calendar || !(footer.old_dates || footer.old_int96) {
        return Ok(());
    }
    let micros = array.as_primitive::<TimestampMicrosecondType>();
    refuse(place, micros.iter().flatten().any(|micros| micros < MODERN_MICROS))
}

fn refuse(place: &Place<'_>, old: bool) -> Result<()> {
    if !old {
        return Ok(());
    }
    let (path, column) = (place.file.id.path.clone(), place.column.to_owned());
    Err(EngineError::SourceCalendar { path, column })
}

fn plain_bytes(array: &ArrayRef) -> ArrayRef {
    let mut builder = BinaryBuilder::new();
    array.as_fixed_size_binary().iter().for_each(|value| builder.append_option(value));
    Arc::new(builder.finish())
}

fn uuids(array: &ArrayRef) -> ArrayRef {
    let mut builder = LargeBinaryBuilder::new();
    for value in array.as_fixed_size_binary().iter() {
        let text = value.and_then(|bytes| uuid::Uuid::from_slice(bytes).ok());
        builder.append_option(text.map(|uuid| uuid.hyphenated().to_string()));
    }
    Arc::new(builder.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_types_that_hold_every_value_are_wider() {
        assert!(widens(&D::Int32, &D::Int64) && widens(&D::UInt32, &D::Int64));
        assert!(!widens(&D::UInt64, &D::Int64) && !widens(&D::Int64, &D::Int32));
        assert!(widens(&D::UInt64, &D::Decimal128(20, 0)));
        assert!(!widens(&D::UInt32, &D::Int32) && !widens(&D::Int64, &D::Float64));
        assert!(widens(&D::Decimal128(5, 2), &D::Decimal128(7, 3)));
        assert!(!widens(&D::Decimal128(5, 2), &D::Decimal128(5, 3)));
        assert!(widens(&D::Int32, &D::Decimal128(12, 2)));
        assert!(!widens(&D::Int32, &D::Decimal128(11, 2)));
    }

    #[test]
    fn the_calendars_part_where_they_are_said_to() {
        let days = |y, m, d| {
            use tantivy::time::{Date, Month};
            let month = Month::try_from(m).expect("a month");
            let date = Date::from_calendar_date(y, month, d).expect("a date");
            date.to_julian_day() - 2_440_588
        };
        assert_eq!(days(1582, 10, 15), GREGORIAN_DAYS);
        assert_eq!(i64::from(days(1900, 1, 1)) * 86_400_000_000, MODERN_MICROS);
    }
}
