#!/usr/bin/env bash
# The engine on CUDA devices: parity with the CPU, offload, memory against the dry run, and on two devices NCCL and overlap.
# Needs `make cuda-build` and a host with an NVIDIA GPU; not part of CI. Prints a table, also into build/gpu-report.md.
set -euo pipefail
cd "$(dirname "$0")/../.."
fail() { printf 'error: %s\n' "$*" >&2; exit 3; }

engine=build/cuda/bin/fsdp-engine
[ -x "$engine" ] || fail "there is no $engine: run make cuda-build first"
[ -x build/venv/bin/python ] || fail "there is no build/venv: run scripts/bootstrap.sh first"
devices=$("$engine" info | grep -c '"cuda:[0-9]*"' || true)
[ "$devices" -ge 1 ] || fail "no CUDA device was found here: these checks need a host with an NVIDIA GPU and its driver"
echo "==> $devices CUDA device(s)"
FX_ENGINE_BINARY=$PWD/$engine FX_GPUS=$devices exec build/venv/bin/python tests/gpu/checks.py
