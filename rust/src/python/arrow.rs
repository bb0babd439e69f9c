//! Arrow data to and from Python by the PyCapsule interface, without copying.

use std::ffi::CStr;
use std::sync::Mutex;

use arrow::array::{
    Array, RecordBatch, RecordBatchIterator, RecordBatchReader, StructArray, make_array,
};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::error::EngineError;
use crate::python::errors::{run_waiting, to_python};
use crate::texts::outward_batch;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// Takes over the C structure inside a capsule, leaving a released one behind.
fn take<T>(capsule: &Bound<'_, PyAny>, name: &'static CStr, empty: T) -> PyResult<T> {
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(name))?.cast::<T>();
    // SAFETY: the interface says that a capsule of this name holds this structure, and that a
    // consumer moves it out, leaving one that is marked as released.
    Ok(unsafe { pointer.replace(empty) })
}

fn failed(py: Python<'_>, error: arrow::error::ArrowError) -> PyErr {
    to_python(py, &EngineError::from(error))
}

/// The schema of anything with `__arrow_c_schema__` (a pyarrow schema).
pub fn import_schema(object: &Bound<'_, PyAny>) -> PyResult<SchemaRef> {
    let capsule = object.call_method0("__arrow_c_schema__")?;
    let schema = take(&capsule, SCHEMA, FFI_ArrowSchema::empty())?;
    let schema = Schema::try_from(&schema).map_err(|e| failed(object.py(), e))?;
    Ok(schema.into())
}

/// One record batch from anything with `__arrow_c_array__` (a pyarrow record batch).
pub fn import_batch(object: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    let py = object.py();
    let pair = object.call_method0("__arrow_c_array__")?;
    let pair = pair.cast::<PyTuple>()?;
    let schema = take(&pair.get_item(0)?, SCHEMA, FFI_ArrowSchema::empty())?;
    let array = take(&pair.get_item(1)?, ARRAY, FFI_ArrowArray::empty())?;
    // SAFETY: both structures come from one call of a producer that follows the interface.
    let data = unsafe { from_ffi(array, &schema) }.map_err(|e| failed(py, e))?;
    let array = make_array(data);
    let rows = array.as_any().downcast_ref::<StructArray>().ok_or_else(|| {
        PyTypeError::new_err(format!("a record batch was expected, got {}", array.data_type()))
    })?;
    let fields = Schema::try_from(&schema).map_err(|e| failed(py, e))?;
    if rows.null_count() > 0 {
        return Err(PyTypeError::new_err("a record batch cannot have null rows"));
    }
    RecordBatch::try_new_with_options(
        fields.into(),
        rows.columns().to_vec(),
        &arrow::array::RecordBatchOptions::new().with_row_count(Some(rows.len())),
    )
    .map_err(|e| failed(py, e))
}

/// The batches of anything with `__arrow_c_stream__` (a pyarrow table or reader) or `__arrow_c_array__`.
pub fn import_stream(object: &Bound<'_, PyAny>) -> PyResult<Box<dyn RecordBatchReader + Send>> {
    if !object.hasattr("__arrow_c_stream__")? {
        let batch = import_batch(object)?;
        let schema = batch.schema();
        return Ok(Box::new(arrow::array::RecordBatchIterator::new([Ok(batch)], schema)));
    }
    let capsule = object.call_method0("__arrow_c_stream__")?;
    let stream = take(&capsule, STREAM, FFI_ArrowArrayStream::empty())?;
    let reader = RecordBatchStreamReader::try_new(stream).map_err(|e| failed(object.py(), e))?;
    Ok(Box::new(reader))
}

/// Record batches for Python: pyarrow takes the whole stream (`pa.table(stream)`), or
/// Python iterates, which raises our own exceptions and notices signals between batches.
#[pyclass(module = "indextables._native", frozen)]
pub struct ArrowStream {
    schema: SchemaRef,
    reader: Mutex<Option<Box<dyn RecordBatchReader + Send>>>,
    /// Whether batches come from a remote store.
    remote: bool,
}

impl ArrowStream {
    pub fn new(reader: Box<dyn RecordBatchReader + Send>) -> Self {
        let schema = reader.schema();
        Self::declared(reader, schema)
    }

    /// The batches in the declared types: strings inside the engine are bytes.
    pub fn declared(reader: Box<dyn RecordBatchReader + Send>, schema: SchemaRef) -> Self {
        let types = schema.clone();
        let batches = reader.map(move |batch| Ok(outward_batch(batch?, &types)?));
        let reader = RecordBatchIterator::new(batches, schema.clone());
        Self { schema, reader: Mutex::new(Some(Box::new(reader))), remote: false }
    }

    /// The same, whose next batch may have to be waited for.
    pub fn waiting(self, remote: bool) -> Self {
        Self { remote, ..self }
    }
}

#[pymethods]
impl ArrowStream {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let taken = self.reader.lock().map(|mut reader| reader.take());
        match taken {
            Ok(Some(reader)) => {
                PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
            }
            _ => Err(to_python(py, &EngineError::internal("this stream was consumed already"))),
        }
    }

    fn __iter__(stream: PyRef<'_, Self>) -> PyRef<'_, Self> {
        stream
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<ArrowBatch>> {
        run_waiting(py, self.remote, || {
            let mut reader =
                self.reader.lock().map_err(|_| EngineError::internal("a reader panicked"))?;
            let next = reader.as_mut().and_then(Iterator::next).transpose()?;
            Ok(next.map(|batch| ArrowBatch { batch, schema: self.schema.clone() }))
        })
    }
}

/// One record batch for Python: `pa.record_batch(batch)`.
#[pyclass(module = "indextables._native", frozen)]
pub struct ArrowBatch {
    batch: RecordBatch,
    /// What the batch is declared as: `Utf8` where it has bytes.
    schema: SchemaRef,
}

impl ArrowBatch {
    pub fn new(batch: RecordBatch) -> Self {
        let schema = batch.schema();
        Self { batch, schema }
    }
}

#[pymethods]
impl ArrowBatch {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        drop(requested_schema);
        let rows = StructArray::from(self.batch.clone());
        let (array, _) = to_ffi(&rows.to_data()).map_err(|e| failed(py, e))?;
        let schema = schema_capsule(py, &self.schema)?.into_any();
        let array = PyCapsule::new_with_value(py, array, ARRAY)?.into_any();
        PyTuple::new(py, [schema, array])
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }
}

fn schema_capsule<'py>(py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema.as_ref()).map_err(|e| failed(py, e))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ArrowStream>()?;
    module.add_class::<ArrowBatch>()
}
