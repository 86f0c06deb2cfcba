"""What is said where a training is asked for what there is not, and of what it takes and goes on with: messages.py BATON"""
import os
import sys
import tempfile

import numpy

import kit

LOSSES = """#[version = "baton 0.1"]
// Squares that count more.
def @loss.focal<s: Shape>(%z: Tensor[s, float32], %y: Tensor[s, float32], %gamma: float32) -> float32 { %gamma * mean((%z - %y) * (%z - %y)) }
"""
WRONG = """#[version = "baton 0.1"]
// Optimizers that are none.
def @optimizer.mine<s: Shape>(%w: Tensor[s, float32], %g: Tensor[s, float32], %step: float32) -> float32 { %step }
"""


def plugin(runs, kind, text):
    """A library `mine` with that text, as a plugin."""
    done = runs.run("plugin", "new", kind, "example.mine", kind)
    runs.check(done.returncode == 0, done.stderr)
    kit.write(f"{kind}/mine.baton", text)
    return {**os.environ, "BATON_PLUGIN_PATH": os.path.abspath(kind)}


def check_names(runs):
    data = ["linear.baton", "--data", "data.npz", "-o", "x"]
    env = plugin(runs, "loss", LOSSES)
    runs.refused("error: neither the model nor a library has @loss.focl; did you mean `@loss.focal`?\nnote: baton list losses shows those of libraries\n", "train", *data,
                 "--loss", "focl", env=env)
    runs.refused("error: neither the model nor a library has @loss.xyzzy\nnote: baton list losses shows those of libraries\n", "train", *data, "--loss", "xyzzy", env=env)
    runs.refused("@main has no constant q that could stay one, and no such parameter: it has x, w, b", "train", *data, "--fixed", "q")
    runs.refused("no parameter q to learn: it has w, b\n", "train", *data, "--learn", "q")
    runs.refused("w is to be learned and to stay: it is named in `learned` and in `fixed`\nnote: `fixed` is --fixed NAME\nnote: `learned` is --learn NAME", "train",
                 *data, "--learn", "w", "--fixed", "w")
    for schedule, words in [("steps{factor=-1}", "schedule.steps: factor is -1, and is to be 0 or more"), ("linear{last=-1}", "last is -1, and is to be 0 or more"),
                            ("cosine{last=-1}", "last is -1, and is to be 0 or more")]:
        runs.refused(words, "train", *data, "--schedule", schedule)
    runs.refused("a name is empty: the parameters of @main are w, b", "train", *data, "--learn", "")
    runs.refused("no parameter w,b to learn: each name is one of `learned` by itself\nnote: `learned` is --learn NAME, once for each\n", "train", *data, "--learn", "w,b")
    done = runs.train(*data[:3], "--loss", "cross_entropy", "--optimizer", "momentum", "--optimizer", "adam{rate=0.1}", "--epochs", 1, "-o", "twice")
    runs.check("note: `optimizers` has more than one for all parameters: the last, adam{rate=0.1}, counts" in done.stderr and "--loss" not in done.stderr, done.stderr)
    done = runs.train(*data[:3], "--epochs", 2, "--epochs", 1, "--clip", 2, "--clip", 1, "-o", "again")
    runs.check(all(f"note: --{name} is given more than once: the last, 1, counts" in done.stderr for name in ("epochs", "clip")), done.stderr)
    runs.refused("--clip takes a finite float32 above 0, not 1e-46", "train", *data, "--clip", "1e-46", code=2)
    runs.refused("loss_scale", "train", *data, "--loss-scale", "1e-38")
    # What a plugin calls a loss or an optimizer is one.
    done = runs.run("plugin", "check", "org.example.mine", env=env)
    runs.check(done.returncode == 0, done.stdout + done.stderr)
    done = runs.run("plugin", "check", "org.example.mine", env=plugin(runs, "optimizer", WRONG))
    runs.check(done.returncode == 1 and "@optimizer.mine is no optimizer: it gives float32" in done.stderr, done.stdout + done.stderr)
    # Its attributes are defaults of options, and their ends.
    for defaults, message in [("gama=2f", "mine.baton:3:1: error: attribute gama of @loss.focal is the default of no option, nor an end of one (NAME_low, "
                                          "NAME_high); did you mean gamma"),
                              ("gamma=2f, gamma_hihg=3f", "attribute gamma_hihg of @loss.focal is the default of no option"),
                              ('gamma=2f, gamma_low="delta"', "attribute gamma_low of @loss.focal is to be a number, or the name of another option"),
                              ('gamma="2"', "attribute gamma of @loss.focal is to be a number: options are"),
                              ("gamma=2f, gamma_high=1f", "loss.focal: gamma is 2, and is to be 1 or less")]:
        kit.write("loss/mine.baton", LOSSES.replace("%gamma: float32)", f"%gamma: float32, {defaults})"))
        done = runs.run("plugin", "check", "org.example.mine", env=env)
        runs.check(done.returncode == 1 and message in done.stderr, done.stdout + done.stderr)


def check_data(runs, x, y):
    """A test that gives no number is seen."""
    numpy.savez("nan.npz", x=numpy.where(numpy.arange(len(x))[:, None] == 1, numpy.nan, x).astype(x.dtype), labels=y)
    words = ["linear.baton", "--data", "data.npz", "--test", "nan.npz", "--epochs"]
    done = runs.train(*words, 1, "-o", "nan")
    runs.check("test loss nan" in done.stdout, done.stdout)
    runs.train(*words, 2, "-o", "nan", "--resume")
    with open("nan/curve.csv") as file:
        runs.check([line.split(",")[4] for line in file if line[0].isdigit() and line.split(",")[4]] == ["nan", "nan"], open("nan/curve.csv").read())
    numpy.savez("empty.npz", x=x[:0], labels=y[:0])
    runs.refused("empty.npz holds Tensor[(0, 4), float32]: there are no samples in it", "train", "linear.baton", "--data", "empty.npz", "-o", "x")
    numpy.save("x.npy", x)
    tensors = []
    for name, words in [("one", ["--data", "data.npz"]), ("two", ["--data", "x.npy", "--labels", "data.npz"])]:
        runs.train("linear.baton", *words, "--epochs", 1, "-o", name)
        tensors.append(kit.read_tensors(runs.last(name))[0]["w"].tobytes())
    runs.check(tensors[0] == tensors[1], "labels of a .npz are others with samples beside them")
    numpy.savez("floats.npz", x=x, labels=y.astype(numpy.float32))
    runs.refused("what is given are not integers: floats are for another `loss`, such as squares\nnote: `loss` is --loss NAME\n", "train", "linear.baton", "--data",
                 "floats.npz", "-o", "x")
    kit.write_tensors("other.safetensors", {"w": numpy.ones((4, 3)), "b": numpy.ones(3)})
    runs.refused("tensor w is Tensor[(4, 3), float32], and the model's is Tensor[(3, 4), float32]", "train", "linear.baton", "--data", "data.npz", "-o", "x",
                 "--initialise", "other.safetensors")
    kit.write_tensors("more.safetensors", {"w": numpy.ones((3, 4)), "b": numpy.ones(3), "bias": numpy.ones(3), "optimizer.mean/w": numpy.ones((3, 4))})
    done = runs.train("linear.baton", "--data", "data.npz", "--epochs", 1, "-o", "more", "--initialise", "more.safetensors")
    runs.check("note: more.safetensors has tensors that @main does not have, which are not read: bias\n" in done.stderr, done.stderr)
    # Labels of --test have an option of their own.
    words = ["linear.baton", "--data", "x.npy", "--labels", "data.npz", "-o", "x", "--test"]
    runs.refused("error: x.npy has no labels: --test-labels FILE says", "train", *words, "x.npy")
    runs.refused("error: x.npy has no labels: --labels FILE says", "train", *words[:3], "-o", "x")
    numpy.savez("bare.npz", x=x)
    runs.refused("what the model should give, unless --test-labels names a file", "train", *words, "bare.npz")
    numpy.savez("other.npz", y=y)
    runs.refused("other.npz has no array labels", "train", "linear.baton", "--data", "x.npy", "--labels", "other.npz", "-o", "x")


def check_fixed(runs):
    """A constant that was fixed is so where the model is exported, too."""
    kit.write("scaled.baton", kit.LINEAR.replace("def @main", "const @scale = const[(3), float32]{1, 2, 3};\ndef @main").replace("%b\n", "%b * @scale\n"))
    done = runs.train("scaled.baton", "--data", "data.npz", "--fixed", "scale", "--fixed", "b", "--epochs", 1, "-o", "scaled")
    runs.check(done.stdout.startswith("12 parameters in 1 tensor, 32 samples, ") and "\nlearned: w (3, 4)\n" in done.stdout, done.stdout)
    export = ["export", "scaled.baton", runs.last("scaled"), "-o", "y.baton"]
    runs.refused("has no tensor scale; a constant that the training had in `fixed` is named in `fixed` here, too\nnote: `fixed` is --fixed NAME\n", *export)
    runs.check(runs.run(*export, "--fixed", "scale").returncode == 0, "the same constant")
    runs.refused("--batch 4: the model takes batches of 8 samples", *export, "--fixed", "scale", "--batch", 4, code=2)
    runs.refused("--output: a folder has a name", "train", "scaled.baton", "--data", "data.npz", "-o", "", code=2)
    runs.refused('"": error: cannot be opened', "train", "scaled.baton", "--data", "data.npz", "-o", "x", "--initialise", "")
    # A constant of the module is an initializer of ONNX.
    done = runs.run(*export[:-1], "y.onnx", "--fixed", "scale")
    runs.check(done.returncode == 0, done.stderr)
    given = ["-i", "x=random:1"]
    outputs = [runs.run("run", file, *given).stdout for file in ("y.onnx", "y.baton")]
    runs.check(outputs[0].split("\n", 1)[1:] == outputs[1].split("\n", 1)[1:] != [], f"of both forms: {outputs}")
    # One that is not learned begins as the model has it, whether the file has it or not.
    kit.write_tensors("begin.safetensors", {"w": numpy.ones((3, 4), numpy.float32), "b": numpy.ones(3, numpy.float32)})
    words = ["scaled.baton", "--data", "data.npz", "--epochs", 1, "-o", "begun", "--initialise", "begin.safetensors"]
    runs.refused("has no tensor scale; a constant that is to stay as the model has it is named in `fixed`\nnote: `fixed` is --fixed NAME\n", "train", *words)
    runs.train(*words, "--learn", "w")
    tensors, _ = kit.read_tensors(runs.last("begun"))
    runs.check(tensors["scale"].tolist() == [1, 2, 3] and tensors["b"].tolist() == [1, 1, 1], f"not learned: {tensors}")


def check_articles(runs):
    for kind, words in [("optimizer", "an optimizer"), ("loss", "a loss")]:
        new = ["plugin", "new", kind, "example.mine", f"another_{kind}"]
        runs.run(*new)
        runs.refused(f"another_{kind} is there: {words} is another function @{kind}.NAME of a library of it (a text beside its manifest), or", *new, code=2)


def check_notes(runs):
    words = ["linear.baton", "--data", "data.npz", "-o", "on"]
    runs.train(*words, "--schedule", "cosine", "--epochs", 1)
    done = runs.train(*words, "--schedule", "cosine", "--epochs", 3, "--resume")
    runs.check("note: on/step-000000004.safetensors was written by a training of --epochs 1: schedule cosine goes on as that of 3" in done.stderr, done.stderr)
    done = runs.train(*words, "--schedule", "cosine", "--epochs", 3, "--resume")
    runs.check(not done.stderr, done.stderr)
    runs.check("\nnothing is left to do: it stands at step 12, and --epochs 3 ends at 12; a greater number goes on\n" in done.stdout, done.stdout)
    for name, is_told in [("a.pt", True), ("b.baton", False), ("c", False)]:
        done = runs.run("export", "linear.baton", runs.last("on"), "-o", name)
        runs.check(done.returncode == 0 and ("is a text of Baton" in done.stderr) == is_told, f"{name}: {done.stderr}")


def main():
    runs = kit.Runs(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        random = numpy.random.default_rng(6)
        x, y = random.normal(size=(32, 4)).astype(numpy.float32), random.integers(0, 3, 32)
        numpy.savez("data.npz", x=x, labels=y)
        kit.write("linear.baton", kit.LINEAR)
        check_names(runs)
        check_data(runs, x, y)
        check_fixed(runs)
        check_articles(runs)
        check_notes(runs)
        os.chdir("/")
    runs.end()


main()
