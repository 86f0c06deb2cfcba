"""Literals at the borders of every element type: literals.py BATON FIRST COUNT [WAY]...

A number draws a program of literals: integers at and beside their least and greatest, floats of drawn bits and halves between two
neighbours, written to the last digit, subnormals, -0, inf and nan. What is printed must read back to itself, and every executor must
give the bits that exact arithmetic says, for a literal that is a result and for one that is chosen when the program runs.
"""
import fractions
import pathlib
import random
import sys

import kit

numpy = kit.import_numpy()

FLOATS = {"f16": (5, 10), "bf16": (8, 7), "f": (8, 23), "f64": (11, 52)}  # bits of the exponent, of the fraction
INTS = {f"{sign}{bits}": (0 if sign == "u" else -(1 << (bits - 1)), (1 << (bits - (sign == "i"))) - 1)
        for sign in "iu" for bits in (8, 16, 32, 64)}
WAYS = {
    "interp": ["--executor", "interp", "--passes", ""],
    "cpu": ["--executor", "vm", "--target", "cpu{threads=1}"],
    "c": ["--executor", "vm", "--target", "c"],
    "aot": ["--executor", "written"],
}


def decimal(value):
    """A fraction whose denominator is a power of 2, in all its digits."""
    exponent = value.denominator.bit_length() - 1
    digits = str(abs(value.numerator) * 5 ** exponent).rjust(exponent + 1, "0")
    text = digits[:len(digits) - exponent] + ("." + digits[len(digits) - exponent:] if exponent else "")
    return ("-" if value < 0 else "") + text


def exact(bits, exponent, fraction):
    """The number that bits without a sign stand for, of finite ones and the one behind the greatest."""
    bias, scale, part = (1 << (exponent - 1)) - 1, bits >> fraction, bits & ((1 << fraction) - 1)
    whole = part + ((1 << fraction) if scale else 0)
    return fractions.Fraction(whole) * fractions.Fraction(2) ** (max(scale, 1) - bias - fraction)


def draw_float(pick, suffix):
    """Text and bits."""
    exponent, fraction = FLOATS[suffix]
    infinite, sign = ((1 << exponent) - 1) << fraction, pick.getrandbits(1)
    top = sign << (exponent + fraction)
    kind = pick.randrange(8)
    if kind == 0:
        return f"{'-' * sign}inf{suffix}", top | infinite
    if kind == 1:
        return f"nan{suffix}", None
    bits = pick.choice([pick.randrange(infinite), pick.randrange(1 << fraction), pick.choice([0, 1, 1 << fraction, infinite - 1])])
    value, rounded = exact(bits, exponent, fraction), bits
    if kind < 5 and bits + 1 < infinite:  # between two, or just beside that
        step = exact(bits + 1, exponent, fraction) - value
        beside = pick.choice([-1, 0, 1])
        value += step / 2 + beside * step / 4096
        rounded = bits + (beside > 0 or beside == 0 and bits & 1)
    return f"{'-' * sign}{decimal(value)}{suffix}", top | rounded


def draw_int(pick, suffix):
    low, high = INTS[suffix]
    value = pick.choice([low, low + 1, high - 1, high, 0, pick.randint(low, high)])
    return f"{value}{suffix}", value % (1 << int(suffix[1:]))


def draw(pick):
    suffix = pick.choice([*FLOATS, *INTS])
    return (suffix, *(draw_float if suffix in FLOATS else draw_int)(pick, suffix))


def bits_of(array):
    return int(array.view(f"u{array.itemsize}")[()]) if array.dtype.kind != "V" else int.from_bytes(array.tobytes(), "little")


def is_same(suffix, got, want):
    if want is not None:
        return got == want
    exponent, fraction = FLOATS[suffix]
    return got & ((1 << (exponent + fraction)) - 1) > ((1 << exponent) - 1) << fraction


class Check(kit.Check):
    def __init__(self):
        super().__init__()
        self.ways, self.nsame = sys.argv[4:] or list(WAYS), 0

    def check(self, number):
        pick = random.Random(number)
        drawn = [draw(pick) for _ in range(24)]
        values = ", ".join(pick.choice([text, f"where(%c, {text}, 0{suffix})"]) for suffix, text, _ in drawn)
        self.write(f'#[version = "baton 0.1"]\ndef @main(%c: bool) {{ ({values}) }}\n')
        printed = self.run("opt", "program.baton", "--passes", "")
        pathlib.Path("again.baton").write_text(printed.stdout)
        again = self.run("opt", "again.baton", "--passes", "")
        if printed.returncode or again.stdout != printed.stdout:
            return self.fault(number, f"does not read back: {printed.stderr}{again.stderr}")
        for way in self.ways:
            for program in "program.baton", "again.baton":
                self.compare(number, way, program, drawn)

    def compare(self, number, way, program, drawn):
        results = self.results(program, *WAYS[way], "--no-specialise", "-i", "c=True")
        if isinstance(results, str):
            return self.fault(number, f"{way}: {results}")
        for i, (suffix, text, want) in enumerate(drawn):
            got = bits_of(results[f"output{i}"])
            if not is_same(suffix, got, want):
                self.fault(number, f"{way}, {program}: {text} is {got:#x}, not {want if want is None else hex(want)}")
            self.nsame += 1


check = Check()
check.check_in_folder()
print(f"{check.nsame} literals compared, {check.nfault} faults")
sys.exit(check.nfault > 0 or check.nsame == 0)
