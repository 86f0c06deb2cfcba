"""Networks of 8-bit codes of any form on target cpu, against the interpreter, bit for bit: codes.py BATON FIRST COUNT

A program has some convolutions, dense, by groups or of each channel alone, with a bias or none, of which codes are made by factors for
all channels or for each, by the arithmetics that there are, and sums of two tensors and maxima between; images are few and of any sides, zero
points at the ends of their types. Instruction sets, engines, threads and executors take turns. The program of a number is the same on every
run; the first three that give something else are printed.
"""
import random
import sys

import kit

numpy = kit.import_numpy()

LIMITS = {"uint8": (0, 255), "int8": (-128, 127)}
ROUNDINGS = ["TOEVEN"] * 8 + ["UPWARD", "TONEAREST", "FLOOR", "CEIL"]


class Program:
    def __init__(self, number):
        self.pick, self.draw = random.Random(number), numpy.random.default_rng(number)
        pick = self.pick
        self.lines, self.results = [], []
        dtype = pick.choice(["uint8", "int8"])
        shape = [pick.choice([1, 1, 2, 3]), pick.choice([1, 3, 4, 8, 16, 33, 64]), pick.choice([1, 4, 7, 13]), pick.choice([4, 9, 18])]
        self.given = self.draw.integers(*LIMITS[dtype], shape, dtype, endpoint=True)
        self.values = [("%x", shape, dtype, self.zero(dtype))]
        for _ in range(pick.randint(1, 5)):
            before = self.values[-1] if pick.random() < 0.8 else pick.choice(self.values)
            self.values.append(pick.choice([self.convolved] * 4 + [self.added, self.greatest])(*before))
        self.results += [name for name, *_ in self.values[1:] if name == self.values[-1][0] or pick.random() < 0.2]
        self.text = (f'#[version = "baton 0.1"]\n\ndef @main(%x: Tensor[({", ".join(map(str, shape))}), {dtype}]) {{\n' +
                     "".join(f"    {line};\n" for line in self.lines) + f"    ({', '.join(self.results)},)\n}}\n")

    def named(self, text):
        self.lines.append(f"%{len(self.lines)} = {text}")
        return f"%{len(self.lines) - 1}"

    def zero(self, dtype):
        low, high = LIMITS[dtype]
        return self.pick.choice([low, high, 0, (low + high + 1) // 2, self.pick.randint(low, high)])

    def constant(self, shape, dtype, low, high):
        values = self.draw.integers(low, high, shape, endpoint=True)
        return f'const[({", ".join(map(str, shape))}), {dtype}]{{{", ".join(map(str, values.ravel()))}}}'

    def scale(self):
        return f"{self.pick.choice([1, 0.5, 0.37, 2.1]):g}f"

    def convolved(self, name, shape, dtype, zero):
        pick, (images, channels, *sides) = self.pick, shape
        groups = pick.choice([1] * 6 + [channels, channels, 2 - channels % 2])
        out = channels * pick.choice([1, 1, 2]) if groups == channels else groups * pick.choice([5, 16, 21, 40])
        kernel = [1, 1] if pick.random() < 0.3 else [pick.choice([1, 2, 3, 3, 5]) for _ in sides]
        step, dilation = pick.choice([1, 1, 1, 2, 3]), pick.choice([1] * 5 + [2])
        pads = [pick.randint(0, k) for k in kernel + kernel] if pick.random() < 0.5 else [0] * 4
        reach = [dilation * (k - 1) + 1 for k in kernel]
        for i, side in enumerate(sides):
            pads[i] += max(0, reach[i] - side - pads[i] - pads[i + 2])
        sides = [(side + pads[i] + pads[i + 2] - reach[i]) // step + 1 for i, side in enumerate(sides)]
        weights = pick.choice(["int8", "int8", "uint8"])
        weight = self.constant([out, channels // groups, *kernel], weights, *LIMITS[weights])
        kernel_zero = pick.choice([0, 0, self.zero(weights)])
        sums = self.named(f"qnn.conv2d({name}, {weight}, {zero}, {kernel_zero}, 1f, 1f, strides=[{step}, {step}], padding={pads}, "
                          f"dilation=[{dilation}, {dilation}], groups={groups})")
        if pick.random() < 0.15:
            self.results.append(sums)
        if pick.random() < 0.5:
            sums = self.named(f"nn.bias_add({sums}, {self.constant([out], 'int32', -5000, 5000)})")
        terms = channels // groups * kernel[0] * kernel[1]
        return self.rounded(sums, [images, out, *sides], f"{pick.choice([64.0, 50.3]) * terms ** 0.5:.6g}f")

    def rounded(self, sums, shape, scale):
        """Codes of sums."""
        pick, dtype = self.pick, self.pick.choice(["uint8", "int8"])
        zero, factor = self.zero(dtype), self.scale()
        if pick.random() < 0.4:
            factors = self.draw.uniform(0.3, 3, shape[1])
            factor = f"const[({shape[1]}), float32]{{{', '.join(f'{f:.6g}' for f in factors)}}}"
        arithmetic = pick.choice(["float32"] * 6 + ["float64", "int64", "gemmlowp"])
        rounding = f', rounding="{pick.choice(ROUNDINGS)}"' if arithmetic != "gemmlowp" else ""
        made = self.named(f'qnn.requantize({sums}, {factor}, 0, {scale}, {zero}, axis=1, out_dtype="{dtype}", '
                          f'compute_dtype="{arithmetic}"{rounding})')
        return made, shape, dtype, zero

    def added(self, name, shape, dtype, zero):
        pick = self.pick
        other = pick.choice([value for value in self.values if value[1:3] == (shape, dtype)])
        zero_of_sum = self.zero(dtype)
        made = self.named(f"{pick.choice(['qnn.add', 'qnn.add', 'qnn.subtract', 'qnn.mul'])}({name}, {other[0]}, {self.scale()}, {zero}, "
                          f"{self.scale()}, {other[3]}, {self.scale()}, {zero_of_sum})")
        return made, shape, dtype, zero_of_sum

    def greatest(self, name, shape, dtype, zero):
        pick, (images, channels, *sides) = self.pick, shape
        size, step = [pick.randint(1, min(side, 4)) for side in sides], pick.choice([1, 2])
        pads = [pick.randint(0, s - 1) for s in size + size]
        sides = [(side + pads[i] + pads[i + 2] - size[i]) // step + 1 for i, side in enumerate(sides)]
        made = self.named(f"nn.max_pool2d({name}, pool_size={size}, strides=[{step}, {step}], padding={pads})")
        return made, [images, channels, *sides], dtype, zero


class Test(kit.Check):
    def check(self, number):
        program = Program(number)
        self.write(program.text)
        words = ["program.baton", *kit.save({"x": program.given})]
        expected = self.results(*words)
        if isinstance(expected, str):
            self.fault(number, f"the interpreter {expected}")
            return
        for isa in ["amx", "avx512", "avx2", "portable"]:
            way = f'cpu{{engine="{program.pick.choice(["tcc", "bytecode"])}", threads={program.pick.choice([1, 2, 3])}}}'
            executor = program.pick.choice(["graph", "graph", "vm"])
            found = self.results(*words, "--target", way, "--executor", executor, BATON_CPU=self.isa_here(isa))
            if isinstance(found, str):
                self.fault(number, f"{way} {isa} {executor}: {found}")
            elif found.keys() != expected.keys() or any((found[key] != expected[key]).any() for key in found):
                wrong = {key: int((found[key] != expected[key]).sum()) for key in found}
                self.fault(number, f"{way} {isa} {executor}: elements that differ, by result: {wrong}")


def main():
    test = Test()
    test.check_in_folder()
    print(f"{len(test.numbers)} programs, {test.nfault} with faults")
    sys.exit(test.nfault > 0)


if __name__ == "__main__":
    main()
