"""Convolutional networks of the suite, small enough to simulate in seconds (see export.py)."""
import torch
from torch import nn
import torch.nn.functional as F


def conv_bn(cin, cout, kernel=3, stride=1, groups=1, act=nn.ReLU):
    layers = [nn.Conv2d(cin, cout, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(cout)]
    return nn.Sequential(*layers, *([act()] if act else []))


class MobileNetV2Block(nn.Module):
    """Inverted residual: expand, depthwise, project."""
    def __init__(self, cin, cout, stride=1, expand=4):
        super().__init__()
        mid = cin * expand
        self.keep = stride == 1 and cin == cout
        self.body = nn.Sequential(conv_bn(cin, mid, 1, act=nn.ReLU6), conv_bn(mid, mid, 3, stride, mid, act=nn.ReLU6),
                                  conv_bn(mid, cout, 1, act=None))

    def forward(self, x):
        return x + self.body(x) if self.keep else self.body(x)


class SqueezeExcite(nn.Module):
    def __init__(self, channels, reduced, gate=nn.Sigmoid):
        super().__init__()
        self.down, self.up, self.gate = nn.Conv2d(channels, reduced, 1), nn.Conv2d(reduced, channels, 1), gate()

    def forward(self, x):
        s = F.adaptive_avg_pool2d(x, 1)
        return x * self.gate(self.up(F.relu(self.down(s))))


class MobileNetV3Block(nn.Module):
    def __init__(self, cin, mid, cout, kernel=3, stride=1, squeeze=True, act=nn.Hardswish):
        super().__init__()
        self.keep = stride == 1 and cin == cout
        layers = [conv_bn(cin, mid, 1, act=act), conv_bn(mid, mid, kernel, stride, mid, act=act)]
        if squeeze:
            layers.append(SqueezeExcite(mid, max(4, mid // 4), nn.Hardsigmoid))
        self.body = nn.Sequential(*layers, conv_bn(mid, cout, 1, act=None))

    def forward(self, x):
        return x + self.body(x) if self.keep else self.body(x)


class Classifier(nn.Module):
    """Features, global average, linear."""
    def __init__(self, features, channels, classes=10):
        super().__init__()
        self.features, self.head = features, nn.Linear(channels, classes)

    def forward(self, x):
        return self.head(torch.flatten(F.adaptive_avg_pool2d(self.features(x), 1), 1))


def mobilenet_v2_small():
    return Classifier(nn.Sequential(conv_bn(3, 4, 3, 2), MobileNetV2Block(4, 4, 1, 1), MobileNetV2Block(4, 6, 2, 3),
                                    MobileNetV2Block(6, 6, 1, 3), MobileNetV2Block(6, 8, 2, 3), MobileNetV2Block(8, 8, 1, 3),
                                    conv_bn(8, 24, 1)), 24)


def mobilenet_v3_small():
    """MobileNetV3-small with a quarter of its channels: the published table of blocks, channels rounded to 4."""
    rows = [(4, 4, 4, 3, 2, True, nn.ReLU), (4, 20, 8, 3, 2, False, nn.ReLU), (8, 24, 8, 3, 1, False, nn.ReLU),
            (8, 24, 12, 5, 2, True, nn.Hardswish), (12, 60, 12, 5, 1, True, nn.Hardswish), (12, 60, 12, 5, 1, True, nn.Hardswish),
            (12, 32, 12, 5, 1, True, nn.Hardswish), (12, 36, 24, 5, 2, True, nn.Hardswish), (24, 72, 24, 5, 1, True, nn.Hardswish)]
    blocks = [MobileNetV3Block(*r) for r in rows]
    return Classifier(nn.Sequential(conv_bn(3, 4, 3, 2, act=nn.Hardswish), *blocks, conv_bn(24, 48, 1, act=nn.Hardswish)), 48)


class DoubleConv(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(conv_bn(cin, cout), conv_bn(cout, cout))


class UNet(nn.Module):
    def __init__(self, cin=1, base=4, levels=2, transposed=True):
        super().__init__()
        sizes = [base * 2**i for i in range(levels + 1)]
        self.down = nn.ModuleList([DoubleConv(cin if i == 0 else sizes[i - 1], sizes[i]) for i in range(levels + 1)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(sizes[i + 1], sizes[i], 2, 2) if transposed else
                                 nn.Sequential(nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv2d(sizes[i + 1], sizes[i], 1))
                                 for i in reversed(range(levels))])
        self.merge = nn.ModuleList([DoubleConv(2 * sizes[i], sizes[i]) for i in reversed(range(levels))])
        self.last = nn.Conv2d(base, 1, 1)

    def forward(self, x):
        kept = []
        for i, block in enumerate(self.down):
            x = block(x if i == 0 else F.max_pool2d(x, 2))
            kept.append(x)
        for up, merge, skip in zip(self.up, self.merge, reversed(kept[:-1])):
            x = merge(torch.cat([skip, up(x)], 1))
        return torch.sigmoid(self.last(x))


class ResidualBlock(nn.Module):
    """conv, relu, conv, add, relu; with batch norms unless `plain`."""
    def __init__(self, cin, cout=None, stride=1, plain=False):
        super().__init__()
        cout = cout or cin
        if plain:
            self.first, self.second = nn.Conv2d(cin, cout, 3, stride, 1), nn.Conv2d(cout, cout, 3, 1, 1)
        else:
            self.first, self.second = conv_bn(cin, cout, 3, stride, act=None), conv_bn(cout, cout, act=None)
        self.project = conv_bn(cin, cout, 1, stride, act=None) if stride != 1 or cin != cout else None

    def forward(self, x):
        y = self.second(F.relu(self.first(x)))
        return F.relu(y + (self.project(x) if self.project else x))


class Bottleneck(nn.Module):
    def __init__(self, cin, mid, cout):
        super().__init__()
        self.body = nn.Sequential(conv_bn(cin, mid, 1), conv_bn(mid, mid, 3), conv_bn(mid, cout, 1, act=None))
        self.project = conv_bn(cin, cout, 1, act=None)

    def forward(self, x):
        return F.relu(self.body(x) + self.project(x))


def resnet_small():
    return Classifier(nn.Sequential(conv_bn(3, 4), ResidualBlock(4), ResidualBlock(4, 8, 2), ResidualBlock(8), ResidualBlock(8, 12, 2)), 12)


def resnet_deep():
    """ResNet-20's depth (three stages of three blocks) with few channels."""
    blocks, cin = [], 4
    for stage, cout in enumerate((4, 6, 8)):
        for i in range(3):
            blocks.append(ResidualBlock(cin, cout, 2 if stage and i == 0 else 1))
            cin = cout
    return Classifier(nn.Sequential(conv_bn(3, 4), *blocks), 8)


class Fire(nn.Module):
    def __init__(self, cin, squeeze, expand):
        super().__init__()
        self.squeeze = nn.Conv2d(cin, squeeze, 1)
        self.one, self.three = nn.Conv2d(squeeze, expand, 1), nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x):
        x = F.relu(self.squeeze(x))
        return torch.cat([F.relu(self.one(x)), F.relu(self.three(x))], 1)


class SqueezeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 2)
        self.fires = nn.Sequential(Fire(8, 4, 6), Fire(12, 4, 6), nn.MaxPool2d(2, 2, ceil_mode=True), Fire(12, 4, 8), Fire(16, 6, 8))
        self.last = nn.Conv2d(16, 10, 1)

    def forward(self, x):
        x = self.fires(F.relu(self.stem(x)))
        return torch.flatten(F.adaptive_avg_pool2d(F.relu(self.last(x)), 1), 1)


def shuffle(x, groups):
    n, c, h, w = x.shape
    return x.view(-1, groups, c // groups, h, w).transpose(1, 2).reshape(-1, c, h, w)


class ShuffleUnit(nn.Module):
    """ShuffleNet v1: grouped products of 1x1, channels shuffled between them."""
    def __init__(self, channels=12, groups=3):
        super().__init__()
        self.groups = groups
        self.first, self.deep = conv_bn(channels, channels, 1, groups=groups), conv_bn(channels, channels, 3, groups=channels, act=None)
        self.last = conv_bn(channels, channels, 1, groups=groups, act=None)

    def forward(self, x):
        return F.relu(x + self.last(self.deep(shuffle(self.first(x), self.groups))))


class ShuffleUnit2(nn.Module):
    """ShuffleNet v2: half of the channels pass, then a shuffle."""
    def __init__(self, channels=12):
        super().__init__()
        half = channels // 2
        self.body = nn.Sequential(conv_bn(half, half, 1), conv_bn(half, half, 3, groups=half, act=None), conv_bn(half, half, 1))

    def forward(self, x):
        keep, work = x.chunk(2, 1)
        return shuffle(torch.cat([keep, self.body(work)], 1), 2)


class Sppf(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first, self.last = conv_bn(channels, channels // 2, 1, act=nn.SiLU), conv_bn(channels * 2, channels, 1, act=nn.SiLU)

    def forward(self, x):
        x = self.first(x)
        a = F.max_pool2d(x, 5, 1, 2)
        b = F.max_pool2d(a, 5, 1, 2)
        return self.last(torch.cat([x, a, b, F.max_pool2d(b, 5, 1, 2)], 1))


class C3(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        mid = cout // 2
        self.a, self.b = conv_bn(cin, mid, 1, act=nn.SiLU), conv_bn(cin, mid, 1, act=nn.SiLU)
        self.inner = nn.Sequential(conv_bn(mid, mid, 1, act=nn.SiLU), conv_bn(mid, mid, 3, act=nn.SiLU))
        self.last = conv_bn(2 * mid, cout, 1, act=nn.SiLU)

    def forward(self, x):
        a = self.a(x)
        return self.last(torch.cat([a + self.inner(a), self.b(x)], 1))


class YoloNeck(nn.Module):
    """Three levels in, three out: up with concats, down with concats."""
    def __init__(self, sizes=(4, 8, 12)):
        super().__init__()
        s, m, l = sizes
        self.sppf, self.lateral = Sppf(l), conv_bn(l, m, 1, act=nn.SiLU)
        self.up1, self.up2 = C3(2 * m, m), C3(m + s, s)
        self.down1, self.out1 = conv_bn(s, s, 3, 2, act=nn.SiLU), C3(s + m, m)
        self.down2, self.out2 = conv_bn(m, m, 3, 2, act=nn.SiLU), C3(2 * m, l)

    def forward(self, p3, p4, p5):
        top = self.lateral(self.sppf(p5))
        mid = self.up1(torch.cat([F.interpolate(top, scale_factor=2.0, mode="nearest"), p4], 1))
        low = self.up2(torch.cat([F.interpolate(mid, scale_factor=2.0, mode="nearest"), p3], 1))
        mid = self.out1(torch.cat([self.down1(low), mid], 1))
        return low, mid, self.out2(torch.cat([self.down2(mid), top], 1))


class YoloHead(nn.Module):
    """Boxes, objectness and classes of two levels, decoded and concatenated."""
    def __init__(self, sizes=(6, 8), classes=3, anchors=2):
        super().__init__()
        self.outs, self.anchors = 5 + classes, anchors
        self.convs = nn.ModuleList([nn.Conv2d(s, anchors * self.outs, 1) for s in sizes])
        self.register_buffer("sizes", torch.tensor([[1.25, 1.625], [2.0, 3.75]]).view(1, 2, 1, 1, 2))

    def level(self, conv, x):
        y = conv(x)
        _, _, h, w = y.shape
        y = torch.sigmoid(y.view(-1, self.anchors, self.outs, h, w).permute(0, 1, 3, 4, 2))
        rows, cols = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        grid = torch.stack([cols, rows], 2).view(1, 1, h, w, 2).to(y.dtype)
        xy, wh, rest = y.split([2, 2, self.outs - 4], 4)
        return torch.cat([xy * 2 + grid - 0.5, (wh * 2) ** 2 * self.sizes, rest], 4).reshape(-1, self.anchors * h * w, self.outs)

    def forward(self, low, high):
        return torch.cat([self.level(self.convs[0], low), self.level(self.convs[1], high)], 1)


class Inception(nn.Module):
    def __init__(self, cin=6):
        super().__init__()
        self.one = conv_bn(cin, 4, 1)
        self.three = nn.Sequential(conv_bn(cin, 4, 1), conv_bn(4, 6, 3))
        self.five = nn.Sequential(conv_bn(cin, 2, 1), conv_bn(2, 4, 5))
        self.pool = nn.Sequential(nn.MaxPool2d(3, 1, 1), conv_bn(cin, 4, 1))

    def forward(self, x):
        return torch.cat([self.one(x), self.three(x), self.five(x), self.pool(x)], 1)


class DenseNet(nn.Module):
    """Two dense blocks: every layer reads all before it."""
    def __init__(self, growth=3, layers=4):
        super().__init__()
        self.stem, c, self.blocks, self.transitions = conv_bn(1, 6, 3, 2), 6, nn.ModuleList(), nn.ModuleList()
        for _ in range(2):
            block = nn.ModuleList()
            for _ in range(layers):
                block.append(nn.Sequential(nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, growth, 3, padding=1, bias=False)))
                c += growth
            self.blocks.append(block)
            self.transitions.append(nn.Sequential(nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, 6, 1, bias=False), nn.AvgPool2d(2)))
            c = 6
        self.head = nn.Linear(6, 10)

    def forward(self, x):
        x = self.stem(x)
        for block, transition in zip(self.blocks, self.transitions):
            features = [x]
            for layer in block:
                features.append(layer(torch.cat(features, 1)))
            x = transition(torch.cat(features, 1))
        return self.head(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


class SuperResolution(nn.Module):
    """ESPCN with few channels: convolutions and a pixel shuffle."""
    def __init__(self, factor=2):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 8, 5, padding=2), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(),
                                  nn.Conv2d(8, factor * factor, 3, padding=1), nn.PixelShuffle(factor))

    def forward(self, x):
        return self.body(x)


class ConvNeXtBlock(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.deep, self.norm = nn.Conv2d(channels, channels, 7, padding=3, groups=channels), nn.LayerNorm(channels)
        self.up, self.down = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)
        self.scale = nn.Parameter(torch.full((channels,), 0.5))

    def forward(self, x):
        y = self.norm(self.deep(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.down(F.gelu(self.up(y)))).permute(0, 3, 1, 2)


class MBConv(nn.Module):
    """EfficientNet's block: expand, depthwise, squeeze-excite, project, all with SiLU."""
    def __init__(self, channels=8, expand=3):
        super().__init__()
        mid = channels * expand
        self.body = nn.Sequential(conv_bn(channels, mid, 1, act=nn.SiLU), conv_bn(mid, mid, 3, 1, mid, act=nn.SiLU), SqueezeExcite(mid, 4),
                                  conv_bn(mid, channels, 1, act=None))

    def forward(self, x):
        return x + self.body(x)


def efficientnet_small():
    return Classifier(nn.Sequential(conv_bn(3, 6, 3, 2, act=nn.SiLU), MBConv(6, 2), MBConv(6, 3), conv_bn(6, 10, 3, 2, act=nn.SiLU),
                                    MBConv(10, 3)), 10)


class SpeechConv(nn.Module):
    """One-dimensional convolutions with group norms and Mish."""
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(4, 8, 5, 2, 2), nn.GroupNorm(2, 8), nn.Mish(), nn.Conv1d(8, 12, 3, 1, 1), nn.GroupNorm(4, 12),
                                  nn.Mish(), nn.Conv1d(12, 12, 3, 2, 1, groups=4), nn.GroupNorm(1, 12), nn.Mish())
        self.head = nn.Linear(12, 6)

    def forward(self, x):
        return self.head(self.body(x).mean(2))


class Tcn(nn.Module):
    """Dilated causal convolutions with residuals."""
    def __init__(self, channels=6):
        super().__init__()
        self.first = nn.Conv1d(2, channels, 1)
        self.layers = nn.ModuleList([nn.Conv1d(channels, channels, 3, dilation=d) for d in (1, 2, 4)])
        self.last = nn.Conv1d(channels, 2, 1)

    def forward(self, x):
        x = self.first(x)
        for layer in self.layers:
            d = layer.dilation[0]
            x = x + F.relu(layer(F.pad(x, (2 * d, 0))))
        return self.last(x)
