"""Reading table SQL: text to statement; errors point into the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, lru_cache
from typing import cast

from lark import Lark, Token, UnexpectedInput
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from auroral.model.expression.build import Refused
from auroral.model.expression.grammar import SPOKEN as EXPRESSIONS
from auroral.model.expression.parse import MADE_OF, check_depth, check_text, pointed
from auroral.model.expression.problems import ExpressionError
from auroral.model.expression.syntax import Node
from auroral.model.tablesql.build import BuildStatement
from auroral.model.tablesql.grammar import GRAMMAR, SPOKEN
from auroral.model.tablesql.syntax import Insert, Item, Select, Statement, Update

FORMS = (
    "insert into TABLE values (...), select ... from TABLE where ..., update TABLE set FIELD = ... where ...,"
    " delete from TABLE where ..."
)


@lru_cache(maxsize=1024)
def parse_sql(text: str) -> Statement:
    """Read one statement. Raises an ExpressionError that points at what is wrong."""
    check_text(text)
    try:
        made = cast(Statement, _parser().parse(text))
    except Refused as refused:
        raise pointed(text, refused.at, refused.what, refused.allowed, refused.next_step) from None
    except UnexpectedInput as unexpected:
        raise _syntax_error(text, unexpected) from None
    statement = replace(made, text=text)
    check_depth(text, values_of(statement))
    return statement


@cache
def _parser() -> Lark:
    # The contextual lexer: a field may be called as a word of SQL is.
    return Lark(GRAMMAR, parser="lalr", lexer="contextual", start="statement", transformer=BuildStatement(False))


def values_of(statement: Statement) -> Iterator[Node]:
    """Every expression in it."""
    match statement:
        case Insert():
            yield from statement.values
        case Select():
            yield from (item.value for item in statement.items if isinstance(item, Item))
            yield from (key.value for key in statement.order_by)
        case Update():
            yield from (value for _, value in statement.values)
    if not isinstance(statement, Insert) and statement.where is not None:
        yield statement.where


def _syntax_error(text: str, unexpected: UnexpectedInput) -> ExpressionError:
    if isinstance(unexpected, UnexpectedCharacters):
        at = cast(int, unexpected.pos_in_stream)
        return pointed(text, at, f"the character {text[at]!r} has no meaning here", MADE_OF, "remove it, or quote it")
    assert isinstance(unexpected, UnexpectedToken)  # Lark's LALR parser has no third kind
    token: Token = unexpected.token
    spoken = {**EXPRESSIONS, **SPOKEN}
    found = {spoken[name] for name in unexpected.accepts or unexpected.expected if name in spoken}
    expected = " or ".join(sorted(found)) or "the end"
    if not text.strip():
        return pointed(text, len(text), "the SQL is empty", FORMS, "write one statement")
    if token.type == "$END":
        return pointed(text, len(text), "the statement ends too early", expected, f"the forms are: {FORMS}")
    return pointed(text, token.start_pos or 0, f"{str(token)!r} cannot stand here", expected, f"the forms are: {FORMS}")
