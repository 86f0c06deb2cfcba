"""What parameters begin as: every initializer against NumPy, by option and by the model's text; what is refused: initial.py BATON"""
import os
import shutil
import sys
import tempfile
import zlib

import numpy

import drawn
import kit

HEAD = '#[version = "baton 0.1"]\n'
MODEL = HEAD + """def @main<n: Dim>(%x: Tensor[(n, 1, 6, 6), float32], %c: Tensor[(40, 1, 3, 3), float32], %gamma: Tensor[(40), float32],
                  %beta: Tensor[(40), float32], %w: Tensor[(30, 640), float32]ATTRS) {
    %f = @normalised(nn.conv2d(%x, %c), %gamma, %beta);
    nn.dense(nn.batch_flatten(%f), %w)
}
def @normalised<n: Dim>(%x: Tensor[(n, 40, 4, 4), float32], %g: Tensor[(40), float32], %b: Tensor[(40), float32], inline=False) {
    nn.group_norm(%x, %g, %b, num_groups=4)
}
def @initializer.ramp<m: Dim, n: Dim>(%key: Tensor[(2), uint32], %like: Tensor[(m, n), float32], %first: float32, first=1f) -> Tensor[(m, n), float32] {
    %first + cast(reshape(arange(0, 19200, 1), newshape=[30, 640]), dtype="float32") + zeros_like(%like)
}
def @initializer.none<m: Dim, n: Dim>(%like: Tensor[(m, n), float32]) -> Tensor[(m, n), float32] { %like }
"""
C, W = (40, 1, 3, 3), (30, 640)


def begun(runs, *args, attrs="", seed=9):
    """What parameters begin as: a step of rate 0 leaves them so."""
    kit.write("model.baton", MODEL.replace("ATTRS", attrs))
    shutil.rmtree("out", ignore_errors=True)
    runs.train("model.baton", "--data", "data.npz", "--optimizer", "sgd{rate=0}", "--epochs", 1, "--batch", 4, "--seed", seed, "-o", "out", *args)
    return kit.read_tensors(runs.last("out"))[0]


def same(runs, found, want, what, within=1e-6):
    error = numpy.abs(found - want).max()
    runs.check(error <= within * numpy.abs(want).max(), f"{what} differs by {error:.3g}")


def check_kinds(runs):
    for kind in ["he_uniform", "he_normal", "glorot_uniform", "glorot_normal", "lecun_uniform", "lecun_normal"]:
        seed = zlib.crc32(kind.encode()) << 8
        p = begun(runs, "--initializer", kind, seed=seed)
        same(runs, p["c"], drawn.initial(seed, 0, kind, C), kind)
        same(runs, p["w"], drawn.initial(seed, 3, kind, W), kind)
        same(runs, p["gamma"], numpy.ones(40), f"{kind}: a factor")
        same(runs, p["beta"], numpy.zeros(40), f"{kind}: a summand", 0)
    for kind, options, scale, offset, how in [
            ("uniform", "{low=-1, high=3}", 4, -1, dict(low=0, high=1)), ("uniform", "", 0.1, -0.05, dict(low=0, high=1)),
            ("normal", "{mean=2, scale=0.5}", 0.5, 2, dict(mean=0, scale=1)), ("normal", "", 0.02, 0, dict(mean=0, scale=1)),
            ("truncated_normal", "{scale=3}", 3, 0, dict(mean=0, scale=1, low=-2, high=2))]:
        p = begun(runs, "--initializer", kind + options)
        same(runs, p["c"], scale * drawn.initial(9, 0, kind, C, **how) + offset, kind + options)
    p = begun(runs, "--initializer", "constant{value=0.25}")
    runs.check((p["w"] == 0.25).all() and (p["beta"] == 0).all(), "constant")
    p = begun(runs, "--initializer", "w=orthogonal{scale=2}")
    same(runs, p["w"] @ p["w"].T, 4 * numpy.eye(30), "orthogonal", 1e-5)
    same(runs, p["c"], drawn.initial(9, 0, "he_uniform", C), "what is not named")
    p = begun(runs)
    same(runs, p["w"], drawn.initial(9, 3, "he_uniform", W), "without an option")


def check_choice(runs):
    """By the model's text; the command comes first, what is named before what is not, the last before others."""
    ramp = numpy.arange(19200, dtype=numpy.float32).reshape(W)
    p = begun(runs, attrs=', initializers=["lecun_normal", "w=ramp{first=3}", "beta=constant{value=7}"]')
    same(runs, p["c"], drawn.initial(9, 0, "lecun_normal", C), "of the model, for all")
    same(runs, p["w"], ramp + 3, "of the model, for one", 0)
    runs.check((p["beta"] == 7).all() and (p["gamma"] == 1).all(), "of the model, for a summand")
    p = begun(runs, "--initializer", "w=ramp", "--initializer", "glorot_normal", "--initializer", "glorot_uniform", attrs=', initializers="lecun_normal"')
    same(runs, p["w"], ramp + 1, "of the command, for one", 0)
    same(runs, p["c"], drawn.initial(9, 0, "glorot_uniform", C), "of the command, for all")
    # one that is for none is told of
    done = runs.train("model.baton", "--data", "data.npz", "--epochs", 1, "--batch", 4, "-o", "unused", "--initializer", "normal{scale=9}",
                      "--initializer", "w=constant", "--initializer", "c=constant")
    runs.check("note: initializer normal{scale=9}: no parameter of @main begins by it: constants" in done.stderr, done.stderr)
    runs.check("begins by it" not in runs.train("model.baton", "--data", "data.npz", "--epochs", 1, "--batch", 4, "-o", "used", "--initializer", "he_normal").stderr, "one is drawn")
    # constants stay what they are, unless they are named
    kit.write("constant.baton", HEAD + "def @main<n: Dim>(%x: Tensor[(n, 1, 6, 6), float32]) { nn.dense(nn.batch_flatten(%x), @w) }\n"
              "const @w = const[(3, 36), float32]{2 ..};\n")
    for k, (args, value) in enumerate([([], 2), (["--initializer", "constant{value=3}"], 2), (["--initializer", "w=constant{value=3}"], 3)]):
        runs.train("constant.baton", "--data", "data.npz", "--optimizer", "sgd{rate=0}", "--epochs", 1, "--batch", 4, "-o", f"constant{k}", *args)
        runs.check((kit.read_tensors(runs.last(f"constant{k}"))[0]["w"] == value).all(), f"a constant with {args}")


def check_factors(runs):
    """What is a factor or a divisor wherever it is used begins as one, also behind a number, another shape, or a call."""
    kit.write("factors.baton", HEAD + """def @main<n: Dim>(%x: Tensor[(n, 1, 6, 6), float32], %w: Tensor[(3, 36), float32], %g: Tensor[(3), float32], %s: float32, %t: float32,
        %o: Tensor[(3), float32], %p: Tensor[(3), float32], %b: Tensor[(3), float32], %q: Tensor[(3), float32]) {
    %y = nn.dense(nn.batch_flatten(%x), %w) * expand_dims(%g, axis=0) * %s / %t;
    @scaled(%y, %o) + %b * 0.5f + %q * %y + %q + %p / abs(%y)
}
def @scaled<n: Dim>(%y: Tensor[(n, 3), float32], %o: Tensor[(3), float32], inline=False) { %y * (0.5f * %o) }
""")
    runs.train("factors.baton", "--data", "data.npz", "--optimizer", "sgd{rate=0}", "--epochs", 1, "--batch", 4, "-o", "factors")
    p = kit.read_tensors(runs.last("factors"))[0]
    for name, value in dict(g=1, s=1, t=1, o=1, p=0, b=0, q=0).items():
        runs.check((p[name] == value).all(), f"{name} begins as {p[name]}, not {value}")


def check_axes(runs):
    """What a layer gives and reads is told by the operator that uses the parameter."""
    model = "def @main<n: Dim>(%x: Tensor[(n, 1, 6, 6), float32], %w: Tensor[(SHAPE), float32]) { %f = nn.batch_flatten(%x); CALL }\n"
    # a parameter of that shape is, by these axes, what is drawn of (gives, reads, window)
    for shape, call, like, axes in [
            ((36, 3), "nn.matmul(%f, %w)", (3, 36), (1, 0)), ((3, 36), "nn.matmul(%f, %w, transpose_b=True)", (3, 36), (0, 1)),
            ((36, 3), "nn.dense(%f, transpose(%w))", (3, 36), (1, 0)), ((3, 36), "nn.dense(%f, 2f * %w)", (3, 36), (0, 1)),
            ((36, 3), "transpose(nn.matmul(%w, %f, transpose_a=True, transpose_b=True))", (3, 36), (1, 0)),
            ((3, 3, 1, 5), "nn.batch_flatten(nn.conv2d(transpose(%x, axes=[0, 2, 3, 1]), %w, data_layout=\"NHWC\", kernel_layout=\"HWIO\"))", (5, 1, 3, 3), (2, 3, 1, 0)),
            ((1, 5, 3, 3), "nn.batch_flatten(nn.conv2d_transpose(%x, %w))", (5, 1, 3, 3), (1, 0, 2, 3)),
            ((3, 50), "transpose(take(%w, argmax(%f, axis=1), axis=1))", (50, 3), (1, 0)), ((50, 3), "take(%w, argmax(%f, axis=1), axis=0)", (50, 3), (0, 1)),
            ((4, 9, 3), "reshape(nn.batch_matmul(reshape(%x, newshape=[4, n, 9]), %w, transpose_b=False), newshape=[n, 12])", (12, 9), None)]:
        for kind in ["he_uniform", "glorot_normal"]:
            kit.write("axes.baton", HEAD + model.replace("SHAPE", ", ".join(map(str, shape))).replace("CALL", call))
            shutil.rmtree("axes", ignore_errors=True)
            runs.train("axes.baton", "--data", "data.npz", "--optimizer", "sgd{rate=0}", "--epochs", 1, "--batch", 4, "--seed", 9, "--initializer", kind, "-o", "axes")
            drawn_one = drawn.initial(9, 0, kind, like)
            want = drawn_one.transpose(axes) if axes else drawn_one.reshape(4, 3, 9).transpose(0, 2, 1)
            same(runs, kit.read_tensors(runs.last("axes"))[0]["w"], want, f"{kind} of {call}")


def check_refused(runs):
    for words, name in [("did you mean `@initializer.he_normal`", "he_norml"), ("@main has no parameter ww; did you mean w", "ww=he_normal"),
                        ("no attribute `scal`; did you mean `scale`", "normal{scal=1}"), ("is no name of an initializer", "a b"),
                        ("@initializer.none is no initializer: it takes 1 of 2 tensors, and such", "w=none"),
                        ("initializer beta=he_normal: @initializer.he_normal goes by the axes of what a layer gives and reads, and beta is Tensor[(40), float32]",
                         "beta=he_normal"),
                        ("initializer beta=orthogonal: @initializer.orthogonal is for parameters of type Tensor[(m, n), float32], and beta is Tensor[(40), float32]",
                         "beta=orthogonal"),
                        ("and beta is Tensor[(40), float32]: one for all shapes is @initializer.ramp<s: Shape>(%key: ", "beta=ramp"),
                        ("initializer.uniform: high is 0, and is to be 1 or more", "uniform{low=1, high=0}")]:
        runs.refused(words, "train", "model.baton", "--data", "data.npz", "--batch", 4, "--initializer", name, "-o", "x")


def main():
    runs = kit.Runs(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        random = numpy.random.default_rng(3)
        numpy.savez("data.npz", x=random.normal(size=(4, 1, 6, 6)).astype(numpy.float32), labels=random.integers(0, 3, 4))
        check_kinds(runs)
        check_choice(runs)
        check_factors(runs)
        check_axes(runs)
        check_refused(runs)
        os.chdir("/")
    runs.end()


main()
