"""Tests of make_dataset.py on a knowledge folder made here. Standard library only."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().with_name("make_dataset.py")
FACT = {"id": "a.b", "title": "T", "text": "Use bf16.", "source": {"doc": "d"}, "questions": ["which dtype", "精度是什么", "dtype choice"]}
RULE = """---
id: bad-key
title: Unknown key
severity: error
---
## What
The key is not read.

## Why
It does nothing.

## Fix
Remove it.

```yaml bad line=2
a: 1
b: 2
```
```yaml good
a: 1
```
"""


class MakeDatasetTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.knowledge = pathlib.Path(self.temporary.name)
        (self.knowledge / "facts").mkdir()
        (self.knowledge / "rules").mkdir()
        self.facts = self.knowledge / "facts/x.jsonl"
        self.facts.write_text(json.dumps(FACT) + "\n" + json.dumps({"stop_words": ["a"]}) + "\n", encoding="utf-8")
        (self.knowledge / "rules/bad-key.md").write_text(RULE, encoding="utf-8")

    def tearDown(self):
        self.temporary.cleanup()

    def make(self):
        output = self.knowledge / "out.jsonl"
        done = subprocess.run([sys.executable, SCRIPT, "--knowledge", self.knowledge, "--output", output], capture_output=True, text=True)
        if done.returncode != 0:
            return done
        rows = [json.loads(line)["messages"] for line in output.read_text(encoding="utf-8").splitlines()]
        self.assertTrue(all([m["role"] for m in row] == ["user", "assistant"] for row in rows))
        return {row[0]["content"]: row[1]["content"] for row in rows}

    def test_facts_answer_their_questions_and_pages_their_sections(self):
        pairs = self.make()
        self.assertEqual(pairs["Which dtype?"], "Use bf16.")
        self.assertEqual(pairs["dtype choice"], "Use bf16.")
        self.assertEqual(pairs["Why is this a problem: Unknown key?"], "It does nothing.")
        self.assertEqual(pairs["Is this configuration right?\n```yaml\na: 1\nb: 2\n```"],
                         "No. Line 2: Unknown key. The key is not read. Remove it.")
        self.assertEqual(len(pairs), 6)

    def test_is_the_same_every_time(self):
        self.make()
        first = (self.knowledge / "out.jsonl").read_bytes()
        self.make()
        self.assertEqual(first, (self.knowledge / "out.jsonl").read_bytes())

    def test_bad_knowledge_is_one_sentence(self):
        self.facts.write_text("{", encoding="utf-8")
        done = self.make()
        self.assertEqual(done.returncode, 1)
        self.assertIn("x.jsonl:1: is not valid JSON", done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
