"""The ledger counts by stream and reason, and survives being stored."""

import pytest

from auroral.edge.ledger import Ledger, LedgerError, LedgerRow, Reason


def test_add_and_merge_give_new_ledgers() -> None:
    empty = Ledger()
    one = empty.add("a", Reason.LATE, 2).add("a", Reason.LATE).add("b", Reason.SHED, 5)
    both = one.merge(Ledger().add("a", Reason.MOVED, 4))
    assert not empty
    assert list(both.rows()) == [
        LedgerRow("a", Reason.LATE, 3),
        LedgerRow("a", Reason.MOVED, 4),
        LedgerRow("b", Reason.SHED, 5),
    ]
    assert (both.count(), both.count("a"), both.count("a", Reason.LATE), both.count(reason=Reason.SHED)) == (
        12,
        7,
        3,
        5,
    )


def test_moved_rows_are_not_lost() -> None:
    assert Ledger().add("a", Reason.MOVED, 4).add("a", Reason.TOO_LONG, 1).lost("a") == 1


def test_zero_is_no_entry_and_counts_do_not_fall() -> None:
    assert Ledger().add("a", Reason.LATE, 0) == Ledger()
    with pytest.raises(ValueError, match="counts up"):
        Ledger().add("a", Reason.LATE, -1)


def test_equal_counts_are_equal_ledgers_whatever_the_order() -> None:
    a = Ledger().add("x", Reason.LATE).add("b", Reason.SHED)
    b = Ledger().add("b", Reason.SHED).add("x", Reason.LATE)
    assert a == b
    assert str(a) == "b: 1 shed, x: 1 late"


def test_json_and_back() -> None:
    ledger = Ledger().add("größe", Reason.NO_STIME, 3).add("a", Reason.REFUSED)
    assert Ledger.from_json(ledger.to_json()) == ledger


@pytest.mark.parametrize("text", ["", "[1]", '{"a": {"lost in space": 1}}', '{"a": 3}', '{"a": {"late": "x"}}'])
def test_what_is_no_ledger_is_refused_with_a_next_step(text: str) -> None:
    with pytest.raises(LedgerError, match=r"(?s)not a ledger.*allowed.*next"):
        Ledger.from_json(text)
