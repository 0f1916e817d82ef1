#!/bin/sh
# All tests: those with a Spark, and beside them those without one; together they take little more than the first alone.
# With arguments for pytest, one after the other.
# usage: test.sh PYTHON [ARGUMENTS...]
python=$1
shift
[ $# -eq 0 ] || exec "$python" -m pytest "$@"
log=$(mktemp)
"$python" -m pytest -m 'not spark' > "$log" 2>&1 &
without=$!
trap 'kill $without 2>/dev/null; rm -f "$log"; exit 130' INT TERM
failed=0
"$python" -m pytest -m spark || failed=1
wait $without || failed=1
echo "== and without Spark"
cat "$log"
rm -f "$log"
exit $failed
