#!/usr/bin/env python3
"""What the project says of networks and tools as a whole, checked by hand: runs of minutes that no test suite has time for.

    acceptance.py --bin build/release/bin [--work FOLDER] [--only NAME ...]

compile         eight known networks at full size for the wafer, each in at most 90 s and 8 GB
sizes           operators at the sizes of large networks: compiled for the wafer, simulated, against the host's evaluation
chains          10,000 operators in a row and 500 outputs in at most 10 s each, a Sum of 300 in at most 5
kills           200 times kill -9: OUT is the old or the new Program
plans           plan to Program: the bytes of the Program made in one go, for every model and policy
hosts_keys      without operators on the host, cycles do not depend on the host's keys
counterparts    every generated kernel of models.yaml stands beside its operators by hand or by primitives
advice          of the ten networks that use the wafer least, eight get advice of 5 % and gain what it says
repro           small models that once failed run and match, under each policy, on two machines

Every line is a figure and whether it holds. The last line counts them; the exit code is 1 where one does not.
"""
import argparse
import hashlib
import json
import os
import pathlib
import random
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time

import numpy
import onnx
import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
POLICIES = ('disabled', 'medium', 'aggressive')


class Walk:
    def __init__(self, bin_folder, work):
        self.bin, self.work = bin_folder, work
        self.passed = self.failed = 0

    def line(self, holds, text):
        self.passed, self.failed = self.passed + bool(holds), self.failed + (not holds)
        print(f'  {"ok  " if holds else "FAIL"} {text}', flush=True)

    def folder(self, name):
        path = self.work / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    def run(self, tool, *args):
        return subprocess.run([self.bin / tool, *map(str, args)], capture_output=True, text=True, check=False)

    def measured(self, tool, *args):
        """Finished process, seconds of the clock, seconds of processors, megabytes at most."""
        start = time.monotonic()
        child = subprocess.Popen([self.bin / tool, *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                 text=True)
        err = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        return child.returncode, err, time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else ''


def rows(suite):
    """Rows of a suite with their files as absolute paths."""
    file = ROOT / 'configs' / 'suites' / suite
    for row in yaml.safe_load(file.read_text())['suite']:
        yield {key: (file.parent / row[key]).resolve() if key in ('program', 'inputs', 'check') else row[key] for key in row}


def samples(row):
    """Arguments of cs-sim: what goes in, what has to come out."""
    inputs = ['--inputs', row['inputs']] if 'inputs' in row else []
    return [*inputs, '--expect', row['check'], '--iterations', row.get('iterations', 1)]


# ---- compile ---------------------------------------------------------------------------------------------------------

def compile_large(walk):
    folder = walk.folder('large')
    models = {'gpt2_4096': HERE / 'gpt2_4096.yaml', 'bert_base': ROOT / 'models/configs/bert_base.yaml'}
    for name in ('resnet18', 'resnet50', 'mobilenet_v2', 'efficientnet_b0', 'convnext_t', 'vit_b_16'):
        subprocess.run([sys.executable, HERE / 'networks.py', name, folder / name], check=True)
        models[name] = folder / name / 'model.yaml'
    for name, model in models.items():
        code, err, clock, cpu, mb = walk.measured('cs-compile', model, '--host-ops', 'forbid', '-q', '-o', folder / 'p.csp')
        walk.line(code == 0 and clock <= 90 and mb <= 8192,
                  f'{name}: exit {code}, {clock:.1f} s ({cpu:.1f} s of processors) of 90, {mb:.0f} MB of 8,192 {last_line(err) if code else ""}')
        shutil.rmtree(folder / 'p.csp', ignore_errors=True)
        if name in models and model.parent.parent == folder:
            shutil.rmtree(model.parent)


# ---- sizes -----------------------------------------------------------------------------------------------------------

def size_models():
    """name, input, nodes, shapes of constants. Text of nodes as model files have it."""
    def one(op, inputs='x', attrs=''):
        return f'  - {{name: y, op: {op}, inputs: [{inputs}]{", attrs: {" + attrs + "}" if attrs else ""}}}\n'
    row = 'f32[1, 65536]'
    yield 'matmul_8192x8192', 'f32[1, 8192]', one('matmul', 'x, w'), {'w': (8192, 8192)}
    yield 'matmul_8192x28672', 'f32[1, 8192]', one('matmul', 'x, w'), {'w': (8192, 28672)}
    yield 'rms_norm_8192', 'f32[4, 8192]', one('rms_norm', 'x, a'), {'a': (8192,)}
    yield 'layer_norm_8192', 'f32[4, 8192]', one('layer_norm', 'x, a, b'), {'a': (8192,), 'b': (8192,)}
    for op in ('softmax', 'log_softmax', 'neg', 'gelu'):
        yield f'{op}_65536', row, one(op), {}
    yield 'reduce_sum_65536', row, one('reduce_sum', 'x', 'axes: [1]'), {}
    yield 'reduce_max_65536', row, one('reduce_max', 'x', 'axes: [1]'), {}
    yield 'arg_max_65536', row, one('arg_max', 'x', 'axis: 1'), {}
    yield 'top_k_65536', row, one('top_k', 'x', 'k: 5'), {}
    yield 'concat_65536', row, one('concat', 'x, x', 'axis: 1'), {}
    yield 'cum_sum_1000000', 'f32[1000000]', one('cum_sum', 'x', 'axis: 0'), {}
    yield 'softmax_50257', 'f32[1, 50257]', one('softmax'), {}
    yield 'arg_max_50257', 'f32[2, 50257]', one('arg_max', 'x', 'axis: 1'), {}
    yield 'vocabulary_50257', 'f32[2, 768]', one('matmul', 'x, w'), {'w': (768, 50257)}
    yield 'embedding_50257', 'i32[4]', one('gather', 'w, x', 'axis: 0'), {'w': (50257, 768)}
    yield 'conv_1x1_512_2048', 'f32[1, 512, 7, 7]', one('conv', 'x, w', 'kernel_shape: [1, 1]'), {'w': (2048, 512, 1, 1)}
    yield 'conv_3x3_512_2048', 'f32[1, 512, 4, 4]', one('conv', 'x, w', 'kernel_shape: [3, 3], pads: [1, 1, 1, 1]'), {'w': (2048, 512, 3, 3)}
    yield 'max_pool_112', 'f32[1, 64, 112, 112]', one('max_pool', 'x', 'kernel_shape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1]'), {}


def write_model(folder, form, nodes, constants):
    rng, offset, lines = numpy.random.default_rng(1), 0, ''
    with open(folder / 'weights.bin', 'wb') as weights:
        for name, shape in constants.items():
            lines += f'  - {{name: {name}, type: "f32{list(shape)}", offset: {offset}}}\n'
            scale = shape[0] ** -0.5
            for _ in range(shape[0]):
                part = rng.uniform(-scale, scale, shape[1:]).astype('<f4')
                weights.write(part.tobytes())
                offset += part.nbytes
    text = 'weights: weights.bin\n' if constants else ''
    text += f'inputs:\n  - {{name: x, type: "{form}"}}\n' + (f'constants:\n{lines}' if constants else '')
    (folder / 'model.yaml').write_text(f'{text}nodes:\n{nodes}outputs: [y]\n')
    shape = [int(n) for n in form[form.index('[') + 1:-1].split(',')]
    x = rng.integers(0, 50257, shape).astype('<i4') if form[0] == 'i' else rng.normal(size=shape).astype('<f4')
    numpy.savez(folder / 'in.npz', x=x)


def sizes(walk):
    for name, form, nodes, constants in size_models():
        folder = walk.folder('sizes')
        write_model(folder, form, nodes, constants)
        host = walk.run('cs-compile', folder / 'model.yaml', '--autogen-policy', 'disabled', '--host-ops', 'allow',
                        '--no-baselines', '-q', '-o', folder / 'host.csp')
        want = walk.run('cs-sim', folder / 'host.csp', '--inputs', folder / 'in.npz', '--outputs', folder / 'want.npz', '-q')
        code, err, clock, _, mb = walk.measured('cs-compile', folder / 'model.yaml', '--host-ops', 'forbid',
                                                '--no-baselines', '-q', '-o', folder / 'p.csp')
        if host.returncode or want.returncode or code:
            walk.line(False, f'{name}: {last_line(host.stderr)} {last_line(want.stderr)} {last_line(err)}')
            continue
        sim, err, took, _, sim_mb = walk.measured('cs-sim', folder / 'p.csp', '--inputs', folder / 'in.npz', '--expect',
                                                  folder / 'want.npz', '-q')
        walk.line(sim == 0 and clock <= 90 and mb <= 8192,
                  f'{name}: compiled in {clock:.1f} s, {mb:.0f} MB; simulated in {took:.1f} s, {sim_mb:.0f} MB {last_line(err) if sim else ""}')
    shutil.rmtree(walk.work / 'sizes', ignore_errors=True)


# ---- chains ----------------------------------------------------------------------------------------------------------

def chain(ops, count):
    """Operators one after another; binary ones take the input too, so that ways rejoin."""
    lines, last = '', 'x'
    for i in range(count):
        op = ops[i % len(ops)]
        lines += f'  - {{name: n{i}, op: {op}, inputs: [{last}{", x" if op in ("add", "mul") else ""}]}}\n'
        last = f'n{i}'
    return f'inputs:\n  - {{name: x, type: "f32[64]"}}\nnodes:\n{lines}outputs: [{last}]\n'


def sum_of(count):
    """An ONNX model of one Sum."""
    def value(name):
        return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 64])
    names = [f'x{i}' for i in range(count)]
    graph = onnx.helper.make_graph([onnx.helper.make_node('Sum', names, ['y'])], 'sum', [value(n) for n in names], [value('y')])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid('', 13)]).SerializeToString()


def chains(walk):
    folder = walk.folder('chains')
    cases = {'10,000 of ' + ', '.join(ops): (chain(ops, 10000), 10)
             for ops in (('neg',), ('sigmoid',), ('neg', 'exp'), ('softmax',), ('relu', 'tanh', 'abs'), ('neg', 'softmax'))}
    nodes = ''.join(f'  - {{name: y{i}, op: {("neg", "abs", "exp", "relu")[i % 4]}, inputs: [x]}}\n' for i in range(500))
    cases['500 outputs'] = ('inputs:\n  - {name: x, type: "f32[64]"}\nnodes:\n' + nodes +
                            f'outputs: [{", ".join(f"y{i}" for i in range(500))}]\n', 10)
    cases['a Sum of 300'] = (sum_of(300), 5)
    for name, (model, limit) in cases.items():
        file = folder / ('m.yaml' if isinstance(model, str) else 'm.onnx')
        file.write_bytes(model.encode() if isinstance(model, str) else model)
        for policy in ('disabled', 'medium'):
            allow = ['--host-ops', 'allow'] if policy == 'disabled' else []
            code, err, clock, cpu, mb = walk.measured('cs-compile', file, '--autogen-policy', policy, *allow,
                                                      '-q', '-o', folder / 'p.csp')
            walk.line(code == 0 and cpu <= limit,
                      f'{name}, {policy}: {clock:.1f} s ({cpu:.1f} s of processors) of {limit}, {mb:.0f} MB {last_line(err) if code else ""}')


# ---- kills -----------------------------------------------------------------------------------------------------------

def contents(folder):
    """Hashes of files but for the report, which has times in it."""
    return {str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest()
            for f in sorted(folder.rglob('*')) if f.is_file() and f.name != 'compile_report.json'}


def kills(walk, count=200):
    folder, rng = walk.folder('kills'), random.Random(7)
    model = ROOT / 'models/mnist_mlp/model.onnx'
    forms = {}
    for policy in ('medium', 'aggressive'):
        start = time.monotonic()
        subprocess.run([walk.bin / 'cs-compile', model, '--autogen-policy', policy, '-q', '-o', folder / f'{policy}.csp'], check=True)
        took = time.monotonic() - start
        forms[policy] = contents(folder / f'{policy}.csp')
    shutil.copytree(folder / 'medium.csp', folder / 'out.csp')
    killed = torn = 0
    for i in range(count):
        child = subprocess.Popen([walk.bin / 'cs-compile', model, '--autogen-policy', ('aggressive', 'medium')[i % 2], '-q', '-o',
                                  folder / 'out.csp'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # The last fifth of a run is where files are written.
        time.sleep(took * (1.1 * rng.random() if i % 3 == 0 else 0.8 + 0.3 * rng.random()))
        child.send_signal(signal.SIGKILL)
        killed += child.wait() == -signal.SIGKILL
        torn += contents(folder / 'out.csp') not in forms.values()
    left = [f.name for f in folder.iterdir() if f.name not in ('medium.csp', 'aggressive.csp', 'out.csp')]
    walk.line(torn == 0 and killed > count // 4, f'{count} runs, {killed} killed, {torn} torn Programs')
    subprocess.run([walk.bin / 'cs-compile', model, '--autogen-policy', 'medium', '-q', '-o', folder / 'out.csp'], check=True)
    after = [f.name for f in folder.iterdir() if f.name not in ('medium.csp', 'aggressive.csp', 'out.csp')]
    walk.line(not after and contents(folder / 'out.csp') == forms['medium'],
              f'{len(left)} temporary files before the next run, {len(after)} after it')


# ---- plans, host keys, counterparts ----------------------------------------------------------------------------------

def plans(walk):
    folder, equal, different = walk.folder('plans'), 0, []
    models = {str(row['program']): row['program'] for suite in ('models.yaml', 'networks.yaml', 'smoke.yaml')
              for row in rows(suite) if row['program'].suffix in ('.yaml', '.onnx')}
    for model in models.values():
        for policy in POLICIES:
            made = walk.run('cs-compile', model, '--autogen-policy', policy, '--host-ops', 'allow', '-q', '--no-baselines', '-o', folder / 'a.csp')
            plan = walk.run('cs-compile', model, '--autogen-policy', policy, '--host-ops', 'allow', '-q', '--emit', 'plan', '-o', folder / 'plan.yaml')
            again = walk.run('cs-compile', folder / 'plan.yaml', '-q', '--no-baselines', '-o', folder / 'b.csp')
            if made.returncode == plan.returncode == again.returncode == 0 and contents(folder / 'a.csp') == contents(folder / 'b.csp'):
                equal += 1
            else:
                different.append(f'{model.parent.name}/{model.name} {policy} {last_line(made.stderr + plan.stderr + again.stderr)}')
    walk.line(not different, f'{equal} plans give the same Program, {len(different)} do not {"; ".join(different[:5])}')


def hosts_keys(walk):
    folder, same, moved, with_host = walk.folder('hosts'), 0, [], 0
    keys = []
    machine = yaml.safe_load((ROOT / 'configs/machines/wse2.yaml').read_text())
    for key, value in machine['host'].items():
        if key.endswith('_us') and isinstance(value, (int, float)):
            keys += ['--set', f'machine.host.{key}={10 * value}']
    for row in [*rows('models.yaml'), *rows('networks.yaml')]:
        made = walk.run('cs-compile', row['program'], '-q', '--no-baselines', '-o', folder / 'a.csp')
        slow = walk.run('cs-compile', row['program'], *keys, '-q', '--no-baselines', '-o', folder / 'b.csp')
        a = walk.run('cs-sim', folder / 'a.csp', *samples(row), '--json')
        b = walk.run('cs-sim', folder / 'b.csp', *samples(row), '--json')
        if made.returncode or slow.returncode or a.returncode or b.returncode:
            moved.append(f'{row["name"]}: {last_line(made.stderr + slow.stderr + a.stderr + b.stderr)}')
            continue
        a, b = json.loads(a.stdout), json.loads(b.stdout)
        if any(k['origin'] == 'host' for k in a['kernels']):
            with_host += 1
        elif a['cycles'] == b['cycles']:
            same += 1
        else:
            moved.append(f'{row["name"]} {a["cycles"]} {b["cycles"]}')
    walk.line(not moved, f'{same} rows without operators on the host take the same cycles at ten times its costs, '
              f'{len(moved)} others, {with_host} have host operators {"; ".join(moved[:5])}')


def counterparts(walk):
    folder, beside, alone = walk.folder('counterparts'), 0, []
    for row in rows('models.yaml'):
        for machine in ('wse2', 'wse3'):
            made = walk.run('cs-compile', row['program'], '-m', machine, '-q', '-o', folder / 'p.csp')
            report = walk.run('cs-sim', folder / 'p.csp', *samples(row), '--report', folder / 'report', '--json')
            if made.returncode or report.returncode:
                alone.append(f'{row["name"]}: {last_line(made.stderr + report.stderr)}')
                continue
            for kernel in json.loads(report.stdout)['kernels']:
                if kernel['origin'] == 'autogen':
                    ok = kernel.get('counterpart')
                    beside, alone = beside + bool(ok), alone + ([] if ok else [f'{row["name"]}/{machine} {kernel["name"]}'])
    walk.line(not alone, f'{beside} generated kernels beside a counterpart, {len(alone)} alone {"; ".join(alone[:5])}')


# ---- advice, repro ---------------------------------------------------------------------------------------------------

def advice(walk):
    folder, found = walk.folder('advice'), []
    for row in rows('networks.yaml'):
        made = walk.run('cs-compile', row['program'], '-q', '--no-baselines', '--no-advice', '-o', folder / 'p.csp')
        ran = walk.run('cs-sim', folder / 'p.csp', *samples(row), '--json')
        if made.returncode == 0 and ran.returncode == 0:
            found.append((json.loads(ran.stdout)['efficiency'], row))
    lowest = sorted(found, key=lambda pair: pair[0])[:10]
    gained = 0
    for efficiency, row in lowest:
        walk.run('cs-compile', row['program'], '-q', '-o', folder / 'p.csp')
        ran = walk.run('cs-sim', folder / 'p.csp', *samples(row), '--report', folder / 'report', '--json')
        given = json.loads(ran.stdout).get('advice', [])
        kept = []
        for item in given:
            words = shlex.split(item['command'])
            words[-1] = str(folder / 'faster.csp')
            done = walk.run('cs-compile', *words[1:])
            better = walk.run('cs-sim', folder / 'faster.csp', *samples(row), '--json')
            stats = json.loads(better.stdout) if done.returncode == better.returncode == 0 else {}
            kept.append(stats.get(item['figure']) == item['advised'] and item['gain'] >= 0.05)
        gained += bool(kept) and all(kept)
        print(f'       {row["name"]}: efficiency {efficiency:.4f}, {len(given)} with gains {[round(i["gain"], 3) for i in given]}, as said: {kept}', flush=True)
    walk.line(gained >= 8, f'{gained} of {len(lowest)} gain what their advice says (8 asked)')


def repro(walk):
    folder = walk.folder('repro')
    right = total = 0
    wrong = []
    for model in sorted((ROOT / 'tests/models').rglob('model.onnx')):
        refused = 'out_of_range' in model.parent.name
        for policy in POLICIES:
            for machine in ('wse2', 'wse3'):
                made = walk.run('cs-compile', model, '-m', machine, '--autogen-policy', policy, '--host-ops', 'allow', '--no-baselines', '-q', '-o', folder / 'p.csp')
                code, err = made.returncode, made.stderr
                for inputs in sorted(model.parent.glob('inputs_*.npz')) if code == 0 else []:
                    ran = walk.run('cs-sim', folder / 'p.csp', '--inputs', inputs, '--expect', model.parent / inputs.name.replace('inputs', 'expected'), '-q')
                    code, err = code or ran.returncode, err + ran.stderr
                total += 1
                if (code == 0) != refused:
                    right += 1
                else:
                    wrong.append(f'{model.parent.name} {policy} {machine}: {last_line(err)}')
    walk.line(not wrong, f'{right} of {total} runs {"; ".join(wrong[:5])}')


PARTS = {'compile': compile_large, 'sizes': sizes, 'chains': chains, 'kills': kills, 'plans': plans, 'hosts_keys': hosts_keys,
         'counterparts': counterparts, 'advice': advice, 'repro': repro}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bin', type=pathlib.Path, required=True)
    parser.add_argument('--work', type=pathlib.Path, default=pathlib.Path('/var/tmp/wafersmith-acceptance'))
    parser.add_argument('--only', nargs='+', choices=PARTS, default=list(PARTS), metavar='NAME')
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    walk = Walk(args.bin.resolve(), args.work)
    for name in args.only:
        print(name, flush=True)
        PARTS[name](walk)
    print(f'{walk.passed} passed, {walk.failed} failed')
    return walk.failed > 0


if __name__ == '__main__':
    sys.exit(main())
