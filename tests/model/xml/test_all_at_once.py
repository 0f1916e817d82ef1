"""X7: everything wrong with a file is said at once, those parts of it included that only checking finds."""

from model.xml.compose import AGGREGATE, SUNION, box, problems


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
    assert [p.place.line for p in found] == [5, 6, 12, 25, 29]
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


def test_thousands_of_problems_end_early() -> None:
    found = problems(*("<input/>" for _ in range(5000)))
    assert 400 < len(found) < 600
    assert "more than" in str(found[0])


def test_thousands_of_unknown_names_take_no_time() -> None:
    boxes = [box("union", ins=[f"nowhere{n}"], outs=[f"o{n}"], name=f"b{n}") for n in range(2000)]
    found = problems(*boxes, '<input stream="c" schema="rwo"/>')
    assert len(found) == 2001
