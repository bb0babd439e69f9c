//! The one error of the engine. Each variant has a stable code (`kind`), a row of the error table in
//! `indextables/errors.py`, and the values that row's message needs (`context`).

use serde_json::{Value, json};

pub type Result<T, E = EngineError> = std::result::Result<T, E>;

/// The errors of the engine. The message begins with `[CODE]`, so that the class is recognized
/// after an error was passed as a string, for example through an Arrow stream.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EngineError {
    #[error("[ARITHMETIC_OVERFLOW] the sum of `{column}` does not fit its type")]
    Overflow { column: String },
    #[error("[COMPANION_ADDRESS] column `{column}` in source file `{path}`: {detail}")]
    SourceAddress { path: String, column: String, detail: String },
    #[error("[COMPANION_CALENDAR] column `{column}` of source file `{path}` has old dates")]
    SourceCalendar { path: String, column: String },
    #[error("[COMPANION_FILE_CHANGED] source file `{path}`: {detail}")]
    SourceChanged { path: String, detail: String },
    #[error("[COMPANION_FILE_MISSING] source file `{path}` is missing")]
    SourceMissing { path: String },
    #[error("[COMPANION_TYPE] column `{column}` of source file `{path}` is {found}, not {wanted}")]
    SourceType { path: String, column: String, found: String, wanted: String },
    #[error("[CONFIG_BAD_VALUE] `{key}` = `{value}` is not valid: {allowed}")]
    BadOption { key: String, value: String, allowed: String },
    #[error("[DATA_BAD_VALUE] column `{column}`: {detail}")]
    BadValue { column: String, detail: String },
    #[error("[FILE_CORRUPT] file `{path}` is damaged: {detail}")]
    Corrupt { path: String, detail: String },
    #[error("[FILE_EXISTS] file `{path}` exists already")]
    Exists { path: String },
    #[error("[FILE_MISSING] file `{path}` is missing")]
    Missing { path: String },
    #[error("[INTERNAL] {detail}")]
    Internal { detail: String },
    #[error("[INTERRUPTED] the operation was canceled")]
    Interrupted,
    #[error("[QUERY_INVALID] {detail}")]
    BadQuery { detail: String },
    #[error("[QUERY_SYNTAX] `{query}` at position {position}: {detail}")]
    QuerySyntax { query: String, position: usize, detail: String },
    #[error("[QUERY_UNKNOWN_FIELD] there is no field `{field}`; there are: {available}")]
    UnknownField { field: String, available: String },
    #[error("[SCHEMA_UNSUPPORTED_TYPE] column `{column}` has type `{data_type}`")]
    UnsupportedType { column: String, data_type: String },
    #[error("[STORAGE_BAD_PATH] `{path}` is not a path inside a table")]
    BadPath { path: String },
    #[error("[STORAGE_CREDENTIALS] no credentials for `{url}`: {detail}")]
    Credentials { url: String, detail: String },
    #[error("[STORAGE_FAILED] `{path}`: {detail}")]
    Storage { path: String, detail: String },
    /// A store rejected the request: it was not carried out.
    #[error("[STORAGE_FAILED] `{path}`: {detail}")]
    Refused { path: String, detail: String },
}

/// Longer queries are not shown a second time.
const LONGEST_POINTED: usize = 120;

/// The query again with a mark below the character of the error, if both fit on a line.
fn pointer(query: &str, position: usize) -> String {
    if query.chars().count() > LONGEST_POINTED || query.contains(char::is_control) {
        return String::new();
    }
    format!("\n  {query}\n  {}^", " ".repeat(position))
}

impl EngineError {
    pub fn internal(detail: impl std::fmt::Display) -> Self {
        Self::Internal { detail: detail.to_string() }
    }

    pub fn corrupt(path: impl Into<String>, detail: impl std::fmt::Display) -> Self {
        Self::Corrupt { path: path.into(), detail: detail.to_string() }
    }

    pub fn bad_value(column: impl Into<String>, detail: impl std::fmt::Display) -> Self {
        Self::BadValue { column: column.into(), detail: detail.to_string() }
    }

    pub fn bad_option(
        key: impl Into<String>,
        value: impl std::fmt::Display,
        allowed: impl Into<String>,
    ) -> Self {
        Self::BadOption { key: key.into(), value: value.to_string(), allowed: allowed.into() }
    }

    pub fn bad_query(detail: impl std::fmt::Display) -> Self {
        Self::BadQuery { detail: detail.to_string() }
    }

    /// The code of this error in the table of `indextables/errors.py`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Overflow { .. } => "ARITHMETIC_OVERFLOW",
            Self::SourceAddress { .. } => "COMPANION_ADDRESS",
            Self::SourceCalendar { .. } => "COMPANION_CALENDAR",
            Self::SourceChanged { .. } => "COMPANION_FILE_CHANGED",
            Self::SourceMissing { .. } => "COMPANION_FILE_MISSING",
            Self::SourceType { .. } => "COMPANION_TYPE",
            Self::BadOption { .. } => "CONFIG_BAD_VALUE",
            Self::BadValue { .. } => "DATA_BAD_VALUE",
            Self::Corrupt { .. } => "FILE_CORRUPT",
            Self::Exists { .. } => "FILE_EXISTS",
            Self::Missing { .. } => "FILE_MISSING",
            Self::Internal { .. } => "INTERNAL",
            Self::Interrupted => "INTERRUPTED",
            Self::BadQuery { .. } => "QUERY_INVALID",
            Self::QuerySyntax { .. } => "QUERY_SYNTAX",
            Self::UnknownField { .. } => "QUERY_UNKNOWN_FIELD",
            Self::UnsupportedType { .. } => "SCHEMA_UNSUPPORTED_TYPE",
            Self::BadPath { .. } => "STORAGE_BAD_PATH",
            Self::Credentials { .. } => "STORAGE_CREDENTIALS",
            Self::Storage { .. } | Self::Refused { .. } => "STORAGE_FAILED",
        }
    }

    /// The values of the message's parameters, as a JSON object.
    pub fn context(&self) -> Value {
        match self {
            Self::Overflow { column } => json!({"column": column}),
            Self::SourceAddress { path, column, detail } => {
                json!({"path": path, "column": column, "detail": detail})
            }
            Self::SourceCalendar { path, column } => json!({"path": path, "column": column}),
            Self::SourceType { path, column, found, wanted } => {
                json!({"path": path, "column": column, "found": found, "wanted": wanted})
            }
            Self::BadOption { key, value, allowed } => {
                json!({"key": key, "value": value, "allowed": allowed})
            }
            Self::BadValue { column, detail } => json!({"column": column, "detail": detail}),
            Self::Corrupt { path, detail }
            | Self::Storage { path, detail }
            | Self::SourceChanged { path, detail } => {
                json!({"path": path, "detail": detail})
            }
            Self::Refused { path, detail } => {
                json!({"path": path, "detail": detail, "refused": true})
            }
            Self::Credentials { url, detail } => json!({"url": url, "detail": detail}),
            Self::Exists { path }
            | Self::Missing { path }
            | Self::BadPath { path }
            | Self::SourceMissing { path } => json!({"path": path}),
            Self::Internal { detail } | Self::BadQuery { detail } => json!({"detail": detail}),
            Self::Interrupted => json!({}),
            Self::QuerySyntax { query, position, detail } => {
                let pointer = pointer(query, *position);
                json!({"query": query, "position": position, "detail": detail, "pointer": pointer})
            }
            Self::UnknownField { field, available } => {
                json!({"field": field, "available": available})
            }
            Self::UnsupportedType { column, data_type } => {
                json!({"column": column, "type": data_type})
            }
        }
    }

    /// The same error, naming the file if it does not name one yet.
    pub fn at(mut self, file: &str) -> Self {
        if let Self::Corrupt { path, .. } | Self::Storage { path, .. } | Self::Missing { path } =
            &mut self
            && path.is_empty()
        {
            file.clone_into(path);
        }
        self
    }
}

/// Names the file in the error of a result: `read(..).at(path)?`.
pub trait At<T> {
    fn at(self, path: &str) -> Result<T>;
}

impl<T, E: Into<EngineError>> At<T> for std::result::Result<T, E> {
    fn at(self, path: &str) -> Result<T> {
        self.map_err(|error| error.into().at(path))
    }
}

impl From<std::io::Error> for EngineError {
    fn from(error: std::io::Error) -> Self {
        // our directories put their error inside the io::Error that tantivy lets them return
        if let Some(inner) = error.get_ref().and_then(|e| e.downcast_ref::<EngineError>()) {
            return inner.clone();
        }
        let path = String::new();
        match error.kind() {
            std::io::ErrorKind::NotFound => Self::Missing { path },
            std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::InvalidData => {
                Self::Corrupt { path, detail: error.to_string() }
            }
            _ => Self::Storage { path, detail: error.to_string() },
        }
    }
}

impl From<EngineError> for std::io::Error {
    fn from(error: EngineError) -> Self {
        Self::other(error)
    }
}

impl From<tantivy::TantivyError> for EngineError {
    fn from(error: tantivy::TantivyError) -> Self {
        use tantivy::TantivyError as T;
        match error {
            T::IoError(io) => match std::sync::Arc::try_unwrap(io) {
                Ok(io) => io.into(),
                Err(io) => io
                    .get_ref()
                    .and_then(|e| e.downcast_ref::<EngineError>())
                    .cloned()
                    .unwrap_or_else(|| Self::Storage {
                        path: String::new(),
                        detail: io.to_string(),
                    }),
            },
            T::SchemaError(detail) | T::InvalidArgument(detail) => Self::Internal { detail },
            other => Self::Corrupt { path: String::new(), detail: other.to_string() },
        }
    }
}

impl From<arrow::error::ArrowError> for EngineError {
    fn from(error: arrow::error::ArrowError) -> Self {
        match error {
            arrow::error::ArrowError::ExternalError(inner) => match inner.downcast::<Self>() {
                Ok(own) => *own,
                Err(other) => Self::internal(other),
            },
            other => Self::internal(other),
        }
    }
}

impl From<EngineError> for arrow::error::ArrowError {
    fn from(error: EngineError) -> Self {
        Self::ExternalError(Box::new(error))
    }
}

impl From<serde_json::Error> for EngineError {
    fn from(error: serde_json::Error) -> Self {
        Self::Internal { detail: format!("JSON between Python and the engine: {error}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_survives_the_way_through_io_and_tantivy() {
        let error = EngineError::corrupt("a.split", "bad magic");
        let io: std::io::Error = error.into();
        let back: EngineError = tantivy::TantivyError::from(io).into();
        assert!(matches!(back, EngineError::Corrupt { path, .. } if path == "a.split"));
    }

    #[test]
    fn at_names_the_file_only_once() {
        let missing: Result<()> =
            Err(std::io::Error::from(std::io::ErrorKind::NotFound)).at("x.split").at("y.split");
        assert!(matches!(missing, Err(EngineError::Missing { path }) if path == "x.split"));
    }

    #[test]
    fn the_text_begins_with_the_code() {
        let error = EngineError::bad_value("c", "not an object");
        assert!(error.to_string().starts_with(&format!("[{}]", error.kind())));
    }
}
