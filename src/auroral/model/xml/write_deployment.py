"""Deployments as Borealis XML: what is written is read again as the same deployment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from auroral.model.deployment import Client, Deployment, Endpoint, Node, Publish, Subscribe
from auroral.model.errors import DiagramError, Place, Problem
from auroral.model.xml.deployment import read_deployment
from auroral.model.xml.read import Element
from auroral.model.xml.text import made, xml_text


def write_deployment(deployment: Deployment, *, strict: bool = False) -> str:
    """The text of a `<deploy>` file. With `strict`, a Spark that a node names, which Borealis does not know, is an error."""
    if strict:
        refuse_sparks(deployment)
    text = xml_text(deployment_element(deployment))
    try:
        same = read_deployment(text) == deployment
    except DiagramError as error:
        raise DiagramError(unwritable(problem.what, problem.place.element) for problem in error.problems) from None
    if not same:
        raise DiagramError([unwritable("it would be read as something else", None)])
    return text


def unwritable(why: str, element: str | None) -> Problem:
    return Problem(
        f"the deployment cannot be written so that it can be read: {why}",
        Place(element=element),
        allowed="names of queries and nodes without blanks, and replica sets with nodes",
        next_step="mend what it says",
    )


def refuse_sparks(deployment: Deployment) -> None:
    problems = [
        Problem(
            f"the node names its Spark, {node.spark!r}: Borealis cannot read that",
            Place(node.place.file, node.place.line, f"node {str(node.endpoint)!r}"),
            allowed="endpoint and query",
            next_step="leave spark out, or write the file without --strict",
        )
        for node in deployment.all_nodes
        if node.spark is not None
    ]
    if problems:
        raise DiagramError(problems)


def deployment_element(deployment: Deployment) -> Element:
    return made(
        "deploy",
        {},
        *_nodes(deployment.nodes),
        *(
            made("replica_set", {"name": replicas.name, "query": _list(replicas.queries)}, *_nodes(replicas.nodes))
            for replicas in deployment.replica_sets
        ),
        *(made("region", {"node": region.node, "endpoint": _at(region.endpoint)}) for region in deployment.regions),
        *(_client(client) for client in deployment.clients),
        *_publishes(deployment.publishes),
        *_subscribes(deployment.subscribes),
        *(made("unsubscribe", {"stream": one.stream}) for one in deployment.unsubscribes),
        *(made("move", {"box": move.box, "table": move.table, "node": move.node}) for move in deployment.moves),
    )


def _nodes(nodes: Iterable[Node]) -> Iterator[Element]:
    for node in nodes:
        yield made("node", {"endpoint": str(node.endpoint), "query": _list(node.queries), "spark": node.spark})


def _client(client: Client) -> Element:
    attributes = {"prefix": client.prefix, "endpoint": _at(client.endpoint)}
    return made("client", attributes, *_publishes(client.publishes), *_subscribes(client.subscribes))


def _publishes(publishes: Iterable[Publish]) -> Iterator[Element]:
    return (made("publish", {"stream": one.stream, "node": one.node}) for one in publishes)


def _subscribes(subscribes: Iterable[Subscribe]) -> Iterator[Element]:
    for one in subscribes:
        gap = None if one.gap is None else str(one.gap)
        yield made("subscribe", {"stream": one.stream, "endpoint": _at(one.endpoint), "gap": gap})


def _at(endpoint: Endpoint | None) -> str | None:
    return None if endpoint is None else str(endpoint)


def _list(names: tuple[str, ...]) -> str | None:
    return " ".join(names) or None
