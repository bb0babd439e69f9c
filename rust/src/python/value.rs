//! Plain Python values (None, bool, int, float, str, list, tuple, dict) as values of serde and back.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use serde::Serialize;
use serde_json::{Map, Number, Value};

use crate::python::errors;

pub fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if object.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok(Value::Bool(truth.is_true()));
    }
    if object.is_instance_of::<PyInt>() || object.is_instance_of::<PyFloat>() {
        return number(object).map(Value::Number);
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::String(text.to_cow()?.into_owned()));
    }
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        let items = object.try_iter()?.map(|item| from_python(&item?));
        return Ok(Value::Array(items.collect::<PyResult<_>>()?));
    }
    let Ok(members) = object.cast::<PyMapping>() else {
        return Err(PyTypeError::new_err(format!("{} is not a plain value", object.get_type())));
    };
    let mut found = Map::new();
    for member in members.items()?.iter() {
        let (name, value): (String, Bound<'_, PyAny>) = member.extract()?;
        found.insert(name, from_python(&value)?);
    }
    Ok(Value::Object(found))
}

fn number(object: &Bound<'_, PyAny>) -> PyResult<Number> {
    if object.is_instance_of::<PyInt>() {
        if let Ok(whole) = object.extract::<i64>() {
            return Ok(whole.into());
        }
        if let Ok(whole) = object.extract::<u64>() {
            return Ok(whole.into());
        }
    }
    let float: f64 = object.extract()?;
    Number::from_f64(float)
        .ok_or_else(|| PyValueError::new_err(format!("{float} is written as a string here")))
}

/// A list that may be left out.
pub fn list(object: Option<&Bound<'_, PyAny>>) -> PyResult<Value> {
    object.map_or(Ok(Value::Array(Vec::new())), from_python)
}

/// A mapping that may be left out.
pub fn object(object: Option<&Bound<'_, PyAny>>) -> PyResult<Value> {
    object.map_or(Ok(Value::Object(Map::new())), from_python)
}

/// A value of the engine as plain values.
pub fn shown<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let value = serde_json::to_value(value).map_err(|e| errors::to_python(py, &e.into()))?;
    to_python(py, &value)
}

pub fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(truth) => PyBool::new(py, *truth).to_owned().into_any(),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => whole.into_pyobject(py)?.into_any(),
            (_, Some(whole)) => whole.into_pyobject(py)?.into_any(),
            _ => PyFloat::new(py, number.as_f64().unwrap_or(f64::NAN)).into_any(),
        },
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Array(items) => {
            let items = items.iter().map(|item| to_python(py, item));
            PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        Value::Object(members) => {
            let found = PyDict::new(py);
            for (name, value) in members {
                found.set_item(name, to_python(py, value)?)?;
            }
            found.into_any()
        }
    })
}
