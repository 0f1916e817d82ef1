"""Every error about a diagram says what is allowed and what to do next."""

import ast
from collections.abc import Iterator
from pathlib import Path

import auroral.model

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
}


def lacking(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or (place := MAKERS.get(ast.unparse(node.func))) is None:
            continue
        named = {keyword.arg for keyword in node.keywords}
        for word, position in zip(("allowed", "next_step"), place, strict=True):
            if word not in named and len(node.args) <= position:
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
