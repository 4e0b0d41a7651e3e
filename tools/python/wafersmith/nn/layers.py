"""Layers with torch's arguments and torch's initial distributions."""
import math

import numpy as np

from wafersmith import functions as f
from wafersmith.modules import Module
from wafersmith.tensors import Parameter, Tensor, generator

__all__ = ["Linear", "Conv1d", "Conv2d", "MaxPool1d", "MaxPool2d", "AvgPool1d", "AvgPool2d", "AdaptiveAvgPool2d",
           "Flatten", "Unflatten", "Embedding", "LayerNorm", "GroupNorm", "BatchNorm1d", "BatchNorm2d", "Dropout"]


def _uniform(shape, fan_in):
  bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
  return Parameter(generator().uniform(-bound, bound, shape).astype(np.float32))


class Linear(Module):
  """y = x Wᵀ + b over the last dimension."""

  def __init__(self, in_features, out_features, bias=True):
    super().__init__()
    self.in_features, self.out_features = in_features, out_features
    self.weight = _uniform((out_features, in_features), in_features)
    self.bias = _uniform(out_features, in_features) if bias else None

  def forward(self, input):
    return f.linear(input, self.weight, self.bias)

  def extra_repr(self):
    return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class _Conv(Module):
  dims, function = 0, None

  def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
               padding_mode="zeros"):
    super().__init__()
    if padding_mode != "zeros":
      raise ValueError(f"padding_mode '{padding_mode}' is not built; pad the input by ws.pad instead")
    if in_channels % groups or out_channels % groups:
      raise ValueError(f"{in_channels} and {out_channels} channels are no multiples of {groups} groups")
    kernel = [kernel_size] * self.dims if isinstance(kernel_size, int) else list(kernel_size)
    fan_in = in_channels // groups * math.prod(kernel)
    self.weight = _uniform((out_channels, in_channels // groups, *kernel), fan_in)
    self.bias = _uniform(out_channels, fan_in) if bias else None
    self.options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}

  def forward(self, input):
    return type(self).function(input, self.weight, self.bias, **self.options)

  def extra_repr(self):
    return f"{list(self.weight.shape)}, " + ", ".join(f"{k}={v}" for k, v in self.options.items())


class Conv1d(_Conv):
  dims, function = 1, staticmethod(f.conv1d)


class Conv2d(_Conv):
  dims, function = 2, staticmethod(f.conv2d)


class _Pool(Module):
  function = None

  def forward(self, input):
    return type(self).function(input, **self.options)

  def extra_repr(self):
    return ", ".join(f"{k}={v}" for k, v in self.options.items())


class _MaxPool(_Pool):
  def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
    super().__init__()
    if return_indices:
      raise ValueError("return_indices is not built")
    self.options = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation,
                    "ceil_mode": ceil_mode}


class MaxPool1d(_MaxPool):
  function = staticmethod(f.max_pool1d)


class MaxPool2d(_MaxPool):
  function = staticmethod(f.max_pool2d)


class _AvgPool(_Pool):
  def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    super().__init__()
    self.options = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "ceil_mode": ceil_mode,
                    "count_include_pad": count_include_pad}


class AvgPool1d(_AvgPool):
  function = staticmethod(f.avg_pool1d)


class AvgPool2d(_AvgPool):
  function = staticmethod(f.avg_pool2d)


class AdaptiveAvgPool2d(_Pool):
  function = staticmethod(f.adaptive_avg_pool2d)

  def __init__(self, output_size):
    super().__init__()
    self.options = {"output_size": output_size}


class Flatten(_Pool):
  function = staticmethod(f.flatten)

  def __init__(self, start_dim=1, end_dim=-1):
    super().__init__()
    self.options = {"start_dim": start_dim, "end_dim": end_dim}


class Unflatten(Module):
  def __init__(self, dim, unflattened_size):
    super().__init__()
    self.dim, self.size = dim, tuple(unflattened_size)

  def forward(self, input):
    dim = self.dim % len(input.shape)
    return f.reshape(input, [*input.shape[:dim], *self.size, *input.shape[dim + 1:]])


class Embedding(Module):
  """Rows of a table by their numbers."""

  def __init__(self, num_embeddings, embedding_dim, padding_idx=None):
    super().__init__()
    if padding_idx is not None:
      raise ValueError("padding_idx is not built: its row would be trained like the others")
    self.weight = Parameter(generator().standard_normal((num_embeddings, embedding_dim)).astype(np.float32))

  def forward(self, input):
    return f.embedding(input, self.weight)

  def extra_repr(self):
    return ", ".join(map(str, self.weight.shape))


def _ones_and_zeros(module, shape, scale, bias=True):
  module.weight = Parameter(np.ones(shape, np.float32)) if scale else None
  module.bias = Parameter(np.zeros(shape, np.float32)) if scale and bias else None


class LayerNorm(Module):
  def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True):
    super().__init__()
    self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    self.eps = eps
    _ones_and_zeros(self, self.normalized_shape, elementwise_affine, bias)

  def forward(self, input):
    return f.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

  def extra_repr(self):
    return f"{list(self.normalized_shape)}, eps={self.eps}"


class GroupNorm(Module):
  def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
    super().__init__()
    self.num_groups, self.eps = num_groups, eps
    _ones_and_zeros(self, num_channels, affine)

  def forward(self, input):
    return f.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class BatchNorm2d(Module):
  """With the statistics of the batch while it trains, with its running ones after eval()."""

  def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True):
    super().__init__()
    self.eps, self.momentum = eps, momentum
    _ones_and_zeros(self, num_features, affine)
    self.register_buffer("running_mean", Parameter(np.zeros(num_features), requires_grad=False))
    self.register_buffer("running_var", Parameter(np.ones(num_features), requires_grad=False))

  def forward(self, input):
    return f.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias, self.training,
                        self.momentum, self.eps)


class BatchNorm1d(BatchNorm2d):
  pass


class Dropout(Module):
  """Nothing is dropped: with p = 0 or after eval(). Random masks are no part of a static graph."""

  def __init__(self, p=0.5, inplace=False):
    super().__init__()
    if not 0 <= p <= 1:
      raise ValueError(f"p is {p}, it must be from 0 to 1")
    del inplace
    self.p = p

  def forward(self, input):
    return f.dropout(input, self.p, self.training)

  def extra_repr(self):
    return f"p={self.p}"
