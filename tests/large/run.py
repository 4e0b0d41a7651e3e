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
MODELS = HERE.parent.parent / 'models' / 'configs'
# Values of configurations. The vocabulary is a prime number, as that of GPT-2 is nearly one, and a column of the
# table of words does not fit a PE of 16 KB.
TRANSFORMERS = {
    'gpt2_4096': (HERE / 'gpt2_4096.yaml', {'model.hidden_size': 64, 'model.num_heads': 4, 'model.filter_size': 256,
                                            'model.vocab_size': 3203, 'train_input.max_sequence_length': 16}),
    'bert_base': (MODELS / 'bert_base.yaml', {'model.hidden_size': 48, 'model.num_heads': 4, 'model.filter_size': 192,
                                              'model.num_hidden_layers': 2, 'model.vocab_size': 3203,
                                              'train_input.max_sequence_length': 8}),
}
# size of the picture, width, depth
COPIES = {
    'resnet18': (32, 0.125, 0.5),
    'resnet50': (32, 0.125, 0.2),
    'mobilenet_v2': (32, 0.125, 0.3),
    'efficientnet_b0': (32, 0.125, 0.2),
    'convnext_t': (32, 0.125, 0.2),
    'vit_b_16': (32, 0.1, 0.1),
}


def written(name, folder):
    """Arguments of cs-compile for the network."""
    if name in TRANSFORMERS:
        config, values = TRANSFORMERS[name]
        return [config] + [text for key, value in values.items() for text in ('--set', f'{key}={value}')]
    size, width, depth = COPIES[name]
    subprocess.run([sys.executable, HERE / 'networks.py', name, folder, '--size', str(size), '--width', str(width),
                    '--depth', str(depth)], check=True)
    return [folder / 'model.yaml']


def check(name, bin_folder, memory, folder):
    model = written(name, folder / name)
    want, program = folder / f'{name}.npz', folder / f'{name}.csp'
    small = ['--set', f'machine.core.memory_bytes={memory}']
    steps = (
        [bin_folder / 'cs-compile', *model, '--autogen-policy', 'disabled', '--host-ops', 'allow', '--no-baselines', '-q',
         '-o', program],
        [bin_folder / 'cs-sim', program, '--iterations', 2, '--outputs', want, '-q'],
        [bin_folder / 'cs-compile', *model, *small, '--host-ops', 'forbid', '--no-baselines', '-q', '-o', program],
        [bin_folder / 'cs-sim', program, '--iterations', 2, '--expect', want, '-q'],
    )
    for step in steps:
        done = subprocess.run([str(s) for s in step], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f'{name}: {" ".join(str(s) for s in step)}\n{done.stdout}{done.stderr}')
            return False
    print(f'{name}: {done.stdout.strip()}')
    return True


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--bin', type=pathlib.Path, required=True)
    p.add_argument('--memory', type=int, default=16384)
    p.add_argument('names', nargs='*', default=[*COPIES, *TRANSFORMERS])
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        good = [check(n, a.bin.resolve(), a.memory, pathlib.Path(folder)) for n in a.names]
    return 0 if all(good) else 1


if __name__ == '__main__':
    sys.exit(main())
