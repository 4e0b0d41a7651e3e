#!/usr/bin/env python3
"""Scaled copies of known networks on PEs with little memory compute what the host's evaluation computes.

    run.py --bin build/release/bin [--memory BYTES] [NAME ...]
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# size of the picture, width, depth
COPIES = {
    'resnet18': (32, 0.125, 0.5),
    'resnet50': (32, 0.125, 0.2),
    'mobilenet_v2': (32, 0.125, 0.3),
    'efficientnet_b0': (32, 0.125, 0.2),
    'convnext_t': (32, 0.125, 0.2),
    'vit_b_16': (32, 0.1, 0.1),
}


def check(name, bin_folder, memory, folder):
    size, width, depth = COPIES[name]
    model = folder / name / 'model.yaml'
    want, program = folder / name / 'want.npz', folder / name / 'p.csp'
    steps = (
        [sys.executable, HERE / 'networks.py', name, model.parent, '--size', size, '--width', width, '--depth', depth],
        [bin_folder / 'cs-compile', model, '--autogen-policy', 'disabled', '--no-baselines', '-q', '-o', program],
        [bin_folder / 'cs-sim', program, '--iterations', 2, '--outputs', want, '-q'],
        [bin_folder / 'cs-compile', model, '--set', f'machine.core.memory_bytes={memory}', '--no-baselines', '-q', '-o',
         program],
        [bin_folder / 'cs-sim', program, '--iterations', 2, '--expect', want, '-q'],
    )
    for step in steps:
        done = subprocess.run([str(s) for s in step], capture_output=True, text=True, check=False)
        if done.returncode != 0 or ('--set' in step and done.stderr):
            print(f'{name}: {" ".join(str(s) for s in step)}\n{done.stdout}{done.stderr}')
            return False
    print(f'{name}: {done.stdout.strip()}')
    return True


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--bin', type=pathlib.Path, required=True)
    p.add_argument('--memory', type=int, default=16384)
    p.add_argument('names', nargs='*', default=list(COPIES))
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        good = [check(n, a.bin.resolve(), a.memory, pathlib.Path(folder)) for n in a.names]
    return 0 if all(good) else 1


if __name__ == '__main__':
    sys.exit(main())
