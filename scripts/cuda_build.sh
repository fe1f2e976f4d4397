#!/usr/bin/env bash
# Builds fsdp-engine for NVIDIA GPUs without a CUDA toolkit: LibTorch, headers and libraries come from PyPI wheels in an environment
# of their own (build/cuda-venv, about 7 GB). Needs no GPU; tests/gpu/run.sh checks the result where there is one.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

venv=build/cuda-venv log=build/cuda-pip.log
mkdir -p build
if [ "$(cat $venv/.stamp 2>/dev/null)" != "$(sha256sum <scripts/requirements-cuda.txt)" ]; then
  free_mib=$(df -Pm . | awk 'NR == 2 {print $4}')
  [ "$free_mib" -ge 12000 ] || fail "only $free_mib MiB of disk space are free here and 12000 are needed"
  echo "==> making $venv with the CUDA build of torch (several GB)"
  [ -x $venv/bin/python ] || python3 -m venv $venv >"$log" 2>&1 || fail "the virtual environment could not be made: see $log"
  $venv/bin/python -m pip install --disable-pip-version-check -q -r scripts/requirements-cuda.txt >>"$log" 2>&1 ||
    fail "the packages could not be installed (no network or no disk space?): see $log"
  sha256sum <scripts/requirements-cuda.txt >$venv/.stamp
fi
scripts/build.sh cuda fsdp-engine
build/cuda/bin/fsdp-engine info
