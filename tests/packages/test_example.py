"""The example package: installed as users install it, and run on a real Spark."""

from __future__ import annotations

import itertools
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from packages.both_ways import rows

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "auroral-example-boxes"


@pytest.fixture(scope="module")
def with_example(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The surroundings of a program that has the package."""
    site = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--target", str(site), str(EXAMPLE)], check=True, capture_output=True, text=True)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(site)])}


def test_the_program_finds_what_was_installed(with_example: dict[str, str], tmp_path: Path) -> None:
    listed = subprocess.run(
        [sys.executable, "-m", "auroral", "boxes", "top_n", "since_last", "sessions", "haversine", "geo_mean"],
        env=with_example,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert listed.count("auroral-example-boxes 0.1.0") == 5


def kilometres(lat: float, lon: float) -> float:
    """By the law of cosines, which is another way than the package's."""
    a, b, far = math.radians(lat), math.radians(47.0), math.radians(lon - 8.0)
    return 6371.0 * math.acos(math.sin(a) * math.sin(b) + math.cos(a) * math.cos(b) * math.cos(far))


def stays(given: list[dict[str, Any]]) -> list[tuple[str, int, float]]:
    """Rows of a place, cut where more than one second lies between two."""
    found = []
    for place in {r["place"] for r in given}:
        times = sorted(r["sec"] for r in given if r["place"] == place)
        cuts = [n for n in range(1, len(times)) if times[n] - times[n - 1] > 1]
        for begin, end in itertools.pairwise([0, *cuts, len(times)]):
            found.append((place, end - begin, float(times[end - 1] - times[begin])))
    return sorted(found)


@pytest.mark.spark
def test_python_and_xml_are_right_and_proved(with_example: dict[str, str], tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "both_ways.py"), str(tmp_path)],
        env=with_example,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = json.loads(ended.stdout.splitlines()[-1])
    assert found["python"]["ok"] and found["xml"]["ok"]
    given = rows()
    for way in ("python", "xml"):
        tables = found[way]["tables"]
        assert len(tables["gaps"]) == len(given)
        for row in tables["gaps"]:
            before = [r["sec"] for r in given if r["place"] == row["place"] and row["sec"] - 4 <= r["sec"] < row["sec"]]
            assert row["gap"] == (row["sec"] - max(before) if before else None)
        for second in {r["sec"] for r in given}:
            far = sorted((kilometres(r["lat"], r["lon"]) for r in given if r["sec"] == second), reverse=True)
            ranked = sorted((r for r in tables["far"] if r["sec"] == second), key=lambda r: r["rank"])
            assert [r["rank"] for r in ranked] == [1, 2]
            assert [r["km"] for r in ranked] == pytest.approx(far[:2], rel=1e-6)
        assert sorted((r["place"], r["rows"], r["seconds"]) for r in tables["stays"]) == stays(given)
        assert len(tables["means"]) == 2
        first = [r["lat"] for r in given if 1000 <= r["sec"] < 1005]
        assert tables["means"][0]["mean"] == pytest.approx(math.prod(first) ** (1 / len(first)))
