from __future__ import annotations

import pickle
import string
from pathlib import Path

import pytest

from indextables import errors
from indextables.errors import CODES, IndexTablesError, error, from_text


def _classes(base=IndexTablesError):
    return [base, *(found for child in base.__subclasses__() for found in _classes(child))]


def _context(code):
    names = [name for _, name, _, _ in string.Formatter().parse(CODES[code].template) if name]
    return {name: f"<{name}>" for name in names}


@pytest.mark.parametrize("cls", _classes(), ids=lambda cls: cls.__name__)
def test_class_survives_pickling(cls):
    made = cls("INTERNAL", "what happened", "what to do", {"path": "/t"})
    again = pickle.loads(pickle.dumps(made))
    assert type(again) is cls
    assert str(again) == str(made) == "[INTERNAL] what happened; hint: what to do"
    assert again.context == {"path": "/t"}


@pytest.mark.parametrize("code", CODES)
def test_code_renders_every_part_of_its_context(code):
    made = error(code, **_context(code))
    assert type(made) is CODES[code].error
    assert str(made).startswith(f"[{code}] ")
    for shown in _context(code).values():
        assert shown in made.message
    assert not made.message.endswith(".")
    assert len(CODES[code].sqlstate) == 5


@pytest.mark.parametrize("code", CODES)
def test_error_is_found_again_in_the_text_spark_makes_of_it(code):
    made = error(code, **_context(code))
    text = f"org.apache.spark.SparkException: Job aborted\nPythonException: {made}\n  at x.y(z)\n"
    found = from_text(text)
    assert type(found) is type(made)
    assert found.code == code
    assert found.hint == made.hint


def test_hint_is_below_a_message_of_several_lines():
    made = error(
        "QUERY_SYNTAX", query="a:(", position=2, detail="not closed", pointer="\n  a:(\n    ^"
    )
    assert str(made).endswith("\n    ^\nhint: correct the search text")
    found = from_text(f"PythonException: {made}\n  at x.y(z)\n")
    assert (found.message, found.hint) == (made.message, made.hint)


def test_text_of_others_is_left_alone():
    assert from_text("[DIVIDE_BY_ZERO] Division by zero") is None
    assert from_text("nothing here") is None


def test_codes_are_sorted():
    assert list(CODES) == sorted(CODES)


def test_every_class_has_a_docstring():
    assert all(cls.__doc__ for cls in _classes())
    assert errors.__doc__


def test_every_code_is_raised_somewhere():
    root = Path(__file__).resolve().parents[2]
    sources = [*root.glob("python/**/*.py"), *root.glob("rust/src/**/*.rs")]
    sources += root.glob("jvm/**/*.scala")
    text = "\n".join(path.read_text() for path in sources if path.name != "errors.py")
    assert [code for code in CODES if code not in text] == []


def test_an_error_inside_the_text_of_another_is_found():
    inner = str(errors.error("PATH_MISSING"))
    found = errors.from_text(f"[STREAM_FAILED] Query [id = 1] terminated: {inner} SQLSTATE: X")
    assert found is not None
    assert found.code == "PATH_MISSING"
