"""Bad input inside the engine: a division by zero, user code that throws, damaged segments. Clear errors, nothing lost."""

from __future__ import annotations

import math
import sys

import pytest

from auroral.engine.edgelog import STABLE, DamagedSegment, Segment
from auroral.engine.evaluate import Engine, Limits
from auroral.engine.failures import UserCodeFailed, explained, guarded, marked
from auroral.model.aggregates import aggregate_function
from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.join import Join, JoinBuffer
from auroral.model.boxes.stateless import Filter, Map
from auroral.model.checking import check
from auroral.model.diagram import Box, Diagram, Input, Output, Query
from auroral.model.expression import Functions
from auroral.model.expression.functions import make_function
from auroral.model.schema import schema
from auroral.model.windows import Landmark, StimeWindow
from engine.evaluators import by_batch, by_buckets, shown, source_table
from engine.running import checked_diagram, rows

GIVEN = rows((1, 4), (2, 0), (13, None), (14, 5))


def test_the_users_error_is_found_in_sparks():
    error = RuntimeError(
        "Job aborted ... " + str(marked("box 'b': function 'f'", ValueError("bad\nvalue"), (1, "x"))) + " at java"
    )
    found = explained(error, 10, 20)
    assert isinstance(found, UserCodeFailed)
    said, second = str(found).split("\n    next: ")
    first, allowed = said.split("\n    allowed: ")
    assert allowed.startswith("functions that give a value of their type")
    assert first == "box 'b': function 'f' of (1, 'x') failed: ValueError: bad\nvalue, in the buckets of stime [10, 20)"
    assert second.startswith("mend the function")
    assert explained(RuntimeError("out of memory"), 0, 1) is None


def test_a_guarded_function_gives_its_result_or_what_failed():
    over = guarded("box 'b'", make_function("over", lambda a, b: a // b, "int, int", "int"))
    assert over(4, 2) == (2, None, None)
    result, error, why = over(1, 0)
    assert (result, error) == (None, "over: ZeroDivisionError: integer division or modulo by zero")
    assert "box 'b' of (1, 0) failed: ZeroDivisionError: integer" in str(explained(RuntimeError(why), 0, 10))


def test_a_lack_of_memory_is_no_fault_of_the_row():
    def greedy(a):
        raise MemoryError

    with pytest.raises(RuntimeError, match=r"box 'b' of \(1,\) failed: MemoryError"):
        guarded("box 'b'", make_function("greedy", greedy, "int", "int"))(1)


def test_leaving_the_program_is_an_error_of_the_call():
    leaving = guarded("box 'b'", make_function("leaving", sys.exit, "int", "int"))
    assert leaving(3)[:2] == (None, "leaving: SystemExit: 3")


def test_an_interruption_is_no_fault_of_the_row_either():
    def interrupted(a):
        raise KeyboardInterrupt

    with pytest.raises(RuntimeError, match=r"box 'b' of \(1,\) failed: KeyboardInterrupt"):
        guarded("box 'b'", make_function("interrupted", interrupted, "int", "int"))(1)


def test_times_that_python_has_not_are_errors_of_the_call():
    same = guarded("box 'b'", make_function("same", lambda *given: given[0], "timestamp, date", "timestamp"))
    assert same(-1, 0) == (-1, None, None)
    assert same(None, None) == (None, None, None)
    result, error, why = same(2**62, 0)
    assert (result, error) == (
        None,
        f"same: OverflowError: {2**62} microseconds since 1970 are outside Python's years 1 to 9999",
    )
    assert f"box 'b' of ({2**62}, 0) failed: OverflowError" in str(explained(RuntimeError(why), 0, 10))
    assert same(0, 10**9)[1] == "same: OverflowError: 1000000000 days since 1970 are outside Python's years 1 to 9999"


@pytest.mark.spark
class TestUserCode:
    def checked(self, box, functions=None):
        diagram = Diagram("d", (Input("s", schema("v int")),), (Output("o"),), (Query("q", (box,)),), bucket=10)
        return check(diagram, functions or Functions())

    def throwing(self, spec):
        inverse = make_function("inverse", lambda v: None if v is None else 1 // v, "int", "int")
        return self.checked(Box("mine", spec, ("s",), ("o",)), Functions().plus(inverse))

    @pytest.mark.parametrize("limits", [Limits(), Limits(0), Limits(0, 0)])
    def test_a_function_that_throws_is_named_with_box_value_and_range(self, spark, tmp_path, limits):
        checked = self.throwing(Map((("w", "inverse(v)"),)))
        with pytest.raises(
            UserCodeFailed, match=r"box 'mine': function 'inverse' of \(0,\) failed: ZeroDivision.*\[0, 20\)"
        ):
            by_buckets(spark, checked, {"s": GIVEN}, [0, 20], tmp_path, limits=limits)

    def test_so_it_is_in_the_batch(self, spark, tmp_path):
        checked = self.throwing(Filter(("inverse(v) > 0",)))
        with pytest.raises(UserCodeFailed, match=r"box 'mine': function 'inverse' of \(0,\) failed"):
            by_batch(spark, checked, {"s": GIVEN}, 20, tmp_path)

    def test_ranges_before_it_are_given(self, spark, tmp_path):
        checked = self.throwing(Map((("w", "inverse(v)"),)))
        later = rows((1, 1), (13, None), (24, 0))
        with pytest.raises(UserCodeFailed, match=r"\[20, 30\)"):
            by_buckets(spark, checked, {"s": later}, [0, 20, 30], tmp_path)

    @pytest.mark.parametrize("window", [StimeWindow(10, 10), Landmark()])
    def test_an_aggregate_that_throws_is_named(self, spark, tmp_path, window):
        def register():
            def fussy(state, value):
                if value == 0:
                    raise ValueError("no zeros")
                return state

            aggregate_function("fussy", init=lambda: 1, incr=fussy, final=lambda state: state, returns="int")

        register()
        checked = self.checked(Box("mine", Aggregate((("w", "fussy(v)"),), window), ("s",), ("o",)))
        with pytest.raises(
            UserCodeFailed, match=r"box 'mine': aggregate 'fussy' of \(0,\) failed: ValueError: no zeros"
        ):
            by_buckets(spark, checked, {"s": GIVEN}, [0, 20], tmp_path)

    def test_a_result_of_another_type_is_named(self, spark, tmp_path):
        def register():
            aggregate_function("wordy", init=lambda: 0, incr=lambda s, v: s, final=lambda s: "none", returns="int")

        register()
        checked = self.checked(Box("mine", Aggregate((("w", "wordy(v)"),), Landmark()), ("s",), ("o",)))
        said = r"box 'mine': aggregate 'wordy' failed: TypeError: it gave 'none', which is not of type int"
        with pytest.raises(UserCodeFailed, match=said):
            by_buckets(spark, checked, {"s": GIVEN}, [0, 20], tmp_path)


@pytest.mark.spark
def test_a_division_by_zero_stops_nothing(spark, tmp_path):
    columns = (("whole", "8 / v"), ("rest", "8 % v"), ("part", "8.0 / v"))
    boxes = [
        Box("m", Map(columns), ("s",), ("o",)),
        Box("a", Aggregate((("s", "sum(8 / v)"), ("m", "avg(1.0 / v)")), StimeWindow(20, 20)), ("s",), ("p",)),
    ]
    found = by_buckets(spark, checked_diagram({"s": "v int"}, boxes), {"s": GIVEN}, [0, 20], tmp_path)
    assert found.outputs["o"] == [(1, 2, 0, 2.0), (2, None, None, math.inf), (13, None, None, None), (14, 1, 3, 1.6)]
    assert found.outputs["p"] == [(19, 3, math.inf)]


@pytest.mark.spark
@pytest.mark.parametrize("harm", ["flipped", "missing"])
def test_a_damaged_segment_is_named(spark, tmp_path, harm):
    """A join's history was spilled to a file, and the file is not what it was."""
    spec = Join("left.v = right.v", JoinBuffer(100), JoinBuffer(100))
    engine = Engine(spark, checked_diagram({"s": "v int"}, [Box("j", spec, ("s", "s"), ("o",))]), tmp_path)
    engine.log.memory_limit = 1
    for lo in (0, 10):
        table = source_table(engine.source("s"), rows((lo, 1), (lo + 1, 2)))
        engine.offer("s", Segment(lo, lo + 10, STABLE, 2, table))
    assert len(shown(engine.evaluate(0, 10).outputs["o"].load(engine.small.outputs[0]))) == 2
    path = sorted(tmp_path.glob("*.parquet"))[0]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content) if harm == "flipped" else path.unlink()
    with pytest.raises(DamagedSegment, match=rf"{path.name}: the segment of 's@source' for stime 0 to 10 is "):
        engine.evaluate(10, 20)
