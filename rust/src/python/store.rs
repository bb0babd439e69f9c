//! Python face of `store`.

use pyo3::prelude::*;

use crate::error::{EngineError, Result};
use crate::python::errors::{run, to_python};
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

    /// Writes a whole file, replacing what was there.
    fn put(&self, py: Python<'_>, path: &str, data: &[u8]) -> PyResult<()> {
        let bytes = bytes::Bytes::copy_from_slice(data);
        run(py, || self.store.put(path, bytes))
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

/// Asks `indextables.storage.credentials` for temporary credentials.
fn fetch_credentials(spec: &str) -> Result<String> {
    Python::attach(|py| {
        let fetched = py
            .import("indextables.storage.credentials")
            .and_then(|module| module.getattr("fetch")?.call1((spec,))?.extract());
        fetched.map_err(|raised: PyErr| {
            let context = raised.value(py).getattr("context");
            let text = |key: &str| {
                context.as_ref().ok().and_then(|c| c.get_item(key).ok()?.extract::<String>().ok())
            };
            // the text of an unknown exception may hold a secret; its class does not
            let class = || raised.get_type(py).to_string();
            EngineError::Credentials {
                url: text("url").unwrap_or_default(),
                detail: text("detail").unwrap_or_else(class),
            }
        })
    })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    store::set_credentials_source(fetch_credentials);
    module.add_function(wrap_pyfunction!(storage_totals, module)?)?;
    module.add_class::<PyStore>()
}
