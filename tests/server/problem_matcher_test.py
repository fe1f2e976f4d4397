"""The GitHub problem matcher reads the lines that `validate` really prints."""
import json
import os
import pathlib
import re
import tempfile
import unittest

from support import run

MATCHER = pathlib.Path(os.environ["FX_SOURCE"]) / ".github" / "fsdp-expert-problem-matcher.json"
TEXT = ("distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
        "  fsdp_state_dict_type: LOCAL_STATE_DICT\n  fsdp_use_orig_params: true\n")


class ProblemMatcher(unittest.TestCase):
    def test_every_line_is_matched_by_one_pattern_with_all_its_parts(self):
        matchers = json.loads(MATCHER.read_text())["problemMatcher"]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a b.yaml"
            path.write_text(TEXT)
            lines = run("validate", path).stdout.splitlines()
            findings = json.loads(run("validate", "--format", "json", path).stdout)[0]["answer"]["findings"]
        self.assertEqual(len(lines), len(findings))
        self.assertEqual({f["severity"] for f in findings}, {"error", "warning", "info"})
        for line, finding in zip(lines, findings):
            hits = [(m, p, re.match(p["regexp"], line)) for m in matchers for p in m["pattern"]]
            hits = [(m, p, hit) for m, p, hit in hits if hit]
            self.assertEqual(len(hits), 1, line)
            matcher, pattern, hit = hits[0]
            part = {name: hit.group(group) for name, group in pattern.items() if name != "regexp"}
            self.assertEqual(part["file"], str(path))
            self.assertEqual(int(part["line"]), finding["line"])
            self.assertEqual(int(part["column"] or 0), finding.get("column", 0))
            self.assertEqual(part["code"], finding["rule"])
            severity = part.get("severity", matcher.get("severity"))
            self.assertEqual(severity, {"info": "notice"}.get(finding["severity"], finding["severity"]))


if __name__ == "__main__":
    unittest.main()
