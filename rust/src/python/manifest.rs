//! Python face of `manifest`.

use arrow::array::RecordBatchIterator;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::error::At;
use crate::manifest::{self, Codec};
use crate::python::arrow::{ArrowStream, import_stream};
use crate::python::errors::run;

/// The entries of manifests, one stream per file: its name, bytes and number of entries.
#[pyfunction]
fn decode_manifests(
    py: Python<'_>,
    files: Vec<(String, PyBackedBytes, usize)>,
    threads: usize,
) -> PyResult<Vec<ArrowStream>> {
    let batches = run(py, || {
        let files: Vec<(String, &[u8], usize)> =
            files.iter().map(|(name, data, entries)| (name.clone(), &data[..], *entries)).collect();
        manifest::decode_all(&files, threads)
    })?;
    Ok(batches
        .into_iter()
        .map(|batch| {
            let schema = batch.schema();
            ArrowStream::new(Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
        })
        .collect())
}

/// The bytes of a manifest with the rows of an Arrow table.
#[pyfunction]
fn encode_manifest<'py>(
    py: Python<'py>,
    entries: &Bound<'py, PyAny>,
    compression: &str,
    level: i32,
) -> PyResult<Bound<'py, PyBytes>> {
    let reader = import_stream(entries)?;
    let bytes = run(py, || {
        let batches = reader.collect::<Result<Vec<_>, _>>()?;
        manifest::encode(&batches, Codec::named(compression, level)?)
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// The state in a state manifest, as JSON text.
#[pyfunction]
fn decode_state_manifest(py: Python<'_>, data: PyBackedBytes, path: &str) -> PyResult<String> {
    run(py, || manifest::state::decode(&data).at(path))
}

/// The bytes of a state manifest, from JSON text.
#[pyfunction]
fn encode_state_manifest<'py>(
    py: Python<'py>,
    value: &str,
    compression: &str,
    level: i32,
) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = run(py, || manifest::state::encode(value, Codec::named(compression, level)?))?;
    Ok(PyBytes::new(py, &bytes))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(decode_manifests, module)?)?;
    module.add_function(wrap_pyfunction!(encode_manifest, module)?)?;
    module.add_function(wrap_pyfunction!(decode_state_manifest, module)?)?;
    module.add_function(wrap_pyfunction!(encode_state_manifest, module)?)
}
