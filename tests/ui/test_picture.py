"""The diagram as it is drawn: all of it is there, nothing covers anything, and a large one is laid out at once."""

from __future__ import annotations

import re
import time
from itertools import combinations, pairwise
from typing import Any

import auroral
from auroral.demo import scans
from auroral.dpc.fragments import Fragments, cut
from auroral.model.builder import DiagramBuilder
from auroral.model.deployment_text import read_deployment_text
from auroral.ui.picture import BOX, Group, picture
from ui.standins import SETS


def groups_of(fragments: Fragments) -> list[Group]:
    return [Group(fragment, fragment.hosts) for fragment in fragments.all]


def drawn(builder: DiagramBuilder, sets: str | None = None) -> dict[str, Any]:
    checked = builder.check()
    fragments = cut(checked, None if sets is None else read_deployment_text(sets, "deploy.yaml"))
    return picture(
        checked.diagram.name, checked.diagram.bucket, [one.drawn for one in groups_of(fragments)], fragments.client
    )


def large(queries: int = 25, boxes: int = 8) -> tuple[DiagramBuilder, str]:
    """With that many boxes in each query: 200, and 50 streams that have a condition of their own."""
    d = auroral.diagram("large", bucket="1s")
    streams = [d.input(f"in{n}", "n int") for n in range(queries)]
    for q in range(queries):
        with d.query(f"q{q}"):
            first = streams[q].union(f"both{q}", streams[(q * 7 + 3) % len(streams)])
            steps = [first.filter(f"f{q}x{n}", f"n > {n}") for n in range(boxes - 3)]
            both = steps[0].union(f"all{q}", *steps[1:])
            last = both.filter(f"last{q}", "n > 1")
            streams.append(last)
            last.output(availability="60s")
    nodes = "\n".join(f'  - {{name: s{q}, queries: [q{q}], nodes: [":{26000 + q}"]}}' for q in range(queries))
    return d, f"replica_sets:\n{nodes}\n"


def apart(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return (
        one["x"] + one["w"] <= other["x"]
        or other["x"] + other["w"] <= one["x"]
        or one["y"] + one["h"] <= other["y"]
        or other["y"] + other["h"] <= one["y"]
    )


def within(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return (
        other["x"] <= one["x"]
        and other["y"] <= one["y"]
        and one["x"] + one["w"] <= other["x"] + other["w"]
        and one["y"] + one["h"] <= other["y"] + other["h"]
    )


def points(path: str) -> list[tuple[float, float]]:
    """Along its curves."""
    numbers = [float(one) for one in re.findall(r"-?[\d.]+", path)]
    ends = [(numbers[0], numbers[1]), *zip(numbers[6::6], numbers[7::6], strict=True)]
    found = []
    for (x, y), (to_x, to_y) in pairwise(ends):
        for n in range(21):
            t, u = n / 20, 1 - n / 20
            middle = (x + to_x) / 2
            found.append(
                (
                    u**3 * x + 3 * u * u * t * middle + 3 * u * t * t * middle + t**3 * to_x,
                    u**3 * y + 3 * u * u * t * y + 3 * u * t * t * to_y + t**3 * to_y,
                )
            )
    return found


def nothing_covers_anything(found: dict[str, Any]) -> None:
    whole = {"x": 0, "y": 0, "w": found["width"], "h": found["height"]}
    groups = {group["name"]: group for group in found["groups"]}
    for one, other in combinations([*found["groups"], *found["streams"]], 2):
        assert apart(one, other), (one, other)
    for one, other in combinations(found["boxes"], 2):
        assert apart(one, other), (one, other)
    assert all(within(thing, whole) for thing in (*found["groups"], *found["streams"]))
    assert all(within(box, groups[box["group"]]) for box in found["boxes"])
    for line in found["lines"]:
        for x, y in points(line["d"]):
            for thing in (*found["boxes"], *found["streams"]):
                inside = thing["x"] + 1 < x < thing["x"] + thing["w"] - 1 and thing["y"] < y < thing["y"] + thing["h"]
                assert not inside, (line, thing)


def test_a_deployment_has_its_queries_with_their_boxes_and_streams() -> None:
    found = drawn(scans, SETS)
    nothing_covers_anything(found)
    assert [(group["name"], group["queries"], group["nodes"]) for group in found["groups"]] == [
        ("merge", ["merge"], ["mergea", "mergeb"]),
        ("watch", ["watch"], ["watcha", "watchb"]),
    ]
    assert [(box["name"], box["type"], box["group"]) for box in found["boxes"]] == [
        *(("connections", "union", "merge"), ("hosts", "aggregate", "watch"), ("alerts", "filter", "watch"))
    ]
    assert {stream["name"]: stream["role"] for stream in found["streams"]} == {
        **dict.fromkeys(("bern", "lima", "oslo"), "input"),
        "connections": "between",
        "alerts": "output",
    }
    streams = [line["stream"] for line in found["lines"]]
    # From a stream to its query and on to the box; out of the box, out of the query.
    assert sorted(streams) == sorted([*["oslo", "bern", "lima"] * 2, *["connections"] * 4, "hosts", *["alerts"] * 2])
    # As data flows, from left to right.
    x = {thing["name"]: thing["x"] for thing in (*found["groups"], *found["streams"])}
    assert x["oslo"] < x["merge"] < x["connections"] < x["watch"] < x["alerts"]


def test_the_id_is_of_all_that_is_drawn() -> None:
    assert drawn(scans, SETS)["id"] == drawn(scans, SETS)["id"] != drawn(scans)["id"]


def test_two_hundred_boxes_and_fifty_streams() -> None:
    builder, sets = large()
    began = time.process_time()
    found = drawn(builder, sets)
    taken = time.process_time() - began
    assert len(found["boxes"]) == 200 and len(found["streams"]) == 50
    nothing_covers_anything(found)
    # With checking and cutting it; on a machine that has other things to do.
    assert taken < 10
    assert (found["boxes"][0]["w"], found["boxes"][0]["h"]) == BOX


def test_streams_come_straight_into_a_query() -> None:
    found = drawn(scans, SETS)
    for stream in found["streams"]:
        if stream["role"] == "input":
            (line,) = [one for one in found["lines"] if one["stream"] == stream["name"] and "group" not in one]
            assert len({round(y, 3) for _, y in points(line["d"])}) == 1
