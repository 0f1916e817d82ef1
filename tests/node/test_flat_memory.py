"""What a run keeps in memory does not grow with its length."""

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from auroral.edge import logindex
from auroral.node.status import RATE_SECONDS, Rates
from node.running import B, PassOn, rows, runner_in
from node.test_runner import checked, drained, stimes


def test_evaluated_records_are_merged_also_when_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bytes_held: Callable[[str], int]
) -> None:
    monkeypatch.setattr(logindex, "MERGED", 32)
    first = runner_in(tmp_path / "run", checked(), PassOn())
    for second in range(200):
        first.sources["s0"].take(rows(second + 0.5), 0)
    whole = bytes_held(logindex.__file__)
    assert len(drained(first)) == 199
    assert bytes_held(logindex.__file__) < whole / 3
    del first
    again = runner_in(tmp_path / "run", checked(), PassOn())
    assert bytes_held(logindex.__file__) < whole / 3
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
        if second == 2 * RATE_SECONDS:
            held = len(pickle.dumps(rates))
    assert len(pickle.dumps(rates)) < 1.2 * held
    assert rates.at(999.0) == pytest.approx((1.1, 1.1))
