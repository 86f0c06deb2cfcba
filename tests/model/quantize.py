"""quantize.py BATON [--table]: how many of the 10,000 test digits MNIST-8 gets right with what `baton quantize` makes of it.

int8 by `max` may lose 0.1 points, and codes chosen by channel for the least error are better than one range for all. --table: all schemes
by all calibrations, as a page would show them."""
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import shared_folder

SCHEMES = {"int8": "int8", "uint8": "uint8", "int4": "int4", "int16": "int16", "7 bits": "int8{bits=7, weight_bits=7}",
           "one scale": "int8{per_channel=False}", "global": "global", "shifts": "shifts"}
CALIBRATIONS = {"global": "global{range=%s}", "max": "max", "percentile": "percentile{percent=99.99f}", "mse": "mse", "kl": "kl"}


def unpack(source, target):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with gzip.open(source) as packed, open(target, "wb") as plain:
        shutil.copyfileobj(packed, plain)
    return os.path.dirname(target)


class Digits:
    def __init__(self, baton, folder):
        data = shared_folder("data", "mnist")
        self.baton, self.folder = baton, folder
        self.model = os.path.join(shared_folder("data", "models", "mnist-8"), "model.onnx")
        self.train = unpack(os.path.join(data, "train10k-images-idx3-ubyte.gz"), os.path.join(folder, "train", "images"))
        self.test = unpack(os.path.join(data, "t10k-images-idx3-ubyte.gz"), os.path.join(folder, "test", "images"))
        self.labels = os.path.join(folder, "labels")
        unpack(os.path.join(data, "t10k-labels-idx1-ubyte.gz"), self.labels)

    def run(self, scheme, calibration):
        """What is right of the test digits, in percent: by integers, by floats; and what was printed."""
        command = [self.baton, "quantize", self.model, "--scheme", scheme, "--calibrate", calibration, "--data", self.train, "--samples", "512",
                   "--test", self.test, "--labels", self.labels, "-o", os.path.join(self.folder, "out.baton")]
        done = subprocess.run(command, capture_output=True, text=True)
        found = re.search(r"right in ([0-9.]+) %, before in ([0-9.]+) %", done.stdout)
        if not found:
            sys.exit(f"failed: {' '.join(command)}\n{done.stdout}{done.stderr}")
        return float(found[1]), float(found[2]), done.stdout


def table(digits):
    print(f"{'':12}" + "".join(f"{name:>12}" for name in CALIBRATIONS))
    for name, scheme in SCHEMES.items():
        row = [digits.run(scheme, by % "8192f" if "%s" in by else by)[0] for by in CALIBRATIONS.values()]
        print(f"{name:12}" + "".join(f"{value:12.2f}" for value in row), flush=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        digits = Digits(sys.argv[1], folder)
        if "--table" in sys.argv:
            return table(digits)
        by_max, floats, shown = digits.run("int8", "max")
        if "note:" in shown:
            sys.exit(f"failed: a layer stays in float\n{shown}")
        by_global, _, _ = digits.run("global", "global{range=8192f}")
        by_mse, _, _ = digits.run("int8", "mse")
    print(f"floats {floats}, int8 by max {by_max}, by mse and channel {by_mse}, by one range {by_global}")
    if by_max < floats - 0.1:
        sys.exit("failed: int8 loses more than 0.1 points")
    if by_mse <= by_global:
        sys.exit("failed: the least error by channel is not better than one range")


main()
