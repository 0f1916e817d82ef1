"""Requirements that no other simulation is named after (D28, D31, D40, D47, D49, D54-D56, D61).

Where tests name a hole, it is one of those that the thesis leaves in the protocol, or a place where it contradicts itself, in the order in which
they were found. That it numbers some properties twice (12) needs no test.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from auroral.dpc.events import Effect, Send
from auroral.dpc.settings import Policy, Settings
from auroral.dpc.states import State
from auroral.dpc.switching import Lane
from auroral.dpc.tuples import TupleType, TupleView
from auroral.dpc.values import Pong, Subscribe, Tentative, Want
from auroral.sim.scenario import Scenario
from auroral.sim.seen import Run
from auroral.sim.simulate import judged, observed, simulate
from auroral.sim.standin import Kind, Query, content
from sim.scenarios import chain, pair, scheduled

pytestmark = pytest.mark.slow

FAILED, HEALED = 10.0, 25.0
Seen = tuple[Run, dict[tuple[str, int], float], set[tuple[str, State]]]


@pytest.fixture(scope="module")
def apart() -> Seen:
    """A chain of three whose replicas do not reach one another, with an input away for long: when something tentative was first sent of
    each bucket, and which states were said of the outputs meanwhile."""
    first: dict[tuple[str, int], float] = {}
    said: set[tuple[str, State]] = set()

    def watch(now: float, core: str, effect: Effect) -> None:
        if isinstance(effect, Send) and isinstance(effect.message, Tentative):
            first.setdefault((effect.message.stream, effect.message.bucket), now)
        elif isinstance(effect, Send) and isinstance(effect.message, Pong) and FAILED + 4 < now < HEALED:
            said.update((stream, offer.state) for stream, offer in effect.message.offers.items())

    cuts = "; ".join(f"at 1s cut {name}a-{name}b; at 45s heal {name}a-{name}b" for name in "ufw")
    run = observed(chain(f"{cuts}; at {FAILED:g}s silence t; at {HEALED:g}s resume t", 50), watch)
    return run, first, said


def test_replicas_need_nothing_of_one_another(apart: Seen):
    """D47: through a failure of an input, with all guarantees."""
    run, first, _ = apart
    assert judged(run).violations == () and len(first) > 50


def test_a_failed_input_is_said_of_all_that_is_computed_from_it(apart: Seen):
    """D28: and of nothing else."""
    *_, said = apart
    assert said == {(stream, State.UP_FAILURE) for stream in ("u.out", "f.out", "w.out")} | {("s", State.STABLE)} | {
        ("t", State.STABLE)
    }


def test_what_is_tentative_closes_its_buckets_and_is_not_waited_for_again(apart: Seen):
    """D40: a hop takes its work, far below the 300 ms that it took without tentative boundaries."""
    run, first, _ = apart
    hops = [first["w.out", bucket] - time for (stream, bucket), time in first.items() if stream == "u.out"]
    assert len(hops) > 20 and max(hops) < 2 * 0.1
    shown = [one for one in run.deliveries["w.out"] if not one.stable]
    assert {one.bucket for one in shown} == {bucket for stream, bucket in first if stream == "w.out"}


def test_there_is_one_rec_done_for_each_recovery(apart: Seen):
    """D55: when all is corrected."""
    run, *_ = apart
    view, kinds = TupleView(), list[TupleType]()
    for one in run.deliveries["w.out"]:
        found = view.stable if one.stable else view.tentative
        kinds += [given.type for given in found(one.bucket, tuple(one.content.rows))]
    assert kinds.count(TupleType.REC_DONE) == 1 and kinds.count(TupleType.UNDO) >= 1
    behind = kinds[kinds.index(TupleType.REC_DONE) :]
    assert TupleType.UNDO not in behind and TupleType.TENTATIVE not in behind


def test_corrections_that_another_failure_ends_have_one_rec_done():
    """D56: it is shorter than X, so that nothing tentative comes between; what is final then corrects nothing that is shown."""
    # More than one job takes at once, so that the second failure is noticed between two of them, and before the next bucket is due.
    settings = Settings(bucket=0.5, bound=2.75, while_failing=Policy.DELAY, while_correcting=Policy.DELAY)
    union = Scenario(7, ("s", "t"), (Query("u", Kind.UNION, ("s", "t")),), {"u": 2}, settings, 103, job_bucket=0.006)
    run = observed(scheduled(union, "at 5s silence t; at 95s resume t; at 94.6s silence s; at 96.6s resume s"))
    assert judged(run).violations == ()
    (interrupted,) = run.interruptions["u.out"]
    before, after = run.deliveries["u.out"][interrupted - 1 : interrupted + 1]
    assert before.stable and after.stable and after.at > before.at + 0.1


def test_what_is_new_is_read_from_another_than_one_that_cannot_answer_while_it_corrects():
    """D31, row 7 of Table 4.3: the corrections go on coming from the one that makes them."""
    read = list[tuple[float, str, str, Lane]]()

    def watch(now: float, core: str, effect: Effect) -> None:
        if isinstance(effect, Send) and isinstance(effect.message, Subscribe) and effect.message.stream == "u.out":
            read.append((now, core, effect.to, effect.message.lane))

    # X has no room for two such jobs.
    run = observed(pair("at 10s silence t; at 21s resume t", job=1.6), watch)
    assert judged(run).violations == ()
    one = next(one for one in run.corrections if not one.fresh)
    turned = {(core, to == one.core, lane) for at, core, to, lane in read if 21 <= at < one.end}
    readers = {"w@wa", "w@wb"}
    assert {core for core, same, lane in turned if not same and lane is not Lane.CORRECT} == readers
    assert {core for core, same, lane in turned if same and lane is Lane.CORRECT} == readers


def test_who_holds_another_version_than_the_one_that_is_confirmed_asks_for_the_bucket():
    """D54: one replica guesses without t, which is often empty, and so right; the other one without s. Who reads from the first has the guesses of
    the second when the first corrects."""
    scenario = pair("at 10s cut t-ua; at 10s cut s-ub; at 20s heal t-ua; at 32s heal s-ub", 40, job=1.6)
    rows = {
        "s": tuple(content((3 * bucket + 1,)) for bucket in range(scenario.buckets)),
        "t": tuple(content((3 * bucket + 2,) if bucket % 4 == 0 else ()) for bucket in range(scenario.buckets)),
    }
    asked = list[str]()

    def watch(now: float, core: str, effect: Effect) -> None:
        if isinstance(effect, Send) and isinstance(effect.message, Want):
            asked.append(core)

    assert judged(observed(replace(scenario, rows=rows), watch)).violations == ()
    assert {"w@wa", "w@wb"} <= {*asked}


def test_nothing_is_corrected_before_all_that_it_lacked_is_there():
    """D49: of two inputs that failed together, one is back first."""
    run = observed(pair("at 10s silence s; at 10s silence t; at 15s resume s; at 22s resume t"))
    assert judged(run).violations == ()
    corrected = {one.bucket: one.at for one in run.deliveries["w.out"] if one.stable}
    lacking = [time for bucket, time in corrected.items() if 10 <= bucket * 0.5 < 22]
    assert len(lacking) == 24 and min(lacking) > 22


def test_a_chain_corrects_all_of_it_at_once():
    """D61: three nodes one after the other take little longer than two."""
    schedule = f"at {FAILED:g}s silence t; at {HEALED:g}s resume t"
    (short,), (long,) = simulate(pair(schedule, 50)).reconciliations, simulate(chain(schedule, 50)).reconciliations
    assert 0 < short < long < short + 0.3
