//! The aggregation request, as it arrives from Python.

use serde::Deserialize;
use serde_json::Value;

use super::calendar::truncate_months;
use super::clock::Clock;
use crate::error::{EngineError, Result};
use crate::query::Node;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    #[serde(default)]
    pub group_by: Vec<Key>,
    #[serde(default)]
    pub functions: Vec<Call>,
    /// A sum that does not fit its type is an error instead of wrapping around or being null.
    #[serde(default)]
    pub ansi: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Key {
    Column { field: String },
    Histogram { histogram: Histogram },
    DateHistogram { date_histogram: DateHistogram },
    DateTrunc { date_trunc: DateTrunc },
    Range { range: Ranges },
}

#[derive(Debug, Clone, Deserialize)]
pub struct Histogram {
    pub field: String,
    pub interval: f64,
    #[serde(default)]
    pub offset: f64,
}

#[derive(Debug, Clone, Deserialize)]
pub struct DateHistogram {
    pub field: String,
    /// The length of a bucket, unless it is some months.
    #[serde(default)]
    pub interval_us: i64,
    #[serde(default)]
    pub interval_months: i64,
    #[serde(default)]
    pub offset_us: i64,
}

impl DateHistogram {
    /// The start of the bucket of a timestamp; months follow the calendar in UTC.
    pub fn begin_of(&self, micros: i64) -> i64 {
        let moved = micros.wrapping_sub(self.offset_us);
        if self.interval_months > 0 {
            return truncate_months(moved, self.interval_months).wrapping_add(self.offset_us);
        }
        micros.wrapping_sub(moved.rem_euclid(self.interval_us))
    }
}

#[derive(Debug, Clone, Deserialize)]
pub struct DateTrunc {
    pub field: String,
    pub unit: Unit,
    #[serde(default)]
    pub clock: Clock,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Year,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Ranges {
    pub field: String,
    pub ranges: Vec<NamedRange>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct NamedRange {
    pub name: String,
    #[serde(default)]
    pub from: Option<Value>,
    #[serde(default)]
    pub to: Option<Value>,
}

/// A function over the rows of a group, or only over those that a query finds.
#[derive(Debug, Clone, Deserialize)]
pub struct Call {
    #[serde(flatten)]
    pub function: Function,
    #[serde(rename = "where")]
    pub only: Option<Node>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Function {
    CountStar,
    Count { field: String },
    Sum { field: String },
    Min { field: String },
    Max { field: String },
}

impl Function {
    pub fn field(&self) -> Option<&str> {
        match self {
            Function::CountStar => None,
            Function::Count { field }
            | Function::Sum { field }
            | Function::Min { field }
            | Function::Max { field } => Some(field),
        }
    }
}

impl Key {
    pub fn field(&self) -> &str {
        match self {
            Key::Column { field } => field,
            Key::Histogram { histogram } => &histogram.field,
            Key::DateHistogram { date_histogram } => &date_histogram.field,
            Key::DateTrunc { date_trunc } => &date_trunc.field,
            Key::Range { range } => &range.field,
        }
    }
}

impl Request {
    /// Whether only row counts are requested.
    pub fn counts_rows(&self) -> bool {
        let counts = |call: &Call| matches!(call.function, Function::CountStar);
        self.group_by.is_empty() && !self.functions.is_empty() && self.functions.iter().all(counts)
    }

    /// The columns and members that keys and functions are about.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        let keys = self.group_by.iter().map(Key::field);
        keys.chain(self.functions.iter().filter_map(|call| call.function.field()))
    }

    pub fn from_value(value: Value) -> Result<Request> {
        let request: Request = serde_json::from_value(value)
            .map_err(|e| EngineError::bad_query(format!("aggregation: {e}")))?;
        for key in &request.group_by {
            let positive = match key {
                Key::Histogram { histogram } => histogram.interval > 0.0,
                Key::DateHistogram { date_histogram: buckets } => {
                    buckets.interval_us > 0 || buckets.interval_months > 0
                }
                _ => true,
            };
            if !positive {
                return Err(EngineError::bad_query("the interval of a histogram is not positive"));
            }
        }
        Ok(request)
    }
}
