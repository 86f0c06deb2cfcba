"""MNIST-8 of the ONNX zoo: its three data sets, and the classes of the test digits: as ONNX Runtime gives them, and as they are.
mnist.py DRIVER [COUNT [TOLERANCE]]: of 10,000 digits the first COUNT, 1,000 by default; of all of them 98.91 % must be right. With TOLERANCE, an error
of outputs by the largest one, as of factors that are rounded to bfloat16, classes may differ, but of all digits 98.91 % +- 0.05 must be right."""
import gzip
import os
import sys

import harness

harness.need_packages("numpy", "onnx", "onnxruntime")
import numpy
import onnx
from onnx import numpy_helper

NALL, NRIGHT, FEW = 10000, 9891, 5
MODEL = harness.shared_folder("data", "models", "mnist-8")
DIGITS = harness.shared_folder("data", "mnist")


def read_tensor(path):
    tensor = onnx.TensorProto()
    with open(path, "rb") as file:
        tensor.ParseFromString(file.read())
    return numpy_helper.to_array(tensor)


def check_data_set(driver, folder, tolerance):
    driver.set(0, os.path.join(folder, "input_0.pb"))
    (got,) = driver.run(1)
    want = read_tensor(os.path.join(folder, "output_0.pb"))
    most = numpy.abs(want).max()
    numpy.testing.assert_allclose(got, want, rtol=0 if tolerance else 1e-3, atol=tolerance * most if tolerance else 1e-5)
    print(f"{os.path.basename(folder)}: largest difference {numpy.abs(got - want).max():.3g} of {most:.4g}")


def read_images(count):
    """Pixels as floats 0..255, [n, 1, 1, 28, 28], and what they are."""
    with gzip.open(os.path.join(DIGITS, "t10k-images-idx3-ubyte.gz")) as file:
        pixels = numpy.frombuffer(file.read(), numpy.uint8, offset=16)
    with gzip.open(os.path.join(DIGITS, "t10k-labels-idx1-ubyte.gz")) as file:
        labels = numpy.frombuffer(file.read(), numpy.uint8, offset=8)
    return pixels.reshape(-1, 1, 1, 28, 28)[:count].astype(numpy.float32), labels[:count]


def check_classes(driver, path, count, tolerance):
    session = harness.reference(path)
    name = session.get_inputs()[0].name
    different, right = 0, 0
    for index, (image, label) in enumerate(zip(*read_images(count))):
        driver.set(0, image)
        (got,) = driver.run(1)
        want = session.run(None, {name: image})[0]
        right += got.argmax() == label
        if got.argmax() != want.argmax():
            different += 1
            print(f"digit {index}: class {got.argmax()}, ONNX Runtime says {want.argmax()}")
    print(f"{count - different} of {count} digits get the class that ONNX Runtime gives")
    print(f"{right / count:.2%} are right")
    if tolerance:
        return count < NALL or abs(int(right) - NRIGHT) <= FEW
    return different == 0 and (count < NALL or right == NRIGHT)


def main():
    driver = harness.Driver(sys.argv[1])
    path = os.path.join(MODEL, "model.onnx")
    count, tolerance = sys.argv[2:] + ["1000", "0"][len(sys.argv) - 2:]
    driver.open(path)
    for i in range(3):
        check_data_set(driver, os.path.join(MODEL, f"test_data_set_{i}"), float(tolerance))
    ok = check_classes(driver, path, int(count), float(tolerance))
    driver.close()
    return not ok


if __name__ == "__main__":
    sys.exit(main())
