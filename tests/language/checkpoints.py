"""What annotation.checkpoint marks is computed again, takes less memory, and gives the same bits: checkpoints.py BATON

checkpoints.baton has a gradient in both ways. The products of layers that a run computes are counted, the bytes that its tensors share, and
those of the workspace of the C that executor aot writes.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
PRODUCTS = {"kept": 9, "again": 9 + 9}  # of the way forward, and again


def run(baton, *words):
    return subprocess.run([baton, *words], check=True, capture_output=True, text=True).stdout


def of(baton, entry):
    """(results by executor, products, bytes on graph, bytes of aot's workspace)."""
    program = [os.path.join(here, "checkpoints.baton"), "--entry", entry]
    inputs = ["-i", "x=random:1", "-i", "w=random:2", "--json"]
    values = {executor: json.loads(run(baton, "run", *program, "--executor", executor, *inputs))["outputs"]
              for executor in ("interp", "graph", "vm")}
    memory = json.loads(run(baton, "run", *program, "--executor", "graph", "--target", "reference", "--memory", *inputs))["memory"]
    run(baton, "compile", *program, "--executor", "aot", "-o", entry)
    with open(os.path.join(entry, entry + ".h"), encoding="utf-8") as file:
        workspace = int(re.search(r"_WORKSPACE\D*(\d+)", file.read())[1])
    products = sum("nn_dense" in tensor["written_by"] for tensor in memory["tensors"])
    return values, products, memory["shared_bytes"], workspace


def main():
    baton, nfault = os.path.abspath(sys.argv[1]), 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        kept, again = of(baton, "kept"), of(baton, "again")
        os.chdir("/")
    for executor in kept[0]:
        nfault += kept[0][executor] != again[0][executor]
    print(f"products {kept[1]} and {again[1]}, bytes on graph {kept[2]} and {again[2]}, of aot's workspace {kept[3]} and {again[3]}")
    nfault += (kept[1], again[1]) != (PRODUCTS["kept"], PRODUCTS["again"])
    nfault += again[2] > 0.8 * kept[2]
    nfault += again[3] > 0.8 * kept[3]
    return nfault > 0


sys.exit(main())
