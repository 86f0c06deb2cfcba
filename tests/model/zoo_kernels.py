"""What target cpu makes of the networks that are measured (tests/bench/peers.py): zoo_kernels.py BATON [NETWORK ...]

A kernel that the evaluator runs, a sum of products that no tile computes, or an elementwise operator that stays alone is right, and
up to a hundred times as slow: no other test would see it. Of each network, by `baton info --why`:
  - no kernel is the evaluator's;
  - every function with an operator that sums products has a way taken for it;
  - none of more than a few elements consists of elementwise operators only, but those of ALONE.
"""
import json
import os
import subprocess
import sys
import tempfile

import harness

harness.need_packages("numpy", "onnx")
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "language"))
import peers

LARGEST = "vgg16"  # 553 MB, of the same operators as the ResNets
SUMS = {"nn.conv2d", "nn.dense", "nn.matmul", "einsum"}
ELEMENTWISE = {"add", "subtract", "multiply", "divide", "maximum", "minimum", "clip", "cast", "nn.relu", "sigmoid", "tanh", "erf", "exp",
               "sqrt", "rsqrt", "strided_slice"}
FEW = 10000  # the first step of a recurrence has no product, as its state is zero
# Layer norm has reductions between its elementwise operators.
NORM = {("subtract",), ("multiply",)}
ALONE = {"encoder": NORM}


def faults(name, info):
    """What is wrong with the functions of a network."""
    for target, text in info["targets"].items():
        if not text.endswith("by the evaluator: 0\n"):
            yield f"{target}: {text}"
    for func in info["functions"]:
        operators = func["operators"]
        if func["target"] == "-":
            continue
        if "by the evaluator" in func["why"]:
            yield f"{func['function']}: {func['why']}"
        nsum = sum(operator in SUMS for operator in operators)
        ntaken = len({way["sum"] for way in func["ways"] if way["sum"]})
        if func["kernels"] and ntaken < nsum:
            yield f"{func['function']}: {nsum} sums of products, {ntaken} of them by tiles: {operators}"
        is_alone = set(operators) <= ELEMENTWISE and func["multiply_adds"] >= FEW
        if is_alone and tuple(operators) not in ALONE.get(name, ()):
            yield f"{func['function']}: elementwise operators alone: {operators}"


def check(baton, name, folder):
    path = peers.NETWORKS[name](folder)
    command = [baton, "info", path, "--target", "cpu", "--why", "--json"]
    info = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    os.remove(path)
    found = list(faults(name, info))
    nkernel = sum(func["kernels"] for func in info["functions"])
    print(f"{name}: {len(info['functions'])} functions, {nkernel} kernels" + "".join(f"\n    {fault}" for fault in found), flush=True)
    return not found


def main():
    names = sys.argv[2:] or [name for name in peers.NETWORKS if name not in (LARGEST, "one operator")]
    with tempfile.TemporaryDirectory() as folder:
        good = [name for name in names if check(sys.argv[1], name, folder)]
    print(f"{len(good)} of {len(names)} networks are compiled as a whole")
    return len(good) != len(names) or not names


if __name__ == "__main__":
    sys.exit(main())
