"""Layouts change no answer: layouts.py BATON

Small networks of the zoo, optimised, with and without alter-layout: the same bits by interp, and compiled for the CPU the same
within the bound of its arithmetic; activations lie in blocks of channels, and no transform is left between convolutions."""
import os
import re
import subprocess
import sys
import tempfile

import harness

harness.need_packages("numpy", "onnx")
import numpy

import zoo

SIZE, BOUND = 64, harness.cpu_bound()
NETWORKS = ["mobilenet_v2", "resnet18", "squeezenet1_1"]
USUAL = "inline, simplify-inference, canonicalize, fold-constant, fold-scale-axis, simplify-expr, fold-constant, common-subexpr, dead-code"
LAYOUTS = {"blocks": "NCHW8c", "permuted": "NCHW:NHWC"}


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


def run(baton, program, *options):
    with tempfile.TemporaryDirectory() as folder:
        (name,) = re.findall(r"def @main\(\s*%(\w+)", open(program).read())
        call(baton, "run", program, "-O", "0", "-i", f"{name}=random:1", "-o", folder, *options)
        (file,) = os.listdir(folder)
        return numpy.load(os.path.join(folder, file))


def check_text(program, name):
    text = open(program).read()
    activations = re.findall(r"layout_transform\(%\w+", text)
    convolutions = text.count("nn.conv2d(")
    blocked = len(re.findall(r'"NCHW:\w+"\] = nn\.conv2d\(', text))
    if blocked != convolutions or len(activations) > 2:
        raise AssertionError(f"{name}: {blocked} of {convolutions} convolutions blocked, {len(activations)} transforms of activations")


def check(baton, folder, name):
    model, plain = os.path.join(folder, f"{name}-{SIZE}.onnx"), os.path.join(folder, "plain.baton")
    call(baton, "opt", "--passes", USUAL, model, "-o", plain)
    want = run(baton, plain)
    for layout, text in LAYOUTS.items():
        laid = os.path.join(folder, f"{layout}.baton")
        call(baton, "opt", "--passes", f'{USUAL}, alter-layout{{data="{text}"}}, simplify-expr, dead-code', model, "-o", laid)
        check_text(laid, name)
        if run(baton, laid).tobytes() != want.tobytes():
            raise AssertionError(f"{name}, {layout}: interp gives other bits")
        got = run(baton, laid, "--executor", "graph", "--target", "cpu")
        error = numpy.abs(got - want).max() / numpy.abs(want).max()
        print(f"{name}, {layout}: interp the same bits, cpu {error:.1e}")
        if not error <= BOUND:
            raise AssertionError(f"{name}, {layout}: error {error} of cpu is above {BOUND}")


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        call(sys.executable, "-B", zoo.__file__, "--size", str(SIZE), folder, *NETWORKS)
        for name in NETWORKS:
            try:
                check(sys.argv[1], folder, name)
            except AssertionError as error:
                failed += 1
                print(f"{name}: FAILED: {error}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
