"""The cores of a diagram in fragments, some of which have later versions."""

from __future__ import annotations

from dataclasses import replace

import auroral
from auroral.dpc.assembly import Assembly
from auroral.dpc.fragments import Fragments, cut
from auroral.dpc.settings import Settings
from auroral.dpc.versions import Reading
from auroral.model.xml import read_deployment

DEPLOYED = '<deploy><node endpoint=":15000" query="first"/><node endpoint=":15100" query="second"/></deploy>'
MORE = Reading({"a": 2, "kept": 1}, (frozenset({"a"}), frozenset({"kept"})))


def fragments(read: str = "b", also: tuple[str, ...] = ()) -> Fragments:
    d = auroral.diagram("d", bucket="1s")
    streams = {name: d.input(name, "n int") for name in ("a", "b")}
    with d.query("first"):
        streams["kept"] = streams["a"].filter("kept", "n > 1")
        if read != "kept":
            streams["a"].filter("other", "n > 2").output()
    with d.query("second"):
        streams[read].filter("last", "n > 3").output()
    return cut(d.check(), read_deployment(DEPLOYED), also=also)


def test_a_replica_is_made_with_what_later_versions_read():
    bounds = {"other": 9.0, "last": 4.0}
    made = Assembly(fragments(also=("kept",)), Settings(bucket=1.0, bound=4.0), bounds)
    assert (made.computed_from("last"), made.bound("other")) == (("b",), 9.0)
    later = replace(made, later={"second": {1: {"last": MORE}}})
    layout = later.layout.with_inputs(later.topology, "second", ("a", "kept"))
    (core,) = layout.members["second"]
    spec = later.replica(core, layout, recovering=True).spec
    assert set(spec.inputs) == {"a", "b", "kept"}
    assert spec.readings == {1: {"last": MORE}}
    assert spec.sources == {"a": ("a",), "b": ("b",), "kept": ("a",)}
    assert later.computed_from("last") == ("a", "b")
    assert later.bound("kept") == 4.0, "what is read with a lower bound is not held longer"
    # One that is started before it is told who gives the new inputs knows what they are computed from.
    early = later.replica(core, later.layout, recovering=True).spec
    assert (set(early.inputs), set(early.sources)) == ({"b"}, {"a", "b", "kept"})


def test_versions_that_were_given_up_may_close_a_loop():
    made = Assembly(fragments("kept"), Settings(bucket=1.0, bound=4.0))
    looped = replace(made, later={"first": {1: {"kept": Reading({"last": 1}, ())}}})
    assert (looped.computed_from("last"), looped.bound("kept")) == (("a",), 4.0)


def test_what_was_given_is_given_though_nobody_reads_it_any_more():
    def given(found: Fragments) -> dict[str, set[str]]:
        return {fragment.name: set(fragment.streams) for fragment in found.all}

    assert given(fragments()) == {"first": {"other"}, "second": {"last"}}
    assert given(fragments(also=("kept", "gone"))) == {"first": {"kept", "other"}, "second": {"last"}}


def test_every_input_of_a_node_is_admitted_and_every_stream_that_leaves_it_is_given_out():
    """D21: whatever the boxes are. A union needs one of its inputs, a join each; nobody puts boxes for that into the diagram."""
    d = auroral.diagram("d", bucket="1s")
    a, b, c = (d.input(name, "n int") for name in "abc")
    with d.query("first"):
        both = a.union("both", b)
    with d.query("second"):
        both.join("pairs", c, on="left.n = right.n", within="2s", columns={"n": "left.n"}).output()
    made = Assembly(cut(d.check(), read_deployment(DEPLOYED)), Settings(bucket=1.0, bound=4.0))
    found = {}
    for query in ("first", "second"):
        (name,) = made.layout.members[query]
        core = made.replica(name, made.layout, recovering=False)
        assert set(core.ports) == set(core.spec.inputs) and set(core.outlets) == set(core.unions)
        found[query] = {stream: (union.spec.required, union.spec.readers) for stream, union in core.unions.items()}
    assert found["first"] == {"both": ((frozenset("ab"),), made.layout.members["second"])}
    ((required, readers),) = found["second"].values()
    assert set(required) == {frozenset({"both"}), frozenset("c")} and readers == ("client",)
