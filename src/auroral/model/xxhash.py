"""Spark's SQL function xxhash64, which drop boxes decide by."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from auroral.model.decimals import digits_of, unscaled
from auroral.model.types import LONG, STRING, FieldType, Kind

Column = tuple[FieldType, Any]

SEED = 42

_P1 = 0x9E3779B185EBCA87
_P2 = 0xC2B2AE3D27D4EB4F
_P3 = 0x165667B19E3779F9
_P4 = 0x85EBCA77C2B2AE63
_P5 = 0x27D4EB2F165667C5
_MASK = (1 << 64) - 1


def xxhash64(columns: Iterable[Column], seed: int = SEED) -> int:
    """The hash of typed values, unsigned. Each column's hash is the seed of the next; a null changes none."""
    result = seed
    for field_type, value in columns:
        if value is not None:
            result = xxh64(_bytes(field_type, value), result)
    return result


def falls_below(columns: Iterable[Column], rate: float) -> bool:
    """Whether the lower half of the hash lies in the lowest `rate` of its range: how drop boxes drop."""
    return (xxhash64(columns) & 0xFFFFFFFF) < rate * 2**32


def window_is_dropped(box: str, group: Sequence[Column], batch: int, rate: float) -> bool:
    """What the window_drop called `box` does with a batch of consecutive windows of one group."""
    return falls_below([(STRING, box), *group, (LONG, batch)], rate)


def _bytes(field_type: FieldType, value: Any) -> bytes:
    """What is hashed: 4 bytes for types that Spark hashes as an int, 8 for those that it hashes as a long."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    if isinstance(value, Decimal):
        precision, scale = digits_of(field_type)
        whole = unscaled(value, scale)
        if precision <= 18:
            return struct.pack("<q", whole)
        # As Java's BigInteger.toByteArray: as few bytes as hold number and sign.
        size = (whole if whole >= 0 else ~whole).bit_length() // 8 + 1
        return whole.to_bytes(size, "big", signed=True)
    if isinstance(value, float):
        normal = math.nan if math.isnan(value) else value + 0.0
        return struct.pack("<f" if field_type.kind is Kind.SINGLE else "<d", normal)
    assert value is not None
    return struct.pack("<q" if field_type.kind in (Kind.LONG, Kind.TIMESTAMP) else "<i", value)


def xxh64(data: bytes, seed: int) -> int:
    """XXH64 of `data`."""
    position = 0
    if len(data) >= 32:
        lanes = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
        while position + 32 <= len(data):
            words = struct.unpack_from("<4Q", data, position)
            lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
            position += 32
        result = sum(_rotl(lane, turn) for lane, turn in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            result = ((result ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        result = (seed + _P5) & _MASK
    result = (result + len(data)) & _MASK
    while position + 8 <= len(data):
        (word,) = struct.unpack_from("<Q", data, position)
        result = (_rotl(result ^ _round(0, word), 27) * _P1 + _P4) & _MASK
        position += 8
    if position + 4 <= len(data):
        (half,) = struct.unpack_from("<I", data, position)
        result = (_rotl(result ^ (half * _P1 & _MASK), 23) * _P2 + _P3) & _MASK
        position += 4
    for byte in data[position:]:
        result = (_rotl(result ^ (byte * _P5 & _MASK), 11) * _P1) & _MASK
    return _avalanche(result)


def _round(lane: int, word: int) -> int:
    return _rotl((lane + word * _P2) & _MASK, 31) * _P1 & _MASK


def _rotl(value: int, turn: int) -> int:
    return (value << turn | value >> (64 - turn)) & _MASK


def _avalanche(value: int) -> int:
    value = (value ^ value >> 33) * _P2 & _MASK
    value = (value ^ value >> 29) * _P3 & _MASK
    return value ^ value >> 32
