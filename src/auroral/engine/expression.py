"""Expressions as Spark SQL text.

The text is for sessions with `spark.sql.ansi.enabled=false`, where arithmetic wraps and never throws. Every
part has exactly the type that the typed tree says; casts that Spark makes by itself are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from auroral.engine.constants import constant
from auroral.engine.reached import ERROR, TIMES, VALUE, WHY, Errors, or_stop
from auroral.engine.sqltext import ColumnText, string_literal
from auroral.engine.users_sql import users_sql
from auroral.model.expression.builtins import BUILTINS, TRIGONOMETRIC
from auroral.model.expression.typed import (
    Choice,
    Constant,
    Convert,
    FieldRef,
    Infix,
    Invoke,
    Prefix,
    SqlExpression,
    Typed,
)
from auroral.model.types import LONG, SINGLE, FieldType, Kind

# Spark's own precedence. CASE, calls and columns never need parentheses.
_OR, _AND, _NOT, _COMPARE, _ADD, _MULTIPLY, _SIGN, _ATOM = range(8)
_INFIX = {"or": ("OR", _OR), "and": ("AND", _AND), "+": ("+", _ADD), "-": ("-", _ADD), "*": ("*", _MULTIPLY),
          "%": ("%", _MULTIPLY)}  # fmt: skip

INFINITY = "CAST('Infinity' AS DOUBLE)"
USER_FUNCTION_PREFIX = "auroral_"

# Longer operands are bound to a name, not written twice: nested, the text would double at each level.
_SHORT = 100
_BOUND = "__x"

_INTEGER_TEXT = r"^[ \t\r\n]*([+-]?[0-9]+)[ \t\r\n]*\z"
_NUMBER_TEXT = r"^[ \t\r\n]*([+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)[ \t\r\n]*\z"
_RENAMED = {"log": "log10"}
_WIDEST_PAD = 65536
# Of these Spark converts the arguments to double itself.
_MATHEMATICAL = frozenset((*TRIGONOMETRIC, "sqrt", "exp", "pow", "atan2"))


def to_sql(typed: Typed, column: ColumnText) -> str:
    """The expression as Spark SQL; `column` gives the text of a field's column by qualifier and name.

    `stime` is asked for like any field and must be a BIGINT. User functions are called as `auroral_<name>`; a call that
    fails stops the job if it is reached.
    """
    writer = _Writer(column)
    return or_stop(Errors(writer, WHY).first(typed), writer.value(typed), typed.type.spark)


def value_sql(typed: Typed, column: ColumnText) -> str:
    """The same for rows of which it is known that no call fails."""
    return _Writer(column).value(typed)


def error_sql(typed: Typed, column: ColumnText, part: str = ERROR) -> str | None:
    """The first error among the calls that are reached, see `Errors`."""
    return Errors(_Writer(column), part).first(typed)


@dataclass(frozen=True, slots=True)
class _Sql:
    text: str
    binds: int = _ATOM

    def inside(self, weakest: int) -> str:
        """The text, in parentheses if it binds weaker than its surroundings need."""
        return self.text if self.binds >= weakest else f"({self.text})"


class _Writer:
    def __init__(self, column: ColumnText):
        self._column = column

    def value(self, node: Typed) -> str:
        return self.write(node).text

    def call(self, node: Invoke) -> str:
        args = []
        for arg in node.args:
            sql, time = self.write(arg), TIMES.get(arg.type.kind)
            args.append(sql if time is None else _call(time.to_number, [sql]))
        return _call(USER_FUNCTION_PREFIX + node.name, args).text

    def write(self, node: Typed) -> _Sql:
        match node:
            case Constant():
                text = constant(node.type, node.value)
                return _Sql(text, _SIGN if text.startswith("-") else _ATOM)
            case FieldRef():
                return _Sql(self._column(node.qualifier, node.name))
            case Convert():
                return self._convert(node)
            case Prefix():
                return self._prefix(node)
            case Infix():
                return self._infix(node)
            case Choice():
                return self._choice(node)
            case Invoke():
                return self._invoke(node)
            case SqlExpression():
                return _Sql(f"CAST((\n{users_sql(node, self._column)}\n) AS {node.type.spark})")

    def _convert(self, node: Convert) -> _Sql:
        given, wanted, text = node.operand.type, node.type, self.write(node.operand).text
        if given.kind is Kind.TIMESTAMP:
            return _Sql(f"unix_micros({text})")
        if given.kind is Kind.STRING:
            # No match gives '', which is cast to NULL; what CAST itself takes for a number is far more.
            pattern = string_literal(_INTEGER_TEXT if wanted.is_integer else _NUMBER_TEXT)
            text = f"regexp_extract({text}, {pattern}, 1)"
        if wanted.kind is Kind.SINGLE and given.kind in (Kind.STRING, Kind.DECIMAL):
            text = f"CAST({text} AS DOUBLE)"
        return _Sql(f"CAST({text} AS {wanted.spark})")

    def _prefix(self, node: Prefix) -> _Sql:
        operand = self.write(node.operand)
        if node.op == "not":
            return _Sql(f"NOT {operand.inside(_ADD)}", _NOT)
        if _is_long_decimal(node.type):
            text = f"replace('-' || CAST({operand.text} AS STRING), '--', '')"
            return _Sql(f"CAST({text} AS {node.type.spark})")
        return _Sql(f"-{operand.inside(_ATOM)}", _SIGN)

    def _infix(self, node: Infix) -> _Sql:
        kinds = (node.left.type.kind, node.right.type.kind)
        if Kind.TIMESTAMP in kinds and node.type.kind is not Kind.BOOL:
            return self._timestamps(node)
        if node.op == "/":
            return self._divide(node)
        if node.type.kind is Kind.STRING:
            return self._join("||", _ADD, self.write(node.left), self.write(node.right))
        left, right = self._operands(node)
        if node.op in _INFIX:
            sign, binds = _INFIX[node.op]
            return self._join(sign, binds, left, right)
        return _Sql(f"{left.inside(_ADD)} {node.op} {right.inside(_ADD)}", _COMPARE)

    @staticmethod
    def _join(sign: str, binds: int, left: _Sql, right: _Sql) -> _Sql:
        # AND and OR are associative; the other operators group to the left.
        tighter = binds if binds in (_OR, _AND) else binds + 1
        text = right.inside(tighter)
        if text.startswith("-"):
            text = f"({text})"  # `--` starts a comment, and `- -` is hard to read
        return _Sql(f"{left.inside(binds)} {sign} {text}", binds)

    def _operands(self, node: Infix) -> tuple[_Sql, _Sql]:
        """Both operands, without the casts that Spark makes when the other side has the type already."""
        compares = node.type.kind is Kind.BOOL
        if _implied(node.right, compares):
            return self.write(node.left), self._without_cast(node.right)
        if _implied(node.left, compares):
            return self._without_cast(node.left), self.write(node.right)
        return self.write(node.left), self.write(node.right)

    def _without_cast(self, node: Typed) -> _Sql:
        if isinstance(node, Convert):
            return self.write(node.operand)
        assert isinstance(node, Constant)
        return _Sql(str(node.value), _SIGN if str(node.value).startswith("-") else _ATOM)

    def _timestamps(self, node: Infix) -> _Sql:
        texts = []
        for side in (node.left, node.right):
            sql = self.write(side)
            texts.append(_Sql(f"unix_micros({sql.text})") if side.type.kind is Kind.TIMESTAMP else sql)
        micros = self._join(*_INFIX[node.op], *texts)
        return micros if node.type == LONG else _Sql(f"timestamp_micros({micros.text})")

    def _divide(self, node: Infix) -> _Sql:
        left, right = self._operands(node)
        if node.type.is_integer:
            divided = self._join("DIV", _MULTIPLY, left, right)
            return divided if node.type == LONG else _Sql(f"CAST({divided.text} AS {node.type.spark})")
        if isinstance(node.right, Constant) and node.right.value:
            divided = self._join("/", _MULTIPLY, left, right)
        else:
            divided = _bind([left, right], _guarded_division)
        return _Sql(f"CAST({divided.text} AS FLOAT)") if node.type == SINGLE else divided

    def _choice(self, node: Choice) -> _Sql:
        parts = []
        rest: Typed = node
        while isinstance(rest, Choice) and rest.type == node.type:
            parts.append(f"WHEN {self.write(rest.condition).text} THEN {self.write(rest.then).text}")
            rest = rest.otherwise
        return _Sql(f"CASE {' '.join(parts)} ELSE {self.write(rest).text} END")

    def _invoke(self, node: Invoke) -> _Sql:
        if node.function is not None:
            given, time = _Sql(f"{self.call(node)}.{VALUE}"), TIMES.get(node.type.kind)
            return given if time is None else _call(time.from_number, [given])
        if not BUILTINS[node.name].pure:
            raise ValueError(f"{node.name}() cannot be repeated, so it has no SQL; the checker refuses it")
        args: list[_Sql] = []
        for arg in node.args:
            plain = node.name in _MATHEMATICAL and _implied(arg, compares=False)
            args.append(self._without_cast(arg) if plain else self.write(arg))
        match node.name:
            case "strlen":
                return _call("length", args)
            case "abs" if _is_long_decimal(node.type):
                text = f"trim(LEADING '-' FROM CAST({args[0].text} AS STRING))"
                return _Sql(f"CAST({text} AS {node.type.spark})")
            case "pad":
                return _pad(args, node.args[1])
            case "min" | "max":
                nullable = [not isinstance(arg, Constant) or arg.value is None for arg in node.args]
                return _extreme("least" if node.name == "min" else "greatest", args, nullable)
            case "ln" | "log":
                name = _RENAMED.get(node.name, node.name)
                return _bind(args, lambda x: _logarithm(name, x))
            case "floor" | "ceil":
                if isinstance(node.args[0], Convert) and node.args[0].operand.type.is_integer:
                    return args[0]
                return _bind(args, lambda x: _whole(node.name, x))
            case _:
                return _call(node.name, args)


def _implied(node: Typed, compares: bool) -> bool:
    """Whether Spark makes this conversion by itself beside an operand of the wanted type."""
    if isinstance(node, Constant):
        return compares and node.type.kind is Kind.DECIMAL and node.value is not None
    if not isinstance(node, Convert):
        return False
    given, wanted = node.operand.type, node.type
    if wanted.is_integer and given.is_integer:
        return list(Kind).index(given.kind) < list(Kind).index(wanted.kind)
    return wanted.kind is Kind.DOUBLE and (given.is_integer or given.kind is Kind.SINGLE)


def _is_long_decimal(type: FieldType) -> bool:
    """Spark's own minus rounds a decimal to 34 digits, and throws where that makes it longer."""
    return type.kind is Kind.DECIMAL and (type.precision or 0) > 34


def _call(name: str, args: list[_Sql]) -> _Sql:
    return _Sql(f"{name}({', '.join(arg.text for arg in args)})")


def _bind(args: list[_Sql], body: Callable[..., str]) -> _Sql:
    """`body` with each argument as an operand that may be repeated."""
    if all(len(arg.text) <= _SHORT for arg in args):
        return _Sql(body(*args))
    fields = ", ".join(f"{arg.text} AS _{i}" for i, arg in enumerate(args))
    bound = body(*(_Sql(f"{_BOUND}._{i}") for i in range(len(args))))
    return _Sql(f"transform(array(struct({fields})), {_BOUND} -> {bound})[0]")


def _guarded_division(left: _Sql, right: _Sql) -> str:
    # The sign of a zero divisor does not count: x * Infinity has the right sign, and is NaN for 0.
    above, below = left.inside(_SIGN), right.inside(_SIGN)
    return f"CASE WHEN {right.inside(_ADD)} = 0 THEN {above} * {INFINITY} ELSE {above} / {below} END"


def _logarithm(name: str, x: _Sql) -> str:
    # Spark has NULL where IEEE 754 has -Infinity or NaN.
    value = x.inside(_ADD)
    return (
        f"CASE WHEN {value} > 0 THEN {name}({x.text}) WHEN {value} = 0 THEN -{INFINITY}"
        f" WHEN {value} < 0 THEN CAST('NaN' AS DOUBLE) END"
    )


def _whole(name: str, x: _Sql) -> str:
    # Spark rounds to BIGINT, which holds no infinity; from 2^52 on a double is whole anyway.
    return f"CASE WHEN abs({x.text}) < 4503599627370496 THEN CAST({name}({x.text}) AS DOUBLE) ELSE {x.text} END"


def _extreme(name: str, args: list[_Sql], nullable: list[bool]) -> _Sql:
    def body(*bound: _Sql) -> str:
        # Spark skips nulls; here one null makes the result null.
        nulls = [f"{arg.inside(_ADD)} IS NULL" for arg, may in zip(bound, nullable, strict=True) if may]
        picked = _call(name, list(bound)).text
        return f"CASE WHEN {' OR '.join(nulls)} THEN NULL ELSE {picked} END" if nulls else picked

    return _bind(args, body)


def _pad(args: list[_Sql], width: Typed) -> _Sql:
    if isinstance(width, Constant) and isinstance(width.value, int):
        limit = str(max(0, min(width.value, _WIDEST_PAD)))
        return _bind(args[:1], lambda s: f"concat({s.text}, repeat(' ', {limit} - length({s.text})))")

    def body(s: _Sql, n: _Sql) -> str:
        width = n.inside(_ADD)
        limited = f"WHEN {width} > {_WIDEST_PAD} THEN {_WIDEST_PAD} WHEN {width} < 0 THEN 0 ELSE {width}"
        return f"concat({s.text}, repeat(' ', CASE {limited} END - length({s.text})))"

    return _bind(args, body)
