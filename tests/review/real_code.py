#!/usr/bin/env python3
"""Runs review_code over Python files of packages that nobody here wrote, one file a request.

  real_code.py DIR... [--bin build/bin/fsdp-expert] [--list] [--counts docs/review-code-on-real-code.md]

DIR: an unpacked wheel or source distribution, named package-version. Files that never mention torch.distributed, FSDP or accelerate
are left out. Prints one line a package (files, in scope, findings by rule); --list prints each finding. With --counts the table
between the marks of that document is checked against these counts (packages not given are left alone); exit 1 on a difference.
"""
import argparse, collections, json, pathlib, re, subprocess, sys

WORDS = re.compile(r"torch\.distributed|fully_shard|FullyShardedDataParallel|Accelerator\(")


def review(binary, path, text):
    request = json.dumps({"files": [{"name": path.name, "text": text}]})
    run = subprocess.run([binary, "call", "review_code"], input=request, capture_output=True, text=True, timeout=60)
    if run.returncode != 0:
        raise RuntimeError(f"{path}: exit {run.returncode}: {run.stderr.strip()[:200]}")
    return json.loads(run.stdout)


def survey(binary, root, show):
    files = scope = 0
    rules = collections.Counter()
    for path in sorted(root.rglob("*.py")):
        text = path.read_text(errors="replace")
        if not WORDS.search(text):
            continue
        answer = review(binary, path, text)
        files += 1
        scope += answer["applicable"]
        for finding in answer["findings"]:
            rules[finding["rule"]] += 1
            if show:
                print(f"{path.relative_to(root)}:{finding['line']}: {finding['rule']}")
    return files, scope, rules


def row(root, files, scope, rules):
    words = ", ".join(f"{rule} {count}" for rule, count in sorted(rules.items())) or "none"
    return f"| {root.name} | {files} | {scope} | {words} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dirs", nargs="+", type=pathlib.Path)
    parser.add_argument("--bin", default="build/bin/fsdp-expert")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--counts", type=pathlib.Path)
    options = parser.parse_args()
    rows = [row(root, *survey(options.bin, root, options.list)) for root in options.dirs]
    print("\n".join(rows))
    if options.counts is None:
        return 0
    known = set(options.counts.read_text().splitlines())
    wrong = [line for line in rows if line not in known]
    for line in wrong:
        print("not in the document:", line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
