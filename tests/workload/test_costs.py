"""Costs, marginal costs and prices (L2-L5), and costs that jump."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auroral.workload.contracts import Contract
from auroral.workload.costs import SATURATED, Costs, Points, Quadratic, Queue, Step, WrongCost, level_at, sampled
from auroral.workload.values import Load, Task
from auroral.workload.worth import Worth

BOTH = Costs({"cpu": Queue(), "bandwidth": Queue()})
TENTH = Fraction(1, 10)


@pytest.mark.parametrize(("cpu", "bandwidth", "cost"), [("0.5", "0.5", 2), ("0.8", "0", 4), ("0", "0", 0)])
def test_the_cost_of_two_resources(cpu, bandwidth, cost):
    """L3: equation 7.1."""
    assert BOTH.cost(Load({"cpu": Fraction(cpu), "bandwidth": Fraction(bandwidth)})) == cost


def test_a_saturated_queue_costs_more_than_any_price_and_stays_convex():
    """L3: rho of 1 and more."""
    queue = Queue()
    slopes = [queue.slope(Fraction(n, 100)) for n in range(300)]
    assert slopes == sorted(slopes) and slopes[-1] == 10**6
    assert queue.cost(2) > queue.cost(1) > queue.cost(SATURATED) == 999


def test_a_queue_of_another_capacity_and_the_shifted_one_of_the_study_of_prices():
    assert Queue(capacity=200).cost(100) == 1 and Queue(capacity=200).slope(0) == Fraction(1, 200)
    shifted = Queue(shift=Fraction(1, 5))
    assert shifted.cost(Fraction(1, 5)) == 0 and shifted.slope(1) == 25


@given(st.fractions(0, 2), st.fractions(0, 1), st.fractions(0, 1))
def test_the_marginal_cost_is_the_difference_and_grows_with_the_load(base, more, further):
    """L4: exactly."""
    for costs in (BOTH, Costs({"cpu": Quadratic(3)})):
        low, high, load = Load({"cpu": base}), Load({"cpu": base + further}), Load({"cpu": more})
        assert costs.marginal(load, low) == costs.cost(low + load) - costs.cost(low)
        assert costs.marginal(load, low) <= costs.marginal(load, high)


def test_a_price_is_a_load_level():
    """L5: M/M/1 at 0.8 is 25, and back."""
    assert Queue().slope(Fraction(4, 5)) == 25 and level_at(Queue(), 25, 1) == Fraction(4, 5)
    assert level_at(Quadratic(), 100, 300) == 100
    assert level_at(Quadratic(), 1000, 300) == 300, "never above the most"
    assert abs(float(level_at(Queue(), 30, 1)) - (1 - 1 / math.sqrt(30))) < 1e-12


def test_any_convex_function_and_no_other():
    """L2."""
    found = sampled(lambda x: math.exp(x) - 1, 2)
    assert found.convex and abs(float(found.cost(1)) - (math.e - 1)) < 1e-5
    assert sampled(lambda x: 0.1 * x, 1).slope(Fraction(1, 3)) == pytest.approx(0.1), "rounding is not concave"
    with pytest.raises(WrongCost, match=r"between loads of 0.001 and 0.002.*\n.*convex"):
        sampled(math.sqrt, 1)
    with pytest.raises(WrongCost, match="falls"):
        sampled(lambda x: -x, 1)


def test_a_cost_of_points():
    found = Points([(0, 0), (50, 10), (100, 100)])
    assert (found.cost(25), found.cost(75), found.cost(200)) == (5, 55, 280)
    assert found.slope(50) == Fraction(90, 50)
    with pytest.raises(WrongCost, match="rises more slowly between loads of 50 and 100"):
        Points([(0, 0), (50, 50), (100, 60)])
    with pytest.raises(WrongCost, match="no line"):
        Points([(0, 0)])
    with pytest.raises(WrongCost, match="falls"):
        Points([(0, 10), (1, 0)])


@pytest.mark.parametrize("wrong", [lambda: Queue(0), lambda: Quadratic(0), lambda: Step(1, 0), lambda: Step(1, 1, 0)])
def test_numbers_that_make_no_cost(wrong):
    with pytest.raises(WrongCost, match="allowed: more than 0"):
        wrong()


def test_a_resource_without_a_cost_is_said():
    with pytest.raises(WrongCost, match=r"no cost of gpu\n    allowed: bandwidth, cpu"):
        BOTH.cost(Load({"gpu": 1}))


def test_the_gradient_is_a_price_for_each_resource():
    found = BOTH.gradient(Load({"cpu": Fraction(4, 5)}))
    assert found == {"cpu": 25, "bandwidth": 1}


# Steps


def memory(count: int) -> tuple[list[Task], Load]:
    found = [Task(f"t{n}", Load({"memory": 4}), "a") for n in range(count)]
    return found, Load({"memory": 4 * count})


def test_tasks_under_a_step_are_offered_together_or_not_at_all():
    """One of them saves nothing: two bring the memory under its limit."""
    worth = Worth(Costs({"memory": Step(level=16, height=100)}))
    assert not worth.costs.convex
    terms = Contract("a", "b", 5, duration=1)
    tasks, load = memory(6)
    assert worth.to_offer(tasks, load, terms, 5, 1, 0.0) == (tuple(tasks[:2]), True)
    assert worth.to_offer(tasks[:4], memory(4)[1], terms, 5, 1, 0.0) == ((), False), "nothing to save"
    assert worth.to_offer(tasks, load, terms, 13, 1, 0.0) == ((), False), "8 units at 13 cost more than the step"
    assert worth.to_take(tasks[:2], memory(2)[1], terms, 5, 0.0, whole=True) == tuple(tasks[:2])
    assert worth.to_take(tasks[:2], memory(3)[1], terms, 5, 0.0, whole=True) == ()


def test_what_goes_over_several_steps_goes_together():
    """Part of it may save nothing."""
    worth = Worth(Costs({"memory": Step(level=16, height=100, width=4)}))
    tasks, load = memory(6)
    terms = Contract("a", "b", 5, duration=1)
    assert worth.to_offer(tasks, load, terms, 5, 1, 0.0) == (tuple(tasks[:2]), True)
    assert worth.to_offer(tasks[:5], memory(5)[1], terms, 5, 1, 0.0) == (tuple(tasks[:1]), False)
