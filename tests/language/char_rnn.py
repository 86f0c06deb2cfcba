"""The character network of char_rnn.baton on surnames: what it writes itself and how it scores them, against NumPy.

char_rnn.py BATON [--hidden H] [--names N] [--executor NAME]
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "model"))
import harness

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .,;'-"
END, LONGEST = len(LETTERS), 20


def read_names(count):
    """The first names of each language, in turn."""
    lists = []
    for path in sorted(glob.glob(os.path.join(harness.shared_folder("data", "names"), "*.txt"))):
        with open(path, encoding="utf-8") as file:
            lists.append([[LETTERS.index(c) for c in line.strip()] for line in file if all(c in LETTERS for c in line.strip())])
    rounds = zip(*[names[:count] for names in lists])
    return [name for names in rounds for name in names][:count]


class Reference:
    """The network in double precision."""

    def __init__(self, weights):
        self.weights = [w.astype("float64") for w in weights]
        hidden = self.weights[1].shape[1]
        import numpy as np
        self.states = [np.zeros(hidden) for _ in range(4)]

    def step(self, letter):
        """The scores of what may follow."""
        import numpy as np
        sigmoid = lambda v: 1 / (1 + np.exp(-v))
        x = np.eye(END + 1)[letter]
        for layer in range(2):
            wx, wh, b = self.weights[3 * layer:3 * layer + 3]
            h, c = self.states[2 * layer:2 * layer + 2]
            i, f, g, o = np.split(wx @ x + wh @ h + b, 4)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            x = sigmoid(o) * np.tanh(c)
            self.states[2 * layer:2 * layer + 2] = x, c
        return self.weights[6] @ x + self.weights[7]


def generated(weights, letter):
    net, out = Reference(weights), []
    while len(out) < LONGEST:
        letter = int(net.step(letter).argmax())
        if letter == END:
            break
        out.append(letter)
    return out


def score(weights, name):
    import numpy as np
    net, total = Reference(weights), 0
    for letter, following in zip(name, name[1:] + [END]):
        scores = net.step(letter)
        total -= scores[following] - np.log(np.exp(scores).sum())
    return total


def main():
    options = argparse.ArgumentParser()
    options.add_argument("baton")
    options.add_argument("--hidden", type=int, default=128)
    options.add_argument("--names", type=int, default=8)
    options.add_argument("--executor", default="interp")
    options = options.parse_args()
    harness.need_packages("numpy")
    import numpy as np
    names, hidden, letters = read_names(options.names), options.hidden, END + 1
    random = np.random.default_rng(0)
    shapes = [(4 * hidden, letters), (4 * hidden, hidden), (4 * hidden,), (4 * hidden, hidden), (4 * hidden, hidden), (4 * hidden,),
              (letters, hidden), (letters,)]
    weights = [(random.standard_normal(shape) * 3 / hidden ** 0.5).astype(np.float32) for shape in shapes]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(os.path.join(here, "char_rnn.baton"), folder)
        program = os.path.join(folder, "main.baton")
        tensors = ", ".join(f"%w{i}: Tensor[({', '.join(map(str, w.shape))}), float32]" for i, w in enumerate(weights))
        with open(program, "w", encoding="utf-8") as file:
            file.write(f'#[version = "baton 0.1"]\nimport "char_rnn.baton"\ndef @main({tensors}) {{\n'
                       f"    let %low = Layer(%w0, %w1, %w2);\n"
                       f"    let %high = Layer(%w3, %w4, %w5);\n"
                       "    let %net = Network(%low, %high, %w6, %w7);\n    (")
            for name in names:
                word = f"const[({len(name) + 1}), int32]{{{', '.join(map(str, name + [END]))}}}"
                file.write(f"@score(%net, {word}),\n     @generate(%net, {name[0]}, {END}, {LONGEST}),\n     ")
            file.write("0)\n}\n")
        command = [options.baton, "run", program, "--executor", options.executor]
        for i, value in enumerate(weights):
            np.save(os.path.join(folder, f"w{i}.npy"), value)
            command += ["-i", f"w{i}={folder}/w{i}.npy"]
        lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    values = [line.strip() for line in lines if line.startswith(" ")]
    worst, differ = 0, 0
    for name, scored, written in zip(names, values[::2], values[1::2]):
        exact = score(weights, name)
        worst = max(worst, abs(float(scored.rstrip("f")) - exact) / exact)
        letters_written = [int(word) for word in written.replace("Cons(", "").replace("Nil", "").replace(")", "").split(",") if word.strip()]
        differ += letters_written != generated(weights, name[0])
        print("".join(LETTERS[c] for c in name), "->", "".join(LETTERS[c] for c in letters_written))
    print(f"{len(names)} names, hidden {hidden}, executor {options.executor}: {differ} written otherwise, "
          f"largest relative difference of a score {worst:.2e}, at most 1e-05")
    return int(differ > 0 or worst > 1e-5 or 2 * len(names) + 1 != len(values))


if __name__ == "__main__":
    sys.exit(main())
