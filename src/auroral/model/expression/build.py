"""Building the syntax tree as the parser reduces each rule of the grammar."""

from __future__ import annotations

import math
import re
from typing import Any

from lark import Token, Transformer, v_args

from auroral.model.expression.singles import nearest_single
from auroral.model.expression.syntax import Arrow, Binary, Call, If, Literal, Name, Node, Unary

_SIGNS = {"||": "or", "&&": "and", "!": "not", "==": "="}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)


class Refused(Exception):
    """The parser understood the text, but it cannot be meant."""

    def __init__(self, at: int, what: str, allowed: str, next_step: str):
        super().__init__(what)
        self.at, self.what, self.allowed, self.next_step = at, what, allowed, next_step


@v_args(inline=True)
class BuildTree(Transformer[Token, Any]):
    """One method per rule of the grammar."""

    def __init__(self, fold_case: bool):
        super().__init__(visit_tokens=False)
        self._fold_case = fold_case

    def _identifier(self, text: str) -> str:
        return str(text.lower() if self._fold_case else text)  # not a Token

    def choice(self, word: Token, condition: Node, _then: Token, then: Node, _else: Token, other: Node) -> Node:
        return If(_at(word), condition, then, other)

    def chain(self, *parts: Any) -> Node:
        return _balanced(list(parts[0::2]), list(parts[1::2]))

    def binary(self, left: Node, op: Token, right: Node) -> Node:
        return Binary(_at(op), _sign(op), left, right)

    def prefix(self, op: Token, operand: Node) -> Node:
        return Unary(_at(op), _sign(op), operand)

    def integer(self, token: Token) -> Node:
        digits = token.lstrip("0") or "0"
        # 2^63 itself is kept: a minus sign before it makes it the smallest long.
        if len(digits) > 19 or int(digits) > 2**63:
            raise Refused(
                _at(token), "the integer is too large for a long", f"up to {2**63 - 1}", "write it as a float"
            )
        return Literal(_at(token), int(digits))

    def floating(self, token: Token) -> Node:
        digits = token.rstrip("fFdD")
        suffix, value = token[len(digits) :].lower(), float(digits)
        single = suffix == "f"
        if single:
            value = nearest_single(value)
        if math.isinf(value):
            kind, largest = ("single", "3.4028235e38f") if single else ("double", "1.7976931348623157e308")
            raise Refused(
                _at(token), f"the number is too large for a {kind}", f"up to {largest}", "write a smaller one"
            )
        return Literal(_at(token), value, suffix)

    def string(self, token: Token) -> Node:
        return Literal(_at(token), unquoted(token))

    def word(self, token: Token) -> Node:
        return Literal(_at(token), {"true": True, "false": False, "null": None}[token.lower()])

    def name(self, token: Token) -> Node:
        return Name(_at(token), None, self._identifier(token))

    def qualified(self, qualifier: Token, name: Token) -> Node:
        return Name(_at(qualifier), self._identifier(qualifier), self._identifier(name))

    def qualified_odd(self, qualifier: Token, function: Token, name: Token) -> Node:
        if function.lower() != "field":
            raise Refused(
                _at(qualifier),
                f"{qualifier}.{function}(...) is not a function",
                'stream.name, or stream.field("odd name")',
                f"functions have no prefix: write {function}(...), or {qualifier}.{function} for the field",
            )
        return Name(_at(qualifier), self._identifier(qualifier), self._identifier(unquoted(name)))

    def arrow(self, first: Token, *rest: Token) -> Node:
        array = ".".join(str(part) for part in (first, *rest) if part.type == "NAME")
        array, _, name = array.rpartition(".")
        return Arrow(_at(first), array, name)

    def call(self, name: Token, *args: Node) -> Node:
        if name.lower() == "field":
            return self._odd_field(name, args)
        return Call(_at(name), str(name.lower()), args)

    def _odd_field(self, name: Token, args: tuple[Node, ...]) -> Node:
        if len(args) == 1 and isinstance(args[0], Literal) and isinstance(args[0].value, str):
            return Name(_at(name), None, self._identifier(args[0].value))
        raise Refused(
            _at(name),
            "field(...) takes the name of a field in quotes",
            'field("odd name")',
            "put quotes around the name, or write the name alone",
        )

    def aggregate(self, name: Token, *args: Any) -> tuple[int, str, tuple[Node, ...]]:
        real = tuple(arg for arg in args if not isinstance(arg, Token))
        if len(real) < len(args) and name.lower() != "count":
            raise Refused(_at(name), f"{name}(*) has no meaning", "count(*)", "name the field to aggregate")
        return _at(name), str(name.lower()), real


def _at(token: Token) -> int:
    return token.start_pos or 0


def _sign(token: Token) -> str:
    return _SIGNS.get(token, str(token.lower()))


def _balanced(operands: list[Node], ops: list[Token]) -> Node:
    """A chain of and/or as a shallow tree: they are associative, and filters of hundreds of terms occur."""
    if len(operands) == 1:
        return operands[0]
    middle = len(operands) // 2
    left = _balanced(operands[:middle], ops[: middle - 1])
    right = _balanced(operands[middle:], ops[middle:])
    return Binary(_at(ops[middle - 1]), _sign(ops[middle - 1]), left, right)


def unquoted(token: Token) -> str:
    quote, inner = token[0], token[1:-1]
    value = _ESCAPE.sub(
        _escaped, inner.replace(quote * 2, "\\" + quote) if "\\" not in inner else _undouble(inner, quote)
    )
    if any("\ud800" <= c <= "\udfff" for c in value):
        raise Refused(
            _at(token),
            "the string holds half of a surrogate pair, which is not a character",
            "whole characters; \\u writes those of four hexadecimal digits that are no half",
            "write the character itself",
        )
    return value


def _undouble(inner: str, quote: str) -> str:
    # A quote after a backslash is already escaped; only the others come in pairs.
    return re.sub(rf"(\\.)|{quote}{quote}", lambda m: m[1] or "\\" + quote, inner, flags=re.DOTALL)


def _escaped(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return _ESCAPES.get(match[2], match[2])
