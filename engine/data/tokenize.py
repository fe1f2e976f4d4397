#!/usr/bin/env python3
"""Turns text or chat messages into a token file (engine/data/token_file.h), before the ranks of a run start. Needs no torch.

  tokenize.py --model DIR --data FILE --format text|messages --max-seq-len N [--long-documents HOW] --output FILE.tok

text: a .txt file (one document) or .jsonl rows {"text": ...}; every token is trained on. messages: .jsonl rows {"messages": [{"role",
"content"}, ...]}, rendered by the model's own chat template; only what the assistant says is trained on. What is longer than N tokens
is cut (loses its tail, counted as truncated), split (becomes several documents, counted as split) or refused; auto, the default,
splits texts and cuts conversations. Rows without anything to train on are dropped and counted. Prints a JSON summary; mistakes go to
standard error as one line FILE:LINE: text, exit 2.
"""
import sys

# This file is named like a module of Python's own library: its folder must not be searched for modules.
if __name__ == "__main__" and not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
    del sys.path[0]

import argparse
import array
import datetime
import json
import os
import struct

IGNORED = -100
HEADER = struct.Struct("<8sIIQQQIIIIQ")
BATCH_ROWS = 512
BATCH_CHARACTERS = 1 << 20  # of texts that are tokenized together: their tokens with all offsets are in memory at once


class Failure(Exception):
    """A mistake in the input; its text is one line."""


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Failure(f"{path}: cannot be read as JSON: {error}") from error


class Template:
    """A model folder's chat template, rendered as transformers does: sandboxed, with the same options and helpers."""

    def __init__(self, folder):
        self.folder = folder
        self.untrained_turns = 0  # earlier answers that the template rewrites once later turns follow
        config = read_json(os.path.join(folder, "tokenizer_config.json"))
        source = self.find_source(config)
        try:
            import jinja2
            import jinja2.ext
            import jinja2.sandbox
        except ImportError as error:
            raise Failure("chat messages need the Python package jinja2: install it where this runs") from error

        class Generation(jinja2.ext.Extension):
            """{% generation %}...{% endgeneration %} marks what the assistant says; here it only passes its body through."""
            tags = {"generation"}

            def parse(self, parser):
                line = next(parser.stream).lineno
                body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
                return jinja2.nodes.Scope(body).set_lineno(line)

        def raise_exception(message):
            raise jinja2.exceptions.TemplateError(message)

        environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                                                   extensions=[Generation, jinja2.ext.loopcontrols])
        environment.filters["tojson"] = lambda value, **options: json.dumps(value, ensure_ascii=False, **options)
        environment.globals["raise_exception"] = raise_exception
        environment.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
        self.errors = jinja2.exceptions.TemplateError
        try:
            self.template = environment.from_string(source)
        except self.errors as error:
            raise Failure(f"{folder}: its chat template cannot be read: {error}") from error
        self.variables = {name: token.get("content") if isinstance(token, dict) else token for name, token in config.items()
                          if name.endswith("_token") and isinstance(token, (str, dict))}

    def find_source(self, config):
        path = os.path.join(self.folder, "chat_template.jinja")
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                return file.read()
        source = config.get("chat_template") or read_json(os.path.join(self.folder, "chat_template.json")).get("chat_template")
        if isinstance(source, list):
            named = {entry.get("name"): entry.get("template") for entry in source if isinstance(entry, dict)}
            source = named.get("default")
        if not isinstance(source, str) or not source:
            raise Failure(f"{self.folder}: has no chat template: use a chat model, or data in the text format")
        return source

    def render(self, messages, add_generation_prompt=False):
        return self.template.render(messages=messages, add_generation_prompt=add_generation_prompt, **self.variables)

    def render_or_none(self, messages, add_generation_prompt):
        try:
            return self.render(messages, add_generation_prompt)
        except (self.errors, TypeError, KeyError, IndexError):
            return None

    def spans(self, messages):
        """The whole conversation's text, and the [begin, end) character ranges that the assistant says in it.

        A turn begins where the text of all before it (with the prompt for an answer, as at inference) ends, and ends where the
        text up to it ends. Both are found by rendering prefixes, so any template works whose text only grows with the turns.
        """
        full = self.render(messages)
        ranges = []
        for i, message in enumerate(messages):
            if message["role"] != "assistant":
                continue
            end = full if i + 1 == len(messages) else self.render_or_none(messages[:i + 1], False)
            before = self.begin_of(messages[:i], full)
            if end is None or before is None or not full.startswith(end):
                if not any(m["role"] == "assistant" for m in messages[i + 1:]):
                    raise Failure("its text cannot be told apart by turns with this model's chat template")
                self.untrained_turns += 1
                continue
            if before < len(end):
                ranges.append((before, len(end)))
        return full, ranges

    def begin_of(self, before, full):
        for prompt in (True, False):
            text = self.render_or_none(before, prompt)
            if text is not None and full.startswith(text) and (prompt or before):
                return len(text)
        return None


class Builder:
    """Collects documents in the file's own layout."""

    def __init__(self, max_seq_len, long_documents):
        self.max_seq_len, self.long_documents = max_seq_len, long_documents
        self.offsets, self.ids, self.labels = array.array("Q", [0]), array.array("I"), array.array("i")
        self.trained = self.truncated = self.split = self.dropped = 0

    def add(self, where, ids, labels):
        """One document of any length; where names it in an error."""
        limit = self.max_seq_len
        if len(ids) <= limit:
            return self.add_piece(ids, labels)
        if self.long_documents == "refuse":
            raise Failure(f"{where}: has {len(ids)} tokens, more than data.max_seq_len ({limit}); raise it, or let data.long_documents be split or cut")
        if self.long_documents == "cut":
            self.truncated += 1
            return self.add_piece(ids[:limit], labels[:limit])
        self.split += 1
        for begin in range(0, len(ids), limit):
            # The last label of a piece is the first token of the next one: nothing goes untrained at the cut.
            self.add_piece(ids[begin:begin + limit], labels[begin:begin + limit])

    def add_piece(self, ids, labels):
        trained = sum(1 for label in labels if label != IGNORED)
        if trained == 0:
            self.dropped += 1
            return
        self.ids.extend(ids)
        self.labels.extend(labels)
        self.offsets.append(len(self.ids))
        self.trained += trained

    def write(self, path, vocab_size):
        header = HEADER.pack(b"FXTOKENS", 1, vocab_size, len(self.offsets) - 1, len(self.ids), self.trained, self.max_seq_len,
                             self.truncated, self.split, self.dropped, 0)
        temporary = f"{path}.tmp{os.getpid()}"
        try:
            with open(temporary, "wb") as file:
                file.write(header)
                for part in (self.offsets, self.ids, self.labels):
                    part.tofile(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError as error:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise Failure(f"{path}: cannot be written: {error.strerror}") from error


def rows_of(path, key, kind):
    """(line number, value of key) of each row of a .jsonl file."""
    with open(path, encoding="utf-8-sig", errors="strict") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise Failure(f"{path}:{number}: is not valid JSON: {getattr(error, 'msg', error)}") from error
            if not isinstance(row, dict) or not isinstance(row.get(key), kind):
                raise Failure(f'{path}:{number}: needs a field "{key}" that is {"a list" if kind is list else "a string"}')
            yield number, row[key]


def texts_of(path):
    if path.endswith((".jsonl", ".json")):
        yield from rows_of(path, "text", str)
    else:
        with open(path, encoding="utf-8-sig", errors="strict") as file:
            yield 1, file.read()


def check_messages(where, messages):
    if not messages:
        raise Failure(f'{where}: "messages" is empty')
    for i, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str) or not isinstance(message.get("content"), str):
            raise Failure(f"{where}: message {i + 1} needs a role and a content that are strings")
        if message["role"] not in ("system", "user", "assistant", "tool"):
            raise Failure(f"{where}: message {i + 1} has the role {message['role'][:30]!r}; use system, user, assistant or tool")


def batches(rows):
    batch, characters = [], 0
    for row in rows:
        size = len(row[1]) if isinstance(row[1], str) else 0
        if batch and (len(batch) == BATCH_ROWS or characters + size > BATCH_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(row)
        characters += size
    if batch:
        yield batch


def cut_at_lines(text):
    """A text in parts that fit a batch, each ending with a line where there is one."""
    begin = 0
    while len(text) - begin > BATCH_CHARACTERS:
        end = text.rfind("\n", begin + 1, begin + BATCH_CHARACTERS) + 1 or begin + BATCH_CHARACTERS
        yield text[begin:end]
        begin = end
    yield text[begin:]


def encode_text(tokenizer, text):
    """The ids of a text too long to be tokenized in one go."""
    ids = array.array("I")
    for i, part in enumerate(cut_at_lines(text)):
        ids.extend(tokenizer.encode(part, add_special_tokens=i == 0).ids)
    return ids.tolist()


def add_texts(tokenizer, eos, data, builder):
    for batch in batches(texts_of(data)):
        if len(batch[0][1]) > BATCH_CHARACTERS:
            encoded = [encode_text(tokenizer, batch[0][1])]
        else:
            encoded = [encoding.ids for encoding in tokenizer.encode_batch([text for _, text in batch])]
        for (number, _), ids in zip(batch, encoded):
            ids = list(ids)
            if ids and eos is not None and ids[-1] != eos:
                ids.append(eos)
            builder.add(f"{data}:{number}", ids, ids[1:] + [IGNORED])


def spoken(special, text, begin, end):
    """The end of an answer, without the white space that a template puts behind its closing special token."""
    trimmed = len(text[begin:end].rstrip()) + begin
    return trimmed if any(text.endswith(token, begin, trimmed) for token in special) else end


def add_conversations(tokenizer, template, data, builder):
    """Returns how many answers could not be trained on."""
    special = [token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special]
    for batch in batches(rows_of(data, "messages", list)):
        rendered = []
        for number, messages in batch:
            where = f"{data}:{number}"
            check_messages(where, messages)
            try:
                rendered.append(template.spans(messages))
            except (Failure, template.errors, TypeError) as error:
                raise Failure(f"{where}: {str(error).splitlines()[0]}") from error
        encodings = tokenizer.encode_batch([text for text, _ in rendered], add_special_tokens=False)
        for (number, _), (text, ranges), encoding in zip(batch, rendered, encodings):
            ranges = [(begin, spoken(special, text, begin, end)) for begin, end in ranges]
            said = [any(begin <= at[0] < end for begin, end in ranges) for at in encoding.offsets]
            ids = list(encoding.ids)
            labels = [ids[i + 1] if said[i + 1] else IGNORED for i in range(len(ids) - 1)] + [IGNORED]
            builder.add(f"{data}:{number}", ids, labels)
    return template.untrained_turns


def load_tokenizer(folder):
    path = os.path.join(folder, "tokenizer.json")
    if not os.path.isfile(path):
        raise Failure(f"{path}: no such file: the model folder needs its fast tokenizer")
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise Failure("the Python package tokenizers is missing: install it where this runs") from error
    try:
        tokenizer = Tokenizer.from_file(path)
    except Exception as error:  # tokenizers raises bare Exception
        raise Failure(f"{path}: cannot be read: {str(error).splitlines()[0]}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def eos_id(tokenizer, folder):
    token = read_json(os.path.join(folder, "tokenizer_config.json")).get("eos_token")
    token = token.get("content") if isinstance(token, dict) else token
    return tokenizer.token_to_id(token) if isinstance(token, str) else None


def run(arguments):
    if arguments.max_seq_len < 2 or arguments.max_seq_len >= 1 << 31:
        raise Failure("--max-seq-len must be at least 2")
    long_documents = arguments.long_documents
    if long_documents == "auto":
        long_documents = "split" if arguments.format == "text" else "cut"
    tokenizer, builder, untrained_turns = load_tokenizer(arguments.model), Builder(arguments.max_seq_len, long_documents), 0
    try:
        if arguments.format == "text":
            add_texts(tokenizer, eos_id(tokenizer, arguments.model), arguments.data, builder)
        else:
            untrained_turns = add_conversations(tokenizer, Template(arguments.model), arguments.data, builder)
    except UnicodeDecodeError as error:
        raise Failure(f"{arguments.data}: is not UTF-8 text: byte {error.start}") from error
    except OSError as error:
        raise Failure(f"{arguments.data}: cannot be read: {error.strerror}") from error
    documents = len(builder.offsets) - 1
    if documents == 0:
        raise Failure(f"{arguments.data}: holds nothing to train on")
    builder.write(arguments.output, tokenizer.get_vocab_size(with_added_tokens=True))
    return {"documents": documents, "tokens": len(builder.ids), "trained_tokens": builder.trained, "truncated": builder.truncated,
            "split": builder.split, "dropped": builder.dropped, "untrained_turns": untrained_turns, "output": arguments.output}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="Hugging Face folder with tokenizer.json")
    parser.add_argument("--data", required=True, help=".jsonl or .txt")
    parser.add_argument("--format", choices=("text", "messages"), default="messages")
    parser.add_argument("--max-seq-len", type=int, required=True)
    parser.add_argument("--long-documents", choices=("auto", "cut", "split", "refuse"), default="auto")
    parser.add_argument("--output", required=True)
    try:
        print(json.dumps(run(parser.parse_args())))
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
