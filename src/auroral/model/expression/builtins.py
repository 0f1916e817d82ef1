"""The functions of the language: their names, what they take, and the type of what they give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from auroral.model.expression.operators import accepts, exact_common, promoted
from auroral.model.types import (
    BYTE,
    DOUBLE,
    INT,
    LONG,
    SHORT,
    SINGLE,
    STRING,
    TIMESTAMP,
    FieldType,
    Kind,
)

TRIGONOMETRIC = ("cos", "acos", "cosh", "tan", "atan", "tanh", "sin", "asin", "sinh")

Given = Sequence[FieldType | None]  # None: a bare null, which takes whatever type is wanted


@dataclass(frozen=True, slots=True)
class Signature:
    """The types that the arguments are converted to, and the type of the result."""

    args: tuple[FieldType, ...]
    result: FieldType


Rule = Callable[[Given], "Signature | str"]  # a str says what is wrong


@dataclass(frozen=True, slots=True)
class Builtin:
    name: str
    usage: str
    meaning: str
    rule: Rule
    pure: bool = True


def _fixed(result: FieldType, *wanted: FieldType, optional: int = 0) -> Rule:
    def rule(given: Given) -> Signature | str:
        fits = len(wanted) - optional <= len(given) <= len(wanted)
        if fits and all(accepts(have, want) for have, want in zip(given, wanted, strict=False)):
            return Signature(wanted[: len(given)], result)
        return f"takes ({', '.join(str(want) for want in wanted)})"

    return rule


def _conversion(target: FieldType) -> Rule:
    def rule(given: Given) -> Signature | str:
        if len(given) != 1:
            return "takes one value"
        have = given[0]
        if have is None:
            return Signature((target,), target)
        if target.kind is Kind.STRING:
            if have.kind is Kind.STRING or have.is_integer:
                return Signature((have,), have if have.kind is Kind.STRING else STRING)
            return "takes an integer or a string: floats are spelt differently on different platforms"
        if have.is_numeric or have.kind is Kind.STRING or (target, have) == (LONG, TIMESTAMP):
            return Signature((have,), target)
        return "takes a number or a string" + (" or a timestamp" if target == LONG else "")

    return rule


def _absolute(given: Given) -> Signature | str:
    if len(given) != 1 or given[0] is None or not given[0].is_numeric:
        return "takes one number"
    result = promoted(given[0])
    return Signature((result,), result)


def _extreme(given: Given) -> Signature | str:
    known = [have for have in given if have is not None]
    if len(given) < 2:
        return "takes at least two values here; over a window it is an aggregate"
    if not known:
        return "takes at least one value that is not null"
    result: FieldType | None = known[0]
    for have in known[1:]:
        result = exact_common(result, have) if result is not None else None
    if result is None:
        return "takes values of one type, or numbers"
    return Signature((result,) * len(given), result)


def _table() -> dict[str, Builtin]:
    rows = [
        Builtin("pad", "pad(string, n)", "padded with blanks on the right to n (at most 65,536), never cut",
                _fixed(STRING, STRING, INT)),
        Builtin("strlen", "strlen(string)", "the number of characters", _fixed(INT, STRING)),
        Builtin("min", "min(a, b, ...)", "the least; null if one is null", _extreme),
        Builtin("max", "max(a, b, ...)", "the greatest; null if one is null", _extreme),
        Builtin("abs", "abs(x)", "without its sign", _absolute),
        Builtin("pow", "pow(x, y)", "x to the power y", _fixed(DOUBLE, DOUBLE, DOUBLE)),
        Builtin("atan2", "atan2(y, x)", "the angle of the point (x, y), in radians; -0.0 counts as 0.0",
                _fixed(DOUBLE, DOUBLE, DOUBLE)),
        Builtin("now", "now()", "the time in seconds, or now(s): s seconds later; refused when run: not repeatable",
                _fixed(DOUBLE, DOUBLE, optional=1), pure=False),
        Builtin("rand", "rand()", "a random number; refused when run", _fixed(DOUBLE, DOUBLE, optional=1),
                pure=False),
        Builtin("sequence", "sequence()", "a running number; refused when run", _fixed(LONG), pure=False),
    ]  # fmt: skip
    for target in (BYTE, SHORT, INT, LONG, SINGLE, DOUBLE, STRING):
        meaning = "an integer as text" if target is STRING else f"converted to {target}"
        rows.append(Builtin(str(target), f"{target}(x)", meaning, _conversion(target)))
    named = {
        "ln": "the natural logarithm: -infinity for 0, NaN below",
        "log": "the logarithm to base 10: -infinity for 0, NaN below",
        "sqrt": "the square root, NaN below 0",
        "exp": "e to the power x",
        "floor": "rounded down, as a double",
        "ceil": "rounded up, as a double",
    }
    for name in (*TRIGONOMETRIC, *named):
        rows.append(Builtin(name, f"{name}(x)", named.get(name, "of an angle in radians"), _fixed(DOUBLE, DOUBLE)))
    return {row.name: row for row in rows}


BUILTINS = _table()
CONVERSIONS = frozenset(str(t) for t in (BYTE, SHORT, INT, LONG, SINGLE, DOUBLE, STRING))
