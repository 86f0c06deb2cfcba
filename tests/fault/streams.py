"""Files and streams that fail: streams.py BATON [sanitized]
Whatever cannot be read or written ends in exit 1 and a message that names it, and leaves nothing half-written behind."""
import os
import subprocess
import sys
import tempfile
import threading

import bad_input

SMALL = b"""#[version = "baton 0.1"]
def @main(%x: Tensor[(2, 3), float32]) {
    %y = add(%x, 1f);
    %y
}
"""
NUMBERS = ", ".join(f"{i}.5" for i in range(100))
# its constant is long enough to go to a file beside
LARGE = f"""#[version = "baton 0.1"]
def @main(%x: Tensor[(100), float32]) {{
    %y = add(%x, const[(100), float32]{{{NUMBERS}}});
    %y
}}
""".encode()
ELSEWHERE = b"""#[version = "baton 0.1"]
#[weights = "gone.npz"]
def @main() { const[(100), float32]{data "w"} }
"""
SEED = b'{"id": "org.example.x", "version": "0.1.0", "license": "x", "doc": "X."}'


def write(name, content):
    with open(name, "wb") as file:
        file.write(content)


def listing():
    return sorted(os.path.join(folder, name) for folder, folders, files in os.walk(".") for name in folders + files)


def all_printing():
    """Command lines of every verb that print and succeed."""
    return [["--help"], ["--version"], ["run", "--help"],
            ["run", "small.baton"], ["run", "small.baton", "-i", "1"], ["run", "small.baton", "-i", "1", "--json"],
            ["info", "small.baton"], ["info", "small.baton", "--json"],
            ["opt", "small.baton"], ["opt", "small.baton", "--pipeline", "default"], ["opt", "small.baton", "-o", "-"],
            ["import", "small.baton"], ["pipeline", "resolve", "default"],
            ["plugin", "list"], ["plugin", "why", "nn.dense"], ["list", "ops"], ["list", "ops", "nn.dense"],
            ["list", "passes"], ["list", "relations"], ["list", "executors"], ["list", "importers"],
            ["compare", "a.npy", "a.npy"]]


def check_output(k):
    for args in all_printing():
        k.works("prints", args)
        with open("/dev/full", "wb") as full:
            k.refused("a full device", args, "standard output", stdout=full)
        k.refused("a closed standard output", args, "standard output", stdout=None, close=[1])
        k.works("a closed standard error", args, close=[2])
        k.works("a closed standard input", args, close=[0])


def check_closed_output_is_no_file(k):
    """A file that is opened must not take the number of a closed standard stream."""
    for args in (["opt", "large.baton", "-o", "out.baton"], ["run", "large.baton", "-i", "1", "-o", "out"],
                 ["plugin", "new", "op", "made"]):
        expected = {}
        k.works("writes", args)
        for path in listing():
            if path.startswith(("./out", "./made")) and os.path.isfile(path):
                with open(path, "rb") as file:
                    expected[path] = file.read()
        remove_outputs()
        k.ncase += 1
        result = k.run(args, stdout=None, close=[0, 1, 2])
        for path, content in expected.items():
            found = None
            if os.path.exists(path):
                with open(path, "rb") as file:
                    found = file.read()
            if found is not None and found != content:
                k.fault("no standard streams", args, f"{path} holds something else", result)
                break
        remove_outputs()


def remove_outputs():
    for path in reversed(listing()):
        if path.startswith(("./out", "./made")):
            os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.remove(path)


def unwritable():
    """Paths that cannot be written, whoever runs this: a folder in place of the file, nothing above, a file above, and a
    folder of the kernel's."""
    return ["folder", "nowhere/out", "small.baton/out", "/proc/out"]


def check_files(k):
    for program in ("small.baton", "large.baton"):
        for verb in ("opt", "import"):
            for path in unwritable() + ["/dev/full"]:
                left_alone(k, "cannot be written", [verb, program, "-o", path], path)
            for limit in (0, 50, 500):
                if limit < 200 or program == "large.baton":
                    left_alone(k, "a full disk", [verb, program, "-o", "out.baton"], "out.", file_nbytes=limit)
        left_alone(k, "cannot be written", ["run", program, "-i", "1", "-o", "small.baton"], "small.baton")
        left_alone(k, "cannot be written", ["run", program, "-i", "1", "-o", "large.baton/out"], "large.baton")
        left_alone(k, "cannot be written", ["run", program, "-i", "1", "-o", "/proc/out"], "/proc/out")
        left_alone(k, "in place of a file", ["run", program, "-i", "1", "-o", "taken"], "taken/y.npy")
        left_alone(k, "a full disk", ["run", program, "-i", "1", "-o", "kept"], "kept/y.npy", file_nbytes=10)
    for path in ("nowhere/made", "small.baton", "taken", "/proc/made"):
        left_alone(k, "cannot be written", ["plugin", "new", "op", "made", path], path)
    left_alone(k, "a full disk", ["plugin", "new", "op", "made"], "made", file_nbytes=10)
    left_alone(k, "a full disk", ["plugin", "new", "op", "made", "folder"], "folder", file_nbytes=10)


def left_alone(k, name, args, place, **how):
    before = listing(), os.listdir("/dev")
    result = k.refused(name, args, place, **how)
    if (listing(), os.listdir("/dev")) != before:
        k.fault(name, args, f"leaves {sorted(set(listing() + os.listdir('/dev')) - set(before[0] + before[1]))}", result)
        remove_outputs()


def reading(path):
    """Command lines of every verb that read a path."""
    return [["run", path], ["info", path], ["opt", path], ["import", path], ["filecheck", path],
            ["run", "small.baton", "-i", path], ["run", "small.baton", "-i", "x=" + path + ":a"],
            ["compare", path, "a.npy"], ["compare", "a.npy", path],
            ["plugin", "describe", path, "--seed", "seed.json"]]


def check_inputs(k):
    # a name without a file, a folder, nothing in it, a reading that fails, a link to nothing, a file above
    for path in ("gone.x", "folder", "empty", "/proc/self/mem", "dangling", "small.baton/x", "f" * 300, "d/" * 3000 + "x"):
        for args in reading(path):
            k.refused("cannot be read", args, path[:200], codes=(1, 2) if args[0] == "filecheck" else (1,))
        for args in (["opt", "small.baton", "--pipeline", "./" + path + ".json"], ["pipeline", "check", "./" + path + ".json"],
                     ["pipeline", "resolve", "./" + path + ".json"]):
            k.refused("cannot be read", args, path[:200])
    if not k.is_sanitized:  # what has no end: until memory does
        for args in (["opt", "/dev/zero"], ["run", "small.baton", "-i", "/dev/zero"], ["compare", "/dev/zero", "a.npy"]):
            k.refused("has no end", args, "/dev/zero", codes=(1, 3))
    k.refused("weights that are gone", ["run", "elsewhere.baton"], "gone.npz")
    k.refused("no standard input", ["opt", "-"], "-: error", stdin=None, close=[0])
    k.refused("an empty standard input", ["opt", "-"], "1:1", data=b"")
    with open("empty", "rb") as empty:
        k.refused("an empty standard input", ["opt", "-"], "1:1", stdin=empty)


def check_pipes(k):
    os.mkfifo("pipe")
    for args, content in ((["opt", "pipe"], SMALL), (["info", "pipe"], SMALL)):
        writer = threading.Thread(target=write, args=("pipe", content))
        writer.start()
        k.works("a pipe", args)
        writer.join()
    k.works("standard input", ["opt", "-"], data=SMALL)
    os.remove("pipe")


def main():
    k = bad_input.Kit(sys.argv[1], "sanitized" in sys.argv[2:])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, content in (("small.baton", SMALL), ("large.baton", LARGE), ("elsewhere.baton", ELSEWHERE), ("seed.json", SEED), ("empty", b"")):
            write(name, content)
        for name in ("folder", "folder.json", "kept", "taken"):
            os.mkdir(name)
        os.mkdir("taken/y.npy")
        os.symlink("nothing", "dangling")
        write("a.npy", b"\x93NUMPY\x01\x00\x46\x00" + b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }".ljust(69) + b"\n" + bytes(8))
        for check in (check_output, check_closed_output_is_no_file, check_files, check_inputs, check_pipes):
            check(k)
        os.chdir("/")
    return k.end()


sys.exit(main())
