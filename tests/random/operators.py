"""Programs of random operators, their gradients and second derivatives by every executor, against differences of the same program
in NumPy: operators.py BATON FIRST COUNT [--dtype T] [--open] [--ways A,B]

Each program is a function @f of float tensors and some integers: element-wise operators, reductions, broadcasts, products,
convolutions, pools, take, gather, scatter, concatenations, branches, recursion, lists, tuples, closures and references. The reference
knows nothing of Baton: each operator of a program is written as text and, beside it, as a function of NumPy arrays in float64.
The program of a number is the same on every run; the first three that give something else are printed, and how much was compared.
"""
import argparse
import collections
import math
import sys

import kit
from operator_builder import Skip
from operator_program import Program

np = kit.import_numpy()

WAYS = {
    "interp": [],
    "interp-plain": ["--pipeline", "gradients"],
    "cpu": ["--target", "cpu"],
    "vm-cpu": ["--executor", "vm", "--target", "cpu"],
    "vm-c": ["--executor", "vm", "--target", "c"],
    "vm-reference": ["--executor", "vm", "--target", "reference"],
    "graph-c": ["--target", "c"],
    "npu": ["--target", "npu,cpu"],
    "opencl": ["--target", "opencl,cpu"],
    "O4": ["-O", "4", "--target", "cpu"],
    "O4i": ["-O", "4"],
    "check": ["--target", "cpu", "--check-kernels"],
    "artifact": [],
    "O1": ["-O", "1"],
    "debug": ["--pipeline", "debug"],
}
AGAINST_NUMPY = ["interp", "cpu", "O4", "O4i"]


def in_order(name):
    """output0.1.0 stands behind output0.0.2, and output10 behind output9."""
    return [int(part) for part in name.removeprefix("output").split(".") if part]


class Check(kit.Check):
    def __init__(self):
        super().__init__()
        options = argparse.ArgumentParser()
        options.add_argument("--dtype")
        options.add_argument("--open", action="store_true")
        options.add_argument("--ways", default="interp,interp-plain,cpu,vm-c,opencl,npu,artifact")
        self.options = options.parse_args(sys.argv[4:])
        self.counts = collections.Counter()

    def check(self, number):
        try:
            program = Program(number, self.options.dtype, True if self.options.open else None)
            text, seeds = program.sources()
            self.write(text)
            inputs, seeds = self.inputs(number, program, seeds)
            expected = program.expect(inputs, seeds)
        except Skip:
            self.counts["skipped"] += 1
            return
        except AssertionError as error:
            self.fault(number, f"the test's own program: {error}")
            return
        words = self.words(program, inputs, seeds)
        first = None
        for way in self.options.ways.split(","):
            if way in ("opencl", "npu") and number % 4:
                continue
            found = self.found(way, number, program, words)
            self.counts["runs"] += 1
            if isinstance(found, str):
                self.fault(number, f"{way}: {found}")
                if way == "interp":
                    return
                continue
            if len(found) != len(expected):
                self.fault(number, f"{way}: {len(found)} results, not {len(expected)}")
                continue
            what = first and self.apart(program, first, found)
            if not what and way in AGAINST_NUMPY:
                what = self.off(program, expected, found)
            if what:
                self.fault(number, f"{way}: {what}")
            first = first or found

    def inputs(self, number, program, seeds):
        """Their values in float64, as the program's type has them."""
        drawn = np.random.default_rng(number)
        dtype = {"float32": np.float32, "float16": np.float16}.get(program.dtype, np.float64)
        inputs = {}
        for name, shape, kind in program.params:
            is_float = kind == "f"
            inputs[name] = drawn.uniform(-1.5, 1.5, shape).astype(dtype).astype(np.float64) if is_float else int(drawn.integers(0, 4))
        return inputs, {name: drawn.uniform(-1, 1, shape).astype(dtype).astype(np.float64) for name, shape in seeds}

    def words(self, program, inputs, seeds):
        dtype = {"float32": np.float32, "float16": np.float16}.get(program.dtype, np.float64)
        tensors = {name: value.astype(dtype) for name, value in (inputs | seeds).items() if not isinstance(value, int)}
        numbers = [word for name, value in inputs.items() if isinstance(value, int) for word in ("-i", f"{name}={value}")]
        return kit.save(tensors) + numbers

    def found(self, way, number, program, words):
        """The results in order, or the text of a failure."""
        file, more = "program.baton", list(WAYS[way])
        if way == "artifact":
            done, file = self.run("compile", file, "-o", "program.bta"), "program.bta"
            if done.returncode:
                return done.stderr
        elif program.open and (number + len(way)) % 2:
            more.append("--no-specialise")
        results = self.results(file, *more, *words)
        return results if isinstance(results, str) else [results[name] for name in sorted(results, key=in_order)]

    def apart(self, program, first, found):
        """How it differs from the first way's; None: it does not."""
        largest = [float(np.max(np.abs(x[np.isfinite(x)]))) for x in first if np.isfinite(x).any()]
        bound = {"float64": 1e-9, "float32": 2e-3}.get(program.dtype, 0.1) * max([1.0] + largest)
        for i, (a, b) in enumerate(zip(first, found)):
            if a.shape != b.shape or a.dtype != b.dtype:
                return f"result {i} is {b.dtype}{b.shape}, by the first way {a.dtype}{a.shape}"
            if not np.allclose(a, b, rtol=bound, atol=bound, equal_nan=True):
                return f"result {i} differs from the first way's by {np.nanmax(np.abs(a.astype(float) - b)):.3g}"
        return None

    def off(self, program, expected, found):
        """How it differs from NumPy's; None: it does not."""
        for i, (pair, b) in enumerate(zip(expected, found)):
            if pair is None:
                continue
            a, error = pair
            if a.shape != b.shape:
                return f"result {i} has shape {b.shape}, not {a.shape}"
            scale = max(1.0, float(np.max(np.abs(a))) if a.size else 1.0)
            if not np.isfinite(a).all() or not math.isfinite(error):
                self.counts["not finite"] += 1
            elif error > 1e-3 * scale:
                self.counts["rough"] += 1
            else:
                self.counts["compared"] += 1
                bound = {"float64": 1e-6, "float32": 1e-2}.get(program.dtype, 0.15) * scale + 20 * error
                if not np.allclose(b, a, rtol=0, atol=bound):
                    return f"result {i} of {len(expected)} is off by {np.max(np.abs(b - a)):.3g} (bound {bound:.2g}, largest {scale:.3g})"
        return None


check = Check()
check.check_in_folder()
print(f"{len(check.numbers)} programs, {check.nfault} faults; {dict(check.counts)}")
sys.exit(check.nfault > 0 or not check.counts["compared"])
