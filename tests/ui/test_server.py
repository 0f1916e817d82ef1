"""What is served, and to whom: over real sockets, with stand-ins for the processes of the deployment."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

import auroral
from auroral.cli import main
from auroral.client.connecting import TOKEN_VARIABLE
from auroral.commands import demo
from auroral.node.fleet.control import ask
from auroral.node.fleet.processes import Fleet
from auroral.ui.details import stream_details
from auroral.ui.guarding import Guard, key_of
from auroral.ui.serving import CannotServe, served
from auroral.ui.watching import Watched
from ui.standins import StandIns, all_is_well, lima_is_lost, source, standing_in
from ui.visiting import Visitor


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIns]:
    with standing_in(tmp_path_factory.mktemp("ui") / "live") as stand_ins:
        all_is_well(stand_ins)
        yield stand_ins


@pytest.fixture(scope="module")
def address(found: StandIns) -> Iterator[str]:
    with served(found.deployed.folder, port=0) as page:
        yield page.address


@pytest.fixture
def visitor(address: str) -> Visitor:
    return Visitor(address)


def test_the_page_and_its_parts(visitor: Visitor) -> None:
    for path, kind in (("/", "text/html"), ("/static/main.js", "text/javascript"), ("/static/style.css", "text/css")):
        answer = visitor.get(path)
        assert answer.status == 200 and answer.headers["content-type"].startswith(kind)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "script-src 'self';" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "http:" not in answer.text.replace("http://www.w3.org/2000/svg", "") and "https:" not in answer.text
    assert visitor.get("/static/../server.py").status == 404 == visitor.get("/nothing").status
    assert "<script>" not in visitor.get("/").text


def test_the_key_is_needed_and_leaves_the_address(address: str) -> None:
    stranger = Visitor(address, key=False)
    for path in ("/", "/static/main.js", "/api/picture", "/api/live", "/api/stream?name=alerts", "/?key=wrong"):
        answer = stranger.get(path)
        assert answer.status == 403 and "?key=..." in answer.text
    let_in = stranger.get(f"/?key={stranger.key}")
    assert (let_in.status, let_in.headers["location"]) == (303, "/")
    cookie = let_in.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie.replace("Strict", "strict")
    stranger.cookie = cookie.partition(";")[0]
    assert stranger.get("/").status == 200
    stranger.cookie = "=;;auroral"
    assert stranger.get("/").status == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example", "10.0.0.7", ""])
def test_other_names_for_this_machine_are_refused(visitor: Visitor, host: str) -> None:
    """DNS rebinding: a page of somebody else's that has its name point here."""
    answer = visitor.get("/api/picture", Host=host.format(port=visitor.port))
    assert answer.status == 421 and "merge" not in answer.text


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "LOCALHOST", "[::1]:8425"])
def test_names_of_this_machine_are_not(visitor: Visitor, host: str) -> None:
    assert visitor.get("/api/picture", Host=host).status == 200


def test_where_it_is_served_everywhere_addresses_are_fine_and_names_are_not() -> None:
    guard = Guard(None, "key", (), True, 1)  # type: ignore[arg-type]
    assert [guard._is_ours(host) for host in ("10.0.0.7:80", "[fe80::1]", "localhost", "evil.example", "")] == [
        *(True, True, True, False, False)
    ]


@pytest.mark.parametrize("host", ["0.0.0.0", "::1", "[::1]", "localhost", "127.0.0.2"])
def test_the_address_that_is_told_opens_the_page(found: StandIns, host: str) -> None:
    if ":" in host and not _has_ipv6():
        pytest.skip("this machine has no IPv6")
    with served(found.deployed.folder, host, port=0) as page:
        named = urlsplit(page.address).netloc
        visitor = Visitor(page.address, key=False)
        # Whether its name is known to itself is a machine's own matter.
        visitor.host = "127.0.0.1" if host == "0.0.0.0" else visitor.host
        assert visitor.get(f"/?key={visitor.key}", Host=named).status == 303
        assert visitor.get(f"/?key={visitor.key}", Host="evil.example").status == 421


def _has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_changed(visitor: Visitor, method: str) -> None:
    assert visitor.get("/api/picture", method).status == 405


def test_the_key_follows_from_the_token_and_does_not_tell_it(found: StandIns, address: str) -> None:
    token = (found.deployed.folder / "token").read_text().strip()
    assert address.endswith(f"?key={key_of(token)}") and token not in address and key_of(token) != key_of(token + "x")


def test_a_box_has_its_parameters_sql_and_counts(visitor: Visitor) -> None:
    box = visitor.json("/api/box?name=hosts")
    assert dict(box["parameters"]) == {
        "functions": "connections = count(), ports = count_distinct(port)",
        "window": "4s / 1s",
        "group by": "src",
    }
    assert dict(box["facts"])["class"] == "window"
    assert box["sql"].startswith("-- box hosts (aggregate: 4s / 1s by src)") and "GROUP BY" in box["sql"]
    assert "alerts" not in box["sql"]
    assert dict(box["counts"])["jobs of watcha"] == "40 stable in 9.5 s, 3 tentative in 0.8 s"
    assert box["outputs"] == [{"stream": "hosts", "fields": "src string(15), connections long, ports long"}]
    answer = visitor.get("/api/box?name=hots")
    assert answer.status == 404 and "did you mean 'hosts'" in json.loads(answer.text)["error"].lower()


def test_a_stream_has_its_rows_and_its_why(visitor: Visitor, found: StandIns) -> None:
    found.stories["watcha", "alerts"] = "alerts is in STABLE since 1794966521.17 s, stable before bucket 58"
    stream = visitor.json("/api/stream?name=alerts")
    assert "1794966521.17" not in stream["why"]["watcha"] and stream["why"]["watcha"].startswith("alerts is in STABLE")
    assert len(stream["rows"]) == 20 and stream["rows"][0] == {
        "bucket": 57,
        "kind": "stable",
        "row": {"src": "10.66.6.0", "connections": 31, "ports": 14},
    }
    between = visitor.json("/api/stream?name=connections")
    assert between["rows"] == [] and not between["output"] and "port int" in between["fields"]
    answer = visitor.get(f"/api/stream?name={quote('<b>')}")
    assert answer.status == 404 and answer.headers["content-type"] == "application/json"


def test_numbers_that_a_browser_does_not_have_are_text(visitor: Visitor, found: StandIns) -> None:
    odd = {"a": 2**53 + 1, "b": -(2**63), "c": 2**53 - 1, "d": float("nan"), "e": 1e300, "f": True}
    found.deliver("alerts", 57, "stable", [{"__stime": 0, **odd}], latency=0.4)
    (row, *_) = visitor.json("/api/stream?name=alerts")["rows"]
    shown = {"a": "9007199254740993", "b": "-9223372036854775808", "c": 2**53 - 1, "d": "nan", "e": 1e300, "f": True}
    assert row["row"] == shown
    found.delivered.pop()


def test_what_changes_is_told_and_nothing_else(visitor: Visitor, found: StandIns) -> None:
    live = visitor.live()
    first, second = next(live), next(live)
    assert first["running"] and first["down"] == [] and first["picture"] == visitor.json("/api/picture")["id"]
    assert first["streams"]["alerts"]["condition"] == "stable" and first["ledger"] == []
    assert first["outputs"]["alerts"]["bound"] == 5 and len(first["squares"]["alerts"]) == 58
    assert {row["process"] for row in first["timeline"]} >= {"oslo", "mergea", "watchb", "client", "spark"}
    assert "squares" not in second and "timeline" not in second and "groups" not in second
    lima_is_lost(found)
    told = next(one for one in live if "squares" in one)
    assert [one["k"] for one in told["squares"]["alerts"]] == ["tentative"] * 9
    assert told["streams"]["connections"]["condition"] == told["streams"]["alerts"]["condition"] == "tentative"
    assert {one["condition"] for one in told["groups"]["watch"]["replicas"]} == {"tentative"}
    assert told["groups"]["merge"]["arrives"] == {"oslo": "stable", "bern": "stable", "lima": "failed"}
    assert told["streams"]["lima"]["condition"] == "stable" and told["streams"]["lima"]["away"] == ["merge"]
    assert told["outputs"]["alerts"]["condition"] == "tentative" and told["streams"]["alerts"]["away"] == []
    (lima,) = [row for row in told["timeline"] if row["process"] == "lima"]
    assert [what for _, what, _ in lima["marks"]] == ["started", "cut off from mergea", "cut off from mergeb"]
    (watcha,) = [row for row in told["timeline"] if row["process"] == "watcha"]
    assert watcha["marks"][-1][1] == "reads connections from mergea (Curr) and mergeb (Bck)"
    live.close()


def test_nobody_is_asked_while_nobody_watches(found: StandIns, visitor: Visitor) -> None:
    live = visitor.live()
    next(live)
    live.close()
    end = time.monotonic() + 10
    before = -1
    while before != len(found.asked):
        assert time.monotonic() < end
        before = len(found.asked)
        time.sleep(1.2)


def test_only_what_the_commands_ask_is_asked(found: StandIns) -> None:
    assert set(found.asked) <= {"status", "tail", "why"}


# Wrong use


def test_a_port_that_is_taken(found: StandIns, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(found.deployed.folder)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["ui", "--folder", folder, "--port", str(port)]) == 1
        said = capsys.readouterr().err
        assert f"cannot be served at 127.0.0.1:{port}" in said and "next: choose another --port" in said
    with (
        pytest.raises(CannotServe, match=r"cannot be served at 192\.0\.2\.1:"),
        served(found.deployed.folder, "192.0.2.1"),
    ):
        pass


def test_the_usual_port_may_be_somebody_elses(found: StandIns, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr("auroral.ui.serving.PORT", taken.getsockname()[1])
        with served(found.deployed.folder) as page:
            assert Visitor(page.address).get("/").status == 200


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--folder", "nowhere"], "nowhere has no deployment"),
        (["--port", "0"], "'0'; allowed are 1 to 65535"),
        (["--port", "http"], "'http'; allowed are 1 to 65535"),
    ],
)
def test_wrong_use(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ui", *arguments]) != 0
    assert said in capsys.readouterr().err


def test_without_its_packages(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "starlette", None)
    for command in (["ui"], ["up", "--ui"]):
        assert main(command) == 1
        assert "pip install 'auroral[ui]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "where"), [(["ui"], "address"), (["up", "--ui"], "page")], ids=["auroral ui", "auroral up --ui"]
)
def test_the_commands_serve_until_they_are_ended(found: StandIns, command: list[str], where: str) -> None:
    folder = str(found.deployed.folder)
    program = [sys.executable, "-m", "auroral", *command, "--folder", folder, "--json"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        text = ""
        while text.count("{") == 0 or text.count("{") != text.count("}"):
            text += running.stdout.readline()
        said = json.loads(text)
        assert said["folder"] == folder
        assert Visitor(said[where]).get("/").status == 200
        running.terminate()
        assert running.wait(20) == 0


def test_a_folder_of_a_deployment_that_is_gone_is_told_on_the_page(tmp_path: Path) -> None:
    with standing_in(tmp_path / "live") as found, served(found.deployed.folder, port=0) as page:
        all_is_well(found)
        live = Visitor(page.address).live()
        assert "trouble" not in next(live)
        folder = found.deployed.folder
        (folder / "deployment.json").rename(folder / "moved")
        told = next(one for one in live if "trouble" in one)
        assert "has no deployment" in told["trouble"] and not told["running"]
        (folder / "moved").rename(folder / "deployment.json")
        assert next(one for one in live if "trouble" not in one)["running"]
        live.close()


def test_an_error_of_the_pages_own_is_told_and_it_goes_on(
    found: StandIns, visitor: Visitor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    live = visitor.live()
    assert "trouble" not in next(live)
    with monkeypatch.context() as broken:
        broken.setattr("auroral.ui.showing.ledger", lambda status: status["nobody"])
        told = next(one for one in live if "trouble" in one)
        assert "an error of its own: KeyError('nobody')" in told["trouble"] and "trouble" in next(live)
    assert next(one for one in live if "trouble" not in one)["running"]
    assert len(caplog.records) == 1, "once, and not twice a second"
    live.close()


def test_another_deployment_in_the_folder_is_shown_from_its_beginning(tmp_path: Path) -> None:
    """Which another one was in before, that had come further."""
    folder, watched = tmp_path / "live", Watched(tmp_path / "live")
    with standing_in(folder) as found:
        all_is_well(found)
        watched.look()
        before, changes = watched.live["squares_of"], watched.strips.changes
        assert len(watched.strips.since(0)["alerts"]) == 58
    shutil.rmtree(folder)
    watched.look()
    assert "has no deployment" in watched.live["trouble"]
    with standing_in(folder) as found:
        found.deliver("alerts", 0, "stable", [], latency=0.4)
        watched.look()
        assert watched.live["squares_of"] != before and "trouble" not in watched.live
        assert [one["b"] for one in watched.strips.since(changes)["alerts"]] == [0]


def test_what_nobody_looked_at_does_not_seem_to_be_awaited(tmp_path: Path) -> None:
    with standing_in(tmp_path / "live") as found:
        all_is_well(found)
        watched = Watched(found.deployed.folder)
        watched.look()
        before = watched.live["squares_of"]
        found.deliver("alerts", 58, "stable", [], latency=0.4)
        watched.look()
        assert watched.live["squares_of"] == before and len(watched.strips.since(0)["alerts"]) == 59
        for bucket in range(59, 90):
            found.deliver("alerts", bucket, "stable", [], latency=0.4)
        # As many as the client remembers.
        del found.delivered[:80]
        watched.look()
        assert watched.live["squares_of"] != before
        assert [one["b"] for one in watched.strips.since(0)["alerts"]] == list(range(80, 90))


def test_an_input_that_nobody_reads_is_shown_too(tmp_path: Path) -> None:
    """Its rows are logged, and a later version of a query may read them."""
    d = auroral.diagram("d", bucket="1s")
    d.input("spare", "n int, m int")
    d.input("s", "n int").filter("f", "n > 1").output(availability="8s")
    with standing_in(tmp_path / "live", d) as found:
        found.says["spare"] = source(3, failed="the disk is full")
        watched = Watched(found.deployed.folder)
        watched.look()
        assert watched.stage is not None
        assert [one["name"] for one in watched.stage.picture["streams"] if one["role"] == "input"] == ["s", "spare"]
        assert watched.live["streams"]["spare"]["condition"] == "failed"
        assert watched.fleet is not None
        assert "m int" in stream_details(watched.fleet, watched.groups, "spare")["fields"]


def test_the_stand_ins_are_asked_as_processes_are(found: StandIns) -> None:
    assert ask(found.deployed.folder / "processes" / "oslo.json", "status")["kind"] == "source"


def test_a_token_of_ones_own(found: StandIns, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, "x" * 40)
    with served(found.deployed.folder, port=0) as page:
        assert page.address.endswith(key_of("x" * 40))


def test_the_demonstration_has_the_page_where_it_can(found: StandIns, monkeypatch: pytest.MonkeyPatch) -> None:
    before = len(found.asked)
    with demo._page(Fleet(found.deployed)) as address:
        assert address is not None and Visitor(address).get("/").status == 200
    assert len(found.asked) == before, "nobody watches: nothing is asked"
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with demo._page(Fleet(found.deployed)) as address:
        assert address is None
