"""The market under failures: seeds that keep every guarantee, faults in it that they find, and what a run says (L1, L6, L13-L25, L41, L42)."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from auroral.sim.campaign import in_processes
from auroral.sim.faults import parse
from auroral.sim.market.invariants import INVARIANTS
from auroral.sim.market.randomly import random_market
from auroral.sim.market.simulate import MarketSummary, run_seed, shortest, simulate
from auroral.sim.market.trace import MarketTrace
from auroral.workload.events import Send
from auroral.workload.participant import Participant
from sim.mutants import MUTANTS_OF_LOAD, found_by

pytestmark = pytest.mark.slow


def test_seeds_keep_every_guarantee():
    summary = MarketSummary()
    failed = []
    for outcome in in_processes(range(24), os.cpu_count() or 1, run_seed):
        summary.add(outcome)
        failed += [str(outcome)] if outcome.violations else []
    assert not failed, "\n".join(failed)
    assert summary.seeds == 24 and summary.movements > 100 and summary.faults > 100


def test_the_same_seed_gives_the_same_run():
    assert len({run_seed(4).digest for _ in range(2)}) == 1


def test_every_guarantee_says_what_it_is():
    assert all(kind.__doc__ for kind in INVARIANTS) and len(INVARIANTS) == 8


def test_a_broken_core_is_found_and_its_schedule_shortened(monkeypatch):
    """Who takes its tasks back when a link is cut has two owners of them."""
    scenario = next(
        one
        for one in map(random_market, range(50))
        if not one.static and len(one.faults) > 6 and simulate(one).movements > 5
    )
    crash = Participant._open

    def forgets(self, records, now):
        crash(self, tuple(one for one in records if type(one).__name__ != "Lent"), now)

    monkeypatch.setattr(Participant, "_open", forgets)
    names = scenario.hosts
    broken = replace(
        scenario,
        faults=parse(
            "; ".join(f"at 20s crash {n}; at 20.3s restart {n}" for n in names)
            + f"; at 25s slow {names[0]}-{names[1]}; at 26s quicken {names[0]}-{names[1]}",
            names,
        ),
    )
    outcome = simulate(broken)
    assert outcome.violations
    short = shortest(broken, outcome)
    assert "slow" not in short and short.count("crash") == 1


def test_a_trace_tells_offers_and_movements():
    said = []
    outcome = simulate(random_market(3), MarketTrace(random_market(3), said.append))
    assert outcome.movements and any("offers" in line for line in said) and any("FAULT" in line for line in said)
    assert sum("gets" in line for line in said) == outcome.movements


def test_without_contracts_nothing_is_said():
    scenario = replace(random_market(0), contracts=(), faults=(), happens=())
    seen = []
    outcome = simulate(
        scenario, lambda now, name, event, effects: seen.extend(e for e in effects if isinstance(e, Send))
    )
    assert not outcome.violations and not seen and not outcome.movements


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = pool.map(lambda mutant: found_by(mutant, [mutant.seed]), MUTANTS_OF_LOAD.values())
        return dict(zip(MUTANTS_OF_LOAD, said, strict=True))


@pytest.mark.parametrize("name", MUTANTS_OF_LOAD)
def test_a_fault_in_the_market_is_found(found, name):
    assert found[name].startswith(f"{MUTANTS_OF_LOAD[name].seed} "), (
        "python tests/sim/mutants.py says which seed finds it"
    )
