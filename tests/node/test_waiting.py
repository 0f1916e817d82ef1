"""Which inputs hold a run back."""

from auroral.node.ranges import SourceSpan
from auroral.node.waiting import waited_for

B = 10


def test_an_input_that_has_not_begun_is_waited_for() -> None:
    spans = {"a": SourceSpan(0, 35, False), "b": SourceSpan(None, None, False)}
    assert waited_for(spans, B) == {"b": None}


def test_those_furthest_behind_are_waited_for() -> None:
    spans = {"a": SourceSpan(0, 35, False), "b": SourceSpan(0, 18, False), "c": SourceSpan(0, 11, False)}
    assert waited_for(spans, B) == {"b": 18, "c": 11}


def test_nobody_waits_for_an_input_that_has_ended() -> None:
    assert waited_for({"a": SourceSpan(0, 5, True), "b": SourceSpan(0, 35, False)}, B) == {"b": 35}
    assert waited_for({"a": SourceSpan(0, 5, True)}, B) == {}
