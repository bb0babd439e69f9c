//! The baseline of the benchmarks; compiled with the feature `bench` only.

use arrow::array::RecordBatch;
use pyo3::prelude::*;

use crate::bench::read::Plain;
use crate::bench::{index_plainly, upstream_schema};
use crate::python::arrow::{import_schema, import_stream};
use crate::python::errors::{run, to_python};
use crate::python::store::PyStore;
use crate::python::value::from_python;
use crate::write::{Role, SplitWriter, WriteOptions, field_specs};

/// Indexes rows by a bare tantivy loop, with the schema of our writer or with upstream's; returns the
/// bytes written.
#[pyfunction]
fn index_plain(
    rows: &Bound<'_, PyAny>,
    fields: &Bound<'_, PyAny>,
    options: &Bound<'_, PyAny>,
    upstream: bool,
) -> PyResult<u64> {
    let py = rows.py();
    let arrow = import_schema(&rows.getattr("schema")?)?;
    let batches: Vec<RecordBatch> = import_stream(rows)?
        .collect::<Result<_, _>>()
        .map_err(|error| to_python(py, &error.into()))?;
    let (fields, options) = (from_python(fields)?, from_python(options)?);
    run(py, || {
        let fields = field_specs(fields)?;
        let options = WriteOptions::from_value(options)?;
        let texts: Vec<String> =
            fields.iter().filter(|f| f.role == Role::Text).map(|f| f.name.clone()).collect();
        let schema = if upstream {
            upstream_schema(&arrow, &texts)
        } else {
            SplitWriter::new(arrow, fields, options.clone())?.tantivy_schema()?
        };
        index_plainly(&schema, &options, &batches)
    })
}

/// Tantivy's own searcher over one of our splits.
#[pyclass(frozen, name = "PlainSearcher")]
struct PyPlain(Plain);

#[pymethods]
impl PyPlain {
    #[new]
    fn new(py: Python<'_>, store: &PyStore, path: &str) -> PyResult<Self> {
        run(py, || Plain::open(&store.store, path)).map(PyPlain)
    }

    fn count(
        &self,
        py: Python<'_>,
        kind: &str,
        field: &str,
        words: Vec<String>,
    ) -> PyResult<usize> {
        run(py, || self.0.count(kind, field, &words))
    }

    fn aggregate(&self, py: Python<'_>, request: &str) -> PyResult<String> {
        run(py, || self.0.aggregate(request))
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyPlain>()?;
    module.add_function(wrap_pyfunction!(index_plain, module)?)
}
