"""What buffers with a limit must have room for, or nothing would ever go on (D72)."""

from __future__ import annotations

from collections.abc import Mapping

from auroral.dpc.settings import UNLIMITED, Settings, WrongSettings
from auroral.dpc.sunion import OutputSpec


def must_have_room(outputs: Mapping[str, OutputSpec], settings: Settings) -> None:
    """Where full buffers block, for all that is read again of a stream if everything behind it is lost."""
    if settings.blocked_beyond == UNLIMITED:
        return
    streams = dict.fromkeys(name for output in outputs.values() for name in output.reads)
    reach = {stream: _read_again(stream, outputs, settings) for stream in streams}
    widest = max(reach, key=lambda stream: reach[stream])
    if settings.blocked_beyond <= reach[widest]:
        raise WrongSettings(
            f"at most {settings.blocked_beyond} buckets are kept, and all that is computed from {widest} reads {reach[widest]} of it "
            "again: nothing would go on, without any failure\n"
            f"    allowed: more than {reach[widest]} buckets of {settings.bucket:g} s, by as much as is to wait while something fails\n"
            "    next: keep more, or as much as is needed; or shorten the windows"
        )


def _read_again(stream: str, outputs: Mapping[str, OutputSpec], settings: Settings) -> int:
    """Buckets before the next one: windows on the way to the last outputs add up, and a fold begins with a snapshot."""
    return max(
        (
            output.reads[stream]
            - 1
            + (settings.snapshot_every if output.folds else 0)
            + _read_again(name, outputs, settings)
            for name, output in outputs.items()
            if stream in output.reads
        ),
        default=0,
    )
