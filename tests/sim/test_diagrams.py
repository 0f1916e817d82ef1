"""A user's diagram under failures: on two nodes, and cut into fragments by a deployment."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime

import pytest

import auroral
from auroral.dpc.settings import WrongSettings
from auroral.model.builder import DiagramBuilder
from auroral.model.errors import DiagramError
from auroral.model.expression import functions
from auroral.sim import CannotBeSimulated, Tried, WrongSchedule, under_failures
from auroral.sim.diagrams import Trial
from auroral.sim.failing import random_faults
from auroral.sim.faults import with_their_ends
from auroral.sim.fragments import cut

ROWS = [{"ts": 500_000 * step, "n": step % 7} for step in range(40)]
AWAY = "at 4s silence west; at 10s resume west"


def chain() -> DiagramBuilder:
    """Two inputs, united, filtered and counted, each in a query of its own."""
    d = auroral.diagram("chain", bucket="500ms")
    east, west = (d.input(name, "ts long, n int", stime="ts", unit="us") for name in ("east", "west"))
    with d.query("unite"):
        both = east.union("both", west)
    with d.query("sieve"):
        some = both.filter("some", "n > 1")
    with d.query("count"):
        some.aggregate("counts", {"rows": "count()"}, window="2s").output(availability="3s")
    return d


def mesh() -> DiagramBuilder:
    """Two queries that a third reads; one of them the client reads as well."""
    d = auroral.diagram("mesh", bucket="500ms")
    east, west = (d.input(name, "ts long, n int", stime="ts", unit="us") for name in ("east", "west"))
    with d.query("left"):
        high = east.filter("high", "n > 2").output(availability="3s")
    with d.query("right"):
        low = west.filter("low", "n < 5")
    with d.query("join"):
        pairs = high.join("pairs", low, on="left.n = right.n", within="1s", columns={"n": "left.n"})
        pairs.output(availability="3s")
    return d


def deployed(*sets: tuple[str, str, str]) -> str:
    """Replica sets: name, queries and ports."""
    parts = []
    for name, queries, ports in sets:
        nodes = "".join(f'<node endpoint=":{port}"/>' for port in ports.split())
        parts.append(f'<replica_set name="{name}" query="{queries}">{nodes}</replica_set>')
    return f"<deploy>{''.join(parts)}</deploy>"


def test_runs_over_the_same_rows_can_be_compared_however_long_failures_take() -> None:
    """Also one without failures goes on until the last window of the rows is closed."""
    d = auroral.diagram("long", bucket="500ms")
    east = d.input("east", "ts long, n int", stime="ts", unit="us")
    east.aggregate("counts", {"rows": "count()"}, window="20s", advance="10s").output(availability="3s")
    rows = {"east": [{"ts": 500_000 * step, "n": 1} for step in range(80)]}
    calm, late = under_failures(d, rows), under_failures(d, rows, "at 35s silence east; at 45s resume east")
    assert [row["rows"] for row in calm.rows("counts")] == [20, 40, 40, 40, 20]
    assert late.ok and late.rows("counts") == calm.rows("counts")


CHAIN = deployed(("u", "unite", "1 2"), ("s", "sieve", "3 4"), ("w", "count", "5 6"))
MESH = deployed(("l", "left", "1 2"), ("r", "right", "3 4"), ("j", "join", "5 6 7"))


def tried(diagram: DiagramBuilder, failures: str, deployment: str | None = None) -> Tried:
    return under_failures(diagram, {"east": ROWS, "west": ROWS}, failures, deployment=deployment)


def in_the_end(one: Tried, stream: str) -> list[str]:
    return sorted(map(repr, one.rows(stream)))


def hosts(diagram: DiagramBuilder, deployment: str) -> tuple[str, ...]:
    return under_failures(diagram, {"east": ROWS[:1], "west": []}, deployment=deployment).outcome.scenario.hosts


@pytest.mark.slow
def test_a_user_chooses_what_is_done_while_something_fails():
    away, rows = "at 5s silence west; at 17s resume west", {"east": ROWS, "west": ROWS}
    usual, delaying, suspending, full = (
        under_failures(chain(), rows, away, **choices)
        for choices in (
            {},
            {"while_failing": "delay"},
            {"while_failing": "suspend", "while_correcting": "suspend"},
            {"keep": "5s"},
        )
    )
    assert all(found.ok for found in (usual, delaying, suspending, full)), full.violations
    assert not suspending.tentative
    # Each is held as long as the bound allows, so that the last of them are stable before.
    assert 0 < len(delaying.tentative) < len(usual.tentative)
    # No more than that is kept, so the other source takes nothing in either.
    assert 0 < len(full.tentative) < len(delaying.tentative)
    with pytest.raises(DiagramError, match="unknown policy 'wait'"):
        under_failures(chain(), rows, while_correcting="wait")


@pytest.mark.slow
def test_a_chain_of_three_fragments_gives_in_the_end_what_one_gives():
    one, many = tried(chain(), ""), tried(chain(), f"{AWAY}; at 6s crash sa; at 8s restart sa", CHAIN)
    assert many.violations == ()
    assert many.outcome.scenario.hosts == ("east", "west", "ua", "ub", "sa", "sb", "wa", "wb", "c")
    assert many.tentative and not one.tentative
    assert in_the_end(many, "counts") == in_the_end(one, "counts") != []


@pytest.mark.slow
def test_a_mesh_whose_middle_the_client_reads_too():
    one, many = (
        tried(mesh(), ""),
        tried(mesh(), "at 4s cut la; at 5s crash ra-rb; at 9s restart ra-rb; at 9s heal la", MESH),
    )
    assert many.violations == ()
    assert many.outcome.scenario.hosts[2:] == ("la", "lb", "ra", "rb", "ja", "jb", "jc", "c")
    for stream in ("high", "pairs"):
        assert in_the_end(many, stream) == in_the_end(one, stream) != []


@pytest.mark.slow
def test_a_node_in_two_replica_sets_is_one_host_and_takes_both_down():
    shared = deployed(("u", "unite", "1 2"), ("s", "sieve", "2 3"), ("w", "count", "1 3"))
    found = tried(chain(), "at 5s crash ub; at 9s restart ub", shared)
    assert found.violations == ()
    assert found.outcome.scenario.hosts == ("east", "west", "ua", "ub", "sb", "c")


def test_queries_of_one_replica_set_are_one_fragment_and_a_node_in_none_is_named_after_its_query():
    both = '<deploy><replica_set name="my-twins" query="unite SIEVE"><node endpoint="localhost:1"/><node endpoint=":2"/></replica_set>'
    assert hosts(chain(), both + '<node endpoint="127.0.0.1:7" query="count"/></deploy>')[2:] == (
        "my_twinsa",
        "my_twinsb",
        "counta",
        "c",
    )


def test_the_client_reads_what_the_deployment_subscribes_to():
    asked = CHAIN.replace("</deploy>", '<client><subscribe stream="both"/></client></deploy>')
    found = under_failures(chain(), {"east": ROWS[:4], "west": []}, deployment=asked)
    assert found.outcome.scenario.outputs == ("counts", "both")


def test_horizons_and_what_is_required_are_those_within_a_fragment():
    fragments, _ = cut(mesh().check())
    assert {one.stream: (one.reads, set(one.required)) for one in fragments[0].outputs} == {
        "high": ({"east": 1}, {frozenset({"east"})}),
        "pairs": ({"east": 5, "west": 5}, {frozenset({"east"}), frozenset({"west"})}),
    }


def wrong(match: str, error: type[Exception], deployment: str, diagram: DiagramBuilder | None = None) -> None:
    with pytest.raises(error, match=match):
        tried(diagram or chain(), "", deployment)


def test_a_deployment_that_does_not_fit_is_refused():
    wrong("unknown query 'sift'(.|\n)*allowed: unite, sieve, count", DiagramError, CHAIN.replace("sieve", "sift sieve"))
    wrong("query 'count' is on no node(.|\n)*replica set for each", DiagramError, CHAIN.replace("count", ""))
    wrong("query 'unite' is placed twice", DiagramError, CHAIN.replace('"sieve"', '"sieve unite"'))
    loop = deployed(("u", "unite count", "1 2"), ("s", "sieve", "3 4"))
    wrong("read from one another in a loop: (u reads from s|s reads from u)", CannotBeSimulated, loop)


def test_what_leads_nowhere_is_refused():
    d = chain()
    with d.query("lost"):
        d.input("north", "ts long, n int", stime="ts", unit="us").filter("nobody", "n > 1")
    wrong(
        "nothing of what is computed on 'x' comes to the client",
        CannotBeSimulated,
        CHAIN.replace("</deploy>", deployed(("x", "lost", "9"))[8:]),
        d,
    )
    assert "north" not in tried(d, "").outcome.scenario.hosts


def alone(name: str = "in") -> auroral.Stream:
    return auroral.diagram("d", bucket="500ms").input(name, "ts long, n int", stime="ts", unit="us")


def of_three(**wanted):
    d = auroral.diagram("d", bucket="500ms")
    first, *others = (d.input(name, "ts long, n int", stime="ts", unit="us") for name in ("a", "b", "d"))
    first.union("all", *others).output(availability="4s", **wanted)
    return d


@pytest.mark.parametrize(
    ("silent", "wanted", "answers"),
    [
        ("b", {}, True),
        ("b", {"at_least": 2}, True),
        ("b", {"at_least": 3}, False),
        ("b-d", {"at_least": 2}, False),
        ("b-d", {"at_least": 1}, True),
        ("b-d", {"at_least": 1, "of": ["b", "d"]}, False),
        ("b", {"at_least": 1, "of": ["b", "d"]}, True),
    ],
)
def test_an_answer_with_too_few_inputs_is_not_given(silent, wanted, answers):
    schedule = "; ".join(f"at 5s silence {name}; at 12s resume {name}" for name in silent.split("-"))
    found = under_failures(of_three(**wanted), dict.fromkeys("abd", ROWS), schedule)
    assert not found.violations and any(5 < answer.at < 12 for answer in found.tentative) is answers


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({"at_least": 4}, r"cannot need at least 4 of 3 inputs(.|\n)*allowed: 1 to 3"),
        ({"at_least": 0}, r"cannot need at least 0 of 3 inputs"),
        ({"at_least": 3, "of": ["a", "b"]}, r"cannot need at least 3 of 2 inputs"),
        ({"at_least": 1, "of": ["a", "west"]}, r"'all' is not computed from 'west'(.|\n)*of: a, b, d"),
        ({"of": ["a"]}, r"names inputs, but not how many(.|\n)*say at_least"),
        ({"at_least": "2"}, r"at_least='2' is no number of things(.|\n)*a whole number"),
        ({"at_least": 1, "of": "a"}, r"of='a' is not a list of inputs(.|\n)*write of=\['a'\]"),
    ],
)
def test_how_many_inputs_an_answer_needs_must_be_possible(wanted, told):
    with pytest.raises(auroral.DiagramError, match=told):
        of_three(**wanted).check()


@pytest.mark.parametrize("crash", ["na", "nb"])
def test_a_fold_goes_on_from_its_state_through_failures(crash):
    d = auroral.diagram("d", bucket="500ms")
    a, b = (d.input(name, "ts long, n int", stime="ts", unit="us") for name in ("a", "b"))
    totals = a.union("both", b).filter("some", "n > 0").running("totals", {"sum": "sum(n)"}, by=["n"])
    totals.output(availability="4s")
    rows = [{"ts": i * 250_000, "n": i % 3} for i in range(100)]
    schedule = f"at 5s silence b; at 11s resume b; at 15s crash {crash}; at 18s restart {crash}"
    found = under_failures(d, {"a": rows, "b": rows}, schedule)
    assert not found.violations and any(not answer.stable for answer in found.answers)
    last = {row["n"]: row["sum"] for answer in found.answers if answer.stable for row in answer.rows}
    assert last == {n: 2 * n * sum(row["n"] == n for row in rows) for n in (1, 2)}


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda s: s.filter("a", auroral.sql("n > 1", "bool")), "'a' cannot be simulated: it has an expression in SQL"),
        (lambda s: s.filter("a", "n > 1").output(availability="1s"), "too short(.|\n)*allowed: more than 2 s"),
    ],
)
def test_what_cannot_be_simulated_is_told(made, why):
    stream = alone()
    last = made(stream)
    if last is not stream and not stream.builder.build().outputs:
        last.output()
    with pytest.raises((CannotBeSimulated, WrongSettings), match=why):
        under_failures(stream.builder, {"in": ROWS})


def test_names_that_a_schedule_could_not_tell_apart_are_refused():
    for name in ("c", "na", "north-east"):
        stream = alone(name)
        stream.filter("some", "n > 1").output()
        with pytest.raises(CannotBeSimulated, match=f"input '{name}' cannot be named in a schedule"):
            under_failures(stream.builder, {name: ROWS})


def test_rows_far_apart_are_refused_before_they_fill_the_memory():
    with pytest.raises(CannotBeSimulated, match=r"take 3,\d+,\d+,\d+ buckets of 0.5 s(.|\n)*up to 20,000"):
        under_failures(chain(), {"east": [*ROWS, {"ts": 1_700_000_000_000_000, "n": 1}], "west": []})


def timed() -> DiagramBuilder:
    d = auroral.diagram("timed", bucket="1s")
    d.input("in", "ts timestamp, day date", stime="ts").filter("all", "true").output()
    return d


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"ts": "noon"}, r"row 1 of 'in' has 'noon' in 'ts', which is a timestamp\n.*2026-03-01T12:00:00Z"),
        ({"ts": NOON.date()}, r"row 1 of 'in' has datetime.date\(2026, 3, 1\) in 'ts'(.|\n)*allowed: a datetime"),
        ({"ts": NOON, "day": "today"}, r"'today' in 'day', which is a date\n    allowed: a date, a text as 2026-03-01"),
        ({"ts": NOON, "day": NOON}, r"row 1 of 'in' has datetime.datetime(.|\n)*in 'day', which is a date"),
        ({"day": NOON.date()}, r"row 1 of 'in' has no time in 'ts': None\n    allowed: a datetime"),
        ((NOON, NOON), r"row 1 of 'in' is \(datetime(.|\n)*allowed: a dict(.|\n)*fields: ts, day"),
    ],
)
def test_a_row_that_cannot_be_read_is_told(row, told):
    with pytest.raises(CannotBeSimulated, match=told):
        under_failures(timed(), {"in": [{"ts": NOON, "day": "2026-03-01"}, row]})


def test_wrong_use_is_told_and_not_passed_over():
    with pytest.raises(
        CannotBeSimulated, match=r"no rows of west\n.*each input that is read: east, west\n.*'west': \[\]"
    ):
        under_failures(chain(), {"east": ROWS})
    with pytest.raises(CannotBeSimulated, match="there are no rows\n"):
        under_failures(chain(), {"east": [], "west": []})
    with pytest.raises(
        CannotBeSimulated, match=r"'at 800s crash na' comes when all is over: rows end at 20 s(.|\n)*next: give"
    ):
        tried(chain(), "at 4s silence west; at 10s resume west; at 800s crash na; at 810s restart na")
    found = under_failures(chain(), {"east": ROWS[:4], "west": []}, "at 3s silence west; at 90s resume west")
    assert found.ok and found.rows("counts")
    with pytest.raises(
        DiagramError, match=r"unknown output 'count'\n    allowed: counts\n    next: did you mean 'counts'"
    ):
        found.rows("count")


def test_a_function_that_fails_is_the_users(monkeypatch):
    monkeypatch.setattr(functions, "_default", functions.default_functions())

    @auroral.function("int -> int")
    def third(n: int) -> int:
        return 3 // n

    stream = alone()
    stream.map("thirds", {"n": "third(n)"}).output()
    with pytest.raises(CannotBeSimulated, match=r"evaluating thirds stops with CallFailed(.|\n)*on_error='reject'"):
        under_failures(stream.builder, {"in": ROWS})


def test_a_schedule_for_other_hosts_lists_those_that_there_are():
    with pytest.raises(WrongSchedule, match="there is no na; there are c, east, sa, sb, ua, ub, wa, wb, west"):
        tried(chain(), "at 3s crash na", CHAIN)


def test_random_failures_of_few_hosts_end():
    """All that can happen to one source, one node and the client at once, for ten seconds."""
    stream = alone()
    stream.filter("some", "n > 1").output()
    calm = replace(Trial.of(stream.builder.check(), replicas=1).calm, seconds=40.0)
    for seed in range(50):
        assert with_their_ends(random_faults(random.Random(seed), calm))


@pytest.mark.parametrize("replicas", [0, 27])
def test_how_many_replicas_there_can_be(replicas):
    with pytest.raises(CannotBeSimulated, match="1 to 26"):
        under_failures(chain(), {"east": ROWS[:1], "west": []}, replicas=replicas)


@pytest.mark.slow
@pytest.mark.parametrize("failure", ["at 16s crash na-nb; at 18s restart na-nb", "at 8s open a; at 14s close a"])
def test_all_replicas_of_a_fold_come_back_and_an_input_that_closes_nothing(failure):
    d = auroral.diagram("totals", bucket="500ms")
    a, b = (d.input(name, "ts long, n int", stime="ts", unit="us") for name in "ab")
    a.union("both", b).running("totals", {"sum": "sum(n)"}, by=["n"]).output(availability="4s")
    rows = [{"ts": 250_000 * step, "n": step % 7} for step in range(200)]
    found = under_failures(d, {"a": rows, "b": rows}, failure)
    assert found.ok, found.violations
