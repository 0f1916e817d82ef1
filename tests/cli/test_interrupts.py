"""Ctrl-C while a run goes on: what is said, how soon it ends, and what becomes of a failure meanwhile."""

import io
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import auroral
from auroral.commands.interrupts import Asked, followed, noted
from auroral.commands.watching import watching
from auroral.node.handle import App
from auroral.node.jobwatch import JobWatch
from auroral.node.runfolder import RunFolder
from auroral.node.runner import Runner
from auroral.node.status import State
from node.running import B, PassOn


class Busy:
    """An engine with a job that takes until it is let go or cancelled."""

    def __init__(self) -> None:
        self.began, self.go_on, self.cancels = threading.Event(), threading.Event(), 0
        self.error: Exception | None = None

    def before(self, lo: int, hi: int) -> None:
        self.began.set()
        assert self.go_on.wait(20)
        if self.error is not None:
            raise self.error

    def cancel(self) -> None:
        self.cancels += 1
        self.error = RuntimeError("Job 7 cancelled part of cancelled job group")
        self.go_on.set()


@pytest.fixture
def busy() -> Busy:
    return Busy()


@pytest.fixture
def app(tmp_path: Path, busy: Busy) -> App:
    d = auroral.diagram("d", bucket="1s")
    d.input("s", "ts long, v long", stime="ts", unit="us").filter("f", "v >= 0").output("out")
    jobs = JobWatch(B)
    claimed = RunFolder.claim(tmp_path / "run", d.check(), {}, {}, False)
    runner = Runner(claimed, lambda: jobs.over(PassOn(before=busy.before), busy.cancel))
    app = App(runner, [], temporary=False, jobs=jobs)
    app.push("s", [{"ts": 0, "v": 1}, {"ts": 5 * B, "v": 2}])
    assert busy.began.wait(20)
    return app


def follow(app: App, asked: Asked) -> tuple[threading.Thread, io.StringIO]:
    said = io.StringIO()

    def work() -> None:
        with watching(said, as_json=False, title="run") as watch:
            followed(app, asked, watch)

    thread = threading.Thread(target=work)
    thread.start()
    return thread, said


def wait_for(text: str, said: io.StringIO) -> None:
    for _ in range(200):
        if text in said.getvalue():
            return
        threading.Event().wait(0.02)
    raise AssertionError(f"{text!r} was not said: {said.getvalue()!r}")


def test_one_interrupt_after_the_other() -> None:
    with noted() as asked:
        signal.raise_signal(signal.SIGINT)
        assert asked.stop.is_set() and not asked.now.is_set()
        signal.raise_signal(signal.SIGTERM)
        assert asked.now.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_the_first_says_at_once_what_it_does_and_waits_for_the_job(app: App, busy: Busy) -> None:
    asked = Asked()
    thread, said = follow(app, asked)
    asked.stop.set()
    wait_for("stopping after this job; press Ctrl-C again to stop now", said)
    assert app.is_active and app.status.state is State.STOPPING
    busy.go_on.set()
    thread.join(20)
    assert (app.status.state, app.exception, busy.cancels) == (State.STOPPED, None, 0)
    assert app.table("out").num_rows == 1


def test_the_second_gives_the_job_up_and_the_run_goes_on_later(app: App, busy: Busy) -> None:
    asked = Asked()
    thread, said = follow(app, asked)
    asked.stop.set()
    wait_for("again", said)
    asked.now.set()
    thread.join(20)
    assert "stopping now" in said.getvalue()
    assert busy.cancels >= 1
    assert (app.status.state, app.exception) == (State.STOPPED, None)
    assert app.table("out").num_rows == 0


def test_a_failure_meanwhile_is_the_runs_own(app: App, busy: Busy) -> None:
    asked = Asked()
    thread, said = follow(app, asked)
    asked.stop.set()
    wait_for("again", said)
    busy.error = ZeroDivisionError("in the job")
    busy.go_on.set()
    thread.join(20)
    assert app.status.state is State.FAILED
    assert isinstance(app.exception, ZeroDivisionError)


def test_a_keyboard_interrupt_inside_with_does_not_wait_for_the_job(app: App, busy: Busy) -> None:
    with pytest.raises(KeyboardInterrupt), app:
        raise KeyboardInterrupt
    assert not app.is_active and busy.cancels >= 1


def test_what_a_run_is_doing_and_waits_for(app: App, busy: Busy) -> None:
    doing = app.status.doing
    assert doing is not None and (doing.lo, doing.hi, doing.buckets, doing.rows, doing.first) == (0, 5 * B, 5, 2, True)
    busy.go_on.set()
    for _ in range(500):
        if app.status.waiting_for:
            break
        threading.Event().wait(0.01)
    assert app.status.waiting_for == {"s": 5 * B}
    assert app.status.to_json()["waiting_for"] == {"s": 5 * B}
    app.stop()
    assert app.status.waiting_for == {}


AT_EACH_LINE = """
import signal, sys
from auroral.commands.interrupts import noted

for chosen in range(1, 60):
    with noted() as asked:
        lines = 0

        def trace(frame, event, arg):
            global lines
            lines += 1
            if lines == chosen:
                signal.raise_signal(signal.SIGINT)
            return trace

        sys.settrace(trace)
        asked.stop.wait(0.02)
        sys.settrace(None)
        assert asked.stop.is_set() == (lines >= chosen)
print("heard at each of them")
"""


def test_a_signal_is_heard_wherever_the_program_is_that_looks_for_it() -> None:
    """Its handler runs in the same thread: also where that holds a lock, as of an Event that it is about to wait for."""
    program = [sys.executable, "-c", AT_EACH_LINE]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=30, check=False)
    assert ended.stdout.strip() == "heard at each of them", ended.stderr
