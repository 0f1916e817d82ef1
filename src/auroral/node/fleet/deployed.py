"""A deployment in its folder: a run folder, with what its processes must agree on, and a place for each of them.

| name | what |
|---|---|
| `deployment.json` | bound, times, the first bucket, and where each process is reached |
| `deployment.xml` or `deployment.yaml` | which node runs which query, as it was given |
| `layout.json` | which node runs which query now, where something was moved or changed: a copy of what the catalog has |
| `catalog.db` | the catalog, unless it is elsewhere |
| `token` | what applications that read the outputs must know; for its owner alone |
| `operator-token` | what the page asks of who wants to do something to the deployment, where it was served with controls; for its owner alone |
| `here.json` | where nodes run on several machines: those of this folder |
| `tls/NAME/` | with certificates: that of a process, its key, and the authority's; for its owner alone |
| `tls-readers/server/`, `tls-readers/reader/` | likewise, of who serves the outputs, and of whoever reads them |
| `nodes/NODE/CORE/` | what a replica keeps |
| `ledger/CORE.db` | how many rows the boxes of a replica left out of each stable bucket (SQLite) |
| `processes/NAME.json` | of each process that lives: its number, and how it is asked; for its owner alone |
| `logs/NAME.log`, `events/NAME.jsonl` | what each process said, and what happened to it |
| `logs/NAME.jsonl` | the same for machines, with `auroral up --log-format json` (see `structuredlog`) |
| `recorded/NAME.jsonl` | what each process said of itself over time, up to a bound (see `recording`) |
| `metrics.json` | where each process tells its metrics, if they were asked for, for Prometheus |

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
from auroral.dpc.settings import AS_USUAL, Choices, Policy, Settings
from auroral.edge.durable import make_folder, replace_file
from auroral.edge.intake import Way
from auroral.edge.pacing import parse_input_spec
from auroral.engine.shared import Gateway
from auroral.model.checking import Checked
from auroral.model.deployment import OWN, SHARED, Deployment, Endpoint, endpoint
from auroral.model.deployment_text import is_xml, read_deployment_text
from auroral.model.errors import AuroralError
from auroral.node.fleet.control import known
from auroral.node.fleet.structuredlog import TEXT
from auroral.node.store.layouts import layout_from_json, layout_to_json
from auroral.wire.certificates import READER, READERS, SERVER

FORMAT = 2
FOLDERS = ("nodes", "processes", "logs", "events")
TLS, HERE = "tls", "here.json"
_XML, _YAML = "deployment.xml", "deployment.yaml"
SPARK = "spark"
"""The process that has the Spark that nodes share."""


class DeploymentError(AuroralError):
    """A deployment that cannot be begun, or a folder that has none."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """What all processes of a deployment agree on. Seconds, but for `first`, the number of the first bucket since 1970, which is chosen
    when all processes are ready."""

    bounds: Mapping[str, float]
    """X, by output."""
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
    """Of the Spark that nodes share, and of those that nodes have for themselves."""
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
    sparks: Mapping[str, str] = field(default_factory=dict)
    """Which Spark a node computes with; one that is not here shares."""
    tls: bool = False
    """Whether processes prove to one another who they are, and nobody else can read what they say."""
    host: str | None = None
    """Where the machine with the sources and the client is reached by the others, if there are any."""
    choices: Choices = AS_USUAL
    metrics: str = ""
    """Where the first process tells its metrics; the others do at the ports behind it. Nowhere, if empty."""
    logs: str = TEXT
    """In which form processes that are started from now on say what happens to them."""
    traces: str = ""
    """Where spans of what happens to buckets are sent, by OTLP over HTTP. Nowhere, if empty."""
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class Deployed:
    folder: Path
    checked: Checked
    agreed: Agreed
    fragments: Fragments
    mine: frozenset[str] | None = None
    """The processes that run from this folder, but for Spark; None for all. The others are on other machines."""

    @staticmethod
    def create(folder: Path, checked: Checked, agreed: Agreed, text: str | None) -> Deployed:
        """In a run folder of this diagram. Durable when this returns."""
        made = Deployed(folder, checked, agreed, cut(checked, _read(text, folder), agreed.replicas))
        if agreed.host is not None:
            made = replace(made, mine=frozenset(n for n in made.processes if n != SPARK and made.is_at(n, agreed.host)))
        for name in FOLDERS:
            make_folder(folder / name)
        if text is not None:
            replace_file(folder / (_XML if is_xml(text) else _YAML), text.encode())
        if made.mine is not None:
            replace_file(folder / HERE, json.dumps(sorted(made.mine)).encode())
        if agreed.tls:
            # Here, since nothing else needs to make certificates.
            from auroral.wire.authority import issue

            for name, certificates in issue(made.processes).items():
                certificates.write(folder / TLS / name)
            for name, certificates in issue((SERVER, READER)).items():
                certificates.write(folder / READERS / name)
        replace_file(made.layout_file, json.dumps(layout_to_json(made.assembly.layout), indent=1).encode())
        replace_file(folder / "deployment.json", json.dumps(asdict(agreed), indent=1).encode())
        return made

    @staticmethod
    def look(folder: Path, checked: Checked) -> Deployed:
        agreed = agreed_in(folder)
        found = folder / HERE
        mine = frozenset(json.loads(found.read_text())) if found.exists() else None
        return Deployed(folder, checked, agreed, cut(checked, _given(folder), agreed.replicas), mine)

    def cut(self, checked: Checked) -> Fragments:
        """Another diagram, as this one is. What queries give each other here they give there, whether it is still read or not: a later version
        may read it again."""
        given = [stream for fragment in self.fragments.all for stream in fragment.streams]
        return cut(checked, _given(self.folder), self.agreed.replicas, given)

    def begin(self, first: int) -> Deployed:
        """From this bucket on. Durable when this returns."""
        return self._agree(replace(self.agreed, first=first))

    def add(self, node: str, endpoint: str, like: str) -> Deployed:
        """One more, that nothing runs on yet, with a Spark like another's. Durable when this returns."""
        agreed = self.agreed
        endpoints = {**agreed.endpoints, node: endpoint}
        sparks = {**agreed.sparks, node: agreed.sparks.get(like, SHARED)}
        return self._agree(replace(agreed, endpoints=endpoints, sparks=sparks, added=(*agreed.added, node)))

    def agree_on(self, *, metrics: str | None = None, logs: str | None = None, traces: str | None = None) -> Deployed:
        """How it is watched; what is left out stays as it is. Durable when this returns."""
        agreed = self.agreed
        said = replace(
            agreed,
            metrics=agreed.metrics if metrics is None else metrics,
            logs=agreed.logs if logs is None else logs,
            traces=agreed.traces if traces is None else traces,
        )
        return self._agree(said)

    def _agree(self, agreed: Agreed) -> Deployed:
        replace_file(self.folder / "deployment.json", json.dumps(asdict(agreed), indent=1).encode())
        return replace(self, agreed=agreed)

    @property
    def in_time(self) -> bool:
        """Whether times of rows pass as those of the clock do, so that delays can be told: rows arise now, or are replayed at their own pace."""
        inputs = self.agreed.inputs.items()
        return self.agreed.origin is None or all(
            parse_input_spec(f"{stream}={how}").speed == 1.0 for stream, how in inputs
        )

    @property
    def layout_file(self) -> Path:
        return self.folder / "layout.json"

    @property
    def layout(self) -> Layout:
        """As the catalog wrote it down last."""
        found = layout_in(self.layout_file)
        if found is None:
            # To begin with the first one would throw away what was moved since.
            raise DeploymentError(
                f"{self.layout_file} is missing: it says which node runs which query\n    allowed: the file that the catalog wrote\n"
                "    next: restore it from a copy, or start the catalog alone, which writes it anew from its database"
            )
        return found

    @property
    def first(self) -> int:
        assert self.agreed.first is not None, "it has not begun"
        return self.agreed.first

    @property
    def settings(self) -> Settings:
        bucket = self.checked.diagram.bucket / 1e6
        times = Settings(bucket=bucket, bound=min(self.agreed.bounds.values()), ping_every=self.agreed.ping_every)
        return self.agreed.choices.applied(times)

    @property
    def assembly(self) -> Assembly:
        return Assembly(self.fragments, self.settings, self.agreed.bounds)

    @property
    def nodes(self) -> tuple[str, ...]:
        begun = (node for fragment in self.fragments.all for node in fragment.hosts)
        return tuple(dict.fromkeys((*begun, *self.agreed.added)))

    @property
    def in_programs(self) -> tuple[str, ...]:
        """The sources that are not started here: programs of the user's have them in them."""
        return tuple(name for name, how in self.agreed.inputs.items() if how == Way.PROGRAM)

    @property
    def sharing(self) -> tuple[str, ...]:
        """The nodes that share one Spark."""
        return tuple(node for node in self.nodes if self.master_of(node) is None)

    def master_of(self, node: str) -> str | None:
        """Of the Spark that it has for itself."""
        chosen = self.agreed.sparks.get(node, SHARED)
        return None if chosen == SHARED else self.agreed.master if chosen == OWN else chosen

    @property
    def processes(self) -> tuple[str, ...]:
        """In the order in which they are started."""
        return (*([SPARK] if self.sharing else []), CATALOG, *self.fragments.sources, *self.nodes, CLIENT)

    @property
    def here(self) -> tuple[str, ...]:
        """The processes that run from this folder. Nodes that share a Spark share that of their machine."""
        mine = self.mine
        if mine is None:
            return self.processes
        shared = not mine.isdisjoint(self.sharing)
        return tuple(name for name in self.processes if name in mine or (name == SPARK and shared))

    @property
    def elsewhere(self) -> tuple[str, ...]:
        return tuple(name for name in self.processes if name not in self.here and name != SPARK)

    def is_at(self, name: str, host: str) -> bool:
        """Whoever has no endpoint is on the machine that the deployment was made on."""
        return name not in self.agreed.endpoints or self.endpoint(name).plain.host == endpoint(host).plain.host

    def where(self, name: str) -> str:
        """In words."""
        return self.agreed.endpoints.get(name) or f"{self.agreed.host}"

    def endpoint(self, name: str) -> Endpoint:
        return endpoint(self.agreed.endpoints[name])


def agreed_in(folder: Path) -> Agreed:
    try:
        stored: dict[str, Any] = json.loads((folder / "deployment.json").read_text())
        if stored.get("format") != FORMAT:
            raise ValueError(f"format {stored.get('format')}, not {FORMAT}")
        chosen: dict[str, Any] = stored.get("choices", {})
        policies = {name: Policy(said) for name, said in chosen.items() if name.startswith("while_")}
        return Agreed(**{**stored, "added": tuple(stored["added"]), "choices": Choices(**{**chosen, **policies})})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DeploymentError(
            f"{folder} has no deployment: {error}\n    allowed: a folder that `auroral up` made\n"
            "    next: check the path, or begin one with auroral up"
        ) from error


def must_have_outputs(folder: Path) -> None:
    """DeploymentError where a folder is one of nodes alone."""
    if (here := folder / HERE).exists() and CLIENT not in json.loads(here.read_text()):
        raise DeploymentError(
            f"{folder} has nodes of a deployment whose sources and client are at {agreed_in(folder).host}\n"
            "    allowed: the folder that the deployment was made in\n    next: do it there"
        )


def layout_in(file: Path) -> Layout | None:
    try:
        return layout_from_json(json.loads(file.read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise DeploymentError(
            f"{file} is damaged: {error}\n    allowed: the file that the catalog wrote\n    next: restore it from a copy"
        ) from error


def gateway(folder: Path) -> Gateway:
    """Of the Spark that the nodes share."""
    said = known(folder / "processes" / f"{SPARK}.json")
    if said is None:
        raise DeploymentError(f"the Spark of {folder} is not running\n    next: auroral up --folder {folder}")
    return Gateway(**said["gateway"])


def _given(folder: Path) -> Deployment | None:
    """In the deployment's file."""
    written = [file for name in (_XML, _YAML) if (file := folder / name).exists()]
    return _read(written[0].read_text(), folder) if written else None


def _read(text: str | None, folder: Path) -> Deployment | None:
    return None if text is None else read_deployment_text(text, str(folder / (_XML if is_xml(text) else _YAML)))
