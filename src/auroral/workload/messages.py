"""What partners say to one another: offers, prices and answers, and nothing about costs, loads or partners of their own (L14).

The buyer offers tasks by a number of its own, which it uses once for each partner; all that follows of the offer has its number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from auroral.workload.values import Exact, Load, Task


@dataclass(frozen=True, slots=True)
class Item:
    """A task as a partner is told of it. One that is itself borrowed has no name but its place in the offer: whose it is does not matter."""

    name: str
    load: Load
    requires: frozenset[str] = frozenset()
    migration: Exact = 0


# From the buyer


@dataclass(frozen=True, slots=True)
class Offer:
    """Binding: what the partner accepts of it in time moves, and is paid for."""

    number: int
    items: tuple[Item, ...]
    price: Exact
    whole: bool = False
    """Whether part of it is of no use."""


@dataclass(frozen=True, slots=True)
class Release:
    """What was accepted or counter-offered will not move."""

    number: int


@dataclass(frozen=True, slots=True)
class Transfer:
    """Said until it is answered. The seller owns the tasks for so many seconds after its answer `at`, and no longer."""

    number: int
    names: tuple[str, ...]
    price: Exact
    payment: Fraction
    seconds: Exact
    at: float


@dataclass(frozen=True, slots=True)
class Prolong:
    """So many seconds more."""

    number: int
    term: int
    payment: Fraction
    seconds: Exact


@dataclass(frozen=True, slots=True)
class Settle:
    """The time is over: how did it end? Said until it is answered."""

    number: int


@dataclass(frozen=True, slots=True)
class Closed:
    """Nothing of this number is open any more."""

    number: int


# From the seller


@dataclass(frozen=True, slots=True)
class Accept:
    number: int
    names: tuple[str, ...]
    price: Exact
    at: float
    """By the seller's clock: for how long it owns the tasks counts from here."""


@dataclass(frozen=True, slots=True)
class Counter:
    """Binding for so many seconds: these tasks, at this price."""

    number: int
    names: tuple[str, ...]
    price: Exact
    at: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Reject:
    number: int


@dataclass(frozen=True, slots=True)
class Taken:
    number: int


@dataclass(frozen=True, slots=True)
class Extend:
    """The seller would keep the tasks for one more term."""

    number: int
    term: int


@dataclass(frozen=True, slots=True)
class Over:
    """The seller does not have the tasks, or not any more, and keeps so much of what was paid. Said until it is answered."""

    number: int
    kept: Fraction


FromBuyer = Offer | Release | Transfer | Prolong | Settle | Closed
FromSeller = Accept | Counter | Reject | Taken | Extend | Over
Message = FromBuyer | FromSeller


def items(tasks: Iterable[Task], own: str) -> tuple[Item, ...]:
    """As a partner is told of them, in this order."""
    return tuple(
        Item(task.name if task.origin == own else f"#{place}", task.load, task.requires, task.migration)
        for place, task in enumerate(tasks)
    )
