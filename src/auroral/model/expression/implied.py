"""Types where syntax leaves them open: bare nulls, literals beside decimals and singles, implied conversions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

from auroral.model.expression.singles import nearest_single
from auroral.model.expression.syntax import Literal, Node, Unary
from auroral.model.expression.typed import Constant, Convert, Prefix, Typed
from auroral.model.types import INTEGER_BITS, SINGLE, FieldType, Kind, decimal, string


class BareNull:
    """The literal null before something around it has given it a type."""


NULL = BareNull()


Found = Typed | BareNull | None  # None: wrong, and reported


def beside_singles(written: Sequence[Node], found: Sequence[Found]) -> list[Found]:
    """The operands, of which float literals without suffix are singles if another operand is one.

    In Borealis every such literal is a single. As a double, 0.1 equals no single, and makes a double of what it is added to.
    """
    if not any(not isinstance(one, BareNull | None) and one.type == SINGLE for one in found):
        return list(found)
    return [_as_single(node, one) for node, one in zip(written, found, strict=True)]


def _as_single(written: Node, found: Found) -> Found:
    match written, found:
        case Literal(suffix=""), Constant(value=float(value)):
            rounded = nearest_single(value)
            # What a single cannot hold stays a double.
            return Constant(SINGLE, rounded) if math.isfinite(rounded) and bool(rounded) == bool(value) else found
        case Unary(op="-", operand=operand), Prefix(operand=negated):
            single = _as_single(operand, negated)
            return Prefix(SINGLE, "-", single) if isinstance(single, Constant) and single.type == SINGLE else found
        case Unary(op="+", operand=operand), _:
            return _as_single(operand, found)
        case _:
            return found


def pair_types(left: Typed | BareNull, right: Typed | BareNull) -> tuple[FieldType, FieldType]:
    """The types of two operands, of which not both are a bare null: that one takes the other's type."""
    if isinstance(left, BareNull):
        assert not isinstance(right, BareNull)
        return right.type, right.type
    if isinstance(right, BareNull):
        return left.type, left.type
    return _beside(left, right), _beside(right, left)


def _beside(node: Typed, other: Typed) -> FieldType:
    # As Spark does: an integer literal beside a decimal has only the digits that it is written with.
    if (
        other.type.kind is Kind.DECIMAL
        and node.type.is_integer
        and isinstance(node, Constant)
        and isinstance(node.value, int)
    ):
        return decimal(len(str(abs(node.value))), 0)
    return node.type


def padded(text: Typed, width: Typed, result: FieldType) -> FieldType:
    if isinstance(width, Constant) and isinstance(width.value, int) and text.type.size is not None:
        return string(max(text.type.size, min(width.value, 65536)))
    return result


def converted(node: Typed | BareNull, wanted: FieldType) -> Typed:
    if isinstance(node, BareNull):
        return Constant(wanted, None)
    if node.type == wanted or node.type.kind is wanted.kind is Kind.STRING:
        return node
    if isinstance(node, Constant):
        return _converted_constant(node, wanted)
    return Convert(wanted, node)


def _converted_constant(node: Constant, wanted: FieldType) -> Typed:
    """Numbers are written as the type that they are wanted in, where that does not change them."""
    value = node.value
    if value is None:
        return Constant(wanted, None)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Convert(wanted, node)
    if wanted.is_integer and isinstance(value, int) and abs(value) < 2 ** (INTEGER_BITS[wanted.kind] - 1):
        return Constant(wanted, value)
    if wanted.kind is Kind.DOUBLE:
        return Constant(wanted, float(value))
    if wanted.kind is Kind.SINGLE and isinstance(value, int):
        return Constant(wanted, nearest_single(value))
    if wanted.kind is Kind.DECIMAL and isinstance(value, int):
        return Constant(wanted, Decimal(value))
    return Convert(wanted, node)
