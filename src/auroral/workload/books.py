"""What a participant has on disk: who runs its tasks, whose tasks it runs, and every payment (L6).

The books are what the records come to: whoever starts again applies those that it wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

from auroral.workload.contracts import Contract
from auroral.workload.records import (
    Added,
    Agreed,
    Borrowed,
    Ended,
    Forgotten,
    GaveBack,
    Lent,
    Numbered,
    Prolonged,
    Record,
    Removed,
    Renewed,
    Returned,
    Settled,
)
from auroral.workload.values import NOTHING, Exact, Load, Task

Key = tuple[str, int]
"""A partner, and the number of the buyer's offer."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Of the ledger; what is paid is negative."""

    when: float
    partner: str
    buyer: str
    """Whose number it is: the other one is the seller."""
    number: int
    amount: Fraction
    why: str


@dataclass(frozen=True, slots=True)
class Loan:
    """Tasks that are at a partner, or at this one and a partner's; the same on both sides."""

    tasks: tuple[Task, ...]
    price: Exact
    money: Fraction
    """All that was paid for it."""
    term_payment: Fraction
    seconds: Exact
    """Of the last term."""
    until: float
    """By the own clock."""
    longest: Exact
    """What may be left of it at most when its last term was agreed on."""
    term: int = 1
    transfer: Lent | None = None
    """On the buyer's side, to be said again."""
    returned: bool = False
    """Whether the buyer has them again, and only the money is open."""


@dataclass(slots=True)
class Books:
    name: str
    own: dict[str, Task] = field(default_factory=dict)
    contracts: dict[tuple[str, str], Contract] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    lent: dict[Key, Loan] = field(default_factory=dict)
    borrowed: dict[Key, Loan] = field(default_factory=dict)
    over: dict[Key, Fraction] = field(default_factory=dict)
    """What the buyer has still to be told of, and what is kept of its money."""
    highest: dict[str, int] = field(default_factory=dict)
    """The highest number of each buyer that a transfer was answered of: a lower offer is an old one."""
    ledger: list[Entry] = field(default_factory=list)
    balance: Fraction = Fraction(0)
    held: dict[str, Task] = field(default_factory=dict)
    """What runs here, and counts as load."""
    load: Load = NOTHING
    came_by: dict[str, Key] = field(default_factory=dict)
    """Of borrowed tasks."""
    taken: set[Key] = field(default_factory=set)
    """Of what is lent, what the partner said in this life that it has."""
    suspended: set[Key] = field(default_factory=set)
    """Borrowed before a crash, and not run since: by the clock of a new life nobody knows how long it may still be."""

    def apply(self, record: Record) -> None:
        match record:
            case Added(task):
                self._drop([task.name])
                self.own[task.name] = task
                # One that a partner still runs, though its client had withdrawn it, is the client's again when it is back.
                if not self._is_away(task.name):
                    self._hold([task])
            case Removed(name):
                del self.own[name]
                self._drop([name])
            case Agreed(contract):
                self.contracts[contract.buyer, contract.seller] = contract
            case Ended(buyer, seller):
                self.contracts.pop((buyer, seller), None)
            case Numbered(partner, number):
                self.numbers[partner] = number
            case Lent(partner, number, tasks, _, price, payment, seconds, _, when):
                until = when + float(seconds)
                self.lent[partner, number] = Loan(
                    tasks, price, payment, payment, seconds, until, seconds, transfer=record
                )
                self._drop(task.name for task in tasks)
                self._book(when, partner, self.name, number, -payment, "for tasks that move")
            case Prolonged(partner, number, payment, seconds, when):
                self.lent[partner, number] = _longer(self.lent[partner, number], payment, seconds)
                self._book(when, partner, self.name, number, -payment, "for one more term")
            case Returned(partner, number):
                loan = self.lent[partner, number]
                self.lent[partner, number] = replace(loan, returned=True)
                self._hold(self.own.get(task.name, task) for task in loan.tasks if self._is_here(task.name))
            case Settled(partner, number, kept, when):
                loan = self.lent.pop((partner, number))
                self.taken.discard((partner, number))
                self._book(when, partner, self.name, number, loan.money - kept, "back: not used, or a penalty")
            case Borrowed(partner, number, tasks, price, payment, seconds, until, when):
                self.borrowed[partner, number] = Loan(tasks, price, payment, payment, seconds, until, seconds)
                self.highest[partner] = max(number, self.highest.get(partner, 0))
                self.came_by |= dict.fromkeys((task.name for task in tasks), (partner, number))
                self._hold(tasks)
                self._book(when, partner, partner, number, payment, "for a partner's tasks")
            case Renewed(partner, number, payment, seconds, when):
                self.borrowed[partner, number] = _longer(self.borrowed[partner, number], payment, seconds)
                self._book(when, partner, partner, number, payment, "for one more term")
            case GaveBack(partner, number, kept, when):
                self.highest[partner] = max(number, self.highest.get(partner, 0))
                self.over[partner, number] = kept
                self.suspended.discard((partner, number))
                if (debt := self.borrowed.pop((partner, number), None)) is not None:
                    for task in debt.tasks:
                        del self.came_by[task.name]
                    self._drop(task.name for task in debt.tasks)
                    self._book(when, partner, partner, number, kept - debt.money, "back: not served, or a penalty")
            case Forgotten(partner, number):
                self.over.pop((partner, number), None)

    def restarted(self, now: float) -> None:
        """After a crash, by a clock that may have been set. Who lent tasks waits from now on for as
        long as the partner can have them at most. What
        is borrowed is not run any more, and goes back."""
        self.lent = {key: replace(loan, until=now + float(loan.longest)) for key, loan in self.lent.items()}
        self.suspended = set(self.borrowed)
        for debt in self.borrowed.values():
            self._drop(task.name for task in debt.tasks)

    def measured(self, name: str, load: Load) -> None:
        """What a task that runs here takes now."""
        if (task := self.held.get(name)) is not None:
            self.load = self.load + load - task.load
            self.held[name] = replace(task, load=load)
            if name in self.own:
                self.own[name] = self.held[name]

    @property
    def leaving(self) -> Load:
        """What is lent and may come back at once: nobody said yet that it has it."""
        away = (loan for key, loan in self.lent.items() if not loan.returned and key not in self.taken)
        return sum((task.load for loan in away for task in loan.tasks), NOTHING)

    def lent_on(self, key: Key) -> bool:
        """Whether a partner of this participant may have any of these borrowed tasks."""
        names = {task.name for task in self.borrowed[key].tasks}
        return any(task.name in names for loan in self.lent.values() if not loan.returned for task in loan.tasks)

    def until(self, name: str) -> float:
        """Until when a task that runs here is this participant's to decide about."""
        key = self.came_by.get(name)
        return float("inf") if key is None else self.borrowed[key].until

    def _is_here(self, name: str) -> bool:
        return name in self.own or (name in self.came_by and self.came_by[name] not in self.suspended)

    def _is_away(self, name: str) -> bool:
        return any(task.name == name for loan in self.lent.values() if not loan.returned for task in loan.tasks)

    def _hold(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            self.held[task.name] = task
            self.load += task.load

    def _drop(self, names: Iterable[str]) -> None:
        for name in names:
            if (task := self.held.pop(name, None)) is not None:
                self.load -= task.load

    def _book(self, when: float, partner: str, buyer: str, number: int, amount: Fraction, why: str) -> None:
        if amount:
            self.ledger.append(Entry(when, partner, buyer, number, amount, why))
            self.balance += amount


def _longer(loan: Loan, payment: Fraction, seconds: Exact) -> Loan:
    """Both sides add the same to when it ends: the seller's end stays before the buyer's."""
    money, until = loan.money + payment, loan.until + float(seconds)
    longest, term = loan.seconds + seconds, loan.term + 1
    return replace(loan, money=money, term_payment=payment, seconds=seconds, until=until, longest=longest, term=term)


def one_more(loan: Loan, seconds: Exact) -> Fraction:
    """What so many seconds more cost: as many for each as before, by what was offered. The same on both sides."""
    return loan.term_payment * seconds / loan.seconds


def in_transit(books: Iterable[Books]) -> Iterator[tuple[str, Key, Loan]]:
    """What was lent and is neither at the partner nor back, by buyer: on its way there, or given back and not heard of yet."""
    everybody = {one.name: one for one in books}
    for one in everybody.values():
        for (partner, number), loan in one.lent.items():
            if not loan.returned and (one.name, number) not in everybody[partner].borrowed:
                yield one.name, (partner, number), loan
