#!/bin/sh
# Resolve requirements.lock anew, for every platform and Python >= 3.11. uv is used here only, from a folder of its own.
# usage: lock.sh PYTHON
set -e
python=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m pip -qq --disable-pip-version-check install --target "$folder" uv
{
  echo "# All versions, for running and for developing. Made by \`make lock\`; do not edit by hand."
  "$folder/bin/uv" pip compile --quiet --universal --python-version 3.11 \
    --extra spark --extra client --extra postgresql --extra ui --extra plots --extra otel --extra dev \
    --no-header --no-emit-index-url --no-emit-find-links pyproject.toml
} > "$folder/requirements.lock"
cp "$folder/requirements.lock" requirements.lock
echo "requirements.lock: $(grep -c '==' requirements.lock) packages"
