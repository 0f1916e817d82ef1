"""A replica that cannot be started does not end its node: the others on it run, it is told of, and it is tried again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import auroral
from auroral.commands.fleet.status import table
from auroral.dpc.transitions import Transitions
from auroral.edge.durable import StorageFull
from auroral.node.fleet.eventlog import events_in
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import Fleet
from auroral.node.fleet.roles.node import NodeProcess
from auroral.node.store.corestore import CoreStore

SETS = """
replica_sets:
  - {name: front, queries: [clean], nodes: [":16000", ":16100"]}
  - {name: back, queries: [count], nodes: [":16000", ":16200"]}
"""


def test_the_others_run_and_it_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    d = auroral.diagram("named", bucket="500ms")
    with d.query("clean"):
        good = d.input("east", "n int").filter("good", "n > 0")
    with d.query("count"):
        good.filter("many", "n > 5").output(availability="8s")
    deployed = prepare(tmp_path / "live", d.check(), SETS).begin(100)
    open_, full = CoreStore.open, iter([True, True])

    def opened(folder: Path, **how: Any) -> CoreStore:
        if "front@fronta" in str(folder) and next(full, False):
            raise StorageFull("the disk is full")
        return open_(folder, **how)

    monkeypatch.setattr(CoreStore, "open", opened)
    started: list[str] = []

    async def tried() -> list[tuple[list[str], dict[str, str]]]:
        process, found = NodeProcess(deployed, "fronta", "engine"), []
        process.evaluations, process.stores, process._transitions = {}, {}, Transitions()
        process.not_started, process._following = {}, asyncio.Lock()
        monkeypatch.setattr(
            process,
            "_evaluation",
            lambda core: SimpleNamespace(
                first=0, spent={False: 0.0, True: 0.0}, ran={False: 0, True: 0}, left_out={}, close=lambda: None
            ),
        )
        monkeypatch.setattr(process.host, "start", lambda core, *_: started.append(core))
        for _ in range(3):
            await process.follow(deployed.layout)
            found.append((list(started), process.status()["not_started"]))
        process._close_stores()
        process.events.close()
        return found

    failing, again, mended = asyncio.run(tried())
    assert failing == (["back@fronta"], {"front@fronta": "the disk is full"}) == again
    assert mended == (["back@fronta", "front@fronta"], {})
    # Once, though it was tried again.
    told = [(event["event"], event["core"], event["detail"]) for event in events_in(deployed.folder)]
    assert told == [("not started", "front@fronta", "the disk is full")]
    client = {
        "kind": "client",
        "streams": {},
        "sinks": [],
        "counts": dict.fromkeys(("stable", "tentative", "confirmed", "corrected"), 0),
    }
    shown = table(
        Fleet(deployed), {"fronta": {"kind": "node", "outputs": {}, "not_started": failing[1]}, "client": client}
    )
    assert (
        "front   cannot start" in shown
        and "front@fronta cannot be started, and is tried again: the disk is full" in shown
    )
