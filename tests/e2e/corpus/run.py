"""cs-regress --corpus: states against a list, in a small checkout that this test makes."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

REGRESS, APP = sys.argv[1], os.path.join(sys.path[0], "..", "appliance", "app")
COMPILE = "cslc layout.csl --fabric-dims=9,3 --fabric-offsets=4,1 --params=width:2 --memcpy --channels=1 -o out"
LIST = f"""corpus:
- repository: owner/small
  commit: 0123456789abcdef0123456789abcdef01234567
  programs:
  - {{name: compiles, folder: src, group: csl, command: "{COMPILE} && python -c 'import cerebras.sdk.client'"}}
  - {{name: fails, folder: src, group: csl, command: "cslc other.csl -o out", expect: fail, reason: it has no such file}}
  - {{name: leaves, folder: src, group: other, command: "rm layout.csl && sleep 0"}}
- repository: owner/absent
  commit: 0123456789abcdef0123456789abcdef01234567
  programs:
  - {{name: any, command: "true"}}
"""


def run(*options, text=LIST):
  with open("list.yaml", "w", encoding="utf-8") as file:
    file.write(text)
  return subprocess.run([REGRESS, "list.yaml", "--corpus", "checkouts", "-j", "2", *options], capture_output=True, text=True,
                        check=False)


with tempfile.TemporaryDirectory() as work:
  os.chdir(work)
  for name in ("owner+small", "owner/small"):
    shutil.rmtree("checkouts", ignore_errors=True)
    shutil.copytree(APP, f"checkouts/{name}/src")
    result = run()
    assert result.returncode == 0, result.stdout + result.stderr
    assert "2 of 3 pass, 0 differ" in result.stdout and "no checkout" in result.stdout, result.stdout
    assert sorted(os.listdir(f"checkouts/{name}/src")) == ["layout.csl", "pe.csl"]

  result = run("--json", "--group", "csl")
  rows = json.loads(result.stdout)
  assert [(r["name"], r["state"], r["expected"]) for r in rows["rows"]] == \
      [("compiles", "pass", "pass"), ("fails", "fail", "fail")], result.stdout
  assert rows["passed"] == 1 and rows["differ"] == 0 and rows["absent"] == ["owner/absent"]
  assert "other.csl" in rows["rows"][1]["message"]

  changed = LIST.replace(", expect: fail, reason: it has no such file", "").replace("width:2", "width:-1")
  result = run(text=changed)
  assert result.returncode == 4 and "fails: fails now" in result.stdout and "compiles: fails now" in result.stdout
  better = LIST.replace("cslc other.csl -o out", "true")
  result = run(text=better)
  assert result.returncode == 4 and "fails: passes now; the list says: it has no such file" in result.stdout
  result = run("--timeout", "0.2", text=LIST.replace("sleep 0", "sleep 30"))
  assert result.returncode == 4 and "no end after" in result.stdout, result.stdout

  for wrong, message in ((LIST.replace(", reason: it has no such file", ""), "a reason is needed"),
                         (LIST.replace("expect: fail", "expect: maybe"), "expect is pass or fail"),
                         (LIST.replace("folder: src", "folder: ../src"), "does not lie in the checkout"),
                         (LIST.replace("name: leaves", "name: fails"), "in the list twice"),
                         ("corpus: 3\n", "a list 'corpus'"), ("corpus: [{repository: a}]\n", "'commit'")):
    result = run(text=wrong)
    assert result.returncode == 1 and message in result.stderr, (message, result.stderr)
  result = run("--group", "none")
  assert result.returncode == 1 and "no program has this group" in result.stderr
  shutil.rmtree("checkouts")
  os.mkdir("checkouts")
  result = run()
  assert result.returncode == 1 and "no checkout of a repository" in result.stderr
  os.chdir("/")
