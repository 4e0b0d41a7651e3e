"""SdkCompileArtifacts: the folder of a compiled program, as SdkLayout.compile returns it and SdkRuntime takes it."""
import json
import os


class SdkCompileArtifacts:
  """A Program folder, given itself, by the folder it lies in, or by the prefix it was compiled with."""

  def __init__(self, path):
    self._path = _program_folder(os.path.abspath(os.fspath(path)))

  def add_port_mapping(self, file):
    """Checks a port map that compile(save_port_map=True) wrote; the ports are in the Program itself."""
    with open(file, encoding="utf-8") as text:
      ports = json.load(text)
    if not isinstance(ports, dict):
      raise ValueError(f"'{file}' is no port map: an object of names and numbers is needed")
    return self

  def __fspath__(self):
    return self._path

  def __str__(self):
    return self._path

  def __repr__(self):
    return f"SdkCompileArtifacts({self._path!r})"


def _program_folder(path):
  def is_program(folder):
    return os.path.isfile(os.path.join(folder, "program.fb"))

  if is_program(path):
    return path
  below = sorted(os.listdir(path)) if os.path.isdir(path) else []
  programs = [name for name in below if is_program(os.path.join(path, name))]
  if len(programs) == 1:
    return os.path.join(path, programs[0])
  if programs:
    raise ValueError(f"'{path}' holds {len(programs)} programs ({', '.join(programs)}); name one of them")
  raise FileNotFoundError(f"'{path}' is no compiled program: there is no program.fb in it")
