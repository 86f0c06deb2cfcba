"""Convolutions of any form, large enough for all ways in which target cpu computes them, against NumPy: convolutions.py BATON FIRST COUNT

A program has three of them with what stands around in networks, on images whose number is known or open, of which some have an element
that is not finite. Errors are those of the largest value on the way; threads change no bit, cpu{accuracy="exact"} is nearer, and cpu{accuracy="fast"}
as near as factors of 8 bits are, where the machine has products of these. The program of a number is the same on every run; the first three that give
something else are printed.
"""
import random
import sys

import kit

numpy = kit.import_numpy()

ERRORS = {"default": 6e-5, "exact": 1.5e-5, "fast": 4e-2}  # of three layers
WAYS = [(isa, accuracy) for isa in ["avx512", "avx2", "portable"] for accuracy in ["default", "exact"]] + [
    ("avx512bf16", "fast"), ("amx", "fast"), ("amx", "default")]


def convolve(x, w, stride, pads, dilation, groups):
    """In float64; the order of dims is that of nn.conv2d."""
    top, left, bottom, right = pads
    x = numpy.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    reach = [dilation * (n - 1) + 1 for n in w.shape[2:]]
    windows = numpy.lib.stride_tricks.sliding_window_view(x, reach, (2, 3))[:, :, ::stride, ::stride, ::dilation, ::dilation]
    parts = zip(numpy.split(windows, groups, 1), numpy.split(w, groups, 0))
    return numpy.concatenate([numpy.einsum("nchwrs,ocrs->nohw", a, b, optimize=True) for a, b in parts], 1)


def convolve_back(x, w, stride, pads, dilation, groups, extra):
    """The same of nn.conv2d_transpose: each element of x goes to where windows of the result have read it."""
    top, left, bottom, right = pads
    sides = [stride * (n - 1) + dilation * (k - 1) + 1 + extra for n, k in zip(x.shape[2:], w.shape[2:])]
    y = numpy.zeros((x.shape[0], w.shape[1] * groups, *sides))
    for r, s in numpy.ndindex(*w.shape[2:]):
        parts = zip(numpy.split(x, groups, 1), numpy.split(w[:, :, r, s], groups, 0))
        rows, columns = [slice(at, at + stride * (n - 1) + 1, stride) for at, n in zip([r * dilation, s * dilation], x.shape[2:])]
        y[:, :, rows, columns] += numpy.concatenate([numpy.einsum("nchw,co->nohw", a, b, optimize=True) for a, b in parts], 1)
    return y[:, :, top:sides[0] - bottom, left:sides[1] - right]


class Program:
    def __init__(self, number):
        self.pick, self.draw = random.Random(number), numpy.random.default_rng(number)
        pick = self.pick
        self.weights, lines = {}, []
        self.images = pick.choice([1, 1, 1, 2, 3])
        self.is_open = pick.random() < 0.3
        sides = pick.choice([[1, 9], [4, 40], [4, 40]])
        # many channels of few places: sums by slices of their terms
        shape = [self.images, pick.choice([3, 16, 24, 32, 64] + [330, 600] * (sides[1] < 40)), pick.randint(*sides), pick.randint(*sides)]
        self.given = self.draw.normal(0, 1, shape).astype(numpy.float32)
        self.is_odd = pick.random() < 0.2
        if self.is_odd:
            self.given.reshape(-1)[pick.randrange(self.given.size)] = pick.choice([numpy.inf, -numpy.inf, numpy.nan])
        first = "n" if self.is_open else shape[0]
        with numpy.errstate(invalid="ignore"):
            value, name = self.given.astype(numpy.float64), "%x"
            self.before = [(value, name)]  # what may be added behind later layers
            self.most = 1e-3
            for mark in "abc":
                value, name = self.layer(name, value, lines, mark)
                self.before.append((value, name))
        self.expected = value
        self.text = ('#[version = "baton 0.1"]\n#[weights = "weights.npz"]\n\n'
                     f"def @main{'[n: Dim]' * self.is_open}(%x: Tensor[({first}, {', '.join(map(str, shape[1:]))}), float32]) {{\n" +
                     "".join(lines) + f"    {name}\n}}\n")

    def constant(self, array):
        key = f"w{len(self.weights)}"
        self.weights[key] = array.astype(numpy.float32)
        return f'const[({", ".join(map(str, array.shape))}), float32]{{data "{key}"}}', self.weights[key].astype(numpy.float64)

    def layer(self, name, x, lines, mark):
        """A convolution of x, transposed or not, and what is made of it: its value and name."""
        pick, channels = self.pick, x.shape[1]
        if max(x.shape[2:]) <= 14 and pick.random() < 0.5:
            return self.finish(*self.layer_back(name, x, lines, mark), lines, mark)
        kernel = pick.choice([3, 3, 3, 3, 1, 1, 1, 5, 7])
        stride, dilation = pick.choice([1, 1, 1, 1, 2, 3]), pick.choice([1, 1, 1, 2])
        groups = pick.choice([1, 1, 1, 1, channels, channels])
        out = channels * pick.choice([1, 1, 2]) if groups > 1 else channels if pick.random() < 0.4 else pick.choice([16, 24, 33, 64, 90, 130])
        same = dilation * (kernel - 1) // 2
        pads = pick.choice([[same] * 4, [pick.choice([0, same, kernel - 1]) for _ in range(4)]])
        if min(x.shape[2] + pads[0] + pads[2], x.shape[3] + pads[1] + pads[3]) < dilation * (kernel - 1) + 1:
            kernel = dilation = 1
        scale = (2 / (kernel * kernel * channels / groups)) ** 0.5
        text, w = self.constant(self.draw.normal(0, scale, (out, channels // groups, kernel, kernel)))
        lines.append(f"    %{mark}0 = nn.conv2d({name}, {text}, strides=[{stride}, {stride}], padding={pads}, "
                     f"dilation=[{dilation}, {dilation}], groups={groups});\n")
        return self.finish(f"%{mark}0", convolve(x, w, stride, pads, dilation, groups), lines, mark)

    def layer_back(self, name, x, lines, mark):
        """A transposed convolution of x: its name and value."""
        pick, channels = self.pick, x.shape[1]
        kernel, stride, dilation = pick.randint(1, 6), pick.choice([1, 2, 2, 3, 4]), pick.choice([1, 1, 1, 2])
        groups = pick.choice([1, 1, 1, channels])
        out = 1 if groups > 1 else pick.choice([3, 16, 33, 64])
        reach = dilation * (kernel - 1)
        pads, extra = [pick.randint(0, reach // 2) for _ in range(4)], pick.choice([0, stride - 1])
        scale = (2 / (kernel * kernel * channels / groups)) ** 0.5
        text, w = self.constant(self.draw.normal(0, scale, (channels, out, kernel, kernel)))
        lines.append(f"    %{mark}0 = nn.conv2d_transpose({name}, {text}, strides=[{stride}, {stride}], padding={pads}, "
                     f"output_padding=[{extra}, {extra}], dilation=[{dilation}, {dilation}], groups={groups});\n")
        return f"%{mark}0", convolve_back(x, w, stride, pads, dilation, groups, extra)

    def finish(self, name, y, lines, mark):
        """What is made of a convolution: its value and name."""
        pick = self.pick
        self.most = max(self.most, numpy.abs(y[numpy.isfinite(y)]).max(initial=0))
        usual = [what for what in ["bias", "residual", pick.choice(["relu", "clip", "limits"])] if pick.random() < 0.7]
        mixed = pick.sample(["bias", "relu", "residual", "multiply", "limits"], pick.randint(0, 3))
        for i, what in enumerate(usual if pick.random() < 0.7 else mixed):
            line, y = self.around(what, name, y)
            name = f"%{mark}{i + 1}"
            lines.append(f"    {name} = {line};\n")
        return y, name

    def around(self, what, name, y):
        """What stands behind a convolution: its text and value."""
        def bounded(low, high):
            return numpy.where(numpy.isnan(y), y, numpy.minimum(numpy.maximum(y, low), high))

        text, c = self.constant(self.draw.normal(0, 1, (y.shape[1], 1, 1)))
        same = [(value, of) for value, of in self.before if value.shape == y.shape]
        if what == "relu":
            return f"nn.relu({name})", bounded(0, numpy.inf)
        if what == "clip":
            return f"clip({name}, a_min=-0.5, a_max=6.0)", bounded(-0.5, 6)
        if what == "limits":  # tensors of no dims, or one element of some
            low, high = self.constant(numpy.array([9.0, -0.75])), self.constant(numpy.array(0.75))
            lows = f"strided_slice({low[0]}, begin=[1], end=[2])"
            return f"minimum(maximum({name}, {lows}), {high[0]})", bounded(-0.75, 0.75)
        if what == "residual" and same:
            value, of = self.pick.choice(same)
            return f"add({name}, {of})", y + value
        return (f"multiply({name}, {text})", y * c) if what == "multiply" else (f"add({name}, {text})", y + c)


class Test(kit.Check):
    def check(self, number):
        program = Program(number)
        self.write(program.text)
        numpy.savez("weights.npz", **program.weights)
        words = ["program.baton", *kit.save({"x": program.given})]
        for isa, accuracy in WAYS:
            way = f'cpu{{threads={program.pick.choice([1, 2, 5])}, accuracy="{accuracy}"}}'
            found = self.results(*words, "--target", way, BATON_CPU=isa)
            if isinstance(found, str):
                if "this machine has no more than" not in found:
                    self.fault(number, f"{way} {isa}: {found}")
                continue
            self.compare(number, f"{way} {isa}", program, next(iter(found.values())), ERRORS[accuracy])
        for accuracy in ["default", "fast"]:
            one, two = [self.results(*words, "--target", f'cpu{{threads={n}, accuracy="{accuracy}"}}') for n in [1, 3]]
            if isinstance(one, str) or any(one[key].tobytes() != two[key].tobytes() for key in one):
                self.fault(number, f"threads change bits, accuracy {accuracy}")

    def compare(self, number, way, program, found, error):
        expected = program.expected
        finite = numpy.isfinite(expected)
        most = program.most
        if found.shape != expected.shape:
            self.fault(number, f"{way}: {found.shape} instead of {expected.shape}")
        elif not (numpy.isfinite(found) == finite).all():
            self.fault(number, f"{way}: {(numpy.isfinite(found) != finite).sum()} elements are finite where they should not be, or are not")
        elif not (numpy.abs(found[finite] - expected[finite]) <= error * most).all():
            self.fault(number, f"{way}: differs by {numpy.abs(found[finite] - expected[finite]).max() / most:.2g} of the largest")


def main():
    test = Test()
    test.check_in_folder()
    print(f"{len(test.numbers)} programs, {test.nfault} with faults")
    sys.exit(test.nfault > 0)


if __name__ == "__main__":
    main()
