"""A diagram cut into fragments, one for each replica set: what its replicas compute, evaluated by the reference."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import product
from typing import Any

from auroral.dpc.events import Evaluate, Evaluated
from auroral.dpc.sunion import OutputSpec
from auroral.dpc.values import Content
from auroral.model.boxes.apply import TypedApply
from auroral.model.boxes.base import BoxClass
from auroral.model.checking import Checked, CheckedBox
from auroral.model.deployment import Deployment, Endpoint, Node, ReplicaSet
from auroral.model.diagram import Diagram, Input, Output
from auroral.model.errors import AuroralError, DiagramError, Place, Problem
from auroral.model.expression.typed import SqlExpression, walk
from auroral.model.placement import by_any_case, check_deployment
from auroral.reference.evaluate import evaluate
from auroral.reference.rows import Row
from auroral.sim.scenario import named_after

NODES = "n"
"""Without a deployment, replicas run on hosts na, nb, and so on."""


class CannotBeSimulated(AuroralError):
    """A diagram that the simulator cannot run."""


@dataclass(frozen=True, slots=True)
class DiagramFragment:
    """Some boxes of a diagram as what replicas compute; `checked` has those boxes alone."""

    name: str
    hosts: tuple[str, ...]
    checked: Checked
    outputs: tuple[OutputSpec, ...]
    first: int = 0
    """The number of the first bucket since 1970; the protocol counts from there."""

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(given.stream for given in self.checked.diagram.inputs)

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(output.stream for output in self.checked.diagram.outputs)

    def evaluate(self, asked: Evaluate) -> Evaluated:
        sources = {
            name: [row for _, content in sorted(asked.view.get(name, {}).items()) for row in content.rows]
            for name in self.inputs
        }
        end = (self.first + asked.end) * self.checked.diagram.bucket
        try:
            result = evaluate(self.checked, sources, end)
        except Exception as error:
            boxes = ", ".join(box.box.name for box in self.checked.boxes)
            raise CannotBeSimulated(
                f"evaluating {boxes} stops with {type(error).__name__}: {error}\n"
                "    allowed: functions that take all rows that may come, also nulls\n"
                "    next: mend the function, or write on_error='reject' in its step; or give rows that it takes"
            ) from error
        return Evaluated(asked.job, {stream: self._cut(result.streams[stream], asked) for stream in asked.outputs})

    def _cut(self, rows: Iterable[Row], asked: Evaluate) -> tuple[Content, ...]:
        found = by_bucket(rows, self.checked.diagram.bucket, self.first)
        return tuple(content(found.get(bucket, ())) for bucket in range(asked.begin, asked.end))


def by_bucket(rows: Iterable[Row], interval: int, first: int) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row.stime // interval - first, []).append(row)
    return found


def content(rows: Iterable[Row]) -> Content:
    kept = tuple(rows)
    said = repr([(row.stime, row.values) for row in kept]).encode()
    return Content(int.from_bytes(hashlib.blake2b(said, digest_size=8).digest()), len(kept), kept)


def cut(
    checked: Checked, deployment: Deployment | None = None, replicas: int = 2
) -> tuple[tuple[DiagramFragment, ...], tuple[str, ...]]:
    """The fragments, those first that others read, and what the client reads.

    Without a deployment all boxes are one fragment, on so many nodes.
    """
    _refuse_what_cannot_be(checked.boxes)
    wanted = [output.stream for output in checked.diagram.outputs]
    if deployment is None:
        names = {box.box.name: NODES for box in checked.boxes}
        hosts = {NODES: named_after(NODES, replicas)}
    else:
        names, hosts = _deployed(checked.diagram, deployment)
        wanted += [one.stream for one in deployment.all_subscribes]
    # Control streams, without fields, are the system's own.
    client = tuple(stream for stream in dict.fromkeys(wanted) if checked.streams[stream].schema.fields)
    _refuse_inputs(checked.diagram, client)
    boxes = _leading_to(checked, client)
    made = {stream: names[box.box.name] for box in boxes for stream in box.box.outputs}
    idle = [name for name in hosts if name not in made.values()]
    if idle:
        raise CannotBeSimulated(
            f"nothing of what is computed on {idle[0]!r} comes to the client\n"
            "    allowed: boxes that lead to an output of the diagram\n"
            "    next: make one of their streams an output, or leave them out"
        )
    fragments = {
        name: _fragment(replace(checked, boxes=tuple(boxes)), names, name, hosts[name], client) for name in hosts
    }
    return tuple(fragments[name] for name in _in_order(fragments, made)), client


def _refuse_what_cannot_be(boxes: Iterable[CheckedBox]) -> None:
    problems = []
    for box in boxes:
        expressions = (node for expression in box.typed.expressions() for node in walk(expression))
        if box.typed.box_class is BoxClass.FOLD:
            why = "it depends on all of the past, and the states of such boxes are not kept here"
        elif isinstance(box.typed, TypedApply):
            why = "it applies a function of DataFrames, which only Spark can call"
        elif any(isinstance(node, SqlExpression) for node in expressions):
            why = "it has an expression in SQL, which only Spark can evaluate"
        else:
            continue
        what = f"box {box.box.name!r} cannot be simulated: {why}"
        allowed = "boxes with a horizon, as windows on stime, and expressions of Auroral's own language"
        problems.append(Problem(what, box.box.place, allowed, "leave it out of the simulation"))
    if problems:
        raise CannotBeSimulated("\n".join(map(str, problems)))


def _refuse_inputs(diagram: Diagram, client: Iterable[str]) -> None:
    raw = [stream for stream in client if diagram.input(stream) is not None]
    if raw:
        raise CannotBeSimulated(
            f"the client reads {raw[0]!r}, which is an input: nothing is computed for it\n"
            "    allowed: streams that boxes make\n    next: leave it out, or put a filter behind it"
        )


def _leading_to(checked: Checked, client: Iterable[str]) -> list[CheckedBox]:
    """The boxes whose streams the client's are made from, in their order."""
    wanted, found = set(client), list[CheckedBox]()
    for box in reversed(checked.boxes):
        if wanted.intersection(box.box.outputs):
            wanted.update(box.box.inputs)
            found.insert(0, box)
    return found


# Where boxes run


def _deployed(diagram: Diagram, deployment: Deployment) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """The fragment of each box, and the hosts of each fragment: a node's host is named after the first fragment on it."""
    _all_must_be_placed(diagram, deployment)
    placed = check_deployment(deployment, diagram).boxes
    called = {_places(node.endpoint for node in one.nodes): one.name for one in reversed(deployment.replica_sets)}
    fragments: dict[frozenset[str], str] = {}
    hosts: dict[str, tuple[str, ...]] = {}
    at: dict[str, str] = {}
    for query in diagram.queries:
        for box in query.boxes:
            places = _places(placed[box.name])
            if places not in fragments:
                name = _free(called.get(places, query.name), hosts)
                ordered = list(dict.fromkeys(_place(endpoint) for endpoint in placed[box.name]))
                for place, host in zip(ordered, named_after(name, len(ordered)), strict=True):
                    at.setdefault(place, host)
                fragments[places], hosts[name] = name, tuple(at[place] for place in ordered)
    names = {box.name: fragments[_places(placed[box.name])] for box in diagram.boxes}
    return names, hosts


def _place(endpoint: Endpoint) -> str:
    return str(replace(endpoint, host=Endpoint().host) if endpoint.same(Endpoint(port=endpoint.port)) else endpoint)


def _places(endpoints: Iterable[Endpoint]) -> frozenset[str]:
    return frozenset(map(_place, endpoints))


def _free(name: str, taken: Mapping[str, object]) -> str:
    """As it can stand in a schedule, where - and > join hosts."""
    name = re.sub(r"\W", "_", name)
    return next(one for one in (name, *(f"{name}{n}_" for n in range(2, len(taken) + 3))) if one not in taken)


def _all_must_be_placed(diagram: Diagram, deployment: Deployment) -> None:
    """What `auroral check` only warns of, as it would run on this machine, is a hole in a simulation."""
    groups: list[Node | ReplicaSet] = [*deployment.replica_sets, *deployment.nodes]
    groups += [node for one in deployment.replica_sets for node in one.nodes]
    known = by_any_case(query for group in groups for query in group.queries)
    place = Place(groups[0].place.file) if groups else Place()
    problems = [
        Problem(
            f"query {query.name!r} is on no node",
            place,
            "a node or a replica set for each query",
            f'add query="{query.name}" to a node or replica_set',
        )
        for query in diagram.queries
        if query.name not in known and query.name.lower() not in known
        if query.node is None and any(box.node is None for box in query.boxes)
    ]
    problems += [
        Problem("a box that moves cannot be simulated", move.place, "boxes that stay", "leave the move out")
        for move in deployment.moves
    ]
    if problems:
        raise DiagramError(problems)


# What each fragment reads and gives


def _fragment(
    checked: Checked, names: Mapping[str, str], name: str, hosts: tuple[str, ...], client: tuple[str, ...]
) -> DiagramFragment:
    boxes = tuple(box for box in checked.boxes if names[box.box.name] == name)
    made = [stream for box in boxes for stream in box.box.outputs]
    read = dict.fromkeys(stream for box in boxes for stream in box.box.inputs if stream not in made)
    asked_for = {s for box in checked.boxes if names[box.box.name] != name for s in box.box.inputs} | {*client}
    inputs = tuple(Input(stream, checked.streams[stream].schema) for stream in read)
    outputs = tuple(Output(stream) for stream in made if stream in asked_for)
    specs = _specs(boxes, read, checked.diagram.bucket)
    part = replace(checked, diagram=replace(checked.diagram, inputs=inputs, outputs=outputs), boxes=boxes)
    return DiagramFragment(name, hosts, part, tuple(specs[output.stream] for output in outputs))


def _specs(boxes: Iterable[CheckedBox], inputs: Iterable[str], bucket: int) -> dict[str, OutputSpec]:
    """Of every stream, what it reads of the inputs: what boxes on the way read of the past adds up. And what it cannot do without."""
    found = {stream: OutputSpec(stream, {stream: 1}, (frozenset({stream}),), ()) for stream in inputs}
    for box in boxes:
        back = -(-box.typed.past // bucket)
        reads: dict[str, int] = {}
        for read in box.box.inputs:
            for name, horizon in found[read].reads.items():
                reads[name] = max(horizon + back, reads.get(name, 0))
        required = _required([found[read].required for read in box.box.inputs], box.typed.required)
        found |= {stream: OutputSpec(stream, reads, required, ()) for stream in box.box.outputs}
    return found


def _required(ports: list[tuple[frozenset[str], ...]], needed: tuple[bool, ...]) -> tuple[frozenset[str], ...]:
    """Groups of inputs of each of which one must be there: all ports of a join, any one of a union."""
    groups = [group for port, must in zip(ports, needed, strict=True) if must for group in port]
    return tuple(dict.fromkeys(groups or (frozenset[str]().union(*chosen) for chosen in product(*ports))))


def _in_order(fragments: Mapping[str, DiagramFragment], made: Mapping[str, str]) -> list[str]:
    before: dict[str, Any] = {
        name: [made[stream] for stream in fragment.inputs if stream in made] for name, fragment in fragments.items()
    }
    try:
        return list(TopologicalSorter(before).static_order())
    except CycleError as error:
        raise CannotBeSimulated(
            f"replica sets read from one another in a loop: {' reads from '.join(error.args[1][::-1])}\n"
            "    allowed: replica sets in which no stream comes back to where it was made\n"
            "    next: put these queries on one replica set, or each on nodes of its own"
        ) from error
