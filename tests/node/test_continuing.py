"""Going on with an input that is given again: it must be the one that was read before, and nothing of it is lost or repeated."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import auroral
from auroral.edge.batches import Batch, InputError
from auroral.edge.refusals import Refused
from auroral.model.checking import Checked
from auroral.node import feeds
from auroral.node.feeds import Feed, make_feed
from auroral.node.handle import App
from auroral.node.runfolder import RunFolder
from auroral.node.runner import Runner
from node.running import PassOn


def checked(late: str = "move") -> Checked:
    d = auroral.diagram("d", bucket="1s")
    d.input("s", "ts long, v long", stime="ts", unit="ms", late=late).filter("f", "v >= 0").output("out")
    return d.check()


def runner_of(folder: Path, late: str = "move") -> Runner:
    return Runner(RunFolder.claim(folder, checked(late), {}, {}, False), PassOn)


def start(folder: Path, given: Any = None, late: str = "move") -> App:
    runner = runner_of(folder, late)
    try:
        made = [] if given is None else [make_feed(runner.sources["s"], given, runner.clock)]
    except BaseException:
        runner.close()
        raise
    return App(runner, made, temporary=False)


def values(app: App) -> list[int]:
    app.await_termination()
    found: list[int] = app.table("out").column("v").to_pylist()
    return found


def some(first: int, end: int) -> list[dict[str, int]]:
    return [{"ts": i * 100, "v": i} for i in range(first, end)]


def csv(path: Path, first: int, end: int, tail: str = "") -> Path:
    path.write_text("ts,v\n" + "".join(f"{row['ts']},{row['v']}\n" for row in some(first, end)) + tail)
    return path


def read_some(folder: Path, given: Any, batches: int, monkeypatch: pytest.MonkeyPatch, late: str = "move") -> None:
    """A run that is cut off after this many batches of 10 rows."""
    monkeypatch.setattr(feeds, "BATCH_ROWS", 10)
    runner = runner_of(folder, late)
    feed = make_feed(runner.sources["s"], given, runner.clock)
    stop = threading.Event()
    woken = 0

    def wake() -> None:
        nonlocal woken
        woken += 1
        if woken == batches:
            stop.set()

    feed.run(stop, wake)
    runner.close()


FORMS = ["csv", "jsonl", "parquet", "table", "list", "frame", "generator"]


def written(place: Path, form: str, first: int, end: int) -> Any:
    rows = some(first, end)
    table = pa.Table.from_pylist(rows, pa.schema([("ts", pa.int64()), ("v", pa.int64())]))
    if form == "csv":
        return str(csv(place / "in.csv", first, end))
    if form == "jsonl":
        pd.DataFrame(rows).to_json(place / "in.jsonl", orient="records", lines=True)
        return str(place / "in.jsonl")
    if form == "parquet":
        pq.write_table(table, place / "in.parquet")
        return place / "in.parquet"
    return {"table": table, "list": rows, "frame": pd.DataFrame(rows), "generator": (row for row in rows)}[form]


@pytest.mark.parametrize("form", FORMS)
def test_the_same_input_is_gone_on_with_also_when_it_has_grown(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_some(tmp_path / "run", written(tmp_path, form, 0, 60), 3, monkeypatch)
    app = start(tmp_path / "run", written(tmp_path, form, 0, 75))
    assert values(app) == list(range(75))
    assert app.ledger.count("s") == 0


@pytest.mark.parametrize("form", FORMS)
def test_another_input_is_refused(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read_some(tmp_path / "run", written(tmp_path, form, 0, 60), 3, monkeypatch)
    with pytest.raises(InputError, match=r"(?s)'s'.*not what was read before.*allowed: .*next: "):
        values(start(tmp_path / "run", written(tmp_path, form, 1000, 1060)))


@pytest.mark.parametrize("form", FORMS)
def test_a_shorter_input_is_refused(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read_some(tmp_path / "run", written(tmp_path, form, 0, 60), 3, monkeypatch)
    with pytest.raises(InputError, match=r"(?s)'s'.*(shorter|only \d+ rows).*allowed: .*next: "):
        values(start(tmp_path / "run", written(tmp_path, form, 0, 2)))


def test_a_file_cut_behind_what_was_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_some(tmp_path / "run", str(csv(tmp_path / "a.csv", 0, 60)), 3, monkeypatch)
    with pytest.raises(InputError, match="shorter"):
        start(tmp_path / "run", str(csv(tmp_path / "a.csv", 0, 50)))


def test_a_changed_head_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = csv(tmp_path / "a.csv", 0, 60)
    read_some(tmp_path / "run", str(path), 3, monkeypatch)
    path.write_text(path.read_text().replace("\n0,0\n", "\n0,9\n"))
    with pytest.raises(InputError, match="beginning"):
        start(tmp_path / "run", str(path))


def test_the_same_file_elsewhere_is_fine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_some(tmp_path / "run", str(csv(tmp_path / "a.csv", 0, 60)), 2, monkeypatch)
    os.replace(tmp_path / "a.csv", tmp_path / "b.csv")
    assert values(start(tmp_path / "run", str(tmp_path / "b.csv"))) == list(range(60))


def test_rows_that_were_pushed_are_not_skipped_in_an_unlike_file(tmp_path: Path) -> None:
    app = start(tmp_path / "run")
    app.push("s", some(0, 60))
    app.stop()
    with pytest.raises(InputError, match="not what was read before"):
        start(tmp_path / "run", str(csv(tmp_path / "b.csv", 1000, 1100)))
    assert values(start(tmp_path / "run", str(csv(tmp_path / "c.csv", 0, 70)))) == list(range(70))


@pytest.mark.parametrize("late", ["move", "reject", "drop"])
def test_rows_that_were_left_out_do_not_disturb(tmp_path: Path, late: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "ts,v\n" + "".join(f"{i * 1000 if i % 4 else 0},{'x' if i % 7 == 3 else i}\n" for i in range(60))
    (tmp_path / "a.csv").write_text(text)
    read_some(tmp_path / "run", str(tmp_path / "a.csv"), 3, monkeypatch, late)
    found = values(start(tmp_path / "run", str(tmp_path / "a.csv"), late))
    assert found == values(start(tmp_path / "whole", str(tmp_path / "a.csv"), late))


def test_an_input_that_had_ended_is_not_read_again_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = csv(tmp_path / "a.csv", 0, 20)
    read_some(tmp_path / "run", str(path), 3, monkeypatch)
    app = start(tmp_path / "run", str(csv(path, 0, 30)))
    assert values(app) == list(range(20))
    assert any("'s' had ended" in note and "a.csv" in note for note in app.status.notes)
    path.unlink()
    assert values(start(tmp_path / "run", str(path))) == list(range(20))


def test_an_iterator_is_gone_on_with_however_it_is_cut(tmp_path: Path) -> None:
    class Broken(Exception):
        pass

    def first() -> Iterator[Any]:
        yield some(0, 3)
        yield some(3, 4)[0]
        raise Broken

    app = start(tmp_path / "run", first())
    with pytest.raises(Broken):
        app.await_termination()
    assert values(
        start(tmp_path / "run", iter([some(0, 1), (row for row in some(1, 7)), pd.DataFrame(some(7, 9))]))
    ) == [*range(9)]


def test_generators_as_items_are_taken(tmp_path: Path) -> None:
    assert values(start(tmp_path / "run", iter([(row for row in some(0, 3))]))) == [0, 1, 2]


def test_batches_are_split_at_a_row() -> None:
    refused = tuple(Refused("f", n, n, None, "", "", "") for n in (11, 13))
    batch = Batch(pa.table({"v": [10, 12, 14]}), 10, 5, refused)
    for at, good, bad in ((9, 0, 0), (11, 1, 0), (12, 1, 1), (13, 2, 1), (20, 3, 2)):
        one, other = batch.split(at)
        assert (one.rows.num_rows, len(one.refused)) == (good, bad)
        assert one.read + other.read == 5 and one.end == other.first
        assert one.rows.num_rows + other.rows.num_rows == 3 and len(one.refused) + len(other.refused) == 2


class Impatient(threading.Event):
    """Does not wait, and counts what it was asked to; set after `most` times."""

    def __init__(self, most: int):
        super().__init__()
        self.asked: list[float] = []
        self._most = most

    def wait(self, timeout: float | None = None) -> bool:
        self.asked.append(timeout or 0.0)
        return len(self.asked) >= self._most


def test_a_far_row_is_waited_for_in_slices_and_told_of(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("ts,v\n0,0\n253402214400000,1\n")
    runner = runner_of(tmp_path / "run")
    source = runner.sources["s"]
    feed: Feed = make_feed(source, f"{path}@1x", runner.clock)
    told: list[str] = []

    class Watching(Impatient):
        def wait(self, timeout: float | None = None) -> bool:
            told.extend(source.notes)
            return super().wait(timeout)

    stop = Watching(5)
    feed.run(stop, lambda: None)
    assert len(stop.asked) == 5 and max(stop.asked) <= 60
    assert source.state.rows == 1
    assert "row 2" in told[0] and "days" in told[0] and "'s'" in told[0]
    assert source.notes == []
    runner.close()
