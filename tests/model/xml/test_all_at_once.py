"""X7: everything wrong with a file is said at once, those parts of it included that only checking finds."""

import pickle

import pytest

from auroral.model.checking import check
from auroral.model.errors import DiagramError
from model.xml.compose import AGGREGATE, JOIN, SUNION, box, load, problems


def found_by_checking(*body: str) -> list[str]:
    """What is wrong with a diagram that could be read."""
    with pytest.raises(DiagramError) as caught:
        check(load(*body).diagram)
    return [problem.what for problem in caught.value.problems]


def test_errors_of_reading_and_of_checking_together() -> None:
    found = problems(
        '<input stream="c" schema="rwo"/>',
        box("filter", {"expression.0": "vv > 1"}, outs=["p"], name="one"),
        box("sunion", {**SUNION, "interval": "often"}, outs=["q1", "q2"], name="two"),
        box("filter", {"expression.0": "v > 1"}, ins=["c"], outs=["r"], name="three"),
        box("filter", {"expression.0": "v > 1"}, ins=["q2"], outs=["s"], name="four"),
        box("filter", {"expression.0": "v > 1"}, ins=["nowhere"], outs=["t"], name="five"),
        '<output stream="r"/><output stream="p"/><output stream="z"/>',
    )
    assert [p.place.line for p in found] == [5, 8, 12, 25, 29]
    said = [p.what for p in found]
    assert said[0] == "unknown schema 'rwo'"
    assert "vv" in said[1]
    assert said[2] == "parameter 'interval' is 'often'"
    assert said[3:] == ["unknown stream 'nowhere'", "unknown stream 'z'"]
    assert {p.place.file for p in found} == {"f.xml"}


def test_several_errors_of_one_box_each_at_its_line() -> None:
    wrong = {**AGGREGATE, "advance": "1x", "aggregate-function.0": "max(v", "slack": "-1"}
    found = problems(box("aggregate", wrong), box("filter", {"expression.0": "v >"}, outs=["x"], name="other"))
    assert [p.place.line for p in found] == [8, 12, 13, 17]
    assert "'aggregate-function.0'" in found[1].what
    assert "'expression.0'" in found[3].what


def test_all_that_is_wrong_with_one_box_is_found() -> None:
    functions = {"aggregate-function.0": "sum(qq)", "aggregate-function.1": "count()"}
    names = {"aggregate-function-output-name.0": "a", "aggregate-function-output-name.1": "A"}
    wrong = {**AGGREGATE, **functions, **names, "advance": "20", "order-on-field": "yy", "group-by": "zz"}
    mapped = {"expression.0": "t + 'x'", "output-field-name.0": "A", "expression.1": "ww", "output-field-name.1": "a"}
    out = {"out-field.0": "left.uu", "out-field-name.0": "a", "out-field.1": "right.t", "out-field-name.1": "a"}
    drop = {"drop_rate": "0.5", "max_batch_size": "1", "window-size": "1", "window-slide": "1", "group-by": "xx"}
    for body, words in (
        (box("aggregate", wrong), ("'qq'", "'yy'", "'zz'", "'a' is there twice", "advance 20")),
        (box("map", mapped), ("+ does not work", "'ww'", "'a' is there twice")),
        (box("join", {**JOIN, **out}, ["a", "b"]), ("'uu'", "'a' is there twice")),
        (
            box("window_drop", {**drop, "window-size-by": "VALUES", "order-by": "FIELD", "order-on-field": "yy"}),
            ("'xx'", "'yy'"),
        ),
    ):
        found = found_by_checking(body)
        assert len(found) == len(words), found
        for word in words:
            assert any(word in what for what in found), (word, found)


def test_each_is_told_at_the_line_of_its_parameter() -> None:
    wrong = {**AGGREGATE, "aggregate-function.0": "sum(qq)", "order-on-field": "yy", "group-by": "k, zz"}
    mapped = {"output-field-name.0": "a", "expression.0": "t + 'x'", "output-field-name.1": "b", "expression.1": "ww"}
    cases = {"expression.0": "v > 1", "expression.1": "v"}
    joined = {**JOIN, "right-order-on-field": "yy", "out-field.0": "left.uu", "out-field-name.0": "a"}
    for body, places in (
        (box("aggregate", wrong), {"'qq'": 12, "'yy'": 11, "'zz'": 13}),
        (box("map", mapped), {"+ does not work": 8, "'ww'": 10}),
        (box("filter", cases, outs=["x", "y"]), {"predicate 1 is of type double": 8}),
        (box("join", joined, ["a", "b"]), {"'yy'": 13, "'uu'": 14}),
        (box("map", mapped, ["nowhere"]), {"unknown stream": 5}),
    ):
        with pytest.raises(DiagramError) as caught:
            check(load(body).diagram)
        found = {word: p.place.line for p in caught.value.problems for word in places if word in p.what}
        assert found == places
        assert "parameter" in str(caught.value) or "nowhere" in str(caught.value)


def test_what_files_say_keeps_its_place_when_it_is_stored() -> None:
    (found,) = load(box("filter", {"expression.0": "v > 1"})).diagram.boxes
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert again.spec.predicates[0].place.line == 7


def test_names_of_streams_are_texts_alone() -> None:
    window = box("aggregate", {**AGGREGATE, "group-by": "k", "aggregate-function-output-name.0": "n"}, ["a"], ["x"])
    mapped = box("map", {"expression.0": "n", "output-field-name.0": "m"}, ["x"], ["y"], "map")
    streams = check(load(window, mapped).diagram).streams
    names = [name for stream in "xy" for name in streams[stream].schema.names]
    assert names == ["k", "t", "n", "m"]
    assert {type(name) for name in names} == {str}


def test_the_known_side_of_a_join_is_judged() -> None:
    fields = {"left-order-on-field": "yy", "right-order-on-field": "zz"}
    found = found_by_checking(box("join", {**JOIN, **fields}, ["a", "nowhere"]))
    assert found == ["unknown stream 'nowhere'", "unknown field 'yy'"]


def test_what_is_wrong_whatever_the_fields_are_is_said_of_boxes_behind_a_wrong_one() -> None:
    """Otherwise it would be found only when the box before is mended."""
    functions = {
        "aggregate-function.0": "averge(v)",
        "aggregate-function.1": "sum(sqr(v))",
        "aggregate-function.2": "max(w)",
    }
    wrong = box("aggregate", {**AGGREGATE, **functions, "advance": "20"}, ["nowhere"], ["x"])
    mapped = {"expression.0": "strln(k) + unheard", "output-field-name.0": "n", "expression.1": "'a' * 2"}
    after = box("map", {**mapped, "output-field-name.1": "m"}, ["x"], ["y"], "after")
    with pytest.raises(DiagramError) as caught:
        check(load(wrong, after).diagram)
    unknown, advance, *rest = sorted(caught.value.problems, key=lambda problem: problem.place.line)
    found = {problem.place.line: (problem.what, problem.next_step) for problem in rest}
    assert unknown.what == "unknown stream 'nowhere'" and "advance 20 is larger" in advance.what
    assert list(found) == [12, 13, 18, 20]
    assert found[12] == ("unknown aggregate function 'averge'", "did you mean 'avg'?")
    assert "unknown function 'sqr'" in found[13][0] and found[13][1] == "did you mean 'sqrt'?"
    assert "unknown function 'strln'" in found[18][0] and found[18][1] == "did you mean 'strlen'?"
    assert "* does not work" in found[20][0]


def test_a_parameter_that_cannot_be_read_hides_no_other() -> None:
    functions = {"aggregate-function.0": "averge(v)", "aggregate-function.1": "max(w)", "aggregate-function.2": "max("}
    wrong = {**AGGREGATE, **functions, "window-size-by": "VALUE", "group-by": "kk"}
    cases = {"expression.0": "w > 1", "expression.1": "sqr(v) > 1", "pass-on-false-port": "maybe"}
    after = box("filter", {"expression.0": "nobody > 1"}, ["y"], ["last"], "after")
    found = problems(box("aggregate", wrong), box("filter", cases, outs=["x", "y"], name="cases"), after)
    said = {problem.place.line: problem.what.splitlines()[0] for problem in found}
    assert said == {
        9: "parameter 'window-size-by' is 'VALUE'",
        12: "unknown aggregate function 'averge'",
        13: "aggregate 'agg_1': unknown field 'w', at column 5:",
        14: "parameter 'aggregate-function.2': the expression ends too early, at column 5:",
        15: "unknown field 'kk'",
        19: "predicate 0: unknown field 'w', at column 1:",
        20: "predicate 1: unknown function 'sqr', at column 1:",
        21: "parameter 'pass-on-false-port' is 'maybe'",
        25: "predicate 0: unknown field 'nobody', at column 1:",
    }
    section = {"aggregate-function.0": "max(w)", "group-by": "kk", "window-size": "long"}
    assert [problem.place.line for problem in problems(box("xsection", section))] == [7, 8, 9]
    wrong["aggregate-function.1"] = "count()"
    behind = [problem.what for problem in problems(box("aggregate", wrong, ["nowhere"]))]
    assert len(behind) == 4 and behind[2] == "unknown aggregate function 'averge'"


def test_each_input_of_a_union_is_judged() -> None:
    slim, text = ({"expression.0": e, "output-field-name.0": n} for e, n in (("t", "only"), ("k", "t")))
    whole = {"expression.0": "t", "output-field-name.0": "t"}
    boxes = [box("map", p, ["a"], [f"m{n}"], f"map{n}") for n, p in enumerate((whole, slim, text))]
    first, second = found_by_checking(*boxes, box("union", {}, ["m0", "m1", "m2"], ["u"], "union"))
    assert "input 1 has the fields (only int)" in first
    assert "string(4) on input 2" in second


def test_thousands_of_problems_end_early() -> None:
    found = problems(*("<input/>" for _ in range(5000)))
    assert 400 < len(found) < 600
    assert "more than" in str(found[0])


def test_thousands_of_unknown_names_take_no_time() -> None:
    boxes = [box("union", ins=[f"nowhere{n}"], outs=[f"o{n}"], name=f"b{n}") for n in range(2000)]
    found = problems(*boxes, '<input stream="c" schema="rwo"/>')
    assert len(found) == 2001


def test_what_was_passed_over_is_said_with_what_is_wrong() -> None:
    """An element that is misspelt is ignored, and then missed: the error alone does not tell why."""
    with pytest.raises(DiagramError) as caught:
        load('<shcema name="Late"><field name="n" type="int"/></shcema>', '<input stream="c" schema="Late"/>')
    (wrong,), (odd,) = caught.value.problems, caught.value.warnings
    assert wrong.what == "unknown schema 'Late'"
    assert (odd.place.line, odd.next_step) == (5, "did you mean 'schema'?")
    assert str(caught.value).endswith(f"warning: {odd}")


def test_the_number_of_inputs_is_judged_though_their_fields_are_not_known() -> None:
    found = problems(
        '<input stream="c" schema="missing"/>',
        box("join", JOIN, ins=["c"], outs=["x"], name="alone"),
        box("filter", {"expression.0": "v > 1"}, ins=["c", "a"], outs=["y"], name="both"),
        '<output stream="z"/>',
    )
    assert [p.what for p in found[1:3]] == ["join has 1 input stream", "filter has 2 input streams"]
    assert found[-1].allowed == "a, b, c, x, y", "all streams that there are, whatever is known of them"


def test_wrong_queue_options_do_not_hide_what_is_wrong_with_the_box() -> None:
    found = problems(box("filter", {"expression.0": "vv > 1"}, outs=["p", "q"], extra='queue_type="9"'))
    assert [p.what.split(":")[0] for p in found] == ["queue_type is '9'", "filter has 2 output streams", "predicate 0"]
