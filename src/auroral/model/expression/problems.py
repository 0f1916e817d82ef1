"""Errors about one expression: each shows the text and points into it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from auroral.model.errors import DiagramError, Problem

_SHOWN_EACH_SIDE = 40
_INDENT = "\n        "


class ExpressionError(DiagramError):
    """All that is wrong with one expression."""

    def __init__(self, text: str, problems: Iterable[Problem]):
        self.text = text
        super().__init__(problems)


class NotRegistered(ExpressionError):
    """Nothing is wrong but that functions are not known which Borealis' users wrote, and which files of theirs call."""


# Of a module of Borealis for rectangles that move.
_SPATIAL = ("overlap1", "overlap2", "contained1", "contained2")


def users_wrote(name: str) -> bool:
    """Whether a function or aggregate has a name that those of Borealis' users and modules have: LRSecToMin, FidAlarmCounter."""
    return name.startswith(("lr", "fid")) or name in _SPATIAL


def point(problem: Problem, text: str, at: int) -> Problem:
    """The same problem, with the text of the expression and a caret under position `at`."""
    flat = re.sub(r"[\x00-\x1f\x7f]", " ", text)
    start, end = max(0, at - _SHOWN_EACH_SIDE), at + _SHOWN_EACH_SIDE
    before = ("..." if start else "") + flat[start:at]
    after = flat[at:end] + ("..." if end < len(flat) else "")
    shown = f"{_INDENT}{before}{after}{_INDENT}{' ' * len(before)}^"
    return replace(problem, what=f"{problem.what}, at column {at + 1}:{shown}")
