"""What becomes of the result of a job: stable buckets are compared, kept and given out; tentative ones are given out where they are
still new."""

from __future__ import annotations

from collections.abc import Iterator

from auroral.dpc.divergence import Comparison
from auroral.dpc.events import Effect, Evaluated, Keep, Report
from auroral.dpc.guessed import Right, Run
from auroral.dpc.jobs import Job
from auroral.dpc.sunion import SUnion
from auroral.dpc.values import LOST, Content, Snapshot


def given_out(union: SUnion, comparison: Comparison, job: Job, result: Evaluated, now: float) -> Iterator[Effect]:
    """Of one output."""
    stream = union.spec.stream
    begin, end = job.ranges[stream]
    contents = result.contents[stream][begin - job.begin : end - job.begin]
    if not job.tentative and (not union.begun or union.outlet.frontier != begin):
        yield Report("begun again before its job ended", stream)
        return
    state = None
    if union.fold is not None:
        state = Snapshot(job.end, result.states[stream])
        if job.tentative:
            union.fold.guess(state, job.began[stream], job.folded[stream])
        else:
            yield from union.fold.advance(state)
    held = tuple(union.held(ready, now) for ready in job.ready_at[stream])
    if job.tentative:
        # Of another version of the query it is not known what it leaves out.
        if not union.spec.leaves_out and job.version == 0:
            run = Run(result.job, job.version, result.contents[stream], job.states.get(stream), state)
            union.guessed.ends(job.begin, run)
        _forget(union)
        yield from _tentative(union, job, contents, now, held)
    else:
        yield from _stable(union, comparison, contents, now, held)


def _stable(
    union: SUnion, comparison: Comparison, contents: tuple[Content, ...], now: float, held: tuple[float, ...]
) -> Iterator[Effect]:
    for bucket, content in enumerate(contents, union.outlet.frontier):
        yield from comparison.made(bucket, content.hash)
    yield Keep(union.spec.stream, union.outlet.frontier, contents, tuple(now - late for late in held))
    yield from union.outlet.give_stable(contents, now, held)
    _forget(union)


def _forget(union: SUnion) -> None:
    frontier = union.outlet.frontier
    union.guessed.forget(frontier, {name: union.reads_from(name, frontier) for name in union.guessed.read})


def cut_off(union: SUnion, comparison: Comparison, right: Right, now: float) -> Iterator[Effect]:
    """What was guessed right is final, as if a job had just made it again."""
    begin = union.outlet.frontier
    buckets = range(begin, begin + len(right.contents))
    if len(buckets) == 1:
        union.learn(begin, now)
    ready = [union.ready_at(bucket) for bucket in buckets]
    held = tuple(0.0 if at is None else union.held(at, now) for at in ready)
    yield Report("guessed right", union.spec.stream, len(buckets))
    if union.fold is not None and right.state is not None:
        yield from union.fold.advance(right.state)
    yield from _stable(union, comparison, right.contents, now, held)


def _tentative(
    union: SUnion, job: Job, contents: tuple[Content, ...], now: float, helds: tuple[float, ...]
) -> Iterator[Effect]:
    stream = union.spec.stream
    begin, end = job.ranges[stream]
    for bucket, content, coverage, held in zip(range(begin, end), contents, job.coverage[stream], helds, strict=True):
        if bucket < union.outlet.frontier:
            yield Report("stable before its tentative job ended", stream)
        else:
            union.processing = True
            yield from union.outlet.give_tentative(bucket, content, coverage, now, held=held)


def given_up(union: SUnion, comparison: Comparison, now: float) -> Iterator[Effect]:
    """D71: what can never be made stable is a gap for those behind it too."""
    while union.begun and union.gives_up:
        # Its state may be another one by now.
        union.oldest_heard = float("-inf")
        yield from _stable(union, comparison, (LOST,), now, (0.0,))
