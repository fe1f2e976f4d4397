"""`validate` and `review-code` with `--format sarif` against the schema of SARIF 2.1.0, over every kind of file."""
import json
import os
import pathlib
import tempfile
import unittest

import jsonschema

from support import run

FILES = {
    "wrong.yaml": "distributed_type: fsdp\nnum_processes: 8\nfsdp_config:\n  fsdp_auto_wrap_policy: transformer_wrap\n  fsdp_typo_key: 1\n",
    "clean.yaml": "distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n",
    "broken.json": '{"fsdp": true, "output_dir": "o", "per_device_train_batch_size": 2,}\n',
    "notes.txt": "just words\n",
    "empty.sh": "",
    "with blank % and ä.sh": "torchrun --nproc_per_nod 8 train.py\n",
}
PROGRAM = {
    "train.py": "import torch\nimport torch.distributed as dist\nfrom steps import finish\n\n\ndef main():\n"
                "    dist.init_process_group('nccl')\n    if dist.get_rank() == 0:\n        finish()\n\n\n"
                "if __name__ == '__main__':\n    main()\n",
    "steps.py": "import torch.distributed as dist\n\n\ndef finish():\n    dist.barrier()\n",
    "broken.py": "def f(:\n    pass\n\nx = 1\n",
    "other.py": "print('no training')\n",
}


class Sarif(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        schema = pathlib.Path(os.environ["FX_SARIF_SCHEMA"])
        assert schema.exists(), f"{schema} is missing: configure again with network"
        cls.validator = jsonschema.Draft4Validator(json.loads(schema.read_text()))
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.paths = {}
        for name, text in {**FILES, **PROGRAM}.items():
            cls.paths[name] = pathlib.Path(cls.folder.name) / name
            cls.paths[name].write_text(text)

    def sarif(self, *arguments, command="validate"):
        document = json.loads(run(command, *arguments, "--format", "sarif").stdout)
        errors = [f"{list(e.path)}: {e.message}" for e in self.validator.iter_errors(document)]
        self.assertEqual(errors, [])
        return document["runs"][0]

    def test_every_kind_of_file_at_once_fits_the_schema(self):
        run_ = self.sarif(*(self.paths[name] for name in FILES), "/nowhere/at/all.yaml")
        self.assertEqual(len(run_["artifacts"]), len(FILES))
        self.assertFalse(run_["invocations"][0]["executionSuccessful"])
        self.assertEqual(len(run_["invocations"][0]["toolExecutionNotifications"]), 1)
        for result in run_["results"]:
            rule = run_["tool"]["driver"]["rules"][result["ruleIndex"]]
            self.assertEqual(rule["id"], result["ruleId"])
            self.assertTrue(rule["help"]["text"])

    def test_a_review_of_code_names_the_file_of_each_finding(self):
        run_ = self.sarif(*(self.paths[name] for name in PROGRAM), command="review-code")
        found = {(r["ruleId"], pathlib.Path(r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]).name)
                 for r in run_["results"]}
        self.assertEqual(found, {("collective-under-rank-guard", "train.py"), ("process-group-not-destroyed", "train.py")})
        for result in run_["results"]:
            rule = run_["tool"]["driver"]["rules"][result["ruleIndex"]]
            self.assertEqual(rule["id"], result["ruleId"])
            self.assertTrue(rule["help"]["text"])

    def test_a_review_of_code_out_of_scope_has_no_results(self):
        run_ = self.sarif(self.paths["other.py"], command="review-code")
        self.assertEqual(run_["results"], [])

    def test_a_clean_file_has_no_results_and_one_artifact(self):
        run_ = self.sarif(self.paths["clean.yaml"])
        self.assertEqual([run_["results"], len(run_["artifacts"])], [[], 1])
        self.assertTrue(run_["invocations"][0]["executionSuccessful"])

    def test_names_become_uris(self):
        run_ = self.sarif(self.paths["with blank % and ä.sh"])
        uri = run_["artifacts"][0]["location"]["uri"]
        self.assertTrue(uri.startswith("file:///") and uri.endswith("with%20blank%20%25%20and%20%C3%A4.sh"), uri)

    def test_fixes_are_edits_that_give_the_fixed_text(self):
        path = self.paths["wrong.yaml"]
        run_ = self.sarif(path)
        lines = path.read_text().split("\n")
        edits = [r for result in run_["results"] for fix in result.get("fixes", ())
                 for change in fix["artifactChanges"] for r in change["replacements"]]
        self.assertEqual(len(edits), 2)
        for edit in sorted(edits, key=lambda e: -e["deletedRegion"]["startLine"]):
            region = edit["deletedRegion"]
            self.assertEqual(region["startLine"], region["endLine"])
            line = lines[region["startLine"] - 1]
            lines[region["startLine"] - 1] = (line[:region["startColumn"] - 1] + edit["insertedContent"]["text"]
                                              + line[region["endColumn"] - 1:])
        text = "\n".join(lines)
        self.assertIn("distributed_type: FSDP\n", text)
        self.assertIn("fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n", text)

    def test_fingerprints_survive_lines_that_move(self):
        moved = pathlib.Path(self.folder.name) / "moved.yaml"
        moved.write_text("# a new line\n\n" + FILES["wrong.yaml"])
        first = [r["partialFingerprints"] for r in self.sarif(self.paths["wrong.yaml"])["results"]]
        second = [r["partialFingerprints"] for r in self.sarif(moved)["results"]]
        self.assertEqual(first, second)
        self.assertEqual(len({json.dumps(f) for f in first}), len(first))


if __name__ == "__main__":
    unittest.main()
