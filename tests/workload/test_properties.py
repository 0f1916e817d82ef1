"""What holds for any convex costs: both gain, the cost of all falls, movements end (L7, L21, L32, L46, L47)."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auroral.workload.acceptable import acceptable, least_range, most_at, nearly_acceptable, overloaded, price_fall
from auroral.workload.costs import Costs, Points, Quadratic, Queue
from auroral.workload.records import Lent
from auroral.workload.settings import Settings
from auroral.workload.values import Load, Task
from auroral.workload.worth import Worth
from workload.markets import LEVELS, LONG, contract, cost, held, market, unit


def convex(draw: random.Random) -> Costs:
    points, slope, at, whole = [(Fraction(0), Fraction(0))], Fraction(0), Fraction(0), Fraction(0)
    for _ in range(draw.randint(2, 6)):
        slope += Fraction(draw.randint(0, 30), 10)
        width = draw.randint(1, 8)
        at, whole = at + width, whole + slope * width
        points.append((at, whole))
    return Costs({"cpu": Points(points)})


def drawn(seed: int):
    draw = random.Random(seed)
    names = "abcde"[: draw.randint(2, 5)]
    each = {name: Settings(Worth(convex(draw)), retry_after=1.0) for name in names}
    loads = {
        name: [Task(f"{name}{n}", unit(Fraction(draw.randint(1, 8), 4)), name) for n in range(draw.randint(0, 12))]
        for name in names
    }
    contracts = [
        contract(x, y, high := Fraction(draw.randint(2, 60), 10), draw.choice((0, high / 3)), step=Fraction(1, 20))
        for x in names
        for y in names
        if x != y and draw.random() < 0.7
    ]
    return market(loads, contracts, each)


@settings(deadline=None)
@given(st.integers(0, 10**9))
def test_every_movement_is_worth_it_to_both_and_they_end(seed):
    """L21, L46: under static load."""
    found = drawn(seed)
    before, whole = (
        {n: one.settings.worth.costs.cost(one.books.load) for n, one in found.participants.items()},
        cost(found),
    )
    quiet, seen = 0, 0
    while quiet < 4:
        found.run(found.now + 0.25)
        lent = [(name, write.record) for name, write in found.written[seen:] if isinstance(write.record, Lent)]
        seen, quiet = len(found.written), 0 if lent else quiet + 0.25
        if lent:
            assert cost(found) < whole, "the cost of all falls with every movement"
            whole = cost(found)
        assert found.now < 300
    for name, one in found.participants.items():
        gained = before[name] - one.settings.worth.costs.cost(one.books.load) + one.books.balance / LONG
        # Onward moves end when what is borrowed does, a few seconds before the term is over.
        assert gained > -Fraction(1, 1000), "nobody is worse off than alone"
    assert sum((one.books.balance for one in found.participants.values()), Fraction(0)) == 0


def utility_of_the_first(seed: int, deviates: str) -> Fraction:
    """For each second, in a market that is lightly loaded; it refuses all, offers nothing, or waits before it offers."""
    draw = random.Random(seed)
    names = "abcdef"
    loads = {name: draw.choice((2, 4, 6, 8, 14, 18)) for name in names}
    contracts = [contract(x, y, 10) for x in names for y in names if x != y]
    usual = Settings(Worth(LEVELS), retry_after=1.0)
    first = Settings(Worth(LEVELS), retry_after=1.0, pause=7.0) if deviates == "waits" else usual
    if deviates == "refuses":
        contracts = [one for one in contracts if one.seller != "a"]
    if deviates == "offers nothing":
        contracts = [one for one in contracts if one.buyer != "a"]
    found = market(loads, contracts, {name: first if name == "a" else usual for name in names})
    found.run(20.0)
    one = found.participants["a"]
    return one.books.balance / LONG - LEVELS.cost(one.books.load)


@pytest.mark.parametrize("deviates", ["refuses", "offers nothing", "waits"])
def test_whoever_deviates_gains_nothing_on_average(deviates):
    """L47 (theorem 1)."""
    follows = sum(utility_of_the_first(seed, "") for seed in range(30))
    assert sum(utility_of_the_first(seed, deviates) for seed in range(30)) <= follows + Fraction(1, 1000)


def holding(load: int, most: int = 100):
    return LEVELS, unit(load), unit(most)


def test_acceptable_allocations():
    """L7: on both sides of each boundary."""
    assert acceptable([holding(100), holding(0)]) and not acceptable([holding(101), holding(0)])
    assert overloaded([holding(150), holding(51)]) and not overloaded([holding(150), holding(50)])
    assert acceptable([holding(150), holding(100)]) and not acceptable([holding(150), holding(99)])
    assert nearly_acceptable([holding(150), holding(97)], unit(), 4) and not nearly_acceptable(
        [holding(150), holding(96)], unit(), 4
    )


def test_how_much_the_price_of_a_task_falls():
    """L32: k times the factor for quadratic costs; shares of the price at a capacity for a queue, with tasks of 1 %."""
    quadratic = Costs({"cpu": Quadratic(3)})
    assert [price_fall(quadratic, unit(), 50, k) for k in range(4)] == [0, 3, 6, 9]
    assert most_at(LEVELS, unit(), Fraction(100)) == 100
    queue, task = Costs({"cpu": Queue()}), Load({"cpu": Fraction(1, 100)})
    for capacity, share in ((70, 0.26), (80, 0.35), (90, 0.54)):
        price = queue.marginal(task, task * (capacity - 1))
        assert float(price_fall(queue, task, capacity, 5) / price) == pytest.approx(share, abs=0.01)
    assert least_range(LEVELS, unit(), 100, 6) == 5


def test_the_range_of_the_lemma_is_what_a_chain_needs():
    """L33 by messages, with the range that the costs ask for."""
    for width, most in ((least_range(LEVELS, unit(), 100, 3), 100), (least_range(LEVELS, unit(), 100, 2), 103)):
        chain = [contract(x, y, 100, width) for x, y in ("ab", "bc", "cd")]
        found = market({"a": 103, "b": 100, "c": 100, "d": 0}, chain)
        found.run(60.0)
        assert (max(held(found)) <= 100) is (most == 100)
