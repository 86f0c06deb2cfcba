"""Random programs against NumPy: oracle.py BATON FIRST COUNT [WAY]...

The programs (oracle_program.py) have data types, nested matches, closures, references, recursion, open dims and sizes that elements
decide, and compute their own results. Each runs on three sets of sizes: on interp without passes, and in two of the WAYS, which its number
draws. What executor aot refuses is counted; half of it must run. The program of a number is the same on every run; the first three that
give something else are printed.
"""
import collections
import re
import sys

import kit

numpy = kit.import_numpy()

import oracle_program

PASSES = ("combine-parallel-dense common-subexpr dead-code dynamic-to-static eta-expand fold-constant fold-take inline lambda-lift licm "
          "match-tree merge-functions monomorphize sccp simplify-control-flow simplify-expr stack-rows batch-loop unroll").split()
WAYS = {
    "passes": ["--executor", "interp"],
    "reference": ["--executor", "vm", "--target", "reference"],
    "cpu": ["--executor", "vm", "--target", "cpu{threads=1}"],
    "bytecode": ["--executor", "vm", "--target", 'cpu{engine="bytecode"}'],
    "unoptimised": ["--executor", "vm", "--target", "cpu{threads=1}", "-O", "0"],
    "aot": ["--executor", "written", "--no-specialise"],
}


class Check(kit.Check):
    def __init__(self):
        super().__init__()
        self.ways, self.nprogram = sys.argv[4:] or list(WAYS), 0
        self.runs, self.refused = collections.Counter(), collections.Counter()

    def check(self, number):
        program = oracle_program.Program(number)
        sets = [program.arguments(i) for i in range(3)]
        try:
            wanted = [program.expected(*s) for s in sets]
        except (oracle_program.TooLong, RecursionError):
            return
        if len(program.text()) > 60000:
            return
        self.nprogram += 1
        self.write(program.text())
        inputs = [kit.save(values, f".{i}") for i, (_, values) in enumerate(sets)]
        self.compare(number, "interp", inputs, wanted, ["program.baton", "--executor", "interp", "--passes", "", "--no-specialise"])
        for way in program.pick.sample(self.ways, min(2, len(self.ways))):
            words = WAYS[way]
            if way == "passes":
                words = words + ["--no-specialise", "--passes", ",".join(program.pick.sample(PASSES, 6))]
            if way in ("passes", "aot"):
                self.compare(number, way, inputs, wanted, ["program.baton", *words])
                continue
            done = self.run("compile", "program.baton", *words, "-o", "p.bta")
            if done.returncode:
                self.fault(number, f"{way}: compile: exit {done.returncode}: {done.stderr}")
            else:
                self.compare(number, way, inputs, wanted, ["p.bta"])

    def compare(self, number, way, inputs, wanted, command):
        for i, expected in enumerate(wanted):
            done = self.run("run", *command, *inputs[i], "-o", "found")
            if way == "aot" and done.returncode == 1 and "no C is written for" in done.stderr:
                self.refused[way] += 1
                return
            if done.returncode:
                return self.fault(number, f"{way} {command}, set {i}: exit {done.returncode}: {done.stderr}")
            names = re.findall(r"^([^\s:]+): ", done.stdout, re.MULTILINE)
            for k, value in enumerate(expected):
                found = numpy.load(f"found/{names[k]}.npy")
                if found.dtype != value.dtype or found.shape != value.shape or not numpy.array_equal(found, value):
                    return self.fault(number, f"{way} {command}, set {i}, output {k}:\n{found}\nnot\n{value}")
        self.runs[way] += 1


check = Check()
sys.setrecursionlimit(20000)
check.check_in_folder()
print(f"{check.nprogram} of {len(check.numbers)} programs ran, {check.nfault} faults; by way: {dict(check.runs)}, refused: {dict(check.refused)}")
sys.exit(check.nfault > 0 or 2 * check.nprogram < len(check.numbers) or check.refused["aot"] > check.runs["aot"])
