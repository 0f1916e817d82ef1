"""What survives a crash: logs of sources, outputs that replicas keep, positions of clients."""

from __future__ import annotations

from dataclasses import dataclass, field

from auroral.dpc.events import Deliver, Effect, Keep, Kept, Miss, Truncate
from auroral.dpc.values import Content


@dataclass(slots=True)
class Disks:
    begins: dict[tuple[str, str], int] = field(default_factory=dict)
    """By core and stream."""
    contents: dict[tuple[str, str], dict[int, Content]] = field(default_factory=dict)

    def carry_out(self, core: str, effect: Effect) -> None:
        match effect:
            case Keep(stream, begin, contents):
                self.contents.setdefault((core, stream), {}).update(enumerate(contents, begin))
            case Truncate(stream, below):
                self.begins[core, stream] = below
                kept = self.contents.get((core, stream), {})
                for bucket in [b for b in kept if b < below]:
                    del kept[bucket]
            case Deliver(stream, bucket, _, True):
                self.begins[core, stream] = bucket + 1
            case Miss(stream, _, end):
                self.begins[core, stream] = end
            case _:
                pass

    def lose(self, core: str) -> None:
        for kept in (self.begins, self.contents):
            for key in [key for key in kept if key[0] == core]:
                del kept[key]

    def of(self, core: str) -> dict[str, Kept]:
        streams = {stream for name, stream in (*self.begins, *self.contents) if name == core}
        return {stream: self._of(core, stream) for stream in streams}

    def _of(self, core: str, stream: str) -> Kept:
        begin, kept = self.begins.get((core, stream), 0), self.contents.get((core, stream), {})
        return Kept(begin, tuple(kept[bucket] for bucket in range(begin, begin + len(kept))))
