"""Diagrams around tables, and random rows for them."""

from __future__ import annotations

import math
from random import Random

import auroral
from auroral.model.builder import DiagramBuilder
from auroral.reference.rows import Row

ACCOUNTS = "id long, owner string, balance double"


def bank() -> DiagramBuilder:
    """All kinds of boxes around one table, found by key, by index and by looking at all rows."""
    d = auroral.diagram("bank", bucket="10us")
    contents = [{"id": n, "owner": "ab"[n % 2], "balance": float(n)} for n in range(4)]
    accounts = d.table("accounts", ACCOUNTS, key=["id"], indexes=["owner"], contents=contents)
    opened = d.input("opened", "id long, owner string, first double")
    moved = d.input("moved", "id int, amount double, note string")
    closed = d.input("closed", "owner string, below double")
    opened.insert("open", accounts, {"id": "input.id", "owner": "input.owner", "balance": "first"})
    known, strange = moved.exists("known", accounts, where="accounts.id = input.id", otherwise=True)
    large, small = known.filter("large", "amount >= 0.0", otherwise=True)
    halved = small.map("halved", {"id": "id", "amount": "amount / 2.0", "note": "note"})
    either = large.union("either", halved)
    changed = either.update(
        "add",
        accounts,
        {"balance": "balance + input.amount", "owner": "if note = 'x' then 'c' else owner"},
        where="accounts.id = input.id and input.amount != 0.0",
        columns={
            "id": "new.id",
            "before": "old.balance",
            "after": "new.balance",
            "owner": "new.owner",
            "at": "input.stime",
        },
    )
    assert changed is not None
    strange.insert("adopt", accounts, {"id": "long(input.id)", "owner": "note"}, pass_input=True)
    of_owner = moved.select(
        "of_owner", accounts, where="accounts.owner = input.note", order_by=["balance desc"], otherwise=True, sizes=True
    )
    rich = closed.select(
        "rich",
        accounts,
        {"id": "accounts.id", "asked": "input.owner", "balance": "balance"},
        where="balance > below",
        limit=3,
    )
    gone = closed.delete(
        "close", accounts, where="balance < input.below and accounts.owner = input.owner", deleted=True, pass_input=True
    )
    assert isinstance(of_owner, tuple) and not isinstance(rich, tuple) and isinstance(gone, tuple)
    accounts.changes("changes").output()
    for stream in (changed, strange, either, *of_owner, rich, *gone):
        stream.output()
    return d


def bank_rows(random: Random, most: int = 25, until: int = 100) -> dict[str, list[Row]]:
    def rows(make: object) -> list[Row]:
        stimes = sorted(random.randrange(until) for _ in range(random.randrange(most)))
        return [Row(stime, make(), (n,)) for n, stime in enumerate(stimes)]  # type: ignore[operator]

    def number() -> float | None:
        return random.choice([None, 0.0, -0.0, 1.5, -2.0, 3.0, math.nan, math.inf])

    def text() -> str | None:
        return random.choice(["a", "b", "c", "x", "", None])

    return {
        "opened": rows(lambda: (random.choice([None, *range(6)]), text(), number())),
        "moved": rows(lambda: (random.choice([None, *range(8)]), number(), text())),
        "closed": rows(lambda: (text(), number())),
    }


def turnstile() -> DiagramBuilder:
    """Rows wait for keys that rows of another stream free."""
    d = auroral.diagram("turnstile", bucket="10us")
    d.table("seen", "k int, n long", key=["k"])
    asked = d.input("asked", "k int, v double")
    done = d.input("done", "k int")
    passed = asked.lock("take", "gate", ["k"])
    passed.output()
    # Half of them are done at once.
    quick, slow = passed.filter("quick", "v > 0.0", otherwise=True)
    quick.unlock("give", "gate", ["k"]).output()
    slow.output()
    done.unlock("finish", "gate", ["k"]).output()
    return d


def turnstile_rows(random: Random, most: int = 25, until: int = 100) -> dict[str, list[Row]]:
    def rows(values: int) -> list[Row]:
        stimes = sorted(random.randrange(until) for _ in range(random.randrange(most)))
        given = [(random.choice([None, 0, 1, 2]), random.choice([None, -1.0, 1.0]))[:values] for _ in stimes]
        return [Row(stime, row, (n,)) for n, (stime, row) in enumerate(zip(stimes, given, strict=True))]

    return {"asked": rows(2), "done": rows(1)}
