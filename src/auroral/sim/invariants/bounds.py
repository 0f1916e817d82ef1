"""What comes when: new buckets within X, stable ones wherever there is a whole tree, tentative ones only where there is none."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise

from auroral.dpc.settings import Policy, Settings
from auroral.sim.network import SLOWER
from auroral.sim.oracle import Oracle, without
from auroral.sim.record import Run
from auroral.sim.scenario import Scenario


def settled(scenario: Scenario) -> float:
    """Seconds after which a tree that is whole gives stable buckets again: what failed is found to be back, what was missed is fetched
    and corrected level by level, in turns where jobs take long, and the newest comes."""
    levels = max(Oracle(scenario).depth(stream) for stream in scenario.outputs)
    turns = 10.0 if scenario.job >= scenario.settings.bucket else 0.0
    return scenario.settings.detection + 2.0 + levels * (0.5 + 10 * scenario.job) + turns


def lateness(run: Run, stream: str) -> Iterator[tuple[float, bool]]:
    """Of each bucket, how much later than usual it or a newer one came in any version, and whether nothing could come for a while:
    then the time counts from when something could again, a bucket and the usual time later."""
    settings = run.scenario.settings
    gaps = list(without(run.trees[stream]))
    for bucket, at in enumerate(_first_times(run, stream, newer=True)):
        due = (bucket + 1) * settings.bucket + run.usual[stream]
        ends = [e for begin, e in gaps if begin < due + settings.bound and due - settings.bucket < e]
        # Gaps that follow one another closely are one.
        for begin, end in gaps:
            if ends and begin < max(ends) + settings.bound + settings.bucket:
                ends.append(end)
        yield (at - max(due, max(ends) + settings.bucket + run.usual[stream]), True) if ends else (at - due, False)


def _first_times(run: Run, stream: str, newer: bool) -> list[float]:
    """When the client had each bucket first, in any version; with `newer`, a newer one counts for it as well."""
    times = [float("inf")] * run.scenario.buckets
    newest = -1
    for one in run.deliveries.get(stream, []):
        if one.bucket < len(times) and not one.content.lost:
            first = newest + 1 if newer else one.bucket
            for bucket in range(first, one.bucket + 1):
                times[bucket] = min(times[bucket], one.at)
            newest = max(newest, one.bucket)
    return times


def within_the_bound(run: Run) -> Iterator[str]:
    """D77: what is new comes less than X later than usual, wherever anything could come; where nothing more happens while it is waited
    for, the time is left over that was set aside to read from another replica, but for what a job waits for the one before it.

    X presumes that messages take no longer than the settings say: on a slow link, what it takes longer comes on top.
    """
    settings, oracle = run.scenario.settings, Oracle(run.scenario)
    if not _promised(settings):
        return
    changes = [fault.at for fault in run.scenario.faults]
    for stream in run.usual:
        allowed, waits = settings.bound, run.scenario.job * oracle.depth(stream)
        if any(fault.verb == "slow" for fault in run.scenario.faults):
            allowed += SLOWER * (oracle.depth(stream) + 1)
        for bucket, (late, excused) in enumerate(lateness(run, stream)):
            due = (bucket + 1) * settings.bucket + run.usual[stream]
            calm = not excused and not _any(changes, due - settings.failover, due + settings.bound)
            most = min(allowed, allowed - settings.failover + waits) if calm else allowed
            if late >= most:
                yield f"{stream}: bucket {bucket} came {late:.2f} s late; the bound is {most:g} s"


def _promised(settings: Settings) -> bool:
    """Who suspends what is new prefers no answer to a guess."""
    return Policy.SUSPEND not in (settings.while_failing, settings.while_correcting)


def _any(times: list[float], begin: float, end: float) -> bool:
    """Whether one of them, in order, lies between."""
    return bisect_left(times, begin) < bisect_right(times, end)


def soon_without_failures(run: Run) -> Iterator[str]:
    """D77: lateness is counted from when a bucket usually comes, which is no later than the work on its way takes: a job for it, and on
    each node one that it waits for, and those of the node's outputs."""
    scenario, oracle = run.scenario, Oracle(run.scenario)
    jobs = 2 + max(len(query.streams) for query in scenario.queries)
    slowest = max(scenario.skews.values(), default=0.01 * len(scenario.sources))
    for stream, usual in run.usual.items():
        longest = scenario.job + scenario.job_bucket * 10 + scenario.settings.hop
        allowed = slowest + jobs * longest * oracle.depth(stream) + scenario.settings.hop
        if scenario.job_row == 0 and usual > allowed:
            yield f"{stream}: comes {usual:.2f} s after a bucket's end; the work takes {allowed:.2f} s at most"


def every_bucket_comes(run: Run) -> Iterator[str]:
    """D77: while nothing changes, each bucket comes in time itself. (When replicas are switched, tentative ones may be lost.)"""
    settings = run.scenario.settings
    if not _promised(settings):
        return
    changes = [0.0, *(fault.at for fault in run.scenario.faults)]
    wait = settled(run.scenario) + settings.bound
    for stream in run.usual:
        gaps = list(without(run.trees[stream]))
        for bucket, at in enumerate(_first_times(run, stream, newer=False)):
            due = (bucket + 1) * settings.bucket + run.usual[stream]
            quiet = changes[bisect_right(changes, due + settings.bound) - 1] < due - wait
            possible = all(end < due - wait or due + settings.bound < begin for begin, end in gaps)
            if quiet and possible and at - due >= settings.bound:
                yield f"{stream}: bucket {bucket} came {at - due:.2f} s late, though nothing had happened for a while"


def stable_where_it_can_be(run: Run) -> Iterator[str]:
    """D76: nothing tentative comes where one tree with all sources has been whole for long enough."""
    wait = settled(run.scenario)
    for stream, trees in run.trees.items():
        times = [tree.at for tree in trees]
        for one in run.deliveries.get(stream, []):
            since = trees[max(0, bisect_right(times, one.at) - 1)].stable_since
            if not one.stable and since is not None and one.at > since + wait:
                yield (
                    f"{stream}: bucket {one.bucket} is tentative at {one.at:.2f} s, though a whole tree has been there "
                    f"since {since:.2f} s"
                )
                break


def stable_in_time(run: Run) -> Iterator[str]:
    """D76, D81: where one tree with all sources has been whole for long enough, the client has everything stable."""
    wait, settings = settled(run.scenario), run.scenario.settings
    for stream, trees in run.trees.items():
        given = [one for one in run.deliveries.get(stream, []) if one.stable]
        times = [one.at for one in given]
        for tree in trees:
            if tree.stable_since is None or tree.at < tree.stable_since + wait:
                continue
            # As far as its newest bucket was due when it must have been stable.
            wanted = min(int((tree.at - wait) / settings.bucket), run.scenario.buckets)
            there = bisect_right(times, tree.at)
            if there < wanted:
                yield (
                    f"{stream}: {there} of {wanted} buckets are stable at {tree.at:.2f} s, though a whole tree has been "
                    f"there since {tree.stable_since:.2f} s"
                )
                break


def first_suspends(run: Run) -> Iterator[str]:
    """D38: the first tentative bucket of a failure is held for almost X, so that a shorter failure gives none.

    What replicas set aside for their own work and for a failover, and what it takes the bucket to come, may be less than X."""
    scenario, settings = run.scenario, run.scenario.settings
    if settings.share is not None:
        return
    calm = settled(scenario) + settings.bound
    oracle = Oracle(scenario)
    for stream, trees in run.trees.items():
        reserve = oracle.set_aside(stream) + settings.failover + settings.bucket + 0.3
        tentative = [one.at for one in run.deliveries.get(stream, []) if not one.stable]
        whole_since = 0.0
        for before, tree in pairwise(trees):
            lost = before.stable_since is not None and tree.stable_since != before.stable_since
            if lost and before.at - max(whole_since, before.stable_since or 0.0) > calm:
                at = bisect_left(tentative, before.at)
                early = tree.at + settings.bound - reserve
                if at < len(tentative) and tentative[at] < early:
                    yield (
                        f"{stream}: something tentative at {tentative[at]:.2f} s, right after the failure at {tree.at:.2f} s"
                    )
            if tree.stable_since is None or lost:
                whole_since = tree.at
