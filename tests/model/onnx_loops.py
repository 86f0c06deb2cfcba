"""Loops stay loops: onnx_loops.py BATON

A recurrent layer, a Loop and a Scan become one function each that calls itself: the program is as long for any number of steps, and
the types of its results know that number. Both products of a recurrent layer are in its loop, and pass batch-loop makes that of the
input one product for all steps. A short loop is written out where it is compiled for graph, which has no branches; a long one
is refused there, and executor vm, which is tried next, gives what ONNX Runtime does.
"""
import os
import re
import subprocess
import sys
import tempfile

import harness

harness.need_packages("numpy", "onnx", "onnxruntime")
import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper


def value(name, shape):
    return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)


def model_of(node, inputs, constants):
    graph = helper.make_graph([node], "loops", inputs, [helper.make_empty_tensor_value_info(o) for o in node.output],
                              [numpy_helper.from_array(a, k) for k, a in constants.items()])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def layer(op, steps):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    constants = {"w": numpy.ones((1, gates * 4, 3), numpy.float32), "r": numpy.ones((1, gates * 4, 4), numpy.float32)}
    return model_of(helper.make_node(op, ["x", "w", "r"], ["y"], hidden_size=4), [value("x", [steps, 2, 3])], constants)


def scan(_, steps):
    body = helper.make_graph([helper.make_node("Add", ["s", "p"], ["t"]), helper.make_node("Neg", ["t"], ["row"])], "body",
                             [value("s", [3]), value("p", [3])], [helper.make_empty_tensor_value_info(o) for o in ["t", "row"]])
    node = helper.make_node("Scan", ["start", "x"], ["last", "y"], body=body, num_scan_inputs=1)
    return model_of(node, [value("x", [steps, 3])], {"start": numpy.zeros(3, numpy.float32)})


def printed(baton, path, passes=""):
    return subprocess.run([baton, "opt", path, "--passes", passes], capture_output=True, text=True, check=True).stdout


def products(text):
    """How many contractions are before the first loop of a program, and how many behind its begin."""
    return [len(re.findall(r" = (?:nn\.dense|einsum)\(", part)) for part in text.split("%loop: fn", 1)]


def check(baton, make, op, path):
    """None, or what is wrong."""
    lengths = {}
    for steps in [2, 5, 1000, 5000, "n"]:
        onnx.save(make(op, steps), path)
        text = printed(baton, path)
        main = text[text.index("def @main"):]
        result = main[:main.index("{")].split("->")[1]
        if steps != "n":  # zeros for many rows are computed when the program runs
            lengths.setdefault(steps < 1000, set()).add(len(re.findall(r"^ +%\S+: .* = .*[^{]$", main, re.M)))
        if f"Tensor[({steps}, " not in result:
            return f"{steps} steps: the result is {result.strip()}"
        if "scatter_nd(%rows" not in main or "concatenate(" in main:
            return f"{steps} steps: rows are not put in their places"
        if make is layer:
            before, after = products(text), products(printed(baton, path, "batch-loop,dead-code"))
            if before[0] != 0 or after != [1, before[1] - 1]:
                return f"{steps} steps: {before} products are before and in the loop, and {after} once batch-loop has run"
    return None if all(len(n) == 1 for n in lengths.values()) else f"the program grows with the steps: {lengths} bindings"


def run(baton, path, x, executor):
    """Result y of the model, or the text of the error."""
    source, folder = path + ".npy", os.path.dirname(path)
    numpy.save(source, x)
    done = subprocess.run([baton, "run", path, "--executor", executor, "--target", "cpu", "-i", f"x={source}", "-o", folder],
                          capture_output=True, text=True)
    return numpy.load(os.path.join(folder, "y.npy")) if done.returncode == 0 else done.stderr


def check_compiled(baton, make, op, path):
    """None, or what is wrong."""
    for steps, executor in [(5, "graph"), (5, "vm"), (100, "vm")]:
        model = make(op, steps)
        onnx.save(model, path)
        x = numpy.random.default_rng(1).uniform(-1, 1, [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim])
        x = x.astype(numpy.float32)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        got, want = run(baton, path, x, executor), session.run(["y"], {"x": x})[0]
        if isinstance(got, str):
            return f"{steps} steps on {executor}: {got}"
        if not numpy.allclose(got, want, rtol=1e-4, atol=1e-5):
            return f"{steps} steps on {executor}: results differ by up to {abs(got - want).max()}"
    refused = run(baton, path, x, "graph")
    return None if isinstance(refused, str) else "100 steps run on graph"


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for make, op in [(layer, "RNN"), (layer, "GRU"), (layer, "LSTM"), (scan, "Scan")]:
            path = os.path.join(folder, "model.onnx")
            problem = check(sys.argv[1], make, op, path) or check_compiled(sys.argv[1], make, op, path)
            if problem:
                failed += 1
                print(f"{op}: {problem}")
    print(f"{4 - failed} of 4 kinds of loops stay loops")
    return failed != 0


sys.exit(main())
