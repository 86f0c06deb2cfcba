"""Grouped convolutions of few places and their gradients, for target cpu, against the interpreter: grouped.py BATON FIRST COUNT

A number draws a convolution of one or two dims, transposed or not, of up to 4 groups, whose extents are 1 to 3, and derivatives by its
data, its weights or both. Each extent is a number or a name, so that sizes of 1 are known from the beginning, when a program is
specialised, or when it runs. All values are small integers, so that every order of a sum gives the same bits. The program of a number is
the same on every run; the first three that give something else are printed.
"""
import random
import sys

import kit

numpy = kit.import_numpy()


class Program:
    def __init__(self, number):
        pick = random.Random(number)
        draw = numpy.random.default_rng(number)
        rank, is_back = pick.choice([1, 2]), pick.random() < 0.3
        groups, few, many = pick.randint(1, 4), pick.randint(1, 3), pick.randint(1, 3)
        dtype = pick.choice(["float32", "float32", "float64"])
        places = [pick.randint(1, 3) for _ in range(rank)]
        kernel = [pick.randint(1, 3) for _ in range(rank)]
        strides = [pick.randint(1, 3) for _ in range(rank)]
        pads = [(k - (not is_back)) // 2 if n + 2 * ((k - 1) // 2) >= k else k - 1 for n, k in zip(places, kernel)]
        x = [pick.randint(1, 2), groups * few, *places]
        w = [groups * few, many, *kernel] if is_back else [groups * many, few, *kernel]
        named = pick.choice([0, 0.3, 1])
        self.dims = []
        shapes = [", ".join(self.dim(n, f"{name}{i}", pick.random() < named) for i, n in enumerate(dims)) for name, dims in [("a", x), ("b", w)]]
        params = f"(%x: Tensor[({shapes[0]}), {dtype}], %w: Tensor[({shapes[1]}), {dtype}])"
        params = (f"<{', '.join(f'{name}: Dim' for name in self.dims)}>" if self.dims else "") + params
        op = f"nn.conv{rank}d{'_transpose' * is_back}"
        value = f"{op}(%x, %w, groups={groups}, strides={strides}, padding={pads})"
        self.text = '#[version = "baton 0.1"]\n\n'
        wrt = pick.choice([None, [0], [1], [0, 1]])
        if wrt is None:
            self.text += f"def @main{params} {{ {value} }}\n"
        else:
            loss = pick.choice(["sum(%y)", "sum(multiply(%y, %y))"])
            self.text += (f"def @f{params} -> {dtype} {{ %y = {value}; {loss} }}\n"
                          f"gradient @g = @f(wrt={wrt});\n"
                          f"def @main{params} {{ @g(%x, %w) }}\n")
        self.given = {"x": draw.integers(-5, 6, x).astype(dtype), "w": draw.integers(-5, 6, w).astype(dtype)}

    def dim(self, n, name, is_named):
        if is_named:
            self.dims.append(name)
        return name if is_named else str(n)


class Check(kit.Check):
    def __init__(self):
        super().__init__()
        self.nuntyped = 0

    def check(self, number):
        program = Program(number)
        self.write(program.text)
        words = ["program.baton", *kit.save(program.given)]
        wanted = self.results(*words)
        if isinstance(wanted, str):
            self.nuntyped += 1
            if "exit" in wanted[:5]:
                self.fault(number, wanted)
            return
        for way in [[], ["--no-specialise"]] if program.dims else [[]]:
            found = self.results(*words, "--target", "cpu{threads=1}", *way)
            if isinstance(found, str):
                self.fault(number, f"{way}: {found}")
            elif list(found) != list(wanted):
                self.fault(number, f"{way}: results {list(found)}, not {list(wanted)}")
            for name, value in wanted.items() if isinstance(found, dict) else []:
                if not numpy.array_equal(found[name], value):
                    self.fault(number, f"{way}: {name} is\n{found[name]}\nand is to be\n{value}")


check = Check()
check.check_in_folder()
print(f"{len(check.numbers)} programs, {check.nuntyped} have no type, {check.nfault} give something else")
sys.exit(check.nfault > 0 or 4 * check.nuntyped > len(check.numbers))
