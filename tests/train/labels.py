"""Labels: integers of any axes, for a loss that takes them so, and for one that takes floats; what fits no loss is told: labels.py BATON"""
import os
import sys
import tempfile

import numpy

import kit

HEAD = '#[version = "baton 0.1"]\n'
TOKENS = HEAD + """def @main<n: Dim>(%x: Tensor[(n, 4, 8), float32], %w: Tensor[(8, 5), float32]) -> Tensor[(n, 4, 5), float32] { nn.matmul(%x, %w) }
def @loss.tokens<n: Dim>(%z: Tensor[(n, 4, 5), float32], %y: Tensor[(n, 4), int64]) -> float32 {
    negative(mean(sum(nn.log_softmax(%z, axis=2) * one_hot(%y, 1f, 0f, depth=5), axis=[2])))
}
"""
COLUMN = HEAD + """def @main<n: Dim>(%x: Tensor[(n, 8), float32], %w: Tensor[(1, 8), float32]) -> Tensor[(n, 1), float32] { nn.dense(%x, %w) }
"""
FLAT = HEAD + """def @main<n: Dim>(%x: Tensor[(n, 8), float32], %w: Tensor[(1, 8), float32]) -> Tensor[(n), float32] { reshape(nn.dense(%x, %w), newshape=[n]) }
"""


def check_tokens(runs, random):
    """A class for each token: the loss of the first step is that of NumPy."""
    kit.write("tokens.baton", TOKENS)
    x, w = (random.normal(size=size).astype(numpy.float32) for size in [(32, 4, 8), (8, 5)])
    y = random.integers(0, 5, (32, 4))
    kit.write_tensors("tokens.safetensors", {"w": w})
    z = x.astype(numpy.float64) @ w
    want = (numpy.log(numpy.exp(z).sum(2)) - numpy.take_along_axis(z, y[..., None], 2)[..., 0]).mean()
    for dtype in ["int64", "int32", "uint8"]:
        numpy.savez("tokens.npz", x=x, labels=y.astype(dtype))
        runs.train("tokens.baton", "--data", "tokens.npz", "--loss", "tokens", "--epochs", 1, "--batch", 32, "--initialise", "tokens.safetensors", "-o", dtype)
        with open(f"{dtype}/curve.csv") as file:
            loss = float(list(file)[1].split(",")[2])
        runs.check(abs(loss - want) < 1e-5, f"{dtype}: the loss is {loss}, expected {want}")
    numpy.savez("tokens.npz", x=x, labels=y[:, 0])
    runs.refused("@loss.tokens does not take what @main gives, Tensor[(32, 4, 5), float32], with labels of type Tensor[(32), int64]", "train", "tokens.baton",
                 "--data", "tokens.npz", "--loss", "tokens", "--batch", 32, "-o", "x")
    numpy.savez("tokens.npz", x=x, labels=y + 0.5)
    runs.refused("@loss.tokens takes integers, and what is given are not", "train", "tokens.baton", "--data", "tokens.npz", "--loss", "tokens",
                 "--batch", 32, "-o", "x")


def check_floats(runs, random):
    """Integers, of one axis or of two, are the floats that a loss takes."""
    kit.write("column.baton", COLUMN)
    kit.write("flat.baton", FLAT)
    x, y = random.normal(size=(64, 8)).astype(numpy.float32), random.integers(0, 2, 64)
    for model, labels in [("flat", y), ("column", y[:, None])]:
        for loss in ["binary_cross_entropy", "squares"]:
            tensors = []
            for dtype in ["float32", "int64", "uint8"]:
                folder = f"{model}_{loss}_{dtype}"
                numpy.savez("floats.npz", x=x, labels=labels.astype(dtype))
                runs.train(f"{model}.baton", "--data", "floats.npz", "--loss", loss, "--epochs", 2, "-o", folder)
                tensors.append(kit.read_tensors(runs.last(folder))[0]["w"].tobytes())
            runs.check(tensors[0] == tensors[1] == tensors[2], f"{model}, {loss}: integers are learned from as other numbers")


def check_refused(runs, random):
    x = random.normal(size=(64, 8)).astype(numpy.float32)
    for model, shape, hint in [
            ("column", (64,), "gives, Tensor[(64, 1), float32], with labels of type Tensor[(64), float32]: labels[..., None] gives them the axis of 1"),
            ("flat", (64, 1), "gives, Tensor[(64), float32], with labels of type Tensor[(64, 1), float32]: labels[..., 0] leaves their axis of 1 out"),
            ("column", (64, 2), "with labels of type Tensor[(64, 2), float32]\n")]:
        numpy.savez("wrong.npz", x=x, labels=random.normal(size=shape).astype(numpy.float32))
        words = ["train", f"{model}.baton", "--data", "wrong.npz", "--loss", "squares", "-o", "x"]
        runs.refused(f"error: @loss.squares does not take what @main {hint}" if hint.startswith("gives") else hint, *words)
        done = runs.run(*words)
        runs.check("step.baton" not in done.stderr and done.stderr.count("error:") == 1, f"what is generated is shown: {done.stderr}")


def main():
    runs = kit.Runs(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        random = numpy.random.default_rng(4)
        check_tokens(runs, random)
        check_floats(runs, random)
        check_refused(runs, random)
        os.chdir("/")
    runs.end()


main()
