"""Squares and bars: what was delivered and what happened, as it is drawn."""

from __future__ import annotations

from typing import Any

from auroral.ui.strips import MOST, Strips
from auroral.ui.timeline import MOST_MARKS, Timeline


def delivery(bucket: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"stream": "sums", "bucket": bucket, "kind": kind, "count": 1, "at": 10.0 + bucket, **more}


def kinds(strips: Strips) -> dict[int, str]:
    return {one["b"]: one["k"] for one in strips.since(0)["sums"]}


def test_squares_are_corrected_in_place() -> None:
    strips, cover = Strips(), {"east": "missing", "west": "complete"}
    strips.add([delivery(0, "stable", latency=0.4)])
    strips.add(delivery(n, "tentative", latency=3.0 - n, coverage=cover) for n in (1, 2, 3))
    assert kinds(strips) == {0: "stable", 1: "tentative", 2: "tentative", 3: "tentative"}
    seen = strips.changes
    strips.add([delivery(1, "confirmed"), delivery(2, "corrected")])
    assert strips.since(seen)["sums"] == [
        {"b": 1, "k": "confirmed", "n": 1, "at": 11.0, "late": 2.0, "cover": cover, "undo": True},
        {"b": 2, "k": "corrected", "n": 1, "at": 12.0, "late": 1.0, "cover": cover},
    ]
    strips.add([delivery(3, "corrected"), delivery(4, "stable", latency=0.5)])
    assert [one for one in strips.since(seen)["sums"] if one.get("rec_done")] == [
        {"b": 3, "k": "corrected", "n": 1, "at": 13.0, "late": 0.0, "cover": cover, "rec_done": True}
    ]
    assert strips.since(strips.changes) == {}
    # And again, with the next failure.
    strips.add([delivery(5, "tentative"), delivery(5, "confirmed")])
    (last,) = [one for one in strips.since(0)["sums"] if one["b"] == 5]
    assert last["undo"] and last["rec_done"]


def test_a_newer_guess_takes_the_place_of_an_older_one_and_keeps_how_late_the_first_was() -> None:
    strips = Strips()
    strips.add([delivery(1, "tentative", latency=2.0, coverage={"east": "missing"})])
    strips.add([delivery(1, "tentative", coverage={"east": "partial"}, count=4)])
    assert strips.since(0)["sums"] == [
        {"b": 1, "k": "tentative", "n": 4, "at": 11.0, "late": 2.0, "cover": {"east": "partial"}}
    ]


def test_gaps_are_squares_and_what_is_remembered_is_bounded() -> None:
    strips = Strips()
    strips.add([delivery(2, "missed", end=5, count=0)])
    assert kinds(strips) == {2: "missed", 3: "missed", 4: "missed"}
    strips.add([delivery(7, "missed", end=7 + 10 * MOST, count=0)])
    assert len(kinds(strips)) == MOST and max(kinds(strips)) == 6 + 10 * MOST


def event(at: float, process: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"at": at, "process": process, "event": kind, **more}


def state(at: float, node: str, state: str, stream: str = "sums") -> dict[str, Any]:
    return event(at, node, "state", core=f"n@{node}", stream=stream, state=state)


def test_bars_are_the_worst_of_what_a_node_gives_and_failures_end_them() -> None:
    line = Timeline({"east": "source", "na": "node", "client": "client"})
    line.add([event(0, "na", "started"), state(1, "na", "STABLE"), state(1, "na", "STABLE", "rest")])
    line.add([state(5, "na", "UP_FAILURE"), state(6, "na", "FAILURE", "rest"), state(8, "na", "STABLE", "rest")])
    line.add([event(9, "na", "killed"), event(12, "na", "started"), state(13, "na", "RECOVERING")])
    line.add([event(2, "east", "paused"), event(7, "east", "resumed"), event(9, "stranger", "started")])
    rows = {row["process"]: row for row in line.to_json()}
    assert rows.keys() == {"east", "na"}
    assert rows["na"]["bars"] == [
        *(["unknown", 0, 1], ["stable", 1, 5], ["tentative", 5, 6], ["blocked", 6, 8], ["tentative", 8, 9]),
        *(["failed", 9, 12], ["unknown", 12, 13], ["stabilising", 13, None]),
    ]
    assert rows["na"]["marks"] == [(0, "started", False), (9, "killed", True), (12, "started", False)]
    assert rows["east"]["bars"] == [["silent", 2, 7], ["stable", 7, None]]
    assert rows["east"]["marks"] == [(2, "paused", True), (7, "goes on", False)]


def test_a_source_that_is_full_is_blocked_and_said_to_be() -> None:
    line = Timeline({"east": "source", "client": "client"})
    line.add([event(0, "east", "started"), event(3, "east", "full", detail="far behind"), event(8, "east", "has room")])
    line.add([event(4, "client", "started"), event(5, "client", "history failing", detail="the disk is full\nmore")])
    east, client = line.to_json()
    assert east["bars"] == [["stable", 0, 3], ["blocked", 3, 8], ["stable", 8, None]]
    assert [(at, alarm) for at, _, alarm in east["marks"]] == [(0, False), (3, True), (8, False)]
    assert client["marks"][-1] == (5, "the disk is full", True)


def test_marks_say_what_happened_and_do_not_grow_for_ever() -> None:
    line = Timeline({"na": "node"})
    line.add([event(1, "na", "cut off", peer="east"), event(2, "na", "job failed", stream="sums", detail="x")])
    line.add([event(3, "na", "reads", stream="sums", producers="nb"), event(4, "na", "input failed", detail="a\nb")])
    line.add([event(5, "na", "gap", stream="sums"), event(6, "na", "guessed right", stream="sums")])
    assert [what for _, what, _ in line.to_json()[0]["marks"]] == [
        *("cut off from east", "a job of sums failed", "reads sums from nb", "a", "? buckets of sums lost"),
    ]
    line.add(event(n, "na", "healed", peer="east") for n in range(10 * MOST_MARKS))
    assert len(line.to_json()[0]["marks"]) == MOST_MARKS


def test_a_query_that_left_a_node_counts_no_more() -> None:
    line = Timeline({"na": "node"})
    line.add([state(1, "na", "STABLE"), event(2, "na", "state", core="p@na", stream="x", state="FAILURE")])
    line.add([event(3, "na", "left", core="p@na")])
    assert [bar[0] for bar in line.to_json()[0]["bars"]] == ["stable", "blocked", "stable"]
