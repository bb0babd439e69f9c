"""Generate the reference pages from the source: `python docs/generate.py [--check]`.

`--check` changes nothing and fails when a page is stale. Spark is not needed.
"""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from typer.main import get_command

from indextables.cli.app import app
from indextables.commands.grammar import PRODUCT, Rule, shown_words
from indextables.commands.registry import RULES
from indextables.config.option import PREFIX, Option, Status
from indextables.config.registry import OPTIONS
from indextables.errors import CODES
from indextables.model.types import DataType, Struct
from indextables.plan.bucket_calls import FORMS
from indextables.sql.keywords import statements
from indextables.sql.render import usage

HERE = Path(__file__).resolve().parent
_WIDTH = 90
_UNITS = ((1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K"))


_KEYS = f"""\
Keys have the prefix `{PREFIX}` in the session and as table properties. As options of a reader or
writer the prefix is optional. Keys shown without the prefix never have it. Keys are case-insensitive.
If a key is set in several scopes, the option takes precedence over the session, and the session over the
table property. The older prefixes `spark.indexfiles.` and `tantivy4spark.` are equivalent.

An unknown key, or an option that looks like a misspelled key, is reported once with the most similar known
name. An ignored key is reported once when it is set. An invalid value is an error that lists the allowed
values. Sizes are bytes, or a number with K, M, G or T.""".splitlines()


def configuration() -> str:
    """Render the page of all configuration keys."""
    used = [option for option in OPTIONS if option.status is Status.USED]
    unused = [option for option in OPTIONS if option.status is Status.IGNORED]
    lines = [
        "# Configuration",
        "",
        "<!-- written by docs/generate.py from python/indextables/config; edit there -->",
        "",
        *_KEYS,
    ]
    for group in dict.fromkeys(option.group for option in used):
        lines += [
            "",
            f"## {group}",
            "",
            "| key | default | set as | meaning |",
            "|---|---|---|---|",
        ]
        lines += [_row(option) for option in used if option.group == group]
    lines += [
        "",
        "## Ignored keys",
        "",
        "Keys of the existing implementation that are not needed here. Their values",
        "are still checked, and setting one is reported once.",
        "",
        "| key | default | why |",
        "|---|---|---|",
    ]
    lines += [
        f"| {_name(option)} | {_default(option)} | {_cell(option.doc)} |" for option in unused
    ]
    return "\n".join(lines) + "\n"


def _row(option: Option[Any]) -> str:
    scopes = ", ".join(option.scopes)
    allowed = option.parser.allowed
    doc = f"{option.doc} Allowed: {allowed}."
    if option.aliases:
        doc += " Also: " + ", ".join(f"`{alias}`" for alias in option.aliases) + "."
    if option.secret:
        doc += " Never shown."
    return f"| {_name(option)} | {_default(option)} | {scopes} | {_cell(doc)} |"


def _name(option: Option[Any]) -> str:
    shown = option.full_key if not option.bare else option.key
    return f"`{shown}.<column>`" if option.per_field else f"`{shown}`"


def _default(option: Option[Any]) -> str:
    value = option.default
    if value is None or value in ((), ""):
        return "-"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return f"`{','.join(value)}`"
    if isinstance(value, int) and option.parser.allowed.startswith("bytes"):
        for unit, letter in _UNITS:
            if value and value % unit == 0:
                return f"`{value // unit}{letter}`"
    return f"`{value}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def errors() -> str:
    """Render the page of all errors."""
    lines = [
        "# Errors",
        "",
        "<!-- written by docs/generate.py from python/indextables/errors.py; edit there -->",
        "",
        "Every error is an `IndexTablesError` and reads",
        "`[CODE] what happened; hint: what to do`.",
        "The class tells a program how to react; the code identifies the error.",
        "",
        "| code | class | SQLSTATE | message | what to do |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| `{code}` | `{row.error.__name__}` | {row.sqlstate} | {_cell(row.template)} |"
        f" {_cell(row.hint)} |"
        for code, row in sorted(CODES.items())
    ]
    return "\n".join(lines) + "\n"


_SQL = """\
Commands run from `spark.sql`, from the command line and from Python. A table is identified by its
quoted path or by its name in the catalog. Keywords are case-insensitive and clauses must be in the
order shown. A trailing `;` and comments are allowed. `TANTIVY4SPARK` is accepted in place of `INDEXTABLES`.

If two forms of a command are shown, the second is Delta Lake's syntax. It works on IndexTables
tables if no other extension claims it; for other tables Spark handles the statement.

Sizes are bytes or integers with M or G. Predicates select partitions and compare values as the type of
their columns: `month > 9` compares numbers.""".splitlines()


_FUNCTIONS = """\
## Functions

### Search

`column indexquery 'query'` searches any column, `TEXTSEARCH` only text columns, `FIELDMATCH` only columns that are indexed as whole
values. Use them in WHERE. `* indexquery 'query'` and `indexqueryall('query')` search all columns. The functions `indexquery(column,
'query')`, `textsearch` and `fieldmatch` are equivalent; the column can also be a string with its name, and each function is also
available with the prefix `tantivy4spark_`. The query is a string, a parameter or a session variable; NULL matches nothing.

### Tokens

`indextables_analyze(text)`, `indextables_analyze(text, 'tokenizer')` and `indextables_analyze(text, column)` show the tokens that an index stores for a text: an
array of structs with `text`, `position`, `start` and `end` (bytes of UTF-8). A column of an IndexTables table is analyzed as it is indexed; with a second
argument, any string is analyzed with that tokenizer, or as that column is indexed. Requires Spark 4.1 or newer.

```text
SELECT indextables_analyze('api.OrderService', 'identifiers').text
```

### Typical words

`indextables_significant_terms('table', 'column', 'query'[, limit[, 'condition']])` returns the words that are more frequent in the rows of a search than in
all rows, most typical first: `word`, `rows` (of the search), `all_rows` (of the table) and `score`. The table is given by its name or path, the query may be NULL, the
limit defaults to 10, and the condition is one that [plain Python](python.md#count) accepts. All arguments are constants. In a search with more than 10,000 rows, only the best
matches are read; words of a single row are left out.

```text
SELECT word, score FROM indextables_significant_terms('logs', 'message', 'level:ERROR', 20)
```

### Buckets

These functions are group keys that the index computes. The arguments after the column are constants.

| function | column | result |
|---|---|---|
| `{histogram}` | a number | double: start of the bucket |
| `{date_histogram}` | a date or timestamp | timestamp: start of the bucket |
| `{range}` | a number | string: name of the range |

- `interval`: a number above 0; for dates a number with `ms`, `s`, `m`, `h`, `d`, `w`, `M` (months), `q`, `y`, or a unit name, as in `'15m'`,
  `'1 day'`, `'month'`. Months, quarters and years follow the calendar in UTC.
- `offset` shifts the start of every bucket: a number, or an interval of a fixed length such as `'-1h'`. The default is 0.
- `min_doc_count`: minimum number of rows per group, 1 by default. 0, which would ask for empty buckets, is rejected: join the
  groups with `sequence(...)` to fill gaps.
- `from` is inclusive, `to` is exclusive; NULL means no bound. Ranges cannot overlap.
- A row without a value, or outside all ranges, is in the group NULL.

```text
SELECT indextables_date_histogram(ts, '1 hour') AS hour, count(*) FROM events GROUP BY 1 ORDER BY 1
```""".format(
    **{name.removeprefix("indextables_"): form for name, form in FORMS.items()}
).splitlines()


def sql() -> str:
    """Render the page of all commands."""
    lines = [
        "# SQL commands",
        "",
        "<!-- written by docs/generate.py from python/indextables/commands -->",
        "",
    ]
    lines += [*_SQL, "", *_FUNCTIONS]
    for rule in sorted((rule for rule in RULES if not rule.borrowed), key=_title):
        lines += ["", f"## {_title(rule)}", "", inspect.getdoc(rule.command) or ""]
        ways = [rule, *(r for r in RULES if r.borrowed and r.command is rule.command)]
        lines += ["", "```text", *(_wrapped(usage(way)) for way in ways), "```"]
        lines += ["", "| column | type |", "|---|---|"]
        fields = rule.output.fields
        lines += [f"| `{field.name}` | {_type(field.type)} |" for field in fields]
    return "\n".join(lines) + "\n"


def _title(rule: Rule) -> str:
    words = [word for word in shown_words(rule.start).split() if word not in PRODUCT]
    return " ".join(
        word for word in words if word not in ("AT", "FROM", "INDEXFILES", "INDEXTABLE")
    )


def _wrapped(text: str) -> str:
    """One clause per line where the command is long."""
    return text if len(text) <= _WIDTH else text.replace(" [", "\n  [")


def _type(kind: DataType) -> str:
    if isinstance(kind, Struct):
        inside = ", ".join(f"`{field.name}` {_type(field.type)}" for field in kind.fields)
        return f"struct of {inside}"
    return {"long": "bigint", "integer": "int"}.get(str(kind.to_json()), str(kind.to_json()))


_CLI = """\
`indextables` inspects and maintains tables from a shell. All commands work without Java and Spark,
except `sql` with a query, `doctor --spark` and `demo`.

| exit code | meaning |
|---|---|
| 0 | success |
| 1 | failure; one message on standard error gives the reason |
| 2 | invalid command line |

Results go to standard output, as tables or, with `--json`, as an array of objects. Progress and
errors go to standard error. Set credentials and other settings with `--conf`, or as described in
[Object stores](guides/object-stores.md).""".splitlines()


def cli() -> str:
    """Render the page of the command line."""
    group: Any = get_command(app)
    written = "<!-- written by docs/generate.py from python/indextables/cli; edit there -->"
    lines = ["# Command line", "", written, "", *_CLI]
    for command in group.commands.values():
        lines += _cli_command(command)
    return "\n".join(lines) + "\n"


def _cli_command(command: Any) -> list[str]:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
    shown = " ".join(["indextables", command.name, *(_argument(a) for a in arguments)])
    lines = ["", f"## {command.name}", "", inspect.cleandoc(command.help or "")]
    lines += ["", "```text", shown + (" [OPTIONS]" if options else ""), "```"]
    rows = [(_argument(a), a.help) for a in arguments] + [(_flag(o), o.help) for o in options]
    if rows:
        lines += ["", "| | |", "|---|---|"]
        lines += [f"| `{shown}` | {_cell(text or '')} |" for shown, text in rows]
    return lines


def _argument(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _flag(option: Any) -> str:
    names = ", ".join([*option.opts, *option.secondary_opts])
    return names if option.is_flag else f"{names} {option.metavar or option.name.upper()}"


_PYTHON = """\
Use `indextables` with a Spark session, or without Spark to inspect, search, write and change tables from plain Python.

## With Spark

```python
import indextables
from indextables import IndexTable
from indextables.spark.functions import indexquery
from pyspark.sql import SparkSession

spark = indextables.configure(SparkSession.builder).getOrCreate()
rows = [(1, "timeout of payment"), (2, "cart opened"), (3, "a timeout, again")]
frame = spark.createDataFrame(rows, "id long, message string")
frame.write.format("indextables").option("indexing.typemap.message", "text").save("/tmp/python-api")

table = IndexTable.forPath(spark, "/tmp/python-api")
table.search("timeout", ["id"], limit=2).show()
assert table.toDF().where(indexquery("message", "timeout AND NOT payment")).count() == 1
table.history().select("version", "operation").show()
```

## Without Spark

```python
import indextables
import pyarrow as pa

more = pa.table({"id": [4], "message": ["the cart timed out"]})
indextables.write(more, "/tmp/python-api")
table = indextables.open("/tmp/python-api")
assert table.num_rows == 4
best = table.search("cart", ["id", "message"], limit=1)
print(best.to_pandas())
assert table.scan(["id"], where="id > 2").num_rows == 2
assert table.scan(["id"], order_by=["id DESC"], limit=1)["id"].to_pylist() == [4]
assert table.count("id < 3", query="timeout") == 1
found = table.aggregate({"rows": "count(*)", "last": "max(id)"}, by=["message"], order_by=["last"])
assert found.num_rows == 4
assert indextables.update("/tmp/python-api", {"message": "resolved"}, where="id = 1") == 1
assert indextables.delete("/tmp/python-api", query="message:timeout") == 1
```

`indextables.open` shows the table at one version and plans a statement once, so keep the object for
statements that you repeat. Appends may come from many threads at once: those that wait for
each other share a version.

Reads are planned as in Spark: partition values and statistics prune splits, the transaction log and
the index answer counts and aggregates if they can do so exactly, and a query that they cannot
answer exactly is an error.

Results are Arrow tables: `.to_pandas()`, `polars.from_arrow(...)` and DuckDB use them directly.""".splitlines()

_PACKAGE = HERE.parent / "python" / "indextables"
_API = (
    ("indextables", "api/local.py", None, ("open",)),
    ("indextables", "api/write.py", None, ("write",)),
    ("indextables", "spark/progress.py", None, ("progress",)),
    ("indextables", "api/changes.py", None, ("delete", "update")),
    ("indextables", "spark/session.py", None, ("configure", "spark_conf")),
    ("indextables.spark.functions", "spark/functions.py", None, ()),
    ("Table, from indextables.open", "api/local.py", "Table", ()),
    ("IndexTable", "api/table.py", "IndexTable", ()),
)


def python() -> str:
    """Render the page of the Python API from the source, without importing it."""
    written = "<!-- written by docs/generate.py from the docstrings; edit there -->"
    lines = ["# Python", "", written, "", *_PYTHON]
    for title, file, owner, names in _API:
        tree = ast.parse((_PACKAGE / file).read_text(encoding="utf-8"))
        body = tree.body
        if owner is not None:
            found = next(n for n in body if isinstance(n, ast.ClassDef) and n.name == owner)
            body = found.body
        head = f"## {title}"
        lines += ["", head] if head not in lines else []
        for node in body:
            shown = isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
            if shown and (not names or node.name in names):
                lines += _function(node)
    return "\n".join(lines) + "\n"


def _function(node: ast.FunctionDef) -> list[str]:
    marks = {ast.unparse(mark) for mark in node.decorator_list}
    given = ast.unparse(node.args).replace("self, ", "").replace("cls, ", "")
    signature = f"{node.name}({'' if given in ('self', 'cls') else given})"
    if marks & {"property", "cached_property"}:
        signature = node.name
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    text = (ast.get_docstring(node) or "").split("\n>>>")[0].strip()
    return ["", f"### {node.name}", "", "```text", signature + returns, "```", "", text]


PAGES = {
    "cli.md": cli,
    "configuration.md": configuration,
    "errors.md": errors,
    "python.md": python,
    "sql.md": sql,
    # the words by which the parser hook knows our statements
    "../jvm/resources/statements.txt": statements,
}


def main(arguments: list[str]) -> int:
    """Write or check all pages."""
    stale = []
    for name, render in PAGES.items():
        path, text = HERE / name, render()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8")
    if stale and "--check" in arguments:
        sys.stderr.write(f"stale: {', '.join(stale)}; run `make docs`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
