"""Borealis deployment files: text to a Deployment, or to everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from auroral.model.deployment import (
    ENDPOINTS,
    MONITOR_PORT,
    NODE_PORT,
    SPARKS,
    Client,
    Deployment,
    Endpoint,
    Move,
    Node,
    Publish,
    Region,
    ReplicaSet,
    Subscribe,
    Unsubscribe,
    endpoint,
    spark,
)
from auroral.model.errors import DiagramError, Problem
from auroral.model.xml.notes import Notes
from auroral.model.xml.parameters import LARGEST
from auroral.model.xml.read import Element, expect_root, read_xml
from auroral.model.xml.vocabulary import DEPLOYMENT, check_words

_NOWHERE = endpoint("")


class DeploymentError(DiagramError):
    """All that is wrong with a deployment's text. `deployment` is what could be read of it, to be looked through for more."""

    def __init__(self, problems: Iterable[Problem], warnings: Iterable[Problem], deployment: Deployment):
        super().__init__(problems, warnings)
        self.deployment = deployment


def read_deployment(text: str | bytes, file: str | None = None) -> Deployment:
    """Read a `<deploy>` file. Raises one DiagramError with all problems of the file.

    Whether it fits a diagram is for `auroral.model.placement.check_deployment`.
    """
    root = read_xml(text, file)
    expect_root(root, "deploy", file)
    notes = Notes(file)
    check_words(root, DEPLOYMENT, notes)
    return deployment_in(root, notes)


def deployment_in(root: Element, notes: Notes) -> Deployment:
    """What the elements mean, whatever they were written in. Raises all that was noted by then, and here."""
    reading = _Reading(notes)
    deployment = Deployment(
        nodes=_added_up(reading.nodes(root)),
        replica_sets=reading.replica_sets(root),
        regions=tuple(
            Region(_text(e, "node"), reading.endpoint(e, MONITOR_PORT), notes.place(e)) for e in root.all("region")
        ),
        clients=tuple(reading.client(e) for e in root.all("client")),
        publishes=reading.publishes(root),
        subscribes=reading.subscribes(root),
        unsubscribes=tuple(
            Unsubscribe(stream, notes.place(e))
            for e in root.all("unsubscribe")
            if (stream := notes.name(e, "stream")) is not None
        ),
        moves=tuple(
            Move(
                e.attributes.get("node", "").strip(),
                notes.name(e, "box"),
                notes.name(e, "table"),
                notes.place(e),
            )
            for e in root.all("move")
        ),
    )
    if notes.errors:
        wrong = notes.failure()
        raise DeploymentError(wrong.problems, wrong.warnings, deployment)
    return replace(deployment, warnings=tuple(notes.warnings))


class _Reading:
    def __init__(self, notes: Notes):
        self.notes = notes
        self._sparks: dict[Endpoint, str] = {}

    def endpoint(self, element: Element, default_port: int, text: str | None = None) -> Endpoint | None:
        """The endpoint in `text`, else in the element's attribute; None where there is none."""
        text = element.attributes.get("endpoint") if text is None else text
        if text is None:
            return None
        try:
            return endpoint(text, default_port)
        except ValueError as error:
            self.notes.error(element, str(error), allowed=ENDPOINTS, next_step="mend the endpoint")
            return None

    def nodes(self, parent: Element) -> list[Node]:
        read = [(e, self.endpoint(e, NODE_PORT)) for e in parent.all("node")]
        # A node whose endpoint is wrong stands for its queries: what is wrong with those is to be found too.
        return [
            Node(found or _NOWHERE, _list(e, "query"), self._spark(e, found or _NOWHERE), self.notes.place(e))
            for e, found in read
        ]

    def _spark(self, element: Element, at: Endpoint) -> str | None:
        text = element.attributes.get("spark")
        if text is None:
            return None
        try:
            found = spark(text)
        except ValueError as error:
            self.notes.error(element, str(error), allowed=SPARKS, next_step="mend it, or leave it out")
            return None
        earlier = self._sparks.setdefault(at.plain, found)
        if earlier != found:
            self.notes.error(
                element,
                f"the node has the Spark {found!r}, and elsewhere in the file {earlier!r}",
                allowed="one Spark for each node",
                next_step="say it once",
            )
        return found

    def replica_sets(self, root: Element) -> tuple[ReplicaSet, ...]:
        sets: dict[str, ReplicaSet] = {}
        for element in root.all("replica_set"):
            name = self.notes.name(element, fold=False)
            if name is None:
                continue
            if not any(element.all("node")):
                self.notes.error(
                    element,
                    "the replica set has no node",
                    "at least one node",
                    "add a node with its endpoint, host:port",
                )
            earlier = sets.get(name, ReplicaSet(name, place=self.notes.place(element)))
            nodes = _added_up([*earlier.nodes, *self.nodes(element)])
            sets[name] = replace(earlier, queries=_union(earlier.queries, _list(element, "query")), nodes=nodes)
        return tuple(sets.values())

    def client(self, element: Element) -> Client:
        return Client(
            _text(element, "prefix"),
            self._first_endpoint(element),
            self.publishes(element),
            self.subscribes(element),
            self.notes.place(element),
        )

    def _first_endpoint(self, element: Element) -> Endpoint | None:
        """A client's endpoint; old files may name several monitors, for a client in parts."""
        first, *more = element.attributes.get("endpoint", "").split() or [""]
        if not more:
            return self.endpoint(element, MONITOR_PORT)
        self.notes.warn(
            element,
            f"the client has {1 + len(more)} endpoints; only the first, {first[:60]!r}, counts",
            next_step="write a client for each endpoint",
        )
        return self.endpoint(element, MONITOR_PORT, first)

    def publishes(self, parent: Element) -> tuple[Publish, ...]:
        return tuple(
            Publish(stream, _text(e, "node"), self.notes.place(e))
            for e in parent.all("publish")
            if (stream := self.notes.name(e, "stream")) is not None
        )

    def subscribes(self, parent: Element) -> tuple[Subscribe, ...]:
        return tuple(
            Subscribe(stream, self.endpoint(e, MONITOR_PORT), self._gap(e), self.notes.place(e))
            for e in parent.all("subscribe")
            if (stream := self.notes.name(e, "stream")) is not None
        )

    def _gap(self, element: Element) -> int | None:
        text = element.attributes.get("gap")
        return None if text is None else self.notes.whole(element, "gap", text, 0, LARGEST)


def _added_up(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """Repeated elements of one node add up."""
    merged: dict[Endpoint, Node] = {}
    for node in nodes:
        earlier = merged.get(node.endpoint, node)
        queries = _union(earlier.queries, node.queries)
        merged[node.endpoint] = replace(earlier, queries=queries, spark=earlier.spark or node.spark)
    return tuple(merged.values())


def _union(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))


def _list(element: Element, attribute: str) -> tuple[str, ...]:
    return tuple(element.attributes.get(attribute, "").split())


def _text(element: Element, attribute: str) -> str | None:
    text = element.attributes.get(attribute)
    return None if text is None else text.strip()
