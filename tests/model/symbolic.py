"""Sequences of any length in batches of any size, one session for all of them, ONNX Runtime says what is right: symbolic.py DRIVER

A layer of an encoder (attention, normalisation, products by weights) and recurrent layers, both with a batch and a length that only a
run gives, from 0 on. (Images of any size: detector.py.)
"""
import os
import sys

import harness

harness.need_packages("numpy", "onnx", "onnxruntime")
import numpy
import onnx
from onnx import helper

from detector import Graph

WIDTH, HEADS = 24, 3
SIZES = [(2, 7), (1, 1), (5, 13), (0, 4), (3, 0), (4, 64), (1, 7), (2, 7)]


def weights(g, *shape):
    return g.constant(g.random.normal(0, shape[-2] ** -0.5, shape).astype(numpy.float32))


def normal(g, x):
    return g.op("LayerNormalization", x, g.constant(numpy.ones(WIDTH, numpy.float32)), g.constant(numpy.zeros(WIDTH, numpy.float32)), axis=-1)


def encoder():
    """x: [batch, length, WIDTH]; also its sums over the length, and the places of its greatest elements."""
    g = Graph()
    shape = g.op("Shape", "x")
    split = g.op("Concat", g.part(shape, 0, 2), g.ints(HEADS, WIDTH // HEADS), axis=0)
    parts = [g.op("Reshape", g.op("MatMul", "x", weights(g, WIDTH, WIDTH)), split) for _ in range(3)]
    q, k, v = [g.op("Transpose", part, perm=perm) for part, perm in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))]
    scores = g.op("Softmax", g.op("Mul", g.op("MatMul", q, k), g.real((WIDTH // HEADS) ** -0.5)), axis=-1)
    joined = g.op("Reshape", g.op("Transpose", g.op("MatMul", scores, v), perm=[0, 2, 1, 3]), shape)
    x = normal(g, g.op("Add", "x", g.op("MatMul", joined, weights(g, WIDTH, WIDTH))))
    wide = g.op("Relu", g.op("MatMul", x, weights(g, WIDTH, 2 * WIDTH)))
    x = normal(g, g.op("Add", x, g.op("MatMul", wide, weights(g, 2 * WIDTH, WIDTH))))
    return g, [x, g.op("ReduceSum", x, g.ints(1), keepdims=0), g.op("ArgMax", x, axis=2)]


def recurrent():
    """The steps of an LSTM both ways, then of a GRU, of x: [length, batch, WIDTH]; what the GRU ends with."""
    g = Graph()
    both = g.op("LSTM", "x", weights(g, 2, 32, WIDTH), weights(g, 2, 32, 8), hidden_size=8, direction="bidirectional")
    length_first = g.op("Transpose", both, perm=[0, 2, 1, 3])
    joined = g.op("Reshape", length_first, g.op("Concat", g.part(g.op("Shape", length_first), 0, 2), g.ints(16), axis=0))
    steps, last = g.op("GRU", joined, weights(g, 1, 30, 16), weights(g, 1, 30, 10), hidden_size=10, count=2)
    return g, [steps, last]


def save(made, path, dims):
    g, outputs = made
    graph = helper.make_graph(g.nodes, "symbolic", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [*dims, WIDTH])],
                              [helper.make_empty_tensor_value_info(o) for o in outputs], g.constants)
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)


def of_nothing(batch, length):
    """What recurrent() gives of no steps, or of no sequences, for which ONNX Runtime ends the process: the state that it begins with."""
    return numpy.zeros((length, 1, batch, 10), numpy.float32), numpy.zeros((1, batch, 10), numpy.float32)


def check(driver, path, is_recurrent):
    """Whether all sizes give what ONNX Runtime gives."""
    reference, good = harness.reference(path), 0
    _, noutput = driver.open(path)
    for batch, length in SIZES:
        shape = (length, batch, WIDTH) if is_recurrent else (batch, length, WIDTH)
        x = numpy.random.default_rng([batch, length]).normal(0, 1, shape).astype(numpy.float32)
        wanted = of_nothing(batch, length) if is_recurrent and not x.size else reference.run(None, {"x": x})
        try:
            driver.set(0, x)
            for got, want in zip(driver.run(noutput), wanted, strict=True):
                numpy.testing.assert_equal((got.shape, got.dtype), (want.shape, want.dtype))
                numpy.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
            good += 1
        except (AssertionError, harness.Refused) as error:
            print(f"{os.path.basename(path)}, {batch} of {length}: {error}")
    print(f"{os.path.basename(path)}: {good} of {len(SIZES)} sizes agree with ONNX Runtime")
    return good == len(SIZES)


def main():
    driver = harness.Driver(sys.argv[1])
    good = True
    for name, made, dims in [("encoder", encoder(), ["batch", "length"]), ("recurrent", recurrent(), ["length", "batch"])]:
        if name == "recurrent" and os.environ.get("BATON_MODEL_TARGET") and os.environ.get("BATON_MODEL_EXECUTOR") != "vm":
            continue  # a loop, which executor graph has not
        path = os.path.join(driver.folder.name, f"{name}.onnx")
        save(made, path, dims)
        good &= check(driver, path, name == "recurrent")
    driver.close()
    return not good


if __name__ == "__main__":
    sys.exit(main())
