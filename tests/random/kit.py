"""What tests by the numbers of random programs share: NumPy, runs of baton, and the loop over the numbers."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def import_numpy():
    """NumPy; without it the test ends as skipped, on CI as failed."""
    try:
        import numpy
    except ImportError as error:
        must_be = os.environ.get("CI") == "true"
        print(f"{'failed' if must_be else 'skipped'}: {error}; see tests/requirements.txt")
        sys.exit(1 if must_be else 77)
    return numpy


def save(values, mark=""):
    """The words that give baton these inputs by name, which become files."""
    words = []
    for name, value in values.items():
        import_numpy().save(f"{name}{mark}.npy", value)
        words += ["-i", f"{name}={name}{mark}.npy"]
    return words


class Check:
    """A test called as TEST BATON FIRST COUNT [WORD]...; its own `check` is of one number, and calls `fault`."""

    def __init__(self):
        baton, first, count = sys.argv[1:4]
        self.baton, self.text, self.nfault = os.path.abspath(baton), "", 0
        self.isas = {}
        self.numbers = range(int(first), int(first) + int(count))

    def run(self, *words, **environment):
        """A run of baton, which is over."""
        return subprocess.run([self.baton, *words], capture_output=True, text=True, env={**os.environ, **environment})

    def isa_here(self, isa):
        """This instruction set, for BATON_CPU; where the machine has it not, the least one."""
        text = '#[version = "baton 0.1"]\n\ndef @main(%x: Tensor[(1), float32]) { exp(%x) }\n'
        if isa not in self.isas:
            done = subprocess.run([self.baton, "info", "-", "--target", "cpu"], input=text, capture_output=True, text=True,
                                  env={**os.environ, "BATON_CPU": isa})
            self.isas[isa] = "portable" if "this machine has no more than" in done.stderr else isa
        return self.isas[isa]

    def results(self, *words, **environment):
        """The results by name of a run of a program, or the text that it fails with."""
        shutil.rmtree("found", ignore_errors=True)  # those of another program may have other names
        done = self.run("run", *words, "-o", "found", **environment)
        if done.returncode:
            return f"{'fails' if done.returncode == 1 else f'exit {done.returncode}'}: {done.stderr}"
        return {path.stem: import_numpy().load(path) for path in sorted(pathlib.Path("found").iterdir())}

    def write(self, text):
        """The program of this number, as program.baton."""
        self.text = text
        pathlib.Path("program.baton").write_text(text)

    def fault(self, number, what):
        """Prints what is wrong, and of the first three the program."""
        self.nfault += 1
        print(f"program {number}: {what[:3000]}")
        if self.nfault <= 3:
            print(self.text)

    def check_all(self):
        """Checks each number."""
        for number in self.numbers:
            self.text = ""
            self.check(number)

    def check_in_folder(self):
        """Checks all, with a new folder as the working one."""
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            self.check_all()
            os.chdir("/")
