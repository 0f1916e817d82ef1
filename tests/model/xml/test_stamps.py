"""Where inputs of files take their stime from."""

import pytest

from auroral.model.boxes.aggregate import TypedFirstAligned, TypedStimeAggregate
from auroral.model.boxes.drop import TypedWindowDrop
from auroral.model.boxes.join import TypedJoin
from auroral.model.checking import check
from auroral.model.diagram import Stamp
from auroral.model.errors import DiagramError
from auroral.model.stamps import with_stamps
from auroral.model.xml import read_diagram
from model.xml.compose import AGGREGATE, JOIN, SUNION, box, diagram, load

SECONDS = Stamp("t", 1_000_000)
DROP = {
    "drop_rate": "0",
    "max_batch_size": "1",
    "window-size": "1",
    "window-slide": "1",
    "window-size-by": "VALUES",
    "order-by": "FIELD",
    "order-on-field": "t",
}
WINDOW = box("aggregate", AGGREGATE, ["x"], ["out"], "window")


def stamps(*body: str) -> list[Stamp | None]:
    return [given.stamp for given in load(*body).diagram.inputs]


def test_without_windows_the_clock() -> None:
    assert stamps(box("union")) == [Stamp(), Stamp()]


@pytest.mark.parametrize(
    ("type_name", "parameters", "outs"),
    [
        ("filter", {"expression.0": "v > 1"}, ["x"]),
        ("filter", {"expression.0": "v > 1", "pass-on-false-port": "1"}, ["y", "x"]),
        ("union", {}, ["x"]),
        ("sunion", SUNION, ["c", "x"]),
        ("soutput", {}, ["c", "x"]),
        ("delay", {"delay-ms": "1"}, ["x"]),
        ("random_drop", {"drop_rate": "0", "max_batch_size": "1"}, ["x"]),
        ("map", {"expression.0": "(t)", "output-field-name.0": "t"}, ["x"]),
    ],
)
def test_followed_through(type_name: str, parameters: dict[str, str], outs: list[str]) -> None:
    assert stamps(box(type_name, parameters, ["a"], outs, "first"), WINDOW) == [SECONDS, Stamp()]


def test_followed_through_renaming_maps_only() -> None:
    renamed = {
        "expression.0": "T",
        "output-field-name.0": "when",
        "expression.1": "v",
        "output-field-name.1": "t",
    }
    window = box("aggregate", {**AGGREGATE, "order-on-field": "when"}, ["x"], ["out"], "window")
    assert stamps(box("map", renamed, ["a"], ["x"], "first"), window)[0] == SECONDS
    computed = {"expression.0": "t + 1", "output-field-name.0": "t"}
    assert stamps(box("map", computed, ["a"], ["x"], "first"), WINDOW)[0] == Stamp()


def test_several_windows_on_one_field_of_an_input_ask_for_one_thing() -> None:
    first = box("aggregate", AGGREGATE, ["a"], ["x"], "first")
    second = box("aggregate", {**AGGREGATE, "window-size": "20"}, ["a"], ["y"], "second")
    with_itself = box("join", JOIN, ["a", "a"], ["z"], "with_itself")
    for body in ((first, second), (first, with_itself), (with_itself,)):
        loaded = load(*body)
        assert loaded.diagram.inputs[0].stamp == SECONDS
        assert loaded.warnings == ()
        assert check(loaded.diagram).blockers == ()


def test_through_a_union_to_all_inputs() -> None:
    assert stamps(box("union", {}, ["a", "b"], ["x"], "first"), WINDOW) == [SECONDS, SECONDS]


def test_an_sunion_of_two_data_outputs_keeps_its_inputs_apart() -> None:
    first = box("sunion", {**SUNION, "max-delay.1": "1"}, ["a", "b"], ["c", "x", "y"], "first")
    assert stamps(first, WINDOW) == [SECONDS, Stamp()]


def test_joins_and_window_drops_ask_too() -> None:
    assert stamps(box("join", JOIN, ["a", "b"])) == [SECONDS, SECONDS]
    assert stamps(box("window_drop", DROP))[0] == SECONDS


def test_timestamps_are_kept_in_microseconds_and_floats_do_not_count() -> None:
    schema = '<schema name="s"><field name="at" type="timestamp"/><field name="f" type="double"/></schema>'
    given = '<input stream="x" schema="s"/>'
    for field, expected in (("at", Stamp("at", 1)), ("f", Stamp()), ("nowhere", Stamp())):
        window = box("aggregate", {**AGGREGATE, "order-on-field": field}, ["x"])
        assert stamps(schema, given, window)[2] == expected


@pytest.mark.parametrize("kind", ["int", "timestamp"])
def test_sizes_count_seconds_on_integers_and_timestamps_alike(kind: str) -> None:
    given = f'<schema name="s"><field name="t" type="{kind}"/><field name="k" type="int"/></schema><input stream="x" schema="s"/>'
    drop = {**DROP, "window-size": "10", "window-slide": "5"}
    checked = check(
        load(
            given,
            box("aggregate", {**AGGREGATE, "independent-window-alignment": "1"}, ["x"], ["w"], "windows"),
            box("aggregate", AGGREGATE, ["x"], ["f"], "first"),
            box("join", JOIN, ["x", "x"], ["j"], "pairs"),
            box("window_drop", drop, ["x"], ["d"], "drop"),
        ).diagram
    )
    windows, first, pairs, dropped = (found.typed for found in checked.boxes)
    for found in (windows, first, dropped):
        assert isinstance(found, TypedStimeAggregate | TypedFirstAligned | TypedWindowDrop)
        assert (found.size, found.advance) == (10_000_000, 5_000_000)
    assert isinstance(pairs, TypedJoin)
    assert (pairs.left_size, pairs.right_size) == (3_000_000, 4_000_000)


def test_several_fields_are_the_clock_and_a_warning() -> None:
    schema = '<schema name="s"><field name="p" type="int"/><field name="q" type="long"/></schema>'
    windows = [box("aggregate", {**AGGREGATE, "order-on-field": f}, ["x"], [f"o{f}"], f"w{f}") for f in "pq"]
    loaded = load(schema, '<input stream="x" schema="s"/>', *windows)
    assert loaded.diagram.inputs[2].stamp == Stamp()
    assert "p, q" in loaded.warnings[0].what
    assert loaded.warnings[0].place.line == 6


def test_given_stamps_count() -> None:
    text = diagram(box("aggregate", AGGREGATE))
    given = Stamp("v", 1000, delay=5)
    assert read_diagram(text, stamps={"A": given}).diagram.inputs[0].stamp == given
    with pytest.raises(DiagramError, match="unknown input stream 'q'"):
        read_diagram(text, stamps={"q": given})


def test_stamps_that_are_there_stay() -> None:
    stamped = read_diagram(diagram(box("aggregate", AGGREGATE)), stamps={"b": Stamp("v", 7)}).diagram
    again, warnings = with_stamps(stamped, {})
    assert again == stamped
    assert warnings == ()


def test_loops_end() -> None:
    one = box("union", {}, ["a", "x"], ["y"], "one")
    two = box("union", {}, ["y"], ["x"], "two")
    assert stamps(one, two, WINDOW)[0] == SECONDS


def test_the_field_is_followed_through_boxes_that_do_not_run_yet() -> None:
    sort = box("bsort", {"order-on": "t", "slack": "3"}, ["a"], ["x"], name="sort")
    revised = box("revisionmap", {"expression.0": "t", "output-field-name.0": "sec"}, ["x"], ["y"], name="revised")
    counts = box("aggregate", {**AGGREGATE, "order-on-field": "sec"}, ["y"], ["z"], name="counts")
    given = load(sort, revised, counts).diagram.inputs[0]
    assert given.stamp == Stamp("t", 1_000_000)


def test_streams_united_that_carry_time_in_different_ways_are_told() -> None:
    whole = {**AGGREGATE, "independent-window-alignment": "1"}
    long = box("aggregate", {**whole, "window-size": "20", "advance": "20"}, ["b"], ["y"], "long")
    both = box("union", {}, ["x", "y"], ["z"], "both")
    window = box("aggregate", {**AGGREGATE, "aggregate-function.0": "sum(agg_0)"}, ["z"], ["out"], "window")
    checked = check(load(box("aggregate", whole, ["a"], ["x"], "short"), long, both, window).diagram)
    said = [warning.what for warning in checked.warnings if "goes by rows" in warning.what]
    assert len(said) == 1 and "streams that box 'both' unites carry their stimes in 't' in different ways" in said[0]
