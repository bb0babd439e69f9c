"""The rewriting of search operators in SQL text."""

from __future__ import annotations

import pytest

CASES = [
    ("a indexquery 'x'", "indexquery(a, 'x')"),
    ("t.`b c`.d INDEXQUERY 'it''s'", "indexquery(t.`b c`.d, 'it''s')"),
    ('a indexquery "x"', 'indexquery(a, "x")'),
    ("a indexquery r'x\\'", "a indexquery r'x\\'"),
    ("a indexquery r'x\\d'", "indexquery(a, r'x\\d')"),
    ("a indexquery 'x' 'y' AND b", "indexquery(a, 'x' 'y') AND b"),
    ("a textsearch :q or b fieldmatch ?", "textsearch(a, :q) or fieldmatch(b, ?)"),
    ("a indexquery concat('x', (b))", "indexquery(a, concat('x', (b)))"),
    ("* indexquery 'x'", "indexqueryall('x')"),
    ("WHERE _indexall indexquery 'x'", "WHERE indexqueryall('x')"),
    ("WHERE t._indexall textsearch 'x'", "WHERE textsearchall(t._indexall, 'x')"),
    ("WHERE t.* fieldmatch 'x'", "WHERE fieldmatchall(t._indexall, 'x')"),
    ("NOT a indexquery 'x'", "NOT indexquery(a, 'x')"),
    ("(a) indexquery 'x'", "indexquery((a), 'x')"),
    ("NOT (a || 'b') indexquery 'x'", "NOT indexquery((a || 'b'), 'x')"),
    ("WHERE a['b'] indexquery 'x'", "WHERE indexquery(a['b'], 'x')"),
    ("t.a[0].`b c`['d'] textsearch :q", "textsearch(t.a[0].`b c`['d'], :q)"),
    ("a[b[1]] indexquery 'x'", "indexquery(a[b[1]], 'x')"),
    ("upper(a) indexquery 'x'", "indexquery(upper(a), 'x')"),
    ("f (a, (b)).c fieldmatch 'x'", "fieldmatch(f (a, (b)).c, 'x')"),
    ("AND (f(a)) indexquery 'x'", "AND indexquery((f(a)), 'x')"),
    ("a] indexquery 'x'", "a] indexquery 'x'"),
    ("a) indexquery 'x'", "a) indexquery 'x'"),
    ("SELECT count(*) indexquery FROM t", "SELECT count(*) indexquery FROM t"),
    ("a /* b */ indexquery -- c\n 'x'", "indexquery(a, -- c\n 'x')"),
    # left alone: literals, comments, calls, columns named like the operator
    ("SELECT 'a indexquery ''x'''", "SELECT 'a indexquery ''x'''"),
    ("-- a indexquery 'x'", "-- a indexquery 'x'"),
    ("/* a indexquery 'x' */", "/* a indexquery 'x' */"),
    ("indexquery(a, 'x')", "indexquery(a, 'x')"),
    ("WHERE indexquery (a, 'x')", "WHERE indexquery (a, 'x')"),
    ("SELECT indexquery FROM t", "SELECT indexquery FROM t"),
    ("SELECT a indexquery, b", "SELECT a indexquery, b"),
    ("WHERE indexquery = 'x'", "WHERE indexquery = 'x'"),
    ("WHERE `indexquery` indexquery 'x'", "WHERE indexquery(`indexquery`, 'x')"),
    ("SELECT 1", "SELECT 1"),
]


@pytest.mark.parametrize(("given", "expected"), CASES)
def test_operators_become_calls(spark, given, expected):
    sql = spark._jvm.org.apache.spark.sql.indextables.Sql
    assert sql.rewrite(given, sql.tokens(given)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MERGE SPLITS '/t'", True),
        ("-- note\n merge /* x */ splits '/t'", True),
        ("DESCRIBE INDEXTABLES STATE '/t'", True),
        ("describe tantivy4spark state '/t'", True),
        ("PURGE INDEXTABLE '/t'", True),
        ("CHECKPOINT INDEXTABLES '/t'", True),
        ("compact tantivy4spark", True),
        ("RESTORE INDEXTABLES `a b` TO VERSION AS OF 1", True),
        ("WAIT FOR INDEXTABLES PREWARM JOBS", True),
        ("REPAIR INDEXFILES TRANSACTION LOG '/t'", True),
        ("MERGE INTO t USING s ON true WHEN MATCHED THEN DELETE", False),
        ("DESCRIBE indextables", False),
        ("DESCRIBE indextables message", False),
        ("DESCRIBE indextables.`/path`", False),
        ("DROP TABLE indextables", False),
        ("SELECT 'MERGE SPLITS'", False),
    ],
)
def test_commands_are_recognised(spark, text, expected):
    hooks = spark._jvm.org.apache.spark.sql.indextables
    assert hooks.Statements.own(hooks.Sql.words(hooks.Sql.tokens(text))) is expected
