"""A run that fails before it has given anything leaves no output behind that the mended one would stumble over."""

from pathlib import Path

import pytest

import auroral
from auroral.edge.sinks import OutputError
from auroral.node.committing import check_new
from auroral.node.runfolder import RunFolder
from auroral.node.runner import Runner
from node.running import PassOn, rows
from node.test_runner import checked

NAMES = ["out.csv", "out.jsonl", "deep/out.parquet"]


class Wrong(Exception):
    pass


def runner_to(place: Path, name: str, engine: PassOn) -> Runner:
    folder = RunFolder.claim(place / "run", checked(), {}, {}, False)
    return Runner(folder, lambda: engine, {"out": str(place / name)})


def fail_at(place: Path, name: str, second: int) -> None:
    def fail(lo: int, hi: int) -> None:
        if hi > second * 1_000_000:
            raise Wrong

    runner = runner_to(place, name, PassOn(before=fail))
    runner.sources["s0"].take(rows(1.5, 2.5), 0)
    runner.request_stop()
    with pytest.raises(Wrong):
        runner.run()


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left_of_a_run_that_failed_at_once(tmp_path: Path, name: str) -> None:
    fail_at(tmp_path, name, 0)
    assert not (tmp_path / name).exists() and not (tmp_path / f"{name}.commit").exists()
    check_new([str(tmp_path / name)])
    runner = runner_to(tmp_path, name, PassOn())
    runner.sources["s0"].end()
    runner.run()
    assert (tmp_path / name).exists(), "resuming makes it again"


@pytest.mark.parametrize("name", NAMES)
def test_what_was_committed_stays(tmp_path: Path, name: str) -> None:
    runner = runner_to(tmp_path, name, PassOn())
    runner.sources["s0"].take(rows(1.5, 2.5), 0)
    runner.request_stop()
    runner.run()

    def fail(lo: int, hi: int) -> None:
        raise Wrong

    again = runner_to(tmp_path, name, PassOn(before=fail))
    again.sources["s0"].take(rows(3.5), 0)
    again.request_stop()
    with pytest.raises(Wrong):
        again.run()
    assert (tmp_path / name).exists()
    with pytest.raises(OutputError, match=r"(?s)is there already.*next: choose another output"):
        check_new([str(tmp_path / name)])


def test_an_output_that_cannot_be_made_takes_the_others_with_it(tmp_path: Path) -> None:
    d = auroral.diagram("d", bucket="1s")
    s = d.input("s0", "ts long, v long", stime="ts", unit="us")
    s.filter("f", "v >= 0").output("out")
    s.filter("g", "v >= 1").output("out2")
    (tmp_path / "two.csv").write_text("somebody's\n")
    folder = RunFolder.claim(tmp_path / "run", d.check(), {}, {}, False)
    with pytest.raises(OutputError):
        Runner(folder, PassOn, {"out": str(tmp_path / "one.csv"), "out2": str(tmp_path / "two.csv")})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "two.csv"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("x.doc", "the format of a .doc output is not known"),
        ("full.csv", "is there already"),
        ("left.csv", "is there already"),
        ("full.csv/x.csv", "cannot be written: .*it is a file"),
    ],
)
def test_one_rule_says_what_a_new_run_may_write(tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / "full.csv").write_text("rows\n")
    (tmp_path / "left.csv.commit").write_text("{}")
    with pytest.raises(OutputError, match=told):
        check_new([str(tmp_path / name)])
    (tmp_path / "empty.csv").touch()
    (tmp_path / "empty.parquet").mkdir()
    check_new(["-", str(tmp_path / "empty.csv"), str(tmp_path / "empty.parquet"), str(tmp_path / "new/new.csv")])
