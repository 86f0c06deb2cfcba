"""Random ONNX graphs: onnx_random.py DRIVER [--count N] [--seed S] [--show] [OPERATOR]...

Graphs of one to four nodes with odd attributes, sizes 0 and 1, every element type, and now and then NaN and infinity. Each is run by
ONNX Runtime and by the evaluator of the onnx package: what Baton gives must be what one of them gives, for every value of the graph.
What neither takes is only run, and must not crash. A refusal of what one of them takes counts as a failure unless REFUSED lists it.
Makers leave out what both evaluators are known to get wrong, each with its reason. Every other graph is written in an odd form
(onnx_forms.py). The graph of a number is the same on every run; tests run the first 400, `--count 5000` is the long run.
  --show     prints the graph, the values and what each evaluator gives
  OPERATOR   graphs that have one of these operators only
"""
import argparse
import os
import random
import re
import sys
import warnings

import harness

harness.need_packages("numpy", "onnx", "onnxruntime", "ml_dtypes")
import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import onnx_forms

COMPILED = "BATON_MODEL_TARGET" in os.environ
FLOATS = ["float16", "float32", "float64"]
SIGNED = ["int8", "int16", "int32", "int64"]
INTS = SIGNED + ["uint8", "uint16", "uint32", "uint64"]
NUMBERS = FLOATS + INTS
ALL = NUMBERS + ["bool"]

# What Baton says that it does not support, though another evaluator does: part of the message, and the reason.
REFUSED = {
    "the window and the padded data": "a window larger than the data; others give no elements",
    " is resized, and its size is symbolic": "Resize of a symbolic axis",
    " has a symbolic size, and its mode is neither nearest nor linear": "Resize of a symbolic axis",
    "argmax: one element and the extent of a reduced axis": "Hardmax over an axis that a run leaves without elements",
}
if os.environ.get("BATON_MODEL_EXECUTOR") == "written":  # the C of executor aot
    REFUSED["no C is written for"] = "operators whose results have sizes that depend on elements"
    REFUSED["is computed by plain C"] = "operators without a formula"
RELATIVE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-4, "float64": 1e-6}  # the standard's evaluator computes some by float32


class Skip(Exception):
    """The choices made do not fit together: another node is tried."""


class Graph:
    """A graph as it grows: its values are known as it does, so that each node fits what it reads."""

    def __init__(self, number):
        self.number = number
        self.pick = random.Random(number)
        self.opset = self.pick.randint(11, 23)
        self.nodes, self.feeds, self.constants, self.values = [], {}, {}, {}
        self.results = {}  # value -> what each evaluator gives for it
        self.special = self.pick.random() < 0.06
        self.is_done = False
        self.forms = []
        self.symbolic = self.pick.random() < 0.2

    def chance(self, share):
        return self.pick.random() < share

    def size(self, most=5):
        return self.pick.choices([0, 1, self.pick.randint(2, most)], [4, 15, 81])[0]

    def shape(self, low=0, high=4):
        return [self.size() for _ in range(self.pick.randint(low, high))]

    def axis(self, rank):
        if rank == 0:
            raise Skip
        return self.pick.randrange(-rank, rank)

    def axes(self, rank):
        chosen = self.pick.sample(range(rank), self.pick.randint(0, rank))
        return [a - rank if self.chance(0.3) else a for a in chosen]

    def array(self, dtype, shape, low=-8, high=8):
        """Numbers that every element type holds exactly; floats are eighths."""
        n = int(np.prod(shape))
        if dtype == "bool":
            out = [self.chance(0.5) for _ in range(n)]
        elif dtype in FLOATS:
            out = [self.pick.randint(8 * low, 8 * high) / 8 for _ in range(n)]
            if self.special and n and low < 0:
                out[self.pick.randrange(n)] = self.pick.choice([np.nan, np.inf, -np.inf])
        else:
            out = [self.pick.randint(max(low, 0) if dtype[0] == "u" else low, high) for _ in range(n)]
        return np.array(out, dtype).reshape(shape)

    def finite(self, dtype, shape):
        """Weights: where padding meets what is not finite, evaluators differ."""
        return np.nan_to_num(self.array(dtype, shape), nan=1, posinf=1, neginf=1)

    def put(self, array, constant=0.3):
        """An input of the graph, or a constant; gives its name."""
        name = f"i{len(self.feeds) + len(self.constants)}"
        (self.constants if self.chance(constant) else self.feeds)[name] = array
        self.values[name] = array
        return name

    def const(self, *args, dtype="int64"):
        """What decides shapes: a constant."""
        return self.put(np.array(args[0] if args else [], dtype), 1)

    def data(self, dtypes, low=0, high=4, shape=None):
        """A value of such a type and rank: one that a node gives, or a new one."""
        fitting = [k for k in self.values if k[0] == "v" and str(self.values[k].dtype) in dtypes
                   and low <= self.values[k].ndim <= high and shape is None]
        if fitting and self.chance(0.8):
            return self.pick.choice(fitting)
        return self.put(self.array(self.pick.choice(dtypes), self.shape(low, high) if shape is None else shape), 0.1)

    def of(self, name):
        return self.values[name]

    def dtype(self, name):
        return str(self.values[name].dtype)

    def broadcastable(self, shape):
        """A shape that broadcasts with this one."""
        out = [1 if self.chance(0.25) else n for n in shape]
        return out[self.pick.randint(0, len(out)):] if self.chance(0.4) else out

    def node(self, op, inputs, outputs=1, domain="", **attrs):
        names = [f"v{sum(len(n.output) for n in self.nodes) + i}" for i in range(outputs)]
        attrs = {k: v for k, v in attrs.items() if v is not None}
        self.nodes.append(helper.make_node(op, inputs, names, domain=domain, name=f"n{len(self.nodes)}", **attrs))

    def model(self, nodes, feeds):
        used = {i for n in nodes for i in n.input}
        inputs = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(a.dtype), self.declared(a))
                  for k, a in feeds.items()]
        outputs = [helper.make_empty_tensor_value_info(o) for n in nodes for o in n.output if o]
        constants = [numpy_helper.from_array(a, k) for k, a in self.constants.items() if k in used]
        graph = helper.make_graph(nodes, "random", inputs, outputs, constants)
        return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", self.opset)])

    def declared(self, array):
        """Dims of other names must be equal where they broadcast, so a name says the size here."""
        if self.symbolic and array.ndim > 1 and array.shape[0] > 1:
            return [f"n{array.shape[0]}", *array.shape[1:]]
        return array.shape


# ---- operators: each adds one node to a graph ----

MAKERS = {}


def maker(*names, since=1, until=99):
    def register(function):
        for name in names:
            MAKERS[name] = (function, since, until)
        return function
    return register


def window(g, n):
    """Attributes of a window. SAME_ with strides beyond the window: others pad by less than nothing."""
    kernel = [g.pick.randint(1, 3) for _ in range(n)]
    out = {"kernel_shape": kernel, "strides": [g.pick.randint(1, 3) for _ in range(n)] if g.chance(0.7) else None}
    kind = g.pick.choice(["none", "pads", "SAME_UPPER", "SAME_LOWER", "VALID"])
    if kind[0] == "S" and out["strides"]:
        out["strides"] = [min(s, k) for s, k in zip(out["strides"], kernel)]
    if kind == "pads":
        out["pads"] = [g.pick.randint(0, k - 1) for k in kernel * 2]
    elif kind != "none":
        out["auto_pad"] = kind
    return out


@maker("Conv")
def conv(g):
    n, group, dtype = g.pick.randint(1, 3), g.pick.choice([1, 1, 1, 2, 3]), g.pick.choice(["float32", "float32", "float16", "float64"])
    each, filters = g.pick.randint(1, 3), g.pick.randint(1, 3)
    attrs = window(g, n)
    if dtype != "float32":
        attrs.pop("auto_pad", None)  # the standard's evaluator is alone, and pads otherwise
    if g.chance(0.3) and "auto_pad" not in attrs:
        attrs["dilations"] = [g.pick.randint(1, 2) for _ in range(n)]
    x = g.data([dtype], shape=[g.pick.choice([0, 1, 1, 2]), each * group] + [g.pick.randint(1, 7) for _ in range(n)])
    names = [x, g.put(g.finite(dtype, [filters * group, each, *attrs["kernel_shape"]]), 0.7)]
    if g.chance(0.5):
        names.append(g.put(g.array(dtype, [filters * group]), 0.7))
    if g.chance(0.3):
        attrs["kernel_shape"] = None
    g.node("Conv", names, group=group, **attrs)


@maker("ConvTranspose")
def conv_transpose(g):
    n, group, dtype = g.pick.randint(1, 3), g.pick.choice([1, 1, 1, 2]), g.pick.choice(["float32", "float32", "float64"])
    each, filters = g.pick.randint(1, 3), g.pick.randint(1, 3)
    attrs = window(g, n)
    strides = attrs["strides"] or [1] * n
    if g.chance(0.3):
        attrs["output_padding"] = [g.pick.randint(0, s - 1) for s in strides]
    if g.chance(0.3) and "auto_pad" not in attrs:
        attrs["dilations"] = [g.pick.randint(1, 2) for _ in range(n)]
    x = g.data([dtype], shape=[g.pick.choice([1, 1, 2]), each * group] + [g.pick.randint(1, 5) for _ in range(n)])
    names = [x, g.put(g.array(dtype, [each * group, filters, *attrs["kernel_shape"]]), 0.7)]
    if g.chance(0.5):
        names.append(g.put(g.array(dtype, [filters * group]), 0.7))
    g.node("ConvTranspose", names, group=group, **attrs)


@maker("MaxPool", "AveragePool", "LpPool")
def pool(g, op):
    n, dtype = g.pick.randint(1, 3), g.pick.choice(["float32", "float32", "float64", "float16"])
    if op == "MaxPool" and g.chance(0.2):
        dtype = g.pick.choice(["int8", "uint8"])
    x = g.data([dtype], shape=[g.size(2), g.size(3)] + [g.pick.randint(1, 7) for _ in range(n)])
    if dtype != "float32" and not np.isfinite(g.of(x)).all():
        raise Skip  # the standard's evaluator takes NaN for padding
    attrs = window(g, n)
    if dtype != "float32":
        attrs.pop("auto_pad", None)  # the standard's evaluator is alone, and pads otherwise
    if op != "LpPool" and g.chance(0.4) and attrs.get("auto_pad", "N")[0] != "S":
        attrs["ceil_mode"] = g.pick.randint(0, 1)
    if op == "AveragePool" and g.chance(0.5):
        attrs["count_include_pad"] = g.pick.randint(0, 1)
    if op == "MaxPool" and g.chance(0.3) and "auto_pad" not in attrs:
        attrs["dilations"] = [g.pick.randint(1, 2) for _ in range(n)]
    if dtype != "float32":
        attrs.pop("ceil_mode", None)  # the standard's evaluator is alone, and may leave out the last window
    if op == "LpPool":
        attrs["p"] = g.pick.randint(1, 3)
    g.node(op, [x], **attrs)


@maker("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(g, op):
    # the standard's evaluator reduces over other axes, and is alone with float64
    x = g.data(["float32"], 3, 5)
    if not g.of(x).size:
        raise Skip
    g.node(op, [x], **({"p": g.pick.randint(1, 3)} if op == "GlobalLpPool" else {}))


@maker("Gemm")
def gemm(g):
    m, n, k = g.size(), g.size(), g.size()
    dtype = g.pick.choice(["float32", "float32", "float64", "int32", "float16"])
    a, b = g.pick.randint(0, 1), g.pick.randint(0, 1)
    names = [g.data([dtype], shape=[k, m] if a else [m, k]), g.put(g.array(dtype, [n, k] if b else [k, n]))]
    if g.chance(0.6):
        names.append(g.put(g.array(dtype, g.broadcastable([m, n]))))
    g.node("Gemm", names, transA=a, transB=b, alpha=g.pick.choice([1.0, 0.5, 0.0, 2.0]), beta=g.pick.choice([1.0, 0.0, 0.5]))


@maker("MatMul", "MatMulInteger")
def matmul(g, op):
    m, n, k, batch = g.size(), g.size(), g.size(), g.shape(0, 2)
    dtype = g.pick.choice(["int8", "uint8"] if op == "MatMulInteger" else ["float32", "float64", "int32", "int64", "float16"])
    a, b = g.pick.choice([[k], [m, k], batch + [m, k], g.broadcastable(batch) + [m, k]]), g.pick.choice([[k], [k, n], batch + [k, n]])
    if op == "MatMulInteger" and min(len(a), len(b)) < 2:
        raise Skip
    names = [g.data([dtype], shape=a), g.put(g.array(dtype, b))]
    if op == "MatMulInteger" and g.chance(0.5):
        names += [g.put(g.array(dtype, [], 0)), g.put(g.array(dtype, [], 0))]
    g.node(op, names)


@maker("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum",
       "ReduceLogSumExp")
def reduce(g, op):
    types = {"Max": ["int32", "int64", "int8", "uint8"], "Min": ["int32", "int64", "int8", "uint8"], "Sum": ["int32", "int64"],
             "Prod": ["int32", "int64"], "L1": ["int32", "int64"], "SumSquare": ["int32", "int64"]}
    x = g.data(["float32", "float32", "float64"] + types.get(op[6:], []), 0, 4)  # means, roots and logarithms of integers: anything goes
    rank = g.of(x).ndim
    axes = g.axes(rank) if g.chance(0.7) else None
    attrs = {"keepdims": g.pick.randint(0, 1)}
    if g.opset >= 18 or (op == "ReduceSum" and g.opset >= 13):
        if g.chance(0.3):
            attrs["noop_with_empty_axes"] = g.pick.randint(0, 1)
        g.node(op, [x] + ([g.const(axes)] if axes is not None else []), **attrs)
    else:
        g.node(op, [x], axes=axes or None, **attrs)


@maker("ArgMax", "ArgMin")
def arg(g, op):
    x = g.data(["float32", "float64", "int32", "int8", "uint8"], 1)
    if 0 in g.of(x).shape:
        raise Skip  # ONNX Runtime gives 0 as the place in an axis without elements
    g.node(op, [x], axis=g.axis(g.of(x).ndim), keepdims=g.pick.randint(0, 1),
           select_last_index=g.pick.randint(0, 1) if g.opset >= 12 else None)


@maker("Transpose")
def transpose(g):
    x = g.data(ALL)
    perm = list(range(g.of(x).ndim))
    g.pick.shuffle(perm)
    g.node("Transpose", [x], perm=perm if perm and g.chance(0.8) else None)


@maker("Concat")
def concat(g):
    x = g.data(ALL, 1)
    axis, names = g.axis(g.of(x).ndim), [x]
    for _ in range(g.pick.randint(0, 3)):
        shape = list(g.of(x).shape)
        shape[axis] = g.size()
        names.append(g.put(g.array(g.dtype(x), shape)))
    g.pick.shuffle(names)
    g.node("Concat", names, axis=axis)


@maker("Slice")
def slices(g):
    x = g.data(ALL, 1)
    rank = g.of(x).ndim
    axes = g.axes(rank)
    far = [np.iinfo(np.int64).max, np.iinfo(np.int64).min + 1, -99, 99]
    bound = lambda: g.pick.choice(far) if g.chance(0.2) else g.pick.randint(-6, 6)
    starts, ends = [bound() for _ in axes], [bound() for _ in axes]
    names = [x, g.const(starts), g.const(ends), g.const(axes)]
    if g.chance(0.6):
        names.append(g.const([g.pick.choice([1, 2, -1, -2, 7]) for _ in axes]))
    g.node("Slice", names)


@maker("Pad")
def pad(g):
    x = g.data(FLOATS + ["int32", "int64", "int8", "uint8"], 1)
    array, mode = g.of(x), g.pick.choice(["constant", "constant", "edge", "reflect"] + (["wrap"] if g.opset >= 19 else []))
    least = -1 if mode == "constant" else 0
    pads = [g.pick.randint(least, 2 if mode in ("constant", "edge") else max(0, min(2, n - 1))) for n in array.shape * 2]
    names = [x, g.const(pads)]
    if mode == "constant" and g.chance(0.5):
        names.append(g.put(g.array(g.dtype(x), [])))
    g.node("Pad", names, mode=mode)


def positions(g, shape, count):
    """Places within `count` elements, some counted from the end."""
    if count == 0 and int(np.prod(shape)):
        raise Skip
    places = [g.pick.randrange(-count, count) for _ in range(int(np.prod(shape)))]
    return np.array(places, g.pick.choice(["int32", "int64"])).reshape(shape)


@maker("Gather")
def gather(g):
    x = g.data(ALL, 1)
    axis = g.axis(g.of(x).ndim)
    g.node("Gather", [x, g.put(positions(g, g.shape(0, 2), g.of(x).shape[axis]))], axis=axis)


@maker("GatherElements", "ScatterElements")
def elements(g, op):
    x = g.data(FLOATS + ["int32", "int64"], 1)
    axis, shape = g.axis(g.of(x).ndim), [g.pick.randint(0, n) for n in g.of(x).shape]
    shape[axis] = g.size()
    if op == "ScatterElements":  # no element twice: their order is open
        shape[axis] = g.of(x).shape[axis]
        lines = np.argsort(np.array([g.pick.random() for _ in range(int(np.prod(shape)))]).reshape(shape), axis)
        g.node(op, [x, g.put(lines.astype("int64")), g.put(g.array(g.dtype(x), shape))], axis=axis,
               reduction=g.pick.choice(["add", "mul"]) if g.opset >= 16 and g.chance(0.4) else None)
    else:
        if 0 in shape:
            raise Skip  # the standard's evaluator gives another shape
        g.node(op, [x, g.put(positions(g, shape, g.of(x).shape[axis]))], axis=axis)


@maker("GatherND")
def gather_nd(g):
    x = g.data(ALL, 1)
    shape, lead = g.of(x).shape, g.shape(0, 2)
    depth = g.pick.randint(1, len(shape))
    columns = [positions(g, lead, n).astype("int64") for n in shape[:depth]]
    g.node("GatherND", [x, g.put(np.stack(columns, -1))])


@maker("Where")
def where(g):
    x = g.data(ALL)
    y, c = g.broadcastable(g.of(x).shape), g.broadcastable(g.of(x).shape)
    g.node("Where", [g.put(g.array("bool", c)), x, g.put(g.array(g.dtype(x), y))])


@maker("Resize", since=13)
def resize(g):
    dtype = g.pick.choice(["float32", "float32", "float32", "uint8", "int8", "int32", "float64"])
    n = g.pick.randint(1, 3)
    x = g.data([dtype], shape=[g.pick.randint(1, 2), g.pick.randint(1, 2)] + [g.pick.randint(1, 6) for _ in range(n)])
    mode = g.pick.choice(["nearest", "linear", "linear", "cubic"])
    attrs = {"mode": mode, "coordinate_transformation_mode": g.pick.choice(
        ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"])}
    if mode == "nearest":
        attrs["nearest_mode"] = g.pick.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic":
        attrs["exclude_outside"] = g.pick.randint(0, 1)
        attrs["cubic_coeff_a"] = g.pick.choice([-0.75, -0.5])
    if g.opset >= 18 and mode != "nearest" and g.chance(0.3):
        attrs["antialias"] = 1
    if g.chance(0.5):
        names = [x, "", "", g.const(list(g.of(x).shape[:2]) + [g.pick.randint(1, 9) for _ in range(n)])]
    else:
        names = [x, "", g.const([1, 1] + [g.pick.choice([0.5, 1, 1.5, 2, 3, 0.75]) for _ in range(n)], dtype="float32")]
    g.node("Resize", names, **attrs)


@maker("Softmax", "LogSoftmax", "Hardmax")
def softmax(g, op):
    x = g.data(["float32", "float64", "float16"] if g.opset >= 13 else ["float32"], 1)
    rank = g.of(x).ndim
    if op == "Hardmax" and not np.isfinite(g.of(x)).all():
        raise Skip  # which element is the greatest among NaN: each evaluator has its own
    g.node(op, [x], axis=g.axis(rank) if g.chance(0.8) or rank < 2 else None)


@maker("BatchNormalization")
def batch_norm(g):
    x = g.data(["float32"], 2)
    c = [g.of(x).shape[1]]
    names = [x] + [g.put(g.array(g.dtype(x), c), 0.8) for _ in range(3)] + [g.put(g.array(g.dtype(x), c, 0) + 0.125, 0.8)]
    g.node("BatchNormalization", names, epsilon=g.pick.choice([None, 1e-3]))


@maker("InstanceNormalization")
def instance_norm(g):
    x = g.data(["float32"], 3)
    if not g.of(x).size:
        raise Skip  # ONNX Runtime crashes
    g.node("InstanceNormalization", [x] + [g.put(g.array("float32", [g.of(x).shape[1]]), 0.7) for _ in range(2)])


@maker("LayerNormalization", since=17)
def layer_norm(g):
    x = g.data(["float32", "float64"], 1)
    axis = g.axis(g.of(x).ndim)
    shape = g.of(x).shape[axis:] if axis < 0 else g.of(x).shape[axis:]
    names = [x] + [g.put(g.array(g.dtype(x), shape), 0.7) for _ in range(g.pick.randint(1, 2))]
    g.node("LayerNormalization", names, axis=axis)


@maker("LRN")
def lrn(g):
    x = g.data(["float32"], 3)
    if not np.isfinite(g.of(x)).all():
        raise Skip  # ONNX Runtime takes one sum from another
    g.node("LRN", [x], size=g.pick.choice([1, 3, 5]), alpha=0.5, bias=g.pick.choice([1.0, 2.0]), beta=0.75)


@maker("LpNormalization")
def lp_norm(g):
    x = g.data(["float32"], 1)
    g.node("LpNormalization", [x], axis=g.axis(g.of(x).ndim), p=g.pick.randint(1, 2))


@maker("CumSum")
def cumsum(g):
    x = g.data(["float32", "float64", "int32", "int64"], 1)
    g.node("CumSum", [x, g.put(np.array(g.axis(g.of(x).ndim)), 1)], exclusive=g.pick.randint(0, 1), reverse=g.pick.randint(0, 1))


@maker("TopK")
def topk(g):
    x = g.data(["float32", "float64", "int32", "int64"], 1)
    axis = g.axis(g.of(x).ndim)
    k = g.const([g.pick.randint(0, g.of(x).shape[axis])])
    g.node("TopK", [x, k], 2, axis=axis, largest=g.pick.randint(0, 1))


@maker("Split")
def split(g):
    x = g.data(ALL, 1)
    axis = g.axis(g.of(x).ndim)
    n, parts = g.of(x).shape[axis], g.pick.randint(1, 4)
    cuts = sorted(g.pick.randint(0, n) for _ in range(parts - 1))
    sizes = [b - a for a, b in zip([0] + cuts, cuts + [n])]
    if g.opset < 13:
        g.node("Split", [x], parts, axis=axis, split=sizes)
    elif g.chance(0.6):
        g.node("Split", [x, g.const(sizes)], parts, axis=axis)
    elif g.opset >= 18:
        g.node("Split", [x], parts, axis=axis, num_outputs=parts)
    elif n % parts == 0:
        g.node("Split", [x], parts, axis=axis)
    else:
        raise Skip


@maker("Reshape")
def reshape(g):
    x = g.data(ALL)
    shape = list(g.of(x).shape)
    at = g.pick.randint(0, len(shape))
    shape.insert(at, 1)
    if len(shape) > 2 and g.chance(0.6):
        i = g.pick.randrange(len(shape) - 1)
        shape[i:i + 2] = [shape[i] * shape[i + 1]]
    if 0 not in shape and g.chance(0.5):
        shape[g.pick.randrange(len(shape))] = -1
    g.node("Reshape", [x, g.const(shape)], allowzero=1 if 0 in shape and g.opset >= 14 else None)


@maker("Flatten")
def flatten(g):
    x = g.data(ALL)
    rank = g.of(x).ndim
    g.node("Flatten", [x], axis=g.pick.randint(-rank, rank))


@maker("Squeeze", "Unsqueeze")
def squeeze(g, op):
    x = g.data(ALL, 0, 3)
    array, axes = g.of(x), None
    if op == "Squeeze":
        ones = [i for i, n in enumerate(array.shape) if n == 1]
        if ones and g.chance(0.7):
            axes = [a - array.ndim if g.chance(0.3) else a for a in g.pick.sample(ones, g.pick.randint(1, len(ones)))]
    else:
        count = g.pick.randint(1, 2)
        rank = array.ndim + count
        axes = [a - rank if g.chance(0.3) else a for a in g.pick.sample(range(rank), count)]
    if g.opset >= 13:
        g.node(op, [x] + ([g.const(axes)] if axes else []))
    else:
        g.node(op, [x], axes=axes)


@maker("Expand", "Tile")
def expand(g, op):
    x = g.data(ALL)
    shape = g.of(x).shape
    if op == "Tile":
        g.node(op, [x, g.const([g.pick.randint(0, 3) for _ in shape])])
        return
    target = [g.size() if n == 1 else g.pick.choice([1, n]) for n in shape]
    g.node(op, [x, g.const(g.shape(0, 1) + target if g.chance(0.5) else target[g.pick.randint(0, len(target)):])])


FLOAT_UNARY = ["Sqrt", "Exp", "Log", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Tanh", "Erf",
               "Sigmoid", "Softplus", "Softsign", "Floor", "Ceil", "Round", "Reciprocal", "Elu", "Selu", "LeakyRelu", "HardSigmoid",
               "ThresholdedRelu", "Celu", "HardSwish", "Mish", "Gelu", "IsNaN", "IsInf", "Shrink"]
SINCE = {"Celu": 12, "HardSwish": 14, "Mish": 18, "Gelu": 20}


@maker(*FLOAT_UNARY)
def unary(g, op):
    if g.opset < SINCE.get(op, 1):
        raise Skip
    steep = op in ("Tan", "Reciprocal")  # of computed values: rounding would show
    x = g.data(["float32", "float32", "float64", "float16"], shape=g.shape() if steep else None)
    attrs = {}
    if op in ("Elu", "LeakyRelu", "ThresholdedRelu", "Celu", "HardSigmoid", "Selu") and g.chance(0.5):
        attrs["alpha"] = g.pick.choice([0.5, 1.5])
    if op == "Shrink":
        attrs = {"lambd": 1.5, "bias": g.pick.choice([0.0, 0.5])}
    if op == "IsInf" and g.chance(0.5):
        attrs["detect_negative"] = 0
    if op == "Gelu":
        attrs["approximate"] = g.pick.choice(["none", "tanh"])
    g.node(op, [x], **attrs)


@maker("Abs", "Neg", "Sign", "Relu")
def signs(g, op):
    g.node(op, [g.data(FLOATS + SIGNED)])


@maker("Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Sum", "Mean")
def arithmetic(g, op):
    x = g.data(["float32"] if op in ("Sum", "Mean") else FLOATS + ["int32", "int64"] + ([] if op == "Pow" else ["int8", "uint8", "uint32"]))
    y = g.array(g.dtype(x), g.broadcastable(g.of(x).shape))
    if op in ("Div", "Pow") and y.dtype.kind in "iu":  # no division by 0, no power below 0
        y = np.maximum(abs(y), 1).astype(y.dtype)
    names = [x, g.put(y)]
    if op in ("Min", "Max", "Sum", "Mean"):
        names = names[:g.pick.randint(1, 2)] + [g.put(g.array(g.dtype(x), g.broadcastable(g.of(x).shape)))] * g.pick.randint(0, 1)
    elif g.chance(0.3) and op not in ("Div", "Pow"):
        names.reverse()
    g.node(op, names)


@maker("Mod")
def mod(g):
    x = g.data(["float32", "float64", "int32", "int64", "int8", "uint8"])
    y = g.array(g.dtype(x), g.broadcastable(g.of(x).shape))
    y[y == 0] = 3
    g.node("Mod", [x, g.put(y)], fmod=1 if g.dtype(x) in FLOATS else g.pick.randint(0, 1))


@maker("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")
def compare(g, op):
    if "Or" in op and g.opset < 12:
        raise Skip
    x = g.data(["float32", "float64", "int32", "int64"] + (["bool"] if op == "Equal" else []))
    g.node(op, [x, g.put(g.array(g.dtype(x), g.broadcastable(g.of(x).shape)))])


@maker("And", "Or", "Xor", "Not")
def logic(g, op):
    x = g.data(["bool"])
    g.node(op, [x] + ([] if op == "Not" else [g.put(g.array("bool", g.broadcastable(g.of(x).shape)))]))


@maker("BitShift")
def shift(g):
    x = g.data(["uint8", "uint32", "uint64"])
    g.node("BitShift", [x, g.put(g.array(g.dtype(x), g.broadcastable(g.of(x).shape), 0, 7))], direction=g.pick.choice(["LEFT", "RIGHT"]))


@maker("Cast")
def cast(g):
    x = g.data(ALL)
    to = g.pick.choice(ALL)
    array = g.of(x)
    if array.dtype.kind == "f" and (to[0] == "u" or not np.isfinite(array.astype("float64")).all() or (abs(array) > 100).any()):
        raise Skip  # beyond the range of the other type: anything goes
    g.node("Cast", [x], to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))


@maker("Clip")
def clip(g):
    x = g.data(["float32", "float64", "int32", "int8", "uint8", "int64"])
    low, high = sorted(g.array(g.dtype(x), [2]).tolist())
    names = [x, g.put(np.array(low, g.dtype(x)), 0.7) if g.chance(0.7) else "", g.put(np.array(high, g.dtype(x)), 0.7)]
    g.node("Clip", names[:g.pick.randint(1, 3)] if names[1] else names)


@maker("PRelu")
def prelu(g):
    x = g.data(["float32", "float64"])
    slope = [1 if g.chance(0.3) else n for n in g.of(x).shape]
    g.node("PRelu", [x, g.put(g.array(g.dtype(x), slope[g.pick.randint(0, len(slope)):]))])


@maker("QuantizeLinear", "DequantizeLinear")
def quantize(g, op):
    x = g.data(["float32"] if op == "QuantizeLinear" else ["int8", "uint8"], 1)
    to = g.pick.choice(["int8", "uint8"]) if op == "QuantizeLinear" else g.dtype(x)
    axis = g.axis(g.of(x).ndim)
    shape = [g.of(x).shape[axis]] if g.opset >= 13 and g.chance(0.5) else []
    scale = np.array(2.0 ** np.array([g.pick.randint(-2, 1) for _ in range(int(np.prod(shape)))]), "float32").reshape(shape)
    if not np.isfinite(g.of(x)).all():
        raise Skip
    g.node(op, [x, g.put(scale, 0.8), g.put(g.array(to, shape), 0.8)], axis=axis if g.opset >= 13 else None)


@maker("QLinearMatMul", "QLinearConv", "ConvInteger")
def quantized(g, op):
    a, b = g.pick.choice(["int8", "uint8"]), "int8"
    # of any value: products, quotients and their rounding are ONNX Runtime's to the last integer
    numbers = lambda shape: np.array([g.pick.uniform(0.004, 1) * 2.0 ** g.pick.randint(-2, 2)
                                      for _ in range(int(np.prod(shape)))], "float32").reshape(shape)
    scale = lambda shape=(): g.put(numbers(list(shape)), 0.8)
    zero = lambda t: g.put(g.array(t, []), 0.8)
    if op == "QLinearMatMul":
        m, n, k = g.size(), g.size(), g.size()
        names = [g.data([a], shape=[m, k]), scale(), zero(a), g.put(g.array(b, [k, n])), scale([n] if g.chance(0.4) else []), zero(b), scale(), zero(a)]
        g.node(op, names)
        return
    group, each, filters = g.pick.choice([1, 1, 2]), g.pick.randint(1, 3), g.pick.randint(1, 3)
    attrs = window(g, 2)
    x = g.data([a], shape=[1, each * group, g.pick.randint(3, 6), g.pick.randint(3, 6)])
    w = g.put(g.array(b, [filters * group, each, *attrs["kernel_shape"]]), 0.7)
    if op == "ConvInteger":
        g.node(op, [x, w] + ([zero(a)] if g.chance(0.5) else []), group=group, **attrs)
        return
    of_weight = [filters * group] if g.chance(0.5) else []
    names = [x, scale(), zero(a), w, scale(of_weight), g.put(np.zeros(of_weight, b), 1), scale(), zero(a)]
    g.node(op, names + ([g.put(g.array("int32", [filters * group]), 0.8)] if g.chance(0.5) else []), group=group, **attrs)


@maker("DynamicQuantizeLinear")
def dynamic_quantize(g):
    x = g.put(g.array("float32", [g.pick.randint(1, 5), g.pick.randint(1, 5)]), 0.1)
    if not np.isfinite(g.of(x)).all():
        raise Skip
    g.node("DynamicQuantizeLinear", [x], 3)


@maker("GroupNormalization", since=21)
def group_norm(g):
    groups, each = g.pick.randint(1, 3), g.pick.randint(1, 3)
    x = g.data(["float32"], shape=[g.size(2), groups * each] + g.shape(1, 2))
    g.node("GroupNormalization", [x] + [g.put(g.array("float32", [groups * each]), 0.7) for _ in range(2)], num_groups=groups)


@maker("DepthToSpace", "SpaceToDepth")
def blocks(g, op):
    b, dtype = g.pick.randint(1, 3), g.pick.choice(["float32", "float64"])
    shape = [g.size(2), 2, 2, 3]
    shape = [shape[0], shape[1] * b * b, *shape[2:]] if op == "DepthToSpace" else [*shape[:2], shape[2] * b, shape[3] * b]
    g.node(op, [g.data([dtype], shape=shape)], blocksize=b, mode=g.pick.choice(["DCR", "CRD"]) if op == "DepthToSpace" else None)


@maker("Einsum", since=12)
def einsum(g):
    equation = g.pick.choice(["ij,jk->ik", "bij,bjk->bik", "ii->i", "ij->ji", "i,j->ij", "ij,ij->", "...ij->...ji", "bhid,bhjd->bhij", "ij,j"])
    sizes = {c: g.pick.randint(1, 4) for c in equation if c.isalpha()}
    names = [g.put(g.array("float32", ([2] if "..." in t else []) + [sizes[c] for c in t if c.isalpha()]))
             for t in equation.split("->")[0].split(",")]
    g.node("Einsum", names, equation=equation)


@maker("Trilu", since=14)
def trilu(g):
    x = g.data(["float32", "float64", "int64"], 2)
    g.node("Trilu", [x] + ([g.put(np.array(g.pick.randint(-4, 4)), 0.8)] if g.chance(0.6) else []), upper=g.pick.randint(0, 1))


@maker("OneHot")
def one_hot(g):
    depth = g.pick.randint(1, 5)
    places = positions(g, g.shape(0, 2), depth)
    g.node("OneHot", [g.put(places), g.put(np.array(depth), 1), g.put(np.array([2, 5], g.pick.choice(["float32", "int64"])))],
           axis=g.pick.randrange(-places.ndim - 1, places.ndim + 1))


@maker("Compress", "NonZero")
def selected(g, op):
    x = g.data(["float32", "int64", "int32", "bool"] if op == "NonZero" else ["float32", "int64", "int32"], 1)
    if op == "NonZero":
        g.node(op, [x])
        return
    axis = g.axis(g.of(x).ndim) if g.chance(0.6) else None
    n = g.of(x).size if axis is None else g.of(x).shape[axis]
    g.node(op, [x, g.put(g.array("bool", [g.pick.randint(0, n)]))], axis=axis)


@maker("Shape", "Size")
def shape_of(g, op):
    x = g.data(ALL)
    attrs = {"start": g.pick.randint(-5, 5), "end": g.pick.randint(-5, 5)} if op == "Shape" and g.opset >= 15 and g.chance(0.5) else {}
    g.node(op, [x], **attrs)


@maker("ScatterND")
def scatter_nd(g):
    x = g.data(["float32", "int64", "int32"], 1)
    shape = g.of(x).shape
    count = g.pick.randint(0, shape[0])
    rows = np.array(g.pick.sample(range(shape[0]), count), "int64").reshape(count, 1)
    g.node("ScatterND", [x, g.put(rows), g.put(g.array(g.dtype(x), [count, *shape[1:]]))])


@maker("Range")
def ranges(g):
    dtype = g.pick.choice(["float32", "int32", "int64"])
    g.node("Range", [g.put(np.array(v, dtype), 0.7) for v in (g.pick.randint(-4, 4), g.pick.randint(-4, 8), g.pick.choice([1, 2, -1]))])


@maker("ReverseSequence")
def reverse_sequence(g):
    x = g.data(["float32", "int64"], shape=[g.pick.randint(1, 4), g.pick.randint(1, 4)] + g.shape(0, 2))
    t = g.pick.randint(0, 1)
    n, lines = g.of(x).shape[t], g.of(x).shape[1 - t]
    g.node("ReverseSequence", [x, g.put(np.array([g.pick.randint(1, n) for _ in range(lines)]))], time_axis=t, batch_axis=1 - t)


# ---- evaluators ----

def add_node(g, names):
    """Adds one node and what it gives; False where no evaluator takes it."""
    name = g.pick.choice(names)
    function, since, until = MAKERS[name]
    if not since <= g.opset <= until:
        return False
    before = dict(g.feeds), dict(g.constants), dict(g.values), len(g.nodes)
    try:
        function(*([g, name] if function.__code__.co_argcount == 2 else [g]))
    except Skip:
        g.feeds, g.constants, g.values = before[:3]
        return False
    results = evaluate(g, g.nodes[-1])
    known = [r for r in results if not isinstance(r, str)]
    agree = len(known) < 2 or all(same(*pair) for pair in zip(*known))
    usual = agree and (known and all(a.size < 20000 for a in known[0]))
    if not usual and (not agree and any(a.shape != b.shape for a, b in zip(*known)) or known and agree or g.chance(0.8)):
        g.feeds, g.constants, g.values = before[:3]
        del g.nodes[before[3]:]
        return False
    for i, output in enumerate(g.nodes[-1].output):
        g.results[output] = [r if isinstance(r, str) else r[i] for r in results]
        if usual:
            g.values[output] = known[0][i]
    g.is_done = not usual
    return True


def by_runtime(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry("session.x64quantprecision", "1")  # exact by AVX2, too
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"]).run(None, feeds)


def by_standard(model, feeds):
    return [np.asarray(a) for a in ReferenceEvaluator(model).run(None, feeds)]


def evaluate(g, node):
    """What each evaluator gives for a node of a graph: the arrays of its outputs, or why it gives none."""
    feeds = {k: g.values[k] for k in node.input if k and k not in g.constants}
    model, out = g.model([node], feeds), []
    for run in (by_runtime, by_standard):
        try:
            out.append(run(model, feeds))
        except Exception as error:  # whatever an evaluator raises: it does not take the node
            out.append(f"{type(error).__name__}: {str(error)[:200]}")
    return out


def same(got, want):
    """Whether two arrays are the same but for rounding, by the greatest element."""
    if got.dtype == np.dtype("V2"):
        got = got.view(ml_dtypes.bfloat16)
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if want.dtype.kind != "f":
        return np.array_equal(got, want)
    rtol = RELATIVE[str(want.dtype)]
    finite = np.abs(want[np.isfinite(want)].astype("float64"))
    atol = rtol * max(finite.max(initial=0), 1)
    return np.allclose(got.astype("float64"), want.astype("float64"), rtol=rtol, atol=atol, equal_nan=True)


def describe(g):
    lines = [f"opset {g.opset} {' '.join(g.forms)}"]
    for node in g.nodes:
        attrs = ", ".join(f"{a.name}={helper.get_attribute_value(a)}" for a in node.attribute)
        lines.append(f"{', '.join(node.output)} = {node.op_type}({', '.join(node.input)}) {attrs}")
    for kind in (g.feeds, g.constants):
        for name, array in kind.items():
            lines.append(f"{'input' if kind is g.feeds else 'const'} {name}: {array.dtype}{list(array.shape)} "
                         f"{array.tolist() if array.size <= 24 else ''}")
    return "\n".join(lines)


# ---- running them ----

def make(number, names):
    """A node that the evaluators differ about, or do not take, ends its graph."""
    g = Graph(number)
    length = g.pick.choice([1, 1, 1, 2, 3, 4])
    for _ in range(40):
        if len(g.nodes) == length or g.is_done:
            break
        add_node(g, names or list(MAKERS))
    used = {i for n in g.nodes for i in n.input}
    g.feeds = {k: a for k, a in g.feeds.items() if k in used}
    return g


def zeros_of(info):
    tensor = info.type.tensor_type
    return np.zeros([dim.dim_value for dim in tensor.shape.dim], helper.tensor_dtype_to_np_dtype(tensor.elem_type))


def ask(driver, g, model):
    """What Baton gives: arrays, or a harness.Refused."""
    path, feeds = os.path.join(driver.folder.name, "random.onnx"), list(g.feeds.values())
    onnx.save(model, path)
    try:
        ninput, noutput = driver.open(path)
        for i, info in enumerate(model.graph.input[:ninput]):  # forms add inputs of zeros behind the graph's own
            driver.set(i, feeds[i] if i < len(feeds) else zeros_of(info))
        return driver.run(noutput)
    except harness.Refused as error:
        return error


def judge(driver, g):
    """None, or what is wrong; and how it counts. Every other graph has odd forms."""
    model, names = g.model(g.nodes, g.feeds), [o for n in g.nodes for o in n.output]
    if g.number % 2:
        g.forms, names, added = onnx_forms.change(g.number, model, names)
        g.results.update({name: [array] for name, array in added.items()})
    got = ask(driver, g, model)
    is_known = all(any(not isinstance(r, str) for r in g.results[name]) for name in names)
    if isinstance(got, harness.Refused):
        if got.code in ("crash", "internal", "memory"):
            return f"{got.code}: {got.text}", "wrong"
        if not is_known:
            return None, "nobody"
        listed = any(part in got.text for part in REFUSED) or (COMPILED and "executor graph has no" in got.text)
        return (None, "refused") if listed else (f"refused: {got.code} {got.text}", "wrong")
    for name, array in zip(names, got):
        known = [r for r in g.results[name] if not isinstance(r, str)]
        if known and not any(same(array, r) for r in known):
            return f"output {name}: {short(array)}\n" + "\n".join(
                f"    {who}: {r if isinstance(r, str) else short(r)}" for who, r in zip(("runtime ", "standard"), g.results[name])), "wrong"
    return None, "same" if is_known else "nobody"


def short(array):
    return f"{array.dtype}{list(array.shape)} " + re.sub(r"\s+", " ", str(array.flatten()[:40]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("driver")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    driver, counts = harness.Driver(args.driver), {}
    for number in range(args.seed, args.seed + args.count):
        g = make(number, args.names)
        if not g.nodes:
            continue
        problem, kind = judge(driver, g)
        counts[kind] = counts.get(kind, 0) + 1
        if problem or args.show:
            print(f"---- graph {number}: {problem}\n{describe(g)}")
    driver.close()
    print(f"{counts.get('same', 0)} graphs as another evaluator has them, {counts.get('refused', 0)} refused as listed, "
          f"{counts.get('nobody', 0)} that nobody takes, {counts.get('wrong', 0)} wrong")
    return counts.get("wrong", 0) != 0 or not counts.get("same")


sys.exit(main())
