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
INTEGERS = "%i = cast(floor(%x * 9f), dtype=\"int32\");\n    "
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
        "concatenate((%x, %x), axis=0) * sum(%w)",
        "rsqrt(abs(%x) + sum(%w))", "log2(abs(%x)) + log10(abs(%x)) * sum(%w)", "log1p(abs(%x) * 1e-6f) * 1e6f + log1p(%x * %x) * sum(%w)",
        "asin(tanh(%x)) + acos(tanh(%x)) * atan(%x) + asinh(%x) - acosh(abs(%x) + 1f) * atanh(tanh(%x) * 0.9f) + sum(%w)", "sinh(%x) + cosh(%x) * tan(%x) + sum(%w)",
        "sign(%x) + round(%x) * 2f + round_even(%x) * 3f + trunc(%x) * 5f + sum(%w)", "round(floor(%x) + 0.5f) + round_even(floor(%x) + 0.5f) * sum(%w)",
        "floor_mod(%x, 0.7f) + mod(%x, -0.7f) * 2f + trunc_mod(%x, 0.7f) * 3f + floor_divide(%x, -0.7f) + trunc_divide(%x, 0.7f) * sum(%w)",
        INTEGERS + "(floor_mod(%i, 4), floor_mod(%i, -4), floor_divide(%i, 4), floor_divide(%i, -4), trunc_mod(%i, -4), trunc_divide(%i, 4), mod(%i, 4), sum(%w))",
        INTEGERS + "(bitwise_and(%i, 5), bitwise_or(%i, 5), bitwise_xor(%i, 5), bitwise_not(%i), sum(%w))",
        "(logical_and(%x > 0f, %x < 1f), logical_or(%x > 1f, %x < 0f), logical_xor(%x > 0f, %x > 1f), logical_not(%x > 0f), %x >= 0f, %x <= 0f, not_equal(%x, 0f), sum(%w))",
        "%q = where(%x > 1f, %x, log(%x));\n    (isnan(%q), isinf(%q / 0f), isfinite(%q), all(isnan(%q), axis=[1]), any(%x > 2f, axis=[0], keepdims=True), all(%x > -9f), sum(%w))",
        "clip(%x, a_min=-1f, a_max=0.5f) * sum(%w)", INTEGERS + "(clip(%i, a_min=-7f, a_max=3f), sum(%w))", "nn.leaky_relu(%x, alpha=0.1f) * sum(%w)",
        "nn.prelu(%x, take(%w, 0, axis=0)) + squeeze(nn.prelu(expand_dims(%x, axis=2), take(%w, 1, axis=0)), axis=[2])",
        "zeros_like(%x) + ones_like(%x) * full_like(%x, 3f) + sum(%w)", "ones(shape=[n, 4], dtype=\"float32\") * sum(%w) + zeros(shape=[4], dtype=\"float32\") + full(sum(%w), shape=[n, 1])",
        "broadcast_to(take(%w, 0, axis=0), shape=[n, 4]) + broadcast_to_like(sum(%w), %x)", "reshape_like(%x, %x) + sum(%w)", "stop_gradient(copy(%x)) + cast_like(sum(%w), %x)",
        "logsumexp(%x, axis=[1], keepdims=True) + logsumexp(%x * sum(%w))", "variance(%x, axis=[1], keepdims=True) + std(%x, axis=[0]) + std(%x) * sum(%w)",
        "variance(%x, mean(%x, axis=[1], keepdims=True), axis=[1]) * sum(%w)", "nn.l2_normalize(%x, eps=0.5f, axis=[1]) * sum(%w)",
        "(argmax(%x, axis=[1]), argmin(%x, axis=[0], keepdims=True), argmax(%x), argmax(floor(%x), axis=[-1], select_last_index=True), sum(%w))",
        "cumsum(%x, axis=1) + cumsum(%x, axis=0, exclusive=True) * sum(%w)", "(cumsum(%x), cumsum(%x > 0f, axis=1, dtype=\"int32\"), sum(%w))",
        "%t = topk(%x, k=2);\n    (%t.0 * sum(%w), %t.1, topk(%x, k=3, axis=0, is_ascend=True, ret_type=\"values\"), topk(%x, k=0, ret_type=\"indices\", dtype=\"int64\"))",
        "(sort(%x, axis=1), sort(%x, axis=0, is_ascend=False), argsort(%x, axis=1), sum(%w))",
        "nn.layer_norm(%x, take(%w, 0, axis=0), take(%w, 1, axis=0)) + nn.layer_norm(%x, take(%w, 0, axis=0), take(%w, 1, axis=0), scale=False, center=False, epsilon=0.1f)",
        "nn.matmul(%x, %w, transpose_b=True)", "nn.matmul(%x, nn.matmul(%w, %w, transpose_a=True))", "nn.batch_matmul(expand_dims(%x, axis=0), expand_dims(%w, axis=0))",
        "nn.batch_matmul(reshape(%x, newshape=[-1, 2, 2]), reshape(%x, newshape=[-1, 2, 2]), transpose_a=True, transpose_b=False) * sum(%w)",
        "nn.dense(reshape(%x, newshape=[-1, 1, 1, 4]), %w)", "einsum((%x, %w), equation=\"ni,ji->nj\")", "einsum((%x, %w, %w), equation=\"ni,ji,jk->nk\")",
        "strided_slice(%x, begin=[1, -3], end=[4, -1], strides=[2, 1]) * sum(%w)", "strided_slice(%x, begin=[-1], end=[-4], strides=[-1], axes=[1]) * sum(%w)",
        "strided_slice(%x, begin=[1, -2], end=[2, -1], slice_mode=\"size\") + strided_slice(%x, begin=[0, 1], end=[2, 2], slice_mode=\"size\") * sum(%w)",
        "reverse(%x, axis=1) + reverse(%x, axis=0) * sum(%w)", "%s = split(%x, indices_or_sections=2, axis=1);\n    %s.0 - %s.1 * sum(%w)", "%s = split(%x, indices_or_sections=[1, 3], axis=-1);\n    %s.1 * sum(%w)",
        "concatenate(split(%x, indices_or_sections=[1, 3], axis=-1), axis=1) * sum(%w)", "stack((%x, %x * sum(%w)), axis=1)", "stack((%x, %x * sum(%w)), axis=-1)",
        "tile(%x, reps=[2, 1, 3]) * sum(%w)", "tile(%x, reps=[2]) * sum(%w)", "repeat(%x, repeats=3, axis=1) * sum(%w)", "repeat(%x, repeats=2, axis=0) * sum(%w)",
        "nn.pad(%x, sum(%w), pad_width=[[0, 1], [2, 0]])", "nn.pad(%x, pad_width=[[1, 1], [2, 1]], pad_mode=\"reflect\") * sum(%w)", "nn.pad(%x, pad_width=[[1, 1], [2, 1]], pad_mode=\"edge\") * sum(%w)",
        "nn.mirror_pad(%x, mode=\"REFLECT\", pad_width=[[1, 1], [2, 1]]) * sum(%w)", "one_hot(cast(floor(%x), dtype=\"int32\"), sum(%w), 0f, depth=3)",
        "one_hot(cast(floor(%x), dtype=\"int64\"), 1f, sum(%w), depth=3, axis=0)", "gather(%x, cast(abs(trunc(%x)), dtype=\"int32\"), axis=1) * sum(%w)",
        "gather_nd(%x, const[(2, 3), int32]{0, 1, 2, 3, 1, 0}) * sum(%w)", "gather_nd(%x, const[(1, 2), int64]{2, 0}) * sum(%w)",
        "scatter_elements(%x, cast(argsort(%x, axis=1), dtype=\"int64\"), %x, axis=1, reduction=\"add\") * sum(%w)",
        "scatter_elements(%w, const[(3, 1), int32]{3, 1, 0}, take(%w, const[(1), int32]{1}, axis=1), axis=1) * sum(%x)",
        "scatter_nd(%x, const[(2, 3), int32]{0, 1, 2, 3, 1, 0}, take(take(%w, 0, axis=0), const[(3), int32]{1, 2, 3}, axis=0)) * sum(%w)", "scatter_nd(%x, const[(1, 2), int64]{2, 0}, take(%w, const[(2), int32]{0, 1}, axis=0))",
        "trilu(%x, 1) + trilu(%x, -1, upper=False) * sum(%w)", "(shape_of(%x), ndarray_size(%x, dtype=\"int64\"), arange(0f, sum(%w) + 5f, 0.5f))"]
IMAGES = ["nn.conv2d(%p, %k)", "nn.conv2d(%p, %k, strides=[2, 1], padding=[1, 0, 2, 1], dilation=[1, 2])", "nn.bias_add(nn.conv2d(%p, %k), sum(%k, axis=[1, 2, 3]))",
          "nn.max_pool2d(%p, pool_size=[3, 2], strides=[2, 2], padding=[1, 0], ceil_mode=True) * sum(%k)",
          "nn.avg_pool2d(%p, pool_size=[3, 3], strides=[2, 2], padding=[1, 1]) * sum(%k)",
          "nn.avg_pool2d(%p, pool_size=[2, 2], padding=[1, 1], count_include_pad=True) * sum(%k)", "nn.global_avg_pool2d(%p) * sum(%k)",
          "nn.batch_flatten(nn.relu(nn.conv2d(%p, %k)))",
          "nn.conv1d(reshape(%p, newshape=[-1, 3, 64]), reshape(%k, newshape=[6, 3, 9]), strides=[2], padding=[1, 2])", "nn.conv3d(reshape(%p, newshape=[-1, 3, 2, 4, 8]), reshape(%k, newshape=[6, 3, 1, 3, 3]))",
          "nn.conv2d(%p, reshape(%k, newshape=[18, 1, 3, 3]), groups=3)", "nn.conv2d_transpose(nn.conv2d(%p, %k), %k, strides=[2, 1], padding=[1, 0, 2, 1], output_padding=[1, 0])",
          "nn.conv1d_transpose(reshape(%p, newshape=[-1, 6, 32]), reshape(%k, newshape=[6, 3, 9]), strides=[2])",
          "nn.max_pool1d(reshape(%p, newshape=[-1, 3, 64]), pool_size=[3], strides=[2], dilation=[2]) * sum(%k)", "nn.avg_pool1d(reshape(%p, newshape=[-1, 3, 64]), pool_size=[2], padding=[0, 1]) * sum(%k)",
          "nn.max_pool3d(reshape(%p, newshape=[-1, 3, 2, 4, 8]), pool_size=[2, 2, 2]) * sum(%k)", "nn.avg_pool3d(reshape(%p, newshape=[-1, 3, 2, 4, 8]), pool_size=[2, 2, 2], padding=[1, 0, 1]) * sum(%k)",
          "nn.global_max_pool2d(%p) * sum(%k)", "nn.adaptive_avg_pool2d(%p, output_size=[1]) + nn.adaptive_max_pool2d(%p, output_size=[1, 1]) * sum(%k)",
          "nn.instance_norm(%p, sum(%k, axis=[0, 2, 3]), max(%k, axis=[0, 2, 3]))", "nn.instance_norm(%p, sum(%k, axis=[0, 2, 3]), max(%k, axis=[0, 2, 3]), scale=False, epsilon=0.1f)",
          "nn.group_norm(nn.conv2d(%p, %k), sum(%k, axis=[1, 2, 3]), max(%k, axis=[1, 2, 3]), num_groups=2)",
          "nn.group_norm(nn.conv2d(%p, %k), sum(%k, axis=[1, 2, 3]), max(%k, axis=[1, 2, 3]), num_groups=3, scale=False)",
          "nn.group_norm(nn.conv2d(%p, %k), sum(%k, axis=[1, 2, 3]), max(%k, axis=[1, 2, 3]), num_groups=6, scale=False, center=False)", "nn.lrn(%p, size=3, alpha=0.5f, beta=0.7f, bias=1f) * sum(%k)",
          "nn.prelu(%p, sum(%k, axis=[0, 2, 3]))", "nn.depth_to_space(nn.conv2d(%p, reshape(%k, newshape=[2, 3, 3, 9]), padding=[1, 4]), block_size=1)",
          "nn.space_to_depth(%p, block_size=2) * sum(%k)", "nn.depth_to_space(nn.space_to_depth(%p, block_size=4), block_size=2, mode=\"CDR\") * sum(%k)",
          "nn.depth_to_space(nn.space_to_depth(%p, block_size=2), block_size=2) * sum(%k)"]
REFUSED = [("a.baton:3:5: error: cumprod is written as no operator of ONNX: no row", "cumprod(%x, axis=0) * sum(%w)"),
           ("a.baton:4:5: note: unique is written as no operator of ONNX: no row", "%a = cumprod(%x, axis=0);\n    %b = unique(reshape(%x, newshape=[-1]));\n    (%a, %b.0, sum(%w))"),
           ("baton list exports", "cumprod(%x, axis=0) * sum(%w)"),
           ("--dim NAME=N gives it a size, and mode=\"fast\" says", "take(%x, 0, axis=0) * sum(%w)"),
           ("exclude` names the axes that stay", "sum(%x, axis=[0], exclude=True) * sum(%w)"),
           ("branches, functions, data and tuples stay in Baton's text", "if (sum(%x) > 0f) { %x } else { %x * sum(%w) }")]


# Operators, as calls of a tensor of four axes of extent 2: ONNX Runtime has not all of these types, so the checker judges.
TYPES = ["float32", "float16", "bfloat16", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
CALLS = ["abs(%a)", "%a + %a", "%a * %a", "%a - %a", "negative(%a)", "ceil(%a)", "cos(%a)", "erf(%a)", "exp(%a)", "%a == %a", "%a > %a", "max(%a)", "maximum(%a, %a)", "mean(%a)",
         "prod(%a)", "sum(%a)", "power(%a, %a)", "sigmoid(%a)", "sqrt(%a)", "tanh(%a)", "nn.relu(%a)", "nn.softmax(%a)", "nn.log_softmax(%a)", "nn.batch_flatten(%a)", "transpose(%a)",
         "nn.max_pool2d(%a, pool_size=[2, 2])", "nn.avg_pool2d(%a, pool_size=[2, 2])", "nn.global_avg_pool2d(%a)", "nn.conv2d(%a, %a)", "nn.dense(reshape(%a, newshape=[2, 8]), reshape(%a, newshape=[2, 8]))",
         "asin(%a)", "sign(%a)", "round(%a)", "trunc(%a)", "round_even(%a)", "rsqrt(%a)", "log1p(%a)", "floor_mod(%a, %a)", "floor_divide(%a, %a)", "trunc_divide(%a, %a)", "mod(%a, %a)", "bitwise_and(%a, %a)",
         "logical_or(%a == %a, %a == %a)", "not_equal(%a, %a)", "%a >= %a", "isnan(%a)", "isfinite(%a)", "all(%a == %a)", "clip(%a, a_min=0f, a_max=1f)", "nn.leaky_relu(%a)", "nn.prelu(%a, %a)", "ones_like(%a)",
         "logsumexp(%a)", "std(%a)", "argmax(%a, axis=[1])", "cumsum(%a, axis=1, dtype=\"float32\")", "cumsum(%a, axis=1)", "topk(%a, k=2, ret_type=\"values\")", "sort(%a)", "nn.l2_normalize(%a, eps=0.1f)",
         "nn.matmul(%a, %a)", "einsum((%a, %a), equation=\"abcd,abcd->ab\")", "nn.instance_norm(%a, sum(%a, axis=[0, 1, 2]), sum(%a, axis=[0, 1, 2]))", "nn.group_norm(%a, sum(%a, axis=[0, 1, 2]), sum(%a, axis=[0, 1, 2]), num_groups=1)",
         "nn.layer_norm(%a, sum(%a, axis=[0, 1, 2]), sum(%a, axis=[0, 1, 2]))", "nn.conv2d_transpose(%a, %a)", "nn.lrn(%a)", "strided_slice(%a, begin=[0], end=[1])", "stack((%a, %a))", "split(%a, indices_or_sections=2).0", "tile(%a, reps=[2])",
         "nn.pad(%a, pad_width=[[0, 1], [0, 0], [0, 0], [0, 0]])", "gather(%a, const[(1, 2, 2, 2), int64]{0 ..}, axis=0)", "scatter_elements(%a, const[(1, 2, 2, 2), int64]{0 ..}, strided_slice(%a, begin=[0], end=[1]))", "trilu(%a, 0)",
         "nn.depth_to_space(reshape(%a, newshape=[1, 4, 2, 2]), block_size=2)", "broadcast_to(%a, shape=[3, 2, 2, 2, 2])", "arange(max(%a), max(%a), max(%a))",
         "where(%a == %a, %a, %a)", "take(%a, 1, axis=0)", "reshape(%a, newshape=[16])", "concatenate((%a, %a), axis=0)", "cast(%a, dtype=\"float32\")"]


def check_types(runs):
    """Each operator with each type is a model that the checker takes, or is refused at its place; float32 is taken, but for its bits."""
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
                runs.check((dtype != "float32" or "bitwise" in call) and "t.baton:3:" in done.stderr, f"{call} of {dtype}: {done.stderr}")
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
        # a model of ONNX, learned on
        zoo = os.path.join(kit.harness.shared_folder("data", "models", "mnist-8"), "model.onnx")
        numpy.savez("digits.npz", Input3=random.uniform(0, 255, (8, 1, 28, 28)).astype(numpy.float32), labels=random.integers(0, 10, 8))
        runs.train(zoo, "--data", "digits.npz", "--batch", 4, "--epochs", 1, "--optimizer", "sgd{rate=1e-07}", "-o", "zoo")
        export(runs, zoo, runs.last("zoo"))
        agree(runs, "mnist-8", "Input3", random.uniform(0, 255, (1, 1, 28, 28)).astype(numpy.float32), 1e-4)
        os.chdir("/")
    runs.end()


main()
