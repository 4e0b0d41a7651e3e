"""The Python package as a wheel: pip install --no-build-isolation .

CMake builds the tools and the native module, and its installation is what goes into the wheel: the packages, and the tools in
wafersmith/bin. WAFERSMITH_BUILD names a build tree that is there already, such as build/release; without it a Release build goes
to build/wheel.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

ROOT = os.path.dirname(os.path.abspath(__file__))
TOOLS = ("cs-compile", "cs-sim", "cs-objdump", "cs-regress", "cs-sweep", "cs-cache", "cslc", "csl-fmt", "csl-lsp")


def version():
  with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
    return re.search(r"project\(wafersmith VERSION ([0-9.]+)", file.read())[1]


def built_tree():
  given = os.environ.get("WAFERSMITH_BUILD")
  tree = os.path.join(ROOT, given) if given else os.path.join(ROOT, "build", "wheel")
  if not given:
    subprocess.run(["cmake", "-S", ROOT, "-B", tree, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DWAFERSMITH_TESTS=OFF",
                    "-DWAFERSMITH_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}"], check=True)
    subprocess.run(["cmake", "--build", tree], check=True)
  return tree


class Build(build_py):
  """Takes the files of an installation in place of those of the sources."""

  def run(self):
    with tempfile.TemporaryDirectory() as prefix:
      subprocess.run(["cmake", "--install", built_tree(), "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
      package = os.path.join(prefix, "lib", "wafersmith", "python")
      for name in ("wafersmith", "cerebras", "cerebras_appliance"):
        shutil.copytree(os.path.join(package, name), os.path.join(self.build_lib, name), dirs_exist_ok=True)
      tools = os.path.join(self.build_lib, "wafersmith", "bin")
      os.makedirs(tools, exist_ok=True)
      for name in TOOLS:
        shutil.copy2(os.path.join(prefix, "bin", name), tools)


class NativeDistribution(Distribution):
  def has_ext_modules(self):
    return True


setup(version=version(), packages=["wafersmith", "cerebras", "cerebras_appliance"], package_dir={"": "tools/python"}, cmdclass={"build_py": Build}, distclass=NativeDistribution)
