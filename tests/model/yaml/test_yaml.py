"""Deployments as YAML: the same content as XML, and the same care for what is wrong."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest
import yaml
from hypothesis import given
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
from auroral.model.deployment_text import read_deployment_text
from auroral.model.errors import DiagramError, Problem
from auroral.model.yaml import read_deployment
from auroral.model.yaml.read import MAX_BYTES

EVERYTHING = """\
# What stands here, stands in the XML too.
replica_sets:
  - name: Pair
    queries: [x, y]
    nodes:
      - :1
      - endpoint: localhost:2
        queries: z
nodes: {endpoint: n1, queries: one two}
regions:
  - node: n1
    endpoint: m
  - {}
clients:
  - prefix: P
    endpoint: c
    publishes: [A]
    subscribes:
      - {stream: B, endpoint: ":9", gap: 4}
publishes:
  - stream: C
    node: n1
subscribes: [d]
unsubscribes: E
moves:
  - {box: F, node: ":3"}
  - {table: G, node: Pair}
"""


def test_every_key() -> None:
    deployment = read_deployment(EVERYTHING, "d.yaml")
    assert deployment == Deployment(
        nodes=(Node(Endpoint("n1"), ("one", "two")),),
        replica_sets=(
            ReplicaSet("Pair", ("x", "y"), (Node(Endpoint(port=1)), Node(Endpoint("localhost", 2), ("z",)))),
        ),
        regions=(Region("n1", Endpoint("m", 25000)), Region()),
        clients=(Client("P", Endpoint("c", 25000), (Publish("a"),), (Subscribe("b", Endpoint(port=9), 4),)),),
        publishes=(Publish("c", "n1"),),
        subscribes=(Subscribe("d"),),
        unsubscribes=(Unsubscribe("e"),),
        moves=(Move(":3", box="f"), Move("Pair", table="g")),
    )
    assert [node.place.line for node in deployment.replica_sets[0].nodes] == [6, 7]
    assert str(deployment.subscribes[0].place) == "d.yaml:23, subscribe 'd'"


def problems(text: str | bytes) -> list[Problem]:
    with pytest.raises(DiagramError) as caught:
        read_deployment(text, "d.yaml")
    assert all(problem.allowed and problem.next_step for problem in caught.value.problems)
    assert {problem.place.file for problem in caught.value.problems} == {"d.yaml"}
    return list(caught.value.problems)


def test_all_problems_at_once() -> None:
    text = """\
replica_sets:
  - name: x
  - nodes: [":1"]
nodes:
  - n:n
  - endpoint: m
    querys: q
subscribes:
  - {stream: a, gap: -1}
  - stream: ""
publishes:
  - [a]
moves:
  - node: x
  - {node: x, box: a, table: b}
regons: []
regions: word
clients:
  - prefix: [a]
"""
    found = [(p.place.line, p.what, p.next_step) for p in problems(text)]
    assert found == [
        (2, "the replica set has no node", "add a node with its endpoint, host:port"),
        (3, "the key 'name' is missing", "add name: ..."),
        (5, "'n:n' is no endpoint", "mend the endpoint"),
        (7, "unknown key 'querys'", "did you mean 'queries'?"),
        (9, "gap is '-1'", "mend the number"),
        (10, "key 'stream' is empty", "give 'stream' a name"),
        (12, "a value is no publish", "write its keys, one in each line"),
        (14, "there are 0 of the keys box and table", "leave 'box' or 'table'"),
        (15, "there are 2 of the keys box and table", "leave 'box' or 'table'"),
        (16, "unknown key 'regons'", "did you mean 'regions'?"),
        (17, "a value is no region", "write its keys, one in each line"),
        (19, "the value of 'prefix' is none that it can have", "mend it or leave it out"),
    ]


def test_a_key_that_is_misspelt_is_told_once() -> None:
    assert [p.what for p in problems("nodes: [{endpiont: a}]")] == ["unknown key 'endpiont'"]


@pytest.mark.parametrize(
    ("text", "what", "line"),
    [
        ("", "the text is empty", 1),
        ("- a", "this is no deployment", 1),
        ("nodes: [", "this is no YAML", 1),
        ("nodes:\n  - a\n b", "this is no YAML", 3),
        ("nodes: []\nnodes: []", "'nodes' stands twice, first in line 1", 2),
        ("a: &x [b]\nnodes: *x", "*x stands for another part of the text", 2),
        ("nodes: !!python/object/apply:os.system [ls]", "the value has the tag", 1),
        ("nodes: !mine a", "the value has the tag", 1),
        ("{}\n---\n{}", "a second document begins", 2),
        ("[a]: b", "a key is no word", 1),
        ("~: b", "a key is no word", 1),
        ("nodes:\n  - a\x07b", "this is no YAML", 2),
        (b"nodes:\n  - \xff", "the text is not UTF-8", 2),
        ('nodes: "\\UFFFFFFFF"', "this is no YAML", None),
        ('nodes: "\\uD800"', "this is no YAML", None),
        ("<<: {nodes: []}", "unknown key '<<'", 1),
    ],
)
def test_what_is_no_deployment(text: str | bytes, what: str, line: int | None) -> None:
    (problem,) = problems(text)
    assert problem.what.startswith(what)
    assert problem.place.line == line


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[" * 100_000, "values are nested too deeply"),
        ("a:\n" + "".join(f"{' ' * n}- \n" for n in range(1, 200)), "values are nested too deeply"),
        ("nodes: [" + "a," * 40_000 + "]", "the text has too many values"),
        ("# " + "a" * MAX_BYTES, "the text has"),
        ("a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]", "*a stands for another part"),
    ],
)
def test_limits(text: str, what: str) -> None:
    began = time.monotonic()
    (problem,) = problems(text)
    assert problem.what.startswith(what)
    assert time.monotonic() - began < 60


def test_values_are_the_text_that_is_written() -> None:
    """Not the booleans, numbers and times that YAML sees in them."""
    found = read_deployment("replica_sets: [{name: yes, queries: [on, 1:30, 2026-01-01], nodes: [12:30]}]")
    assert found.replica_sets == (ReplicaSet("yes", ("on", "1:30", "2026-01-01"), (Node(Endpoint("12", 30)),)),)


def test_utf8_with_a_mark_and_nothing() -> None:
    assert read_deployment(b"\xef\xbb\xbf{}") == Deployment()
    assert read_deployment("nodes:\nclients: []") == Deployment()


NAMES = st.text("abcXYZ019_é<&'\"#-", min_size=1, max_size=6)
ENDPOINTS = st.builds("{}:{}".format, st.sampled_from(["", "far", "10.0.0.1", "[::1]"]), st.integers(1, 65535))
QUERIES = st.lists(NAMES, max_size=3)


def some(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional)


SPARKS = ("own", "shared", "local[4]", "spark://far:7077")


def with_spark(node: dict[str, Any], says: bool) -> dict[str, Any]:
    """One that stands twice has the same in both places."""
    return {**node, "spark": SPARKS[sum(map(ord, node["endpoint"])) % 4]} if says else node


NODE = st.builds(with_spark, some({"endpoint": ENDPOINTS}, {"queries": QUERIES}), st.booleans())
PUBLISH = some({"stream": NAMES}, {"node": NAMES})
SUBSCRIBE = some({"stream": NAMES}, {"endpoint": ENDPOINTS, "gap": st.integers(0, 99)})
DEPLOYMENTS = some(
    {},
    {
        "replica_sets": st.lists(
            some({"name": NAMES, "nodes": st.lists(NODE, min_size=1, max_size=3)}, {"queries": QUERIES}), max_size=3
        ),
        "nodes": st.lists(NODE, max_size=3),
        "regions": st.lists(some({}, {"node": NAMES, "endpoint": ENDPOINTS}), max_size=2),
        "clients": st.lists(
            some(
                {},
                {
                    "prefix": NAMES,
                    "endpoint": ENDPOINTS,
                    "publishes": st.lists(PUBLISH, max_size=2),
                    "subscribes": st.lists(SUBSCRIBE, max_size=2),
                },
            ),
            max_size=2,
        ),
        "publishes": st.lists(PUBLISH, max_size=2),
        "subscribes": st.lists(SUBSCRIBE, max_size=2),
        "unsubscribes": st.lists(some({"stream": NAMES}, {}), max_size=2),
        "moves": st.lists(
            st.one_of(some({"node": NAMES, "box": NAMES}, {}), some({"node": NAMES, "table": NAMES}, {})), max_size=2
        ),
    },
)
ELEMENTS = {
    "replica_sets": "replica_set",
    "nodes": "node",
    "regions": "region",
    "clients": "client",
    "publishes": "publish",
    "subscribes": "subscribe",
    "unsubscribes": "unsubscribe",
    "moves": "move",
}


def as_xml(tag: str, content: dict[str, Any]) -> str:
    attributes = {
        "query" if key == "queries" else key: " ".join(value) if isinstance(value, list) else str(value)
        for key, value in content.items()
        if key not in ELEMENTS
    }
    inside = "".join(as_xml(ELEMENTS[key], one) for key, values in content.items() if key in ELEMENTS for one in values)
    written = "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items())
    return f"<{tag}{written}>{inside}</{tag}>"


@given(DEPLOYMENTS)
def test_xml_and_yaml_of_the_same_content_are_one_deployment(content: dict[str, Any]) -> None:
    wanted = read_deployment_text(as_xml("deploy", content))
    assert read_deployment_text(yaml.safe_dump(content, allow_unicode=True)) == wanted
    assert read_deployment_text(json.dumps(content, ensure_ascii=False, indent=1)) == wanted


@given(st.one_of(st.text(max_size=80), st.text("nodes:[]{}- &*!|>'\"\n#,?%@a1", max_size=80)))
def test_whatever_the_text_is(text: str) -> None:
    """It is a deployment, or nothing else than a DiagramError."""
    with suppress(DiagramError):
        assert isinstance(read_deployment(text), Deployment)
