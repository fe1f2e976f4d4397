#!/usr/bin/env bash
# Configures a preset if needed and builds targets: scripts/build.sh PRESET TARGET...
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
log=build/$preset-configure.log
mkdir -p build
if ! cmake --preset "$preset" >"$log" 2>&1; then
  grep -A6 -m1 'CMake Error' "$log" >&2 || tail -5 "$log" >&2
  echo "error: configuring the $preset build failed: see $log" >&2
  exit 1
fi
echo "==> building $* ($preset, log above says what failed if it stops)"
exec cmake --build "build/$preset" --target "$@" -- -j "${JOBS:-$(nproc)}"
