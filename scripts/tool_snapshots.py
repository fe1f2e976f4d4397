#!/usr/bin/env python3
"""Writes or checks tools/snapshots/<name>.json: what clients see of each tool, so that a change of it shows in review.

  tool_snapshots.py write|check --bin build/bin/fsdp-expert"""
import argparse
import json
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tools" / "snapshots"


def main() -> int:
    a = argparse.ArgumentParser()
    a.add_argument("action", choices=("write", "check"))
    a.add_argument("--bin", required=True)
    o = a.parse_args()
    listed = subprocess.run([o.bin, "tools", "--format", "mcp"], check=True, capture_output=True, text=True).stdout
    wanted = {tool["name"] + ".json": json.dumps(tool, indent=2, ensure_ascii=False) + "\n" for tool in json.loads(listed)["tools"]}
    there = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    if o.action == "write":
        FOLDER.mkdir(exist_ok=True)
        for name in there.keys() - wanted.keys():
            (FOLDER / name).unlink()
        for name, text in wanted.items():
            (FOLDER / name).write_text(text, encoding="utf-8")
        return 0
    stale = sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))
    for name in stale:
        print(f"tools/snapshots/{name} is not what the tool says now: if the change is wanted, run 'make docs'", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
