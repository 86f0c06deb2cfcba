"""Quantized models in QDQ form: qdq.py DRIVER [NETWORKS [DIGITS]]

Random networks of convolutions (with bias, by channel), relu, clip, pools, paddings, concatenations, sums, functions, softmax and dense
layers between DequantizeLinear and QuantizeLinear give what ONNX Runtime gives: every code of layers that are sums of products, moves
and maxima; and those of sums and products of elements, means and functions, which end a network, within one step, of which at most one
in 200 may differ, as where ONNX Runtime computes layers in float. Networks that end in a product give its numbers but for rounding. MNIST-8 as ONNX Runtime's quantizer makes it gives
digits the classes that ONNX Runtime gives them."""
import os
import random
import sys
import tempfile

import harness

harness.need_packages("numpy", "onnx", "onnxruntime")
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


STEPS = ["conv", "conv", "max_pool", "mean", "add", "function", "pad", "concat", "moves", "softmax", "transposed", "product"]


class Network:
    """Nodes, constants, and the last tensor of codes with its scale, zero point and shape."""

    def __init__(self, number):
        self.pick, self.random = random.Random(number), numpy.random.default_rng(number)
        self.nodes, self.constants, self.outputs, self.count = [], [], [], 0
        self.shape = [1, self.pick.choice([1, 3, 4]), 9, 8]
        self.inputs = list(self.shape)
        self.is_exact, self.is_plain = True, False
        self.result = None  # of a product at the end, in numbers
        self.quantize("x")

    def name(self):
        self.count += 1
        return f"t{self.count}"

    def constant(self, array, dtype):
        self.constants.append(numpy_helper.from_array(numpy.array(array, dtype), self.name()))
        return self.constants[-1].name

    def node(self, op, inputs, **attrs):
        self.nodes.append(helper.make_node(op, inputs, [self.name()], **attrs))
        return self.nodes[-1].output[0]

    def quantize(self, x, scale=None, zero=None):
        self.scale = numpy.float32(scale or self.pick.uniform(0.01, 0.06))
        self.zero = self.pick.choice([0, 128, 113]) if zero is None else zero
        self.codes = self.node("QuantizeLinear", [x, self.constant(self.scale, "float32"), self.constant(self.zero, "uint8")])

    def numbers(self):
        return self.node("DequantizeLinear", [self.codes, self.constant(self.scale, "float32"), self.constant(self.zero, "uint8")])

    def weights(self, *shape):
        """Codes as numbers, and the bias of their rows, by the scale of the sums."""
        by_channel = self.pick.random() < 0.5
        scale = self.random.uniform(0.002, 0.02, shape[0] if by_channel else ()).astype("float32")
        axis = {"axis": 0} if by_channel else {}
        zero = numpy.zeros(scale.shape)
        weight = self.node("DequantizeLinear", [self.constant(self.random.integers(-127, 128, shape), "int8"),
                                                self.constant(scale, "float32"), self.constant(zero, "int8")], **axis)
        bias = self.node("DequantizeLinear", [self.constant(self.random.integers(-3000, 3000, shape[0]), "int32"),
                                              self.constant(self.scale * scale, "float32"), self.constant(zero, "int32")], **axis)
        return [weight, bias][:self.pick.choice([1, 2])]

    def conv(self):
        channels, size, group = self.pick.randint(1, 9), self.pick.choice([1, 3]), 1
        if self.pick.random() < 0.3:
            group = self.shape[1]
            channels = group * self.pick.randint(1, 2)
        y = self.node("Conv", [self.numbers(), *self.weights(channels, self.shape[1] // group, size, size)], pads=[size // 2] * 4, group=group)
        self.shape[1] = channels
        bound = self.pick.choice(["", "Relu", "Clip"])
        if bound == "Relu":
            y = self.node("Relu", [y])
        elif bound:
            y = self.node("Clip", [y, self.constant(0, "float32"), self.constant(2, "float32")])
        self.quantize(y, self.pick.uniform(0.03, 0.1))

    def max_pool(self):
        if min(self.shape[2:]) < 3:
            return
        y = self.node("MaxPool", [self.numbers()], kernel_shape=[2, 2], strides=[2, 2])
        self.shape[2:] = [n // 2 for n in self.shape[2:]]
        self.quantize(y, self.scale, self.zero)

    def mean(self):
        self.is_exact = False
        kind = self.pick.choice(["GlobalAveragePool", "AveragePool", "ReduceMean"])
        if kind == "GlobalAveragePool":
            y = self.node(kind, [self.numbers()])
            self.shape[2:] = [1, 1]
        elif kind == "AveragePool":
            size = self.pick.choice([1, 3])
            y = self.node(kind, [self.numbers()], kernel_shape=[size] * 2, pads=[size // 2] * 4, count_include_pad=self.pick.choice([0, 1]))
        else:
            y = self.node(kind, [self.numbers()], axes=[1], keepdims=1)
            self.shape[1] = 1
        self.quantize(y, self.scale * 0.7)

    def pad(self):
        """By the number zero, or by another one, which gets the nearest code."""
        y = self.node("Pad", [self.numbers(), self.constant([0, 0, 1, 0, 0, 0, 2, 1], "int64"), self.constant(self.pick.choice([0, 0.3]), "float32")])
        self.shape[2:] = [self.shape[2] + 3, self.shape[3] + 1]
        self.quantize(y, self.scale, self.zero)

    def concat(self):
        """Of codes of one scale, or of several."""
        before = self.numbers()
        if self.pick.random() < 0.5:
            self.quantize(before)
        y = self.node("Concat", [before, self.numbers()], axis=1)
        self.shape[1] *= 2
        self.quantize(y)

    def moves(self):
        """Several calls between what is dequantized and what is quantized. ONNX Runtime's optimizer gives other codes than it does
        itself without: these networks are held against the latter."""
        self.is_plain = True
        if self.shape[3] < 2:
            return
        y = self.node("Transpose", [self.numbers()], perm=[0, 1, 3, 2])
        y = self.node("Relu", [self.node("Slice", [y, self.constant([1], "int64"), self.constant([99], "int64"), self.constant([2], "int64")])])
        self.shape[2:] = [self.shape[3] - 1, self.shape[2]]
        self.quantize(y)

    def add(self):
        before = self.numbers()
        self.conv()
        if self.shape_before == self.shape:
            self.is_exact = False
            self.quantize(self.node(self.pick.choice(["Add", "Mul", "Sub", "Max"]), [before, self.numbers()]))

    def function(self):
        """One call, or several of one operand: x * sigmoid(x)."""
        self.is_exact = False
        x, name = self.numbers(), self.pick.choice(["Sigmoid", "LeakyRelu", "Tanh", "Exp", "HardSwish", "swish"])
        y = self.node("Mul", [x, self.node("Sigmoid", [x])]) if name == "swish" else self.node(name, [x])
        self.quantize(y, 1 / 64)

    def softmax(self):
        """Along the last axis: ONNX Runtime's fused form is far off along others."""
        self.is_exact = False
        self.quantize(self.node("Softmax", [self.numbers()], axis=3), 1 / 256, 0)

    def transposed(self):
        """By floats in ONNX Runtime."""
        self.is_plain = True
        y = self.node("ConvTranspose", [self.numbers(), self.weights(self.shape[1], 3, 2, 2)[0]], strides=[2, 2])
        self.shape[1:] = [3, 2 * self.shape[2], 2 * self.shape[3]]
        self.quantize(y, 0.1)

    def product(self):
        """Of two tensors of codes."""
        y = self.node("MatMul", [self.node("Transpose", [self.numbers()], perm=[0, 1, 3, 2]), self.numbers()])
        self.shape[2:] = [self.shape[3]] * 2
        self.quantize(y, 0.2)

    def dense(self):
        y = self.node("Flatten", [self.numbers()])
        self.quantize(y, self.scale, self.zero)
        n = int(numpy.prod(self.shape[1:]))
        self.shape = [1, self.pick.randint(2, 9)]
        self.quantize(self.node("Gemm", [self.numbers(), *self.weights(self.shape[1], n)], transB=1), 0.2)

    def last(self):
        """A product whose result is not quantized, with a bias maybe."""
        if self.pick.random() < 0.5:
            channels = self.pick.randint(2, 9)
            weights = self.weights(channels, self.shape[1], 1, 1)
            self.result = self.node("Conv", [self.numbers(), *weights])
            self.shape[1] = channels
        else:
            self.result = self.node("MatMul", [self.node("Transpose", [self.numbers()], perm=[0, 1, 3, 2]), self.numbers()])
            self.shape[2:] = [self.shape[3]] * 2
        if self.pick.random() < 0.5:
            self.result = self.node("Relu", [self.result])

    def build(self):
        for _ in range(self.pick.randint(1, 4)):
            self.shape_before = list(self.shape)
            if self.is_exact:
                getattr(self, self.pick.choice(STEPS))()
        if self.is_exact and self.pick.random() < 0.5:
            self.dense()
        elif self.is_exact and not self.is_plain:
            self.last()
        kind = TensorProto.FLOAT if self.result else TensorProto.UINT8
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.inputs)],
                                  [helper.make_tensor_value_info(self.result or self.codes, kind, self.shape)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def check_network(driver, number, folder):
    """Codes that differ, all codes."""
    network, path = Network(number), os.path.join(folder, f"{number}.onnx")
    onnx.save(network.build(), path)
    session = harness.reference(path, optimizes=not network.is_plain)
    driver.open(path)
    wrong = total = 0
    for _ in range(4):
        x = network.random.normal(0, 1.5, network.inputs).astype("float32")
        driver.set(0, x)
        (got,), (want,) = driver.run(1), session.run(None, {"x": x})
        if network.result:
            if numpy.abs(got - want).max(initial=0) > 2e-6 * numpy.abs(want).max(initial=0):
                raise AssertionError(f"network {number}: numbers differ by up to {numpy.abs(got - want).max()} of {numpy.abs(want).max()}")
            continue
        far = numpy.abs(got.astype(int) - want.astype(int))
        if far.max(initial=0) > (0 if network.is_exact and not network.is_plain else 1):
            raise AssertionError(f"network {number}: {numpy.count_nonzero(far)} of {far.size} codes differ, by up to {far.max()}")
        wrong, total = wrong + numpy.count_nonzero(far), total + far.size
    return wrong, total


def quantized_mnist(folder):
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process
    import mnist

    class Digits(quantization.CalibrationDataReader):
        def __init__(self):
            self.left = iter([{"Input3": x} for x in mnist.read_images(16)[0]])

        def get_next(self):
            return next(self.left, None)

    model = onnx.version_converter.convert_version(onnx.load(os.path.join(mnist.MODEL, "model.onnx")), 13)
    plain, ready, path = (os.path.join(folder, name) for name in ("plain.onnx", "ready.onnx", "mnist.onnx"))
    onnx.save(model, plain)
    quant_pre_process(plain, ready, skip_symbolic_shape=True)
    quantization.quantize_static(ready, path, Digits(), quant_format=quantization.QuantFormat.QDQ, activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8)
    return path, mnist


def check_mnist(driver, folder, count):
    path, mnist = quantized_mnist(folder)
    session = harness.reference(path)
    driver.open(path)
    same = equal = right = 0
    for image, label in zip(*mnist.read_images(count)):
        driver.set(0, image)
        (got,), (want,) = driver.run(1), session.run(None, {"Input3": image})
        same += got.argmax() == want.argmax()
        equal += numpy.array_equal(got, want)
        right += got.argmax() == label
    print(f"MNIST-8: {same} of {count} digits get ONNX Runtime's class, {equal} all of its scores; {right} are right")
    return same == count


def main():
    networks, digits = [int(n) for n in sys.argv[2:] + ["40", "200"][len(sys.argv) - 2:]]
    driver = harness.Driver(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        results = [check_network(driver, number, folder) for number in range(networks)]
        wrong, total = (sum(r[i] for r in results) for i in range(2))
        print(f"{networks} networks: {wrong} of {total} codes are one step from ONNX Runtime's")
        good = wrong * 200 <= total and check_mnist(driver, folder, digits)
    driver.close()
    return not good


if __name__ == "__main__":
    sys.exit(main())
