"""What a run keeps in memory does not grow with its length."""

from pathlib import Path

import pytest

from auroral.edge import logindex
from auroral.edge.sourcelog import SourceLog
from auroral.node.source import Source
from auroral.node.status import RATE_SECONDS, Rates
from node.running import B, PassOn, rows, runner_in
from node.test_runner import checked, drained, stimes


def indexed(source: Source) -> int:
    log: SourceLog = source.log
    return len(log._index._columns["number"])


def test_evaluated_records_are_merged_also_when_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logindex, "MERGED", 10)
    first = runner_in(tmp_path / "run", checked(), PassOn())
    for second in range(200):
        first.sources["s0"].take(rows(second + 0.5), 0)
    assert indexed(first.sources["s0"]) == 200, "nothing was evaluated yet"
    assert len(drained(first)) == 199
    assert indexed(first.sources["s0"]) < 40
    again = runner_in(tmp_path / "run", checked(), PassOn())
    assert indexed(again.sources["s0"]) < 40
    assert again.sources["s0"].next_row(17 * B) == round(17.5 * B)
    assert again.sources["s0"].span().first == B // 2
    again.sources["s0"].take(rows(200.5), 0)
    again.sources["s0"].end()
    again.run()
    assert stimes(again) == [second + 0.5 for second in range(201)]


def test_rates_forget_what_is_long_past_also_when_nobody_looks() -> None:
    rates = Rates()
    for second in range(1000):
        rates.add(float(second), 0.1, 1, 1)
    assert len(rates._marks) <= RATE_SECONDS + 1
    assert rates.at(999.0) == pytest.approx((1.1, 1.1))
