"""A run as lines that people can read: when, who, what. Heartbeats are left out; what they change is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from auroral.dpc.coverage import Coverage, Level
from auroral.dpc.events import (
    Cancel,
    Changed,
    Deliver,
    Effect,
    Evaluate,
    Interrupt,
    KeepLayout,
    Miss,
    Report,
    Send,
    Truncate,
)
from auroral.dpc.layout import Layout
from auroral.dpc.states import State
from auroral.dpc.values import (
    Ask,
    Confirm,
    Content,
    Gap,
    Grant,
    Message,
    Pong,
    Refuse,
    Release,
    Rewire,
    Stable,
    Subscribe,
    Tentative,
    Unsubscribe,
    Want,
)
from auroral.sim.scenario import Scenario


@dataclass(slots=True)
class Trace:
    """A watcher that says what it sees."""

    scenario: Scenario
    say: Callable[[str], None]
    faults_said: int = 0
    states: dict[tuple[str, str], State] = field(default_factory=dict)

    def __call__(self, now: float, core: str, effect: Effect) -> None:
        while self.faults_said < len(self.scenario.faults) and self.scenario.faults[self.faults_said].at <= now:
            fault = self.scenario.faults[self.faults_said]
            self.faults_said += 1
            self.say(f"{fault.at:8.3f} s  FAULT    {str(fault).split('s ', 1)[1]}")
        for words in self._words(core, effect):
            self.say(f"{now:8.3f} s  {core:7}  {words}")

    def _words(self, core: str, effect: Effect) -> Iterator[str]:
        match effect:
            case Send(to, Pong(offers)):
                for stream, offer in offers.items():
                    if self.states.get((core, stream)) is not offer.state:
                        self.states[core, stream] = offer.state
                        yield f"{stream} is {offer.state}, stable up to {offer.frontier} (told {to})"
            case Send(to, message):
                words = _message(message)
                if words:
                    yield f"to {to}: {words}"
            case Evaluate(job, outputs, begin, end, _, tentative):
                kind = "tentative" if tentative else "stable"
                yield f"job {job}: {kind} {_buckets(begin, end)} of {', '.join(outputs)}"
            case Cancel(job):
                yield f"job {job} is cancelled"
            case Deliver(stream, bucket, content, stable):
                yield f"gets bucket {bucket} of {stream}, {'stable' if stable else 'tentative'}, {_rows(content)}"
            case Miss(stream, begin, end):
                yield f"is told that {_buckets(begin, end)} of {stream} will never come"
            case Interrupt(stream):
                yield f"another failure ends the corrections of {stream}"
            case KeepLayout(Layout(_, number, moving, after, phase, _, changing)):
                what = (
                    "nothing moves" if moving is None else f"{moving} moves to {', '.join(after)}: {phase.name.lower()}"
                )
                yield f"layout {number}: {what if changing is None else f'{changing} is changed'}"
            case Changed(query, version, at):
                yield f"{query} is computed by version {version} from bucket {at} on"
            case Truncate(stream, below):
                yield f"forgets {stream} before {below}"
            case Report(kind, stream, count, detail):
                times, why = f", {count} times" if count > 1 else "", f": {detail}" if detail else ""
                yield f"note: {kind}, {stream}{times}{why}"
            case _:
                pass


def _message(message: Message) -> str:
    match message:
        case Subscribe(stream, number, lane, position, tentative):
            held = ", and holds tentative ones" if tentative else ""
            begin = "where it stopped" if position is None else f"{position}"
            return f"subscribes to {stream} from {begin} on ({lane}, number {number}){held}"
        case Unsubscribe(stream, number):
            return f"unsubscribes from {stream} (number {number})"
        case Stable(stream, _, begin, contents, _):
            return f"{stream}, stable {_buckets(begin, begin + len(contents))}"
        case Tentative(stream, _, bucket, content, closed, held, coverage):
            part = "" if closed else " so far"
            return f"{stream}, tentative bucket {bucket}{part}, {_rows(content)}, held {held:.2f} s{_missing(coverage)}"
        case Confirm(stream, _, begin, hashes):
            return f"{stream}, {_buckets(begin, begin + len(hashes))} as sent"
        case Gap(stream, _, begin, end):
            return f"{stream}, {_buckets(begin, end)} lost for good"
        case Rewire(number):
            return f"layout {number}: who there is to talk to"
        case Want(stream, _, position):
            return f"wants {stream} again from {position} on"
        case Ask(number):
            return f"asks for a turn to correct (number {number})"
        case Grant(number):
            return f"grants turn {number}"
        case Refuse(number):
            return f"refuses turn {number}"
        case Release():
            return "gives the turn back"
        case _:
            return ""


def _buckets(begin: int, end: int) -> str:
    return f"bucket {begin}" if end - begin == 1 else f"buckets {begin} to {end - 1}" if begin < end else "nothing yet"


def _rows(content: Content) -> str:
    return f"{content.count} row{'s' * (content.count != 1)}"


def _missing(coverage: Coverage) -> str:
    lacking = [
        f"{source} {level.name.lower()}"
        for source in coverage.spans
        if (level := coverage.level(source)) is not Level.COMPLETE
    ]
    return f", {', '.join(lacking)}" if lacking else ""
