"""Functions of a model have any names but those of what training adds to it: names.py BATON"""
import os
import sys
import tempfile

import numpy

import kit

MODEL = """#[version = "baton 0.1"]
def @NAME<n: Dim>(%x: Tensor[(n, 4), float32], %w: Tensor[(3, 4), float32], inline=False) -> Tensor[(n, 3), float32] { nn.dense(%x, %w) }
def @main<n: Dim>(%x: Tensor[(n, 4), float32], %w: Tensor[(3, 4), float32]) -> Tensor[(n, 3), float32] { @NAME(%x, %w) }
"""


def main():
    runs = kit.Runs(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        random = numpy.random.default_rng(5)
        numpy.savez("data.npz", x=random.normal(size=(32, 4)).astype(numpy.float32), labels=random.integers(0, 3, 32))
        for name in ["step", "evaluate", "order", "initial", "add", "count_right", "initial.w", "training"]:
            kit.write("named.baton", MODEL.replace("NAME", name))
            runs.train("named.baton", "--data", "data.npz", "--batch", 32, "--accumulate", 2, "--epochs", 1, "-o", name)
        for name in ["train.model", "train.step", "train.mine"]:
            kit.write("named.baton", MODEL.replace("NAME", name))
            runs.refused(f"named.baton:2:1: error: @{name}: names that begin with train. are those of the program", "train", "named.baton",
                         "--data", "data.npz", "--batch", 32, "-o", "x")
        os.chdir("/")
    runs.end()


main()
