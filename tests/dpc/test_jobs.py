"""Jobs of a replica with several outputs (D63), and the policies that say when one is due (D41)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from auroral.dpc.coverage import Coverage, Level
from auroral.dpc.events import Effect, Evaluate, Evaluated, Failed, Kept, Received, Send, Started, Woken
from auroral.dpc.replica import Replica, ReplicaSpec
from auroral.dpc.settings import Policy, Settings
from auroral.dpc.sizing import LEAST_ROWS, MOST_GUESSED, MOST_ROWS, REMEMBERED, TELLING, Guesses, Sizing
from auroral.dpc.states import State
from auroral.dpc.sunion import MOST_BUCKETS, OutputSpec
from auroral.dpc.switching import Lane, Offer
from auroral.dpc.values import Content, Pong, Stable, Subscribe, Tentative
from auroral.dpc.why import why


def replica(settings: Settings) -> Replica:
    """`both` is made from s and t, `one` from s alone; a reader of both."""
    outputs = {
        "both": OutputSpec("both", {"s": 1, "t": 1}, (frozenset("st"),), ("r",)),
        "one": OutputSpec("one", {"s": 2}, (frozenset("s"),), ("r",)),
    }
    spec = ReplicaSpec("q", {"s": ("S",), "t": ("T",)}, {"s": ("s",), "t": ("t",)}, outputs)
    found = Replica(spec, settings)
    found.handle(Started(), 0.0)
    for source in "ST":
        answered(found, source, State.STABLE, 0.0)
    return found


def answered(found: Replica, source: str, state: State, now: float) -> list[Effect]:
    return found.handle(Received(source, Pong({source.lower(): Offer(state)}, {})), now)


def given(found: Replica, source: str, begin: int, end: int, now: float) -> list[Effect]:
    stream = source.lower()
    contents = tuple(Content(bucket, 1) for bucket in range(begin, end))
    return found.handle(Received(source, Stable(stream, found.ports[stream].numbers[source], begin, contents)), now)


def jobs(effects: list[Effect]) -> list[Evaluate]:
    return [effect for effect in effects if isinstance(effect, Evaluate)]


def done(found: Replica, job: Evaluate, now: float) -> list[Effect]:
    contents = tuple(Content(b, 1) for b in range(job.begin, job.end))
    return found.handle(Evaluated(job.job, dict.fromkeys(job.outputs, contents)), now)


SETTINGS = Settings(bucket=0.5, bound=3.0)


def test_an_output_with_much_to_correct_holds_up_the_others_by_one_job_at_most():
    """M4: `both` has many buckets to make, `one` a new one now and then."""
    found, many = replica(SETTINGS), 3 * MOST_BUCKETS
    (job,) = jobs(given(found, "S", 0, 1, 0.5))
    done(found, job, 0.6)
    for begin in range(1, many, MOST_BUCKETS):
        for job in jobs(given(found, "S", begin, min(begin + MOST_BUCKETS, many), 0.7)):
            done(found, job, 0.7)
    (job,) = [job for job in jobs(given(found, "T", 0, many, 0.8)) if not job.tentative]
    assert (job.outputs, job.begin, job.end) == (("both",), 0, MOST_BUCKETS)
    given(found, "S", many, many + 1, 0.9)
    (job,) = [job for job in jobs(done(found, job, 1.0)) if not job.tentative]
    assert (job.outputs, job.begin, job.end) == (("one",), many, many + 1)
    (job,) = [job for job in jobs(done(found, job, 1.1)) if not job.tentative]
    assert (job.outputs, job.begin, job.end) == (("both",), MOST_BUCKETS, 2 * MOST_BUCKETS)


def test_a_job_that_corrects_reads_no_more_rows_than_it_may_but_one_bucket_at_least():
    found = replica(SETTINGS)
    # The first bucket alone is too much; of the others, two are as much as a job takes.
    for source in ("S", "T"):
        counts = [MOST_ROWS, *[MOST_ROWS // 4] * 4]
        contents = tuple(Content(bucket, count) for bucket, count in enumerate(counts))
        stream = source.lower()
        found.handle(Received(source, Stable(stream, found.ports[stream].numbers[source], 0, contents)), 0.7)
    union, ranges = found.unions["both"], []
    while (following := union.next_job)[0] < 5:
        ranges.append(following)
        union.outlet.frontier = following[1]
    assert ranges == [(0, 1), (1, 3), (3, 5)]


def test_a_job_that_corrects_takes_no_longer_than_a_quarter_of_what_is_set_aside():
    """But for what any job takes anyhow: new buckets that are to be guessed wait for its tasks."""
    found = replica(SETTINGS)
    (job,) = jobs(given(found, "S", 0, 1, 0.5))
    done(found, job, 0.6)
    usual, each = 0.1, 2_000
    contents = tuple(Content(bucket, each) for bucket in range(800))
    (job,) = jobs(found.handle(Received("S", Stable("s", found.ports["s"].numbers["S"], 1, contents[1:])), 1.0))
    union, took, sizes, now = found.unions["one"], 4e-6, list[int](), 1.0
    for _ in range(6):
        rows = (job.end - job.begin) * each
        sizes.append(rows)
        now += usual + took * rows
        (job,) = [job for job in jobs(done(found, job, now)) if not job.tentative]
    most = 0.25 * union.aside
    assert sizes[0] > 2 * most / took, "nothing is known of it yet"
    assert all(took * rows <= 1.01 * most for rows in sizes[1:]) and sizes[-1] > most / took - each - 1


def learned(*jobs: tuple[int, float], usual: float = 0.1) -> Sizing:
    found = Sizing()
    for rows, seconds in jobs:
        found.learn(rows, seconds, usual)
    return found


def test_jobs_that_take_long_whatever_they_read_are_not_made_smaller():
    """Many small ones would take longer in all, and what is new would wait for all of them."""
    assert learned((60_000, 1.6), (12_000, 1.5)).rows(1.0) == MOST_ROWS
    # 2 us a row: half a second for as many rows as take no longer than a job of none.
    assert learned((50_000, 0.6), (150_000, 0.8), usual=0.2).rows(0.1) == pytest.approx(250_000, rel=0.01)
    # Each row takes long: what is set aside for a guess counts.
    assert learned((20_000, 2.1), (40_000, 4.1)).rows(10.0) == pytest.approx(25_000, rel=0.01)
    assert learned((20_000, 20.1), (40_000, 40.1)).rows(1.0) == LEAST_ROWS


def test_jobs_that_were_slow_once_are_not_small_for_ever():
    """As those of a JVM that had just begun, or while others had the machine."""
    sizing, few = learned((MOST_ROWS, 100.0)), LEAST_ROWS
    assert sizing.rows(1.0) == LEAST_ROWS
    for _ in range(REMEMBERED):
        # No job is larger than that now.
        sizing.learn(few, 1.0, 0.1)
    assert sizing.rows(1.0) == 2 * LEAST_ROWS, "to find out whether it is the rows"
    sizing.learn(2 * few, 1.01, 0.1)
    assert sizing.rows(1.0) == MOST_ROWS
    sizing.learn(2 * few, 2.0, 0.1)
    sizing.learn(2 * few, 2.0, 0.1)
    assert sizing.rows(1.0) == LEAST_ROWS


def test_jobs_that_take_no_longer_with_more_rows_are_as_large_as_they_may_be():
    assert learned().rows(1.0) == MOST_ROWS
    assert learned((20_000, 0.3), (40_000, 0.2)).rows(1.0) == MOST_ROWS
    assert learned((20_000, 0.1)).rows(1.0) == MOST_ROWS
    # Small ones tell nothing, however long they took, as those do with which everything begins.
    assert learned((2_000, 0.9), (4_000, 1.8), (8_000, 3.6)).rows(1.0) == MOST_ROWS


def test_a_job_of_a_single_bucket_of_many_rows_tells_as_much_as_any():
    found = replica(SETTINGS)
    for bucket, rows in enumerate((TELLING - 1, TELLING)):
        number = found.ports["s"].numbers["S"]
        (job,) = jobs(found.handle(Received("S", Stable("s", number, bucket, (Content(bucket, rows),))), bucket + 0.5))
        done(found, job, bucket + 0.6)
    assert [took.rows for took in found.unions["one"].sizing.jobs] == [TELLING]


def test_one_job_gives_all_outputs_that_are_due():
    """M4: two jobs, one after the other, would take the second output past the bound."""
    found = replica(replace(SETTINGS, while_failing=Policy.DELAY))
    for number, stream in enumerate(("both", "one")):
        found.handle(Received("r", Subscribe(stream, number, Lane.BOTH, 0, False)), 0.1)
    found.outlets["both"].newest = 1
    answered(found, "S", State.UP_FAILURE, 0.1)
    for bucket in range(4):
        found.handle(Received("S", guess(found, "S", bucket)), 0.5)
    (job,) = jobs(found.handle(Woken(), 4.5))
    assert (job.outputs, job.begin, job.end) == (("both", "one"), 0, 4)
    sent = [e.message for e in done(found, job, 4.6) if isinstance(e, Send)]
    assert [(m.stream, m.bucket) for m in sent if isinstance(m, Tentative)] == [
        *(("both", bucket) for bucket in (2, 3)),
        *(("one", bucket) for bucket in range(4)),
    ], "each what is new of it"


def guess(found: Replica, source: str, bucket: int) -> Tentative:
    stream = source.lower()
    number, coverage = found.ports[stream].numbers[source], Coverage.of(stream, bucket, Level.PARTIAL)
    return Tentative(stream, number, bucket, Content(bucket, 1), True, 0.0, coverage)


def _running(found: Replica) -> list[Evaluate]:
    return [
        Evaluate(number, job.outputs, job.begin, job.end, {}, job.tentative)
        for number, job in found.jobs.running.items()
    ]


@pytest.mark.parametrize(("state", "is_given"), [(State.UP_FAILURE, True), (State.STABILIZATION, False)])
def test_behind_a_replica_that_corrects_the_policy_is_that_of_correcting(state: State, is_given: bool):
    """M7: not only at the first node."""
    found = replica(Settings(bucket=0.5, bound=3.0, while_correcting=Policy.SUSPEND))
    for bucket in range(7):
        answered(found, "S", State.STABLE, 0.5 * (bucket + 1))
        answered(found, "T", state, 0.5 * (bucket + 1))
        given(found, "S", bucket, bucket + 1, 0.5 * (bucket + 1))
    assert any(job.tentative for job in _running(found)) is is_given


@pytest.mark.parametrize(("lasted", "is_given"), [(9.0, False), (31.0, True)])
def test_a_long_failure_is_not_worth_delaying(lasted: float, is_given: bool):
    """Thesis 5.4.2: a new bucket is held as long as it may be, until the failure has lasted ten times the bound."""
    found = replica(Settings(bucket=0.5, bound=3.0, while_failing=Policy.ADAPT))
    given(found, "S", 0, 1, 0.5)
    for job in _running(found):
        done(found, job, 0.5)
    answered(found, "T", State.UP_FAILURE, 0.6)
    (job,) = [job for job in jobs(found.handle(Woken(), 4.0)) if job.tentative]
    done(found, job, 4.0)
    now = 0.6 + lasted
    found.handle(Received("T", guess(found, "T", 1)), now)
    given(found, "S", 1, 2, now)
    guessed = [job for job in _running(found) if job.tentative and "both" in job.outputs]
    assert bool(guessed) is is_given


def test_an_output_that_always_fails_is_tried_alone_and_ever_less_often():
    """It takes neither the engine nor the other output with it."""
    found, now, tries = replica(SETTINGS), 0.0, []
    waiting: list[Evaluate] = []
    for step in range(1, 400):
        now = step * 0.1
        effects = found.handle(Woken(), now)
        if step % 5 == 0:
            bucket = step // 5 - 1
            effects += given(found, "S", bucket, bucket + 1, now) + given(found, "T", bucket, bucket + 1, now)
            effects += [e for source in "ST" for e in answered(found, source, State.STABLE, now)]
        waiting += jobs(effects)
        while waiting:
            job = waiting.pop()
            if "both" in job.outputs:
                tries.append((now, job.outputs))
                waiting += jobs(found.handle(Failed(job.job, "a function throws"), now))
            else:
                waiting += jobs(done(found, job, now))
    assert found.outlets["one"].frontier == 79, "up to date"
    assert len(tries) < 40, "two for the first failure, stable and tentative, then with pauses that double"
    assert all(outputs == ("both",) for _, outputs in tries[3:])
    assert max(later - earlier for (earlier, _), (later, _) in pairwise(tries)) > 3
    said = why(found, "both", now)
    assert any("jobs failed" in line and "a function throws" in line for line in said.because)


def test_a_job_for_many_buckets_says_of_each_how_late_it_is():
    """The bound: who reads them holds none of them for longer than is left of its time."""
    found = replica(SETTINGS)
    found.handle(Received("r", Subscribe("both", 0, Lane.BOTH, 0, False)), 0.1)
    for bucket in range(4):
        for job in jobs(given(found, "S", bucket, bucket + 1, 0.5 * bucket + 0.5)):
            done(found, job, 0.5 * bucket + 0.5)
    (job,) = [job for job in jobs(given(found, "T", 0, 4, 2.0)) if not job.tentative]
    (said,) = [e.message for e in done(found, job, 2.1) if isinstance(e, Send) and isinstance(e.message, Stable)]
    assert [round(held, 3) for held in said.held] == [1.6, 1.1, 0.6, 0.1]


def test_a_guess_has_no_more_buckets_than_a_correction():
    found = replica(replace(SETTINGS, while_failing=Policy.DELAY))
    answered(found, "S", State.UP_FAILURE, 0.1)
    for bucket in range(40):
        found.handle(Received("S", guess(found, "S", bucket)), 0.5)
    (job,) = jobs(found.handle(Woken(), 4.5))
    assert (job.begin, job.end) == (0, 32)
    (job,) = jobs(done(found, job, 4.6))
    assert (job.begin, job.end) == (32, 40)


def test_an_output_that_is_far_ahead_of_another_is_guessed_later():
    found = replica(replace(SETTINGS, while_failing=Policy.DELAY))
    answered(found, "S", State.UP_FAILURE, 0.1)
    found.outlets["both"].newest = 31
    for bucket in range(40):
        found.handle(Received("S", guess(found, "S", bucket)), 0.5)
    (job,) = jobs(found.handle(Woken(), 4.5))
    assert (job.outputs, job.begin, job.end) == (("one",), 0, 32)
    assert jobs(found.handle(Woken(), 4.6)) == [], "one at a time"


def test_a_stable_job_reads_all_that_it_needs_and_says_which_outputs_it_makes():
    found = replica(SETTINGS)
    (first,) = jobs(given(found, "S", 0, 2, 0.5))
    assert (first.outputs, first.begin, first.end, first.tentative) == (("one",), 0, 2, False)
    assert given(found, "T", 0, 2, 0.6) and found.jobs.being_made_stable == {"one"}
    (both,) = jobs(done(found, first, 0.7))
    assert both.outputs == ("both",) and {name: sorted(read) for name, read in both.view.items()} == {
        "s": [0, 1],
        "t": [0, 1],
    }
    assert found.jobs.last_stable == 2 and found.jobs.served == {"one": 1, "both": 2}


def test_of_two_that_were_never_made_the_shorter_goes_first():
    """D63."""
    found = replica(SETTINGS)
    found.outlets["one"].restore(Kept(2))
    given(found, "T", 0, 3, 0.5)
    (job,) = jobs(given(found, "S", 0, 3, 0.5))
    assert (job.outputs, job.begin, job.end) == (("one",), 2, 3)
    (job,) = jobs(done(found, job, 0.6))
    assert (job.outputs, job.begin, job.end) == (("both",), 0, 3)


def test_outputs_that_are_as_far_are_made_by_one_job():
    found = replica(SETTINGS)
    given(found, "T", 0, 1, 0.5)
    (job,) = jobs(given(found, "S", 0, 1, 0.5))
    assert job.outputs == ("both", "one") and found.jobs.served == {"both": 1, "one": 1}


def test_a_guess_takes_no_more_buckets_than_leave_the_first_in_time():
    known = Guesses()
    known.learn(1, 9.0, 0.25), known.learn(5, 1.25, 0.25)
    assert known.further.times == [0.25] and known.beyond_first(3) == 0.5
    assert [known.most(spare, 0.25, 1.0) for spare in (0.0, 0.5, 0.9, 1.0, 2.0, 99.0)] == [2, 3, 4, 5, 9, MOST_GUESSED]
    quicker = Guesses()
    quicker.learn(3, 0.2, 0.25)
    assert quicker.most(0.0, 0.25, 1.0) == MOST_GUESSED, "they take no time"


def test_a_guess_takes_enough_buckets_not_to_fall_behind():
    known = Guesses()
    known.learn(3, 1.75, 1.25)
    assert [known.most(0.0, usual, 0.5) for usual in (0.25, 0.5, 1.25)] == [2, 3, 6]
    assert known.most(0.0, 0.25, 0.25) == MOST_GUESSED, "one comes while one is made"


def test_as_long_as_it_is_not_known_what_buckets_take_each_may_take_what_a_job_does():
    assert [Guesses().most(spare, 0.25, 1.0) for spare in (0.0, 0.5, 1.0)] == [2, 3, 5]
    assert Guesses().most(0.0, 1.25, 0.5) == 4
    assert Guesses().most(0.0, 0.0, 0.5) == MOST_GUESSED


def test_what_waited_for_the_first_guess_is_guessed_as_far_as_there_is_time():
    """D77: of buckets that take long, not all at once; the more time is left, the more."""
    found = replica(replace(SETTINGS, bound=9.0))
    found.jobs.usual.learn(0.25), found.jobs.guesses.further.learn(0.25)
    for bucket in range(16):
        for job in jobs(given(found, "S", bucket, bucket + 1, 0.5 * bucket)):
            done(found, job, 0.5 * bucket + 0.25)
    due = found.unions["both"].next_deadline(7.5)
    guesses, effects = list[tuple[int, int]](), found.handle(Woken(), due)
    for quarter in range(1, 4):
        (job,) = [job for job in jobs(effects) if job.tentative]
        guesses.append((job.begin, job.end))
        effects = done(found, job, due + 0.25 * quarter)
    assert guesses == [(0, 1), (1, 3), (3, 8)]
