"""A local stand-in for the appliance of a wafer-scale cluster: hosts that compile and run there run here unchanged.

An artifact is a tar file with the folder that the compiler wrote, named by its contents. A launcher runs commands in a
folder of its own, into which the artifact is unpacked. Whatever a host asks for, programs run on the simulator.
"""
import gzip
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile

from wafersmith import tools
from wafersmith.runtime import SdkRuntime as LocalRuntime

# What only a cluster can heed: sizes of jobs, places of certificates, checks of versions.
_CLUSTER_OPTIONS = {"resource_cpu", "resource_mem", "disable_version_check", "mgmt_address", "mgmt_namespace",
                    "credentials_path", "job_timeout_s", "use_cloud", "job_priority", "workdir_path"}
# As of a local runtime, but without a wafer.
_RUNTIME_OPTIONS = {"suppress_simfab_trace", "simfab_numthreads", "msg_level", "memcpy_required"}


def _check_options(what, options, more=()):
  unknown = sorted(set(options) - _CLUSTER_OPTIONS - set(more))
  if unknown:
    known = ", ".join(sorted(_CLUSTER_OPTIONS | set(more)))
    raise TypeError(f"{what} has no option {', '.join(unknown)}; there are {known}")


def _output_of(options):
  """The folder that the compiler's options name, and the options without it."""
  rest, out, words = [], "out", iter(options)
  for word in words:
    if word in ("-o", "--o", "--output"):
      out = next(words, None)
      if out is None:
        raise ValueError(f"{word} needs the name of a folder")
    elif word.startswith(("-o=", "--o=", "--output=")):
      out = word.split("=", 1)[1]
    else:
      rest.append(word)
  return out, rest


def _pack(folder, name, out_path):
  """Writes the tar file under its final name when it is complete. The same program has the same name, whatever the compiler
  reports about its own times."""
  files = []
  for root, _, names in os.walk(folder):
    files += [os.path.join(root, n) for n in names if n != "compile_report.json"]
  digest = hashlib.sha256()
  for file in sorted(files):
    digest.update(os.path.relpath(file, folder).encode() + b"\0")
    with open(file, "rb") as f:
      digest.update(hashlib.sha256(f.read()).digest())
  artifact = os.path.join(out_path, f"cs_{digest.hexdigest()[:16]}.tar.gz")

  def plain(info):
    info.mtime = info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info

  handle, part = tempfile.mkstemp(dir=out_path, prefix=".part")
  os.close(handle)
  try:
    with open(part, "wb") as file, gzip.GzipFile("", "wb", 1, file, 0) as packed:
      with tarfile.open(fileobj=packed, mode="w") as tar:
        tar.add(folder, arcname=name, filter=plain)
    os.replace(part, artifact)
  finally:
    if os.path.exists(part):
      os.remove(part)
  return artifact


def _unpack(artifact, folder):
  """Unpacks an artifact; returns the folder of the program in it."""
  path = os.fspath(artifact)
  if os.path.isdir(path):
    shutil.copytree(path, os.path.join(folder, os.path.basename(os.path.abspath(path))))
  elif os.path.isfile(path):
    try:
      with tarfile.open(path) as tar:
        for member in tar:
          target = os.path.normpath(os.path.join(folder, member.name))
          if not (member.isfile() or member.isdir()) or not target.startswith(folder + os.sep):
            raise RuntimeError(f"'{path}' is no artifact of a compilation: '{member.name}' would leave its folder")
          tar.extract(member, folder)
    except (tarfile.TarError, EOFError, OSError) as error:
      raise RuntimeError(f"'{path}' is no artifact of a compilation: {error}") from error
  else:
    raise FileNotFoundError(f"there is no artifact '{path}': SdkCompiler.compile() returns the path of one")
  for root, _, names in os.walk(folder):
    if "program.fb" in names:
      return root
  raise RuntimeError(f"'{path}' holds no compiled program")


class SdkCompiler:
  """compile() gives an artifact that SdkRuntime and SdkLauncher take."""

  def __init__(self, **options):
    _check_options("SdkCompiler", options)

  def __enter__(self):
    return self

  def __exit__(self, *_):
    pass

  def compile(self, app_path, csl_main, options="", out_path="."):
    """Compiles the layout `csl_main` of the folder `app_path`; returns the path of the artifact in `out_path`."""
    if not os.path.isdir(app_path):
      raise FileNotFoundError(f"there is no folder '{app_path}' with the program's sources")
    if not os.path.isfile(os.path.join(app_path, csl_main)):
      raise FileNotFoundError(f"there is no layout '{csl_main}' in '{app_path}'")
    name, rest = _output_of(shlex.split(options))
    name = os.path.basename(os.path.normpath(name))
    os.makedirs(out_path, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="wafersmith-") as work:
      folder = os.path.join(work, name)
      tools.run(["cslc", csl_main, "-o", folder] + rest, folder=app_path)
      return _pack(folder, name, out_path)


class SdkRuntime(LocalRuntime):
  """Loads an artifact and runs it, as a context; load, run and stop may be called as well."""

  def __init__(self, artifact, simulator=False, **options):
    _check_options("SdkRuntime", options, _RUNTIME_OPTIONS)
    self._unpacked = tempfile.TemporaryDirectory(prefix="wafersmith-")
    folder = _unpack(artifact, self._unpacked.name)
    super().__init__(folder, **{k: v for k, v in options.items() if k in _RUNTIME_OPTIONS})
    self.simulator = simulator

  # A context has loaded and started the program already; hosts call these all the same.
  def load(self):
    if self._state == "new":
      super().load()

  def run(self):
    if self._state == "loaded":
      super().run()

  def stop(self):
    if self._state != "stopped":
      super().stop()


class SdkLauncher:
  """Runs commands beside an unpacked artifact, as a context: stage() brings files in, download_artifact() out."""

  def __init__(self, artifact, simulator=False, **options):
    _check_options("SdkLauncher", options)
    self.simulator = simulator
    self._folder = tempfile.TemporaryDirectory(prefix="wafersmith-")
    _unpack(artifact, self._folder.name)
    # Hosts fetch the simulator's log, which is empty if nothing is printed.
    with open(os.path.join(self._folder.name, "sim.log"), "w", encoding="utf-8"):
      pass

  def __enter__(self):
    return self

  def __exit__(self, *_):
    self._folder.cleanup()

  def stage(self, path):
    """Copies a file or a folder into the launcher's folder, under its own name."""
    target = os.path.join(self._folder.name, os.path.basename(os.path.normpath(path)))
    if os.path.isdir(path):
      shutil.copytree(path, target, dirs_exist_ok=True)
    elif os.path.isfile(path):
      shutil.copy2(path, target)
    else:
      raise FileNotFoundError(f"there is no file or folder '{path}' to stage")

  def run(self, *commands):
    """Runs the commands of a shell one after the other; returns what they print. %CMADDR% stands for no address."""
    environment = dict(os.environ)
    environment["PATH"] = os.path.dirname(tools.find("cs_python")) + os.pathsep + environment.get("PATH", "")
    printed = ""
    for command in commands:
      line = re.sub("([\"']?)%CMADDR%\\1", "''", command)
      result = subprocess.run(["sh", "-c", line], cwd=self._folder.name, env=environment, text=True, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
      if result.stderr:
        print(result.stderr, end="", file=sys.stderr, flush=True)
      if result.returncode != 0:
        raise RuntimeError(f"'{command}' failed ({result.returncode}):\n{result.stderr or result.stdout}".rstrip())
      printed += result.stdout
    return printed

  def download_artifact(self, name, path):
    """Copies a file or a folder that the commands left to `path`, which may be a folder."""
    source = os.path.join(self._folder.name, name)
    if not os.path.exists(source):
      left = ", ".join(sorted(os.listdir(self._folder.name)))
      raise FileNotFoundError(f"the commands left no '{name}'; there are {left}")
    if os.path.isdir(path):
      path = os.path.join(path, os.path.basename(os.path.normpath(name)))
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    if os.path.isdir(source):
      shutil.copytree(source, path, dirs_exist_ok=True)
    else:
      shutil.copy2(source, path)
    return path
