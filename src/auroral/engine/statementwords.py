"""What the words of a statement say, before Spark is asked: whether it is a SELECT, whether it can be repeated, and whether it looks at the order of rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile, pairwise

from auroral.model.errors import AuroralError
from auroral.model.expression.sqlrefused import CLOCK_WORDS, is_not_repeatable, looks_at_order
from auroral.model.expression.sqltokens import SqlKind, SqlToken, sql_tokens
from auroral.model.schema import Schema


class WrongStatement(AuroralError):
    """A text that is no query of the stream."""


def judge_words(text: str, schema: Schema) -> bool:
    """Raises a WrongStatement where they show that it is none; gives whether its result depends on the order of rows."""
    tokens = [token for token in sql_tokens(text) if token.kind is not SqlKind.COMMENT and token.text.strip()]
    _must_be_a_select(tokens)
    _only_repeatable_words(tokens, schema)
    return any(looks_at_order(token.word) for token, after in pairwise(tokens) if after.text == "(")


def _must_be_a_select(tokens: Sequence[SqlToken]) -> None:
    """Said before Spark is asked: it carries commands out when it is given them."""
    words = list(dropwhile(lambda word: word == "(", (token.word or token.text for token in tokens)))
    begins = words[0] if words else ""
    if begins == "with":
        depth = 0
        for word, after in pairwise(words):
            depth += (word == "(") - (word == ")")
            # Behind each named SELECT another one follows, or what is to be done with them.
            if depth == 0 and word == ")" and after not in ("as", ",", "max"):
                begins = "select" if after == "(" else after
                break
    if begins != "select":
        raise WrongStatement(
            f"the statement begins with {begins.upper()[:40] or 'nothing'}, and is no SELECT\n"
            "    allowed: SELECT ... FROM stream ..., or WITH ... SELECT ...\n"
            "    next: say what to read; what runs is changed by no query"
        )


def _only_repeatable_words(tokens: Sequence[SqlToken], schema: Schema) -> None:
    for number, token in enumerate(tokens):
        following = [one.text for one in tokens[number + 1 : number + 3]]
        called = following[:1] == ["("]
        named = number > 0 and tokens[number - 1].word == "as"
        clock = token.word in CLOCK_WORDS and schema.get(token.name) is None and not called and not named
        if clock or (called and is_not_repeatable(token.word, following == ["(", ")"])):
            raise not_repeatable(f"{token.text} gives something else each time, or on each machine")


def not_repeatable(why: str) -> WrongStatement:
    return WrongStatement(
        f"{why}\n    allowed: what depends on the rows of the stream alone\n"
        "    next: take times from the rows: stime is in microseconds, timestamp_micros(stime) a timestamp"
    )
