//! Python face of `store`.

use pyo3::prelude::*;

use crate::python::errors::to_python;
use crate::store::{self, Store};

/// A place that holds the files of a table.
#[pyclass(module = "indextables._native", frozen, name = "Store")]
pub struct PyStore {
    pub store: Store,
}

#[pymethods]
impl PyStore {
    #[new]
    #[pyo3(signature = (url, options=""))]
    fn new(py: Python<'_>, url: &str, options: &str) -> PyResult<Self> {
        let store = Store::open(url, options).map_err(|e| to_python(py, &e))?;
        Ok(Self { store })
    }

    #[getter]
    fn url(&self) -> &str {
        self.store.url()
    }

    /// Requests and bytes asked of the object store through this object.
    fn counters(&self) -> (u64, u64) {
        self.store.counters()
    }
}

/// Requests and bytes asked of all object stores by this process.
#[pyfunction]
fn storage_totals() -> (u64, u64) {
    (store::totals().requests(), store::totals().bytes())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(storage_totals, module)?)?;
    module.add_class::<PyStore>()
}
