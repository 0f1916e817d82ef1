"""Run as a program: `auroral` with an engine that only passes rows on, each job taking a while."""

import fcntl
import os
import sys
import termios
import time
from unittest.mock import patch

from auroral.cli import main
from auroral.commands import run
from node.running import PassOn


def work(lo: int, hi: int) -> None:
    time.sleep(0.4)


if __name__ == "__main__":
    if os.isatty(0):
        # Keys that are typed on it become signals to this process.
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    with (
        patch.object(run, "must_have_java"),
        patch.object(run, "session_for"),
        patch("auroral.app.set_job_group"),
        patch("auroral.app.cancel_job_group"),
        patch("auroral.node.ranges.MOST_BUCKETS", 10),
        patch("auroral.app.EngineEvaluator", lambda *_: PassOn(before=work)),
    ):
        sys.exit(main(sys.argv[1:]))
