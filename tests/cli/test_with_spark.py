"""The program as a user meets it, with real Spark: each command in a process of its own, and in this one where it is called again."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import TextIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from auroral.demo import SCANNER, STEPS
from cli.conftest import EXAMPLES, PROGRAM, Call

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

GRID = EXAMPLES / "grid.xml"
INPUTS = ("--input", f"North={EXAMPLES / 'north.csv'}", "--input", f"south={EXAMPLES / 'south.csv'}")


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


SLOW = """
import time
import auroral

@auroral.function("long -> long")
def slowly(v):
    time.sleep(1)
    return v

d = auroral.diagram("d", bucket="1s")
d.input("s", "ts long, v long", stime="ts", unit="s").map("m", {"v": "slowly(v)"}).output()
"""


def test_ctrl_c_leaves_a_run_that_goes_on_and_is_what_batch_gives_until_it_is_tampered_with(
    process: Call,
    shared: Call,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setenv("TMPDIR", str(temporary))
    paced = [argument + "@10x" if "=" in argument else argument for argument in INPUTS]
    command = [
        "run",
        str(GRID),
        *paced,
        "--output",
        "deviations=run.jsonl",
        "--folder",
        "r",
        "--bucket",
        "20s",
        "--json",
    ]
    with subprocess.Popen(
        [*PROGRAM, *command], cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if json.loads(line)["frontier"] is not None:
                break
        running.send_signal(signal.SIGINT)
        rest = running.stdout.read()
    assert running.returncode == 0
    end = json.loads(rest.splitlines()[-1])
    assert (end["event"], end["finished"], end["stopped"]) == ("end", False, True)

    resumed = process("run", "--resume", "r")
    assert resumed.code == 0, resumed.err
    assert "auroral verify r" in resumed.out
    places = {json.loads(line)["place"] for line in lines(tmp_path / "run.jsonl")}
    assert places == {"Alta", "Pavia"}

    done = process("batch", GRID, *INPUTS, "--output", "deviations=batch.jsonl", "--bucket", "20s", "--json")
    assert done.code == 0, done.err
    assert lines(tmp_path / "batch.jsonl") == lines(tmp_path / "run.jsonl")
    assert json.loads(done.out)["rows"] == {"deviations": len(lines(tmp_path / "run.jsonl"))}

    proved = process("verify", "r")
    assert proved.code == 0, proved.err
    assert "verified" in proved.out
    assert f"file {tmp_path / 'run.jsonl'} of deviations: equal to the run's own copy" in proved.out
    assert list(temporary.glob("auroral-*")) == []

    part = next((tmp_path / "r" / "outputs").rglob("part-*.parquet"))
    rows = pq.read_table(pa.BufferReader(part.read_bytes()))
    changed = pa.array([value + 1 for value in rows.column("hertz").to_pylist()])
    pq.write_table(rows.set_column(rows.schema.get_field_index("hertz"), "hertz", changed), part)
    tampered = shared("verify", "r", "--json")
    assert tampered.code == 1
    assert "Traceback" not in tampered.err


def test_rows_on_standard_input_are_evaluated_as_they_come(shared: Call, tmp_path: Path) -> None:
    (tmp_path / "d.py").write_text(
        "import auroral\nd = auroral.diagram('d', bucket='1s')\n"
        "d.input('s', 'ts long, v long', stime='ts', unit='s').filter('f', 'v % 2 == 0').output()\n"
    )
    command = [*PROGRAM, "run", "d.py", "--input", "s=-", "--output", "f=f.csv", "--folder", "r", "--json"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    ) as running:
        assert running.stdin is not None and running.stdout is not None
        running.stdin.write("".join(f'{{"ts": {at}, "v": {at}}}\n' for at in range(10)))
        running.stdin.flush()
        # While the pipe is open: the first rows are final before the others are there.
        until(running.stdout, r'"frontier": 9000000\b')
        assert lines(tmp_path / "f.csv")[1:] == [f"{at}000000,{at},{at}" if at else "0,0,0" for at in range(0, 9, 2)]
        running.stdin.write("".join(f'{{"ts": {at}, "v": {at}}}\n' for at in range(10, 14)) + "no row\n")
        running.stdin.close()
        end = json.loads(running.stdout.read().splitlines()[-1])
    assert running.returncode == 0 and end["finished"]
    assert (end["rows_in"], end["rows_out"]) == (14, {"f": 7})
    assert len(lines(tmp_path / "f.csv")) == 8
    proved = shared("verify", "r")
    assert proved.code == 0 and "input s: rows read = logged + left out (1 refused): 15" in proved.out, proved.out


def test_a_second_ctrl_c_does_not_wait_for_the_job(tmp_path: Path) -> None:
    (tmp_path / "d.py").write_text(SLOW)
    (tmp_path / "s.csv").write_text("ts,v\n" + "".join(f"{at},{at}\n" for at in range(1000)))
    command = [*PROGRAM, "run", "d.py", "--input", "s=s.csv", "--output", "m=m.csv", "--folder", "r"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as running:
        assert running.stdout is not None
        # The last bucket is closed when the end of the file is seen, maybe before the job begins; a busy machine skips seconds.
        until(
            running.stdout, r"evaluating (999|1,000) buckets with 1,000 rows for [2-9]\d? s, slow while Spark warms up"
        )
        running.send_signal(signal.SIGINT)
        until(running.stdout, "stopping after this job; press Ctrl-C again to stop now")
        running.send_signal(signal.SIGINT)
        began = time.monotonic()
        rest = running.stdout.read()
        running.wait(60)
        assert time.monotonic() - began < 20
    assert running.returncode == 0
    assert "stopped, nothing is lost; go on with: auroral run --resume r" in rest
    assert lines(tmp_path / "m.csv") == []


def until(stream: TextIO, pattern: str) -> None:
    for line in stream:
        if re.search(pattern, line):
            return
    raise AssertionError(f"{pattern!r} was never said")


def test_demo(process: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That answers come within X is for a machine that has nothing else to do: all else holds on any."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    ended = process("demo", "--seconds", "30", "--json")
    said = [json.loads(line) for line in ended.out.splitlines()]
    end = said[-1]
    assert end["event"] == "end" and end["verify"]["ok"], ended.err
    late, *others = end["judged"]
    assert [one["what"] for one in others if not one["holds"]] == []
    assert ended.code == (0 if late["holds"] else 1)
    assert [one["text"] for one in said if one["event"] == "note"][:4] == [text for _, _, text in STEPS]
    assert any(SCANNER in str(one["new"]) for one in said if one["event"] == "status")
    assert list((tmp_path / "temporary").glob("auroral-*")) == []


def test_determinism_names_the_box(shared: Call, tmp_path: Path) -> None:
    (tmp_path / "d.py").write_text(
        "import auroral\n"
        "d = auroral.diagram('d')\n"
        "a = d.input('a', 'ts timestamp, k string, v int', stime='ts')\n"
        "def any_of(rows):\n"
        "    return rows.groupBy('k').agg({'v': 'first'}).withColumnRenamed('first(v)', 'v')\n"
        "def most(rows):\n"
        "    return rows.groupBy('k').agg({'v': 'max'}).withColumnRenamed('max(v)', 'v')\n"
        "a.apply('any', any_of, schema='k string, v int').output()\n"
        "a.apply('most', most, schema='k string, v int').output()\n"
    )
    ended = shared("check", "--determinism", "--json", "d.py")
    assert ended.code == 1, ended.err
    (found,) = json.loads(ended.out)["results"]
    assert [p["line"] for p in found["determinism"]["differences"]] == [8]
