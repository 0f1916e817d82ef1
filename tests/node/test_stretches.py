"""Which part of a run is compared, without Spark: after a mend, with a record that does not fit, and while one is replaced."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import auroral
from auroral.edge.checkedjson import digest
from auroral.model.checking import Checked
from auroral.node import restoring, verified
from auroral.node.pieces import Stretch, stretch_of
from auroral.node.runfolder import RunFolder
from auroral.node.runner import Runner
from auroral.node.standing import Standing
from auroral.node.verified import Verified, VerifiedError
from node.running import B, PassOn, counted, rows
from node.running import verified as verified_run


def checked(helper: Callable[[Any], Any], fold: bool) -> Checked:
    d = auroral.diagram("d", bucket="1s")
    s = d.input("s", "ts long, v long", stime="ts", unit="us")
    applied = s.apply("a", lambda df: helper(df), schema="ts long, v long")
    if fold:
        applied.running("n", {"ts": "max(ts)", "v": "max(v)"}).output("out")
    else:
        applied.output("out")
    return d.check()


def first(df: Any) -> Any:
    return df.where("v >= 0")


def mended(df: Any) -> Any:
    return df.where("v >= 1")


def go_on(folder: Path, helper: Callable[[Any], Any], begin: int, end: int, fold: bool = True) -> None:
    runner = Runner(RunFolder.claim(folder, checked(helper, fold), {}, {}, False), PassOn)
    for second in range(begin, end):
        runner.sources["s"].take(rows(second, second + 0.5), 0)
    runner.request_stop()
    runner.run()


def next_stretch(folder: Path) -> Stretch:
    return stretch_of(Standing.look(RunFolder.look(folder)), since_last=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run up to second 19, found equal."""
    go_on(tmp_path / "run", first, 0, 20)
    report = verified_run(tmp_path / "run")
    assert report.ok, report.text
    return tmp_path / "run"


def test_fold_state_of_earlier_functions_is_not_gone_on_from(folder: Path) -> None:
    go_on(folder, first, 20, 25)
    assert next_stretch(folder).piece is not None
    go_on(folder, mended, 25, 30)
    stretch = next_stretch(folder)
    assert stretch.piece is None and stretch.earlier is None
    assert stretch.note is not None and stretch.note.endswith("with the earlier ones: all of the run was compared")


def test_fold_state_of_earlier_functions_is_told_of_where_there_is_no_other(folder: Path) -> None:
    auroral.prune(folder)
    go_on(folder, mended, 20, 25)
    stretch = next_stretch(folder)
    assert stretch.piece is not None and stretch.piece.states == counted(1).to_bytes()
    assert stretch.note is not None and stretch.note.endswith("a difference may come from that alone")


def test_without_folds_a_mend_changes_nothing(tmp_path: Path) -> None:
    go_on(tmp_path / "run", first, 0, 20, fold=False)
    assert verified_run(tmp_path / "run").ok
    go_on(tmp_path / "run", mended, 20, 25, fold=False)
    stretch = next_stretch(tmp_path / "run")
    assert stretch.piece is not None and stretch.piece.since == 19 * B and stretch.note is None


@pytest.mark.parametrize(
    ("name", "at", "told"),
    [
        ("frontier", 5 * B, "the run was verified up to stime 19000000, but the run is only at 5000000"),
        ("start", 2 * B, "the run began at stime 0, but the run began at 2000000"),
    ],
)
def test_a_record_that_does_not_fit_says_in_what(name: str, at: int, told: str, folder: Path) -> None:
    account = json.loads((folder / "ledger.json").read_text())
    (folder / "ledger.json").write_text(json.dumps(account | {name: at}))
    with pytest.raises(VerifiedError, match=told):
        next_stretch(folder)


def test_a_verification_that_ends_while_a_run_is_resumed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record is read before its state, which the next one replaces."""
    shutil.rmtree(folder / "state")
    auroral.prune(folder)
    load, ended, newer = verified.load, [], counted(2).to_bytes()

    def load_and_end_another(of: RunFolder) -> Verified | None:
        found = load(of)
        if not ended and found is not None:
            ended.append(found)
            verified.save(of, replace(found, state=digest(newer)), newer)
        return found

    monkeypatch.setattr(restoring.verified, "load", load_and_end_another)
    engine = PassOn()
    runner = Runner(RunFolder.claim(folder, checked(first, True), {}, {}, False), lambda: engine)
    runner.request_stop()
    runner.run()
    assert ended and engine.loaded == [2]


def test_a_state_that_is_gone_is_said(folder: Path) -> None:
    shutil.rmtree(folder / "state")
    auroral.prune(folder)
    shutil.rmtree(folder / "verified")
    runner = Runner(RunFolder.claim(folder, checked(first, True), {}, {}, False), PassOn)
    with pytest.raises(auroral.AuroralError, match=r"(?s)no fold state is there.*cannot be read: No such file"):
        runner.run()
