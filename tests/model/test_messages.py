"""Every error about a diagram says what is allowed and what to do next.

The signatures of what makes errors want both, so mypy finds a call without; `conftest.py` judges the texts of each error that a test
of the model meets. Here are calls that no test comes to, and expressions that cannot be read.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import auroral.model
from auroral.model.errors import DiagramError, Problem
from auroral.model.expression import ExpressionError, parse, parse_aggregate

FOLDER = Path(auroral.model.__file__).parent
# What makes or notes a problem, and where in its call what is allowed and the next step may stand.
MAKERS = {
    "Problem": (2, 3),
    "report.add": (1, 2),
    "self.report": (2, 3),
    "resolver.report": (2, 3),
    "notes.error": (2, 3),
    "self.notes.error": (2, 3),
    "self.error": (2, 3),
    "parameters.fail": (1, 2),
    "given.refuse": (2, 3),
    "refuse": (2, 3),
    "_wrong": (3, 4),
    "pointed": (3, 4),
    "at.add": (1, 2),
    "self._error": (2, 3),
    "Refused": (2, 3),
}


def lacking(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or (place := MAKERS.get(ast.unparse(node.func))) is None:
            continue
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        for word, position in zip(("allowed", "next_step"), place, strict=True):
            said = node.args[position] if len(node.args) > position else named.get(word)
            if said is None or (isinstance(said, ast.Constant) and not said.value):
                yield node.lineno, word


def test_problems_have_both() -> None:
    found = [
        f"{path.relative_to(FOLDER)}:{line} lacks {word}"
        for path in sorted(FOLDER.rglob("*.py"))
        for line, word in lacking(path.read_text())
    ]
    assert found == []


def test_what_lacks_one_is_found() -> None:
    assert list(lacking('Problem("x", place, allowed="y")')) == [(1, "next_step")]
    assert list(lacking('report.add("x")')) == [(1, "allowed"), (1, "next_step")]
    assert list(lacking('notes.error(element, "x", "y", "z")')) == []
    assert list(lacking('Refused(1, "x", None, next_step="")')) == [(1, "allowed"), (1, "next_step")]


def test_the_tests_of_the_model_judge_each_error() -> None:
    with pytest.raises(AssertionError, match="'x' lacks"):
        raise DiagramError([Problem("x", allowed="y", next_step="")])


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("n is null", "auroral.sql('x is null', 'bool')"),
        ("n is not null", "auroral.sql('x is null', 'bool')"),
        ("n like 'a'", "auroral.sql('x like ...', 'bool')"),
        ("n not like 'a'", "not stands before"),
        ("host in ('a')", "x = 1 or x = 2"),
        ("n between 1 and 3", "x >= 1 and x <= 3"),
        ("case when n = 1 then 2 end", "if CONDITION then VALUE else VALUE"),
        ("cast(n as int)", "int(x)"),
        ("n::int", "int(x)"),
        ("`n`", "write the name alone"),
        ("n <> 1", "!="),
        ("n & 1", "&&"),
        ("n | 1", "||"),
        ("(n", "missing at its end"),
        ("n =", "missing at its end"),
        ("", "write one"),
        ("n = 1)", "remove it"),
        ("n m", "put an operator between"),
        ("n >= => 2", "a value before it"),
        ("12abc", "names begin with a letter"),
        ("'abc", "close it with '"),
        ("1e400", "a smaller one"),
        ("1e39f", "a smaller one"),
        ("99999999999999999999", "as a float"),
        ("$x", "remove it"),
        ("field(n)", "quotes around the name"),
        ("a.b('c')", "functions have no prefix"),
        (r"'\ud800'", "the character itself"),
        ("'\ud800'", "remove it"),
    ],
)
def test_an_expression_that_cannot_be_read_says_what_to_write(text: str, step: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    (problem,) = caught.value.problems
    assert problem.allowed
    assert step in (problem.next_step or "")


@pytest.mark.parametrize("text", ["", "sum(", "n + 1", "sum(*)", "sum(n) + 1"])
def test_a_call_that_cannot_be_read_says_what_to_write(text: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_aggregate(text)
    assert all(problem.allowed and problem.next_step for problem in caught.value.problems)
