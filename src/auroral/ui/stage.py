"""What of a deployment, or of a simulated one, stays as it is while it is shown: who there is, who reads what, and what was asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from auroral.dpc.assembly import CLIENT, node_of
from auroral.node.fleet.deployed import SPARK, Deployed, agreed_in
from auroral.node.fleet.versions import version_of
from auroral.node.storeddiagram import load_diagram
from auroral.ui.picture import Group, picture


@dataclass(frozen=True, slots=True)
class Part:
    """A query, or several that run on the same nodes."""

    name: str
    nodes: tuple[str, ...]
    inputs: tuple[str, ...]
    streams: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """As plain values, so that a recording can have it."""

    where: str
    """The folder, or the file of a trace."""
    picture: Mapping[str, Any]
    parts: tuple[Part, ...]
    about: Mapping[str, str]
    """What each process is whose events are shown, those first that data reaches first."""
    sources: tuple[str, ...]
    computed_from: Mapping[str, tuple[str, ...]]
    """By output of the client, the sources that lead to it."""
    bounds: Mapping[str, float]
    """X, where there is one."""
    bucket: float
    """Seconds."""
    patience: Mapping[str, float] = field(default_factory=dict)
    """Seconds after which a source that follows the clock counts as silent."""
    first: int | None = 0
    """The number of the first bucket since 1970."""
    follows_clock: bool = False
    in_programs: tuple[str, ...] = ()
    """Sources that come and go as they like."""
    elsewhere: str = ""
    """Where the client is, if not here."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(said: Mapping[str, Any]) -> Stage:
        parts = tuple(
            Part(one["name"], tuple(one["nodes"]), tuple(one["inputs"]), tuple(one["streams"])) for one in said["parts"]
        )
        tuples = {name: tuple(said[name]) for name in ("sources", "in_programs")}
        return Stage(**{**said, **tuples, "parts": parts})


def deployed_in(folder: Path) -> tuple[Deployed, list[Group], Stage]:
    """What is in a deployment's folder, as its queries are now: each the newest of its versions that is decided."""
    # Before the pickle is loaded: a folder that has no deployment says so.
    agreed_in(folder)
    deployed = Deployed.look(folder, load_diagram(folder))
    layout, groups = deployed.layout, list[Group]()
    for fragment in deployed.fragments.all:
        version = len(layout.decision(fragment.name).starts) - 1
        nodes = tuple(dict.fromkeys(map(node_of, layout.running(fragment.name))))
        groups.append(Group(version_of(deployed, fragment.name, version), nodes))
    return deployed, groups, stage_of(deployed, groups)


def stage_of(deployed: Deployed, groups: list[Group]) -> Stage:
    diagram, agreed = deployed.checked.diagram, deployed.agreed
    sources, outputs = tuple(deployed.fragments.sources), deployed.fragments.client
    drawn = picture(diagram.name, diagram.bucket, [group.drawn for group in groups], outputs, sources)
    delays = {s: given.stamp.delay / 1e6 for s in sources if (given := diagram.input(s)) is not None and given.stamp}
    return Stage(
        where=str(deployed.folder),
        picture=drawn,
        parts=tuple(Part(g.fragment.name, g.nodes, g.fragment.inputs, g.fragment.streams) for g in groups),
        about=_about(deployed),
        sources=sources,
        computed_from={stream: tuple(diagram.computed_from(stream)) for stream in outputs},
        bounds={s: x for s, x in agreed.bounds.items() if x < math.inf},
        bucket=deployed.settings.bucket,
        patience={source: deployed.settings.silence + delays.get(source, 0.0) for source in sources},
        first=agreed.first,
        follows_clock=agreed.origin is None,
        in_programs=deployed.in_programs,
        elsewhere="" if CLIENT in deployed.here else deployed.where(CLIENT),
    )


def _about(deployed: Deployed) -> dict[str, str]:
    found = dict.fromkeys(deployed.fragments.sources, "source") | dict.fromkeys(deployed.nodes, "node")
    found |= {CLIENT: "client"} | ({SPARK: "spark"} if SPARK in deployed.here else {})
    return {name: what for name, what in found.items() if name in deployed.here}
