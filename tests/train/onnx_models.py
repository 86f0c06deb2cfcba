"""Models that training made, as ONNX files: by the checker of package onnx, by ONNX Runtime and read back, each as by Baton; what ONNX has not
is refused at its place: onnx_models.py BATON"""
import os
import re
import sys
import tempfile

import kit

kit.harness.need_packages("numpy", "onnx", "onnxruntime")
import numpy
import onnx
import onnxruntime

HEAD = '#[version = "baton 0.1"]\n'
LENET = os.path.join(kit.here, "..", "..", "sdk", "examples", "digits", "lenet.baton")
# Of x, (n, 4), and w, (3, 4), which the checkpoint has; of p, (n, 3, 8, 8), and k, (6, 3, 3, 3).
ROWS = ["nn.dense(%x, %w)", "nn.bias_add(nn.dense(%x, %w), take(%w, 0, axis=1))", "tanh(nn.dense(%x, %w))", "sigmoid(nn.dense(%x, %w))",
        "nn.softmax(nn.dense(%x, %w))", "nn.log_softmax(nn.dense(%x, %w), axis=0)", "exp(%x) / (1f + exp(sum(%w, axis=[0])))", "sqrt(abs(%x)) - log(abs(%x) + mean(%w))",
        "maximum(%x, 0f) * minimum(%x, max(%w))", "erf(%x) + sin(%x) * cos(%x) + power(abs(%x), 1.5f) * sum(%w)", "negative(floor(%x)) + ceil(%x) + sum(%w, axis=[0], keepdims=True)",
        "where(%x > 0f, %x, take(%w, 1, axis=0))", "where(%x < 0f, %x, %x + take(%w, 2, axis=0))", "mean(%x, axis=[-1], keepdims=True) + prod(%w)",
        "concatenate((%x, nn.dense(%x, %w)), axis=1)", "transpose(nn.dense(%x, %w))", "transpose(%x, axes=[1, 0]) + sum(%w)",
        "reshape(%x, newshape=[-1, 2, 2]) + sum(%w)", "squeeze(expand_dims(%x, axis=1), axis=[1]) + sum(%w)",
        "take(%w, cast(abs(%x), dtype=\"int32\"), axis=0)", "cast(%x > sum(%w), dtype=\"float32\")", "max(%x, axis=[0]) + min(%x) + sum(%w)",
        "take(%w, cast(floor(%x * 3f), dtype=\"int64\"), axis=-1)", "take(%w, -7, axis=0) + %x", "take(%w, cast(%w < 0.5f, dtype=\"int32\"), axis=0, mode=\"fast\") * sum(%x)",
        "nn.dropout(%x, rate=0.5f).0 * sum(%w)", "%norm = nn.batch_norm(%x, take(%w, 0, axis=0), take(%w, 1, axis=0), const[(4), float32]{1, 2, 3, 4}, const[(4), float32]{4, 3, 2, 1});\n    %norm.0",
        "(%x * sum(%w), %x, nn.dense(%x, %w))",
        "concatenate((%x, %x), axis=0) * sum(%w)"]
IMAGES = ["nn.conv2d(%p, %k)", "nn.conv2d(%p, %k, strides=[2, 1], padding=[1, 0, 2, 1], dilation=[1, 2])", "nn.bias_add(nn.conv2d(%p, %k), sum(%k, axis=[1, 2, 3]))",
          "nn.max_pool2d(%p, pool_size=[3, 2], strides=[2, 2], padding=[1, 0], ceil_mode=True) * sum(%k)",
          "nn.avg_pool2d(%p, pool_size=[3, 3], strides=[2, 2], padding=[1, 1]) * sum(%k)",
          "nn.avg_pool2d(%p, pool_size=[2, 2], padding=[1, 1], count_include_pad=True) * sum(%k)", "nn.global_avg_pool2d(%p) * sum(%k)",
          "nn.batch_flatten(nn.relu(nn.conv2d(%p, %k)))"]
REFUSED = [("a.baton:3:5: error: cumsum is written as no operator of ONNX: no row", "cumsum(%x, axis=0) * sum(%w)"),
           ("--dim NAME=N gives it a size, and mode=\"fast\" says", "take(%x, 0, axis=0) * sum(%w)"),
           ("exclude` names the axes that stay", "sum(%x, axis=[0], exclude=True) * sum(%w)"),
           ("branches, functions, data and tuples stay in Baton's text", "if (sum(%x) > 0f) { %x } else { %x * sum(%w) }")]


# Operators, as calls of a tensor of four axes of extent 2: ONNX Runtime has not all of these types, so the checker judges.
TYPES = ["float32", "float16", "bfloat16", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
CALLS = ["abs(%a)", "%a + %a", "%a * %a", "%a - %a", "negative(%a)", "ceil(%a)", "cos(%a)", "erf(%a)", "exp(%a)", "%a == %a", "%a > %a", "max(%a)", "maximum(%a, %a)", "mean(%a)",
         "prod(%a)", "sum(%a)", "power(%a, %a)", "sigmoid(%a)", "sqrt(%a)", "tanh(%a)", "nn.relu(%a)", "nn.softmax(%a)", "nn.log_softmax(%a)", "nn.batch_flatten(%a)", "transpose(%a)",
         "nn.max_pool2d(%a, pool_size=[2, 2])", "nn.avg_pool2d(%a, pool_size=[2, 2])", "nn.global_avg_pool2d(%a)", "nn.conv2d(%a, %a)", "nn.dense(reshape(%a, newshape=[2, 8]), reshape(%a, newshape=[2, 8]))",
         "where(%a == %a, %a, %a)", "take(%a, 1, axis=0)", "reshape(%a, newshape=[16])", "concatenate((%a, %a), axis=0)", "cast(%a, dtype=\"float32\")"]


def check_types(runs):
    """Each operator with each type is a model that the checker takes, or is refused at its place; float32 is taken."""
    nwritten = nrefused = 0
    for call in CALLS:
        for dtype in TYPES:
            kit.write("t.baton", HEAD + f"def @main(%a: Tensor[(2, 2, 2, 2), {dtype}], %w: Tensor[(3, 4), float32]) {{\n    ({call}, sum(%w))\n}}\n")
            done = runs.run("export", "t.baton", "learned.safetensors", "-o", "t.onnx")
            if done.returncode == 0:
                try:
                    onnx.checker.check_model(onnx.load("t.onnx"), full_check=True)
                except Exception as wrong:
                    runs.check(False, f"{call} of {dtype}: {wrong}")
                os.unlink("t.onnx")
                nwritten += 1
            else:
                runs.check(dtype != "float32" and "t.baton:3:" in done.stderr, f"{call} of {dtype}: {done.stderr}")
                nrefused += "is written as no operator of ONNX" in done.stderr
    runs.check(nwritten > 250 and nrefused > 50, f"{nwritten} are written, {nrefused} refused")
    runs.check(not os.path.exists("t.onnx"), "a file is left")


def check_names(runs):
    """An open dim is its term, and a constant that is the second output has no name of the first."""
    export(runs, model("concatenate((%x, %x), axis=0) * sum(%w)", "x"), "learned.safetensors")
    dims = onnx.load("a.onnx").graph.output[0].type.tensor_type.shape.dim
    kit.write("a.baton", HEAD + "def @main<n: Dim>(%x: Tensor[(n, 4), float32], %output0: Tensor[(3, 4), float32]) {\n    (%x + 1f, %output0)\n}\n")
    export(runs, "a.baton", "learned.safetensors")
    onnx.checker.check_model(onnx.load("a.onnx"), full_check=True)
    runs.check("n" in dims[0].dim_param and "2" in dims[0].dim_param and dims[1].dim_value == 4, f"dims are {dims}")


def model(body, name):
    x = "%x: Tensor[(n, 4), float32], %w: Tensor[(3, 4), float32]" if name == "x" else "%p: Tensor[(n, 3, 8, 8), float32], %k: Tensor[(6, 3, 3, 3), float32]"
    return kit.write("a.baton", HEAD + f"def @main<n: Dim>({x}) {{\n    {body}\n}}\n")


def agree(runs, what, name, x, near=2e-5):
    """a.onnx by ONNX Runtime and by Baton, and a.baton."""
    onnx.checker.check_model(onnx.load("a.onnx"), full_check=True)
    session = onnxruntime.InferenceSession("a.onnx", providers=["CPUExecutionProvider"])
    theirs = session.run(None, {name: x})
    numpy.save("x.npy", x)
    for file in ["a.baton", "a.onnx"]:
        done = runs.run("run", file, "-i", f"{name}=x.npy", "-o", "result")
        runs.check(done.returncode == 0, f"{what}: {done.stderr}")
        names = sorted(os.listdir("result"), key=lambda path: 1 if path == "x.npy" else int("0" + re.sub(r"\D", "", path)))
        runs.check(len(names) == len(theirs), f"{what}: {names}")
        for path, want in zip(names, theirs):
            ours = numpy.load(os.path.join("result", path))
            runs.check(ours.shape == want.shape and ours.dtype == want.dtype and numpy.allclose(ours, want, rtol=near, atol=near),
                       f"{what}: {file} gives {ours.dtype}{ours.shape}, ONNX Runtime {want.dtype}{want.shape}")
            os.unlink(os.path.join("result", path))


def export(runs, *args):
    for suffix in ["onnx", "baton"]:
        done = runs.run("export", *args, "-o", f"b.{suffix}")
        runs.check(done.returncode == 0, f"{args}: {done.stderr}")
        if os.path.exists(f"b.{suffix}"):
            os.replace(f"b.{suffix}", f"a.{suffix}")


def main():
    runs = kit.Runs(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        random = numpy.random.default_rng(5)
        kit.write_tensors("learned.safetensors", {"w": random.uniform(0.2, 0.9, (3, 4)), "output0": random.normal(size=(3, 4)), "k": random.normal(size=(6, 3, 3, 3)) / 5,
                                                   "norm.moving_mean": random.normal(size=4), "norm.moving_var": random.uniform(1, 2, 4)})
        x = {"x": random.uniform(-2.9, 2.9, (5, 4)).astype(numpy.float32), "p": random.normal(size=(2, 3, 8, 8)).astype(numpy.float32)}
        for name, bodies in [("x", ROWS), ("p", IMAGES)]:
            for body in bodies:
                export(runs, model(body, name), "learned.safetensors")
                agree(runs, body, name, x[name])
        check_names(runs)
        check_types(runs)
        for suffix in ["onnx", "baton"]:
            runs.refused(f"--target is what FILE.bta is compiled for, and -o none.{suffix} is compiled for nothing", "export", model("%x * sum(%w)", "x"),
                         "learned.safetensors", "--target", "cpu", "-o", f"none.{suffix}", code=2)
            runs.check(not os.path.exists(f"none.{suffix}"), f"{suffix}: a file is left")
        for words, body in REFUSED:
            runs.refused(words, "export", model(body, "x"), "learned.safetensors", "-o", "none.onnx")
            runs.check(not os.path.exists("none.onnx"), f"{body}: a file is left")
        runs.train(LENET, "--data", os.path.join(os.path.dirname(LENET), "samples"), "--labels", os.path.join(os.path.dirname(LENET), "labels"),
                   "--batch", 10, "--epochs", 4, "-o", "lenet")
        export(runs, LENET, runs.last("lenet"))
        agree(runs, "LeNet", "image", random.normal(size=(3, 1, 28, 28)).astype(numpy.float32), 1e-4)
        os.chdir("/")
    runs.end()


main()
