"""A perceptron of two layers trained in float64 with numpy alone, derivatives by hand:

    h = relu(x W1ᵀ + b1), z = h W2ᵀ + b2, loss = -mean(log softmax(z)[y])
    dz = (softmax(z) - onehot(y)) / n, dW2 = dzᵀ h, db2 = Σ dz, da = (dz W2)·(h > 0), dW1 = daᵀ x, db1 = Σ da
"""
import numpy as np


def gradients(w, x, y):
  """Loss and the gradients of [W1, b1, W2, b2]."""
  a = x @ w[0].T + w[1]
  h = np.maximum(a, 0)
  z = h @ w[2].T + w[3]
  e = np.exp(z - z.max(1, keepdims=True))
  p = e / e.sum(1, keepdims=True)
  rows = np.arange(len(y))
  loss = -np.log(p[rows, y]).mean()
  p[rows, y] -= 1
  dz = p / len(y)
  da = dz @ w[2] * (a > 0)
  return loss, [da.T @ x, da.sum(0), dz.T @ h, dz.sum(0)]


class AdamW:
  def __init__(self, lr, betas=(0.9, 0.999), eps=1e-8, decay=0.01):
    self.lr, self.betas, self.eps, self.decay, self.t = lr, betas, eps, decay, 0
    self.m = self.v = None

  def step(self, w, g):
    if self.m is None:
      self.m, self.v = [np.zeros_like(p) for p in w], [np.zeros_like(p) for p in w]
    self.t += 1
    for k, p in enumerate(w):
      self.m[k] = self.betas[0] * self.m[k] + (1 - self.betas[0]) * g[k]
      self.v[k] = self.betas[1] * self.v[k] + (1 - self.betas[1]) * g[k] ** 2
      m = self.m[k] / (1 - self.betas[0] ** self.t)
      v = self.v[k] / (1 - self.betas[1] ** self.t)
      p -= self.lr * self.decay * p + self.lr * m / (np.sqrt(v) + self.eps)


class Momentum:
  def __init__(self, lr, momentum):
    self.lr, self.momentum, self.buffer = lr, momentum, None

  def step(self, w, g):
    self.buffer = g if self.buffer is None else [self.momentum * b + d for b, d in zip(self.buffer, g)]
    for p, b in zip(w, self.buffer):
      p -= self.lr * b


def train(w, optimizer, batches):
  """The loss of every step; `w` becomes the trained weights."""
  losses = []
  for x, y in batches:
    loss, g = gradients(w, x.astype(np.float64), y)
    optimizer.step(w, g)
    losses.append(loss)
  return losses
