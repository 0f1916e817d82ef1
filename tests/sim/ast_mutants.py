"""Faults that are drawn from the syntax of the protocol, and what notices them.

`python tests/sim/ast_mutants.py [--count 40] [--seed 0 ...] [--page docs/mutants.md] [--tried FILE]` draws some and tries each. What FILE
has of an earlier run, which may have been stopped, is not tried again.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
# A program's own folder is the path; its package is not.
sys.path.insert(0, str(ROOT / "tests"))

from sim.mutants import PACKAGE, TRY, mutated  # noqa: E402
from sim.survivors import WHY  # noqa: E402
from sim.syntax import AstMutant, drawn, mutants  # noqa: E402

SEEDS = range(10)
UNIT_TESTS = ("tests/dpc",)
DIRECTED = (
    "tests/sim/test_folds.py",
    "tests/sim/test_recovery.py::test_who_comes_back_without_an_input_answers_from_the_others",
    "tests/sim/test_recovery.py::test_with_disks_sources_keep_less_while_a_client_is_away",
    "tests/sim/test_reconfiguration.py::test_every_bucket_is_of_one_version[a replica crashes when it has promised-]",
    "tests/sim/test_reconfiguration.py::test_every_bucket_is_of_one_version[the catalog crashes when it has decided-]",
    "tests/sim/test_buffers.py::test_a_long_failure_takes_no_more_room_and_leaves_a_declared_gap[a replica is away]",
    "tests/sim/test_buffers.py::test_full_buffers_stop_the_sources_and_nothing_is_lost[an input is away]",
    "tests/sim/test_simulate.py::test_who_delays_holds_every_bucket_and_who_processes_only_the_first",
)
"""Simulations that take a second or two each."""
MOST_MEMORY = 4 << 30


# What notices it


def _limit(seconds: int) -> None:
    """Time of the processor, so that a busy machine makes no difference."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))


def _run(folder: str, seconds: int, *arguments: str) -> tuple[int, list[str]]:
    ran = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: _limit(seconds),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout.splitlines()


def _failing_test(folder: str, seconds: int, tests: tuple[str, ...]) -> str:
    code, said = _run(
        folder, seconds, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", *tests
    )
    if code < 0:
        return f"hung in {' '.join(tests)}"
    failed = [line.split(" - ")[0].split(" ", 1)[1] for line in said if line.startswith(("FAILED ", "ERROR "))]
    return failed[0] if failed else f"{' '.join(tests)} cannot be run" * bool(code)


def killers(folder: str, seeds: Iterable[int]) -> Iterator[str]:
    """What fails with the package in this folder, the quickest first."""
    yield _failing_test(folder, 30, UNIT_TESTS)
    yield _failing_test(folder, 600, DIRECTED)
    for seed in seeds:
        code, said = _run(folder, 60, "-c", TRY, str(seed))
        yield f"seed {' '.join(said)}" if said else f"hung in seed {seed}" * bool(code)


def killed_by(mutant: AstMutant, seeds: Iterable[int] = SEEDS) -> str:
    """The first that fails; nothing if it survives."""
    with mutated(mutant.file, mutant.text) as folder:
        return next(filter(None, killers(folder, seeds)), "")


# The program

HEAD = """# Faults drawn at random

A simulator that catches nothing proves nothing. `tests/sim/mutants.py` holds chosen faults in the protocol, each found by a default
seed. Here faults are drawn from the syntax of `src/auroral/dpc`, one place each: a comparison, an operator, `min` and `max`, `and`
and `or` swapped; a `not` put in or taken out; a condition made true or false; a number, an end of a range or of a slice one off; a
flag turned; a statement left out; nothing returned. Left alone are texts for people, types, and assertions: they check what cannot be.

Each is tried by the unit tests in `tests/dpc`, then by directed simulations, then by the default seeds {first} to {last}, until one
fails. One that takes far more time of the processor than it may counts as found: it hangs.

This page is what `python tests/sim/ast_mutants.py --count {count} --seed {seeds} --page docs/mutants.md` wrote; there are {all} such
faults.

| draw | faults | found by unit tests | by simulations | by seeds | found | survive |
|---|---|---|---|---|---|---|
{figures}

## Survivors

{survivors}
"""
KINDS = ("tests/dpc", "tests/sim", "seed ")


def page(tried: Mapping[int, Mapping[AstMutant, str]]) -> str:
    figures = []
    for seed, found in tried.items():
        kinds = [sum(kind in by for by in found.values()) for kind in KINDS]
        killed = sum(kinds)
        row = (seed, len(found), *kinds, f"{killed / len(found):.1%}", len(found) - killed)
        figures.append(f"| {' | '.join(map(str, row))} |")
    left = sorted({str(one) for found in tried.values() for one, by in found.items() if not by})
    rows = [f"| {cell(name)} | {WHY.get(name, 'not explained')} |" for name in left]
    return HEAD.format(
        first=SEEDS[0],
        last=SEEDS[-1],
        count=len(next(iter(tried.values()))),
        seeds=" ".join(map(str, tried)),
        all=len(mutants()),
        figures="\n".join(figures),
        survivors="\n".join(["| what was changed | why nothing notices |", "|---|---|", *rows]),
    )


def cell(name: str) -> str:
    """In a table."""
    return "`" + name.replace("|", "\\|") + "`"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, nargs="+", default=[0])
    parser.add_argument("--page", type=Path)
    parser.add_argument("--tried", type=Path)
    asked = parser.parse_args()
    known: dict[str, str] = json.loads(asked.tried.read_text()) if asked.tried and asked.tried.exists() else {}
    right = AstMutant("usual.py", "", 0, "", "", (PACKAGE / "dpc" / "usual.py").read_text(encoding="utf-8"))
    assert known or not (by := killed_by(right)), f"it fails without any fault: {by}"
    tried: dict[int, dict[AstMutant, str]] = {}
    for seed in asked.seed:
        tried[seed] = {}
        for one in drawn(seed, asked.count):
            by = tried[seed][one] = known[str(one)] if str(one) in known else killed_by(one)
            known[str(one)] = by
            if asked.tried:
                asked.tried.write_text(json.dumps(known, indent=1))
            print(f"{by or 'SURVIVES'}: line {one.line} of {one}", flush=True)  # noqa: T201
        killed = sum(map(bool, tried[seed].values()))
        print(f"seed {seed}: {killed} of {len(tried[seed])} found", flush=True)  # noqa: T201
    if asked.page is not None:
        asked.page.write_text(page(tried), encoding="utf-8")


if __name__ == "__main__":
    main()
