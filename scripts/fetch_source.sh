#!/usr/bin/env bash
# Runs fetch_source.py with a Python that has pip: the project's environment, the system's, or a small one made for it.
set -euo pipefail
cd "$(dirname "$0")/.."
for python in build/venv/bin/python python3 build/downloads/pip/bin/python; do
  if "$python" -c 'import pip' 2>/dev/null; then exec "$python" scripts/fetch_source.py "$@"; fi
done
mkdir -p build/downloads
python3 -m venv build/downloads/pip >/dev/null 2>&1 || { echo "error: no Python with pip was found: install python3-venv" >&2; exit 1; }
exec build/downloads/pip/bin/python scripts/fetch_source.py "$@"
