#!/bin/sh
# Print the first Python >= 3.11 of: $PYTHON, the usual names. Each is run, since a name may be a dead pyenv shim.
seen=""
for name in ${PYTHON:-} python3.11 python3.12 python3.13 python3 python; do
  version=$("$name" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
  if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "$name"
    exit 0
  fi
  seen="$seen $name is $version;"
done
echo "error: Auroral needs Python 3.11 or newer. Found:${seen:- none}" >&2
echo "Install one, or name it: make PYTHON=/path/to/python3.11" >&2
exit 1
