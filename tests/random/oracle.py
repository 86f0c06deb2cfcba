"""Random programs against NumPy: oracle.py BATON FIRST COUNT [WAY]...

The programs (oracle_program.py) have data types, nested matches, closures, references, recursion, open dims and sizes that elements
decide, and compute their own results. Each runs on three sets of sizes: on interp without passes, and in two of the WAYS, which its number
draws. What executor aot refuses is counted; half of it must run. The program of a number is the same on every run; the first three that
give something else are printed.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import numpy
except ImportError as error:
    must_be = os.environ.get("CI") == "true"
    print(f"{'failed' if must_be else 'skipped'}: {error}; see tests/requirements.txt")
    sys.exit(1 if must_be else 77)

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


class Check:
    def __init__(self, baton, ways):
        self.baton, self.ways = os.path.abspath(baton), ways
        self.nprogram, self.nfault, self.runs, self.refused = 0, 0, collections.Counter(), collections.Counter()

    def run(self, *args):
        return subprocess.run([self.baton, *args], capture_output=True, text=True)

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
        pathlib.Path("p.baton").write_text(program.text())
        inputs = [self.save(i, values) for i, (_, values) in enumerate(sets)]
        self.compare(number, "interp", inputs, wanted, ["p.baton", "--executor", "interp", "--passes", "", "--no-specialise"])
        for way in program.pick.sample(self.ways, min(2, len(self.ways))):
            words = WAYS[way]
            if way == "passes":
                words = words + ["--no-specialise", "--passes", ",".join(program.pick.sample(PASSES, 6))]
            if way in ("passes", "aot"):
                self.compare(number, way, inputs, wanted, ["p.baton", *words])
                continue
            done = self.run("compile", "p.baton", *words, "-o", "p.bta")
            if done.returncode:
                self.fault(number, f"{way}: compile: exit {done.returncode}: {done.stderr}")
            else:
                self.compare(number, way, inputs, wanted, ["p.bta"])

    def save(self, i, values):
        words = []
        for name, value in values.items():
            numpy.save(f"{name}.{i}.npy", value)
            words += ["-i", f"{name}={name}.{i}.npy"]
        return words

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

    def fault(self, number, what):
        self.nfault += 1
        print(f"program {number}, {what[:1500]}")
        if self.nfault <= 3:
            print(pathlib.Path("p.baton").read_text())


def main():
    first, count = int(sys.argv[2]), int(sys.argv[3])
    check = Check(sys.argv[1], sys.argv[4:] or list(WAYS))
    sys.setrecursionlimit(20000)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for number in range(first, first + count):
            check.check(number)
        os.chdir("/")
    print(f"{check.nprogram} of {count} programs ran, {check.nfault} faults; by way: {dict(check.runs)}, refused: {dict(check.refused)}")
    return check.nfault > 0 or 2 * check.nprogram < count or check.refused["aot"] > check.runs["aot"]


if __name__ == "__main__":
    sys.exit(main())
