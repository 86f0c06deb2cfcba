"""The programs of this folder compiled with their weights: the same numbers as NumPy, and kernels that have the weights packed.

constants.py BATON
"""
import os
import re
import subprocess
import sys
import tempfile

import programs
import harness

harness.need_packages("numpy")
import numpy as np
import char_rnn
import llama
import tree_lstm

VM = ["--executor", "vm", "--target", "cpu"]


def run(baton, path, *args):
    """Outputs of the program, in order."""
    folder = path + ".out"
    subprocess.run([baton, "run", path, *VM, "-o", folder, *args], check=True, stdout=subprocess.DEVNULL)
    return [np.load(os.path.join(folder, f"output{i}.npy")) for i in range(len(os.listdir(folder)))]


def printed(baton, path, *args):
    return subprocess.run([baton, "run", path, *VM, *args], check=True, stdout=subprocess.PIPE, text=True).stdout


def unpacked(baton, path, *args):
    """Kernels with a dense layer that read its weight as it came."""
    code = subprocess.run([baton, "info", path, *VM, "--code", *args], check=True, stdout=subprocess.PIPE, text=True).stdout
    names = re.findall(r"kernel +(\S*nn_dense\S*) ", code)
    return [name for name in names if not name.endswith(".1")] if names else ["no kernel has a dense layer"]


def check_char_rnn(baton, folder):
    path, weights = programs.char_rnn(folder, 128, 20)
    net, letter, wanted = char_rnn.Reference(weights), 3, []
    for _ in range(20):
        letter = int(net.step(letter).argmax())
        wanted.append(letter)
    written = [int(n) for n in re.findall(r"-?\d+", printed(baton, path, "-i", "letter=3").split(":", 1)[1].replace("List[int32]", ""))]
    return written == wanted, f"20 letters, {sum(a == b for a, b in zip(written, wanted))} as NumPy's", unpacked(baton, path)


def check_tree_lstm(baton, folder):
    path, weights, table, trees = programs.tree_lstm(folder, 8)
    outputs = run(baton, path, "-i", "none=0")
    exact = [w.astype(np.float64) for w in weights]
    wanted = [state for tree in trees for state in tree_lstm.reference(exact, table.astype(np.float64), tree)]
    worst = max(np.abs(got[0] - want).max() for got, want in zip(outputs, wanted))
    return len(outputs) == len(wanted) and worst < 1e-5, f"8 trees, largest difference {worst:.1e}", unpacked(baton, path)


def check_llama(baton, folder):
    path, weights = programs.llama(folder, 50)
    given = np.full(51, -1, np.int32)
    given[0] = llama.BEGIN
    np.save(os.path.join(folder, "tokens.npy"), given)
    written = run(baton, path, "--entry", "stories", "-i", f"tokens={folder}/tokens.npy")[0].tolist()
    wanted, _ = llama.reference(weights, 50)
    # the blocks are a list, which a recursion goes through: its kernels serve all of them
    return written == wanted, f"50 tokens, {sum(a == b for a, b in zip(written[1:], wanted[1:]))} as NumPy's", []


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for check in [check_char_rnn, check_tree_lstm, check_llama]:
            is_right, text, left = check(sys.argv[1], folder)
            failed += not is_right or bool(left)
            print(f"{check.__name__[6:]}: {text}" + "".join(f"; not packed: {name}" for name in left))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
