"""Random chains of products, with transposes between, against their least work: products.py BATON FIRST COUNT

A number draws up to seven matrices, or batches of them, and an order in which nn.matmul, nn.dense and nn.batch_matmul multiply them.
After pass `matrix-chain` the program does no more multiply-adds than the best order, which is sought here by trying all, and gives the
same numbers, which are integers that floats hold.
"""
import math
import random
import re
import sys

import kit

BATCH = 3


class Chain:
    def __init__(self, pick):
        self.pick = pick
        n = pick.randint(2, 7)
        self.dims = [pick.randint(1, 6) for _ in range(n + 1)]
        self.batched = [pick.random() < 0.2 for _ in range(n)]
        self.turned = [pick.random() < 0.3 for _ in range(n)]
        self.n, self.lines = n, []

    def shape(self, i, j, is_turned):
        ends = [self.dims[i], self.dims[j + 1]]
        return ([BATCH] if any(self.batched[i:j + 1]) else []) + (ends[::-1] if is_turned else ends)

    def bind(self, text):
        self.lines.append(f"    %v{len(self.lines)} = {text};")
        return f"%v{len(self.lines) - 1}"

    def transpose(self, value, shape):
        axes = [0, 2, 1] if len(shape) == 3 else [1, 0]
        return self.bind(f"transpose({value}, axes={self.pick.choice([axes, [a - len(axes) for a in axes]])})")

    def write(self, i, j, is_turned):
        """The product of matrices i to j, or its transpose."""
        if i == j:
            value = f"%m{i}"
            return value if self.turned[i] == is_turned else self.transpose(value, self.shape(i, i, is_turned))
        if self.pick.random() < 0.2:
            return self.transpose(self.write(i, j, not is_turned), self.shape(i, j, is_turned))
        split = self.pick.randrange(i, j)
        factors = [(i, split), (split + 1, j)]
        if is_turned:
            factors.reverse()
        ranks = [len(self.shape(*f, False)) for f in factors]
        ops = ["nn.matmul"] + ["nn.dense"] * (ranks[1] == 2) + ["nn.batch_matmul"] * (ranks == [3, 3])
        op, a, b = self.pick.choice(ops), self.pick.random() < 0.3, self.pick.random() < 0.3
        if op == "nn.dense":
            a, b = False, True
        x, y = self.write(*factors[0], is_turned != a), self.write(*factors[1], is_turned != b)
        flags = "" if op == "nn.dense" else f", transpose_a={a}, transpose_b={b}"
        return self.bind(f"{op}({x}, {y}{flags})")

    def least(self, i, j):
        """Multiply-adds of the best order."""
        return 0 if i == j else min(
            self.least(i, k) + self.least(k + 1, j) + math.prod(self.shape(i, j, False)) * self.dims[k + 1] for k in range(i, j))

    def text(self):
        result = self.write(0, self.n - 1, False)
        params = ", ".join(f"%m{i}: Tensor[({', '.join(map(str, self.shape(i, i, self.turned[i])))}), float32]" for i in range(self.n))
        return '#[version = "baton 0.1"]\n\ndef @main(' + params + ") {\n" + "\n".join(self.lines) + f"\n    {result}\n}}\n"


class Check(kit.Check):
    def work(self, text):
        """Multiply-adds of a printed program."""
        shapes = {name: [int(d) for d in dims.split(",")] for name, dims in re.findall(r"(%\w+): Tensor\[\(([\d, ]+)\)", text)}
        total = 0
        for name, op, a, b, flags in re.findall(r"(%\w+): \S.* = (nn\.\w+)\((%\w+), (%\w+)(.*)\);", text):
            total += math.prod(shapes[name]) * shapes[a][-2 if "transpose_a=True" in flags else -1]
        return total

    def check(self, number):
        numpy = kit.import_numpy()
        chain = Chain(random.Random(number))
        self.write(chain.text())
        done = self.run("opt", "program.baton", "--passes", "matrix-chain, dead-code")
        if done.returncode:
            return self.fault(number, done.stderr)
        work, least = self.work(done.stdout), chain.least(0, chain.n - 1)
        if work != least:
            return self.fault(number, f"{work} multiply-adds, {least} would do:\n{done.stdout}")
        draw = numpy.random.default_rng(number)
        words = kit.save({f"m{i}": draw.integers(-2, 3, chain.shape(i, i, chain.turned[i])).astype("float32") for i in range(chain.n)})
        found = [self.results("program.baton", "--passes", passes, *words) for passes in ("", "matrix-chain")]
        if isinstance(found[0], str) or isinstance(found[1], str):
            return self.fault(number, f"{found[0]}\n{found[1]}")
        if any(not numpy.array_equal(found[0][name], found[1][name]) for name in found[0]):
            return self.fault(number, f"{found[0]} becomes {found[1]}")
        return None


def main():
    check = Check()
    check.check_in_folder()
    print(f"{len(check.numbers)} chains, {check.nfault} with faults")
    sys.exit(check.nfault > 0)


if __name__ == "__main__":
    main()
