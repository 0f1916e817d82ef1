"""Pictures: everything is in them, nothing in a name can break them, and nodes do not cover one another."""

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import auroral as au
from auroral.model.boxes.later import Later
from auroral.model.boxes.stateless import Union
from auroral.model.diagram import Box, Diagram, Input, Output, Query
from auroral.model.layout import HEIGHT, WIDTH, Node, layout
from auroral.model.picture import mermaid, svg
from auroral.model.summary import summary

SVG = "{http://www.w3.org/2000/svg}"


def sample() -> au.DiagramBuilder:
    net = au.diagram("net")
    flows = net.input("flows", "ts timestamp, src string, bytes long", stime="ts")
    other = net.input("other", "src string")
    big, small = flows.filter("big", 'bytes > 1000 and src != "x"', otherwise=True)
    with net.query("loads"):
        load = big.aggregate("load", {"n": "count()"}, window="10s", advance="1s", by=["src"])
    load.output(availability="3s")
    small.join("alarm", other, on="left.src = right.src", within="5s").output("alarms")
    return net


def test_mermaid_text():
    assert sample().to_mermaid() == (
        "flowchart LR\n"
        '    i0(["flows"])\n'
        '    i1(["other"])\n'
        '    subgraph q0["net"]\n'
        '        b0["big<br/>filter<br/>bytes #62; 1000 and src #33;= #34;x#34;"]\n'
        '        b1["alarm<br/>join<br/>left.src = right.src within 5s"]\n'
        '        b2["alarms<br/>delay<br/>same rows"]\n'
        "    end\n"
        '    subgraph q1["loads"]\n'
        '        b3["load<br/>aggregate<br/>10s / 1s by src"]\n'
        "    end\n"
        '    o0[/"load"/]\n'
        '    o1[/"alarms"/]\n'
        "    i0 --> b0\n"
        '    b0 -->|"big.else"| b1\n'
        "    i1 --> b1\n"
        "    b1 --> b2\n"
        '    b0 -->|"big"| b3\n'
        "    b3 --> o0\n"
        "    b2 --> o1\n"
    )


def test_svg_has_every_node_and_stands_alone():
    text = svg(sample().build())
    root = ElementTree.fromstring(text)  # noqa: S314  # our own text
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert titles[0] == "net"
    assert 'big · filter · bytes > 1000 and src != "x"' in titles
    assert "load · output" in titles and "flows · input" in titles
    assert len(titles) == 1 + 2 + 4 + 2
    edges = [path for path in root.iter(f"{SVG}path") if path.get("marker-end")]
    assert len(edges) == 7
    assert "script" not in text and "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "prefers-color-scheme:dark" in text


def test_notebooks_show_the_picture():
    net = sample()
    shown = net._repr_mimebundle_()
    assert shown["text/html"] == svg(net.build()) == net.build()._repr_html_()
    assert shown["text/vnd.mermaid"] == net.to_mermaid()
    assert shown["text/plain"] == "<diagram 'net': 2 in, 4 steps, 2 out>"


@given(st.text(st.characters(codec=None), min_size=1, max_size=40))
def test_no_name_breaks_a_picture(name):
    box = Box(name, Later(name), (name,), ("out",))
    diagram = Diagram(name, (Input(name, au.schema("v int")),), (Output("out"),), (Query(name, (box,)),))
    root = ElementTree.fromstring(svg(diagram))  # noqa: S314  # our own text
    assert len(list(root.iter(f"{SVG}rect"))) == 3
    for line in mermaid(diagram).splitlines():
        for label in re.findall(r'"([^"]*)"', line):
            assert not re.search(r"[<>\"`;|\[\]{}]", re.sub(r"#\d+;|<br/>", "", label))
        assert line.count('"') in (0, 2)
    assert len(mermaid(diagram).splitlines()) == 1 + 1 + 3 + 1 + 2


@pytest.mark.parametrize("diagram", [Diagram("empty"), Diagram("out", outputs=(Output("nowhere"),))])
def test_diagrams_without_anything(diagram):
    assert mermaid(diagram).startswith("flowchart LR\n")
    assert svg(diagram).endswith("</svg>")


def test_wrong_diagrams_have_pictures_too():
    loop = (Box("a", Union(), ("y", "gone"), ("x",)), Box("b", Union(), ("x",), ("y",)))
    diagram = Diagram("loop", outputs=(Output("y"),), queries=(Query("q", loop),))
    assert '["gone?"]' in mermaid(diagram)
    assert svg(diagram).count("<rect") == 3


@st.composite
def graphs(draw):
    count = draw(st.integers(1, 30))
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    edges = [(f"{min(p)}", f"{max(p)}") for p in draw(st.lists(pairs, max_size=60)) if p[0] != p[1]]
    return [Node(f"{n}", (f"{n}",), "box") for n in range(count)], edges


@given(graphs())
def test_nodes_stay_apart_and_edges_go_right(graph):
    nodes, edges = graph
    picture = layout(nodes, edges)
    at = {drawn.node.key: drawn for drawn in picture.nodes}
    for a, b in combinations(picture.nodes, 2):
        assert abs(a.x - b.x) >= WIDTH or abs(a.y - b.y) >= HEIGHT
    for drawn in picture.nodes:
        assert 0 <= drawn.x <= picture.width - WIDTH and 0 <= drawn.y <= picture.height - HEIGHT
    for a, b in edges:
        assert at[a].x < at[b].x
    assert len(picture.lines) == len(set(edges))
    for line in picture.lines:
        assert [x for x, _ in line] == sorted(x for x, _ in line)
        # Bends pass between the nodes of their layer.
        for (x, y), (to_x, _) in zip(line[1:-1:2], line[2:-1:2], strict=True):
            assert to_x - x == WIDTH
            assert not any(n.x == x and n.y <= y <= n.y + HEIGHT for n in picture.nodes)


def test_a_chain_is_a_straight_line():
    picture = layout([Node(key, (key,), "box") for key in "abc"], [("a", "b"), ("b", "c")])
    assert len({drawn.y for drawn in picture.nodes}) == 1


def test_crossings_are_undone():
    nodes = [Node(key, (key,), "box") for key in ("a", "b", "c", "x", "y", "z")]
    picture = layout(nodes, [("a", "z"), ("b", "y"), ("c", "x")])
    at = {drawn.node.key: drawn.y for drawn in picture.nodes}
    assert [at["a"], at["b"], at["c"]] == [at["z"], at["y"], at["x"]]


def test_summaries_of_steps():
    net = au.diagram("d")
    s = net.input("s", "ts timestamp, v int", stime="ts")
    s.running("running", {"n": "count()"}, by=["v"])
    s.tumble("runs", {"n": "count()"}, by=["v"])
    s.first_aligned("first", {"n": "count()"}, window="10s", advance="5s")
    s.event_time_aggregate("event", {"n": "count()"}, on="ts", window="10s", lateness="1s")
    s.drop("drop", 0.25)
    s.apply("apply", sorted, schema="v int", horizon="1min")
    s.join("join", s, on="left.v = right.v", within=("1s", "2s"), how="left")
    s.map("map", {"a": "v", "b": "v + 1"})
    assert {box.name: summary(box.spec) for box in net.build().boxes} == {
        "running": "running by v",
        "runs": "runs by v",
        "first": "10s / 5s from the first row",
        "event": "10s / 10s of ts",
        "drop": "0.25",
        "apply": "sorted over 1min",
        "join": "left left.v = right.v within 1s, 2s",
        "map": "a, b",
    }
