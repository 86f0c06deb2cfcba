"""Detectors of images of any size: detector.py DRIVER [FILE.onnx]...

A batch, height and width that only a run gives, one session for all of them, ONNX Runtime says what is right.
  - a small one of the kind of single-shot detectors, with seeded weights: two strides, boxes around points that follow from the sizes
    of the maps; by interp and vm with the choice of boxes too (NonMaxSuppression, whose number only a run gives)
  - the face detector YuNet as its authors publish it (../shared/data/models/yunet/*.onnx), or the files that are named
"""
import glob
import os
import sys

import harness

harness.need_packages("numpy", "onnx", "onnxruntime")
import numpy
import onnx
from onnx import helper, numpy_helper

COMPILED = "BATON_MODEL_TARGET" in os.environ
SIZES = [(1, 64, 96), (2, 37, 51), (1, 1, 1), (0, 33, 33), (3, 40, 8), (1, 64, 96)]
YUNET_SIZES = [(1, 160, 128), (2, 64, 96), (1, 256, 320)]


class Graph:
    """Nodes with names of their own; weights from a seed."""

    def __init__(self):
        self.random, self.nodes, self.constants = numpy.random.default_rng(7), [], []

    def constant(self, values, dtype=None):
        self.constants.append(numpy_helper.from_array(numpy.array(values, dtype), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def ints(self, *values):
        return self.constant(values, numpy.int64)

    def real(self, *values):
        return self.constant(values, numpy.float32)

    def op(self, op, *inputs, count=1, **attrs):
        names = [f"v{len(self.nodes)}_{i}" for i in range(count)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attrs))
        return names[0] if count == 1 else names

    def conv(self, x, before, channels, kernel=3, stride=1, group=1, activates=True):
        shape = (channels, before // group, kernel, kernel)
        weight = self.random.normal(0, (2 / numpy.prod(shape[1:])) ** 0.5, shape).astype(numpy.float32)
        bias = self.random.normal(0, 0.1, channels).astype(numpy.float32)
        y = self.op("Conv", x, self.constant(weight), self.constant(bias), strides=[stride] * 2, pads=[kernel // 2] * 4, group=group)
        return self.op("Relu", y) if activates else y

    def separable(self, x, before, channels, stride=1):
        return self.conv(self.conv(x, before, before, 3, stride, before), before, channels, 1)

    def part(self, x, first, end, axis=0):
        return self.op("Slice", x, self.ints(first), self.ints(end), self.ints(axis))


def backbone(g):
    """Maps at strides 8 and 16, the deeper one joined to the other at its size."""
    x = g.separable(g.conv("image", 3, 8, 3, 2), 8, 16, 2)
    fine = g.separable(x, 16, 32, 2)
    coarse = g.separable(fine, 32, 48, 2)
    grown = g.op("Resize", coarse, "", g.real(1, 1, 2, 2), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    sizes = g.part(g.op("Shape", fine), 2, 4)
    grown = g.op("Slice", grown, g.ints(0, 0), sizes, g.ints(2, 3))
    return [(g.op("Concat", fine, grown, axis=1), 80, 8), (coarse, 48, 16)]


def lines_of(g, x, shape, width):
    """[b, width, h, w] as [b, h * w, width]."""
    count = g.op("ReduceProd", g.part(shape, 2, 4), axes=[0], keepdims=1)
    target = g.op("Concat", g.part(shape, 0, 1), count, g.ints(width), axis=0)
    return g.op("Reshape", g.op("Transpose", x, perm=[0, 2, 3, 1]), target)


def points(g, shape, stride):
    """The middle of each element of a map, as [1, h * w, 2]."""
    rows, columns = [g.op("Gather", shape, g.constant(i)) for i in (2, 3)]
    sizes = g.part(shape, 2, 4)
    parts = []
    for count, axis in [(columns, 0), (rows, 1)]:
        numbers = g.op("Cast", g.op("Range", g.constant(0), count, g.constant(1)), to=onnx.TensorProto.FLOAT)
        grid = g.op("Expand", g.op("Unsqueeze", numbers, g.ints(axis)), sizes)
        parts.append(g.op("Unsqueeze", grid, g.ints(2)))
    both = g.op("Reshape", g.op("Concat", *parts, axis=2), g.ints(1, -1, 2))
    return g.op("Mul", g.op("Add", both, g.real(0.5)), g.real(stride))


def head(g, x, channels, stride):
    shape = g.op("Shape", x)
    score = lines_of(g, g.conv(x, channels, 2, activates=False), shape, 2)
    place = lines_of(g, g.conv(x, channels, 4, activates=False), shape, 4)
    shift, size = g.op("Split", place, g.ints(2, 2), count=2, axis=2)
    middle = g.op("Add", points(g, shape, stride), g.op("Mul", shift, g.real(stride)))
    half = g.op("Mul", g.op("Exp", g.op("Clip", size, g.constant(-2, numpy.float32), g.constant(2, numpy.float32))), g.real(stride / 2))
    return g.op("Concat", g.op("Sub", middle, half), g.op("Add", middle, half), axis=2), g.op("Softmax", score, axis=-1)


def detector(chooses):
    g = Graph()
    heads = [head(g, *level) for level in backbone(g)]
    boxes, scores = [g.op("Concat", *parts, axis=1) for parts in zip(*heads)]
    scores = g.op("Transpose", g.part(scores, 1, 2, 2), perm=[0, 2, 1])
    outputs = [boxes, scores]
    if chooses:
        chosen = g.op("NonMaxSuppression", boxes, scores, g.ints(50), g.real(0.4), g.real(0.5))
        outputs += [chosen, g.op("GatherND", boxes, g.op("Gather", chosen, g.ints(0, 2), axis=1))]
    image = helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, ["batch", 3, "height", "width"])
    graph = helper.make_graph(g.nodes, "detector", [image], [helper.make_empty_tensor_value_info(o) for o in outputs], g.constants)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def check(driver, path, sizes):
    """How many sizes give what ONNX Runtime gives."""
    reference, good = harness.reference(path), 0
    name = reference.get_inputs()[0].name
    _, noutput = driver.open(path)
    for batch, height, width in sizes:
        image = numpy.random.default_rng([batch, height, width]).normal(0, 1, (batch, 3, height, width)).astype(numpy.float32)
        try:
            driver.set(0, image)
            for got, want in zip(driver.run(noutput), reference.run(None, {name: image}), strict=True):
                numpy.testing.assert_equal((got.shape, got.dtype), (want.shape, want.dtype))
                numpy.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
            good += 1
        except (AssertionError, harness.Refused) as error:
            print(f"{os.path.basename(path)}, {batch} of {height} x {width}: {error}")
    print(f"{os.path.basename(path)}: {good} of {len(sizes)} sizes agree with ONNX Runtime")
    return good == len(sizes)


def main():
    driver = harness.Driver(sys.argv[1])
    good = True
    for chooses in [False] if COMPILED and os.environ.get("BATON_MODEL_EXECUTOR") != "vm" else [False, True]:
        path = os.path.join(driver.folder.name, f"detector{'_that_chooses' * chooses}.onnx")
        onnx.save(detector(chooses), path)
        good &= check(driver, path, SIZES)
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared", "data", "models", "yunet")
    files = sys.argv[2:] or sorted(glob.glob(os.path.join(folder, "*.onnx")))
    for path in files:
        good &= check(driver, path, YUNET_SIZES)
    if not files:
        print("not tried: YuNet; ../shared/data/models/yunet is not here")
    driver.close()
    return not good


if __name__ == "__main__":
    sys.exit(main())
