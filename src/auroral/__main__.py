"""The program `auroral`, as a script and as `python -m auroral`. What it needs and is not there, it says before it looks for it."""

from __future__ import annotations

import sys

from auroral.installed import NotInstalled, need_all


def main() -> int:
    try:
        need_all(" ".join(["auroral", *sys.argv[1:2]]))
    except NotInstalled as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    from auroral.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
