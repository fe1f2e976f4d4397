#!/usr/bin/env bash
# Builds everything in the release preset, gets the test model and runs every test. Ends with ctest's own summary.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh release all
echo "==> preparing the test model (once)"
build/venv/bin/python scripts/get_model.py
echo "==> running the tests"
exec ctest --preset release --no-tests=error
