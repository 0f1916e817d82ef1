"""Tables compared as multisets, bit for bit."""

import struct

import pyarrow as pa
import pytest

from auroral.node import compare as module
from auroral.node.compare import compare

NAN = float("nan")


def table(*rows: tuple[int, float | None, str]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    kinds = [pa.int64(), pa.float64(), pa.string()]
    return pa.table([pa.array(c, k) for c, k in zip(columns, kinds, strict=True)], ["stime", "x", "k"])


def test_order_does_not_matter_and_nan_is_nan() -> None:
    one = table((1, NAN, "a"), (1, None, "b"), (2, 0.5, "c"))
    two = table((2, 0.5, "c"), (1, None, "b"), (1, NAN, "a"))
    assert compare(one, two).equal
    assert compare(table(), table()).equal


def test_other_bits_of_nan_are_no_difference() -> None:
    (other,) = struct.unpack("<d", struct.pack("<q", 0x7FF8000000000001))
    assert struct.pack("<d", other) != struct.pack("<d", NAN)
    found = compare(table((1, NAN, "a"), (1, 1.0, "b")), table((1, other, "a"), (1, 2.0, "b")))
    assert [(d.side, d.row) for d in found.first] == [("run", {"x": 1.0, "k": "b"}), ("batch", {"x": 2.0, "k": "b"})]
    assert (found.only_run, found.only_batch) == (1, 1)


def test_signs_of_zero_and_how_often_do_matter() -> None:
    assert not compare(table((1, 0.0, "a")), table((1, -0.0, "a"))).equal
    found = compare(table((1, 1.0, "a"), (1, 1.0, "a"), (1, 1.0, "a")), table((1, 1.0, "a")))
    assert (found.only_run, found.only_batch) == (2, 0)
    assert found.first[0].count == 2
    assert str(found.first[0]) == "only in the run: stime 1 {'x': 1.0, 'k': 'a'} (2 times)"


@pytest.mark.parametrize("rows", [1, 3, 1000])
def test_differences_are_found_in_any_slice(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLICE_ROWS", rows)
    ours = [(i // 4, i * 0.5, "k") for i in range(60)]
    theirs = [*ours[:20], *ours[21:50], (12, -1.0, "x"), *ours[50:]]
    found = compare(table(*ours), table(*theirs))
    assert (found.only_run, found.only_batch) == (1, 1)
    assert [(d.side, d.stime) for d in found.first] == [("run", 5), ("batch", 12)]


def test_only_the_first_are_shown() -> None:
    found = compare(table(*[(i, 1.0, "a") for i in range(50)]), table())
    assert found.only_run == 50
    assert [d.stime for d in found.first] == list(range(20))
