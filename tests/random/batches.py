"""Random programs in a batch: batches.py BATON FIRST COUNT [WAY]...

The programs are those of gradient_program.py, which have branches, matches, data types, closures and recursion. Half are of
a kind that FORMS lists: references that begin as constants, functions that bring their gradient or give data, trees by levels. Some of
the inputs, its number draws which, differ by example; vmap of the program must give for each of four examples what the program gives for
that one, on interp and, as one of the WAYS, compiled; every third program's gradients, too, and every third's forward derivatives along
directions some of which differ. A program that is refused must be so for a reason, and one in ten may be.
"""
import collections
import re
import sys

import kit

numpy = kit.import_numpy()

import gradient_program
from oracle_program import Expr, Tensor, show

NEXAMPLE = 4
WAYS = {
    "vm": ["--executor", "vm", "--target", "cpu{threads=1}"],
    "bytecode": ["--executor", "vm", "--target", 'cpu{engine="bytecode"}'],
}
REFUSED = re.compile(r"vmap: .*(is data whose fields differ|holds a value which differs|function that is not known here|"
                     r"is a reference to what differs|writes a reference|has no form for a batch|is data, or a function, by a condition|is no tensor|whose size only the run knows|pass what)")


# What these call. A gradient of its own is no derivative, so that one which is left out is seen.
FUNCTIONS = """type Term { Number(float64), Sum(Term, float64, Term), }
def @power(%r: Ref[float64], %x: float64, %n: int32) -> float64 {
    if (greater(%n, 0)) { ref_write(%r, multiply(ref_read(%r), %x)); @power(%r, %x, subtract(%n, 1)) } else { ref_read(%r) }
}
def @own_back(%x: float64, %w: float64, %y: float64, %d: float64) -> (float64, float64) {
    (multiply(multiply(7f64, %d), %w), multiply(%d, add(%x, %y)))
}
def @own(%x: float64, %w: float64, vjp="own_back") -> float64 { multiply(%x, %w) }
def @scaled(%l: List[float64], %k: float64) -> List[float64] {
    match (%l) { Cons(%h, %t) => Cons(multiply(%h, %k), @scaled(%t, %k)), Nil => Nil }
}
def @total(%l: List[float64]) -> float64 { match (%l) { Cons(%h, %t) => add(%h, @total(%t)), Nil => 0f64 } }
def @term(%t: Term, %k: float64) -> float64 {
    match (%t) { Number(%c) => multiply(%c, %k), Sum(%a, %w, %b) => add(multiply(@term(%a, %k), %w), @term(%b, %k)) }
}
"""
FORMS = [
    "{{ let %cell = ref(0.5f64); if (less({0}, {1})) {{ ref_write(%cell, {0}) }} else {{ () }}; ref_read(%cell) }}",
    "@power(ref(0.5f64), {0}, if (less({1}, 0f64)) {{ 1 }} else {{ 2 }})",
    "{{ let %cell = ref(0.5f64); let %loop = fn (%i: int32) -> () {{ if (greater(%i, 0)) {{ ref_write(%cell, multiply(ref_read(%cell), {0})); "
    "%loop(subtract(%i, 1)) }} else {{ () }} }}; %loop(2); add(ref_read(%cell), {1}) }}",
    "add(@own({0}, {1}), @own({0}, 2f64))",
    "@total(@scaled(Cons({0}, Cons(2f64, Nil)), {1}))",
    "sum(vmap(@term, Cons(Sum(Number({0}), {1}, Number(2f64)), Cons(Number({0}), Nil)), {1}, axes=[0, -1]))",
]


class Program(gradient_program.Program):
    def __init__(self, number):
        super().__init__(number)
        self.form = FORMS[number // 2 % len(FORMS)] if number % 2 else None
        if self.form:
            number = Tensor("float64", ())
            total = "0f64"
            for name, _ in self.inputs[:3]:  # so that they differ by example, whichever inputs do
                total = f"add({total}, sum(%{name}))"
            parts = [f"tanh({sign}({self.make(number, 0, dict(self.inputs)).text}, {total}))" for sign in ("add", "subtract")]
            self.outputs = [Expr(self.form.format(*parts), None)]  # alone: others may have the function go one by one

    def text(self):
        text = super().text()
        at = text.index(gradient_program.DECLARATIONS) + len(gradient_program.DECLARATIONS)
        return text[:at] + FUNCTIONS + text[at:]


class Check(kit.Check):
    def __init__(self):
        super().__init__()
        self.ways = sys.argv[4:] or list(WAYS)
        self.counts = collections.Counter()

    def check(self, number):
        program = Program(number)
        pick = program.pick
        self.number = number
        inputs = program.inputs
        differs = [pick.random() < 0.6 for _ in inputs]
        differs[pick.randrange(3)] = True
        sizes = {d: pick.choice([1, 2, 3]) for d in program.dims}
        g = program.generics()
        text = program.text()
        entries = [("", "value", inputs, differs), ("_gradient", "gradient", inputs, differs)]
        directions = [(f"v{name}", t) for name, t in (inputs[i] for i in program.wrt)]
        turns = [pick.random() < 0.5 for _ in directions]
        entries.append(("_moved", "moved", inputs + directions, differs + turns))
        for what, of, given, batched in entries:
            params = ", ".join(f"%{name}: {self.type_of(t, d)}" for (name, t), d in zip(given, batched))
            single = ", ".join(f"%{name}: {show(t)}" for name, t in given)
            args = ", ".join(f"%{name}" for name, _ in given)
            axes = ", ".join("0" if d else "-1" for d in batched)
            text += f"def @batch{what}{g}({params}) {{ vmap(@{of}, {args}, axes=[{axes}]) }}\ndef @one{what}{g}({single}) {{ @{of}({args}) }}\n"
        if len(text) > 40000:
            self.counts["too long"] += 1
            return
        self.write(text)
        self.counts["programs"] += 1
        for i, (what, _, given, batched) in enumerate(entries):
            if i and (number % 3 != i - 1 or not compared):
                continue
            examples = [{name: self.draw(pick, t, sizes) for name, t in given} for _ in range(NEXAMPLE)]
            for e in examples[1:]:
                for (name, _), d in zip(given, batched):
                    e[name] = e[name] if d else examples[0][name]
            point = {name: numpy.stack([e[name] for e in examples]) if d else examples[0][name] for (name, _), d in zip(given, batched)}
            compared = self.compare(what, examples, point)

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
