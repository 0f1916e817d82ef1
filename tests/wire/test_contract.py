"""Whatever happens, the contract of a connection holds."""

from __future__ import annotations

import asyncio
import random

import pytest

from auroral.dpc.values import Grant
from auroral.model.deployment import Endpoint
from wire.hosts import BROKEN, Hosts, Node, in_order_but_for_breaks, run


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["memory", "flight"])
def test_whatever_happens_the_contract_holds(kind: str, seed: int) -> None:
    run(kind, anything, random.Random(seed))


async def anything(hosts: Hosts, chance: random.Random) -> None:
    """Cuts, heals, restarts of cores and nodes, a book that is wrong for a while, while all send numbers to all."""
    names = ["n1", "n2", "n3"]
    nodes = {name: await hosts.node(name, f"c-{name}") for name in names}
    cores = {f"c-{name}": name for name in names}
    sent: dict[tuple[str, str], int] = dict.fromkeys(((a, b) for a in cores for b in cores if a != b), -1)
    logs: dict[tuple[str, str], list[list[int | str]]] = {pair: [[]] for pair in sent}

    def finish_life(core: str) -> None:
        """What a life of a core heard is judged by itself."""
        node = nodes[cores[core]]
        for other in cores:
            if other != core:
                logs[core, other].append(node.numbers(core, other))
        node.heard.pop(core, None)

    def right(name: str) -> None:
        hosts.book.place(f"c-{name}", name)
        hosts.book.locate(name, Endpoint("127.0.0.1", getattr(nodes[name].transport, "port", 1)))

    for _ in range(120):
        for sender, to in sent:
            for _ in range(chance.randint(0, 3)):
                sent[sender, to] += 1
                nodes[cores[sender]].transport.send(sender, to, Grant(sent[sender, to]))
        name, other = chance.sample(names, 2)
        match chance.randrange(40):
            case 0 | 1:
                nodes[name].transport.refuse(other, going=chance.random() < 0.7, coming=chance.random() < 0.7)
            case 2 | 3 | 4 | 5:
                nodes[name].transport.allow(other)
            case 6 | 7:
                finish_life(f"c-{name}")
                nodes[name].transport.closed(f"c-{name}")
                nodes[name].transport.opened(f"c-{name}")
            case 8:
                finish_life(f"c-{name}")
                await nodes[name].transport.stop()
                nodes[name] = await hosts.node(name, f"c-{name}")
            case 9:
                nodes[name].transport.slow(other, chance.choice((0.0, 0.01)))
            case 10 | 11:
                hosts.book.place(f"c-{name}", chance.choice((other, "nowhere")))
            case 12:
                hosts.book.locate(name, None)
            case 13 | 14 | 15 | 16:
                right(name)
            case _:
                pass
        await asyncio.sleep(chance.choice((0, 0.001, 0.01)))
    for name in names:
        right(name)
        for other in names:
            if name != other:
                nodes[name].transport.allow(other)
    # In the end all reach all.
    for sender, to in sent:
        there = nodes[cores[to]]

        def reached(sender: str = sender, to: str = to, there: Node = there) -> bool:
            sent[sender, to] += 1
            nodes[cores[sender]].transport.send(sender, to, Grant(sent[sender, to]))
            numbers = [number for number in there.numbers(to, sender) if isinstance(number, int)]
            return bool(numbers) and numbers[-1] > sent[sender, to] - 5

        await there.until(reached)
    for core in cores:
        finish_life(core)
    heard = 0
    for pair, lives in logs.items():
        for numbers in lives:
            assert in_order_but_for_breaks(numbers), (pair, numbers)
            heard += len(numbers)
        together = [number for life in lives for number in life if isinstance(number, int)]
        assert together == sorted(set(together)), pair
    assert heard > 100


def test_the_order_checker_notices() -> None:
    assert in_order_but_for_breaks([0, 1, 2, BROKEN, 5, 6])
    for wrong in ([0, 2], [0, 0], [1, 0], [0, 1, BROKEN, 1], [0, BROKEN, 3, 5]):
        assert not in_order_but_for_breaks(wrong)
