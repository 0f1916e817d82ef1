"""Small markets for tests: quadratic costs, so that a price is a load level, and tasks of one unit each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from auroral.sim.market.exchange import Exchange
from auroral.workload.contracts import Contract
from auroral.workload.costs import Costs, Quadratic
from auroral.workload.events import Started
from auroral.workload.records import Added, Agreed
from auroral.workload.settings import Settings
from auroral.workload.values import Exact, Load, Task
from auroral.workload.worth import Worth

LEVELS = Costs({"cpu": Quadratic()})
LONG = 10**6


def unit(amount: Exact = 1) -> Load:
    return Load({"cpu": amount})


def tasks(owner: str, count: int, **more: Any) -> list[Task]:
    return [Task(f"{owner}{number}", unit(), owner, **more) for number in range(count)]


def settings(**more: Any) -> Settings:
    worth = Worth(
        more.pop("costs", LEVELS),
        more.pop("margin", 0),
        **({"forecast": more.pop("forecast")} if "forecast" in more else {}),
    )
    return Settings(worth, **{"retry_after": 1.0, **more})


def contract(buyer: str, seller: str, high: Exact = 100, delta: Exact = 0, **more: Any) -> Contract:
    return Contract(buyer, seller, high, delta, **{"duration": LONG, "step": 1, **more})


def market(
    loads: Mapping[str, int | list[Task]],
    contracts: Iterable[Contract],
    each: Mapping[str, Settings] | None = None,
    **more: Any,
) -> Exchange:
    """They begin to act a second later, in this order."""
    found, contracts = Exchange(), list(contracts)
    for place, (name, given) in enumerate(loads.items()):
        own = tasks(name, given) if isinstance(given, int) else given
        core = found.join(name, (each or {}).get(name) or settings(**more))
        records = [
            *(Added(task) for task in own),
            *(Agreed(one) for one in contracts if name in (one.buyer, one.seller)),
        ]
        found.now = place / 1024
        found.tell(name, Started(tuple(records)))
        assert core.books.load == sum((task.load for task in own), Load())
    return found


def held(found: Exchange) -> list[int]:
    return [len(one.books.held) for one in found.participants.values()]


def cost(found: Exchange) -> Fraction:
    return sum((one.settings.worth.costs.cost(one.books.load) for one in found.participants.values()), Fraction(0))
