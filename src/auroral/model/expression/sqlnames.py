"""What can be said of a Spark SQL expression without Spark: which fields it reads, and what cannot stand in a box.

This is no parser. It goes through the tokens once and knows the few places where a word is not a column: calls, types, units
of time, lambda variables, keywords. What it lets pass is judged by Spark before a run begins (`auroral.engine.judging`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from auroral.model.errors import Problem
from auroral.model.expression.problems import ExpressionError, point
from auroral.model.expression.scope import Scope
from auroral.model.expression.sqlrefused import (
    CLOCK_WORDS,
    TIME_WORDS,
    is_whole_time,
    not_repeatable,
    refused_function,
)
from auroral.model.expression.sqltokens import SqlKind, SqlToken, sql_tokens, words
from auroral.model.expression.syntax import Name
from auroral.model.expression.typed import FieldRef, SqlColumn, SqlExpression

LARGEST_TEXT = 64 * 1024

_KEYWORDS = words(
    "all and any as between both case collate distinct div else end escape exists false for from ilike in is leading like"
    " not null or placing regexp rlike some then trailing true unknown when"
)
_UNIT = words("nanosecond microsecond millisecond second minute hour day week month quarter year dayofyear")
_UNITS = _UNIT | {unit + "s" for unit in _UNIT}
_TAKE_A_UNIT = words("dateadd date_add datediff date_diff timestampadd timestampdiff")
_QUERIES = frozenset(("values", "table", "from", "with"))
_CLOSING = {")": "(", "]": "["}
# All control characters but white space.
_UNPRINTABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
_NAMES = (SqlKind.WORD, SqlKind.QUOTED)


def judged(expression: SqlExpression, scope: Scope) -> SqlExpression:
    """The expression with the fields that it reads. Raises one ExpressionError with all that is wrong in it."""
    text = expression.text
    if len(text) > LARGEST_TEXT:
        what = f"the SQL expression has {len(text):,} characters"
        raise ExpressionError(
            text, [Problem(what, allowed=f"at most {LARGEST_TEXT:,}", next_step="split it over several map boxes")]
        )
    tokens = [token for token in sql_tokens(text) if token.kind is not SqlKind.COMMENT]
    problems = list(_shape_problems(text, tokens))
    reader = _Reader(tokens, scope)
    if not problems:
        reader.read()
        problems = reader.problems
    if problems:
        problems.sort(key=lambda found: found[0])
        raise ExpressionError(text, [point(_in_sql(problem), text, at) for at, problem in problems])
    return replace(expression, columns=tuple(reader.columns))


def _in_sql(problem: Problem) -> Problem:
    return replace(problem, what=f"in SQL, {problem.what}")


def _shape_problems(text: str, tokens: list[SqlToken]) -> Iterator[tuple[int, Problem]]:
    """What would let the text end elsewhere than where it seems to end."""
    if not tokens:
        yield 0, Problem("there is nothing but comments", allowed="one expression", next_step="write an expression")
    open_signs: list[SqlToken] = []
    for token in tokens:
        if token.kind is SqlKind.UNCLOSED:
            sign = "*/" if token.text.startswith("/*") else token.text[0]
            yield (
                token.at,
                Problem(
                    "what starts here has no end",
                    allowed="comments, texts and names that are closed",
                    next_step=f"close it with {sign}",
                ),
            )
        if token.text in (";", "$") or _UNPRINTABLE.search(token.text):
            yield (
                token.at,
                Problem(
                    f"{token.text!r} cannot stand in an expression",
                    allowed="one expression",
                    next_step="leave it out; write several expressions as several fields",
                ),
            )
        if token.text in ("(", "["):
            open_signs.append(token)
        elif token.text in _CLOSING and (not open_signs or open_signs.pop().text != _CLOSING[token.text]):
            yield (
                token.at,
                Problem(
                    f"nothing is open that {token.text!r} could close",
                    allowed="pairs of ( ) and [ ]",
                    next_step="remove it, or open what it is to close",
                ),
            )
            return
    for token in open_signs:
        yield (
            token.at,
            Problem(
                f"{token.text!r} is not closed", allowed="pairs of ( ) and [ ]", next_step="close it where it ends"
            ),
        )


class _Reader:
    def __init__(self, tokens: list[SqlToken], scope: Scope):
        self._tokens, self._scope = tokens, scope
        self._qualifiers = {qualifier for qualifier, _ in scope.inputs}
        self._inside = _enclosing(tokens)
        self._skipped: set[int] = set()
        self._bound: list[tuple[str, int, int]] = []
        self.columns: list[SqlColumn] = []
        self.problems: list[tuple[int, Problem]] = []

    def read(self) -> None:
        for i, token in enumerate(self._tokens):
            if token.text == "->":
                self._lambda(i)
            elif token.word == "as":
                self._skip(i + 1, self._end_of_part(i, "<>"))
            elif token.text == "::":
                self._type(i + 1)
            elif token.word == "interval":
                self._interval(i)
            elif token.text == "*" and self._text(i - 1) in ("(", ",", "."):
                self._report(
                    i,
                    Problem(
                        "* stands for all columns, hidden ones too",
                        allowed="columns by name",
                        next_step="name the columns",
                    ),
                )
        for i, token in enumerate(self._tokens):
            if token.kind in _NAMES and i not in self._skipped and self._text(i - 1) != ".":
                self._name(i)

    def _report(self, i: int, problem: Problem) -> None:
        self.problems.append((self._tokens[i].at, problem))

    def _text(self, i: int) -> str:
        return self._tokens[i].text if 0 <= i < len(self._tokens) else ""

    def _word(self, i: int) -> str:
        return self._tokens[i].word if 0 <= i < len(self._tokens) else ""

    def _is(self, i: int, kind: SqlKind) -> bool:
        return 0 <= i < len(self._tokens) and self._tokens[i].kind is kind

    def _skip(self, first: int, end: int) -> None:
        self._skipped.update(range(first, end))

    def _end_of_part(self, i: int, brackets: str) -> int:
        """Where the argument ends that token i is in: at the comma behind it, or at the end of what it stands in."""
        depth = 0
        for j in range(i + 1, len(self._tokens)):
            text = self._text(j)
            if depth == 0 and text in (",", *_CLOSING):
                return j
            depth += (text in "([" + brackets[:1]) - (text in ")]" + brackets[1:])
        return len(self._tokens)

    def _type(self, first: int) -> None:
        """The type behind `::`, with what it has in brackets."""
        end, depth = first + 1, 0
        while self._text(end) in ("(", "<") or depth > 0:
            depth += (self._text(end) in ("(", "<")) - (self._text(end) in (")", ">", ""))
            end += 1
        self._skip(first, end)

    def _interval(self, i: int) -> None:
        """INTERVAL 1 DAY, INTERVAL '1-2' YEAR TO MONTH: the units are no columns."""
        j = i + 1 + (self._text(i + 1) in ("+", "-"))
        if not (self._is(j, SqlKind.NUMBER) or self._is(j, SqlKind.STRING)):
            return
        while self._is(j, SqlKind.NUMBER) or self._is(j, SqlKind.STRING) or self._word(j) in (*_UNITS, "to"):
            j += 1
        self._skip(i, j)

    def _lambda(self, i: int) -> None:
        """x -> ... or (x, y) -> ...: the variables hide fields up to the end of the argument."""
        end = self._end_of_part(i, "")
        first = i - 1
        if self._text(i - 1) == ")":
            first = self._opening(i - 1)
        for j in range(first, i):
            if self._tokens[j].kind in _NAMES:
                self._bound.append((self._tokens[j].name, first, end))

    def _opening(self, i: int) -> int:
        return next((j for j in range(i - 1, -1, -1) if self._text(j) == "(" and self._inside[i] == self._inside[j]), i)

    def _name(self, i: int) -> None:
        """A word or name that no dot stands before: a call, a keyword, a variable or a column."""
        end = i + 1
        while self._text(end) == "." and end + 1 < len(self._tokens) and self._tokens[end + 1].kind in _NAMES:
            end += 2
        single = end == i + 1
        if single and self._is_query(i):
            self._report(
                i,
                Problem("a subquery reads other rows", allowed="functions of one row", next_step="use a join box"),
            )
        elif single and self._word(i) == "over" and self._text(i - 1) == ")":
            self._report(
                i,
                Problem("OVER looks at other rows", allowed="functions of one row", next_step="use an aggregate box"),
            )
        elif self._text(end) == "(":
            self._call(i, end)
        elif not (single and self._is_syntax(i)) and not self._is_bound(i):
            self._column(i, end)

    def _is_query(self, i: int) -> bool:
        word = self._word(i)
        if self._known(i):
            return False
        trimmed = self._word(self._inside[i] - 1) == "trim"
        return word == "select" or (word in _QUERIES and self._text(i - 1) in ("(", "") and not trimmed)

    def _known(self, i: int) -> bool:
        return not isinstance(self._scope.find(Name(0, None, self._tokens[i].name)), Problem)

    def _call(self, i: int, opening: int) -> None:
        word = self._word(i)
        before = self._word(i - 1)
        if word in ("any", "some", "all") and before in ("like", "ilike"):
            return
        if word in _KEYWORDS and word not in ("any", "some"):
            return
        problem = refused_function(self._tokens[opening - 1].name.lower(), self._text(opening + 1) == ")")
        if problem is not None:
            self._report(i, problem)

    def _is_syntax(self, i: int) -> bool:
        word = self._word(i)
        if not word:
            return False
        if word in TIME_WORDS and self._is(i + 1, SqlKind.STRING):
            if not is_whole_time(word, self._text(i + 1).lstrip("rR")[1:-1]):
                self._report(i, not_repeatable(f"{word} {self._text(i + 1)}"))
            return True
        if word == "x" and self._is(i + 1, SqlKind.STRING):
            return True
        if self._text(i + 1) == "=>" or self._word(i - 1) == "collate":
            return True
        called = self._word(self._inside[i] - 1) if self._text(i - 1) == "(" else ""
        if called == "extract" and self._word(i + 1) == "from":
            return True
        if called in _TAKE_A_UNIT and word in _UNITS and not self._known(i):
            return True
        return word in _KEYWORDS

    def _is_bound(self, i: int) -> bool:
        return any(self._tokens[i].name == name and first <= i < end for name, first, end in self._bound)

    def _column(self, i: int, end: int) -> None:
        head = self._tokens[i]
        qualified = end > i + 1 and head.name in self._qualifiers
        last = self._tokens[i + 2] if qualified else head
        name = Name(head.at, head.name if qualified else None, last.name)
        found = self._scope.find(name)
        if not isinstance(found, Problem):
            self.columns.append(SqlColumn(head.at, last.end, FieldRef(found[1], found[0], name.name)))
        elif head.word in CLOCK_WORDS:
            self._report(i, not_repeatable(head.word))
        else:
            self._report(i, found)


def _enclosing(tokens: list[SqlToken]) -> list[int]:
    """For each token the position of the bracket that it stands in, -1 outside of all; a bracket stands outside itself."""
    inside: list[int] = []
    opened: list[int] = [-1]
    for i, token in enumerate(tokens):
        if token.text in _CLOSING and len(opened) > 1:
            opened.pop()
        inside.append(opened[-1])
        if token.text in ("(", "["):
            opened.append(i)
    return inside
