"""Partners that do not compute what they are paid for are found by comparing some of their buckets."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from auroral.workload.auditing import Auditing, Cheated, Delivered, Evaluate, Evaluated, deterring, unnoticed
from auroral.workload.contracts import WrongContract
from auroral.workload.events import Cancelled
from workload.markets import contract, held, market

SHARE = Fraction(1, 20)


def run(core: Auditing, seed: int, wrong: float, buckets: int = 400) -> int | None:
    """The first bucket that a partner is found by, which computes so many of them wrongly."""
    lots, cheats = random.Random(seed), random.Random(seed + 1)
    for bucket in range(buckets):
        place, right = ("b", "q", bucket), f"r{bucket}"
        said = "made up" if cheats.random() < wrong else right
        lot = Fraction(lots.randrange(10**6), 10**6)
        for effect in core.handle(Delivered(place, "in", said, lot), bucket):
            assert effect == Evaluate(place)
            if found := core.handle(Evaluated(place, "in", right), bucket):
                assert found == [Cheated(place, "made up", right)]
                return bucket
    return None


def test_who_is_honest_is_never_accused_and_about_the_share_is_compared():
    core = Auditing(SHARE)
    assert run(core, 1, wrong=0.0, buckets=4000) is None
    assert core.compared["b"] == pytest.approx(200, rel=0.2) and not core.cheated and not core.undecided


def test_who_cheats_is_found_as_soon_as_the_share_says():
    """Within what the formula says, over many partners."""
    missed = sum(run(Auditing(SHARE), seed, wrong=0.5, buckets=60) is None for seed in range(300))
    assert missed / 300 == pytest.approx(float(unnoticed(SHARE, Fraction(1, 2), 60)), abs=0.07)
    assert all(run(Auditing(SHARE), seed, wrong=1.0) is not None for seed in range(50))


def test_other_inputs_are_no_proof_and_every_wait_ends():
    core = Auditing(Fraction(1), within=5)
    place = ("b", "q", 0)
    assert core.handle(Delivered(place, "in", "x", Fraction(0)), 0.0) == [Evaluate(place)]
    assert not core.handle(Delivered(place, "in", "y", Fraction(0)), 0.5), "the first word counts"
    assert not core.handle(Evaluated(place, "other", "y"), 1.0) and core.undecided["b"] == 1
    core.handle(Delivered(place, "in", "x", Fraction(0)), 2.0)
    assert not core.handle(Evaluated(place, "in", "y"), 7.0), "too late"
    assert core.undecided["b"] == 2 and not core.open and not core.compared


def test_what_is_not_drawn_is_not_evaluated():
    core = Auditing(SHARE)
    assert not core.handle(Delivered(("b", "q", 0), "in", "x", SHARE), 0.0)
    assert not core.handle(Evaluated(("b", "q", 0), "in", "y"), 0.0) and not core.compared
    with pytest.raises(WrongContract, match="allowed: more than 0, up to 1"):
        Auditing(Fraction(0))


def test_a_penalty_that_makes_cheating_worthless():
    penalty = deterring(3, SHARE)
    assert SHARE * penalty == 3 and SHARE * (penalty - 1) < 3


def test_after_proof_the_contract_is_ended_and_the_tasks_go_home():
    found = market({"a": 105, "b": 0}, [contract("a", "b", duration=10)])
    found.run(1.1)
    assert held(found) == [100, 5]
    core, place = Auditing(Fraction(1)), ("b", "a0", 7)
    core.handle(Delivered(place, "in", "made up", Fraction(1, 2)), found.now)
    (cheated,) = core.handle(Evaluated(place, "in", "right"), found.now)
    found.tell("a", Cancelled("a", cheated.place[0]))
    found.run(30.0)
    assert held(found) == [105, 0]
