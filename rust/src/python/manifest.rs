//! Python interface of `manifest`.

use arrow::array::{RecordBatch, RecordBatchIterator};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::error::At;
use crate::manifest::lines::{self, Lines};
use crate::manifest::{self, Codec};
use crate::python::arrow::{ArrowStream, import_stream};
use crate::python::errors::run;
use crate::python::value::{from_python, to_python};

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
    Ok(batches.into_iter().map(stream).collect())
}

/// The actions of a version file; see `manifest::lines`.
#[pyclass(module = "indextables._native", frozen, name = "LogLines")]
struct PyLogLines {
    lines: Lines,
}

#[pymethods]
impl PyLogLines {
    #[getter]
    fn kinds<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.lines.kinds)
    }

    #[getter]
    fn adds(&self) -> Option<ArrowStream> {
        self.lines.adds.clone().map(stream)
    }

    #[getter]
    fn removes(&self) -> Option<ArrowStream> {
        self.lines.removes.clone().map(stream)
    }

    #[getter]
    fn num_others(&self) -> usize {
        self.lines.others.len()
    }

    fn other(&self, at: usize) -> PyResult<(usize, usize)> {
        let line = self.lines.others.get(at).ok_or_else(|| PyIndexError::new_err(at))?;
        Ok((line.start, line.end))
    }
}

/// The actions of the text of a version file, at most so many.
#[pyfunction]
fn decode_lines(py: Python<'_>, text: PyBackedBytes, most: usize) -> PyResult<PyLogLines> {
    run(py, || Ok(PyLogLines { lines: lines::decode(&text, most)? }))
}

fn stream(batch: RecordBatch) -> ArrowStream {
    let schema = batch.schema();
    ArrowStream::new(Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
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

/// The state in a state manifest.
#[pyfunction]
fn decode_state_manifest<'py>(
    py: Python<'py>,
    data: PyBackedBytes,
    path: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let state = run(py, || manifest::state::decode(&data).at(path))?;
    to_python(py, &state)
}

/// The bytes of a state manifest.
#[pyfunction]
fn encode_state_manifest<'py>(
    py: Python<'py>,
    value: &Bound<'py, PyAny>,
    compression: &str,
    level: i32,
) -> PyResult<Bound<'py, PyBytes>> {
    let value = from_python(value)?;
    let bytes = run(py, || manifest::state::encode(&value, Codec::named(compression, level)?))?;
    Ok(PyBytes::new(py, &bytes))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyLogLines>()?;
    module.add_function(wrap_pyfunction!(decode_lines, module)?)?;
    module.add_function(wrap_pyfunction!(decode_manifests, module)?)?;
    module.add_function(wrap_pyfunction!(encode_manifest, module)?)?;
    module.add_function(wrap_pyfunction!(decode_state_manifest, module)?)?;
    module.add_function(wrap_pyfunction!(encode_state_manifest, module)?)
}
