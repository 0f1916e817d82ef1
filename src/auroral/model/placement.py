"""A deployment checked against a diagram: which nodes run each query, and where each input stream goes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from auroral.model.deployment import ENDPOINTS, Deployment, Endpoint, endpoint
from auroral.model.diagram import Diagram
from auroral.model.errors import DiagramError, Place, Problem, unknown_name


@dataclass(frozen=True, slots=True)
class Placement:
    """The nodes of each query and box, by name, and those that each input stream is sent to (`targets`)."""

    queries: dict[str, tuple[Endpoint, ...]]
    boxes: dict[str, tuple[Endpoint, ...]]
    targets: dict[str, tuple[Endpoint, ...]]
    warnings: tuple[Problem, ...] = ()


def check_deployment(deployment: Deployment, diagram: Diagram) -> Placement:
    """Place the diagram's queries. Raises one DiagramError with all that does not fit."""
    return _Checking(deployment, diagram).run()


def unknown_names(deployment: Deployment, diagram: Diagram) -> list[Problem]:
    """Queries, streams, boxes and tables that are not the diagram's, of a deployment whose nodes are not all known."""
    checking = _Checking(deployment, diagram)
    try:
        checking.run()
    except DiagramError as error:
        names = tuple(f"unknown {kind} " for kind in ("query", "input stream", "stream", "box", "table"))
        return [problem for problem in error.problems if problem.what.startswith(names)]
    return []


def by_any_case(names: Iterable[str]) -> dict[str, str]:
    """Look-up of names as written, and by their lower case: Borealis folds most names, but not all."""
    written = list(names)
    return {**{name.lower(): name for name in reversed(written)}, **{name: name for name in written}}


class _Checking:
    def __init__(self, deployment: Deployment, diagram: Diagram):
        self.deployment = deployment
        self.diagram = diagram
        self.replicas = {s.name: tuple(node.endpoint for node in s.nodes) for s in deployment.replica_sets}
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []

    def run(self) -> Placement:
        queries = self._queries()
        boxes = self._boxes(queries)
        targets = self._targets(boxes)
        self._publishes(targets)
        self._streams_and_moves()
        if self.problems:
            raise DiagramError(sorted(self.problems, key=lambda problem: problem.place.line or 0))
        return Placement(queries, boxes, targets, tuple(self.warnings))

    def _queries(self) -> dict[str, tuple[Endpoint, ...]]:
        """The nodes of each query: as deployed, else by its own `node`, else this machine's default node."""
        names = [query.name for query in self.diagram.queries]
        known = by_any_case(names)
        placed: dict[str, tuple[Endpoint, ...]] = {}
        groups = [(s.queries, tuple(n.endpoint for n in s.nodes), s.place) for s in self.deployment.replica_sets]
        groups += [(n.queries, (n.endpoint,), n.place) for s in self.deployment.replica_sets for n in s.nodes]
        groups += [(n.queries, (n.endpoint,), n.place) for n in self.deployment.nodes]
        for written, endpoints, place in groups:
            for query in written:
                name = known.get(query) or known.get(query.lower())
                if name is None:
                    self.problems.append(unknown_name("query", query, names, place))
                elif name in placed and not all(any(one.same(other) for other in placed[name]) for one in endpoints):
                    there = ", ".join(map(str, placed[name]))
                    self.problems.append(
                        Problem(
                            f"query {name!r} is placed twice, also on {there}",
                            place,
                            allowed="one node, or one replica set, for each query",
                            next_step="put the nodes into one replica_set",
                        )
                    )
                else:
                    placed.setdefault(name, endpoints)
        for query_value in self.diagram.queries:
            if query_value.name in placed:
                continue
            if query_value.node is None and self.deployment.nodes + self.deployment.replica_sets != ():
                self.warnings.append(
                    Problem(
                        f"query {query_value.name!r} is placed on no node: it goes to {Endpoint()}",
                        allowed="one node or replica set for each query",
                        next_step="name it in a node or replica_set",
                    )
                )
            placed[query_value.name] = self._named(query_value.node, Place(element=f"query {query_value.name!r}"))
        return placed

    def _named(self, written: str | None, place: Place) -> tuple[Endpoint, ...]:
        """The endpoints that a `node` attribute means: those of the replica set of that name, or itself."""
        if written is None:
            return (Endpoint(),)
        if written in self.replicas:
            return self.replicas[written]
        try:
            return (endpoint(written),)
        except ValueError as error:
            self.problems.append(
                Problem(
                    f"node: {error}", place, allowed=ENDPOINTS, next_step="mend the endpoint, or name a replica set"
                )
            )
            return (Endpoint(),)

    def _boxes(self, queries: dict[str, tuple[Endpoint, ...]]) -> dict[str, tuple[Endpoint, ...]]:
        return {
            box.name: queries[query.name] if box.node is None else self._named(box.node, box.place)
            for query in self.diagram.queries
            for box in query.boxes
        }

    def _targets(self, boxes: dict[str, tuple[Endpoint, ...]]) -> dict[str, tuple[Endpoint, ...]]:
        """For each input stream, the nodes of the boxes that read it."""
        targets: dict[str, dict[Endpoint, None]] = {given.stream: {} for given in self.diagram.inputs}
        for box in self.diagram.boxes:
            for stream in box.inputs:
                targets.get(stream, {}).update(dict.fromkeys(boxes[box.name]))
        return {stream: tuple(nodes) for stream, nodes in targets.items()}

    def _publishes(self, targets: dict[str, tuple[Endpoint, ...]]) -> None:
        known = sorted(targets)
        for publish in self.deployment.all_publishes:
            if publish.stream not in targets:
                self.problems.append(unknown_name("input stream", publish.stream, known, publish.place))
                continue
            nodes = targets[publish.stream]
            if not nodes:
                self.warnings.append(
                    Problem(
                        f"stream {publish.stream!r} is published but read by no box",
                        publish.place,
                        allowed="streams that a box reads",
                        next_step="leave the publish out, or connect a box",
                    )
                )
            elif publish.node is not None:
                for written in self._named(publish.node, publish.place):
                    if not any(written.same(node) for node in nodes):
                        self.problems.append(
                            Problem(
                                f"stream {publish.stream!r} is published to {written}, where no box reads it",
                                publish.place,
                                ", ".join(map(str, nodes)),
                                "leave `node` out: it follows from the boxes",
                            )
                        )

    def _streams_and_moves(self) -> None:
        streams = {s.stream for s in self.diagram.inputs} | {s for box in self.diagram.boxes for s in box.outputs}
        wanted = [(subscribe.stream, subscribe.place) for subscribe in self.deployment.all_subscribes]
        wanted += [(end.stream, end.place) for end in self.deployment.unsubscribes]
        known = sorted(streams)
        for stream, place in wanted:
            if stream not in streams:
                self.problems.append(unknown_name("stream", stream, known, place))
        boxes = {box.name: box for box in self.diagram.boxes}
        tables = {table.name: table for query in self.diagram.queries for table in query.tables}
        for move in self.deployment.moves:
            for kind, name, there in (("box", move.box, boxes), ("table", move.table, tables)):
                if name is not None and name not in there:
                    self.problems.append(unknown_name(kind, name, tuple(there), move.place))
            self._named(move.node, move.place)
