#!/usr/bin/env bash
# Installs what building and testing need, if it is missing: Debian packages and the project's virtual environment.
# Can be run again; does nothing when all is there. Usage: scripts/bootstrap.sh [core|full]   (core: no LibTorch)
set -euo pipefail
cd "$(dirname "$0")/.."
level=${1:-full}

packages=(g++ make cmake ninja-build ccache pkg-config git ca-certificates python3 python3-venv python3-jsonschema
  nlohmann-json3-dev libsqlite3-dev libgtest-dev libyaml-cpp-dev libtomlplusplus-dev libcli11-dev)
[ "$level" = full ] && packages+=(libgloo-dev python3-dev)

say() { printf '==> %s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

missing_packages() {
  local name
  for name in "${packages[@]}"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$name" 2>/dev/null | grep -qx installed || echo "$name"
  done
}

install_packages() {
  command -v dpkg-query >/dev/null || fail "this is not a Debian system: install ${packages[*]} yourself and run again"
  local missing log=build/bootstrap-apt.log
  missing=$(missing_packages | tr '\n' ' ')
  [ -z "${missing// /}" ] && return
  say "installing Debian packages: $missing"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "installing packages needs root: run 'apt-get install $missing' as root, then run this again"
    as_root=(sudo)
  fi
  export DEBIAN_FRONTEND=noninteractive
  "${as_root[@]}" apt-get update -qq >"$log" 2>&1 ||
    fail "the Debian package lists could not be read (no network?): see $log"
  # shellcheck disable=SC2086
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >>"$log" 2>&1 ||
    fail "the Debian packages could not be installed (no network or no disk space?): see $log"
}

check_machine() {
  local free_mib need=$1
  free_mib=$(df -Pm . | awk 'NR == 2 {print $4}')
  [ "$free_mib" -ge "$need" ] || fail "only $free_mib MiB of disk space are free here and $need are needed: free some and run again"
}

check_compiler() {
  local version
  version=$(g++ -dumpversion | cut -d. -f1)
  [ "$version" -ge 12 ] || fail "g++ $version is too old: version 12 or newer is needed"
}

install_environment() {
  local venv=build/venv log=build/bootstrap-pip.log stamp
  stamp=$(cat scripts/requirements.txt scripts/requirements-no-deps.txt | sha256sum | cut -d' ' -f1)
  if [ -x $venv/bin/python ] && [ "$(cat $venv/.stamp 2>/dev/null)" = "$stamp" ]; then return; fi
  check_machine 4000
  say "making the virtual environment $venv with torch 2.13.0 (about 1 GB, a minute or more)"
  [ -x $venv/bin/python ] || python3 -m venv $venv >"$log" 2>&1 || fail "the virtual environment could not be made: see $log"
  $venv/bin/python -m pip install --disable-pip-version-check -q -r scripts/requirements.txt >>"$log" 2>&1 ||
    fail "the Python packages could not be installed (no network or no disk space?): see $log"
  $venv/bin/python -m pip install --disable-pip-version-check -q --no-deps -r scripts/requirements-no-deps.txt >>"$log" 2>&1 ||
    fail "the Python packages could not be installed (no network or no disk space?): see $log"
  printf '%s' "$stamp" >$venv/.stamp
}

mkdir -p build
if [ -n "$(missing_packages 2>/dev/null || true)" ]; then check_machine 2000; fi
install_packages
check_compiler
if [ "$level" = full ]; then install_environment; fi
