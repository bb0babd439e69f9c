//! Python interface of `source`.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchIterator};
use pyo3::prelude::*;

use crate::error::Result;
use crate::python::arrow::{ArrowStream, import_schema};
use crate::python::errors::{run_waiting, to_python};
use crate::python::value::from_python;
use crate::source::{Facts, FileId, Source, feed};

/// The Parquet files that a companion indexes.
#[pyclass(module = "indextables._native", frozen, name = "Source")]
pub struct PySource {
    pub source: Arc<Source>,
}

/// The facts of a file, from its footer.
#[pyclass(module = "indextables._native", frozen, get_all)]
pub struct SourceFacts {
    rows: u64,
    footer: u32,
    spark_schema: Option<String>,
    /// A stream without batches, for its schema.
    schema: Py<ArrowStream>,
}

fn file_of(value: &Bound<'_, PyAny>) -> PyResult<Result<FileId>> {
    Ok(serde_json::from_value(from_python(value)?).map_err(Into::into))
}

#[pymethods]
impl PySource {
    #[new]
    #[pyo3(signature = (url, options="", lookup=None))]
    fn new(
        py: Python<'_>,
        url: &str,
        options: &str,
        lookup: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let lookup = lookup.map(from_python).transpose()?;
        let lookup = lookup.unwrap_or_else(|| serde_json::json!({}));
        let source = Source::open(url, options, lookup).map_err(|e| to_python(py, &e))?;
        Ok(Self { source: Arc::new(source) })
    }

    /// The content of a file's footer.
    fn facts(&self, file: &Bound<'_, PyAny>) -> PyResult<SourceFacts> {
        let py = file.py();
        let file = file_of(file)?;
        let facts =
            run_waiting(py, self.source.store().is_remote(), || Facts::read(&self.source, file?))?;
        let none = RecordBatchIterator::new(
            Vec::<std::result::Result<RecordBatch, arrow::error::ArrowError>>::new(),
            facts.schema.clone(),
        );
        Ok(SourceFacts {
            rows: facts.rows,
            footer: facts.footer,
            spark_schema: facts.spark_schema,
            schema: Py::new(py, ArrowStream::declared(Box::new(none), facts.schema))?,
        })
    }

    /// The rows of a file from `first` on, in exactly this schema.
    #[pyo3(signature = (file, schema, *, first=0, batch_rows=8192))]
    fn read(
        &self,
        file: &Bound<'_, PyAny>,
        schema: &Bound<'_, PyAny>,
        first: u64,
        batch_rows: usize,
    ) -> PyResult<ArrowStream> {
        let py = file.py();
        let file = file_of(file)?;
        let schema = import_schema(schema)?;
        let remote = self.source.store().is_remote();
        let rows = run_waiting(py, remote, || {
            feed(self.source.clone(), file?, &schema, first, batch_rows.max(1))
        })?;
        Ok(ArrowStream::declared(rows, schema).waiting(remote))
    }

    /// Requests and bytes that this object read from the source.
    fn counters(&self) -> (u64, u64) {
        let counters = self.source.store().counters();
        (counters.requests(), counters.bytes_read())
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<SourceFacts>()?;
    module.add_class::<PySource>()
}
