"""The process that has the catalog: moves and changes queries, and writes down who is where and in which state."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from auroral.dpc.assembly import CATALOG
from auroral.dpc.events import Event, GiveUp, MoveTo, Propose, Started
from auroral.dpc.layout import Layout, moved
from auroral.dpc.reconfiguration import Reconfiguration
from auroral.dpc.why import arranged
from auroral.edge.durable import StorageError, claim
from auroral.model.errors import AuroralError
from auroral.node.fleet.catalog import CatalogStore, catalog_in
from auroral.node.fleet.process import Process
from auroral.node.fleet.processes import Fleet
from auroral.node.storeddiagram import diagram_words

_log = logging.getLogger(__name__)
_LOOK_EVERY, _RETRY = 2.0, 2.0
_STORED_WITHIN = 8.0


class CatalogProcess(Process):
    async def prepare(self) -> None:
        # Another one would undo what this one decides.
        lock = claim(self.deployed.folder / "catalog.lock", "the catalog of a deployment")
        self.opened.callback(os.close, lock)
        self.catalog = await asyncio.to_thread(catalog_in, self.deployed.folder)
        self.store = CatalogStore(self.catalog, self.deployed.layout_file)
        self.opened.callback(self.catalog.close)
        self.doing |= {"move": self._move, "change": self._change, "give up": self._give_up, "why": self._why}
        self._states: dict[tuple[str, str], str] = {}
        if self.new:
            # What is wrong with its address is said before anything begins.
            await asyncio.to_thread(self._open)

    def _open(self) -> Layout | None:
        deployed = self.deployed
        words, agreed = diagram_words(deployed.checked), json.dumps(asdict(deployed.agreed))
        self.catalog.begin(deployed.folder, agreed, words, deployed.agreed.endpoints)
        return self.store.started()

    async def begin(self) -> None:
        """The others do not wait for it: where its database is away, nothing is moved or changed until it is back."""
        self.opened.push_async_callback(self.host.stop)
        self.in_the_background(self._run())

    async def _run(self) -> None:
        while True:
            try:
                layout = await asyncio.to_thread(self._open)
                break
            except StorageError as error:
                _log.error("%s", error)
                await asyncio.sleep(_RETRY)
        assembly = self.deployed.assembly
        core = assembly.reconfiguration(layout or assembly.layout)
        self.host.start(CATALOG, core, Started(layout=layout), self.store)
        while True:
            await self._look()
            await asyncio.sleep(_LOOK_EVERY)

    async def _look(self) -> None:
        """Who runs, where and in which state."""
        found = _states(await asyncio.to_thread(Fleet(self.deployed).status))
        changed = {key: state for key, state in found.items() if self._states.get(key) != state}
        if not changed:
            return
        try:
            await asyncio.to_thread(self.catalog.locate, self.deployed.agreed.endpoints)
            await asyncio.to_thread(self.catalog.seen, changed)
            self._states = found
        except StorageError as error:
            # What the protocol needs is written when it is needed; this is to be looked at.
            _log.error("%s", error)

    def status(self) -> dict[str, Any]:
        """As it is written down: what is only in memory may never be."""
        core, layout = self.host.cores.get(CATALOG), self.store.written
        if not isinstance(core, Reconfiguration) or layout is None:
            return {"kind": "catalog", "away": True}
        return {
            "kind": "catalog",
            "members": {query: list(members) for query, members in layout.members.items()},
            "moving": layout.moving,
            "phase": None if layout.moving is None else layout.phase.name,
            "changing": layout.changing,
            "starts": {query: list(decision.starts) for query, decision in layout.versions.items()},
            "waits_for": sorted(
                (layout.concerned(core.topology) | layout.read_by_change(core.topology)) & core.untold.keys()
            ),
            "added": {query: list(streams) for query, streams in layout.added.items()},
            "wanted": [asdict(wanted) for wanted in layout.wanted],
        }

    async def _why(self, asked: Mapping[str, Any]) -> str | None:
        core, stream = self.host.cores.get(CATALOG), str(asked["stream"])
        if not isinstance(core, Reconfiguration) or not any(stream in made for made in core.topology.outputs.values()):
            return None
        return "\n  ".join(arranged(core, stream))

    @property
    def _core(self) -> Reconfiguration:
        core = self.host.cores.get(CATALOG)
        if not isinstance(core, Reconfiguration):
            raise AuroralError("the catalog's database is away\n    next: look into logs/catalog.log, and mend that")
        return core

    async def _tell(self, event: Event) -> None:
        """Comes back when what follows from it is written down."""
        self.host.tell(CATALOG, event)
        async with asyncio.timeout(_STORED_WITHIN):
            while self._core.layout != self.store.written:
                await asyncio.sleep(0.02)

    async def _move(self, asked: Mapping[str, Any]) -> None:
        wanted = MoveTo(str(asked["query"]), str(asked["leaves"]), str(asked["comes"]))
        planned = self._core.layout.planned(wanted.query)
        if moved(planned, wanted.leaves, wanted.comes) == planned:
            raise AuroralError(
                f"{wanted.leaves} cannot go to {wanted.comes}\n    allowed: one of {', '.join(planned)}, to a node that has none of them"
            )
        await self._tell(wanted)

    async def _change(self, asked: Mapping[str, Any]) -> None:
        """Its boxes are in the folder."""
        query, version = str(asked["query"]), int(asked["version"])
        await asyncio.to_thread(self.catalog.changed, int(asked["diagram"]), str(asked["words"]))
        layout = self._core.layout
        busy = layout.changing == query or any(one.query == query and not one.comes for one in layout.wanted)
        if busy or len(layout.decision(query).starts) != version:
            raise AuroralError(
                f"{query} was changed meanwhile\n    next: look at it with auroral catalog, and change it again"
            )
        await self._tell(Propose(query, tuple(map(str, asked["inputs"]))))

    async def _give_up(self, asked: Mapping[str, Any]) -> None:
        query, what, layout = str(asked["query"]), str(asked["what"]), self._core.layout
        under_way = layout.changing == query if what == "change" else layout.moving == query and not layout.back
        if not under_way:
            raise AuroralError(
                f"no {what} of {query!r} is under way\n    allowed: to give up what has begun and is not decided; what waits for its turn "
                "cannot be\n    next: auroral status shows what is under way"
            )
        await self._tell(GiveUp(query))


def _states(status: Mapping[str, Mapping[str, Any] | None]) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for process, said in status.items():
        outputs = {} if said is None else said.get("outputs", {})
        found |= {(process, stream): str(one["state"]) for stream, one in outputs.items()}
        if not outputs:
            found[process, ""] = "DOWN" if said is None else "UP"
    return found
