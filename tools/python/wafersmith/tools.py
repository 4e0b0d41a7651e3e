"""Finds the command-line tools that belong to this module, and runs them."""
import os
import shutil
import subprocess
import sys


def find(name):
  """The tool in bin/ of the tree this file lies in (build tree or installation), else on the PATH."""
  folder = os.path.dirname(os.path.abspath(__file__))
  while True:
    tool = os.path.join(folder, "bin", name)
    if os.access(tool, os.X_OK) and os.path.isfile(tool):
      return tool
    parent = os.path.dirname(folder)
    if parent == folder:
      break
    folder = parent
  tool = shutil.which(name)
  if tool is None:
    raise FileNotFoundError(f"'{name}' is neither beside this module nor on the PATH")
  return tool


def run(command, folder=None):
  """Runs a tool and returns what it printed; its messages are the error if it fails."""
  result = subprocess.run([find(command[0])] + command[1:], cwd=folder, capture_output=True, text=True, check=False)
  if result.returncode != 0:
    raise RuntimeError(f"{command[0]} failed ({result.returncode}):\n{result.stderr or result.stdout}".rstrip())
  if result.stderr:
    print(result.stderr, end="", flush=True)
  return result.stdout


def main():
  """What the commands of an installed wheel run: the tool of their own name."""
  tool = find(os.path.basename(sys.argv[0]))
  os.execv(tool, [tool, *sys.argv[1:]])
