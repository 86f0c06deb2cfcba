"""Random concatenations, whose parts are computed where the result has them, against the interpreter: parts.py BATON FIRST COUNT [aot]

A program computes tensors one by one of those before: by one elementwise operator, sorted, as a slice, a view, or one after the other along any
axis, inputs, constants and one tensor twice among them. Each operator is a kernel of its own, or all are computed together as usual. Some
tensors are results, or stay in use for long. By executors graph and vm, with shared memory and without, and by aot where it can be run, it
gives the bits that interp gives.
"""
import random
import sys

import kit

numpy = kit.import_numpy()

DTYPES = ["float32", "float32", "int8", "float64", "bool", "float16"]
ALONE = ["--fuse", "fuse-ops{max-ops=1}"]


class Program:
    def __init__(self, number):
        self.pick = random.Random(number)
        self.dtype = self.pick.choice(DTYPES)
        rank = self.pick.choice([1, 2, 3, 4])
        # where all axes before one are 1, parts along it lie one after the other; multiples of 64 bytes are aligned
        self.axis = self.pick.randrange(rank)
        step = self.pick.choice([16, 64, 64, 64, 64])
        self.rest = [1] * self.axis, [self.pick.choice([1, 2, 4]) for _ in range(rank - self.axis - 1)]
        if self.axis and self.pick.random() < 0.15:
            self.rest[0][0] = 2
        self.inputs = {f"x{i}": self.pick.choice([step, step, 2 * step, 2 * step, 5]) for i in range(2)}
        self.sizes, self.lines = dict(self.inputs), []
        for name in self.inputs:  # most parts are no inputs
            self.bind(self.map(name), self.inputs[name])
        for _ in range(self.pick.choice([4, 9, 20])):
            self.add()

    def shape(self, size):
        return [*self.rest[0], size, *self.rest[1]]

    def value(self):
        """Any tensor so far; the last ones are read more often."""
        return self.pick.choice(list(self.sizes)[-self.pick.choice([2, 4, 40]):])

    def map(self, of):
        if self.dtype == "bool":
            return f"logical_not(%{of})"
        return self.pick.choice([f"nn.relu(%{of})", f"add(%{of}, %{of})"] + 4 * [f"sort(%{of}, axis={self.axis})"])

    def add(self):
        of, way = self.value(), self.pick.random()
        size = self.sizes[of]
        if way < 0.45:
            text = self.map(of)
        elif way < 0.57 and size > 1:
            count = self.pick.choice([size // 2, size // 2, max(size // 4, 1), self.pick.randint(1, size)])
            begin = self.pick.choice([0, size // 2, size - count, self.pick.randint(0, size - count)])
            begin = min(begin, size - count)
            text = (f"strided_slice(%{of}, begin={[0] * self.axis + [begin]}, end={[9] * self.axis + [begin + count]}, "
                    f"axes={list(range(self.axis + 1))})")
            size = count
        elif way < 0.62:
            text = f"reshape(reshape(%{of}, newshape=[-1]), newshape={self.shape(size)})"
        else:
            made = [name for name in self.sizes if name not in self.inputs][-4:]
            parts = [f"%{name}" for name in self.pick.sample(made, self.pick.choice([2, 2, min(3, len(made))]))]
            if self.pick.random() < 0.2:
                parts.append(f"%{of}")
            size = sum(self.sizes[part[1:]] for part in parts)
            if self.pick.random() < 0.1:
                parts.append(f'ones(shape={self.shape(16)}, dtype="{self.dtype}")')
                size += 16
            self.pick.shuffle(parts)
            text = f"concatenate(({', '.join(parts)}), axis={self.axis})"
        self.bind(text, size)

    def bind(self, text, size):
        if size < 4000:
            self.sizes[f"v{len(self.lines)}"] = size
            self.lines.append(f"    %v{len(self.lines)} = {text};\n")

    def text(self):
        params = ", ".join(f"%{name}: Tensor[({', '.join(map(str, self.shape(size)))},), {self.dtype}]" for name, size in self.inputs.items())
        last = f"v{len(self.lines) - 1}"
        results = [self.map(last)] + [f"%{self.value()}" for _ in range(self.pick.choice([0, 0, 0, 1, 2]))]
        return f'#[version = "baton 0.1"]\n\ndef @main({params}) {{\n{"".join(self.lines)}    ({", ".join(results)},)\n}}\n'

    def values(self):
        make = numpy.random.default_rng(self.pick.randrange(1 << 30))
        return {name: make.integers(-9, 9, self.shape(size)).astype(self.dtype) for name, size in self.inputs.items()}


class Parts(kit.Check):
    def __init__(self):
        super().__init__()
        ways = [["--executor", executor, "--target", target, *words] for executor, target in (("graph", "cpu"), ("vm", "reference"))
                for words in ([], ALONE, [*ALONE, "--plan", ""])]
        self.ways = ways + ([["--executor", "written", "--no-specialise"]] if "aot" in sys.argv else [])

    def check(self, number):
        program = Program(number)
        self.write(program.text())
        inputs = kit.save(program.values())
        expected = self.results("program.baton", "--executor", "interp", "--passes", "", *inputs)
        if isinstance(expected, str):
            return self.fault(number, expected)
        for way in self.ways:
            found = self.results("program.baton", *way, *inputs)
            if isinstance(found, str):
                self.fault(number, f"{' '.join(way)}\n{found}")
            elif [(name, value.tobytes()) for name, value in found.items()] != [(name, value.tobytes()) for name, value in expected.items()]:
                self.fault(number, f"{' '.join(way)}: other bits than interp gives")


check = Parts()
check.check_in_folder()
sys.exit(check.nfault > 0)
