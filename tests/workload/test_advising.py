"""Which contracts to seek (L50): from loads whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from auroral.workload.advising import advise
from auroral.workload.contracts import Contract
from auroral.workload.costs import Queue
from auroral.workload.distributions import Pareto
from auroral.workload.offline import bought


def uniform(shape, seed):
    return Pareto(-1.0, 0.01, 1.0).quantile(np.random.default_rng(seed).random(shape))


def test_the_median_price_is_best_for_few_contracts_and_a_lower_one_for_more():
    """L50: uniform load."""
    own, partners = uniform(100_000, 1), uniform((100_000, 10), 2)
    levels = [0.25, 0.33, 0.5, 0.66, 0.75]
    best = {
        count: max(levels, key=lambda level, n=count: bought(own, partners[:, :n], level)) for count in (1, 2, 3, 5, 8)
    }
    assert best[1] == best[2] == best[3] == 0.5 and best[5] < 0.5 and best[8] < 0.5


def test_every_contract_brings_less_than_the_one_before_and_the_price_is_that_of_the_capacity():
    own = np.concatenate([np.full(90, 0.3), np.full(10, 1.4)])
    partners = np.random.default_rng(0).choice([0.2, 0.7], (100, 8))
    found = advise(own, partners, 0.8, Queue())
    assert found.spike_probability == pytest.approx(0.1) and found.expected_spike == pytest.approx(0.6)
    assert found.price == pytest.approx(25.0) and found.median == 0.3
    worth = [one.avoided for one in found.brings]
    assert worth == sorted(worth) and worth[0] == 0 and worth[-1] <= 0.06 + 1e-9
    assert 0 < found.seek <= 8 and found.brings[found.seek].avoided >= 0.95 * worth[-1]


def test_contracts_that_cost_more_than_they_bring_are_not_sought():
    own, partners = np.concatenate([np.full(90, 0.3), np.full(10, 1.4)]), np.full((100, 8), 0.2)
    assert advise(own, partners, 0.8, Queue()).seek == 1, "one takes all of 0.6"
    assert advise(own, partners, 0.8, Queue(), contract_cost=10.0).seek == 0
    assert advise(np.full(50, 0.1), partners[:50], 0.8, Queue()).seek == 0


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        (Contract("a", "b", 24, 4), "keep: its price is just below"),
        (Contract("a", "b", 40), "even its lowest price"),
        (Contract("a", "b", 40, 20), "its highest price is above"),
        (Contract("a", "b", 4), "keep, to lower ordinary costs"),
    ],
)
def test_contracts_that_there_are(terms, words):
    (judged,) = advise(np.full(20, 0.5), np.full((20, 2), 0.5), 0.8, Queue(), existing=[terms]).existing
    assert words in judged.advice
