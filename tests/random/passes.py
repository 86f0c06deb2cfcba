"""Random passes over the golden programs: passes.py BATON GOLDEN FIRST COUNT

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
import subprocess
import sys
import tempfile

# What takes lowered programs, a target's claims or devices; and what takes away the entry, or gives it back.
APART = ["plan-memory", "partition", "plan-devices", "to-cps", "un-cps"]
PIPELINES = ["default", "flatten", "fuse", "fuse-control", "debug"]
ILL_TYPED = ["its type does not follow", "its type is not", "its type has the dim", "its operands need", "is stated to hold", "internal"]


class Check:
    def __init__(self, baton, golden):
        self.baton = os.path.abspath(baton)
        self.nfault, self.nsame, self.nrefused = 0, 0, 0
        listed = subprocess.run([self.baton, "list", "passes"], capture_output=True, text=True, check=True).stdout
        self.passes = [line.split()[0] for line in listed.splitlines() if line.split()[0] not in APART]
        self.programs = sorted(self.runs_of(golden))

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

    def run(self, *args):
        done = subprocess.run([self.baton, *args], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

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
        if wanted[0]:
            return
        code, text, said = self.run("opt", path, "--verify-each", *way)
        told = f"{os.path.relpath(path)} {' '.join(way)}"
        if code:
            self.nrefused += 1
            if code != 1 or any(word in said for word in ILL_TYPED):
                self.fault(number, told, f"exit {code}: {said}")
            return
        pathlib.Path("after.baton").write_text(text)
        code, again, said = self.run("opt", "after.baton", "--passes", "")
        if code or again != text:
            return self.fault(number, told, f"what it prints does not read back: exit {code}: {said}\n{text}")
        got = self.value("after.baton", inputs)
        if got[0] or unnamed(got[1]) != unnamed(wanted[1]):
            return self.fault(number, told, f"exit {got[0]}: {got[1]}{got[2]}\nnot\n{wanted[1]}")
        self.nsame += 1

    def fault(self, number, told, what):
        self.nfault += 1
        print(f"---- {number}: {told}: {what[:1500]}")


def unnamed(printed):
    """Results, without the names of the bindings that gave them."""
    return re.sub(r"^[^ ]+: ", "", printed, flags=re.MULTILINE)


def main():
    first, count = int(sys.argv[3]), int(sys.argv[4])
    check = Check(sys.argv[1], sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for number in range(first, first + count):
            check.check(number)
        os.chdir("/")
    print(f"{check.nsame} of {count} as before, {check.nrefused} refused, {check.nfault} faults")
    return check.nfault > 0 or 3 * check.nsame < 2 * count


sys.exit(main())
