"""How benchmarks judge what they measured, and that what is stored was judged so."""

import json
from pathlib import Path

import pytest
from bench.memory import fitted, judged

RESULTS = Path(__file__).parents[1] / "bench" / "results"


def test_a_line_through_all_samples() -> None:
    assert fitted([0, 10, 20], [5.0, 6.0, 7.0]) == pytest.approx((5.0, 7.0, 0.0))
    start, end, error = fitted([0, 1, 2, 3], [10.0, 12.0, 10.0, 12.0])
    assert (start, end) == pytest.approx((10.4, 11.6))
    # What is left over is 0.4, 1.2, 1.2 and 0.4, with two degrees of freedom; x lies 1.5 and 0.5 from its middle.
    assert error == pytest.approx(3 * (3.2 / 2 / 5) ** 0.5)


def test_the_last_sample_alone_does_not_decide() -> None:
    swinging = {number: {"driver": 100.0, "jvm": 1000.0 + 100 * (number % 2)} for number in range(200)}
    level = judged(swinging)["slopes"]["jvm"]["slope"]
    assert abs(level) < 0.01 < swinging[199]["jvm"] / swinging[100]["jvm"] - 1


def test_a_leak_is_seen() -> None:
    leaking = {number: {"driver": 100.0, "jvm": 1000.0 + number} for number in range(0, 10_001, 50)}
    found = judged(leaking)["slopes"]
    assert found["jvm"]["slope"] == pytest.approx(5000 / 6000, abs=1e-4)
    assert found["driver"] == {"slope": 0.0, "standard_error": 0.0}


def test_the_stored_results_are_judged_so() -> None:
    stored = json.loads((RESULTS / "memory.json").read_text())
    found = judged({int(number): sizes for number, sizes in stored["resident_mb"].items()})
    assert {name: stored[name] for name in found} == found


def test_what_a_hop_adds_is_what_was_asked_for_and_what_the_page_says() -> None:
    stored = json.loads((RESULTS / "wire.json").read_text())
    assert max(stored["p50_us"].values()) <= 1000 * stored["asked_p50_ms"]
    page = (RESULTS.parents[1] / "docs" / "wire.md").read_text()
    for name in stored["p50_us"]:
        p50, p99 = stored["p50_us"][name] / 1000, stored["p99_us"][name] / 1000
        assert f"| {p50:.1f} ms | {p99:.1f} ms |" in page
    assert f"{stored['frames_a_second']} a second, {stored['mb_a_second']} MB/s" in page
    assert f"{stored['beside_large_worst_ms']:.0f} ms at worst" in page
