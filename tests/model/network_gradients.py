"""Gradients of the networks of zoo.py: network_gradients.py BATON [--torch] [--time] NAME...

Cross entropy of two images of 32 x 32, batch normalisation as in inference, by all weights. Along random directions the gradients are
compared with central differences, in float64; no cell, closure or tensor of zeros may stand in them. --torch compares each
tensor with PyTorch's, in float32 on target cpu. --time prints how long differentiating and compiling take, for images of 224 x 224.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

import harness

harness.need_packages("numpy")
import numpy as np
import zoo
import zoo_graph

BATCH, STEP = 2, 1e-6


def name_of(value):
    return "%" + value.replace(".", "_")


def list_of(values):
    return "[" + ", ".join(map(str, values)) + "]"


def call(node):
    """A node in Baton's text."""
    x, *rest = [name_of(i) for i in node.inputs]
    a = node.attrs
    if "kernel_shape" in a:
        windows = f"strides={list_of(a['strides'])}, padding={list_of(a['pads'])}"
        over = ", ceil_mode=True" if a.get("ceil_mode") else ""
    if node.op == "Conv":
        made = f"nn.conv2d({x}, {rest[0]}, {windows}, groups={a['group']})"
        return f"nn.bias_add({made}, {rest[1]}, axis=1)" if len(rest) > 1 else made
    return {
        "Add": lambda: f"add({x}, {rest[0]})",
        "AveragePool": lambda: f"nn.avg_pool2d({x}, pool_size={list_of(a['kernel_shape'])}, {windows}, count_include_pad=True)",
        "BatchNormalization": lambda: f"nn.batch_norm({', '.join([x, *rest])}, epsilon={a['epsilon']}f).0",
        "Clip": lambda: f"clip({x}, a_min=0f, a_max=6f)",
        "Concat": lambda: f"concatenate(({', '.join([x, *rest])}), axis=1)",
        "Flatten": lambda: f"nn.batch_flatten({x})",
        "Gemm": lambda: f"add(nn.dense({x}, {rest[0]}), {rest[1]})",
        "GlobalAveragePool": lambda: f"nn.global_avg_pool2d({x})",
        "MaxPool": lambda: f"nn.max_pool2d({x}, pool_size={list_of(a['kernel_shape'])}, {windows}{over})",
        "Relu": lambda: f"nn.relu({x})",
    }[node.op]()


def program(graph, dtype):
    """(text, names of what is learned): @loss, and @main, which gives gradients and loss."""
    weights = {n: w for n, w in graph.weights.items() if w.role != "constant"}
    listed = [f"%input: Tensor[({', '.join(map(str, graph.input.shape))}), {dtype}]", f"%labels: Tensor[({BATCH}), int32]"]
    listed += [f"{name_of(n)}: Tensor[({', '.join(map(str, w.shape))}), {dtype}]" for n, w in weights.items()]
    learned = [n for n, w in weights.items() if w.role not in ("mean", "variance")]
    wrt = [2 + i for i, n in enumerate(weights) if n in learned]
    body = "".join(f"    let {name_of(n.output.name)} = {call(n)};\n" for n in graph.nodes)
    one, zero = ("1f64", "0f64") if dtype == "float64" else ("1f", "0f")
    text = (f'#[version = "baton 0.1"]\ndef @loss({", ".join(listed)}) -> {dtype} {{\n{body}'
            f"    let %scores = nn.log_softmax({name_of(graph.output.name)}, axis=1);\n"
            f'    let %right = one_hot(%labels, {one}, {zero}, depth={graph.output.shape[1]}, dtype="{dtype}");\n'
            f"    negative(mean(sum(multiply(%scores, %right), axis=[1])))\n}}\n"
            f"gradient @gradients = @loss(wrt={wrt}, keep=[0]);\n"
            f'def @main({", ".join(listed)}) {{ @gradients({", ".join(l.split(":")[0] for l in listed)}) }}\n')
    return text, learned


class Network:
    def __init__(self, baton, name, size):
        self.baton, self.name = baton, name
        network = zoo.NETWORKS[name]
        self.graph = zoo_graph.Graph(name, (BATCH, network.channels, size, size), network.rows)
        self.weights = {n: w for n, w in zoo_graph.random_weights(zoo.build(name, size)).items() if w.ndim}
        self.image = zoo_graph.random_input(self.graph, "test")
        self.labels = np.random.default_rng(1).integers(0, self.graph.output.shape[1], BATCH).astype(np.int32)

    def write(self, dtype):
        text, self.learned = program(self.graph, dtype)
        with open("network.baton", "w", encoding="utf-8") as file:
            file.write(text)

    def run(self, entry, dtype, moved=None, *options):
        words = []
        for n, value in {"input": self.image, "labels": self.labels, **self.weights, **(moved or {})}.items():
            file = n.replace(".", "_")
            np.save(file + ".npy", value if value.dtype == np.int32 else value.astype(dtype))
            words += ["-i", f"{file}={file}.npy"]
        subprocess.run([self.baton, "run", "network.baton", "--entry", entry, "-o", "found", *words, *options], check=True,
                       stdout=subprocess.DEVNULL)
        names = sorted(os.listdir("found"), key=lambda n: int(re.search(r"\d+", n)[0]) if re.search(r"\d", n) else 0)
        found = [np.load(os.path.join("found", n)) for n in names]
        for n in names:
            os.remove(os.path.join("found", n))
        return found

    def check_differences(self):
        """The largest difference of a slope, in parts of the gradient's length."""
        self.write("float64")
        options = ["--target", "cpu"]
        gradients, random, worst = self.run("main", "float64", None, *options)[:-1], np.random.default_rng(2), 0
        length = np.sqrt(sum((g * g).sum() for g in gradients))
        for _ in range(2):
            direction = {n: random.standard_normal(self.weights[n].shape) for n in self.learned}
            above, below = (self.run("loss", "float64", {n: self.weights[n] + s * STEP * d for n, d in direction.items()}, *options)[0]
                            for s in (1, -1))
            slope = sum((g * d).sum() for g, d in zip(gradients, direction.values()))
            worst = max(worst, abs(slope - (above - below) / (2 * STEP)) / length)
        return worst

    def made(self):
        """What the gradient holds that it should not: (cells, closures, fills)."""
        text = subprocess.run([self.baton, "opt", "network.baton", "--entry", "main", "--pipeline", "gradients"], check=True,
                              capture_output=True, text=True).stdout
        return tuple(len(re.findall(pattern, text)) for pattern in (r"= ref\(", r"= fn \(", r"= (?:zeros|zeros_like|full|full_like)\("))

    def check_torch(self):
        """The largest relative difference of a gradient's tensor."""
        import torch
        self.write("float32")
        found = self.run("main", "float32", None, "--target", "cpu")
        values = {n: torch.tensor(w, dtype=torch.float32, requires_grad=n in self.learned) for n, w in self.weights.items()}
        loss = torch.nn.functional.cross_entropy(evaluate(self.graph, values, torch.tensor(self.image)), torch.tensor(self.labels).long())
        loss.backward()
        worst = abs(found[-1] - loss.item()) / abs(loss.item())
        for n, g in zip(self.learned, found):
            wanted = values[n].grad.numpy()
            worst = max(worst, np.linalg.norm(g - wanted) / np.linalg.norm(wanted))
        return worst

    def times(self):
        """Seconds of (differentiating, all of compiling); calls in the gradient."""
        self.write("float32")
        words = [self.baton, "opt", "network.baton", "--entry", "main", "--pipeline", "gradients", "--time-passes"]
        told = subprocess.run(words, check=True, capture_output=True, text=True)
        passes = next(line for line in told.stderr.splitlines() if "differentiate" in line)
        start = time.time()
        done = subprocess.run([self.baton, "compile", "network.baton", "--entry", "main", "--target", "cpu", "-o", "network.bta"], check=True,
                              capture_output=True, text=True)
        return " ".join(passes.split()), time.time() - start, done.stdout.strip()


def evaluate(graph, weights, x, others=None):
    """The network's output by PyTorch; others: operators in place of those here."""
    import torch.nn.functional as F
    values = {graph.input.name: x}

    def pads(x, a, fill):
        top, left, bottom, right = a["pads"]
        return F.pad(x, (left, right, top, bottom), value=fill)

    operators = {
        "Add": lambda x, y: x + y,
        "BatchNormalization": lambda x, scale, shift, mean, variance, epsilon: F.batch_norm(x, mean, variance, scale, shift, eps=epsilon),
        "Clip": lambda x, *_: x.clamp(0, 6),
        "Conv": lambda x, w, b=None, **a: F.conv2d(pads(x, a, 0.0), w, b, stride=a["strides"], groups=a["group"]),
        "Flatten": lambda x, axis: x.flatten(axis),
        "Gemm": lambda x, w, b, transB: F.linear(x, w, b),
        "GlobalAveragePool": lambda x: x.mean((2, 3), keepdim=True),
        "MaxPool": lambda x, ceil_mode, **a: F.max_pool2d(pads(x, a, -np.inf), a["kernel_shape"], a["strides"], ceil_mode=bool(ceil_mode)),
        "Relu": F.relu,
        **(others or {}),
    }
    for node in graph.nodes:
        inputs = [values[i] if i in values else weights.get(i) for i in node.inputs]
        values[node.output.name] = operators[node.op](*inputs, **node.attrs)
    return values[graph.output.name]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("baton")
    parser.add_argument("name", nargs="+")
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--time", action="store_true")
    options = parser.parse_args()
    baton, failed = os.path.abspath(options.baton), False
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in options.name:
            if options.time:
                print(name, *Network(baton, name, 224).times(), flush=True)
                continue
            network = Network(baton, name, 32)
            worst, bound = (network.check_torch(), 1e-4) if options.torch else (network.check_differences(), 1e-5)
            made = network.made()
            print(f"{name}: {'PyTorch' if options.torch else 'differences'}: {worst:.2e}, at most {bound}; "
                  f"cells, closures, fills: {made}", flush=True)
            failed |= not worst <= bound or made != (0, 0, 0)
        os.chdir("/")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
