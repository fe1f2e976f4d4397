#!/usr/bin/env bash
# Formatting, include directions, shell and Python syntax.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v clang-format >/dev/null || { echo "error: clang-format is missing: apt-get install clang-format" >&2; exit 1; }
git ls-files '*.cpp' '*.h' | xargs clang-format --dry-run --Werror
python3 scripts/check_layers.py .
git ls-files '*.sh' | while read -r file; do bash -n "$file"; done
git ls-files '*.py' | xargs python3 -m py_compile
echo "lint: clean"
