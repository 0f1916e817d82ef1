"""Who is heard over a link while two cores are parted."""

from __future__ import annotations

import asyncio

import pytest

from auroral.wire import link as links
from auroral.wire.counters import Counters
from auroral.wire.hello import Hello, Identity
from auroral.wire.lanes import Way
from auroral.wire.link import Link
from auroral.wire.outgoing import Outgoing
from auroral.wire.things import Open, Parted


def channel(number: int, sender: str = "there", to: str = "here") -> Open:
    return Open(number, sender, 1, to, 1, Way.CONTROL, "")


def in_loop(scenario: object) -> None:
    async def run() -> None:
        hello = Hello(Identity("n2", 1), "n1", 1)
        scenario(Link("n2", hello, asyncio.get_running_loop(), Counters(), Outgoing()))  # type: ignore[operator]

    asyncio.run(run())


def test_nothing_is_heard_until_it_has_been_told() -> None:
    def scenario(link: Link) -> None:
        assert link.hears(channel(1))
        link.unhear("there", "here")
        link.unhear("there", "here")
        assert link.outgoing.take() == Parted("there", "here", 0).to_bytes() and link.outgoing.take() is None
        assert not link.hears(channel(1)) and not link.hears(channel(99))
        assert link.hears(channel(1, "another")) and link.hears(channel(1, to="another"))
        link.parted(Parted("there", "here", 7, answer=True), living=True)
        # What is read aside may come late.
        assert not link.hears(channel(7)) and link.hears(channel(8))
        link.unhear("there", "here")
        assert not link.hears(channel(8)) and link.outgoing.take() is not None

    in_loop(scenario)


def test_who_is_told_hears_nothing_of_before_either() -> None:
    def scenario(link: Link) -> None:
        link.parted(Parted("here", "there", 5), living=True)
        assert not link.hears(channel(5)) and link.hears(channel(6))

    in_loop(scenario)


def test_both_at_once() -> None:
    def scenario(link: Link) -> None:
        link.unhear("there", "here")
        link.parted(Parted("here", "there", 5), living=True)
        assert not link.hears(channel(6)), "it has not answered yet"
        link.parted(Parted("there", "here", 6, answer=True), living=True)
        assert not link.hears(channel(6)) and link.hears(channel(7))

    in_loop(scenario)


def test_an_answer_that_nobody_asked_for_changes_nothing() -> None:
    def scenario(link: Link) -> None:
        link.parted(Parted("there", "here", 1 << 40, answer=True), living=True)
        assert link.hears(channel(1))

    in_loop(scenario)


def test_what_is_said_of_cores_that_do_not_live_is_not_kept() -> None:
    def scenario(link: Link) -> None:
        link.parted(Parted("here", "there", 5), living=False)
        assert not link.unheard
        link.unhear("there", "here")
        link.over("here")
        assert not link.hears(channel(1)), "the answer is still to come"
        link.parted(Parted("there", "here", 6, answer=True), living=False)
        assert not link.unheard

    in_loop(scenario)


@pytest.mark.parametrize("ends", ["here", "there"])
def test_nothing_is_kept_of_a_core_that_ended(ends: str) -> None:
    def scenario(link: Link) -> None:
        link.parted(Parted("here", "there", 5), living=True)
        link.parted(Parted("another", "third", 5), living=True)
        link.over(ends)
        assert link.unheard == {("third", "another"): 5}

    in_loop(scenario)


def test_a_peer_that_parts_too_many_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "MOST_PARTED", 3)

    def scenario(link: Link) -> None:
        reasons = list[str]()
        link.broken = reasons.append
        for number in (1, 2, 3, 1, 2, 3):
            link.parted(Parted(f"here{number}", "there", 5), living=True)
        assert not reasons
        link.unhear("there", "here4")
        assert reasons == ["more than 3 pairs of cores are parted"]

    in_loop(scenario)
