#!/usr/bin/env python3
"""csl-fmt as its users run it: exit codes, files, stdin. Usage: csl_fmt.py PATH_OF_CSL_FMT"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BINARY = None
MESSY, CLEAN = "param n:u16; // size\nfn f( ) void { }\n", "param n: u16;  // size\nfn f() void {}\n"


def run(*argv, stdin=None):
    return subprocess.run([BINARY, *map(str, argv)], input=stdin, capture_output=True, text=True, check=False)


class Formatter(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (self.folder / "inner").mkdir()
        self.messy, self.clean, self.broken = (self.folder / n for n in ("messy.csl", "inner/clean.csl", "broken.csl"))
        self.messy.write_text(MESSY)
        self.clean.write_text(CLEAN)

    def test_stdout(self):
        done = run(self.messy)
        self.assertEqual((done.returncode, done.stdout), (0, CLEAN))
        self.assertEqual(self.messy.read_text(), MESSY)

    def test_stdin(self):
        self.assertEqual(run("--stdin", stdin=MESSY).stdout, CLEAN)
        self.assertEqual(run("--stdin", "--check", stdin=MESSY).returncode, 4)
        self.assertEqual(run("--stdin", "--check", stdin=CLEAN).returncode, 0)
        done = run("--stdin", "--stdin-name", "pe.csl", stdin="const a = ;")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("pe.csl:1:11: error", done.stderr)

    def test_check(self):
        done = run("--check", self.folder)
        self.assertEqual((done.returncode, done.stdout), (4, f"{self.messy}\n"))
        self.assertEqual(run("--check", self.clean).returncode, 0)

    def test_in_place(self):
        os.utime(self.clean, (1, 1))
        self.assertEqual(run("--in-place", self.folder).returncode, 0)
        self.assertEqual(self.messy.read_text(), CLEAN)
        self.assertEqual(self.clean.stat().st_mtime, 1)  # a file that is formatted is not written
        self.assertEqual(run("--check", self.folder).returncode, 0)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["inner", "messy.csl"])

    def test_errors_leave_the_file(self):
        self.broken.write_text("fn f() void {\n")
        done = run("-i", self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("broken.csl:1:13: error", done.stderr)
        self.assertEqual(self.broken.read_text(), "fn f() void {\n")
        self.assertEqual(self.messy.read_text(), CLEAN)  # the others are formatted
        self.assertEqual(run(self.folder / "none.csl").returncode, 1)

    def test_usage(self):
        for argv in ([], ["--stdin", self.messy], ["-i", "--check", self.messy], [self.messy, self.clean],
                     ["--width", "5", self.messy], ["--no-such"]):
            self.assertEqual(run(*argv).returncode, 2, argv)

    def test_json(self):
        report = json.loads(run("--json", "--check", self.folder).stdout)
        self.assertEqual({pathlib.Path(f["file"]).name: f["changed"] for f in report["files"]},
                         {"messy.csl": True, "clean.csl": False})


if __name__ == "__main__":
    BINARY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
