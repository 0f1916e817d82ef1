"""Where each process of a deployment tells its metrics: at the port that was asked for, and those that follow it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from auroral.dpc.assembly import CATALOG, CLIENT
from auroral.edge.durable import replace_file
from auroral.model.deployment import Endpoint, endpoint
from auroral.node.fleet.deployed import SPARK, Deployed, DeploymentError
from auroral.node.fleet.processes import can_be_bound

TARGETS = "metrics.json"
"""In the folder, for `file_sd_configs` of Prometheus."""
HIGHEST = 65_535


def metrics_at(deployed: Deployed, name: str) -> Endpoint | None:
    """None where nobody asked for metrics. Nodes come last, so that one that is added later moves nobody else."""
    if not deployed.agreed.metrics:
        return None
    order = (SPARK, CATALOG, CLIENT, *deployed.fragments.sources, *deployed.nodes)
    first = endpoint(deployed.agreed.metrics)
    return replace(first, port=first.port + order.index(name))


def parse_metrics(text: str) -> str:
    """`[HOST:]PORT`, or nothing for `off`; ValueError for anything else."""
    if text == "off":
        return ""
    allowed = "allowed: PORT, HOST:PORT or off"
    try:
        found = endpoint(f":{text}" if text.isdigit() else text, default_port=HIGHEST)
    except ValueError as error:
        raise ValueError(f"{text[:60]!r} is no address for metrics; {allowed}") from error
    if found.port == HIGHEST:
        raise ValueError(f"{text[:60]!r} has no port; {allowed}")
    return str(found)


def places(deployed: Deployed) -> dict[str, Endpoint]:
    """Of the processes of this folder."""
    return {name: at for name in deployed.here if (at := metrics_at(deployed, name)) is not None}


def with_metrics(deployed: Deployed, where: str) -> Deployed:
    """Durable when this returns, and written down for Prometheus. Processes that run follow by themselves."""
    if where != deployed.agreed.metrics:
        _must_be_free(places(replace(deployed, agreed=replace(deployed.agreed, metrics=where))), deployed.folder)
        deployed = deployed.agree_on(metrics=where)
    write_targets(deployed)
    return deployed


def write_targets(deployed: Deployed) -> None:
    """Again, when there is one more process."""
    told = [
        {"targets": [str(_called(deployed, at))], "labels": {"deployment": deployed.folder.name}}
        for at in places(deployed).values()
    ]
    if told or (deployed.folder / TARGETS).exists():
        replace_file(deployed.folder / TARGETS, json.dumps(told, indent=1).encode())


def _must_be_free(wanted: Mapping[str, Endpoint], folder: Path) -> None:
    for name, at in wanted.items():
        if at.port > HIGHEST or not can_be_bound(at.host, at.port):
            raise DeploymentError(
                f"{name} cannot tell its metrics at {at}\n"
                f"    allowed: an address of this machine, and a port of which the {len(wanted)} from it on are free, one for each process\n"
                f"    next: another port; the deployment is made already: auroral up --folder {folder} --metrics PORT"
            )


def _called(deployed: Deployed, at: Endpoint) -> Endpoint:
    """Where one listens at all addresses of a machine, others need one of them."""
    return replace(at, host=deployed.agreed.host or "localhost") if at.unspecified else at
