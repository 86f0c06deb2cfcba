"""The networks of zoo.py: their counts, and their answers: zoo_check.py DRIVER [NAME[-SIZE]]...

Counts of all: parameters exactly as published, multiply-adds to the digits published. Then each network named, or small ones:
the same file from two processes, maps within a sane range, logits against ONNX Runtime and float64, and the model of --double
against float64. An error is the largest difference / the largest magnitude.
"""
import os
import subprocess
import sys
import time

import harness

harness.need_packages("numpy", "onnx", "onnxruntime")
import numpy

import zoo
import zoo_graph

SMALL = ["dqn", "mobilenet_v1-96", "squeezenet1_1"]
BOUND, DOUBLE_BOUND = harness.cpu_bound(), 1e-12
RANGE = 0.1, 10  # of the root mean square of every map: all lie in 0.4 to 8
SECONDS = 3600

# Parameters, millions of multiply-adds. Where no source is named: the metadata of torchvision's weights, `num_params` and `_ops`
# (billions, three digits), https://github.com/pytorch/vision/tree/main/torchvision/models.
PUBLISHED = {
    "resnet18": (11_689_512, 1814),
    "resnet34": (21_797_672, 3664),
    "resnet50": (25_557_032, 4089),
    # Parameters: TensorFlow Slim and Keras, https://keras.io/api/applications/mobilenet/ (4,253,864 with 21,888 statistics);
    # multiply-adds: Howard et al. 2017, table 4.
    "mobilenet_v1": (4_231_976, 569),
    "mobilenet_v2": (3_504_872, 301),
    "vgg16": (138_357_544, 15470),
    # Parameters: Rusu et al. 2015, https://arxiv.org/abs/1511.06295, table of architectures, 18 outputs; multiply-adds: from the
    # maps of 20 x 20, 9 x 9, 7 x 7 in Mnih et al. 2015: 3,276,800 + 2,654,208 + 1,806,336 + 1,605,632 + 9,216.
    "dqn": (1_693_362, 9.352192),
    # 27,161,264 there, less the 3,326,696 of the auxiliary classifier.
    "inception_v3": (23_834_568, 5713),
    "densenet121": (7_978_856, 2834),
    "squeezenet1_0": (1_248_424, 819),
    "squeezenet1_1": (1_235_496, 349),
}


def check_counts():
    wrong = 0
    for name in {**zoo.NETWORKS, **PUBLISHED}:
        graph, (parameters, macs) = zoo.build(name), PUBLISHED[name]
        if graph.parameters != parameters or abs(graph.macs / 1e6 - macs) > 0.5:
            print(f"{name}: FAILED: {graph.parameters} parameters, {graph.macs} multiply-adds; published: {parameters}, {macs} million")
            wrong += 1
    print(f"{len(PUBLISHED) - wrong} of {len(PUBLISHED)} networks have the published counts")
    return wrong


def error_of(got, want, bound, what):
    if got.shape != want.shape:
        raise AssertionError(f"{what}: shape {got.shape}, expected {want.shape}")
    error = numpy.abs(got - want).max() / numpy.abs(want).max()
    if not error <= bound:
        raise AssertionError(f"{what}: relative error {error:.3g}, bound {bound}")
    return error


def answer(driver, path, x):
    start = time.monotonic()
    driver.open(path)
    driver.set(0, x)
    (got,) = driver.run(1)
    return got, time.monotonic() - start


def check_same_file(path, name, size):
    """Of another process, which adds up in another order."""
    folder = os.path.join(os.path.dirname(path), "again")
    os.makedirs(folder, exist_ok=True)
    command = [sys.executable, "-B", zoo.__file__, folder, name] + (["--size", str(size)] if size else [])
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "OPENBLAS_CORETYPE": "Sandybridge"})
    other = os.path.join(folder, os.path.basename(path))
    with open(path, "rb") as one, open(other, "rb") as two:
        if one.read() != two.read():
            raise AssertionError("another process writes another file")
    os.remove(other)


class Ranges:
    """Sees each node's input: maps must neither fade nor grow, and the bound of a Clip must be met."""

    def __init__(self):
        self.squares, self.clipped = [], []

    def __call__(self, node, x, arrays):
        self.squares.append(float(numpy.square(x).mean()) ** 0.5)
        if node.op == "Clip":
            self.clipped.append(float((x > 6).mean()))

    def check(self):
        low, high = min(self.squares), max(self.squares)
        if not RANGE[0] <= low <= high <= RANGE[1]:
            raise AssertionError(f"root mean squares of maps lie in {low:.3g} to {high:.3g}, expected {RANGE}")
        if self.clipped and not 0 < sum(self.clipped) / len(self.clipped) < 0.2:
            raise AssertionError("no value, or a fifth of all, is above 6")
        return f"maps {low:.2g} to {high:.2g}"


def check(driver, name, size):
    path, graph, arrays = zoo.generate(name, driver.folder.name, size)
    check_same_file(path, name, size)
    x, ranges = zoo_graph.random_input(graph, "test"), Ranges()
    exact = zoo_graph.evaluate(graph, arrays, x, ranges)
    said = [ranges.check()]
    peer = harness.reference(path).run(None, {graph.input.name: x})[0]
    peer_error = error_of(peer, exact, BOUND, "ONNX Runtime against float64")
    got, seconds = answer(driver, path, x)
    os.remove(path)
    said.append(f"errors against ONNX Runtime {error_of(got, peer, BOUND, 'against ONNX Runtime'):.2g}, "
                f"against float64 {error_of(got, exact, BOUND, 'against float64'):.2g} (ONNX Runtime's {peer_error:.2g}), "
                f"{seconds:.1f} s")
    path, _, _ = zoo.generate(name, driver.folder.name, size, double=True)
    got, seconds = answer(driver, path, x.astype(numpy.float64))
    os.remove(path)
    said.append(f"in float64 {error_of(got, exact, DOUBLE_BOUND, 'float64'):.2g}, {seconds:.1f} s")
    return "; ".join(said)


def main():
    driver = harness.Driver(sys.argv[1], SECONDS)
    failed = check_counts()
    for text in sys.argv[2:] or SMALL:
        name, _, size = text.partition("-")
        try:
            said = check(driver, name, int(size or 0))
        except (AssertionError, harness.Refused) as error:
            said, failed = f"FAILED: {error}", failed + 1
        print(f"{text}: {said}", flush=True)
    driver.close()
    return failed != 0


sys.exit(main())
