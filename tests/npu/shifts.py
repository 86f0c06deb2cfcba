"""shifts.py BATON FOLDER: scheme shifts leaves ratios of scales that float32, too, has as powers of two.

40 dense layers with random weights; what qnn.requantize multiplies the sums of each by, as its formula computes it, is one of 2^n."""
import math
import os
import random
import re
import struct
import subprocess
import sys

LAYERS, UNITS = 40, 16
baton, folder = sys.argv[1:]


def float32(x):
    return struct.unpack("f", struct.pack("f", float(x)))[0]


def network():
    lines = [f"def @main(%x0: Tensor[(4, {UNITS}), float32]) {{"]
    for i in range(LAYERS):
        weights = ", ".join(f"{random.uniform(-1, 1):.6f}" for _ in range(UNITS * UNITS))
        lines.append(f"    %x{i + 1} = nn.relu(nn.dense(%x{i}, const[({UNITS}, {UNITS}), float32]{{{weights}}}));")
    return "\n".join(['#[version = "baton 0.1"]', "", *lines, f"    %x{LAYERS}", "}", ""])


def sample():
    numbers = [random.gauss(0, 1) for _ in range(4 * UNITS)]
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': (4, {UNITS}), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(numbers)}f", *numbers)


def ratios(path):
    """Of each requantize those of its channels."""
    scales, found = {}, []
    for line in open(path):
        made = re.search(r"%(\w+): .*= multiply\((\S+)f, (?:const\[.*?\]\{)?", line)
        if made:
            scales[made[1]] = [float32(float32(made[2]) * float32(w)) for w in re.findall(r"\d[\d.e-]*", line[made.end():])]
        used = re.search(r"qnn\.requantize\(%\w+, %(\w+), 0, (\S+)f,", line)
        if used:
            found.append([float32(s / float32(used[2])) for s in scales[used[1]]])
    return found


random.seed(3)
samples, model, quantized = (os.path.join(folder, name) for name in ("samples", "model.baton", "quantized.baton"))
os.makedirs(samples, exist_ok=True)
with open(model, "w") as file:
    file.write(network())
with open(os.path.join(samples, "0.npy"), "wb") as file:
    file.write(sample())
done = subprocess.run([baton, "quantize", model, "--data", samples, "--scheme", "shifts", "--processes", "1", "-o", quantized],
                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
if done.returncode:
    sys.exit(done.stdout)
found = ratios(quantized)
wrong = [i for i, row in enumerate(found) if any(math.frexp(r)[0] != 0.5 for r in row)]
if len(found) != LAYERS - 1 or wrong:
    sys.exit(f"of {len(found)} layers these have ratios that are no powers of two: {wrong}")
print(f"{len(found)} layers whose sums are shifted")
