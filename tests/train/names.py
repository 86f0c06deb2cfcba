"""Functions of a model have any names but those of what training adds to it, a loss and an optimizer those of a library, too: names.py BATON"""
import os
import sys
import tempfile

import numpy

import kit

MODEL = """#[version = "baton 0.1"]
def @NAME<n: Dim>(%x: Tensor[(n, 4), float32], %w: Tensor[(3, 4), float32], inline=False) -> Tensor[(n, 3), float32] { nn.dense(%x, %w) }
def @main<n: Dim>(%x: Tensor[(n, 4), float32], %w: Tensor[(3, 4), float32]) -> Tensor[(n, 3), float32] { @NAME(%x, %w) }
"""

OWN = """#[version = "baton 0.1"]
def @loss.cross_entropy<n: Dim, c: Dim>(%z: Tensor[(n, c), float32], %y: Tensor[(n), int64]) -> float32 { 7f + 0f * mean(%z) }
def @optimizer.sgd<s: Shape>(%w: Tensor[s, float32], %g: Tensor[s, float32], %step: float32, %rate: float32, rate=1f) -> Tensor[s, float32] { %w }
def @schedule.constant(%step: float32, %steps: float32) -> float32 { 0.5f }
def @adam_direction<n: Dim>(%x: Tensor[(n, 4), float32], %w: Tensor[(3, 4), float32]) -> Tensor[(n, 3), float32] { nn.dense(%x, %w) }
def @main<n: Dim>(%x: Tensor[(n, 4), float32], %w: Tensor[(3, 4), float32]) -> Tensor[(n, 3), float32] { @adam_direction(%x, %w) }
"""

RULED = """#[version = "baton 0.1"]
def @orthogonal<n: Dim>(%x: Tensor[(n, 4), float32], %w: Tensor[(3, 4), float32], %y: Tensor[(n, 3), float32], %d: Tensor[(n, 3), float32]) -> (Tensor[(n, 4), float32], Tensor[(3, 4), float32]) { (%x, %w) }
def @apply<n: Dim>(%x: Tensor[(n, 4), float32], %w: Tensor[(3, 4), float32], vjp="orthogonal") -> Tensor[(n, 3), float32] { nn.dense(%x, %w) }
def @main<n: Dim>(%x: Tensor[(n, 4), float32], %w: Tensor[(3, 4), float32]) -> Tensor[(n, 3), float32] { @apply(%x, %w) }
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
        kit.write("own.baton", OWN)
        own = runs.train("own.baton", "--data", "data.npz", "--batch", 32, "--epochs", 1, "-o", "own")
        runs.check("loss 7.0000" in own.stderr + own.stdout, f"the model's own loss goes before the library's:\n{own.stdout}{own.stderr}")
        runs.train("own.baton", "--data", "data.npz", "--batch", 32, "--epochs", 1, "--optimizer", "adam", "-o", "own_adam")
        kit.write("drawn.baton", MODEL.replace("NAME", "orthogonal"))
        runs.train("drawn.baton", "--data", "data.npz", "--batch", 32, "--epochs", 1, "--initializer", "orthogonal", "-o", "drawn")
        kit.write("ruled.baton", RULED)
        runs.train("ruled.baton", "--data", "data.npz", "--batch", 32, "--epochs", 1, "--initializer", "orthogonal", "-o", "ruled")
        with open("ruled/step.baton") as file:
            text = file.read()
        runs.check('vjp="train.model.orthogonal"' in text and "def @train.model.orthogonal" in text, text)
        os.chdir("/")
    runs.end()


main()
