"""What the installed wheel is: typed, its own, and ended by Ctrl-C as a program of its own is. wheel_use.py"""
import os
import signal
import subprocess
import sys
import sysconfig

import wafersmith as ws
from wafersmith import embedded

home = os.path.dirname(os.path.abspath(ws.__file__))
assert home.startswith(sysconfig.get_path("platlib")) or home.startswith(sysconfig.get_path("purelib")), home
for name in ("py.typed", "embedded.pyi"):
  assert os.path.exists(os.path.join(home, name)), name
assert os.path.dirname(embedded.__file__) == home and "wse3" in embedded.machines()

# Ctrl-C of a terminal ends a run that would go on for ever, and what it started.
code = ("import wafersmith as ws\n"
        "p = ws.compile_layout('sim/chain_layout.csl', params={'P': 4, 'B': 8, 'buffered': False})\n"
        "with p.session() as s:\n  print('ready', flush=True)\n  while True: s.launch('run')\n")
child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         start_new_session=True)
assert child.stdout.readline() == "ready\n", child.stderr.read()
os.killpg(child.pid, signal.SIGINT)
assert "KeyboardInterrupt" in child.communicate(timeout=60)[1]
print("wheel ok")
