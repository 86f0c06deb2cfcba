"""Random programs in a batch: batches.py BATON FIRST COUNT [WAY]...

The programs are those of gradient_program.py, which have branches, matches, data types, closures and recursion. Some of the inputs, its
number draws which, differ by example; vmap of the program must give for each of four examples what the program gives for that one, on
interp and, as one of the WAYS, compiled; every third program's gradients, too. A program that is refused must be so for a reason, and
one in ten may be.
"""
import collections
import re
import sys

import kit

numpy = kit.import_numpy()

import gradient_program
from oracle_program import show

NEXAMPLE = 4
WAYS = {
    "vm": ["--executor", "vm", "--target", "cpu{threads=1}"],
    "bytecode": ["--executor", "vm", "--target", 'cpu{engine="bytecode"}'],
}
REFUSED = re.compile(r"vmap: .*(is data whose fields differ|holds a value which differs|function that is not known here|"
                     r"is a reference to what differs|is data, or a function, by a condition|is no tensor|whose size only the run knows|pass what)")


class Check(kit.Check):
    def __init__(self):
        super().__init__()
        self.ways = sys.argv[4:] or list(WAYS)
        self.counts = collections.Counter()

    def check(self, number):
        program = gradient_program.Program(number)
        pick = program.pick
        self.number = number
        inputs = program.inputs
        differs = [pick.random() < 0.6 for _ in inputs]
        differs[pick.randrange(3)] = True
        sizes = {d: pick.choice([1, 2, 3]) for d in program.dims}
        params = ", ".join(f"%{name}: {self.type_of(t, d)}" for (name, t), d in zip(inputs, differs))
        args = ", ".join(f"%{name}" for name, _ in inputs)
        axes = ", ".join("0" if d else "-1" for d in differs)
        g = program.generics()
        text = program.text()
        for entry, of in [("batch", "value"), ("batch_gradient", "gradient")]:
            text += f"def @{entry}{g}({params}) {{ vmap(@{of}, {args}, axes=[{axes}]) }}\n"
        single = ", ".join(f"%{name}: {show(t)}" for name, t in inputs)
        text += f"def @one{g}({single}) {{ @value({args}) }}\ndef @one_gradient{g}({single}) {{ @gradient({args}) }}\n"
        if len(text) > 40000:
            self.counts["too long"] += 1
            return
        self.write(text)
        self.counts["programs"] += 1
        examples = [{name: self.draw(pick, t, sizes) for name, t in inputs} for _ in range(NEXAMPLE)]
        for e in examples[1:]:
            for (name, _), d in zip(inputs, differs):
                e[name] = e[name] if d else examples[0][name]
        point = {name: numpy.stack([e[name] for e in examples]) if d else examples[0][name] for (name, _), d in zip(inputs, differs)}
        if self.compare("", examples, point) and number % 3 == 0:
            self.compare("_gradient", examples, point)

    def type_of(self, t, differs):
        return f"Tensor[({', '.join(map(str, (NEXAMPLE, *t.shape)))},), {t.dtype}]" if differs else show(t)

    def draw(self, pick, t, sizes):
        shape = [sizes.get(d, d) for d in t.shape]
        if t.dtype == "float64":
            return numpy.array([pick.uniform(-2, 2) for _ in range(int(numpy.prod(shape)))]).reshape(shape)
        return numpy.array(pick.randrange(0, 2 if t.dtype == "bool" else 7)).astype(t.dtype)

    def compare(self, what, examples, point):
        interp = ["program.baton", "--executor", "interp", "--pipeline", "gradients", "--no-specialise"]
        singles = [self.results(*interp, "--entry", "one" + what, *kit.save(e)) for e in examples]
        if any(isinstance(s, str) for s in singles):
            if not any(isinstance(s, str) and "pass what" in s for s in singles):
                self.fault(self.number, f"one{what}: {singles}")
            self.counts["no gradient"] += 1
            return False
        wanted = [numpy.stack([s[name] for s in singles]) for name in singles[0]]
        found = self.results(*interp, "--entry", "batch" + what, *kit.save(point))
        if isinstance(found, str) and REFUSED.search(found):
            self.counts["refused" + what] += 1
            self.counts[REFUSED.search(found).group(1)] += 1
            return False
        self.same(f"batch{what}", found, wanted, point)
        self.counts["compared" + what] += 1
        way = self.number % len(self.ways)
        self.same(f"batch{what} by {self.ways[way]}",
                  self.results("program.baton", "--entry", "batch" + what, *WAYS[self.ways[way]], *kit.save(point)), wanted, point)
        return True

    def same(self, way, found, wanted, point):
        if isinstance(found, str):
            return self.fault(self.number, f"{way}: {found}")
        for a, b in zip(found.values(), wanted, strict=True):
            if a.shape != b.shape or not numpy.allclose(a, b, rtol=1e-9, atol=1e-11, equal_nan=True):
                return self.fault(self.number, f"{way} at {point}:\n{a}\nnot\n{b}")


check = Check()
sys.setrecursionlimit(20000)
check.check_in_folder()
print(f"{check.nfault} faults; {dict(check.counts)}")
sys.exit(check.nfault > 0 or 10 * check.counts["compared"] < 9 * check.counts["programs"])
