//! Python interface of merging.

use std::collections::BTreeMap;

use pyo3::prelude::*;

use crate::cancel::Cancel;
use crate::merge::{self, MergeInput, Target};
use crate::profile::{self, Section};
use crate::python::arrow::import_schema;
use crate::python::errors::run_interruptible;
use crate::python::source::PySource;
use crate::python::store::PyStore;
use crate::python::value::{list, object, shown};
use crate::write::{WriteOptions, field_specs};

type Input = (String, Option<(u64, u64)>, Option<Vec<u8>>);

/// Merges splits of a store into a new one; returns its facts, and why inputs were left out.
#[pyfunction]
#[pyo3(
    name = "merge",
    signature = (
        inputs, store, output, *, schema=None, fields=None, options=None, source=None, rewrite=false
    )
)]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
fn merge_splits<'py>(
    py: Python<'py>,
    inputs: Vec<Input>,
    store: &Bound<'py, PyStore>,
    output: &str,
    schema: Option<&Bound<'py, PyAny>>,
    fields: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyAny>>,
    source: Option<&Bound<'py, PySource>>,
    rewrite: bool,
) -> PyResult<(Bound<'py, PyAny>, BTreeMap<String, String>)> {
    let inputs: Vec<MergeInput> = inputs
        .into_iter()
        .map(|(path, footer, deleted)| MergeInput { path, footer, deleted })
        .collect();
    let (fields, options) = (list(fields)?, object(options)?);
    let store = &store.get().store;
    let schema = schema.map(import_schema).transpose()?;
    let source = source.map(|source| source.get().source.clone());
    let cancel = Cancel::inner();
    let _timer = profile::start(Section::Merge);
    let merged = run_interruptible(py, &cancel, || {
        let fields = field_specs(fields)?;
        let target = schema.map(|schema| Target { schema, fields, rewrite });
        let options = WriteOptions::from_value(options)?;
        let (target, source) = (target.as_ref(), source.as_ref());
        merge::merge(&inputs, store, output, target, source, &options, &cancel)
    })?;
    let skipped = merged.skipped.into_iter().map(|left| (left.path, left.reason)).collect();
    Ok((shown(py, &merged.split)?, skipped))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(merge_splits, module)?)
}
