"""Transformers and attention of the suite (see export.py)."""
import math

import torch
from torch import nn
import torch.nn.functional as F


class Attention(nn.Module):
    """Heads as exporters see them: views and transposes around two products; a mask from outside or a causal one."""
    def __init__(self, width, heads, causal=False):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, mask=None):
        _, t, width = x.shape
        q, k, v = (p.view(-1, t, self.heads, width // self.heads).transpose(1, 2) for p in self.qkv(x).split(width, 2))
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)
        if self.causal:
            keep = torch.tril(torch.ones(t, t)).view(1, 1, t, t)
            scores = scores.masked_fill(keep == 0, float("-inf"))
        if mask is not None:
            scores = scores + mask
        y = torch.softmax(scores, -1) @ v
        return self.out(y.transpose(1, 2).reshape(-1, t, width))


class Block(nn.Module):
    """Pre-norm block of GPT and ViT."""
    def __init__(self, width, heads, causal=False, act=F.gelu):
        super().__init__()
        self.norm1, self.norm2, self.act = nn.LayerNorm(width), nn.LayerNorm(width), act
        self.attention, self.up, self.down = Attention(width, heads, causal), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(self.act(self.up(self.norm2(x))))


class MaskedAttention(nn.Module):
    """x [N,T,C] and a mask [N,T] of ones and zeros, added as -10000."""
    def __init__(self, width=16, heads=4):
        super().__init__()
        self.attention = Attention(width, heads)

    def forward(self, x, mask):
        return self.attention(x, ((1.0 - mask) * -10000.0)[:, None, None, :])


def transformer_encoder(layers=2, width=16, norm_first=False):
    layer = nn.TransformerEncoderLayer(width, 4, 32, batch_first=True, norm_first=norm_first)
    return nn.TransformerEncoder(layer, layers)


class ViT(nn.Module):
    def __init__(self, width=16, layers=2, patch=4, side=16):
        super().__init__()
        self.patch = nn.Conv2d(3, width, patch, patch)
        self.cls = nn.Parameter(torch.randn(1, 1, width) * 0.1)
        self.position = nn.Parameter(torch.randn(1, (side // patch) ** 2 + 1, width) * 0.1)
        self.blocks = nn.Sequential(*[Block(width, 4) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.position
        return self.head(self.norm(self.blocks(x))[:, 0])


class Gpt(nn.Module):
    """Token and position embeddings, causal blocks, logits of the last position or of all."""
    def __init__(self, vocabulary=40, width=16, layers=2, length=12):
        super().__init__()
        self.tokens, self.position = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width, 4, True) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids):
        x = self.tokens(ids) + self.position(torch.arange(ids.shape[1]))
        return self.head(self.norm(self.blocks(x)))


class Bert(nn.Module):
    """Embeddings of tokens and types, post-norm blocks, a pooled output and one per token."""
    def __init__(self, vocabulary=40, width=16, layers=2, length=10):
        super().__init__()
        self.tokens, self.types = nn.Embedding(vocabulary, width), nn.Embedding(2, width)
        self.position = nn.Parameter(torch.randn(1, length, width) * 0.1)
        self.norm = nn.LayerNorm(width)
        self.attentions = nn.ModuleList([Attention(width, 2) for _ in range(layers)])
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(2 * layers)])
        self.ups = nn.ModuleList([nn.Linear(width, 2 * width) for _ in range(layers)])
        self.downs = nn.ModuleList([nn.Linear(2 * width, width) for _ in range(layers)])
        self.pool = nn.Linear(width, width)

    def forward(self, ids, types, mask):
        x = self.norm(self.tokens(ids) + self.types(types) + self.position)
        bias = ((1.0 - mask) * -10000.0)[:, None, None, :]
        for i, attention in enumerate(self.attentions):
            x = self.norms[2 * i](x + attention(x, bias))
            x = self.norms[2 * i + 1](x + self.downs[i](F.gelu(self.ups[i](x))))
        return x, torch.tanh(self.pool(x[:, 0]))


class Llama(nn.Module):
    """RMS norms, rotary positions, grouped queries, a gated feed-forward."""
    def __init__(self, width=16, heads=4, groups=2, length=8):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.q, self.k = nn.Linear(width, width, bias=False), nn.Linear(width, groups * self.size, bias=False)
        self.v, self.o = nn.Linear(width, groups * self.size, bias=False), nn.Linear(width, width, bias=False)
        self.gate, self.up, self.down = (nn.Linear(a, b, bias=False) for a, b in ((width, 2 * width), (width, 2 * width), (2 * width, width)))
        self.scale = nn.Parameter(torch.rand(2, width) + 0.5)
        angles = torch.outer(torch.arange(length).float(), 1.0 / 100.0 ** (torch.arange(0, self.size, 2) / self.size))
        self.register_buffer("cos", torch.cat([angles.cos()] * 2, -1))
        self.register_buffer("sin", torch.cat([angles.sin()] * 2, -1))

    def norm(self, x, i):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.scale[i]

    def shared(self, x):
        """Every group's keys or values for each of its heads."""
        _, groups, t, size = x.shape
        return x[:, :, None].expand(-1, -1, self.heads // groups, -1, -1).reshape(-1, self.heads, t, size)

    def rotate(self, x):
        a, b = x.chunk(2, -1)
        return x * self.cos + torch.cat([-b, a], -1) * self.sin

    def forward(self, x):
        _, t, width = x.shape
        y = self.norm(x, 0)
        q = self.rotate(self.q(y).view(-1, t, self.heads, self.size).transpose(1, 2))
        k = self.shared(self.rotate(self.k(y).view(-1, t, self.groups, self.size).transpose(1, 2)))
        v = self.shared(self.v(y).view(-1, t, self.groups, self.size).transpose(1, 2))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.size) + torch.triu(torch.full((t, t), -10000.0), 1)
        x = x + self.o((torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(-1, t, width))
        y = self.norm(x, 1)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class CrossAttention(nn.Module):
    """A decoder layer: self attention, attention to a memory, feed-forward."""
    def __init__(self, width=16):
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(width, 4, 32, batch_first=True)

    def forward(self, target, memory):
        return self.layer(target, memory)


class Mixer(nn.Module):
    """MLP-Mixer: products over tokens and over channels in turn."""
    def __init__(self, tokens=16, width=12, layers=2):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(2 * layers)])
        self.token = nn.ModuleList([nn.Sequential(nn.Linear(tokens, 24), nn.GELU(), nn.Linear(24, tokens)) for _ in range(layers)])
        self.channel = nn.ModuleList([nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width)) for _ in range(layers)])

    def forward(self, x):
        for i, (token, channel) in enumerate(zip(self.token, self.channel)):
            x = x + token(self.norms[2 * i](x).transpose(1, 2)).transpose(1, 2)
            x = x + channel(self.norms[2 * i + 1](x))
        return x.mean(1)
