"""Functions whose dims are open, and may broadcast, in a batch: batch_dims.py BATON FIRST COUNT

A number draws a function of one example, of sums, products, maxima and moves of tensors whose dims are named, which inputs differ by
example and along which axis. vmap of it, or of its gradient, must give for each of three examples what NumPy gives, or what the gradient
of one example does; where sizes do not fit for one example they must not fit for all. All values are small integers, so that every order
of a sum gives the same bits.
"""
import random
import sys

import kit

numpy = kit.import_numpy()

NEXAMPLE, NAMES = 3, "abc"
REFUSED = "beside what is computed, a dim is broadcast only where the compiler knows that it is 1"
BINARY = {"add": numpy.add, "subtract": numpy.subtract, "multiply": numpy.multiply, "maximum": numpy.maximum}


class Program:
    def __init__(self, number):
        self.pick = random.Random(number)
        pick, draw = self.pick, numpy.random.default_rng(number)
        sizes = {name: pick.choice([1, 2, 2, 3]) for name in NAMES}
        self.inputs = [[pick.choice(["a", "a", "b", "b", "c", "1"]) for _ in range(pick.choice([0, 1, 1, 2, 2, 3]))] for _ in range(pick.randint(1, 3))]
        self.axes = [pick.randint(0, len(dims)) if pick.random() < 0.6 else -1 for dims in self.inputs]
        if max(self.axes) < 0:
            self.axes[0] = 0
        shape, text = self.tree(3)
        self.is_gradient = number % 3 == 0
        used = [name for name in NAMES if any(name in dims for dims in self.inputs)]
        params = [self.params(dims, -1) for dims in self.inputs]
        one = f"{self.vars(used)}({', '.join(f'%x{i}: {p}' for i, p in enumerate(params))})"
        args = ", ".join(f"%x{i}" for i in range(len(params)))
        self.text = f'#[version = "baton 0.1"]\n\ndef @one{one} {{ {text} }}\n'
        if self.is_gradient:
            self.text += f"def @loss{one} -> float64 {{ sum(@one({args})) }}\ngradient @slope = @loss(wrt=[{', '.join(map(str, range(len(params))))}]);\n"
        of = "@slope" if self.is_gradient else "@one"
        params = [self.params(dims, axis) for dims, axis in zip(self.inputs, self.axes)]
        self.text += (f"def @main{self.vars(['n', *used])}({', '.join(f'%x{i}: {p}' for i, p in enumerate(params))}) {{\n"
                      f"    vmap({of}, {args}, axes=[{', '.join(map(str, self.axes))}])\n}}\n")
        self.given = {}
        for i, (dims, axis) in enumerate(zip(self.inputs, self.axes)):
            shape = [sizes.get(name, 1) for name in dims]
            shape[axis:axis] = [NEXAMPLE] if axis >= 0 else []
            self.given[f"x{i}"] = draw.integers(-3, 4, shape).astype("float64")

    def vars(self, names):
        return f"<{', '.join(f'{name}: Dim' for name in names)}>" if names else ""

    def params(self, dims, axis):
        dims = [*dims[:axis], "n", *dims[axis:]] if axis >= 0 else dims
        return f"Tensor[({', '.join(dims)}), float64]" if dims else "float64"

    def tree(self, depth):
        """Its rank and text. How it is computed is in the text alone: NumPy evaluates it by the names of calls."""
        pick = self.pick
        if depth == 0 or pick.random() < 0.15:
            i = pick.randrange(len(self.inputs))
            return len(self.inputs[i]), f"%x{i}"
        rank, text = self.tree(depth - 1)
        kind = pick.random()
        if kind < 0.65:
            other, second = self.tree(depth - 1)
            return max(rank, other), f"{pick.choice(list(BINARY))}({text}, {second})"
        if kind < 0.75 and rank:
            keeps = pick.random() < 0.5
            return rank - (not keeps), f"sum({text}, axis=[{pick.randrange(rank)}], keepdims={keeps})"
        if kind < 0.85 and rank > 1:
            axes = pick.sample(range(rank), rank)
            return rank, f"transpose({text}, axes={axes})"
        if kind < 0.92 and rank < 4:
            return rank + 1, f"expand_dims({text}, axis={pick.randint(0, rank)})"
        if rank:
            other, second = self.tree(depth - 1)
            if other == rank:
                return rank, f"concatenate(({text}, {second}), axis={pick.randrange(rank)})"
        return rank, text

    def example(self, k):
        return {name: value if axis < 0 else numpy.take(value, k, axis)
                for (name, value), axis in zip(self.given.items(), self.axes)}


CALLS = {**BINARY, "sum": lambda x, axis, keepdims: x.sum(axis=tuple(axis), keepdims=keepdims), "transpose": lambda x, axes: x.transpose(axes),
         "expand_dims": numpy.expand_dims, "concatenate": lambda parts, axis: numpy.concatenate(parts, axis)}


class Check(kit.Check):
    def __init__(self):
        super().__init__()
        self.counts = {"values": 0, "gradients": 0, "sizes that do not fit": 0, "untyped": 0, "refused": 0}

    def wanted(self, program):
        """What each of the examples gives, in a row; None: their sizes do not fit."""
        rows = []
        for k in range(NEXAMPLE):
            example = program.example(k)
            if program.is_gradient:
                row = self.results("program.baton", "--entry", "slope", "--executor", "interp", *kit.save(example, ".one"))
                if isinstance(row, str):
                    return None
                rows.append([value for _, value in sorted(row.items())])
                continue
            text = program.text.split("{ ")[1].split(" }")[0].replace("%", "")
            try:
                rows.append([eval(text, CALLS, example)])
            except ValueError:
                return None
        return [numpy.stack(column) for column in zip(*rows)]

    def is_refused(self, program):
        """Whether a call of one example is, for a dim that is computed."""
        found = self.results("program.baton", "--entry", "one", "--executor", "interp", "--no-specialise", *kit.save(program.example(0), ".one"))
        return REFUSED in found

    def check(self, number):
        program = Program(number)
        self.write(program.text)
        typed = self.run("opt", "program.baton")
        if typed.returncode:
            self.counts["untyped"] += 1
            if typed.returncode != 1:
                self.fault(number, typed.stderr)
            return
        wanted = self.wanted(program)
        self.counts["sizes that do not fit" if wanted is None else "gradients" if program.is_gradient else "values"] += 1
        for way in [["--executor", "interp"], ["--executor", "vm", "--target", "cpu{threads=1}"], []]:
            found = self.results("program.baton", *way, *(["--no-specialise"] if way else []), *kit.save(program.given))
            if wanted is None:
                if not isinstance(found, str) or not found.startswith("fails"):
                    self.fault(number, f"{way}: sizes that do not fit for one example give {found}")
            elif isinstance(found, str) and self.is_refused(program):
                self.counts["refused"] += 1
            elif isinstance(found, str):
                self.fault(number, f"{way}: {found}")
            elif not all(numpy.array_equal(a, b) for a, b in zip([value for _, value in sorted(found.items())], wanted)):
                self.fault(number, f"{way}: {found}\nand is to be\n{wanted}")


check = Check()
check.check_in_folder()
print(", ".join(f"{count} {what}" for what, count in check.counts.items()))
