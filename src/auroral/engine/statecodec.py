"""States and keys of folds as bytes: equal values have equal bytes, in every process and whatever way they came about.

Plain values only: None, bool, int, float, str, bytes, Decimal, and tuples, lists, dicts and sets of them. Reading never runs code.
Dicts and sets are written in the order of their encoded keys, which is the order that they have when they are read.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from decimal import Decimal
from operator import itemgetter
from typing import Any

_DOUBLE = struct.Struct(">d")
_NAN = b"f" + _DOUBLE.pack(math.nan)


class NotPlain(TypeError):
    """A state that cannot be written."""

    def __init__(self, value: Any):
        super().__init__(
            f"a fold's state has a {type(value).__name__} in it; allowed: None, bool, int, float, str, bytes, Decimal, and "
            "tuples, lists, dicts and sets of them; next: keep what is needed of it as such values"
        )


def encoded(value: Any) -> bytes:
    into = bytearray()
    _write(value, into)
    return bytes(into)


def decoded(data: bytes) -> Any:
    value, end = _READ[data[0]](data, 1)
    if end != len(data):
        raise ValueError(f"{len(data)} bytes of a fold's state, of which {end} are one value")
    return value


def first_of(data: bytes) -> tuple[Any, int]:
    """The first of several values that stand one behind the other, and where it ends."""
    return _READ[data[0]](data, 1)


def _length(number: int, into: bytearray) -> None:
    while number > 127:
        into.append(number & 127 | 128)
        number >>= 7
    into.append(number)


def _write(value: Any, into: bytearray) -> None:
    kind = type(value)
    if value is None:
        into += b"n"
    elif kind is bool:
        into += b"t" if value else b"u"
    elif kind is int:
        _write_int(value, into)
    elif kind is float:
        into += _NAN if value != value else b"f" + _DOUBLE.pack(value)
    elif kind is str:
        _write_bytes(b"s", value.encode("utf-8", "surrogatepass"), into)
    elif kind is bytes:
        _write_bytes(b"b", value, into)
    elif kind is tuple or kind is list:
        into += b"(" if kind is tuple else b"["
        _length(len(value), into)
        for one in value:
            _write(one, into)
    elif kind is dict:
        into += b"{"
        _length(len(value), into)
        for key, one in sorted(((encoded(key), one) for key, one in value.items()), key=itemgetter(0)):
            into += key
            _write(one, into)
    elif kind is set or kind is frozenset:
        into += b"<"
        _length(len(value), into)
        for key in sorted(map(encoded, value)):
            into += key
    elif kind is Decimal:
        _write_bytes(b"d", str(value).encode(), into)
    else:
        raise NotPlain(value)


def _write_int(value: int, into: bytearray) -> None:
    # Exact sums of doubles are whole numbers of 2^-1074, with a thousand zero bits below.
    zeros = ((value & -value).bit_length() - 1) // 8 if value else 0
    digits = value >> 8 * zeros
    size = digits.bit_length() // 8 + 1
    into += b"i"
    _length(zeros, into)
    _length(size, into)
    into += digits.to_bytes(size, "big", signed=True)


def _write_bytes(tag: bytes, data: bytes, into: bytearray) -> None:
    into += tag
    _length(len(data), into)
    into += data


def _read(data: bytes, at: int) -> tuple[Any, int]:
    return _READ[data[at]](data, at + 1)


def _read_length(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while (byte := data[at]) > 127:
        number |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
    return number | byte << shift, at + 1


def _read_int(data: bytes, at: int) -> tuple[Any, int]:
    zeros, at = _read_length(data, at)
    size, at = _read_length(data, at)
    return int.from_bytes(data[at : at + size], "big", signed=True) << 8 * zeros, at + size


def _read_float(data: bytes, at: int) -> tuple[Any, int]:
    return _DOUBLE.unpack_from(data, at)[0], at + 8


def _read_bytes(data: bytes, at: int) -> tuple[Any, int]:
    size, at = _read_length(data, at)
    found = data[at : at + size]
    if len(found) != size:
        raise ValueError(f"a fold's state ends at {len(data)} bytes, before {at + size}")
    return found, at + size


def _read_str(data: bytes, at: int) -> tuple[Any, int]:
    found, at = _read_bytes(data, at)
    return found.decode("utf-8", "surrogatepass"), at


def _read_decimal(data: bytes, at: int) -> tuple[Any, int]:
    found, at = _read_bytes(data, at)
    return Decimal(found.decode()), at


def _read_list(data: bytes, at: int) -> tuple[Any, int]:
    count, at = _read_length(data, at)
    found = []
    for _ in range(count):
        one, at = _read(data, at)
        found.append(one)
    return found, at


def _read_tuple(data: bytes, at: int) -> tuple[Any, int]:
    found, at = _read_list(data, at)
    return tuple(found), at


def _read_set(data: bytes, at: int) -> tuple[Any, int]:
    found, at = _read_list(data, at)
    return set(found), at


def _read_dict(data: bytes, at: int) -> tuple[Any, int]:
    count, at = _read_length(data, at)
    found = {}
    for _ in range(count):
        key, at = _read(data, at)
        found[key], at = _read(data, at)
    return found, at


def _constant(value: Any) -> Callable[[bytes, int], tuple[Any, int]]:
    return lambda _, at: (value, at)


_READ: dict[int, Callable[[bytes, int], tuple[Any, int]]] = {
    ord("n"): _constant(None),
    ord("t"): _constant(True),
    ord("u"): _constant(False),
    ord("i"): _read_int,
    ord("f"): _read_float,
    ord("s"): _read_str,
    ord("b"): _read_bytes,
    ord("d"): _read_decimal,
    ord("("): _read_tuple,
    ord("["): _read_list,
    ord("{"): _read_dict,
    ord("<"): _read_set,
}
