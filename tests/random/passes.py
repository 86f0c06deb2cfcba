"""Random passes over the golden programs: passes.py BATON FIRST COUNT GOLDEN

A number draws a program of golden/interp, golden/vm, golden/prelude or golden/relay and a way through passes: one of `baton list
passes` behind `flatten`; to-cps, others, and un-cps; a pipeline that stops somewhere; some passes, one after the other. What comes
out must verify behind each pass, read back to itself, and give the values that the program gives on interp without passes. A pass may
refuse a program, but not what another made because it is ill-typed; two thirds must be taken.
"""
import os
import pathlib
import random
import re
import shlex
import sys

import kit

# What takes lowered programs, a target's claims or devices; what takes away the entry, gives it back or puts one beside it; and what
# changes values.
APART = ["plan-memory", "partition", "plan-devices", "to-cps", "un-cps", "quant-annotate", "quant-observe", "quant-calibrate",
         "quant-realize", "quant-accumulate", "quant-skip", "qdq-to-integer", "check-zero-points", "mixed-precision", "fast-math", "place", "train-mode",
         "lift-parameters", "differentiate", "outline-checkpoints", "drop-again"]
PIPELINES = ["default", "flatten", "fuse", "fuse-control", "debug"]
ILL_TYPED = ["its type does not follow", "its type is not", "its type has the dim", "its operands need", "is stated to hold", "internal"]


class Check(kit.Check):
    def __init__(self):
        super().__init__()
        self.nsame, self.nrefused = 0, 0
        names = [line.split()[0] for line in self.run("list", "passes").stdout.splitlines()]
        self.passes = [name for name in names if name not in APART]
        self.programs = sorted(self.runs_of(sys.argv[4]))

    def runs_of(self, golden):
        """Programs, each with the options of a run that ends well."""
        for folder in "interp", "vm", "prelude", "relay":
            for path in pathlib.Path(golden, folder).glob("*.baton"):
                text = path.read_text()
                lines = re.findall(r"^// RUN: baton run (.*)$", text, re.MULTILINE)
                if lines and "CHECK-ERROR" not in text and "import" not in text:
                    words = shlex.split(lines[0].replace("%s", ""))
                    yield str(path.resolve()), tuple(self.inputs(words))

    def inputs(self, words):
        for at, word in enumerate(words):
            if word in ("-i", "--input", "--entry", "--dim"):
                yield from words[at:at + 2]

    def value(self, path, inputs):
        return self.run("run", path, "--executor", "interp", "--passes", "", "--no-specialise", *inputs)

    def way(self, pick):
        kind = pick.randrange(4)
        if kind == 0:
            return ["--passes", f"flatten,{pick.choice(self.passes)}"]
        if kind == 1:
            names = ["to-cps"] + pick.sample(self.passes, pick.randint(0, 2)) + ["un-cps"]
            return ["--passes", ",".join(names)]
        if kind == 2:
            return ["--pipeline", pick.choice(PIPELINES), "--stop-after", str(pick.randint(1, 20))]
        return ["--passes", ",".join(pick.sample(self.passes, pick.randint(1, 6)))]

    def check(self, number):
        pick = random.Random(number)
        path, inputs = pick.choice(self.programs)
        way = self.way(pick)
        wanted = self.value(path, inputs)
        if wanted.returncode:
            return
        done = self.run("opt", path, "--verify-each", *way)
        told = f"{os.path.relpath(path)} {' '.join(way)}"
        if done.returncode:
            self.nrefused += 1
            if done.returncode != 1 or any(word in done.stderr for word in ILL_TYPED):
                self.fault(number, f"{told}: exit {done.returncode}: {done.stderr}")
            return
        self.write(done.stdout)
        again = self.run("opt", "program.baton", "--passes", "")
        if again.returncode or again.stdout != done.stdout:
            return self.fault(number, f"{told}: what it prints does not read back: exit {again.returncode}: {again.stderr}")
        got = self.value("program.baton", inputs)
        if got.returncode or unnamed(got.stdout) != unnamed(wanted.stdout):
            return self.fault(number, f"{told}: exit {got.returncode}: {got.stdout}{got.stderr}\nnot\n{wanted.stdout}")
        self.nsame += 1


def unnamed(printed):
    """Results, without the names of the bindings that gave them."""
    return re.sub(r"^[^ ]+: ", "", printed, flags=re.MULTILINE)


check = Check()
check.check_in_folder()
print(f"{check.nsame} of {len(check.numbers)} as before, {check.nrefused} refused, {check.nfault} faults")
sys.exit(check.nfault > 0 or 3 * check.nsame < 2 * len(check.numbers))
