"""Kinds of kernels and of outputs of executor aot: kernels.py BATON WORK native

Skips (77) where a compiler or a model is missing."""
import os
import pathlib
import re
import subprocess
import sys

import aot
from aot import FLAGS, HERE, TREE, compilers, run, skip, write

DIGITS = TREE / "sdk/examples/digits/digits.baton"


def library_of(baton):
    library = baton.parent.parent / "lib/baton/native/libbaton_cpu.a"
    return library if library.exists() else skip(f"{library} was not built")


def build(folder, compiler):
    """The example with the library beside it, which needs nothing but the C library."""
    program = folder / f"example.{compiler}"
    run(compiler, *FLAGS, f"-I{folder}", *sorted(folder.glob("*.c")), *folder.glob("lib*.a"), "-lm", "-o", program)
    for line in run("nm", program).splitlines():
        if re.search(r" (U|T) (bt_|dlopen|dlsym|pthread_)", line):
            sys.exit(f"{program} has {line}")
    return program


def native(baton, work):
    """The same bits as executor graph on target cpu, on each instruction set that this machine has."""
    library_of(baton)
    found, count = compilers(), 0
    models = sorted([*(HERE / "programs").glob("*.baton"), *(HERE / "native").glob("*.baton")]) + [DIGITS]
    mnist = TREE.parent / "shared/data/models/mnist-8/model.onnx"
    models += [mnist] if mnist.exists() else []
    for isa in ("portable", "avx2", "avx512"):
        os.environ["BATON_CPU"] = isa
        for model in models:
            sizes = [{}]
            if model.suffix == ".baton" and "<" in model.read_text():
                sizes = [{"n": 1, "m": 1}, {"n": 7, "m": 33}, {"n": 64, "m": 0}]
            if model == HERE / "programs/open.baton":  # a sum along an open dim, which the target leaves to the evaluator
                done = subprocess.run([baton, "compile", model, "--executor", "aot", "--target", "cpu", "-o", work / "refused"],
                                      capture_output=True, text=True)
                if done.returncode != 1 or "has no code of the form that is asked for, of kernel fused_cumsum" not in done.stderr:
                    sys.exit(f"{model}: {done.stderr}")
                continue
            folder = write(baton, model, work / model.parent.name / model.stem, "--target", "cpu")
            for compiler in found if isa == "avx512" else found[:1]:
                program = build(folder, compiler)
                for seed, dims in enumerate(sizes):
                    os.chdir(folder)
                    count += aot.check(baton, model, folder, dims, seed, program, True,
                                       ("--executor", "graph", "--target", "cpu"))
    print(f"{count} outputs as graph on cpu has them, by {' and '.join(found)}")
    text = next(folder.glob("*_kernels_0.c"))
    text.write_text(re.sub(r"cpu_native_enter\(\d+U", "cpu_native_enter(9U", text.read_text()))
    done = subprocess.run([build(folder, found[0])], capture_output=True, text=True)
    if done.returncode != 1 or "does not run the instructions" not in done.stderr:
        sys.exit(f"kernels for another machine: {done.returncode} {done.stderr}")


def main():
    baton, work, what = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]) / sys.argv[3], sys.argv[3]
    work = work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    globals()[what](baton, work)


if __name__ == "__main__":
    main()
