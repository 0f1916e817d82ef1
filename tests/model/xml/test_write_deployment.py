"""X8: deployments are written as XML and as YAML, and read again as the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auroral.model.deployment import (
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
)
from auroral.model.errors import DiagramError
from auroral.model.xml import read_deployment, write_deployment
from auroral.model.yaml import read_deployment as read_yaml
from auroral.model.yaml import write_deployment as write_yaml

WORDS = st.text("abc_1<&'é:#-{", min_size=1, max_size=5)
STREAMS = WORDS | st.sampled_from(["no", "1e3", "null", "~", "two words", "- x", "true"])
QUERIES = st.lists(WORDS, max_size=2, unique=True).map(tuple)
ENDPOINTS = st.builds(Endpoint, st.sampled_from(["127.0.0.1", "far.example", "[::1]"]), st.integers(1, 65535))
MAYBE_ENDPOINTS = st.none() | ENDPOINTS
GAPS = st.none() | st.integers(0, 10**9)


@st.composite
def deployments(draw: st.DrawFn) -> Deployment:
    # One place stands for one node: its Spark is the same wherever it is named.
    places = draw(st.lists(ENDPOINTS, min_size=4, max_size=4, unique=True))
    nodes = [
        Node(at, draw(QUERIES), draw(st.sampled_from([None, "own", "local[2]", "spark://h:7077"]))) for at in places
    ]
    names = draw(st.lists(WORDS, min_size=2, max_size=2, unique=True))
    publishes = st.lists(st.builds(Publish, STREAMS, st.none() | WORDS), max_size=2).map(tuple)
    subscribes = st.lists(st.builds(Subscribe, STREAMS, MAYBE_ENDPOINTS, GAPS), max_size=2).map(tuple)
    return Deployment(
        tuple(nodes[:2]),
        (ReplicaSet(names[0], draw(QUERIES), tuple(nodes[2:])), ReplicaSet(names[1], (), (nodes[0],))),
        tuple(draw(st.lists(st.builds(Region, st.none() | WORDS, MAYBE_ENDPOINTS), max_size=1))),
        tuple(draw(st.lists(st.builds(Client, st.none() | WORDS, MAYBE_ENDPOINTS, publishes, subscribes), max_size=2))),
        draw(publishes),
        draw(subscribes),
        tuple(draw(st.lists(st.builds(Unsubscribe, STREAMS), max_size=1))),
        tuple(draw(st.lists(st.builds(Move, WORDS, STREAMS), max_size=1))),
    )


@settings(deadline=None)
@given(deployments())
def test_any_deployment(deployment: Deployment) -> None:
    assert read_deployment(write_deployment(deployment)) == deployment
    assert read_yaml(write_yaml(deployment)) == deployment


def test_what_stands_alone_in_yaml() -> None:
    at = Endpoint("127.0.0.1", 15100)
    deployment = Deployment(replica_sets=(ReplicaSet("pair", ("a", "b"), (Node(at),)),), publishes=(Publish("in"),))
    text = "replica_sets:\n- name: pair\n  queries:\n  - a\n  - b\n  nodes:\n  - 127.0.0.1:15100\npublishes:\n- in\n"
    assert write_yaml(deployment) == text


def test_strict_refuses_the_spark_of_a_node() -> None:
    deployment = Deployment((Node(Endpoint(), ("q",), "own"),))
    assert 'spark="own"' in write_deployment(deployment)
    with pytest.raises(DiagramError, match="names its Spark, 'own'"):
        write_deployment(deployment, strict=True)


@pytest.mark.parametrize("write", [write_deployment, write_yaml])
def test_what_no_file_can_say(write: object) -> None:
    assert callable(write)
    with pytest.raises(DiagramError, match="cannot be written so that it can be read"):
        write(Deployment((Node(Endpoint(), ("two words",)),)))
    with pytest.raises(DiagramError, match="the replica set has no node"):
        write(Deployment(replica_sets=(ReplicaSet("empty"),)))
