"""X3, X4: each box type and its parameters, right and wrong."""

import pytest

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.combine import Combine
from auroral.model.boxes.drop import RandomDrop, WindowDrop
from auroral.model.boxes.join import ALL, Join, JoinBuffer
from auroral.model.boxes.later import LATER, Later
from auroral.model.boxes.lrwaitfor import LRWaitFor
from auroral.model.boxes.resample import Resample
from auroral.model.boxes.revisable import Revisable, Settled
from auroral.model.boxes.revision import Revision
from auroral.model.boxes.serialize import SOutput, SUnion
from auroral.model.boxes.sorting import BSort, WSort
from auroral.model.boxes.stateless import Delay, Filter, Map, Union
from auroral.model.boxes.waitfor import WaitFor
from auroral.model.boxes.xsection import XSection
from auroral.model.checking import check
from auroral.model.errors import DiagramError
from auroral.model.windows import Alignment, FieldWindow, TupleWindow
from auroral.model.xml.boxes import SHAPES
from model.xml.compose import AGGREGATE, JOIN, SUNION, box, load, problem, problems, spec, warning, without

DROP = {"drop_rate": "0.25", "max_batch_size": "4"}
WINDOW_DROP = {
    **DROP,
    "window-size": "10",
    "window-slide": "5",
    "window-size-by": "VALUES",
    "order-by": "FIELD",
    "order-on-field": "t",
}


def test_every_later_type_is_known() -> None:
    assert set(LATER) <= set(SHAPES)


def test_filter() -> None:
    two = {"expression.0": "v > 1", "expression.1": "v > 0", "pass-on-false-port": "1"}
    assert spec("filter", two, outs=["x", "y", "z"]) == Filter(("v > 1", "v > 0"), else_port=True)
    assert spec("filter", {"expression.0": "v > 1", "pass-on-false-port": "false"}) == Filter(("v > 1",))
    assert "'perhaps'" in problem(box("filter", {"expression.0": "v > 1", "pass-on-false-port": "perhaps"})).what


def test_an_optional_parameter_that_is_empty_is_not_there() -> None:
    assert spec("filter", {"expression.0": "v > 1", "pass-on-false-port": " "}) == Filter(("v > 1",))
    empty = dict.fromkeys(("slack", "timeout", "group-by", "independent-window-alignment"), "")
    assert spec("aggregate", {**AGGREGATE, **empty}) == spec("aggregate", AGGREGATE)
    assert "'window-size' is ''" in problem(box("aggregate", {**AGGREGATE, "window-size": ""})).what
    assert "'order-on-field' is needed" in problem(box("aggregate", {**AGGREGATE, "order-on-field": ""})).what


def test_map() -> None:
    found = spec(
        "map",
        {
            "expression.0": "t",
            "output-field-name.0": "x",
            "expression.1": "v * 2",
            "output-field-name.1": "y",
        },
    )
    assert found == Map((("x", "t"), ("y", "v * 2")))
    unpaired = problem(box("map", {"expression.0": "t", "output-field-name.0": "x", "expression.1": "v"}))
    assert "'expression.1' but no 'output-field-name.1'" in unpaired.what
    assert unpaired.place.line == 9


def test_union() -> None:
    assert spec("union", ins=["a", "b"]) == Union()
    assert "unknown parameter 'x'" in warning(box("union", {"x": "1"})).what


def test_aggregate_on_values() -> None:
    assert spec("aggregate", AGGREGATE) == Aggregate((("agg_0", "count()"),), FieldWindow("t", 10, 5))
    full = {
        **AGGREGATE,
        "window-size": "2.5",
        "advance": "0.5",
        "aggregate-function.1": "max(v)",
        "aggregate-function-output-name.0": "Rows",
        "group-by": "k , v",
        "timeout": "1.5",
        "slack": "3",
        "independent-window-alignment": "true",
        "drop-empty-outputs": "1",
        "drop-mode": "x",
        "last-agg": "1",
    }
    window = FieldWindow("t", 2.5, 0.5, Alignment.INDEPENDENT, 3, 1.5)
    assert spec("aggregate", full) == Aggregate((("rows", "count()"), ("agg_1", "max(v)")), window, ("k", "v"))


def test_aggregate_on_tuples() -> None:
    counted = {
        **without(AGGREGATE, "order-on-field"),
        "window-size-by": "TUPLES",
        "order-by": "TUPLENUM",
        "timeout": "0",
    }
    assert spec("aggregate", counted) == Aggregate((("agg_0", "count()"),), TupleWindow(10, 5))
    assert "'2.5'" in problem(box("aggregate", {**counted, "window-size": "2.5"})).what


def test_aggregate_on_tuples_in_the_order_of_a_field() -> None:
    ordered = {**AGGREGATE, "window-size-by": "TUPLES", "slack": "2", "timeout": "3"}
    assert spec("aggregate", ordered) == Aggregate((("agg_0", "count()"),), TupleWindow(10, 5, 3, "t", 2))


def test_aggregate_on_values_in_order_of_arrival() -> None:
    window = FieldWindow("t", 10, 5, named=False, by_values=True)
    assert spec("aggregate", {**AGGREGATE, "order-by": "TUPLENUM"}) == Aggregate((("agg_0", "count()"),), window)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("window-size", "ten", "a number above 0"),
        ("window-size", "0", "a number above 0"),
        ("window-size", "nan", "a number above 0"),
        ("window-size", "1e300", "a number above 0"),
        ("advance", "-1", "a number above 0"),
        ("window-size-by", "VALUE", "VALUES or TUPLES"),
        ("order-by", "x", "FIELD or TUPLENUM"),
        ("slack", "1.5", "a whole number from 0"),
        ("timeout", "soon", "a number from"),
        ("independent-window-alignment", "2", "0 or 1"),
    ],
)
def test_wrong_values(name: str, value: str, allowed: str) -> None:
    parameters = {**AGGREGATE, name: value}
    found = problem(box("aggregate", parameters))
    assert found.what == f"parameter {name!r} is {value!r}"
    assert found.allowed is not None
    assert found.allowed.startswith(allowed)
    assert found.place.line == 7 + list(parameters).index(name)
    assert found.place.element == f"box 'it', parameter {name!r}"


def test_values_need_a_field() -> None:
    found = problem(box("aggregate", without(AGGREGATE, "order-on-field")))
    assert "'order-on-field' is needed" in found.what
    assert found.place.line == 10


def test_join() -> None:
    expected = Join("left.k = right.k", JoinBuffer(3, "t"), JoinBuffer(4, "t"))
    assert spec("join", JOIN, ["a", "b"]) == expected
    out = {"out-field.0": "left.v + right.v", "out-field-name.0": "Sum", "out-field.1": "Left.K"}
    found = spec("join", {**JOIN, **out, "timeout": "2"}, ["a", "b"])
    assert found == Join(
        "left.k = right.k",
        JoinBuffer(3, "t"),
        JoinBuffer(4, "t"),
        (("sum", "left.v + right.v"), ("k", "left.k")),
        timeout=2,
    )


def test_join_of_tuples() -> None:
    found = spec("join", {**JOIN, "left-order-by": "TUPLES"}, ["a", "b"])
    assert isinstance(found, Join)
    assert (found.left, found.right) == (JoinBuffer(3, tuples=True), JoinBuffer(4, "t"))


def test_aurorajoin_is_down_left_and_up_right() -> None:
    parameters = {**without(JOIN, "left-buffer-size", "right-buffer-size"), "down-size": "7", "up-size": "8"}
    found = spec("aurorajoin", parameters, ["a", "b"])
    assert found == Join("left.k = right.k", JoinBuffer(7, "t"), JoinBuffer(8, "t"), type_name="aurorajoin")


@pytest.mark.parametrize("flags", [{}, {"leftjoin": "true"}, {"leftjoin": "1", "rightjoin": "True"}])
def test_both_sides_of_an_sjoin_look_for_partners(flags: dict[str, str]) -> None:
    found = spec("sjoin", {**JOIN, **flags}, ["a", "b"])
    assert found == Join("left.k = right.k", JoinBuffer(3, "t"), JoinBuffer(4, "t"), type_name="sjoin")


@pytest.mark.parametrize(("flag", "looks"), [("leftjoin", (False, True)), ("rightjoin", (True, False))])
def test_a_side_of_an_sjoin_that_is_off_does_not_look(flag: str, looks: tuple[bool, bool]) -> None:
    found = spec("sjoin", {**JOIN, flag: "false"}, ["a", "b"])
    assert found == Join("left.k = right.k", JoinBuffer(3, "t"), JoinBuffer(4, "t"), type_name="sjoin", looks=looks)
    assert "counts as true" in warning(box("sjoin", {**JOIN, flag: "0"}, ["a", "b"])).what
    neither = warning(box("sjoin", {**JOIN, "leftjoin": "false", "rightjoin": "false"}, ["a", "b"]))
    assert "no row looks for a partner" in neither.what


def test_a_join_of_all_fields_keeps_the_names_of_the_left_side() -> None:
    """In Borealis names that both sides have are there twice, in a declared schema too, and boxes behind mean the left one's."""
    fields = '<field name="{}" type="{}"{}/>'
    side = "".join(fields.format(*f) for f in (("t", "int", ""), ("k", "string", ' size="4"'), ("v", "double", "")))
    loaded = load(
        f'<schema name="Pair">{side}{side}</schema><output stream="p" schema="pair"/><output stream="x"/>',
        box("join", JOIN, ["a", "b"], ["p"], "pairs"),
        box("filter", {"expression.0": "v > 1.0"}, ["p"], ["high"], "behind"),
        box("join", {**JOIN, "left-order-by": "TUPLES", "right-order-by": "TUPLES"}, ["high", "a"], ["x"], "again"),
    )
    assert all("is there twice: the second is called 'right_" in odd.what for odd in loaded.warnings)
    checked = check(loaded.diagram)
    names = ("t", "k", "v", "right_t", "right_k", "right_v")
    assert checked.streams["p"].schema.names == names
    assert checked.streams["x"].schema.names == (*names, "right_right_t", "right_right_k", "right_right_v")


def test_wrong_joins() -> None:
    assert (
        "'left-order-on-field' is needed" in problem(box("join", without(JOIN, "left-order-on-field"), ["a", "b"])).what
    )
    assert "no 'out-field-name.0'" in problem(box("join", {**JOIN, "out-field.0": "left.v + 1"}, ["a", "b"])).what
    assert "no 'out-field.0'" in problem(box("join", {**JOIN, "out-field-name.0": "x"}, ["a", "b"])).what


def test_sorts() -> None:
    assert spec("bsort", {"order-on": "T, k", "slack": "3", "group-by": "K"}) == BSort(("t", "k"), 3, ("k",))
    assert spec("wsort", {"order-on": "t", "timeout": "1.5"}) == WSort(("t",), 1.5)
    assert "'1.5'" in problem(box("bsort", {"order-on": "t", "slack": "1.5"})).what
    assert "'0'" in problem(box("wsort", {"order-on": "t", "timeout": "0"})).what


def test_waitfor() -> None:
    given = {"predicate": "buffered.k = enabler.K", "timeout": "3"}
    assert spec("waitfor", given, ["a", "b"]) == WaitFor("buffered.k = enabler.k", 3)
    assert "'timeout' is required" in problem(box("waitfor", without(given, "timeout"), ["a", "b"])).what
    assert "parameter 'predicate'" in problem(box("waitfor", {**given, "predicate": "="}, ["a", "b"])).what


def test_resample_and_xsection() -> None:
    given = {"out-field.0": "V", "out-field.1": "t", "out-field-name.0": "Was", "window-size": "2.5", "group-by": "k"}
    assert spec("resample", given, ["a", "b"]) == Resample((("was", "v"), ("t", "t")), 2_500_000, ("k",))
    section = {"aggregate-function.0": "avg(v)", "group-by": "k"}
    assert spec("xsection", section) == XSection((("agg_0", "avg(v)"),), ("k",))
    named = {**section, "aggregate-function-output-name.0": "Mean", "window-size": "60"}
    assert spec("xsection", named) == XSection((("mean", "avg(v)"),), ("k",), 60_000_000)


def test_boxes_that_users_added() -> None:
    static = spec("joinstatic", {"predicate": "left.k = right.k", "out-field.0": "left.v"}, ["a", "b"])
    columns = (("v", "left.v"),)
    none_kept = JoinBuffer(0, tuples=True)
    assert static == Join("left.k = right.k", none_kept, ALL, columns, type_name="joinstatic", looks=(True, False))
    combined = {"key-field": "K", "expression.0": "A.v", "expression.1": "a.v + b.v"}
    assert spec("combine", combined, ["a", "b"]) == Combine("k", (("v", "a.v"), ("field_1", "a.v + b.v")))
    named = spec("combine", {**combined, "output-field-name.0": "X"}, ["a", "b"])
    assert named == Combine("k", (("x", "a.v"), ("field_1", "a.v + b.v")))
    waiting = {"key-field": "t", "group-by": "k", "start-key-value": "-1", "use-data-as-first-key-value": "1"}
    assert spec("lrwaitfor", waiting, ["a", "b"]) == LRWaitFor("t", ("k",), -1, True)


@pytest.mark.parametrize(
    ("type_name", "parameters", "ins", "names"),
    [
        ("joinstatic", {"predicate": "left.k = right.k", "out-field.0": "left.v"}, "ab", ("v",)),
        ("combine", {"key-field": "k", "expression.0": "a.t"}, "ab", ("t",)),
        ("lrwaitfor", {"key-field": "t", "group-by": "k"}, "ab", ("t", "k", "v")),
        ("bsort", {"order-on": "t", "slack": "3", "group-by": "k"}, "a", ("t", "k", "v")),
        ("wsort", {"order-on": "t", "timeout": "3"}, "a", ("t", "k", "v")),
        ("waitfor", {"predicate": "buffered.k = enabler.k", "timeout": "3"}, "ab", ("t", "k", "v")),
        ("resample", {"out-field.0": "v", "out-field-name.0": "w", "window-size": "1"}, "ab", ("t", "k", "v", "w")),
        ("xsection", {"aggregate-function.0": "avg(v)", "group-by": "k"}, "a", ("agg_0",)),
    ],
)
def test_boxes_that_go_by_rows_run(
    type_name: str, parameters: dict[str, str], ins: str, names: tuple[str, ...]
) -> None:
    checked = check(load(box(type_name, parameters, list(ins))).diagram)
    assert checked.runnable().streams["out"].schema.names == names
    assert not checked.streams["out"].clocks
    wrong = {name: value.replace("k", "kk").replace("v", "vv") for name, value in parameters.items()}
    if wrong != parameters:
        with pytest.raises(DiagramError, match="unknown field"):
            check(load(box(type_name, wrong, list(ins))).diagram)


def test_drops() -> None:
    assert spec("random_drop", DROP) == RandomDrop(0.25, 4)
    assert "max_batch_size is 4, which does nothing" in warning(box("random_drop", DROP)).what
    assert load(box("random_drop", {**DROP, "max_batch_size": "1"})).warnings == ()
    assert spec("window_drop", {**WINDOW_DROP, "group-by": "k"}) == WindowDrop(0.25, 4, 10, 5, "t", ("k",))
    counted = {**without(WINDOW_DROP, "order-on-field"), "window-size-by": "TUPLES", "order-by": "TUPLENUM"}
    assert spec("window_drop", counted) == WindowDrop(0.25, 4, 10, 5, tuples=True)
    of_values = WindowDrop(0.25, 4, 10, 5, "t", by_values=True)
    assert spec("window_drop", {**WINDOW_DROP, "order-by": "TUPLENUM"}) == of_values
    assert "'1.5'" in problem(box("random_drop", {**DROP, "drop_rate": "1.5"})).what
    assert "'0'" in problem(box("random_drop", {**DROP, "max_batch_size": "0"})).what
    assert "'order-on-field' is needed" in problem(box("window_drop", without(WINDOW_DROP, "order-on-field"))).what


def test_sunion_and_soutput() -> None:
    found = spec("sunion", {**SUNION, "max-delay.1": "700", "should-reconcile": "1"}, ["a", "b"], ["c", "d"])
    assert found == SUnion(100, (500, 700), (("location", "input"), ("stagger", "0"), ("should-reconcile", "1")))
    assert spec("soutput", {"x": "Y"}, outs=["c", "d"]) == SOutput((("x", "Y"),))
    short = problem(box("sunion", SUNION, ["a", "b"], ["c", "d"]))
    assert "'max-delay.1' is required and missing: the box has 2 inputs" in short.what
    assert "no meaning" in warning(box("sunion", {**SUNION, "max-delay.1": "1"}, ["a"], ["c", "d"])).what
    assert "'middel'" in problem(box("sunion", {**SUNION, "location": "middel"}, ["a"], ["c", "d"])).what
    assert "'0'" in problem(box("sunion", {**SUNION, "interval": "0"}, ["a"], ["c", "d"])).what


def test_the_smallest_interval_and_the_longest_delay_count() -> None:
    loaded = load(
        box("sunion", {**SUNION, "interval": "300"}, ["a"], ["c1", "x"], "one"),
        box("sunion", {**SUNION, "max-delay.0": "900"}, ["x"], ["c2", "y"], "two"),
        box("delay", {"delay-ms": "1"}, ["b"], ["z"], "three"),
        "".join(f'<output stream="{s}"/>' for s in "xyz"),
    )
    assert loaded.diagram.bucket == 100_000
    assert [o.availability for o in loaded.diagram.outputs] == [500_000, 900_000, None]


def test_delays() -> None:
    assert spec("delay", {"delay-ms": "5", "churn": "1"}) == Delay(5)
    assert spec("delay_sel", {"delay-ms": "0", "selectivity": "0.5"}) == Delay(0, 0.5, "delay_sel")
    assert "has no effect" in warning(box("delay_sel", {"delay-ms": "0", "selectivity": "0.5"})).what
    assert "rounded" in warning(box("delay", {"delay-ms": "1.7"})).what


@pytest.mark.parametrize(
    ("type_name", "parameters", "ins"),
    [
        ("connectionpoint", {"anything": "x"}, "a"),
        ("sweeper", {}, "a"),
        ("scontrol", {}, "a"),
    ],
)
def test_boxes_of_a_later_release_load(type_name: str, parameters: dict[str, str], ins: str) -> None:
    loaded = load(box(type_name, parameters, list(ins)))
    found = next(loaded.diagram.boxes).spec
    assert isinstance(found, Later)
    assert (found.type_name, found.parameters) == (type_name, tuple(parameters.items()))
    assert loaded.warnings == ()


def test_revision_boxes() -> None:
    given = {"processing-mode": "UPSTREAM", "expression.0": "v > 1", "anchor": "one, two"}
    assert spec("revisionfilter", given) == Revision(Filter(("v > 1",)), "UPSTREAM", ("one", "two"))
    mapped = {"expression.0": "v", "output-field-name.0": "v", "inverse.0": "v"}
    assert spec("revisionmap", mapped) == Revision(Map((("v", "v"),)), None, (), ("v",))
    windows = spec("revisionaggregate", {"processing-mode": "DOWNSTREAM", **AGGREGATE})
    assert windows == Revision(spec("aggregate", AGGREGATE), "DOWNSTREAM")
    assert "processing-mode" in problem(box("revisionfilter", {**given, "processing-mode": "SIDEWAYS"})).what
    assert spec("revisable", {"keep": "90s", "key": "K, t"}) == Revisable(90_000_000, ("k", "t"))
    assert spec("settled", {}) == Settled()


@pytest.mark.parametrize(
    ("type_name", "parameters", "ins", "fields"),
    [
        ("revisionfilter", {"expression.0": "v > 1"}, "a", ("t", "k", "v")),
        ("revisionmap", {"expression.0": "v * 2", "output-field-name.0": "twice"}, "a", ("twice",)),
    ],
)
def test_schemas_pass_through_revision_boxes_whose_input_is_never_revised(
    type_name: str, parameters: dict[str, str], ins: str, fields: tuple[str, ...]
) -> None:
    behind = box("filter", {"expression.0": f"{fields[-1]} > 0"}, ["out"], ["end"], name="behind")
    checked = check(load(box(type_name, parameters, list(ins)), behind).diagram)
    assert checked.streams["end"].schema.names == fields
    assert [blocker.what.split(" does")[0] for blocker in checked.blockers] == ["box 'it'"]
    wrong = box("filter", {"expression.0": "nothing > 0"}, ["out"], ["end"], name="behind")
    with pytest.raises(DiagramError, match="unknown field 'nothing'"):
        check(load(box(type_name, parameters, list(ins)), wrong).diagram)


@pytest.mark.parametrize(
    ("type_name", "parameters", "ins"),
    [
        ("revisionfilter", {"expression.0": "vv > 1"}, "a"),
        ("revisionmap", {"expression.0": "vv", "output-field-name.0": "v"}, "a"),
        ("revisionaggregate", {**AGGREGATE, "group-by": "kk"}, "a"),
    ],
)
def test_words_of_revision_boxes_are_checked(type_name: str, parameters: dict[str, str], ins: str) -> None:
    with pytest.raises(DiagramError, match="unknown field"):
        check(load(box(type_name, parameters, list(ins))).diagram)


@pytest.mark.parametrize(
    "type_name",
    [
        *("scatter", "Gather", "filter_array", "delta_sub", "face_detect_cv", "regrid", "render"),
        *("face_detect", "render_deltas", "contrast", "contrast_composite", "map_frame", "map_frame_composite"),
        *("edge_detect", "chunk_assembler", "merge", "join_fits", "concatenate"),
    ],
)
def test_array_boxes_are_refused_by_name(type_name: str) -> None:
    found = problem(box(type_name, {"whatever": "1"}))
    assert f"{type_name.lower()!r} is one of the array and video boxes" in found.what
    assert found.place.line == 5
    assert found.next_step


def test_unknown_types_suggest() -> None:
    found = problem(box("aggregat", AGGREGATE))
    assert (found.what, found.next_step) == ("unknown box type 'aggregat'", "did you mean 'aggregate'?")


def test_unknown_parameters() -> None:
    said = warning(box("aggregate", {**AGGREGATE, "time-out": "1"}))
    assert (said.next_step, said.place.line) == ("did you mean 'timeout'?", 13)
    misspelt = problem(box("aggregate", {**without(AGGREGATE, "advance"), "advanec": "1"}))
    assert "'advance' is required and missing" in misspelt.what
    assert (misspelt.next_step, misspelt.place.line) == ("did you mean 'advance'?", 12)
    unnumbered = problem(box("filter", {"expression": "v > 1"}))
    assert unnumbered.next_step == "did you mean 'expression.0'?"
    assert unnumbered.place.line == 7


def test_a_repeated_parameter_counts_the_second_time() -> None:
    body = '<box name="x" type="delay"><in stream="a"/><out stream="o"/>' + "".join(
        f'<parameter name="delay-ms" value="{n}"/>' for n in (1, 2)
    )
    loaded = load(body + "</box>")
    assert next(loaded.diagram.boxes).spec == Delay(2)
    assert "twice" in loaded.warnings[0].what


def test_all_missing_parameters_at_once() -> None:
    found = problems(box("sunion", {}, ["a"], ["c", "d"]))
    assert [p.what.split("'")[1] for p in found] == ["interval", "location", "max-delay.0", "stagger"]
    assert {p.place.line for p in found} == {5}
