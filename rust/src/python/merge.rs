//! Python face of merging.

use pyo3::prelude::*;

use crate::cancel::Cancel;
use crate::merge::{self, MergeInput, Target};
use crate::profile::{self, Section};
use crate::python::arrow::import_schema;
use crate::python::errors::run_interruptible;
use crate::python::store::PyStore;
use crate::write::{WriteOptions, parse_fields};

/// Merges splits of a store into a new one; returns what is known of it as JSON.
#[pyfunction]
#[pyo3(name = "merge", signature = (inputs, store, output, options="", schema=None, fields=""))]
fn merge_splits(
    py: Python<'_>,
    inputs: &str,
    store: &Bound<'_, PyStore>,
    output: &str,
    options: &str,
    schema: Option<&Bound<'_, PyAny>>,
    fields: &str,
) -> PyResult<String> {
    let store = &store.get().store;
    let schema = schema.map(import_schema).transpose()?;
    let cancel = Cancel::default();
    let _timer = profile::start(Section::Merge);
    run_interruptible(py, &cancel, || {
        let inputs: Vec<MergeInput> = serde_json::from_str(inputs)?;
        let fields = parse_fields(fields)?;
        let target = schema.map(|schema| Target { schema, fields });
        let options = WriteOptions::parse(options)?;
        let merged = merge::merge(&inputs, store, output, target.as_ref(), &options, &cancel)?;
        Ok(serde_json::to_string(&merged)?)
    })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(merge_splits, module)?)
}
