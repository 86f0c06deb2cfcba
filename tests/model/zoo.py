"""Known networks with random weights, as ONNX: zoo.py [--double] [--size N] FOLDER [NAME]...     zoo.py --list
Run it with the packages of the tests: tests/run-python BUILD tests/model/zoo.py ...

Writes FOLDER/NAME.onnx of each network named, or of all (1.1 GB): weights within the file, batch 1, logits without a softmax,
batch normalisations as nodes of their own. The same bytes on each run.
--double   weights, input and output in float64, as NAME-double.onnx: the same numbers, for reference answers
--size N   an input of N x N, as NAME-N.onnx; not for networks whose dense layers know the size of their maps
--list     a table of what there is
"""
import argparse
import collections
import os
import sys

import harness

harness.need_packages("numpy")
import zoo_graph
from zoo_graph import (add, avgpool, concat, conv, dense, depthwise, flat, maxpool, mean, norm, relu, relu6)

Network = collections.namedtuple("Network", "channels size rows")


def joined(paths):
    return [row for path in paths for row in path]


# ---- ResNet: He et al. 2015, https://arxiv.org/abs/1512.03385; stride in the 3 x 3 convolution, as torchvision has it ----

def basic(channels, stride, widen):
    shortcut = [conv(channels, 1, stride), norm()] if widen else []
    return [add([conv(channels, 3, stride, 1), norm(), relu(), conv(channels, 3, 1, 1), norm()], shortcut), relu()]


def bottleneck(channels, stride, widen):
    shortcut = [conv(4 * channels, 1, stride), norm()] if widen else []
    return [add([conv(channels, 1), norm(), relu(), conv(channels, 3, stride, 1), norm(), relu(), conv(4 * channels, 1), norm()],
                shortcut), relu()]


def resnet(block, depths):
    rows = [conv(64, 7, 2, 3), norm(), relu(), maxpool(3, 2, 1)]
    for stage, depth in enumerate(depths):
        for i in range(depth):
            first = i == 0
            rows += block(64 << stage, 2 if first and stage > 0 else 1, first and (stage > 0 or block is bottleneck))
    return [*rows, mean(), dense(1000)]


# ---- MobileNet: Howard et al. 2017, https://arxiv.org/abs/1704.04861; Sandler et al. 2018, https://arxiv.org/abs/1801.04381 ----

def mobilenet_v1():
    """Padded as TensorFlow pads: with stride 2, below and to the right."""
    def separable(channels, stride):
        pad = (0, 0, 1, 1) if stride == 2 else 1
        return [depthwise(3, stride, pad), norm(2, 1e-3), relu6(), conv(channels, 1), norm(2, 1e-3), relu6()]

    strides = {64: [1], 128: [2, 1], 256: [2, 1], 512: [2, 1, 1, 1, 1, 1], 1024: [2, 1]}
    body = joined(separable(channels, s) for channels, list_ in strides.items() for s in list_)
    return [conv(32, 3, 2, (0, 0, 1, 1)), norm(2, 1e-3), relu6(), *body, mean(), dense(1000)]


def inverted(before, channels, stride, factor):
    wide = [conv(factor * before, 1), norm(2), relu6()] if factor > 1 else []
    path = [*wide, depthwise(3, stride, 1), norm(2), relu6(), conv(channels, 1), norm()]
    return [add([], path)] if stride == 1 and before == channels else path


def mobilenet_v2():
    rows, before = [conv(32, 3, 2, 1), norm(2), relu6()], 32
    for factor, channels, count, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                            (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
        for i in range(count):
            rows += inverted(before, channels, stride if i == 0 else 1, factor)
            before = channels
    return [*rows, conv(1280, 1), norm(2), relu6(), mean(), dense(1000)]


# ---- VGG: Simonyan and Zisserman 2014, https://arxiv.org/abs/1409.1556, configuration D ----

def vgg(depths):
    channels = [64, 128, 256, 512, 512]
    body = joined([conv(c, 3, 1, 1, bias=True), relu()] * depth + [maxpool(2, 2)] for c, depth in zip(channels, depths))
    return [*body, flat(), dense(4096), relu(), dense(4096), relu(), dense(1000)]


# ---- deep Q-network: Mnih et al. 2015, Nature 518; the 18 actions of the console ----

def dqn():
    return [conv(32, 8, 4, bias=True), relu(), conv(64, 4, 2, bias=True), relu(), conv(64, 3, bias=True), relu(),
            flat(), dense(512), relu(), dense(18)]


# ---- Inception V3: Szegedy et al. 2015, https://arxiv.org/abs/1512.00567, without the auxiliary classifier ----

def unit(channels, kernel, stride=1, pad=0):
    return [conv(channels, kernel, stride, pad), norm(epsilon=1e-3), relu()]


def inception_v3():
    def a(pooled):
        return concat(unit(64, 1), unit(48, 1) + unit(64, 5, 1, 2), unit(64, 1) + unit(96, 3, 1, 1) + unit(96, 3, 1, 1),
                      [avgpool(3, 1, 1)] + unit(pooled, 1))

    def c(narrow):
        def row(n): return unit(n, (1, 7), 1, (0, 3))
        def column(n): return unit(n, (7, 1), 1, (3, 0))
        return concat(unit(192, 1), unit(narrow, 1) + row(narrow) + column(192),
                      unit(narrow, 1) + column(narrow) + row(narrow) + column(narrow) + row(192),
                      [avgpool(3, 1, 1)] + unit(192, 1))

    def e():
        cross = concat(unit(384, (1, 3), 1, (0, 1)), unit(384, (3, 1), 1, (1, 0)))
        return concat(unit(320, 1), unit(384, 1) + [cross], unit(448, 1) + unit(384, 3, 1, 1) + [cross],
                      [avgpool(3, 1, 1)] + unit(192, 1))

    stem = [*unit(32, 3, 2), *unit(32, 3), *unit(64, 3, 1, 1), maxpool(3, 2), *unit(80, 1), *unit(192, 3), maxpool(3, 2)]
    b = concat(unit(384, 3, 2), unit(64, 1) + unit(96, 3, 1, 1) + unit(96, 3, 2), [maxpool(3, 2)])
    d = concat(unit(192, 1) + unit(320, 3, 2),
               unit(192, 1) + unit(192, (1, 7), 1, (0, 3)) + unit(192, (7, 1), 1, (3, 0)) + unit(192, 3, 2), [maxpool(3, 2)])
    return [*stem, a(32), a(64), a(64), b, c(128), c(160), c(160), c(192), d, e(), e(), mean(), dense(1000)]


# ---- DenseNet: Huang et al. 2016, https://arxiv.org/abs/1608.06993 ----

def densenet(growth, depths):
    rows, channels = [conv(2 * growth, 7, 2, 3), norm(), relu(), maxpool(3, 2, 1)], 2 * growth
    for i, depth in enumerate(depths):
        grown = [norm(), relu(), conv(4 * growth, 1), norm(), relu(), conv(growth, 3, 1, 1)]
        rows += [concat([], grown)] * depth
        channels += depth * growth
        if i + 1 < len(depths):
            channels //= 2
            rows += [norm(), relu(), conv(channels, 1), avgpool(2, 2)]
    return [*rows, norm(), relu(), mean(), dense(1000)]


# ---- SqueezeNet: Iandola et al. 2016, https://arxiv.org/abs/1602.07360; 1.1: https://github.com/forresti/SqueezeNet ----

def squeezenet(first, groups):
    """groups: widths of the fire modules between two poolings."""
    def fire(n):
        return [conv(n, 1, bias=True), relu(),
                concat([conv(4 * n, 1, bias=True), relu()], [conv(4 * n, 3, 1, 1, bias=True), relu()])]

    body = joined([maxpool(3, 2, up=True)] + joined(fire(n) for n in group) for group in groups)
    return [*first, relu(), *body, conv(1000, 1, bias=True), relu(), mean()]


NETWORKS = {
    "resnet18": Network(3, 224, resnet(basic, [2, 2, 2, 2])),
    "resnet34": Network(3, 224, resnet(basic, [3, 4, 6, 3])),
    "resnet50": Network(3, 224, resnet(bottleneck, [3, 4, 6, 3])),
    "mobilenet_v1": Network(3, 224, mobilenet_v1()),
    "mobilenet_v2": Network(3, 224, mobilenet_v2()),
    "vgg16": Network(3, 224, vgg([2, 2, 3, 3, 3])),
    "dqn": Network(4, 84, dqn()),
    "inception_v3": Network(3, 299, inception_v3()),
    "densenet121": Network(3, 224, densenet(32, [6, 12, 24, 16])),
    "squeezenet1_0": Network(3, 224, squeezenet([conv(96, 7, 2, bias=True)], [[16, 16, 32], [32, 48, 48, 64], [64]])),
    "squeezenet1_1": Network(3, 224, squeezenet([conv(64, 3, 2, bias=True)], [[16, 16], [32, 32], [48, 48, 64, 64]])),
}


def build(name, size=None):
    """The graph of a network."""
    network = NETWORKS[name]
    size = size or network.size
    return zoo_graph.Graph(name, (1, network.channels, size, size), network.rows)


def generate(name, folder, size=None, double=False):
    """Writes a model. Gives its path, graph and weights; the weights do not depend on the size."""
    harness.need_packages("onnx")
    graph, published = build(name, size), build(name)
    if graph.weights != published.weights:
        raise ValueError(f"{name} has weights for an input of {NETWORKS[name].size} x {NETWORKS[name].size} only")
    arrays = zoo_graph.random_weights(published)
    model = zoo_graph.onnx_model(graph, arrays, "float64" if double else "float32")
    path = os.path.join(folder, name + (f"-{size}" if size else "") + ("-double" if double else "") + ".onnx")
    with open(path, "wb") as file:
        file.write(model.SerializeToString(deterministic=True))
    return path, graph, arrays


def print_list():
    print(f"{'network':14} {'input':14} {'parameters':>12} {'multiply-adds':>15}")
    for name in NETWORKS:
        graph = build(name)
        print(f"{name:14} {'x'.join(map(str, graph.input.shape)):14} {graph.parameters:12,} {graph.macs:15,}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("name", nargs="*", help="networks, all without one")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--double", action="store_true")
    parser.add_argument("--size", type=int)
    options = parser.parse_args()
    unknown = [name for name in options.name if name not in NETWORKS]
    if unknown or not (options.list or options.folder):
        parser.error(f"there is no network {unknown[0]}, see --list" if unknown else "a folder is missing")
    if options.list:
        return print_list()
    try:
        os.makedirs(options.folder, exist_ok=True)
        for name in options.name or NETWORKS:
            print(generate(name, options.folder, options.size, options.double)[0], flush=True)
    except (OSError, ValueError) as error:
        sys.exit(f"zoo.py: {error}")


if __name__ == "__main__":
    main()
