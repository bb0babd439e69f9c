//! Python interface of the split writer.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

use crate::cancel::Cancel;
use crate::error::Result;
use crate::profile::{self, Section};
use crate::python::arrow::{import_batch, import_schema};
use crate::python::errors::{run, run_interruptible, to_python};
use crate::python::store::PyStore;
use crate::python::value::{from_python, list, object, shown};
use crate::write::{SplitWriter, WriteOptions, field_specs};

/// Record batches in, one split out.
#[pyclass(name = "SplitWriter", module = "indextables._native", frozen)]
pub struct PySplitWriter {
    // the segment writer of tantivy is not `Sync`
    writer: Mutex<SplitWriter>,
    cancel: Cancel,
}

impl PySplitWriter {
    fn with<T>(&self, work: impl FnOnce(&mut SplitWriter) -> Result<T>) -> Result<T> {
        work(&mut self.writer.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl PySplitWriter {
    #[new]
    #[pyo3(signature = (schema, fields=None, options=None))]
    fn new(
        schema: &Bound<'_, PyAny>,
        fields: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let py = schema.py();
        let arrow = import_schema(schema)?;
        let (fields, options) = (list(fields)?, object(options)?);
        let made = field_specs(fields)
            .and_then(|fields| SplitWriter::new(arrow, fields, WriteOptions::from_value(options)?));
        match made {
            Ok(writer) => Ok(Self { cancel: writer.cancel(), writer: Mutex::new(writer) }),
            Err(error) => Err(to_python(py, &error)),
        }
    }

    fn accepts(&self, batch: &Bound<'_, PyAny>) -> PyResult<bool> {
        let rows = import_batch(batch)?;
        run(batch.py(), || self.with(|writer| writer.accepts(&rows)))
    }

    fn write(&self, batch: &Bound<'_, PyAny>) -> PyResult<()> {
        let rows = import_batch(batch)?;
        let _timer = profile::start(Section::WriteBatch);
        run(batch.py(), || self.with(|writer| writer.write(&rows)))
    }

    #[getter]
    fn rows(&self, py: Python<'_>) -> PyResult<u64> {
        run(py, || self.with(|writer| Ok(writer.rows())))
    }

    #[getter]
    fn memory_bytes(&self, py: Python<'_>) -> PyResult<usize> {
        run(py, || self.with(|writer| Ok(writer.memory_bytes())))
    }

    #[getter]
    fn estimated_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        run(py, || self.with(|writer| Ok(writer.estimated_bytes())))
    }

    #[pyo3(signature = (store, path, runs=None))]
    fn finish<'py>(
        &self,
        py: Python<'py>,
        store: &Bound<'py, PyStore>,
        path: &str,
        runs: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let store = &store.get().store;
        let runs = runs.map(from_python).transpose()?;
        let _timer = profile::start(Section::FinishSplit);
        let split = run_interruptible(py, &self.cancel, || {
            let runs = runs.map(serde_json::from_value).transpose()?;
            self.with(|writer| writer.finish(store, path, runs))
        })?;
        shown(py, &split)
    }

    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        run(py, || {
            self.with(|writer| {
                writer.abort();
                Ok(())
            })
        })
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PySplitWriter>()
}
