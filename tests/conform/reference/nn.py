"""Layers: products, normalisations, activations, losses."""
import numpy as np

from . import cast, is_float, reference, rounded, wrapped
from .random import unit


def along(vector, rank, axis):
    return vector.reshape([-1 if i == axis % rank else 1 for i in range(rank)])


# ---- products ----


def product(call, a, b):
    """In the type of the result, which operands are converted to first."""
    a, b = cast(a, call.dtypes[0], call.out), cast(b, call.dtypes[1], call.out)
    if is_float(call.out):
        return np.matmul(a, b)
    return wrapped(np.matmul(a.astype(object), b.astype(object)), call.out)


@reference("nn.dense", ulp=8, sums=True)
def dense(call, x, w):
    return product(call, x[np.newaxis], w.T)[0] if x.ndim == 1 else product(call, x, w.T)


@reference("nn.matmul", "nn.batch_matmul", ulp=8, sums=True)
def matmul(call, a, b):
    a = np.swapaxes(a, -1, -2) if call.transpose_a else a
    b = np.swapaxes(b, -1, -2) if call.transpose_b else b
    return product(call, a, b)


@reference("nn.bias_add", ulp=1)
def bias_add(call, x, bias):
    return x + along(bias, x.ndim, call.axis)


# ---- activations ----


@reference("nn.relu")
def relu(call, x):
    return np.maximum(x, np.zeros((), dtype=x.dtype))


@reference("nn.leaky_relu", ulp=2)
def leaky_relu(call, x):
    return np.where(x > 0, x, x * call.alpha)


@reference("nn.prelu", ulp=1)
def prelu(call, x, alpha):
    if alpha.ndim == 1 and x.ndim > 1:
        alpha = along(alpha, x.ndim, call.axis)
    return np.where(x > 0, x, x * alpha)


def shifted(call, x):
    most = np.max(x, axis=call.axis, keepdims=True, initial=-np.inf)
    return x - most


@reference("nn.softmax", "nn.fast_softmax", ulp=4)
def softmax(call, x):
    e = np.exp(shifted(call, x))
    return e / np.sum(e, axis=call.axis, keepdims=True)


@reference("nn.log_softmax", ulp=8, sums=True)
def log_softmax(call, x):
    s = shifted(call, x)
    return s - np.log(np.sum(np.exp(s), axis=call.axis, keepdims=True))


@reference("nn.dropout")
def dropout(call, x):
    return x, np.ones_like(x)


@reference("nn.dropout_training", ulp=1)
def dropout_training(call, x, key):
    mask = unit(key, x.shape, "float32") >= rounded(call.rate, "float32")
    return np.where(mask, x / (1 - call.rate) if call.rate < 1 else 0, 0), mask.astype(float)


# ---- normalisations ----


def affine(call, y, gamma, beta):
    if call.scale:
        y = y * along(gamma, y.ndim, call.axis)
    return y + along(beta, y.ndim, call.axis) if call.center else y


def normalised(x, axes, epsilon):
    mean = np.mean(x, axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(np.mean((x - mean) ** 2, axis=axes, keepdims=True) + epsilon)


@reference("nn.batch_norm", ulp=8, sums=True)
def batch_norm(call, x, gamma, beta, mean, var):
    y = (x - along(mean, x.ndim, call.axis)) / np.sqrt(along(var, x.ndim, call.axis) + call.epsilon)
    return affine(call, y, gamma, beta), mean, var


@reference("nn.batch_norm_training", ulp=16, sums=True)
def batch_norm_training(call, x, gamma, beta, mean, var):
    axes = tuple(i for i in range(x.ndim) if i != call.axis % x.ndim)
    count = np.prod([x.shape[i] for i in axes])
    moments = np.mean(x, axis=axes), np.var(x, axis=axes) * (count / max(count - 1, 1) if call.unbiased else 1)
    now = [(1 - call.momentum) * was + call.momentum * m for was, m in zip((mean, var), moments)]
    return affine(call, normalised(x, axes, call.epsilon), gamma, beta), *now


@reference("nn.layer_norm", ulp=8, sums=True)
def layer_norm(call, x, gamma, beta):
    return affine(call, normalised(x, (call.axis,), call.epsilon), gamma, beta)


@reference("nn.instance_norm", ulp=8, sums=True)
def instance_norm(call, x, gamma, beta):
    axes = tuple(i for i in range(1, x.ndim) if i != call.axis % x.ndim)
    return affine(call, normalised(x, axes, call.epsilon), gamma, beta)


@reference("nn.group_norm", ulp=8, sums=True)
def group_norm(call, x, gamma, beta):
    axis = call.axis % x.ndim
    groups = x.reshape(x.shape[:axis] + (call.num_groups, x.shape[axis] // call.num_groups) + x.shape[axis + 1:])
    axes = tuple(i for i in range(groups.ndim) if i != axis and (i != 0 or axis == 0))
    return affine(call, normalised(groups, axes, call.epsilon).reshape(x.shape), gamma, beta)


@reference("nn.l2_normalize", ulp=4)
def l2_normalize(call, x):
    axes = None if call.axis is None else tuple(call.axis)
    return x / np.sqrt(np.maximum(np.sum(x**2, axis=axes, keepdims=True), call.eps))


@reference("nn.lrn", ulp=8)
def lrn(call, x):
    axis = call.axis % x.ndim
    squares = np.moveaxis(x**2, axis, 0)
    energy = np.zeros_like(squares)
    for c in range(squares.shape[0]):
        low = c - (call.size - 1) // 2
        energy[c] = squares[max(low, 0):max(low + call.size, 0)].sum(axis=0)
    return x / (call.bias + call.alpha / call.size * np.moveaxis(energy, 0, axis)) ** call.beta


# ---- losses ----


@reference("nn.cross_entropy", ulp=4, sums=True)
def cross_entropy(call, predictions, targets):
    return -np.sum(np.log(predictions) * targets) / np.float64(predictions.shape[0])


@reference("nn.cross_entropy_with_logits", ulp=4, sums=True)
def cross_entropy_with_logits(call, predictions, targets):
    return -np.sum(predictions * targets) / np.float64(predictions.shape[0])


@reference("nn.nll_loss", ulp=4, sums=True)
def nll_loss(call, predictions, targets, weights):
    losses, total = np.zeros(targets.shape), np.float64(0)
    for at in np.ndindex(targets.shape):
        target = int(targets[at])
        if target == call.ignore_index:
            continue
        if target < 0:
            raise IndexError("a target is negative")
        losses[at] = -predictions[at[:1] + (target,) + at[1:]] * weights[target]
        total += weights[target]
    if call.reduction == "none":
        return losses
    return np.sum(losses) / total if call.reduction == "mean" else np.sum(losses)
