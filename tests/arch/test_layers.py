"""The picture in ARCHITECTURE.md, the import contracts and the code agree on the layers."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "indextables"
# entry points above every layer: the package itself, and the names that start Spark's workers
TOP = frozenset({"__init__", "pyspark_indextables"})
NAMED_MODULE = re.compile(r"^(?:indextables\.)?([a-z_]+)\.[a-z_]+(?::\w+)?$")


def picture() -> list[frozenset[str]]:
    """The rows of the drawing, top first."""
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    drawing = text.split("## The packages")[1].split("```")[1]
    rows = [
        # the names end where the explanation begins, which never starts with a slash
        re.match(r" (?:\w+)? *((?:\w+(?:/|\.py) *)+)", line)
        for line in drawing.strip("\n").split("\n")
    ]
    return [frozenset(re.findall(r"(\w+)(?:/|\.py)", row[1])) for row in rows if row]


def contract(name: str) -> dict[str, list[str]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    return next(each for each in contracts if each["name"] == name)


def layers() -> list[frozenset[str]]:
    """The layers of the import contract, top first."""
    lines = contract("a row imports only rows below it")["layers"]
    named = [{part.strip() for part in line.split(":")} for line in lines]
    return [
        frozenset(part.removeprefix("indextables.") for part in row)
        for row in named
        if row != {"pyspark_indextables"}
    ]


def modules() -> set[str]:
    found = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    # the package itself and `python -m indextables` are above all layers
    return found | {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}


def test_the_picture_is_the_contract():
    assert picture() == layers()


def test_every_module_has_a_layer():
    assert set().union(*layers()) == modules()


def test_pyspark_is_forbidden_everywhere_but_at_the_door():
    """`spark/` and `api/table.py` are the only modules that the contract leaves out."""
    forbidden = set(contract("pyspark is imported only at the Spark door")["source_modules"])
    api = {f"indextables.api.{path.stem}" for path in (PACKAGE / "api").glob("*.py")}
    expected = {f"indextables.{name}" for name in modules() - {"spark", "api"}} | api
    assert forbidden == expected - {"indextables.api.table", "indextables.api.__init__"}


def holes(tree: ast.AST, own: int, rank: dict[str, int]) -> list[str]:
    """Modules of a higher layer that strings name: an import by name could reach them."""
    strings = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    named = [(text, found[1]) for text in strings if (found := NAMED_MODULE.match(text))]
    return [text for text, layer in named if rank.get(layer, own) < own]


def imports_by_name(tree: ast.AST) -> bool:
    return any(
        (isinstance(node, ast.Name) and node.id in ("import_module", "__import__"))
        or (isinstance(node, ast.Attribute) and node.attr == "import_module")
        for node in ast.walk(tree)
    )


def test_imports_by_name_stay_within_their_layer():
    """import-linter does not see `import_module("indextables.…")`."""
    rank = {name: depth for depth, row in enumerate(layers()) for name in row}
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        tree = ast.parse(path.read_text("utf-8"))
        if own not in TOP and imports_by_name(tree) and (up := holes(tree, rank[own], rank)):
            found[str(path.relative_to(ROOT))] = up
    assert found == {}


def test_a_hole_is_found():
    """`read/` once reached a parser above it like this."""
    rank = {name: depth for depth, row in enumerate(layers()) for name in row}
    tree = ast.parse('import_module("indextables.sql.where").parse_where(text)')
    assert imports_by_name(tree)
    assert holes(tree, rank["read"], rank) == ["indextables.sql.where"]
    table = ast.parse('import_module(f"indextables.{location}"); location = "commands.caches:run"')
    assert holes(table, rank["runtime"], rank) == ["commands.caches:run"]
