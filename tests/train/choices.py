"""What a training is asked for, a loss, an optimizer, a schedule or an initializer: the model's own, of a plugin, of a text that it imports;
and what is none of its kind: choices.py BATON"""
import os
import sys
import tempfile

import numpy

import kit

HEAD = '#[version = "baton 0.1"]\n'
OWN = HEAD + """// An optimizer, a loss and a schedule of its own.
def @main<n: Dim>(%x: Tensor[(n, 4), float32], %w: Tensor[(3, 4), float32]) -> Tensor[(n, 3), float32] { nn.dense(%x, %w) }
def @optimizer.sign<s: Shape>(%w: Tensor[s, float32], %g: Tensor[s, float32], %step: float32, %rate: float32, rate=0.01f, rate_high=1) -> Tensor[s, float32] {
    %w - %rate * sign(%g)
}
def @loss.fourth<s: Shape>(%z: Tensor[s, float32], %y: Tensor[s, float32], %scale: float32, scale=1f) -> float32 {
    %d = %z - %y;
    %scale * mean(%d * %d * %d * %d)
}
def @optimizer.fixed<s: Shape>(%w: Tensor[s, float32], %g: Tensor[s, float32], %step: float32) -> Tensor[s, float32] { %w - %g }
def @optimizer.bare<s: Shape>(%w: Tensor[s, float32], %g: Tensor[s, float32], %step: float32, %rate: float32, %decay: float32, decay=0f) -> Tensor[s, float32] { %w }
def @optimizer.none(%w: float32) -> float32 { %w }
def @schedule.third(%step: float32, %steps: float32) -> float32 { 1f / 3f }
"""
WRONG = HEAD + """def @main<n: Dim>(%x: Tensor[(n, 4), float32], %w: Tensor[(3, 4), float32]) -> Tensor[(n, 3), float32] { nn.dense(%x, %w) }
def @optimizer.sum<s: Shape>(%w: Tensor[s, float32], %g: Tensor[s, float32], %step: float32) -> float32 { sum(%w - %g) }
def @optimizer.state<s: Shape>(%w: Tensor[s, float32], %g: Tensor[s, float32], %m: Tensor[s, float32], %step: float32) -> (Tensor[s, float32], float32) { (%w, 1f) }
def @optimizer.lone<s: Shape>(%w: Tensor[s, float32], %g: Tensor[s, float32], %m: Tensor[s, float32], %step: float32) -> Tensor[s, float32] { %w }
def @optimizer.narrow(%w: Tensor[(2), float32], %g: Tensor[(2), float32], %step: float32) -> Tensor[(2), float32] { %w }
def @optimizer.nan<s: Shape>(%w: Tensor[s, float32], %g: Tensor[s, float32], %step: float32) -> Tensor[s, float32] { sqrt(0f - abs(%w) - 1f) }
def @loss.vector<s: Shape>(%z: Tensor[s, float32], %y: Tensor[s, float32]) -> Tensor[s, float32] { %z - %y }
def @loss.pair<s: Shape>(%z: Tensor[s, float32], %y: Tensor[s, float32]) -> (float32, float32) { (mean(%z - %y), 1f) }
def @loss.half<s: Shape>(%z: Tensor[s, float32], %y: Tensor[s, float32]) -> float16 { cast(mean(%z - %y), dtype="float16") }
def @schedule.vector(%step: float32, %steps: float32) -> Tensor[(2), float32] { zeros(shape=[2]) }
def @schedule.nan(%step: float32, %steps: float32) -> float32 { log(0f - %step) }
def @initializer.number<s: Shape>(%key: Tensor[(2), uint32], %like: Tensor[s, float32]) -> float32 { 1f }
def @loss.third<s: Shape>(%z: Tensor[s, float32], %y: Tensor[s, float32], %more: Tensor[(3), float32]) -> float32 { mean(%z - %y) }
def @loss.behind<s: Shape>(%z: Tensor[s, float32], %y: Tensor[s, float32], %scale: float32, %more: Tensor[(3), float32]) -> float32 { mean(%z - %y) }
def @optimizer.early<s: Shape>(%w: Tensor[s, float32], %g: Tensor[s, float32], %rate: float32, %step: float32) -> Tensor[s, float32] { %w }
def @optimizer.unstepped<s: Shape>(%w: Tensor[s, float32], %g: Tensor[s, float32]) -> Tensor[s, float32] { %w }
def @optimizer.stepless<s: Shape>(%w: Tensor[s, float32], %g: Tensor[s, float32], %rate: float32) -> Tensor[s, float32] { %w }
def @optimizer.empty<s: Shape>(%w: Tensor[s, float32], %g: Tensor[s, float32], %step: float32, %rate: float32, rate_low=1f, rate_high=0f) -> Tensor[s, float32] { %w }
def @schedule.tensor(%x: Tensor[(2), float32], %step: float32, %steps: float32) -> float32 { %step }
def @schedule.swapped(%steps: float32, %step: float32) -> float32 { %step / %steps }
def @schedule.unstepped(%step: float32, %last: float32) -> float32 { %step }
"""


def check_own(runs, x):
    w = numpy.arange(12).reshape(3, 4).astype(numpy.float32)
    kit.write("own.baton", OWN)
    kit.write_tensors("start.safetensors", {"w": w})
    y = numpy.zeros((len(x), 3), numpy.float32)
    numpy.savez("own.npz", x=x, labels=y)
    runs.train("own.baton", "--data", "own.npz", "--optimizer", "sign{rate=0.5}", "--loss", "fourth{scale=2}", "--schedule", "third",
               "--epochs", 1, "--batch", len(x), "--initialise", "start.safetensors", "-o", "own")
    tensors, _ = kit.read_tensors(runs.last("own"))
    z = x.astype(numpy.float64) @ w.T
    want = w - 0.5 / 3 * numpy.sign((z ** 3).T @ x)
    runs.check(numpy.abs(tensors["w"] - want).max() < 1e-5, "an optimizer of the model's own")
    with open("own/curve.csv") as file:
        loss = float(list(file)[1].split(",")[2])
    runs.check(abs(loss / (2 * (z ** 4).mean()) - 1) < 1e-5, "a loss of the model's own")


def check_plugin(runs, x):
    """Of libraries of plugins that the model does not import, as `baton plugin new` writes them."""
    os.makedirs("plugins")
    numpy.savez("plugged.npz", x=x, labels=numpy.ones((len(x), 3), numpy.float32))
    for kind, words in [("loss", "losses"), ("optimizer", "optimizers"), ("schedule", "schedules"), ("initializer", "initializers")]:
        done = runs.run("plugin", "new", kind, f"example.my_{kind}", f"plugins/{kind}")
        runs.check(done.returncode == 0, done.stderr)
        done = runs.run("list", words, env={**os.environ, "BATON_PLUGIN_PATH": os.path.abspath(f"plugins/{kind}")})
        runs.check(f"\nmy_{kind} " in "\n" + done.stdout, f"{words}: {done.stdout}")
    env = {**os.environ, "BATON_PLUGIN_PATH": ":".join(os.path.abspath(f"plugins/{kind}") for kind in ("loss", "optimizer", "schedule", "initializer"))}
    runs.train("own.baton", "--data", "plugged.npz", "--loss", "my_loss{delta=3}", "--optimizer", "my_optimizer{rate=0.5}", "--schedule", "my_schedule{period=2}",
               "--initializer", "my_initializer{bound=0}", "--epochs", 2, "--batch", len(x), "-o", "plugged", env=env)
    tensors, _ = kit.read_tensors(runs.last("plugged"))
    runs.check(set(numpy.abs(tensors["w"]).ravel()) <= {0.25, 0.75}, f"two steps of 0.5 and 0.25 from 0: {tensors['w']}")
    with open("plugged/step.baton") as file:
        text = file.read()
    runs.check(all(text.count(f'import "my_{kind}"') == 1 for kind in ("loss", "optimizer", "schedule", "initializer")), text[:600])
    runs.refused("did you mean `@loss.huber`", "train", "own.baton", "--data", "own.npz", "--loss", "hubr", "-o", "x", env=env)
    # one that another library has, too; one that imports another library has no second one of what it imports
    path = "plugins/loss/my_loss.baton"
    with open(path) as file:
        text = file.read()
    words = ["own.baton", "--data", "plugged.npz", "--epochs", 1, "--batch", len(x), "--loss", "huber"]
    kit.write(path, text.replace("@loss.my_loss", "@loss.huber"))
    runs.refused("two libraries have @loss.huber, ", "train", *words, "-o", "x", env=env)
    kit.write(path, text.replace("// ", 'import "losses"\n// ', 1))
    runs.train(*words, "-o", "imported", env=env)
    # a checkpoint is of what a library says, not of the names in it
    again = ["own.baton", "--data", "plugged.npz", "--loss", "my_loss", "--batch", len(x), "-o", "again"]
    kit.write(path, text)
    runs.train(*again, "--epochs", 1, env=env)
    kit.write(path, text.replace("\n\n", "\n\n// Of Huber.\n"))
    runs.train(*again, "--epochs", 2, "--resume", env=env)
    kit.write(path, text.replace("0.5f", "0.25f"))
    runs.refused("of another model, loss, optimizer or batch", "train", *again, "--epochs", 3, "--resume", env=env)


def check_signatures(runs, x, y):
    """What is asked for is a function of its kind, by its type; what gives NaN is named."""
    kit.write("wrong.baton", WRONG)
    numpy.savez("floats.npz", x=x, labels=numpy.zeros((len(x), 3), numpy.float32))
    words = ["train", "wrong.baton", "--data", "floats.npz", "-o", "x", "--loss"]
    for loss, gives in [("vector", "Tensor[s, float32]"), ("pair", "(float32, float32)"), ("half", "float16")]:
        runs.refused(f"@loss.{loss} is no loss: it gives {gives}, and such a function is @loss.NAME(%z: what the model gives, %y:", *words, loss)
    for loss, takes in [("third", "%more: Tensor[(3), float32], and there are more tensors than it is given"),
                        ("behind", "%more: Tensor[(3), float32], and tensors stand before numbers")]:
        runs.refused(f"@loss.{loss} is no loss: it takes {takes}, and such a function is", *words, loss)
    for kind, name, what in [
            ("optimizer", "early", "it takes %rate: float32, and options stand behind what is given, and"),
            ("optimizer", "unstepped", "it does not take %step: float32, and such"),
            ("optimizer", "stepless", "it takes %rate: float32 in place of %step: float32, and such"),
            ("optimizer", "empty", "error: attributes of @optimizer.empty: rate_low is 1, and rate_high 0: there is no rate between"),
            ("schedule", "tensor", "@schedule.tensor is no schedule: it takes %x: Tensor[(2), float32], and it is given numbers alone, and"),
            ("schedule", "swapped", "it takes %steps: float32, and numbers that it is given stand in another order, and"),
            ("schedule", "unstepped", "it takes %last: float32 in place of %steps: float32, and"),
            ("optimizer", "sum", "wrong.baton:3:1: error: @optimizer.sum is no optimizer: it gives float32, and such a function is @optimizer.NAME<s: Shape>(%w: T"),
            ("optimizer", "state", "it gives (Tensor[s, float32], float32), and"),
            ("optimizer", "lone", "it gives Tensor[s, float32], and"),
            ("optimizer", "narrow", "@optimizer.narrow is for parameters of type Tensor[(2), float32], and w is Tensor[(3, 4), float32]"),
            ("schedule", "vector", "@schedule.vector is no schedule: it gives Tensor[(2), float32], and such a function is @schedule.NAME(%step: float32, %steps"),
            ("initializer", "number", "@initializer.number is no initializer: it gives float32, and such a function is @initializer.NAME<s: Shape>(%key: Tensor"),
            ("optimizer", "nan", "step 1: @optimizer.nan makes NaN or infinities in w, of a loss and gradients that are finite"),
            ("schedule", "nan", "wrong.baton:12:65: error: step 1: a call of log is the first that is NaN")]:
        runs.refused(what, *words, "squares", f"--{kind}", name, "--batch", 96)
    runs.refused("@optimizer.nan makes NaN", *words, "squares", "--optimizer", "nan", "--batch", 8)
    runs.check(not [name for name in os.listdir("x") if name.startswith("step-")], "a checkpoint with NaN")
    numpy.savez("column.npz", x=x, labels=y[:, None])
    runs.refused("what is given has a second axis, of 1: labels[:, 0] leaves it out", "train", "linear.baton", "--data", "column.npz", "-o", "x")
    kit.write("listed.baton", kit.LINEAR.replace("%b: Tensor[(3), float32])", "%b: Tensor[(3), float32], initializers=[3])"))
    runs.refused("attribute initializers of @main is a list of texts", "train", "listed.baton", "--data", "classes.npz", "-o", "x")


def check_imported(runs, x):
    """What is asked for stands in a text that the model imports, or one that this imports."""
    os.makedirs("imported/parts", exist_ok=True)
    kit.write("imported/parts/losses.baton", HEAD + "def @loss.my_cosh<s: Shape>(%z: Tensor[s, float32], %y: Tensor[s, float32]) -> float32 { @mean_of(log(cosh(0.001f * (%z - %y)))) }\n"
              "def @mean_of<s: Shape>(%z: Tensor[s, float32]) -> float32 { mean(%z) }\n")
    kit.write("imported/mine.baton", HEAD + 'import "parts/losses.baton"\n' + OWN[OWN.index("def @optimizer.sign"):]
              + "def @initializer.ramp<s: Shape>(%key: Tensor[(2), uint32], %like: Tensor[s, float32], %scale: float32, scale=1f) -> Tensor[s, float32] {\n"
                "    ones_like(%like) * %scale\n}\n")
    kit.write("imported/model.baton", HEAD + 'import "mine.baton"\n' + OWN[OWN.index("def @main"):OWN.index("def @optimizer.sign")])
    numpy.savez("far.npz", x=x, labels=numpy.full((len(x), 3), 1e3, numpy.float32))
    runs.train("imported/model.baton", "--data", "far.npz", "--loss", "fourth", "--optimizer", "sign{rate=0.5}", "--schedule", "third", "--initializer", "w=ramp{scale=0}",
               "--batch", len(x), "--epochs", 1, "-o", "from_import")
    tensors, _ = kit.read_tensors(runs.last("from_import"))
    runs.check(numpy.abs(numpy.abs(tensors["w"]) - 0.5 / 3).max() < 1e-6, tensors["w"])
    # named by the model alone, one or several, whose batch is open or not
    for k, (attr, n) in enumerate([('"w=ramp{scale=0}"', "n"), ('["he_normal", "ramp{scale=0}"]', "n"), ('["w=ramp{scale=0}"]', len(x))]):
        main = OWN[OWN.index("def @main"):OWN.index("def @optimizer.sign")].replace("float32]) ->", f"float32], initializers={attr}) ->")
        main = main if n == "n" else main.replace("<n: Dim>", "").replace("(n,", f"({n},")
        kit.write("imported/said.baton", HEAD + 'import "mine.baton"\n' + main)
        runs.train("imported/said.baton", "--data", "far.npz", "--loss", "fourth", "--optimizer", "sign{rate=0.5}", "--schedule", "third",
                   "--batch", len(x), "--epochs", 1, "-o", f"said{k}")
        said, _ = kit.read_tensors(runs.last(f"said{k}"))
        runs.check((said["w"] == tensors["w"]).all(), f"initializers={attr}: {said['w']}")
    runs.train("imported/model.baton", "--data", "far.npz", "--loss", "my_cosh", "--optimizer", "sgd", "--epochs", 1, "-o", "from_deeper")
    runs.refused("neither the model nor a library has @loss.fourt", "train", "imported/model.baton", "--data", "far.npz", "--loss", "fourt", "-o", "x")


def check_options(runs):
    data = ["--data", "classes.npz", "-o", "x"]
    for words, *args in [
            ("@optimizer.fixed has no option rate that @schedule.cosine could change", "own.baton", *data, "--loss", "fourth", "--optimizer", "fixed",
             "--schedule", "cosine"),
            ("optimizer.fixed has no options, and {rate=1} gives some", "own.baton", *data, "--loss", "fourth", "--optimizer", "fixed{rate=1}"),
            ("@optimizer.none is no optimizer: it takes %w: float32, and two tensors stand before numbers, and such a function is @optimizer.NAME<s: Shape>(%w: Tensor[s, float32], %g:", "own.baton", *data, "--loss", "fourth", "--optimizer", "none")]:
        runs.refused(words, "train", *args)
    for words, *args in [
            ("error: optimizer.bare: option rate is missing, which has no default: bare{rate=..}\n", "--optimizer", "bare"),
            ("error: optimizer.bare: option rate is missing, which has no default: bare{rate=..}\n", "--optimizer", "bare{decay=1}"),
            ("optimizer.adam: rate is to be a finite float32", "--optimizer", "adam{rate=nan}"),
            ("optimizer.adam: rate is -1, and is to be 0 or more", "--optimizer", "adam{rate=-1}"),
            ("optimizer.adamw: decay is -0.1, and is to be 0 or more", "--optimizer", "adamw{decay=-0.1}"),
            ("optimizer.adam: beta2 is 1, and is to be 0.99999 or less", "--optimizer", "adam{beta2=1}"),
            ("optimizer.rmsprop: epsilon is -1, and is to be 0 or more", "--optimizer", "rmsprop{epsilon=-1}"),
            ("optimizer.momentum: momentum is 1.5, and is to be 1 or less", "--optimizer", "momentum{momentum=1.5}"),
            ("optimizer.sign: rate is 1.5, and is to be 1 or less", "--optimizer", "sign{rate=1.5}"),
            ("schedule.cosine: warm is -3, and is to be 0 or more", "--schedule", "cosine{warm=-3}"),
            ("schedule.root: warm is 0, and is to be 1 or more", "--schedule", "root{warm=0}"),
            ("schedule.steps: every is 0, and is to be 1 or more", "--schedule", "steps{every=0}"),
            ("initializer.normal: scale is -1, and is to be 0 or more", "--initializer", "normal{scale=-1}")]:
        runs.refused(words, "train", "own.baton", *data, *args)


def check_own_options(runs):
    """Options of an optimizer for one parameter: the others, and its other options, are those of all."""
    def learned(folder, *optimizers):
        words = [word for optimizer in optimizers for word in ("--optimizer", optimizer)]
        runs.train("linear.baton", "--data", "classes.npz", *words, "--schedule", "cosine", "--batch", 32, "--epochs", 2, "-o", folder)
        tensors, _ = kit.read_tensors(runs.last(folder))
        with open(f"{folder}/step.baton") as file:
            return tensors, file.read()
    decays, _ = learned("decays", "adamw{rate=0.1, decay=0.5}")
    mixed, text = learned("mixed", "b=adamw{decay=0}", "adamw{rate=0.1, decay=0.5}")
    runs.check(text.count("1e-08f, 0.5f)") == 1 and text.count("1e-08f, 0f)") == 1 and text.count(", %rate, ") == 2, text[text.index("def @train.step"):])
    runs.check((decays["b"] != mixed["b"]).any() and sorted(decays) == sorted(mixed), "b does not decay")
    slow, text = learned("slow", "adamw{rate=0.1}", "b=adamw{rate=0.5}", "b=adamw{rate=0}")
    runs.check((slow["b"] == 0).all() and (slow["w"] != 0).all() and "0f * %factor" in text, "a rate of its own")
    words = ["train", "linear.baton", "--data", "classes.npz", "--batch", 32, "-o", "mixed", "--schedule", "cosine", "--optimizer", "adamw{rate=0.1, decay=0.5}"]
    runs.refused("of another model, loss, optimizer or batch", *words, "--epochs", 3, "--resume")
    for message, *args in [("optimizer bb=adamw: @main has no parameter bb; did you mean b?", "--optimizer", "bb=adamw"),
                           ("optimizer b=adamw{decay=0}: @main learns no parameter b", "--optimizer", "b=adamw{decay=0}", "--learn", "w"),
                           ("optimizer b=sgd: a training has one, adamw, whose options may be others for a parameter", "--optimizer", "b=sgd"),
                           ("optimizer.adamw: decay is -1, and is to be 0 or more", "--optimizer", "b=adamw{decay=-1}"),
                           ("optimizer.adamw has no attribute `decays`; did you mean `decay`?", "--optimizer", "b=adamw{decays=0}")]:
        runs.refused(message, *words[:6], "-o", "x", *words[8:], *args)


def main():
    runs = kit.Runs(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        random = numpy.random.default_rng(3)
        x = random.normal(size=(96, 4)).astype(numpy.float32)
        y = numpy.argmax(x[:, :3] - x[:, 3:], 1)
        numpy.savez("classes.npz", x=x, labels=y)
        kit.write("linear.baton", kit.LINEAR)
        check_own(runs, x)
        check_plugin(runs, x)
        check_signatures(runs, x, y)
        check_imported(runs, x)
        check_options(runs)
        check_own_options(runs)
        os.chdir("/")
    runs.end()


main()
