"""Elements that are moved and cast, but not computed with, by every executor: moved.py BATON FIRST COUNT [WAY]...

Number k is type k of TYPES. What moves elements must give the bits that NumPy gives, of files, constants and elements that were cast; a
cast to float8_e8m0fnu must give the power of two that integers say, by each way of rounding; constants and files are read back, bit for
bit; what computes is refused.
"""
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

TYPES = {"complex64": numpy.complex64, "complex128": numpy.complex128, "float8_e8m0fnu": numpy.uint8}
WAYS = {
    "interp": ["--executor", "interp", "--passes", ""],
    "reference": ["--target", "reference", "--executor", "graph"],
    "graph": ["--target", "cpu{threads=1}", "--executor", "graph"],
    "vm": ["--target", "cpu", "--executor", "vm"],
    "c": ["--target", "c", "--executor", "graph"],
    "aot": ["--executor", "written"],
}
HEAD = '#[version = "baton 0.1"]\n\n'
NAN = 255


def power_of_two(x, mode="nearest", saturate=True):
    """The code of a number: the exponent of the power of two below it, by integers, or of the next one."""
    if math.isnan(x) or x < 0:
        return NAN
    if x == 0 or math.isinf(x):
        return NAN if not saturate else 0 if x == 0 else 254
    size, exponent = fractions.Fraction(x), math.frexp(x)[1] - 1
    low = fractions.Fraction(2) ** exponent
    up = {"nearest": size >= low * 3 / 2, "up": size > low, "down": False}[mode]
    code = exponent + up + 127
    return code if 0 <= code <= 254 else NAN if not saturate else min(max(code, 0), 254)


def literal(value):
    """A complex number as constants have it."""
    def part(x, sign):
        return ("-" if math.copysign(1, x) < 0 and not math.isnan(x) else sign) + repr(abs(float(x)))
    return part(value.real, "") + part(value.imag, "+") + "j"


class Check(kit.Check):
    def __init__(self):
        super().__init__()
        self.ways, self.nsame = sys.argv[4:] or list(WAYS), 0

    def check(self, number):
        self.name = list(TYPES)[number]
        self.is_complex, kind = self.name.startswith("complex"), TYPES[self.name]
        draw = numpy.random.default_rng(number + 1)
        if self.is_complex:
            self.rows = (draw.standard_normal((3, 5)) + 1j * draw.standard_normal((3, 5))).astype(kind)
            self.rows[0, :4] = [complex(math.inf, -0.0), complex(-0.0, -math.inf), complex(0, math.nan), 1e-45 + 1e-320j]
        else:
            self.rows = draw.integers(0, 256, (3, 5)).astype(kind)
            self.rows[0, :3] = [0, NAN, 254]
        self.bound, self.wanted, self.given = [], {}, {"c": numpy.array(True), "rows": self.rows}
        self.head = f"%c: bool, %rows: Tensor[(3, 5), {self.name}]"
        self.moves()
        if self.is_complex:
            self.complex_casts(kind)
        else:
            self.power_casts()
        text = "".join(f"    let %{name} = {value};\n" for name, value in self.bound)
        self.refuse(number)
        for way in self.ways:
            # executor graph has no branches
            branch = "" if "graph" in WAYS[way] else "    let %branch = if (%c) { %transposed } else { reshape(%rows, newshape=[5, 3]) };\n"
            names = [*self.wanted, *(["branch"] if branch else [])]
            self.write(f"{HEAD}def @main({self.head}) {{\n{text}{branch}    ({', '.join('%' + name for name in names)})\n}}\n")
            self.read_back(number)
            found = self.results("program.baton", *WAYS[way], *kit.save(self.given))
            if isinstance(found, str):
                self.fault(number, f"{way}: {found}")
            else:
                self.compare(number, f"{self.name}, {way}", found)

    def bind(self, name, text, data):
        self.bound.append((name, text))
        self.wanted[name] = data

    def moves(self):
        rows, x = self.rows, "%rows"
        if self.is_complex:
            values = ", ".join(literal(v) for v in rows.reshape(-1))
        else:
            values = ", ".join("nan" if v == NAN else repr(math.ldexp(1, int(v) - 127)) for v in rows.reshape(-1))
        self.bind("literals", f"copy(const[(3, 5), {self.name}]{{{values}}})", rows)
        self.bind("one", f"reshape(take({x}, 7), newshape=[])", rows.reshape(-1)[7])
        zero = numpy.zeros((4, 6), rows.dtype)
        zero[:3, 1:] = rows
        taken = "const[(2), int32]{2, 0}"
        for what, text, result in [
            ("transposed", f"transpose({x})", rows.T), ("cut", f"strided_slice({x}, begin=[1, 1], end=[3, 4])", rows[1:3, 1:4]),
            ("stepped", f"strided_slice({x}, begin=[0, 4], end=[3, -6], strides=[2, -2])", rows[::2, ::-2]),
            ("back", f"reverse({x}, axis=1)", rows[:, ::-1]), ("joined", f"concatenate(({x}, %literals), axis=0)", numpy.concatenate([rows, rows])),
            ("beside", f"concatenate(({x}, {x}), axis=1)", numpy.concatenate([rows, rows], 1)),
            ("stacked", f"stack(({x}, {x}), axis=1)", numpy.stack([rows, rows], 1)),
            ("part", f"split({x}, indices_or_sections=[2], axis=1).1", rows[:, 2:]),
            ("taken", f"take({x}, {taken}, axis=0)", rows[[2, 0]]), ("flat", f"reshape({x}, newshape=[-1])", rows.reshape(-1)),
            ("gathered", f"gather({x}, const[(1, 2), int32]{{2, 0}}, axis=0)", rows[[[2, 0]], [[0, 1]]]),
            ("points", f"gather_nd({x}, const[(2, 2), int32]{{0, 2, 1, 4}})", rows[[0, 2], [1, 4]]),
            ("tiled", f"tile({x}, reps=[1, 3])", numpy.tile(rows, (1, 3))), ("repeated", f"repeat({x}, repeats=2, axis=0)", rows.repeat(2, 0)),
            ("spread", f"broadcast_to(expand_dims({x}, axis=0), shape=[2, 3, 5])", numpy.broadcast_to(rows, (2, 3, 5))),
            ("chosen", f"where(const[(5), bool]{{True, False, True, True, False}}, {x}, reverse({x}, axis=0))",
             numpy.where([True, False, True, True, False], rows, rows[::-1])),
            ("edge", f'nn.pad({x}, pad_width=[[0, 1], [1, 0]], pad_mode="edge")', numpy.pad(rows, ((0, 1), (1, 0)), "edge")),
            ("chain", f"transpose(concatenate((reverse({x}, axis=0), %literals), axis=1))", numpy.concatenate([rows[::-1], rows], 1).T),
            ("none", f"strided_slice({x}, begin=[3, 0], end=[3, 5])", rows[3:]),
        ]:
            self.bind(what, text, numpy.ascontiguousarray(result))
        if self.is_complex:  # of powers of two 0 is the least
            self.bind("padded", f"nn.pad({x}, pad_width=[[0, 1], [1, 0]])", zero)

    def complex_casts(self, kind):
        reals = numpy.array([1.5, -2, 0, math.inf, 1e30], numpy.float32)
        self.head += ", %reals: Tensor[(5), float32]"
        self.given["reals"] = reals
        self.bind("real", f'cast(%reals, dtype="{self.name}")', reals.astype(kind))
        other = numpy.complex128 if kind == numpy.complex64 else numpy.complex64
        with numpy.errstate(all="ignore"):
            self.bind("other", f'cast(strided_slice(%rows, begin=[1, 0], end=[3, 5]), dtype="{numpy.dtype(other)}")', self.rows[1:].astype(other))
        self.bind("ones", f'ones(shape=[2], dtype="{self.name}")', numpy.ones(2, kind))
        self.bind("filled", f'nn.pad(%rows, 2f, pad_width=[[0, 0], [0, 1]])', numpy.pad(self.rows, ((0, 0), (0, 1)), constant_values=2))

    def power_casts(self):
        """No denormals go in: that targets take them for 0 is another matter."""
        powers = [math.ldexp(1, e) for e in range(-126, 128)]
        wide = numpy.array(powers + [p * 1.5 for p in powers] + [math.nextafter(p * 1.5, 0) for p in powers] +
                           [math.nextafter(p, math.inf) for p in powers] + [0, -1, math.inf, math.nan, 1e-300, 1e300, 2.0**128, 2.0**-127, 2.0**-128,
                            0.75 * 2.0**-127, 0.74 * 2.0**-127, 1.5 * 2.0**127, 1.49 * 2.0**127], float)
        normal = (abs(wide) >= 2.0**-126) | (wide == 0) | numpy.isnan(wide)
        with numpy.errstate(all="ignore"):
            sources = {"float64": wide, "float32": wide[normal].astype(numpy.float32), "float16": numpy.array([0, 1, 1.5, 0.1, 65504], numpy.float16),
                       "int32": numpy.array([0, 1, 3, 5, -2, 2**31 - 1], numpy.int32)}
        for source, values in sources.items():
            self.head += f", %{source}: Tensor[({len(values)}), {source}]"
            self.given[source] = values
            for mode in ["nearest", "up", "down"]:
                for saturate in [True, False]:
                    codes = [power_of_two(float(v), mode, saturate) for v in values]
                    attrs = f'round_mode="{mode}"' + ("" if saturate else ", saturate=False")
                    self.bind(f"{source}_{mode}_{saturate}", f'cast(%{source}, dtype="float8_e8m0fnu", {attrs})', numpy.array(codes, numpy.uint8))
        every = numpy.arange(256, dtype=numpy.uint8)
        self.head += ", %every: Tensor[(256), float8_e8m0fnu]"
        self.given["every"] = every
        with numpy.errstate(all="ignore"):
            for to in ["float64", "float32", "float16", "bfloat16", "int32", "bool", "complex64"]:
                exact = numpy.array([math.nan if k == NAN else math.ldexp(1, k - 127) for k in range(256)])
                if to == "int32":
                    wanted = numpy.array([0 if math.isnan(v) else min(int(v), 2**31 - 1) for v in exact], numpy.int32)
                else:
                    wanted = exact.astype(getattr(ml_dtypes, to, None) or to)
                self.bind(f"to_{to}", f'cast(%every, dtype="{to}")', wanted)
        # 2^-127 is a float32 that targets without denormals take for 0 where they compute, but give and move
        self.bind("there_and_back", 'cast(cast(%every, dtype="float32"), dtype="float8_e8m0fnu")', every)
        least = [math.nan if k == NAN else math.ldexp(1, k - 127) for k in (power_of_two(float(v)) for v in sources["float32"])]
        self.bind("least", 'reverse(cast(cast(%float32, dtype="float8_e8m0fnu"), dtype="float32"), axis=0)', numpy.array(least, numpy.float32)[::-1])

    def read_back(self, number):
        printed = self.run("opt", "program.baton", "--passes", "")
        pathlib.Path("again.baton").write_text(printed.stdout)
        again = self.run("opt", "again.baton", "--passes", "")
        if printed.returncode or again.stdout != printed.stdout:
            self.fault(number, f"does not read back: {printed.stderr}{again.stderr}")

    def refuse(self, number):
        """What computes says so of elements that are only moved."""
        for text in ["add(%x, %x)", "equal(%x, %x)", "sum(%x)", "sort(%x)", "exp(%x)", "nn.relu(%x)"]:
            self.write(f"{HEAD}def @main(%x: Tensor[(4), {self.name}]) {{ {text} }}\n")
            done = self.run("opt", "program.baton", "--passes", "")
            if done.returncode == 0 or f"are {self.name}, which are only moved and cast" not in done.stderr:
                self.fault(number, f"{text} is not refused: {done.stderr}")
        if self.is_complex:
            self.write(f'{HEAD}def @main(%x: Tensor[(4), {self.name}]) {{ cast(%x, dtype="float32") }}\n')
            if "would lose their imaginary part" not in self.run("opt", "program.baton", "--passes", "").stderr:
                self.fault(number, "a cast to float32 is not refused")

    def compare(self, number, where, found):
        if not found.keys() >= self.wanted.keys():
            self.fault(number, f"{where}: results are missing")
        for name, got in found.items():
            want = self.rows.T if name == "branch" else self.wanted[name]
            same = got.shape == want.shape and got.tobytes() == want.tobytes()
            if not same and want.dtype.kind in "cf":  # of a NaN any is one
                same = got.dtype == want.dtype and numpy.array_equal(got, want, equal_nan=True)
            if not same and want.dtype == ml_dtypes.bfloat16:
                same = numpy.array_equal(got.view(want.dtype).astype(float), want.astype(float), equal_nan=True)
            self.nsame += got.size
            if not same:
                self.fault(number, f"{where}: {name}: {got.reshape(-1)[:9]}, not {want.reshape(-1)[:9]}")


check = Check()
check.check_in_folder()
print(f"{check.nsame} elements compared, {check.nfault} faults")
sys.exit(check.nfault > 0 or check.nsame == 0)
