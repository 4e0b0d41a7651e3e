#!/usr/bin/env python3
"""Makes what training is judged by: the same steps with PyTorch (Debian's python3-torch) in float64 and float32.

  make_references.py DIGITS.csv.gz

DIGITS.csv.gz: 1,797 rows of 64 pixels from 0 to 16 and a label (see README.md). Written beside this file, by network:
NAME.data.npz (inputs of every step), NAME.start.npz (weights to begin with) and NAME.expected.npz: the loss of every
step in float64; the weights after 5 and after all steps in float64, rounded to float32; and `distance.STEPS.WEIGHT`,
how far float32 is from float64 by then (relative L2 norm). Run by hand; the tests only read.
"""
import gzip
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
BATCH, TRAINED, STEPS = 16, 1504, 200


def uniform(rng, shape, bound):
    return rng.uniform(-bound, bound, shape).astype(np.float32)


def mlp_start(rng):
    return {"layer0_w": uniform(rng, (64, 32), 64**-0.5), "layer0_b": uniform(rng, (32,), 64**-0.5),
            "classifier_w": uniform(rng, (32, 10), 32**-0.5), "classifier_b": uniform(rng, (10,), 32**-0.5)}


def mlp(p, x):
    return torch.relu(x @ p["layer0_w"] + p["layer0_b"]) @ p["classifier_w"] + p["classifier_b"]


def lenet_start(rng):
    start = {}
    for name, shape in {"conv0": (6, 1, 5, 5), "conv1": (16, 6, 5, 5)}.items():
        bound = float(np.prod(shape[1:])) ** -0.5
        start[name + "_w"], start[name + "_b"] = uniform(rng, shape, bound), uniform(rng, shape[:1], bound)
    for name, shape in {"dense0": (64, 120), "dense1": (120, 84), "classifier": (84, 10)}.items():
        bound = shape[0] ** -0.5
        start[name + "_w"], start[name + "_b"] = uniform(rng, shape, bound), uniform(rng, shape[1:], bound)
    return start


def lenet(p, x):
    h = F.max_pool2d(torch.relu(F.conv2d(x, p["conv0_w"], p["conv0_b"], padding=2)), 2)
    h = F.max_pool2d(torch.relu(F.conv2d(h, p["conv1_w"], p["conv1_b"])), 2).flatten(1)
    for name in ("dense0", "dense1"):
        h = torch.relu(h @ p[name + "_w"] + p[name + "_b"])
    return h @ p["classifier_w"] + p["classifier_b"]


HIDDEN, HEADS, FILTER, WORDS, LENGTH, LAYERS = 16, 2, 32, 32, 8, 2


def gpt_start(rng):
    start = {"token_embedding": uniform(rng, (WORDS, HIDDEN), 0.02),
             "position_embedding": uniform(rng, (LENGTH, HIDDEN), 0.02)}
    norms = ["final_norm"] + [f"layer{i}_norm{k}" for i in range(LAYERS) for k in (1, 2)]
    for norm in norms:
        start[norm + "_g"], start[norm + "_b"] = np.ones(HIDDEN, np.float32), np.zeros(HIDDEN, np.float32)
    for i in range(LAYERS):
        shapes = {f"attention_{k}": (HIDDEN, HIDDEN) for k in ("query", "key", "value", "output")}
        shapes |= {"ffn_up": (HIDDEN, FILTER), "ffn_down": (FILTER, HIDDEN)}
        for name, shape in shapes.items():
            bound = shape[0] ** -0.5
            start[f"layer{i}_{name}_w"] = uniform(rng, shape, bound)
            start[f"layer{i}_{name}_b"] = uniform(rng, shape[1:], bound)
    return start


def gpt(p, ids):
    def linear(name, x):
        return x @ p[name + "_w"] + p[name + "_b"]

    def norm(name, x):
        return F.layer_norm(x, (HIDDEN,), p[name + "_g"], p[name + "_b"], 1e-5)

    def heads(x):
        return x.reshape(x.shape[0], LENGTH, HEADS, HIDDEN // HEADS).transpose(1, 2)

    mask = torch.full((LENGTH, LENGTH), float("-inf"), dtype=p["final_norm_g"].dtype).triu(1)
    v = p["token_embedding"][ids.long()] + p["position_embedding"]
    for i in range(LAYERS):
        a, h = f"layer{i}_attention", norm(f"layer{i}_norm1", v)
        q, k, x = (heads(linear(f"{a}_{n}", h)) for n in ("query", "key", "value"))
        scores = q @ k.transpose(2, 3) / (HIDDEN // HEADS) ** 0.5 + mask
        v = v + linear(f"{a}_output", (scores.softmax(-1) @ x).transpose(1, 2).reshape(v.shape))
        v = v + linear(f"layer{i}_ffn_down", F.gelu(linear(f"layer{i}_ffn_up", norm(f"layer{i}_norm2", v))))
    return (norm("final_norm", v) @ p["token_embedding"].T).transpose(1, 2)


def train(model, start, inputs, targets, steps, rate, dtype):
    """Losses of all steps, and the weights after 5 and after all of them."""
    p = {k: torch.tensor(v, dtype=dtype, requires_grad=True) for k, v in start.items()}
    optimizer = torch.optim.AdamW(p.values(), lr=rate, weight_decay=0.01)
    losses, kept = [], {}
    for step in range(steps):
        x = torch.tensor(inputs[step % len(inputs)])
        x = x.to(dtype) if x.dtype == torch.uint8 else x
        loss = F.cross_entropy(model(p, x), torch.tensor(targets[step % len(targets)]).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step + 1 in (5, steps):
            kept[step + 1] = {k: v.detach().double().numpy().copy() for k, v in p.items()}
    return np.array(losses), kept


def write(name, model, start, inputs, targets, steps, rate, held_back=None):
    losses, weights = train(model, start, inputs, targets, steps, rate, torch.float64)
    _, rounded = train(model, start, inputs, targets, steps, rate, torch.float32)
    expected = {"loss": losses}
    for n, ws in weights.items():
        for k, w in ws.items():
            expected[f"weights.{n}.{k}"] = w.astype(np.float32)
            expected[f"distance.{n}.{k}"] = np.linalg.norm(rounded[n][k] - w) / max(np.linalg.norm(w), 1e-30)
    if held_back is not None:
        expected["held_back"], expected["held_back_labels"] = held_back
        p = {k: torch.tensor(w) for k, w in weights[steps].items()}
        right = model(p, torch.tensor(held_back[0]).double()).argmax(1).numpy() == held_back[1]
        print(f"{name}: {right.mean():.1%} of {right.size} held-back images right")
    print(f"{name}: loss {losses[0]:.4f} -> {losses[-1]:.4f}")
    key = "input_ids" if name == "gpt" else "image" if name == "lenet" else "x"
    np.savez_compressed(HERE / f"{name}.data.npz", **{key: inputs, "target": targets})
    np.savez_compressed(HERE / f"{name}.start.npz", **start)
    np.savez_compressed(HERE / f"{name}.expected.npz", **expected)


def main():
    torch.use_deterministic_algorithms(True)
    rng = np.random.default_rng(1)
    rows = np.loadtxt(gzip.open(sys.argv[1]), delimiter=",")
    rows = rows[rng.permutation(len(rows))]
    pixels, labels = rows[:, :64].astype(np.uint8), rows[:, 64].astype(np.uint8)
    x, y = pixels[:TRAINED].reshape(-1, BATCH, 64), labels[:TRAINED].reshape(-1, BATCH)
    write("mlp", mlp, mlp_start(rng), x, y, STEPS, 0.003, (pixels[TRAINED:], labels[TRAINED:]))
    large = pixels.reshape(-1, 1, 8, 8).repeat(2, 2).repeat(2, 3)
    write("lenet", lenet, lenet_start(rng), large[:TRAINED].reshape(-1, BATCH, 1, 16, 16), y, STEPS, 0.001,
          (large[TRAINED:], labels[TRAINED:]))
    text = np.cumsum(rng.integers(0, 4, (5, 2, LENGTH + 1)), -1) % WORDS  # steps of at most three words
    write("gpt", gpt, gpt_start(rng), text[..., :-1].astype(np.int32), text[..., 1:].astype(np.int32), 5, 0.001)


if __name__ == "__main__":
    main()
