"""Recurrent cells that nobody has named, against NumPy: cells.py BATON FIRST COUNT

A step is a product of the state with a constant, read in parts; random operators make the next states of these, with a step of the input that
is picked where the loop stands, and outputs in between. Widths fit no vector, and each program runs with another instruction set, number of
threads and executor. The program of a number is the same on every run; the first three that give something else are printed.
"""
import random
import sys

import kit

numpy = kit.import_numpy()

STEPS = 5
UNARY = {
    "sigmoid": lambda a: 1 / (1 + numpy.exp(-a)), "tanh": numpy.tanh, "nn.relu": lambda a: numpy.maximum(a, 0), "abs": numpy.abs, "sin": numpy.sin,
}
BINARY = {"add": numpy.add, "multiply": numpy.multiply, "subtract": numpy.subtract, "maximum": numpy.maximum}
WAYS = [["--executor", "vm"], ["--executor", "graph"], ["--executor", "vm", "--passes", "fuse-ops"], ["--executor", "vm", "-O", "0"]]


class Cell:
    """Lines of a step, and what they compute: functions of a table of values by name."""

    def __init__(self, number):
        self.pick = pick = random.Random(number)
        self.gates = pick.choice([2, 3, 3, 4, 4, 5, 8, 9])
        self.width = pick.choice([1, 2, 7, 16, 31, 32, 33, 40, 64, 65, 100, 130])
        self.rows = pick.choice([1, 1, 1, 1, 2, 3])
        self.dtype = pick.choice(["float32", "float32", "float64"])
        self.lines, self.work = [], []
        self.bind("p", "nn.dense(%h, %w)", lambda v: v["h"] @ v["w"].T)
        if pick.random() < 0.8:
            self.bind("t", f'take(%x, %i, axis=0, mode="{pick.choice(["clip", "fast", "wrap"])}")', lambda v: v["x"][v["i"]])
            self.bind("p", "add(%p, %t)", lambda v: v["p"] + v["t"])
        if pick.random() < 0.3:
            self.unary("p", "p")
        self.parts()
        # the state that goes round, which stays within bounds, and the one beside it
        a, b = self.made
        self.bind("h", f"tanh(%{a})", lambda v: numpy.tanh(v[a]))
        self.bind("c", f"sigmoid(%{b})", lambda v: UNARY["sigmoid"](v[b]))

    def bind(self, name, text, work):
        self.lines.append(f"{name} = {text}")
        self.work.append((name, work))

    def unary(self, name, of):
        op = self.pick.choice(list(UNARY))
        self.bind(name, f"{op}(%{of})", lambda v: UNARY[op](v[of]))

    def parts(self):
        width, self.made = self.width, []
        for gate in self.pick.sample(range(self.gates), self.gates):
            first, name = gate * width, f"g{gate}"
            self.bind(name, f"strided_slice(%p, begin=[{first}], end=[{first + width}], axes=[1])",
                      lambda v, first=first: v["p"][:, first:first + width])
            if self.pick.random() < 0.9:
                self.unary(name, name)
            self.made.append(name)
        known = self.made + ["h", "c"]
        for i in range(self.pick.randint(self.gates, 2 * self.gates)):
            a, b, op = self.pick.choice(known), self.made[i % self.gates], self.pick.choice(list(BINARY))
            self.bind(f"m{i}", f"{op}(%{a}, %{b})", lambda v, a=a, b=b, op=op: BINARY[op](v[a], v[b]))
            known.append(f"m{i}")
        if self.pick.random() < 0.3:
            self.bind("z", f"sum(%{known[-1]}, axis=[1], keepdims=True)", lambda v, a=known[-1]: v[a].sum(1, keepdims=True))
            self.bind("m", f"subtract(%{known[-1]}, tanh(%z))", lambda v, a=known[-1]: v[a] - numpy.tanh(v["z"]))
            known.append("m")
        self.made = known[-2:]

    def text(self):
        n, count = self.gates * self.width, self.gates * self.width**2
        state = f"Tensor[({self.rows}, {self.width}), {self.dtype}]"
        steps = f"Tensor[({STEPS}, {self.rows}, {n}), {self.dtype}]"
        lines, now = [], {}
        for i, line in enumerate(self.lines):  # each name is bound once
            name, right = line.split(" = ", 1)
            for old, new in now.items():
                right = right.replace(f"%{old},", f"%{new},").replace(f"%{old})", f"%{new})")
            now[name] = f"{name}_{i}"
            lines.append(f"        %{now[name]} = {right};\n")
        return (f'#[version = "baton 0.1"]\n\ndef @loop(%x: {steps}, %i: int64, %h: {state}, %c: {state}) -> ({state}, {state}) {{\n'
                f"    if (less(%i, {STEPS}i64)) {{\n"
                f'        %a = cast(arange(0i64, {count}i64, 1i64, dtype="int64"), dtype="{self.dtype}");\n'
                f"        %w = reshape(sin(%a), newshape=[{n}, {self.width}]);\n" + "".join(lines) +
                f"        @loop(%x, add(%i, 1i64), %{now['h']}, %{now['c']})\n    }} else {{\n        (%h, %c)\n    }}\n}}\n\n"
                f"def @main(%x: {steps}, %h: {state}) {{\n    @loop(%x, 0i64, %h, negative(%h))\n}}\n")

    def inputs(self):
        draw = numpy.random.default_rng(self.pick.randrange(1 << 30))
        n = self.gates * self.width
        shapes = {"x": (STEPS, self.rows, n), "h": (self.rows, self.width)}
        return {name: draw.uniform(-1, 1, shape).astype(self.dtype) for name, shape in shapes.items()}

    def expected(self, x, h):
        n = self.gates * self.width
        v = {"w": numpy.sin(numpy.arange(n * self.width, dtype=self.dtype)).astype("float64").reshape(n, self.width),
             "x": x.astype("float64"), "h": h.astype("float64"), "c": -h.astype("float64")}
        for v["i"] in range(STEPS):
            for name, work in self.work:
                v[name] = work(v)
        return v["h"], v["c"]


def differs(results, expected):
    for (name, got), wanted in zip(results.items(), expected, strict=True):
        if not numpy.allclose(got, wanted, rtol=2e-3, atol=2e-3):
            return f"{name} differs by {numpy.abs(got - wanted).max():.3g}"
    return None


class Check(kit.Check):
    def check(self, number):
        cell = Cell(number)
        inputs, isa, threads = cell.inputs(), self.isa_here(cell.pick.choice(["portable", "avx2", "avx512"])), cell.pick.choice([1, 2, 3])
        way = cell.pick.choice(WAYS)
        self.write(cell.text())
        results = self.results("program.baton", "--target", f"cpu{{threads={threads}}}", *way, *kit.save(inputs), BATON_CPU=isa)
        fault = results if isinstance(results, str) else differs(results, cell.expected(**inputs))
        if fault:
            what = f"{cell.gates} gates of {cell.width}, {cell.rows} rows, {cell.dtype}, {isa}, {threads} threads, {' '.join(way)}"
            self.fault(number, f"{what}\n{fault}")


check = Check()
check.check_in_folder()
print(f"{len(check.numbers)} cells, {check.nfault} give something else")
sys.exit(check.nfault > 0)
