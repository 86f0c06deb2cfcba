"""Floats of 8 bits by every executor: float8.py BATON FIRST COUNT [WAY]...

Number k is type k of TYPES. Sums and products of all 256 x 256 pairs, and casts of ties, neighbours of ties, subnormals, what is
beyond, infinities, NaN and every 65,521st float32 must be the exact value rounded once, by a table of all codes; every code comes
back from text, and is the same number by ml_dtypes.
"""
import base64
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

TYPES = ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"]
SUFFIXES = ["f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz"]
WAYS = {
    "interp": ["--executor", "interp", "--passes", ""],
    "graph": ["--target", "cpu{threads=1}", "--executor", "graph"],
    "vm": ["--target", "cpu{threads=1}", "--executor", "vm"],
    "aot": ["--executor", "written"],
}


class Format:
    """All codes of a type as numbers, by its definition."""

    def __init__(self, name):
        self.name, self.is_unsigned = name, name.endswith("uz")
        self.digits = 3 if "e4m3" in name else 2
        self.bias = {"float8_e4m3fn": 7, "float8_e4m3fnuz": 8, "float8_e5m2": 15, "float8_e5m2fnuz": 16}[name]
        self.most = {"float8_e4m3fn": 0x7e, "float8_e4m3fnuz": 0x7f, "float8_e5m2": 0x7b, "float8_e5m2fnuz": 0x7f}[name]
        self.sizes = numpy.array([self.size(code) for code in range(self.most + 2)])  # and where the next one would stand
        self.values = numpy.array([self.value(code) for code in range(256)])

    def size(self, code):
        exponent, part = code >> self.digits, code & ((1 << self.digits) - 1)
        return math.ldexp(part + ((1 << self.digits) if exponent else 0), max(exponent, 1) - self.bias - self.digits)

    def value(self, code):
        size, sign = code & 0x7f, -1 if code & 0x80 else 1
        if self.is_unsigned and code == 0x80:
            return math.nan
        if size > self.most:
            return sign * math.inf if self.name == "float8_e5m2" and size == 0x7c else math.nan
        return sign * self.size(size)

    def rounded(self, exact, saturates=True, keeps_infinity=False):
        """Values of doubles that are rounded once; -0 as 0 where there is none."""
        size = numpy.abs(exact)
        below = numpy.clip(numpy.searchsorted(self.sizes, size, side="right") - 1, 0, self.most)
        middle = (self.sizes[below] + self.sizes[below + 1]) / 2
        code = below + ((size > middle) | ((size == middle) & (below % 2 == 1)))
        out = self.sizes[numpy.minimum(code, self.most)]
        beyond = (code > self.most) & ~(numpy.isinf(exact) & keeps_infinity)
        if not saturates:
            out = numpy.where(beyond, math.inf if self.name == "float8_e5m2" else math.nan, out)
        elif keeps_infinity and self.name == "float8_e5m2":
            out = numpy.where(numpy.isinf(exact), math.inf, out)
        out = numpy.where(numpy.isnan(exact), math.nan, numpy.copysign(out, exact))
        return out + 0.0 if self.is_unsigned else out  # -0 + 0 is 0


def sources(form):
    """What to cast, by its type."""
    sizes = form.sizes
    ties = (sizes[:-1] + sizes[1:]) / 2
    some = numpy.concatenate([sizes, ties, numpy.nextafter(ties, 0), numpy.nextafter(ties, math.inf), [
        math.inf, math.nan, 1e-300, 4.9e-324, 1e300, 1e-7, 2 * sizes[-1], 65504, 3e38, 2**-11, 3 * 2**-18]])
    wide = numpy.concatenate([some, -some])
    every = numpy.arange(0, 1 << 32, 65521, dtype=numpy.uint64).astype(numpy.uint32).view(numpy.float32)
    with numpy.errstate(all="ignore"):
        return {"float64": wide, "float32": numpy.concatenate([wide.astype(numpy.float32), every]),
                "float16": wide.astype(numpy.float16), "bfloat16": wide.astype(ml_dtypes.bfloat16),
                "int16": numpy.arange(-500, 500, dtype=numpy.int16),
                "int64": numpy.array([0, 61439, 61440, 61441, -61439, -61440, -61441, 2**53 + 1, -(2**63)])}


def text_of(name, bits):
    return f'const[({len(bits)}), {name}]{{"{base64.b64encode(bits.tobytes()).decode()}"}}'


def is_same(got, want):
    """Of each: the same number, zeros by their signs, NaN as NaN."""
    return (got == want) & (numpy.signbit(got) == numpy.signbit(want)) | numpy.isnan(got) & numpy.isnan(want)


def literal(value, suffix):
    return f"{'-' * bool(numpy.signbit(value))}{'inf' if math.isinf(value) else repr(float(abs(value)))}{suffix}"


class Check(kit.Check):
    def __init__(self):
        super().__init__()
        self.ways, self.nsame = sys.argv[4:] or list(WAYS), 0

    def check(self, number):
        form, suffix = Format(TYPES[number]), SUFFIXES[number]
        codes = numpy.arange(256, dtype=numpy.uint8)
        if not is_same(codes.view(getattr(ml_dtypes, form.name)).astype(numpy.float64), form.values).all():
            self.fault(number, "ml_dtypes has other numbers")
        given = {"x": (form.name, numpy.repeat(codes, 256)), "y": (form.name, numpy.tile(codes, 256)), "codes": (form.name, codes),
                 "most": (form.name, codes[form.most:form.most + 1])}
        x, y = (form.values[given[name][1]] for name in "xy")
        bound, wanted = [], {}

        def bind(name, text, want):
            bound.append(f"    let %{name} = {text};\n")
            wanted[name] = want

        for source, values in sources(form).items():
            given[source] = (source, values)
        for i, name in enumerate(given):  # so that nothing is computed before the program runs
            bound.append(f"    let %{name} = where(%c, %given.{i}, %given.{i});\n")
        with numpy.errstate(all="ignore"):
            bind("sum", "add(%x, %y)", form.rounded(x + y, keeps_infinity=True))
            bind("product", "multiply(%x, %y)", form.rounded(x * y, keeps_infinity=True))
            bind("moved", "copy(%codes)", form.values)
            bind("beyond", "exp(%most)", form.rounded(numpy.array([math.inf]), keeps_infinity=True))  # float32 does not hold it
            for source, values in sources(form).items():
                for saturates in True, False:
                    bind(f"{source}_{saturates}", f'cast(%{source}, dtype="{form.name}", saturate={saturates})',
                         form.rounded(values.astype(numpy.float64), saturates))
        numbers = form.values[~numpy.isnan(form.values)]
        literals = ", ".join(literal(value, suffix) for value in numbers)
        bind("literals", f"copy(const[({len(numbers)}), {form.name}]{{{literals.replace(suffix, '')}}})", numbers)
        scalars = numbers[::16]  # few: each is a result of a function
        bound.append(f"    let %scalars = ({', '.join(literal(value, suffix) for value in scalars)});\n")
        self.write('#[version = "baton 0.1"]\n\ndef @main(%c: bool) {\n    let %given = ('
                   + ", ".join(text_of(*of) for of in given.values()) + ");\n" + "".join(bound)
                   + f"    ({', '.join('%' + name for name in wanted)}, %scalars)\n}}\n")
        self.read_back(number)
        for way in self.ways:
            found = self.results("program.baton", *WAYS[way], "-i", "c=True")
            if isinstance(found, str):
                self.fault(number, f"{way}: {found}")
            else:
                self.compare(number, f"{form.name}, {way}", found, form, wanted, scalars)

    def read_back(self, number):
        printed = self.run("opt", "program.baton", "--passes", "")
        pathlib.Path("again.baton").write_text(printed.stdout)
        again = self.run("opt", "again.baton", "--passes", "")
        if printed.returncode or again.stdout != printed.stdout:
            self.fault(number, f"does not read back: {printed.stderr}{again.stderr}")

    def compare(self, number, where, found, form, wanted, scalars):
        tensors = {name: form.values[array.view(numpy.uint8)] for name, array in found.items()}
        tensors["scalars"] = numpy.array([tensors[f"scalars.{i}"] for i in range(len(scalars))])
        for name, want in [*wanted.items(), ("scalars", scalars)]:
            got = tensors[name]
            self.nsame += got.size
            bad = numpy.flatnonzero(~is_same(got, want)) if got.shape == want.shape else [0]
            if len(bad):
                self.fault(number, f"{where}: {name}: {len(bad)} differ, first {bad[0]}: {got[bad[0]]}, not {want[bad[0]]}")


check = Check()
check.check_in_folder()
print(f"{check.nsame} elements compared, {check.nfault} faults")
sys.exit(check.nfault > 0 or check.nsame == 0)
