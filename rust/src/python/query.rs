//! Python face of `query`.

use pyo3::prelude::*;
use serde::Deserialize;

use crate::error::{EngineError, Result};
use crate::python::errors::run;
use crate::query::{Fields, Mode, search_tree};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    #[serde(default)]
    fields: Vec<String>,
    #[serde(default)]
    mode: Mode,
}

/// Parses a text in the query language into a query tree. `fields` is a JSON list of
/// `{"name", "type", "role", "record"}`; `options` may name default `fields` and a `mode`.
#[pyfunction]
#[pyo3(signature = (text, fields, options=""))]
fn parse_query(py: Python<'_>, text: &str, fields: &str, options: &str) -> PyResult<String> {
    run(py, || {
        let options = parse_options(options)?;
        let fields = Fields::parse(fields)?;
        let tree = search_tree(text, &fields, &options.fields, options.mode)?;
        Ok(serde_json::to_string(&tree)?)
    })
}

fn parse_options(json: &str) -> Result<Options> {
    if json.trim().is_empty() {
        return Ok(Options::default());
    }
    serde_json::from_str(json).map_err(|e| EngineError::bad_query(format!("query options: {e}")))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(parse_query, module)?)
}
