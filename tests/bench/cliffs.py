"""Cliffs: operators alone on target cpu and in ONNX Runtime, one thread, in turn:
    tests/run-python BUILD tests/bench/cliffs.py BATON [NAME ...]
Prints a table: both medians of the repetitions in milliseconds and their ratio, the worst first. What is measured is one whole
call, inputs given once. Exit code 1 where a ratio is above --most (5, unless told).
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FLOAT, HALF, INT8, UINT8, INT64 = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT8, TensorProto.UINT8,
                                   TensorProto.INT64)


def array(shape, dtype=numpy.float32, seed=1):
    random = numpy.random.default_rng(seed)
    if numpy.issubdtype(dtype, numpy.integer):
        return random.integers(0, 100, shape).astype(dtype)
    return random.uniform(-1, 1, shape).astype(dtype)


def model(nodes, inputs, constants, outputs):
    """Of nodes, inputs {name: (type, shape)}, constants {name: array} and outputs {name: type}."""
    graph = helper.make_graph(
        nodes, "cliff", [helper.make_tensor_value_info(n, t, s) for n, (t, s) in inputs.items()],
        [helper.make_tensor_value_info(n, t, None) for n, t in outputs.items()],
        [numpy_helper.from_array(a, n) for n, a in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def one(operator, inputs, constants=None, output=FLOAT, **attributes):
    """A model of one node; inputs and constants in the order in which they are given."""
    constants = constants or {}
    outputs = {"y": output} if operator != "TopK" else {"y": output, "i": INT64}
    node = helper.make_node(operator, [*inputs, *constants], [*outputs], **attributes)
    return model([node], inputs, constants, outputs)


def conv_transpose(channels, out, size, kernel, stride):
    pad = (kernel - stride + 1) // 2
    return one("ConvTranspose", {"x": (FLOAT, (1, channels, size, size))}, {"w": array((channels, out, kernel, kernel))},
               strides=[stride, stride], pads=[pad] * 4)


def qlinear_matmul(n):
    scale, zero = numpy.float32(0.02), numpy.uint8(50)
    node = helper.make_node("QLinearMatMul", ["a", "s", "z", "b", "s", "z", "t", "z"], ["y"])
    return model([node], {"a": (UINT8, (n, n))},
                 {"s": scale, "z": zero, "b": array((n, n), numpy.uint8), "t": numpy.float32(4)}, {"y": UINT8})


def qlinear_conv(channels, size):
    node = helper.make_node("QLinearConv", ["x", "s", "z", "w", "s", "v", "t", "z"], ["y"], pads=[1, 1, 1, 1])
    return model([node], {"x": (UINT8, (1, channels, size, size))},
                 {"s": numpy.float32(0.02), "z": numpy.uint8(50), "v": numpy.int8(0), "t": numpy.float32(4),
                  "w": array((channels, channels, 3, 3), numpy.int8)}, {"y": UINT8})


def half_net():
    nodes, constants, last = [], {}, "x"
    for i in range(4):
        constants[f"w{i}"] = array((32, 32, 3, 3), numpy.float16, i)
        nodes += [helper.make_node("Conv", [last, f"w{i}"], [f"c{i}"], pads=[1, 1, 1, 1]),
                  helper.make_node("Relu", [f"c{i}"], [f"r{i}"])]
        last = f"r{i}"
    return model(nodes, {"x": (HALF, (1, 32, 28, 28))}, constants, {last: HALF})


def denormal_dense():
    w = array((1024, 1024))
    w[::2] *= 1e-39
    return one("MatMul", {"x": (FLOAT, (8, 1024))}, {"w": w})


CASES = {
    "ConvTranspose 4x4 stride 2, 32": lambda: conv_transpose(64, 32, 32, 4, 2),
    "ConvTranspose 4x4 stride 2, 64": lambda: conv_transpose(64, 32, 64, 4, 2),
    "ConvTranspose 3x3 stride 2": lambda: conv_transpose(32, 32, 32, 3, 2),
    "ConvTranspose 2x2 stride 2": lambda: conv_transpose(64, 32, 56, 2, 2),
    "TopK 10 of 1000": lambda: one("TopK", {"x": (FLOAT, (64, 1000))}, {"k": numpy.array([10])}),
    "TopK 10 of 100000": lambda: one("TopK", {"x": (FLOAT, (1, 100000))}, {"k": numpy.array([10])}),
    "MatMulInteger": lambda: one("MatMulInteger", {"x": (UINT8, (256, 256))}, {"w": array((256, 256), numpy.int8)},
                                 TensorProto.INT32),
    "QLinearMatMul": lambda: qlinear_matmul(256),
    "QLinearConv": lambda: qlinear_conv(32, 28),
    "Tile": lambda: one("Tile", {"x": (FLOAT, (64, 64))}, {"r": numpy.array([8, 8])}),
    "Einsum of three": lambda: one("Einsum", {"a": (FLOAT, (32, 48)), "b": (FLOAT, (48, 40)), "c": (FLOAT, (40, 24))},
                                   equation="ij,jk,kl->il"),
    "CumSum": lambda: one("CumSum", {"x": (FLOAT, (256, 512))}, {"a": numpy.array(1)}),
    "MaxPool 13x13": lambda: one("MaxPool", {"x": (FLOAT, (1, 64, 28, 28))}, kernel_shape=[13, 13], pads=[6] * 4),
    "float16 convolutions": half_net,
    "denormal weights": denormal_dense,
}


def inputs_of(session):
    types = {"tensor(float)": numpy.float32, "tensor(float16)": numpy.float16, "tensor(uint8)": numpy.uint8}
    return {p.name: array(p.shape, types[p.type]) for p in session.get_inputs()}


def time_onnxruntime(path, repeat):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feeds, times = inputs_of(session), []
    for _ in range(repeat + 2):
        start = time.perf_counter_ns()
        session.run(None, feeds)
        times.append((time.perf_counter_ns() - start) / 1e6)
    return times[2:]


def time_baton(baton, path, repeat):
    command = [baton, "bench", path, "--target", "cpu{threads=1}", "--warmup", "2", "--repeat", str(repeat), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"cliffs.py: {' '.join(command)}:\n{done.stderr}")
    return json.loads(done.stdout)


def measure(baton, build, rounds, repeat):
    """Medians of both, in turn."""
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cliff.onnx")
        onnx.save(build(), path)
        for _ in range(rounds):
            theirs += time_onnxruntime(path, repeat)
            ours.append(time_baton(baton, path, repeat)["median_ms"])
    return statistics.median(ours), statistics.median(theirs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("baton")
    parser.add_argument("names", nargs="*", help="beginnings of names; all cases where there are none")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--most", type=float, default=5)
    options = parser.parse_args()
    rows = []
    for name, build in CASES.items():
        if options.names and not any(name.startswith(n) for n in options.names):
            continue
        ours, theirs = measure(options.baton, build, options.rounds, options.repeat)
        rows.append((ours / theirs, name, ours, theirs))
    print(f"{'case':34} {'baton ms':>10} {'ORT ms':>10} {'ratio':>8}")
    for ratio, name, ours, theirs in sorted(rows, reverse=True):
        print(f"{name:34} {ours:10.3f} {theirs:10.3f} {ratio:8.2f}")
    sys.exit(any(row[0] > options.most for row in rows))


if __name__ == "__main__":
    main()
