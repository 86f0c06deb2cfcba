"""Models that learn: by parameters, by constants, with several inputs and results, within a budget; and what is refused, with its place:
models.py BATON"""
import json
import os
import re
import sys
import tempfile

import numpy

import kit

HEAD = '#[version = "baton 0.1"]\n'
CONSTANTS = HEAD + """def @main<n: Dim>(%x: Tensor[(n, 4), float32]) -> Tensor[(n, 3), float32] {
    %hidden = nn.dense(%x, const[(5, 4), float32]{WEIGHTS});
    %norm = nn.batch_norm(tanh(%hidden), @gamma, @beta, const[(5), float32]{0, 0, 0, 0, 0}, const[(5), float32]{1, 1, 1, 1, 1});
    nn.dense(%norm.0, @last)
}
const @gamma = const[(5), float32]{1, 1, 1, 1, 1};
const @beta = const[(5), float32]{0, 0, 0, 0, 0};
const @last = const[(3, 5), float32]{LAST};
"""
TWO = HEAD + """def @main<n: Dim>(%a: Tensor[(n, 4), float32], %b: Tensor[(n, 2, 2), float32], %w: Tensor[(3, 4), float32], inputs=2) -> (Tensor[(n, 3), float32], Tensor[(n, 4), float32]) {
    %flat = nn.batch_flatten(%b);
    (nn.dense(%a * %flat, %w), %flat)
}
"""
BRANCH = HEAD + """def @main(%x: Tensor[(8, 4), float32], %w: Tensor[(3, 4), float32], %v: Tensor[(3, 4), float32]) -> Tensor[(8, 3), float32] {
    if (sum(%x) > 0f) { nn.dense(%x, %w) } else { nn.dense(%x, %v) }
}
"""

DEEP = HEAD + """def @main<n: Dim>(%x: Tensor[(n, 4), float32], %a: Tensor[(64, 4), float32], %b: Tensor[(64, 64), float32], %c: Tensor[(64, 64), float32],
                  %d: Tensor[(3, 64), float32]) -> Tensor[(n, 3), float32] {
    %1 = tanh(nn.dense(%x, %a));
    %2 = tanh(nn.dense(%1, %b));
    %3 = tanh(nn.dense(%2, %c));
    nn.dense(%3, %d)
}
"""


DRAWN = HEAD + """def @main<n: Dim>(%x: Tensor[(n, 4), float32], %w: Tensor[(3, 4), float32], initializers=["w=normal{scale=0.1}"]) -> Tensor[(n, 3), float32] {
    nn.dense(%x, %w)
}
"""
NORMED = HEAD + """def @main<n: Dim>(%x: Tensor[(n, 4), float32], %w0: Tensor[(64, 4), float32], %w1: Tensor[(64, 64), float32], %w2: Tensor[(64, 64), float32], %w3: Tensor[(64, 64), float32], %w4: Tensor[(3, 64), float32], %g: Tensor[(64), float32], %b: Tensor[(64), float32], %m: Tensor[(64), float32], %v: Tensor[(64), float32]) -> Tensor[(n, 3), float32] {
    %h = tanh(nn.dense(%x, %w0));
    %h1 = nn.dropout(tanh(nn.dense(%h, %w1)), rate=0.3).0;
    %h2 = nn.batch_norm(tanh(nn.dense(%h1, %w2)), %g, %b, %m, %v).0;
    %h3 = annotation.checkpoint(tanh(nn.dense(%h2, %w3))) + %h;
    nn.dense(%h3, %w4)
}
"""

POWER = HEAD + """def @main<n: Dim>(%x: Tensor[(n, 4), float32], %w: Tensor[(4, 4), float32], %v: Tensor[(3, 4), float32]) -> Tensor[(n, 3), float32] {
    nn.dense(@power(%x, %w, cast(sum(0f * %x), dtype="int32") + 2), %v)
}
def @power<n: Dim>(%x: Tensor[(n, 4), float32], %w: Tensor[(4, 4), float32], %k: int32) -> Tensor[(n, 4), float32] {
    if (%k == 0) { %x } else { tanh(nn.dense(@power(%x, %w, %k - 1), %w)) }
}
"""


def numbers(random, n):
    return ", ".join(f"{x:.6g}" for x in random.normal(size=n))


def falls(runs, folder):
    """The loss of the last point is less than half of the first one's."""
    with open(os.path.join(folder, "curve.csv")) as file:
        losses = [float(line.split(",")[2]) for line in list(file)[1:]]
    runs.check(losses[-1] < losses[0] / 2, f"{folder}: the loss goes from {losses[0]} to {losses[-1]}")


def check_constants(runs, random, x, y):
    kit.write("constants.baton", CONSTANTS.replace("WEIGHTS", numbers(random, 20)).replace("LAST", numbers(random, 15)))
    runs.train("constants.baton", "--data", "classes.npz", "--optimizer", "adam{rate=0.05}", "--epochs", 30, "--batch", 32, "-o", "constants")
    falls(runs, "constants")
    tensors, _ = kit.read_tensors(runs.last("constants"))
    moments = {"norm.moving_mean", "norm.moving_var"}
    runs.check({"hidden.weight", "gamma", "beta", "last"} | moments == {name for name in tensors if not name.startswith("optimizer.")},
               f"parameters {sorted(tensors)}")
    runs.train("constants.baton", "--data", "classes.npz", "--fixed", "last", "--fixed", "gamma", "--epochs", 1, "-o", "fixed")
    tensors, _ = kit.read_tensors(runs.last("fixed"))
    runs.check({"hidden.weight", "beta"} | moments == set(tensors), f"parameters {sorted(tensors)}")
    runs.refused("has no constant lst", "train", "constants.baton", "--data", "classes.npz", "--fixed", "lst", "-o", "x")
    # What it gives as a model of its own is what it gives with its parameters.
    for suffix in ["baton", "bta"]:
        done = runs.run("export", "constants.baton", runs.last("constants"), "--batch", len(x), "-o", f"out.{suffix}")
        runs.check(done.returncode == 0, done.stderr)
        numpy.save("x.npy", x)
        done = runs.run("run", f"out.{suffix}", "-i", "x.npy", "-o", f"result.{suffix}")
        runs.check(done.returncode == 0, done.stderr)
        z = numpy.load(f"result.{suffix}/output.npy")
        right = (z.argmax(1) == y).mean()
        runs.check(right > 0.9, f"{suffix}: {right} are right")
    # It learns on from its constants, whatever its parameters began with.
    kit.write("drawn.baton", DRAWN)
    runs.train("drawn.baton", "--data", "classes.npz", "--epochs", 1, "-o", "drawn")
    learned, _ = kit.read_tensors(runs.last("drawn"))
    done = runs.run("export", "drawn.baton", runs.last("drawn"), "-o", "drawn_on.baton")
    runs.check(done.returncode == 0, done.stderr)
    runs.train("drawn_on.baton", "--data", "classes.npz", "--optimizer", "sgd{rate=0}", "--epochs", 1, "-o", "drawn_on")
    tensors, _ = kit.read_tensors(runs.last("drawn_on"))
    runs.check(numpy.array_equal(tensors["nn.dense.weight"], learned["w"]), f"an exported model begins with {tensors}, not {learned}")
    open_model = runs.run("export", "constants.baton", runs.last("constants"), "-o", "-")
    runs.check("Tensor[(n, 4), float32]" in open_model.stdout, open_model.stdout + open_model.stderr)


def check_adapters(runs, x):
    """What is named to be learned and a file lacks begins by its initializer."""
    text = HEAD + """def @main<n: Dim>(%x: Tensor[(n, 4), float32], %w: Tensor[(3, 4), float32], %la: Tensor[(2, 4), float32], %lb: Tensor[(3, 2), float32],
    initializers=["lb=zeros"]) -> Tensor[(n, 3), float32] { nn.dense(%x, %w) + nn.dense(nn.dense(%x, %la), %lb) }
def @initializer.zeros<s: Shape>(%key: Tensor[(2), uint32], %like: Tensor[s, float32]) -> Tensor[s, float32] { 0f * %like }
"""
    kit.write("adapted.baton", text)
    w = numpy.arange(12).reshape(3, 4).astype(numpy.float32)
    kit.write_tensors("before.safetensors", {"w": w})
    kit.write_tensors("other.safetensors", {"v": w})
    words = ["adapted.baton", "--data", "floats.npz", "--loss", "squares", "--epochs", 1, "--batch", 96]
    learned = ["--learn", "la", "--learn", "lb"]
    runs.train(*words, *learned, "--initialise", "before.safetensors", "-o", "adapted")
    tensors, _ = kit.read_tensors(runs.last("adapted"))
    runs.check(numpy.array_equal(tensors["w"], w) and numpy.any(tensors["la"]) and numpy.any(tensors["lb"]), "adapters beside what stays")
    runs.refused("before.safetensors has no tensor la; parameters that are named in `learned` may be missing", "train", *words, "--initialise", "before.safetensors", "-o", "x")
    runs.refused("other.safetensors has no tensor w", "train", *words, *learned, "--initialise", "other.safetensors", "-o", "x")


def check_rest(runs, x):
    """A parameter with one axis that is one of further arguments: of vmap, of compute."""
    for k, body in enumerate(["vmap(fn (%v: Tensor[(4), float32], %u: Tensor[(4), float32]) -> float32 { sum(%v * %u) }, %x, %w, axes=[0, -1])",
                              'compute(%x, %w, formula="x: t[n, k], w: t[k] => y: t[i in n] = sum(j: x[i, j] * w[j])")']):
        kit.write("rest.baton", HEAD + f"def @main<n: Dim>(%x: Tensor[(n, 4), float32], %w: Tensor[(4), float32]) -> Tensor[(n), float32] {{ {body} }}\n")
        numpy.savez("rest.npz", x=x, labels=x.sum(1))
        runs.train("rest.baton", "--data", "rest.npz", "--loss", "squares", "--optimizer", "sgd{rate=0.2}", "--epochs", 10, "-o", f"rest{k}")
        falls(runs, f"rest{k}")


def check_others(runs, random, x):
    """Several inputs and results; branches; a folder of files; classes of several integer types; JSON."""
    kit.write("two.baton", TWO)
    for k in range(2):
        os.makedirs("parts", exist_ok=True)
        a, b = random.normal(size=(40, 4)).astype(numpy.float32), random.normal(size=(40, 2, 2)).astype(numpy.float32)
        numpy.savez(f"parts/{k}.npz", a=a, b=b, labels=(a * b.reshape(40, 4) @ numpy.ones((4, 3))).astype(numpy.float32))
    runs.train("two.baton", "--data", "parts", "--loss", "squares", "--optimizer", "adam{rate=0.1}", "--epochs", 40, "--batch", 16, "-o", "two")
    falls(runs, "two")
    kit.write("branch.baton", BRANCH)
    numpy.savez("branch.npz", x=x[:64], labels=numpy.tile(x[:64].sum(1, keepdims=True), (1, 3)))
    runs.train("branch.baton", "--data", "branch.npz", "--loss", "squares", "--optimizer", "sgd{rate=0.2}", "--epochs", 30, "-o", "branch")
    falls(runs, "branch")
    words = ["branch.baton", "--data", "branch.npz", "--loss", "squares", "--epochs", 2]
    runs.train(*words, "--learn", "w", "-o", "learned")
    runs.train(*words, "--fixed", "v", "-o", "fixed_input")
    tensors, same = (kit.read_tensors(runs.last(folder))[0] for folder in ("learned", "fixed_input"))
    runs.check(tensors.keys() == same.keys() and all(numpy.array_equal(tensors[k], same[k]) for k in tensors), "a parameter that stays, by either option")
    runs.refused("x is data", "train", *words, "--fixed", "x", "-o", "x")
    runs.refused("no parameter is left to learn", "train", *words, "--fixed", "v", "--fixed", "w", "-o", "x")
    kit.write("linear.baton", kit.LINEAR)
    for dtype in ["uint8", "int32", "int64"]:
        labels = (x[:64, 0] > 0).astype(dtype)
        numpy.save(f"last_{dtype}.npy", labels[32:])
        os.makedirs(f"x_{dtype}", exist_ok=True)
        numpy.save(f"x_{dtype}/0.npy", x[:32])
        numpy.save(f"x_{dtype}/1.npy", x[32:64])
        numpy.save(f"labels_{dtype}.npy", labels)
        done = runs.train("linear.baton", "--data", f"x_{dtype}", "--labels", f"labels_{dtype}.npy", "--test", f"x_{dtype}/1.npy", "--json",
                          "--test-labels", f"last_{dtype}.npy", "--epochs", 30, "--optimizer", "sgd{rate=1}", "-o", dtype)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        runs.check(rows and rows[-1]["test_accuracy"] > 0.9 and rows[-1]["epoch"] == 30, f"{dtype}: {rows[-1:]}")


def check_results(runs, x, y):
    """Of several results the first is learned by, which is told; a loss that takes their tuple learns by all."""
    text = HEAD + """def @main<n: Dim>(%x: Tensor[(n, 4), float32], %w: Tensor[(3, 4), float32], %v: Tensor[(3, 4), float32]) {
    (nn.dense(%x, %w), nn.dense(nn.dropout(%x, rate=0f).0, %v))
}
"""
    kit.write("pair.baton", text)
    z = x @ numpy.arange(12).reshape(4, 3).astype(numpy.float32)
    numpy.savez("pair.npz", x=x, labels=z)
    words = ["--data", "pair.npz", "--optimizer", "adam{rate=0.5}", "--epochs", 20, "--batch", 32]
    done = runs.train("pair.baton", *words, "--loss", "squares", "-o", "first")
    runs.check("@main gives 2 results, and what it learns by is the first" in done.stderr, done.stderr)
    start, _ = kit.read_tensors(runs.last("first"))
    runs.check(not numpy.any(start["optimizer.m/v"]), "what the second result alone reads has a gradient")
    loss = """def @loss.both<s: Shape>(%z: (Tensor[s, float32], Tensor[s, float32]), %y: Tensor[s, float32]) -> float32 {
    mean((%z.0 - %y) * (%z.0 - %y)) + mean((%z.1 + %y) * (%z.1 + %y))
}
"""
    kit.write("pair.baton", text + loss)
    done = runs.train("pair.baton", *words, "--loss", "both", "--test", "pair.npz", "-o", "both")
    runs.check("results" not in done.stderr, done.stderr)
    falls(runs, "both")
    tensors, _ = kit.read_tensors(runs.last("both"))
    runs.check(numpy.any(tensors["optimizer.m/v"]), "the second result is not learned by")
    loss = loss.replace("both", "chosen").replace("Tensor[s, float32]) -> float32", "Tensor[(n), int64]) -> float32").replace("<s: Shape>", "<n: Dim>")
    loss = loss.replace("Tensor[s, float32]", "Tensor[(n, 3), float32]").replace(
        "mean((%z.0 - %y) * (%z.0 - %y)) + mean((%z.1 + %y) * (%z.1 + %y))",
        "negative(mean(sum(one_hot(%y, 1f, 0f, depth=3) * nn.log_softmax(%z.0 + 0f * %z.1), axis=[1])))")
    kit.write("pair.baton", text + loss)
    done = runs.train("pair.baton", "--data", "classes.npz", "--optimizer", "adam{rate=0.5}", "--loss", "chosen", "--epochs", 20, "--json", "-o", "chosen")
    runs.check(json.loads(done.stdout.splitlines()[-1])["accuracy"] > 0.6, "classes of the first of two results are counted")


def check_tried(runs, x, y):
    """The loss of what is tried is that of all samples, whole batches or not."""
    w, b = numpy.arange(12).reshape(3, 4).astype(numpy.float32) / 8, numpy.arange(3).astype(numpy.float32)
    kit.write_tensors("tried.safetensors", {"w": w, "b": b})
    for n in [3, 8, 11, 17, 96]:
        numpy.savez("tried.npz", x=x[:n], labels=y[:n])
        done = runs.train("linear.baton", "--data", "classes.npz", "--test", "tried.npz", "--optimizer", "sgd{rate=0}", "--epochs", 1,
                          "--initialise", "tried.safetensors", "--json", "-o", f"tried{n}")
        last = json.loads(done.stdout.splitlines()[-1])
        z = (x[:n] @ w.T + b).astype(numpy.float64)
        losses = numpy.log(numpy.exp(z).sum(1)) - z[numpy.arange(n), y[:n]]
        runs.check(abs(last["test_loss"] - losses.mean()) < 2e-6 * losses.mean(), f"{n} samples: {last['test_loss']}, expected {losses.mean()}")
        runs.check(abs(last["test_accuracy"] - (z.argmax(1) == y[:n]).mean()) < 1e-6, f"{n} samples: {last['test_accuracy']} are right")
    # One infinite sample, alone in its batch or not, the last or not: the loss is infinite and no NaN.
    numpy.savez("finite.npz", x=x, labels=numpy.zeros((len(x), 3), numpy.float32))
    for n, k in [(11, 10), (11, 8), (11, 0), (9, 8)]:
        labels = numpy.zeros((n, 3), numpy.float32)
        labels[k] = 1e30
        numpy.savez("infinite.npz", x=x[:n], labels=labels)
        done = runs.train("linear.baton", "--data", "finite.npz", "--test", "infinite.npz", "--loss", "squares", "--optimizer", "sgd{rate=0}",
                          "--epochs", 1, "-o", f"infinite{n}_{k}")
        runs.check("  test loss inf  " in done.stdout, f"sample {k} of {n} is infinite: {done.stdout}")


def check_budget(runs):
    """Within a budget the same is learned; one that is too small is refused."""
    kit.write("deep.baton", DEEP)
    words = ["deep.baton", "--data", "classes.npz", "--epochs", 2, "--batch", 96]
    runs.train(*words, "-o", "deep")
    done = runs.run("run", "deep/step.baton", "--entry", "train.step", "--target", "cpu", "--memory", "--json")
    nbytes = json.loads(done.stdout)["memory"]["shared_bytes"]
    done = runs.train(*words, "-o", "within", "--checkpoint-memory", nbytes - 1024)
    runs.check("fit-memory: tensors take" in done.stderr, done.stderr)
    tensors, _ = kit.read_tensors(runs.last("deep"))
    within, _ = kit.read_tensors(runs.last("within"))
    runs.check(tensors.keys() == within.keys() and all(tensors[k].tobytes() == within[k].tobytes() for k in tensors), "a budget changes parameters")
    runs.refused("a budget of 1000 bytes is not met: tensors take", "train", *words, "-o", "x", "--checkpoint-memory", 1000)
    # What is planned takes more than was estimated for some budgets, which are met all the same.
    kit.write("normed.baton", NORMED)
    words = ["normed.baton", *words[1:], "--optimizer", "adam"]
    refused = runs.refused("tensors take", "train", *words, "-o", "x", "--checkpoint-memory", 1000)
    least = int(re.search(r"tensors take (\d+)", refused.stderr).group(1))
    for percent in [1, 3, 6]:
        runs.train(*words, "-o", f"normed{percent}", "--checkpoint-memory", least + least * percent // 100)
    words = ["deep.baton", "--data", "classes.npz", "--epochs", 2, "--batch", 96]
    # What the model marks itself; what takes an executor with calls.
    kit.write("marked.baton", DEEP.replace("tanh(nn.dense(%1, %b))", "annotation.checkpoint(tanh(nn.dense(%1, %b)))"))
    runs.train("marked.baton", *words[1:], "-o", "marked", "--checkpoint-memory", nbytes)
    marked, _ = kit.read_tensors(runs.last("marked"))
    runs.check(all(tensors[k].tobytes() == marked[k].tobytes() for k in tensors), "marks change parameters")
    kit.write("branch.baton", BRANCH)
    numpy.savez("branch.npz", x=numpy.ones((8, 4), numpy.float32), labels=numpy.zeros((8, 3), numpy.float32))
    runs.train("branch.baton", "--data", "branch.npz", "--loss", "squares", "--epochs", 1, "-o", "branch_within", "--checkpoint-memory", 100000)
    kit.write("power.baton", POWER)
    runs.refused("power.baton:5:1: error: plan-memory: a budget of 100000 bytes cannot be promised: @power", "train", "power.baton", *words[1:],
                 "-o", "x", "--checkpoint-memory", 100000)


def check_refused(runs, x):
    data = ["--data", "classes.npz", "-o", "x"]
    idx = bytes([0, 0, 8, 2]) + (100).to_bytes(4, "big") + (4).to_bytes(4, "big") + bytes(400)
    for name, content in [("cut", idx[:400]), ("head", idx[:8]), ("behind", idx + b"0")]:
        kit.write(f"{name}.idx", content)
    kit.write("linear.baton", kit.LINEAR)
    for words, *args in [
            ("@main has no parameter bb to learn: it has w, b; did you mean b?", "linear.baton", *data, "--learn", "w", "--learn", "bb"),
            ("did you mean `@optimizer.adam`", "linear.baton", *data, "--optimizer", "adm"),
            ("no attribute `rat`; did you mean `rate`", "linear.baton", *data, "--optimizer", "adam{rat=1}"),
            ("expected a number, found `x`", "linear.baton", *data, "--optimizer", "adam{rate=x}"),
            ("did you mean `@schedule.cosine`", "linear.baton", *data, "--schedule", "cosin"),
            ("is no name of a loss", "linear.baton", *data, "--loss", "a b"),
            ("has nothing to learn", kit.write("none.baton", HEAD + "def @main(%x: Tensor[(8, 3), float32]) { %x }\n"), "--data", "three.npz", "-o", "x"),
            ("none2.baton:2:40: error: %i: Tensor[(3), int32] cannot be learned",
             kit.write("none2.baton", HEAD + "def @main(%x: Tensor[(8, 3), float32], %i: Tensor[(3), int32]) { %x + cast(%i, dtype=\"float32\") }\n"),
             "--data", "three.npz", "-o", "x"),
            ("is no batch", kit.write("none3.baton", HEAD + "def @main(%x: float32, %w: Tensor[(3), float32]) { %x + %w }\n"), *data),
            ("takes a number for each of 8 samples and each class",
             kit.write("none4.baton", HEAD + "def @main(%x: Tensor[(8, 3), float32], %w: Tensor[(3), float32]) { sum(%x + %w) }\n"), "--data", "three.npz", "-o", "x"),
            ("three.npz holds Tensor[(96, 3), float32], and a sample of input x is (4)", "linear.baton", "--data", "three.npz", "-o", "x"),
            ("unlabelled.npz has no array labels", "linear.baton", "--data", "unlabelled.npz", "-o", "x"),
            ("x.npy has no labels", "linear.baton", "--data", "x.npy", "-o", "x"),
            ("gone.npz", "linear.baton", "--data", "gone.npz", "-o", "x"),
            ("there are 5 of five.npy", "linear.baton", "--data", "x.npy", "--labels", "five.npy", "-o", "x"),
            ("the label of sample 2 is 7, and the model gives 3 classes", "linear.baton", "--data", "wrong.npz", "-o", "x"),
            ("is no sample", "linear.baton", "--data", "linear.baton", "--labels", "five.npy", "-o", "x"),
            ("great.npz: the label of sample 1 is 9223372036854775808, which int64 does not have", "linear.baton", "--data", "great.npz", "-o", "x"),
            ("what is given has 2 axes: of rows with a 1 at the class, argmax", "linear.baton", "--data", "hot.npz", "-o", "x"),
            ("@loss.squares does not take what @main gives, Tensor[(8, 3), float32], with labels of type Tensor[(8), int64]: classes, integers along one "
             "axis, are for losses as cross_entropy", "linear.baton", *data, "--loss", "squares"),
            ("complex.npz holds Tensor[(96, 4), complex64], and input x takes float32: real and imaginary parts", "linear.baton", "--data", "complex.npz", "-o", "x"),
            ("complex2.npz holds Tensor[(96), complex128], and labels are classes", "linear.baton", "--data", "complex2.npz", "-o", "x"),
            ("x.npy holds Tensor[(96, 4), float32], and input x takes integers (int32), to which floats would be cut", "words.baton", "--data", "x.npy",
             "--labels", "five.npy", "-o", "x"),
            ("beyond.npy: sample 3 of input x has 2147483648, which int32 does not have", "words.baton", "--data", "beyond.npy", "--labels", "five.npy", "-o", "x"),
            ("cut.idx: an IDX file that is cut short: it has 400 bytes, and the extents in its head take 412", "linear.baton", "--data", "cut.idx", "--labels", "five.npy", "-o", "x"),
            ("head.idx: an IDX file that is cut short: it has 8 bytes, and its head alone takes 12", "linear.baton", "--data", "head.idx", "--labels", "five.npy", "-o", "x"),
            ("behind.idx: an IDX file with bytes behind its end: it has 413 bytes, and the extents in its head take 412", "linear.baton", "--data", "behind.idx", "--labels", "five.npy",
             "-o", "x"),
            ("few.npz has 5 samples, and a step takes 8", "linear.baton", "--data", "few.npz", "-o", "x"),
            ("the batch has NaN or infinities in x", "linear.baton", "--data", "nan.npz", "--batch", 96, "-o", "x"),
            ("step 1 begins with NaN or infinities in w", "linear.baton", *data, "--batch", 96, "--initialise", "nan.safetensors", "--learn", "b"),
            ("step 1 begins with NaN or infinities in b", "linear.baton", *data, "--initialise", "nan2.safetensors"),
            ("the batch has NaN or infinities in x", "linear.baton", "--data", "nan.npz", "-o", "x"),
            ("step 1: the gradients are finite, and their squares are more than float32 holds",
             kit.write("steep.baton", HEAD + "def @loss.steep(%z: Tensor[(8, 3), float32], %y: Tensor[(8), int64]) -> float32 { 1e25f * mean(%z) }\n"
                       "def @main(%x: Tensor[(8, 4), float32], %w: Tensor[(3, 4), float32]) { nn.dense(%x, %w) }\n"), *data, "--loss", "steep", "--clip", "1"),
            ("sqrt.baton:3:5: error: step 1: %root (sqrt) is the first that is NaN",
             kit.write("sqrt.baton", HEAD + "def @main(%x: Tensor[(8, 4), float32], %w: Tensor[(3, 4), float32]) {\n    %root = sqrt(nn.dense(%x, %w));\n    %root * 2f\n}\n"), *data),
            # before a parameter has moved no rate is to blame
            ("the first that is NaN\n        %root = sqrt(nn.dense(%x, %w));\n        ^~~", "sqrt.baton", *data),
            # the value is a number, and what follows from it is none
            ("root.baton:4:18: error: step 1: the derivative of multiply is the first that is NaN\n        %root = sqrt(%z * 0f);\n",
             kit.write("root.baton", HEAD + "def @main(%x: Tensor[(8, 4), float32], %w: Tensor[(3, 4), float32]) {\n    %z = nn.dense(%x, %w);\n"
                       "    %root = sqrt(%z * 0f);\n    %z + %root\n}\n"), *data),
            ("root.baton:4:5: note: the derivative of %root (sqrt) was infinite before\n        %root = sqrt(%z * 0f);\n", "root.baton", *data),
            ("the derivative of @f is the first that is NaN",
             kit.write("recursive.baton", HEAD + "def @f(%x: Tensor[(8, 3), float32], %n: int32) -> Tensor[(8, 3), float32] { if (%n > 0) { @f(sqrt(%x * 0f), %n - 1) } "
                       "else { %x } }\ndef @main(%x: Tensor[(8, 4), float32], %w: Tensor[(3, 4), float32]) { @f(nn.dense(%x, %w), 3) }\n"), *data),
            ("step 2: a call of multiply is the first that is infinite; a smaller rate or a bound of the gradients' norm (`clip`) may help",
             kit.write("far.baton", HEAD + "def @loss.far(%z: Tensor[(8, 3), float32], %y: Tensor[(8), int64]) -> float32 { mean(%z * %z) }\n"
                       "def @main(%x: Tensor[(8, 4), float32], %w: Tensor[(3, 4), float32]) { nn.dense(%x, %w) }\n"), *data, "--loss", "far",
             "--optimizer", "sgd{rate=1e19}")]:
        runs.refused(words, "train", *args)
        if os.path.isdir("x"):
            runs.check(not [name for name in os.listdir("x") if name.startswith("step-")], f"{args}: a checkpoint is left")
    for words, *args in [("--data FILE is missing", "linear.baton"), ("--epochs takes a number", "linear.baton", *data, "--epochs", "0"),
                         ("--clip takes a finite float32 above 0, not -1", "linear.baton", *data, "--clip", "-1"),
                         ("--clip takes a finite float32 above 0, not inf", "linear.baton", *data, "--clip", "inf"),
                         ("--clip takes a finite float32 above 0, not 0", "linear.baton", *data, "--clip", "0"),
                         ("--clip takes a finite float32 above 0, not 1e300", "linear.baton", *data, "--clip", "1e300"),
                         ("--factor takes a finite float32, not x", "linear.baton", *data, "--factor", "x"),
                         ("--factor 0 makes zeros of all samples", "linear.baton", *data, "--factor", "0"),
                         ("--batch 12: the model takes batches of 8", "linear.baton", *data, "--batch", "12"),
                         ("--test-labels is of --test", "linear.baton", *data, "--test-labels", "five.npy"),
                         ("give one of them", "linear.baton", *data, "--resume", "--initialise", "a")]:
        runs.refused(words, "train", *args, code=2)
    runs.refused("-o FILE is missing", "export", "linear.baton", "start.safetensors", code=2)
    runs.refused("start.safetensors has no tensor b", "export", "linear.baton", "start.safetensors", "-o", "y.baton")
    runs.refused("linear.baton is no safetensors file", "export", "linear.baton", "linear.baton", "-o", "y.baton")


def main():
    runs = kit.Runs(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        random = numpy.random.default_rng(3)
        x = random.normal(size=(96, 4)).astype(numpy.float32)
        y = numpy.argmax(x[:, :3] - x[:, 3:], 1)
        numpy.savez("classes.npz", x=x, labels=y)
        numpy.savez("floats.npz", x=x, labels=numpy.zeros((len(x), 3), numpy.float32))
        kit.write("linear.baton", kit.LINEAR)
        numpy.savez("three.npz", x=x[:, :3], labels=y)
        numpy.savez("unlabelled.npz", x=x)
        numpy.savez("few.npz", x=x[:5], labels=y[:5])
        numpy.savez("wrong.npz", x=x, labels=numpy.where(numpy.arange(96) == 2, 7, y))
        numpy.savez("great.npz", x=x, labels=numpy.where(numpy.arange(96) == 1, numpy.uint64(2 ** 63), numpy.uint64(1)))
        numpy.savez("hot.npz", x=x, labels=numpy.eye(3, dtype=numpy.int32)[y])
        numpy.savez("complex.npz", x=x.astype(numpy.complex64), labels=y)
        numpy.savez("complex2.npz", x=x, labels=y.astype(numpy.complex128))
        numpy.save("beyond.npy", numpy.where(numpy.arange(5) == 3, 2 ** 31, 0)[:, None].repeat(4, 1))
        kit.write("words.baton", HEAD + "def @main<n: Dim>(%x: Tensor[(n, 4), int32], %w: Tensor[(3, 4), float32]) { nn.dense(cast(%x, dtype=\"float32\"), %w) }\n")
        bad = x.copy()
        bad[50, 1] = numpy.nan
        numpy.savez("nan.npz", x=bad, labels=y)
        for name, w, b in [("nan", numpy.nan, 0), ("nan2", 0, numpy.inf)]:
            kit.write_tensors(f"{name}.safetensors", {"w": numpy.full((3, 4), w), "b": numpy.full(3, b)})
        kit.write_tensors("start.safetensors", {"w": numpy.zeros((3, 4))})
        numpy.save("x.npy", x)
        numpy.save("five.npy", y[:5])
        check_constants(runs, random, x, y)
        check_adapters(runs, x)
        check_rest(runs, x)
        check_others(runs, random, x)
        check_results(runs, x, y)
        check_tried(runs, x, y)
        check_budget(runs)
        check_refused(runs, x)
        os.chdir("/")
    runs.end()


main()
