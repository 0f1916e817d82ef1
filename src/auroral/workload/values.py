"""Loads and tasks (L1): what is moved, and what it takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from types import MappingProxyType

Exact = int | Fraction
"""Of loads, prices, costs and money: sums of these lose nothing."""


@dataclass(frozen=True, slots=True)
class Load:
    """Amounts of named resources."""

    amounts: Mapping[str, Exact] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "amounts", MappingProxyType({k: v for k, v in self.amounts.items() if v}))

    def __getitem__(self, resource: str) -> Exact:
        return self.amounts.get(resource, 0)

    def __add__(self, other: Load) -> Load:
        return Load({name: self[name] + other[name] for name in {**self.amounts, **other.amounts}})

    def __sub__(self, other: Load) -> Load:
        return Load({name: self[name] - other[name] for name in {**self.amounts, **other.amounts}})

    def __mul__(self, factor: Exact) -> Load:
        return Load({name: amount * factor for name, amount in self.amounts.items()})

    def __hash__(self) -> int:
        return hash(frozenset(self.amounts.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Load) and self.amounts == other.amounts

    def __reduce__(self) -> tuple[type[Load], tuple[dict[str, Exact]]]:
        """A view of a dictionary cannot be sent to another process."""
        return Load, (dict(self.amounts),)


NOTHING = Load()


@dataclass(frozen=True, slots=True)
class Task:
    """What moves as a whole: one or more connected queries of a participant's client."""

    name: str
    load: Load
    origin: str
    """The participant whose client wants it."""
    requires: frozenset[str] = frozenset()
    """What a partner must provide to run it, such as a level of security."""
    migration: Exact = 0
    """What it costs to move it once."""


def total(tasks: Iterable[Task]) -> Load:
    return reduce(Load.__add__, (task.load for task in tasks), NOTHING)
