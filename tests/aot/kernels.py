"""Kinds of kernels and of outputs of executor aot: kernels.py BATON WORK native | shared | embedded | cortex

Skips (77) where a compiler or a model is missing."""
import os
import re
import shutil
import struct
import subprocess
import sys

import aot
from aot import FLAGS, HERE, TREE, compilers, run, skip, write

DIGITS = TREE / "sdk/examples/digits/digits.baton"


# A tensor that kernels change in place, of n elements or of twice as many.
TWO_SIZES = """#[version = "baton 0.1"]
def @loop(%k: int64, %all: Tensor[(?), float32]) -> Tensor[(?), float32] {
    if (less(%k, 4i64)) {
        let %one = reshape(cast(%k, dtype="float32"), newshape=[1]);
        @loop(add(%k, 1i64), scatter_nd(%all, reshape(%k, newshape=[1, 1]), %one, mode="update"))
    } else { %all }
}
def @main<n: Dim in 8..64>(%x: Tensor[(n), float32], %k: int64) {
    let %all: Tensor[(?), float32] = if (less(%k, 0i64)) { exp(%x) } else { concatenate((%x, %x), axis=0) };
    sum(@loop(%k, %all))
}
"""


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
        if "this machine has no more than" in subprocess.run([baton, "info", DIGITS, "--target", "cpu"], capture_output=True, text=True).stderr:
            continue
        for model in models:
            is_open = model.suffix == ".baton" and "<" in model.read_text()
            sizes = [(1, 1), (7, 33), (64, 0)] if is_open else [()]
            folder = write(baton, model, work / model.parent.name / model.stem, "--target", "cpu")
            if model.stem == "order":  # what the target has no text of is portable, all else native
                texts = [(folder / f"order_kernels_{i}.c").read_text() for i in range(2)]
                if ["cpu_native_enter" in text for text in texts] != [True, False] or "plain_sort" not in texts[1]:
                    sys.exit(f"{folder}: kernels of both kinds were expected")
            names = re.findall(r"^ \* (\w+): \d+ or more", next(folder.glob("*.h")).read_text(), re.M)
            for compiler in found if isa == "avx512" else found[:1]:
                program = build(folder, compiler)
                for seed, dims in enumerate(sizes):
                    os.chdir(folder)
                    count += aot.check(baton, model, folder, dict(zip(names, dims)), seed, program, True,
                                       ("--executor", "graph", "--target", "cpu"))
    del os.environ["BATON_CPU"]  # the loop ends with a set that this machine may not have
    for model in sorted((HERE / "language").glob("*.baton")):  # branches, calls, closures around such kernels
        folder = write(baton, model, work / "language" / model.stem, "--target", "cpu")
        program = build(folder, found[0])
        if "_machine;" in next(folder.glob("*.h")).read_text():
            run(program)  # on values, which the example builds; aot.golden compares such programs
        else:
            count += aot.compare(baton, model, folder, 0, [program])
    header = (work / "language/scan/scan.h").read_text()
    if "scan_workspace and scan_DEPTH are enough for every run" not in header:
        sys.exit(f"no workspace is enough for scan:\n{header}")
    (work / "two_sizes.baton").write_text(TWO_SIZES)
    header = (write(baton, work / "two_sizes.baton", work / "two_sizes", "--target", "cpu") / "two_sizes.h").read_text()
    if "a tensor that is copied has several sizes (two_sizes.baton:5:30)" not in header:
        sys.exit(f"why no workspace is enough is not told:\n{header}")
    print(f"{count} outputs as graph on cpu, or with branches interp, has them, by {' and '.join(found)}")
    folder = work / "digits/digits"
    text = folder / "digits_kernels_0.c"
    text.write_text(re.sub(r"cpu_native_enter\(\d+U", "cpu_native_enter(9U", text.read_text()))
    done = subprocess.run([build(folder, found[0])], capture_output=True, text=True)
    if done.returncode != 1 or "does not run the instructions" not in done.stderr:
        sys.exit(f"kernels for another machine: {done.returncode} {done.stderr}")


def shared(baton, work):
    """A shared object with the header's functions, loaded by a program that knows nothing else of it."""
    if not shutil.which("cc"):
        skip("no cc")
    run("cc", HERE / "load.c", "-ldl", "-o", work / "load")
    for target, how in (("c", ("--executor", "interp")), ("cpu", ("--executor", "graph", "--target", "cpu"))):
        if target == "cpu" and not (baton.parent.parent / "lib/baton/native").exists():
            continue
        folder = work / target / "digits"
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(exist_ok=True)
        run(baton, "compile", DIGITS, "--executor", 'aot{build="shared"}', "--target", target, "-o", folder)
        aot.check_shown(folder, "digits", folder / "digits.so")
        program = folder / "load.sh"
        program.write_text(f'#!/bin/sh\nexec {work / "load"} {folder / "digits.so"} digits "$@"\n')
        program.chmod(0o755)
        print(aot.check(baton, DIGITS, folder, {}, 3, program, target == "cpu", how), "output of a shared object, target", target)
    (work / "empty").mkdir(exist_ok=True)
    done = subprocess.run([baton, "compile", DIGITS, "--executor", 'aot{build="shared"}', "-o", work / "none"], capture_output=True,
                          text=True, env={**os.environ, "PATH": str(work / "empty")})
    if done.returncode != 1 or "cc" not in done.stderr:
        sys.exit(f"without a compiler: {done.returncode} {done.stderr}")


def embedded(baton, work):
    """README.md's project: a CMake project that adds the folder, and a program that calls the header's function."""
    if not shutil.which("cmake"):
        skip("no cmake")
    section = (TREE / "README.md").read_text().partition("## A model in C, without Baton")[2].partition("\n## ")[0]
    blocks = dict(re.findall(r"```(sh|cmake|c)\n(.*?)```", section, re.S))
    command = blocks["sh"].split()[1:]
    for target in ("c", "cpu"):
        if target == "cpu" and not (baton.parent.parent / "lib/baton/native").exists():
            continue
        project, place = work / f"project_{target}", work / f"build_{target}"
        shutil.rmtree(project, ignore_errors=True)
        shutil.rmtree(place, ignore_errors=True)
        project.mkdir()
        (project / "CMakeLists.txt").write_text(blocks["cmake"])
        (project / "classify.c").write_text(blocks["c"])
        folder = project / command[-1]
        run(baton, *command[:-1], folder, "--target", target, cwd=TREE)
        (folder / "main.c").write_text("#error the example is for who builds the folder alone\n")
        run("cmake", "-S", project, "-B", place, "-DCMAKE_BUILD_TYPE=Release")
        run("cmake", "--build", place)
        said = run(place / "classify")
        if said != "this is a 1\n":
            sys.exit(f"README.md's program, target {target}: {said}")


# ---- a microcontroller in an emulator ----

def cortex_main(folder, name, image, nout):
    """A program with its input in it, which prints the bits of the outputs."""
    data = ", ".join(f"{word}u" for word in struct.unpack(f"<{len(image) // 4}I", image))
    (folder / "main.c").write_text(f"""#include "start.h"
#include "{name}.h"

static const uint32_t image[] = {{ {data} }};
static _Alignas(64) unsigned char workspace[{name}_WORKSPACE];
static union {{ float f[{nout}]; uint32_t i[{nout}]; }} out;

int main(void)
{{
    const int32_t fault = {name}_run((const float *)(const void *)image, out.f, workspace);
    if (fault != 0)
        put_text({name}_fault(fault));
    for (int i = 0; i < {nout}; i++)
        put_number(out.i[i]);
    return fault != 0;
}}
""")


def cortex(baton, work):
    """MNIST-8 without an operating system and a C library; without its weights digits, which is in the tree."""
    for tool in ("arm-none-eabi-gcc", "qemu-system-arm"):
        if not shutil.which(tool):
            skip(f"no {tool}")
    mnist = TREE.parent / "shared/data/models/mnist-8/model.onnx"
    models = [DIGITS] + ([mnist] if mnist.exists() else [])
    kinds = [("cortex-m3", "mps2-an385", "double", []),
             ("cortex-m4", "mps2-an386", "single", ["-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"])]
    for model in models:
        for cpu, board, precision, floats in kinds:
            name = "digits" if model == DIGITS else "mnist"
            folder = write(baton, model, work / cpu / name, "--target", f'c{{precision="{precision}"}}')
            raw, npy = aot.inputs(folder, {}, 7)
            (_, _, shape), = aot.leaves(folder, "out", {})
            cortex_main(folder, name, raw[0].read_bytes(), shape[-1])
            objects = []
            for source in [*sorted(folder.glob("*.c")), HERE / "cortex/start.c"]:
                objects.append(folder / f"{source.stem}.o")
                mine = [] if source.stem in ("main", "start") else ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion"]
                run("arm-none-eabi-gcc", f"-mcpu={cpu}", "-mthumb", *floats, "-Os", "-ffreestanding", "-ffp-contract=off", "-Werror",
                    *mine, f"-I{folder}", f"-I{HERE / 'cortex'}", "-c", source, "-o", objects[-1])
            program = folder / "program.elf"
            run("arm-none-eabi-gcc", f"-mcpu={cpu}", "-mthumb", *floats, "-nostdlib", "-T", HERE / "cortex/cortex.ld", *objects, "-lgcc",
                "-o", program)
            done = subprocess.run(["qemu-system-arm", "-M", board, "-nographic", "-monitor", "none", "-serial", "none",
                                   "-semihosting-config", "enable=on,target=native", "-kernel", program],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            lines = done.stdout.splitlines()
            if done.returncode or len(lines) != 2:
                sys.exit(f"{name} on {cpu}: {done.returncode}\n{done.stdout}")
            got = [struct.unpack("<f", struct.pack("<I", int(word)))[0] for word in lines[0].split()]
            out = folder / "out"
            run(baton, "run", model, "--executor", "interp", "-o", out, "-i", npy[0])
            letter, want = aot.read_npy(next(out.glob("*.npy")))
            most = max(abs(value) for value in want)
            if precision == "double" and not aot.same(letter, got, want, False) or \
                    any(abs(a - b) > 1e-5 * most for a, b in zip(got, want)) or len(got) != len(want):
                sys.exit(f"{name} on {cpu}: {got}\nnot {list(want)}")
            sizes = {}
            for target in objects:
                text, data, bss = map(int, run("arm-none-eabi-size", target).splitlines()[1].split()[:3])
                kind = "data" if target.stem.endswith("_data") else "code" if target.stem.startswith(name) else "other"
                sizes[kind] = sizes.get(kind, 0) + text + data + bss
            print(f"{name} on {cpu}, {precision}: code {sizes['code']} bytes, data {sizes['data']}, workspace "
                  f"{re.search('WORKSPACE ([0-9]+)', (folder / f'{name}.h').read_text())[1]}, stack {lines[1].split()[1]}, "
                  f"program {run('arm-none-eabi-size', program).split()[6]}")


if __name__ == "__main__":
    aot.main(globals())
