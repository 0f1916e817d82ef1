"""Queries of a deployment go to other nodes while it runs."""

from __future__ import annotations

from typing import Any

from auroral.dpc.assembly import CATALOG, node_of
from auroral.model.deployment import LOCAL_HOST
from auroral.node.fleet.deployed import Deployed, DeploymentError
from auroral.node.fleet.metrics.places import write_targets
from auroral.node.fleet.processes import Fleet, Progress, free_ports


def called(deployed: Deployed, query: str) -> str:
    """What the deployment calls what this query of the diagram runs as: queries of one replica set go together, and have its name."""
    names = [fragment.name for fragment in deployed.fragments.all]
    having = [
        one.name for one in deployed.fragments.all if query in (known.name for known in one.checked.diagram.queries)
    ]
    if query in names:
        return query
    if len(having) > 1:
        raise DeploymentError(
            f"boxes of query {query!r} run on several replica sets\n    allowed: one of {', '.join(having)}\n    next: say which"
        )
    if not having:
        raise DeploymentError(f"there is no query {query!r}\n    allowed: {', '.join(_known(deployed))}")
    return having[0]


def _known(deployed: Deployed) -> list[str]:
    """Names of replica sets, and those of the diagram that mean one."""
    found = dict.fromkeys(fragment.name for fragment in deployed.fragments.all)
    found |= dict.fromkeys(query.name for query in deployed.checked.diagram.queries if query.boxes)
    return list(found)


def may_move(fleet: Fleet, query: str, comes: str, leaves: str | None) -> str:
    """The node that a replica of the query would leave; DeploymentError where it cannot go there."""
    only_here(fleet)
    members = catalog_of(fleet)["members"]
    here = [node_of(core) for core in members[query]]
    left = _left(fleet, query, here, leaves)
    if comes in here:
        raise DeploymentError(
            f"{query} runs on {comes} already\n    allowed: a node without it, or a new name\n"
            "    next: auroral status shows who runs what"
        )
    if comes not in fleet.deployed.nodes:
        _can_be_new(fleet, comes)
    return left


def move(fleet: Fleet, query: str, comes: str, leaves: str | None, progress: Progress) -> Fleet:
    """One replica of the query to another node, which is started where there is none of that name. Comes back when it is on its way; gives
    all that run."""
    left = may_move(fleet, query, comes, leaves)
    if comes not in fleet.deployed.nodes:
        fleet = Fleet(fleet.deployed.add(comes, f"{LOCAL_HOST}:{free_ports(1)[0]}", left))
        write_targets(fleet.deployed)
    if not fleet.lives(comes):
        progress(f"starting {comes}")
        fleet.start([comes])
    fleet.ask(CATALOG, "move", query=query, leaves=f"{query}@{left}", comes=f"{query}@{comes}")
    return fleet


def under_way(fleet: Fleet, query: str, comes: str) -> str | None:
    """What the move waits for, in words; None when it is over."""
    found: dict[str, Any] = catalog_of(fleet)
    core = f"{query}@{comes}"
    if found["moving"] == query:
        if found["waits_for"]:
            return f"{found['phase'].lower()}, until {', '.join(found['waits_for'])} know of it"
        return (
            f"{found['phase'].lower()}, until {core} is right" if found["phase"] == "START" else found["phase"].lower()
        )
    if any(wanted["query"] == query and wanted["comes"] == core for wanted in found["wanted"]):
        return f"it waits for its turn behind {found['moving'] or found['changing'] or 'others'}"
    return None


def catalog_of(fleet: Fleet) -> dict[str, Any]:
    """What it has written down."""
    found: dict[str, Any] = fleet.ask(CATALOG, "status")
    if found.get("away"):
        raise DeploymentError(
            "the catalog's database is away, so that nothing can be moved or changed\n    next: look into logs/catalog.log, and mend that"
        )
    return found


def _left(fleet: Fleet, query: str, here: list[str], leaves: str | None) -> str:
    """The node that was named, the only one, or the only one that does not run."""
    if leaves is not None:
        if leaves not in here:
            raise DeploymentError(f"{query} does not run on {leaves!r}\n    allowed: {', '.join(here)}")
        return leaves
    dead = [node for node in here if not fleet.lives(node)]
    for found in (here, dead):
        if len(found) == 1:
            return found[0]
    raise DeploymentError(
        f"{query} runs on {', '.join(here)}\n    allowed: to move one of them at a time\n    next: say which: --from {here[0]}"
    )


def only_here(fleet: Fleet) -> None:
    """Others would not hear of it."""
    if fleet.deployed.elsewhere:
        raise DeploymentError(
            "nothing can be moved or changed in a deployment on several machines\n    allowed: one whose processes all run here\n"
            "    next: end it, and begin another with a new folder"
        )


def _can_be_new(fleet: Fleet, node: str) -> None:
    if fleet.deployed.agreed.tls:
        raise DeploymentError(
            f"{node} is no node of this deployment, and there is nobody who could make out a certificate to a new one\n"
            f"    allowed: {', '.join(fleet.deployed.nodes)}\n    next: name one of them"
        )
    if not node.isidentifier() or node in fleet.deployed.processes:
        raise DeploymentError(
            f"no node can have the name {node!r}\n"
            f"    allowed: letters, digits and _, and none of {', '.join(fleet.deployed.processes)}"
        )
