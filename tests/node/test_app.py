"""The handle of a run: pushing, subscribing, stopping and failing, with an engine that only passes rows on."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

import auroral
from auroral.edge.client import Boundary, End, Insertion
from auroral.edge.files import InputError, InputSpecError, MissingColumns
from auroral.edge.sinks import OutputError
from auroral.edge.stamping import StampError
from auroral.model.diagram import Input
from auroral.model.schema import schema
from auroral.node.feeds import Given, make_feed
from auroral.node.handle import App, AppError
from auroral.node.pushed import pushed_table
from auroral.node.status import State
from node.running import B, PassOn, runner_in


def diagram() -> auroral.DiagramBuilder:
    d = auroral.diagram("d", bucket="1s")
    d.input("s", "ts long, v long", stime="ts", unit="us").filter("f", "v >= 0").output("out")
    return d


def start(folder: Path, engine: PassOn | None = None, given: Given | None = None) -> App:
    runner = runner_in(folder, diagram().check(), engine or PassOn())
    feeds = [] if given is None else [make_feed(runner.sources["s"], given, runner.clock)]
    return App(runner, feeds, temporary=False)


def test_push_and_subscribe(tmp_path: Path) -> None:
    with start(tmp_path / "run") as app:
        assert app.push("s", [{"ts": 100, "v": 1}, {"ts": 200, "v": 2}]) == 2
        events = app.subscribe("out")
        app.push("s", [{"ts": B, "v": 3}])
        assert next(events) == Insertion(100, {"ts": 100, "v": 1})
        assert next(events) == Insertion(200, {"ts": 200, "v": 2})
        assert next(events) == Boundary(B)
        assert app.is_active and app.exception is None
        app.close("s")
        rest = list(events)
        assert rest == [Insertion(B, {"ts": B, "v": 3}), Boundary(2 * B), End(complete=True)]
        assert app.await_termination(10)
        assert app.status.state is State.FINISHED
        assert app.table("out").to_pydict() == {"stime": [100, 200, B], "ts": [100, 200, B], "v": [1, 2, 3]}
        assert sum(p.rows_out["out"] for p in app.progress) == 3
        assert list(app.subscribe("out", since=B)) == rest


def test_a_subscriber_that_waits_in_vain_gets_the_rest_later(tmp_path: Path) -> None:
    with start(tmp_path / "run") as app:
        assert list(app.subscribe("out", timeout=0.01)) == []
    assert list(app.subscribe("out")) == [End(complete=False)]
    assert app.status.state is State.STOPPED


def test_a_failing_engine_surfaces_everywhere(tmp_path: Path) -> None:
    def fail(lo: int, hi: int) -> None:
        raise ZeroDivisionError("the engine")

    app = start(tmp_path / "run", PassOn(before=fail))
    app.push("s", [{"ts": 0, "v": 1}, {"ts": 5 * B, "v": 1}])
    with pytest.raises(ZeroDivisionError, match="the engine"):
        app.await_termination()
    with pytest.raises(ZeroDivisionError):
        list(app.subscribe("out"))
    with pytest.raises(ZeroDivisionError):
        app.push("s", [])
    assert isinstance(app.exception, ZeroDivisionError)
    with pytest.raises(ZeroDivisionError), app:
        pass


def test_an_error_inside_with_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="mine"), start(tmp_path / "run") as app:
        raise KeyError("mine")
    assert not app.is_active


def test_a_failing_iterable_fails_the_run(tmp_path: Path) -> None:
    def rows() -> Iterator[dict[str, int]]:
        yield {"ts": 0, "v": 1}
        raise OSError("the meter is gone")

    app = start(tmp_path / "run", given=rows())
    with pytest.raises(OSError, match="the meter is gone"):
        app.await_termination()
    again = start(tmp_path / "run", given=iter([{"ts": 0, "v": 1}, {"ts": 7, "v": 2}]))
    again.await_termination()
    assert again.table("out").column("v").to_pylist() == [1, 2]


def test_what_an_input_fails_with_while_the_run_stops_is_noted(tmp_path: Path) -> None:
    began, failed = threading.Event(), threading.Event()

    def items() -> Iterator[dict[str, int]]:
        yield {"ts": 100, "v": 1}
        yield {"ts": 3 * B, "v": 2}
        while app.status.state is not State.STOPPING:
            threading.Event().wait(0.01)
        failed.set()
        raise OSError("the line broke")

    def job(lo: int, hi: int) -> None:
        began.set()
        assert failed.wait(20)

    app = start(tmp_path / "run", PassOn(before=job), items())
    assert began.wait(20)
    app.stop()
    assert app.status.state is State.STOPPED and app.exception is None
    for _ in range(500):
        if app.status.notes:
            break
        threading.Event().wait(0.01)
    assert app.status.notes == ("input 's' failed while the run was stopping: OSError: the line broke",)


def test_rows_that_come_after_the_stop_are_no_failure(tmp_path: Path) -> None:
    given, ended = threading.Event(), threading.Event()

    def items() -> Iterator[dict[str, int]]:
        yield {"ts": 100, "v": 1}
        given.set()
        assert ended.wait(20)
        yield {"ts": 200, "v": 2}

    app = start(tmp_path / "run", given=items())
    assert given.wait(20)
    app.stop()
    # As if it had come by the look at the stop just before.
    app._runner.stopping.clear()
    ended.set()
    for thread in threading.enumerate():
        if thread.name == "auroral-input-s":
            thread.join(20)
    assert app.status.notes == () and app.exception is None


def test_a_list_is_not_taken_twice_after_a_stop(tmp_path: Path) -> None:
    given = [{"ts": i * B, "v": i} for i in range(5)]
    app = start(tmp_path / "run", given=given[:3])
    app.await_termination()
    assert app.table("out").num_rows == 3
    with pytest.raises(AppError, match="has its rows from elsewhere"):
        app.push("s", given)


def test_files_are_read_on_where_the_log_ends(tmp_path: Path) -> None:
    file = tmp_path / "s.csv"
    lines = [f"{i * B},{i}" for i in range(6)]
    file.write_text("\n".join(["ts,v", *lines[:3], ""]))
    app = start(tmp_path / "run")
    app.push("s", [{"ts": i * B, "v": i} for i in range(3)])
    app.stop()
    file.write_text("\n".join(["ts,v", *lines, ""]))
    app = start(tmp_path / "run", given=str(file) + "@100000x")
    app.await_termination()
    assert app.table("out").column("v").to_pylist() == list(range(6))


INPUT = Input("s", schema("ts timestamp, n int, d date, b binary, x double"))


def test_pushed_values_may_be_python_s_own() -> None:
    when = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    table = pushed_table(
        INPUT,
        [
            {"ts": when, "n": 1, "d": when.date(), "b": b"\0", "x": 1},
            {"ts": when.replace(tzinfo=None), "n": "2", "d": "2026-01-02", "b": None, "x": None},
            {"ts": "2026-01-02T03:04:05.000006Z"},
        ],
    )
    assert table.column("ts").to_pylist() == [when] * 3
    assert table.column("n").to_pylist() == [1, 2, None]
    assert table.column("d").to_pylist() == [when.date()] * 2 + [None]
    assert table.column("b").to_pylist() == [b"\0", None, None]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"ts": 1, "v": 1}, {"ts": 1, "v": "many"}], r"row 1 for 's': field 'v': 'many' is no long"),
        ([{"ts": 1, "vv": 1}], r"unknown field 'vv'(?s:.*)did you mean 'v'"),
        ([{"ts": 1}], "lack the field 'v'"),
        ([(1, 2)], "row 0 for 's' is a tuple"),
        (pa.table({"ts": [1], "v": ["x"]}), "do not fit its schema"),
        (pa.table({"ts": [1]}), "lack the field 'v'"),
    ],
)
def test_wrong_rows_are_refused_as_a_whole(tmp_path: Path, rows: object, message: str) -> None:
    with start(tmp_path / "run") as app:
        with pytest.raises(StampError, match=message):
            app.push("s", rows)  # type: ignore[arg-type]
        assert app.status.rows_logged == {"s": 0}


def test_names_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputSpecError, match="no input 'S'"):
        auroral.run(diagram(), inputs={"S": "x.csv"})
    with pytest.raises(InputSpecError, match=r"(?s)no output 'outt'.*did you mean 'out'"):
        auroral.run(diagram(), outputs={"outt": "x.csv"})
    with start(tmp_path / "run") as app, pytest.raises(InputSpecError, match="no output 'nope'"):
        app.subscribe("nope")


def test_what_cannot_be_set_up_leaves_nothing_behind(tmp_path: Path) -> None:
    file, folder = tmp_path / "s.csv", tmp_path / "run"
    with pytest.raises(InputError, match="cannot be read"):
        auroral.run(diagram(), inputs={"s": file}, folder=folder)
    file.write_text("ts,w\n1,2\n")
    with pytest.raises(MissingColumns, match="no column 'v'"):
        auroral.run(diagram(), inputs={"s": file}, folder=folder)
    file.write_text("ts,v\n1,2\n")
    with pytest.raises(OutputError, match="format"):
        auroral.run(diagram(), inputs={"s": file}, outputs={"out": tmp_path / "out.doc"}, folder=folder)
    with pytest.raises(InputSpecError, match="is a int"):
        auroral.run(diagram(), inputs={"s": 5}, folder=folder)  # type: ignore[dict-item]
    assert not folder.exists()


def test_a_batch_needs_all_of_its_input() -> None:
    with pytest.raises(InputSpecError, match="there is none for 's'"):
        auroral.batch(diagram(), {})
