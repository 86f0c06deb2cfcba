"""baton train --evaluate: the loss and accuracy of a checkpoint and of an exported model, against NumPy and what a training prints of itself:
evaluate.py BATON"""
import json
import os
import sys
import tempfile

import numpy

import kit

# Six digits are printed: half of the last is at most 5e-6 of a number; the rest is for sums in float32.
CLOSE = 6e-6
HEAD = '#[version = "baton 0.1"]\n'
NORMED = HEAD + """def @main<n: Dim>(%x: Tensor[(n, 4), float32], %w: Tensor[(3, 4), float32], %m: Tensor[(4), float32], %v: Tensor[(4), float32]) -> Tensor[(n, 3), float32] {
    %norm = nn.batch_norm(%x, const[(4), float32]{1, 1, 1, 1}, const[(4), float32]{0, 0, 0, 0}, %m, %v);
    nn.dense(nn.dropout(%norm.0, rate=0.5).0, %w)
}
"""
# There is nothing to learn, and no derivative.
SORTED = HEAD + 'def @main<n: Dim>(%x: Tensor[(n, 4), float32]) { cast(argsort(%x), dtype="float32") }\n'


def evaluate(runs, *args):
    """The one object that is printed; the folder is as it was."""
    before = sorted(os.listdir("."))
    done = runs.train(*args, "--evaluate", "--json")
    runs.check(sorted(os.listdir(".")) == before and not os.listdir(os.environ["TMPDIR"]), f"{args}: a file stays")
    return json.loads(done.stdout) if done.returncode == 0 else {}


def cross_entropy(z, y):
    z = z.astype(numpy.float64)
    return (numpy.log(numpy.exp(z).sum(1)) - z[numpy.arange(len(y)), y]).mean(), (z.argmax(1) == y).mean()


def check_numbers(runs, x, y):
    w, b = numpy.arange(12).reshape(3, 4).astype(numpy.float32) / 8, numpy.arange(3).astype(numpy.float32)
    kit.write("linear.baton", kit.LINEAR)
    kit.write_tensors("tried.safetensors", {"w": w, "b": b})
    for n in [1, 3, 8, 11, 40]:
        numpy.savez("some.npz", x=x[:n], labels=y[:n])
        found = evaluate(runs, "linear.baton", "--data", "some.npz", "--test", "data.npz", "--initialise", "tried.safetensors")
        for before, (loss, right), count in [("", cross_entropy(x[:n] @ w.T + b, y[:n]), n), ("test_", cross_entropy(x @ w.T + b, y), len(x))]:
            runs.check(found.get(before + "samples") == count and abs(found[before + "loss"] - loss) < CLOSE * loss
                       and abs(found[before + "accuracy"] - right) < 1e-6, f"{n} samples: {found}, expected {loss}, {right}")
    numpy.savez("floats.npz", x=x, labels=x[:, :3])
    found = evaluate(runs, "linear.baton", "--data", "floats.npz", "--loss", "squares", "--initialise", "tried.safetensors")
    runs.check(found.get("loss") and found["accuracy"] is None and found["test_samples"] == 0 and found["test_loss"] is None, f"{found}")
    done = runs.train("linear.baton", "--data", "floats.npz", "--loss", "squares", "--initialise", "tried.safetensors", "--evaluate")
    runs.check(done.stdout == f"40 samples  loss {found['loss']:.4f}\n", done.stdout)


def check_trained(runs):
    """What a training has printed of its last checkpoint, for that checkpoint and for the model that it becomes."""
    kit.write("normed.baton", NORMED)
    words = ["--data", "data.npz", "--test", "some.npz", "--optimizer", "adam{rate=0.05}", "--batch", 8]
    done = runs.train("normed.baton", *words, "--epochs", 3, "--json", "-o", "trained")
    last = json.loads(done.stdout.splitlines()[-1])
    checkpoint = runs.last("trained")
    found = evaluate(runs, "normed.baton", *words, "--initialise", checkpoint)
    for name in ("test_loss", "test_accuracy"):
        runs.check(found.get(name) == last[name], f"{found}, in training {last}")
    done = runs.run("export", "normed.baton", checkpoint, "-o", "out.baton")
    runs.check(done.returncode == 0, done.stderr)
    exported = evaluate(runs, "out.baton", *words)
    runs.check(exported.keys() == found.keys() and abs(exported["loss"] - found["loss"]) < 1e-5 * found["loss"]
               and exported["accuracy"] == found["accuracy"], f"{found}, exported {exported}")
    runs.check(evaluate(runs, "normed.baton", *words, "-o", "trained", "--initialise", checkpoint, "--accumulate", 2) == found, "options of learning")
    done = runs.run("quantize", "out.baton", "--data", "x.npy", "-o", "integers.baton")
    runs.check(done.returncode == 0, done.stderr)
    integers = evaluate(runs, "integers.baton", "--data", "data.npz")
    runs.check(integers and abs(integers["loss"] - found["loss"]) < 0.1, f"{found}, of integers {integers}")


def check_rest(runs, x, y):
    kit.write("sorted.baton", SORTED)
    found = evaluate(runs, "sorted.baton", "--data", "data.npz")
    loss, right = cross_entropy(x.argsort(1, kind="stable"), y)
    runs.check(found and abs(found["loss"] - loss) < CLOSE * loss and abs(found["accuracy"] - right) < 1e-6, f"{found}, expected {loss}, {right}")
    words = ["train", "linear.baton", "--data", "data.npz", "--evaluate"]
    runs.refused("parameter w has no value to evaluate @main by: a file of what was learned brings it (load with `params`)\nnote: load with `params` is --initialise FILE\n", *words)
    runs.refused("--initialise FILE brings a checkpoint to evaluate", *words, "--resume", code=2)
    kit.write_tensors("foreign.safetensors", {"w": numpy.zeros((3, 4))})
    runs.refused("foreign.safetensors has no tensor b", *words, "--initialise", "foreign.safetensors", "--learn", "b")
    runs.check(not os.listdir(os.environ["TMPDIR"]), "what is refused leaves a file")


def main(program):
    runs = kit.Runs(program)
    random = numpy.random.default_rng(5)
    x = random.normal(size=(40, 4)).astype(numpy.float32)
    y = (x @ random.normal(size=(4, 3))).argmax(1)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as work:
        os.chdir(folder)
        os.environ["TMPDIR"] = work
        numpy.savez("data.npz", x=x, labels=y)
        numpy.save("x.npy", x)
        check_numbers(runs, x, y)
        check_trained(runs)
        check_rest(runs, x, y)
        os.chdir("/")
    runs.end()


main(sys.argv[1])
