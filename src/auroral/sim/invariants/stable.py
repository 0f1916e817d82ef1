"""What is stable: in order, right, complete, and all that was tentative before it corrected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from auroral.dpc.replica import Replica
from auroral.dpc.settings import UNLIMITED
from auroral.sim.invariants.going import AsItGoes, Deliveries, Judging, News
from auroral.sim.record import Run


@AsItGoes
def stable_in_order(run: Run) -> Judging:
    """D79, D80: what is stable is never undone, left out, given twice or out of order."""
    deliveries, done = Deliveries(run), dict.fromkeys(run.deliveries, 0)
    while True:
        for stream, one in deliveries:
            if one.stable and one.bucket != done[stream]:
                yield f"{stream}: stable bucket {one.bucket} at {one.at:.2f} s, after {done[stream] - 1}"
            if not one.stable and one.bucket < done[stream]:
                yield f"{stream}: bucket {one.bucket} tentative at {one.at:.2f} s, though it was stable"
            if one.stable:
                done[stream] = one.bucket + 1
        yield None


@AsItGoes
def stable_is_right(run: Run) -> Judging:
    """D78: what is stable is what a run without failures gives."""
    while True:
        deliveries, expected = Deliveries(run), run.expected
        # When it is decided where another version begins, all is judged again by it.
        while run.expected is expected:
            for stream, one in deliveries:
                known = one.stable and not one.content.lost
                if known and one.content not in expected[stream][one.bucket : one.bucket + 1]:
                    yield f"{stream}: bucket {one.bucket}, stable at {one.at:.2f} s, is not right"
            yield None


def tentative_is_corrected(run: Run) -> Iterator[str]:
    """D75, D78: every bucket that was tentative is confirmed or corrected."""
    for stream, given in run.deliveries.items():
        last: dict[int, bool] = {}
        for one in given:
            last[one.bucket] = one.stable
        left = [bucket for bucket, stable in last.items() if not stable]
        if left:
            yield f"{stream}: {len(left)} buckets stay tentative, from {min(left)} on"


def all_is_corrected(run: Run) -> Iterator[str]:
    """D78: in the end everything is there, stable, at the client and at every replica."""
    wanted = run.scenario.buckets
    for stream in run.scenario.outputs:
        there = sum(one.stable for one in run.deliveries.get(stream, []))
        if there < wanted:
            yield f"{stream}: {there} of {wanted} buckets are stable at the client"
    for name, core in run.stage.world.cores.items():
        if isinstance(core, Replica):
            for stream, outlet in core.outlets.items():
                if outlet.frontier < wanted:
                    yield f"{name}: {outlet.frontier} of {wanted} buckets of {stream} are stable"
                known = {bucket: content for bucket, content in outlet.kept.items() if not content.lost}
                wrong = [b for b, content in known.items() if content not in run.expected[stream][b : b + 1]]
                if wrong:
                    yield f"{name}: buckets {wrong[:5]} of {stream} are not right"


@AsItGoes
def nothing_is_lost_unless_so_set(run: Run) -> Judging:
    """D71, D78: gaps are for those who bound their buffers and choose to lose what does not fit."""
    reports = News(run.reports)
    while run.scenario.settings.lost_beyond == UNLIMITED:
        for at, core, report in reports:
            if report.kind == "gap":
                yield f"{core}: {report.count} buckets of {report.stream} are in a gap at {at:.2f} s"
        yield None


@AsItGoes
def replicas_agree(run: Run) -> Judging:
    """D19: what replicas made stable is the same; they would have noticed."""
    reports = News(run.reports)
    while True:
        for at, core, report in reports:
            if report.kind == "diverged":
                yield f"{core} at {at:.2f} s: {report.detail}"
        yield None


def every_row_is_accounted_for(run: Run) -> Iterator[str]:
    """DESIGN's ledger: every row that was logged went into a stable result once, in each life of each replica; none is late,
    rejected or shed in a simulation, and what is not used must be counted. What a job read that failed is not read; of what was
    guessed right, what the tentative job read is."""
    for (core, life, stream, name), read in run.read.items():
        if not read:
            continue
        rows = dict(read)
        for bucket, count in rows.items():
            logged = run.expected[name][bucket : bucket + 1]
            if not logged or logged[0].count != count:
                said = "nothing" if count < 0 else f"{count} rows"
                yield f"{core}, life {life}: {said} of bucket {bucket} of {name} went into {stream}"
        if len(rows) < len(read):
            twice = sorted({bucket for bucket, times in Counter(bucket for bucket, _ in read).items() if times > 1})
            yield f"{core}, life {life}: buckets {twice[:5]} of {name} went into {stream} twice"
        skipped = sorted(set(range(min(rows), max(rows) + 1)) - set(rows))
        # In a declared gap, for those who choose to lose what does not fit.
        if skipped and run.scenario.settings.lost_beyond == UNLIMITED:
            yield f"{core}, life {life}: buckets {skipped[:5]} of {name} never went into {stream}"
