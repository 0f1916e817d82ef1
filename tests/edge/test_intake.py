"""How rows come in: what is written is understood, written back the same, or refused with what is allowed."""

from pathlib import Path

import pytest

from auroral.edge.intake import Format, Intake, Way, parse_intake
from auroral.edge.pacing import InputSpecError


@pytest.mark.parametrize(
    ("text", "intake"),
    [
        ("tcp:127.0.0.1:9000", Intake(Way.TCP, "127.0.0.1:9000", Format.JSON)),
        ("tcp+json::9000", Intake(Way.TCP, "127.0.0.1:9000", Format.JSON)),
        ("tcp+csv:host:9000", Intake(Way.TCP, "host:9000", Format.CSV)),
        ("tcp:", Intake(Way.TCP, "", Format.JSON)),
        ("http:0.0.0.0:80", Intake(Way.HTTP, "0.0.0.0:80")),
        ("tail:/var/log/app.jsonl", Intake(Way.TAIL, "/var/log/app.jsonl", Format.JSON)),
        ("tail:/var/log/app.CSV", Intake(Way.TAIL, "/var/log/app.CSV", Format.CSV)),
        ("tail+csv:/var/log/app.log", Intake(Way.TAIL, "/var/log/app.log", Format.CSV)),
        ("/new/", Intake(Way.FOLDER, "/new/")),
        ("/rows.csv", Intake(Way.RECORDED, "/rows.csv")),
        ("/rows.csv@0.1x", Intake(Way.RECORDED, "/rows.csv", speed=0.1)),
        ("/new/@2", Intake(Way.RECORDED, "/new", speed=2.0)),
    ],
)
def test_what_is_written_and_written_back(text: str, intake: Intake) -> None:
    assert parse_intake("s", text) == intake
    assert parse_intake("s", str(intake)) == intake
    assert intake.listens == (intake.way in (Way.TCP, Way.HTTP)) and intake.live == (intake.way is not Way.RECORDED)


def test_paths_are_taken_from_here_and_a_folder_is_one_however_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "tcp:x.csv").touch()
    monkeypatch.chdir(tmp_path)
    assert parse_intake("s", "new") == parse_intake("s", "new/") == Intake(Way.FOLDER, f"{tmp_path}/new/")
    assert parse_intake("s", "tail:rows.csv").where == f"{tmp_path}/rows.csv"
    assert parse_intake("s", "tcp:x.csv") == Intake(Way.RECORDED, f"{tmp_path}/tcp:x.csv")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("udp:127.0.0.1:9000", r"'udp:127.0.0.1:9000' is neither(.|\n)*allowed: tcp:HOST:PORT or tcp\+csv:HOST:PORT"),
        ("htp:127.0.0.1:9000", r"did you mean http:127.0.0.1:9000\?"),
        ("tcp:9000", r"has no address with a port(.|\n)*allowed: HOST:PORT"),
        ("tcp:host:70000", "has no address with a port"),
        ("tcp+xml:host:7000", r"tcp has no format 'xml'\n    allowed: tcp\+json:, tcp\+csv:"),
        ("http+csv:host:7000", r"http has no format 'csv'(.|\n)*Content-Type"),
        ("tail:app.log", r"JSON or CSV(.|\n)*next: tail\+json:app.log or tail\+csv:app.log"),
        ("tail:", "tail follows one file, and '' is none"),
        ("-@2x", r"'s': standard input has no speed of its own(.|\n)*allowed: tcp:HOST:PORT"),
        ("stdin+csv:host:7000", r"stdin has no format 'csv'"),
        ("", "does not say what to read"),
        ("rows.csv@0", "a speed of 0 never gets anywhere"),
    ],
)
def test_what_cannot_be_is_refused_with_what_is_allowed(text: str, complaint: str) -> None:
    with pytest.raises(InputSpecError, match=complaint):
        parse_intake("s", text)
