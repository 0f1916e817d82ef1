"""Each guarantee holds in a run with failures, and is found broken in a trace of it in which it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import takewhile

import pytest

from auroral.dpc.coverage import AtLeast, Coverage, Level
from auroral.dpc.events import MoveTo, Report
from auroral.dpc.settings import Policy
from auroral.dpc.stagger import Stagger
from auroral.dpc.values import LOST, Content
from auroral.dpc.versions import Decision, Plan
from auroral.sim.faults import Fault
from auroral.sim.invariants import INVARIANTS, bounds, buffers_are_bounded
from auroral.sim.invariants.buffers import nothing_is_hoarded, only_what_has_no_room_is_lost
from auroral.sim.invariants.going import AsItGoes
from auroral.sim.invariants.replicas import nobody_falls_behind, one_is_read, turns_are_granted
from auroral.sim.invariants.stable import every_row_is_accounted_for, stable_is_right
from auroral.sim.network import SLOWER
from auroral.sim.seen import EVERY, Correction, Delivery, Dropped, Final, Moment, Planned, Run
from auroral.sim.simulate import judged, observed
from auroral.sim.stage import Stage
from auroral.sim.standin import content
from sim.scenarios import chain, pair

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run() -> Run:
    return observed(pair("at 10s silence t; at 17s resume t; at 19s crash ua; at 21s restart ua"))


LONG_JOBS = 1.6
"""The bound of 3 s has no room for two of them one after the other: the first node cannot answer while it corrects."""


@pytest.fixture(scope="module")
def taking_turns() -> Run:
    return observed(pair("at 10s silence t; at 21s resume t", job=LONG_JOBS))


def given(run: Run, change: Callable[[list[Delivery]], list[Delivery]]) -> Run:
    return replace(run, deliveries={"w.out": change(list(run.deliveries["w.out"]))})


def without_stable_from(bucket: int) -> Callable[[list[Delivery]], list[Delivery]]:
    return lambda all_: [one for one in all_ if one.bucket < bucket or not one.stable]


def with_tentative(run: Run, at: float, bucket: int) -> Run:
    added = Delivery(at, bucket, content((1,)), False)
    return given(run, lambda all_: sorted([*all_, added], key=lambda one: one.at))


def later(run: Run, kind: str, **fields: object) -> Run:
    """How all stood, changed in the last ten seconds before the input ends."""
    moments = [
        moment
        if not 26 < moment.at < 36
        else replace(moment, **{kind: {key: one._replace(**fields) for key, one in getattr(moment, kind).items()}})
        for moment in run.moments
    ]
    return replace(run, moments=moments)


def with_moments(run: Run, **fields: object) -> Run:
    """How all stood, changed in the last ten seconds before the input ends."""
    return replace(run, moments=[replace(m, **fields) if 26 < m.at < 36 else m for m in run.moments])


def changed(run: Run, name: str, **fields: object) -> Run:
    first, *rest = getattr(run, name)
    return replace(run, **{name: [first._replace(**fields), *rest]})


def set_otherwise(run: Run, **settings: object) -> Run:
    """As if it had been run with other settings."""
    scenario = replace(run.scenario, settings=replace(run.scenario.settings, **settings), faults=())
    return replace(run, stage=Stage(scenario))


def constrained(run: Run, constraint: AtLeast) -> Run:
    """As if it had been run with such a constraint, and nobody had kept it."""
    queries = tuple(replace(query, constraints=(constraint,)) for query in run.scenario.queries)
    return replace(run, stage=Stage(replace(run.scenario, queries=queries, faults=())))


def moving(run: Run, change: Callable[[Stage], None]) -> Run:
    """As if a replica had moved, and something had gone wrong at the end."""
    scenario = replace(run.scenario, faults=(Fault(10.0, "move", ("wa", "wz")),))
    stage = Stage(scenario)
    change(stage)
    return replace(run, stage=stage)


def made_final(run: Run, change: Callable[[Final], list[Final]]) -> Run:
    """With one bucket changed, of everything that replicas made stable."""
    finals = {
        key: [n for one in given for n in (change(one) if one.bucket == 9 else [one])]
        for key, given in run.finals.items()
    }
    return replace(run, finals=finals)


def made_from(one: Final, **view: Content) -> list[Final]:
    """As if this had been read of the bucket itself, or nothing."""
    assert one.made is not None and one.made.job is not None
    job = one.made.job
    read = {name: {b: c for b, c in contents.items() if b != one.bucket} for name, contents in job.view.items()}
    for name in read.keys() & view.keys():
        read[name][one.bucket] = view[name]
    return [one._replace(made=replace(one.made, job=replace(job, view=read)))]


def another(one: Final, **fields: object) -> list[Final]:
    assert one.made is not None
    return [one._replace(made=replace(one.made, **fields))]


def limited(run: Run, **fields: object) -> Run:
    """As if no more than 40 buckets had been kept; a bucket takes half a second."""
    return replace(set_otherwise(run, most_kept=40), **fields)


def lost_at(at: float) -> Final:
    return Final(at, 50, LOST, None)


def corrected(run: Run, **fields: frozenset[str]) -> Run:
    """As if a replica had done so that cannot stay fresh."""
    return replace(run, corrections=[Correction(34.0, 35.0, "u@ua", False)._replace(**fields)])


def decided(stage: Stage, starts: tuple[int, ...]) -> None:
    stage.changes += ["u"] * (len(starts) - 1)
    stage.layout = replace(stage.layout, versions={"u": Decision(starts)})


BROKEN: dict[str, list[Callable[[Run], Run]]] = {
    "stable_in_order": [
        lambda run: given(run, lambda all_: [all_[1], all_[0], *all_[2:]]),
        lambda run: given(run, lambda all_: [all_[0], *all_]),
        lambda run: given(run, lambda all_: all_[1:]),
        lambda run: with_tentative(run, 30.0, 5),
    ],
    "stable_is_right": [lambda run: given(run, lambda all_: [all_[0]._replace(content=content((1,))), *all_[1:]])],
    "tentative_is_corrected": [lambda run: given(run, without_stable_from(22))],
    "all_is_corrected": [lambda run: given(run, without_stable_from(71)), lambda run: given(run, lambda _: [])],
    "every_row_is_accounted_for": [
        lambda run: made_final(run, lambda one: []),
        lambda run: made_final(run, lambda one: [one, one]),
        lambda run: made_final(run, lambda one: [one._replace(made=None)]),
        lambda run: made_final(run, lambda one: another(one, bucket=8)),
        lambda run: made_final(run, lambda one: another(one, by="x@xa")),
        lambda run: made_final(run, made_from),
        lambda run: made_final(run, lambda one: made_from(one, s=content((1,)), **{"u.out": content((1,))})),
        lambda run: replace(run, finals={key: given[:-1] for key, given in run.finals.items()}),
    ],
    "one_owner": [
        lambda run: made_final(run, lambda one: [one._replace(owned=False)]),
        lambda run: moving(run, lambda stage: decided(stage, (0, 9))),
    ],
    "only_what_has_no_room_is_lost": [
        lambda run: limited(run, dropped=[Dropped(30.0, "u@ua", "u.out", 11, 50)]),
        # What w makes of three buckets is lost with the first of them.
        lambda run: limited(run, finals={("w@wa", 1, "w.out"): [lost_at((50 + 40 - 5) * 0.5)]}),
        lambda run: limited(run, deliveries={"w.out": [Delivery((50 + 40 - 5) * 0.5, 50, LOST, True)]}),
        lambda run: limited(run, deliveries={"w.out": [Delivery(300.0, 72, LOST, True)]}, finals={}),
        lambda run: limited(run, pauses=[(20.0, "s@s", 39)]),
    ],
    "nothing_is_lost_unless_so_set": [lambda run: replace(run, reports=[(12.0, "client", Report("gap", "w.out", 3))])],
    "replicas_agree": [
        lambda run: replace(run, reports=[(12.0, "u@ua", Report("diverged", "u.out", detail="u@ua and u@ub"))])
    ],
    "tuples_are_right": [
        lambda run: given(run, lambda all_: all_[1:]),
        lambda run: given(run, without_stable_from(22)),
        lambda run: given(run, lambda all_: [all_[0]._replace(content=content((1,))), *all_[1:]]),
    ],
    "views_are_right": [lambda run: replace(run, wrong_views=[(12.0, "u@ua", "s", 3)])],
    "tentative_is_right": [lambda run: changed(run, "given", gaps=None)],
    "coverage_is_right": [
        lambda run: changed(run, "given", coverage=Coverage.of(["s", "t"], 20, Level.COMPLETE)),
        lambda run: changed(run, "given", coverage=Coverage.of(["t"], run.given[0].bucket, Level.MISSING)),
    ],
    "constraints_hold": [
        lambda run: constrained(run, AtLeast(2, frozenset("st"))),
        lambda run: constrained(run, AtLeast(2, frozenset("st"), Level.COMPLETE)),
    ],
    "no_guesses_unless_so_set": [
        lambda run: set_otherwise(run, bound=float("inf")),
        lambda run: set_otherwise(run, while_failing=Policy.SUSPEND, while_correcting=Policy.SUSPEND),
    ],
    "within_the_bound": [
        lambda run: given(run, lambda all_: [one._replace(at=one.at + 3.1 * (one.bucket > 60)) for one in all_])
    ],
    "soon_without_failures": [lambda run: replace(run, usual={"w.out": 0.5})],
    "every_bucket_comes": [lambda run: given(run, lambda all_: [one for one in all_ if one.bucket != 62])],
    "first_suspends": [lambda run: with_tentative(run, 11.0, 19)],
    "stable_where_it_can_be": [lambda run: with_tentative(run, 35.2, 69)],
    "stable_in_time": [lambda run: given(run, without_stable_from(55))],
    "nobody_falls_behind": [lambda run: later(later(run, "ports", frontier=40), "outlets", kept_from=40)],
    "mute_until_right": [
        lambda run: changed(run, "spoke", frontier=run.spoke[0].expected - 2),
        lambda run: changed(run, "spoke", kept_from=run.spoke[0].asked_for + 1),
    ],
    "turns_are_granted": [
        lambda run: replace(run, wrong_grants=[(12.0, "u@ua", "u@ub")]),
        lambda run: corrected(run, promises=frozenset({"u@ub"}), promised_by=frozenset({"u@ub"})),
        corrected,
    ],
    "one_is_read": [lambda run: with_moments(run, unread=frozenset({("u@ua", "u.out"), ("u@ub", "u.out")}))],
    "turns_come": [lambda run: with_moments(run, waiting=frozenset({"u@ua"}))],
    "moves_end": [
        lambda run: moving(run, lambda stage: stage.moves.append(MoveTo("u", "u@ua", "u@uz"))),
        lambda run: moving(
            run, lambda stage: setattr(stage, "layout", replace(stage.layout, moving="u", after=("u@uz",)))
        ),
        lambda run: moving(run, lambda stage: stage.world.end("u@ua")),
        lambda run: moving(run, lambda stage: setattr(stage.world.cores["client"].ports["w.out"], "producers", ())),
        lambda run: moving(run, lambda stage: setattr(stage.world.cores["s@s"].outlet, "readers_expected", ())),
    ],
    "changes_hold": [
        lambda run: moving(run, lambda stage: stage.changes.append("u")),
        lambda run: moving(run, lambda stage: decided(stage, (0, 0))),
        lambda run: moving(run, lambda stage: decided(stage, (0, 20))),
        lambda run: moving(run, lambda stage: setattr(stage.world.cores["u@ua"].versions, "plan", Plan(promised=99))),
    ],
    "promises_hold": [
        lambda run: made_final(run, lambda one: [one._replace(limit=9)]),
        lambda run: replace(run, plans=[Planned(12.0, "u@ua", Plan(promised=30, attempt=1), Plan((0, 29), None, 1))]),
    ],
    "what_is_asked_for_is_kept": [
        lambda run: replace(run, reports=[(12.0, "u@ua", Report("asked for what is not kept", "u.out"))])
    ],
    "nothing_is_hoarded": [
        lambda run: later(run, "outlets", kept_from=3),
        lambda run: later(run, "ports", lowest=3),
    ],
    "buffers_are_bounded": [
        lambda run: later(set_otherwise(run, most_kept=40), "outlets", kept=41),
        lambda run: later(set_otherwise(run, most_kept=40), "ports", held=43, window=2),
        lambda run: later(set_otherwise(run, most_kept=40), "ports", guessed=41),
    ],
}


def test_every_invariant_is_tried():
    assert {check.__name__ for check in INVARIANTS} == {*BROKEN, "one_keeps_answering"}


@pytest.mark.parametrize("check", INVARIANTS, ids=lambda check: check.__name__)
def test_it_holds(run, taking_turns, check):
    assert list(check(run)) == [] and list(check(taking_turns)) == []


def test_the_run_has_what_is_judged(run, taking_turns):
    """Nothing holds for want of anything to look at."""
    assert run.given and run.spoke and run.moments and run.finals
    assert sum(not one.fresh for one in taking_turns.corrections) == 2, "one replica after the other"
    assert all(one.promised_by and not one.promises for one in taking_turns.corrections if not one.fresh)
    assert {one.stable for one in run.deliveries["w.out"]} == {True, False}
    assert {tree.stable_since is None for tree in run.trees["w.out"]} == {True, False}


@pytest.mark.parametrize(
    ("name", "number"), [(name, number) for name, changes in BROKEN.items() for number in range(len(changes))]
)
def test_it_is_found_broken(run, name, number):
    (check,) = (check for check in INVARIANTS if check.__name__ == name)
    assert list(check(BROKEN[name][number](run)))


def test_a_buffer_that_is_just_full_is_not_found(run):
    limited = set_otherwise(run, most_kept=40)
    for full in (later(limited, "outlets", kept=40), later(limited, "ports", held=42, guessed=40, window=2)):
        assert not list(buffers_are_bounded(full))


def test_what_has_no_room_may_be_lost(run):
    found = limited(
        run,
        dropped=[Dropped(30.0, "u@ua", "u.out", 10, 50)],
        finals={("w@wa", 1, "w.out"): [lost_at((50 + 40 - 4) * 0.5)]},
        pauses=[(20.0, "s@s", 40)],
    )
    assert not list(only_what_has_no_room_is_lost(found))


def test_who_has_only_given_up_something_may_begin_again_further_on(run):
    """Where the input begins that it waited for: seed 61068."""
    (_, made) = ends = [run.finals["w@wa", 1, "w.out"][at] for at in (0, 9)]
    assert [one.bucket for one in ends] == [0, 9]
    given_up = replace(run, finals={("w@wa", 99, "w.out"): [lost_at(4.0)._replace(bucket=3), made]})
    assert not list(every_row_is_accounted_for(given_up))
    assert list(every_row_is_accounted_for(replace(run, finals={("w@wa", 99, "w.out"): ends})))


def test_who_reaches_nobody_that_keeps_what_it_needs_has_not_fallen_behind(run):
    assert not list(nobody_falls_behind(later(later(run, "ports", frontier=40), "outlets", kept_from=41)))


def test_who_has_only_just_come_to_read_it_has_not_fallen_behind(run):
    """By another version, which it heard of late: seed 51181."""
    behind = later(later(run, "ports", frontier=40), "outlets", kept_from=40)
    assert list(nobody_falls_behind(behind))
    new = [replace(m, ports={}) if m.at < 35 else m for m in behind.moments]
    assert not list(nobody_falls_behind(replace(behind, moments=new)))


def test_what_a_reader_needed_that_is_none_any_more_is_not_hoarded(run):
    """Until that is heard of."""

    def gone(moment: Moment, **fields: object) -> Moment:
        return replace(moment, outlets={key: one._replace(**fields) for key, one in moment.outlets.items()})

    hoarding = replace(run, moments=[gone(m, kept_from=3) if 30 < m.at < 31.5 else m for m in run.moments])
    assert list(nothing_is_hoarded(hoarding))
    others = [gone(m, readers=("x@xa",)) if m.at <= 30 else m for m in hoarding.moments]
    assert not list(nothing_is_hoarded(replace(run, moments=others)))


def test_what_a_change_asks_for_and_was_not_forgotten_yet_is_not_hoarded(run):
    """Two seconds before, the replica that hears of a longer window needed it no more."""
    assert not list(nothing_is_hoarded(later(run, "ports", lowest=3, needed=3)))
    assert list(nothing_is_hoarded(later(run, "ports", lowest=3, needed=4)))


def test_replicas_that_all_correct_at_once_are_found(taking_turns):
    (check,) = (check for check in INVARIANTS if check.__name__ == "one_keeps_answering")
    both = [Correction(20.0, 21.0, "w@wa", False), Correction(20.5, 21.5, "w@wb", False)]
    assert list(check(replace(taking_turns, corrections=both)))
    after_each_other = [Correction(20.0, 20.4, "w@wa", False), Correction(20.5, 21.5, "w@wb", False)]
    assert not list(check(replace(taking_turns, corrections=after_each_other)))


def test_who_has_a_turn_or_is_alone_may_correct_and_one_of_two_may_say_so(run):
    granted = corrected(run, promised_by=frozenset({"u@ub"}))
    alone = with_moments(corrected(run), links={})
    assert not [found for each in (granted, alone) for found in turns_are_granted(each)]
    assert not list(one_is_read(with_moments(run, unread=frozenset({("u@ua", "u.out"), ("u@ub", "x.out")}))))
    assert not list(one_is_read(with_moments(run, unread=frozenset({("u@ua", "u.out"), ("u@ub", "u.out")}), links={})))


def all_at_once(self: Stagger, now: float, reached: object) -> bool:
    return True


def never_ends(self: Stagger, sender: str) -> None:
    self.promised[sender] = float("inf")


@pytest.mark.parametrize(
    ("method", "instead", "broken"),
    [("may_correct", all_at_once, "turns_are_granted"), ("release", never_ends, "all_is_corrected")],
)
def test_turns_that_are_not_kept_are_found(monkeypatch, method, instead, broken):
    monkeypatch.setattr(Stagger, method, instead)
    run = observed(pair("at 10s silence t; at 21s resume t", job=LONG_JOBS))
    assert broken in [check.__name__ for check in INVARIANTS if list(check(run))]


def test_a_run_ends_where_a_guarantee_is_found_broken(monkeypatch):
    monkeypatch.setattr(Stagger, "may_correct", all_at_once)
    run = observed(pair("at 10s silence t; at 21s resume t", job=LONG_JOBS))
    (words,) = run.broken
    begin = max(one.begin for one in run.corrections)
    assert words == f"turns_are_granted: u@ua corrects at {begin:.2f} s, and nobody has promised not to"
    assert begin <= run.now <= begin + EVERY and judged(run).violations == (words,)


def test_what_is_not_right_by_a_version_that_is_decided_later_is_found(run):
    run = replace(run)
    judging = stable_is_right.begin(run)
    assert next(judging) is None and next(judging) is None
    run.expected = run.expected | {"w.out": [content((1,)), *run.expected["w.out"][1:]]}
    assert str(next(judging)).startswith("w.out: bucket 0, stable at ")


GOING = [check for check in INVARIANTS if isinstance(check, AsItGoes)]


@pytest.mark.parametrize("check", GOING, ids=lambda check: check.__name__)
def test_what_is_judged_as_it_goes_is_said_once(run, check):
    for change in BROKEN.get(check.__name__, []):
        broken = change(run)
        judging = check.begin(broken)
        assert list(takewhile(lambda words: words is not None, judging)) == list(check(broken))
        assert next(judging, None) is None


def _most(schedule: str, due: float) -> float:
    """How late a bucket of the chain may be that is due then, where something happened."""
    scenario = chain(schedule)
    run = Run(Stage(scenario), {}, {})
    return bounds._most(run, "w.out")(due, True)


@pytest.mark.parametrize(
    ("due", "slower"),
    # X is 3 s; half of the hundred times that are remembered are 25 s.
    [(6.9, 0), (7.1, 2), (15.0, 2), (21.9, 2), (22.1, 3), (39.9, 3), (40.1, 2), (54.9, 2), (55.1, 0)],
)
def test_a_slow_link_excuses_what_is_behind_it_and_for_as_long_as_it_tells(due, slower):
    slow = "at 10s slow ua-fb; at 15s quicken ua-fb; at 25s slow wa-c; at 30s quicken wa-c"
    assert _most(slow, due) == pytest.approx(3 + slower * SLOWER)


def test_a_slow_link_that_nothing_comes_over_excuses_nothing():
    assert _most("at 10s slow ua-ub; at 15s quicken ua-ub; at 10s slow wa-wb; at 15s quicken wa-wb", 12.0) == 3
