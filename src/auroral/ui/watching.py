"""Looks at a deployment again and again, while anybody watches, and keeps what the page shows of it.

Blocking: whoever serves the page calls it in a thread.
"""

from __future__ import annotations

import logging
import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from auroral.dpc.assembly import CLIENT
from auroral.model.errors import AuroralError
from auroral.node.fleet.control import NoAnswer
from auroral.node.fleet.eventlog import EventReader
from auroral.node.fleet.processes import Fleet
from auroral.node.runfolder import RunFolder
from auroral.ui.conditions import Status
from auroral.ui.controls.acting import offered
from auroral.ui.noticing import Noticing
from auroral.ui.picture import Group
from auroral.ui.showing import Rates, shown
from auroral.ui.stage import Stage, deployed_in
from auroral.ui.strips import Strips
from auroral.ui.timeline import Timeline

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Watched:
    """One deployment. `live` is what the page shows, but for the squares, of which readers ask for what is new."""

    folder: Path
    controls: bool = False
    """Whether it is shown what an operator can do."""
    changing: Lock = field(default_factory=Lock)
    """Held by whoever changes what is shown, or reads it."""
    strips: Strips = field(default_factory=Strips)
    stage: Stage | None = None
    live: dict[str, Any] = field(default_factory=dict)
    fleet: Fleet | None = None
    groups: list[Group] = field(default_factory=list)
    _written: object = None
    _run: str = ""
    """Of the deployment that is in the folder."""
    _squares_of: str = ""
    """Another one whenever squares begin anew."""
    _timeline: Timeline = field(default_factory=lambda: Timeline({}))
    _events: EventReader | None = None
    _rates: Rates = field(default_factory=Rates)
    _delivered: tuple[int, int] = (0, 0)
    """The process that is the client, and the last of its deliveries that was heard of."""
    _noticing: Noticing = field(default_factory=Noticing)
    _looking: Lock = field(default_factory=Lock)

    def look(self) -> None:
        """Once. What is wrong is said on the page, and looked at again the next time."""
        with self._looking:
            try:
                self._look()
            except (AuroralError, OSError) as error:
                self._tell(str(error))
            except Exception as error:  # noqa: BLE001  whatever it was: who watches must not wait for news that never come
                if self.live.get("trouble") != (said := f"this page came upon an error of its own: {error!r}"):
                    _log.exception("the page cannot show the deployment, and tries again")
                self._tell(said)

    def _tell(self, trouble: str) -> None:
        with self.changing:
            self.live = {**self.live, "trouble": trouble, "running": False, "now": time.time()}
        # It may be another one when it is back.
        self._written = None

    def _look(self) -> None:
        self._look_up()
        assert self.fleet is not None and self._events is not None
        now, status = time.time(), self.fleet.status()
        delivered, events = self._deliveries(), self._events.new()
        with self.changing:
            self.strips.add(delivered)
            self._timeline.add(self._noticing.noticed(events, status, now))
            self.live = self._shown(status, now)

    def _look_up(self) -> None:
        """What is deployed, where that is not known or has changed."""
        files = [self.folder / name for name in ("deployment.json", "layout.json", "versions.json")]
        written = tuple((s.st_mtime_ns, s.st_ino) if (s := _stat(file)) else None for file in files)
        if self.fleet is not None and written == self._written:
            return
        deployed, self.groups, self.stage = deployed_in(self.folder)
        run = RunFolder.settings_of(self.folder).run
        if run != self._run:
            self._begin_anew(run)
        if self._events is None or self.stage.about != self._timeline.about:
            self._timeline, self._events = Timeline(self.stage.about), EventReader(self.folder)
        self.fleet, self._written = Fleet(deployed), written

    def _begin_anew(self, run: str) -> None:
        """Another deployment is in the folder: its buckets, events and processes have nothing to do with those of the one before."""
        self._forget_squares()
        self._events = None
        self._run, self._rates, self._delivered = run, Rates(), (0, 0)
        self._noticing = Noticing()

    def _forget_squares(self) -> None:
        with self.changing:
            # Counted on, for those who ask for what changed.
            self.strips, self._squares_of = Strips(self.strips.changes), secrets.token_hex(4)

    def _deliveries(self) -> list[dict[str, Any]]:
        """Those that the client was given since."""
        assert self.fleet is not None
        if CLIENT not in self.fleet.deployed.here:
            return []
        try:
            pid = self.fleet.pid(CLIENT)
            since = self._delivered[1] if pid == self._delivered[0] else 0
            new: list[dict[str, Any]] = self.fleet.ask(CLIENT, "tail", since=since)
        except NoAnswer:
            return []
        if new and new[0]["number"] > since + 1:
            # Between those and what was heard before is what nobody looked at, and the client remembers no more: it would seem to be awaited.
            self._forget_squares()
        self._delivered = (pid, new[-1]["number"] if new else since)
        return new

    def _shown(self, status: Status, now: float) -> dict[str, Any]:
        assert self.fleet is not None and self.stage is not None
        return {
            **shown(self.stage, status, now, self._rates),
            "squares_of": self._squares_of,
            "timeline": self._timeline.to_json(),
            **({"controls": offered(self.fleet.deployed, self.groups, status)} if self.controls else {}),
        }


def _stat(file: Path) -> Any:
    try:
        return file.stat()
    except FileNotFoundError:
        return None
