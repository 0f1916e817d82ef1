"""Contracts and their terms (L8, L10, L11), and what a seller asks for (L39)."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from auroral.workload.bidding import above, best_of_uniform, equilibrium, low_is_best_below, nash, valuation
from auroral.workload.contracts import Clauses, Contract, WrongContract, agreed, contract
from auroral.workload.values import Load, Task

FULL = Contract(
    "a",
    "b",
    Fraction(1, 3),
    Fraction(1, 7),
    30,
    Fraction(1, 100),
    {"cpu": Fraction(1, 100)},
    Clauses(("q*",), False, frozenset({"eu"}), {"cpu": Fraction(9, 10)}, 5),
)


def test_one_contract_in_each_direction():
    """L8."""
    there, back = Contract("a", "b", 5), Contract("b", "a", 6)
    assert agreed([there, back]) == {("a", "b"): there, ("b", "a"): back}
    with pytest.raises(WrongContract, match="a has two contracts with b"):
        agreed([there, Contract("a", "b", 7)])


@pytest.mark.parametrize("one", [FULL, Contract("a", "b", 5)])
def test_through_a_file_and_back(one):
    """L10."""
    assert contract(json.loads(json.dumps(one.to_settings()))) == one


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"delta": -1}, "range of prices is -1 wide"),
        ({"delta": 6}, "begins at -1"),
        ({"duration": 0}, "move for 0 s"),
        ({"step": 0}, "step of prices is 0"),
        ({"units": {"cpu": 0}}, "unit of load"),
        ({"seller": "a"}, "contract with itself"),
        ({"high": "dear"}, "high is 'dear'"),
        ({"colour": 1}, "a contract has no colour"),
    ],
)
def test_terms_that_cannot_be(terms, words):
    """L10."""
    with pytest.raises(WrongContract, match=words):
        contract({"buyer": "a", "seller": "b", "high": 5, **terms})
    with pytest.raises(WrongContract, match="lacks high"):
        contract({"buyer": "a", "seller": "b"})


def test_a_price_is_for_units_that_partners_agreed_on():
    assert FULL.load(Load({"cpu": Fraction(1, 2), "memory": 3})) == 53
    assert Contract("a", "b", 7).payment(Load({"cpu": 4}), 7, 2) == 56


def test_what_may_move():
    """L11."""
    assert FULL.clauses.allow(Task("q1", Load(), "a", frozenset({"eu"})))
    assert not FULL.clauses.allow(Task("secret", Load(), "a"))
    assert not FULL.clauses.allow(Task("q1", Load(), "a", frozenset({"eu", "certified"})))
    assert FULL.clauses.keep(Load({"cpu": Fraction(9, 10)})) and not FULL.clauses.keep(Load({"cpu": 1}))


# Bids


@pytest.mark.parametrize(
    ("competitors", "row"),
    [
        (1, (0.33, 0.50, 0.67, 0.83)),
        (3, (0.20, 0.40, 0.60, 0.80)),
        (5, (0.14, 0.36, 0.57, 0.79)),
        (7, (0.11, 0.33, 0.55, 0.78)),
    ],
)
def test_table_6_2(competitors, row):
    """L39: within 0.01; and no price nearby gains more (equation 6.17)."""
    for cost, published in zip((0, Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)), row, strict=True):
        best = best_of_uniform(cost, competitors)
        assert abs(best - Fraction(str(published))) <= Fraction(1, 100)

        def gain(price, cost=cost):
            return (price - cost) * (1 - price) ** (competitors + 1)

        assert gain(best) >= max(gain(best - Fraction(1, 1000)), gain(best + Fraction(1, 1000)))


def test_the_lowest_price_is_taken_at_once_nearly_always():
    """L39: 0.9997 of it for [0.75, 0.8] and five sellers (equation 6.20)."""
    low = Fraction(3, 4)
    assert abs(low_is_best_below(low, Fraction(4, 5), 5) / low - Fraction(9997, 10000)) < Fraction(1, 10000)


def test_bids_are_in_the_range_and_above_the_cost():
    """L38, L43: the second time, no more than what it costs."""
    terms = Contract("a", "b", 100, 5, step=1)
    assert [valuation(Fraction(cost, 2), terms, False) for cost in (190, 191, 192, 199)] == [96, 96, 97, 100]
    assert above(2)(Fraction(195, 2), terms, False) == 100 and above(2)(Fraction(195, 2), terms, True) == 98
    assert nash(Fraction(1, 2), 1, 5) == Fraction(3, 5)
    for cost in range(380, 400):
        dear, cheap = (equilibrium(5)(Fraction(cost, 4), terms, again) for again in (False, True))
        assert terms.low <= cheap <= dear <= terms.high and cheap > Fraction(cost, 4)
