"""What happened to a process, in the words of the page."""

from __future__ import annotations

from auroral.ui.timeline import Timeline


def test_who_asked_whom_to_be_let_correct_is_told() -> None:
    timeline = Timeline({"na": "node", "nb": "node"})
    timeline.add(
        [
            {"at": 1.0, "process": "na", "event": "asks", "core": "q@na", "peer": "q@nb"},
            {"at": 1.1, "process": "nb", "event": "refuses", "core": "q@nb", "peer": "q@na"},
            {"at": 3.0, "process": "nb", "event": "grants", "core": "q@nb", "peer": "q@na"},
            {"at": 9.0, "process": "na", "event": "gives back", "core": "q@na", "peer": "q@nb"},
        ]
    )
    na, nb = timeline.to_json()
    assert [what for _, what, _ in na["marks"]] == ["asks q@nb for a turn to correct", "gives its turn back to q@nb"]
    assert [what for _, what, _ in nb["marks"]] == [
        "does not let q@na correct yet",
        "lets q@na correct, and answers meanwhile",
    ]
    assert not any(alarm for row in (na, nb) for _, _, alarm in row["marks"])
