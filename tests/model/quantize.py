"""quantize.py BATON [--table [MODEL RANGE] | --zoo MODEL...]: what `baton quantize` makes of MNIST-8, by the 10,000 test digits.

int8 by `max` may lose 0.1 points; sums of 16 bits are those of 32; by the least error and channel less is lost than by one range for all, in
codes of 4 bits, too. --table: all schemes by all calibrations, right answers in percent and signal to noise of the scores in dB, as
tests/bench/RESULTS.md shows them; of another model of digits, whose activations are within RANGE. --zoo: for each model what 200 random inputs keep of their greatest result, and signal to noise."""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile

from harness import need_packages, shared_folder

# The last two are cut into many parts, and take minutes.
SCHEMES = {"8/32": "int8", "16/32": "int16", "4 bits, 8/32": "int4", "uint8, 8/32": "uint8", "7 bits": "int8{bits=7, weight_bits=7}",
           "one scale": "int8{per_channel=False}", "Relay's global": "global", "shifts": "shifts", "4 bits, 8/16": 'int4{accumulator="int16"}',
           "8/16": 'int8{accumulator="int16"}'}
RANGE = 8192  # of the activations of MNIST-8
CALIBRATIONS = {"global": "global{range=RANGEf}", "max": "max", "percentile": "percentile{percent=99.99f}", "mse": "mse", "kl": "kl"}
ZOO = {"8/32 max": ("int8", "max"), "8/32 mse": ("int8", "mse"), "16/32 max": ("int16{bits=15}", "max"), "4 bits max": ("int4", "max"),
       "4 bits mse": ("int4", "mse")}


def unpack(source, target):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with gzip.open(source) as packed, open(target, "wb") as plain:
        shutil.copyfileobj(packed, plain)
    return os.path.dirname(target)


def quantize(baton, model, scheme, calibration, folder, *options):
    """What it tells, as an object; a text where it refuses."""
    command = [baton, "quantize", model, "--scheme", scheme, "--calibrate", calibration, "--json", "-o", os.path.join(folder, "out.baton"), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr


class Digits:
    def __init__(self, baton, folder, model=None, most=RANGE):
        data = shared_folder("data", "mnist")
        self.baton, self.folder, self.most = baton, folder, most
        self.model = model or os.path.join(shared_folder("data", "models", "mnist-8"), "model.onnx")
        self.train = unpack(os.path.join(data, "train10k-images-idx3-ubyte.gz"), os.path.join(folder, "train", "images"))
        self.test = unpack(os.path.join(data, "t10k-images-idx3-ubyte.gz"), os.path.join(folder, "test", "images"))
        self.labels = os.path.join(folder, "labels")
        unpack(os.path.join(data, "t10k-labels-idx1-ubyte.gz"), self.labels)

    def run(self, scheme, calibration):
        by = CALIBRATIONS[calibration].replace("RANGE", str(self.most))
        told = quantize(self.baton, self.model, scheme, by, self.folder, "--data", self.train, "--samples", "512",
                        "--test", self.test, "--labels", self.labels)
        if isinstance(told, str):
            sys.exit(f"failed: {scheme} by {calibration}\n{told}")
        return told


def table(digits):
    print(f"{'right in %, dB':16}" + "".join(f"{name:>16}" for name in CALIBRATIONS))
    for name, scheme in SCHEMES.items():
        row = [digits.run(scheme, by) for by in CALIBRATIONS]
        print(f"{name:16}" + "".join(f"{told['right_percent']:10.2f}{told['decibel']:6.1f}" for told in row), flush=True)
    print(f"{'float':16}{row[0]['right_percent_before']:10.2f}")


def write_samples(model, folder):
    """200 of them, by input: numbers of a normal distribution, as images are after they were scaled."""
    need_packages("numpy", "onnx")
    import numpy as np
    import onnx
    random = np.random.default_rng(7)
    graph = onnx.load(model, load_external_data=False).graph
    weights = {initial.name for initial in graph.initializer}
    inputs = [value for value in graph.input if value.name not in weights]
    os.makedirs(folder)
    for i in range(200):
        shapes = {value.name: [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim] for value in inputs}
        np.savez(os.path.join(folder, f"{i:03}.npz"), **{name: random.standard_normal(shape).astype("float32") for name, shape in shapes.items()})


def zoo(baton, models, folder):
    print(f"{'same in %, dB':16}" + "".join(f"{name:>16}" for name in ZOO) + f"{'Mbytes':>16}")
    for model in models:
        name = os.path.basename(model).removesuffix(".onnx")
        samples = os.path.join(folder, name)
        write_samples(model, samples)
        told = [quantize(baton, model, scheme, by, folder, "--data", samples) for scheme, by in ZOO.values()]
        cells = ["         refused" if isinstance(t, str) else f"{100 * t['same'] / t['samples']:10.1f}{t['decibel'] or 999:6.1f}" for t in told]
        sizes = [t for t in told if not isinstance(t, str)]
        size = f"{sizes[0]['constants_nbytes_before'] / 1e6:8.1f} to {sizes[0]['constants_nbytes'] / 1e6:.1f}" if sizes else ""
        print(f"{name:16}" + "".join(cells) + f"{size:>16}", flush=True)
        for text in told:
            if isinstance(text, str):
                print("    " + text.splitlines()[0], flush=True)
        shutil.rmtree(samples)


def check(digits):
    wide, narrow = digits.run("int8", "max"), digits.run(SCHEMES["4 bits, 8/16"], "max")
    mean, one = digits.run("int8", "mse"), digits.run("global", "global")
    few = {by: digits.run("int4", by) for by in ("global", "max", "mse")}
    noise = {by: told["decibel"] for by, told in few.items()}
    print(f"floats {wide['right_percent_before']}, int8 by max {wide['right_percent']}, by mse and channel {mean['right_percent']}, "
          f"by one range {one['right_percent']}; 4 bits in dB: {noise}")
    if any(site["float"] for site in wide["sites"]):
        sys.exit("failed: a layer stays in float")
    if wide["right_percent"] < wide["right_percent_before"] - 0.1:
        sys.exit("failed: int8 loses more than 0.1 points")
    if (few["max"]["decibel"], few["max"]["same"]) != (narrow["decibel"], narrow["same"]):
        sys.exit("failed: sums of 16 bits are not those of 32")
    if mean["right_percent"] <= one["right_percent"]:
        sys.exit("failed: the least error by channel is not better than one range")
    if noise["mse"] < max(noise["max"], noise["global"]) + 1:
        sys.exit("failed: of 4 bits the least error loses as much as all that is seen, or one range")


def main():
    baton, options = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        if options[:1] == ["--zoo"]:
            return zoo(baton, options[1:], folder)
        digits = Digits(baton, folder, *options[1:])
        return table(digits) if options[:1] == ["--table"] else check(digits)


main()
