"""The published studies of the market: arrays against messages, and figures that were computed twice (L9, L33-L36, L44, L48-L52)."""

from __future__ import annotations

import numpy as np
import pytest

from auroral.sim.market.study import c2_allocation, c3_convergence, c6_bids
from auroral.sim.market.study.c5_contracts import overloads, purchases
from auroral.sim.market.study.c7_ranges import chain
from auroral.sim.market.study.fast import settle
from auroral.sim.market.study.grid import grid
from auroral.sim.market.study.populations import CAPACITY, Variant, diameter, population, topology
from auroral.sim.market.study.slow import settle_by_messages
from auroral.workload.distributions import Pareto


@pytest.mark.slow
@pytest.mark.parametrize("variant", Variant)
@pytest.mark.parametrize(("percent", "seed", "too_much"), [(50, 3, 0), (75, 4, 2), (125, 5, 0)])
def test_arrays_and_messages_come_to_the_same(variant, percent, seed, too_much):
    """All of it: loads, rounds, movements, and what was left after each round."""
    one = population(topology(10, 2, seed), variant, percent, seed)
    over = too_much if variant.delta else 0
    (fast,), slow = settle([one], over), settle_by_messages(one, over)
    assert fast.load.tolist() == slow.load.tolist()
    assert (fast.rounds, fast.movements, fast.tasks) == (slow.rounds, slow.movements, slow.tasks)
    assert fast.misplaced.tolist() == slow.misplaced.tolist()
    assert fast.movements and fast.load.sum() == one.load.sum()


def test_populations_side_by_side_do_not_touch_one_another():
    many = [population(topology(40, least, least), variant, 75, least) for least in (1, 2, 3) for variant in Variant]
    together = settle(many)
    for one, found in zip(many, together, strict=True):
        (alone,) = settle([one])
        assert (alone.load == found.load).all() and alone.rounds == found.rounds and alone.movements == found.movements


@pytest.mark.parametrize("hops", range(2, 11))
def test_lemma_1_is_tight_on_chains(hops):
    """L33: a width of M-1 tasks is enough, and M-2 is not."""
    wide, narrow = settle([chain(hops, hops - 1), chain(hops, hops - 2)])
    assert wide.load.max() <= CAPACITY < narrow.load.max()


def test_lemma_1_by_messages():
    """L33, L36."""
    wide = settle_by_messages(chain(3, 2))
    assert wide.load.max() <= CAPACITY


@pytest.mark.slow
def test_the_first_statements_of_the_study():
    """L51: one topology of 995, against the second computation of these figures."""
    found = grid([0], contracts=(2, 5))
    uf, ur, _, hr = Variant
    assert found.worst(ur, 50, 2) == found.worst(ur, 75, 2) == 0
    assert found.worst(ur, 125, 2) < 0.5 and found.worst(ur, 150, 2) < 0.5
    assert 3 < found.worst(uf, 50, 2) < 6 and found.worst(uf, 50, 5) < 1
    assert found.worst(hr, 50, 2) < 5 and found.worst(hr, 125, 2) < 5


def test_graphs_are_connected_and_have_the_contracts_that_were_asked_for():
    """L9."""
    for least in (1, 2, 5):
        partners = topology(60, least, 1)
        assert min(map(len, partners)) >= least
        assert all(node in partners[other] for node, others in enumerate(partners) for other in others)
        assert 0 < diameter(partners) < 60
    assert diameter([[1], [0, 2], [1, 3], [2]]) == 3


@pytest.mark.parametrize(
    ("alpha", "least", "most", "mean"),
    [
        (-0.5, 0.01, 1, 0.37),
        (-1, 0.01, 1, 0.505),
        (-2, 0.01, 1, 0.667),
        (0.01, 1, 300, 51.4),
        (-0.22, 1, 300, 75.6),
        (-0.7, 1, 300, 125.8),
        (-1, 1, 300, 150.5),
    ],
)
def test_distributions_have_their_means(alpha, least, most, mean):
    """L48: by formula and by sampling."""
    one = Pareto(alpha, least, most)
    assert one.mean == pytest.approx(mean, rel=0.01)
    drawn = one.quantile(np.random.default_rng(0).random(200_000))
    assert drawn.mean() == pytest.approx(one.mean, rel=0.01) and least <= drawn.min() and drawn.max() <= most
    assert one.cumulative(np.array([one.median]))[0] == pytest.approx(0.5)


@pytest.mark.slow
def test_overload_given_a_spike():
    """L49: within 1 % of the second computation, or a thousandth."""
    known = {
        ("a", "uniform"): {1: (0.370, 0.772), 5: (0.136, 0.375), 20: (0.005, 0.004)},
        ("b", "heavy"): {2: (0.132, 0.851), 10: (0.046, 0.670)},
    }
    for key, figures in known.items():
        found = overloads(*key)
        for count, (probability, expected) in figures.items():
            assert found[count].probability == pytest.approx(probability, rel=0.01, abs=0.001)
            assert found[count].expected == pytest.approx(expected, rel=0.02, abs=0.001)
    moved = purchases("uniform")
    for (count, level), amount in {(1, 0.33): 0.030, (1, 0.5): 0.041, (5, 0.33): 0.121, (10, 0.5): 0.125}.items():
        assert moved[count, level] == pytest.approx(amount, rel=0.02)


def test_counter_offers_are_the_published_ones():
    """L39."""
    assert all(statement.holds for statement in c6_bids.experiment().statements)


@pytest.mark.slow
def test_studies_of_the_grid_say_all_that_was_published():
    """L51, L52: on small populations, for which not all of it need hold."""
    small = grid([0], nodes=20)
    dearer = {2: grid([0], nodes=20, variants=[Variant.UNIFORM_RANGE], over_pricing=2)}
    allocation, convergence = c2_allocation.experiment(small), c3_convergence.experiment(small, dearer)
    assert len(allocation.statements) == 18 and len(convergence.statements) == 6
    assert len(allocation.rows) == len(convergence.rows) == 16 and allocation.plots and convergence.plots
    assert all(statement.measured for one in (allocation, convergence) for statement in one.statements)
