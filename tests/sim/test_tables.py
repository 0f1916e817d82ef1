"""A table under failures: tentative answers from what it has, and in the end what a run without failures gives."""

from __future__ import annotations

import pytest

import auroral
from auroral.model.builder import DiagramBuilder
from auroral.sim import under_failures

OPENED = [{"ts": 500_000 * step + 100, "n": step} for step in range(40)]
MOVED = [{"ts": 500_000 * step + 100, "n": step * 3 % 7} for step in range(40)]


def bank() -> DiagramBuilder:
    d = auroral.diagram("bank", bucket="500ms")
    accounts = d.table("accounts", "id int, balance double", key=["id"], contents=[{"id": 0, "balance": 100.0}])
    opened, moved = (d.input(name, "ts long, n int", stime="ts", unit="us") for name in ("opened", "moved"))
    opened.insert("open", accounts, {"id": "n", "balance": "0.0"})
    changed = moved.update(
        "move",
        accounts,
        {"balance": "balance + 1.0"},
        where="id = n",
        columns={"id": "new.id", "balance": "new.balance"},
    )
    rich = moved.select("rich", accounts, where="balance > 1.0")
    assert changed is not None and not isinstance(rich, tuple)
    changed.output(availability="3s")
    rich.output(availability="3s")
    return d


@pytest.mark.slow
@pytest.mark.parametrize(
    ("failures", "guessed"),
    [
        # Without payments nothing is asked; without openings the table answers from what it has.
        ("at 4s silence opened; at 10s resume opened", True),
        ("at 4s silence moved; at 10s resume moved", False),
        ("at 3s crash na; at 9s restart na", False),
        ("at 3s crash na; at 4s silence opened; at 7s restart na; at 9s resume opened", True),
    ],
)
def test_d11_a_table_ends_as_without_failures(failures: str, guessed: bool) -> None:
    sources = {"opened": OPENED, "moved": MOVED}
    calm, tried = under_failures(bank(), sources), under_failures(bank(), sources, failures)
    assert calm.ok and tried.ok, tried.violations
    assert any(answer.rows for answer in tried.tentative) == guessed
    for stream in ("move", "rich"):
        assert calm.rows(stream) and sorted(map(repr, tried.rows(stream))) == sorted(map(repr, calm.rows(stream)))
