"""A run that cannot be set up leaves nothing behind."""

from pathlib import Path

import pytest

import auroral
from auroral.edge.sinks import OutputError
from node.killing import child


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    return place


def diagram() -> auroral.DiagramBuilder:
    d = auroral.diagram("d", bucket="1s")
    d.input("s", "ts long, v long", stime="ts", unit="us").filter("f", "v >= 0").output("out")
    return d


def failing(*_: object, **__: object) -> None:
    raise OutputError("the disk is gone")


@pytest.mark.parametrize("step", ["RunFolder.claim", "Runner", "make_feed"])
@pytest.mark.parametrize("folder", [None, "run"])
def test_nothing_is_left_of_a_run_that_was_not_set_up(
    step: str, folder: str | None, tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = None if folder is None else tmp_path / folder
    monkeypatch.setattr(f"auroral.app.{step}", failing)
    with pytest.raises(OutputError, match="the disk is gone"):
        auroral.run(diagram(), inputs={"s": []}, folder=place)
    assert list(temporary.iterdir()) == []
    assert place is None or not place.exists()


def test_a_run_that_was_there_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auroral.app.start_session", failing)
    app = auroral.run(diagram(), folder=tmp_path / "run")
    with pytest.raises(OutputError):
        app.await_termination()
    monkeypatch.setattr("auroral.app.make_feed", failing)
    with pytest.raises(OutputError, match="the disk is gone"):
        auroral.run(diagram(), inputs={"s": []}, folder=tmp_path / "run")
    assert (tmp_path / "run" / "run.json").exists()


ENDS = """
import itertools
from unittest.mock import patch
import auroral
from node.running import PassOn
from node.test_setup import diagram

patch("auroral.app.EngineEvaluator", lambda *_: PassOn()).start()
patch("auroral.app.start_session").start()
patch("auroral.app.set_job_group").start()
app = auroral.run(diagram(), inputs={"s": ({"ts": i * 100_000, "v": i} for i in itertools.count())})
next(app.subscribe("out"))
print(app.folder.name)
raise SystemExit(3)
"""


@pytest.mark.slow
def test_a_program_that_just_ends_leaves_no_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for _ in range(4):
        process = child(ENDS)
        told, _ = process.communicate(timeout=60)
        assert process.returncode == 3 and told.startswith("auroral-run-")
        assert list(tmp_path.iterdir()) == []
