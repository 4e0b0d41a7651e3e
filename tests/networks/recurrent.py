"""Recurrent networks, perceptrons and the rest of the suite (see export.py)."""
import torch
from torch import nn
import torch.nn.functional as F


class Recurrent(nn.Module):
    """One of PyTorch's recurrent layers and a linear head over the last step or over all."""
    def __init__(self, kind, inputs=8, hidden=10, layers=1, both=False, head=4, every=False):
        super().__init__()
        self.layer = kind(inputs, hidden, layers, batch_first=True, bidirectional=both)
        self.head, self.every = nn.Linear(hidden * (2 if both else 1), head), every

    def forward(self, x):
        y, _ = self.layer(x)
        return self.head(y if self.every else y[:, -1])


class SequenceToSequence(nn.Module):
    """An encoder, attention of a decoder's steps over its outputs, a joined head."""
    def __init__(self, inputs=6, hidden=8):
        super().__init__()
        self.encoder, self.decoder = nn.GRU(inputs, hidden, batch_first=True), nn.GRU(inputs, hidden, batch_first=True)
        self.head = nn.Linear(2 * hidden, 5)

    def forward(self, source, target):
        memory, _ = self.encoder(source)
        y, _ = self.decoder(target)
        weights = torch.softmax(y @ memory.transpose(1, 2), -1)
        return self.head(torch.cat([y, weights @ memory], 2))


def mlp_bn():
    return nn.Sequential(nn.Linear(24, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 10),
                         nn.Softmax(1))


class DeepMlp(nn.Module):
    """Twelve residual layers with norms: a long chain with skips."""
    def __init__(self, width=20, layers=12):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(layers)])
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(layers)])

    def forward(self, x):
        for norm, layer in zip(self.norms, self.layers):
            x = x + torch.tanh(layer(norm(x)))
        return x


class WideAndDeep(nn.Module):
    """Embeddings of three features beside dense values, a deep and a wide path."""
    def __init__(self):
        super().__init__()
        self.embeddings = nn.ModuleList([nn.Embedding(n, 4) for n in (12, 20, 7)])
        self.deep = nn.Sequential(nn.Linear(18, 24), nn.ReLU(), nn.Linear(24, 12), nn.ReLU())
        self.wide, self.head = nn.Linear(6, 4), nn.Linear(16, 1)

    def forward(self, ids, dense):
        parts = [e(ids[:, i]) for i, e in enumerate(self.embeddings)] + [dense]
        return torch.sigmoid(self.head(torch.cat([self.deep(torch.cat(parts, 1)), self.wide(dense)], 1)))


class Autoencoder(nn.Module):
    """Reconstruction, its error and the code: three outputs."""
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(32, 16), nn.ELU(), nn.Linear(16, 6))
        self.decode = nn.Sequential(nn.Linear(6, 16), nn.ELU(), nn.Linear(16, 32))

    def forward(self, x):
        code = self.encode(x)
        y = self.decode(code)
        return y, ((x - y) ** 2).mean(1), F.normalize(code, dim=1)


class GraphConvolution(nn.Module):
    """Two layers over a normalised adjacency matrix that is an input."""
    def __init__(self, width=8):
        super().__init__()
        self.first, self.second = nn.Linear(width, 16), nn.Linear(16, 4)

    def forward(self, x, adjacency):
        degree = adjacency.sum(-1, keepdim=True)
        spread = adjacency / degree
        return F.log_softmax(spread @ self.second(F.relu(spread @ self.first(x))), -1)


class Mixed(nn.Module):
    """einsum, top-k, cumulative sums and where."""
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 8, 6) * 0.3)

    def forward(self, x):
        y = torch.einsum("nti,hij->nhtj", x, self.weight)
        scores = torch.einsum("nhtj,nhsj->nhts", y, y) * 0.2
        best, _ = torch.topk(scores, 3, dim=-1)
        total = torch.cumsum(torch.softmax(best, -1), -1)
        return torch.where(total > 0.5, best, -total), torch.cumsum(y, 2).mean(1)


class QuantisedLinear(nn.Module):
    """Weights of 8 bits per output, activations of 8 bits, as quantisation-aware training exports them."""
    def __init__(self, inputs, outputs):
        super().__init__()
        self.layer = nn.Linear(inputs, outputs)

    def forward(self, x):
        x = torch.fake_quantize_per_tensor_affine(x, 0.0625, 0, -128, 127)
        weight = self.layer.weight
        scale = torch.full((weight.shape[0],), float(weight.detach().abs().max()) / 127)
        zero = torch.zeros(weight.shape[0], dtype=torch.int32)
        weight = torch.fake_quantize_per_channel_affine(weight, scale.to(torch.float32), zero, 0, -128, 127)
        return F.linear(x, weight, self.layer.bias)


def quantised_mlp():
    return nn.Sequential(QuantisedLinear(32, 24), nn.ReLU(), QuantisedLinear(24, 16), nn.ReLU(), QuantisedLinear(16, 10))
