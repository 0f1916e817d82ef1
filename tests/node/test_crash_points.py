"""A run that is cut off at any call that changes the disk neither loses nor repeats a row: each such call in its turn."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
POINTS = 60


@pytest.mark.slow
@pytest.mark.parametrize("life", ["file", "pruned"])
def test_no_point_loses_or_repeats_a_row(life: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "node.crashing", str(tmp_path), str(POINTS), life]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["wrong"] == [], done.stderr
    assert found["tried"] == POINTS and found["calls"] > POINTS and found["rows"] > 10
    assert found["pruned"] is (life == "pruned")
