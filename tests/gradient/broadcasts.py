"""Gradients where open dims broadcast when the program runs, against the same program with numbers for dims:
broadcasts.py BATON
"""
import itertools
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "model"))
import harness

harness.need_packages("numpy")
import numpy as np

# Each is a sum over x: (n, 2), y: (m, 2), and z: (k), which is below both.
SUMS = ["%x * %y", "tanh(%x + %y) * %z", "%x / (%y * %y + 1f64)", "power(%x * %x + 1f64, %y)", "maximum(%x, %y) * %y",
        "where(greater(%x, %z), %x * %y, %y)", "collapse_sum_like(%x * %y, %x) * %x", "broadcast_to_like(%x, %x + %y) * %y",
        "nn.batch_matmul(expand_dims(%x, axis=1), expand_dims(%y * %z, axis=1))"]
SIZES = [(3, 1, 2), (1, 3, 1), (3, 3, 2), (1, 1, 1), (1, 3, 2), (0, 0, 2), (5, 1, 1)]
WAYS = [["--executor", "interp"], ["--executor", "vm", "--no-specialise"], ["--executor", "vm", "--target", "reference", "--no-specialise"], []]


def program(n, m, k):
    """With numbers, or with open dims where they are names."""
    dims = [d for d in (n, m, k) if isinstance(d, str)]
    head = (f"<{', '.join(d + ': Dim' for d in dims)}>" if dims else "") + (
        f"(%x: Tensor[({n}, 2), float64], %y: Tensor[({m}, 2), float64], %z: Tensor[({k}), float64])")
    text = '#[version = "baton 0.1"]\n'
    for i, body in enumerate(SUMS):
        text += f"def @f{i}{head} -> float64 {{ sum({body}) }}\ngradient @g{i} = @f{i}(keep=[0]);\n"
    return text + f"def @main{head} {{ ({', '.join(f'@g{i}(%x, %y, %z)' for i in range(len(SUMS)))}) }}\n"


def run(baton, text, arrays, options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.baton")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        words = []
        for name, value in arrays.items():
            np.save(os.path.join(folder, name + ".npy"), value)
            words += ["-i", f"{name}={folder}/{name}.npy"]
        out = os.path.join(folder, "out")
        done = subprocess.run([baton, "run", path, "-o", out, *options, *words], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return {name: np.load(os.path.join(out, name)) for name in sorted(os.listdir(out))}


def main(baton):
    random, wrong, count = np.random.default_rng(5), 0, 0
    for sizes, way in itertools.product(SIZES, WAYS):
        arrays = {"x": random.standard_normal((sizes[0], 2)), "y": random.standard_normal((sizes[1], 2)), "z": random.standard_normal(sizes[2])}
        expected = run(baton, program(*sizes), arrays, ["--executor", "interp"])
        found = run(baton, program("n", "m", "k"), arrays, way)
        assert found.keys() == expected.keys() and len(found) == 4 * len(SUMS), (found.keys(), expected.keys())
        for name, value in expected.items():
            count += 1
            if value.shape != found[name].shape or not np.allclose(value, found[name], rtol=1e-12, atol=1e-12):
                wrong += 1
                print(f"{name} of sizes {sizes}, {' '.join(way)}:\n{found[name]}\nwith numbers\n{value}")
    print(f"{count} gradients and sums with open dims, {wrong} are not those with numbers")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
