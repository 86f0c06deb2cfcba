"""Packed elements by every executor: packed.py BATON FIRST COUNT [WAY]...

Number k is type k of TYPES. Operators on all pairs of codes, and casts of integers, ties, neighbours of ties, what is beyond, NaN
and every 65,521st float32, must be the exact value wrapped, saturated or rounded once, by fractions; so must what moves elements
between rows of odd lengths. Bytes are compared, the last one whole.
"""
import base64
import fractions
import math
import pathlib
import sys

import kit

numpy = kit.import_numpy()
try:
    import ml_dtypes
except ImportError as error:
    print(f"skipped: {error}; see tests/requirements.txt")
    sys.exit(77)

TYPES = ["int4", "uint4", "int2", "uint2", "float4_e2m1fn"]
SUFFIXES = ["i4", "u4", "i2", "u2", "f4e2m1fn"]
FLOAT4 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
WAYS = {
    "interp": ["--executor", "interp", "--passes", ""],
    "graph": ["--target", "cpu{threads=1}", "--executor", "graph"],
    "vm": ["--target", "cpu", "--executor", "vm"],
    "c": ["--target", "c", "--executor", "graph"],
    "aot": ["--executor", "written"],
}


class Format:
    """All codes of a type as exact numbers; -0 is a number of its own, so floats are Python's."""

    def __init__(self, name):
        self.name, self.is_float = name, name.startswith("float")
        self.bits = int(name.strip("uintfloa_").split("_")[0])
        self.ncode = 1 << self.bits
        self.low = -(self.ncode // 2) if name.startswith("int") else 0
        if self.is_float:
            self.values = FLOAT4 + [-x for x in FLOAT4]
            self.values[8] = -0.0
        else:
            self.values = [(code - self.low) % self.ncode + self.low for code in range(self.ncode)]

    def code(self, exact):
        """Of an integer, which wraps, or of a number or infinity that is rounded once."""
        if not self.is_float:
            return exact % self.ncode
        if math.isnan(exact):
            return 7
        sign = 8 if math.copysign(1, exact) < 0 else 0
        if math.isinf(exact) or abs(exact) >= 6:
            return sign | 7
        size = abs(fractions.Fraction(exact))
        best = min(range(8), key=lambda k: (abs(fractions.Fraction(FLOAT4[k]) - size), k % 2))
        return sign | best

    def saturated(self, x):
        """Of a float that becomes an integer."""
        if math.isnan(x):
            return 0
        return min(max(x if math.isinf(x) else math.trunc(x), self.low), self.low + self.ncode - 1) % self.ncode


def packed(codes, bits):
    """Bytes, the first element in the lowest bits, the bits behind the last one 0."""
    each = 8 // bits
    data = numpy.zeros(-(-len(codes) // each), numpy.uint8)
    for k in range(each):
        part = numpy.asarray(codes[k::each], numpy.uint8)
        data[:len(part)] |= part << (k * bits)
    return data


def text_of(name, array):
    data = base64.b64encode(array[1].tobytes()).decode()
    shape = array[0] if isinstance(array[0], str) else f"({array[0]})"
    return f'const[{shape}, {name}]{{"{data}"}}'


def truncated(a, b):
    return 0 if b == 0 else int(math.copysign(abs(a) // abs(b), a * b)) if a * b else 0


INTEGER = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b, "divide": truncated,
    "maximum": max, "minimum": min, "bitwise_and": lambda a, b: a & b, "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b, "floor_divide": lambda a, b: a // b if b else 0,
    "left_shift": lambda a, b: a << b if 0 <= b else 0, "right_shift": lambda a, b: a >> b if 0 <= b else (-1 if a < 0 else 0),
}


def float_product(a, b):
    return float(fractions.Fraction(a) * fractions.Fraction(b)) if a and b else a * b


FLOAT = {"add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": float_product}


class Check(kit.Check):
    def __init__(self):
        super().__init__()
        self.ways, self.nsame = sys.argv[4:] or list(WAYS), 0

    def check(self, number):
        form, suffix = Format(TYPES[number]), SUFFIXES[number]
        n = form.ncode
        left, right = [i // n for i in range(n * n)], [i % n for i in range(n * n)]
        bound, wanted, given = [], {}, {}

        def give(name, dtype, dims, data):
            given[name] = (dtype, dims, data)

        def bind(name, text, dtype, data):
            bound.append(f"    let %{name} = {text};\n")
            wanted[name] = (dtype, data)

        give("x", form.name, n * n, packed(left, form.bits))
        give("y", form.name, n * n, packed(right, form.bits))
        operators = FLOAT if form.is_float else INTEGER
        for op, exact in operators.items():
            bind(op, f"{op}(%x, %y)", form.name,
                 packed([form.code(exact(form.values[a], form.values[b])) for a, b in zip(left, right)], form.bits))
        for op in ["negative", "abs"]:
            exact = abs if op == "abs" else lambda a: -a
            bind(op, f"{op}(%x)", form.name, packed([form.code(exact(form.values[a])) for a in left], form.bits))
        bind("less", "less(%x, %y)", "bool", numpy.array([form.values[a] < form.values[b] for a, b in zip(left, right)]))
        self.casts(form, give, bind)
        self.moves(form, give, bind)
        literals = ", ".join(("-" if math.copysign(1, v) < 0 else "") + repr(abs(v)) for v in form.values)
        bind("literals", f"copy(const[({n}), {form.name}]{{{literals}}})", form.name, packed(range(n), form.bits))
        head = ""
        for name, (dtype, dims, data) in given.items():  # so that nothing is computed before the program runs
            head += f"    let %{name}_ = {text_of(dtype, (dims, data))};\n    let %{name} = where(%c, %{name}_, %{name}_);\n"
        plain = dict(wanted)
        for way in self.ways:
            # executor graph has no branches; with one a program is one of values, which keep what is packed as objects
            branch = "" if "graph" in WAYS[way] else "    let %branch = if (%c) { %back5 } else { reshape(%flat5, newshape=[3, 5]) };\n"
            wanted = {**plain, **({"branch": plain["back5"]} if branch else {})}
            last = "" if way == "aot" and branch else f", {literal(form.values[-1], suffix)}"  # aot has no packed scalars there
            self.write('#[version = "baton 0.1"]\n\ndef @main(%c: bool) {\n' + head + "".join(bound) + branch
                       + f"    ({', '.join('%' + name for name in wanted)}{last})\n}}\n")
            self.read_back(number)
            found = self.results("program.baton", *WAYS[way], "-i", "c=True")
            if isinstance(found, str):
                self.fault(number, f"{way}: {found}")
            else:
                self.compare(number, f"{form.name}, {way}", found, wanted)

    def casts(self, form, give, bind):
        sizes = numpy.array(FLOAT4 + [8, 14, 15, 16, 100], float)
        ties = (sizes[:-1] + sizes[1:]) / 2
        some = numpy.concatenate([sizes, ties, numpy.nextafter(ties, 0), numpy.nextafter(ties, math.inf),
                                  [1e-300, 1e300, math.inf, math.nan, 3e38, 65504, 2.0**40]])
        wide = numpy.concatenate([some, -some])
        every = numpy.arange(0, 1 << 32, 65521, dtype=numpy.uint64).astype(numpy.uint32).view(numpy.float32)
        with numpy.errstate(all="ignore"):
            sources = {"float64": wide, "float32": numpy.concatenate([wide.astype(numpy.float32), every]),
                       "float16": wide.astype(numpy.float16), "bfloat16": wide.astype(ml_dtypes.bfloat16),
                       "int16": numpy.arange(-300, 301, dtype=numpy.int16), "uint8": numpy.arange(255, dtype=numpy.uint8),
                       "int64": numpy.array([2**53 + 1, -(2**63), 2**62, -3, 5]), "bool": numpy.array([True, False, True])}
        for source, values in sources.items():
            give(source, source, len(values), values)
            exact = [float(v) if values.dtype.kind in "fV" or source == "bfloat16" else int(v) for v in values]
            of = form.saturated if isinstance(exact[0], float) and not form.is_float else form.code
            bind(f"from_{source}", f'cast(%{source}, dtype="{form.name}")', form.name, packed([of(v) for v in exact], form.bits))
        give("codes", form.name, form.ncode, packed(range(form.ncode), form.bits))
        for to in ["float32", "float16", "bfloat16", "float64", "int8", "int64", "bool", "float8_e4m3fn"]:
            kind = getattr(ml_dtypes, to, None) or numpy.dtype(to)
            bind(f"to_{to}", f'cast(%codes, dtype="{to}")', to, numpy.array(form.values, float).astype(kind))
        for to in TYPES:
            if to != form.name:
                other = Format(to)
                of = other.saturated if form.is_float and not other.is_float else other.code
                bind(f"to_{to}", f'cast(%codes, dtype="{to}")', to, packed([of(v) for v in form.values], other.bits))

    def moves(self, form, give, bind):
        """Rows of 5 and of 8 elements, in whose bytes other rows begin or do not."""
        for m in 5, 8:
            codes = (numpy.arange(3 * m) * 7 + 3) % form.ncode
            rows = codes.reshape(3, m)
            values = numpy.array(form.values)[rows]
            name = f"rows{m}"
            give(name, form.name, f"(3, {m})", packed(codes, form.bits))
            for what, text, result in [
                ("transposed", f"transpose(%{name})", rows.T), ("cut", f"strided_slice(%{name}, begin=[1, 1], end=[3, 4])", rows[1:3, 1:4]),
                ("back", f"reverse(%{name}, axis=1)", rows[:, ::-1]), ("joined", f"concatenate((%{name}, %{name}), axis=0)", numpy.concatenate([rows, rows])),
                ("beside", f"concatenate((%{name}, %{name}), axis=1)", numpy.concatenate([rows, rows], 1)),
                ("taken", f"take(%{name}, const[(2), int32]{{2, 0}}, axis=0)", rows[[2, 0]]),
                ("flat", f"reshape(%{name}, newshape=[-1])", rows.reshape(-1)), ("tiled", f"tile(%{name}, reps=[1, 3])", numpy.tile(rows, (1, 3))),
                ("padded", f"nn.pad(%{name}, pad_width=[[0, 1], [1, 0]])", numpy.pad(rows, ((0, 1), (1, 0)))),
            ]:
                bind(f"{what}{m}", text, form.name, packed(result.reshape(-1), form.bits))
            if not form.is_float:
                sums = [form.code(int(sum(int(v) for v in row))) for row in values]
                bind(f"sum{m}", f"sum(%{name}, axis=[1])", form.name, packed(sums, form.bits))
                bind(f"most{m}", f"max(%{name}, axis=[0])", form.name, packed(values.max(0) % form.ncode, form.bits))
                product = values.astype(int) @ values.astype(int).T
                bind(f"dense{m}", f'nn.dense(%{name}, %{name}, out_dtype="int32")', "int32", product.astype(numpy.int32))
                bind(f"argmax{m}", f"argmax(%{name}, axis=[1])", "int32", values.argmax(1).astype(numpy.int32))

    def read_back(self, number):
        printed = self.run("opt", "program.baton", "--passes", "")
        pathlib.Path("again.baton").write_text(printed.stdout)
        again = self.run("opt", "again.baton", "--passes", "")
        if printed.returncode or again.stdout != printed.stdout:
            self.fault(number, f"does not read back: {printed.stderr}{again.stderr}")

    def compare(self, number, where, found, wanted):
        for name, (dtype, want) in wanted.items():
            got = found[name]
            if dtype in TYPES or dtype == "float8_e4m3fn" or dtype == "bfloat16":
                same = got.tobytes() == want.tobytes()
            else:
                same = got.dtype == want.dtype and numpy.array_equal(got, want)
            self.nsame += got.size
            if not same:
                self.fault(number, f"{where}: {name}: {got.reshape(-1)[:8]}, not {want.reshape(-1)[:8]}")


def literal(value, suffix):
    return f"{'-' * (math.copysign(1, value) < 0)}{abs(value)!r}{suffix}"


check = Check()
check.check_in_folder()
print(f"{check.nsame} elements compared, {check.nfault} faults")
sys.exit(check.nfault > 0 or check.nsame == 0)
