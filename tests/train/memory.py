"""Memory of a training does not grow with its steps: memory.py BATON STEPS
A network that drops, by batches in one and in several parts, with checkpoints; measured after a twentieth of the steps and at the end."""
import os
import subprocess
import sys
import tempfile

import numpy

import kit

MODEL = """#[version = "baton 0.1"]
def @main(%x: Tensor[(8, 4), float32], %w: Tensor[(3, 4), float32], %gamma: Tensor[(3), float32], %beta: Tensor[(3), float32],
          %m: Tensor[(3), float32], %v: Tensor[(3), float32]) -> Tensor[(8, 3), float32] {
    %h = nn.batch_norm(nn.dense(%x, %w), %gamma, %beta, %m, %v);
    %d = nn.dropout(%h.0, rate=0.1f);
    %d.0
}
"""
KILOBYTES = 256


def resident(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def check(runs, name, nstep, *more):
    process = subprocess.Popen([runs.program, "train", "model.baton", "--data", "data.npz", "--loss", "squares", "--epochs", "1", "-o", name, "--json",
                                "--threads", "1", *more], stdout=subprocess.PIPE, text=True)
    sizes = [resident(process.pid) for _ in process.stdout]
    runs.check(process.wait() == 0 and len(sizes) > 10, f"{name}: exit {process.returncode}")
    print(f"{name}: {sizes[1]} to {sizes[-2]} kilobytes in {nstep} steps")
    runs.check(sizes[-2] - sizes[1] < KILOBYTES, f"{name}: resident memory grows: {sizes}")


def main():
    runs = kit.Runs(sys.argv[1])
    nstep = int(sys.argv[2])
    if not os.path.exists("/proc/self/status"):
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        kit.write("model.baton", MODEL)
        random = numpy.random.default_rng(0)
        numpy.savez("data.npz", x=random.normal(size=(8 * nstep, 4)).astype(numpy.float32), labels=random.normal(size=(8 * nstep, 3)).astype(numpy.float32))
        check(runs, "whole", nstep)
        check(runs, "parts", nstep // 4, "--batch", "32", "--accumulate", "4", "--every", str(nstep // 80))
        os.chdir("/")
    runs.end()


main()
