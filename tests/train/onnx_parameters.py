"""What a model of ONNX learns are its initializers, whatever is known of what they make: against NumPy, and as its imported text does:
onnx_parameters.py BATON"""
import csv
import os
import sys
import tempfile

import kit

kit.harness.need_packages("numpy", "onnx", "onnxruntime")
import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

RATE, STEPS = 0.02, 5
random = numpy.random.default_rng(3)


def floats(*shape):
    return random.normal(size=shape).astype(numpy.float32)


def node(op, inputs, outputs, **attrs):
    return helper.make_node(op, inputs.split(), outputs.split(), **attrs)


def save(nodes, initializers, x, y):
    """m.onnx, of x to y, whose first dim is n."""
    graph = helper.make_graph(nodes, "m", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", *x])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", *y])],
                              [numpy_helper.from_array(numpy.asarray(value), name) for name, value in initializers.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, "m.onnx")


def tied(x, w):
    h = x @ w.T
    r = numpy.maximum(h, 0)
    return r @ w, lambda d: [(d @ w.T * (h > 0)).T @ x + r.T @ d]


def tied_transposed(x, w):
    h = numpy.tanh(x @ w)
    return h @ w.T, lambda d: [x.T @ (d @ w * (1 - h * h)) + d.T @ h]


def alpha_beta(x, w, b):
    return 3 * (x @ w) + 0.25 * b, lambda d: [3 * x.T @ d, 0.25 * d.sum(0)]


def weight_norm(x, v, g):
    return x @ (v * g), lambda d: [x.T @ d * g, (x.T @ d * v).sum(0, keepdims=True)]


def expanded(x, b, w):
    return (x + b) @ w, lambda d: [(d @ w.T).sum(0, keepdims=True), (x + b).T @ d]


def filled(x, w):
    c = numpy.concatenate((x, numpy.full_like(x, 0.5)), 1)
    return c @ w, lambda d: [c.T @ d]


def literal(x, w):
    c = x * numpy.float32([1, 2, 3])
    return c @ w, lambda d: [c.T @ d]


# What is learned, in the order in which it is met: by nodes, and by a function of NumPy, which gives y and the gradients of a derivative of y.
CASES = {
    "one weight, twice": (tied, {"w": (4, 3)}, [node("Gemm", "x w", "h", transB=1), node("Relu", "h", "r"), node("Gemm", "r w", "y")]),
    "and its transpose": (tied_transposed, {"w": (3, 3)}, [node("MatMul", "x w", "h"), node("Tanh", "h", "r"), node("Transpose", "w", "t", perm=[1, 0]), node("MatMul", "r t", "y")]),
    "factors": (alpha_beta, {"w": (3, 3), "b": (3,)}, [node("Gemm", "x w b", "y", alpha=3.0, beta=0.25)]),
    "a weight of two": (weight_norm, {"v": (3, 3), "g": (1, 3)}, [node("Mul", "v g", "w"), node("MatMul", "x w", "y")]),
    "of the batch's shape": (expanded, {"b": (1, 3), "w": (3, 3)}, [node("Shape", "x", "s"), node("Expand", "b s", "z"), node("Add", "x z", "c"), node("MatMul", "c w", "y")]),
    "a fill": (filled, {"w": (6, 3)}, [node("Shape", "x", "s"), node("ConstantOfShape", "s", "z", value=numpy_helper.from_array(numpy.float32([0.5]))),
                                      node("Concat", "x z", "c", axis=1), node("MatMul", "c w", "y")]),
    "a literal": (literal, {"w": (3, 3)}, [node("Constant", "", "k", value=numpy_helper.from_array(numpy.float32([1, 2, 3]))), node("Mul", "x k", "c"), node("MatMul", "c w", "y")]),
}


def descend(function, values, x, labels):
    losses, values = [], [value.copy() for value in values]
    for _ in range(STEPS):
        y, gradients = function(x, *values)
        losses.append(((y - labels) ** 2).mean())
        for value, gradient in zip(values, gradients(2 * (y - labels) / y.size)):
            value -= RATE * gradient
    return losses, values


def curve(folder):
    with open(os.path.join(folder, "curve.csv")) as file:
        return [float(row["loss"]) for row in csv.DictReader(file)]


def train(runs, model, data, batch, folder, *more):
    runs.train(model, "--data", data, "--loss", "squares", "--batch", batch, "--optimizer", f"sgd{{rate={RATE}}}", "--epochs", STEPS, "-o", folder, *more)
    return kit.read_tensors(runs.last(folder))[0]


def check_case(runs, what, function, shapes, nodes):
    values = {name: floats(*shape) for name, shape in shapes.items()}
    x, labels = floats(8, 3), floats(8, 3)
    save(nodes, values, [3], [3])
    numpy.savez("data.npz", x=x, labels=labels)
    losses, wanted = descend(function, values.values(), x, labels)
    done = runs.run("train", "m.onnx", "--data", "data.npz", "--loss", "squares", "--batch", 8, "-o", f"{what}.told")
    told = ", ".join(f"{name} ({', '.join(map(str, shape))})" for name, shape in shapes.items())
    runs.check(f"learned: {told}\n" in done.stdout, f"{what}: {done.stdout}{done.stderr}")
    learned = train(runs, "m.onnx", "data.npz", 8, f"{what}.onnx")
    runs.check(list(learned) == list(shapes), f"{what}: {list(learned)} are learned")
    runs.check(numpy.allclose(curve(f"{what}.onnx"), losses, rtol=1e-4), f"{what}: losses are {curve(f'{what}.onnx')}, not {losses}")
    for name, value in zip(shapes, wanted):
        runs.check(name in learned and numpy.allclose(learned[name], value, atol=1e-4), f"{what}: {name} is another")
    runs.check(runs.run("import", "m.onnx", "-o", "m.baton").returncode == 0, f"{what}: no import")
    again = train(runs, "m.baton", "data.npz", 8, f"{what}.text")
    runs.check([value.shape for value in again.values()] == [value.shape for value in learned.values()], f"{what}: its text learns {list(again)}")
    runs.check(curve(f"{what}.text") == curve(f"{what}.onnx"), f"{what}: its text learns otherwise")
    done = runs.run("export", "m.onnx", runs.last(f"{what}.onnx"), "-o", "out.onnx")
    runs.check(done.returncode == 0, f"{what}: {done.stderr}")
    if done.returncode == 0:
        graph = onnx.load("out.onnx").graph
        runs.check([output.name for output in graph.output] == ["y"], f"{what}: outputs are {[output.name for output in graph.output]}")
        more = floats(5, 3)  # another batch than it learned with
        y = onnxruntime.InferenceSession("out.onnx", providers=["CPUExecutionProvider"]).run(None, {"x": more})[0]
        runs.check(numpy.allclose(y, function(more, *wanted)[0], atol=1e-3), f"{what}: what is exported gives another y")
        os.unlink("out.onnx")


def check_sequence(runs):
    """States begin with zeros for each sample of the batch, which are none of the parameters; the biases are two, as in the file."""
    values = {"W": floats(1, 16, 3), "R": floats(1, 16, 4), "B": floats(1, 32), "o": floats(4, 2)}
    save([node("Transpose", "x", "t", perm=[1, 0, 2]), helper.make_node("LSTM", ["t", "W", "R", "B"], ["", "h", ""], hidden_size=4), node("Squeeze", "h zero", "s"),
          node("MatMul", "s o", "y")], {**values, "zero": numpy.int64([0])}, [7, 3], [2])
    numpy.savez("data.npz", x=floats(8, 7, 3), labels=floats(8, 2))
    shapes = sorted(value.shape for value in values.values())
    for batch in [8, 4]:
        learned = train(runs, "m.onnx", "data.npz", batch, f"lstm.{batch}")
        runs.check({name: value.shape for name, value in learned.items()} == {name: value.shape for name, value in values.items()}, f"LSTM: {list(learned)} are learned")
    runs.run("import", "m.onnx", "--dim", "n=8", "-o", "m.baton")
    learned = train(runs, "m.baton", "data.npz", 8, "lstm.text")
    runs.check(sorted(value.shape for value in learned.values()) == shapes, f"LSTM of a text: {list(learned)} are learned")
    runs.check(curve("lstm.text") == curve("lstm.8"), "LSTM: its text learns otherwise")


def check_tables(runs):
    """Weights of a resize, and the scales that it has by calls of initializers, are known and no parameters."""
    save([node("Concat", "one two", "scales", axis=0), node("Mul", "scales half", "less"), node("Conv", "x k", "c"), helper.make_node("Resize", ["c", "", "less"], ["y"], mode="linear")],
         {"k": floats(2, 1, 1, 1), "one": numpy.float32([2, 2]), "two": numpy.float32([3, 3]), "half": numpy.float32([0.5])}, [1, 4, 4], [2, 6, 6])
    numpy.savez("data.npz", x=floats(8, 1, 4, 4), labels=floats(8, 2, 6, 6))
    learned = train(runs, "m.onnx", "data.npz", 8, "resize")
    runs.check(list(learned) == ["k"], f"Resize: {list(learned)} are learned")


def check_moments(runs):
    """They follow the batches by the node's momentum, the weight of the past: a variance of n - 1 elements, as in PyTorch, and of n where the node trains."""
    values = {"s": floats(3), "b": floats(3), "m": floats(3), "v": numpy.float32([1, 2, 3])}
    x = floats(8, 3)
    numpy.savez("data.npz", x=x, labels=floats(8, 3))
    for what, outputs, attrs, momentum, size in [("inference", "y", {}, 0.9, 7), ("momentum", "y", {"momentum": 0.7}, 0.7, 7),
                                                 ("training", "y m2 v2", {"training_mode": 1, "momentum": 0.6}, 0.6, 8)]:
        save([node("BatchNormalization", "x s b m v", outputs, **attrs)], values, [3], [3])
        mean, variance = values["m"], values["v"]
        for _ in range(STEPS):
            mean = momentum * mean + (1 - momentum) * x.mean(0)
            variance = momentum * variance + (1 - momentum) * x.var(0) * 8 / size
        runs.run("import", "m.onnx", "-o", "m.baton")
        for model in ["m.onnx", "m.baton"]:
            done = runs.run("train", model, "--data", "data.npz", "--loss", "squares", "--batch", 8, "--optimizer", "sgd", "--epochs", STEPS, "-o", f"{what}.{model}")
            learned = list(kit.read_tensors(runs.last(f"{what}.{model}"))[0].values())
            runs.check("6 parameters in 2 tensors" in done.stdout + done.stderr and len(learned) == 4, f"{what}: {done.stdout}{done.stderr}")
            runs.check(numpy.allclose(learned[2], mean, atol=1e-5) and numpy.allclose(learned[3], variance, atol=1e-5), f"{what} of {model}: moments are {learned[2:]}, not {mean, variance}")


def check_dropout(runs):
    """A node of inference drops in steps by its ratio, and nothing where the model runs."""
    x = floats(64, 16)
    numpy.savez("data.npz", x=x, labels=floats(64, 16))
    curves = []
    for ratio in [None, 0, 0.25]:
        values = {"b": numpy.zeros(16, numpy.float32), **({} if ratio is None else {"r": numpy.float32(ratio)})}
        save([node("Add", "x b", "a"), node("Dropout", "a" if ratio is None else "a r", "y")], values, [16], [16])
        runs.run("import", "m.onnx", "-o", "m.baton")
        for model in ["m.onnx", "m.baton"]:
            folder = f"drop.{ratio}.{model}"
            learned = train(runs, model, "data.npz", 64, folder)
            with open(os.path.join(folder, "step.baton")) as file:
                step = file.read()
            wanted = {None: "nn.dropout_training(", 0: None, 0.25: "nn.dropout_training("}[ratio]
            runs.check(len(learned) == 1 and ("nn.dropout_training(" in step) == (wanted is not None) and ("rate=0.25f" in step) == (ratio == 0.25), f"Dropout of {ratio}: no such step")
            curves.append(curve(folder))
        numpy.save("x.npy", x)
        done = runs.run("run", "m.onnx", "-i", "x=x.npy", "-o", "result")
        runs.check(done.returncode == 0 and numpy.array_equal(numpy.load("result/y.npy"), x), f"Dropout of {ratio} drops at inference: {done.stderr}")
    runs.check(curves[0] == curves[1] != curves[2] == curves[3] != curves[4] == curves[5], f"Dropout: curves are {curves}")


def main():
    runs = kit.Runs(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for what, (function, shapes, nodes) in CASES.items():
            check_case(runs, what, function, shapes, nodes)
        check_sequence(runs)
        check_tables(runs)
        check_moments(runs)
        check_dropout(runs)
        os.chdir("/")
    runs.end()


main()
