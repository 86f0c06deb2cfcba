"""MNIST-8 of the ONNX zoo: its three data sets, and the classes of 1,000 test digits as ONNX Runtime gives them.
mnist.py DRIVER"""
import gzip
import os
import sys

import harness

harness.need_packages("numpy", "onnx", "onnxruntime")
import numpy
import onnx
from onnx import numpy_helper

NIMAGE = 1000
MODEL = harness.shared_folder("data", "models", "mnist-8")
DIGITS = harness.shared_folder("data", "mnist")


def read_tensor(path):
    tensor = onnx.TensorProto()
    with open(path, "rb") as file:
        tensor.ParseFromString(file.read())
    return numpy_helper.to_array(tensor)


def check_data_set(driver, folder):
    driver.set(0, os.path.join(folder, "input_0.pb"))
    (got,) = driver.run(1)
    want = read_tensor(os.path.join(folder, "output_0.pb"))
    numpy.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-5)
    print(f"{os.path.basename(folder)}: largest difference {numpy.abs(got - want).max():.3g} of {numpy.abs(want).max():.4g}")


def read_images():
    """Pixels as floats 0..255, [n, 1, 1, 28, 28]."""
    with gzip.open(os.path.join(DIGITS, "t10k-images-idx3-ubyte.gz")) as file:
        pixels = numpy.frombuffer(file.read(), numpy.uint8, offset=16)
    return pixels.reshape(-1, 1, 1, 28, 28)[:NIMAGE].astype(numpy.float32)


def check_classes(driver, path):
    session = harness.reference(path)
    name = session.get_inputs()[0].name
    different = 0
    for index, image in enumerate(read_images()):
        driver.set(0, image)
        (got,) = driver.run(1)
        want = session.run(None, {name: image})[0]
        if got.argmax() != want.argmax():
            different += 1
            print(f"digit {index}: class {got.argmax()}, ONNX Runtime says {want.argmax()}")
    print(f"{NIMAGE - different} of {NIMAGE} digits get the class that ONNX Runtime gives")
    return different == 0


def main():
    driver = harness.Driver(sys.argv[1])
    path = os.path.join(MODEL, "model.onnx")
    driver.open(path)
    for i in range(3):
        check_data_set(driver, os.path.join(MODEL, f"test_data_set_{i}"))
    ok = check_classes(driver, path)
    driver.close()
    return not ok


sys.exit(main())
