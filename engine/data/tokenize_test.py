"""Tests of tokenize.py on a byte-level tokenizer made here: no network, no model. Needs the packages tokenizers and jinja2."""
import sys

# tokenize.py beside this file must not stand in for Python's own module of that name.
if __name__ == "__main__":
    del sys.path[0]

import json
import pathlib
import struct
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().with_name("tokenize.py")
CHATML = ("{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
          "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
# Drops what stands before "=>" in all answers but the last, as templates of reasoning models do.
REWRITING = ("{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' and not loop.last %}{{ m.content.split('=>')[-1] }}"
             "{% else %}{{ m.content }}{% endif %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


def make_model(folder, template=CHATML):
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken("<|im_start|>", special=True), AddedToken("<|im_end|>", special=True)])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|im_end|>", "chat_template": template}))
    return tokenizer


class TokenizeTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.tokenizer = make_model(self.folder)

    def tearDown(self):
        self.temporary.cleanup()

    def run_script(self, text, form="messages", length=200, name="data.jsonl", long_documents="auto"):
        (self.folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return subprocess.run([sys.executable, SCRIPT, "--model", self.folder, "--data", self.folder / name, "--format", form,
                               "--max-seq-len", str(length), "--long-documents", long_documents, "--output", self.folder / "out.tok"], capture_output=True, text=True)

    def documents(self):
        """(ids, labels) of each document of the written file."""
        raw = (self.folder / "out.tok").read_bytes()
        magic, version, self.vocab, count, tokens, self.trained = struct.unpack_from("<8sIIQQQ", raw)
        self.assertEqual((magic, version), (b"FXTOKENS", 1))
        self.assertEqual(len(raw), 64 + 8 * (count + 1) + 8 * tokens)
        offsets = struct.unpack_from(f"<{count + 1}Q", raw, 64)
        ids = struct.unpack_from(f"<{tokens}I", raw, 64 + 8 * (count + 1))
        labels = struct.unpack_from(f"<{tokens}i", raw, 64 + 8 * (count + 1) + 4 * tokens)
        return [(ids[a:b], labels[a:b]) for a, b in zip(offsets, offsets[1:])]

    def trained_text(self, labels):
        return self.tokenizer.decode([x for x in labels if x != -100], skip_special_tokens=False)

    @staticmethod
    def row(*turns):
        return json.dumps({"messages": [{"role": role, "content": content} for role, content in turns]}) + "\n"

    def test_trains_only_on_what_the_assistant_says(self):
        done = self.run_script(self.row(("system", "Be kind."), ("user", "Hi?"), ("assistant", "Hello \u4f60"), ("user", "More"), ("assistant", "Bye")))
        self.assertEqual(done.returncode, 0, done.stderr)
        (ids, labels), = self.documents()
        self.assertEqual(self.trained_text(labels), "Hello \u4f60<|im_end|>Bye<|im_end|>")
        for i, label in enumerate(labels):
            self.assertTrue(label == -100 or label == ids[i + 1])
        summary = json.loads(done.stdout)
        self.assertEqual((summary["documents"], summary["trained_tokens"]), (1, self.trained))

    def test_answers_that_a_template_rewrites_later_are_not_trained_on(self):
        make_model(self.folder, REWRITING)
        done = self.run_script(self.row(("user", "a"), ("assistant", "think=>one"), ("user", "b"), ("assistant", "why=>two")))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.trained_text(self.documents()[0][1]), "why=>two<|im_end|>")
        self.assertEqual(json.loads(done.stdout)["untrained_turns"], 1)

    def test_counts_cut_and_dropped_conversations(self):
        done = self.run_script(self.row(("user", "q"), ("assistant", "a" * 300)) + self.row(("user", "only a question")))
        summary = json.loads(done.stdout)
        self.assertEqual((summary["documents"], summary["truncated"], summary["dropped"]), (1, 1, 1))
        self.assertEqual(len(self.documents()[0][0]), 200)

    def test_text_is_split_and_trained_on_whole(self):
        done = self.run_script(json.dumps({"text": "x" * 450}) + "\n\n" + json.dumps({"text": "short"}), "text")
        self.assertEqual(json.loads(done.stdout)["split"], 1)
        documents = self.documents()
        self.assertEqual([len(ids) for ids, _ in documents], [200, 200, 51, 6])
        self.assertEqual([sum(x != -100 for x in labels) for _, labels in documents], [200, 200, 50, 5])
        self.assertEqual(self.run_script("plain text", "text", name="data.txt").returncode, 0)

    def test_long_documents_are_cut_split_or_refused_as_asked(self):
        conversation, text = self.row(("user", "q"), ("assistant", "a" * 300)), json.dumps({"text": "x" * 450}) + "\n"
        for form, data in (("messages", conversation), ("text", text)):
            self.assertEqual(self.run_script(data, form, long_documents="cut").returncode, 0)
            self.assertEqual([len(ids) for ids, _ in self.documents()], [200])
            self.assertEqual(self.run_script(data, form, long_documents="split").returncode, 0)
            pieces = self.documents()
            self.assertGreater(len(pieces), 1)
            for (_, labels), (ids, _) in zip(pieces, pieces[1:]):
                self.assertEqual(labels[-1], ids[0])
            done = self.run_script(json.dumps({"text": "a", "messages": json.loads(conversation)["messages"][:1]}) + "\n" + data, form, long_documents="refuse")
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, r"data.jsonl:2: has \d+ tokens, more than data.max_seq_len \(200\)")

    def test_a_huge_text_is_tokenized_in_parts_that_make_the_whole(self):
        text = "".join(f"line {i} of a long book\n" for i in range(50_000))  # more than one batch of characters
        self.assertEqual(self.run_script(text, "text", length=1 << 20, name="data.txt").returncode, 0)
        ids = [i for document, _ in self.documents() for i in document]
        self.assertEqual(self.tokenizer.decode(ids[:-1]), text)
        one_line = "x" * 1_200_000
        self.assertEqual(self.run_script(one_line, "text", length=1 << 20, name="data.txt").returncode, 0)
        self.assertEqual(sum(len(document) for document, _ in self.documents()), len(one_line) + 1)

    def test_a_byte_order_mark_is_no_part_of_the_data(self):
        self.assertEqual(self.run_script(b"\xef\xbb\xbf" + self.row(("user", "q"), ("assistant", "a")).encode()).returncode, 0)

    def test_bad_rows_are_named_with_file_and_line(self):
        good = self.row(("user", "q"), ("assistant", "a"))
        for bad, words in (("{", "is not valid JSON"), ("[]", 'needs a field "messages"'), ('{"messages": []}', "is empty"),
                           ('{"messages": [{"role": "user"}]}', "message 1 needs"), (self.row(("robot", "x")), "has the role")):
            done = self.run_script(good + bad)
            self.assertEqual(done.returncode, 2, bad)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
            self.assertIn("data.jsonl:2: ", done.stderr)
            self.assertIn(words, done.stderr)
        self.assertFalse((self.folder / "out.tok").exists())

    def test_a_template_that_mixes_turns_is_refused(self):
        make_model(self.folder, "{{ messages|length }}{% for m in messages %}{{ m.content }}{% endfor %}")
        done = self.run_script(self.row(("user", "q"), ("assistant", "a")))
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("data.jsonl:1: its text cannot be told apart", done.stderr)

    def test_bad_inputs_are_one_sentence(self):
        for text, words in ((b"\xff\xfe", "not UTF-8"), ("", "nothing to train on")):
            done = self.run_script(text)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        (self.folder / "tokenizer.json").write_text("{}")
        self.assertIn("cannot be read", self.run_script("x").stderr)
        (self.folder / "tokenizer.json").unlink()
        self.assertIn("no such file", self.run_script("x").stderr)

    def test_a_hostile_template_is_sandboxed(self):
        make_model(self.folder, "{{ ''.__class__.__mro__[1].__subclasses__() }}")
        done = self.run_script(self.row(("user", "q"), ("assistant", "a")))
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("unsafe", done.stderr)


if __name__ == "__main__":
    unittest.main()
