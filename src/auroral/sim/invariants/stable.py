"""What is stable: in order, right, complete, and all that was tentative before it corrected."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from auroral.dpc.outlet import Outlet
from auroral.dpc.replica import Replica
from auroral.dpc.settings import UNLIMITED
from auroral.sim.invariants.going import AsItGoes, Deliveries, Judging, News
from auroral.sim.seen import Final, Run


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
    """The ledger: every row that was logged goes once into what each life of a replica makes stable, bucket by bucket: no bucket is
    left out or made twice, and the job that truly made it, be it a tentative one that guessed right, read all that its version reads as
    it is in the end. None is late, rejected or shed in a simulation. What is lost by choice (D71) is in a declared gap."""
    for (core, life, stream), finals in run.finals.items():
        said, following = f"{core}, life {life}", finals[0].bucket if finals else 0
        made_nothing = True
        for one in finals:
            # Who gave up what an input lacked for too long, and had made nothing, begins again where that input does when it is back.
            if one.bucket != following and not (made_nothing and one.bucket > following):
                yield f"{said}: bucket {one.bucket} of {stream} was made stable, and was to be {following}"
            following, made_nothing = one.bucket + 1, made_nothing and one.content.lost
            if not one.content.lost:
                yield from (f"{said}: {words}" for words in _wrongly_made(run, core, stream, one))
        outlet = _outlet(run, core, life, stream)
        if finals and outlet is not None and outlet.frontier != following:
            yield f"{said}: {stream} is stable up to {outlet.frontier}, and was made so up to {following}"


def _outlet(run: Run, core: str, life: int, stream: str) -> Outlet | None:
    """Of a life that has not ended."""
    world = run.stage.world
    replica = world.cores.get(core)
    return replica.outlets[stream] if isinstance(replica, Replica) and world.lives[core] == life else None


def _wrongly_made(run: Run, core: str, stream: str, one: Final) -> Iterator[str]:
    made, job = one.made, one.made.job if one.made is not None else None
    if made is None or job is None or (made.by, made.stream, made.bucket) != (core, stream, one.bucket):
        yield f"bucket {one.bucket} of {stream} was not made by a job for it"
        return
    version = run.scenario.version(query := run.scenario.query_of(stream), version_of(run, query.name, one.bucket))
    spec = next(output for output in version.outputs if output.stream == stream)
    for name, horizon in spec.reads.items():
        view, right = job.view.get(name, {}), run.expected[name]
        # What a fold read before is in its state.
        first = one.bucket if spec.folds else max(0, one.bucket - horizon + 1)
        for bucket in range(first, one.bucket + 1):
            read = view.get(bucket)
            if read is None or read != right[bucket]:
                said = "nothing" if read is None else "something else"
                yield f"{said} of bucket {bucket} of {name} went into bucket {one.bucket} of {stream}"


def version_of(run: Run, query: str, bucket: int) -> int:
    """That was decided for a bucket."""
    return bisect_right(run.stage.layout.decision(query).starts, bucket) - 1
