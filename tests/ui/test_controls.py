"""What the page can do to a deployment, and for whom: over real sockets, with stand-ins for its processes."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import auroral
from auroral.cli import main
from auroral.ui.controls.editing import box_edits
from auroral.ui.serving import CannotServe, served
from auroral.ui.watching import Watched
from ui.standins import StandIns, all_is_well, lima_is_lost, standing_in
from ui.visiting import Answer, Visitor

KILL = {"do": "kill", "process": "watcha"}
CUT = {"do": "cut", "one": "lima", "other": "mergea"}


@pytest.fixture
def found(tmp_path: Path) -> Iterator[StandIns]:
    with standing_in(tmp_path / "live") as stand_ins:
        all_is_well(stand_ins)
        yield stand_ins


class Operating(Visitor):
    """An operator, unless another token is given."""

    def __init__(self, address: str, folder: Path):
        super().__init__(address)
        self.token = (folder / "operator-token").read_text().strip()

    def foretell(self, **asked: Any) -> Any:
        return json.loads(self.command("foretell", asked, self.token).text)

    def act(self, **asked: Any) -> Any:
        return json.loads(self.command("act", asked, self.token).text)


@pytest.fixture
def operator(found: StandIns) -> Iterator[Operating]:
    with served(found.deployed.folder, port=0, controls=True) as page:
        yield Operating(page.address, found.deployed.folder)


# Who may


def test_without_the_switch_nothing_can_be_changed(found: StandIns) -> None:
    with served(found.deployed.folder, port=0) as page:
        visitor = Visitor(page.address)
        assert not (found.deployed.folder / "operator-token").exists()
        for step in ("enter", "foretell", "act"):
            assert visitor.command(step, CUT, "x" * 32).status == 405
        live = visitor.live()
        assert "controls" not in next(live) and "written" not in visitor.json("/api/box?name=alerts")
        live.close()
    assert found.done == []


def test_the_token_is_its_owners_alone_and_another_than_that_of_readers(found: StandIns, operator: Operating) -> None:
    folder = found.deployed.folder
    assert stat.S_IMODE((folder / "operator-token").stat().st_mode) == 0o600
    assert operator.token not in ((folder / "token").read_text().strip(), operator.key) and len(operator.token) >= 32
    with served(folder, port=0, controls=True) as again:
        assert Operating(again.address, folder).token == operator.token
    assert operator.token not in operator.get("/").text + json.dumps(operator.json("/api/picture"))


@pytest.mark.parametrize("step", ["enter", "foretell", "act"])
def test_the_token_is_needed(found: StandIns, operator: Operating, step: str) -> None:
    reader = (found.deployed.folder / "token").read_text().strip()
    for token in ("", "x", reader, operator.key, operator.token + "x", operator.token[:-1]):
        answer = operator.command(step, CUT, token)
        assert answer.status == 403 and "operator's token" in answer.text, token
    assert operator.command(step, CUT, "", Authorization="").status == 403
    assert operator.command(step, CUT, "", Authorization=operator.token).status == 403
    # No cookie stands for it.
    operator.cookie += f"; operator-token={operator.token}; authorization=Bearer {operator.token}"
    assert operator.command(step, CUT, "", Authorization="").status == 403
    assert found.done == []


def _refused(operator: Operating, number: int, **headers: str) -> None:
    answer: Answer = operator.command("act", CUT, operator.token, **headers)
    assert answer.status == number, answer.text


def test_other_pages_in_the_browser_cannot_do_anything(found: StandIns, operator: Operating) -> None:
    """Also where they know the token: they could have it from somebody's screen."""
    own = f"http://{operator.host}:{operator.port}"
    for origin in ("http://evil.example", "null", "", own.replace("http", "https"), f"{own}.evil.example", own + "0"):
        _refused(operator, 403, Origin=origin)
    # Another program of this machine is another origin.
    _refused(operator, 403, Origin=f"http://{operator.host}:1")
    _refused(operator, 403, Origin="http://localhost:1")
    for site in ("cross-site", "same-site", "none"):
        _refused(operator, 403, Sec_Fetch_Site=site)
    # DNS rebinding: a page whose name points here is of its own origin.
    _refused(operator, 421, Host="evil.example", Origin="http://evil.example")
    # What a form can send.
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        _refused(operator, 415, Content_Type=kind)
    # Nobody is told that they may ask.
    asked = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    answer = operator.send("/api/control/act", "OPTIONS", asked)
    assert answer.status == 405 and not [name for name in answer.headers if name.startswith("access-control")]
    for method in ("GET", "PUT", "DELETE", "PATCH"):
        assert operator.send("/api/control/act", method, {}).status == 405
    stranger = Operating(f"http://{operator.host}:{operator.port}/?key=x", found.deployed.folder)
    assert stranger.command("act", CUT, operator.token).status == 403, "the key of the page is needed besides"
    assert found.done == []
    assert operator.command("act", CUT, operator.token).status == 200 and len(found.done) == 2
    # Programs that are no browser say less.
    assert operator.command("enter", {}, operator.token, Sec_Fetch_Site="").status == 200


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"1", b"[" * 200_000, b"\xff", b'"' + b"x" * (1 << 19) + b'"'])
def test_what_is_no_question_is_refused(operator: Operating, body: bytes) -> None:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {operator.token}"}
    headers["Origin"] = f"http://{operator.host}:{operator.port}"
    assert operator.send("/api/control/act", "POST", headers, body).status in (400, 413)


def test_controls_are_for_this_machine_alone(found: StandIns, capsys: pytest.CaptureFixture[str]) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        with pytest.raises(CannotServe, match="token would pass"), served(found.deployed.folder, host, controls=True):
            pass
    assert main(["up", "--controls", "--folder", str(found.deployed.folder)]) == 2
    assert "auroral up --ui --controls" in capsys.readouterr().err


# What they do


def test_a_node_is_killed(found: StandIns, operator: Operating) -> None:
    process = found.alone("watcha")
    said = operator.foretell(**KILL)
    assert said["title"] == "Kill watcha" and process.poll() is None
    assert said["words"] == [
        f"watcha is killed at once, as by a crash. auroral up --folder {found.deployed.folder} starts it again.",
        "watch goes on, on watchb.",
        "alerts goes on stable, from watchb.",
    ]
    assert operator.act(**KILL)["done"].startswith("watcha is killed")
    assert process.wait(10) == -9
    # The last replica.
    assert operator.foretell(do="kill", process="watchb")["words"][1:] == [
        "Nobody computes watch any more.",
        "alerts gives nothing, until what it needs is back.",
    ]
    assert "watcha is not running" in operator.act(**KILL)["error"]


def test_what_is_said_of_other_processes(operator: Operating) -> None:
    def words(name: str) -> str:
        return " ".join(operator.foretell(do="kill", process=name)["words"])

    assert "nothing can be moved or changed until it is back" in words("catalog")
    assert "Nobody is given any output until it is back" in words("client")
    assert "compute nothing until then: mergea, mergeb, watcha, watchb" in words("spark")
    assert "alerts becomes tentative" in words("oslo") and "without oslo" in words("oslo")
    assert "there is no 'nobody'" in operator.foretell(do="kill", process="nobody")["error"]


def test_links_are_cut_and_healed(found: StandIns, operator: Operating) -> None:
    said = operator.foretell(**CUT)
    assert said["words"] == [
        "Nothing passes between lima and mergea any more, in either direction.",
        "mergea gives connections tentatively, without lima.",
        "alerts goes on stable, from watcha.",
    ]
    assert found.done == [], "nothing before it is confirmed"
    assert operator.act(**CUT) == {"done": "lima and mergea are cut off from each other"}
    assert [(name, one["do"], one["peer"]) for name, one in found.done] == [
        ("lima", "cut", "mergea"),
        ("mergea", "cut", "lima"),
    ]
    # What is cut already counts.
    (_, second, last) = operator.foretell(do="cut", one="lima", other="mergeb")["words"]
    assert second == "mergeb gives connections tentatively, without lima."
    assert last == (
        "alerts becomes tentative: watcha goes on answering within X = 5 s without lima, and corrects it afterwards."
    )
    lima_is_lost(found)
    for name in ("lima", "mergea", "mergeb"):
        found.says[name] = {**(found.says[name] or {}), "cut_off": ["mergea", "mergeb"] if name == "lima" else ["lima"]}
    healed = operator.foretell(do="heal", one="lima", other="mergea")["words"]
    assert healed[1:] == [
        "alerts becomes stable, from watcha.",
        "9 tentative buckets of alerts are to be corrected then.",
    ]
    assert operator.act(do="heal", one="lima", other="mergea") == {"done": "lima and mergea reach each other"}
    assert "cannot be cut off from itself" in operator.act(do="cut", one="lima", other="lima")["error"]


def test_sources_are_paused_and_go_on(found: StandIns, operator: Operating) -> None:
    assert "alerts becomes tentative" in operator.foretell(do="pause", source="lima")["words"][1]
    assert operator.act(do="pause", source="lima") == {"done": "lima is silent"}
    assert operator.foretell(do="resume", source="lima")["words"][1] == "alerts becomes stable, from watcha."
    assert operator.act(do="resume", source="lima") == {"done": "lima goes on"}
    assert [(name, one["do"]) for name, one in found.done] == [("lima", "pause"), ("lima", "resume")]
    assert "'mergea' is no source" in operator.act(do="pause", source="mergea")["error"]


def test_an_output_without_a_bound_is_not_said_to_become_tentative(tmp_path: Path) -> None:
    d = auroral.diagram("d", bucket="1s")
    east, west = (d.input(name, "n int") for name in ("east", "west"))
    east.union("both", west).output()
    with standing_in(tmp_path / "live", d) as found, served(found.deployed.folder, port=0, controls=True) as page:
        operator = Operating(page.address, found.deployed.folder)
        (_, said) = operator.foretell(do="pause", source="east")["words"]
        assert said == "both gives nothing, until what it needs is back."


def test_queries_are_moved(found: StandIns, operator: Operating) -> None:
    asked = {"do": "move", "query": "merge", "node": "watcha", "from": "mergea"}
    assert "The replica of merge on mergea goes to watcha." in operator.foretell(**asked)["words"]
    new = operator.foretell(**{**asked, "node": "mc"})["words"]
    assert new[0] == "The replica of merge on mergea goes to mc, a new node that is started for it."
    for wrong, said in (
        ({"node": "mergeb"}, "merge runs on mergeb already"),
        ({"from": "watcha"}, "merge does not run on 'watcha'"),
        ({"node": "m c"}, "no node can have the name 'm c'"),
        ({"query": "mrege"}, "there is no query 'mrege'"),
    ):
        assert said in operator.foretell(**(asked | wrong))["error"]
        assert said in operator.act(**(asked | wrong))["error"]
    assert operator.act(**asked) == {"done": "merge is on its way to watcha"}
    ((name, moved),) = found.done
    assert (name, moved["leaves"], moved["comes"]) == ("catalog", "merge@mergea", "merge@watcha")


def test_what_others_changed_meanwhile_is_known_also_where_nobody_looks(found: StandIns, operator: Operating) -> None:
    asked = {"do": "move", "query": "merge", "node": "mc", "from": "mergea"}
    assert "a new node" in operator.foretell(**asked)["words"][0]
    found.deployed.add("mc", "127.0.0.1:26400", "mergea")
    assert operator.foretell(**asked)["words"][0] == "The replica of merge on mergea goes to mc."


def modify(value: str) -> dict[str, Any]:
    return {"modify": "alerts", "parameters": [{"name": "expression.0", "value": value}]}


def test_a_parameter_is_changed(found: StandIns, operator: Operating) -> None:
    box = operator.json("/api/box?name=alerts")
    old = "connections > 20 and ports > 10"
    assert box["written"] == [{"name": "expression.0", "value": old, "sql": None}]
    said = operator.foretell(do="change", edit=modify("connections > 30"))
    assert said["words"][0] == "watch becomes version 1: all its replicas (watcha, watchb) go over to it at one bucket."
    assert '<parameter name="expression.0" value="connections &gt; 30"/>' in said["update"]
    assert operator.foretell(do="change", edit=modify(old))["words"] == ["Nothing differs from what runs."]
    # What the check finds is shown before anything is applied.
    for wrong, words in (
        ("conections > 30", "unknown field 'conections'"),
        ("connections >", "connections >"),
        ("src", "string"),
    ):
        error = operator.foretell(do="change", edit=modify(wrong))["error"]
        assert words in error and "alerts" in error
        assert operator.act(do="change", edit=modify(wrong))["error"] == error
    assert found.done == [] and not (found.deployed.folder / "versions").exists()
    done = operator.act(do="change", update=said["update"])
    assert done == {"done": "watch: the change to version 1 is under way"}
    assert [(name, one["do"]) for name, one in found.done] == [
        *((node, "learn") for node in ("mergea", "mergeb", "watcha", "watchb")),
        ("catalog", "change"),
    ]
    assert "watch is being changed already" in operator.foretell(do="change", edit=modify("connections > 31"))["error"]
    live = operator.live()
    (one,) = next(one for one in live if one["controls"]["under_way"])["controls"]["under_way"]
    assert one["words"] == "watch is being changed"
    live.close()
    assert operator.act(do="give up", what="change", query="watch") == {"done": "the change of watch is given up"}


def insert(**more: Any) -> dict[str, Any]:
    high = [{"name": "expression.0", "value": "port < 1024"}]
    edit = {"insert": "low", "type": "filter", "stream": "connections", "before": "hosts", "parameters": high}
    return {"do": "change", "edit": edit | more}


def test_a_box_is_inserted_on_an_arrow(found: StandIns, operator: Operating) -> None:
    assert operator.json("/api/stream?name=connections")["arrows"] == [{"box": "hosts", "port": 0}]
    said = operator.foretell(**insert())
    assert said["words"][0].startswith("watch becomes version 1")
    assert '<connect box="hosts" stream="low" port="0"/>' in said["update"]
    for wrong, words in (
        ({"insert": "alerts"}, "alerts"),
        ({"insert": ""}, "the new box has no name"),
        ({"type": "filtre"}, "filter"),
        ({"stream": "oslo"}, "no arrow goes from 'oslo' to 'hosts'"),
        ({"before": "host"}, "did you mean 'hosts'"),
        ({"parameters": []}, "expression.0"),
        ({"type": "aggregate", "parameters": []}, "aggregate"),
    ):
        assert words in operator.foretell(**insert(**wrong))["error"], wrong
    assert found.done == []
    assert operator.act(do="change", update=said["update"])["done"].startswith("watch: the change to version 1")


def test_a_box_is_taken_out_of_its_arrow(found: StandIns, operator: Operating) -> None:
    out = {"do": "change", "edit": {"remove": "hosts"}}
    # What reads it needs its fields.
    assert "unknown field 'connections'" in operator.foretell(**out)["error"]
    assert "unknown stream 'alerts'" in operator.foretell(do="change", edit={"remove": "alerts"})["error"]
    assert "reads 3 streams and gives 1" in operator.foretell(do="change", edit={"remove": "connections"})["error"]
    assert not operator.json("/api/box?name=connections")["removable"]
    assert operator.json("/api/box?name=hosts")["removable"]
    assert found.done == []


def test_what_no_text_can_hold_is_not_changed_here(tmp_path: Path) -> None:
    d = auroral.diagram("d", bucket="1s")
    s = d.input("s", "n int")
    s.apply("own", lambda rows: rows, schema="n int", horizon="1s").filter("f", "n > 1").output(availability="8s")
    with standing_in(tmp_path / "live", d) as found:
        watched = Watched(found.deployed.folder, controls=True)
        watched.look()
        assert "unwritable" in box_edits(watched.groups, "own") and "written" in box_edits(watched.groups, "f")
        catalog = {"members": {"n": ["n@na", "n@nb"]}, "changing": None, "starts": {}, "added": {}, "wanted": []}
        found.says["catalog"] = {"kind": "catalog", **catalog, "moving": None, "waits_for": []}
        with served(found.deployed.folder, port=0, controls=True) as page:
            edit = {"modify": "f", "parameters": [{"name": "expression.0", "value": "n > 2"}]}
            said = Operating(page.address, found.deployed.folder).foretell(do="change", edit=edit)
            assert "from a Python program that cannot be written as one" in said["error"]
            assert "next: auroral change DIAGRAM.py" in said["error"]


def test_what_is_not_known_is_refused(operator: Operating) -> None:
    for asked in ({}, {"do": "down"}, {"do": "kill"}, {"do": "cut", "one": 1, "other": 2}, {"do": ["kill"]}):
        assert "allowed: kill, pause" in operator.act(**asked)["error"]
    assert "allowed: modify, insert, remove" in operator.act(do="change")["error"]
    for parameters in ([1], [{}], [{"name": "expression.0", "value": 1}], [{"name": "x", "value": "1", "sql": 1}]):
        edit = {"modify": "alerts", "parameters": parameters}
        assert "is no parameter" in operator.act(do="change", edit=edit)["error"], parameters
    assert "allowed: modify, insert, remove" in operator.act(**insert(parameters=1))["error"]
    move = '<borealis><move box="hosts" node="mergea"/></borealis>'
    assert "has a <move>" in operator.act(do="change", update=move)["error"]
    assert "what is to be changed" in operator.act(do="change", update="<borealis><flie/></borealis>")["error"]
    assert "cannot be asked" in operator.command("shout", {}, operator.token).text


def test_what_is_offered(found: StandIns, operator: Operating) -> None:
    live = operator.live()
    offered = next(live)["controls"]
    live.close()
    assert [one["name"] for one in offered["processes"]] == list(found.deployed.here)
    assert {one["name"]: one["is"] for one in offered["processes"]}["mergea"] == "node"
    pairs = [(one["one"], one["other"]) for one in offered["links"]]
    assert ("lima", "mergea") in pairs and ("mergeb", "watcha") in pairs and ("watchb", "client") in pairs
    assert len(pairs) == 6 + 4 + 2 and not any(one["cut"] for one in offered["links"])
    assert offered["queries"][0] == {"name": "merge", "nodes": ["mergea", "mergeb"]}
    assert offered["new_boxes"]["filter"] == ["expression.0"]
