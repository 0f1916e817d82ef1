"""Texts of `auroral.sql` as parts of a statement."""

from __future__ import annotations

import re

from auroral.engine.sqltext import ColumnText, string_literal
from auroral.model.expression.sqltokens import SqlKind, sql_tokens
from auroral.model.expression.typed import SqlExpression


def users_sql(node: SqlExpression, column: ColumnText) -> str:
    """The user's text with our columns in the place of fields, without comments, which could swallow what follows."""
    columns = {found.at: found for found in node.columns}
    parts, done = [], 0
    for token in sql_tokens(node.text):
        if token.at < done:
            continue
        parts.append(node.text[done : token.at])
        done = token.end
        if token.at in columns:
            found = columns[token.at]
            done = found.end
            # In parentheses: with a dot behind it, a column would be looked for as a relation.
            parts.append(f"({column(found.field.qualifier, found.field.name)})")
        elif token.kind is SqlKind.STRING:
            parts.append(_string(token.text))
        elif token.kind is not SqlKind.COMMENT:
            parts.append(token.text)
    return "".join(parts).strip()


def _string(text: str) -> str:
    """The same string without what has a meaning in the whole of a statement: line ends and ${...}."""
    if text[0] in "rR":
        return string_literal(text[2:-1])
    return re.sub(r"\\?(?:\n|\$(?=\{))|\\.", _as_code, text, flags=re.DOTALL)


def _as_code(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0][-1]):04x}" if found[0][-1] in "\n$" else found[0]
