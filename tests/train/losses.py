"""The first loss and the first step of each loss against NumPy: losses.py BATON"""
import os
import sys
import tempfile

import numpy

import kit

RATE = 0.5


def softmax(z):
    e = numpy.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def cross_entropy(z, y):
    p = softmax(z)
    hot = numpy.eye(z.shape[1])[y]
    return -(hot * numpy.log(p)).sum(1).mean(), (p - hot) / len(z)


def squares(z, y):
    return ((z - y) ** 2).mean(), 2 * (z - y) / z.size


def absolute(z, y):
    return numpy.abs(z - y).mean(), numpy.sign(z - y) / z.size


def huber(z, y):
    d = z - y
    small = numpy.abs(d) < 1
    return numpy.where(small, d * d / 2, numpy.abs(d) - 0.5).mean(), numpy.clip(d, -1, 1) / z.size


def binary_cross_entropy(z, y):
    p = 1 / (1 + numpy.exp(-z))
    return -(y * numpy.log(p) + (1 - y) * numpy.log(1 - p)).mean(), (p - y) / z.size


def check(runs, loss, index):
    random = numpy.random.default_rng(index)
    x, w, b = (random.normal(size=size).astype(numpy.float32) for size in [(8, 4), (3, 4), (3,)])
    y = (random.integers(0, 3, size=8) if loss is cross_entropy else
         random.integers(0, 2, size=(8, 3)).astype(numpy.float32) if loss is binary_cross_entropy else
         2 * random.normal(size=(8, 3)).astype(numpy.float32))
    numpy.savez("data.npz", x=x, labels=y)
    kit.write_tensors("start.safetensors", {"w": w, "b": b})
    done = runs.train("linear.baton", "--data", "data.npz", "--loss", loss.__name__, "--optimizer", f"sgd{{rate={RATE}}}", "--epochs", 1,
                      "--initialise", "start.safetensors", "-o", loss.__name__)
    if done.returncode:
        return
    x, w, b = (a.astype(numpy.float64) for a in (x, w, b))
    z = x @ w.T + b
    want, d = loss(z, y)
    tensors, _ = kit.read_tensors(runs.last(loss.__name__))
    with open(f"{loss.__name__}/curve.csv") as file:
        row = dict(zip(*(line.strip().split(",") for line in file)))
    runs.check(abs(float(row["loss"]) - want) < 1e-5 * abs(want), f"{loss.__name__}: {row['loss']} is not {want}")
    for name, value in [("w", w - RATE * d.T @ x), ("b", b - RATE * d.sum(0))]:
        error = numpy.abs(tensors[name] - value).max()
        runs.check(error < 1e-5, f"{loss.__name__}: {name} differs by {error:.3g}")
    if loss is cross_entropy:
        right = (z.argmax(1) == y).mean()
        runs.check(abs(float(row["accuracy"]) - right) < 1e-5, f"{row['accuracy']} are right, not {right}")
    else:
        runs.check(row["accuracy"] == "", f"{loss.__name__} has no classes, and {row['accuracy']} are right")


def main():
    runs = kit.Runs(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        kit.write("linear.baton", kit.LINEAR)
        for index, loss in enumerate([cross_entropy, squares, absolute, huber, binary_cross_entropy]):
            check(runs, loss, index)
        os.chdir("/")
    runs.end()


main()
