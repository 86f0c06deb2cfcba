"""LeNet on digits, by the verb and in C, then a model of ONNX that learns on: mnist.py BATON TRAIN_DIGITS EPOCHS PERCENT
After so many epochs of 10,000 digits at least so many percent of 10,000 others are right; TRAIN_DIGITS is sdk/examples/digits/train.c."""
import gzip
import json
import os
import subprocess
import sys
import tempfile

import kit

DIGITS = kit.harness.shared_folder("data", "mnist")
LENET = os.path.join(kit.here, "..", "..", "sdk", "examples", "digits", "lenet.baton")
FILES = {"images": "train10k-images-idx3-ubyte", "labels": "train10k-labels-idx1-ubyte", "test": "t10k-images-idx3-ubyte",
         "test-labels": "t10k-labels-idx1-ubyte"}


def main():
    runs = kit.Runs(sys.argv[1])
    in_c, nepoch, least = os.path.abspath(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]) / 100
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
        os.mkdir("c")
        done = subprocess.run([in_c, LENET, *FILES, str(nepoch), "c"], capture_output=True, text=True)
        print("in C:", done.stdout.splitlines()[-1:], done.stderr)
        words = done.stdout.splitlines()[-1].split() if done.stdout else ["0"] * 5
        runs.check(done.returncode == 0 and words[1] == f"{nepoch}:" and float(words[4]) / 100 >= least, f"in C fewer than {least} are right")
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
