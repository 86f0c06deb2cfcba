"""Transformers with seeded weights, as ONNX: an encoder over a sentence, and a decoder's step with its cache of keys and values."""
import os

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

LAYERS, HIDDEN, HEADS, LENGTH, WORDS = 6, 384, 6, 128, 1000


class Builder:
    """A graph under construction: methods add nodes and give the name of the result."""

    def __init__(self):
        self.nodes, self.constants, self.random = [], {}, numpy.random.default_rng(1)

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants[name] = numpy.asarray(array)
        return name

    def weights(self, *shape):
        return self.constant(self.random.normal(0, 0.05, shape).astype(numpy.float32))

    def node(self, op, *inputs, **attrs):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attrs))
        return name

    def dense(self, x, width, out):
        return self.node("Add", self.node("MatMul", x, self.weights(width, out)), self.weights(out))

    def norm(self, x):
        return self.node("LayerNormalization", x, self.constant(numpy.ones(HIDDEN, numpy.float32)),
                         self.constant(numpy.zeros(HIDDEN, numpy.float32)), axis=-1)

    def gelu(self, x):
        half = self.node("Mul", x, self.constant(numpy.float32(0.5)))
        error = self.node("Erf", self.node("Mul", x, self.constant(numpy.float32(0.5 ** 0.5))))
        return self.node("Mul", half, self.node("Add", error, self.constant(numpy.float32(1))))

    def heads(self, x, length):
        """[1, length, HIDDEN] as [1, HEADS, length, HIDDEN / HEADS]."""
        shape = self.constant(numpy.array([1, length, HEADS, HIDDEN // HEADS]))
        return self.node("Transpose", self.node("Reshape", x, shape), perm=[0, 2, 1, 3])

    def attention(self, query, keys, values, length):
        turned = self.node("Transpose", keys, perm=[0, 1, 3, 2])
        scores = self.node("Mul", self.node("MatMul", query, turned), self.constant(numpy.float32((HIDDEN // HEADS) ** -0.5)))
        mixed = self.node("Transpose", self.node("MatMul", self.node("Softmax", scores, axis=-1), values), perm=[0, 2, 1, 3])
        return self.node("Reshape", mixed, self.constant(numpy.array([1, length, HIDDEN])))

    def block(self, x, attend):
        x = self.node("Add", x, self.dense(attend(self.norm(x)), HIDDEN, HIDDEN))
        return self.node("Add", x, self.dense(self.gelu(self.dense(self.norm(x), HIDDEN, 4 * HIDDEN)), 4 * HIDDEN, HIDDEN))

    def save(self, path, inputs, outputs):
        graph = helper.make_graph(self.nodes, "transformer", inputs, [helper.make_empty_tensor_value_info(name) for name in outputs],
                                  [numpy_helper.from_array(a, k) for k, a in self.constants.items()])
        onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)
        return path


def words(b, length):
    return helper.make_tensor_value_info("words", TensorProto.INT64, [1, length]), b.node("Gather", b.weights(WORDS, HIDDEN), "words")


def encoder(folder):
    b = Builder()
    given, x = words(b, LENGTH)
    x = b.node("Add", x, b.weights(1, LENGTH, HIDDEN))
    for _ in range(LAYERS):
        x = b.block(x, lambda y: b.attention(*[b.heads(b.dense(y, HIDDEN, HIDDEN), LENGTH) for _ in range(3)], LENGTH))
    return b.save(os.path.join(folder, "encoder.onnx"), [given], [b.norm(x)])


def decoder_step(folder):
    """One word after LENGTH - 1 others; the keys and values of all are results."""
    b = Builder()
    (given, x), caches, kept = words(b, 1), [], []

    def attend(y):
        query, *new = [b.heads(b.dense(y, HIDDEN, HIDDEN), 1) for _ in range(3)]
        both = []
        for one in new:
            caches.append(helper.make_tensor_value_info(f"cache{len(caches)}", TensorProto.FLOAT, [1, HEADS, LENGTH - 1, HIDDEN // HEADS]))
            both.append(b.node("Concat", caches[-1].name, one, axis=2))
        kept.extend(both)
        return b.attention(query, *both, 1)

    for _ in range(LAYERS):
        x = b.block(x, attend)
    scores = b.node("MatMul", b.norm(x), b.weights(HIDDEN, WORDS))
    return b.save(os.path.join(folder, "decoder_step.onnx"), [given, *caches], [scores, *kept])
