#!/bin/sh
# Builds the wheel from the tree that is there, installs it into an environment of its own with the system's packages, and works
# with it from a folder elsewhere. No network: setuptools is the system's.
#   wheel.sh BUILD SOURCE WORK
set -eu
build=$1 source=$2 work=$3
/usr/bin/python3 -c 'import setuptools, venv, ensurepip' 2>/dev/null || exit 77
rm -rf "$work"
mkdir -p "$work/desk"
# What setup.py makes beside itself stays out of the sources.
mkdir "$work/source"
cp "$source/pyproject.toml" "$source/setup.py" "$source/README.md" "$source/CMakeLists.txt" "$work/source"
mkdir "$work/source/tools"
cp -r "$source/tools/python" "$work/source/tools"
/usr/bin/python3 -m venv --system-site-packages "$work/env"
WAFERSMITH_BUILD="$build" "$work/env/bin/python" -m pip install --no-build-isolation --no-index --no-deps -q "$work/source"
cp -r "$source/tests/sim" "$work/desk"
cd "$work/desk"
run() { env -i "PATH=$work/env/bin:/usr/bin:/bin" "HOME=$work" "$@"; }
run cs-compile --version
run python "$source/tests/e2e/wheel_use.py"
run python "$source/tests/e2e/python_library/use.py" "$source"
run python -m pip uninstall -q -y wafersmith
if run python -c 'import wafersmith' 2>/dev/null; then echo "uninstalling leaves the package" >&2; exit 1; fi
