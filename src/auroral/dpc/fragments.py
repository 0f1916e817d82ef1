"""A diagram cut into fragments, one for each replica set: what each reads and gives, and on which nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from itertools import product
from typing import Any

from auroral.dpc.coverage import AtLeast
from auroral.dpc.sunion import OutputSpec
from auroral.model.aggregates import called_functions
from auroral.model.boxes.base import BoxClass
from auroral.model.boxes.local_clock import TypedOnLocalClock
from auroral.model.checking import Checked, CheckedBox, check
from auroral.model.deployment import Deployment, Endpoint, Node, ReplicaSet
from auroral.model.diagram import Diagram, Input, Output
from auroral.model.errors import AuroralError, DiagramError, Place, Problem
from auroral.model.placement import by_any_case, check_deployment
from auroral.model.regions import members
from auroral.model.types import LONG

NODES = "n"
"""Without a deployment, replicas run on nodes na, nb, and so on."""


class CannotBeCut(AuroralError):
    """A diagram that cannot run on these nodes."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """Some boxes of a diagram as what replicas compute; `checked` has those boxes alone."""

    name: str
    hosts: tuple[str, ...]
    checked: Checked
    outputs: tuple[OutputSpec, ...]
    """Without readers: who reads them follows from all fragments together."""

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(given.stream for given in self.checked.diagram.inputs)

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(output.stream for output in self.checked.diagram.outputs)


@dataclass(frozen=True, slots=True)
class Fragments:
    all: tuple[Fragment, ...]
    """Those first that others read."""
    client: tuple[str, ...]
    """The streams that the client reads."""
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    """By node, as the deployment has them."""

    @property
    def sources(self) -> tuple[str, ...]:
        made = {stream for fragment in self.all for stream in fragment.streams}
        read = (stream for fragment in self.all for stream in fragment.inputs)
        return tuple(dict.fromkeys(stream for stream in read if stream not in made))

    @property
    def depth(self) -> int:
        """Of the longest way from a source to the client."""
        depths: dict[str, int] = {}
        for fragment in self.all:
            depths |= dict.fromkeys(fragment.streams, 1 + max(depths.get(stream, 0) for stream in fragment.inputs))
        return max(depths.values())


def named_after(query: str, count: int) -> tuple[str, ...]:
    """Names of nodes."""
    return tuple(f"{query}{chr(ord('a') + i)}" for i in range(count))


def cut(
    checked: Checked, deployment: Deployment | None = None, replicas: int = 2, also: Iterable[str] = ()
) -> Fragments:
    """Without a deployment all boxes are one fragment, on so many nodes. `also`: streams that are given, read or not, where there are such."""
    wanted = [output.stream for output in checked.diagram.outputs]
    endpoints: dict[str, Endpoint] = {}
    if deployment is None:
        names = {box.box.name: NODES for box in checked.boxes}
        hosts = {NODES: named_after(NODES, replicas)}
    else:
        names, hosts, endpoints = _deployed(checked.diagram, deployment)
        wanted += [one.stream for one in deployment.all_subscribes]
    # Control streams, without fields, are the system's own.
    client = tuple(stream for stream in dict.fromkeys(wanted) if checked.streams[stream].schema.fields)
    _refuse_inputs(checked.diagram, client)
    given = (*client, *also)
    boxes = _leading_to(checked, given)
    _refuse_local_clocks(boxes, names, hosts)
    made = {stream: names[box.box.name] for box in boxes for stream in box.box.outputs}
    idle = [name for name in hosts if name not in made.values()]
    if idle:
        raise CannotBeCut(
            f"nothing of what is computed on {idle[0]!r} comes to the client\n"
            "    allowed: boxes that lead to an output of the diagram\n"
            "    next: make one of their streams an output, or leave them out"
        )
    fragments = {
        name: _fragment(replace(checked, boxes=tuple(boxes)), names, name, hosts[name], given) for name in hosts
    }
    return Fragments(tuple(fragments[name] for name in _in_order(fragments, made)), client, endpoints)


def _refuse_inputs(diagram: Diagram, client: Iterable[str]) -> None:
    raw = [stream for stream in client if diagram.input(stream) is not None]
    if raw:
        raise CannotBeCut(
            f"the client reads {raw[0]!r}, which is an input: nothing is computed for it\n"
            "    allowed: streams that boxes make\n    next: leave it out, or put a filter behind it"
        )


def _refuse_local_clocks(
    boxes: Iterable[CheckedBox], names: Mapping[str, str], hosts: Mapping[str, tuple[str, ...]]
) -> None:
    for box in boxes:
        nodes = hosts[names[box.box.name]]
        if isinstance(box.typed, TypedOnLocalClock) and len(nodes) > 1:
            raise CannotBeCut(
                f"box {box.box.name!r} has timeouts by a local clock, and its query is to run on {len(nodes)} replicas: {', '.join(nodes)}\n"
                "    allowed: one node for a query with a local clock, which is that of one machine\n"
                "    next: --replicas 1, or a query of its own on one node; or leave the clock out: timeouts in stime are the same on all replicas"
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


def _deployed(
    diagram: Diagram, deployment: Deployment
) -> tuple[dict[str, str], dict[str, tuple[str, ...]], dict[str, Endpoint]]:
    """The fragment of each box, and the nodes of each fragment with their endpoints: a node is named after the first fragment on it."""
    _all_must_be_placed(diagram, deployment)
    placed = check_deployment(deployment, diagram).boxes
    called = {_places(node.endpoint for node in one.nodes): one.name for one in reversed(deployment.replica_sets)}
    fragments: dict[frozenset[str], str] = {}
    hosts: dict[str, tuple[str, ...]] = {}
    at: dict[str, str] = {}
    endpoints: dict[str, Endpoint] = {}
    for query in diagram.queries:
        for box in query.boxes:
            places = _places(placed[box.name])
            if places not in fragments:
                name = _free(called.get(places, query.name), hosts)
                ordered = list(dict.fromkeys(_place(endpoint) for endpoint in placed[box.name]))
                for place, host in zip(ordered, named_after(name, len(ordered)), strict=True):
                    at.setdefault(place, host)
                endpoints |= {at[_place(endpoint)]: endpoint for endpoint in placed[box.name]}
                fragments[places], hosts[name] = name, tuple(at[place] for place in ordered)
    names = {box.name: fragments[_places(placed[box.name])] for box in diagram.boxes}
    return names, hosts, endpoints


def _place(endpoint: Endpoint) -> str:
    return str(endpoint.plain)


def _places(endpoints: Iterable[Endpoint]) -> frozenset[str]:
    return frozenset(map(_place, endpoints))


def _free(name: str, taken: Mapping[str, object]) -> str:
    """As it can stand in a schedule of failures, where - and > join nodes."""
    name = re.sub(r"\W", "_", name)
    return next(one for one in (name, *(f"{name}{n}_" for n in range(2, len(taken) + 3))) if one not in taken)


def _all_must_be_placed(diagram: Diagram, deployment: Deployment) -> None:
    """What `auroral check` only warns of, as it would run on this machine, is a hole in a deployment."""
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
        Problem("a deployment begins without moves", move.place, "boxes that stay", "leave the move out")
        for move in deployment.moves
    ]
    if problems:
        raise DiagramError(problems)


# What each fragment reads and gives


def _fragment(
    checked: Checked, names: Mapping[str, str], name: str, hosts: tuple[str, ...], given: tuple[str, ...]
) -> Fragment:
    boxes = tuple(box for box in checked.boxes if names[box.box.name] == name)
    made = [stream for box in boxes for stream in box.box.outputs]
    read = dict.fromkeys(stream for box in boxes for stream in box.box.inputs if stream not in made)
    asked_for = {s for box in checked.boxes if names[box.box.name] != name for s in box.box.inputs} | {*given}
    outputs = tuple(Output(stream) for stream in made if stream in asked_for)
    part = part_of(checked, boxes, tuple(read), outputs)
    specs = _specs(part.boxes, read, checked.diagram.bucket)
    made_here = [replace(specs[o.stream], constraints=_constraints(checked.diagram, o.stream)) for o in outputs]
    return Fragment(name, hosts, part, tuple(made_here))


def _constraints(diagram: Diagram, stream: str) -> tuple[AtLeast, ...]:
    output = diagram.output(stream)
    if output is None or output.at_least is None:
        return ()
    return (AtLeast(output.at_least, frozenset(output.of or diagram.computed_from(stream))),)


def leading_to(checked: Checked, outputs: Iterable[str]) -> Checked:
    """The part that some of the outputs are made from."""
    wanted = tuple(output for output in checked.diagram.outputs if output.stream in set(outputs))
    boxes = tuple(_leading_to(checked, [output.stream for output in wanted]))
    read = {stream for box in boxes for stream in box.box.inputs}
    inputs = tuple(given for given in checked.diagram.inputs if given.stream in read)
    return replace(checked, diagram=replace(checked.diagram, inputs=inputs, outputs=wanted), boxes=boxes)


def part_of(
    checked: Checked, boxes: tuple[CheckedBox, ...], read: tuple[str, ...], outputs: tuple[Output, ...]
) -> Checked:
    """Some boxes as a diagram of their own. What they read of others comes in processing order, like rows of a source."""
    inputs = tuple(Input(stream, checked.streams[stream].schema) for stream in read)
    known = {stream: replace(checked.streams[stream], order=(LONG,)) for stream in read}
    chosen = {name for box in boxes for name in members(box.box.spec, box.box.name)}
    shared = {what for box in checked.diagram.boxes if box.name in chosen for what in box.shares}
    queries = []
    for query in checked.diagram.queries:
        mine = tuple(box for box in query.boxes if box.name in chosen)
        tables = tuple(table for table in query.tables if f"table {table.name}" in shared)
        if mine or tables:
            queries.append(replace(query, boxes=mine, tables=tables))
    # Connection points are of the whole: here their streams are outputs like others.
    diagram = replace(checked.diagram, inputs=inputs, outputs=outputs, queries=tuple(queries), views=())
    return check(diagram, called_functions(box.typed for box in boxes), known)


def _specs(boxes: Iterable[CheckedBox], inputs: Iterable[str], bucket: int) -> dict[str, OutputSpec]:
    """Of every stream, what it reads of the inputs: what boxes on the way read of the past adds up. And what it cannot do without."""
    found = {stream: OutputSpec(stream, {stream: 1}, (frozenset({stream}),), ()) for stream in inputs}
    for box in boxes:
        back = -(-box.typed.past // bucket)
        folded = any(found[read].folds for read in box.box.inputs)
        if folded and back:
            raise CannotBeCut(
                f"box {box.box.name!r} reads the past of a stream that depends on all of the past\n"
                "    allowed: such boxes on different replica sets: then the stream between them is kept\n"
                "    next: put the box into a query of its own, on nodes of its own"
            )
        reads: dict[str, int] = {}
        for read in box.box.inputs:
            for name, horizon in found[read].reads.items():
                reads[name] = max(horizon + back, reads.get(name, 0))
        required = _required([found[read].required for read in box.box.inputs], box.typed.required)
        folds = folded or box.typed.box_class is BoxClass.FOLD
        leaves_out = box.typed.leaves_out or any(found[read].leaves_out for read in box.box.inputs)
        spec = OutputSpec("", reads, required, (), folds=folds, leaves_out=leaves_out)
        found |= {stream: replace(spec, stream=stream) for stream in box.box.outputs}
    return found


def _required(ports: list[tuple[frozenset[str], ...]], needed: tuple[bool, ...]) -> tuple[frozenset[str], ...]:
    """Groups of inputs of each of which one must be there: all ports of a join, any one of a union."""
    groups = [group for port, must in zip(ports, needed, strict=True) if must for group in port]
    return tuple(dict.fromkeys(groups or (frozenset[str]().union(*chosen) for chosen in product(*ports))))


def _in_order(fragments: Mapping[str, Fragment], made: Mapping[str, str]) -> list[str]:
    before: dict[str, Any] = {
        name: [made[stream] for stream in fragment.inputs if stream in made] for name, fragment in fragments.items()
    }
    try:
        return list(TopologicalSorter(before).static_order())
    except CycleError as error:
        raise CannotBeCut(
            f"replica sets read from one another in a loop: {' reads from '.join(error.args[1][::-1])}\n"
            "    allowed: replica sets in which no stream comes back to where it was made\n"
            "    next: put these queries on one replica set, or each on nodes of its own"
        ) from error
