"""Spark SQL cut into tokens: just enough to tell names from strings, comments and numbers, as Spark's own lexer does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class SqlKind(StrEnum):
    WORD = "word"
    QUOTED = "quoted"
    """A name in backticks."""
    STRING = "string"
    NUMBER = "number"
    SIGN = "sign"
    COMMENT = "comment"
    UNCLOSED = "unclosed"
    """A quote or bracketed comment without its end; the rest of the text is part of it."""


@dataclass(frozen=True, slots=True)
class SqlToken:
    kind: SqlKind
    text: str
    at: int

    @property
    def end(self) -> int:
        return self.at + len(self.text)

    @property
    def name(self) -> str:
        """The name that the token spells, without backticks."""
        return self.text[1:-1].replace("``", "`") if self.kind is SqlKind.QUOTED else self.text

    @property
    def word(self) -> str:
        """The word in lower case; empty where the token is none."""
        return self.text.lower() if self.kind is SqlKind.WORD else ""


_TOKEN = re.compile(
    r"""
      (?P<comment>--(?:\\\n|[^\r\n])*)
    | (?P<string>[rR]'[^']*' | [rR]"[^"]*" | '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*")
    | (?P<quoted>`(?:[^`]|``)*`)
    | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:[lLsSyYfFdD]|[bB][dD])?(?!\w))
    | (?P<word>\w+)
    | (?P<unclosed>['"`].*)
    | (?P<sign>->|=>|::|<=>|\|\||\S)
    """,
    re.DOTALL | re.VERBOSE,
)
_SPACE = re.compile(r"\s*")
_BRACKET = re.compile(r"/\*|\*/")


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def sql_tokens(text: str) -> list[SqlToken]:
    """All tokens but white space."""
    found = []
    at = _end_of_space(text, 0)
    while at < len(text):
        token = _bracketed(text, at) if text.startswith("/*", at) else _plain(text, at)
        found.append(token)
        at = _end_of_space(text, token.end)
    return found


def _end_of_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _plain(text: str, at: int) -> SqlToken:
    match = _TOKEN.match(text, at)
    assert match is not None and match.lastgroup is not None, "any character but white space is a sign"
    return SqlToken(SqlKind(match.lastgroup), match[0], at)


def _bracketed(text: str, at: int) -> SqlToken:
    """A comment in /* */. They nest, unlike C's."""
    depth = 0
    for mark in _BRACKET.finditer(text, at):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return SqlToken(SqlKind.COMMENT, text[at : mark.end()], at)
    return SqlToken(SqlKind.UNCLOSED, text[at:], at)
