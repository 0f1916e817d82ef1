"""What a deployment is made of, before any process runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import auroral
from auroral.cli import main
from auroral.dpc.fragments import CannotBeCut
from auroral.dpc.settings import Choices, Policy, WhenFull
from auroral.model.checking import Checked
from auroral.node.fleet.deployed import Deployed, DeploymentError
from auroral.node.fleet.preparing import prepare

PROGRAM = """\
import auroral

d = auroral.diagram("watch", bucket="500ms")
with d.query("clean"):
    high = d.input("east", "host string, n int").filter("high", "n > 2")
with d.query("count"):
    high.aggregate("sums", {"rows": "count()"}, window="2s", advance="500ms", by=["host"]).output(availability="8s")
"""
XML = """\
<deploy>
  <replica_set name="front" query="clean"><node endpoint=":16900"/><node endpoint=":16901"/></replica_set>
  <node endpoint=":16902" query="count"/>
</deploy>
"""
YAML = """\
replica_sets:
  - {name: front, queries: clean, nodes: [":16900", ":16901"]}
nodes:
  - {endpoint: ":16902", queries: count}
"""


def watch() -> Checked:
    space: dict[str, auroral.model.builder.DiagramBuilder] = {}
    exec(PROGRAM, space)
    return space["d"].check()


@pytest.mark.parametrize(("text", "kept"), [(XML, "deployment.xml"), (YAML, "deployment.yaml")])
def test_the_folder_keeps_the_file_as_it_was_given(text: str, kept: str, tmp_path: Path) -> None:
    made = prepare(tmp_path / "live", watch(), text)
    assert (tmp_path / "live" / kept).read_text() == text
    assert len([*(tmp_path / "live").glob("deployment.*")]) == 2
    looked = Deployed.look(tmp_path / "live", made.checked)
    assert looked.agreed == made.agreed
    assert looked.nodes == made.nodes == ("fronta", "frontb", "counta")
    assert made.agreed.endpoints["frontb"] == "127.0.0.1:16901"


def clocked() -> Checked:
    d = auroral.diagram("shop", bucket="1s")
    with d.query("counted"):
        sales = d.input("sales", "till string")
        threes = sales.aggregate_rows("threes", {"n": "count()"}, rows=3, timeout="5s", clock=d.local_clock())
    with d.query("shown"):
        threes.filter("some", "n > 0").output()
    return d.check()


def test_a_local_clock_is_that_of_one_node(tmp_path: Path) -> None:
    """Its rows are the machine's own doing, unless they are given in another way."""
    for text in (None, XML.replace("clean", "counted").replace('query="count"', 'query="shown"')):
        with pytest.raises(
            CannotBeCut, match=r"box 'threes' has timeouts by a local clock, .* on 2 replicas"
        ) as caught:
            prepare(tmp_path / "live", clocked(), text)
        assert "next: --replicas 1" in str(caught.value)
    made = prepare(tmp_path / "live", clocked(), replicas=1)
    assert made.agreed.inputs["clock"] == "clock" and made.agreed.inputs["sales"].startswith("tcp:")
    others = XML.replace("clean", "shown").replace('query="count"', 'query="counted"')
    made = prepare(tmp_path / "other", clocked(), others, inputs={"clock": "tcp:"})
    assert made.agreed.inputs["clock"].startswith("tcp:")
    with pytest.raises(DeploymentError, match="input 'sales' is no clock"):
        prepare(tmp_path / "third", clocked(), replicas=1, inputs={"sales": "clock"})


def test_what_is_done_when_something_fails_is_agreed_on(tmp_path: Path) -> None:
    (tmp_path / "watch.py").write_text(PROGRAM)
    choices = Choices(Policy.DELAY, Policy.SUSPEND, keep=30.2)
    made = prepare(tmp_path / "live", watch(), choices=choices)
    assert Deployed.look(tmp_path / "live", made.checked).agreed.choices == choices
    found = made.settings
    assert (found.while_failing, found.while_correcting) == (Policy.DELAY, Policy.SUSPEND)
    assert (found.most_kept, found.when_full) == (61, WhenFull.BLOCK)
    usual = prepare(tmp_path / "usual", watch()).settings
    assert (usual.while_failing, usual.while_correcting, usual.most_kept) == (Policy.PROCESS, Policy.PROCESS, None)


def asked(folder: Path, *more: str) -> list[str]:
    (folder / "watch.py").write_text(PROGRAM)
    return ["up", "--diagram", str(folder / "watch.py"), "--folder", str(folder / "live"), *more]


@pytest.mark.parametrize(
    ("option", "value", "code", "said"),
    [
        ("--keep", "1s", 1, "at most 2 buckets are kept, and all that is computed from east reads 4 of it again"),
        ("--keep", "long", 2, "argument --keep"),
        ("--while-failing", "wait", 2, "unknown policy 'wait'; allowed are suspend, delay, process, adapt"),
    ],
)
def test_what_cannot_be_done_while_something_fails(
    option: str, value: str, code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(asked(tmp_path, option, value)) == code
    assert said in capsys.readouterr().err
    assert not (tmp_path / "live").exists()


def test_which_spark_each_node_computes_with(tmp_path: Path) -> None:
    """As the deployment says; otherwise as is said for all."""
    text = YAML.replace('":16900"', '{endpoint: "localhost:16900", spark: own}').replace(
        "queries: count", "queries: count, spark: shared"
    )
    made = prepare(tmp_path / "live", watch(), text, spark="spark://far:7077", master="local[3]")
    looked = Deployed.look(tmp_path / "live", made.checked)
    assert {node: looked.master_of(node) for node in looked.nodes} == {
        "fronta": "local[3]",
        "frontb": "spark://far:7077",
        "counta": None,
    }
    assert looked.sharing == ("counta",) and looked.processes[0] == "spark"
    alone = prepare(tmp_path / "alone", watch(), spark="own")
    assert alone.sharing == () and alone.processes == ("catalog", "east", "na", "nb", "client")
    assert prepare(tmp_path / "shared", watch()).sharing == ("na", "nb")


def test_what_a_deployment_is_cannot_be_said_later(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prepare(tmp_path / "live", watch())
    assert main(["up", "deploy.xml", "--spark", "own", "--folder", str(tmp_path / "live")]) == 2
    assert "DEPLOY, --spark: only of a new deployment" in capsys.readouterr().err
    assert main(["up", "--spark", "mine"]) == 2
    assert "'mine' is no Spark of a node; allowed: own, shared" in capsys.readouterr().err


def test_commands_take_yaml_where_they_take_xml(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, deploy = tmp_path / "watch.py", tmp_path / "deploy.yaml"
    program.write_text(PROGRAM)
    deploy.write_text(YAML)
    assert main(["check", "--json", str(program), str(deploy)]) == 0
    found = json.loads(capsys.readouterr().out)["results"][1]
    assert (found["kind"], found["ok"], found["warnings"]) == ("deployment", True, [])
    deploy.write_text("replica_sets:\n  - {name: front, querys: clean, nodes: [a]}\nnode: []\n")
    for command in (["check", str(program), str(deploy)], ["up", str(deploy), "--diagram", str(program)]):
        assert main([*command, *(["--folder", str(tmp_path / "live")] if command[0] == "up" else [])]) == 1
        said = "".join(capsys.readouterr())
        assert f"{deploy}:2, replica_set 'front': unknown key 'querys'" in said and "did you mean 'queries'?" in said
        assert f"{deploy}:3, deploy: unknown key 'node'" in said and "did you mean 'nodes'?" in said
    deploy.write_text("nodes: [{endpoint: a, queries: cuont}]")
    assert main(["check", str(program), str(deploy)]) == 1
    assert f"{deploy}:1, node 'a': unknown query 'cuont'" in capsys.readouterr().out
    assert not (tmp_path / "live").exists()
    deploy.write_bytes(b"nodes: [\xff]")
    assert main(["up", str(deploy), "--diagram", str(program), "--folder", str(tmp_path / "live")]) == 1
    assert "not UTF-8" in capsys.readouterr().err


def test_two_outputs_do_not_go_to_one_table(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    one, other = f"sqlite:{tmp_path}/of.db#Sums", f"sqlite:{tmp_path}/link/of.db#sums"
    with pytest.raises(DeploymentError, match="#sums is given twice as an output"):
        prepare(tmp_path / "live", watch(), outputs=[("sums", one), ("sums", other)])


def test_a_table_outside_has_the_key_of_the_diagrams(tmp_path: Path) -> None:
    """By another key, rows would take the place of others without a word."""
    d = auroral.diagram("d", bucket="1s")
    seen = d.table("seen", "host string, port int, n int", key=["host", "port"])
    d.input("east", "host string, port int, n int").insert("put", seen)
    seen.changes("changes").output(availability="8s")
    for key in ("host", "host,port,n", "n"):
        with pytest.raises(
            DeploymentError, match=f"(?s)the key of table 'seen' is host, port, and not {key.replace(',', ', ')}"
        ):
            prepare(tmp_path / "live", d.check(), outputs=[("changes", f"sqlite:{tmp_path}/a.db?key={key}")])
    made = prepare(tmp_path / "live", d.check(), outputs=[("changes", f"sqlite:{tmp_path}/a.db?key=port,host")])
    assert list(made.agreed.outputs) == [("changes", f"sqlite:{tmp_path}/a.db#changes?key=port,host")]
