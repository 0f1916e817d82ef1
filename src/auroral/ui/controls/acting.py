"""Does what an operator asks for, by what the commands of the same names call; what they refuse is refused in their words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from auroral.dpc.assembly import CATALOG, CLIENT
from auroral.model.xml.update import read_update
from auroral.node.fleet.changing import change, plan
from auroral.node.fleet.deployed import SPARK, Deployed, DeploymentError
from auroral.node.fleet.moving import called, may_move, move
from auroral.node.fleet.processes import Fleet
from auroral.node.fleet.updating import Wanted, updated
from auroral.ui.conditions import Status
from auroral.ui.controls.confirming import Confirming, Words
from auroral.ui.controls.editing import new_boxes, update_text
from auroral.ui.picture import Group

UPDATE = "what is to be changed"
"""What an update is called in errors, where there is no file."""


@dataclass(frozen=True, slots=True)
class Operator:
    fleet: Fleet
    groups: Sequence[Group]

    def foretell(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What would happen. Changes nothing; refuses what can be known to be refused."""
        confirming = Confirming(self.fleet, self.groups, self.fleet.status())
        match asked:
            case {"do": "kill", "process": str(name)}:
                return _told(f"Kill {name}", confirming.kill(self.fleet.must_be_here(name)))
            case {"do": "pause" | "resume" as do, "source": str(source)}:
                return _told(f"{do.capitalize()} {source}", getattr(confirming, do)(self._source(source)))
            case {"do": "cut" | "heal" as do, "one": str(one), "other": str(other)}:
                said = getattr(confirming, do)(self.fleet.must_be(one), self.fleet.must_be(other))
                return _told(f"{do.capitalize()} {one} and {other}", said)
            case {"do": "move", "query": str(query), "node": str(node), "from": str(leaves)}:
                name = called(self.fleet.deployed, query)
                left = may_move(self.fleet, name, node, leaves)
                return _told(f"Move {name} from {left} to {node}", confirming.move(name, node, left))
            case {"do": "give up", "what": "move" | "change" as what, "query": str(query)}:
                return _told(f"Give up the {what} of {query}", confirming.give_up(what, query))
            case {"do": "change", **given}:
                update = self._update(given)
                words = confirming.change(plan(self.fleet, self._wanted(update).checked))
                return _told("Change boxes", words, update=update)
        raise _unknown(asked)

    def act(self, asked: Mapping[str, Any]) -> str:
        """What was done."""
        fleet = self.fleet
        match asked:
            case {"do": "kill", "process": str(name)}:
                fleet.kill(name)
                return f"{name} is killed; auroral up --folder {fleet.deployed.folder} starts it again"
            case {"do": "pause", "source": str(source)}:
                fleet.ask(self._source(source), "pause")
                return f"{source} is silent"
            case {"do": "resume", "source": str(source)}:
                fleet.ask(self._source(source), "resume")
                return f"{source} goes on"
            case {"do": "cut", "one": str(one), "other": str(other)}:
                fleet.cut(one, other)
                return f"{one} and {other} are cut off from each other"
            case {"do": "heal", "one": str(one), "other": str(other)}:
                fleet.heal(one, other)
                return f"{one} and {other} reach each other"
            case {"do": "move", "query": str(query), "node": str(node), "from": str(leaves)}:
                name = called(fleet.deployed, query)
                with fleet.alone():
                    move(fleet, name, node, leaves, lambda _: None)
                return f"{name} is on its way to {node}"
            case {"do": "give up", "what": "move" | "change" as what, "query": str(query)}:
                fleet.ask(CATALOG, "give up", query=called(fleet.deployed, query), what=what)
                return f"the {what} of {query} is given up"
            case {"do": "change", **given}:
                wanted = self._wanted(self._update(given))
                with fleet.alone():
                    versions = change(fleet, wanted.checked, wanted.text)
                return "; ".join(
                    f"{query}: the change to version {n} is under way" for query, n in versions.items()
                ) or ("nothing differs from what runs")
        raise _unknown(asked)

    def _source(self, name: str) -> str:
        sources = self.fleet.deployed.fragments.sources
        if name not in sources:
            raise DeploymentError(f"{name!r} is no source\n    allowed: {', '.join(sources)}")
        return self.fleet.must_be_here(name)

    def _update(self, given: Mapping[str, Any]) -> str:
        """As it was shown before, or as it is written for an edit."""
        update = given.get("update")
        return update if isinstance(update, str) else update_text(self.groups, given.get("edit") or {})

    def _wanted(self, update: str) -> Wanted:
        if read_update(update.encode(), UPDATE).moves:
            raise DeploymentError(
                f"{UPDATE} has a <move>\n    allowed: changes of boxes\n    next: ask for the move by itself"
            )
        return updated(self.fleet.deployed, update.encode(), UPDATE)


def offered(deployed: Deployed, groups: Sequence[Group], status: Status) -> dict[str, Any]:
    """What there is to be done something to, for the page."""
    sources, here = deployed.fragments.sources, deployed.here
    kinds = {SPARK: "spark", CATALOG: "catalog", CLIENT: "client"} | dict.fromkeys(sources, "source")
    processes = [
        {
            "name": name,
            "is": kinds.get(name, "node"),
            "up": status.get(name) is not None,
            "silent": bool((status.get(name) or {}).get("silent")),
            "program": name in deployed.in_programs,
        }
        for name in here
    ]
    cut = {frozenset((name, peer)) for name, said in status.items() for peer in (said or {}).get("cut_off", ())}
    links = [
        {"one": one, "other": other, "cut": frozenset((one, other)) in cut} for one, other in _links(deployed, groups)
    ]
    catalog = status.get(CATALOG) or {}
    return {
        "processes": processes,
        "links": links,
        "queries": [{"name": group.fragment.name, "nodes": list(group.nodes)} for group in groups],
        "nodes": list(deployed.nodes),
        "under_way": _under_way(catalog),
        "new_boxes": new_boxes(),
    }


def _links(deployed: Deployed, groups: Sequence[Group]) -> list[tuple[str, str]]:
    """Between whom data passes, in its order."""
    makers: dict[str, tuple[str, ...]] = {source: (source,) for source in deployed.fragments.sources}
    makers |= {stream: group.nodes for group in groups for stream in group.fragment.streams}
    readers = [(stream, node) for group in groups for stream in group.fragment.inputs for node in group.nodes]
    readers += [(stream, CLIENT) for stream in deployed.fragments.client]
    found = dict.fromkeys((maker, reader) for stream, reader in readers for maker in makers.get(stream, ()))
    here = {*deployed.here}
    return [(one, other) for one, other in found if one != other and here & {one, other}]


def _under_way(catalog: Mapping[str, Any]) -> list[dict[str, str]]:
    found = []
    waits = f", waits for {', '.join(catalog['waits_for'])}" if catalog.get("waits_for") else ""
    if query := catalog.get("moving"):
        found.append(
            {"what": "move", "query": query, "words": f"{query} moves: {str(catalog['phase']).lower()}{waits}"}
        )
    if query := catalog.get("changing"):
        found.append({"what": "change", "query": query, "words": f"{query} is being changed{waits}"})
    return found


def _told(title: str, words: Words, **more: str) -> dict[str, Any]:
    return {"title": title, "words": words, **more}


def _unknown(asked: Mapping[str, Any]) -> DeploymentError:
    return DeploymentError(
        f"nothing can be done about {str(dict(asked))[:200]}\n"
        "    allowed: kill, pause, resume, cut, heal, move, give up, change, with the names that they need"
    )
