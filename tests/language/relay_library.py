"""Relay's own library: prelude.rly, nat.rly and gradient.rly of python/tvm/relay/std are imported as they are, and run.

relay_library.py BATON [--executor NAME]

They lie in ../shared/seeds/relay beside the tree, or in the folder that the variable BATON_RELAY_LIBRARY names.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

FILES = ["prelude.rly", "nat.rly", "gradient.rly"]
PROGRAM = """#[version = "0.0.5"]
import "prelude.rly"
import "nat.rly"
import "gradient.rly"
def @main(%n: int32) {
  let %l = Cons(%n, Cons(2, Cons(3, Nil)));
  let %two = succ(succ(zero));
  let %double = fn (%x: int32) -> int32 { %x + %x };
  let %plus = fn (%a: int32, %b: int32) -> int32 { %a + %b };
  let %times = fn (%a: int32, %b: int32) -> int32 { %a * %b };
  let %g = @AddGradCell(%plus, Raw(%n), @MultiplyGradCell(%times, One(fn () -> int32 { 1 }), Raw(7)));
  (@sum(@map(%double, @concat(%l, @rev(%l)))), @zip(%l, @rev(%l)), @size(@tmap(%double, Rose(1, Cons(Rose(2, Nil), Nil)))),
   @iterate(%double, 5)(%n), @nat_nth(%l, %two), @nat_iterate(%double, @nat_double(%two))(%n), @FromGradCell(%g))
}
"""
WANTED = ["40", "Cons((5, 3), Cons((2, 2), Cons((3, 5), Nil)))", "2", "160", "3", "80", "12"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("baton")
    parser.add_argument("--executor", default="interp")
    options = parser.parse_args()
    here = os.path.dirname(os.path.abspath(__file__))
    folder = os.environ.get("BATON_RELAY_LIBRARY", os.path.join(here, "..", "..", "..", "shared", "seeds", "relay"))
    missing = [name for name in FILES if not os.path.exists(os.path.join(folder, name))]
    if missing:
        print(f"skipped: {folder} has no {', '.join(missing)} (BATON_RELAY_LIBRARY names another folder)")
        return 77
    with tempfile.TemporaryDirectory() as work:
        for name in FILES:
            shutil.copy(os.path.join(folder, name), work)
        path = os.path.join(work, "program.rly")
        with open(path, "w") as out:
            out.write(PROGRAM)
        done = subprocess.run([options.baton, "run", path, "--executor", options.executor, "-i", "n=5"], capture_output=True, text=True)
    found = [line.strip() for line in done.stdout.splitlines() if line.startswith("  ")]
    if found != WANTED:
        print(f"wanted {WANTED}\nfound  {found}\n{done.stderr}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
