#!/usr/bin/python3
"""Exports the networks of configs/suites/networks.yaml with torch.onnx.export: NAME/model.onnx, inputs_0.npz, expected_0.npz.

  tests/networks/export.py [NAME ...]      needs python3-torch and python3-onnx (Debian 12: PyTorch 1.13)

Every network is seeded by its name, in evaluation mode, with running statistics that are not those of initialisation.
Expected outputs are PyTorch's in double precision. NAME_batch is the same network with a symbolic batch and 3 samples.
"""
import copy
import os
import sys
import warnings
import zlib

import numpy as np
import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "graphs"))
import cnn as c  # noqa: E402
import graph as graphs  # noqa: E402
import recurrent as r  # noqa: E402
import transformers as t  # noqa: E402

IMAGE = (3, 16, 16)


def ids(count, length):
    return lambda n: torch.randint(0, count, (n, length))


def ones(length):
    """A mask that hides the last positions of every sample."""
    return lambda n: torch.stack([(torch.arange(length) < length - 1 - i % 3).float() for i in range(n)])


def mean_of(*shape):
    """A positive matrix, an adjacency."""
    return lambda n: torch.rand(n, *shape) + 0.1


# name: (network, inputs as shapes without the batch or functions of it, whether the batch may be symbolic)
NETWORKS = {
    "mlp_bn": (r.mlp_bn, [(24,)], True),
    "deep_mlp": (r.DeepMlp, [(20,)], True),
    "wide_and_deep": (r.WideAndDeep, [ids(7, 3), (6,)], True),
    "autoencoder": (r.Autoencoder, [(32,)], True),
    "graph_convolution": (r.GraphConvolution, [(10, 8), mean_of(10, 10)], True),
    "einsum_topk": (r.Mixed, [(6, 8)], True),
    "quantised_mlp": (r.quantised_mlp, [(32,)], True),
    "mobilenet_v2_block": (lambda: c.MobileNetV2Block(8, 8), [(8, 12, 12)], True),
    "mobilenet_v2_small": (c.mobilenet_v2_small, [IMAGE], True),
    "mobilenet_v3_block": (lambda: c.MobileNetV3Block(8, 24, 8), [(8, 10, 10)], True),
    "mobilenet_v3_small": (c.mobilenet_v3_small, [(3, 32, 32)], False),
    "squeeze_excite": (lambda: c.SqueezeExcite(16, 4), [(16, 8, 8)], True),
    "unet": (c.UNet, [(1, 16, 16)], True),
    "unet_upsample": (lambda: c.UNet(2, 3, 3, False), [(2, 16, 16)], False),
    "residual_block": (lambda: c.ResidualBlock(16, plain=True), [(16, 16, 16)], True),
    "resnet_small": (c.resnet_small, [IMAGE], True),
    "resnet_deep": (c.resnet_deep, [IMAGE], False),
    "bottleneck": (lambda: c.Bottleneck(8, 6, 16), [(8, 10, 10)], True),
    "squeezenet": (c.SqueezeNet, [(3, 20, 20)], True),
    "shufflenet": (lambda: nn.Sequential(c.ShuffleUnit(), c.ShuffleUnit()), [(12, 8, 8)], True),
    "shufflenet_v2": (lambda: nn.Sequential(c.ShuffleUnit2(), c.ShuffleUnit2()), [(12, 8, 8)], True),
    "yolo_neck": (c.YoloNeck, [(4, 16, 16), (8, 8, 8), (12, 4, 4)], True),
    "yolo_head": (c.YoloHead, [(6, 6, 6), (8, 3, 3)], True),
    "inception": (c.Inception, [(6, 10, 10)], True),
    "densenet": (c.DenseNet, [(1, 16, 16)], False),
    "super_resolution": (c.SuperResolution, [(1, 16, 16)], True),
    "convnext_block": (c.ConvNeXtBlock, [(8, 8, 8)], True),
    "efficientnet_small": (c.efficientnet_small, [IMAGE], True),
    "conv1d_groupnorm_mish": (c.SpeechConv, [(4, 48)], True),
    "tcn": (c.Tcn, [(2, 32)], True),
    "attention_mask": (t.MaskedAttention, [(10, 16), ones(10)], True),
    "transformer_encoder": (t.transformer_encoder, [(8, 16)], True),
    "transformer_encoder_norm_first": (lambda: t.transformer_encoder(2, 16, True), [(8, 16)], False),
    "vit_tiny": (t.ViT, [IMAGE], True),
    "gpt_block": (lambda: t.Block(16, 4, True), [(8, 16)], True),
    "gpt": (t.Gpt, [ids(40, 12)], True),
    "bert": (t.Bert, [ids(40, 10), ids(2, 10), ones(10)], True),
    "llama_block": (t.Llama, [(8, 16)], True),
    "cross_attention": (t.CrossAttention, [(6, 16), (8, 16)], True),
    "mixer": (t.Mixer, [(16, 12)], True),
    "lstm": (lambda: r.Recurrent(nn.LSTM), [(8, 8)], True),
    "lstm_both_directions": (lambda: r.Recurrent(nn.LSTM, 6, 8, 2, True), [(6, 6)], True),
    "gru": (lambda: r.Recurrent(nn.GRU, every=True), [(8, 8)], True),
    "gru_both_directions": (lambda: r.Recurrent(nn.GRU, 6, 8, 2, True, every=True), [(6, 6)], True),
    "rnn": (lambda: r.Recurrent(nn.RNN), [(8, 8)], True),
    "rnn_both_directions": (lambda: r.Recurrent(nn.RNN, 6, 8, 2, True), [(6, 6)], True),
    "gru_attention": (r.SequenceToSequence, [(7, 6), (5, 6)], True),
}


def settle(network):
    """Batch norms as after training: means, variances, scales and offsets that are not 0 and 1."""
    for m in network.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d)):
            m.running_mean.uniform_(-0.3, 0.3)
            m.running_var.uniform_(0.5, 1.5)
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.GroupNorm, nn.LayerNorm)):
            nn.init.uniform_(m.weight, 0.7, 1.3)
            nn.init.uniform_(m.bias, -0.3, 0.3)


def arrays_of(kinds, batch):
    return [k(batch) if callable(k) else torch.randn(batch, *k) for k in kinds]


def double(x):
    return x.double() if x.is_floating_point() else x


def export(name, symbolic):
    make, kinds, _ = NETWORKS[name]
    torch.manual_seed(zlib.crc32(name.encode()))
    with torch.no_grad():
        network = make().eval()
        settle(network)
    batch = 3 if symbolic else 1
    inputs = arrays_of(kinds, batch)
    folder = os.path.join(HERE, name + ("_batch" if symbolic else ""))
    os.makedirs(folder, exist_ok=True)
    names = [f"x{i}" for i in range(len(inputs))]
    with torch.no_grad():
        exact = network(*inputs) if "quantised" in name else copy.deepcopy(network).double()(*[double(x) for x in inputs])
    results = [y for y in (exact if isinstance(exact, tuple) else (exact,))]
    outs = [f"y{i}" for i in range(len(results))]
    path = os.path.join(folder, "model.onnx")
    axes = {n: {0: "batch"} for n in names + outs} if symbolic else None
    torch.onnx.export(network, tuple(inputs), path, input_names=names, output_names=outs, opset_version=16, dynamic_axes=axes)
    graphs.write_npz(os.path.join(folder, "inputs_0.npz"), {n: x.numpy() for n, x in zip(names, inputs)})
    graphs.write_npz(os.path.join(folder, "expected_0.npz"), {
        n: (y.float() if y.is_floating_point() else y).numpy() for n, y in zip(outs, results)})
    return os.path.getsize(path), path


def main():
    warnings.filterwarnings("ignore")
    for name in sys.argv[1:] or NETWORKS:
        for symbolic in ([False, True] if NETWORKS[name][2] else [False]):
            try:
                size, path = export(name, symbolic)
            except Exception as error:
                print(f"{name}{'_batch' if symbolic else ''}: {type(error).__name__}: {str(error)[:300]}")
                continue
            import onnx
            nodes = onnx.load(path).graph.node
            print(f"{os.path.basename(os.path.dirname(path))}: {size} bytes, {len(nodes)} nodes")


if __name__ == "__main__":
    main()
