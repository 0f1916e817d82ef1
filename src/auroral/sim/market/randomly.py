"""Markets drawn from a seed: costs, tasks, contracts, clients, and failures of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from auroral.sim.faultkinds import QUIET, Draw, Pairs, any_host, drawn_faults, flapping, link, pair_of, when
from auroral.sim.faults import OF_CLOCKS, Fault
from auroral.sim.market.scenario import MarketScenario
from auroral.workload.bidding import above, equilibrium, valuation
from auroral.workload.contracts import Clauses, Contract
from auroral.workload.costs import Costs, Curve, Points, Quadratic, Queue
from auroral.workload.events import Event, Measured, Signed, Submitted, Withdrawn
from auroral.workload.settings import Settings
from auroral.workload.values import Load, Task
from auroral.workload.worth import Worth

NEVER_ENDS = 10**6
"""Seconds: a term that outlasts every run."""


def random_market(seed: int) -> MarketScenario:
    draw = Draw(seed)
    static = draw.random() < 0.4
    names = [f"p{number}" for number in range(draw.randint(2, 6))]
    two = draw.random() < 0.3
    resources = ("cpu", "bandwidth") if two else ("cpu",)
    costs = {name: Costs({resource: _curve(draw) for resource in resources}) for name in names}
    tasks = {
        name: tuple(
            _task(draw, name, number, resources, NEVER_ENDS if static else 1) for number in range(draw.randint(0, 25))
        )
        for name in names
    }
    calm = MarketScenario(
        seed,
        {name: _settings(draw, costs[name], static) for name in names},
        tasks,
        tuple(_contracts(draw, names, static)),
        float(draw.randint(60, 100)),
        lost=draw.choice((0.0, 0.0, 0.05, 0.2)),
        doubled=draw.choice((0.0, 0.0, 0.05, 0.2)),
        late=draw.choice((0.0, 0.0, 0.1, 0.3)),
        static=static,
        clocks={} if draw.random() < 0.7 else {name: round(draw.uniform(-100, 100), 1) for name in names},
    )
    happens = () if static else tuple(sorted(_happens(draw, calm, resources), key=lambda one: one[0]))
    wild = replace(
        calm, happens=happens, faults=drawn_faults(draw, calm, LINKS if static else KINDS) if calm.links else ()
    )
    return replace(wild, faults=tuple(sorted([*wild.faults, *_set_clocks(draw, wild.faults)])))


def _curve(draw: Draw) -> Curve:
    """With a slope of about 1 at a load of 20."""
    match draw.randrange(3):
        case 0:
            return Quadratic(Fraction(draw.randint(2, 8), 100))
        case 1:
            # (1 - 20/c)**2 * c is 1 for about 25.
            return Queue(capacity=draw.randint(24, 40))
        case _:
            points, slope, at, cost = [(Fraction(0), Fraction(0))], Fraction(0), Fraction(0), Fraction(0)
            for _ in range(draw.randint(2, 6)):
                slope += Fraction(draw.randint(0, 8), 10)
                width = draw.randint(3, 12)
                at, cost = at + width, cost + slope * width
                points.append((at, cost))
            return Points(points)


def _task(draw: Draw, name: str, number: int, resources: tuple[str, ...], term: int) -> Task:
    """To move it costs nothing, or about as much as a small task over a term."""
    load = Load({resource: Fraction(draw.randint(1, 12), 4) for resource in resources})
    requires = frozenset({"eu"}) if draw.random() < 0.1 else frozenset()
    return Task(
        f"{name}.{number}", load, name, requires, Fraction(term * draw.randint(0, 3), 10) if draw.random() < 0.3 else 0
    )


def _settings(draw: Draw, costs: Costs, static: bool) -> Settings:
    answer = draw.choice((0.3, 1.0))
    return Settings(
        Worth(costs, Fraction(draw.choice((0, 0, 1)), 50)),
        answer_within=answer,
        partners=6,
        pause=draw.choice((0.3, 1.0, 2.0)),
        gather=draw.choice((0.0, 0.0, answer / 3)),
        retry_after=draw.choice((1.0, 3.0)) if static or draw.random() < 0.5 else None,
        again=draw.choice((0.3, 1.0)),
        bid=draw.choice((valuation, valuation, above(2), equilibrium(4))),
    )


def _contracts(draw: Draw, names: list[str], static: bool) -> Iterator[Contract]:
    likely = draw.choice((0.3, 0.6, 1.0))
    for buyer in names:
        for seller in names:
            if buyer != seller and draw.random() < likely:
                yield _contract(draw, buyer, seller, static)


def _contract(draw: Draw, buyer: str, seller: str, static: bool) -> Contract:
    high = Fraction(draw.randint(4, 16), 10)
    delta = draw.choice((Fraction(0), high / 4, high / 2))
    clauses = Clauses(
        tasks=draw.choice((("*",), ("*",), ("*",), (f"{buyer}.*",))),
        onward=draw.random() < 0.8,
        provides=frozenset({"eu"}) if draw.random() < 0.7 else frozenset(),
        most_load={"cpu": 25} if draw.random() < 0.2 else {},
        penalty=draw.choice((0, 0, 5)),
    )
    duration = NEVER_ENDS if static else draw.choice((3, 6, 12, 20))
    return Contract(buyer, seller, high, delta, duration, Fraction(1, 20), clauses=clauses)


def _happens(draw: Draw, scenario: MarketScenario, resources: tuple[str, ...]) -> Iterator[tuple[float, str, Event]]:
    """Clients come and go, loads vary, terms are changed."""
    for name in scenario.hosts:
        own = [task.name for task in scenario.tasks[name]]
        for number in range(draw.randint(0, 10)):
            at = draw.uniform(1, scenario.seconds - 1)
            match draw.randrange(3):
                case 0:
                    yield at, name, Submitted(_task(draw, name, 100 + number, resources, 1))
                case 1 if own:
                    yield at, name, Withdrawn(own.pop(draw.randrange(len(own))))
                case _ if own:
                    load = Load({resource: Fraction(draw.randint(1, 16), 4) for resource in resources})
                    yield at, name, Measured(draw.choice(own), load)
                case _:
                    pass
    for one in scenario.contracts:
        if draw.random() < 0.1:
            at, changed = draw.uniform(5, scenario.seconds - 5), _contract(draw, one.buyer, one.seller, False)
            # Each hears of it in its own time.
            for name in (one.buyer, one.seller):
                yield at + draw.random(), name, Signed(changed)


def _crash(draw: Draw, scenario: MarketScenario) -> Pairs:
    yield pair_of(scenario, *when(draw, scenario), draw.choice(("crash", "unplug")), draw.choice(scenario.hosts))


def _short_crash(draw: Draw, scenario: MarketScenario) -> Pairs:
    begin, _ = when(draw, scenario)
    yield pair_of(scenario, begin, draw.uniform(0.2, 1.0), "crash", draw.choice(scenario.hosts))


def _apart(draw: Draw, scenario: MarketScenario) -> Pairs:
    island = [name for name in scenario.hosts if draw.random() < 0.5]
    if island:
        yield pair_of(scenario, *when(draw, scenario), "isolate", *island)


def _set_clocks(draw: Draw, faults: tuple[Fault, ...]) -> Iterator[Fault]:
    """Of some that are down, when they come back."""
    for fault in faults:
        if fault.verb == "restart" and draw.random() < 0.3:
            yield Fault(fault.at, draw.choice(OF_CLOCKS), (fault.places[0], f"{draw.uniform(1, QUIET):.1f}"))


LINKS = (link, link, any_host, flapping, _apart)
KINDS = (*LINKS, _crash, _crash, _short_crash)
