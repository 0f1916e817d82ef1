"""The SQL text of expressions: readable, with no more casts than needed, and closed in itself."""

from __future__ import annotations

import pytest

from auroral.engine.expression import to_sql
from auroral.model.expression import Scope, parse, resolve, sql
from auroral.model.expression.evaluate import evaluate
from engine.expressions import FIELDS, SCOPE, backquoted, typed_as


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i + j * 2", "i + j * 2"),
        ("(i + j) * 2", "(i + j) * 2"),
        ("i - (j - 1)", "i - (j - 1)"),
        ("i - -1", "i - (-1)"),
        ("- - i", "-(-i)"),
        ("n + n", "CAST(n AS INT) + n"),
        ("l + i", "l + i"),
        ("x * i", "x * i"),
        ("x + 1", "x + 1.0D"),
        ("i / 2", "CAST(i DIV 2 AS INT)"),
        ("l / 1000", "l DIV 1000L"),
        ("x / 2", "x / 2.0D"),
        ("x / y", "CASE WHEN y = 0 THEN x * CAST('Infinity' AS DOUBLE) ELSE x / y END"),
        ("s = 'it''s'", r"s = 'it\'s'"),
        ("not c and i = 1 or k", "NOT c AND i = 1 OR k"),
        ("(c or k) and c", "(c OR k) AND c"),
        ("not (i = 1)", "NOT (i = 1)"),
        ("i = 1 != c", "(i = 1) != c"),
        ("if i > 0 then 1 else if c then 2 else 3", "CASE WHEN i > 0 THEN 1 WHEN c THEN 2 ELSE 3 END"),
        ("d + 1", "d + 1BD"),
        ("d > 5", "d > 5"),
        ("t - u", "unix_micros(t) - unix_micros(u)"),
        ("s + r", "s || r"),
        ("sqrt(i)", "sqrt(i)"),
        ("max(i, 0)", "CASE WHEN i IS NULL THEN NULL ELSE greatest(i, 0) END"),
    ],
)
def test_the_text_is_readable(text: str, expected: str) -> None:
    assert to_sql(typed_as(text), lambda _, name: name) == expected


def test_columns_are_named_by_the_caller() -> None:
    scope = Scope.named(left=FIELDS, right=FIELDS)
    typed = resolve(parse("left.i = right.i and right.stime > left.stime"), scope)
    expected = "l.i = r.i AND r.stime > l.stime"
    assert to_sql(typed, lambda qualifier, name: f"{(qualifier or '?')[0]}.{name}") == expected


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("upper(s)", "upper((`s`))"),
        ("s -- as it is", "(`s`)"),
        ("trim(/* both */ s)", "trim( (`s`))"),
        # What stands in a string must mean nothing in the statement as a whole.
        (r"'a`b' || r'\d${x}' || '\\`' || '\${y}' || '$z'", r"'a`b' || '\\d\u0024{x}' || '\\`' || '\u0024{y}' || '$z'"),
        ("'a\nb\\\nc' || '\\\\\n'", r"'a\u000ab\u000ac' || '\\\u000a'"),
    ],
)  # fmt: skip
def test_sql_is_cast_to_its_type_and_cannot_reach_beyond(text: str, written: str) -> None:
    typed = resolve(sql(text, "string"), SCOPE)
    assert to_sql(typed, backquoted) == f"CAST((\n{written}\n) AS STRING)"


@pytest.mark.parametrize("text", ["now()", "rand()", "sequence()"])
def test_what_cannot_be_repeated_has_no_sql_and_no_value(text: str) -> None:
    typed = typed_as(text)
    with pytest.raises(ValueError, match="cannot be repeated"):
        to_sql(typed, backquoted)
    with pytest.raises(ValueError, match="cannot be repeated"):
        evaluate(typed, {})
