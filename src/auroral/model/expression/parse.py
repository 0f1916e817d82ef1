"""Reading expressions: text to syntax tree, bounded in size and depth; errors point into the text."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import cast

from lark import Lark, Token, UnexpectedInput
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from auroral.model.errors import Problem
from auroral.model.expression.build import BuildTree, Refused
from auroral.model.expression.grammar import GRAMMAR, SPOKEN
from auroral.model.expression.problems import ExpressionError, point
from auroral.model.expression.syntax import AggregateCall, Binary, Call, Expr, Node, walk

LARGEST_TEXT = 64 * 1024
DEEPEST = 200
# The engine guards these against nulls and exceptions; each costs Spark several levels and an analysis pass.
HEAVY = frozenset(("/", "min", "max", "ln", "log", "floor", "ceil", "pad"))
HEAVY_LEVELS = 6
MADE_OF = "names, numbers, texts in quotes, ( ) and ,, and the operators + - * / % = != < <= > >= and or not"
_SQL = "only Spark SQL has it: in Python, write auroral.sql('{}', 'bool')"
_INSTEAD_OF_SQL = {
    "is": _SQL.format("x is null"),
    "like": _SQL.format("x like ..."),
    "rlike": _SQL.format("x rlike ..."),
    "in": "write x = 1 or x = 2; in Python, auroral.sql('x in (1, 2)', 'bool') is Spark SQL",
    "between": "write x >= 1 and x <= 3",
    "when": "write if CONDITION then VALUE else VALUE",
    "as": "convert with a function, as in int(x)",
}
_INSTEAD_OF = {
    "&": "write && or and",
    "|": "write || or or",
    "`": 'write the name alone, or field("odd name")',
    ":": "convert with a function, as in int(x)",
}
_ONE_CALL = {"aggregate": "write one call, such as sum(bytes * 8) or count()"}


def parse(text: str, *, fold_case: bool = False) -> Expr:
    """Read an expression. `fold_case` lower-cases the names of fields and streams, never string literals."""
    root: Node = _run(text, "expression", fold_case)
    check_depth(text, [root])
    return Expr(text, root)


def parse_aggregate(text: str, *, fold_case: bool = False) -> AggregateCall:
    """Read one call of an aggregate function. Any name is accepted: it may be a user's aggregate."""
    at, name, args = _run(text, "aggregate", fold_case)
    check_depth(text, args)
    return AggregateCall(text, at, name, tuple(Expr(text, arg) for arg in args))


@cache
def _parser(fold_case: bool) -> Lark:
    # The basic lexer keeps the words reserved everywhere; building while parsing needs no recursion.
    return Lark(
        GRAMMAR,
        parser="lalr",
        lexer="basic",
        start=["expression", "aggregate"],
        transformer=BuildTree(fold_case),
    )


def check_text(text: str) -> None:
    """Refuse what is too long, or no text."""
    if len(text) > LARGEST_TEXT:
        raise ExpressionError(
            text,
            [
                Problem(
                    f"the expression has {len(text):,} characters",
                    allowed=f"at most {LARGEST_TEXT:,}",
                    next_step="split it over several map boxes",
                )
            ],
        )
    surrogate = next((i for i, c in enumerate(text) if "\ud800" <= c <= "\udfff"), None)
    if surrogate is not None:
        raise pointed(
            text, surrogate, "half of a surrogate pair, which is not a character", "whole characters", "remove it"
        )


def _run(text: str, start: str, fold_case: bool):  # type: ignore[no-untyped-def]  # Lark's parse is untyped
    check_text(text)
    try:
        return _parser(fold_case).parse(text, start=start)
    except Refused as refused:
        raise pointed(text, refused.at, refused.what, refused.allowed, refused.next_step) from None
    except UnexpectedInput as unexpected:
        raise _syntax_error(text, start, unexpected) from None


def check_depth(text: str, roots: Iterable[Node]) -> None:
    for root in roots:
        too_deep = next((node for node, depth in walk(root, _levels) if depth > DEEPEST), None)
        if too_deep is not None:
            raise pointed(
                text,
                too_deep.at,
                f"the expression is nested deeper than {DEEPEST} levels",
                f"{DEEPEST} levels; each + of a chain like a + b + c is one, and/or chains are free,"
                f" and {', '.join(sorted(HEAVY))} count as {HEAVY_LEVELS}",
                "split it over several map boxes",
            )


def _levels(node: Node) -> int:
    label = node.op if isinstance(node, Binary) else node.name if isinstance(node, Call) else ""
    return HEAVY_LEVELS if label in HEAVY else 1


def _syntax_error(text: str, start: str, unexpected: UnexpectedInput) -> ExpressionError:
    if isinstance(unexpected, UnexpectedCharacters):
        at = cast(int, unexpected.pos_in_stream)
        if text[at] in "\"'":
            quote = text[at]
            what, allowed = "the string that starts here has no end", f"{quote}text between two quotes{quote}"
            return pointed(text, at, what, allowed, f"close it with {quote}")
        if text[at].isdigit():
            step = "names begin with a letter: mend the number, or put an operator behind it"
            return pointed(text, at, "not a number", "12, 1.5, 1e-3, 1.5f, 1.5d", step)
        step = _INSTEAD_OF.get(text[at], "remove it, or quote it in a string")
        return pointed(text, at, f"the character {text[at]!r} has no meaning here", MADE_OF, step)
    assert isinstance(unexpected, UnexpectedToken)  # Lark's LALR parser has no third kind
    token: Token = unexpected.token
    expected = _spoken(unexpected.accepts or unexpected.expected)
    if token.type == "$END":
        if not text.strip():
            return pointed(text, len(text), "the expression is empty", expected, _ONE_CALL.get(start, "write one"))
        step = _ONE_CALL.get(start, "write what is missing at its end")
        return pointed(text, len(text), "the expression ends too early", expected, step)
    at = token.start_pos or 0
    return pointed(text, at, f"{str(token)!r} cannot stand here", expected, _next_step(text, start, token, expected))


def _next_step(text: str, start: str, token: Token, expected: str) -> str:
    """What to write where `token` cannot stand."""
    at = token.start_pos or 0
    if token == ">" and text[:at].rstrip().endswith("<"):
        return "write != for unequal"
    if start in _ONE_CALL:
        return _ONE_CALL[start]
    if token.lower() in _INSTEAD_OF_SQL:
        return _INSTEAD_OF_SQL[token.lower()]
    if token.lower() == "not" and "an operator" in expected:
        return "not stands before what it negates, as in not (x = 1)"
    if token == ")":
        return "remove it, or open it with ( before"
    return "put an operator between, or remove it" if "an operator" in expected else "write a value before it"


def _spoken(terminals: Iterable[str]) -> str:
    # SIGN is both an operator and the start of a value; its company says which.
    words = {SPOKEN[name] for name in terminals if name in SPOKEN}
    if "an operator" in words:
        words.discard("a value")  # only the parenthesis that would make a name a call
    # After a whole expression the parser has nothing left to name.
    return " or ".join(sorted(words)) or SPOKEN["$END"]


def pointed(text: str, at: int, what: str, allowed: str, next_step: str) -> ExpressionError:
    """An error that shows where in the text it is."""
    return ExpressionError(text, [point(Problem(what, allowed=allowed, next_step=next_step), text, at)])
