"""Gradients of a Llama's block, of its adapters of low rank, of an MLP's gradients and of a step of meta-learning, against central
differences in float64: differences.py BATON [EXECUTOR_OPTION]...

The product H v of the MLP's second derivatives and a direction comes of reverse over reverse and of forward over reverse; u H v = v H u.
"""
import os
import re
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "model"))
import harness

harness.need_packages("numpy")
import numpy as np

STEP, BOUND, SYMMETRY = 1e-5, 1e-6, 1e-12
# The function that is derived, what gives its gradients, by how many of its tensors from which on.
CASES = [("llama_block.baton", "loss", "main", 0, 11), ("llama_block.baton", "adapted", "adapt", 13, 4),
         ("second_order.baton", "slope", "main", 0, 3),
         ("second_order.baton", "slope", "forward", 0, 3), ("second_order.baton", "after", "learn", 0, 4)]


class Case:
    def __init__(self, baton, program, value, gradient, first, count, options):
        self.baton, self.path, self.options = baton, os.path.join(here, program), options
        self.value, self.gradient = value, gradient
        with open(self.path, encoding="utf-8") as file:
            head = re.search(rf"^def @{value}\((.*?)\) ->", file.read(), re.MULTILINE | re.DOTALL)[1]
        random, self.inputs = np.random.default_rng(3), {}
        for name, shape, dtype, alone in re.findall(r"%(\w+): (?:Tensor\[\(([^)]*)\), (\w+)\]|(\w+))", head):
            dims = [int(d) for d in shape.split(", ")] if shape else []
            whole = random.integers(0, 512, dims) if dims else 3
            self.inputs[name] = np.asarray(whole, np.int32) if (dtype or alone) == "int32" else np.asarray(random.standard_normal(dims) * 0.3)
        self.wrt = list(self.inputs)[first:first + count]

    def run(self, entry, inputs):
        words = []
        for name, value in inputs.items():
            np.save(name + ".npy", value)
            words += ["-i", f"{name}={name}.npy"]
        subprocess.run([self.baton, "run", self.path, "--entry", entry, "-o", "found", *self.options, *words], check=True,
                       stdout=subprocess.DEVNULL)
        names = sorted(os.listdir("found"), key=lambda n: (len(n), n))
        found = [np.load(os.path.join("found", n)) for n in names]
        for name in names:
            os.remove(os.path.join("found", name))
        return found

    def check(self):
        """The largest difference of a slope along a tensor, in parts of its gradient's length."""
        random, worst = np.random.default_rng(4), 0
        gradients = self.run(self.gradient, self.inputs)
        for name, gradient in zip(self.wrt, gradients, strict=True):
            direction = random.standard_normal(gradient.shape)
            above, below = (self.run(self.value, {**self.inputs, name: self.inputs[name] + s * STEP * direction})[0] for s in (1, -1))
            worst = max(worst, abs((gradient * direction).sum() - (above - below) / (2 * STEP)) / np.linalg.norm(gradient))
        return worst

    def check_symmetry(self):
        """How far u H v is from v H u, as a part of both."""
        random, names = np.random.default_rng(5), ["d" + name for name in self.wrt]
        ways = [{name: random.standard_normal(self.inputs[name].shape) for name in names} for _ in range(2)]
        products = [self.run(self.gradient, {**self.inputs, **way}) for way in ways]
        u_h_v, v_h_u = (sum((a * b).sum() for a, b in zip(way.values(), product, strict=True)) for way, product in zip(ways, products[::-1]))
        return abs(u_h_v - v_h_u) / abs(u_h_v)


def main():
    baton, options, failed = os.path.abspath(sys.argv[1]), sys.argv[2:], False
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for program, value, gradient, first, count in CASES:
            case = Case(baton, program, value, gradient, first, count, options)
            worst = case.check()
            print(f"{program} @{value}, by @{gradient}: {worst:.2e}, at most {BOUND}", flush=True)
            failed |= not worst <= BOUND
            if gradient == "forward":
                worst = case.check_symmetry()
                print(f"u H v = v H u: {worst:.2e}, at most {SYMMETRY}", flush=True)
                failed |= not worst <= SYMMETRY
        os.chdir("/")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
