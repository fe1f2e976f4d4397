#!/usr/bin/env bash
# Fuzzes one target under the address and undefined-behaviour sanitizers. Usage: tests/fuzz/run.sh TARGET [SECONDS]
# Builds the preset "fuzz" (needs clang: apt-get install clang-14), seeds the corpus from our pages and keeps it in
# build/fuzz/corpus/TARGET; an input that fails is left in build/fuzz/found/TARGET. Exit status: 0 when nothing was found.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=${1:?usage: tests/fuzz/run.sh TARGET [SECONDS]}
seconds=${2:-60}
folder=build/fuzz
command -v clang++-14 >/dev/null || { echo "error: clang++-14 is missing: apt-get install clang-14" >&2; exit 1; }

[ -f $folder/build.ninja ] || cmake --preset fuzz >/dev/null
nice ninja -C $folder -j "${JOBS:-2}" "$target"

corpus=$folder/corpus/$target found=$folder/found/$target
mkdir -p "$corpus" "$found"
python3 tests/fuzz/seeds.py "$target" "$folder/seeds/$target"
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=0 UBSAN_OPTIONS=print_stacktrace=1
exec nice "$folder/targets/$target" -max_total_time="$seconds" -max_len=65536 -len_control=20 -timeout=10 -rss_limit_mb=2048 \
  -print_final_stats=1 -verbosity=1 -artifact_prefix="$found/" "$corpus" "$folder/seeds/$target"
