"""The process that has the catalog: moves and changes queries, and writes down who is where and in which state."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from auroral.dpc.assembly import CATALOG
from auroral.dpc.events import GiveUp, MoveTo, Propose, Started
from auroral.dpc.layout import Layout, moved
from auroral.dpc.reconfiguration import Reconfiguration
from auroral.edge.durable import StorageError
from auroral.model.errors import AuroralError
from auroral.node.fleet.catalog import CatalogStore, catalog_in
from auroral.node.fleet.process import Process
from auroral.node.fleet.processes import Fleet
from auroral.node.storeddiagram import diagram_words

_log = logging.getLogger(__name__)
_LOOK_EVERY = 2.0


class CatalogProcess(Process):
    async def prepare(self) -> None:
        deployed = self.deployed
        self.catalog = await asyncio.to_thread(catalog_in, deployed.folder)
        self.opened.callback(self.catalog.close)
        words, agreed = diagram_words(deployed.checked), json.dumps(asdict(deployed.agreed))
        await asyncio.to_thread(self.catalog.begin, deployed.folder, agreed, words, deployed.agreed.endpoints)
        self.doing |= {"move": self._move, "change": self._change, "give up": self._give_up}
        self._states: dict[tuple[str, str], str] = {}

    async def begin(self) -> None:
        store = CatalogStore(self.catalog, self.deployed.layout_file)
        layout = await asyncio.to_thread(store.started)
        assembly = self.deployed.assembly
        self.core = assembly.reconfiguration(layout or assembly.layout)
        self.host.start(CATALOG, self.core, Started(layout=layout), store)
        self.opened.push_async_callback(self.host.stop)
        self.in_the_background(self._look())

    async def follow(self, layout: Layout) -> None:
        await asyncio.to_thread(self.catalog.locate, self.deployed.agreed.endpoints)

    async def _look(self) -> None:
        """Who runs, in which state."""
        while True:
            try:
                found = _states(await asyncio.to_thread(Fleet(self.deployed).status))
                changed = {key: state for key, state in found.items() if self._states.get(key) != state}
                if changed:
                    await asyncio.to_thread(self.catalog.seen, changed)
                self._states = found
            except StorageError as error:
                # What the protocol needs is written when it is needed; this is to be looked at.
                _log.error("%s", error)
            await asyncio.sleep(_LOOK_EVERY)

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = {"kind": "catalog"}
        core = self.host.cores.get(CATALOG)
        if isinstance(core, Reconfiguration):
            layout = core.layout
            found |= {
                "members": {query: list(members) for query, members in layout.members.items()},
                "moving": layout.moving,
                "phase": None if layout.moving is None else layout.phase.name,
                "changing": layout.changing,
                "starts": {query: list(decision.starts) for query, decision in layout.versions.items()},
                "waits_for": sorted(layout.concerned(core.topology) & core.untold.keys()),
                "wanted": [asdict(wanted) for wanted in layout.wanted],
            }
        return found

    async def _move(self, asked: Mapping[str, Any]) -> None:
        wanted = MoveTo(str(asked["query"]), str(asked["leaves"]), str(asked["comes"]))
        planned = self.core.layout.planned(wanted.query)
        if moved(planned, wanted.leaves, wanted.comes) == planned:
            raise AuroralError(
                f"{wanted.leaves} cannot go to {wanted.comes}\n    allowed: one of {', '.join(planned)}, to a node that has none of them"
            )
        self.host.tell(CATALOG, wanted)

    async def _change(self, asked: Mapping[str, Any]) -> None:
        """Its boxes are in the folder."""
        await asyncio.to_thread(self.catalog.changed, int(asked["diagram"]), str(asked["words"]))
        self.host.tell(CATALOG, Propose(str(asked["query"])))

    async def _give_up(self, asked: Mapping[str, Any]) -> None:
        query, layout = str(asked["query"]), self.core.layout
        if query not in (layout.moving, layout.changing):
            raise AuroralError(f"nothing of {query!r} is under way\n    next: auroral status shows what is")
        self.host.tell(CATALOG, GiveUp(query))


def _states(status: Mapping[str, Mapping[str, Any] | None]) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for process, said in status.items():
        outputs = {} if said is None else said.get("outputs", {})
        found |= {(process, stream): str(one["state"]) for stream, one in outputs.items()}
        if not outputs:
            found[process, ""] = "DOWN" if said is None else "UP"
    return found
