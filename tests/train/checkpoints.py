"""Checkpoints: a training that goes on gives the same bits; what is torn, foreign or cannot be written is refused, and harms nothing:
checkpoints.py BATON"""
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

import numpy

import kit

ADAM = "adam{rate=0.05}"
NEPOCH, NSAMPLE = 6, 40  # five steps of eight


def train(runs, folder, *more, **how):
    return runs.run("train", "linear.baton", "--data", "data.npz", "--loss", "squares", "--optimizer", ADAM, "-o", folder, *more, **how)


def content(path):
    with open(path, "rb") as file:
        return file.read()


def curve(folder):
    with open(os.path.join(folder, "curve.csv")) as file:
        return [line.rsplit(",", 1)[0] for line in file]  # without seconds


def check_resume(runs):
    """One run, and runs of which each goes on where the one before was."""
    whole = train(runs, "whole", "--epochs", NEPOCH)
    runs.check(whole.returncode == 0, whole.stderr)
    names = sorted(name for name in os.listdir("whole") if name.endswith(".safetensors"))
    runs.check(names == ["step-000000025.safetensors", "step-000000030.safetensors"], f"checkpoints {names}")
    runs.check({"step.baton", "curve.csv", "curve.svg"} < set(os.listdir("whole")), f"{os.listdir('whole')}")
    for name, cuts in [("half", [3]), ("each", [1, 2, 3, 4, 5])]:
        for k, epochs in enumerate(cuts + [NEPOCH]):
            done = train(runs, name, "--epochs", epochs, *(["--resume"] if k else []))
            runs.check(done.returncode == 0, done.stderr)
        runs.check(content(runs.last(name)) == content(runs.last("whole")), f"{name}: other bytes than those of one run")
        runs.check(curve(name) == curve("whole"), f"{name}: another curve than that of one run")
    # within an epoch, too: a checkpoint of each step, of which the one before the last is gone on from
    train(runs, "within", "--epochs", 3, "--every", 1)
    os.unlink(runs.last("within"))
    runs.check(runs.last("within").endswith("step-000000014.safetensors"), runs.last("within"))
    done = train(runs, "within", "--epochs", NEPOCH, "--resume", "--every", 1)
    runs.check(done.returncode == 0, done.stderr)
    runs.check(content(runs.last("within")) == content(runs.last("whole")), "within an epoch: other bytes than those of one run")
    runs.check(curve("within") == curve("whole"), "within an epoch: another curve")
    done = train(runs, "whole", "--epochs", NEPOCH, "--resume")
    runs.check(done.returncode == 0 and "nothing is left to do: it stands at step 30," in done.stdout, done.stdout)
    one, other = (train(runs, f"threads{n}", "--epochs", NEPOCH, "--threads", n) for n in (1, 3))
    runs.check(one.returncode == other.returncode == 0, one.stderr + other.stderr)
    runs.check(content(runs.last("threads1")) == content(runs.last("threads3")), "1 and 3 threads give other bits")


def check_stopped(runs):
    """By a signal that can be caught: a checkpoint of the very step, whatever the interval."""
    train(runs, "unstopped", "--epochs", 100, "--optimizer", "momentum")
    for kind, code in [(signal.SIGTERM, 143), (signal.SIGINT, 130)]:
        shutil.rmtree("stopped", ignore_errors=True)
        process = subprocess.Popen([runs.program, "train", "linear.baton", "--data", "data.npz", "--loss", "squares", "--optimizer", "momentum",
                                    "--epochs", "100", "-o", "stopped", "--json"], stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        process.send_signal(kind)
        process.communicate()
        runs.check(process.returncode == code, f"a stopped training ends with {process.returncode}, expected {code}")
        runs.check(runs.last("stopped") != "stopped/step-000000500.safetensors", "it was not stopped")
    done = train(runs, "stopped", "--epochs", 100, "--optimizer", "momentum", "--resume")
    runs.check(done.returncode == 0, done.stderr)
    runs.check(content(runs.last("stopped")) == content(runs.last("unstopped")), "stopped: other bytes than those of one run")
    kit.write("step.baton", kit.LINEAR)
    done = runs.run("train", "step.baton", "--data", "data.npz", "--loss", "squares", "-o", ".")
    runs.check(done.returncode == 2 and "step.baton is read" in done.stderr, done.stderr)


def check_refused(runs):
    good = content(runs.last("whole"))
    nheader = int.from_bytes(good[:8], "little")

    def refused(words, data, *more):
        shutil.rmtree("bad", ignore_errors=True)
        shutil.copytree("whole", "bad")
        path = kit.write(runs.last("bad"), data)
        done = train(runs, "bad", "--epochs", NEPOCH + 1, "--resume", *more)
        runs.check(done.returncode == 1 and path in done.stderr and words in done.stderr,
                   f"expected \"{words}\", got exit {done.returncode}\n{done.stderr}")
        runs.check(content(path) == data, "what was refused was written to")
        older = os.path.join("bad", "step-000000025.safetensors")
        runs.check(content(older) == content(os.path.join("whole", "step-000000025.safetensors")), "the checkpoint before is another")

    for n in [0, 1, 7, 8, 9, 8 + nheader // 2, 8 + nheader - 1, 8 + nheader, 8 + nheader + 1, len(good) - 4, len(good) - 1]:
        refused("cut short" if n < 8 + nheader or n > 8 + nheader else "", good[:n])
    refused("belong to no tensor", good + b"\0\0\0\0")
    for at in [8 + nheader, 8 + nheader + 50, len(good) - 1]:
        refused("not those that were written", good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])
    random = numpy.random.default_rng(1)
    for at in random.integers(0, len(good), 60):
        shutil.rmtree("bad", ignore_errors=True)
        shutil.copytree("whole", "bad")
        kit.write(runs.last("bad"), good[:at] + bytes([good[at] ^ 1 << int(random.integers(0, 8))]) + good[at + 1:])
        done = train(runs, "bad", "--epochs", NEPOCH + 1, "--resume")
        runs.check(done.returncode == 1 and done.stderr, f"bit at byte {at}: exit {done.returncode}")
    for name, value in [(b"seed", b"5"), (b"step", b"12"), (b"since", b"3 7 0x1p+9"), (b"epoch", b"0 0 nan"), (b"samples", b"40 ")]:
        header = json.loads(good[8:8 + nheader])
        header["__metadata__"][name.decode()] = value.decode()
        text = json.dumps(header, separators=(",", ":")).encode()
        refused("tensors or notes are not those that were written", len(text).to_bytes(8, "little") + text + good[8 + nheader:])
    for text in ['{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', '{"w":{"dtype":"F32","shape":[9999999999999],"data_offsets":[0,4]}}',
                 '{"w":', '[]', '{"w":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}}', '{"w":{"shape":[1],"data_offsets":[0,4]}}',
                 '{"w":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}', '{"__metadata__":{"step":3}}', '{"' + "\\u12" + '":1}', "{" * 1000]:
        refused("", len(text).to_bytes(8, "little") + text.encode() + b"\0\0\0\0")
    refused("", b"\xff" * 64)

    # Of another program: its parameters alone can be begun with.
    for more in [["--optimizer", "momentum"], ["--optimizer", "adam{rate=0.06}"], ["--loss", "huber"], ["--clip", "1"], ["--batch", "16"]]:
        done = train(runs, "whole", "--epochs", NEPOCH + 1, "--resume", *more)
        runs.check(done.returncode == 1 and "of another model, loss, optimizer or batch" in done.stderr, f"{more}: {done.stderr}")
    done = train(runs, "begun", "--optimizer", "momentum", "--epochs", 1, "--initialise", runs.last("whole"))
    runs.check(done.returncode == 0, done.stderr)
    numpy.savez("fewer.npz", **{name: array[:24] for name, array in numpy.load("data.npz").items()})
    done = train(runs, "whole", "--data", "fewer.npz", "--epochs", NEPOCH + 1, "--resume")
    runs.check(done.returncode == 1 and "on 40 samples, and the data have 24" in done.stderr, done.stderr)
    arrays = numpy.load("data.npz")
    numpy.savez("other.npz", x=arrays["x"], labels=arrays["labels"] + numpy.float32(1e-3))
    for more in [["--data", "other.npz"], ["--factor", "2"]]:
        done = train(runs, "whole", "--epochs", NEPOCH + 1, "--resume", *more)
        runs.check(done.returncode == 1 and "on other samples, labels or --factor than these" in done.stderr, f"{more}: {done.stderr}")
    shutil.copy("data.npz", "moved.npz")
    shutil.copytree("half", "same")
    done = train(runs, "same", "--data", "moved.npz", "--epochs", NEPOCH, "--resume")
    runs.check(done.returncode == 0, f"the same data elsewhere: {done.stderr}")
    kit.write_tensors("foreign.safetensors", {"w": numpy.zeros((3, 4)), "b": numpy.zeros(4)})
    done = train(runs, "x", "--initialise", "foreign.safetensors")
    runs.check(done.returncode == 1 and "foreign.safetensors: tensor b is Tensor[(4), float32], and the model's is Tensor[(3), float32]" in done.stderr, done.stderr)
    kit.write_tensors("foreign.safetensors", {"w": numpy.zeros((3, 4))})
    done = train(runs, "x", "--initialise", "foreign.safetensors")
    runs.check(done.returncode == 1 and "foreign.safetensors has no tensor b" in done.stderr, done.stderr)
    shutil.copy("foreign.safetensors", os.path.join(shutil.copytree("whole", "foreign"), "step-000000099.safetensors"))
    done = train(runs, "foreign", "--resume")
    runs.check(done.returncode == 1 and "is no checkpoint of a training" in done.stderr, done.stderr)
    done = train(runs, "whole")
    runs.check(done.returncode == 2 and "holds a training already" in done.stderr, done.stderr)
    done = train(runs, "nowhere", "--resume")
    runs.check(done.returncode == 1 and "nowhere has no checkpoint" in done.stderr, done.stderr)


def check_alone(runs):
    """Two trainings in one folder: the second is refused, whether the first began there or goes on, and whatever becomes of it."""
    args = ["train", "linear.baton", "--data", "data.npz", "--loss", "squares", "--epochs", "2000000", "-o", "alone", "--json"]
    for more in [[], ["--resume"]]:
        process = subprocess.Popen([runs.program, *args, *more], stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        done = train(runs, "alone", "--resume")
        runs.check(done.returncode == 1 and "another training is at work in alone" in done.stderr, f"{more}: exit {done.returncode}\n{done.stderr}")
        while not any(name.startswith("step-") for name in os.listdir("alone")):
            process.stdout.readline()
        process.kill()
        process.communicate()
    done = train(runs, "alone", "--optimizer", "sgd", "--resume", "--epochs", 1)
    runs.check(done.returncode == 0, f"after one that was killed: {done.stderr}")
    both = [subprocess.Popen([runs.program, *args[:7], "3", "-o", "at_once"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(2)]
    errors = [process.communicate()[1] for process in both]
    codes = sorted(process.returncode for process in both)
    runs.check(codes in ([0, 1], [0, 2]), f"both at once: exit codes {codes}: {errors}")


def check_whole(runs):
    """What is damaged is refused with the name of the one before it, if that is whole."""
    shutil.copytree("whole", "torn")
    last = runs.last("torn")
    kit.write(last, content(last)[:-8])
    done = train(runs, "torn", "--epochs", NEPOCH, "--resume")
    older = os.path.join("torn", "step-000000025.safetensors")
    runs.check(done.returncode == 1 and f"{older} is whole: once {last} is removed, --resume goes on from there" in done.stderr, done.stderr)
    os.unlink(last)
    done = train(runs, "torn", "--epochs", NEPOCH, "--resume")
    runs.check(done.returncode == 0 and content(last) == content(runs.last("whole")), f"from the one before: {done.stderr}")
    for path in (older, last):
        kit.write(path, content(path)[:-8])
    done = train(runs, "torn", "--epochs", NEPOCH, "--resume")
    runs.check(done.returncode == 1 and "torn has no other checkpoint that is whole" in done.stderr, done.stderr)


def check_damaged(runs):
    """What is damaged is taken for nothing else: no model is made of it, and no training begins with it."""
    good = content(runs.last("whole"))
    nheader = int.from_bytes(good[:8], "little")
    path = kit.write("damaged.safetensors", good[:8 + nheader] + bytes([good[8 + nheader] ^ 1]) + good[9 + nheader:])
    words = f"{path}: the bytes of its tensors or notes are not those that were written"
    runs.refused(words, "export", "linear.baton", path, "-o", "damaged.baton")
    runs.check(not os.path.exists("damaged.baton"), "a model is made of what is damaged")
    done = train(runs, "x", "--epochs", 1, "--initialise", path)
    runs.check(done.returncode == 1 and words in done.stderr, f"--initialise: exit {done.returncode}\n{done.stderr}")
    done = runs.run("export", "linear.baton", runs.last("whole"), "-o", "whole.baton")
    runs.check(done.returncode == 0, done.stderr)


def forge(good, /, **notes):
    """A checkpoint of other notes, with the checksum that a training would write."""
    nheader = int.from_bytes(good[:8], "little")
    header, data = json.loads(good[8:8 + nheader]), good[8 + nheader:]
    expected = header["__metadata__"].pop("baton.checksum")

    def checksum():
        text = b"".join(f"{name}\0{value}\0".encode() for name, value in sorted(header["__metadata__"].items()))
        spans = sorted(row["data_offsets"] for name, row in header.items() if name != "__metadata__")
        digests = [hashlib.sha256(data[begin:end]).hexdigest() for begin, end in spans]
        return hashlib.sha256(text + b"".join(f"{digest}\0".encode() for digest in digests)).hexdigest()

    assert checksum() == expected
    header["__metadata__"].update(notes)
    header["__metadata__"]["baton.checksum"] = checksum()
    text = json.dumps(header, separators=(",", ":")).encode()
    return len(text).to_bytes(8, "little") + text + data


def check_forged(runs):
    """Numbers that no training has, in a file that is whole otherwise."""
    how = ["--loss-scale", "dynamic", "--epochs", 1]
    done = train(runs, "forged", *how)
    runs.check(done.returncode == 0, done.stderr)
    path = runs.last("forged")
    good = content(path)
    for name, values in {"scale": ["inf", "nan", "1e300", "0", "-2", "2x", ""], "step": ["-1", "9223372036854775807", "18446744073709551621", "x", ""],
                         "seed": ["18446744073709551616", "-1"], "good": ["9223372036854775807", "1.5"]}.items():
        for value in values:
            kit.write(path, forge(good, **{name: value}))
            done = train(runs, "forged", "--loss-scale", "dynamic", "--epochs", 2, "--resume")
            runs.check(done.returncode == 1 and f"what it notes as {name} is no number that a training has" in done.stderr,
                       f"{name} {value!r}: exit {done.returncode}\n{done.stderr}")
    kit.write(path, forge(good, scale="1e30"))
    done = train(runs, "forged", "--loss-scale", "dynamic", "--epochs", 2, "--resume")
    runs.check(done.returncode == 0, done.stderr)


def check_offsets(runs):
    """Files that the format does not allow; the order of tensors in a header is free."""
    w, b = '{"dtype":"F32","shape":[3,4],"data_offsets":[%d,%d]}', '{"dtype":"F32","shape":[3],"data_offsets":[%d,%d]}'

    def begin(words, text, nbytes=60):
        kit.write("bad.safetensors", len(text).to_bytes(8, "little") + text.encode() + bytes(nbytes))
        done = train(runs, "x", "--epochs", 1, "--initialise", "bad.safetensors")
        shutil.rmtree("x", ignore_errors=True)
        runs.check(done.returncode == (1 if words else 0) and words in done.stderr, f"{text}: expected \"{words}\", got exit {done.returncode}\n{done.stderr}")

    begin("", '{"b":%s,"w":%s}' % (b % (48, 60), w % (0, 48)))
    begin("tensor b, bytes 40 to 52, overlaps another one", '{"w":%s,"b":%s}' % (w % (0, 48), b % (40, 52)))
    begin("tensor w, bytes 0 to 48, overlaps another one", '{"w":%s,"b":%s}' % (w % (0, 48), b % (0, 12)), 48)
    begin("tensor b, bytes 52 to 64, begins behind bytes of none", '{"w":%s,"b":%s}' % (w % (0, 48), b % (52, 64)), 64)
    begin("tensor b, bytes 48 to 36, ends before it begins", '{"w":%s,"b":%s}' % (w % (0, 48), b % (48, 36)))
    begin("tensor b, bytes 48 to 64, has other bytes than its type and shape take", '{"w":%s,"b":%s}' % (w % (0, 48), b % (48, 64)), 64)
    begin("a name that was there before", '{"w":%s,"w":%s,"b":%s}' % (w % (0, 48), w % (0, 48), b % (48, 60)))
    begin("once each", '{"w":%s,"b":%s}' % (w % (0, 48), b.replace('"dtype"', '"dtype":"I32","dtype"') % (48, 60)))
    begin("{ is to be its first byte", ' {"w":%s,"b":%s}' % (w % (0, 48), b % (48, 60)))


def check_full(runs):
    """A save that cannot be finished, at any size: what was there stays, and the message names the file."""
    whole = len(content(runs.last("whole")))

    def limited(nbytes):
        def prepare():
            resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, nbytes))
        return prepare

    for nbytes in [0, 1, whole // 2, whole - 1]:
        shutil.rmtree("full", ignore_errors=True)
        shutil.copytree("half", "full")
        for name in os.listdir("full"):
            if not name.startswith("step-"):
                os.unlink(os.path.join("full", name))
        before = {name: content(os.path.join("full", name)) for name in os.listdir("full")}
        done = train(runs, "full", "--epochs", NEPOCH + 1, "--resume", preexec_fn=limited(nbytes))
        runs.check(done.returncode == 1 and "full/" in done.stderr, f"{nbytes} bytes: exit {done.returncode}\n{done.stderr}")
        after = {name: content(os.path.join("full", name)) for name in before}
        runs.check(before == after, f"{nbytes} bytes: a checkpoint is another than before")
        stray = [name for name in os.listdir("full") if name.startswith("step-") and name not in before and name != "step.baton"]
        runs.check(not stray, f"{nbytes} bytes: {stray} are left")
        done = train(runs, "full", "--epochs", NEPOCH + 1, "--resume")
        runs.check(done.returncode == 0, f"after {nbytes} bytes it does not go on: {done.stderr}")


def main():
    runs = kit.Runs(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        random = numpy.random.default_rng(7)
        kit.write("linear.baton", kit.LINEAR)
        numpy.savez("data.npz", x=random.normal(size=(NSAMPLE, 4)).astype(numpy.float32),
                    labels=random.normal(size=(NSAMPLE, 3)).astype(numpy.float32))
        check_resume(runs)
        check_stopped(runs)
        check_refused(runs)
        check_alone(runs)
        check_whole(runs)
        check_damaged(runs)
        check_forged(runs)
        check_offsets(runs)
        check_full(runs)
        os.chdir("/")
    runs.end()


main()
