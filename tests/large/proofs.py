#!/usr/bin/env python3
"""Networks of full width, a few layers of them, simulated with every wavelet: values against numpy, cycles against the estimate.

    proofs.py --bin build/release/bin [--work FOLDER] [--samples N] [--threads N] [NAME ...]

gpt2            two layers of GPT-2 small with its 1,024 steps, in shards as the whole network is compiled
gpt2_256        the same with 256 steps
bert            two layers of BERT base, 128 steps, masked positions

What is printed: estimated and simulated interval, the largest difference of an output and the largest output, seconds and
memory. Exit code 1 where a value is wrong or the interval is beyond 15 % of its estimate.
"""
import argparse
import json
import pathlib
import resource
import subprocess
import sys
import time

import numpy

import graph_values

HERE = pathlib.Path(__file__).resolve().parent
MODELS = HERE.parent.parent / 'models' / 'configs'
GPT2 = ['--result', 'last', '--shards', 3, '--rewrite', 'heads=12', '--rewrite', 'sums=4', '--rewrite', 'attention=on']
BERT = ['--result', 'masked', '--shards', 4, '--rewrite', 'columns=32', '--rewrite', 'sums=6']
# Model, values of it, how it is compiled, tolerance relative to the largest output.
PROOFS = {
    'gpt2': ('gpt2_2layer.yaml', ['train_input.max_sequence_length=1024', 'model.max_position_embeddings=1024'], GPT2, 1e-2),
    'gpt2_256': ('gpt2_2layer.yaml', [], GPT2, 1e-2),
    'bert': ('bert_2layer.yaml', [], BERT, 1e-4),
}


def drawn(inputs, rng, samples):
    limits = {'input_ids': 30000, 'token_type_ids': 2, 'masked_lm_positions': 128}
    return {name: rng.integers(0, limits[name], [samples, *shape[1:]]).astype('<i4') for name, shape in inputs.items()}


def shapes(text):
    for line in text.read_text().splitlines():
        if line.strip().startswith('- {name:') and 'sample_dim' in line and 'type' in line:
            fields = line.strip()[3:].rstrip('}').split(', ', 1)
            kind = fields[1].split('"')[1]
            yield fields[0].split(': ')[1], [int(n) for n in kind[kind.index('[') + 1:-1].split(',')]


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f'{" ".join(str(c) for c in command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}')
    return done.stdout


def proof(name, a):
    model, values, how, tolerance = PROOFS[name]
    config = [MODELS / model] + [text for value in values for text in ('--set', value)]
    text, program = a.work / f'{name}.yaml', a.work / f'{name}.csp'
    run(a.bin / 'cs-compile', *config, *how[:2], '--emit', 'graph', '-o', text, '-q')
    given = drawn(dict(shapes(text)), numpy.random.default_rng(1), a.samples)
    numpy.savez(a.work / f'{name}_in.npz', **given)
    want = [graph_values.outputs(text, {k: v[s:s + 1] for k, v in given.items()}) for s in range(a.samples)]
    began = time.monotonic()
    report = json.loads(run(a.bin / 'cs-compile', *config, *how, '--no-baselines', '--json', '-o', program))
    compiled = time.monotonic()
    stats = json.loads(run(a.bin / 'cs-sim', program, '--inputs', a.work / f'{name}_in.npz', '--outputs', a.work / f'{name}_out.npz',
                           '-j', a.threads, '--json'))
    ended = time.monotonic()
    got = numpy.load(a.work / f'{name}_out.npz')
    right = True
    for output in want[0]:
        expected = numpy.concatenate([w[output] for w in want])
        size, difference = numpy.abs(expected).max(), numpy.abs(got[output].reshape(expected.shape) - expected).max()
        right = right and difference <= tolerance * size
        print(f'{name}: {output} at most {size:.4g}, differences at most {difference:.3g}')
    ends = stats['sample_end']
    estimate, simulated = report['estimate']['interval_cycles'], stats['interval_cycles'] or ends[-1] - ends[-2]
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f'{name}: estimated {estimate:.0f}, simulated {simulated:.0f} cycles ({100 * (estimate / simulated - 1):+.1f} %), '
          f'compiled in {compiled - began:.0f} s, simulated in {ended - compiled:.0f} s, {memory:.0f} MB', flush=True)
    return right and abs(estimate / simulated - 1) <= 0.15


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--bin', type=pathlib.Path, required=True)
    p.add_argument('--work', type=pathlib.Path, default=pathlib.Path('proofs'))
    p.add_argument('--samples', type=int, default=4)
    p.add_argument('--threads', type=int, default=2)
    p.add_argument('names', nargs='*', default=[*PROOFS])
    a = p.parse_args()
    a.bin = a.bin.resolve()
    a.work.mkdir(parents=True, exist_ok=True)
    good = [proof(n, a) for n in a.names]
    return 0 if all(good) else 1


if __name__ == '__main__':
    sys.exit(main())
