"""What each process of a deployment does."""

from __future__ import annotations

from auroral.dpc.assembly import CATALOG, CLIENT
from auroral.model.errors import AuroralError
from auroral.node.fleet.deployed import SPARK, Deployed
from auroral.node.fleet.process import Process
from auroral.node.fleet.roles.catalog import CatalogProcess
from auroral.node.fleet.roles.client import ClientProcess
from auroral.node.fleet.roles.node import NodeProcess, fingerprint
from auroral.node.fleet.roles.source import SourceProcess
from auroral.node.fleet.roles.spark import SparkProcess


def role(deployed: Deployed, name: str) -> Process:
    if name == SPARK:
        return SparkProcess(deployed, name)
    if name == CATALOG:
        return CatalogProcess(deployed, name)
    if name == CLIENT:
        return ClientProcess(deployed, name)
    if name in deployed.fragments.sources:
        return SourceProcess(deployed, name)
    if name in deployed.nodes:
        return NodeProcess(deployed, name, fingerprint())
    raise AuroralError(f"there is no {name!r} in this deployment\n    allowed: {', '.join(deployed.processes)}")
