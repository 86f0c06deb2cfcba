"""A Llama of five layers, of the shape and with the weights of stories260K, learns on from the text that it writes itself: all of it,
then only matrices of low rank beside those of queries and values (LoRA, Hu et al. 2021): llama.py BATON"""
import importlib.util
import os
import sys
import tempfile

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import kit

import numpy

LAYERS, BATCH, LENGTH, RANK, NTOKEN = 5, 4, 16, 4, 120
ROWS = BATCH * LENGTH
PARAMS = {"table": (512, 64), "norm": (5, 64), "wq": (5, 64, 64), "wk": (5, 32, 64), "wv": (5, 32, 64), "wo": (5, 64, 64), "norm2": (5, 64),
          "gate": (5, 172, 64), "down": (5, 64, 172), "up": (5, 172, 64), "last": (64,)}
ADAPTERS = {"qa": (5, RANK, 64), "qb": (5, 64, RANK), "va": (5, RANK, 64), "vb": (5, 32, RANK)}
MODEL = """#[version = "baton 0.1"]
def @rms_norm(%x: Tensor[(ROWS, 64), float32], %w: Tensor[(64), float32]) -> Tensor[(ROWS, 64), float32] {
    %x * rsqrt(mean(%x * %x, axis=[1], keepdims=True) + 1e-5f) * %w
}

// Turns pairs of neighbours by angles that grow with the position.
def @rotate<h: Dim>(%x: Tensor[(BATCH, LENGTH, h, 8), float32]) -> Tensor[(BATCH, LENGTH, h, 8), float32] {
    let %position = cumsum(ones(shape=[1, LENGTH, 1, 1], dtype="float32"), axis=1) - 1f;
    let %angle = %position * const[(8), float32]{1, 1, 0.1, 0.1, 0.01, 0.01, 0.001, 0.001};
    let %other = take(%x, const[(8), int32]{1, 0, 3, 2, 5, 4, 7, 6}, axis=3, mode="fast");
    %x * cos(%angle) + %other * (sin(%angle) * const[(8), float32]{-1, 1, -1, 1, -1, 1, -1, 1})
}

// What the heads find at the positions up to their own.
def @attend(%q: Tensor[(BATCH, LENGTH, 8, 8), float32], %k: Tensor[(BATCH, LENGTH, 4, 8), float32], %v: Tensor[(BATCH, LENGTH, 4, 8), float32])
        -> Tensor[(ROWS, 64), float32] {
    let %scores = einsum((reshape(%q, newshape=[BATCH, LENGTH, 4, 2, 8]), %k), equation="bqgms,bkgs->bgmqk") * 0.35355339f;
    let %row = cumsum(ones(shape=[LENGTH, 1], dtype="int32"), axis=0);
    let %column = cumsum(ones(shape=[1, LENGTH], dtype="int32"), axis=1);
    let %seen = where(%column <= %row, %scores, -inff);
    reshape(einsum((nn.softmax(%seen, axis=4), %v), equation="bgmqk,bkgs->bqgms"), newshape=[ROWS, 64])
}

def @block(%x: Tensor[(ROWS, 64), float32], %norm: Tensor[(64), float32], %wq: Tensor[(64, 64), float32], %wk: Tensor[(32, 64), float32],
           %wv: Tensor[(32, 64), float32], %wo: Tensor[(64, 64), float32], %norm2: Tensor[(64), float32], %gate: Tensor[(172, 64), float32],
           %down: Tensor[(64, 172), float32], %up: Tensor[(172, 64), float32]) -> Tensor[(ROWS, 64), float32] {
    let %a = @rms_norm(%x, %norm);
    let %q = @rotate(reshape(nn.dense(%a, %wq), newshape=[BATCH, LENGTH, 8, 8]));
    let %k = @rotate(reshape(nn.dense(%a, %wk), newshape=[BATCH, LENGTH, 4, 8]));
    let %v = reshape(nn.dense(%a, %wv), newshape=[BATCH, LENGTH, 4, 8]);
    let %y = %x + nn.dense(@attend(%q, %k, %v), %wo);
    let %c = @rms_norm(%y, %norm2);
    let %g = nn.dense(%c, %gate);
    %y + nn.dense(%g * sigmoid(%g) * nn.dense(%c, %up), %down)
}

// How likely each token is to follow each one.
def @main(%tokens: Tensor[(BATCH, LENGTH), int32], PARAMS) -> Tensor[(BATCH, LENGTH, 512), float32] {
    %x0 = reshape(take(%table, %tokens, axis=0, mode="fast"), newshape=[ROWS, 64]);
BLOCKS    reshape(nn.dense(@rms_norm(%xLAYERS, %last), %table), newshape=[BATCH, LENGTH, 512])
}

def @loss.following(%z: Tensor[(BATCH, LENGTH, 512), float32], %y: Tensor[(BATCH, LENGTH), float32]) -> float32 {
    negative(mean(sum(one_hot(cast(%y, dtype="int32"), 1f, 0f, depth=512) * nn.log_softmax(%z, axis=2), axis=[2])))
}
"""


def model(adapts):
    params = {**PARAMS, **(ADAPTERS if adapts else {})}
    blocks = ""
    for i in range(LAYERS):
        names = {name: f"take(%{name}, {i}, axis=0)" for name in list(PARAMS)[1:-1] + (list(ADAPTERS) if adapts else [])}
        if adapts:
            names["wq"] += f" + nn.matmul({names['qb']}, {names['qa']})"
            names["wv"] += f" + nn.matmul({names['vb']}, {names['va']})"
        blocks += f"    %x{i + 1} = @block(%x{i}, {', '.join(names[name] for name in list(PARAMS)[1:-1])});\n"
    types = ", ".join(f"%{name}: Tensor[({', '.join(map(str, shape))}), float32]" for name, shape in params.items())
    text = MODEL.replace("PARAMS", types).replace("BLOCKS", blocks)
    for name, value in [("ROWS", ROWS), ("BATCH", BATCH), ("LENGTH", LENGTH), ("LAYERS", LAYERS)]:
        text = text.replace(name, str(value))
    return text


def losses(folder):
    with open(os.path.join(folder, "curve.csv")) as file:
        return [float(line.split(",")[2]) for line in list(file)[1:]]


def main():
    runs = kit.Runs(sys.argv[1])
    spec = importlib.util.spec_from_file_location("language_llama", os.path.join(kit.here, "..", "language", "llama.py"))
    language = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(language)
    weights = language.read_weights(os.path.join(kit.harness.shared_folder("data", "models", "stories260K"), "stories260K.bin"))
    tokens = numpy.array(language.reference(weights, NTOKEN)[0], numpy.int32)
    starts = range(0, NTOKEN - LENGTH, 2)
    starts = starts[:len(starts) // BATCH * BATCH]
    random = numpy.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        numpy.savez("text.npz", tokens=numpy.array([tokens[i:i + LENGTH] for i in starts]),
                    labels=numpy.array([tokens[i + 1:i + LENGTH + 1] for i in starts], numpy.float32))
        kit.write_tensors("all.safetensors", weights)
        begun = {**weights, **{name: random.normal(0, 0.1, shape) if name.endswith("a") else numpy.zeros(shape) for name, shape in ADAPTERS.items()}}
        kit.write_tensors("adapted.safetensors", begun)
        for name, adapts, start, more in WAYS:
            kit.write(f"{name}.baton", model(adapts))
            runs.train(f"{name}.baton", "--data", "text.npz", "--loss", "following", "--clip", 1, "--epochs", 6, "--initialise", start, "-o", name, *more)
            runs.train(f"{name}.baton", "--data", "text.npz", "--loss", "following", "--epochs", 1, "--initialise", start, "-o", f"{name}.begun",
                       "--optimizer", "sgd{rate=0}")
            loss = losses(f"{name}.begun") + losses(name)
            print(f"{name}: loss from {loss[0]:.4f} before to {loss[1]:.4f} in the first epoch and {loss[-1]:.4f} in the last")
            runs.check(loss[-1] < 0.5 * loss[0], f"{name}: losses are {loss}")
        first = losses("adapted.begun")[0], losses("all.begun")[0]
        runs.check(abs(first[0] - first[1]) < 1e-5, f"matrices that are zeros change the loss: {first}")
        found, _ = kit.read_tensors(runs.last("adapted"))
        for name in PARAMS:
            runs.check((found[name] == weights[name]).all(), f"{name} is not to be learned, and is another")
        for name in ADAPTERS:
            runs.check((found[name] != begun[name].astype(numpy.float32)).mean() > 0.9, f"{name} is not learned")
        runs.check({name.split("/")[1] for name in found if "/" in name} == set(ADAPTERS), f"the optimizer's state is of {sorted(found)}")
        os.chdir("/")
    runs.end()


# Whether it has such matrices, what it begins with, and how it goes down.
WAYS = [("all", False, "all.safetensors", ["--optimizer", "adam{rate=0.001}"]),
        ("adapted", True, "adapted.safetensors", ["--optimizer", "adam{rate=0.01}", *(word for name in ADAPTERS for word in ("--learn", name))])]
main()
