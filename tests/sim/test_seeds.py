"""The first of the default seeds, and faults in the protocol that they find (D76-D81)."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from auroral.sim.campaign import run_seed, run_seeds
from sim.mutants import MUTANTS, found_by

pytestmark = pytest.mark.slow

FIXED = range(50)


def test_sixty_seeds_ten_of_them_fresh(capsys):
    fresh = random.SystemRandom().sample(range(1_000, 1_000_000), 10)
    with capsys.disabled():
        # Whoever sees one fail can try it again. What a process of tests says elsewhere, only the one that started it hears.
        print(f"\nfresh seeds: {', '.join(map(str, fresh))}", file=sys.stderr)  # noqa: T201
    outcomes = list(run_seeds([*FIXED, *fresh], os.cpu_count() or 1))
    assert len(outcomes) == 60
    failed = [str(outcome) for outcome in outcomes if outcome.violations]
    assert not failed, "\n".join(failed)
    assert sum(outcome.tentative for outcome in outcomes) > 1_000


@pytest.mark.parametrize(
    ("seed", "why"),
    [(20388, "where the only replica's jobs fail twice in a row, no tree is whole: those behind it guess")],
)
def test_seeds_that_were_judged_wrongly_once(seed, why):
    assert not run_seed(seed).violations, why


def test_the_same_seed_gives_the_same_run_in_every_process():
    """Whatever the order of sets of strings."""
    said = "from auroral.sim.campaign import run_seed; print(run_seed(1).digest)"
    digests = {
        subprocess.run(
            [sys.executable, "-c", said],
            env=os.environ | {"PYTHONHASHSEED": n},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for n in ("1", "2")
    }
    assert len(digests) == 1 and digests != {""}


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = pool.map(lambda mutant: found_by(mutant, [mutant.seed]), MUTANTS.values())
        return dict(zip(MUTANTS, said, strict=True))


@pytest.mark.parametrize("name", MUTANTS)
def test_a_fault_in_the_protocol_is_found(found, name):
    assert found[name].startswith(f"{MUTANTS[name].seed} "), "python tests/sim/mutants.py says which seed finds it"
