"""The first 100 steps of LeNet on digits against NumPy, from the same weights: curve.py BATON
All that training draws is computed again: what the weights begin as (he_uniform), and the order of samples in each epoch."""
import gzip
import json
import os
import sys
import tempfile

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads would wait for each other where others compute, too
import kit

import numpy

import drawn

DIGITS = kit.harness.shared_folder("data", "mnist")
LENET = os.path.join(kit.here, "..", "..", "sdk", "examples", "digits", "lenet.baton")
SEED, BATCH, PER_EPOCH, NEPOCH, NEAR = 12, 16, 20, 5, 1e-4
RATE, MOMENTUM = 0.01, 0.9
SHAPES = {"w1": (6, 1, 5, 5), "b1": (6,), "w2": (16, 6, 5, 5), "b2": (16,), "w3": (120, 400), "b3": (120,), "w4": (84, 120), "b4": (84,),
          "w5": (10, 84), "b5": (10,)}


def windows(x, size):
    """A row of each place: what stands in its window."""
    view = numpy.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(2, 3))
    return view.transpose(0, 2, 3, 1, 4, 5).reshape(-1, x.shape[1] * size * size)


def conv(x, w, b):
    high = x.shape[2] - w.shape[2] + 1
    return (windows(x, w.shape[2]) @ w.reshape(len(w), -1).T + b).reshape(len(x), high, high, -1).transpose(0, 3, 1, 2)


def conv_back(x, w, dy):
    """Gradients by data, weights and bias."""
    size = w.shape[2]
    rows = dy.transpose(0, 2, 3, 1).reshape(-1, len(w))
    dw = (rows.T @ windows(x, size)).reshape(w.shape)
    wide = numpy.pad(dy, ((0, 0), (0, 0), (size - 1, size - 1), (size - 1, size - 1)))
    return conv(wide, w[:, :, ::-1, ::-1].transpose(1, 0, 2, 3), 0), dw, rows.sum(0)


def pool(x):
    """The greatest of each 2 x 2, and where it stands: the first of equal ones."""
    n, c, h, w = x.shape
    rows = x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h // 2, w // 2, 4)
    at = rows.argmax(4)
    return numpy.take_along_axis(rows, at[..., None], 4)[..., 0], at


def pool_back(dy, at):
    n, c, h, w = dy.shape
    rows = dy[..., None] * (at[..., None] == numpy.arange(4))
    return rows.reshape(n, c, h, w, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, 2 * h, 2 * w)


def gradient(p, image, labels):
    """Of the mean cross entropy: (loss, gradients)."""
    g, x = {}, numpy.pad(image, ((0, 0), (0, 0), (2, 2), (2, 2)))
    c1 = numpy.maximum(conv(x, p["w1"], p["b1"]), 0)
    p1, at1 = pool(c1)
    c2 = numpy.maximum(conv(p1, p["w2"], p["b2"]), 0)
    p2, at2 = pool(c2)
    flat = p2.reshape(len(x), -1)
    h1 = numpy.maximum(flat @ p["w3"].T + p["b3"], 0)
    h2 = numpy.maximum(h1 @ p["w4"].T + p["b4"], 0)
    z = h2 @ p["w5"].T + p["b5"]
    e = numpy.exp(z - z.max(1, keepdims=True))
    chances = e / e.sum(1, keepdims=True)
    loss = -numpy.log(chances[numpy.arange(len(x)), labels]).mean()
    d = (chances - numpy.eye(10)[labels]) / len(x)
    g["w5"], g["b5"] = d.T @ h2, d.sum(0)
    d = d @ p["w5"] * (h2 > 0)
    g["w4"], g["b4"] = d.T @ h1, d.sum(0)
    d = d @ p["w4"] * (h1 > 0)
    g["w3"], g["b3"] = d.T @ flat, d.sum(0)
    d = pool_back((d @ p["w3"]).reshape(p2.shape), at2) * (c2 > 0)
    d, g["w2"], g["b2"] = conv_back(p1, p["w2"], d)
    d = pool_back(d, at1) * (c1 > 0)
    g["w1"], g["b1"] = conv_back(x, p["w1"], d)[1:]
    return loss, g


def begun():
    """What @train.initial draws: matrices by he_uniform, summands as zeros."""
    return {name: drawn.initial(SEED, i, "he_uniform", shape).astype(numpy.float64) if len(shape) > 1 else numpy.zeros(shape)
            for i, (name, shape) in enumerate(SHAPES.items())}


def losses(images, labels):
    p, out = begun(), []
    way = {name: numpy.zeros_like(value) for name, value in p.items()}
    for epoch in range(NEPOCH):
        order = drawn.order(SEED, epoch, len(labels))
        for at in range(0, len(order), BATCH):
            rows = order[at:at + BATCH]
            loss, g = gradient(p, images[rows], labels[rows])
            for name in p:
                way[name] = MOMENTUM * way[name] + g[name]
                p[name] = p[name] - RATE * way[name]
            out.append(loss)
    return out


def main():
    runs = kit.Runs(sys.argv[1])
    parts = []
    for name, head in [("train10k-images-idx3-ubyte.gz", 16), ("train10k-labels-idx1-ubyte.gz", 8)]:
        with gzip.open(os.path.join(DIGITS, name)) as file:
            parts.append(numpy.frombuffer(file.read()[head:], numpy.uint8))
    n = BATCH * PER_EPOCH
    images = (parts[0].reshape(-1, 1, 28, 28)[:n] / numpy.float32(255)).astype(numpy.float32)
    labels = parts[1][:n].astype(numpy.int64)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        numpy.savez("digits.npz", image=images, labels=labels)
        name = f"momentum{{rate={RATE}, momentum={MOMENTUM}}}"
        done = runs.train(LENET, "--data", "digits.npz", "--optimizer", name, "--batch", BATCH, "--epochs", NEPOCH, "--seed", SEED, "--json", "-o", "lenet")
        found = [json.loads(line)["loss"] for line in done.stdout.splitlines()]
        want = losses(images.astype(numpy.float64), labels)
        runs.check(len(found) == len(want) == PER_EPOCH * NEPOCH, f"{len(found)} losses")
        worst = max(abs(a - b) for a, b in zip(found, want))
        print(f"loss from {found[0]:.4f} to {found[-1]:.4f} in {len(found)} steps, at most {worst:.1e} from NumPy's")
        runs.check(worst <= NEAR and found[-1] < found[0] / 2, f"losses differ by {worst:.3g}")
        os.chdir("/")
    runs.end()


main()
