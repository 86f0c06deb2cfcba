"""Gradients of programs of the whole language on real data: gradients.py BATON LEARNS [EXECUTOR_OPTION]...

name_rnn.baton tells the language of surnames, tree_lstm_gradients.baton what sentences are felt to say. Gradients of a few samples are
compared with NumPy's, derived by hand, in double precision. LEARNS (learns.c) then goes down the gradient for some hundred steps.
"""
import glob
import os
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "model"))
import harness

harness.need_packages("numpy")
import numpy as np
import char_rnn
import tree_lstm

ROWS = 400  # of the table of words


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def cross_entropy(scores, label):
    """(loss, its gradient by the scores)."""
    chances = np.exp(scores - scores.max())
    chances /= chances.sum()
    return -np.log(chances[label]), chances - np.eye(len(scores))[label]


# ---- names ----

NAMES = {"table": (58, 32), "w": (32, 32), "b": (32,), "v": (18, 32), "d": (18,)}


def names_by_language():
    """(letters, language)."""
    lists = []
    for language, path in enumerate(sorted(glob.glob(os.path.join(harness.shared_folder("data", "names"), "*.txt")))):
        with open(path, encoding="utf-8") as file:
            lists.append([([char_rnn.LETTERS.index(c) for c in line.strip()], language) for line in file
                          if all(c in char_rnn.LETTERS for c in line.strip())])
    return lists


def all_names():
    return [name for names in names_by_language() for name in names]


def read_names(count):
    """The languages in turn."""
    lists = names_by_language()
    return [names[i % len(names)] for i in range(count) for names in lists][:count]


def of_name(weights, name, language):
    """(loss, gradients by each weight)."""
    table, w, b, v, d = weights.values()
    states = [np.zeros(len(b))]
    for letter in name:
        states.append(np.tanh(table[letter] + w @ states[-1] + b))
    loss, scores = cross_entropy(v @ states[-1] + d, language)
    to = {k: np.zeros_like(x) for k, x in weights.items()}
    to["v"], to["d"] = np.outer(scores, states[-1]), scores
    state = v.T @ scores
    for letter, before, after in zip(name[::-1], states[-2::-1], states[:0:-1]):
        state = state * (1 - after * after)
        to["table"][letter] += state
        to["w"] += np.outer(state, before)
        to["b"] += state
        state = w.T @ state
    return loss, to


# ---- sentences ----

TREES = {"wx": (48, 16), "wh": (48, 16), "b": (48,), "fx": (16, 16), "fh": (16, 16), "fb": (16,), "table": (ROWS, 16), "v": (5, 16), "d": (5,)}


def code_of(node):
    """Rows of words, and -1 behind two trees that a node joins."""
    if not node[1]:
        return [node[0]]
    (first, second) = node[1]
    return code_of(first) + code_of(second) + [-1]


def read_sentences(count):
    words, samples = {}, []
    with open(os.path.join(harness.shared_folder("data", "sst"), "train.txt"), encoding="utf-8") as file:
        for line, _ in zip(file, range(count)):
            code = code_of(tree_lstm.read_tree(line, words))
            samples.append(([c if c < 0 else 1 + c % (ROWS - 1) for c in code], int(line[1])))
    return samples


class Node:
    """A node of the tree: its state, and the way back from there."""

    def __init__(self, weights, word, children):
        self.w, self.word, self.children = weights, word, children
        w, self.x = weights, weights["table"][word]
        self.sum = sum((child.h for child in children), np.zeros(16))
        gates = np.split(w["wx"] @ self.x + w["wh"] @ self.sum + w["b"], 3)
        self.i, self.o, self.u = sigmoid(gates[0]), sigmoid(gates[1]), np.tanh(gates[2])
        self.f = [sigmoid(w["fx"] @ self.x + w["fb"] + w["fh"] @ child.h) for child in children]
        self.c = self.i * self.u + sum((f * child.c for f, child in zip(self.f, children)), np.zeros(16))
        self.h = self.o * np.tanh(self.c)

    def back(self, h, c, to):
        w, tanh = self.w, np.tanh(self.c)
        c = c + h * self.o * (1 - tanh * tanh)
        gates = np.concatenate([c * self.u * self.i * (1 - self.i), h * tanh * self.o * (1 - self.o), c * self.i * (1 - self.u ** 2)])
        to["wx"] += np.outer(gates, self.x)
        to["wh"] += np.outer(gates, self.sum)
        to["b"] += gates
        to["table"][self.word] += w["wx"].T @ gates
        for f, child in zip(self.f, self.children):
            gate = c * child.c * f * (1 - f)
            to["fx"] += np.outer(gate, self.x)
            to["fh"] += np.outer(gate, child.h)
            to["fb"] += gate
            to["table"][self.word] += w["fx"].T @ gate
            child.back(w["wh"].T @ gates + w["fh"].T @ gate, c * f, to)


def of_sentence(weights, code, label):
    nodes = []
    for word in code:
        children = [] if word >= 0 else [nodes.pop(), nodes.pop()][::-1]
        nodes.append(Node(weights, max(word, 0), children))
    loss, scores = cross_entropy(weights["v"] @ nodes[0].h + weights["d"], label)
    to = {k: np.zeros_like(x) for k, x in weights.items()}
    to["v"], to["d"] = np.outer(scores, nodes[0].h), scores
    nodes[0].back(weights["v"].T @ scores, np.zeros(16), to)
    return loss, to


# ---- both ----

def compare(baton, program, shapes, by_hand, inputs, samples, options):
    """The largest difference, as a part of the tensor's largest element."""
    random, worst = np.random.default_rng(0), 0
    weights = {k: random.uniform(-0.5, 0.5, shape).astype(np.float32) for k, shape in shapes.items()}
    for sample, label in samples:
        values = {**weights, inputs[0]: np.array(sample, np.int32), inputs[1]: np.array(label, np.int32)}
        command = [baton, "run", os.path.join(here, program), "--entry", "main", "--no-specialise", "-o", "found", *options]
        for name, value in values.items():
            np.save(name + ".npy", value)
            command += ["-i", f"{name}={name}.npy"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        loss, to = by_hand({k: w.astype(np.float64) for k, w in weights.items()}, sample, label)
        for i, wanted in enumerate([np.array(loss), *to.values()]):
            found = np.load(f"found/output{i}.npy")
            worst = max(worst, np.abs(found - wanted).max() / np.abs(wanted).max())
    return worst


def learn(learns, program, samples, steps, rate):
    with open("samples", "w", encoding="utf-8") as file:
        for sample, label in samples:
            file.write(f"{label} {len(sample)} {' '.join(map(str, sample))}\n")
    return subprocess.run([learns, os.path.join(here, program), "samples", str(steps), str(rate)], check=False).returncode


def main():
    baton, learns, options = *map(os.path.abspath, sys.argv[1:3]), sys.argv[3:]
    names, sentences, failed = read_names(360), read_sentences(300), 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for program, shapes, by_hand, inputs, samples in [
                ("name_rnn.baton", NAMES, of_name, ("name", "language"), names),
                ("tree_lstm_gradients.baton", TREES, of_sentence, ("code", "label"), sentences)]:
            worst = compare(baton, program, shapes, by_hand, inputs, samples[:5], options)
            print(f"{program}: largest difference of a gradient {worst:.2e}, at most 2e-05")
            failed |= worst > 2e-5
        failed |= learn(learns, "name_rnn.baton", names[:36], 1800, 0.05)
        failed |= learn(learns, "tree_lstm_gradients.baton", sentences[:12], 900, 0.3)
        os.chdir("/")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
