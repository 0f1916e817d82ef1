"""What was, as the page shows it: of a deployment's folder, and of a trace of the simulator."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from auroral.cli import main
from auroral.node.fleet.clock import Clock
from auroral.node.fleet.recording import Recorder, recorded_in
from auroral.ui.replay.recording import NoRecording, open_recording
from auroral.ui.replay.replaying import Replaying
from auroral.ui.serving import replayed
from ui.standins import StandIns, all_is_well, lima_is_back, lima_is_lost, source, standing_in
from ui.visiting import Visitor

SCHEDULE = "at 8s silence s1; at 14s resume s1; at 20s crash q0a; at 26s restart q0a; at 32s cut q0b; at 40s heal q0b"


# What is recorded


def test_what_is_recorded_does_not_grow_beyond_its_bound(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, "na", most=2_000)
    for n in range(500):
        recorder.write(at=float(n), status={"n": n})
    sizes = [file.stat().st_size for file in (tmp_path / "recorded").iterdir()]
    assert len(sizes) == 2 and all(size <= 2_000 for size in sizes)
    numbers = [one["status"]["n"] for one in recorded_in(tmp_path)]
    assert numbers == list(range(numbers[0], 500)) and len(numbers) > 50, "the last of it, without a gap"
    recorder.close()
    # Another life goes on behind it.
    again = Recorder(tmp_path, "na", most=2_000)
    again.write(at=500.0, status={"n": 500})
    again.close()
    assert [one["status"]["n"] for one in recorded_in(tmp_path)][-2:] == [499, 500]


def test_a_line_that_was_not_written_to_its_end_is_passed_over(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, "na")
    recorder.write(at=1.0, status={"kind": "node"})
    recorder.close()
    with (tmp_path / "recorded" / "na.jsonl").open("ab") as opened:
        opened.write(b'{"at": 2.0, "sta')
    assert list(recorded_in(tmp_path)) == [{"process": "na", "at": 1.0, "status": {"kind": "node"}}]


def test_a_full_disk_is_told_once_and_ends_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "recorded").write_text("no folder")
    recorder = Recorder(tmp_path, "na")
    for n in range(3):
        recorder.write(at=float(n), status={})
    assert len(caplog.records) == 1 and "nothing is recorded" in caplog.text


def test_an_answer_that_cannot_be_had_ends_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What a background task fails with ends its process."""
    answers: list[Any] = [{"n": 1}, RuntimeError("it changes just now"), {"n": 2}]
    recorder = Recorder(tmp_path, "na")

    def said() -> dict[str, Any]:
        recorder.turned.set()
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if not answers:
            recorder.turned.clear()
        return dict(answer)

    async def some_time() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(recorder.run(said, Clock()), 0.3)

    asyncio.run(some_time())
    recorder.close()
    assert [one["status"] for one in recorded_in(tmp_path)] == [{"n": 1}, {"n": 2}]
    assert "it changes just now" in caplog.text


# A deployment's folder


def record(found: StandIns, begin: int, end: int, since: int = 0) -> int:
    """What stand-ins said in these seconds before now, as their processes would have written it down."""
    folder, now = found.deployed.folder, time.time()
    for name, said in found.says.items():
        recorder = Recorder(folder, name)
        for second in range(begin, end, -2):
            recorder.write(at=now - second, status=said)
        for n, one in enumerate(found.delivered[since:] if name == "client" else ()):
            at = now - begin + n * (begin - end) / len(found.delivered[since:])
            recorder.write(at=at, delivery={**{k: v for k, v in one.items() if k != "rows"}, "at": at})
        recorder.close()
    return len(found.delivered)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the demonstration, which lost an input and has ended."""
    with standing_in(tmp_path_factory.mktemp("replay") / "live") as found:
        all_is_well(found)
        number = record(found, 60, 14)
        lima_is_lost(found)
        number = record(found, 12, 3, number)
        lima_is_back(found)
        record(found, 2, 0, number)
        for name in found.deployed.here:
            found.note(name, "ending", time.time() + 0.5)
        return found.deployed.folder


def test_a_run_is_shown_as_it_was(folder: Path) -> None:
    recording = open_recording(folder)
    replaying = Replaying(recording)
    facts = replaying.facts()
    assert facts["begin"] == recording.begin and facts["end"] == recording.end
    assert [what for _, what in facts["marks"]] == ["lima: cut off from mergea", "lima: cut off from mergeb"]

    def kinds(frame: dict[str, Any]) -> set[str]:
        return {str(one["k"]) for one in frame["squares"].get("alerts", ())}

    well = replaying.frame(recording.end - 20)
    assert well["streams"]["alerts"]["condition"] == "stable" and kinds(well) == {"stable"}
    corrected = replaying.frame(recording.end - 0.01)
    assert corrected["streams"]["alerts"]["condition"] == "stable"
    assert kinds(corrected) == {"stable", "confirmed", "corrected"}
    # Back again.
    lost = replaying.frame(recording.end - 5)
    assert lost["streams"]["alerts"]["condition"] == "tentative" and kinds(lost) == {"stable", "tentative"}
    assert lost["groups"]["merge"]["arrives"]["lima"] == "failed" and lost["running"]
    (watcha,) = [row for row in lost["timeline"] if row["process"] == "watcha"]
    assert watcha["marks"][-1][1] == "reads connections from mergea (Curr) and mergeb (Bck)"
    over = replaying.frame(recording.end)
    assert not over["running"] and set(over["down"]) == {*recording.processes}
    assert replaying.frame(-1e9)["now"] == recording.begin and replaying.frame(1e99)["now"] == recording.end


def test_who_did_not_speak_for_long_was_not_there(folder: Path) -> None:
    recording = open_recording(folder)
    replaying = Replaying(recording)
    last = max(one["at"] for one in recording.moments if "status" in one)
    assert recording.stale_after is not None
    assert replaying._status(last)["watcha"] is not None
    assert replaying._status(last + recording.stale_after + 1)["watcha"] is None


def test_who_was_ended_from_outside_is_down_in_the_timeline_too(tmp_path: Path) -> None:
    with standing_in(tmp_path / "live") as found:
        all_is_well(found)
        record(found, 60, 0)
        said, at = found.says["watcha"], time.time() - 100
        recorder = Recorder(found.deployed.folder, "watcha")
        for second in (0, 2, 4):
            recorder.write(at=at + second, status=said)
        recorder.close()
        replaying = Replaying(open_recording(found.deployed.folder))

        def watcha(seconds: float) -> list[str]:
            (row,) = [row for row in replaying.frame(at + seconds)["timeline"] if row["process"] == "watcha"] or [{}]
            return [str(condition) for condition, _, _ in row.get("bars", ())]

        assert "failed" not in watcha(13)
        assert watcha(15)[-1] == "failed" and "watcha" in replaying.frame(at + 15)["down"]
        # It is back a minute ago.
        assert watcha(50)[-1] == "stable" and "watcha" not in replaying.frame(at + 50)["down"]


def test_who_is_starting_is_not_taken_for_silent(tmp_path: Path) -> None:
    with standing_in(tmp_path / "live") as found:
        all_is_well(found)
        now = time.time()
        record(found, 60, 30)
        found.note("watcha", "killed", now - 31)
        found.note("watcha", "started", now - 25)
        # It speaks of itself when its replicas live.
        record(found, 18, 0)
        replaying = Replaying(open_recording(found.deployed.folder))
        frames = [replaying.frame(now - ago) for ago in (30.5, 24, 19, 10)]
        assert ["watcha" in frame["down"] for frame in frames] == [True, False, False, False]
        bars = next(row["bars"] for row in frames[-1]["timeline"] if row["process"] == "watcha")
        assert [str(condition) for condition, _, _ in bars].count("failed") == 1


def test_what_a_process_says_while_it_ends_does_not_bring_it_back(tmp_path: Path) -> None:
    with standing_in(tmp_path / "live") as found:
        all_is_well(found)
        now = time.time()
        record(found, 60, 0)
        # Its jobs have some seconds to end.
        found.note("watcha", "ending", now - 31)
        found.note("watcha", "started", now - 14.5)
        recording = open_recording(found.deployed.folder)
        said = [one for one in recording.moments if one.get("process") != "watcha" or not -29 < one["at"] - now < -15]
        replaying = Replaying(replace(recording, moments=said))
        down = ["watcha" in replaying.frame(now - ago)["down"] for ago in (32, 30.5, 25, 16, 10)]
        assert down == [False, True, True, True, False]


def test_failures_are_marked_however_much_happened_afterwards(tmp_path: Path) -> None:
    with standing_in(tmp_path / "live") as found:
        all_is_well(found)
        now = time.time()
        record(found, 60, 0)
        found.note("watcha", "job failed", now - 50, stream="alerts")
        for n in range(300):
            found.note("watcha", "asks", now - 40 + n / 10, core="watch@watcha", peer="watch@watchb")
        marks = Replaying(open_recording(found.deployed.folder)).facts()["marks"]
        assert [what for _, what in marks] == ["watcha: a job of alerts failed"]


def test_a_box_is_told_of_as_it_was_then(tmp_path: Path) -> None:
    with standing_in(tmp_path / "live") as found:
        all_is_well(found)
        record(found, 60, 20)
        found.says["watcha"] = {**(found.says["watcha"] or {}), "left_out": {"hosts: too wide": 7}}
        record(found, 18, 0)
        with replayed(found.deployed.folder, port=0) as page:
            visitor = Visitor(page.address)
            facts = visitor.json("/api/mode")["replay"]

            def counts(at: float) -> list[str]:
                return [name for name, _ in visitor.json(f"/api/box?name=hosts&at={at}")["counts"]]

            assert "left out on watcha" in counts(facts["end"])
            assert "left out on watcha" not in counts(facts["begin"] + 10)
            assert visitor.get("/api/box?name=hosts&at=now").status == 404


def test_a_source_is_not_silent_because_it_says_little(tmp_path: Path) -> None:
    with standing_in(tmp_path / "live") as found:
        deployed, first = found.deployed, found.deployed.first
        begin = float(first)
        recorder = Recorder(deployed.folder, "oslo")
        for second in range(0, 20, 2):
            # It closes its buckets as the clock goes, until it stops.
            recorder.write(at=begin + second, status=source(min(second, 8) - 1))
        recorder.close()
        replaying = Replaying(open_recording(deployed.folder))
        conditions = [replaying.frame(begin + at)["streams"]["oslo"]["condition"] for at in (5.9, 9.9, 18.0)]
        assert conditions == ["stable", "stable", "silent"]


def test_a_folder_in_which_nothing_ran(tmp_path: Path) -> None:
    with standing_in(tmp_path / "live") as found, pytest.raises(NoRecording, match="has nothing recorded"):
        open_recording(found.deployed.folder)


def test_it_is_served_to_who_knows_the_key_and_nothing_is_asked(folder: Path) -> None:
    with replayed(folder, port=0) as page:
        visitor = Visitor(page.address)
        facts = visitor.json("/api/mode")["replay"]
        frame = visitor.json(f"/api/frame?at={facts['begin']}")
        assert frame["now"] == facts["begin"] and "controls" not in frame
        assert "GROUP BY" in visitor.json("/api/box?name=hosts")["sql"]
        stream = visitor.json("/api/stream?name=alerts")
        assert stream["fields"].startswith("src string(15)") and stream["rows"] == []
        assert "no time" in visitor.json("/api/frame?at=now")["error"]
        assert visitor.get("/api/frame?at=nan").status == 404 == visitor.get("/api/stream?name=nobody").status
        assert Visitor(page.address, key=False).get("/api/mode").status == 403
        assert visitor.command("act", {"do": "pause", "source": "lima"}, "x" * 32).status == 405


# A trace


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("trace")
    (at / "schedule").write_text(SCHEDULE)
    asked = ["simulate", "dpc", "--seeds", "3", "--schedule", str(at / "schedule"), "--trace", str(at / "trace.jsonl")]
    assert main(asked) == 0
    return at / "trace.jsonl"


def test_a_trace_of_the_simulator_is_shown_in_virtual_time(trace: Path) -> None:
    recording = open_recording(trace)
    replaying = Replaying(recording)
    assert recording.begin == 0.0 and recording.end > 40
    marks = [what for _, what in replaying.facts()["marks"]]
    assert {"s1: paused", "q0a: killed", "q0b: cut off from all others"} <= {*marks}
    assert replaying.frame(7.0)["streams"]["s1"]["condition"] == "stable"
    assert replaying.frame(10.0)["streams"]["s1"]["condition"] == "silent"
    during = replaying.frame(22.0)
    assert during["down"] == ["q0a"]
    (q0,) = [group for name, group in during["groups"].items() if name == "q0"]
    assert {one["node"]: one["condition"] for one in q0["replicas"]}["q0a"] == "failed"
    end = replaying.frame(recording.end)
    assert {one["condition"] for one in end["outputs"].values()} == {"stable"}
    assert all(one["k"] != "tentative" for squares in end["squares"].values() for one in squares)
    tentative = [one for one in recording.moments if one.get("delivery", {}).get("kind") == "tentative"]
    assert tentative and any(one["delivery"]["coverage"] for one in tentative)
    assert end["outputs"][next(iter(end["outputs"]))]["delay_new"] > 0


def test_who_is_dead_stays_so_whatever_happens_to_links_meanwhile(tmp_path: Path) -> None:
    (tmp_path / "schedule").write_text("at 10s crash q0a; at 13s cut q0b; at 16s heal q0b; at 20s restart q0a")
    file = tmp_path / "trace.jsonl"
    asked = ["simulate", "dpc", "--seeds", "3", "--schedule", str(tmp_path / "schedule"), "--trace", str(file)]
    assert main(asked) == 0
    replaying = Replaying(open_recording(file))
    assert [replaying.frame(at)["down"] for at in (9.0, 12.0, 15.0, 18.0, 21.0)] == [[], ["q0a"], ["q0a"], ["q0a"], []]


def test_a_link_is_healed_whichever_of_its_ends_is_named_first(tmp_path: Path) -> None:
    (tmp_path / "schedule").write_text("at 10s cut q0a-s0; at 16s heal s0-q0a")
    file = tmp_path / "trace.jsonl"
    asked = ["simulate", "dpc", "--seeds", "3", "--schedule", str(tmp_path / "schedule"), "--trace", str(file)]
    assert main(asked) == 0
    replaying = Replaying(open_recording(file))
    words = [replaying.frame(at)["groups"]["q0"]["replicas"][0]["words"] for at in (9.0, 12.0, 18.0)]
    assert words == ["", "does not get s0", ""]


def test_the_diagram_of_a_user_is_drawn_with_its_boxes(tmp_path: Path) -> None:
    file = tmp_path / "netmon.jsonl"
    example = Path(__file__).parents[2] / "examples" / "netmon.py"
    asked = ["simulate", "dpc", "--diagram", str(example), "--seeds", "1", "--bound", "6s", "--trace", str(file)]
    assert main(asked) == 0
    stage = open_recording(file).stage
    assert {box["type"] for box in stage.picture["boxes"]} >= {"filter", "aggregate"}


@pytest.mark.parametrize(
    "text", ["", "[]\n", '{"auroral trace": 99}\n', '{"auroral trace": 1}\n', "# seed 17; at 8s\n", "\x00\xff"]
)
def test_what_is_no_trace(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "trace").write_text(text)
    assert main(["ui", "--replay", str(tmp_path / "trace")]) == 1
    said = capsys.readouterr().err
    assert "is no recording" in said and "--trace FILE.jsonl writes one" in said


def test_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ui", "--replay", str(tmp_path / "nothing")]) == 1
    assert "is no recording" in capsys.readouterr().err
    assert main(["ui", "--replay", str(tmp_path)]) == 1
    assert "has no deployment" in capsys.readouterr().err
    assert main(["ui", "--replay", str(tmp_path), "--controls"]) == 2
    assert "nothing can be done to what was" in capsys.readouterr().err


def test_the_command_serves_until_it_is_ended(trace: Path) -> None:
    program = [sys.executable, "-m", "auroral", "ui", "--replay", str(trace), "--json"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        said = json.loads(running.stdout.readline())
        assert Visitor(said["address"]).get("/").status == 200
        running.terminate()
        assert running.wait(20) == 0
