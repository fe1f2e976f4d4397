#!/usr/bin/env python3
"""Loads a Hugging Face folder with transformers and answers questions: generate.py FOLDER QUESTIONS.json -> JSON list of answers."""
import json
import os
import sys

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", TOKENIZERS_PARALLELISM="false")


def main() -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder, questions = sys.argv[1], json.load(open(sys.argv[2], encoding="utf-8"))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, torch_dtype=torch.float32).eval()
    answers = []
    for question in questions:
        ids = tokenizer.apply_chat_template([{"role": "user", "content": question}], add_generation_prompt=True, return_tensors="pt")
        with torch.no_grad():
            out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=64, do_sample=False,
                                 repetition_penalty=1.1, pad_token_id=tokenizer.eos_token_id)
        answers.append(tokenizer.decode(out[0, ids.shape[1]:], skip_special_tokens=True).strip())
    json.dump(answers, sys.stdout, ensure_ascii=False)


if __name__ == "__main__":
    main()
