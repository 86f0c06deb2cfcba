"""Whole steps of training on target cpu and in PyTorch, in turn: milliseconds, and peak memory of the processes. Needs torch, which
is no requirement of the tests:
    PYTHON tests/bench/training_steps.py BATON [NAME ...] [--rounds N] [--threads N,N]
    PYTHON tests/bench/training_steps.py BATON [NAME ...] --budget PART
A step is forward, backward and SGD, of cross entropy, with batch normalisation by the moments of the batch. Baton runs what
`baton train` compiles, which also looks whether all gradients are finite and counts right answers, and updates parameters in place, as
both do; trees go by executor vm.
A row has the least time of any step of all rounds, how many times as fast Baton is, the same of the medians, and the peak of resident
memory in MB, of Baton with its compiler, of PyTorch with its libraries. Last, in seconds, how long `baton compile` takes for the
gradient of ResNet-50.

With --budget, no PyTorch: what tensors share without a budget, in MB, and within that part of it (--checkpoint-memory), and how many times
as long a step takes then, in turn with one without; or why the budget is not met.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.join(here, "..", "..")
sys.path[:0] = [os.path.join(here, "..", "model")]
import network_gradients
import zoo
import zoo_graph

RATE, REPEAT = 0.01, 20
STEPS, BATCH, STATE, LAYERS = 35, 20, 256, 2  # of the LSTM
LEAVES, WORD, NODE, WORDS, TREES, SMALL = 32, 300, 150, 400, 25, 16  # of the trees


def random(*shape):
    return (numpy.random.default_rng(1).standard_normal(shape) * 0.1).astype("float32")


def classes(n, count):
    return numpy.random.default_rng(2).integers(0, count, n).astype("int64")


def tensor(*shape):
    return f"Tensor[({', '.join(map(str, shape))}), float32]"


class LeNet:
    def __init__(self):
        self.x, self.y = random(64, 1, 28, 28), classes(64, 10)

    def text(self):
        with open(os.path.join(root, "sdk", "examples", "digits", "lenet.baton"), encoding="utf-8") as file:
            return file.read()

    def peer(self):
        from torch import nn
        return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
                             nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


class ResNet:
    def __init__(self, name, batch, size):
        network = zoo.NETWORKS[name]
        self.graph = zoo_graph.Graph(name, (batch, network.channels, size, size), network.rows)
        self.weights = {n: w for n, w in self.graph.weights.items() if w.role != "constant"}
        self.x, self.y = random(batch, 3, size, size), classes(batch, 1000)

    def text(self):
        """The moving moments are parameters, which training moves."""
        listed = [f"%input: {tensor(*self.graph.input.shape)}"]
        listed += [f"{network_gradients.name_of(n)}: {tensor(*w.shape)}" for n, w in self.weights.items()]
        body = [f"    let {network_gradients.name_of(n.output.name)} = {network_gradients.call(n)};\n" for n in self.graph.nodes]
        return f"""#[version = "baton 0.1"]
def @main({", ".join(listed)}) {{
{"".join(body)}    {network_gradients.name_of(self.graph.output.name)}
}}
"""

    def peer(self):
        import torch
        import torch.nn.functional as F
        graph, named = self.graph, self.weights
        values = zoo_graph.random_weights(zoo.build(graph.name, graph.input.shape[2]))

        class Network(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.values = {n: torch.tensor(values[n], dtype=torch.float32) for n in named}
                for n, w in named.items():
                    if w.role not in ("mean", "variance"):
                        self.values[n] = torch.nn.Parameter(self.values[n])
                        self.register_parameter(n.replace(".", "_"), self.values[n])

            def forward(self, x):
                norm = lambda x, g, b, m, v, epsilon: F.batch_norm(x, m, v, g, b, training=True, eps=epsilon)
                return network_gradients.evaluate(graph, self.values, x, {"BatchNormalization": norm})
        return Network()


class Lstm:
    def __init__(self):
        self.x, self.y = random(BATCH, STEPS, STATE), classes(BATCH, 10)

    def text(self):
        gates = 4 * STATE
        listed = [f"%x: {tensor(*self.x.shape)}"]
        for k in range(LAYERS):
            listed += [f"%u{k}: {tensor(gates, STATE)}", f"%w{k}: {tensor(gates, STATE)}", f"%b{k}: {tensor(gates)}"]
        listed += [f"%v: {tensor(10, STATE)}", f"%d: {tensor(10)}"]
        body = [f"    let %in0 = reshape(transpose(%x, axes=[1, 0, 2]), newshape=[{STEPS * BATCH}, {STATE}]);\n"]
        for k in range(LAYERS):
            body += [f"    let %all{k} = split(nn.bias_add(nn.dense(%in{k}, %u{k}), %b{k}), indices_or_sections={STEPS}, axis=0);\n",
                     f"    let %h{k}_0 = zeros(shape=[{BATCH}, {STATE}]);\n    let %c{k}_0 = zeros(shape=[{BATCH}, {STATE}]);\n"]
            for t in range(STEPS):
                body += [f"    let %g{k}_{t} = split(%all{k}.{t} + nn.dense(%h{k}_{t}, %w{k}), indices_or_sections=4, axis=1);\n",
                         f"    let %c{k}_{t + 1} = sigmoid(%g{k}_{t}.1) * %c{k}_{t} + sigmoid(%g{k}_{t}.0) * tanh(%g{k}_{t}.2);\n",
                         f"    let %h{k}_{t + 1} = sigmoid(%g{k}_{t}.3) * tanh(%c{k}_{t + 1});\n"]
            states = ", ".join(f"%h{k}_{t + 1}" for t in range(STEPS))
            body += [f"    let %in{k + 1} = concatenate(({states}), axis=0);\n"] if k + 1 < LAYERS else []
        return f"""#[version = "baton 0.1"]
def @main({", ".join(listed)}) {{
{"".join(body)}    nn.bias_add(nn.dense(%h{LAYERS - 1}_{STEPS}, %v), %d)
}}
"""

    def peer(self):
        import torch

        class Network(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.lstm, self.last = torch.nn.LSTM(STATE, STATE, LAYERS, batch_first=True), torch.nn.Linear(STATE, 10)

            def forward(self, x):
                return self.last(self.lstm(x)[0][:, -1])
        return Network()


class Tree:
    """A TreeLSTM over balanced binary trees: one as a recursive function takes it, or a list of them, by levels (vmap). PyTorch goes
    node by node, as programs for it are written."""
    executor = "vm"

    def __init__(self, word, node, trees=None):
        self.word, self.node, self.trees, self.code = word, node, trees, []
        words = iter(range(LEAVES * (trees or 1)))

        def walk(depth):
            if depth == 0:
                self.code.append(1 + next(words) % (WORDS - 1))
                return
            walk(depth - 1), walk(depth - 1)
            self.code.append(-1)
        for _ in range(trees or 1):
            walk(LEAVES.bit_length() - 1)

    def text(self):
        shapes = {"wx": (3 * self.node, self.word), "wh": (3 * self.node, self.node), "b": (3 * self.node,), "fx": (self.node, self.word),
                  "fh": (self.node, self.node), "fb": (self.node,), "table": (WORDS, self.word)}
        last = {"v": (5, self.node), "d": (5,)}
        named = lambda names: ", ".join("%" + n for n in names)
        typed = lambda of: ", ".join(f"%{n}: {tensor(*s) if len(s) > 1 else f'Tensor[({s[0]}), float32]'}" for n, s in of.items())
        state, n = tensor(1, self.node), self.trees or 1
        one = f"match? (%trees) {{ Cons(%tree, _) => @lstm({named(shapes)}, %tree).0 }}"
        all_trees = f"vmap(@lstm, {named(shapes)}, %trees, axes=[{', '.join(['-1'] * len(shapes))}, 0]).0"
        learned = [*shapes, *last]
        return f"""#[version = "baton 0.1"]
import "list"
type Tree {{ Leaf(int32), Node(int32, Tree, Tree), }}

def @lstm({typed(shapes)}, %tree: Tree) -> ({state}, {state}) {{
    match (%tree) {{
        Leaf(%word) => {{
            let %x = take(%table, reshape(%word, newshape=[1]), axis=0);
            let %gates = split(nn.dense(%x, %wx) + %b, indices_or_sections=3, axis=1);
            let %c = sigmoid(%gates.0) * tanh(%gates.2);
            (sigmoid(%gates.1) * tanh(%c), %c)
        }}
        Node(%word, %l, %r) => {{
            let %left = @lstm({named(shapes)}, %l);
            let %right = @lstm({named(shapes)}, %r);
            let %x = take(%table, reshape(%word, newshape=[1]), axis=0);
            let %forget = nn.dense(%x, %fx) + %fb;
            let %kept = sigmoid(%forget + nn.dense(%left.0, %fh)) * %left.1 + sigmoid(%forget + nn.dense(%right.0, %fh)) * %right.1;
            let %gates = split(nn.dense(%x, %wx) + nn.dense(%left.0 + %right.0, %wh) + %b, indices_or_sections=3, axis=1);
            let %c = sigmoid(%gates.0) * tanh(%gates.2) + %kept;
            (sigmoid(%gates.1) * tanh(%c), %c)
        }}
    }}
}}

// A word's row is a leaf, -1 joins the last two trees.
def @trees_of<n: Dim>(%code: Tensor[(n), int32], %i: int32, %trees: List[Tree]) -> List[Tree] {{
    if (%i >= take(shape_of(%code), 0)) {{
        %trees
    }} else {{
        let %word = take(%code, %i);
        let %next = if (%word >= 0) {{
            Cons(Leaf(%word), %trees)
        }} else {{
            match? (%trees) {{ Cons(%b, Cons(%a, %rest)) => Cons(Node(0, %a, %b), %rest) }}
        }};
        @trees_of(%code, %i + 1, %next)
    }}
}}

def @loss({typed(shapes)}, {typed(last)}, %trees: List[Tree], %labels: Tensor[({n}), int64]) -> float32 {{
    let %h = reshape({all_trees if self.trees else one}, newshape=[{n}, {self.node}]);
    nn.cross_entropy_with_logits(nn.log_softmax(nn.dense(%h, %v) + %d, axis=1), one_hot(%labels, 1f, 0f, depth=5))
}}

gradient @gradients = @loss(wrt=[{', '.join(map(str, range(len(learned))))}], keep=[0]);

def @step<n: Dim>({typed(shapes)}, {typed(last)}, %code: Tensor[(n), int32], %labels: Tensor[({n}), int64], %rate: float32) {{
    let %g = @gradients({named(learned)}, @trees_of(%code, 0, Nil()), %labels);
    (%g.{len(learned)}, {", ".join(f"%{name} - %rate * %g.{i}" for i, name in enumerate(learned))})
}}
"""

    def write(self, folder):
        with open(os.path.join(folder, "step.baton"), "w", encoding="utf-8") as out:
            out.write(self.text())
        numpy.save(os.path.join(folder, "code.npy"), numpy.array(self.code, "int32"))
        numpy.save(os.path.join(folder, "labels.npy"), numpy.full(self.trees or 1, 2, "int64"))
        return ["-i", f"code={folder}/code.npy", "-i", f"labels={folder}/labels.npy", "-i", f"rate={RATE}"]

    def peer_step(self):
        import torch
        table = torch.nn.Parameter(torch.tensor(random(WORDS, self.word)))
        wx, wh, fx, fh, v = [torch.nn.Parameter(torch.tensor(random(*s))) for s in
                             [(self.word, 3 * self.node), (self.node, 3 * self.node), (self.word, self.node), (self.node, self.node),
                              (self.node, 5)]]
        b, fb, d = [torch.nn.Parameter(torch.zeros(n)) for n in (3 * self.node, self.node, 5)]
        labels = torch.full([self.trees or 1], 2)
        optimizer = torch.optim.SGD([table, wx, wh, fx, fh, v, b, fb, d], RATE)

        def node(word, states):
            x = table[word:word + 1]
            gates, memory = torch.addmm(b, x, wx), 0
            if states:
                forget = torch.addmm(fb, x, fx)
                memory = sum(torch.sigmoid(forget + h @ fh) * c for h, c in states)
                gates = torch.addmm(gates, states[0][0] + states[1][0], wh)
            i, o, u = torch.chunk(gates, 3, 1)
            c = torch.sigmoid(i) * torch.tanh(u) + memory
            return torch.sigmoid(o) * torch.tanh(c), c

        def step():
            optimizer.zero_grad()
            stack = []
            for word in self.code:
                right = stack.pop() if word < 0 else None
                stack.append(node(max(word, 0), [stack.pop(), right] if word < 0 else []))
            h = torch.cat([h for h, _ in stack])
            torch.nn.functional.cross_entropy(torch.addmm(d, h, v), labels).backward()
            optimizer.step()
        return step


class Fold:
    """A step of tests/language/tree_lstm_gradients.baton, which folds a tree by library functions, whose nodes have lists of children."""
    executor = "vm"

    def write(self, folder):
        source = os.path.join(here, "..", "language")
        with open(os.path.join(source, "tree_lstm.baton"), encoding="utf-8") as model:
            with open(os.path.join(folder, "tree_lstm.baton"), "w", encoding="utf-8") as out:
                out.write(model.read())
        with open(os.path.join(source, "tree_lstm_gradients.baton"), encoding="utf-8") as file:
            text = file.read()
        shapes = {"(48, 16)": None, "(48)": f"({3 * NODE})", "(16, 16)": None, "(16)": f"({NODE})", "(400, 16)": f"({WORDS}, {WORD})",
                  "(5, 16)": f"(5, {NODE})"}
        text = text.replace("Weights[16, 16]", f"Weights[{WORD}, {NODE}]")
        for name, shape in {"wx": (3 * NODE, WORD), "wh": (3 * NODE, NODE), "fx": (NODE, WORD), "fh": (NODE, NODE)}.items():
            text = re.sub(rf"%{name}: Tensor\[\(\d+, \d+\)", f"%{name}: Tensor[({shape[0]}, {shape[1]})", text)
        for old, new in shapes.items():
            text = text.replace(f"Tensor[{old},", f"Tensor[{new},") if new else text
        with open(os.path.join(folder, "step.baton"), "w", encoding="utf-8") as out:
            out.write(text)
        numpy.save(os.path.join(folder, "code.npy"), numpy.array(Tree(WORD, NODE).code, "int32"))
        return ["-i", f"code={folder}/code.npy", "-i", "label=2", "-i", f"rate={RATE}"]

    def peer_step(self):
        return Tree(WORD, NODE).peer_step()


def models():
    return {"LeNet, batch 64": LeNet, "ResNet-18, batch 8, 32x32": lambda: ResNet("resnet18", 8, 32),
            f"LSTM {STATE}, {LAYERS} layers, {STEPS} steps, batch {BATCH}": Lstm,
            f"TreeLSTM {NODE}, one tree": lambda: Tree(WORD, NODE), f"TreeLSTM {NODE}, one tree, by levels": lambda: Tree(WORD, NODE, 1),
            f"TreeLSTM {NODE}, {TREES} trees, by levels": lambda: Tree(WORD, NODE, TREES), f"TreeLSTM {NODE}, one tree, by a fold": Fold,
            f"TreeLSTM {SMALL}, one tree": lambda: Tree(SMALL, SMALL), f"TreeLSTM {SMALL}, one tree, by levels": lambda: Tree(SMALL, SMALL, 1),
            f"TreeLSTM {SMALL}, {TREES} trees, by levels": lambda: Tree(SMALL, SMALL, TREES)}


def told(words):
    """(standard output, peak of resident memory in MB)."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(words, stdout=out, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        out.seek(0), errors.seek(0)
        if status:
            raise RuntimeError(errors.read() or out.read())
        return out.read(), usage.ru_maxrss / 1024


def make_step(baton, folder, model):
    """Options of `bench` for the step that is written into the folder."""
    if isinstance(model, (Tree, Fold)):
        return [os.path.join(folder, "step.baton"), "--entry", "step", "--executor", model.executor, *model.write(folder)]
    for name, value in {"x": model.x, "y": model.y}.items():
        numpy.save(os.path.join(folder, name + ".npy"), value)
    with open(os.path.join(folder, "model.baton"), "w", encoding="utf-8") as out:
        out.write(model.text())
    told([baton, "train", f"{folder}/model.baton", "--data", f"{folder}/x.npy", "--labels", f"{folder}/y.npy", "--batch",
          str(len(model.x)), "--epochs", "1", "--optimizer", f"sgd{{rate={RATE}}}", "-o", f"{folder}/trained"])
    return [os.path.join(folder, "trained", "step.baton"), "--entry", "train.step"]


def shared(baton, words, threads, *more):
    """Bytes that the tensors of a step share."""
    out, _ = told([baton, "run", *words, "--target", "cpu", "--threads", str(threads), "--memory", "--json", *more])
    return json.loads(out)["memory"]["shared_bytes"]


def within_budget(options, words, threads):
    before = shared(options.baton, words, threads)
    budget = ["--checkpoint-memory", str(int(before * options.budget))]
    try:
        after = shared(options.baton, words, threads, *budget)
    except RuntimeError as why:
        told_why = re.search(r"plan-memory: ([^,\n]*)", str(why))
        return f"{before / 1e6:9.2f}  {told_why[1] if told_why else why}"
    runs = [[of_baton(options.baton, words + more, threads) for more in ([], budget)] for _ in range(options.rounds)]
    least, medians = ([fold(run[k][i] for run in runs) for k in (0, 1)] for fold, i in ((min, 1), (statistics.median, 0)))
    return (f"{before / 1e6:9.2f} {after / 1e6:9.2f} {after / before:6.2f}  {least[0]:9.3f} {least[1]:9.3f} {least[1] / least[0]:6.2f}"
            f"  {medians[0]:9.3f} {medians[1]:9.3f} {medians[1] / medians[0]:6.2f}")


def of_baton(baton, words, threads):
    in_place = ["--in-place"] if "train.step" in words else []
    out, peak = told([baton, "bench", *words, *in_place, "--target", "cpu", "--threads", str(threads), "--repeat", str(REPEAT), "--json"])
    times = json.loads(out)
    return times["median_ms"], times["min_ms"], peak


def peer(name, threads):
    """Prints [median, least] of PyTorch's steps."""
    import torch
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = models()[name]()
    if isinstance(model, (Tree, Fold)):
        step = model.peer_step()
    else:
        network, x, y = model.peer(), torch.tensor(model.x), torch.tensor(model.y)
        optimizer = torch.optim.SGD(network.parameters(), RATE)

        def step():
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(x), y).backward()
            optimizer.step()
    times = []
    for _ in range(REPEAT + 3):
        begin = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - begin))
    print(json.dumps([statistics.median(times[3:]), min(times[3:])]))


def row(options, words, name, threads):
    own, other = [], []
    for _ in range(options.rounds):
        own.append(of_baton(options.baton, words, threads))
        out, peak = told([sys.executable, __file__, options.baton, name, "--peer", "--threads", str(threads)])
        other.append((*json.loads(out), peak))
    least, peers = min(r[1] for r in own), min(r[1] for r in other)
    median, medians = statistics.median(r[0] for r in own), statistics.median(r[0] for r in other)
    return (f"{least:9.3f} {peers:9.3f} {peers / least:6.2f}  {median:9.3f} {medians:9.3f} {medians / median:6.2f}"
            f"  {max(r[2] for r in own):7.0f} {max(r[2] for r in other):7.0f}")


def compile_time(baton, folder):
    network = network_gradients.Network(baton, "resnet50", 224)
    os.chdir(folder)
    network.write("float32")
    begin = time.time()
    told([baton, "compile", "network.baton", "--entry", "main", "--target", "cpu", "-o", "network.bta"])
    return time.time() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("baton")
    parser.add_argument("names", nargs="*", help="rows whose names begin so (default: all, and the time of compiling)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--budget", type=float, help="part of the memory that tensors share otherwise")
    parser.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        return peer(options.names[0], int(options.threads))
    options.baton = os.path.abspath(options.baton)
    if options.budget:
        print(f"{'':51} {'tensors, MB':>19} {'':>6}  {'least, ms':>19} {'':>6}  {'medians, ms':>19}")
    else:
        print(f"{'':51} {'least':>19} {'':>6}  {'medians':>19} {'':>6}  {'peak, MB':>15}")
        print(f"{'step of':43} threads {'Baton':>9} {'PyTorch':>9} {'':>6}  {'Baton':>9} {'PyTorch':>9} {'':>6}  {'Baton':>7} {'PyTorch':>7}")
    for name, make in models().items():
        if (options.names and not name.startswith(tuple(options.names))) or (options.budget and make is Tree):
            continue
        with tempfile.TemporaryDirectory() as folder:
            words = make_step(options.baton, folder, make())
            for threads in map(int, options.threads.split(",")):
                print(f"{name:43} {threads:7}", (within_budget(options, words, threads) if options.budget else
                                                 row(options, words, name, threads)), flush=True)
    if not options.names and not options.budget:
        with tempfile.TemporaryDirectory() as folder:
            print(f"compiling the gradient of ResNet-50, 224x224: {compile_time(options.baton, folder):.2f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
