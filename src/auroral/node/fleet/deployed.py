"""A deployment in its folder: a run folder, with what its processes must agree on, and a place for each of them.

| name | what |
|---|---|
| `deployment.json` | bound, times, the first bucket, and where each process is reached |
| `deployment.xml` | which node runs which query, as it was given |
| `layout.json` | which node runs which query now, where something was moved or changed: a copy of what the catalog has |
| `catalog.db` | the catalog, unless it is elsewhere |
| `token` | what applications that read the outputs must know; for its owner alone |
| `nodes/NODE/CORE/` | what a replica keeps |
| `processes/NAME.json` | of each process that lives: its number, and how it is asked; for its owner alone |
| `logs/NAME.log`, `events/NAME.jsonl` | what each process said, and what happened to it |

The rest is as in every run folder (see `runfolder`): source logs, and the outputs that the client was given stable.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from auroral.dpc.assembly import CATALOG, CLIENT, Assembly
from auroral.dpc.fragments import Fragments, cut
from auroral.dpc.layout import Layout
from auroral.dpc.settings import Settings
from auroral.edge.durable import make_folder, replace_file
from auroral.engine.shared import Gateway
from auroral.model.checking import Checked
from auroral.model.deployment import Deployment, Endpoint, endpoint
from auroral.model.errors import AuroralError
from auroral.model.xml import read_deployment
from auroral.node.fleet.control import known
from auroral.node.store.layouts import layout_from_json

FORMAT = 2
SPARK = "spark"
"""The process that has the Spark of the nodes on this machine."""


class DeploymentError(AuroralError):
    """A deployment that cannot be begun, or a folder that has none."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """What all processes of a deployment agree on. Seconds, but for `first`, the number of the first bucket since 1970, which is chosen
    when all processes are ready."""

    bound: float
    ping_every: float
    first: int | None
    replicas: int
    """Of all that is computed, where no deployment was given."""
    endpoints: Mapping[str, str]
    """Where nodes and sources are reached by one another."""
    serve: str
    """Where applications read the outputs."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """How rows come to sources, as `edge.intake` writes it."""
    master: str = "local[2]"
    origin: int | None = None
    """The first bucket of what was recorded, where inputs are files with times of their own; otherwise a deployment begins with the present."""
    added: tuple[str, ...] = ()
    """Nodes that came after it began."""
    catalog: str = ""
    """The address of the database that the catalog is in; left out, a file in the folder."""
    outputs: Sequence[tuple[str, str]] = ()
    """Streams, and where else their rows go."""
    stable_only: bool = False
    """Whether nothing tentative goes there."""
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class Deployed:
    folder: Path
    checked: Checked
    agreed: Agreed
    fragments: Fragments

    @staticmethod
    def create(folder: Path, checked: Checked, agreed: Agreed, text: str | None) -> Deployed:
        """In a run folder of this diagram. Durable when this returns."""
        fragments = cut(checked, _read(text, folder), agreed.replicas)
        for name in ("nodes", "processes", "logs", "events"):
            make_folder(folder / name)
        if text is not None:
            replace_file(folder / "deployment.xml", text.encode())
        replace_file(folder / "deployment.json", json.dumps(asdict(agreed), indent=1).encode())
        return Deployed(folder, checked, agreed, fragments)

    @staticmethod
    def look(folder: Path, checked: Checked) -> Deployed:
        agreed = agreed_in(folder)
        return Deployed(folder, checked, agreed, cut(checked, _given(folder), agreed.replicas))

    def cut(self, checked: Checked) -> Fragments:
        """Another diagram, as this one is."""
        return cut(checked, _given(self.folder), self.agreed.replicas)

    def begin(self, first: int) -> Deployed:
        """From this bucket on. Durable when this returns."""
        return self._agree(replace(self.agreed, first=first))

    def add(self, node: str, endpoint: str) -> Deployed:
        """One more, that nothing runs on yet. Durable when this returns."""
        endpoints = {**self.agreed.endpoints, node: endpoint}
        return self._agree(replace(self.agreed, endpoints=endpoints, added=(*self.agreed.added, node)))

    def _agree(self, agreed: Agreed) -> Deployed:
        replace_file(self.folder / "deployment.json", json.dumps(asdict(agreed), indent=1).encode())
        return replace(self, agreed=agreed)

    @property
    def layout_file(self) -> Path:
        return self.folder / "layout.json"

    @property
    def layout(self) -> Layout:
        """As the catalog wrote it down last."""
        try:
            return layout_from_json(json.loads(self.layout_file.read_text()))
        except FileNotFoundError:
            return self.assembly.layout
        except (ValueError, KeyError, TypeError) as error:
            raise DeploymentError(
                f"{self.layout_file} is damaged: {error}\n    allowed: what the catalog wrote\n"
                "    next: remove it, and start the catalog, which writes it anew"
            ) from error

    @property
    def first(self) -> int:
        assert self.agreed.first is not None, "it has not begun"
        return self.agreed.first

    @property
    def settings(self) -> Settings:
        bucket = self.checked.diagram.bucket / 1e6
        return Settings(bucket=bucket, bound=self.agreed.bound, ping_every=self.agreed.ping_every)

    @property
    def assembly(self) -> Assembly:
        return Assembly(self.fragments, self.settings)

    @property
    def nodes(self) -> tuple[str, ...]:
        begun = (node for fragment in self.fragments.all for node in fragment.hosts)
        return tuple(dict.fromkeys((*begun, *self.agreed.added)))

    @property
    def processes(self) -> tuple[str, ...]:
        """In the order in which they are started."""
        return (SPARK, CATALOG, *self.fragments.sources, *self.nodes, CLIENT)

    def endpoint(self, name: str) -> Endpoint:
        return endpoint(self.agreed.endpoints[name])


def agreed_in(folder: Path) -> Agreed:
    try:
        stored: dict[str, Any] = json.loads((folder / "deployment.json").read_text())
        if stored.get("format") != FORMAT:
            raise ValueError(f"format {stored.get('format')}, not {FORMAT}")
        return Agreed(**{**stored, "added": tuple(stored["added"])})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DeploymentError(
            f"{folder} has no deployment: {error}\n    allowed: a folder that `auroral up` made\n"
            "    next: check the path, or begin one with auroral up"
        ) from error


def gateway(folder: Path) -> Gateway:
    """Of the Spark that the nodes share."""
    said = known(folder / "processes" / f"{SPARK}.json")
    if said is None:
        raise DeploymentError(f"the Spark of {folder} is not running\n    next: auroral up --folder {folder}")
    return Gateway(**said["gateway"])


def _given(folder: Path) -> Deployment | None:
    """In the deployment's file."""
    written = folder / "deployment.xml"
    return _read(written.read_text(), folder) if written.exists() else None


def _read(text: str | None, folder: Path) -> Deployment | None:
    return None if text is None else read_deployment(text, str(folder / "deployment.xml"))
