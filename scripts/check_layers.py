#!/usr/bin/env python3
"""Checks the include directions and who may include which third-party library. Exits 1 with one line a violation."""
import pathlib
import re
import sys

# Folder -> folders of ours that it may include.
ALLOWED = {
    "base": {"base"},
    "spec": {"base", "spec"},
    "knowledge": {"base", "spec", "knowledge"},
    "tools": {"base", "spec", "knowledge", "tools"},
    "server": {"base", "spec", "knowledge", "tools", "server"},
    "engine": {"base", "spec", "engine"},
    "tests": {"base", "spec", "knowledge", "tools", "server", "engine", "tests"},
}
# Third-party header (regular expression) -> files (regular expression) that own it.
OWNERS = [
    (r"^torch/torch\.h$", r"^$"),
    (r"^(torch|ATen|c10|caffe2)/", r"^engine/"),
    (r"^torch/csrc/autograd/", r"^engine/.*\.cpp$"),
    (r"^torch/csrc/distributed/", r"^engine/.*\.cpp$"),
    (r"^pybind11/|^torch/csrc/utils/pybind", r"^engine/python/"),
    (r"^sqlite3\.h$", r"^knowledge/store/database\.cpp$"),
    (r"^httplib\.h$", r"^server/http\.cpp$"),
    (r"^CLI/", r"^server/[a-z_]*command_line[a-z_]*\.cpp$"),
    (r"^yaml-cpp/", r"^knowledge/config/yaml[a-z_]*\.cpp$"),
    (r"^toml\+\+/|^toml\.hpp$", r"^knowledge/config/toml[a-z_]*\.cpp$"),
    (r"^tree_sitter/", r"^knowledge/python/.*\.cpp$"),
    (r"^nlohmann/json\.hpp$", r"\.cpp$"),
    (r"^gtest/", r"_test\.cpp$|^tests/|_testing\.(h|cpp)$"),
]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    bad = []
    for folder, allowed in ALLOWED.items():
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            name = path.relative_to(root).as_posix()
            for quote, target in INCLUDE.findall(path.read_text(encoding="utf-8")):
                top = target.split("/")[0]
                if quote == '"' and top in ALLOWED and top not in allowed:
                    bad.append(f"{name}: {folder}/ may not include {target}")
                elif quote == '"' and (root / folder / target).exists() and "/" not in target:
                    bad.append(f"{name}: include {target} by its path from the top folder")
                for header, owner in OWNERS:
                    if re.search(header, target) and not re.search(owner, name):
                        bad.append(f"{name}: {target} belongs to files matching {owner}")
    print("\n".join(bad) if bad else "include directions hold")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
