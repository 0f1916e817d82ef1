"""Deployment files, endpoints, and how a deployment fits a diagram."""

import pytest

from auroral.model.deployment import (
    MONITOR_PORT,
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
)
from auroral.model.errors import DiagramError, Problem
from auroral.model.placement import Placement, check_deployment
from auroral.model.xml import read_deployment
from model.xml.compose import box, load


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("far.example:123", "far.example", 123),
        (":123", "127.0.0.1", 123),
        ("Far", "far", 15000),
        ("far:", "far", 15000),
        (":", "127.0.0.1", 15000),
        ("", "127.0.0.1", 15000),
        ("[::1]:9", "[::1]", 9),
    ],
)
def test_rule_4_endpoints(text: str, host: str, port: int) -> None:
    assert endpoint(text) == Endpoint(host, port)
    assert str(endpoint("x:1")) == "x:1"


def test_rule_4_monitors() -> None:
    assert endpoint("x", MONITOR_PORT) == Endpoint("x", 25000)


@pytest.mark.parametrize("text", ["x:y", "x:0", "x:70000", "a:1:2", "http://x", "a b:1", "::"])
def test_wrong_endpoints(text: str) -> None:
    with pytest.raises(ValueError, match="is no endpoint"):
        endpoint(text)


def test_one_place_in_two_spellings() -> None:
    assert endpoint(":15000").same(endpoint("localhost"))
    assert not endpoint(":15000").same(endpoint(":15001"))


def read(*body: str) -> Deployment:
    return read_deployment("\n".join(["<deploy>", *body, "</deploy>"]), "d.xml")


def test_every_element() -> None:
    deployment = read(
        '<node endpoint="n1" query="one two"/>',
        '<node endpoint="n1:15000" query="two three"/>',
        '<replica_set name="Pair" query="x"><node endpoint=":1"/></replica_set>',
        '<replica_set name="Pair" query="y"><node endpoint=":2" query="z"/></replica_set>',
        '<region node="n1" endpoint="m"/>',
        "<region/>",
        '<client prefix="P" endpoint="c"><publish stream="A"/><subscribe stream="B" endpoint=":9" gap="4"/></client>',
        '<publish stream="C" node="n1"/>',
        '<subscribe stream="d"/>',
        '<unsubscribe stream="E"/>',
        '<move box="F" node=":3"/>',
        '<move table="G" node="Pair"/>',
    )
    assert deployment == Deployment(
        nodes=(Node(Endpoint("n1"), ("one", "two", "three")),),
        replica_sets=(ReplicaSet("Pair", ("x", "y"), (Node(Endpoint(port=1)), Node(Endpoint(port=2), ("z",)))),),
        regions=(Region("n1", Endpoint("m", 25000)), Region()),
        clients=(Client("P", Endpoint("c", 25000), (Publish("a"),), (Subscribe("b", Endpoint(port=9), 4),)),),
        publishes=(Publish("c", "n1"),),
        subscribes=(Subscribe("d"),),
        unsubscribes=(Unsubscribe("e"),),
        moves=(Move(":3", box="f"), Move("Pair", table="g")),
    )
    assert deployment.warnings == ()
    assert [p.stream for p in deployment.all_publishes] == ["c", "a"]
    assert [s.place.line for s in deployment.all_subscribes] == [10, 8]


def test_of_several_endpoints_of_a_client_the_first_counts() -> None:
    deployment = read('<client endpoint="c:1 d:2"><publish stream="a"/></client>')
    assert [client.endpoint for client in deployment.clients] == [Endpoint("c", 1)]
    assert [(w.what, w.place.line) for w in deployment.warnings] == [
        ("the client has 2 endpoints; only the first, 'c:1', counts", 2)
    ]


def test_all_problems_at_once() -> None:
    with pytest.raises(DiagramError) as caught:
        read(
            '<replica_set name="x"/>',
            '<node endpoint="n:n"/>',
            '<subscribe stream="a" gap="-1"/>',
            "<publish/>",
            '<move node="x"/>',
            '<replica_set><node endpoint=""/></replica_set>',
        )
    assert [p.place.line for p in caught.value.problems] == [2, 3, 4, 5, 6, 7]
    assert {p.place.file for p in caught.value.problems} == {"d.xml"}


def test_warnings() -> None:
    deployment = read('<publish stream="a" noed="x"/>', "<nodes/>")
    assert [w.next_step for w in deployment.warnings] == ["did you mean 'node'?", "did you mean 'node'?"]


def test_a_node_says_which_spark_it_computes_with() -> None:
    deployment = read(
        '<node endpoint="n1" spark="own"/>',
        '<replica_set name="p"><node endpoint="localhost:2" spark=" spark://far:7077 "/><node endpoint=":3"/></replica_set>',
        '<replica_set name="q"><node endpoint=":2"/><node endpoint="n1" spark="own"/></replica_set>',
    )
    assert deployment.sparks == {Endpoint("n1"): "own", Endpoint(port=2): "spark://far:7077"}


def test_a_spark_that_cannot_be_and_two_for_one_node() -> None:
    wrong = ("mine", "", "local[0]", "local[x]", "spark://far", "sc://far:1", "spark://a:1,b")
    with pytest.raises(DiagramError) as caught:
        read(
            *(f'<node endpoint=":{n}" spark="{text}"/>' for n, text in enumerate(wrong, 1)),
            '<node endpoint=":9" spark="local[*]"/>',
            '<replica_set name="p"><node endpoint="localhost:9" spark="shared"/></replica_set>',
        )
    *unknown, twice = caught.value.problems
    assert [p.what for p in unknown] == [f"{text!r} is no Spark of a node" for text in wrong]
    assert {p.allowed for p in unknown} == {"own, shared, local[N] or spark://HOST:PORT"}
    assert (twice.place.line, twice.what) == (
        10,
        "the node has the Spark 'shared', and elsewhere in the file 'local[*]'",
    )


DIAGRAM = load(
    '<query name="Left">',
    box("filter", {"expression.0": "v > 1"}, name="one"),
    "</query>",
    box("union", ins=["a", "b"], outs=["both"], name="Two"),
    '<table name="seen" schema="row"><key field="k"/></table>',
).diagram


def fit(*body: str) -> Placement:
    return check_deployment(read(*body), DIAGRAM)


def misfits(*body: str) -> tuple[Problem, ...]:
    with pytest.raises(DiagramError) as caught:
        fit(*body)
    return caught.value.problems


def test_placement() -> None:
    placement = fit(
        '<replica_set name="pair" query="left"><node endpoint=":1"/><node endpoint=":2"/></replica_set>',
        '<node endpoint="n" query="Two seen"/>',
        '<publish stream="a"/><publish stream="b" node="n:15000"/><subscribe stream="both"/>',
        '<move box="two" node="pair"/>',
    )
    pair = (Endpoint(port=1), Endpoint(port=2))
    assert placement.queries == {"Left": pair, "two": (Endpoint("n"),), "seen": (Endpoint("n"),)}
    assert placement.boxes == {"one": pair, "two": (Endpoint("n"),)}
    assert placement.targets == {"a": (*pair, Endpoint("n")), "b": (Endpoint("n"),)}
    assert placement.warnings == ()


def test_nothing_said_is_the_default_node() -> None:
    placement = fit()
    assert set(placement.queries.values()) == {(Endpoint(),)}
    assert placement.warnings == ()


def test_a_forgotten_query_is_a_warning() -> None:
    assert [w.what.split("'")[1] for w in fit('<node endpoint="n" query="left"/>').warnings] == [
        "two",
        "seen",
    ]


def test_nodes_in_the_diagram() -> None:
    diagram = load(
        '<query name="q" node="pair">',
        box("union", name="x", extra='node=":7"'),
        box("union", name="y", outs=["z"]),
        "</query>",
    ).diagram
    deployment = read('<replica_set name="pair"><node endpoint=":1"/><node endpoint=":2"/></replica_set>')
    placement = check_deployment(deployment, diagram)
    assert placement.boxes == {"x": (Endpoint(port=7),), "y": (Endpoint(port=1), Endpoint(port=2))}


def test_what_does_not_fit() -> None:
    found = misfits(
        '<replica_set name="pair" query="lefft"><node endpoint=":1"/></replica_set>',
        '<publish stream="both"/>',
        '<publish stream="a" node=":9"/>',
        '<subscribe stream="booth"/>',
        '<unsubscribe stream="q"/>',
        '<move box="tow" node=":1"/>',
        '<move table="x" node="::"/>',
        '<node endpoint=":4" query="two"/>',
        '<node endpoint=":5" query="two"/>',
    )
    assert sorted((p.place.line, p.what) for p in found) == [
        (2, "unknown query 'lefft'"),
        (3, "unknown input stream 'both'"),
        (4, "stream 'a' is published to 127.0.0.1:9, where no box reads it"),
        (5, "unknown stream 'booth'"),
        (6, "unknown stream 'q'"),
        (7, "unknown box 'tow'"),
        (8, "node: '::' is no endpoint"),
        (8, "unknown table 'x'"),
        (10, "query 'two' is placed twice, also on 127.0.0.1:4"),
    ]
    by_line = {p.place.line: p for p in found}
    assert by_line[2].next_step == "did you mean 'Left'?"
    assert by_line[4].allowed == "127.0.0.1:15000, 127.0.0.1:4"


def test_a_stream_that_nobody_reads() -> None:
    diagram = load(box("union")).diagram
    assert "read by no box" in check_deployment(read('<publish stream="b"/>'), diagram).warnings[0].what
