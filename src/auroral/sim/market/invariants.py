"""What must hold in every schedule, judged after each event and at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from auroral.sim.market.stage import Market
from auroral.workload.contracts import Contract
from auroral.workload.events import Effect, Event, Received, Send, Signed, Started, Submitted, Withdrawn, Write
from auroral.workload.messages import Accept, Counter, Message, Offer, Transfer
from auroral.workload.records import Borrowed, Lent
from auroral.workload.values import NOTHING, total

SLACK = 1e-6
"""Seconds."""
AWAY = 10.0
"""Seconds beyond the longest term within which a task that nobody runs has an owner again."""


class Invariant:
    """Judges a run as it goes."""

    def __init__(self, market: Market) -> None:
        self.market = market

    def seen(self, name: str, event: Event, effects: Sequence[Effect]) -> Iterator[str]:
        yield from ()

    def ended(self) -> Iterator[str]:
        yield from ()


class OneOwner(Invariant):
    """Each task runs at one participant at most, however it went on; nobody runs it only while it is on its way; in the end it is with
    its client's participant."""

    def __init__(self, market: Market) -> None:
        super().__init__(market)
        scenario = market.scenario
        self.roots = {
            (name, task.name): f"{name}:{task.name}" for name in scenario.hosts for task in scenario.tasks[name]
        }
        """Which task it is that a participant knows by a name."""
        self.at: dict[str, set[str]] = {name: set() for name in scenario.hosts}
        self.free_since: dict[str, float] = {}
        self.longest = AWAY + max((float(one.duration) for one in scenario.contracts), default=0.0)

    def seen(self, name: str, event: Event, effects: Sequence[Effect]) -> Iterator[str]:
        if isinstance(event, Submitted):
            self.roots[name, event.task.name] = f"{name}:{event.task.name}"
        if isinstance(event, Withdrawn):
            self.free_since.pop(f"{name}:{event.name}", None)
        for effect in effects:
            if isinstance(effect, Write) and isinstance(effect.record, Lent):
                lent = effect.record
                for task, item in zip(lent.tasks, lent.items, strict=True):
                    self.roots[lent.partner, f"{name}/{lent.number}/{item}"] = self.roots[name, task.name]
        market = self.market
        # One that is down runs nothing.
        self.at = {one: self.at[one] if one in market.cores else set() for one in self.at}
        now_here = {self.roots[name, task] for task in market.cores[name].books.held}
        for root in now_here - self.at[name]:
            self.free_since.pop(root, None)
            if others := [other for other, held in self.at.items() if other != name and root in held]:
                yield f"{root} runs at {name} and at {', '.join(others)}"
        for root in self.at[name] - now_here:
            self.free_since[root] = market.now
        self.at[name] = now_here
        for root, since in self.free_since.items():
            owner, wanted = root.split(":")
            alive = owner in market.cores and wanted in market.cores[owner].books.own
            if alive and market.now > since + self.longest and len(market.cores) == len(self.at):
                yield f"nobody has run {root} for {market.now - since:.1f} s"
                self.free_since[root] = float("inf")

    def ended(self) -> Iterator[str]:
        for name, core in self.market.cores.items():
            own, held = set(core.books.own), set(core.books.held)
            if self.market.scenario.static:
                continue
            if own != held:
                yield f"in the end {name} runs {sorted(held - own)} of others and lacks {sorted(own - held)}"
        if self.market.scenario.static:
            for root in set(self.roots.values()):
                holders = [name for name, held in self.at.items() if root in held]
                if len(holders) != 1:
                    yield f"in the end {root} runs at {', '.join(holders) or 'nobody'}"


class MoneyIsConserved(Invariant):
    """A seller never has more of the money for an offer than the buyer has paid, and in the end exactly that; all balances come to
    nothing together."""

    def __init__(self, market: Market) -> None:
        super().__init__(market)
        self.seen_of: dict[str, int] = {}
        """How much of each ledger."""
        self.sums: dict[tuple[str, str, int], dict[str, Fraction]] = {}
        """By buyer, seller and number: what each of the two has booked."""

    def seen(self, name: str, event: Event, effects: Sequence[Effect]) -> Iterator[str]:
        ledger = self.market.cores[name].books.ledger
        if len(ledger) < self.seen_of.get(name, 0):
            yield f"{name} lost what was booked"
        for entry in ledger[self.seen_of.get(name, 0) :]:
            key = (name, entry.partner, entry.number) if entry.buyer == name else (entry.buyer, name, entry.number)
            booked = self.sums.setdefault(key, {})
            booked[name] = booked.get(name, Fraction(0)) + entry.amount
            if sum(booked.values()) > 0:
                yield from self._said(key)
        self.seen_of[name] = len(ledger)

    def _said(self, key: tuple[str, str, int]) -> Iterator[str]:
        buyer, seller, number = key
        booked = self.sums[key]
        yield f"{buyer} paid {-booked.get(buyer, 0)} for its number {number}, and {seller} has {booked.get(seller, 0)}"

    def ended(self) -> Iterator[str]:
        if self.market.scenario.static:
            return
        if whole := sum((core.books.balance for core in self.market.cores.values()), Fraction(0)):
            yield f"in the end all have {whole} together"
        for key, booked in self.sums.items():
            if sum(booked.values()):
                yield from self._said(key)


class WithinContracts(Invariant):
    """Tasks move along contracts only, those that may, at prices in the range (L13)."""

    def __init__(self, market: Market) -> None:
        super().__init__(market)
        self.terms: dict[tuple[str, str], list[Contract]] = {}
        for one in market.scenario.contracts:
            self.terms.setdefault((one.buyer, one.seller), []).append(one)

    def seen(self, name: str, event: Event, effects: Sequence[Effect]) -> Iterator[str]:
        if isinstance(event, Signed):
            one = event.contract
            self.terms.setdefault((one.buyer, one.seller), []).append(one)
        for effect in effects:
            match effect:
                case Write(Lent(partner, number, tasks, _, price)):
                    pair = (name, partner)
                case Write(Borrowed(partner, number, tasks, price)):
                    pair = (partner, name)
                case _:
                    continue
            terms = self.terms.get(pair, [])
            if not any(one.in_range(price) for one in terms):
                yield f"{pair[0]} pays {pair[1]} {price} for its number {number}, which no contract says"
            if pair[0] == name and not any(all(map(one.clauses.allow, tasks)) for one in terms):
                yield f"{name} lends {partner} what no contract lets it"
            borrowed = [task for task in tasks if pair[0] == name and task.origin != name]
            if stays := [one for one in borrowed if not any(o.clauses.onward for o in self.terms[one.origin, name])]:
                yield f"{name} lends {partner} {stays[0].name}, which may not go on"


class BothGain(Invariant):
    """Under static load, what the buyer saves by a movement is more than it pays, and the seller's costs are less; so that the cost of all
    never rises (L6, L21)."""

    def __init__(self, market: Market) -> None:
        super().__init__(market)
        self.cost: Fraction | None = None
        self.tasks = sum(map(len, market.scenario.tasks.values()))

    def seen(self, name: str, event: Event, effects: Sequence[Effect]) -> Iterator[str]:
        market = self.market
        if not market.scenario.static:
            return
        core = market.cores[name]
        for effect in effects:
            if isinstance(effect, Write) and isinstance(effect.record, Lent):
                lent = effect.record
                saved = core.settings.worth.costs.marginal(total(lent.tasks), core.books.load) * lent.seconds
                spent = lent.payment + 2 * sum(task.migration for task in lent.tasks)
                if saved <= spent:
                    yield f"{name} spends {float(spent):g} to save {float(saved):g}"
        if (
            len(market.cores) == len(market.scenario.hosts)
            and sum(len(one.books.held) for one in market.cores.values()) == self.tasks
        ):
            whole = sum((one.settings.worth.costs.cost(one.books.load) for one in market.cores.values()), Fraction(0))
            if self.cost is not None and whole > self.cost:
                yield f"the cost of all rises from {float(self.cost):g} to {float(whole):g}"
            self.cost = whole


class NoOverbooking(Invariant):
    """What a seller promises costs it less than it is paid, on top of all that it runs, has promised before, and may get back (L19, L42)."""

    def seen(self, name: str, event: Event, effects: Sequence[Effect]) -> Iterator[str]:
        core = self.market.cores[name]
        promised, paid = NOTHING, Fraction(0)
        for effect in effects:
            if isinstance(effect, Send) and isinstance(effect.message, Accept | Counter):
                one = core.selling.reserved.get((effect.to, effect.message.number))
                if one is not None:
                    load = total(one.tasks.values())
                    promised, paid = promised + load, paid + one.terms.payment(load, one.price, 1)
        if paid and core.settings.worth.costs.marginal(promised, core.selling.load - promised) >= paid:
            yield f"{name} promises for {float(paid):g} what costs it as much or more"


class NothingIsToldOfOthers(Invariant):
    """Messages have tasks with what they take, prices inside the range, and answers: nothing of costs, loads or other partners (L14)."""

    def seen(self, name: str, event: Event, effects: Sequence[Effect]) -> Iterator[str]:
        for effect in effects:
            if not isinstance(effect, Send):
                continue
            said = repr(effect.message)
            for other in self.market.scenario.hosts:
                if other not in (name, effect.to) and other in said:
                    yield f"{name} tells {effect.to} of {other}: {said}"
            if len(said) > 400 + 200 * len(_items(effect.message)):
                yield f"{name} tells {effect.to} more than an offer or an answer: {said}"


def _items(message: Message) -> Sequence[object]:
    match message:
        case Offer(items=items):
            return items
        case Accept(names=names) | Counter(names=names) | Transfer(names=names):
            return names
        case _:
            return ()


class EveryWaitEnds(Invariant):
    """Nobody waits for an answer, keeps room, or leaves a task with a partner longer than was agreed; in the end nothing is open (L18, L41)."""

    def seen(self, name: str, event: Event, effects: Sequence[Effect]) -> Iterator[str]:
        core, now = self.market.cores[name], self.market.local(name) - SLACK
        asked = core.buying.asked
        if asked is not None and now > asked.at + core.settings.answer_within:
            yield f"{name} has waited for {asked.terms.seller} since {asked.at:.1f}"
        if overdue := [key for key, one in core.selling.reserved.items() if now > one.until]:
            yield f"{name} keeps room for {overdue}"
        if overdue := [key for key, loan in core.books.lent.items() if not loan.returned and now > loan.until]:
            yield f"{name} leaves with {overdue} what should be back"

    def ended(self) -> Iterator[str]:
        if self.market.scenario.static:
            return
        for name, core in self.market.cores.items():
            books = core.books
            still = {
                "lent": books.lent,
                "borrowed": books.borrowed,
                "over": books.over,
                "reserved": core.selling.reserved,
            }
            if left := {what: keys for what, keys in still.items() if keys}:
                yield f"in the end {name} has open: {left}"


class RefusedIsRefused(Invariant):
    """A partner that did not take an offer is asked again only when the time for it has come (L25)."""

    def __init__(self, market: Market) -> None:
        super().__init__(market)
        self.not_before: dict[tuple[str, str], float] = {}

    def seen(self, name: str, event: Event, effects: Sequence[Effect]) -> Iterator[str]:
        if isinstance(event, Started):
            self.not_before = {pair: time for pair, time in self.not_before.items() if pair[0] != name}
        core, now = self.market.cores[name], self.market.now
        for effect in effects:
            match effect:
                case Write(Lent(partner)):
                    self.not_before.pop((name, partner), None)
                case Send(to, Offer()):
                    if now < self.not_before.get((name, to), now) - SLACK:
                        yield f"{name} asks {to} again {self.not_before[name, to] - now:.2f} s too early"
                    wait, terms = core.settings.retry_after, core.books.contracts[name, to]
                    self.not_before[name, to] = now + (float(terms.duration) if wait is None else wait)
        if isinstance(event, Received) and isinstance(event.message, Accept):
            # Nothing of it was there any more: no refusal.
            self.not_before.pop((name, event.sender), None)


INVARIANTS: tuple[type[Invariant], ...] = (
    OneOwner,
    MoneyIsConserved,
    WithinContracts,
    BothGain,
    NoOverbooking,
    NothingIsToldOfOthers,
    EveryWaitEnds,
    RefusedIsRefused,
)
