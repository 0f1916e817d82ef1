"""A real PostgreSQL server in a folder of its own, for as long as tests need it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from glob import glob
from pathlib import Path
from typing import Any

import pytest

from auroral.node.fleet.processes import free_ports

_ACCOUNT = "postgres"


class Server:
    """Skips the test where there can be none. It does not run as root: then it is run as `postgres`."""

    def __init__(self) -> None:
        if (missing := why_not()) is not None:
            pytest.skip(missing)
        self.programs = _initdb()[-1].parent
        self.folder = Path(tempfile.mkdtemp(prefix="auroral-postgresql-", dir="/tmp"))
        self.port = free_ports(1)[0]
        if os.geteuid() == 0:
            shutil.chown(self.folder, _ACCOUNT)
        self._run("initdb", "--auth=trust", f"--username={_ACCOUNT}", "--no-sync")
        self.start()

    @property
    def address(self) -> str:
        return f"postgresql://{_ACCOUNT}@127.0.0.1:{self.port}/{_ACCOUNT}"

    def start(self) -> None:
        settings = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1"
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", settings, "start")

    def stop(self) -> None:
        """At once, as a crash would."""
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def remove(self) -> None:
        if (self.folder / "data" / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.folder)

    def _run(self, program: str, *arguments: str) -> None:
        who: dict[str, Any] = {}
        if os.geteuid() == 0:
            account = pwd.getpwnam(_ACCOUNT)
            who = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        command = [str(self.programs / program), "-D", str(self.folder / "data"), *arguments]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/", check=False, **who)
        assert done.returncode == 0, done.stderr.decode()


def why_not() -> str | None:
    """Why no server can be started here."""
    if not _initdb():
        return "there is no PostgreSQL server here; next: apt-get install postgresql"
    if os.geteuid() == 0:
        try:
            pwd.getpwnam(_ACCOUNT)
        except KeyError:
            return f"PostgreSQL does not run as root, and there is no account {_ACCOUNT!r}"
    return None


def _initdb() -> list[Path]:
    """Debian does not put it where programs are looked for."""
    found = [*glob("/usr/lib/postgresql/*/bin/initdb"), *filter(None, [shutil.which("initdb")])]
    return [Path(path).resolve() for path in found]
