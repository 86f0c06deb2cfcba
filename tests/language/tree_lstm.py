"""The TreeLSTM of tree_lstm.baton on sentences of the Stanford Sentiment Treebank, against NumPy.

tree_lstm.py BATON [--trees N] [--executor NAME]

The trees are data of the program: it is written for them, and imports the model.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "model"))
import harness

WORD, STATE = 300, 150
BATCH = 100  # trees of one program: each gives two results, and C compilers bound the parameters of a function


def read_tree(text, words):
    """"(3 (2 It) (4 works))" as (row of the word, children); 0 is the row of nodes without a word."""
    at, open_nodes, tokens = 0, [], re.findall(r"\(|\)|[^\s()]+", text)
    while at < len(tokens):
        if tokens[at] == "(":  # and its label
            open_nodes.append([0, []])
            at += 2
            continue
        if tokens[at] == ")":
            node = open_nodes.pop()
            if not open_nodes:
                return node
            open_nodes[-1][1].append(node)
        else:
            open_nodes[-1][0] = words.setdefault(tokens[at], len(words) + 1)
        at += 1
    raise ValueError("a tree that does not end: " + text)


def tree_text(node):
    below = "Nil()"
    for child in reversed(node[1]):
        below = f"Cons({tree_text(child)}, {below})"
    return f"Rose({node[0]}, {below})"


def reference(w, table, node):
    """(h, c) of the node, in the precision of the weights."""
    import numpy as np
    sigmoid = lambda v: 1 / (1 + np.exp(-v))
    wx, wh, b, fx, fh, fb = w
    x = table[node[0]]
    total, memory = np.zeros(STATE), np.zeros(STATE)
    for child in node[1]:
        h, c = reference(w, table, child)
        total = total + h
        memory = memory + sigmoid(fx @ x + fb + fh @ h) * c
    i, o, u = np.split(wx @ x + wh @ total + b, 3)
    c = sigmoid(i) * np.tanh(u) + memory
    return sigmoid(o) * np.tanh(c), c


def main():
    options = argparse.ArgumentParser()
    options.add_argument("baton")
    options.add_argument("--trees", type=int, default=8)
    options.add_argument("--executor", default="interp")
    options = options.parse_args()
    harness.need_packages("numpy")
    import numpy as np
    words = {}
    with open(os.path.join(harness.shared_folder("data", "sst"), "test.txt"), encoding="utf-8") as file:
        trees = [read_tree(line, words) for line, _ in zip(file, range(options.trees))]
    random = np.random.default_rng(0)
    shapes = [(3 * STATE, WORD), (3 * STATE, STATE), (3 * STATE,), (STATE, WORD), (STATE, STATE), (STATE,)]
    weights = [random.uniform(-0.1, 0.1, shape).astype(np.float32) for shape in shapes]
    table = random.standard_normal((len(words) + 1, WORD)).astype(np.float32)
    table[0] = 0
    exact = [w.astype(np.float64) for w in weights]
    worst = 0
    for first in range(0, len(trees), BATCH):
        batch = trees[first:first + BATCH]
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(os.path.join(here, "tree_lstm.baton"), folder)
            program = os.path.join(folder, "main.baton")
            tensors = ", ".join(f"%w{i}: Tensor[({', '.join(map(str, w.shape))}), float32]" for i, w in enumerate(weights))
            with open(program, "w", encoding="utf-8") as file:
                file.write('#[version = "baton 0.1"]\nimport "tree_lstm.baton"\n'
                           f"def @main({tensors}, %table: Tensor[({len(words) + 1}, {WORD}), float32]) {{\n"
                           f"    let %w = Weights(%w0, %w1, %w2, %w3, %w4, %w5);\n"
                           f"    let %root = fn (%tree: Tree[int32]) {{ match (@tree_lstm(%w, %table, %tree)) {{ State(%h, %c) => (%h, %c) }} }};\n")
                for i, tree in enumerate(batch):
                    file.write(f"    let %root{i} = %root({tree_text(tree)});\n")
                file.write("    (" + ", ".join(f"%root{i}.0, %root{i}.1" for i in range(len(batch))) + ")\n}\n")
            command = [options.baton, "run", program, "--executor", options.executor, "-o", os.path.join(folder, "out")]
            for name, value in [(f"w{i}", w) for i, w in enumerate(weights)] + [("table", table)]:
                np.save(os.path.join(folder, name + ".npy"), value)
                command += ["-i", f"{name}={folder}/{name}.npy"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            for i, tree in enumerate(batch):
                for k, wanted in enumerate(reference(exact, table.astype(np.float64), tree)):
                    got = np.load(os.path.join(folder, "out", f"output{2 * i + k}.npy"))
                    worst = max(worst, np.abs(got[0] - wanted).max())
    nodes = sum(tree_text(tree).count("Rose") for tree in trees)
    print(f"{len(trees)} trees of {nodes} nodes, executor {options.executor}: largest difference {worst:.2e}, at most 1e-05")
    return int(worst > 1e-5)


if __name__ == "__main__":
    sys.exit(main())
