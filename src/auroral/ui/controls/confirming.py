"""What will happen, in sentences, before it does: from what is deployed, what of it runs, and the rules of the protocol."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from auroral.dpc.assembly import CATALOG, CLIENT
from auroral.dpc.fragments import Fragment
from auroral.node.fleet.changing import Planned
from auroral.node.fleet.deployed import SPARK, Deployed
from auroral.node.fleet.processes import Fleet
from auroral.ui.conditions import Status
from auroral.ui.controls.foresight import Given, Level, World, foresee
from auroral.ui.picture import Group

Words = list[str]


def world_of(deployed: Deployed, groups: Sequence[Group], status: Status) -> World:
    """As it is now."""
    assembly = deployed.assembly
    return World(
        sources=tuple(deployed.fragments.sources),
        queries=[(group.fragment, group.nodes) for group in groups],
        outputs=tuple(deployed.fragments.client),
        dead=frozenset(name for name, said in status.items() if said is None),
        silent=frozenset(name for name, said in status.items() if said and said.get("silent")),
        cut=frozenset(
            frozenset((name, peer)) for name, said in status.items() for peer in (said or {}).get("cut_off", ())
        ),
        unbounded=frozenset(s for group in groups for s in group.fragment.streams if assembly.bound(s) == math.inf),
    )


class Confirming:
    """One answer for each thing that can be done. Names are known to be of this deployment."""

    def __init__(self, fleet: Fleet, groups: Sequence[Group], status: Status):
        self.deployed, self.groups, self.status = fleet.deployed, groups, status
        self.now = world_of(fleet.deployed, groups, status)

    def kill(self, name: str) -> Words:
        words = [
            f"{name} is killed at once, as by a crash. auroral up --folder {self.deployed.folder} starts it again."
        ]
        if name == CATALOG:
            return [*words, "All goes on; nothing can be moved or changed until it is back."]
        if name == CLIENT:
            return [
                *words,
                "Nobody is given any output until it is back. Nodes keep what it has not taken, and it goes on from there.",
            ]
        dead = {name, *(self.deployed.sharing if name == SPARK else ())}
        if name == SPARK:
            words.append(f"The nodes that share it compute nothing until then: {', '.join(self.deployed.sharing)}.")
        for group in self.groups:
            if dead & {*group.nodes}:
                left = [node for node in group.nodes if node not in dead | self.now.dead]
                words.append(
                    f"{group.fragment.name} goes on, on {_and(left)}."
                    if left
                    else f"Nobody computes {group.fragment.name} any more."
                )
        if name in self.now.sources:
            words.append(f"Rows of {name} are taken again when it is back.")
        return [*words, *self._outputs(replace(self.now, dead=self.now.dead | dead))]

    def pause(self, source: str) -> Words:
        words = [f"{source} gives nothing from now on. Rows that come to it are logged, and given when it goes on."]
        return [*words, *self._outputs(replace(self.now, silent=self.now.silent | {source}))]

    def resume(self, source: str) -> Words:
        words = [f"{source} goes on, and gives what was logged meanwhile."]
        return [*words, *self._outputs(replace(self.now, silent=self.now.silent - {source})), *self._corrected()]

    def cut(self, one: str, other: str) -> Words:
        words = [f"Nothing passes between {one} and {other} any more, in either direction."]
        world = replace(self.now, cut=self.now.cut | {frozenset((one, other))})
        before, after = foresee(self.now), foresee(world)
        for (stream, node), given in after.replicas.items():
            if node in (one, other) and given.level > before.replicas[stream, node].level:
                words.append(f"{node} gives {stream} {_level(given)}.")
        return [*words, *self._outputs(world)]

    def heal(self, one: str, other: str) -> Words:
        words = [f"{one} and {other} reach each other again. What did not pass is sent then."]
        world = replace(self.now, cut=self.now.cut - {frozenset((one, other))})
        return [*words, *self._outputs(world), *self._corrected()]

    def move(self, query: str, node: str, leaves: str) -> Words:
        new = node not in self.deployed.nodes
        words = [
            f"The replica of {query} on {leaves} goes to {node}{', a new node that is started for it' if new else ''}."
        ]
        words.append(
            f"{node} fetches what it needs while {leaves} goes on, and is mute until it is right; then all who read go over to it, and {leaves} ends it."
        )
        words.append(
            "Nothing is lost or doubled. It takes as long as the windows behind it are, and can be given up meanwhile."
        )
        return words

    def give_up(self, what: str, query: str) -> Words:
        return [
            f"The {what} of {query} that is under way is taken back: all is as it was before it. What is decided already cannot be."
        ]

    def change(self, planned: Planned) -> Words:
        if not planned.versions:
            return ["Nothing differs from what runs."]
        words = []
        for query, version in planned.versions.items():
            nodes = next(group.nodes for group in self.groups if group.fragment.name == query)
            words.append(
                f"{query} becomes version {version}: all its replicas ({', '.join(nodes)}) go over to it at one bucket."
            )
            words += self._reads(query, planned.changed[query])
        away = [node for node in self.deployed.nodes if node in self.now.dead]
        if away:
            words.append(f"It waits for {_and(away)}, which {'does' if len(away) == 1 else 'do'} not run.")
        words.append(
            "What lies before that bucket stays as it is; auroral verify judges each bucket by the boxes of its time."
        )
        return words

    def _reads(self, query: str, new: Fragment) -> Words:
        old = next(group.fragment for group in self.groups if group.fragment.name == query)
        more = [stream for stream in new.inputs if stream not in old.inputs]
        less = [stream for stream in old.inputs if stream not in new.inputs]
        return [
            *([f"It reads {_and(more)} besides."] if more else []),
            *([f"It does not read {_and(less)} any more."] if less else []),
        ]

    def _outputs(self, world: World) -> Words:
        before, after = foresee(self.now).outputs, foresee(world).outputs
        return [self._output(stream, before[stream], after[stream]) for stream in after]

    def _output(self, stream: str, before: Given, after: Given) -> str:
        same = after.level is before.level and after.without == before.without
        match after.level:
            case Level.STABLE:
                return f"{stream} {'goes on' if same else 'becomes'} stable, from {after.giver}."
            case Level.TENTATIVE:
                bound = self.deployed.agreed.bounds.get(stream, math.inf)
                within = "" if bound == math.inf else f" within X = {bound:g} s"
                without = f" without {_and(sorted(after.without))}" if after.without else ""
                still = "stays tentative" if same else "becomes tentative"
                return (
                    f"{stream} {still}: {after.giver} goes on answering{within}{without}, and corrects it afterwards."
                )
            case Level.NOTHING:
                return f"{stream} {'still gives' if same else 'gives'} nothing, until what it needs is back."

    def _corrected(self) -> Words:
        streams = _client(self.status)
        left = {stream: one["tentative_now"] for stream, one in streams.items() if one.get("tentative_now")}
        return [
            f"{count} tentative bucket{'s'[: count > 1]} of {stream} {'are' if count > 1 else 'is'} to be corrected then."
            for stream, count in left.items()
        ]


def _client(status: Status) -> Mapping[str, Mapping[str, int]]:
    found: Mapping[str, Mapping[str, int]] = (status.get(CLIENT) or {}).get("streams", {})
    return found


def _level(given: Given) -> str:
    without = f", without {_and(sorted(given.without))}" if given.without else ""
    return "tentatively" + without if given.level is Level.TENTATIVE else "no more"


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
