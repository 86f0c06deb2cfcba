"""Adjoints of operators on target cpu and in PyTorch's backward pass, one thread, in turn. Needs torch, which is no
requirement of the tests:
    PYTHON tests/bench/gradients.py BATON [NAME ...] [--rounds N] [--threads N] [--forward]
Baton runs a gradient that is seeded by dy and nothing else; what that needs of the forward pass, such as a maximum, is computed
within it. PyTorch runs torch.autograd.grad from dy, with all of its forward pass kept. A row has the medians in milliseconds of
the rounds' medians and how many times as fast Baton is by these; the same of the least times, which tell more where the machine
has other work; and GFLOP/s of the adjoint by the latter. With --forward both also compute and give what the operator does.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import torch
import torch.nn.functional as F


def tensor(shape, dtype="float32"):
    return f"Tensor[({', '.join(map(str, shape))}), {dtype}]"


class Case:
    """`body` is Baton's of arguments by name, `function` PyTorch's; `wrt` names those whose gradient is wanted."""
    forward = False

    def __init__(self, arguments, result, body, function, wrt, flops=0):
        self.arguments, self.result, self.body, self.function = arguments, result, body, function
        self.wrt, self.flops = wrt.split(), flops

    def program(self):
        parameters = ", ".join(f"%{n}: {tensor(a.shape, a.dtype)}" for n, a in self.arguments.items())
        names = list(self.arguments)
        wrt = ", ".join(str(names.index(n)) for n in self.wrt)
        return f"""#[version = "baton 0.1"]
def @f({parameters}) {{ {self.body} }}
gradient @d = @f(wrt=[{wrt}], seeded=True{", keep=[0]" if Case.forward else ""});
def @main({parameters}, %dy: {tensor(self.result)}) {{ @d({", ".join("%" + n for n in [*names, "dy"])}) }}
"""


def random(*shape):
    return numpy.random.default_rng(1).standard_normal(shape).astype("float32")


def convolution(n, c, o, size, kernel, stride, groups, wrt):
    pad, out = kernel // 2, (size + 2 * (kernel // 2) - kernel) // stride + 1
    body = (f"nn.conv2d(%x, %w, strides=[{stride}, {stride}], padding=[{pad}, {pad}], groups={groups}, channels={o},"
            f" kernel_size=[{kernel}, {kernel}])")
    return Case({"x": random(n, c, size, size), "w": random(o, c // groups, kernel, kernel)}, (n, o, out, out), body,
                lambda x, w: F.conv2d(x, w, stride=stride, padding=pad, groups=groups), wrt,
                2 * n * o * out * out * c // groups * kernel * kernel)


def pool(kind, kernel, stride, pad, n, c, size):
    out = (size + 2 * pad - kernel) // stride + 1
    body = f"nn.{kind}_pool2d(%x, pool_size=[{kernel}, {kernel}], strides=[{stride}, {stride}], padding=[{pad}, {pad}])"
    function = F.max_pool2d if kind == "max" else lambda *a: F.avg_pool2d(*a, count_include_pad=False)
    return Case({"x": random(n, c, size, size)}, (n, c, out, out), body, lambda x: function(x, kernel, stride, pad), "x")


def norm(n, c, size):
    one = lambda: abs(random(c)) + 1
    body = "nn.batch_norm(%x, %g, %b, %m, %v).0"
    return Case({"x": random(n, c, size, size), "g": one(), "b": one(), "m": one(), "v": one()}, (n, c, size, size), body,
                lambda x, g, b, m, v: F.batch_norm(x, m, v, g, b, training=False, eps=1e-5), "x g b")


def cases():
    rows = {}
    for name, sizes in {
            "conv2d 1x1, 8x64x56x56 to 256": (8, 64, 256, 56, 1, 1, 1),
            "conv2d 3x3, 8x64x56x56": (8, 64, 64, 56, 3, 1, 1),
            "conv2d 3x3, 8x256x14x14": (8, 256, 256, 14, 3, 1, 1),
            "conv2d 3x3, 8x64x32x32": (8, 64, 64, 32, 3, 1, 1),
            "conv2d 3x3, 64x256x8x8": (64, 256, 256, 8, 3, 1, 1),
            "conv2d 7x7 s2, 8x3x224x224 to 64": (8, 3, 64, 224, 7, 2, 1),
            "conv2d 5x5, 64x6x14x14 to 16": (64, 6, 16, 14, 5, 1, 1),
            "depthwise 3x3, 8x64x56x56": (8, 64, 64, 56, 3, 1, 64)}.items():
        rows[name + ", data"] = convolution(*sizes, "x")
        rows[name + ", weights"] = convolution(*sizes, "w")
    dense = lambda wrt: Case({"x": random(64, 1024), "w": random(1024, 1024)}, (64, 1024), "nn.dense(%x, %w)",
                             lambda x, w: F.linear(x, w), wrt, 2 * 64 * 1024 * 1024)
    rows["dense 64x1024 to 1024, data"] = dense("x")
    rows["dense 64x1024 to 1024, weights"] = dense("w")
    rows["bias 64x64x28x28"] = Case({"x": random(64, 64, 28, 28), "b": random(64)}, (64, 64, 28, 28), "nn.bias_add(%x, %b)",
                                    lambda x, b: x + b.reshape(1, -1, 1, 1), "b")
    rows["relu 64x64x28x28"] = Case({"x": random(64, 64, 28, 28)}, (64, 64, 28, 28), "nn.relu(%x)", torch.relu, "x")
    rows["max_pool2d 2x2, 64x6x28x28"] = pool("max", 2, 2, 0, 64, 6, 28)
    rows["max_pool2d 2x2, 8x64x56x56"] = pool("max", 2, 2, 0, 8, 64, 56)
    rows["max_pool2d 3x3 s2, 64x6x28x28"] = pool("max", 3, 2, 0, 64, 6, 28)
    rows["max_pool2d 3x3 s2, 8x64x56x56"] = pool("max", 3, 2, 1, 8, 64, 56)
    rows["max_pool2d 3x3 s2, 8x64x112x112"] = pool("max", 3, 2, 1, 8, 64, 112)
    rows["avg_pool2d 2x2, 64x6x28x28"] = pool("avg", 2, 2, 0, 64, 6, 28)
    rows["batch_norm 8x64x56x56, fixed statistics"] = norm(8, 64, 56)
    rows["softmax 512x1000"] = Case({"x": random(512, 1000)}, (512, 1000), "nn.softmax(%x)", lambda x: F.softmax(x, -1), "x")
    rows["log_softmax 512x1000"] = Case({"x": random(512, 1000)}, (512, 1000), "nn.log_softmax(%x)",
                                        lambda x: F.log_softmax(x, -1), "x")
    rows["layer_norm 512x768"] = Case({"x": random(512, 768), "g": random(768), "b": random(768)}, (512, 768),
                                      "nn.layer_norm(%x, %g, %b)", lambda x, g, b: F.layer_norm(x, (768,), g, b), "x g b")
    indices = numpy.random.default_rng(2).integers(0, 10000, 2048).astype("int64")
    rows["take 2048 of 10000x256"] = Case({"t": random(10000, 256), "i": indices}, (2048, 256), "take(%t, %i, axis=0)",
                                          lambda t, i: F.embedding(i, t), "t")
    return rows


def of_baton(baton, folder, case, threads):
    file, inputs = os.path.join(folder, "case.baton"), []
    with open(file, "w") as out:
        out.write(case.program())
    for name, value in case.arguments.items():
        if value.dtype != "float32":
            numpy.save(os.path.join(folder, name + ".npy"), value)
            inputs += ["-i", f"{name}={os.path.join(folder, name)}.npy"]
    got = subprocess.run([baton, "bench", file, "--target", "cpu", "--threads", str(threads), "--repeat", "25", "--json", *inputs],
                         capture_output=True, text=True)
    if got.returncode:
        raise RuntimeError(json.loads(got.stderr or got.stdout)["message"])
    times = json.loads(got.stdout)
    return times["median_ms"], times["min_ms"]


def of_torch(case):
    arguments = {n: torch.from_numpy(a).requires_grad_(n in case.wrt) for n, a in case.arguments.items()}
    result = case.function(*arguments.values())
    dy, times = torch.ones_like(result).contiguous(), []
    for _ in range(28):
        begin = time.perf_counter()
        result = case.function(*arguments.values()) if case.forward else result
        torch.autograd.grad(result, [arguments[n] for n in case.wrt], dy, retain_graph=True)
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times[3:]), min(times[3:])


def row(options, folder, case):
    rounds = [(*of_baton(options.baton, folder, case, options.threads), *of_torch(case)) for _ in range(options.rounds)]
    own, own_least, peer, peer_least = (statistics.median(column) for column in zip(*rounds))
    rate = f"{case.flops / own_least / 1e6:8.1f}" if case.flops else ""
    return (f"{own:8.3f} {peer:8.3f} {peer / own:5.2f}  {own_least:8.3f} {peer_least:8.3f} {peer_least / own_least:5.2f} {rate}").rstrip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("baton")
    parser.add_argument("names", nargs="*", help="rows whose names begin so (default: all)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--forward", action="store_true", help="the operator's results too")
    options = parser.parse_args()
    Case.forward = options.forward
    torch.set_num_threads(options.threads)
    print(f"{'':44} {'medians':>22}   {'least':>22}")
    print(f"{'adjoint of':44} {'Baton':>8} {'PyTorch':>8} {'':>5}  {'Baton':>8} {'PyTorch':>8} {'':>5} {'GFLOP/s':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name, case in cases().items():
            if options.names and not name.startswith(tuple(options.names)):
                continue
            try:
                print(f"{name:44}", row(options, folder, case), flush=True)
            except RuntimeError as error:
                print(f"{name:44} {error}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
