"""What happens in a market, line by line, for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from auroral.sim.faults import text
from auroral.sim.market.scenario import MarketScenario
from auroral.workload.events import Effect, Event, Send, Started, Write
from auroral.workload.messages import Accept, Counter, Extend, Message, Offer, Over, Prolong, Transfer
from auroral.workload.records import Borrowed, GaveBack, Lent, Prolonged, Record, Renewed, Returned, Settled


class MarketTrace:
    def __init__(self, scenario: MarketScenario, say: Callable[[str], None]) -> None:
        self.scenario, self.say, self.said = scenario, say, 0
        say(f"# seed {scenario.seed}; {text(scenario.faults) or 'no failures'}")
        for one in scenario.contracts:
            say(f"# {one.buyer} pays {one.seller} {_n(one.low)} to {_n(one.high)} for {_n(one.duration)} s")

    def __call__(self, now: float, name: str, event: Event, effects: list[Effect]) -> None:
        while self.said < len(self.scenario.faults) and self.scenario.faults[self.said].at <= now:
            fault = self.scenario.faults[self.said]
            self.said += 1
            self.say(f"{fault.at:8.3f} s  FAULT  {str(fault).split('s ', 1)[1]}")
        for words in self._words(event, effects):
            self.say(f"{now:8.3f} s  {name:5}  {words}")

    def _words(self, event: Event, effects: list[Effect]) -> Iterator[str]:
        if isinstance(event, Started):
            yield f"begins with {len(event.records)} records"
        for effect in effects:
            match effect:
                case Write(record):
                    if words := _record(record):
                        yield words
                case Send(to, message):
                    yield f"to {to}: {_message(message)}"


def _record(record: Record) -> str:
    match record:
        case Lent(partner, number, tasks, _, price, payment, seconds):
            return f"number {number}: lends {partner} {len(tasks)} tasks at {_n(price)} for {_n(seconds)} s, pays {_n(payment)}"
        case Borrowed(partner, number, tasks, _, payment):
            return f"number {number} of {partner}: has {len(tasks)} tasks, gets {_n(payment)}"
        case Prolonged(partner, number, payment) | Renewed(partner, number, payment):
            return f"number {number} with {partner}: one more term for {_n(payment)}"
        case Returned(partner, number):
            return f"number {number}: has back what {partner} had"
        case GaveBack(partner, number, kept):
            return f"number {number} of {partner}: is over, keeps {_n(kept)}"
        case Settled(partner, number, kept):
            return f"number {number}: settled, {partner} keeps {_n(kept)}"
        case _:
            return ""


def _message(message: Message) -> str:
    kind = type(message).__name__.lower()
    match message:
        case Offer(number, items, price):
            return f"offers {len(items)} tasks at {_n(price)} (number {number})"
        case Accept(number, names, price) | Counter(number, names, price):
            return f"{kind}s {len(names)} tasks at {_n(price)} (number {number})"
        case Transfer(number, names, price, payment):
            return f"transfers {len(names)} tasks at {_n(price)}, pays {_n(payment)} (number {number})"
        case Prolong(number, term) | Extend(number, term):
            return f"{kind}s to term {term} (number {number})"
        case Over(number, kept):
            return f"over, keeps {_n(kept)} (number {number})"
        case _:
            return f"{kind} (number {message.number})"


def _n(number: int | Fraction) -> str:
    return f"{float(number):g}"
