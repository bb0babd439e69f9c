"""Arrays of a few values equal those of pyarrow, without importing pandas."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.model.arrays import small_array

TEXT = st.text(max_size=5)
CASES = {
    pa.string(): TEXT,
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.float64(): st.floats(allow_nan=False),
    pa.bool_(): st.booleans(),
    pa.list_(pa.string()): st.lists(TEXT, max_size=3),
    pa.map_(pa.string(), pa.string()): st.lists(st.tuples(TEXT, st.none() | TEXT), max_size=3),
    pa.struct({"a": pa.string(), "b": pa.list_(pa.int64())}): st.fixed_dictionaries(
        {"a": st.none() | TEXT, "b": st.none() | st.lists(st.integers(0, 9), max_size=2)}
    ),
}


@pytest.mark.parametrize("kind", list(CASES), ids=str)
def test_arrays_are_those_of_pyarrow(kind):
    @given(st.lists(st.none() | CASES[kind], max_size=20))
    def check(values):
        found = small_array(values, kind)
        found.validate(full=True)
        assert found.equals(pa.array(values, kind))

    check()


def test_a_first_answer_imports_neither_pandas_nor_kernels(tmp_path):
    """Opening, searching, counting and reading a table, in a new process."""
    make = (
        "import sys, pyarrow as pa, indextables\n"
        "rows = pa.table({'id': [1, 2], 'level': ['a', 'b'], 'message': ['one x', 'two x']})\n"
        "indextables.write(rows, sys.argv[1], options={'indexing.typemap.message': 'text'})\n"
    )
    ask = (
        "import sys, indextables\n"
        "table = indextables.open(sys.argv[1])\n"
        "assert table.count(query='message:x') == 2\n"
        "assert table.search('message:x', limit=1).num_rows == 1\n"
        "slow = {'pyarrow.compute', 'urllib.request', 'indextables.read.companion'}\n"
        "assert slow.isdisjoint(sys.modules), slow & {*sys.modules}\n"
        "assert table.search('message:x', where=\"level = 'a'\").num_rows == 1\n"
        "assert table.count(\"level = 'a'\") == 1\n"
        "assert table.count() == 2\n"
        "assert table.scan(where='id > 1').num_rows == 1\n"
        "assert table.scan(order_by=['id DESC'], limit=1).num_rows == 1\n"
        "assert 'pandas' not in sys.modules, 'pandas was imported'\n"
    )
    for program in (make, ask):
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "t")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
