"""Chosen faults in the protocol, as patches of its text: a simulator that catches nothing proves nothing.

Run as a program, it tries the default seeds on each until one finds it: `python tests/sim/mutants.py [NAME ...]`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import auroral

PACKAGE = Path(auroral.__file__).parent
TRY = """
import sys
from {simulator} import run_seed
for seed in map(int, sys.argv[1:]):
    try:
        found = [violation.split(":")[0] for violation in run_seed(seed).violations]
    except Exception as error:
        found = [type(error).__name__]
    if found:
        print(seed, *sorted(set(found)))
        break
"""
TRY_LOAD = TRY.format(simulator="auroral.sim.market.simulate")
TRY = TRY.format(simulator="auroral.sim.campaign")


@dataclass(frozen=True, slots=True)
class Mutant:
    file: str
    right: str
    wrong: str
    seed: int
    """A default seed that finds it."""
    part: str = "dpc"


MUTANTS = {
    "a timer a bucket too long": Mutant(
        "sunion.py",
        "latest = ready + self.settings.bound - aside",
        "latest = ready + self.settings.bucket + self.settings.bound - aside",
        55,
    ),
    "tentative at once": Mutant("sunion.py", "        return latest\n", "        return ready\n", 1),
    "what was held back is forgotten": Mutant(
        "sunion.py", "return max(0.0, now - ready_at - self.usual_job.value)", "return 0.0", 52
    ),
    "final before all inputs are": Mutant(
        "sunion.py",
        "end = min([port.frontier for port in self.read(begin).values()])",
        "end = max([port.frontier for port in self.read(begin).values()])",
        0,
    ),
    "a horizon one too short": Mutant(
        "sunion.py",
        "return max(0, bucket - self.spec.reads[name] + 1)",
        "return max(0, bucket - self.spec.reads[name] + 2)",
        0,
    ),
    "coverage of the last bucket only": Mutant(
        "sunion.py",
        "for b in range(max(0, bucket - horizon + 1), bucket + 1)",
        "for b in range(bucket, bucket + 1)",
        3,
    ),
    "a constraint is ignored": Mutant(
        "sunion.py",
        "return all(constraint.allows(coverage) for constraint in self.spec.constraints)",
        "return True",
        18,
    ),
    "every output is said to be stable": Mutant(
        "sunion.py",
        "failed = [name for name, port in self.used.items() if port.failed(self.monitor, now)]",
        "return State.STABLE",
        77,
    ),
    "REC_DONE twice": Mutant(
        "tuples.py",
        "            yield Tuple(TupleType.REC_DONE, self.frontier)\n\n    def gap",
        "            yield from [Tuple(TupleType.REC_DONE, self.frontier)] * 2\n\n    def gap",
        3,
    ),
    "an acknowledgement one too high": Mutant(
        "replica.py",
        "Ack(needs[name], self._reserve(name, reserves))",
        "Ack(needs[name] + 1, self._reserve(name, reserves))",
        1,
    ),
    "row 2 of Table 4.3 stays": Mutant(
        "switching.py",
        "_row(2, NOT_STABLE, {None, *NOT_STABLE}, Action.CURR, some=STABLE)",
        "_row(2, NOT_STABLE, {None, *NOT_STABLE}, Action.STAY, some=STABLE)",
        1,
    ),
    "row 9 of Table 4.3 is missing": Mutant(
        "switching.py",
        "    _row(9, {FAILURE}, {None, FAILURE}, Action.CURR, some=UP_FAILURE, without={STABLE}),\n",
        "",
        0,
    ),
    "one that failed is not asked again": Mutant(
        "monitor.py",
        "        return self.peers\n",
        "        return tuple(p for p in self.peers if self.pending[p] < 5)\n",
        0,
    ),
    "speaks before it is right": Mutant("replica.py", "if not self.recovering:", "if self is not None:", 0),
    "a job that failed is not begun again": Mutant(
        "replica.py",
        "case Failed(number, reason):\n                if (job := self.jobs.ended(number)) is not None:",
        "case Failed(number, reason):\n                if (job := self.jobs.running.get(number)) is not None:",
        1,
    ),
    "a source never truncates": Mutant("source.py", "effects += outlet.forget()", "effects += ()", 0),
    "a grant is never released": Mutant(
        "stagger.py",
        "        self.wanted = False\n        yield from self._give_back()\n",
        "        self.wanted = False\n        yield from ()\n",
        5,
    ),
    "a promise has no end": Mutant(
        "stagger.py",
        "until for peer, until in self.promised.items() if now < until}",
        "until for peer, until in self.promised.items()}",
        5,
    ),
    "all correct at once": Mutant(
        "turns.py", "return self.stagger.may_correct(now, self._peers_reached())", "return True", 24
    ),
    "a version begins before what it reads is there": Mutant(
        "sunion.py",
        "                first = max(first, oldest + horizon - 1)\n",
        "                first = max(first, oldest)\n",
        17,
    ),
    "guessed right though an input differs": Mutant(
        "guessed.py",
        " or read[one][0] != final.hash or",
        " or",
        2,
    ),
    "guessed right though the state differs": Mutant(
        "guessed.py", "is not None and run.began == state:", "is not None:", 6
    ),
    "guessed right by another version": Mutant("guessed.py", " or run.version != following.version", "", 2),
    "guessed right before it is final": Mutant("guessed.py", " or bucket + len(run.contents) > following.end", "", 2),
    "what was guessed right is kept twice": Mutant(
        "results.py",
        "    yield from _stable(union, comparison, right.contents, now, held)\n",
        "    yield Keep(union.spec.stream, begin, right.contents, tuple(now - late for late in held))\n"
        "    yield from _stable(union, comparison, right.contents, now, held)\n",
        2,
    ),
    "all that waited is guessed at once": Mutant(
        "jobs.py", "return self.guesses.most(spare, self.usual.value, first[0][0].settings.bucket)", "return 32", 62
    ),
    "who waits for its turn says that it corrects": Mutant(
        "sunion.py",
        "return State.UP_FAILURE if self.waits else State.STABILIZATION",
        "return State.STABILIZATION",
        93,
    ),
    "one that corrects grants a turn": Mutant(
        "stagger.py",
        "(correcting or (self.wanted and self.name < sender))",
        "(self.wanted and self.name < sender)",
        24,
    ),
    "a gap is not said": Mutant(
        "outlet.py",
        "            yield Send(address, Gap(self.stream, reader.number, reader.position, self.kept_from))\n            reader.position",
        "            reader.position",
        7,
    ),
    "what a guess was held before is not counted": Mutant(
        "port.py", "self._hear(bucket, now, message.held)", "self._hear(bucket, now, 0.0)", 52
    ),
    "a subscription begins one too high": Mutant(
        "port.py",
        "position = None if self.resuming else self.frontier",
        "position = None if self.resuming else self.frontier + 1",
        0,
    ),
}


MUTANTS_OF_LOAD = {
    name: Mutant(*mutant, part="workload")  # type: ignore[arg-type]
    for name, mutant in {
        "what is promised does not count": (
            "selling.py",
            "return sum(promised, self.books.load + self.books.leaving)",
            "return self.books.load + self.books.leaving",
            18,
        ),
        "what may come back does not count": (
            "selling.py",
            "return sum(promised, self.books.load + self.books.leaving)",
            "return sum(promised, self.books.load)",
            8,
        ),
        "the way there and back is free": (
            "worth.py",
            " + 2 * task.migration\n            if self",
            "\n            if self",
            3,
        ),
        "a seller counts from when the tasks come": (
            "borrowing.py",
            "until = said.at + float(said.seconds)\n",
            "until = now + float(said.seconds)\n",
            0,
        ),
        "what comes twice is taken twice": (
            "borrowing.py",
            "        if key in self.books.borrowed:\n            yield Send(buyer, Taken",
            "        if key in ():\n            yield Send(buyer, Taken",
            0,
        ),
        "what the seller did not use is not paid back": (
            "books.py",
            "self._book(when, partner, self.name, number, loan.money - kept,",
            "self._book(when, partner, self.name, number, kept - kept,",
            0,
        ),
        "a buyer that crashed waits for the last term only": (
            "books.py",
            "now + float(loan.longest))",
            "now + float(loan.seconds))",
            0,
        ),
        "a buyer that crashed goes by its old clock": (
            "books.py",
            "until=now + float(loan.longest))",
            "until=loan.until)",
            11,
        ),
        "a seller that crashed goes on": (
            "books.py",
            "        self.suspended = set(self.borrowed)\n        for debt in self.borrowed.values():",
            "        for debt in ():",
            20,
        ),
        "that it is over is said once": (
            "borrowing.py",
            '            yield "over", key, Over(key[1], kept)\n',
            "            yield from ()\n",
            5,
        ),
        "a transfer is said once": (
            "lending.py",
            "            elif key not in self.books.taken and loan.transfer is not None:\n",
            "            elif key is None and loan.transfer is not None:\n",
            18,
        ),
        "a partner is told whose task it is": (
            "messages.py",
            'task.name if task.origin == own else f"#{place}"',
            "task.name",
            0,
        ),
        "a partner that refused is asked again at once": (
            "buying.py",
            "        self.not_before[terms.seller] = ",
            "        self.not_before[terms.buyer] = ",
            0,
        ),
        "one more term is booked twice": (
            "borrowing.py",
            "said.term == debt.term + 1 and now < debt.until",
            "said.term in (debt.term, debt.term + 1) and now < debt.until",
            0,
        ),
        "a borrowed task is lent for longer than it is borrowed": (
            "buying.py",
            "return terms.duration if until - now >= terms.duration else int(until - now)",
            "return terms.duration",
            12,
        ),
        "a borrowed task goes on though it may not": (
            "buying.py",
            "(came_by is not None and came_by.clauses.onward)",
            "came_by is not None",
            3,
        ),
        "a counter-offer below the cost": (
            "bidding.py",
            "    price = terms.rounded(cost)\n    return price if price > cost else price + terms.step\n",
            "    return max(terms.low + terms.step, terms.rounded(cost) - 4 * terms.step)\n",
            0,
        ),
        "room is kept for ever": ("selling.py", "            if now >= one.until:\n", "            if now < 0:\n", 5),
        "a silent partner is waited for": (
            "buying.py",
            "            if now < self.asked.at + self.settings.answer_within:\n",
            "            if now < self.asked.at + 5 * self.settings.answer_within:\n",
            0,
        ),
    }.items()
}


@contextmanager
def mutated(file: str, text: str, part: str = "dpc") -> Iterator[str]:
    """A folder with a copy of the package in which this file of the protocol says something else."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "auroral"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        (copy / part / file).write_text(text, encoding="utf-8")
        yield folder


def found_by(mutant: Mutant, seeds: Iterable[int]) -> str:
    """The first of these seeds that finds it, and what it finds; nothing if none does."""
    text = (PACKAGE / mutant.part / mutant.file).read_text(encoding="utf-8")
    assert text.count(mutant.right) == 1, f"{mutant.file} has {mutant.right!r} {text.count(mutant.right)} times"
    with mutated(mutant.file, text.replace(mutant.right, mutant.wrong), mutant.part) as folder:
        ran = subprocess.run(
            [sys.executable, "-c", TRY_LOAD if mutant.part == "workload" else TRY, *map(str, seeds)],
            env=os.environ | {"PYTHONPATH": folder},
            capture_output=True,
            text=True,
            check=True,
        )
        return ran.stdout.strip()


if __name__ == "__main__":
    for name in sys.argv[1:] or [*MUTANTS, *MUTANTS_OF_LOAD]:
        print(f"{name}: {found_by({**MUTANTS, **MUTANTS_OF_LOAD}[name], range(300)) or 'NOT FOUND'}", flush=True)  # noqa: T201
