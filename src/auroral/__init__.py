"""Auroral: a stream processor on Apache Spark that answers in time and corrects what it answered too early.

What is imported here describes diagrams and needs neither Spark nor Java. `run`, `batch`, `verify`, `query`, `prune`
and `source` are loaded when they are first used; all but the last two bring Spark in. `auroral.client` reads the outputs of a
deployment, and needs as little.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from auroral.installed import need_all
from auroral.loading import LoadWarning, load, read_rows
from auroral.model.aggregates import UserAggregate, aggregate_function, register_aggregate
from auroral.model.builder import DiagramBuilder, as_diagram, check, diagram
from auroral.model.checking import Checked
from auroral.model.diagram import Diagram
from auroral.model.errors import AuroralError, DiagramError, Place, Problem
from auroral.model.expression import function, register_function, sql
from auroral.model.schema import Field, Schema, schema
from auroral.model.spark_function import SparkFunction, from_spark
from auroral.model.steps import Stream
from auroral.model.types import FieldType, Kind

if TYPE_CHECKING:
    from auroral.adhoc import query
    from auroral.app import batch, prune, run, source, verify

__all__ = [
    "diagram",
    "load",
    "read_rows",
    "check",
    "run",
    "batch",
    "verify",
    "prune",
    "source",
    "query",
    "sql",
    "function",
    "register_function",
    "aggregate_function",
    "register_aggregate",
    "from_spark",
    "as_diagram",
    "schema",
    "Schema",
    "Field",
    "FieldType",
    "Kind",
    "Diagram",
    "DiagramBuilder",
    "Stream",
    "Checked",
    "SparkFunction",
    "UserAggregate",
    "AuroralError",
    "DiagramError",
    "Problem",
    "Place",
    "LoadWarning",
]

_LAZY = {**dict.fromkeys(["run", "batch", "verify", "prune", "source"], "auroral.app"), "query": "auroral.adhoc"}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        need_all(f"auroral.{name}")
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
