"""Random programs with two open dims: open.py BATON FIRST COUNT

Each is compiled once, for cpu, c or reference, and run with several sizes; it must give what the interpreter gives, and refuse sizes outside
the ranges as that does. Of cpu it must give the bits that the program with numbers in place of the dims gives, where cpu computes all of
it, and no size is 1, which makes some sums others (targets/cpu/README.md). Shapes are sums a*n + b*m + c + d*n*n + e*n*m, known to the maker of programs, so that inputs can be given by size. A program
that the compiler refuses with exit 1 is counted; most must compile. The program of a number is the same on every run.
"""
import collections
import pathlib
import random
import shutil
import sys

import kit

LEAST, MOST = 1, 24


class Dim(collections.namedtuple("Dim", "n m c nn nm", defaults=(0, 0))):
    def plus(self, other):
        return Dim(*(a + b for a, b in zip(self, other)))

    def times(self, k):
        return Dim(*(a * k for a in self))

    def at(self, n, m):
        return self.n * n + self.m * m + self.c + self.nn * n * n + self.nm * n * m

    def is_number(self):
        return self == (0, 0, self.c, 0, 0)

    def __str__(self):
        terms = [f"{k}*{name}" for k, name in ((self.n, "n"), (self.m, "m"), (self.nn, "n*n"), (self.nm, "n*m")) if k]
        return " + ".join(terms + ([str(self.c)] if self.c or not terms else []))


ONE, TWO, N, M = Dim(0, 0, 1), Dim(0, 0, 2), Dim(1, 0, 0), Dim(0, 1, 0)


def put(shape, axis, *dims):
    return shape[:axis] + dims + shape[axis + 1:]


class Program:
    """A chain of calls: `value` is the last result."""

    def __init__(self, number):
        self.pick = random.Random(number)
        self.inputs, self.lines = [], []
        self.value, self.shape = self.input((N, self.dim())), self.inputs[0][1]
        self.input((M,))  # so that every dim is shown by an input
        while len(self.lines) < self.pick.choice([1, 2, 4, 6]):
            self.step()

    def dim(self):
        return self.pick.choice([N, N, M, M, Dim(2, 0, 0), Dim(1, 0, 1), Dim(1, 1, 0), Dim(0, 2, 1),
                                 Dim(0, 0, 0, 1, 0), Dim(0, 0, 0, 0, 1)] +
                                [Dim(0, 0, c) for c in (1, 2, 3, 7, 8, 17)])

    def input(self, shape, dtype="float32"):
        name = f"x{len(self.inputs)}"
        self.inputs.append((name, shape, dtype))
        return "%" + name

    def step(self):
        made = self.pick.choice(MAKERS)(self, self.value, self.shape, self.pick.randrange(len(self.shape)))
        if made and 0 < len(made[1]) < 5:
            self.lines.append(f"%v{len(self.lines)} = {made[0]};")
            self.value, self.shape = f"%v{len(self.lines) - 1}", made[1]

    def text(self):
        params = ", ".join(f"%{name}: Tensor[({', '.join(map(str, shape))}), {dtype}]" for name, shape, dtype in self.inputs)
        body = "\n    ".join(self.lines + [f"{self.value}"])
        return f'#[version = "baton 0.1"]\ndef @main<n: Dim in {LEAST}..{MOST}, m: Dim in {LEAST}..{MOST}>({params}) {{\n    {body}\n}}\n'

    def words(self, n, m):
        for i, (name, shape, dtype) in enumerate(self.inputs):
            yield "-i"
            yield f"{name}={'x'.join(str(d.at(n, m)) for d in shape)}x{dtype}=random:{i + 1}"


# Each gives a call of value `v`, and its shape; None: it does not apply.

def elementwise(p, v, shape, axis):
    return f"{p.pick.choice(['tanh', 'nn.relu', 'sigmoid', 'negative', 'floor'])}({v})", shape


def binary(p, v, shape, axis):
    other = p.input(tuple(p.pick.choice([d, ONE]) for d in shape[axis:]))
    return f"{p.pick.choice(['add', 'multiply', 'subtract', 'maximum'])}({v}, {other})", shape


def choose(p, v, shape, axis):
    other = p.input(shape)
    return f"where(greater({v}, {other}), {v}, {other})", shape


def join(p, v, shape, axis):
    other = p.dim()
    return f"concatenate(({v}, {p.input(put(shape, axis, other))}, {v}), axis={axis})", put(shape, axis, shape[axis].times(2).plus(other))


def drop_first(p, v, shape, axis):
    if shape[axis].at(1, 1) < 2:
        return None
    return f"strided_slice({v}, begin=[1], end=[1000000000], axes=[{axis}])", put(shape, axis, shape[axis].plus(Dim(0, 0, -1)))


def reverse(p, v, shape, axis):
    return f"reverse({v}, axis={axis})", shape


def transpose(p, v, shape, axis):
    axes = p.pick.sample(range(len(shape)), len(shape))
    return f"transpose({v}, axes={axes})", tuple(shape[i] for i in axes)


def dense(p, v, shape, axis):
    units = p.dim()
    return f"nn.dense({v}, {p.input((units, shape[-1]))})", shape[:-1] + (units,)


def softmax(p, v, shape, axis):
    return f"nn.softmax({v}, axis={axis})", shape


def reduce(p, v, shape, axis):
    name = p.pick.choice(["sum", "max", "mean", "min"])
    if len(shape) == 1 or p.pick.random() < 0.5:
        return f"{name}({v}, axis=[{axis}], keepdims=True)", put(shape, axis, ONE)
    return f"{name}({v}, axis=[{axis}])", put(shape, axis)


def take(p, v, shape, axis):
    count = p.dim()
    return f'take({v}, {p.input((count,), "int32")}, axis={axis}, mode="clip")', put(shape, axis, count)


def pad(p, v, shape, axis):
    before, after = p.pick.choice([(0, 1), (1, 1), (2, 3)])
    width = [[0, 0] for _ in shape]
    width[axis] = [before, after]
    return f"nn.pad({v}, pad_width={width})", put(shape, axis, shape[axis].plus(Dim(0, 0, before + after)))


def tile(p, v, shape, axis):
    reps = [2 if i == axis else 1 for i in range(len(shape))]
    return f"tile({v}, reps={reps})", put(shape, axis, shape[axis].times(2))


def repeat(p, v, shape, axis):
    return f"repeat({v}, repeats=3, axis={axis})", put(shape, axis, shape[axis].times(3))


def stack(p, v, shape, axis):
    return f"stack(({v}, {v}), axis={axis})", shape[:axis] + (TWO,) + shape[axis:]


def merge(p, v, shape, axis):
    if axis + 1 == len(shape) or not (shape[axis].is_number() or shape[axis + 1].is_number()):
        return None
    number, other = sorted(shape[axis:axis + 2], key=lambda d: not d.is_number())
    merged = shape[:axis] + (other.times(number.c),) + shape[axis + 2:]
    return f"reshape({v}, newshape=[{', '.join(map(str, merged))}])", merged


def running_sum(p, v, shape, axis):
    return f"cumsum({v}, axis={axis})", shape


def squares(p, v, shape, axis):
    return f"sum(multiply({v}, {v}), axis=[-1], keepdims=True)", put(shape, len(shape) - 1, ONE)


def layer_norm(p, v, shape, axis):
    return f"nn.layer_norm({v}, {p.input((shape[axis],))}, {p.input((shape[axis],))}, axis={axis}, epsilon=0.1)", shape


def instance_norm(p, v, shape, axis):
    if len(shape) < 3:
        return None
    return f"nn.instance_norm({v}, {p.input((shape[1],))}, {p.input((shape[1],))}, epsilon=0.1)", shape


def conv1d(p, v, shape, axis):
    if len(shape) != 3 or shape[2].at(2, 2) < 4:  # it fits more than once
        return None
    rows = p.dim()
    return f"nn.conv1d({v}, {p.input((rows, shape[1], TWO))}, padding=1)", (shape[0], rows, shape[2].plus(ONE))


MAKERS = [elementwise, binary, choose, join, drop_first, reverse, transpose, dense, softmax, reduce, take, pad, tile, repeat, stack, merge,
          running_sum, squares, layer_norm, instance_norm, conv1d, conv1d]


class Check(kit.Check):
    def __init__(self):
        super().__init__()
        self.ncompiled, self.nrun, self.nsame = 0, 0, 0

    def outcome(self, *words):
        """The exit code of a run of baton, and its errors."""
        done = self.run(*words)
        return done.returncode, done.stderr

    def check_all(self):
        self.check_squares()
        super().check_all()

    def check(self, number):
        program = Program(number)
        for folder in "found", "known", "expected":  # outputs of another program may have other names
            shutil.rmtree(folder, ignore_errors=True)
        target = {0: "reference", 1: "c"}.get(number % 4, "cpu")
        self.write(program.text())
        code, said = self.outcome("compile", "program.baton", "--target", target, "-o", "p.bta")
        if code:
            if code != 1 or "not computed by a primitive function" not in said:
                self.fault(number, f"compile: exit {code}\n{said}")
            return
        self.ncompiled += 1
        is_whole = target == "cpu" and "to the evaluator" not in said
        sizes = [(LEAST, LEAST), (MOST, LEAST), (program.pick.randrange(2, MOST), program.pick.randrange(2, MOST)), (MOST + 1, 1)]
        for n, m in sizes:
            words = list(program.words(n, m))
            wanted, reason = self.outcome("run", "program.baton", "--no-specialise", "--executor", "interp", *words, "-o", "expected")
            code, said = self.outcome("run", "p.bta", *words, "-o", "found")
            self.nrun += 1
            if code != wanted or wanted != (n > MOST):
                self.fault(number, f"n={n}, m={m}: exit {code}, the interpreter's is {wanted}\n{said}{reason}")
            elif not code:
                code, said = self.outcome("compare", "found", "expected")
                if code:
                    self.fault(number, f"n={n}, m={m}: other values than the interpreter's\n{said}")
                if is_whole and min(n, m) > 1:
                    self.compare_known(number, n, m, words)

    def check_squares(self):
        """Few rows show in their last bits how their terms are rounded: many sums of few terms, of any number of them."""
        for rows in "n", "n*m", "n*m + n":
            self.write('#[version = "baton 0.1"]\ndef @main<n: Dim, m: Dim>'
                       f"(%x: Tensor[({rows}, m), float32], %y: Tensor[(n), float32]) {{\n    sum(multiply(%x, %x), axis=[1])\n}}\n")
            self.run("compile", "program.baton", "-o", "p.bta")
            for n, m in (500, 5), (300, 16), (300, 17):
                words = ["-i", f"x={eval(rows)}x{m}xfloat32=random:1", "-i", f"y={n}xfloat32=random:2"]
                code, said = self.outcome("run", "p.bta", *words, "-o", "found")
                if code:
                    self.fault(f"of squares of {rows} rows", f"exit {code}\n{said}")
                else:
                    self.compare_known(f"of squares of {rows} rows", n, m, words)

    def compare_known(self, number, n, m, words):
        code, said = self.outcome("compile", "program.baton", "--dim", f"n={n}", "--dim", f"m={m}", "-o", "known.bta")
        if not code:
            code, said = self.outcome("run", "known.bta", *words, "-o", "known")
        self.nsame += 1
        if code:
            self.fault(number, f"n={n}, m={m} as numbers: exit {code}\n{said}")
        elif files("found") != files("known"):
            self.fault(number, f"n={n}, m={m}: other bits than with numbers")


def files(folder):
    return {path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir()}


check = Check()
check.check_in_folder()
nprogram = len(check.numbers)
print(f"{check.ncompiled} of {nprogram} programs compiled, {check.nrun} runs, {check.nsame} compared with numbers, {check.nfault} faults")
sys.exit(check.nfault > 0 or 2 * check.ncompiled < nprogram or check.nsame == 0)
