"""Random ONNX models of open dims, with control flow: onnx_open.py DRIVER FIRST COUNT [BATON] [--show]

Models of a batch and a length that only a run gives: shapes computed from shapes, sizes that elements decide, If, Loop and Scan, one
inside another. Each is opened once and run with several sizes, 0 and 1 among them: where ONNX Runtime gives values, Baton must give
the same; where it gives none, an error or a value, but no crash. With BATON, the program, a model is compiled to an artifact first, and
that is what is opened. What Baton refuses must be in REFUSED. The model of a number is the same on every run.
    --show   prints each model
"""
import argparse
import collections
import multiprocessing
import os
import random
import subprocess
import sys

import harness

harness.need_packages("numpy", "onnx", "onnxruntime")
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

SIZES = [(2, 3), (1, 1), (0, 4), (3, 0), (0, 0), (5, 7), (1, 4), (4, 1), (3, 3), (9, 17)]
FORK = multiprocessing.get_context("fork")
COMPILED = "BATON_MODEL_TARGET" in os.environ
FLOAT, INT, BOOL = "float32", "int64", "bool"
# What Baton says that it does not support, though ONNX Runtime gives a value.
REFUSED = {
    "Split: the sizes are not known": "parts of computed sizes",
    "each iteration adds to has a shape that only a run gives": "rows of a loop of sizes that elements decide",
    "the window and the padded data": "a window larger than the data; others give no elements",
}
if os.environ.get("BATON_MODEL_EXECUTOR", "graph" if COMPILED else "interp") == "graph":
    REFUSED["executor graph has no"] = "control flow"
    REFUSED["is not computed by a primitive function"] = "sizes that elements decide, in programs that pass fuse-ops leaves alone"


class Skip(Exception):
    """The choices made do not fit together: another node is tried."""


class Value(collections.namedtuple("Value", "name dtype shape exact")):
    """shape: of numbers and of texts; equal texts are equal sizes. exact: no rounding was done, so that it may decide what is computed."""

    @property
    def rank(self):
        return len(self.shape)


def plus(a, b):
    return a + b if isinstance(a, int) and isinstance(b, int) else a if b == 0 else b if a == 0 else f"({a}+{b})"


def times(a, b):
    return a * b if isinstance(a, int) and isinstance(b, int) else b if a == 1 else a if b == 1 else f"({a}*{b})"


class Names:
    """What all graphs of a model share: how many names there are, and whether a -1 needs elements."""

    def __init__(self):
        self.count, self.has_rest = 0, False


class Maker:
    """A graph, or a body within one, as it grows: `values` are what its nodes may read, those around it as well."""

    def __init__(self, pick, names, values, depth=0):
        self.pick, self.names, self.depth = pick, names, depth
        self.nodes, self.values = [], list(values)

    def chance(self, share):
        return self.pick.random() < share

    def fresh(self, prefix="v"):
        self.names.count += 1
        return f"{prefix}{self.names.count}"

    def op(self, op, *inputs, **attrs):
        """The name of what one node gives."""
        name = self.fresh()
        self.nodes.append(helper.make_node(op, inputs, [name], **attrs))
        return name

    def const(self, value, dtype=INT):
        return self.op("Constant", value=numpy_helper.from_array(np.array(value, dtype)))

    def random(self, *shape):
        return self.const(np.array([self.pick.randint(-8, 8) / 8 for _ in range(int(np.prod(shape)))]).reshape(shape), FLOAT)

    def give(self, name, dtype, shape, exact):
        self.values.append(Value(name, dtype, tuple(shape), exact))

    def one(self, fitting):
        if not fitting:
            raise Skip
        return self.pick.choice(fitting)

    def value(self, dtypes=(FLOAT,), low=0, high=4, exact=False):
        fitting = [v for v in self.values if v.dtype in dtypes and low <= v.rank <= high and (v.exact or not exact)]
        return self.one(fitting[-4:] if self.chance(0.7) else fitting)

    def size(self, v, axis):
        """The size of an axis as a vector of one element, computed or known."""
        if isinstance(v.shape[axis], int) and self.chance(0.5):
            return self.const([v.shape[axis]])
        if self.chance(0.3):
            return self.op("Shape", v.name, start=axis, end=axis + 1)
        shape = self.op("Shape", v.name)
        if self.chance(0.5):
            return self.op("Gather", shape, self.const([axis - v.rank if self.chance(0.3) else axis]))
        return self.op("Slice", shape, self.const([axis]), self.const([axis + 1]))

    def scalar(self, v, axis):
        return self.op("Squeeze", self.size(v, axis), self.const([0]))

    def sizes(self, v, axes):
        """The sizes of axes as a vector."""
        return self.op("Concat", *[self.size(v, a) for a in axes], axis=0) if axes else self.const([], INT)

    def condition(self):
        """A scalar that says yes or no, by elements or by sizes."""
        v = self.value((FLOAT, INT), exact=True)
        if v.rank and self.chance(0.5):
            return self.op(self.pick.choice(["Greater", "LessOrEqual", "Equal"]), self.scalar(v, self.pick.randrange(v.rank)), self.const(self.pick.randint(0, 3)))
        total = self.op("ReduceSum", v.name, keepdims=0)
        return self.op(self.pick.choice(["Greater", "Less"]), total, self.const(0, v.dtype))

    def body(self, parameters, count):
        """What stands inside: it reads its parameters and what is around it."""
        inside = Maker(self.pick, self.names, self.values + parameters, self.depth + 1)
        inside.grow(count)
        return inside

    def grow(self, count):
        for _ in range(8 * count):
            if count == 0:
                break
            before = len(self.nodes), len(self.values)
            try:
                self.pick.choice(MAKERS if self.depth < 2 else FLAT)(self)
                count -= 1
            except Skip:
                del self.nodes[before[0]:], self.values[before[1]:]

    def graph(self, name, inputs, outputs):
        return helper.make_graph(self.nodes, name, inputs, [helper.make_empty_tensor_value_info(o) for o in outputs])


def info(name, dtype, shape):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)


# ---- what a graph may grow by ----

def unary(g):
    v, op = g.value(), g.pick.choice(["Relu", "Neg", "Abs", "Floor", "Tanh", "Sigmoid", "Exp"])
    if op == "Exp":
        g.give(g.op("Exp", g.op("Clip", v.name, g.const(-4, FLOAT), g.const(4, FLOAT))), FLOAT, v.shape, False)
    else:
        g.give(g.op(op, v.name), FLOAT, v.shape, v.exact and op in ("Relu", "Neg", "Abs", "Floor"))


def binary(g):
    v = g.value((FLOAT, INT))
    fitting = [w for w in g.values if w.dtype == v.dtype and w.rank <= v.rank and
               all(b in (1, a) for a, b in zip(v.shape[v.rank - w.rank:], w.shape))]
    w = g.pick.choice(fitting)
    op = g.pick.choice(["Add", "Sub", "Max", "Min", "Mul"])
    name = g.op(op, *((v.name, w.name) if g.chance(0.5) else (w.name, v.name)))
    if op == "Mul":
        low, high = g.const(-64, v.dtype), g.const(64, v.dtype)
        name = g.op("Clip", name, low, high)
    g.give(name, v.dtype, v.shape, v.exact and w.exact and (op != "Mul" or v.dtype == INT))


def cast(g):
    v = g.value((FLOAT, INT, BOOL), exact=True)
    dtype = g.pick.choice([FLOAT, INT])
    name = g.op("Clip", v.name, g.const(-64, FLOAT), g.const(64, FLOAT)) if v.dtype == FLOAT else v.name
    g.give(g.op("Cast", name, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype))), dtype, v.shape, True)


def compare(g):
    v = g.value((FLOAT, INT), exact=True)
    g.give(g.op(g.pick.choice(["Greater", "Less", "Equal"]), v.name, g.const(g.pick.randint(-1, 1), v.dtype)), BOOL, v.shape, True)


def where(g):
    v = g.value((FLOAT, INT))
    masks = [w for w in g.values if w.dtype == BOOL and w.shape == v.shape[v.rank - w.rank:] and w.rank <= v.rank]
    g.give(g.op("Where", g.one(masks).name, v.name, g.const(g.pick.randint(-2, 2), v.dtype)), v.dtype, v.shape, v.exact)


def triangle(g):
    """A mask made from positions, as decoders have it."""
    v = g.value(low=2)
    rows = [g.op("Range", g.const(0), g.scalar(v, a), g.const(1)) for a in (v.rank - 2, v.rank - 1)]
    mask = g.op(g.pick.choice(["Less", "GreaterOrEqual"]), g.op("Unsqueeze", rows[0], g.const([1])), g.op("Unsqueeze", rows[1], g.const([0])))
    g.give(g.op("Where", mask, v.name, g.const(-8, FLOAT)), FLOAT, v.shape, v.exact)


def positions(g):
    v = g.value((FLOAT, INT), low=1)
    axis, step = g.pick.randrange(v.rank), g.pick.choice([1, 1, 2, -1])
    n, zero = g.scalar(v, axis), g.const(0)
    first, last, size = (n, zero, v.shape[axis]) if step < 0 else (zero, n, v.shape[axis] if step == 1 else g.fresh("s"))
    g.give(g.op("Range", first, last, g.const(step)), INT, [size], True)


def filled(g):
    v = g.value(low=1)
    axes = g.pick.sample(range(v.rank), g.pick.randint(0, v.rank))
    number = numpy_helper.from_array(np.array([g.pick.randint(-2, 2)], FLOAT))
    g.give(g.op("ConstantOfShape", g.sizes(v, axes), value=number), FLOAT, [v.shape[a] for a in axes], True)


def expand(g):
    v = g.value((FLOAT, INT), high=2)
    w = g.value((FLOAT, INT), low=1, high=3)
    if v.rank > w.rank or any(a not in (1, b) for a, b in zip(v.shape, w.shape[w.rank - v.rank:])):
        v = g.value((FLOAT, INT), high=0)
    g.give(g.op("Expand", v.name, g.op("Shape", w.name)), v.dtype, w.shape, v.exact)


def unsqueeze(g):
    v = g.value((FLOAT, INT), high=3)
    axis = g.pick.randint(0, v.rank)
    g.give(g.op("Unsqueeze", v.name, g.const([axis - v.rank - 1 if g.chance(0.3) else axis])), v.dtype,
           v.shape[:axis] + (1,) + v.shape[axis:], v.exact)


def squeeze(g):
    v = g.value((FLOAT, INT), low=1)
    axis = g.one([a for a, d in enumerate(v.shape) if d == 1])
    g.give(g.op("Squeeze", v.name, g.const([axis])), v.dtype, v.shape[:axis] + v.shape[axis + 1:], v.exact)


def merge(g):
    """Two axes become one: by sizes, by -1, by 0 and -1."""
    v = g.value((FLOAT, INT, BOOL), low=2)
    axis = g.pick.randrange(v.rank - 1)
    shape = v.shape[:axis] + (times(v.shape[axis], v.shape[axis + 1]),) + v.shape[axis + 2:]
    parts = [g.size(v, a) for a in range(v.rank)]
    kind = g.pick.choice(["product", "rest", "flatten"])
    if kind == "rest" and not all(isinstance(d, int) and d or d in ("n", "m") for d in v.shape):
        raise Skip  # of no elements, -1 may be anything
    if kind == "flatten" and v.rank == 2:
        name = g.op("Flatten", v.name, axis=0)
        shape = (1,) + shape
    elif kind == "rest":
        g.names.has_rest = True
        name = g.op("Reshape", v.name, g.op("Concat", *[g.const([0]) if g.chance(0.3) else part for part in parts[:axis]],
                                            g.const([-1]), *parts[axis + 2:], axis=0))
    else:
        product = g.op("Mul", parts[axis], parts[axis + 1])
        name = g.op("Reshape", v.name, g.op("Concat", *parts[:axis], product, *parts[axis + 2:], axis=0), allowzero=1)
    g.give(name, v.dtype, shape, v.exact)


def part_in_two(g):
    """An axis of a known even size becomes two."""
    v = g.value((FLOAT, INT), low=1, high=3)
    axis = g.one([a for a, d in enumerate(v.shape) if isinstance(d, int) and d and d % 2 == 0])
    parts = [g.size(v, a) for a in range(v.rank)]
    half = g.op("Div", parts[axis], g.const([2]))
    name = g.op("Reshape", v.name, g.op("Concat", *parts[:axis], g.const([2]), half, *parts[axis + 1:], axis=0), allowzero=1)
    g.give(name, v.dtype, v.shape[:axis] + (2, v.shape[axis] // 2) + v.shape[axis + 1:], v.exact)


def transpose(g):
    v = g.value((FLOAT, INT), low=1)
    perm = g.pick.sample(range(v.rank), v.rank)
    g.give(g.op("Transpose", v.name, perm=perm), v.dtype, [v.shape[p] for p in perm], v.exact)


def join(g):
    v = g.value((FLOAT, INT), low=1)
    axis = g.pick.randrange(v.rank)
    fitting = [w for w in g.values if w.dtype == v.dtype and w.rank == v.rank and
               all(a == axis or w.shape[a] == v.shape[a] for a in range(v.rank))]
    w = g.pick.choice(fitting)
    shape = v.shape[:axis] + (plus(v.shape[axis], w.shape[axis]),) + v.shape[axis + 1:]
    g.give(g.op("Concat", v.name, w.name, axis=axis - v.rank if g.chance(0.3) else axis), v.dtype, shape, v.exact and w.exact)


def cut(g):
    """A slice whose bounds are numbers, or are computed."""
    v = g.value((FLOAT, INT), low=1)
    axis, step = g.pick.randrange(v.rank), g.pick.choice([1, 1, 1, 2, -1, -2])
    n = g.size(v, axis)
    steps = g.const([step]) if g.chance(0.8) else g.op("Mul", g.const([step]), g.op("Max", g.op("Min", n, g.const([2])), g.const([1])))
    bounds = [g.pick.choice([lambda: g.const([g.pick.randint(-3, 3)]), lambda: g.op("Div", n, g.const([2])),
                             lambda: g.op("Sub", n, g.const([1])), lambda: g.op("Neg", n), lambda: n])() for _ in range(2)]
    if step == 1 and g.chance(0.4):
        bounds = [g.const([1]), g.const([np.iinfo(np.int64).max])]
    elif step == -1 and g.chance(0.5):
        bounds = [g.const([-1]), g.const([np.iinfo(np.int64).min])]
    name = g.op("Slice", v.name, *bounds, g.const([axis - v.rank if g.chance(0.3) else axis]), steps)
    g.give(name, v.dtype, v.shape[:axis] + (g.fresh("s"),) + v.shape[axis + 1:], v.exact)


def pad(g):
    v = g.value(low=1)
    axis = g.pick.randrange(v.rank)
    n, wide = g.size(v, axis), g.const([g.pick.randint(1, 9)])
    missing = g.pick.choice([g.op("Max", g.op("Sub", wide, n), g.const([0])), n, wide])
    pads = g.op("Concat", g.const([0] * (v.rank + axis)), missing, g.const([0] * (v.rank - axis - 1)), axis=0)
    g.give(g.op("Pad", v.name, pads, g.const(g.pick.randint(-1, 1), FLOAT)), FLOAT, v.shape[:axis] + (g.fresh("s"),) + v.shape[axis + 1:], v.exact)


def tile(g):
    v = g.value((FLOAT, INT), low=1)
    w = g.value(low=1)
    axis, source = g.pick.randrange(v.rank), g.pick.randrange(w.rank)
    repeats = [g.const([1])] * v.rank
    repeats[axis] = g.size(w, source)
    g.give(g.op("Tile", v.name, g.op("Concat", *repeats, axis=0)), v.dtype,
           v.shape[:axis] + (times(v.shape[axis], w.shape[source]),) + v.shape[axis + 1:], v.exact)


def reduce(g):
    v = g.value(low=1)
    axes, keep = sorted(g.pick.sample(range(v.rank), g.pick.randint(1, v.rank))), g.pick.randint(0, 1)
    op = g.pick.choice(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceProd"])
    name = g.op("Clip", v.name, g.const(-1, FLOAT), g.const(1, FLOAT)) if op == "ReduceProd" else v.name
    name = g.op("Pad", name, g.const([0] * v.rank + [int(a in axes) for a in range(v.rank)]))  # of none ONNX Runtime gives other shapes
    shape = [1 if a in axes else d for a, d in enumerate(v.shape) if keep or a not in axes]
    g.give(g.op(op, name, g.const([a - v.rank if g.chance(0.3) else a for a in axes]), keepdims=keep), FLOAT, shape,
           v.exact and op in ("ReduceSum", "ReduceMax", "ReduceMin"))


def running_sum(g):
    v = g.value((FLOAT, INT), low=1)
    g.give(g.op("CumSum", v.name, g.const(g.pick.randrange(v.rank)), exclusive=g.pick.randint(0, 1), reverse=g.pick.randint(0, 1)),
           v.dtype, v.shape, v.exact)


def softmax(g):
    v = g.value(low=1)
    g.give(g.op(g.pick.choice(["Softmax", "LogSoftmax"]), v.name, axis=g.pick.randrange(-v.rank, v.rank)), FLOAT, v.shape, False)


def normal(g):
    v = g.value(low=1)
    if not isinstance(v.shape[-1], int) or v.shape[-1] == 0:
        raise Skip
    g.give(g.op("LayerNormalization", v.name, g.random(v.shape[-1]), g.random(v.shape[-1]), axis=-1, epsilon=0.1), FLOAT, v.shape, False)


def product(g):
    v = g.value(low=2)
    if isinstance(v.shape[-1], int) and g.chance(0.6):
        units = g.pick.randint(1, 5)
        g.give(g.op("MatMul", v.name, g.random(v.shape[-1], units)), FLOAT, v.shape[:-1] + (units,), False)
        return
    other = g.op("Transpose", v.name, perm=[*range(v.rank - 2), v.rank - 1, v.rank - 2])
    g.give(g.op("Tanh", g.op("MatMul", v.name, other)), FLOAT, v.shape[:-1] + (v.shape[-2],), False)


def image(g):
    """A window over two axes that a run gives, or over one."""
    v = g.value(low=3)
    if not isinstance(v.shape[1], int) or not v.shape[1]:
        raise Skip
    rank, kernel = v.rank - 2, g.pick.randint(1, 3)
    pads, stride = [kernel // 2] * (2 * rank), g.pick.choice([1, 1, 2])
    window = {"kernel_shape": [kernel] * rank, "pads": pads, "strides": [stride] * rank}
    channels = v.shape[1]
    if g.chance(0.5):
        channels = g.pick.randint(1, 4)
        name = g.op("Conv", v.name, g.random(channels, v.shape[1], *[kernel] * rank), **window)
    else:
        name = g.op(g.pick.choice(["MaxPool", "AveragePool"]), v.name, **window)
    dims = v.shape[2:] if kernel % 2 and stride == 1 else tuple(g.fresh("s") for _ in range(rank))
    g.give(name, FLOAT, (v.shape[0], channels) + dims, False)


def resize(g):
    v = g.value(low=3)
    rank = v.rank - 2
    mode = g.pick.choice(["nearest", "nearest", "linear"])
    attrs = {"mode": mode, "coordinate_transformation_mode": g.pick.choice(["half_pixel", "asymmetric", "align_corners"])}
    if mode == "nearest":
        attrs["nearest_mode"] = "floor"
    if g.chance(0.5):
        given = [g.const([1.0, 1.0] + [g.pick.choice([2.0, 0.5, 3.0])] * rank, FLOAT)]
    else:
        bigger = [g.op("Mul", g.size(v, 2 + a), g.const([2])) for a in range(rank)]
        given = ["", g.op("Concat", g.sizes(v, [0, 1]), *bigger, axis=0)]
    g.give(g.op("Resize", v.name, "", *given, **attrs), FLOAT, v.shape[:2] + tuple(g.fresh("s") for _ in range(rank)), False)


def nonzero(g):
    v = g.value((FLOAT, INT, BOOL), low=1, exact=True)
    count, name = g.fresh("k"), g.op("NonZero", v.name)
    g.give(name, INT, [v.rank, count], True)
    if v.dtype == FLOAT and g.chance(0.7):
        g.give(g.op("GatherND", v.name, g.op("Transpose", name, perm=[1, 0])), FLOAT, [count], True)


def compress(g):
    v = g.value((FLOAT, INT), low=1)
    axis = g.pick.randrange(v.rank)
    masks = [w for w in g.values if w.dtype == BOOL and w.shape == (v.shape[axis],)]
    if masks:
        mask = g.pick.choice(masks).name
    else:
        counted = g.op("Range", g.const(0), g.scalar(v, axis), g.const(1))
        mask = g.op("Cast", g.op("Mod", counted, g.const(2)), to=TensorProto.BOOL)
    g.give(g.op("Compress", v.name, mask, axis=axis), v.dtype, v.shape[:axis] + (g.fresh("k"),) + v.shape[axis + 1:], v.exact)


def greatest(g):
    v = g.value((FLOAT, INT), low=1, exact=True)
    axis = g.pick.randrange(v.rank)
    n = g.size(v, axis)
    k = g.pick.choice([lambda: n, lambda: g.op("Min", n, g.const([2])), lambda: g.op("Div", g.op("Add", n, g.const([1])), g.const([2]))])()
    names = [g.fresh(), g.fresh()]
    g.nodes.append(helper.make_node("TopK", [v.name, k], names, axis=axis, largest=g.pick.randint(0, 1)))
    shape = v.shape[:axis] + (g.fresh("k"),) + v.shape[axis + 1:]
    g.give(names[0], v.dtype, shape, True)
    if g.chance(0.5):
        g.give(g.op("GatherElements", v.name, names[1], axis=axis), v.dtype, shape, True)


def take(g):
    """Rows by positions that are brought into the range; of nothing, nothing."""
    v, w = g.value((FLOAT, INT), low=1), g.value((INT,), high=2)
    axis = g.pick.randrange(v.rank)
    if v.rank + w.rank > 5:
        raise Skip
    last = g.op("Sub", g.scalar(v, axis), g.const(1))
    places = g.op("Max", g.op("Min", w.name, last), g.const(0))
    g.give(g.op("Gather", v.name, places, axis=axis), v.dtype, v.shape[:axis] + w.shape + v.shape[axis + 1:], v.exact)


def put_rows(g):
    """Rows put at the first positions of a larger tensor."""
    v = g.value(low=1)
    counted = g.op("Unsqueeze", g.op("Range", g.const(0), g.scalar(v, 0), g.const(1)), g.const([1]))
    larger = g.op("ConstantOfShape", g.op("Concat", g.op("Add", g.size(v, 0), g.const([2])), g.sizes(v, range(1, v.rank)), axis=0)
                  if v.rank > 1 else g.op("Add", g.size(v, 0), g.const([2])))
    g.give(g.op("ScatterND", larger, counted, v.name), FLOAT, (plus(v.shape[0], 2),) + v.shape[1:], v.exact)


def one_hot(g):
    v = g.value((INT,), high=2)
    w = g.value(low=1)
    axis = g.pick.randrange(w.rank)
    g.give(g.op("OneHot", v.name, g.size(w, axis), g.const([0, 1], FLOAT)), FLOAT, v.shape + (w.shape[axis],), True)


def triangular(g):
    v = g.value(low=2)
    g.give(g.op("Trilu", v.name, g.const(g.pick.randint(-1, 1)), upper=g.pick.randint(0, 1)), FLOAT, v.shape, v.exact)


def parts(g):
    """Both parts of a split, whose sizes are computed."""
    v = g.value((FLOAT, INT), low=1)
    axis = g.pick.randrange(v.rank)
    n = g.size(v, axis)
    half = g.op("Div", n, g.const([2]))
    names = [g.fresh(), g.fresh()]
    g.nodes.append(helper.make_node("Split", [v.name, g.op("Concat", half, g.op("Sub", n, half), axis=0)], names, axis=axis))
    for name in names:
        g.give(name, v.dtype, v.shape[:axis] + (g.fresh("s"),) + v.shape[axis + 1:], v.exact)


def choice(g):
    """Branches of the same rank, and now and then of other sizes."""
    condition, bodies = g.condition(), [g.body([], g.pick.randint(1, 2)) for _ in range(2)]
    a = bodies[0].value((FLOAT, INT))
    fitting = [w for w in bodies[1].values if w.dtype == a.dtype and w.rank == a.rank]
    b = g.one(fitting[-4:])
    outputs = [body.op("Identity", v.name) for body, v in zip(bodies, (a, b))]
    branches = [body.graph("branch", [], [o]) for body, o in zip(bodies, outputs)]
    g.give(g.op("If", condition, then_branch=branches[0], else_branch=branches[1]), a.dtype,
           [x if x == y else g.fresh("s") for x, y in zip(a.shape, b.shape)], a.exact and b.exact)


def next_state(body, state):
    """A tensor like the state, from it and from something else."""
    v = body.value()
    fitting = [w for w in body.values if w.dtype == FLOAT and w.shape == state.shape]
    more = body.pick.choice(fitting).name if body.chance(0.6) else \
        body.op("ReduceMax", body.op("Concat", body.op("Reshape", v.name, body.const([-1])), body.const([0], FLOAT), axis=0), keepdims=0)
    return body.op("Tanh", body.op("Add", state.name, more))


def repeat(g):
    """Loop: a count that is a size or a number, a condition or none, a state that stays or grows, rows collected."""
    start = g.value(high=3)
    v = g.value(low=1)
    trips = g.pick.choice([lambda: g.scalar(v, g.pick.randrange(v.rank)), lambda: g.const(g.pick.randint(0, 5)), lambda: ""])()
    is_while, grows = trips == "" or g.chance(0.4), start.rank > 0 and g.chance(0.3)
    shape = ((g.fresh("s"),) + start.shape[1:]) if grows else start.shape
    i, before, s = Value(g.fresh(), INT, (), True), g.fresh(), Value(g.fresh(), FLOAT, shape, False)
    body = g.body([i, s], g.pick.randint(1, 2))
    after = body.op("Concat", s.name, start.name, axis=0) if grows else next_state(body, s)
    row = body.one([w for w in body.values if w.dtype == FLOAT and (w in g.values or not grows)]) if body.chance(0.5) else None
    goes_on = body.op("Less", i.name, body.const(g.pick.randint(0, 4))) if is_while else body.const(True, BOOL)
    outputs = [goes_on, after] + ([body.op("Identity", row.name)] if row else [])
    declared = [d if isinstance(d, int) else None for d in shape] if g.chance(0.5) else None
    graph = body.graph("loop", [info(i.name, INT, []), info(before, BOOL, []), info(s.name, FLOAT, declared)], outputs)
    names = [g.fresh() for _ in outputs[1:]]
    g.nodes.append(helper.make_node("Loop", [trips, "" if g.chance(0.5) else g.const(True, BOOL), start.name], names, body=graph))
    g.give(names[0], FLOAT, (g.fresh("s"),) + shape[1:] if grows else shape, False)
    if row and row.rank < 4:
        g.give(names[1], FLOAT, (g.fresh("k"),) + row.shape, False)


def scan(g):
    """Scan over one sequence or two of a length, any axis, either direction."""
    v = g.value(low=1, high=3)
    axis = g.pick.randrange(v.rank)
    other = [w for w in g.values if w.dtype == FLOAT and w.rank and w.shape[0] == v.shape[axis]]
    sources = [(v, axis)] + ([(g.pick.choice(other), 0)] if other and g.chance(0.4) else [])
    start = g.value(high=2)
    s = Value(g.fresh(), FLOAT, start.shape, False)
    elements = [Value(g.fresh(), FLOAT, w.shape[:a] + w.shape[a + 1:], w.exact) for w, a in sources]
    body = g.body([s] + elements, g.pick.randint(1, 2))
    after, row = next_state(body, s), body.one([w for w in body.values if w.dtype == FLOAT])
    graph = body.graph("scan", [info(w.name, FLOAT, [d if isinstance(d, int) else None for d in w.shape]) for w in [s] + elements],
                       [after, body.op("Identity", row.name)])
    names = [g.fresh(), g.fresh()]
    g.nodes.append(helper.make_node("Scan", [start.name] + [w.name for w, _ in sources], names, body=graph, num_scan_inputs=len(sources),
                                    scan_input_axes=[a for _, a in sources], scan_output_directions=[g.pick.randint(0, 1)],
                                    scan_input_directions=[g.pick.randint(0, 1) for _ in sources]))
    g.give(names[0], FLOAT, s.shape, False)
    if row.rank < 4:
        g.give(names[1], FLOAT, (v.shape[axis],) + row.shape, False)


FLAT = [unary, binary, cast, compare, where, triangle, positions, filled, expand, unsqueeze, squeeze, merge, part_in_two, transpose, join, cut,
        pad, tile, reduce, running_sum, softmax, normal, product, image, resize, nonzero, compress, greatest, take, put_rows, one_hot,
        triangular, parts]
MAKERS = FLAT + 3 * [choice, repeat, scan]


class Model:
    def __init__(self, number):
        self.number, self.pick = number, random.Random(number)
        self.inputs = [Value(f"x{i}", dtype, shape, True) for i, (dtype, shape) in enumerate(self.pick.choice([
            [(FLOAT, ("n", "m")), (INT, ("m",))],
            [(FLOAT, ("n", "m", 4)), (INT, ("n", "m"))],
            [(FLOAT, ("n", 2, "m", "m")), (BOOL, ("n",))],
            [(FLOAT, ("n", 2, "m")), (FLOAT, ("m", 3)), (BOOL, ("m",))],
            [(FLOAT, ("m",)), (FLOAT, ("n", 1)), (INT, ("n",))],
        ]))]
        g = Maker(self.pick, Names(), self.inputs)
        g.grow(self.pick.choice([1, 2, 3, 5, 8]))
        made = {v.name: v for v in g.values[len(self.inputs):]}
        self.outputs = list(made)[-4:]
        graph = g.graph("open", [info(v.name, v.dtype, v.shape) for v in self.inputs], self.outputs)
        self.proto = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", self.pick.choice([18, 19, 20]))])
        self.sizes = [size for size in self.pick.sample(SIZES, 5) if all(size) or not g.names.has_rest]

    def feeds(self, n, m):
        rng = np.random.default_rng([self.number, n, m])
        for v in self.inputs:
            drawn = rng.integers(-24, 25, [{"n": n, "m": m}.get(d, d) for d in v.shape])
            yield v.name, drawn > 0 if v.dtype == BOOL else drawn if v.dtype == INT else (drawn / 8).astype(FLOAT)


# ---- running them ----

def run_apart(path, feeds, answers):
    """Sends what ONNX Runtime gives for each of feeds: a list of arrays, or why there are none."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry("session.x64quantprecision", "1")  # exact by AVX2, too
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = None
    for given in feeds:
        try:
            session = session or onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
            answers.send(session.run(None, given))
        except Exception as error:  # whatever it raises: it does not take the model
            answers.send(str(error))


def by_runtime(path, feeds):
    """What ONNX Runtime gives for each of feeds. It may end its process where a size is 0, so it has one of its own."""
    results = []
    while len(results) < len(feeds):
        ours, theirs = FORK.Pipe(duplex=False)
        process = FORK.Process(target=run_apart, args=(path, feeds[len(results):], theirs))
        process.start()
        theirs.close()
        try:
            while len(results) < len(feeds):
                results.append(ours.recv())
        except EOFError:
            results.append("the process ended")
        process.join()
    return results


def by_standard(model, feeds):
    """What the standard's evaluator gives, or why nothing."""
    try:
        return [np.asarray(a) for a in ReferenceEvaluator(model).run(None, feeds)]
    except Exception as error:
        return str(error)


def difference(got, want):
    """None, or how two arrays differ."""
    if got.shape[:1] == want.shape[:1] == (0,) and (want.ndim == 1 or want.ndim == got.ndim and
                                                    all(b in (0, a) for a, b in zip(got.shape, want.shape))):
        want = want.reshape(got.shape)  # where a loop runs never, ONNX Runtime does not know the shape of its rows
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{list(got.shape)} is not {want.dtype}{list(want.shape)}"
    if want.dtype.kind != "f":
        return None if np.array_equal(got, want) else f"{got}\nnot\n{want}"
    scale = np.abs(want[np.isfinite(want)]).max(initial=1)
    return None if np.allclose(got, want, rtol=1e-4, atol=1e-4 * scale, equal_nan=True) else f"{got}\nnot\n{want}"


def differences(got, want):
    """None, or how results differ."""
    if isinstance(want, str):
        return want
    return next((f"output {i}: {p}" for i, (a, b) in enumerate(zip(got, want, strict=True)) if (p := difference(a, b))), None)


class Check:
    def __init__(self, driver, baton, show):
        self.driver, self.baton, self.show = harness.Driver(driver), baton, show
        self.counts = collections.Counter()

    def fault(self, model, what):
        self.counts["wrong"] += 1
        print(f"---- model {model.number}: {what[:1500]}")

    def compiled(self, path):
        way = ["--executor", os.environ.get("BATON_MODEL_EXECUTOR", "graph"), "--target", os.environ.get("BATON_MODEL_TARGET", "cpu")]
        done = subprocess.run([self.baton, "compile", path, *way, "-o", path + ".bta"], capture_output=True, text=True)
        if done.returncode:
            raise harness.Refused(f"{'unsupported' if done.returncode == 1 else 'crash'} {done.stderr}")
        return path + ".bta"

    def check(self, number):
        model = Model(number)
        if not model.outputs:
            return
        path = os.path.join(self.driver.folder.name, "open.onnx")
        onnx.save(model.proto, path)
        if self.show:
            print(f"---- model {number}:\n{onnx.printer.to_text(model.proto)}")
        feeds = [dict(model.feeds(*size)) for size in model.sizes]
        wanted = by_runtime(path, feeds)
        values = [w for w in wanted if not isinstance(w, str)]
        try:
            if self.baton:
                path = self.compiled(path)
            ninput, noutput = self.driver.open(path, None if self.baton else "default")
        except harness.Refused as error:
            return self.refuse(model, "opened", error, bool(values))
        for size, given, want in zip(model.sizes, feeds, wanted):
            try:
                for i, v in enumerate(model.inputs[:ninput]):
                    self.driver.set(i, given[v.name])
                got = self.driver.run(noutput)
            except harness.Refused as error:
                self.refuse(model, f"of {size}", error, not isinstance(want, str))
                if error.code == "crash":
                    return
                continue
            if isinstance(want, str):
                self.counts["nobody"] += 1
                continue
            problem = differences(got, want)
            if problem and differences(got, by_standard(model.proto, given)):
                self.fault(model, f"of {size}, {problem}")
            else:
                self.counts["same"] += 1

    def refuse(self, model, when, error, is_known):
        if error.code not in ("crash", "internal", "memory") and not is_known:
            self.counts["nobody"] += 1
        elif any(part in error.text for part in REFUSED):
            self.counts["refused"] += 1
        else:
            self.fault(model, f"{when}: {error}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("driver")
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("baton", nargs="?")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    check = Check(args.driver, args.baton, args.show)
    for number in range(args.first, args.first + args.count):
        check.check(number)
    check.driver.close()
    counts = check.counts
    print(f"{counts['same']} runs as ONNX Runtime has them, {counts['refused']} refused as listed, {counts['nobody']} that it does not have, "
          f"{counts['wrong']} wrong")
    return counts["wrong"] > 0 or counts["same"] < counts["nobody"]


sys.exit(main())
