"""Nodes on another machine: a folder of its own, and an address of its own."""

from __future__ import annotations

import json
import stat
import subprocess
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import auroral
from auroral.cli import main
from auroral.model.builder import DiagramBuilder
from auroral.node.fleet.control import NoAnswer
from auroral.node.fleet.deployed import Deployed, DeploymentError
from auroral.node.fleet.eventlog import events_in
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import Fleet, free_ports
from auroral.node.storeddiagram import load_diagram
from auroral.node.verify import verify_folder
from fleet.deployments import Feeds, client, closed, frontier, until

HERE, THERE = "127.0.0.1", "127.0.0.2"


def watch() -> DiagramBuilder:
    d = auroral.diagram("watch", bucket="500ms")
    east, west = (d.input(name, "host string, n int") for name in ("east", "west"))
    with d.query("clean"):
        high = east.union("both", west).filter("high", "n > 2")
    with d.query("count"):
        sums = {"rows": "count()", "total": "sum(n)"}
        high.aggregate("sums", sums, window="2s", advance="500ms", by=["host"]).output(availability="12s")
    return d


def two_machines() -> str:
    """One replica of the first query on each, and the second query on the other machine alone."""
    ports = free_ports(3, THERE)
    return json.dumps(
        {
            "replica_sets": [
                {"name": "clean", "queries": "clean", "nodes": [f"{HERE}:{ports[0]}", f"{THERE}:{ports[1]}"]}
            ],
            "nodes": [{"endpoint": f"{THERE}:{ports[2]}", "queries": "count"}],
        }
    )


def unpacked(file: Path, folder: Path) -> Fleet:
    folder.mkdir()
    subprocess.run(["tar", "-xzf", str(file), "-C", str(folder)], check=True)
    return Fleet(Deployed.look(folder, load_diagram(folder)))


@pytest.mark.spark
@pytest.mark.slow
def test_two_folders_of_one_deployment(tmp_path: Path, spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The other machine begins later, is killed, stands alone, and is right all the time."""
    folder, there_folder = tmp_path / "here", tmp_path / "there"
    here = Fleet(prepare(folder, watch().check(), two_machines(), tls=True, host=HERE))
    there: Fleet | None = None
    try:
        here = here.up(lambda _: None)
        assert list(here.status()) == ["spark", "catalog", "east", "west", "cleana", "client"]
        with closing(Feeds(here)):
            until(lambda: (here.status()["east"] or {})["closed"] > 10)
            assert frontier(here) == 0, "nobody computes the output yet"
            assert main(["pack", "cleanb", "counta", "--folder", str(folder), "--out", str(tmp_path / "b.tgz")]) == 0
            there = unpacked(tmp_path / "b.tgz", there_folder)
            there = there.up(lambda _: None)
            assert list(there.status()) == ["spark", "cleanb", "counta"]
            # From the first bucket on, which was long before.
            until(lambda: frontier(here) > 10)
            capsys.readouterr()
            assert main(["status", "--folder", str(there_folder)]) == 0
            assert f"at {here.deployed.agreed.endpoints['east']}" in capsys.readouterr().out
            assert main(["kill", "cleanb", "--folder", str(folder)]) == 1
            assert f"cleanb runs at {THERE}:" in capsys.readouterr().err
            there.kill("cleanb")
            goes_on(here)
            there.up(lambda _: None)
            # Cut off on one side alone, by whoever is here.
            assert main(["cut", "cleana", "counta", "--folder", str(folder)]) == 0
            assert f"counta runs at {THERE}:" in capsys.readouterr().out
            goes_on(here)
            assert main(["heal", "cleana", "counta", "--folder", str(folder)]) == 0
            # All of the other machine goes, and comes back.
            there.down(lambda _: None)
            there.up(lambda _: None)
            goes_on(here)
            until(lambda: not client(here)["streams"]["sums"]["tentative_now"])
        last = closed(here)
        until(lambda: frontier(here) >= last)
    finally:
        for fleet in (here, *([] if there is None else [there])):
            fleet.down(lambda _: None)
    assert not [e for e in events_in(folder) + events_in(there_folder) if e["event"] == "state lost"]
    report = verify_folder(spark, folder)
    assert report.ok, report.text
    with pytest.raises(DeploymentError, match=f"whose sources and client are at {HERE}"):
        verify_folder(spark, there_folder)


def goes_on(fleet: Fleet) -> None:
    before = frontier(fleet)
    until(lambda: frontier(fleet) > before + 4)


# What is packed, and what cannot be


def test_a_pack_has_what_its_nodes_need_and_no_key_of_others(tmp_path: Path) -> None:
    made = prepare(tmp_path / "live", watch().check(), two_machines(), tls=True, host=HERE)
    assert made.here == ("spark", "catalog", "east", "west", "cleana", "client") and made.elsewhere == (
        "cleanb",
        "counta",
    )
    packing = ["pack", "counta", "--folder", str(tmp_path / "live"), "--out", str(tmp_path / "b.tgz")]
    assert main(packing) == 1
    assert not (tmp_path / "b.tgz").exists()
    begun = made.begin(1000)
    assert main(packing) == 0
    assert stat.S_IMODE((tmp_path / "b.tgz").stat().st_mode) == 0o600
    with tarfile.open(tmp_path / "b.tgz") as packed:
        keys = {name for name in packed.getnames() if name.endswith("key.pem")}
    assert keys == {"tls/counta/key.pem", "tls/spark/key.pem"}
    fleet = unpacked(tmp_path / "b.tgz", tmp_path / "there")
    assert fleet.deployed.here == ("spark", "counta")
    assert fleet.deployed.agreed == begun.agreed and fleet.deployed.first == 1000
    assert stat.S_IMODE((tmp_path / "there" / "tls" / "counta" / "key.pem").stat().st_mode) == 0o600
    assert main(packing) == 1, "a file that is there is left alone"
    with pytest.raises(DeploymentError, match="east runs at"):
        fleet.ask("east", "pause")
    with pytest.raises(DeploymentError, match="east runs at"):
        fleet.cut("east", "west")
    with pytest.raises(NoAnswer, match="counta is not running"):
        fleet.cut("counta", "west")


def test_a_node_with_a_spark_of_its_own_needs_no_other(tmp_path: Path) -> None:
    made = prepare(tmp_path / "live", watch().check(), two_machines(), host=HERE, spark="own").begin(5)
    assert made.here == ("catalog", "east", "west", "cleana", "client")
    assert main(["pack", "counta", "--folder", str(tmp_path / "live"), "--out", str(tmp_path / "b.tgz")]) == 0
    assert unpacked(tmp_path / "b.tgz", tmp_path / "there").deployed.here == ("counta",)


def test_names_that_cannot_be_packed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prepare(tmp_path / "live", watch().check(), two_machines(), host=HERE).begin(5)
    out = ["--folder", str(tmp_path / "live"), "--out", str(tmp_path / "b.tgz")]
    for name in ("cleana", "east", "nobody"):
        assert main(["pack", name, *out]) == 1
        said = capsys.readouterr().err
        assert f"{name!r} does not run on another machine" in said and "allowed: cleanb, counta" in said


@pytest.mark.parametrize(
    ("at", "host", "said"),
    [
        ("10.9.8.7", None, r"cleana is at 10\.9\.8\.7:16990(.|\n)*next: --host ADDRESS"),
        ("0.0.0.0", "127.0.0.1", r"is at 0\.0\.0\.0:16990, which is no address that others can call"),
        ("127.0.0.1", "192.0.2.1", r"192\.0\.2\.1 is no address of this machine"),
        ("127.0.0.1", "no.such.host.invalid", r"no\.such\.host\.invalid is no address of this machine"),
    ],
)
def test_addresses_at_which_nobody_would_be_reached(at: str, host: str | None, said: str, tmp_path: Path) -> None:
    text = json.dumps({"nodes": [{"endpoint": f"{at}:16990", "queries": ["clean", "count"]}]})
    with pytest.raises(DeploymentError, match=said):
        prepare(tmp_path / "live", watch().check(), text, host=host, insecure=True)
    assert not (tmp_path / "live").exists()


def test_sources_do_not_listen_where_others_reach_them_without_certificates(tmp_path: Path) -> None:
    text = json.dumps({"nodes": [{"endpoint": ":16990", "queries": ["clean", "count"]}]})
    with pytest.raises(DeploymentError, match=r"sources would listen at 192\.0\.2\.1(.|\n)*next: --tls"):
        prepare(tmp_path / "live", watch().check(), text, host="192.0.2.1")


@pytest.mark.parametrize("host", ["", "a:7", "0.0.0.0", "a b"])
def test_a_host_that_is_none(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["up", "--host", host]) == 2
    assert "allowed: an address or a name" in capsys.readouterr().err
