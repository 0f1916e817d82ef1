"""`auroral run` from end to end with an engine that only passes rows on: failing, mending, resuming, and ending loudly."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from auroral.commands import run as run_command
from auroral.engine.failures import UserCodeFailed
from auroral.engine.footprint import Footprint
from auroral.model.boxes.apply import TypedApply
from auroral.model.checking import Checked
from auroral.node.evaluator import Evaluated
from auroral.node.source import Source
from auroral.node.storeddiagram import replaced_notes
from cli.conftest import Call
from node.running import PassOn

PROGRAM = """
import auroral

def judged(df):
    return {body}

d = auroral.diagram("d", bucket="1s")
s = d.input("s", "ts long, v long", stime="ts", unit="us")
s.apply("g", judged, schema="ts long, v long").output("out")
"""


class CallsFunctions(PassOn):
    """Calls the diagram's functions as the engine would, with the range's rows as a list."""

    def __init__(self, _session: object, checked: Checked, _folder: Path):
        super().__init__()
        self._functions = [box.typed.function for box in checked.boxes if isinstance(box.typed, TypedApply)]

    def run(self, lo: int, hi: int, sources: Mapping[str, Source]) -> Evaluated:
        for function in self._functions:
            for source in sources.values():
                try:
                    function(source.read(lo, hi).column("v").to_pylist())
                except ZeroDivisionError as error:
                    raise UserCodeFailed(f"function 'judged' failed: {error}", lo, hi) from error
        return super().run(lo, hi, sources)


@pytest.fixture
def stubbed(auroral: Call, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.setattr("auroral.app.EngineEvaluator", CallsFunctions)
    for name in ("session_for", "must_have_java"):
        monkeypatch.setattr(run_command, name, lambda *_, **__: object())
    for name in ("set_job_group", "cancel_job_group"):
        monkeypatch.setattr(f"auroral.app.{name}", lambda *_, **__: None)
    monkeypatch.setattr("auroral.app.footprint_of", lambda _: Footprint)
    return auroral


def program(place: Path, body: str, **other: str) -> str:
    text = PROGRAM.format(body=body)
    for before, after in other.items():
        text = text.replace(before, after)
    (place / "f.py").write_text(text)
    return "f.py"


def rows(place: Path, count: int = 5) -> str:
    (place / "s.csv").write_text("ts,v\n" + "".join(f"{i * 1_000_000},{i}\n" for i in range(count)))
    return "s=s.csv"


BROKEN, MENDED = "[1 // (v - 3) for v in df]", "[1 // (v - 3) if v != 3 else 0 for v in df]"


def test_a_mended_function_goes_on_in_the_same_run(stubbed: Call, tmp_path: Path) -> None:
    file, given = program(tmp_path, BROKEN), rows(tmp_path)
    failed = stubbed("run", file, "--input", given, "--output", "out=out.csv", "--folder", "rf")
    assert failed.code == 1
    assert "next: mend the function, then go on with: auroral run f.py --resume rf" in failed.err
    again = stubbed("run", "--resume", "rf")
    assert again.code == 1 and "auroral run FILE --resume rf" in again.err
    program(tmp_path, MENDED)
    mended = stubbed("run", file, "--resume", "rf")
    assert (mended.code, mended.err) == (0, "")
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 6
    (note,) = replaced_notes(tmp_path / "rf")
    assert f"note: {note}" in mended.out


def test_a_run_with_its_file_must_be_of_the_same_diagram(stubbed: Call, tmp_path: Path) -> None:
    file, given = program(tmp_path, BROKEN), rows(tmp_path)
    stubbed("run", file, "--input", given, "--folder", "rf", "--bucket", "2s")
    other = stubbed("run", file, "--resume", "rf")
    assert other.code == 1
    assert "- bucket 2000000" in other.err and "+ bucket 1000000" in other.err and "--bucket" in other.err
    program(tmp_path, MENDED)
    assert stubbed("run", file, "--resume", "rf", "--bucket", "2s").code == 0
    changed = stubbed("run", program(tmp_path, MENDED, v="w"), "--resume", "rf", "--bucket", "2s")
    assert changed.code == 1 and "another diagram" in changed.err


@pytest.mark.parametrize("option", [("--input", "s=s.csv"), ("--flush",), ("--folder", "x"), ("--bucket", "1s")])
def test_options_that_change_a_resumed_run_are_refused(stubbed: Call, tmp_path: Path, option: tuple[str, ...]) -> None:
    file, given = program(tmp_path, MENDED), rows(tmp_path)
    assert stubbed("run", file, "--input", given, "--folder", "rf").code == 0
    assert stubbed("run", "--resume", "rf", *option).code == 2
    assert stubbed("run", file, "--resume", "rf", *option).code == (0 if option[0] == "--bucket" else 2)


def test_the_corrected_command_is_not_blocked_by_what_failed(stubbed: Call, tmp_path: Path) -> None:
    file, given = program(tmp_path, "1 // 0"), rows(tmp_path)
    assert stubbed("run", file, "--input", given, "--output", "out=out.csv").code == 1
    program(tmp_path, MENDED)
    assert stubbed("run", file, "--input", given, "--output", "out=out.csv").code == 0
    folders = [path.name for path in (tmp_path / "auroral-runs").iterdir()]
    assert len(folders) == 2, "two runs of one second have folders of their own"


def test_an_input_that_gave_no_row_ends_loudly(stubbed: Call, tmp_path: Path) -> None:
    file = program(tmp_path, MENDED)
    (tmp_path / "s.csv").write_text("ts,v\n2026-03-01,1\n")
    ended = stubbed("run", file, "--input", "s=s.csv", "--folder", "rf")
    assert ended.code == 1
    assert "finished, BUT WITHOUT ROWS" in ended.out
    assert "error: no row of input 's' was taken: 1 refused; the first: " in ended.err and "next: " in ended.err
    machine = stubbed("run", file, "--input", "s=s.csv", "--folder", "rf2", "--json")
    end: dict[str, Any] = json.loads(machine.out.splitlines()[-1])
    assert machine.code == 1 and end["finished"] and "no row of input" in end["error"]


def test_an_input_that_nobody_reads_needs_no_rows(stubbed: Call, tmp_path: Path) -> None:
    unread = PROGRAM + 'd.input("idle", "ts long, v long", stime="ts", unit="us")\n'
    (tmp_path / "f.py").write_text(unread.format(body=BROKEN))
    given = rows(tmp_path)
    assert stubbed("run", "f.py", "--input", given, "--folder", "rf").code == 1
    (tmp_path / "f.py").write_text(unread.format(body=MENDED))
    ended = stubbed("run", "f.py", "--resume", "rf")
    assert ended.code == 0
    assert "input 'idle' is left out: no box reads it" in ended.err
    (tmp_path / "idle.csv").write_text("ts,v\n1,1\n")
    both = stubbed("run", "f.py", "--input", given, "--input", "idle=idle.csv", "--folder", "rf2")
    assert both.code == 0 and "left out" not in both.err


def test_a_run_of_one_participant_is_not_gone_on_with_as_anothers(stubbed: Call, tmp_path: Path) -> None:
    file, given = program(tmp_path, BROKEN), rows(tmp_path)
    stubbed("run", file, "--input", given, "--folder", "rf")
    other = {'diagram("d"': 'diagram("d", participant="acme"'}
    refused = stubbed("run", program(tmp_path, MENDED, **other), "--resume", "rf")
    assert refused.code == 1
    assert "- input s (" in refused.err and "+ input acme/s (" in refused.err
