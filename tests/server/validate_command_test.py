"""`validate` for people and CI: exit codes, in-place fixes, diffs, and no credential in any of them."""
import json
import os
import pathlib
import stat
import subprocess
import tempfile
import unittest

from support import BINARY, run

FIXABLE = "# ours\r\ndistributed_type: fsdp  # why\r\nnum_processes: 8\r\nfsdp_config:\r\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\r\n"
FIXED = FIXABLE.replace("fsdp  #", "FSDP  #")
TOKEN = "hf_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zCfL"


class ValidateCommand(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, text):
        path = pathlib.Path(self.folder.name) / name
        path.write_bytes(text.encode())
        return path

    def test_exit_codes(self):
        clean, wrong = self.write("clean.yaml", FIXED), self.write("wrong.yaml", FIXABLE)
        self.assertEqual(run("validate", clean).returncode, 0)
        self.assertEqual(run("validate", clean, wrong).returncode, 1)
        self.assertEqual(run("validate").returncode, 2)
        self.assertEqual(run("validate", "--format", "xml", clean).returncode, 2)
        self.assertEqual(run("validate", self.write("notes.txt", "just words\n")).returncode, 0)

    def test_one_unreadable_file_does_not_hide_the_others(self):
        done = run("validate", "/nowhere/at/all.yaml", self.write("wrong.yaml", FIXABLE))
        self.assertEqual(done.returncode, 2)
        self.assertIn("[accelerate-invalid-distributed-type]", done.stdout)
        self.assertIn("/nowhere/at/all.yaml", done.stderr)
        rows = json.loads(run("validate", "--format", "json", "/nowhere/at/all.yaml").stdout)
        self.assertIn("error", rows[0])

    def test_fix_writes_in_place_and_keeps_mode_and_link(self):
        path = self.write("job.yaml", FIXABLE)
        path.chmod(0o750)
        link = pathlib.Path(self.folder.name) / "link.yaml"
        link.symlink_to(path)
        done = run("validate", "--fix", link)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(path.read_bytes().decode(), FIXED)
        self.assertTrue(link.is_symlink())
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o750)
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["job.yaml", "link.yaml"])
        before = path.stat().st_mtime_ns
        run("validate", "--fix", path)
        self.assertEqual(path.stat().st_mtime_ns, before, "nothing to fix, nothing written")

    def test_diff_applies_with_patch_or_git(self):
        path = self.write("job.yaml", FIXABLE)
        diff = subprocess.run([BINARY, "validate", "--diff", "job.yaml"], cwd=self.folder.name, capture_output=True).stdout
        self.assertEqual(path.read_bytes().decode(), FIXABLE)
        self.assertIn(b"-distributed_type: fsdp", diff)
        subprocess.run(["git", "apply", "-p0", "-"], cwd=self.folder.name, input=diff, check=True)
        self.assertEqual(path.read_bytes().decode(), FIXED)

    def test_a_credential_is_neither_moved_nor_shown(self):
        text = FIXABLE + f"# hub_token: {TOKEN}\r\n"
        path = self.write("job.yaml", text)
        for arguments in (["--diff"], ["--fix"], ["--format", "json"], ["--format", "sarif"], []):
            done = run("validate", *arguments, path)
            self.assertNotIn(TOKEN[3:12], done.stdout + done.stderr, arguments)
        self.assertIn(TOKEN, path.read_text())

    def test_standard_input_cannot_be_fixed(self):
        self.assertEqual(run("validate", "--fix", "-", text=FIXABLE).returncode, 2)
        self.assertEqual(run("validate", "-", text=FIXABLE).returncode, 1)


if __name__ == "__main__":
    unittest.main()
