#!/usr/bin/env python3
"""Makes a chat data set (messages .jsonl, question -> answer) from the project's own knowledge base; the same bytes every time.

make_dataset.py [--output FILE] [--knowledge FOLDER]
Facts (knowledge/facts/*.jsonl) answer their own questions; pages of rules and causes (knowledge/rules, knowledge/causes) answer what it
is, why, what to do, and their examples: a config or log in the question, the finding in the answer. Standard library only.
"""
import argparse
import json
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
MAX_EXAMPLE, MAX_ANSWER = 1500, 1500  # characters
QUESTION_WORD = re.compile(r"(what|why|how|when|where|which|who|whose|is|are|do|does|did|can|could|should|will|may|must)\b", re.I)


class Failure(Exception):
    """Something the user can act on; its text is one sentence."""


def read(path):
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{path}: cannot be read: {error}") from error


def shorten(text, limit):
    """Whole lines, then whole sentences, up to limit characters."""
    text = re.sub(r"[ \t]+\n", "\n", text.strip())
    if len(text) <= limit:
        return text
    cut = text[:limit]
    end = max(cut.rfind("\n"), cut.rfind(". ") + 1)
    return cut[:end if end > limit // 2 else cut.rfind(" ")].rstrip()


def as_question(text):
    """A search phrase written as people write to an assistant."""
    text = " ".join(text.split())
    if QUESTION_WORD.match(text):
        text = text[0].upper() + text[1:]
        return text if text[-1] in "?.!" else text + "?"
    return text


def pairs_of_facts(folder):
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(read(path).splitlines(), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise Failure(f"{path}:{number}: is not valid JSON: {error}") from error
            if not isinstance(row, dict) or "id" not in row or "text" not in row:
                continue  # word lists for the search
            # The model of the demo knows English; questions in other scripts are for the search alone.
            questions = [q for q in row.get("questions", []) if q.isascii()]
            for question in questions or [row["title"]]:
                yield as_question(question), row["text"]


class Page:
    """Front matter, sections without their examples, and the examples: (language, kind and expectations, text)."""

    def __init__(self, path):
        self.path, self.front, self.sections, self.examples = path, {}, {}, []
        lines = read(path).splitlines()
        if not lines or lines[0].strip() != "---" or "---" not in (l.strip() for l in lines[1:]):
            raise Failure(f"{path}:1: has no front matter between two lines of ---")
        end = next(i for i, line in enumerate(lines[1:], 1) if line.strip() == "---")
        for line in lines[1:end]:
            key, _, value = line.partition(":")
            self.front[key.strip()] = value.strip()
        self.read_body(lines[end + 1:])

    def read_body(self, lines):
        section, example = "", None
        for line in lines:
            if line.startswith("```"):
                if example is None:
                    example = (line[3:].strip(), [])
                else:
                    self.examples.append((example[0], "\n".join(example[1])))
                    example = None
            elif example is not None:
                example[1].append(line)
            elif line.startswith("## "):
                section = line[3:].strip().lower()
            else:
                self.sections[section] = self.sections.get(section, "") + line + "\n"

    def section(self, name):
        return self.sections.get(name, "").strip()

    @property
    def title(self):
        return self.front.get("title", self.path.stem).rstrip(".")


def pages_of(folder):
    for path in sorted(folder.rglob("*.md")):
        if path.name != "README.md":
            yield Page(path)


def pairs_of_rule(page):
    what, why, fix = (page.section(name) for name in ("what", "why", "fix"))
    yield f"What is wrong here: {page.title}?", "\n".join(part for part in (what, fix) if part)
    yield f"Why is this a problem: {page.title}?", why
    yield f"How do I fix this: {page.title}?", fix
    for info, text in page.examples:
        words = info.split()
        if "bad" in words and len(text) <= MAX_EXAMPLE:
            line = re.search(r"\bline=(\d+)", info)
            place = f"Line {line.group(1)}: " if line else ""
            yield f"Is this configuration right?\n```{words[0]}\n{text}\n```", f"No. {place}{page.title}. {what} {fix}"


def pairs_of_cause(page):
    what, first = page.section("what"), page.section("first step")
    yield f"My run failed. What does this mean: {page.title}?", what
    yield f"How do I recognize this failure: {page.title}?", page.section("shows")
    yield f"What should I do first: {page.title}?", "\n".join(part for part in (first, page.section("next steps")) if part)
    yield f"How can I prevent this: {page.title}?", page.section("prevention")
    for info, text in page.examples:
        words = info.split()
        if "yes" in words and len(text) <= MAX_EXAMPLE:
            rank = re.search(r"\brank=(\d+)", info)
            root = f" It began on rank {rank.group(1)}." if rank else ""
            yield f"My training run failed. What is the cause?\n```\n{text}\n```", f"{page.title}.{root} {what} First step: {first}"


def pairs_of(knowledge):
    yield from pairs_of_facts(knowledge / "facts")
    for page in pages_of(knowledge / "rules"):
        yield from pairs_of_rule(page)
    for page in pages_of(knowledge / "causes"):
        yield from pairs_of_cause(page)


def conversations(knowledge):
    seen = set()
    for question, answer in pairs_of(knowledge):
        answer = shorten(answer, MAX_ANSWER)
        if question and answer and question not in seen:
            seen.add(question)
            yield {"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/demo/questions.jsonl")
    parser.add_argument("--knowledge", type=pathlib.Path, default=ROOT / "knowledge")
    arguments = parser.parse_args()
    try:
        rows = list(conversations(arguments.knowledge))
        if not rows:
            raise Failure(f"{arguments.knowledge}: holds no facts and no pages")
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        temporary = arguments.output.with_name(f"{arguments.output.name}.tmp{os.getpid()}")
        temporary.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        temporary.replace(arguments.output)
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {arguments.output}: cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    print(f"==> {len(rows)} conversations in {arguments.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
