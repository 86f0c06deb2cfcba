"""Recurrent and tree networks, a Llama, open batches, C: what executors take, beside their peers, in turn.
    tests/run-python BUILD tests/bench/language.py BATON [--rounds N] [--table NAME] [--torch PYTHON] [--llama PROGRAM] [MODEL ...]
Prints what BUILD/tests/bench_language says of the models that are named (vm and graph, instructions, calls of kernels, recursion), then
tables of its own. Every figure is the least of N rounds in which each column has its turn, in milliseconds.
  --table NAME      only this one: recurrent, dynamic, trees, llama or aot
  --torch PYTHON    an interpreter that has PyTorch, for the TreeLSTM; without it that column is left out
  --llama PROGRAM   PROGRAM CHECKPOINT COUNT prints, last, how many tokens it writes in a second; without it that column is left out
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "language"), os.path.join(here, "..", "model")]
import programs
import zoo

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}

# Reads weights and trees of a folder; prints the milliseconds of the best of some rounds over all trees.
TORCH = """
import json, sys, time, torch
import numpy as np
torch.set_num_threads(1); torch.set_grad_enabled(False)
data = np.load(sys.argv[1] + "/tree_lstm.npz"); trees = json.load(open(sys.argv[1] + "/trees.json"))
wx, wh, b, fx, fh, fb, table = [torch.from_numpy(data[k]) for k in ["w0", "w1", "w2", "w3", "w4", "w5", "table"]]
wx, wh, fx, fh = [w.t().contiguous() for w in (wx, wh, fx, fh)]
zero = torch.zeros(1, wh.shape[0])
def run(node):
    x, total, memory = table[node[0]:node[0] + 1], zero, zero
    states = [run(child) for child in node[1]]
    forget = torch.addmm(fb, x, fx)
    for h, c in states:
        total = total + h
        memory = memory + torch.sigmoid(forget + h @ fh) * c
    i, o, u = torch.chunk(torch.addmm(b, x, wx) + total @ wh, 3, 1)
    c = torch.sigmoid(i) * torch.tanh(u) + memory
    return torch.sigmoid(o) * torch.tanh(c), c
best = 1e9
for _ in range(3):
    start = time.perf_counter(); [run(tree) for tree in trees]; best = min(best, time.perf_counter() - start)
print(best * 1e3)
"""

# Prints the milliseconds of the best run of a folder that executor aot wrote for MNIST-8.
TIMER = """
#define _POSIX_C_SOURCE 200809L
#include "mnist.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(void)
{
    static float x[784], y[10];
    void *workspace = aligned_alloc(64, (size_t)(mnist_workspace() + 63) / 64 * 64);
    double best = 1e9;
    for (int i = 0; i < 2000; i++) {
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        if (!workspace || mnist_run(x, y, workspace))
            return 1;
        clock_gettime(CLOCK_MONOTONIC, &b);
        const double ms = (b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) * 1e-6;
        best = ms < best ? ms : best;
    }
    printf("%.6f\\n", best);
    free(workspace);
    return 0;
}
"""


def value(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def save(path, nodes, inputs, constants, outputs):
    graph = helper.make_graph(nodes, "bench", inputs, [helper.make_empty_tensor_value_info(name) for name in outputs],
                              [numpy_helper.from_array(a, k) for k, a in constants.items()])
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def weights_of(random, op, width, hidden, suffix=""):
    shapes = {"w": (1, GATES[op] * hidden, width), "r": (1, GATES[op] * hidden, hidden), "b": (1, 2 * GATES[op] * hidden)}
    return {k + suffix: random.uniform(-0.05, 0.05, s).astype(numpy.float32) for k, s in shapes.items()}


def layer(folder, op, hidden, steps=35):
    attrs = {"linear_before_reset": 1} if op == "GRU" else {}
    node = helper.make_node(op, ["x", "w", "r", "b"], ["y"], hidden_size=hidden, **attrs)
    return save(os.path.join(folder, f"{op} {hidden}.onnx"), [node], [value("x", [steps, 1, hidden])],
                weights_of(numpy.random.default_rng(1), op, hidden, hidden), ["y"])


def char_step(folder, hidden, letters=59):
    """A step of two layers of LSTM and of the letters' chances; the states go in and out."""
    random, nodes, at, width = numpy.random.default_rng(1), [], "x", letters
    constants, inputs, outputs = {"axis": numpy.array([1])}, [value("x", [1, 1, letters])], ["chances"]
    for i in range(2):
        constants.update(weights_of(random, "LSTM", width, hidden, str(i)))
        inputs += [value(f"h{i}", [1, 1, hidden]), value(f"c{i}", [1, 1, hidden])]
        outputs += [f"hn{i}", f"cn{i}"]
        nodes += [helper.make_node("LSTM", [at, f"w{i}", f"r{i}", f"b{i}", "", f"h{i}", f"c{i}"], [f"y{i}", f"hn{i}", f"cn{i}"], hidden_size=hidden),
                  helper.make_node("Squeeze", [f"y{i}", "axis"], [f"s{i}"])]
        at, width = f"s{i}", hidden
    constants["out"] = random.uniform(-0.05, 0.05, (hidden, letters)).astype(numpy.float32)
    nodes += [helper.make_node("MatMul", [at, "out"], ["scores"]), helper.make_node("Softmax", ["scores"], ["chances"])]
    return save(os.path.join(folder, f"CharRNN step {hidden}.onnx"), nodes, inputs, constants, outputs)


def open_net(folder, batch):
    """Three dense layers over a batch."""
    random, nodes, at, constants = numpy.random.default_rng(1), [], "x", {}
    for i in range(3):
        constants[f"w{i}"] = random.uniform(-0.1, 0.1, (256, 256)).astype(numpy.float32)
        nodes += [helper.make_node("MatMul", [at, f"w{i}"], [f"m{i}"]), helper.make_node("Relu", [f"m{i}"], [f"r{i}"])]
        at = f"r{i}"
    return save(os.path.join(folder, f"MLP {batch}.onnx"), nodes, [value("x", [batch, 256])], constants, [at])


def image_net(folder, name, batch):
    """A network of the zoo on small images, its batch a number or a name."""
    path, graph, _ = zoo.generate(name, folder, 96)
    model = onnx.load(path)
    for tensor in [model.graph.input[0], *model.graph.output]:
        dim = tensor.type.tensor_type.shape.dim[0]
        dim.Clear()
        setattr(dim, "dim_param" if batch == "n" else "dim_value", batch)
    del model.graph.value_info[:]
    path = os.path.join(folder, f"{name} {batch}.onnx")
    onnx.save(model, path)
    return path, graph.input.shape


class Bench:
    def __init__(self, options):
        self.options = options

    def run(self, command):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"language.py: {' '.join(command)}\n{done.stderr}{done.stdout}")
        return done.stdout

    def baton(self, path, executor, threads, *args, repeat=200):
        return lambda: json.loads(self.run([self.options.baton, "bench", path, "--executor", executor, "--target", "cpu", "--threads", str(threads),
                                            "--warmup", "10", "--repeat", str(repeat), "--json", *args]))["min_ms"]

    def peer(self, path, threads):
        return lambda: json.loads(self.run([sys.executable, "-B", os.path.join(here, "peer.py"), "--threads", str(threads), "--warmup", "10",
                                            "--repeat", "200", path]))["min_ms"]

    def row(self, name, columns, over=None):
        """Times of the columns in turn, and each one's ratio to the last: how many times as fast it is."""
        best = [min(times) for times in zip(*[[column() for column in columns] for _ in range(self.options.rounds)])]
        ratios = [best[-1] / t for t in best[:-1]]
        print(f"{name:<28}" + "".join(f"{t:>11.4f}" for t in best) + "".join(f"{r:>8.2f}" for r in ratios), flush=True)
        return best


def recurrent(bench, folder):
    print(f"\n{'one line':<28}{'vm ms':>11}{'graph ms':>11}{'ORT ms':>11}{'vm':>8}{'graph':>8}   times as fast as ONNX Runtime")
    models = [layer(folder, op, hidden) for op, hidden in [("LSTM", 650), ("LSTM", 256), ("GRU", 256), ("RNN", 256)]]
    for path in models + [char_step(folder, 128), char_step(folder, 512)]:
        for threads in [1, 2]:
            name = f"{os.path.basename(path)[:-5]}, {threads} thread" + "s" * (threads > 1)
            bench.row(name, [bench.baton(path, "vm", threads), bench.baton(path, "graph", threads), bench.peer(path, threads)])


def dynamic(bench, folder):
    """Programs of an open batch, without and with versions of kernels for it, beside those compiled for that number."""
    print(f"\n{'batch':<28}{'open ms':>11}{'version ms':>11}{'known ms':>11}{'open':>8}{'version':>8}   times as fast as compiled for that number")
    nets = [("MLP 3x256", open_net(folder, "n"), lambda n: open_net(folder, n), (1, 256), 2000)]
    for name in ["mobilenet_v1", "resnet18"]:
        path, shape = image_net(folder, name, "n")
        nets.append((name, path, lambda n, name=name: image_net(folder, name, n)[0], shape, 20))
    for name, path, known, shape, repeat in nets:
        for n in [1, 8, 32]:
            numpy.save(os.path.join(folder, "x.npy"), numpy.ones((n, *shape[1:]), numpy.float32))
            given = ["-i", f"{folder}/x.npy"]
            bench.row(f"{name}, n = {n}", [bench.baton(path, "vm", 1, *how, *given, repeat=repeat)
                                           for path, how in [(path, ["--no-specialise"]), (path, ["--hot", f"n={n}"]), (known(n), [])]])


def trees(bench, folder):
    python = bench.options.torch
    print(f"\n{'trees':<28}{'vm ms':>11}" + (f"{'PyTorch ms':>11}{'vm':>8}   times as fast as PyTorch" if python else ""))
    path, weights, table, all_trees = programs.tree_lstm(folder, bench.options.trees)
    numpy.savez(os.path.join(folder, "tree_lstm.npz"), **{f"w{i}": w for i, w in enumerate(weights)}, table=table)
    with open(os.path.join(folder, "trees.json"), "w", encoding="utf-8") as file:
        json.dump(all_trees, file)
    columns = [bench.baton(path, "vm", 1, "-i", "none=0", repeat=5)]
    if python:
        columns.append(lambda: float(bench.run([python, "-c", TORCH, folder]).split()[-1]))
    bench.row(f"TreeLSTM, {len(all_trees)} trees", columns)


def llama(bench, folder, count=200):
    program = bench.options.llama
    path, _ = programs.llama(folder, count)
    given = numpy.full(count + 1, -1, numpy.int32)
    given[0] = 1
    numpy.save(os.path.join(folder, "tokens.npy"), given)
    checkpoint = os.path.join(programs.harness.shared_folder("data", "models", "stories260K"), "stories260K.bin")
    ours = bench.baton(path, "vm", 1, "--entry", "stories", "-i", f"tokens={folder}/tokens.npy", repeat=20)
    theirs = lambda: float(re.findall(r"[\d.]+", bench.run([program, checkpoint, str(count)]))[-1])
    best = [0, 0]
    for _ in range(bench.options.rounds):
        best = [max(best[0], count / ours() * 1e3), max(best[1], theirs() if program else 0)]
    print(f"\nstories260K, {count} tokens     {best[0]:>10.0f} tokens a second" +
          (f", the peer {best[1]:.0f}: {best[0] / best[1]:.2f} times as fast" if program else ""), flush=True)
    for hidden in [128, 512]:
        path, _ = programs.char_rnn(folder, hidden, count)
        ms = min(bench.baton(path, "vm", 1, "-i", "letter=3", repeat=5)() for _ in range(bench.options.rounds))
        print(f"CharRNN {hidden}, {count} letters    {count / ms * 1e3:>10.0f} letters a second", flush=True)


def aot(bench, folder):
    """A network as C with native kernels, built by the system's compiler, beside executor graph."""
    path = os.path.join(programs.harness.shared_folder("data", "models", "mnist-8"), "model.onnx")
    where, timer, program = (os.path.join(folder, name) for name in ["mnist", "timer.c", "timer"])
    bench.run([bench.options.baton, "compile", path, "--executor", "aot", "--target", "cpu", "-o", where])
    with open(timer, "w", encoding="utf-8") as file:
        file.write(TIMER)
    sources = [os.path.join(where, name) for name in os.listdir(where) if name.endswith(".c") and name != "main.c"]
    bench.run(["cc", "-std=c11", "-O2", "-ffp-contract=off", f"-I{where}", timer, *sources, f"{where}/libbaton_cpu.a", "-lm", "-o", program])
    print(f"\n{'C, 1 thread':<28}{'aot ms':>11}{'graph ms':>11}{'aot':>8}   times as fast as graph")
    bench.row("MNIST-8, native kernels", [lambda: float(bench.run([program])), bench.baton(path, "graph", 1, repeat=2000)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("baton")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--table", choices=["recurrent", "dynamic", "trees", "llama", "aot"])
    parser.add_argument("--torch")
    parser.add_argument("--llama")
    bench = Bench(parser.parse_args())
    program = os.path.join(os.path.dirname(os.path.abspath(bench.options.baton)), "..", "tests", "bench_language")
    if not bench.options.table:
        print(bench.run([program, *bench.options.models]), end="", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for table in [recurrent, dynamic, trees, llama, aot]:
            if bench.options.table in (None, table.__name__):
                table(bench, folder)


if __name__ == "__main__":
    main()
