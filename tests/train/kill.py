"""A training that is killed at random moments goes on from its last checkpoint, which is whole, to the bits of one that was not killed:
kill.py BATON COUNT"""
import os
import signal
import subprocess
import sys
import tempfile
import time

import numpy

import kit

NSTEP, PER_EPOCH = 1000, 100  # steps in all and in an epoch, a checkpoint after each five
EVERY = 5


def args(folder, *more):
    return ["train", "linear.baton", "--data", "data.npz", "--loss", "squares", "--optimizer", "adam{rate=0.001}", "--epochs",
            str(NSTEP // PER_EPOCH), "--every", str(EVERY), "-o", folder, *more]


def step_of(runs, folder):
    """The last checkpoint's step, read as a whole; 0: there is none."""
    while True:
        try:
            path = runs.last(folder)
        except (FileNotFoundError, IndexError):
            return 0
        try:
            tensors, notes = kit.read_tensors(path)
            break
        except FileNotFoundError:
            pass  # the training has taken it away for a newer one
    runs.check(all(numpy.isfinite(tensor).all() for tensor in tensors.values()), f"{path} has no numbers")
    return int(notes["step"])


def check(runs, count):
    done = runs.run(*args("whole"))
    runs.check(done.returncode == 0, done.stderr)
    random = numpy.random.default_rng(count)
    nkilled = kill_round = 0
    while nkilled < count:
        folder = f"killed{kill_round}"
        kill_round += 1
        before = 0
        while True:
            process = subprocess.Popen([runs.program, *args(folder, *(["--resume"] if before else []))],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            while step_of(runs, folder) == before and process.poll() is None:
                time.sleep(0.001)  # until it takes steps
            try:
                process.wait(random.uniform(0, 0.15))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
            _, errors = process.communicate()
            after = step_of(runs, folder)
            runs.check(process.returncode in (0, -signal.SIGKILL), f"exit {process.returncode}: {errors}")
            runs.check(after >= before, f"step {after} after step {before}")
            runs.check(process.returncode == 0 or after % EVERY == 0, f"a checkpoint of step {after}")
            before = after
            if process.returncode != -signal.SIGKILL:
                break
            nkilled += 1
            if nkilled >= count and before:
                done = runs.run(*args(folder, "--resume"))
                runs.check(done.returncode == 0, done.stderr)
                break
        with open(runs.last("whole"), "rb") as one, open(runs.last(folder), "rb") as other:
            runs.check(one.read() == other.read(), f"{folder}: other bytes than those of one run")
        stray = [name for name in os.listdir(folder) if not name.startswith(("step-", "step.baton", "curve."))]
        runs.check(not stray, f"{folder}: {stray} are left")
        runs.check(sum(name.startswith("step-") for name in os.listdir(folder)) == 2, f"{folder}: {os.listdir(folder)}")
    print(f"killed {nkilled} times in {kill_round} trainings")


def main():
    runs = kit.Runs(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        random = numpy.random.default_rng(7)
        kit.write("linear.baton", kit.LINEAR)
        n = 8 * PER_EPOCH
        numpy.savez("data.npz", x=random.normal(size=(n, 4)).astype(numpy.float32), labels=random.normal(size=(n, 3)).astype(numpy.float32))
        check(runs, int(sys.argv[2]))
        os.chdir("/")
    runs.end()


main()
