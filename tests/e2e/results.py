#!/usr/bin/env python3
"""What leaves a language model (cs-compile --result): the last step's logits, those of masked positions and the places of
the largest ones are those of all logits.

Usage: results.py BIN SOURCE
"""
import os
import sys
import tempfile

import numpy as np

import small_graphs
from small_graphs import tool


def made(model, result, inputs, *options):
    """The only output of a language model that is compiled for this result."""
    tool("cs-compile", model, "-q", "--no-baselines", "--no-advice", "--result", result, *options, "-o", "p.csp")
    np.savez("in.npz", **inputs)
    tool("cs-sim", "p.csp", "-q", "--inputs", "in.npz", "--outputs", "out.npz")
    return dict(np.load("out.npz"))


def decoder(source):
    """The last step, and the largest logit of every step."""
    model = os.path.join(source, "models/configs/gpt2_tiny.yaml")
    ids = {"input_ids": np.random.default_rng(1).integers(0, 16, (1, 4)).astype(np.int32)}
    logits = made(model, "logits", ids)["logits"]
    last = made(model, "last", ids)["logits"]
    assert last.shape == (1, 1, logits.shape[2]), last.shape
    assert np.allclose(last, logits[:, -1:], rtol=1e-5, atol=1e-6), np.abs(last - logits[:, -1:]).max()
    tokens = made(model, "argmax", ids)["predictions"]
    assert (tokens == logits.argmax(axis=-1)).all(), tokens


def encoder(source):
    """Three positions, one of them twice."""
    model = os.path.join(source, "models/configs/bert_tiny.yaml")
    random = np.random.default_rng(2)
    shape = (1, 4)
    ids = {"input_ids": random.integers(0, 16, shape).astype(np.int32),
           "token_type_ids": random.integers(0, 2, shape).astype(np.int32)}
    logits = made(model, "logits", ids)["mlm_logits"]
    at = np.array([[2, 0, 2]], np.int32)
    masked = made(model, "masked", ids | {"masked_lm_positions": at},
                  "--set", "train_input.max_predictions_per_seq=3")["mlm_logits"]
    assert np.allclose(masked, logits[:, at[0]], rtol=1e-5, atol=1e-6), np.abs(masked - logits[:, at[0]]).max()


def what_is_none(source):
    """Results that a model does not have."""
    configs = os.path.join(source, "models/configs/")
    for model, result, options, said in (
            ("gpt2_tiny.yaml", "masked", (), "there are logits, last and argmax"),
            ("bert_tiny.yaml", "last", (), "there are logits, masked and argmax"),
            ("lenet_tiny.yaml", "last", (), "is a result of language models"),
            ("gpt2_tiny.yaml", "last", ("--set", "runconfig.mode=train"), "mode 'train' takes the logits of all steps"),
            ("../../tests/networks/gpt/model.onnx", "last", (), "is for language models of a configuration")):
        run = tool("cs-compile", configs + model, "--result", result, *options, "-o", "x.csp", code=1)
        assert said in run.stderr, run.stderr
        assert not os.path.exists("x.csp")


small_graphs.BIN = os.path.abspath(sys.argv[1])
checkout = os.path.abspath(sys.argv[2])
with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)
    for step in (decoder, encoder, what_is_none):
        step(checkout)
        print(f"{step.__name__}: ok")
