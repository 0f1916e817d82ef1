"""Values of a header, checked one by one: what a field holds, how it is written, and what is refused when it is read."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from auroral.wire.errors import WireError
from auroral.wire.limits import LARGEST_HASH, LARGEST_NUMBER, LONGEST_NAME, LONGEST_TIME, MOST_ENTRIES

Read = Callable[[Any, str], Any]
"""Takes what JSON gave and where it stood; gives the value or raises WireError."""


def wrong(value: Any, where: str, allowed: str) -> WireError:
    shown = repr(value)
    return WireError(f"{shown[:60]}{'…' if len(shown) > 60 else ''} is not valid here", where, allowed)


def text(value: Any, where: str) -> str:
    if type(value) is str and 0 < len(value) <= LONGEST_NAME and value.isprintable():
        return value
    raise wrong(value, where, f"a printable name of 1 to {LONGEST_NAME} characters")


def number(value: Any, where: str) -> int:
    if type(value) is int and 0 <= value <= LARGEST_NUMBER:
        return value
    raise wrong(value, where, f"a whole number from 0 to {LARGEST_NUMBER}")


def number_or_none(value: Any, where: str) -> int | None:
    return None if value is None else number(value, where)


def hashed(value: Any, where: str) -> int:
    if type(value) is int and -1 <= value <= LARGEST_HASH:
        return value
    raise wrong(value, where, "a hash of up to 128 bits, or -1 of a bucket that is lost")


def hash_of_rows(value: Any, where: str) -> int:
    """A bucket that is lost has no rows, and no hash of them: it is told of as a gap."""
    if type(value) is int and 0 <= value <= LARGEST_HASH:
        return value
    raise wrong(value, where, "a hash of up to 128 bits")


def flag(value: Any, where: str) -> bool:
    if type(value) is bool:
        return value
    raise wrong(value, where, "true or false")


def seconds(value: Any, where: str) -> float:
    if type(value) in (int, float) and math.isfinite(value) and 0 <= value <= LONGEST_TIME:
        return float(value)
    raise wrong(value, where, f"seconds from 0 to {LONGEST_TIME:g}")


def one_of(*allowed: Any) -> Read:
    """The enumeration's members by their values; `true` is not 1."""
    found = {member.value: member for member in allowed}
    kind = type(next(iter(found)))

    def read(value: Any, where: str) -> Any:
        if type(value) is kind and value in found:
            return found[value]
        raise wrong(value, where, ", ".join(str(one) for one in found))

    return read


def items(value: Any, where: str) -> list[Any]:
    if type(value) is list and len(value) <= MOST_ENTRIES:
        return value
    if type(value) is list:
        raise WireError(f"{len(value)} entries are too many", where, f"at most {MOST_ENTRIES}")
    raise wrong(value, where, "a list")


def parts(value: Any, where: str, *names: str) -> list[Any]:
    """A list of exactly these, none missing and none more."""
    found = items(value, where)
    if len(found) != len(names):
        raise WireError(f"{len(found)} fields instead of {len(names)}", where, ", ".join(names) or "no fields")
    return found


def listed(read: Read) -> Read:
    def read_all(value: Any, where: str) -> tuple[Any, ...]:
        return tuple([read(one, where) for one in items(value, where)])

    return read_all


def by_name(read: Read) -> Read:
    """A mapping, as a list of pairs: in JSON's own, a name could stand twice."""

    def read_all(value: Any, where: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for pair in items(value, where):
            name, one = parts(pair, where, "name", "value")
            if text(name, where) in found:
                raise WireError(f"{name!r} stands twice", where, "every name once")
            found[name] = read(one, f"{where} of {name}")
        return found

    return read_all
