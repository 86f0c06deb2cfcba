"""The Llama of llama.baton with the weights of stories260K: the tokens that it writes at temperature 0, against NumPy.

llama.py BATON [--tokens N] [--executor NAME] [--original PROGRAM]
  --original PROGRAM   llama2.c's program of C, built: it writes the same text
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "model"))
import harness

BEGIN = 1  # the token before all others
NAMES = ["table", "norm", "wq", "wk", "wv", "wo", "norm2", "gate", "down", "up", "last"]


def read_weights(path):
    """A checkpoint of llama2.c: seven numbers, then the tensors one after the other; the table of tokens serves the scores, too."""
    import numpy as np
    width, hidden, layers, heads, groups, vocabulary, _ = np.fromfile(path, np.int32, 7)
    assert (width, hidden, heads, groups) == (64, 172, 8, 4) and vocabulary > 0
    shapes = [(vocabulary, 64), (layers, 64), (layers, 64, 64), (layers, 32, 64), (layers, 32, 64), (layers, 64, 64), (layers, 64),
              (layers, 172, 64), (layers, 64, 172), (layers, 172, 64), (64,)]
    numbers, at, out = np.fromfile(path, np.float32, offset=28), 0, {}
    for name, shape in zip(NAMES, shapes):
        size = int(np.prod(shape))
        out[name] = numbers[at:at + size].reshape(shape)
        at += size
    return out


def read_words(path, count):
    """A tokenizer of llama2.c: the longest length, then a score, a length and the bytes of each word."""
    with open(path, "rb") as file:
        data, at, words = file.read(), 4, []
    for _ in range(count):
        size = int.from_bytes(data[at + 4:at + 8], "little")
        word = data[at + 8:at + 8 + size]
        words.append(bytes([int(word[3:5], 16)]) if re.fullmatch(rb"<0x[0-9A-F]{2}>", word) else word)  # a byte that is no word
        at += 8 + size
    return words


def reference(weights, count):
    """The tokens by single precision, one position at a time, and the scores of the last one."""
    import numpy as np
    norm = lambda x, w: x / np.sqrt((x * x).mean() + np.float32(1e-5)) * w
    tokens = [BEGIN]
    layers = len(weights["norm"])
    keys = [[] for _ in range(layers)]
    values = [[] for _ in range(layers)]

    def rotate(x, position):
        pairs = x.reshape(-1, 4, 2)
        angle = np.float32(position) * np.float32(10000) ** (-np.arange(0, 8, 2, dtype=np.float32) / 8)
        cos, sin = np.cos(angle), np.sin(angle)
        even, odd = pairs[..., 0], pairs[..., 1]
        return np.stack([even * cos - odd * sin, even * sin + odd * cos], axis=2).reshape(-1, 8)

    for position in range(count):
        x = weights["table"][tokens[-1]]
        for layer in range(layers):
            w = {name: weights[name][layer] for name in NAMES[1:-1]}
            a = norm(x, w["norm"])
            q = rotate(w["wq"] @ a, position)
            keys[layer].append(rotate(w["wk"] @ a, position))
            values[layer].append((w["wv"] @ a).reshape(4, 8))
            found = []
            for head in range(8):
                score = np.array([k[head // 2] @ q[head] for k in keys[layer]]) / np.sqrt(np.float32(8))
                score = np.exp(score - score.max())
                found.append(sum(s * v[head // 2] for s, v in zip(score / score.sum(), values[layer])))
            x = x + w["wo"] @ np.concatenate(found)
            c = norm(x, w["norm2"])
            g = w["gate"] @ c
            x = x + w["down"] @ (g / (1 + np.exp(-g)) * (w["up"] @ c))
        scores = weights["table"] @ norm(x, weights["last"])
        tokens.append(int(scores.argmax()))
    return tokens, scores


def main():
    options = argparse.ArgumentParser()
    options.add_argument("baton")
    options.add_argument("--tokens", type=int, default=200)
    options.add_argument("--executor", default="interp")
    options.add_argument("--original")
    options = options.parse_args()
    harness.need_packages("numpy")
    import numpy as np
    model = harness.shared_folder("data", "models", "stories260K")
    weights = read_weights(os.path.join(model, "stories260K.bin"))
    words = read_words(os.path.join(model, "tok512.bin"), len(weights["table"]))
    given = np.full(options.tokens + 1, -1, np.int32)
    given[0] = BEGIN
    with tempfile.TemporaryDirectory() as folder:
        command = [options.baton, "run", os.path.join(here, "llama.baton"), "--executor", options.executor, "-o", folder]
        for name, value in [*weights.items(), ("tokens", given)]:
            np.save(os.path.join(folder, name + ".npy"), value)
            command += ["-i", f"{name}={folder}/{name}.npy"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        written = np.load(os.path.join(folder, "output0.npy")).tolist()
        scores = np.load(os.path.join(folder, "output1.npy"))[0]
    wanted, exact = reference(weights, options.tokens)
    difference = np.abs(scores - exact).max() / np.abs(exact).max()
    text = b"".join(words[token] for token in written[1:])
    print(text.decode(errors="replace"))
    same = sum(a == b for a, b in zip(written[1:], wanted[1:]))
    print(f"{same} of {options.tokens} tokens are the same, executor {options.executor}; "
          f"largest relative difference of the last scores {difference:.2e}, at most 1e-05")
    if options.original:
        # Its count includes the token before all others; it strips the space ahead of the first word and ends its text with a line end.
        told = subprocess.run([options.original, os.path.join(model, "stories260K.bin"), "-z", os.path.join(model, "tok512.bin"), "-t", "0",
                               "-n", str(options.tokens)], check=True, capture_output=True).stdout
        if told.rstrip(b"\n") != text.lstrip(b" ").rstrip(b"\n"):
            print(f"{options.original} writes another text:\n{told.decode(errors='replace')}")
            return 1
        print(f"{options.original} writes the same text")
    return int(written != wanted or difference > 1e-5)


if __name__ == "__main__":
    sys.exit(main())
