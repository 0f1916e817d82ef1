"""A deployment of real processes: it answers tentatively while an input is away, and is right in the end, whatever is killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

import auroral
from auroral.cli import main
from auroral.model.builder import DiagramBuilder
from auroral.node.fleet.control import NoAnswer, alive
from auroral.node.fleet.deployed import DeploymentError
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import Fleet
from auroral.node.verify import verify_folder
from fleet.deployments import Feeds, all_is_stable, client, fleet_in, free_in_a_row, frontier, until, watch

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Fleet]:
    fleet = Fleet(prepare(tmp_path / "live", watch().check()))
    try:
        yield fleet.up(lambda _: None)
    finally:
        fleet.down(lambda _: None)


def test_an_input_away_and_processes_killed(running: Fleet, spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    folder = running.deployed.folder
    with closing(Feeds(running)):
        until(lambda: frontier(running) > 6)
        assert main(["status", "--folder", str(folder)]) == 0
        assert "STABLE" in capsys.readouterr().out
        # An input falls silent: answers go on, tentatively.
        assert main(["pause", "east", "--folder", str(folder)]) == 0
        until(lambda: client(running)["counts"]["tentative"] > 3)
        assert main(["why", "sums", "--folder", str(folder)]) == 0
        assert "east misses bucket" in capsys.readouterr().out
        assert main(["resume", "east", "--folder", str(folder)]) == 0
        until(lambda: client(running)["streams"]["sums"]["tentative_now"] == 0)
        assert client(running)["counts"]["corrected"] > 0
        # A node, a source and the client are killed, each while the others go on, and started again.
        for victim in ("na", "west", "client"):
            assert main(["kill", victim, "--folder", str(folder)]) == 0
            assert running.status()[victim] is None
            running.up(lambda _: None)
            before = until(lambda: frontier(running))
            until(lambda before=before: frontier(running) > before + 4)
        prometheus_can_ask(running)
        assert main(["tail", "sums", "--once", "--folder", str(folder)]) == 0
        assert "stable" in capsys.readouterr().out
    sent = running.status()["east"]
    assert sent is not None and sent["rows"] > 0
    all_is_stable(running)
    pids = [running.pid(name) for name in running.deployed.processes]
    assert main(["down", "--folder", str(folder)]) == 0
    assert not any(map(alive, pids)), "a process was left behind"
    report = verify_folder(spark, folder)
    assert report.ok, report.text
    assert main(["events", "--folder", str(folder)]) == 0
    told = capsys.readouterr().out
    assert "state UP_FAILURE" in told and "state STABLE" in told and "paused" in told


def prometheus_can_ask(fleet: Fleet) -> None:
    """Of all processes, as soon as that is wanted; after kills and failures it tells of them."""
    where = f"127.0.0.1:{free_in_a_row(len(fleet.deployed.processes))}"
    assert main(["up", "--folder", str(fleet.deployed.folder), "--metrics", where]) == 0

    def listening() -> dict[str, str] | None:
        said = {name: (one or {}).get("metrics") for name, one in fleet_in(fleet.deployed.folder).status().items()}
        return {name: str(where) for name, where in said.items()} if all(said.values()) else None

    # They were told to; each says where it listens as soon as it does.
    addresses = until(listening)

    def told(name: str) -> dict[str, dict[tuple[str, ...], float]]:
        try:
            with urlopen(addresses[name], timeout=10) as answer:
                families = list(text_string_to_metric_families(answer.read().decode()))
        except OSError:
            return {}
        samples = [sample for family in families for sample in family.samples]
        assert all(sample.labels["process"] == name for sample in samples)
        return {
            one.name: {tuple(s.labels.values())[1:]: s.value for s in samples if s.name == one.name} for one in samples
        }

    found = {name: until(lambda name=name: told(name)) for name in fleet.deployed.processes}
    assert set(found["spark"]["auroral_memory_bytes"]) == {("python",), ("jvm",)}
    assert found["spark"]["auroral_jvm_threads"][()] > 5
    assert found["east"]["auroral_source_state"]["east", "open"] == 1
    assert found["east"]["auroral_source_rows_total"]["east",] > 100
    assert found["catalog"]["auroral_reconfiguring"] == {("move",): 0, ("change",): 0}
    node = until(lambda: (said := told("na")).get("auroral_job_seconds_count") and said)
    assert sum(node["auroral_output_state"].values()) == 1
    assert node["auroral_output_state_seconds_total"]["n", "sums", "STABLE"] > 0
    client = until(lambda: (said := told("client")).get("auroral_latency_seconds_count") and said)
    assert client["auroral_bound_seconds"] == {("sums",): 8.0}
    assert client["auroral_delivered_buckets_total"]["sums", "stable"] > 3
    assert client["auroral_behind_seconds"]["sums",] < 60
    assert main(["up", "--folder", str(fleet.deployed.folder), "--metrics", "off"]) == 0
    until(lambda: told("nb") == {})


def test_cut_off_and_healed(running: Fleet, spark: Any) -> None:
    """From one replica's view only, and one way only: what the other has is read."""
    with closing(Feeds(running)):
        until(lambda: frontier(running) > 4)
        running.cut("west", "na")
        running.cut("nb", "client", both=False)
        began = frontier(running)
        until(lambda: frontier(running) > began + 4 or client(running)["counts"]["tentative"] > 4)
        running.heal("west", "na")
        running.heal("nb", "client")
        before = frontier(running)
        until(lambda: frontier(running) > before + 4 and not client(running)["streams"]["sums"]["tentative_now"])
    running.down(lambda _: None)
    report = verify_folder(spark, running.deployed.folder)
    assert report.ok, report.text


# What cannot be


@pytest.mark.parametrize(
    ("diagram", "bound", "least"), [("watch", 1.0, "2 s"), ("watch", 1.9, "2 s"), ("recorded", 3.9, "4 s")]
)
def test_a_bound_that_cannot_be_kept_is_refused_before_anything_is_made(
    diagram: str, bound: float, least: str, tmp_path: Path
) -> None:
    made = {"watch": watch, "recorded": recorded}[diagram]().check()
    with pytest.raises(
        DeploymentError, match=rf"the bound of {bound:g} s is too short(.|\n)*allowed: at least {least}"
    ):
        prepare(tmp_path / "live", made, bound=bound)
    assert not (tmp_path / "live").exists()
    prepare(tmp_path / "live", made, bound=float(least.split()[0]))


def test_a_bound_must_leave_time_for_each_query_on_the_longest_way_and_a_failover(tmp_path: Path) -> None:
    d = auroral.diagram("three", bucket="500ms")
    with d.query("first"):
        high = d.input("east", "n int").filter("high", "n > 2")
    queries = ["first"]
    for number in range(4):
        queries.append(f"q{number}")
        with d.query(queries[-1]):
            high = high.filter(f"step{number}", "n > 5")
    high.output()
    with d.query("beside"):
        d.input("west", "n int").filter("others", "n > 5").output()
    nodes = "".join(f'<node endpoint=":{16990 + n}" query="{q}"/>' for n, q in enumerate((*queries, "beside")))
    deploy = f"<deploy>{nodes}</deploy>"
    with pytest.raises(DeploymentError, match=r"each of the 5 queries(.|\n)*0\.54 s if another(.|\n)*at least 2\.1 s"):
        prepare(tmp_path / "live", d.check(), deploy, bound=2.0)
    assert prepare(tmp_path / "live", d.check(), deploy, bound=2.1).fragments.depth == 5


@pytest.mark.parametrize("name", ["a/b", "..", "x" * 101])
def test_a_name_that_no_file_can_have_is_refused(name: str, tmp_path: Path) -> None:
    d = auroral.diagram("odd", bucket="1s")
    d.input(name, "n int").filter("high", "n > 2").output()
    with pytest.raises(DeploymentError, match="no process can have the name"):
        prepare(tmp_path / "live", d.check())


@pytest.mark.parametrize("address", ["cat.db", "postgresql://me:secret@host/db"])
def test_a_catalog_is_in_the_folder_or_in_postgresql(address: str, tmp_path: Path) -> None:
    with pytest.raises(
        DeploymentError, match=r"a catalog cannot be at(.|\n)*allowed: postgresql://USER@HOST"
    ) as refused:
        prepare(tmp_path / "live", watch().check(), catalog=address)
    assert "secret" not in str(refused.value)


def test_each_output_has_its_own_bound_and_what_leads_to_it_the_lowest(tmp_path: Path) -> None:
    d = auroral.diagram("two", bucket="500ms")
    with d.query("first"):
        high = d.input("east", "n int").filter("high", "n > 2")
    with d.query("second"):
        high.filter("higher", "n > 5").output(availability="4s")
    with d.query("third"):
        high.filter("highest", "n > 7").output(availability="9s")
        high.filter("some", "n < 7").output()
    nodes = "".join(f'<node endpoint=":{16990 + n}" query="{q}"/>' for n, q in enumerate(("first", "second", "third")))
    assembly = prepare(tmp_path / "live", d.check(), f"<deploy>{nodes}</deploy>").assembly
    bounds = {stream: assembly.bound(stream) for stream in ("high", "higher", "highest", "some")}
    assert bounds == {"high": 4.0, "higher": 4.0, "highest": 9.0, "some": float("inf")}
    replica = assembly.replica("third@thirda", assembly.layout, False)
    assert {stream: union.settings.bound for stream, union in replica.unions.items()} == {
        "highest": 9.0,
        "some": float("inf"),
    }
    assert prepare(tmp_path / "all", d.check(), f"<deploy>{nodes}</deploy>", bound=5.0).assembly.bound("some") == 5.0


def test_an_input_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match=r"there is no input 'north'(.|\n)*allowed: east, west"):
        prepare(tmp_path / "live", watch().check(), inputs={"north": "tcp:"})


def recorded() -> DiagramBuilder:
    d = auroral.diagram("recorded", bucket="1s")
    east, west = (d.input(name, "ts long, n int", stime="ts", unit="s") for name in ("east", "west"))
    east.union("both", west).filter("high", "n > 2").output(availability="8s")
    return d


def test_what_was_recorded_begins_with_its_first_row(tmp_path: Path) -> None:
    (tmp_path / "east.csv").write_text("ts,n\n1000,1\n1001,5\n")
    (tmp_path / "west.csv").write_text("ts,n\n990,4\n1003,2\n")
    files = {name: f"{tmp_path / name}.csv@1x" for name in ("east", "west")}
    assert prepare(tmp_path / "live", recorded().check(), inputs=files).agreed.origin == 990
    assert prepare(tmp_path / "lines", recorded().check()).agreed.origin is None
    d = recorded()
    d.input("live", "n int").filter("low", "n < 2").output()
    with pytest.raises(DeploymentError, match=r"'live' is stamped by the clock, and others are files"):
        prepare(tmp_path / "mixed", d.check(), inputs=files)


def test_only_outputs_can_be_subscribed_to(tmp_path: Path) -> None:
    text = '<deploy><node endpoint=":16999" query="watch"/><client><subscribe stream="high"/></client></deploy>'
    with pytest.raises(DeploymentError, match=r"subscribes to 'high', which is no output(.|\n)*allowed: sums"):
        prepare(tmp_path / "live", watch().check(), text)


def test_names_that_are_not_there(tmp_path: Path) -> None:
    fleet = Fleet(prepare(tmp_path / "live", watch().check()))
    with pytest.raises(
        DeploymentError, match=r"there is no 'nx'(.|\n)*allowed: spark, catalog, east, west, na, nb, client"
    ):
        fleet.cut("na", "nx")
    with pytest.raises(NoAnswer, match="na is not running"):
        fleet.kill("na")
    with pytest.raises(DeploymentError, match="na cannot be cut off from itself"):
        fleet.cut("na", "na")
    with pytest.raises(DeploymentError, match="has a run already"):
        prepare(tmp_path / "live", watch().check())


@pytest.mark.parametrize(
    "command", [("status",), ("down",), ("kill", "na"), ("cut", "a", "b"), ("why", "s"), ("events",)]
)
def test_a_folder_without_a_deployment(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--folder", str(tmp_path)]) == 1
    assert "has no deployment" in capsys.readouterr().err
