"""What comes when: new buckets within X, stable ones wherever there is a whole tree, tentative ones only where there is none."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from auroral.dpc.settings import Policy, Settings
from auroral.dpc.usual import REMEMBERED
from auroral.sim.faults import OF_SOURCES, with_their_ends
from auroral.sim.invariants.going import AsItGoes, Deliveries, Judging, News
from auroral.sim.network import SLOWER
from auroral.sim.oracle import Interval, Oracle
from auroral.sim.scenario import Scenario
from auroral.sim.seen import EVERY, Delivery, Run, Tree


class Gaps:
    """When the client could be given nothing of a stream, as far as is known: one that has not ended ends never."""

    def __init__(self, trees: list[Tree]) -> None:
        self.trees, self.found = News(trees), list[Interval]()

    def __call__(self) -> list[Interval]:
        for tree in self.trees:
            since = self.found[-1][0] if self.found and self.found[-1][1] == float("inf") else None
            if not tree.anything and since is None:
                self.found.append((tree.at, float("inf")))
            elif tree.anything and since is not None:
                self.found[-1] = (since, tree.at)
        return self.found


@dataclass(slots=True)
class Lateness:
    """How much later than usual each bucket of an output, or a newer one, came in any version."""

    run: Run
    stream: str
    gaps: Gaps = field(init=False)
    first: int = 0
    """The first bucket that has not come."""

    def __post_init__(self) -> None:
        self.gaps = Gaps(self.run.trees[self.stream])

    def due(self, bucket: int) -> float:
        return (bucket + 1) * self.run.scenario.settings.bucket + self.run.usual[self.stream]

    def came(self, one: Delivery) -> Iterator[tuple[int, float, bool]]:
        """The buckets that came with it: how late, and whether nothing could come for a while."""
        if one.content.lost:
            return
        while self.first <= min(one.bucket, self.run.scenario.buckets - 1):
            self.first += 1
            yield self.first - 1, *self.of(self.first - 1, one.at)

    def of(self, bucket: int, at: float) -> tuple[float, bool]:
        """Where nothing could come for a while since the bucket began, the time counts from when something could again, a bucket and the
        usual time later."""
        settings, due, gaps = self.run.scenario.settings, self.due(bucket), self.gaps()
        ends = [e for begin, e in gaps if begin < due + settings.bound and bucket * settings.bucket < e]
        # Gaps that follow one another closely are one.
        for begin, end in gaps:
            if ends and begin < max(ends) + settings.bound + settings.bucket:
                ends.append(end)
        if not ends:
            return at - due, False
        return at - max(due, max(ends) + settings.bucket + self.run.usual[self.stream]), True


def lateness(run: Run, stream: str) -> Iterator[tuple[float, bool]]:
    """Of each bucket that came, and whether nothing could come for a while."""
    found = Lateness(run, stream)
    for one in run.deliveries[stream]:
        yield from ((late, excused) for _, late, excused in found.came(one))


@AsItGoes
def within_the_bound(run: Run) -> Judging:
    """D77: what is new comes less than X later than usual, wherever anything could come; where nothing more happens while it is waited
    for but that sources fall silent or come back, the time is left over that was set aside to read from another replica, but for what a
    job waits for the one before it.

    X presumes that messages take no longer than the settings say. While links on the way are slow, and until what was learned of them is
    forgotten, what they take longer comes on top.
    """
    late, deliveries = {stream: Lateness(run, stream) for stream in run.usual}, Deliveries(run)
    most = {stream: _most(run, stream) for stream in run.usual}
    while promised(run.scenario.settings):
        for stream, one in deliveries:
            for bucket, by, excused in late[stream].came(one):
                if by >= most[stream](late[stream].due(bucket), excused):
                    yield f"{stream}: bucket {bucket} came {by:.2f} s late at {one.at:.2f} s"
        for stream, found in late.items():
            by, excused = found.of(found.first, run.now)
            if found.first < run.scenario.buckets and by >= most[stream](found.due(found.first), excused):
                yield f"{stream}: bucket {found.first} has not come at {run.now:.2f} s, and is {by:.2f} s late"
        yield None


def _most(run: Run, stream: str) -> Callable[[float, bool], float]:
    """By when it is due, and whether nothing could come for a while: how late it may be at most."""
    scenario, settings, depth = run.scenario, run.scenario.settings, Oracle(run.scenario).depth(stream)
    changes = [fault.at for fault in scenario.faults if fault.verb not in OF_SOURCES]
    slow = _slow(scenario, stream)
    less = min(settings.bound, settings.bound - settings.failover + scenario.shortest_job * depth)

    def most(due: float, excused: bool) -> float:
        slowed = {where for where, begin, end in slow if begin < due + settings.bound and due < end}
        # A replica behind a slow link is also asked later.
        longer = SLOWER * (len(slowed) + 1) if slowed else 0.0
        happens = excused or _any(changes, due - settings.failover, due + settings.bound)
        return longer + (settings.bound if happens else less)

    return most


def _slow(scenario: Scenario, stream: str) -> list[tuple[int, float, float]]:
    """At which depth links on the way to the client were slow, and from when until when that tells: what is usual is the middle of the
    times that are remembered."""
    ways, forgotten = Oracle(scenario).ways(stream), REMEMBERED / 2 * scenario.settings.bucket
    found = []
    for begin, *end in with_their_ends(scenario.faults):
        if begin.verb == "slow" and (depth := ways.get(frozenset(begin.places))) is not None:
            found.append((depth, begin.at, end[0].at + forgotten if end else float("inf")))
    return found


def promised(settings: Settings) -> bool:
    """Who suspends what is new prefers no answer to a guess."""
    return Policy.SUSPEND not in (settings.while_failing, settings.while_correcting)


def processes(scenario: Scenario) -> bool:
    """Whether nothing but the first bucket of a failure is held back, and jobs are so short that none waits for another."""
    settings = scenario.settings
    policies = {settings.while_failing, settings.while_correcting}
    return policies == {Policy.PROCESS} and 2 * scenario.shortest_job < settings.bucket


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


@AsItGoes
def every_bucket_comes(run: Run) -> Judging:
    """D77: while nothing changes, each bucket comes in time itself. (When replicas are switched, tentative ones may be lost.) D41: and where only
    the first of a failure is held back, in half of it."""
    settings, deliveries = run.scenario.settings, Deliveries(run)
    most = settings.bound / 2 if processes(run.scenario) else settings.bound
    changes = [0.0, *(fault.at for fault in run.scenario.faults)]
    wait = Oracle(run.scenario).settled() + settings.bound
    late = {stream: Lateness(run, stream) for stream in run.usual}
    came: dict[tuple[str, int], float] = {}
    while promised(settings):
        for stream, one in deliveries:
            if not one.content.lost:
                came.setdefault((stream, one.bucket), one.at)
        for stream, found in late.items():
            # What was possible is known a moment later.
            while (
                due := found.due(found.first)
            ) + settings.bound + EVERY < run.now and found.first < run.scenario.buckets:
                quiet = changes[bisect_right(changes, due + settings.bound) - 1] < due - wait
                possible = all(end < due - wait or due + settings.bound < begin for begin, end in found.gaps())
                if quiet and possible and came.get((stream, found.first), run.now) - due >= most:
                    yield (
                        f"{stream}: bucket {found.first} did not come in time, by {due + most:.2f} s, though nothing "
                        "had happened for a while"
                    )
                found.first += 1
        yield None


@AsItGoes
def stable_where_it_can_be(run: Run) -> Judging:
    """D76: nothing tentative comes where one tree with all sources has been whole for long enough."""
    wait, deliveries = Oracle(run.scenario).settled(), Deliveries(run)
    while True:
        for stream, one in deliveries:
            if one.stable:
                continue
            trees = run.trees[stream]
            since = trees[max(0, bisect_right(trees, one.at, key=lambda tree: tree.at) - 1)].stable_since
            if since is not None and one.at > since + wait:
                yield (
                    f"{stream}: bucket {one.bucket} is tentative at {one.at:.2f} s, though a whole tree has been there "
                    f"since {since:.2f} s"
                )
        yield None


@AsItGoes
def stable_in_time(run: Run) -> Judging:
    """D76, D81: where one tree with all sources has been whole for long enough, the client has everything stable."""
    wait, settings, deliveries = Oracle(run.scenario).settled(), run.scenario.settings, Deliveries(run)
    times: dict[str, list[float]] = {stream: [] for stream in run.trees}
    new = {stream: News(trees) for stream, trees in run.trees.items()}
    while True:
        for stream, one in deliveries:
            if one.stable:
                times[stream].append(one.at)
        for stream, trees in new.items():
            for tree in trees:
                if tree.stable_since is None or tree.at < tree.stable_since + wait:
                    continue
                # As far as its newest bucket was due when it must have been stable.
                wanted = min(int((tree.at - wait) / settings.bucket), run.scenario.buckets)
                there = bisect_right(times[stream], tree.at)
                if there < wanted:
                    yield (
                        f"{stream}: {there} of {wanted} buckets are stable at {tree.at:.2f} s, though a whole tree has been "
                        f"there since {tree.stable_since:.2f} s"
                    )
        yield None


def first_suspends(run: Run) -> Iterator[str]:
    """D38: the first tentative bucket of a failure is held for almost X, so that a shorter failure gives none.

    What replicas set aside for their own work and for a failover of each, and what it takes the bucket to come, may be less than X."""
    scenario, settings = run.scenario, run.scenario.settings
    if settings.share is not None:
        return
    oracle = Oracle(scenario)
    calm = oracle.settled() + settings.bound
    for stream, trees in run.trees.items():
        reserve = oracle.set_aside(stream) + settings.bucket + 0.3
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
