"""Write an archive of the classes that Spark loads, for the many Javas that the tests start: with it each is up in about two thirds of the time.

Java itself sees whether an archive fits, and does without one that does not.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import auroral
from auroral.engine.session import start_session

# As `tests/conftest.py` starts them; what Java says while it writes are hundreds of classes that it leaves out.
OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:cds*=off"


def main(archive: Path) -> None:
    """Run a diagram that uses a bit of all, and let its Java write down what it has loaded."""
    begun = archive.with_suffix(".begun")
    begun.unlink(missing_ok=True)
    os.environ["SPARK_SUBMIT_OPTS"] = f'{OPTIONS} "-XX:ArchiveClassesAtExit={begun}"'
    spark = start_session("local[2]")
    java = spark.sparkContext._gateway.proc
    rows = [{"ts": at, "k": "ab"[at % 2], "n": at} for at in range(40)]
    auroral.batch(diagram(), {"east": rows, "west": rows}, session=spark)
    with auroral.run(diagram(), session=spark) as app:
        for name in ("east", "west"):
            app.push(name, rows)
        app.close()
        app.await_termination()
    spark.stop()
    # Its end is the end of its input.
    java.stdin.close()
    java.wait()
    begun.replace(archive)


def diagram() -> auroral.DiagramBuilder:
    @auroral.function("int -> int")
    def twice(n: int) -> int:
        return 2 * n

    d = auroral.diagram("classes", bucket="5s")
    east, west = (d.input(name, "ts long, k string, n int", stime="ts", unit="s") for name in ("east", "west"))
    both = east.union("both", west).filter("some", "n > 1").map("doubled", {"k": "k", "n": "twice(n)"})
    both.aggregate("sums", {"rows": "count()", "total": "sum(n)"}, window="10s", advance="5s", by=["k"]).output()
    both.running("totals", {"total": "sum(n)"}, by=["k"]).output()
    east.join("pairs", west, on="left.k = right.k", within="2s", columns={"n": "left.n"}).output()
    return d


if __name__ == "__main__":
    main(Path(sys.argv[1]))
