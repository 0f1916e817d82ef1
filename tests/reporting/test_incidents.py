"""What failed when, from the events of a deployment."""

from __future__ import annotations

from typing import Any

from auroral.reporting.incidents import incidents_in


def event(at: float, process: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"at": at, "process": process, "event": kind, **more}


def test_what_begins_ends_with_what_belongs_to_it() -> None:
    found = incidents_in(
        [
            event(1, "lima", "started"),
            event(1, "na", "started"),
            event(5, "lima", "cut off", peer="na"),
            event(6, "lima", "cut off", peer="nb"),
            event(9, "lima", "healed", peer="nb"),
            event(10, "na", "killed"),
            event(12, "na", "started"),
            event(13, "client", "sink failing", sink="a.csv", detail="full\nnext: make room"),
            event(14, "client", "sink goes on", sink="b.csv"),
            event(15, "na", "job failed", stream="sums", detail="why"),
        ]
    )
    assert [(one.who, one.what, one.begin, one.end) for one in found] == [
        ("lima", "was cut off from na", 5, None),
        ("lima", "was cut off from nb", 6, 9),
        ("na", "was killed", 10, 12),
        ("client", "a.csv could not be written", 13, None),
        ("na", "a job of sums failed", 15, 15),
    ]
    assert found[3].detail == "full" and found[4].point


def test_who_ends_without_a_word_is_found_when_it_comes_back() -> None:
    begins = [event(1, "na", "started"), event(3, "na", "state"), event(8, "na", "started")]
    (found,) = incidents_in(begins)
    assert (found.begin, found.end, found.point) == (8, 8, True), "it may have been well until then"
    assert found.what.startswith("had ended without a word") and found.detail.startswith("away for 5.00 s at most")
    assert incidents_in([event(1, "na", "started"), event(3, "na", "ending"), event(8, "na", "started")]) == []


def test_a_process_that_was_killed_while_paused_is_not_paused_any_more() -> None:
    found = incidents_in([event(2, "east", "paused"), event(3, "east", "killed"), event(5, "east", "started")])
    assert [(one.what, one.end) for one in found] == [("was paused", 5), ("was killed", 5)]


def test_who_is_started_again_is_not_cut_off_any_more() -> None:
    begins = [event(2, "na", "cut off", peer="nb"), event(3, "na", "killed"), event(5, "na", "started")]
    assert [(one.what, one.end) for one in incidents_in(begins)] == [("was cut off from nb", 5), ("was killed", 5)]


def test_a_replica_that_could_not_be_started_has_a_state_when_it_could() -> None:
    (found,) = incidents_in(
        [
            event(2, "na", "not started", core="q@na", detail="no room"),
            event(3, "na", "state", core="r@na", state="STABLE"),
            event(4, "na", "state", core="q@na", state="RECOVERING"),
        ]
    )
    assert (found.what, found.end) == ("q@na could not be started", 4)
