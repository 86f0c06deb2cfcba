"""LeNet on digits, then a model of ONNX that learns on: mnist.py BATON EPOCHS PERCENT
After so many epochs of 10,000 digits at least so many percent of 10,000 others are right."""
import gzip
import json
import os
import sys
import tempfile

import kit

DIGITS = kit.harness.shared_folder("data", "mnist")
LENET = os.path.join(kit.here, "..", "..", "sdk", "examples", "digits", "lenet.baton")
FILES = {"images": "train10k-images-idx3-ubyte", "labels": "train10k-labels-idx1-ubyte", "test": "t10k-images-idx3-ubyte",
         "test-labels": "t10k-labels-idx1-ubyte"}


def main():
    runs = kit.Runs(sys.argv[1])
    nepoch, least = int(sys.argv[2]), float(sys.argv[3]) / 100
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, source in FILES.items():
            with gzip.open(os.path.join(DIGITS, source + ".gz")) as file:
                kit.write(name, file.read())
        data = ["--data", "images", "--labels", "labels", "--test", "test", "--test-labels", "test-labels", "--json"]
        done = runs.train(LENET, *data, "--factor", 1 / 255, "--optimizer", "adamw{rate=0.003, decay=0.05}", "--schedule", "cosine{warm=50}",
                          "--batch", 32, "--epochs", nepoch, "-o", "lenet")
        last = json.loads(done.stdout.splitlines()[-1])
        print(f"{100 * last['test_accuracy']:.2f} % after {last['epoch']} epochs, {last['seconds']:.1f} s")
        runs.check(last["epoch"] == nepoch and last["test_accuracy"] >= least, f"fewer than {least} are right: {last}")
        # a model of what was learned
        done = runs.run("export", LENET, runs.last("lenet"), "-o", "out.baton")
        runs.check(done.returncode == 0, done.stderr)
        # a foreign model, whose batch is one sample: 16 of them a step
        model = os.path.join(kit.harness.shared_folder("data", "models", "mnist-8"), "model.onnx")
        done = runs.train(model, *data[:4], "--json", "--batch", 16, "--epochs", 1, "--optimizer", "sgd{rate=1e-07}", "-o", "onnx")
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        mean = sum(row["accuracy"] for row in rows) / len(rows)
        runs.check(mean > 0.98, f"of a model that has learned already {mean} are right")
        os.chdir("/")
    runs.end()


main()
