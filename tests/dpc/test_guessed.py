"""Early cut-off: what was guessed right is final without another job."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from auroral.dpc.coverage import Coverage, Level
from auroral.dpc.events import (
    Cancel,
    Effect,
    Evaluate,
    Evaluated,
    Failed,
    Keep,
    Received,
    Report,
    SaveState,
    Send,
    Started,
    Woken,
)
from auroral.dpc.replica import Replica, ReplicaSpec
from auroral.dpc.settings import Settings, WhenFull
from auroral.dpc.states import State
from auroral.dpc.sunion import OutputSpec
from auroral.dpc.switching import Lane, Offer
from auroral.dpc.values import (
    Confirm,
    Content,
    Data,
    Decided,
    Gap,
    Hashes,
    Ping,
    Pong,
    Prepare,
    Promise,
    Snapshot,
    Stable,
    Subscribe,
    Tentative,
)
from auroral.dpc.versions import Decision

SETTINGS = Settings(bucket=0.5, bound=3.0, snapshot_every=100)


@dataclass(slots=True)
class Node:
    """A replica that reads s, or s and t, for `o`, and a reader of it; its jobs end at once. Stable up to bucket 2, and then the replica
    that s is read from misses something."""

    reads: dict[str, int]
    folds: bool = False
    leaves_out: bool = False
    settings: Settings = SETTINGS
    now: float = 1.0
    jobs: list[Evaluate] = field(default_factory=list)
    core: Replica = field(init=False)

    def __post_init__(self) -> None:
        facts = {"folds": self.folds, "leaves_out": self.leaves_out}
        output = OutputSpec("o", self.reads, (frozenset(self.reads),), ("r",), **facts)
        inputs = {name: (name.upper(),) for name in self.reads}
        sources = {name: (name,) for name in self.reads}
        self.core = Replica(ReplicaSpec("q", inputs, sources, {"o": output}, ("p",)), self.settings)
        self.core.handle(Started(), 0.0)
        for name in self.reads:
            self.core.handle(Received(name.upper(), Pong({name: Offer(State.STABLE)}, {})), 0.0)
        self.core.handle(Received("r", Subscribe("o", 1, Lane.BOTH, 0, False)), 0.0)
        for name in self.reads:
            self.stable(name, 0, 1)
        self.jobs.clear()
        for name in self.reads:
            self.core.handle(Received(name.upper(), Pong({name: Offer(State.UP_FAILURE)}, {})), self.now)

    def said(self, name: str, message: Data) -> list[Effect]:
        return self.run(self.core.handle(Received(name.upper(), message), self.now))

    def run(self, effects: list[Effect]) -> list[Effect]:
        """And all that comes of it."""
        effects = list(effects)
        for effect in effects:
            if isinstance(effect, Evaluate):
                self.jobs.append(effect)
                effects += self.core.handle(evaluated(effect, self.reads, self.folds), self.now)
        return effects

    def number(self, name: str) -> int:
        return self.core.ports[name].numbers[name.upper()]

    def stable(self, name: str, *buckets: int, made: int = 0) -> list[Effect]:
        contents = tuple(Content(made or bucket, 1) for bucket in buckets)
        return self.said(name, Stable(name, self.number(name), buckets[0], contents))

    def tentative(self, name: str, *buckets: int) -> None:
        for bucket in buckets:
            coverage = Coverage.of(name, bucket, Level.PARTIAL)
            self.said(name, Tentative(name, self.number(name), bucket, Content(bucket, 1), True, 0.0, coverage))

    def confirm(self, name: str, *buckets: int) -> list[Effect]:
        return self.said(name, Confirm(name, self.number(name), buckets[0], buckets))

    @property
    def asked(self) -> list[tuple[int, int, bool]]:
        """Since it was last asked for."""
        found = [(job.begin, job.end, job.tentative) for job in self.jobs]
        self.jobs.clear()
        return found

    @property
    def frontier(self) -> int:
        return self.core.outlets["o"].frontier


def evaluated(job: Evaluate, reads: dict[str, int], folds: bool = False) -> Evaluated:
    """Each bucket is of all that it reads; a fold's state only of what is odd."""
    contents, states = {}, {}
    before = job.states.get("o", Snapshot(job.begin, None))
    state = 0 if before.state is None else before.state.hash
    for bucket in range(before.bucket, job.end):
        read = [job.view[name].get(b) for name, h in reads.items() for b in range(bucket - h + 1, bucket + 1)]
        hashes = [-1 if one is None else one.hash for one in read]
        state += sum(one for one in hashes if one % 2)
        contents[bucket] = Content(abs(hash((job.version, state if folds else 0, *hashes))), 1)
        states["o"] = Content(state, 1)
    return Evaluated(job.job, {"o": tuple(contents[b] for b in range(job.begin, job.end))}, states if folds else {})


def guessed_right(effects: list[Effect]) -> int:
    return sum(e.count for e in effects if isinstance(e, Report) and e.kind == "guessed right")


def test_behind_a_replica_that_confirms_nothing_is_computed_again():
    """Hole 10: how many tentative buckets were right is counted."""
    node = Node({"s": 2})
    node.tentative("s", 2, 3, 4)
    made = [node.core.outlets["o"].guesses[bucket].content for bucket in (2, 3, 4)]
    assert node.asked == [(2, 3, True), (3, 4, True), (4, 5, True)]
    effects = node.confirm("s", 2, 3, 4)
    assert (node.asked, node.frontier, guessed_right(effects)) == ([], 5, 3)
    (keep,) = [e for e in effects if isinstance(e, Keep)]
    assert (keep.begin, keep.contents) == (2, tuple(made))
    confirmed = [e for e in effects if isinstance(e, Send) and isinstance(e.message, Confirm)]
    assert [e.message for e in confirmed] == [Confirm("o", 1, 2, tuple(content.hash for content in made))]
    assert effects.index(keep) < effects.index(confirmed[0]), "on disk before it is sent"
    node.stable("s", 5)
    assert node.asked == [(5, 6, False)], "what is new is computed as ever"


def test_what_may_leave_rows_out_is_computed_again_to_count_them():
    node = Node({"s": 2}, leaves_out=True)
    node.tentative("s", 2, 3, 4)
    node.jobs.clear()
    effects = node.confirm("s", 2, 3, 4)
    assert (node.asked, node.frontier, guessed_right(effects)) == ([(2, 5, False)], 5, 0)


def test_rows_that_come_again_are_as_good_as_a_confirmation():
    node = Node({"s": 2})
    node.tentative("s", 2, 3)
    node.jobs.clear()
    node.stable("s", 2, 3)
    assert (node.asked, node.frontier) == ([], 4)


def test_an_input_that_differs_takes_a_job_for_its_horizon_only():
    node = Node({"s": 2})
    node.tentative("s", *range(2, 9))
    node.jobs.clear()
    node.confirm("s", 2, 3)
    assert node.asked == []
    contents = (Content(99, 1), *(Content(bucket, 1) for bucket in range(5, 9)))
    effects = node.said("s", Stable("s", node.number("s"), 4, contents))
    assert node.asked == [(4, 6, False)]
    assert (node.frontier, guessed_right(effects)) == (9, 3)


def test_between_two_that_differ_all_is_computed_by_one_job():
    node = Node({"s": 1})
    node.tentative("s", *range(2, 9))
    node.jobs.clear()
    contents = tuple(Content(90 if bucket in (3, 6) else bucket, 1) for bucket in range(2, 9))
    node.said("s", Stable("s", node.number("s"), 2, contents))
    assert (node.asked, node.frontier) == ([(3, 7, False)], 9)


def test_missing_is_not_empty():
    """What was not there is never as it was guessed."""
    node = Node({"s": 1, "t": 1})
    node.tentative("s", 2, 3)
    node.now = 6.0
    node.run(node.core.handle(Woken(), node.now))
    assert {(begin, tentative) for begin, _, tentative in node.asked} == {(2, True)}
    node.confirm("s", 2, 3)
    node.said("t", Stable("t", node.number("t"), 2, (Content(0, 0), Content(0, 0))))
    assert (node.asked, node.frontier) == ([(2, 4, False)], 4)


def test_what_was_read_differently_since_counts_as_wrong():
    """The second version of bucket 2 was read for bucket 3, the first one for bucket 2."""
    node = Node({"s": 2})
    node.tentative("s", 2)
    coverage = Coverage.of("s", 2, Level.PARTIAL)
    node.said("s", Tentative("s", node.number("s"), 2, Content(77, 1), True, 0.0, coverage))
    node.tentative("s", 3)
    assert node.asked == [(2, 3, True), (3, 4, True)]
    node.stable("s", 2, made=77)
    node.stable("s", 3)
    assert (node.asked, node.frontier) == ([(2, 3, False)], 4)


def test_another_version_of_the_query_computes_its_buckets_anew():
    node = Node({"s": 1})
    node.tentative("s", *range(2, 12))
    node.jobs.clear()
    effects = node.run(node.core.handle(Received("catalog", Prepare(1, 1)), node.now))
    (promise,) = [e.message for e in effects if isinstance(e, Send) and isinstance(e.message, Promise)]
    first = promise.bucket
    assert 2 < first < 12
    node.confirm("s", *range(2, 12))
    assert (node.asked, node.frontier) == ([], first), "no further than it promised"
    node.run(node.core.handle(Received("catalog", Decided(Decision((0, first), 1))), node.now))
    assert (node.asked, node.frontier) == ([(first, 12, False)], 12)


def test_nothing_is_remembered_of_what_is_final_or_given_up():
    node = Node({"s": 2}, settings=replace(SETTINGS, most_kept=50))
    guessed = node.core.unions["o"].guessed
    node.tentative("s", 2, 3, 4, 5)
    assert sorted(guessed.runs) == [2, 3, 4, 5]
    node.confirm("s", 2)
    assert sorted(guessed.runs) == [3, 4, 5] and min(guessed.read["s"]) == 2
    node.said("s", Gap("s", node.number("s"), 3, 4))
    assert node.frontier == 5, "bucket 4 reads what is lost, too"
    assert sorted(guessed.runs) == [5]
    node.stable("s", 4, 5)
    assert node.frontier == 6 and not guessed.runs and set(guessed.read["s"]) == {5}


def test_no_more_is_kept_than_may_be():
    node = Node({"s": 1}, settings=replace(SETTINGS, most_kept=3, when_full=WhenFull.BLOCK))
    node.tentative("s", *range(2, 8))
    assert sorted(node.core.unions["o"].guessed.runs) == [5, 6, 7]


def test_room_is_waited_for():
    """D72: nobody has said what it needs."""
    node = Node({"s": 1}, settings=replace(SETTINGS, most_kept=4, when_full=WhenFull.BLOCK))
    node.tentative("s", 2, 3, 4, 5)
    node.jobs.clear()
    node.confirm("s", 2, 3, 4, 5)
    assert (node.asked, node.frontier) == ([], 4)


def test_a_guess_that_is_under_way_is_cancelled_when_it_is_final():
    """And one that failed leaves nothing to be right."""
    node = Node({"s": 1})
    node.tentative("s", 2)
    coverage = Coverage.of("s", 3, Level.PARTIAL)
    effects = node.core.handle(
        Received("S", Tentative("s", node.number("s"), 3, Content(3, 1), True, 0.0, coverage)), node.now
    )
    (job,) = [e for e in effects if isinstance(e, Evaluate)]
    node.core.handle(Failed(job.job, "the executor was lost"), node.now)
    (again,) = [number for number, job in node.core.jobs.running.items() if job.tentative]
    node.jobs.clear()
    effects = node.confirm("s", 2, 3)
    assert Cancel(again) in effects
    assert (node.asked, node.frontier) == ([(3, 4, False)], 4)


def test_other_replicas_are_told_what_was_guessed_right_as_well():
    node = Node({"s": 1})
    node.tentative("s", 2)
    node.core.handle(Received("p", Ping({}, {}, {"o": Hashes(2, (5,))})), node.now)
    assert [e.kind for e in node.confirm("s", 2) if isinstance(e, Report)] == ["guessed right", "diverged"]


# Folds


def test_a_chain_that_was_right_is_the_stable_state():
    node = Node({"s": 1}, folds=True, settings=replace(SETTINGS, snapshot_every=4))
    node.tentative("s", 2, 3, 4)
    node.jobs.clear()
    fold = node.core.unions["o"].fold
    assert fold is not None and fold.chain == Snapshot(5, Content(1 + 3, 1))
    effects = node.confirm("s", 2, 3, 4)
    assert (node.asked, node.frontier) == ([], 5)
    assert (fold.stable, fold.chain) == (Snapshot(5, Content(4, 1)), None)
    assert SaveState("o", fold.stable) in effects


def test_correcting_a_fold_stops_where_its_state_is_the_chains():
    """What is even leaves no trace in it."""
    node = Node({"s": 1}, folds=True)
    node.tentative("s", *range(2, 9))
    node.jobs.clear()
    contents = tuple(Content(66 if bucket == 4 else bucket, 1) for bucket in range(2, 9))
    effects = node.said("s", Stable("s", node.number("s"), 2, contents))
    assert node.asked == [(4, 5, False)]
    assert (node.frontier, guessed_right(effects)) == (9, 2 + 4)


def test_a_fold_whose_state_differs_is_computed_to_the_end_by_one_job_more():
    node = Node({"s": 1}, folds=True)
    node.tentative("s", *range(2, 9))
    node.jobs.clear()
    contents = tuple(Content(67 if bucket == 4 else bucket, 1) for bucket in range(2, 9))
    node.said("s", Stable("s", node.number("s"), 2, contents))
    assert (node.asked, node.frontier) == ([(4, 5, False), (5, 9, False)], 9)
    fold = node.core.unions["o"].fold
    assert fold is not None and fold.stable.state == Content(1 + 3 + 67 + 5 + 7, 1)


@pytest.mark.parametrize("last", [3, 4])
def test_a_fold_has_no_state_inside_of_what_one_job_guessed(last: int):
    """Buckets 2 to 4 were guessed together."""
    node = Node({"s": 1}, folds=True)
    union = node.core.unions["o"]
    for bucket in (2, 3, 4):
        coverage = Coverage.of("s", bucket, Level.PARTIAL)
        list(
            union.ports["s"].take_tentative(
                "S", Tentative("s", node.number("s"), bucket, Content(bucket, 1), True, 0.0, coverage), node.now
            )
        )
    node.run(node.core.handle(Woken(), node.now))
    assert node.asked == [(2, 5, True)]
    node.confirm("s", *range(2, last + 1))
    assert node.asked == ([] if last == 4 else [(2, 4, False)])
    assert node.frontier == last + 1
