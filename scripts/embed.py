#!/usr/bin/env python3
"""Writes a C++ source that holds text files as string literals, so that a program needs no data files beside it."""
import argparse
import pathlib


def literal(text: str) -> str:
    """Adjacent raw literals: compilers limit the length of one."""
    pieces, size = [], 8000
    for start in range(0, len(text), size):
        # g++ warns about "\\ " at a line's end even inside a raw literal, so a blank before a newline gets a literal of its own.
        part = text[start:start + size].replace("\\ \n", ')~~fx~~" "\\\\ \\n" R"~~fx~~(')
        pieces.append('R"~~fx~~(' + part + ')~~fx~~"')
    return "\n".join(pieces) or '""'


def main() -> None:
    a = argparse.ArgumentParser()
    a.add_argument("--name", required=True)
    a.add_argument("--base", type=pathlib.Path, required=True)
    a.add_argument("--list", type=pathlib.Path, required=True)
    a.add_argument("--out", type=pathlib.Path, required=True)
    o = a.parse_args()
    rows = []
    for name in sorted(line for line in o.list.read_text().splitlines() if line):
        path = pathlib.Path(name)
        text = path.read_text(encoding="utf-8")
        rows.append(f'    {{"{path.relative_to(o.base).as_posix()}", std::string_view({literal(text)}, {len(text.encode())})}},')
    o.out.parent.mkdir(parents=True, exist_ok=True)
    o.out.write_text(
        '#include "base/embedded_file.h"\n\nnamespace fx::embedded {\n\n'
        f"std::span<const EmbeddedFile> {o.name}() {{\n  static constexpr EmbeddedFile files[] = {{\n"
        + "\n".join(rows) + "\n  };\n  return files;\n}\n\n}  // namespace fx::embedded\n", encoding="utf-8")


if __name__ == "__main__":
    main()
