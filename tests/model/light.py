"""The nine networks of the ONNX backend suite, run: light.py DRIVER constant|seeded [NETWORK]...

constant  as they are, every weight a constant, against their recorded outputs (rtol 1e-3, atol 1e-7)
seeded    every such constant replaced by random numbers of a fixed seed, weights of standard deviation sqrt(2 / fan-in);
          the tensor before the softmax against ONNX Runtime: largest difference / largest magnitude <= 1e-5
"""
import glob
import os
import sys
import time

import harness

harness.need_packages("numpy", "onnx", "onnxruntime")
import numpy
import onnx
from onnx import numpy_helper

# Minutes on a slow machine, or gigabytes of weights: run when they are named.
SLOW = {"constant": {"vgg19"}, "seeded": {"bvlc_alexnet", "vgg19", "zfnet512"}}
FOLDER = harness.shared_folder("data", "models", "light")
BOUND = 1e-5


def input_of(model):
    """The network's input: the data that its recorded output is for."""
    known = {tensor.name for tensor in model.graph.initializer}
    (info,) = [i for i in model.graph.input if i.name not in known]
    shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
    count = int(numpy.prod(shape))
    return info.name, (numpy.arange(count) / count).astype(numpy.float32).reshape(shape)


def check_constant(driver, path, model):
    driver.open(path)
    driver.set(0, input_of(model)[1])
    (got,) = driver.run(1)
    with open(path.replace(".onnx", "_output_0.pb"), "rb") as file:
        want = numpy_helper.to_array(onnx.TensorProto.FromString(file.read()))
    numpy.testing.assert_allclose(got.reshape(want.shape), want, rtol=1e-3, atol=1e-7)
    return f"largest difference {numpy.abs(got.reshape(want.shape) - want).max():.3g}"


def roles(graph):
    """Name of a value -> what batch normalisation takes it for."""
    out = {}
    for node in graph.node:
        if node.op_type == "BatchNormalization":
            out.update(zip(node.input[1:], ["scale", "bias", "mean", "variance"]))
    return out


def random_tensor(random, shape, role):
    if role in ("scale", "variance"):
        return random.uniform(0.5, 1.5, shape)
    if role or len(shape) < 2:
        return random.normal(0, 0.1, shape)
    return random.normal(0, numpy.sqrt(2 / numpy.prod(shape[1:])), shape)


def with_seeded_weights(model):
    """Replaces each ConstantOfShape of a known shape by an initializer."""
    random = numpy.random.default_rng(2026)
    graph, role = model.graph, roles(model.graph)
    shapes = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    kept = []
    for node in graph.node:
        if node.op_type == "ConstantOfShape" and node.input[0] in shapes:
            name = node.output[0]
            value = random_tensor(random, shapes[node.input[0]], role.get(name))
            graph.initializer.append(numpy_helper.from_array(value.astype(numpy.float32), name))
        else:
            kept.append(node)
    del graph.node[:]
    graph.node.extend(kept)
    model.ir_version = max(model.ir_version, 4)  # initializers need not be inputs


def cut_softmax(model):
    graph = model.graph
    for node in reversed(graph.node):
        if node.op_type == "Softmax" and node.output[0] == graph.output[0].name:
            graph.output[0].name = node.input[0]
            graph.output[0].type.Clear()
            graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
            graph.node.remove(node)
            return


def check_seeded(driver, path, model):
    name, data = input_of(model)
    with_seeded_weights(model)
    cut_softmax(model)
    path = os.path.join(driver.folder.name, "seeded.onnx")
    onnx.save(model, path)
    driver.open(path)
    driver.set(0, data)
    (got,) = driver.run(1)
    want = harness.reference(path).run(None, {name: data})[0]
    error = numpy.abs(got - want).max() / numpy.abs(want).max()
    if got.shape != want.shape or not error <= BOUND:
        raise AssertionError(f"shape {got.shape}, expected {want.shape}; relative error {error:.3g}, bound {BOUND}")
    return f"largest difference / largest magnitude {error:.3g}"


def main():
    driver = harness.Driver(sys.argv[1])
    check = {"constant": check_constant, "seeded": check_seeded}[sys.argv[2]]
    failed = 0
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.onnx"))):
        name = os.path.basename(path)[len("light_"):-len(".onnx")]
        if name not in sys.argv[3:] if sys.argv[3:] else name in SLOW[sys.argv[2]]:
            continue
        start = time.monotonic()
        try:
            said = check(driver, path, onnx.load(path))
        except (AssertionError, harness.Refused) as error:
            said, failed = f"FAILED: {error}", failed + 1
        print(f"{name}: {said}, {time.monotonic() - start:.1f} s", flush=True)
    driver.close()
    return failed != 0


sys.exit(main())
