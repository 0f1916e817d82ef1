"""Rule 2: the old parser lower-cased names and most expressions, literals included. Here literals stay."""

from __future__ import annotations

import re

# Borealis knew no escapes: a backslash is a character, and the next quote ends the literal.
_LITERAL = re.compile(r'"[^"]*"|' + r"'[^']*'")
_FIELD_CALL = re.compile(r"(?:^|[^\w])field\s*\(\s*$")

# Parameters that hold expressions, and those of them whose literals the old parser lower-cased too.
EXPRESSIONS = {
    "expression",
    "predicate",
    "out-field",
    "aggregate-function",
    "output-expression",
    "inverse",
    "sql",
}
ONCE_LOWERED = {"expression", "out-field", "aggregate-function", "output-expression", "sql"}
# Parameters that hold names of fields, streams or views.
NAMES = {
    *(
        "key",
        "group-by",
        "order-on-field",
        "left-order-on-field",
        "right-order-on-field",
        "order-on",
        "key-field",
        "anchor",
    ),
    *("out-field-name", "output-field-name", "aggregate-function-output-name"),
}


def fold_expression(text: str) -> tuple[str, tuple[str, ...]]:
    """`text` in lower case but for its string literals, and those that lower case would have changed.

    The string in `field("Odd Name")` is a field's name: it is lower-cased, as the schema's names are. Backslashes are doubled, since in our expressions they begin an escape.
    """
    parts: list[str] = []
    kept: list[str] = []
    end = 0
    for match in _LITERAL.finditer(text):
        before = text[end : match.start()].lower()
        literal = match[0]
        parts.append(before)
        if _FIELD_CALL.search(before[-40:]):
            literal = literal.lower()
        elif literal != literal.lower():
            kept.append(literal)
        parts.append(literal.replace("\\", "\\\\"))
        end = match.end()
    parts.append(text[end:].lower())
    return "".join(parts), tuple(kept)


def unfolded(name: str, value: str) -> str | None:
    """What a file has to say for the parameter `name` so that `value` is read; None where case or blanks would be lost."""
    of = name.rpartition(".")[0] or name
    if of in NAMES:
        return value if value == value.strip().lower() else None
    if of not in EXPRESSIONS:
        return value if value == value.strip() else None
    plain = _LITERAL.sub(lambda match: match[0].replace("\\\\", "\\"), value)
    return plain if fold_expression(plain)[0].strip() == value else None
