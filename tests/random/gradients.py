"""Gradients of random programs: gradients.py BATON FIRST COUNT [WAY]...

The programs (gradient_program.py) have branches, matches, data types, closures and recursion. On interp the gradient must be what
central differences give, in float64; so must the second derivatives of every third program. Two of the WAYS, which its number draws,
must give the gradient that interp gives, and so must the program as it is behind some pass of the default pipeline. A point at which
the differences of both sides disagree is drawn again.
"""
import collections
import sys

import kit

numpy = kit.import_numpy()

import gradient_program

STEP, CLOSE = 1e-3, 1e-6
WAYS = {
    "reference": ["--executor", "vm", "--target", "reference"],
    "cpu": ["--executor", "vm", "--target", "cpu{threads=1}"],
    "bytecode": ["--executor", "vm", "--target", 'cpu{engine="bytecode"}'],
    "unoptimised": ["--executor", "vm", "--target", "cpu{threads=1}", "-O", "0"],
    "aot": ["--executor", "written"],
}


def slope(values):
    """From values at -2, -1, -1/2, 0, 1/2, 1 and 2 steps: the slope, or None at a kink."""
    below2, below, half_below, at, half_above, above, above2 = (float(v) for v in values)
    scale = max(1.0, *map(abs, values))
    one, half = (above - below) / (2 * STEP), (half_above - half_below) / STEP
    left, right = (3 * at - 4 * below + below2) / (2 * STEP), (4 * above - 3 * at - above2) / (2 * STEP)
    if abs(left - right) > 3e-4 * max(scale, abs(half)) or abs(one - half) > 3e-4 * max(scale, abs(half)):
        return None
    return (4 * half - one) / 3


class Check(kit.Check):
    def __init__(self):
        super().__init__()
        self.ways = sys.argv[4:] or list(WAYS)
        self.counts = collections.Counter()

    def check(self, number):
        program = gradient_program.Program(number)
        self.program, self.number = program, number
        text = program.text()
        if len(text) > 40000:
            self.counts["too long"] += 1
            return
        self.write(text)
        self.counts["programs"] += 1
        for _ in range(4):
            point, along, across = self.draw(), self.direction("v"), self.direction("u")
            status = self.compare(point, along)
            if status != "kink":
                break
        self.counts[status] += 1
        if status != "ok":
            return
        self.compare_forward(point, along)
        if number % 3 == 0:
            self.compare_second(point, along, across)
        self.compare_ways(point)

    def draw(self):
        pick = self.program.pick
        self.sizes = {d: pick.choice([1, 2, 3]) for d in self.program.dims}
        values = {}
        for name, t in self.program.inputs:
            shape = [self.sizes.get(d, d) for d in t.shape]
            if t.dtype == "float64":
                values[name] = numpy.array([pick.uniform(-2, 2) for _ in range(int(numpy.prod(shape)))]).reshape(shape)
            else:
                values[name] = numpy.array(pick.randrange(0, 2 if t.dtype == "bool" else 7)).astype(t.dtype)
        return values

    def direction(self, mark):
        pick, made = self.program.pick, {}
        for i in self.program.wrt:
            name, t = self.program.inputs[i]
            shape = [self.sizes.get(d, d) for d in t.shape]
            made[mark + name] = numpy.array([pick.uniform(-1, 1) for _ in range(int(numpy.prod(shape)))]).reshape(shape)
        return made

    def value_of(self, what, values, *words):
        """The results of a run in order; None: it failed, which is a fault."""
        found = self.results(*words, *kit.save(values))
        if isinstance(found, str):
            self.fault(self.number, f"{what}: {found}")
            return None
        return list(found.values())

    def entry(self, name, values):
        return self.value_of(name, values, "program.baton", "--executor", "interp", "--pipeline", "gradients", "--no-specialise", "--entry", name)

    def product(self, gradients, direction):
        return sum(float((g * d).sum()) for g, d in zip(gradients, direction.values()))

    def compare(self, point, along):
        gradients = self.entry("main", point)
        values = self.entry("values", {**point, **along, "h": numpy.array(STEP)})
        if not gradients or not values:
            return "fault"
        if not all(numpy.isfinite(v).all() for v in values + gradients):
            if all(numpy.isfinite(v).all() for v in values):
                self.fault(self.number, f"gradients {gradients} of {values} at {point}")
                return "fault"
            return "infinite"
        wanted = slope(values)
        if wanted is None:
            return "kink"
        found = self.product(gradients, along)
        if abs(found - wanted) > CLOSE * max(1, abs(wanted)):
            self.fault(self.number, f"gradient along {along} at {point}: {found}, by differences {wanted} of {values}")
            return "fault"
        self.gradients = gradients
        self.counts["zero"] += not any(g.any() for g in gradients[:-1])
        return "ok"

    def compare_forward(self, point, along):
        """<v, jvp u> == <vjp v, u>: the tangent is the product of the gradients and the direction, and the value stays."""
        found = self.entry("forward", {**point, **along})
        closed = self.entry("closed", point)
        if not found or not closed:
            return
        if not numpy.allclose(closed[0], self.gradients[0], rtol=1e-9, atol=1e-11):
            self.fault(self.number, f"gradient of a closure at {point}: {closed[0]}, of the function {self.gradients[0]}")
        self.counts["forward"] += 1
        for what, a, b in zip(("value", "tangent"), found, (self.gradients[-1], self.product(self.gradients, along)), strict=True):
            if not numpy.allclose(a, b, rtol=1e-9, atol=1e-11):
                self.fault(self.number, f"forward along {along} at {point}: {what} {a}, in reverse {b}")

    def compare_second(self, point, along, across):
        gradients = self.entry("second", {**point, **along})
        for way in ("forward_over_reverse", "reverse_over_forward"):
            found = self.entry(way, {**point, **along})
            if gradients and found and not all(numpy.allclose(a, b, rtol=1e-8, atol=1e-10, equal_nan=True) for a, b in zip(found, gradients, strict=True)):
                self.fault(self.number, f"{way} along {along} at {point}: {found}, reverse over reverse {gradients}")
        values = self.entry("slopes", {**point, **along, **across, "h": numpy.array(STEP)})
        if not gradients or not values:
            return
        wanted = slope(values) if all(numpy.isfinite(v).all() for v in values) else None
        if wanted is None:
            self.counts["kink of slope"] += 1
            return
        found = self.product(gradients, across)
        self.counts["second"] += 1
        if not abs(found - wanted) <= CLOSE * max(1, abs(wanted)):
            self.fault(self.number, f"second derivative along {along}, {across} at {point}: {found}, by differences {wanted} of {values}")

    def compare_ways(self, point):
        pick = self.program.pick
        for way in pick.sample(self.ways, min(2, len(self.ways))):
            words = ["program.baton", "--entry", "main", *WAYS[way]] + ([] if pick.random() < 0.5 else ["--no-specialise"])
            found = self.results(*words, *kit.save(point))
            if way == "aot" and isinstance(found, str) and "no C is written for" in found:
                self.counts["refused by aot"] += 1
                continue
            self.same(f"{way} {' '.join(words)}", found, point)
            self.counts[way] += 1
        stop = str(pick.randint(1, 32))
        self.same(f"interp behind {stop} passes", self.behind(stop, point), point)

    def behind(self, stop, point):
        done = self.run("opt", "program.baton", "--pipeline", "default", "--verify-each", "--stop-after", stop)
        if done.returncode:
            return done.stderr
        with open("stopped.baton", "w") as file:
            file.write(done.stdout)
        left = ["--pipeline", "gradients"] if "\ngradient @" in done.stdout else ["--passes", ""]
        return self.results("stopped.baton", "--entry", "main", "--executor", "interp", *left, "--no-specialise", *kit.save(point))

    def same(self, way, found, point):
        if isinstance(found, str):
            return self.fault(self.number, f"{way}: {found}")
        for a, b in zip(found.values(), self.gradients, strict=True):
            if a.shape != b.shape or not numpy.allclose(a, b, rtol=1e-9, atol=1e-11):
                return self.fault(self.number, f"{way} at {point}:\n{found}\nnot\n{self.gradients}")


check = Check()
sys.setrecursionlimit(20000)
check.check_in_folder()
print(f"{check.nfault} faults; {dict(check.counts)}")
nchecked, nprogram = check.counts["ok"], check.counts["programs"]
is_weak = 5 * nchecked < 4 * nprogram or 2 * check.counts["zero"] > nprogram
sys.exit(check.nfault > 0 or is_weak or check.counts["refused by aot"] > check.counts["aot"])
