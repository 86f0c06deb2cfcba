"""Networks written as rows, [conv(64, 7, 2, 3), norm(), relu(), ...], and what is made of them: a graph of ONNX operators with its
counts, weights, the ONNX model, and the answer in float64.

A row is a layer, a list of rows a path. add() and concat() take paths, which all start from the tensor before them; an empty
path is that tensor itself.
"""
import collections
import functools
import math
import zlib

import numpy

Value = collections.namedtuple("Value", "name shape")
Node = collections.namedtuple("Node", "op inputs output attrs")  # inputs: names of values and weights; output: Value
Weight = collections.namedtuple("Weight", "shape role amount")


class Graph:
    """Nodes in order of evaluation, weights by name. `parameters` are what training learns, `macs` multiply-adds of
    convolutions and dense layers: as the literature counts both."""

    def __init__(self, name, shape, rows):
        self.name = name
        self.nodes, self.weights, self.counts = [], {}, collections.Counter()
        self.parameters = self.macs = 0
        self.input = Value("input", shape)
        self.output = self.path(self.input, rows)

    def path(self, x, rows):
        for row in rows:
            x = row(self, x)
        return x

    def node(self, op, inputs, shape, weights=(), **attrs):
        """weights: (suffix, Weight) of the weights that follow the inputs."""
        name = f"{op}_{self.counts[op]}"
        self.counts[op] += 1
        names = [v.name for v in inputs]
        for suffix, weight in weights:
            names.append(f"{name}.{suffix}")
            self.weights[names[-1]] = weight
            if weight.role not in ("mean", "variance", "constant"):
                self.parameters += math.prod(weight.shape)
        self.nodes.append(Node(op, names, Value(name, tuple(shape)), attrs))
        return self.nodes[-1].output


# ---- the vocabulary ----

def layer(build):
    """A word: word(...) is a row, and build(graph, x, ...) adds it after x."""
    return functools.wraps(build)(lambda *args, **kwargs: lambda graph, x: build(graph, x, *args, **kwargs))


def pair(n):
    return (n, n) if isinstance(n, int) else tuple(n)


def four(pad):
    """Pads as ONNX has them, from n, (vertical, horizontal) or (top, left, bottom, right)."""
    pad = pair(pad)
    return pad if len(pad) == 4 else pad * 2


def window(x, kernel, stride, pad, up=False):
    """The map that a window gives, and the attributes that state it. up: a last window may hang over the edge."""
    kernel, stride, pad = pair(kernel), pair(stride), four(pad)
    room = [x.shape[2 + i] + pad[i] + pad[2 + i] - kernel[i] for i in range(2)]
    if min(room) < 0:
        raise ValueError(f"a window of {kernel} does not fit a map of {x.shape[2:]}")
    size = [(-(-r // s) if up else r // s) + 1 for r, s in zip(room, stride)]
    return size, {"kernel_shape": kernel, "strides": stride, "pads": pad}


@layer
def conv(graph, x, channels, kernel, stride=1, pad=0, groups=1, bias=False):
    size, attrs = window(x, kernel, stride, pad)
    shape = (channels, x.shape[1] // groups, *attrs["kernel_shape"])
    graph.macs += math.prod(shape) * math.prod(size)
    weights = [("weight", Weight(shape, "weight", 1))] + [("bias", Weight((channels,), "bias", 0.1))] * bias
    return graph.node("Conv", [x], [x.shape[0], channels, *size], weights, group=groups, **attrs)


@layer
def depthwise(graph, x, kernel, stride=1, pad=0):
    return conv(x.shape[1], kernel, stride, pad, groups=x.shape[1])(graph, x)


@layer
def dense(graph, x, units):
    shape = (units, x.shape[1])
    graph.macs += math.prod(shape)
    weights = [("weight", Weight(shape, "weight", 1)), ("bias", Weight((units,), "bias", 0.1))]
    return graph.node("Gemm", [x], [x.shape[0], units], weights, transB=1)


@layer
def norm(graph, x, spread=1, epsilon=1e-5):
    """Batch normalisation, to values of standard deviation `spread` or so."""
    each = (x.shape[1],)
    weights = [("scale", Weight(each, "scale", spread)), ("shift", Weight(each, "bias", 0.2 * spread)),
               ("mean", Weight(each, "mean", 0)), ("variance", Weight(each, "variance", 0))]
    return graph.node("BatchNormalization", [x], x.shape, weights, epsilon=float(numpy.float32(epsilon)))


@layer
def relu(graph, x):
    return graph.node("Relu", [x], x.shape)


@layer
def relu6(graph, x):
    return graph.node("Clip", [x], x.shape, [("min", Weight((), "constant", 0)), ("max", Weight((), "constant", 6))])


@layer
def maxpool(graph, x, kernel, stride, pad=0, up=False):
    size, attrs = window(x, kernel, stride, pad, up)
    return graph.node("MaxPool", [x], [*x.shape[:2], *size], ceil_mode=int(up), **attrs)


@layer
def avgpool(graph, x, kernel, stride, pad=0):
    size, attrs = window(x, kernel, stride, pad)
    return graph.node("AveragePool", [x], [*x.shape[:2], *size], count_include_pad=1, **attrs)


@layer
def mean(graph, x):
    """Of each channel's map, flat."""
    return flat()(graph, graph.node("GlobalAveragePool", [x], [*x.shape[:2], 1, 1]))


@layer
def flat(graph, x):
    return graph.node("Flatten", [x], [x.shape[0], math.prod(x.shape[1:])], axis=1)


@layer
def add(graph, x, *paths):
    ends = [graph.path(x, p) for p in paths]
    return graph.node("Add", ends, ends[0].shape)


@layer
def concat(graph, x, *paths):
    ends = [graph.path(x, p) for p in paths]
    return graph.node("Concat", ends, [x.shape[0], sum(e.shape[1] for e in ends), *ends[0].shape[2:]], axis=1)


# ---- weights ----

# Of statistics as measured (1 and 0), a network amplifies the rounding errors of its first layers a hundredfold; of one variance and
# no mean (0 and 1), as with mere He weights, it forgets its input. Trained networks do neither, and so does the middle.
CENTRED = 0.1  # the share of a channel's mean that is its stated mean
ALIKE = 0.75  # the share of all channels' variance in the stated one

def coarse(x):
    """Rounded to 8 bits, so that statistics come out the same whatever order a machine's matrix product adds in."""
    fraction, exponent = numpy.frexp(x)
    return numpy.ldexp(numpy.round(fraction * 256) / 256, exponent)


def draw(random, weight):
    """Uniform numbers, as they take no rounding function. Weights: He et al. 2015, variance 2 / inputs of a sum."""
    low, high = {"weight": (-1, 1), "bias": (-1, 1), "scale": (0.5, 1.5)}[weight.role]
    amount = math.sqrt(6 / math.prod(weight.shape[1:])) if weight.role == "weight" else weight.amount
    part = random.random(weight.shape, numpy.float32)
    return (part * numpy.float32(high - low) + numpy.float32(low)) * numpy.float32(amount)


def random_weights(graph):
    """Name -> array, from a seed that is the network's name. The statistics of normalisations are taken from a run on random
    input, so that maps keep their range through any depth."""
    random = numpy.random.Generator(numpy.random.PCG64(zlib.crc32(graph.name.encode())))
    arrays = {}
    for name, weight in graph.weights.items():
        if weight.role == "constant":
            arrays[name] = numpy.array(weight.amount, numpy.float32)
        elif weight.role not in ("mean", "variance"):
            arrays[name] = draw(random, weight)
    if graph.counts["BatchNormalization"]:
        evaluate(graph, arrays, random_input(graph, "statistics"), settle)
    return arrays


def settle(node, x, arrays):
    """Before a normalisation is evaluated: its statistics."""
    if node.op == "BatchNormalization":
        mean = coarse(CENTRED * x.mean((0, 2, 3)))
        square = numpy.square(x - mean[:, None, None]).mean((0, 2, 3))
        arrays[node.inputs[3]] = mean.astype(numpy.float32)
        arrays[node.inputs[4]] = coarse(ALIKE * square.mean() + (1 - ALIKE) * square).astype(numpy.float32)


def random_input(graph, seed):
    """Uniform, mean 0 and variance 1."""
    random = numpy.random.Generator(numpy.random.PCG64(zlib.crc32(seed.encode())))
    return (random.random(graph.input.shape, numpy.float32) * 2 - 1) * numpy.float32(math.sqrt(3))


# ---- the ONNX model ----

def onnx_model(graph, arrays, dtype="float32"):
    from onnx import helper, numpy_helper
    element = helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
    nodes = [helper.make_node(n.op, n.inputs, [n.output.name], n.output.name, **n.attrs) for n in graph.nodes]
    inputs, outputs = ([helper.make_tensor_value_info(v.name, element, v.shape)] for v in (graph.input, graph.output))
    weights = [numpy_helper.from_array(arrays[name].astype(dtype), name) for name in graph.weights]
    whole = helper.make_graph(nodes, graph.name, inputs, outputs, weights)
    return helper.make_model(whole, ir_version=8, opset_imports=[helper.make_opsetid("", 17)], producer_name="zoo")


# ---- the answer in float64 ----

def evaluate(graph, arrays, x, look=lambda node, x, arrays: None):
    """The output for an input, in float64 throughout; look sees each node with its first input before it is evaluated."""
    values = {graph.input.name: x.astype(numpy.float64)}
    for node in graph.nodes:
        look(node, values[node.inputs[0]], arrays)
        inputs = [values[i] if i in values else arrays[i].astype(numpy.float64) for i in node.inputs]
        values[node.output.name] = OPERATORS[node.op](*inputs, **node.attrs)
    return values[graph.output.name]


def padded(x, pads, value=0.0):
    return numpy.pad(x, [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])], constant_values=value)


def convolve(x, w, bias=None, *, kernel_shape, strides, pads, group):
    x = padded(x, pads)
    size = [(x.shape[2 + i] - kernel_shape[i]) // strides[i] + 1 for i in range(2)]
    w = w.reshape(group, -1, *w.shape[1:])
    out = 0
    for r, s in numpy.ndindex(*kernel_shape):
        part = x[:, :, r:r + (size[0] - 1) * strides[0] + 1:strides[0], s:s + (size[1] - 1) * strides[1] + 1:strides[1]]
        out = out + numpy.ascontiguousarray(w[..., r, s]) @ part.reshape(x.shape[0], group, -1, math.prod(size))
    out = out.reshape(x.shape[0], -1, *size)
    return out if bias is None else out + bias[:, None, None]


def pool(reduce, x, fill, kernel_shape, strides, pads, ceil_mode=0):
    over = [s - 1 if ceil_mode else 0 for s in strides]
    x = padded(x, (*pads[:2], pads[2] + over[0], pads[3] + over[1]), fill)
    parts = numpy.lib.stride_tricks.sliding_window_view(x, kernel_shape, (2, 3))
    return reduce(parts[:, :, ::strides[0], ::strides[1]], axis=(4, 5))


def average_pool(x, count_include_pad, **attrs):
    assert count_include_pad
    return pool(numpy.mean, x, 0.0, **attrs)


def normalise(x, scale, shift, mean, variance, epsilon):
    factor = scale / numpy.sqrt(variance + epsilon)
    return x * factor[:, None, None] + (shift - mean * factor)[:, None, None]


OPERATORS = {
    "Add": numpy.add,
    "AveragePool": average_pool,
    "BatchNormalization": normalise,
    "Clip": numpy.clip,
    "Concat": lambda *parts, axis: numpy.concatenate(parts, axis),
    "Conv": convolve,
    "Flatten": lambda x, axis: x.reshape(math.prod(x.shape[:axis]), -1),
    "Gemm": lambda x, w, bias, transB: x @ w.T + bias,
    "GlobalAveragePool": lambda x: x.mean((2, 3), keepdims=True),
    "MaxPool": lambda x, **attrs: pool(numpy.max, x, -numpy.inf, **attrs),
    "Relu": lambda x: numpy.maximum(x, 0),
}
