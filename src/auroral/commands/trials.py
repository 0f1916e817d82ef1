"""What `auroral simulate dpc --diagram` tries: a user's diagram, on the nodes of a deployment, over rows of files or drawn ones."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr
from dataclasses import dataclass, replace
from random import Random

import pyarrow as pa

from auroral.commands.diagrams import load_deployment, load_one
from auroral.commands.preflight import named
from auroral.commands.programs import register_functions
from auroral.commands.randomrows import random_value
from auroral.commands.terminal import WrongUse, say_problems
from auroral.dpc.settings import AS_USUAL, Choices
from auroral.edge.files import read_batches
from auroral.edge.ledger import Reason
from auroral.edge.pacing import InputSpec
from auroral.edge.stamping import SEQ, STIME, Stamper
from auroral.loading import StimeChoice
from auroral.model.checking import check
from auroral.model.diagram import Input, Stamp
from auroral.model.duration import spell
from auroral.model.errors import AuroralError, Problem
from auroral.model.expression.singles import nearest_single
from auroral.model.placement import check_deployment
from auroral.model.types import Kind
from auroral.model.xml import Loaded
from auroral.reference.rows import Row
from auroral.sim.diagrams import Trial
from auroral.sim.failing import random_faults
from auroral.sim.faultkinds import QUIET
from auroral.sim.faults import Fault, parse
from auroral.sim.fragments import CannotBeSimulated
from auroral.sim.scenario import Scenario

SECONDS = (30, 90)
"""In which failures begin and end, where rows are drawn."""
MOST_ROWS = 3
"""Of an input, in a bucket."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be tried, as the command line says it."""

    diagram: str
    deploy: str | None = None
    inputs: tuple[InputSpec, ...] = ()
    stimes: tuple[StimeChoice, ...] = ()
    functions: tuple[str, ...] = ()
    bucket: int | None = None
    bound: int | None = None
    schedule: str | None = None
    choices: Choices = AS_USUAL
    changed: str | None = None

    @property
    def words(self) -> list[str]:
        """The options that ask for it, without the schedule."""
        found = ["--diagram", self.diagram]
        found += [] if self.deploy is None else ["--deploy", self.deploy]
        found += [] if self.changed is None else ["--changed", self.changed]
        for spec in self.inputs:
            found += ["--input", f"{spec.stream}={spec.path}"]
        for choice in self.stimes:
            found += ["--stime", f"{choice.stream}={choice.field}" + (f":{choice.unit}" if choice.unit else "")]
        for file in self.functions:
            found += ["--functions", file]
        keep = None if self.choices.keep is None else round(self.choices.keep * 1e6)
        for option, length in (("--bucket", self.bucket), ("--bound", self.bound), ("--keep", keep)):
            found += [] if length is None else [option, spell(length)]
        for option in ("while_failing", "while_correcting"):
            if (policy := getattr(self.choices, option)) is not getattr(AS_USUAL, option):
                found += [f"--{option.replace('_', '-')}", policy]
        return found


class Trials:
    """The scenario of each seed. Another process reads the files again: functions of a program cannot be sent there."""

    def __init__(self, asked: Asked):
        self.asked = asked
        register_functions(asked.functions)
        loaded = _load(asked, asked.diagram, "--diagram")
        checked = check(loaded.diagram).runnable()
        found = [*loaded.warnings, *checked.warnings]
        deployment = None if asked.deploy is None else load_deployment(asked.deploy)
        bound = None if asked.bound is None else f"{asked.bound}us"
        changed = None
        if asked.changed is not None:
            to = _load(asked, asked.changed, "--changed")
            changed = check(to.diagram)
            found += [*to.warnings, *changed.warnings]
        self.trial = Trial.of(checked, deployment, bound=bound, choices=asked.choices, changed=changed)
        if deployment is not None:
            found += [*deployment.warnings, *check_deployment(deployment, checked.diagram).warnings]
        inputs = {given.stream: given for given in checked.diagram.inputs}
        specs = named("--input", [(spec.stream, spec) for spec in asked.inputs], list(inputs))
        self.rows: dict[str, list[Row]] = {}
        for stream, spec in specs.items():
            self.rows[stream], left_out = _read(inputs[stream], spec, checked.diagram.bucket)
            found += left_out
        self.to_draw = [inputs[stream] for stream in self.trial.calm.sources if stream not in specs]
        say_problems("warning", found, sys.stderr)

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (self.asked,)

    def __call__(self, seed: int) -> Scenario:
        trial, draw = self.trial, Random(seed)
        bucket, sources = trial.calm.settings.bucket, trial.calm.sources
        first, least = 0, float(draw.randint(*SECONDS))
        if self.rows:
            first = trial.first(self.rows)
            last = max(row.stime for rows in self.rows.values() for row in rows) // trial.interval
            least = max((last + 1 - first) * bucket, float(SECONDS[0]))
        latest = min(0.2, bucket / 2)
        skews = {source: round(draw.uniform(0, latest), 2) for source in sources} if draw.random() < 0.3 else {}
        jobs = draw.choice((0.0, 0.01))
        faults = self._faults(draw, replace(trial.calm, seconds=least + QUIET))
        end = first + trial.buckets(faults, least)
        drawn = {given.stream: list(_drawn(given, seed, first, end, trial.interval)) for given in self.to_draw}
        found = trial.scenario({**drawn, **self.rows}, faults, seed, least)
        return replace(found, failing_jobs=jobs, skews=skews)

    def _faults(self, draw: Random, calm: Scenario) -> tuple[Fault, ...]:
        return random_faults(draw, calm) if self.asked.schedule is None else parse(self.asked.schedule, calm.hosts)


def _again(asked: Asked) -> Trials:
    """In another process: what there is to be said was said."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stderr(nowhere), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Trials(asked)


def _load(asked: Asked, said: str, option: str) -> Loaded:
    """A Python file may have several diagrams: FILE.py:NAME is one of them."""
    file, colon, name = said.rpartition(":")
    named_one = bool(colon) and file.lower().endswith(".py")
    file = file if named_one else said
    found = load_one(file, asked.stimes, name if named_one else None, f"{option} {file}:{{name}}")
    return found if asked.bucket is None else replace(found, diagram=replace(found.diagram, bucket=asked.bucket))


# Rows of files


def _read(given: Input, spec: InputSpec, bucket: int) -> tuple[list[Row], list[Problem]]:
    """The rows as a run would stamp them, and what is left out of them."""
    if spec.path == "-" or spec.speed is not None:
        what = "standard input" if spec.path == "-" else "a speed"
        raise WrongUse(
            f"--input {spec.stream}: {what} is not for simulations: files are read by several processes, and rows come at "
            "their own pace in virtual time\n    allowed: STREAM=PATH\n    next: give a file, without @SPEED"
        )
    if given.stamp is None or given.stamp.field is None:
        raise CannotBeSimulated(
            f"input {given.stream!r} is stamped by the clock: rows of a file would all come at once\n"
            f"    next: name the field that carries their time: --stime {given.stream}=FIELD; or leave --input out"
        )
    stamper, rows, left_out = Stamper(given, bucket), list[Row](), dict[str, int]()
    for batch in read_batches(spec.path, given.schema, any_case=given.any_case):
        stamped = stamper.stamp(batch.rows, 0)
        rows += _plain(stamped.rows, given)
        counts = {**stamped.counts, Reason.REFUSED: len(batch.refused)}
        for reason, count in counts.items():
            if count and not reason.keeps_row:
                left_out[reason] = left_out.get(reason, 0) + count
    why = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
    if not rows:
        raise AuroralError(
            f"{spec.path} has no rows for input {given.stream!r}{f': {why}' if why else ''}\n"
            f"    allowed: a file with rows of ({given.schema})\n    next: give another file, or leave --input out to draw rows"
        )
    return rows, [Problem(f"rows of {spec.path} are left out: {why}")] if why else []


def _plain(table: pa.Table, given: Input) -> Iterator[Row]:
    """Times as microseconds and dates as days, as the reference has them."""
    columns = []
    for name in (STIME, SEQ, *given.schema.names):
        column = table.column(name)
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.int64())
        elif pa.types.is_date32(column.type):
            column = column.cast(pa.int32())
        columns.append(column.to_pylist())
    for stime, seq, *values in zip(*columns, strict=True):
        yield Row(stime, tuple(values), (seq,))


# Drawn rows


def _drawn(given: Input, seed: int, first: int, end: int, interval: int) -> Iterator[Row]:
    """Of each bucket a few, with few different values, so that groups and joins meet. A bucket's do not depend on how many follow."""
    stamp, number = given.stamp or Stamp(), 0
    for bucket in range(first, end):
        draw = Random(f"{seed} {given.stream} {bucket}")
        lo, hi = bucket * interval, (bucket + 1) * interval
        steps = range(-(-lo // stamp.unit), -(-hi // stamp.unit))
        for step in sorted(draw.choices(steps, k=draw.randint(0, MOST_ROWS))) if steps else ():
            values = []
            for field in given.schema.fields:
                value = step if field.name == stamp.field else random_value(field.type, lo, hi, draw)
                values.append(nearest_single(value) if field.type.kind is Kind.SINGLE and value is not None else value)
            yield Row(step * stamp.unit, tuple(values), (number,))
            number += 1
