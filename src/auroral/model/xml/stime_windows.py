"""Windows that Borealis' words cannot say, in parameters of ours: on stime, on event time, landmarks and runs.

<parameter name="auroral:window" value="stime"/>
<parameter name="auroral:size" value="10s"/>
<parameter name="auroral:advance" value="5s"/>
"""

from __future__ import annotations

from auroral.model.windows import Alignment, EventTimeWindow, Landmark, LatePolicy, Runs, StimeWindow
from auroral.model.xml.parameters import Parameters

KIND = "auroral:window"
STIME, EVENT_TIME, LANDMARK, RUNS = "stime", "event-time", "landmark", "runs"
KINDS = (STIME, EVENT_TIME, LANDMARK, RUNS)
SIZES = ("auroral:size", "auroral:advance")
WINDOW_PARAMETERS = (
    *(KIND, *SIZES, "auroral:alignment"),
    *("auroral:on", "auroral:lateness", "auroral:late", "auroral:ahead", "auroral:correct-for"),
    *("auroral:since", "auroral:start"),
)
SINCE = 2**62

OurWindow = StimeWindow | EventTimeWindow | Landmark | Runs


def our_window(parameters: Parameters) -> OurWindow:
    match parameters.choice(KIND, KINDS):
        case "event-time":
            return _event_time(parameters)
        case "landmark":
            return Landmark(parameters.whole("auroral:since", -SINCE, SINCE))
        case "runs":
            return Runs()
        case _:
            size, advance = stime_sizes(parameters)
            return StimeWindow(size, advance, parameters.one_of("auroral:alignment", Alignment, Alignment.INDEPENDENT))


def stime_sizes(parameters: Parameters) -> tuple[int, int]:
    """Lengths of time; without an advance, windows follow one another."""
    size = _needed(parameters, SIZES[0])
    advance = parameters.length(SIZES[1])
    return size, size if advance is None else advance


def _event_time(parameters: Parameters) -> EventTimeWindow:
    field = parameters.text("auroral:on")
    if field is None:
        _missing(parameters, "auroral:on", "the timestamp field that the windows are on")
    size, advance = stime_sizes(parameters)
    lateness = _needed(parameters, "auroral:lateness")
    ahead, correct_for = (parameters.length(name) for name in ("auroral:ahead", "auroral:correct-for"))
    late = parameters.one_of("auroral:late", LatePolicy, LatePolicy.LEDGER)
    return EventTimeWindow(
        field or "", size, advance, lateness, late, lateness if ahead is None else ahead, correct_for or 0
    )


def _needed(parameters: Parameters, name: str) -> int:
    length = parameters.length(name)
    if length is None and name not in parameters.given:
        _missing(parameters, name, "a length of time, as 10s")
    return length or 0


def _missing(parameters: Parameters, name: str, allowed: str) -> None:
    parameters.fail(
        f"{name!r} is needed with these windows", allowed, f'add <parameter name="{name}" value="..."/>', at=KIND
    )
