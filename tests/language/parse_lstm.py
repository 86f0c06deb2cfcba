"""parse_lstm.baton on sentences of the Stanford Sentiment Treebank: level by level it gives what it gives tree by tree, and so do gradients.

parse_lstm.py BATON [--trees N] [--word N] [--state N] [--executor NAME] [--target NAME] [--bench]
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "model"))
import harness
from tree_lstm import read_tree


def tree_text(node):
    return f"Phrase({tree_text(node[1][0])}, {tree_text(node[1][1])})" if node[1] else f"Word({node[0]})"


def program(trees, shapes):
    """Entries each, levels: the loss; each_gradient, levels_gradient: its gradients, then the loss."""
    names = ["wx", "wh", "b", "fh", "fb", "table"]
    params = ", ".join(f"%{name}: Tensor[({', '.join(map(str, shape))}), float32]" for name, shape in zip(names, shapes))
    args = ", ".join("%" + name for name in names)
    data = "".join(f"Cons({tree_text(tree)}, " for tree in trees) + "Nil" + ")" * len(trees)
    text = f'#[version = "baton 0.1"]\nimport "parse_lstm.baton"\ndef @trees() -> List[Parse] {{ {data} }}\n'
    for way in ["each", "levels"]:
        text += f"def @{way}_loss({params}) -> float32 {{ @{way}({args}, @trees()) }}\n"
        text += f"gradient @d{way} = @{way}_loss(keep=[0]);\ndef @{way}_gradient({params}) {{ @d{way}({args}) }}\n"
    return text


def main():
    options = argparse.ArgumentParser()
    options.add_argument("baton")
    options.add_argument("--trees", type=int, default=4)
    options.add_argument("--word", type=int, default=12)
    options.add_argument("--state", type=int, default=8)
    options.add_argument("--executor", default="interp")
    options.add_argument("--target")
    options.add_argument("--bench", action="store_true")
    options = options.parse_args()
    harness.need_packages("numpy")
    import numpy as np
    words = {}
    with open(os.path.join(harness.shared_folder("data", "sst"), "test.txt"), encoding="utf-8") as file:
        trees = [read_tree(line, words) for line, _ in zip(file, range(options.trees))]
    x, h = options.word, options.state
    shapes = [(3 * h, x), (3 * h, h), (3 * h,), (h, h), (h,), (len(words) + 1, x)]
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(os.path.join(here, "parse_lstm.baton"), folder)
        path = os.path.join(folder, "main.baton")
        with open(path, "w", encoding="utf-8") as file:
            file.write(program(trees, shapes))
        inputs = []
        for name, shape in zip(["wx", "wh", "b", "fh", "fb", "table"], shapes):
            np.save(os.path.join(folder, name + ".npy"), random.uniform(-0.3, 0.3, shape).astype(np.float32))
            inputs += ["-i", f"{name}={folder}/{name}.npy"]
        how = ["--executor", options.executor] + (["--target", options.target] if options.target else [])
        if options.bench:
            for entry in ["each_loss", "levels_loss", "each_gradient", "levels_gradient"]:
                out = subprocess.run([options.baton, "bench", path, "--entry", entry, *how, "--threads", "1", *inputs],
                                     check=True, capture_output=True, text=True).stdout
                print(entry, *[line for line in out.splitlines() if line.startswith(("median", "spread"))], sep="\n  ")
            return 0
        results = {}
        for way in ["each", "levels"]:
            out = os.path.join(folder, way)
            subprocess.run([options.baton, "run", path, "--entry", way + "_gradient", *how, *inputs, "-o", out], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            results[way] = [np.load(os.path.join(out, f"output{i}.npy")) for i in range(len(shapes) + 1)]
        worst = max(np.abs(a - b).max() / max(np.abs(a).max(), 1e-6) for a, b in zip(results["each"], results["levels"]))
        lone = min(np.abs(a).max() for a in results["each"])
        print(f"{len(trees)} trees, executor {options.executor}: loss and gradients are {worst:.2e} apart, at most 1e-05; least gradient {lone:.2e}")
        return int(not worst < 1e-5 or lone == 0)


if __name__ == "__main__":
    sys.exit(main())
