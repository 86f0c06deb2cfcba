"""The programs of this folder with their weights as constants: written where they are asked for, to be compiled for them."""
import os
import shutil
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "model"))
import harness
import char_rnn as char_rnn_test
import llama as llama_test
import tree_lstm as tree_lstm_test


def write(folder, name, module, weights, body):
    """The path of a program that imports the module. body: its definitions, where {weight} is the constant."""
    import numpy as np
    shutil.copy(os.path.join(here, module + ".baton"), folder)
    np.savez(os.path.join(folder, name + ".npz"), **weights)
    constants = {k: f'const[({", ".join(map(str, w.shape))}), {w.dtype}]{{data "{k}"}}' for k, w in weights.items()}
    path = os.path.join(folder, name + ".baton")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'#[version = "baton 0.1"]\n#[weights = "{name}.npz"]\nimport "{module}.baton"\n{body(constants)}\n')
    return path


def char_rnn(folder, hidden, steps):
    """(path, weights): writes `steps` letters after one, none of which ends it."""
    import numpy as np
    random, letters = np.random.default_rng(0), char_rnn_test.END + 1
    shapes = [(4 * hidden, letters), (4 * hidden, hidden), (4 * hidden,), (4 * hidden, hidden), (4 * hidden, hidden), (4 * hidden,),
              (letters, hidden), (letters,)]
    weights = [(random.standard_normal(shape) * 3 / hidden ** 0.5).astype(np.float32) for shape in shapes]
    path = write(folder, f"char_rnn_{hidden}", "char_rnn", {f"w{i}": w for i, w in enumerate(weights)}, lambda w:
                 f"def @main(%letter: int32) {{\n"
                 f"    let %net = Network(Layer({w['w0']}, {w['w1']}, {w['w2']}), Layer({w['w3']}, {w['w4']}, {w['w5']}),\n"
                 f"                       {w['w6']}, {w['w7']});\n"
                 f"    @generate(%net, %letter, -1, {steps})\n}}")
    return path, weights


def tree_lstm(folder, count):
    """(path, weights, table, trees): the roots of the first sentences of the treebank."""
    import numpy as np
    words = {}
    with open(os.path.join(harness.shared_folder("data", "sst"), "test.txt"), encoding="utf-8") as file:
        trees = [tree_lstm_test.read_tree(line, words) for line, _ in zip(file, range(count))]
    word, state = tree_lstm_test.WORD, tree_lstm_test.STATE
    random = np.random.default_rng(0)
    shapes = [(3 * state, word), (3 * state, state), (3 * state,), (state, word), (state, state), (state,)]
    weights = [random.uniform(-0.1, 0.1, shape).astype(np.float32) for shape in shapes]
    table = random.standard_normal((len(words) + 1, word)).astype(np.float32)
    table[0] = 0
    body = lambda w: (
        f"def @main(%none: int32) {{\n    let %w = Weights({', '.join(w[f'w{i}'] for i in range(6))});\n"
        f"    let %root = fn (%tree: Tree[int32]) {{ match (@tree_lstm(%w, {w['table']}, %tree)) {{ State(%h, %c) => (%h, %c) }} }};\n"
        + "".join(f"    let %root{i} = %root({tree_lstm_test.tree_text(tree)});\n" for i, tree in enumerate(trees))
        + "    (" + ", ".join(f"%root{i}.0, %root{i}.1" for i in range(count)) + ")\n}")
    path = write(folder, f"tree_lstm_{count}", "tree_lstm", {**{f"w{i}": w for i, w in enumerate(weights)}, "table": table}, body)
    return path, weights, table, trees


def llama(folder, count):
    """(path, weights): @stories writes `count` tokens after the first."""
    weights = llama_test.read_weights(os.path.join(harness.shared_folder("data", "models", "stories260K"), "stories260K.bin"))
    path = write(folder, "stories", "llama", weights, lambda w:
                 f"def @stories(%tokens: Tensor[({count + 1}), int32]) {{\n"
                 f"    @main({', '.join(w[name] for name in llama_test.NAMES)}, %tokens)\n}}")
    return path, weights
