"""Training in 16 bits: near to that in float32, with parameters of float32; small gradients by a loss that is scaled: precision.py BATON"""
import os
import sys
import tempfile

import numpy

import kit

HEAD = '#[version = "baton 0.1"]\n'
MODEL = HEAD + """def @main<n: Dim>(%x: Tensor[(n, 4), float32], %w: Tensor[(16, 4), float32], %b: Tensor[(16), float32], %v: Tensor[(3, 16), float32]) {
    nn.dense(nn.relu(nn.dense(%x, %w) + %b), %v)
}
"""
# Gradients of which the greatest is far below float16's least number.
SMALL = HEAD + """def @main<n: Dim>(%x: Tensor[(n, 4), float32], %w: Tensor[(3, 4), float32]) { nn.dense(%x, %w) }
def @loss.small<s: Shape>(%z: Tensor[s, float32], %y: Tensor[s, float32]) -> float32 { 1e-8f * mean((%z - %y) * (%z - %y)) }
"""


def train(runs, model, name, *more):
    done = runs.train(model, "--data", "data.npz", "--batch", 32, "--epochs", 4, "--seed", 4, "-o", name, *more)
    with open(f"{name}/curve.csv") as file:
        return done, [float(line.split(",")[2]) for line in list(file)[1:]]


def content(name):
    with open(f"{name}/step.baton") as file:
        return file.read()


# Gradients that float16 has no numbers for unless the scale is below 2^16.
LARGE = HEAD + """def @main<n: Dim>(%x: Tensor[(n, 4), float32], %w: Tensor[(3, 4), float32]) { nn.dense(nn.dropout(%x, rate=0.1f).0, %w) }
def @loss.large<s: Shape>(%z: Tensor[s, float32], %y: Tensor[s, float32]) -> float32 { 100f * mean((%z - %y) * (%z - %y)) }
"""


def check_dynamic(runs):
    """The scale is found: it falls where gradients are infinite, without a step lost, rises after 2000 that are not, and is kept."""
    kit.write("large.baton", LARGE)
    how = ["--loss", "large", "--optimizer", "sgd{rate=1e-3}"]
    _, whole = train(runs, "large.baton", "wide", *how)
    for more in [[], ["--accumulate", 2]]:
        name = f"found{len(more)}"
        _, loss = train(runs, "large.baton", name, *how, "--precision", "float16", "--loss-scale", "dynamic", *more)
        notes = kit.read_tensors(runs.last(name))[1]
        runs.check(1 < float(notes["scale"]) < 2 ** 16 and 0 < int(notes["good"]) <= 32, f"{name}: {notes}")
        if not more:
            off = max(abs(a - b) / b for a, b in zip(loss, whole))
            runs.check(off < 0.01, f"{name}: losses {loss}, in float32 {whole}")
        os.unlink(runs.last(name))
        runs.check(int(kit.read_tensors(runs.last(name))[1]["step"]) == 24, "the checkpoint before the last")
        train(runs, "large.baton", name, *how, "--precision", "float16", "--loss-scale", "dynamic", "--resume", *more)
        train(runs, "large.baton", f"{name}.again", *how, "--precision", "float16", "--loss-scale", "dynamic", *more)
        with open(runs.last(name), "rb") as one, open(runs.last(f"{name}.again"), "rb") as other:
            runs.check(one.read() == other.read(), f"{name}: other bytes than those of one run")
    train(runs, "large.baton", "risen", *how, "--loss-scale", "dynamic", "--epochs", 251, "--every", 1)
    notes = kit.read_tensors(runs.last("risen"))[1]
    runs.check(notes["step"] == "2008" and notes["scale"] == "131072" and notes["good"] == "8", f"{notes}")
    # what is NaN at any scale is an error, as without one
    text = LARGE.replace("%z - %y) * (%z - %y)", "%z - %y) * sqrt(%z - %y)")
    runs.refused("is the first that is NaN", "train", kit.write("nan.baton", text), "--data", "data.npz", *how, "--loss-scale", "dynamic", "-o", "x")


def main():
    runs = kit.Runs(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        random = numpy.random.default_rng(2)
        x = random.normal(size=(256, 4)).astype(numpy.float32)
        numpy.savez("data.npz", x=x, labels=(x @ random.normal(size=(4, 3))).astype(numpy.float32))
        kit.write("model.baton", MODEL)
        kit.write("small.baton", SMALL)
        how = ["--loss", "squares", "--optimizer", "adam{rate=0.02}"]
        _, whole = train(runs, "model.baton", "whole", *how)
        for dtype, near in [("bfloat16", 0.05), ("float16", 0.01)]:
            for k, more in enumerate([[], ["--loss-scale", 1024], ["--loss-scale", 1024, "--accumulate", 2]]):
                name = f"{dtype}{k}"
                _, loss = train(runs, "model.baton", name, *how, "--precision", dtype, *more)
                off = max(abs(a - b) / b for a, b in zip(loss, whole))
                runs.check(0 < off < near, f"{name}: losses {loss}, in float32 {whole}")
                runs.check(f"{dtype}]" in content(name), f"{name}: nothing is of {dtype}")
                runs.check(all(t.dtype == numpy.float32 for t in kit.read_tensors(runs.last(name))[0].values()), f"{name}: parameters are of other types")
        done = runs.run("export", "model.baton", runs.last("float160"), "-o", "-")
        runs.check(done.returncode == 0 and "float16" not in done.stdout, "a model that is exported is of float32")
        # 2^30 brings gradients of 1e-9 to 1, and back
        how = ["--loss", "small", "--optimizer", "sgd{rate=1e7}"]
        for name, more, learns in [("float32", [], True), ("lost", ["--precision", "float16"], False),
                                   ("scaled", ["--precision", "float16", "--loss-scale", 2 ** 30], True), ("also", ["--loss-scale", 2 ** 30], True)]:
            _, loss = train(runs, "small.baton", name, *how, *more)
            runs.check((loss[-1] < 0.7 * loss[0]) == learns, f"{name}: losses {loss}")
            if name == "float32":
                whole = loss
            elif learns:
                runs.check(abs(loss[-1] - whole[-1]) < 0.01 * whole[-1], f"{name}: losses {loss}, in float32 {whole}")
        check_dynamic(runs)
        runs.refused("is bfloat16, float16 or float32, not float8", "train", "model.baton", "--data", "data.npz", "--loss", "squares", "--precision", "float8", "-o", "x")
        runs.refused("--loss-scale takes a finite float32 above 0, not -1", "train", "model.baton", "--data", "data.npz", "--loss-scale", "-1", "-o", "x", code=2)
        os.chdir("/")
    runs.end()


main()
