"""Programs that executor aot writes: aot.py BATON WORK programs | language | values | cache | example | said | folder | budgets | bounds | faults | mnist | project

Skips (77) where a compiler or a model is missing."""
import functools
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys

FLAGS = ["-std=c99", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
LIBRARY = {"memcpy", "memmove", "memset", "memcmp"}
HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parent.parent
# dtype: struct's letter, npy's type, a value of a generator
DTYPES = {
    "bool": ("B", "|b1", lambda r: r.randrange(2)),
    "int8": ("b", "|i1", lambda r: r.randrange(-128, 128)),
    "int16": ("h", "<i2", lambda r: r.randrange(-500, 500)),
    "int32": ("i", "<i4", lambda r: r.randrange(-500, 500)),
    "int64": ("q", "<i8", lambda r: r.randrange(-9, 9)),
    "uint8": ("B", "|u1", lambda r: r.randrange(256)),
    "uint16": ("H", "<u2", lambda r: r.randrange(500)),
    "uint32": ("I", "<u4", lambda r: r.randrange(500)),
    "float32": ("f", "<f4", lambda r: r.uniform(0.1, 2)),
    "float64": ("d", "<f8", lambda r: r.uniform(1, 2)),
    "float16": ("e", "<f2", lambda r: r.uniform(-2, 2)),
    "float8_e4m3fn": ("B", "|V1", lambda r: r.randrange(0x7f)),
    "float8_e4m3fnuz": ("B", "|V1", lambda r: r.randrange(0x80)),
    "float8_e5m2": ("B", "|V1", lambda r: r.randrange(0x7c)),
    "float8_e5m2fnuz": ("B", "|V1", lambda r: r.randrange(0x80)),
}


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def run(*args, **more):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, args))}\n{done.stdout}{done.stderr}")
    return done.stdout


def compilers():
    found = [c for c in ("gcc", "clang") if shutil.which(c)]
    return found or skip("neither gcc nor clang is there")


def write(baton, model, folder, *options):
    """The program, written twice: the same bytes each time."""
    again = folder.with_name(folder.name + "_again") / folder.name
    for place in (folder, again):
        shutil.rmtree(place, ignore_errors=True)
        run(baton, "compile", model, "--executor", "aot", "-o", place, *options)
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.read_bytes() != (again / file.relative_to(folder)).read_bytes():
            sys.exit(f"{file}: another text the second time")
    return folder


@functools.lru_cache(None)
def own_headers(compiler):
    """Where its <stdint.h> and such are, without a C library."""
    return run(compiler, "-print-file-name=include").strip()


def build(folder, compiler, *flags):
    """Objects of the program, which need nothing but four functions, and the example."""
    objects = []
    for source in sorted(folder.glob("*.c")):
        if source.name != "main.c":
            run(compiler, *FLAGS, "-ffreestanding", "-nostdinc", "-isystem", own_headers(compiler), f"-I{folder}", "-fsyntax-only", source)
        target = folder / f"{source.stem}.{compiler}.o"
        run(compiler, *FLAGS, *flags, f"-I{folder}", "-c", source, "-o", target)
        objects.append(target)
    reader = shutil.which({"gcc": "g++", "clang": "clang++"}[compiler])
    if reader:  # the header is for C++ too
        run(reader, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++", next(folder.glob("*.h")))
    defined, needed = set(), set()
    for line in run("nm", "-A", *(target for target in objects if not target.name.startswith("main."))).splitlines():
        kind, name = line.split()[-2:]
        (needed if kind == "U" else defined).add(name)
        if kind in "BbDd" and not name.startswith("texts"):
            sys.exit(f"{line}: it is memory that is written")
    if needed - defined - LIBRARY:
        sys.exit(f"{folder}: it needs {sorted(needed - defined - LIBRARY)}")
    program = folder / f"example.{compiler}"
    run(compiler, *objects, "-o", program)
    return program


def leaves(folder, kind, dims):
    """The tensors that the header tells of: name, dtype, shape."""
    names = {
        "dim_add": lambda a, b: a + b, "dim_mul": lambda a, b: a * b, "dim_floordiv": lambda a, b: a // b,
        "dim_ceildiv": lambda a, b: -(-a // b), "dim_mod": lambda a, b: a % b, "dim_min": min, "dim_max": max,
        "INT64_C": int, **dims,
    }
    header = next(folder.glob("*.h")).read_text()
    return [(name, dtype, eval(shape, {}, names))
            for name, dtype, shape in re.findall(rf"^ \* {kind} *(\w+): (\w+)(\[.*\])$", header, re.M)]


def inputs(folder, dims, seed, only=None, small=False):
    """Files of elements for the example, and npy files for baton run."""
    generator, raw, npy = random.Random(seed), [], []
    for number, (name, dtype, shape) in enumerate(leaves(folder, "in", dims)):
        n = 1
        for dim in shape:
            n *= dim
        kind = "float32" if dtype == "bfloat16" else dtype
        letter, npy_type, value = DTYPES[kind]
        if small and npy_type[1] in "iu":
            value = lambda r: r.randrange(1, 6)
        values = [only if only is not None and dtype == "int64" else value(generator) for _ in range(n)]
        data = struct.pack(f"<{n}{letter}", *values)
        if dtype == "bfloat16":
            data = b"".join(data[4 * i + 2:4 * i + 4] for i in range(n))
            npy_type = "<V2"
        raw.append(folder / f"in{number}")
        raw[-1].write_bytes(data)
        tuple_text = "(" + "".join(f"{dim}, " for dim in shape) + ")"
        head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (npy_type, tuple_text)
        head += " " * (63 - (10 + len(head)) % 64) + "\n"
        npy.append(folder / f"in{number}.npy")
        npy[-1].write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)
    return raw, npy


def read_npy(path):
    data = path.read_bytes()
    size = struct.unpack("<H", data[8:10])[0]
    head = eval(data[10:10 + size].decode())
    data = data[10 + size:]
    letter = {"f4": "f", "f8": "d", "f2": "H", "V2": "H", "i1": "b", "i2": "h", "i4": "i", "i8": "q",
              "V1": "B", "u1": "B", "b1": "B", "u2": "H", "u4": "I", "u8": "Q"}[head["descr"][1:]]
    return letter, struct.unpack(f"<{len(data) // struct.calcsize(letter)}{letter}", data)


def same(letter, got, want, exact):
    if len(got) != len(want):
        return False
    if letter not in "fd" or exact:
        return all(a == b or (a != a and b != b) for a, b in zip(got, want))
    bound = {"f": 2 ** -21, "d": 2 ** -48}[letter]
    return all(a == b or (a != a and b != b) or abs(a - b) <= bound * abs(b) for a, b in zip(got, want))


def check(baton, model, folder, dims, seed, program, exact=False, how=("--executor", "interp")):
    """The example against the interpreter, or another executor, on the same inputs."""
    raw, npy = inputs(folder, dims, seed)
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    info = run(baton, "info", model)
    names, outputs = (re.findall(rf"^{kind} +(\S+)", info, re.M) for kind in ("input", "output"))
    given = [f"{name}={file}" for name, file in zip(names, npy)]
    run(baton, "run", model, *how, "-o", out, *[a for g in given for a in ("-i", g)])
    lines = run(program, *dims.values(), *raw).splitlines()
    if len(lines) != len(outputs):
        sys.exit(f"{model}: {len(lines)} outputs, not {len(outputs)}")
    for line, name in zip(lines, outputs):
        values = line.partition(":")[2]
        letter, want = read_npy(out / f"{name}.npy")
        got = [float(v) if letter in "fd" else int(v) for v in values.split()]
        if letter == "f":
            got = [struct.unpack("<f", struct.pack("<f", v))[0] for v in got]
        if not same(letter, got, want, exact):
            sys.exit(f"{model} {dims}: {name} is\n{got}\nnot\n{list(want)}")
    return len(lines)


# Names that mean nothing to the text around them.
KEPT = ("frame", "dims", "v0", "fields1", "zero", "ones", "object", "f0", "n0", "elements", "a_b", "X1")


def programs(baton, work):
    found = compilers()
    count = 0
    for model in sorted((HERE / "programs").glob("*.baton")) + [TREE / "sdk/examples/digits/digits.baton"]:
        sizes = [()] if "<" not in model.read_text() else [(1, 1), (7, 33), (64, 0)]
        for options in ([], ["--executor", 'aot{weights="file"}']):
            folder = write(baton, model, work / model.stem, *options)
            header = next(folder.glob("*.h")).read_text()
            names = re.findall(r"^ \* (\w+): \d+ or more", header, re.M)
            for word in KEPT if model.stem == "names" else ():
                if f" {word}: " not in header:
                    sys.exit(f"{model}: {word} has another name in C")
            exact = re.search(r"exp|softmax|erf|sin|tanh|power|conv|dense", model.read_text()) is None
            for compiler in found:
                example = build(folder, compiler)
                for seed, dims in enumerate(sizes):
                    os.chdir(folder)  # where NAME.weights is
                    count += check(baton, model, folder, dict(zip(names, dims)), seed, example, exact)
    print(f"{count} outputs as interp has them, by {' and '.join(found)}")


# How many runs of the language's programs fail, on interp and as C, on the inputs of seeds 0, 1 and 2.
FAILING = 28
# Programs whose errors are at the same places, with texts of their own: of a dim that a value shows.
OTHER_TEXT = {"annotation_that_is_checked"}
# Programs of the language's tests that are refused, and why; what is not listed must compile.
REFUSED = {
    "generic_entry": "has type parameters other than dims",
    "overflow": "aot: a dim overflows 64 bits",
}


# Programs on values that fail on the values of the example, and what they say.
EXAMPLE_FAILS = {
    "dyn_as": ":8:5: dyn.nn.upsampling: a scale must be above 0 and below 65536",
    "ranges_beyond_int64": ":11:6: arange: the step leads nowhere",
    "ranges_over_all_integers": ":5:5: arange: the step leads nowhere",
    "shapes_that_are_values": ":12:5: dyn.broadcast_to: data does not broadcast to the shape",
    "sparse_to_dense": ":5:5: dyn.sparse_to_dense: an index is outside of its axis",
    "two_checks_of_a_call": ":11:5: @f: ? was to be equal to m",
}


def told(text):
    """The first line of an error without what C does not say (errors.sed): folders, the values of dims and elements."""
    line = re.sub(r"^(\S*/)?([^/ ]*: )(error: )?", r"\2", text.splitlines()[0])
    line = re.sub(r" = -?\d+", "", line)
    line = re.sub(r": index -?\d+( or more)? is", ": an index is", line)
    line = re.sub(r"; \w+ is .*", "", line)
    return re.sub(r" is [^,]*, but", " is , but", line)


def compare(baton, model, folder, seed, programs, options=()):
    """The interpreter and the example on the same inputs: both fail and say the same, or both give the same."""
    dims = {name: 3 for name in re.findall(r"^ \* (\w+): \d+ or more", next(folder.glob("*.h")).read_text(), re.M)}
    raw, npy = inputs(folder, dims, seed, small=True)
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    info = run(baton, "info", model, *options)
    names, outputs = (re.findall(rf"^{kind} +(\S+)", info, re.M) for kind in ("input", "output"))
    given = [a for name, file in zip(names, npy) for a in ("-i", f"{name}={file}")]
    want = subprocess.run([str(a) for a in (baton, "run", model, *options, "--executor", "interp", "-o", out, *given)],
                          capture_output=True, text=True)
    for program in programs:
        got = subprocess.run([str(a) for a in (program, *dims.values(), *raw)], capture_output=True, text=True)
        if want.returncode or got.returncode:
            said = told(want.stderr), told(got.stderr)
            if model.stem in OTHER_TEXT:
                said = [":".join(line.split(":")[:3]) for line in said]
            if not (want.returncode == got.returncode == 1) or said[0] != said[1]:
                sys.exit(f"{model}: interp gives {want.returncode}: {want.stderr}\naot gives {got.returncode}: {got.stderr}")
            continue
        lines = got.stdout.splitlines()
        if len(lines) != len(outputs):
            sys.exit(f"{model}: {len(lines)} outputs, not {len(outputs)}")
        for line, name in zip(lines, outputs):
            letter, expected = read_npy(out / f"{name}.npy")
            values = [float(v) if letter in "fd" else int(v) for v in line.partition(":")[2].split()]
            if letter == "f":
                values = [struct.unpack("<f", struct.pack("<f", v))[0] for v in values]
            if not same(letter, values, expected, False):
                sys.exit(f"{model}: {name} is\n{values}\nnot\n{list(expected)}")
    return want.returncode == 0


def language(baton, work):
    found = compilers()
    golden = TREE / "tests/golden"
    count, failing, values, refused = 0, 0, 0, {}
    (work / "try").mkdir(exist_ok=True)
    for model in sorted([*(HERE / "language").glob("*.baton"), *(golden / "interp").glob("*.baton"),
                         *(golden / "vm").glob("*.baton")]):
        if model.stem == "budget_of_calls":
            continue  # it has no end
        if model.parent.name != "language":
            done = subprocess.run([str(a) for a in (baton, "compile", model, "--executor", "aot", "-o", work / "try" / model.stem)],
                                  capture_output=True, text=True)
            if done.returncode:
                refused[model.stem] = done.stderr.splitlines()[0].partition("error: ")[2]
                continue
        folder = write(baton, model, work / model.stem)
        programs = [build(folder, compiler) for compiler in found]
        if "_machine;" in next(folder.glob("*.h")).read_text():
            for program in programs:  # built by the example; aot.golden compares them
                done = subprocess.run([program], capture_output=True, text=True)
                said = EXAMPLE_FAILS.get(model.stem, "")
                if done.returncode != (1 if said else 0) or said not in done.stderr:
                    sys.exit(f"{model}: its example gives {done.returncode}: {done.stderr}")
            values += 1
            continue
        for seed in range(3):
            if compare(baton, model, folder, seed, programs):
                count += 1
            else:
                failing += 1
    for name, why in sorted(refused.items()):
        print(f"refused: {name}: {why}")
    if {name: True for name in refused} != {name: True for name in REFUSED}:
        sys.exit(f"refused are {sorted(refused)}, not {sorted(REFUSED)}")
    for name, why in REFUSED.items():
        if why not in refused[name]:
            sys.exit(f"{name} is refused for another reason: {refused[name]}")
    if failing != FAILING:
        sys.exit(f"{failing} runs fail, not {FAILING}")
    print(f"{count} runs as interp has them, {failing} that fail there and here; {values} programs on values; {len(refused)} programs refused")


def values(baton, work):
    """A program of a user's own on values of data types."""
    for compiler in compilers():
        folder = write(baton, HERE / "values/values.baton", work / "values")
        shutil.copy(HERE / "values/main.c", folder / "main.c")
        program = build(folder, compiler)
        got = run(program)
        if got != "8: 0.5 1 1.5 (3)\n9: 2 2.5 3 (3)\n":
            sys.exit(f"the list is {got}")
        # rows that are shorter than the dim says are found where the list is taken apart
        done = subprocess.run([program, "4"], capture_output=True, text=True)
        if done.returncode != 1 or done.stderr != "values.baton:7:14: axis 0 of %x is not n, as its type says\n":
            sys.exit(f"a dim of 4 gives {done.returncode}: {done.stdout}{done.stderr}")
        for dim, told in ((99, "argument 1 (%by) has n, outside 1..16"), (-1, "a dim is negative"),
                          (2 ** 49, "a tensor has more elements than can be counted")):
            done = subprocess.run([program, str(dim)], capture_output=True, text=True)
            if done.returncode != 1 or told not in done.stderr:
                sys.exit(f"a dim of {dim} gives {done.returncode}: {done.stdout}{done.stderr}")
        print(compiler, got.splitlines(), done.stderr.strip())
        build(write(baton, HERE / "values/impossible.baton", work / "impossible"), compiler)


    library = work / "values.so"
    run(compilers()[0], "-shared", "-fPIC", "-fvisibility=hidden", f"-I{folder}", *(f for f in folder.glob("values*.c")), "-o", library)
    check_shown(folder, "values", library)
    # outputs keep their names: fields of a tuple, or the only one
    for result, told in (("(%count, %rows)", " * out output: (float32, Tensor[(?, 1), int32])\n *     field 0: count\n *     field 1: rows\n"),
                         ("%rows", " * out rows: Tensor[(?, 1), int32]\n")):
        model = work / "outputs.baton"
        model.write_text(f"""#[version = "baton 0.1"]
def @main(%x: Tensor[(4), float32]) {{
    %rows = argwhere(%x);
    %count = sum(%x);
    {result}
}}
""")
        header = (write(baton, model, work / "outputs") / "outputs.h").read_text()
        if told not in header:
            sys.exit(f"{told}is missing in\n{header}")


def cache(baton, work):
    """The page's program that gives a part of one run's result to the next, under sanitizers: what it keeps is what it saw."""
    section = (TREE / "plugins/aot/README.md").read_text().partition("\n## Values\n")[2].partition("\n## ")[0]
    blocks = dict(re.findall(r"```(baton|c)\n(.*?)```", section, re.S))
    (work / "window.baton").write_text(blocks["baton"])
    (work / "cache.c").write_text(blocks["c"])
    folder = write(baton, work / "window.baton", work / "window")
    for compiler in compilers():
        run(compiler, "-std=c11", *FLAGS[1:], "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover", f"-I{folder}", work / "cache.c",
            *(f for f in folder.glob("window*.c")), "-o", work / f"cache.{compiler}")
        got = run(work / f"cache.{compiler}")
        want = "".join(f"{i}: {i - 3.5:g} 1\n" for i in range(249, 1000, 250))
        if got != want:
            sys.exit(f"{compiler}: the window has\n{got}not\n{want}")


def said(baton, work):
    """What compile says of the folder."""
    digits = TREE / "sdk/examples/digits/digits.baton"
    for model, options, told in (
            (digits, ["--executor", "aot"], "for target c: 5 kernels, 8 files, constants of 25128 bytes in p_data.c, a workspace of 9408 bytes"),
            (digits, ["--executor", 'aot{weights="file"}'],
             "for target c: 5 kernels, 9 files, constants of 25128 bytes in p.weights, a workspace of 9408 bytes"),
            (HERE / "programs/open.baton", ["--executor", "aot"], "for target c: 3 kernels, 8 files, a workspace of p_workspace bytes"),
            (HERE / "values/values.baton", ["--executor", "aot"],
             "for target c: 1 kernel, 8 files, a workspace of as many bytes as a run may need")):
        folder = work / "p"
        shutil.rmtree(folder, ignore_errors=True)
        got = run(baton, "compile", model, *options, "-o", folder)
        if got != f"{folder}: {told}\n" or f" {sum(f.is_file() for f in folder.rglob('*'))} files" not in got:
            sys.exit(f"compile says {got}not {folder}: {told}")


def files_of(folder):
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


def folder(baton, work):
    """A folder that is written again holds the files of the last program, and what is not aot's."""
    shutil.rmtree(work)
    work.mkdir()
    place = work / "again"
    mine = {}
    steps = [("first", "programs/dense", ', weights="file"', ()), ("first_data", "language/loop", "", ()),
             ("first", "programs/open", "", ()), ("first", "programs/no_elements", "", ())]
    if shutil.which("cc"):
        steps += [("first", "programs/dense", ', build="shared"', ())]
    if (baton.parent.parent / "lib/baton/native/libbaton_cpu.a").exists():
        steps += [("first", "programs/dense", "", ("--target", "cpu"))]
    for name, model, more, options in (*steps, ("first", "programs/dense", "", ())):
        how = ("--executor", f'aot{{name="{name}"{more}}}', *options)
        for target in (place, work / "fresh"):
            run(baton, "compile", HERE / f"{model}.baton", *how, "-o", target)
        found, fresh = files_of(place), files_of(work / "fresh")
        if "shared" in more:  # of the linker's bytes nothing is said
            fresh[f"{name}.so"] = found.get(f"{name}.so")
        mine = {path: data for path, data in mine.items() if path not in fresh}  # the program's now
        if found != {**fresh, **mine}:
            sys.exit(f"{name}{more} {options}: {sorted(found)} are not {sorted({**fresh, **mine})}, or have other bytes")
        # files of a user's own, called like what a program may have: none of them is in the list that was written
        for path in ("mine.c", f"{name}.so", f"{name}.weights", "libbaton_cpu.a", "baton/mine.h"):
            if path not in found:
                (place / path).write_text("mine\n")
                mine[path] = b"mine\n"
        shutil.rmtree(work / "fresh")
    edited(baton, work)


def edited(baton, work):
    """A main.c that a user changed stays; one that was not is the next program's. Another's CMakeLists.txt stays."""
    place = work / "edited"
    kept = "main.c is not as executor aot wrote it, and stays as it is"
    for model, is_mine in (("open", 0), ("dense", 0), ("open", 1), ("dense", 1), ("dense", 0)):
        main = place / "main.c"
        if is_mine:
            main.write_text("/* mine */\n")
        elif model == "dense" and main.exists() and "mine" in main.read_text():
            main.unlink()
        done = subprocess.run([baton, "compile", HERE / f"programs/{model}.baton", "--executor", 'aot{name="p"}', "-o", place],
                              capture_output=True, text=True)
        text = main.read_text()
        if done.returncode or is_mine != (text == "/* mine */\n") or is_mine != (kept in done.stderr):
            sys.exit(f"main.c behind {model}, which is{'' if is_mine else ' not'} a user's: {done.stderr}\n{text}")
    # what the list names is the program's folder's: nothing outside of it is removed
    outside = work / "outside"
    outside.write_text("mine")
    cmake = place / "CMakeLists.txt"
    cmake.write_text(cmake.read_text().replace("#   p.c\n", "#   p.c\n#   ../outside\n#   baton/../../outside\n"))
    run(baton, "compile", HERE / "programs/open.baton", "--executor", 'aot{name="p"}', "-o", place)
    if not outside.exists():
        sys.exit("a file outside of the folder is gone")
    cmake.write_text(cmake.read_text().replace("#   p.c\n", "#   p.c\n#   gone.c\n#   full.c\n"))
    (place / "full.c").mkdir()
    (place / "full.c" / "mine").write_text("mine")
    done = subprocess.run([baton, "compile", HERE / "programs/open.baton", "--executor", 'aot{name="p"}', "-o", place],
                          capture_output=True, text=True)
    if done.returncode != 1 or "full.c: this file of the program that was here before cannot be removed" not in done.stderr:
        sys.exit(f"a file that cannot be removed: {done.returncode} {done.stderr}")
    other = work / "other"  # a folder that is not aot's
    other.mkdir()
    files = {"CMakeLists.txt": "project(other C)\n", "other.weights": "mine", "main.c": "mine"}
    for name, text in files.items():
        (other / name).write_text(text)
    done = subprocess.run([baton, "compile", HERE / "programs/open.baton", "--executor", "aot", "-o", other], capture_output=True, text=True)
    if done.returncode != 1 or "CMakeLists.txt is not of executor aot" not in done.stderr:
        sys.exit(f"a folder with another's CMakeLists.txt: {done.returncode} {done.stderr}")
    if {f.name: f.read_text() for f in other.iterdir() if f.is_file()} != files:
        sys.exit(f"a folder with another's CMakeLists.txt has {sorted(other.iterdir())}")


def example(baton, work):
    """The example gives back what it takes, however it ends; the sanitizer stays silent. Without its constants it says so."""
    compiler, count = compilers()[0], 0
    for model in (HERE / "language/compared_with_itself.baton", HERE / "values/values.baton", HERE / "programs/constants.baton"):
        folder = write(baton, model, work / model.stem, "--executor", 'aot{weights="file"}')
        probe = folder / "probe.c"
        probe.write_text("int main(void) { return 0; }\n")
        sanitized = ("-g", "-fsanitize=address,undefined")
        if subprocess.run([compiler, *sanitized, probe, "-o", folder / "probe"], capture_output=True).returncode:
            skip(f"{compiler} has no sanitizers")
        probe.unlink()
        run(compiler, *FLAGS, *sanitized, f"-I{folder}", *sorted(folder.glob("*.c")), "-o", folder / "sanitized")
        run(folder / "sanitized", cwd=folder)
        done = subprocess.run([folder / "sanitized", *["/dev/null"] * 9], cwd=folder, capture_output=True, text=True)
        if done.returncode != 1 or "Sanitizer" in done.stderr:
            sys.exit(f"{model.stem} on files that are empty: {done.returncode} {done.stderr}")
        if "free(taken[" not in (folder / "main.c").read_text():
            sys.exit(f"{model.stem}: the example frees nothing")
        weights = folder / f"{model.stem}.weights"
        if not weights.exists() or not weights.stat().st_size:
            continue
        here = subprocess.run([folder / "sanitized"], cwd=work, capture_output=True, text=True)
        nbytes = weights.stat().st_size
        if here.returncode != 1 or f"{weights.name}: there is no such file of {nbytes} bytes" not in here.stderr:
            sys.exit(f"{model.stem} without its weights: {here.returncode} {here.stderr}")
        weights.write_bytes(bytes(nbytes))
        other = subprocess.run([folder / "sanitized"], cwd=folder, capture_output=True, text=True)
        if other.returncode != 1 or f"{weights.name}: the constants of another program" not in other.stderr:
            sys.exit(f"{model.stem} with other weights: {other.returncode} {other.stderr}")
        count += 1
    if not count:
        sys.exit("no example has a file of weights")


def budgets(baton, work):
    """Loops run in a small workspace without end; what is too much is a fault."""
    compiler = compilers()[0]
    folder = write(baton, HERE / "language/loop.baton", work / "loop")
    program = build(folder, compiler, "-DWORKSPACE=8192", "-DDEPTH=8")
    count = folder / "count"
    count.write_bytes(struct.pack("<q", 1000000))
    start = folder / "start"
    start.write_bytes(struct.pack("<4f", 1, 2, 3, 4))
    print(run(program, count, start).strip())
    # ten million steps of functions that call each other, one call deep each
    folder = write(baton, HERE / "language/tails.baton", work / "tails")
    program = build(folder, compiler, "-DWORKSPACE=8192", "-DDEPTH=2")
    count.write_bytes(struct.pack("<q", 10000001))
    got = run(program, "4", count, start)
    if not got.startswith("output0: 0\noutput1: 1\noutput2: "):
        sys.exit(f"10,000,001 is {got}")
    print(got.strip())
    # a compiler whose objects are larger than the header counts with makes no program
    text = (folder / "tails.c").read_text().replace("HEAD = 48", "HEAD = 16")
    (folder / "tails.c").write_text(text)
    done = subprocess.run([compiler, f"-I{folder}", "-fsyntax-only", folder / "tails.c"], capture_output=True, text=True)
    if "HEAD = 16" not in text or done.returncode == 0 or "head_fits" not in done.stderr:
        sys.exit(f"objects larger than HEAD: {done.returncode} {done.stderr}")
    for name, flags, text in (("tree", ["-DWORKSPACE=8192"], "workspace is too small"), ("tree", ["-DDEPTH=4"], "depth")):
        folder = write(baton, HERE / f"language/{name}.baton", work / name)
        program = build(folder, compiler, *flags)
        (folder / "n").write_bytes(struct.pack("<q", 9))
        done = subprocess.run([program, folder / "n"], capture_output=True, text=True)
        if done.returncode != 1 or text not in done.stderr:
            sys.exit(f"{name} {flags}: {done.returncode} {done.stderr}")
        print(f"{name} {' '.join(flags)}: {done.stderr.strip()}")
    # what the page says of the C stack: calls take 50 to 500 bytes of it, also without optimisation, so that 15,000 fit into 8 MiB
    for name in ("closures", "scalars", "scan", "tree") if compiler == "gcc" else ():
        folder = write(baton, HERE / f"language/{name}.baton", work / name)
        for level in ("-O0", "-O2"):
            run(compiler, *FLAGS[:1], level, "-fstack-usage", f"-I{folder}", "-c", folder / f"{name}.c", "-o", work / "usage.o")
            most = max(int(n) for n in re.findall(r":fn\w+\S*\t(\d+)\t", (work / "usage.su").read_text()) or [0])
            if most > 500:
                sys.exit(f"{name} {level}: a call takes {most} bytes of the stack")
    model = work / "deep.baton"
    model.write_text("""#[version = "baton 0.1"]
def @sum(%n: int64) -> int64 { if (less(%n, 1i64)) { 0i64 } else { add(%n, @sum(subtract(%n, 1i64))) } }
def @main(%n: int64) { @sum(%n) }
""")
    folder = write(baton, model, work / "deep")
    program = build(folder, compiler, "-O0", "-DDEPTH=15000")
    for n, told in ((14990, f"{14990 * 14991 // 2}"), (15000, "more calls are in progress than depth allows")):
        (folder / "n").write_bytes(struct.pack("<q", n))
        done = subprocess.run(["sh", "-c", f"ulimit -s 8192; exec {program} {folder / 'n'}"], capture_output=True, text=True)
        if told not in done.stdout + done.stderr:
            sys.exit(f"{n} calls: {done.returncode} {done.stdout}{done.stderr}")
    # no memory at all, where some is needed
    for name, model, call in (("digits", TREE / "sdk/examples/digits/digits.baton", "digits_run(numbers, numbers, 0)"),
                              ("loop", HERE / "language/loop.baton", "loop_run(&count, numbers, numbers, 0, 8192, 8)")):
        folder = write(baton, model, work / "without" / name)
        (folder / "client.c").write_text(f'#include <stdio.h>\n#include "{name}.h"\nstatic float numbers[784];\nint main(void) {{\n'
                                         f"    const int64_t count = 9;\n    (void)count;\n    puts({name}_fault({call}));\n    return 0;\n}}\n")
        run(compiler, f"-I{folder}", folder / "client.c", *folder.glob(f"{name}*.c"), "-o", folder / "client")
        told = run(folder / "client").strip()
        if told != "the workspace is NULL, or does not begin at a multiple of 64":
            sys.exit(f"{name} without a workspace: {told}")


# Programs of the tree, with how many bytes and calls are enough for every run of them; the network is of 2 layers of 128.
BOUNDS = {
    "tests/aot/language/loop.baton": (320, 2),
    "tests/aot/language/compared_with_itself.baton": (896, 1),
    "tests/aot/language/views.baton": (256, 2),
    "tests/golden/relay/while_loop.baton": (768, 2),
    "tests/golden/vm/packed.baton": (448, 2),
    "tests/golden/vm/in_place.baton": (576, 2),
    "tests/golden/interp/refs.baton": (384, 2),
    "char_rnn": (8768, 2),
}
# ... and those that no number is enough for, with what the header says of it.
UNBOUNDED = {
    "tests/aot/language/scalars.baton": "functions call themselves, and not in tail position",
    "tests/aot/language/tree.baton": "values may hold any number of their kind",
    "tests/golden/vm/found_again.baton": "a run finds out the size of the result of argwhere (found_again.baton:12:13)",
    "tests/aot/language/closures.baton": "functions are values",
}
# Objects and memory of calls by dims of the entry: what is enough for some of these, and for all where they have a limit.
ROWS = """#[version = "baton 0.1"]
def @again<n: Dim, m: Dim>(%x: Tensor[(n, m), float32], %k: int64) -> Tensor[(n, m), float32] {
    if (less(%k, 1i64)) { %x } else { @again(nn.softmax(exp(%x)), subtract(%k, 1i64)) }
}
def @main<n: Dim in 1..64, m: Dim LIMIT>(%x: Tensor[(n, m), float32], %k: int64) -> (Tensor[(n), float32], Tensor[(n, m), float32]) {
    %y = @again(%x, %k);
    (sum(%y, axis=[1]), %y)
}
"""
ROWS_DIMS = {(1, 1): 640, (7, 33): 3328, (64, 0): 1280, (64, 40): 33984}
CHAR_RNN = """#[version = "baton 0.1"]
import "char_rnn.baton"
def @main(%v: Tensor[(512, 58), float32], %w: Tensor[(512, 128), float32], %b: Tensor[(512), float32],
          %out: Tensor[(58, 128), float32], %last: Tensor[(58), float32], %word: Tensor[(9), int32]) -> float32 {
    @score(Network(Layer(%v, %w, %b), Layer(%w, %w, %b), %out, %last), %word)
}
"""


def guard(folder):
    """The example with bytes behind its workspace that the program must leave as they are."""
    main = folder / "main.c"
    text = main.read_text()
    taken, nbytes = "void *workspace = get_memory(WORKSPACE);", "WORKSPACE"
    if taken not in text:
        taken = "void *workspace = aot_nbytes < UINT64_MAX ? get_memory((size_t)aot_nbytes) : NULL;"
        nbytes = "(size_t)aot_nbytes"
    for old, new in ((taken, f"unsigned char *workspace = get_memory({nbytes} + 64);\n    for (size_t k = 0; k < 64; k++)\n"
                             f"        workspace[{nbytes} + k] = 165;"),
                     ("    return 0;\n}\n", f"    for (size_t k = 0; k < 64; k++)\n        if (workspace[{nbytes} + k] != 165)\n"
                                           "            return 2;\n    return 0;\n}\n")):
        at = text.rfind(old)
        if at < 0:
            sys.exit(f"{main} has no {old!r}")
        text = text[:at] + new + text[at + len(old):]
    main.write_text(text)


def rows(baton, work, compiler, limit):
    model = work / "rows.baton"
    model.write_text(ROWS.replace("LIMIT", limit))
    folder = write(baton, model, work / "rows")
    number = re.search(r"^#define rows_WORKSPACE (\d+) ", (folder / "rows.h").read_text(), re.M)
    guard(folder)
    text = (folder / "main.c").read_text()
    told = '    fprintf(stderr, "%llu bytes\\n", (unsigned long long)aot_nbytes);\n    fault = rows_run'
    (folder / "main.c").write_text(text.replace("    fault = rows_run", told))
    program = build(folder, compiler)
    for seed, (dims, nbytes) in enumerate(ROWS_DIMS.items()):
        check(baton, model, folder, dict(zip("nm", dims)), seed, program)
        done = subprocess.run([program, *map(str, dims)], capture_output=True, text=True)
        if done.stderr != f"{nbytes} bytes\n" or done.returncode:
            sys.exit(f"rows {dims}: {done.returncode} {done.stderr}, not {nbytes} bytes")
    if (number and int(number[1])) != (nbytes if limit else None):
        sys.exit(f"rows {limit}: {number} is said to be enough for all dims, not {nbytes}")
    program = build(folder, compiler, "-DWORKSPACE=(rows_workspace(n, m) - 1)")
    done = subprocess.run([program, "7", "33"], capture_output=True, text=True)
    if done.returncode != 1 or "the workspace is too small" not in done.stderr:
        sys.exit(f"rows, a byte less: {done.returncode} {done.stderr}")
    print(f"rows {limit}: {ROWS_DIMS}")


def bounds(baton, work):
    """What the header says to be enough is: not a byte behind it is written. A byte less is refused."""
    compiler = compilers()[0]
    shutil.copy(TREE / "tests/language/char_rnn.baton", work)
    (work / "network.baton").write_text(CHAR_RNN)
    for path, (nbytes, depth) in BOUNDS.items():
        model = work / "network.baton" if path == "char_rnn" else TREE / path
        folder = write(baton, model, work / f"{model.stem}_c")
        header = next(folder.glob("*.h")).read_text()
        found = tuple(int(re.search(rf"^#define \w+_{what} (\d+)$", header, re.M)[1]) for what in ("WORKSPACE", "DEPTH"))
        if found != (nbytes, depth):
            sys.exit(f"{path}: {found} are said to be enough, not {(nbytes, depth)}")
        guard(folder)
        program = build(folder, compiler)
        if not compare(baton, model, folder, 0, [program]):
            sys.exit(f"{path} fails")
        raw, _ = inputs(folder, {}, 0, small=True)
        for flag, text in ((f"-DWORKSPACE={nbytes - 1}", "the workspace is too small"), (f"-DDEPTH={depth - 1}", "more calls")):
            objects = [o for o in folder.glob(f"*.{compiler}.o") if not o.name.startswith("main.")]
            run(compiler, *FLAGS, flag, f"-I{folder}", folder / "main.c", *objects, "-o", folder / "less")
            done = subprocess.run([folder / "less", *raw], capture_output=True, text=True)
            if done.returncode != 1 or text not in done.stderr:
                sys.exit(f"{path} {flag}: {done.returncode} {done.stderr}")
        print(f"{path}: {nbytes} bytes, {depth} calls")
    for limit in ("in 0..40", ""):
        rows(baton, work, compiler, limit)
    for path, why in UNBOUNDED.items():
        model = TREE / path
        header = next(write(baton, model, work / f"{model.stem}_c").glob("*.h")).read_text()
        if why not in header or "_WORKSPACE" in header:
            sys.exit(f"{path}: the header does not say that {why}")
        print(f"{path}: {why}")


# Programs that are refused, with what the error tells: where, which operator, what to do.
UNWRITTEN = {
    "(%x: float32) {\n    (%x, fn (%y: float32) { add(%x, %y) })\n}":
        (":3:5: error: aot: the entry gives a function, or what holds one: C outside of the program cannot call it",),
    "(%x: float32, %f: fn (float32) -> float32) { %f(%x) }":
        (":2:24: error: aot: the entry takes a function, or what holds one: C outside of the program cannot make it",),
    "(%x: Tensor[(5), int64], %y: Tensor[(4), int64]) "
    "{ nn.prelu(cast(argwhere(%x), dtype=\"float32\"), cast(argwhere(%y), dtype=\"float32\")) }":
        (":2:61: error: aot: no C is written for nn.prelu, because a run finds out which sizes it meets",),
}


def ranges(baton, work):
    """A dim out of its range: the text that a golden checks of the others, without the value."""
    golden = TREE / "tests/golden/vm/dims_that_contradict.baton"
    told = re.search(r"CHECK-ERROR (.*: @main: argument .*) = 65(, outside .*)", golden.read_text())
    wanted = f"{golden.name}:{told[1]}{told[2]}"
    program = build(write(baton, golden, work / "range"), compilers()[0])
    done = subprocess.run([program, "65", "3"], capture_output=True, text=True)
    if done.returncode != 1 or wanted not in done.stderr:
        sys.exit(f"a dim of 65 gives {done.returncode}: {done.stderr}\nand not {wanted}")
    step = work / "step.baton"
    step.write_text('#[version = "baton 0.1"]\ndef @main<n: Dim in 8..64 step 8>(%x: Tensor[(n), float32]) { exp(%x) }\n')
    program = build(write(baton, step, work / "step"), compilers()[0])
    for dim, wanted in ("12", "step.baton:2:35: @main: argument 0 (%x) has n, which is no multiple of 8"), ("7", "has n, outside 8..64"):
        done = subprocess.run([program, dim], capture_output=True, text=True)
        if done.returncode != 1 or wanted not in done.stderr:
            sys.exit(f"a dim of {dim} gives {done.returncode}: {done.stderr}\nand not {wanted}")


# Programs whose index, 77, is out of bounds: a chain, a branch, a kernel of two places, a call in a kernel, an operand that two
# operators read; the call with the place.
OUT_OF_BOUNDS = (
    ("chain", '(%x: Tensor[(5, 3), float32], %i: Tensor[(4), int64]) { take(%x, %i, axis=0, mode="fast") }',
     "take(", "take: an index is out of bounds for axis 0 of data, whose extent is 5"),
    ("branch", "(%x: Tensor[(5), float32], %i: Tensor[(1), int64], %b: int64) "
     "{ if (greater(%b, 5i64)) { gather_nd(%x, reshape(%i, newshape=[1, 1])) } else { exp(take(%x, %i)) } }",
     "gather_nd(", "gather_nd: an index is out of bounds for axis 0 of data, whose extent is 5"),
    ("twice", "(%x: Tensor[(5), float32], %i: Tensor[(1), int64], %n: int64, %z: Tensor[(5), float32]) { if (greater(%n, 5i64)) { exp(take(%x, %i, axis=0, mode=\"fast\")) } "
     "else { (fn (%y: Tensor[(1), int64]) { exp(take(%z, %y, axis=0, mode=\"fast\")) })(%i) } }",
     "exp(", "take: an index is out of bounds for axis 0 of data, whose extent is 5"),
    ("within", "(%x: Tensor[(5), float32], %i: Tensor[(1), int64]) { exp(take(%x, %i, axis=0, mode=\"fast\")) }",
     "take(", "take: an index is out of bounds for axis 0 of data, whose extent is 5"),
    ("flat", '(%x: Tensor[(5), float32], %i: Tensor[(1), int64]) { exp(take(%x, %i, mode="fast")) }',
     "exp(", "fused_take_exp: an index is out of bounds for axis 0 of flat, whose extent is 5"),
    ("both", '(%x: Tensor[(5), float32], %i: Tensor[(5), int64]) { add(take(%x, %i, axis=0, mode="fast"), %x) }',
     "add(", "fused_take_add: an index is out of bounds for axis 0, whose extent is 5"),
)


# What a run is told that cannot count its memory: text of the program, values of its input.
UNCOUNTED = (
    ("(%s: Tensor[(2), int64]) { sum(dyn.zeros(%s)) }", (2 ** 62, 4), "a tensor has more elements than can be counted"),
    ("(%s: Tensor[(2), int64]) { sum(dyn.zeros(%s)) }", (2 ** 40, 4), "the workspace is too small"),
)


# Dims that are refused, by the entry's ranges and by what an operator asks of its own: the text of the program, a dim, what is told.
REFUSED_DIMS = (
    ("<n: Dim in 2..64>(%x: Tensor[(n), float32]) { exp(%x) * 2f + sum(%x) }", (-3, 1, 65, 2 ** 62), "has n, outside 2..64"),
    ("<n: Dim>(%x: Tensor[(n, n), float32]) { split(%x, indices_or_sections=[1], axis=0) }", (0,), "2:50: split: "),
    ("<n: Dim in 2..64>(%x: Tensor[(n), float32]) { (%x, Some(%x)) }", (-3, 1, 65, 2 ** 62), "has n, outside 2..64"),
    ("<n: Dim>(%x: Tensor[(n, n), float32]) { exp(%x) }", (-1, 2 ** 60), "has n, outside 0.."),
    ("<n: Dim>(%x: Tensor[(n, n, n), int8]) { %x + 1i8 }", (2 ** 40,), "no memory"),
)


def refused_dims(baton, work):
    for text, dims, told in REFUSED_DIMS:
        model = work / "dims.baton"
        model.write_text(f'#[version = "baton 0.1"]\ndef @main{text}\ntype Option[A] {{ None, Some(A), }}\n')
        program = build(write(baton, model, work / "dims"), compilers()[0])
        for dim in dims:
            for files in ((), ("/dev/null",)):  # which is looked at after the dims
                done = subprocess.run([program, str(dim), *files], capture_output=True, text=True)
                if done.returncode != 1 or told not in done.stderr:
                    sys.exit(f"{text}: a dim of {dim} gives {done.returncode}: {done.stderr}\nand not {told}")


def faults(baton, work):
    there, missing = work / "there", work / "missing"
    shutil.rmtree(missing, ignore_errors=True)
    for text, told in UNWRITTEN.items():
        model = work / "unwritten.baton"
        model.write_text(f'#[version = "baton 0.1"]\ndef @main{text}\n')
        before = files_of(write(baton, HERE / "programs/dense.baton", there))
        for folder in (there, missing):
            done = subprocess.run([baton, "compile", model, "--executor", "aot", "-o", folder], capture_output=True, text=True)
            for part in (*told, "executor aot was asked for: without an executor and a target the program is compiled for vm"):
                if done.returncode != 1 or part not in done.stderr:
                    sys.exit(f"{text}: {done.returncode}: {done.stderr}\nsays nothing of {part}")
        if files_of(there) != before or missing.exists():
            sys.exit(f"{text}: it is refused, and has written files")
    broken = work / "broken.onnx"
    broken.write_bytes(b"x")
    external = work / "external.baton"
    external.write_text('#[version = "baton 0.1"]\nextern @g: fn (float32) -> float32;\ndef @main(%x: float32) { @g(%x) }\n')
    for model, told in ((external, "@g is declared extern"), (broken, "the file is cut off")):  # nobody compiles these: no other executor is named
        done = subprocess.run([baton, "compile", model, "--executor", "aot", "-o", missing], capture_output=True, text=True)
        if done.returncode != 1 or told not in done.stderr or "was asked for" in done.stderr:
            sys.exit(f"{model}: {done.returncode}: {done.stderr}")
    for name, text, call, told in OUT_OF_BOUNDS:
        where = f"2:{len('def @main') + text.index(call) + 1}"
        model = work / f"{name}.baton"
        model.write_text(f'#[version = "baton 0.1"]\ndef @main{text}\n')
        folder = write(baton, model, work / name)
        program = build(folder, compilers()[0])
        raw, _ = inputs(folder, {}, 1, only=77)
        done = subprocess.run([program, *raw], capture_output=True, text=True)
        if done.returncode != 1 or done.stderr != f"{name}.baton:{where}: {told}\n":
            sys.exit(f"{text}: an index of 77 gives {done.returncode}: {done.stderr}\nnot {name}.baton:{where}: {told}")
    for text, given, told in UNCOUNTED:
        model = work / "uncounted.baton"
        model.write_text(f'#[version = "baton 0.1"]\ndef @main{text}\n')
        folder = write(baton, model, work / "uncounted")
        (folder / "in").write_bytes(struct.pack(f"<{len(given)}q", *given))
        done = subprocess.run([build(folder, compilers()[0]), folder / "in"], capture_output=True, text=True)
        if done.returncode != 1 or told not in done.stderr:
            sys.exit(f"{text} of {given}: {done.returncode} {done.stderr}")
    folder = write(baton, HERE / "programs/open.baton", work / "open")
    program = build(folder, compilers()[0])
    done = subprocess.run([program, "65", "3"], capture_output=True, text=True)
    if done.returncode != 1 or "open.baton:" not in done.stderr or "has n, outside 1..64" not in done.stderr:
        sys.exit(f"a dim of 65, which is to be 64 at most, gives {done.returncode}: {done.stderr}")
    ranges(baton, work)
    refused_dims(baton, work)
    done = subprocess.run([baton, "run", HERE / "programs/open.baton", "--executor", "aot"], capture_output=True, text=True)
    if done.returncode != 1 or "baton compile" not in done.stderr:
        sys.exit(f"baton run --executor aot: {done.stderr}")
    done = subprocess.run([baton, "compile", HERE / "programs/dense.baton", "--executor", "aot", "--target", "reference",
                           "-o", work / "cpu"], capture_output=True, text=True)
    if done.returncode != 1 or "has no code of the form that is asked for, of kernel" not in done.stderr:
        sys.exit(f"--target reference: {done.stderr}")
    blocked = work / "file"
    blocked.write_text("")
    done = subprocess.run([baton, "compile", HERE / "programs/open.baton", "--executor", "aot", "-o", blocked / "x"],
                          capture_output=True, text=True)
    if done.returncode != 1 or "the folder cannot be made" not in done.stderr:
        sys.exit(f"a folder in a file: {done.stderr}")


def mnist_model():
    folder = TREE.parent / "shared/data/models/mnist-8"
    models = sorted(folder.glob("*.onnx")) if folder.is_dir() else []
    return models[0] if models else skip(f"{folder} has no model")


def sizes_of(folder, compiler):
    sizes = {}
    for target in sorted(folder.glob(f"*.{compiler}.o")):
        if not target.name.startswith("main."):
            text, data, bss = map(int, run("size", target).splitlines()[1].split()[:3])
            sizes["data" if "_data." in target.name else "code"] = \
                sizes.get("data" if "_data." in target.name else "code", 0) + text + data + bss
    return sizes


def ram_of(folder):
    text = (folder / f"{folder.name}.c").read_text()
    return int(re.search(r"_workspace\(void\)\n\{\n    return \(uint64_t\)INT64_C\((\d+)\)", text)[1])


def mnist(baton, work):
    model = mnist_model()
    folder = write(baton, model, work / "mnist")
    for compiler in compilers():
        check(baton, model, folder, {}, 3, build(folder, compiler, "-Os"))
        source = sum(f.stat().st_size for f in folder.glob("mnist*.[ch]") if "_data" not in f.name)
        sizes = sizes_of(folder, compiler)
        print(f"MNIST-8, {compiler} -Os: source {source} bytes, code {sizes['code']}, data {sizes['data']}, "
              f"workspace {ram_of(folder)}")


def check_shown(folder, name, library):
    """A shared library shows the functions of its header, and nothing else."""
    want = set(re.findall(rf"^{name}_API .*?(\w+)\(", (folder / f"{name}.h").read_text(), re.M))
    found = {line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()}
    if not {f"{name}_run", f"{name}_fault"} <= found or found != want:
        sys.exit(f"{library} shows {sorted(found)}, its header has {sorted(want)}")


def project(baton, work):
    if not shutil.which("cmake"):
        skip("no cmake")
    model = TREE / "sdk/examples/digits/digits.baton"
    for shared, weights in (("OFF", "c"), ("ON", "file")):
        folder = write(baton, model, work / "digits", "--executor", f'aot{{weights="{weights}"}}')
        place = work / f"digits_build_{shared}"
        shutil.rmtree(place, ignore_errors=True)
        run("cmake", "-S", folder, "-B", place, f"-DBUILD_SHARED_LIBS={shared}", "-DCMAKE_BUILD_TYPE=Release")
        run("cmake", "--build", place)
        check(baton, model, folder, {}, 5, place / "digits_example")
        if shared == "ON":
            check_shown(folder, "digits", place / "libdigits.so")
    # names that CMake, the example, its headers, or the text that each program has use themselves; and what no word of C begins with
    for name in ("main", "all", "clean", "install", "obj", "aot", "stdio", "m", "3d-net"):
        place = work / f"named_{name}" / name
        folder = write(baton, HERE / "programs/dense.baton", place)
        word = name.replace("-", "_")
        word = word if name == "m" else "x" + word
        if not (folder / f"{word}.c").exists():
            sys.exit(f"{name}: no file is called {word}.c: {sorted(folder.iterdir())}")
        run("cmake", "-S", folder, "-B", work / f"named_{name}_build")
        run("cmake", "--build", work / f"named_{name}_build")
        check(baton, HERE / "programs/dense.baton", folder, {}, 6, work / f"named_{name}_build" / f"{word}_example")


def main(functions):
    baton, work, what = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]) / sys.argv[3], sys.argv[3]
    work = work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    functions[what](baton, work)


if __name__ == "__main__":
    main(globals())
