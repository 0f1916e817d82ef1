"""States of folds as jobs of replicas hand them on: as values, which are written only when they are stored or sent."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from auroral.dpc.events import Evaluate, Evaluated, Send, Started
from auroral.dpc.values import Content, GiveState, Grant, Snapshot
from auroral.engine.foldstates import FoldStates
from auroral.node.fleet.clock import Clock
from auroral.node.fleet.contents import as_sent, state_content, states_in, to_be_written
from auroral.node.fleet.evaluation import Evaluation
from auroral.node.fleet.host import Host
from auroral.wire.codec import from_bytes, to_bytes
from fleet.test_evaluation import View, all_of, contents, cut_in_two, evaluation, rows
from store.corestores import fold_states


def evaluated(
    used: Evaluation, view: View, begin: int, end: int, state: Snapshot, tentative: bool = False
) -> Evaluated:
    seen = {stream: {b: c for b, c in given.items() if b < end} for stream, given in view.items()}
    return used.run(Evaluate(begin, ("totals",), begin, end, seen, tentative, 0, {"totals": state}))


def views(spark: Any, tmp_path: Path, seed: int) -> View:
    view: View = {stream: contents(table) for stream, table in rows(seed).items()}
    return view | all_of(evaluation(spark, cut_in_two(), "front", tmp_path / "front"), view, random.Random(seed))


@pytest.mark.spark
def test_jobs_hand_values_on_and_begin_anew_from_whatever_they_are_given(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view, fragments = views(spark, tmp_path, 6), cut_in_two()
    used, begun = evaluation(spark, fragments, "back", tmp_path / "used"), []
    begin = Evaluation._begin
    monkeypatch.setattr(Evaluation, "_begin", lambda *given: begun.append(given[4]) or begin(*given))  # type: ignore[func-returns-value]
    states, found = [Snapshot(0, None)], []
    with monkeypatch.context() as unwritten:
        unwritten.setattr(FoldStates, "rows", lambda *_: pytest.fail("written"))
        for bucket in range(8):
            found.append(evaluated(used, view, bucket, bucket + 1, states[-1]))
            states.append(Snapshot(bucket + 1, found[-1].states["totals"]))
    assert begun == [0], "after the first bucket it goes on"
    stable = states[5].state
    assert stable is not None and isinstance(stable.rows, FoldStates) and stable.count == 2
    # In the other line; from a value, from rows that another replica sent, and in one job.
    for given in (stable, Content(stable.hash, stable.count, stable.rows.rows())):
        again = evaluated(used, view, 5, 6, Snapshot(5, given), tentative=True)
        assert again.contents == found[5].contents and again.states == found[5].states, "the same digest"
    whole = evaluated(evaluation(spark, fragments, "back", tmp_path / "whole"), view, 0, 8, Snapshot(0, None))
    assert whole.states == found[7].states
    # Of what was never seen the state is another one.
    less = {**view, "both": {**view["both"], 3: Content(0, 0)}}
    assert evaluated(used, less, 0, 8, Snapshot(0, None)).states != whole.states
    assert begun == [0, 5, 5, 0, 0]


def test_a_state_is_sent_as_rows_and_is_the_same_state_where_it_comes() -> None:
    given = state_content(fold_states(100))
    message = GiveState("f", Snapshot(7, given))
    assert to_be_written(message) is message and to_be_written(Grant(1)) is None
    assert to_be_written(GiveState("f", Snapshot(0, None))) is None
    sent = as_sent(message)
    came = from_bytes(to_bytes(sent))
    assert isinstance(came, GiveState) and came == message and came.snapshot.state is not None
    found = states_in(came.snapshot.state)
    assert found.digest == given.rows.digest and state_content(found) == given
    assert to_be_written(came) is None, "it can be sent on as it is"


class Transport:
    node = "n"

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def opened(self, core: str) -> None: ...

    def closed(self, core: str) -> None: ...

    def send(self, sender: str, to: str, message: Any) -> None:
        to_bytes(message)
        self.sent.append(message)


class Core:
    def handle(self, event: Any, now: float) -> list[Any]:
        return [Send("b", GiveState("f", Snapshot(7, state_content(fold_states(100))))), Send("b", Grant(2))]


def test_what_is_said_does_not_wait_for_a_state_to_be_written() -> None:
    async def run() -> list[Any]:
        transport = Transport()
        host = Host(Clock(), transport)  # type: ignore[arg-type]
        host.start("core", Core(), Started())  # type: ignore[arg-type]
        assert transport.sent == [Grant(2)]
        for _ in range(500):
            if len(transport.sent) > 1:
                break
            await asyncio.sleep(0.01)
        await host.stop()
        return transport.sent

    grant, state = asyncio.run(run())
    assert grant == Grant(2) and state.snapshot.state.rows.num_rows == 100
