"""The runner's order of things, with an engine that only passes rows on."""

import json
from pathlib import Path

import pytest

import auroral
from auroral.edge.durable import InUse
from auroral.edge.ledger import Reason
from auroral.edge.stamping import StampError
from auroral.model.checking import Checked
from auroral.node.account import Account, AccountError
from auroral.node.outputlog import DamagedOutput, OutputLog
from auroral.node.runfolder import RunFolder, RunFolderError
from auroral.node.runner import Runner
from auroral.node.status import State
from node.running import B, PassOn, rows, runner_in


def checked(inputs: int = 1, late: str = "move") -> Checked:
    d = auroral.diagram("d", bucket="1s")
    streams = [d.input(f"s{i}", "ts long, v long", stime="ts", unit="us", late=late) for i in range(inputs)]
    out = streams[0] if inputs == 1 else streams[0].union("u", *streams[1:])
    out.filter("f", "v >= 0").output("out")
    return d.check()


def stimes(runner: Runner) -> list[float]:
    return [stime / B for stime in runner.outputs.logs["out"].read().column(0).to_pylist()]


def drained(runner: Runner) -> list[float]:
    runner.request_stop()
    runner.run()
    return stimes(runner)


def test_only_closed_buckets_are_given_out(tmp_path: Path) -> None:
    engine = PassOn()
    runner = runner_in(tmp_path / "run", checked(), engine)
    runner.sources["s0"].take(rows(3.5, 4.1, 6.2), 0)
    assert drained(runner) == [3.5, 4.1]
    assert engine.calls == [(3 * B, 6 * B)]
    assert runner.state is State.STOPPED
    assert (runner.account.start, runner.account.frontier) == (3 * B, 6 * B)


def test_end_of_input_closes_the_last_bucket(tmp_path: Path) -> None:
    runner = runner_in(tmp_path / "run", checked(), PassOn())
    runner.sources["s0"].take(rows(3.5, 6.2), 0)
    runner.sources["s0"].end()
    runner.run()
    assert stimes(runner) == [3.5, 6.2]
    assert runner.state is State.FINISHED
    assert runner.account.frontier == runner.account.end == 7 * B


def test_flush_goes_on_for_one_horizon(tmp_path: Path) -> None:
    engine = PassOn()
    runner = runner_in(tmp_path / "run", checked(), engine, flush=True)
    runner.sources["s0"].take(rows(3.5), 0)
    runner.sources["s0"].end()
    runner.run()
    assert engine.calls == [(3 * B, 5 * B)]
    assert (runner.account.end, runner.account.frontier) == (4 * B, 5 * B)


def test_an_older_row_of_another_input_is_not_lost(tmp_path: Path) -> None:
    engine = PassOn()
    runner = runner_in(tmp_path / "run", checked(2), engine)
    runner.sources["s0"].take(rows(50.5, 60.5), 0)
    assert runner._next(engine, runner._spans()) is None, "the other input may begin anywhere"
    runner.sources["s1"].take(rows(10.5, 20.5, 55.5), 0)
    assert drained(runner) == [10.5, 20.5, 50.5]


def test_a_finished_run_has_nothing_left_to_do(tmp_path: Path) -> None:
    for _ in range(2):
        runner = runner_in(tmp_path / "run", checked(), PassOn())
        runner.sources["s0"].end()
        runner.run()
        assert runner.state is State.FINISHED

    def never() -> PassOn:
        raise AssertionError("no engine is needed")

    Runner(RunFolder.claim(tmp_path / "run", checked(), {}, {}, False), never).run()


def test_rows_after_the_end_are_refused(tmp_path: Path) -> None:
    runner = runner_in(tmp_path / "run", checked(), PassOn())
    runner.sources["s0"].end()
    with pytest.raises(StampError, match="after its end"):
        runner.sources["s0"].take(rows(1), 0)
    runner.close()
    with pytest.raises(StampError, match="after the run had stopped"):
        runner.sources["s0"].take(rows(1), 0)


class Killed(BaseException):
    """Stands for SIGKILL: nothing after it happens."""


@pytest.mark.parametrize("moment", ["evaluating", "before the account", "between output and sink"])
def test_a_cut_anywhere_neither_loses_nor_repeats(tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, out = tmp_path / "run", str(tmp_path / "out.jsonl")

    def begin(engine: PassOn) -> Runner:
        return Runner(RunFolder.claim(folder, checked(), {}, {}, False), lambda: engine, {"out": out})

    runner = begin(PassOn())
    runner.sources["s0"].take(rows(1.5, 2.5, 3.5), 0)
    drained(runner)
    runner = begin(PassOn())
    runner.sources["s0"].take(rows(4.5, 5.5, 6.5), 0)

    def cut(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        engine = PassOn()
        if moment == "evaluating":
            engine.before = lambda lo, hi: cut() if lo >= 3 * B else None
            runner._make_evaluator = lambda: engine
        elif moment == "before the account":
            patch.setattr(Account, "save", cut)
        else:
            patch.setattr("auroral.edge.linesink.LineSink._write", cut)
        with pytest.raises(Killed):
            runner.run()
        assert runner.state is State.FAILED
    again = begin(PassOn())
    again.sources["s0"].end()
    again.run()
    assert stimes(again) == [1.5, 2.5, 3.5, 4.5, 5.5, 6.5]
    lines = [json.loads(line) for line in Path(out).read_text().splitlines()]
    assert [line["stime"] / B for line in lines] == stimes(again)
    assert again.account.counts == {("box", "late"): 6}, "each range is counted once"
    assert again.account.rows_in == 6


def test_an_output_file_that_is_new_or_was_removed_gets_everything(tmp_path: Path) -> None:
    folder, out = tmp_path / "run", tmp_path / "out.csv"
    runner = runner_in(folder, checked(), PassOn())
    runner.sources["s0"].take(rows(1.5, 2.5, 3.5), 0)
    drained(runner)
    claimed = RunFolder.claim(folder, checked(), {}, {}, False)
    runner = Runner(claimed, PassOn, {"out": str(out)})
    runner.sources["s0"].end()
    runner.run()
    assert [line.split(",")[0] for line in out.read_text().splitlines()] == ["stime", "1500000", "2500000", "3500000"]


def test_snapshots_are_taken_while_running_and_at_the_stop(tmp_path: Path) -> None:
    d = auroral.diagram("d", bucket="1s")
    s = d.input("s0", "ts long, v long", stime="ts", unit="us")
    s.running("r", {"v": "sum(v)"}, by=["ts"]).output("out")
    folder = tmp_path / "run"
    engine = PassOn()
    runner = runner_in(folder, d.check(), engine, snapshot_buckets=4)
    for at in range(10):
        runner.sources["s0"].take(rows(at + 0.5), 0)
        step = runner._next(engine, runner._spans())
        if step is not None:
            runner._do(engine, step)
    assert runner.snapshots.stimes() == [4 * B, 8 * B]
    assert drained(runner) == [at + 0.5 for at in range(9)]
    assert 9 * B in runner.snapshots.stimes()
    again = PassOn()
    runner = runner_in(folder, d.check(), again, snapshot_buckets=4)
    runner.sources["s0"].end()
    runner.run()
    assert again.loaded == [8], "the newest snapshot that is one horizon below the frontier"
    assert again.calls == [(7 * B, 8 * B), (8 * B, 9 * B), (9 * B, 10 * B)]
    assert again.seen == 10


@pytest.mark.parametrize(
    ("damaged", "loaded", "begin"),
    [(8 * B, [4], 3 * B), (4 * B, [], 0)],
    ids=["changes", "what the changes are of"],
)
def test_a_damaged_snapshot_is_passed_over_and_told(
    tmp_path: Path, damaged: int, loaded: list[int], begin: int
) -> None:
    d = auroral.diagram("d", bucket="1s")
    s = d.input("s0", "ts long, v long", stime="ts", unit="us")
    s.running("r", {"v": "sum(v)"}, by=["ts"]).output("out")
    engine = PassOn()
    runner = runner_in(tmp_path / "run", d.check(), engine, snapshot_buckets=4)
    for at in range(10):
        runner.sources["s0"].take(rows(at + 0.5), 0)
        if (step := runner._next(engine, runner._spans())) is not None:
            runner._do(engine, step)
    drained(runner)
    snapshot = tmp_path / "run" / "state" / f"{damaged}.state"
    content = bytearray(snapshot.read_bytes())
    content[-1] ^= 1
    snapshot.write_bytes(content)
    engine = PassOn()
    runner = runner_in(tmp_path / "run", d.check(), engine)
    drained(runner)
    assert (engine.loaded, engine.calls[0][0], engine.calls[-1][1]) == (loaded, begin, 9 * B)
    assert f"{damaged}.state is damaged" in runner.status().notes[0]


def test_years_without_rows_are_passed_over(tmp_path: Path) -> None:
    engine = PassOn()
    runner = runner_in(tmp_path / "run", checked(), engine)
    runner.sources["s0"].take(rows(1.5, 100_000_000.5), 0)
    runner.sources["s0"].end()
    runner.run()
    assert stimes(runner) == [1.5, 100_000_000.5]
    assert len(engine.calls) <= 3 and engine.restarts == 1


def test_late_rows_are_in_the_ledger_and_the_status(tmp_path: Path) -> None:
    runner = runner_in(tmp_path / "run", checked(late="reject"), PassOn())
    runner.sources["s0"].take(rows(5.5, 1.5, 7.5), 0)
    assert drained(runner) == [5.5]
    assert runner.ledger.count("s0", Reason.LATE) == 1
    status = runner.status()
    assert status.rows_logged == {"s0": 2} and status.rows_in == 1 and status.rows_out == {"out": 1}
    assert (status.buckets, status.lag) == (2, B // 2 + 1)
    assert status.to_json()["ledger"][-1] == {"stream": "s0", "reason": "late", "count": 1}


def test_one_process_at_a_time(tmp_path: Path) -> None:
    runner = runner_in(tmp_path / "run", checked(), PassOn())
    with pytest.raises(InUse):
        runner_in(tmp_path / "run", checked(), PassOn())
    runner.close()
    runner_in(tmp_path / "run", checked(), PassOn()).close()


def test_another_diagram_is_refused_and_the_change_named(tmp_path: Path) -> None:
    runner_in(tmp_path / "run", checked(), PassOn()).close()
    with pytest.raises(RunFolderError, match=r"(?s)- input s0.*MOVE.*\+ input s0.*REJECT|late move.*late reject"):
        runner_in(tmp_path / "run", checked(late="reject"), PassOn())
    with pytest.raises(RunFolderError, match="without flush"):
        runner_in(tmp_path / "run", checked(), PassOn(), flush=True)


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("dear")
    with pytest.raises(RunFolderError, match="is not empty"):
        runner_in(tmp_path, checked(), PassOn())
    assert [path.name for path in tmp_path.iterdir()] == ["letters.txt"]
    with pytest.raises(RunFolderError, match="no run folder"):
        RunFolder.look(tmp_path)


def test_the_stored_diagram_comes_back(tmp_path: Path) -> None:
    given = checked()
    runner_in(tmp_path / "run", given, PassOn()).close()
    assert RunFolder.look(tmp_path / "run").checked.diagram == given.diagram
    assert "flowchart" in (tmp_path / "run" / "diagram.txt").read_text()


def test_a_pickle_that_does_not_load_says_what_to_do(tmp_path: Path) -> None:
    runner_in(tmp_path / "run", checked(), PassOn()).close()
    (tmp_path / "run" / "diagram.pickle").write_bytes(b"cno_such_module\nf\n.")
    with pytest.raises(RunFolderError, match=r"(?s)no_such_module.*only folders that you trust.*PYTHONPATH"):
        RunFolder.look(tmp_path / "run")


def test_a_damaged_account_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    Account(0, 5, counts={("b", "late"): 2}).save(path)
    assert Account.load(path).counts == {("b", "late"): 2}
    path.write_text("{}")
    with pytest.raises(AccountError, match="restore it from a copy"):
        Account.load(path)


def test_a_missing_or_damaged_part_of_an_output_is_an_error(tmp_path: Path) -> None:
    runner = runner_in(tmp_path / "run", checked(), PassOn())
    runner.sources["s0"].take(rows(1.5, 3.5), 0)
    drained(runner)
    folder, schema = runner.folder.output("out"), runner.outputs.logs["out"].schema
    (part,) = folder.glob("part-*")
    part.write_bytes(part.read_bytes()[:50])
    with pytest.raises(DamagedOutput, match="cannot be read"):
        OutputLog.look(folder, schema).read()
    part.unlink()
    with pytest.raises(DamagedOutput, match="part 0 of 1 is missing"):
        OutputLog.look(folder, schema)


def test_clock_stamped_inputs_close_buckets_without_rows(tmp_path: Path) -> None:
    d = auroral.diagram("d", bucket="1s")
    d.input("s0", "ts long, v long").filter("f", "v >= 0").output("out")
    now = [5 * B + 1]
    engine = PassOn()
    runner = runner_in(tmp_path / "run", d.check(), engine, clock=lambda: now[0])
    runner.sources["s0"].take(rows(0), now[0])
    now[0] = 9 * B
    runner._advance()
    step = runner._next(engine, runner._spans())
    assert step is not None and (step.lo, step.hi) == (5 * B, 9 * B)
    runner._do(engine, step)
    assert stimes(runner) == [5 + 1 / B]
    runner.close()


def test_a_run_ends_also_when_closing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for the end would otherwise wait for ever."""
    runner = runner_in(tmp_path / "run", checked(), PassOn())
    runner.sources["s0"].take(rows(3.5), 0)

    def broken() -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(runner, "close", broken)
    runner.request_stop()
    runner.run()
    assert runner.state is State.FAILED
    assert isinstance(runner.error, OSError)
