"""Dropout and batch norm: steps as in training, trials as at inference, against NumPy: modes.py BATON"""
import os
import shutil
import sys
import tempfile

import numpy

import drawn
import kit

SEED, RATE, DROP, NSAMPLE, BATCH = 5, 0.125, 0.25, 96, 16
MODEL = """#[version = "baton 0.1"]
def @main<n: Dim>(%x: Tensor[(n, 4), float32], %mean: Tensor[(6), float32], %w: Tensor[(6, 4), float32], %gamma: Tensor[(6), float32],
                  %beta: Tensor[(6), float32], %variance: Tensor[(6), float32], %v: Tensor[(3, 6), float32]) -> Tensor[(n, 3), float32] {
    %h = nn.batch_norm(nn.dense(%x, %w), %gamma, %beta, %mean, %variance);
    %low = nn.dropout(nn.relu(%h.0), rate=0.25f);
    %high = nn.dropout(nn.dense(%low.0, %v), rate=0.25f);
    %high.0
}
"""
# Two layers whose constants are equal, one of them in a function; and a mean that two calls move.
CONSTANTS = """#[version = "baton 0.1"]
def @main<n: Dim>(%x: Tensor[(n, 4), float32]) -> Tensor[(n, 4), float32] {
    %a = nn.batch_norm(%x, const[(4), float32]{1 ..}, const[(4), float32]{0 ..}, const[(4), float32]{0 ..}, const[(4), float32]{1 ..});
    %b = nn.batch_norm(2f * %a.0 + 1f, const[(4), float32]{1 ..}, const[(4), float32]{0 ..}, const[(4), float32]{0 ..}, const[(4), float32]{1 ..});
    %c = nn.batch_norm(3f * %b.0 + 2f, @g, @b, @m, @v);
    %d = nn.batch_norm(5f * %c.0 + 3f, @g, @b, @m, @v);
    %d.0
}
const @g = const[(4), float32]{1 ..};
const @b = const[(4), float32]{0 ..};
const @m = const[(4), float32]{0 ..};
const @v = const[(4), float32]{1 ..};
"""


def normalised(x, mean, variance):
    return (x - mean) / numpy.sqrt(variance + 1e-5)


def moved(p, h):
    """New moments: by a tenth toward those of the batch, whose variance is an estimate."""
    p["mean"] = 0.9 * p["mean"] + 0.1 * h.mean(0)
    p["variance"] = 0.9 * p["variance"] + 0.1 * h.var(0) * len(h) / (len(h) - 1)


def gradients(p, x, y, run):
    """Of the mean of squares, through the masks of this batch and its moments, which move."""
    masks = [drawn.dropped(SEED, run, k, (len(x), n), DROP) / (1 - DROP) for k, n in enumerate((6, 3))]
    h = x @ p["w"].T
    z = normalised(h, h.mean(0), h.var(0))
    r = z * p["gamma"] + p["beta"]
    low = numpy.maximum(r, 0) * masks[0]
    d = low @ p["v"].T * masks[1] - y
    dz = 2 * d / d.size * masks[1]
    dr = dz @ p["v"] * masks[0] * (r > 0)
    dn = dr * p["gamma"]
    dh = (dn - dn.mean(0) - z * (dn * z).mean(0)) / numpy.sqrt(h.var(0) + 1e-5)
    moved(p, h)
    return {"w": dh.T @ x, "gamma": (dr * z).sum(0), "beta": dr.sum(0), "v": dz.T @ low}, (d ** 2).mean()


def trained(start, x, y, nepoch, nmicro):
    """Parameters after each epoch, and the loss of each step."""
    p = {name: value.astype(numpy.float64) for name, value in start.items()}
    losses, run = [], 0
    for epoch in range(nepoch):
        order = drawn.order(SEED, epoch, NSAMPLE)
        for at in range(0, NSAMPLE, BATCH * nmicro):
            sums, total = dict.fromkeys(["w", "gamma", "beta", "v"], 0), 0
            for _ in range(nmicro):
                rows = order[at + run % nmicro * BATCH:][:BATCH]
                found, loss = gradients(p, x[rows], y[rows], run)
                sums = {name: sums[name] + found[name] / nmicro for name in sums}
                total, run = total + loss / nmicro, run + 1
            for name in sums:
                p[name] = p[name] - RATE * sums[name]
            losses.append(total)
    return p, losses


def inferred(p, x):
    return numpy.maximum(normalised(x @ p["w"].T, p["mean"], p["variance"]) * p["gamma"] + p["beta"], 0) @ p["v"].T


def compare(runs, folder, want, what):
    tensors, _ = kit.read_tensors(runs.last(folder))
    for name, value in want.items():
        error = numpy.abs(tensors[name] - value).max()
        runs.check(error < 2e-5, f"{what}: {name} differs by {error:.3g}")


def check_steps(runs, start, x, y, nmicro):
    kit.write_tensors("start.safetensors", start)
    folder = f"parts{nmicro}"
    args = ["model.baton", "--data", "data.npz", "--test", "data.npz", "--loss", "squares", "--optimizer", f"sgd{{rate={RATE}}}", "--seed", SEED,
            "--batch", BATCH * nmicro, "--accumulate", nmicro, "--every", 1]
    runs.train(*args, "--epochs", 3, "--initialise", "start.safetensors", "-o", folder)
    want, losses = trained(start, x, y, 3, nmicro)
    compare(runs, folder, want, f"{nmicro} parts")
    with open(f"{folder}/curve.csv") as file:
        rows = [line.split(",") for line in list(file)[1:]]
    per_epoch = len(losses) // 3
    for k, row in enumerate(rows):
        mean = numpy.mean(losses[k * per_epoch:(k + 1) * per_epoch])
        runs.check(abs(float(row[2]) - mean) < 1e-5 * mean, f"{nmicro} parts: loss {row[2]} is not {mean}")
    test = ((inferred(want, x) - y) ** 2).mean()
    runs.check(abs(float(rows[-1][4]) - test) < 1e-5 * test, f"{nmicro} parts: loss at inference {rows[-1][4]} is not {test}")
    # The same bits from any step on: the keys are those of the batches, the moments are in the file.
    runs.train(*args, "--epochs", 1, "--initialise", "start.safetensors", "-o", f"{folder}.again")
    os.unlink(runs.last(f"{folder}.again"))
    runs.refused("by a training of --seed 5, which it goes on with", "train", *args, "--epochs", 3, "--resume", "--seed", 77, "-o", f"{folder}.again")
    runs.train(*args, "--epochs", 3, "--resume", "--threads", 3, "-o", f"{folder}.again")
    with open(runs.last(folder), "rb") as one, open(runs.last(f"{folder}.again"), "rb") as other:
        runs.check(one.read() == other.read(), f"{nmicro} parts: other bytes than those of one run")
    shutil.rmtree(f"{folder}.again")
    # As a model of its own: at inference, with the moments.
    done = runs.run("export", "model.baton", runs.last(folder), "-o", "out.baton")
    runs.check(done.returncode == 0, done.stderr)
    done = runs.run("run", "out.baton", "-i", "x=x.npy", "-o", "result")
    runs.check(done.returncode == 0, done.stderr)
    error = numpy.abs(numpy.load("result/output.npy") - inferred(want, x)).max()
    runs.check(error < 1e-4, f"{nmicro} parts: the model that is exported differs by {error:.3g}")


def check_moments(runs, x):
    """Each layer moves its own."""
    kit.write("constants.baton", CONSTANTS)
    numpy.savez("same.npz", x=x, labels=x)
    runs.train("constants.baton", "--data", "same.npz", "--loss", "squares", "--optimizer", "sgd{rate=0}", "--batch", NSAMPLE, "--epochs", 1,
               "-o", "constants")
    tensors, _ = kit.read_tensors(runs.last("constants"))
    spread = NSAMPLE / (NSAMPLE - 1)
    scale = x.var(0) / (x.var(0) + 1e-5)
    want = {"a.moving_mean": x.mean(0) / 10, "a.moving_var": 0.9 + x.var(0) * spread / 10, "b.moving_mean": 0.1, "b.moving_var": 0.9 + 0.4 * spread * scale,
            "m": 0.9 * 0.2 + 0.3, "v": 0.9 * (0.9 + 0.9 * spread) + 2.5 * spread}
    for name, value in want.items():
        error = numpy.abs(tensors[name] - value).max() if name in tensors else 9
        runs.check(error < 2e-4, f"{name} differs by {error:.3g}: {sorted(tensors)}")


def check_refused(runs):
    head, data = '#[version = "baton 0.1"]\n', ["--data", "data.npz", "--loss", "squares", "-o", "x"]
    types = "(%x: Tensor[(8, 4), float32], %w: Tensor[(3, 4), float32], %m: Tensor[(4), float32])"
    for words, text in [
            ("%m for its mean and for its variance", f"def @main{types} {{ %n = nn.batch_norm(%x, %m, %m, %m, %m); nn.dense(%n.0, %w) }}"),
            ("neither constants nor parameters of @main", f"def @main{types} {{ %n = nn.batch_norm(%x, %m, %m, %m * 2f, %m); nn.dense(%n.0, %w) }}"),
            ("nn.dropout stands in a closure", f"def @main{types} {{ let %f = fn (%y: Tensor[(8, 3), float32]) {{ %d = nn.dropout(%y); %d.0 }};\n"
             "    @twice(%f, nn.dense(%x, %w)) }\ndef @twice(%f: fn(Tensor[(8, 3), float32]) -> Tensor[(8, 3), float32], %y: Tensor[(8, 3), float32], inline=False) { %f(%f(%y)) }")]:
        runs.refused(words, "train", kit.write("bad.baton", head + text + "\n"), *data)


def check_frozen(runs, start, x, y):
    """A norm whose moments are fixed, or not among those that are learned, normalises by them, and they stay."""
    numpy.savez("data.npz", x=x, labels=y)
    kit.write("frozen.baton", MODEL.replace("%low = nn.dropout(nn.relu(%h.0), rate=0.25f);", "%low = (nn.relu(%h.0), 0f);").replace(
        "%high = nn.dropout(nn.dense(%low.0, %v), rate=0.25f);\n    %high.0", "nn.dense(%low.0, %v)"))
    kit.write_tensors("frozen.safetensors", start)
    words = ["train", "frozen.baton", "--data", "data.npz", "--loss", "squares", "--optimizer", f"sgd{{rate={RATE}}}", "--epochs", 1, "--batch", NSAMPLE,
             "--initialise", "frozen.safetensors"]
    p = {name: value.astype(numpy.float64) for name, value in start.items()}
    r = normalised(x @ p["w"].T, p["mean"], p["variance"]) * p["gamma"] + p["beta"]
    low = numpy.maximum(r, 0)
    d = low @ p["v"].T - y
    want = p["v"] - RATE * (2 * d / d.size).T @ low
    for folder, more in [("frozen_fixed", ["--fixed", "mean", "--fixed", "variance"]), ("frozen_others", ["--learn", "v"])]:
        runs.train(*words[1:], *more, "-o", folder)
        tensors, _ = kit.read_tensors(runs.last(folder))
        runs.check(numpy.abs(tensors["v"] - want).max() < 1e-5, f"{folder}: {numpy.abs(tensors['v'] - want).max()} from a step by fixed moments")
        runs.check(all(numpy.array_equal(tensors[name], start[name]) for name in ("mean", "variance")), f"{folder}: moments move")
        runs.check(numpy.array_equal(tensors["w"], start["w"]) == (folder == "frozen_others"), f"{folder}: w")
    runs.train(*words[1:], "--learn", "v", "--learn", "mean", "--learn", "variance", "-o", "frozen_none")
    tensors, _ = kit.read_tensors(runs.last("frozen_none"))
    runs.check(not numpy.array_equal(tensors["mean"], start["mean"]) and numpy.array_equal(tensors["w"], start["w"]), "moments that are named move")
    runs.refused("frozen.baton:4:5: error: train-mode: %mean is fixed and %variance is not: nn.batch_norm moves both", *words, "--fixed", "mean", "-o", "x")
    runs.train("frozen.baton", "--data", "data.npz", "--loss", "squares", "--epochs", 1, "--batch", NSAMPLE, "--fixed", "mean", "--fixed", "variance", "-o", "frozen_new")
    tensors, _ = kit.read_tensors(runs.last("frozen_new"))
    runs.check(not numpy.any(tensors["mean"]) and numpy.all(tensors["variance"] == 1), "moments that stay begin as means of 0, variances of 1")
    # Constants: they stay with the norm, as others do.
    runs.train("constants.baton", "--data", "same.npz", "--loss", "squares", "--fixed", "a.moving_mean", "--fixed", "a.moving_var", "--epochs", 1, "-o", "frozen_constants")
    tensors, _ = kit.read_tensors(runs.last("frozen_constants"))
    runs.check(not numpy.any(tensors["a.moving_mean"]) and numpy.any(tensors["b.moving_mean"]), "one of two norms is frozen")


def main():
    runs = kit.Runs(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        random = numpy.random.default_rng(11)
        x, y = (random.normal(size=size).astype(numpy.float32) for size in [(NSAMPLE, 4), (NSAMPLE, 3)])
        x = 2 * x + numpy.float32(0.5)
        start = {name: random.normal(size=size).astype(numpy.float32) for name, size in
                 [("w", (6, 4)), ("gamma", 6), ("beta", 6), ("mean", 6), ("v", (3, 6))]}
        start["variance"] = random.uniform(0.5, 2, 6).astype(numpy.float32)
        kit.write("model.baton", MODEL)
        numpy.savez("data.npz", x=x, labels=y)
        numpy.save("x.npy", x)
        for nmicro in [1, 2]:
            check_steps(runs, start, x, y, nmicro)
        check_moments(runs, x.astype(numpy.float64))
        check_frozen(runs, start, x, y)
        check_refused(runs)
        os.chdir("/")
    runs.end()


main()
