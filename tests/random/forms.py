"""Every form of operator over two open dims, compiled, against the interpreter: forms.py BATON FIRST COUNT

One to three operators of a list stand in a function, behind a branch, in a function that is called or in a loop; the program is run by
executor vm for target cpu or c, or as an artifact with versions for some sizes, with sizes of 0, 1 and others, and must give what interp
gives without passes, or fail where that does. The program of a number is the same on every run; the first three that give something else
are printed.
"""
import random
import re
import sys

import kit

numpy = kit.import_numpy()

numpy.seterr(all="ignore")
# Inputs by name; D stands for their element type, K and Z for two scalars of it.
SHAPES = {"x": "(n, m)", "y": "(n, m)", "u": "(n)", "v": "(m)", "q": "(3, n, m)", "p": "(2, n, m)", "im": "(1, 2, n, m)"}
SIZES = [(0, 3), (1, 1), (1, 5), (5, 1), (2, 2), (7, 17), (17, 3), (3, 0), (33, 2), (8, 16)]
ROWS = 'argsort(%u)'
ANY = f"""
sort(%x, axis=0)
sort(%x, axis=1, is_ascend=False)
argsort(%x, axis=0)
topk(%x, k=1, axis=1)
topk(%x, k=0, axis=0, is_ascend=True)
cumsum(%x)
cumsum(%x, axis=1, exclusive=True)
cumprod(%x, axis=1)
sum(%x)
sum(%q, axis=[0, 2])
mean(%x, axis=[0])
max(%x, axis=[1])
min(%x, axis=[0], keepdims=True)
prod(%x, axis=[1])
argmax(%x, axis=0)
argmin(%x, axis=1, keepdims=True)
argwhere(greater(%x, K))
unique(%u, sorted=False, return_counts=True)
searchsorted(sort(%x, axis=1), %x, right=True)
transpose(%x, axes=[1, 0])
reverse(%x, axis=0)
concatenate((%x, %y), axis=1)
stack((%x, %y), axis=1)
tile(%x, reps=[2, 3])
repeat(%x, repeats=3, axis=0)
reshape(%x, newshape=[-1])
reshape(%q, newshape=[m, -1])
reshape(%q, newshape=[n*m, 3])
strided_slice(%x, begin=[0, -3], end=[1000, 1000], strides=[2, 1])
strided_slice(%x, begin=[-1, 0], end=[-1000, 1000], strides=[-1, 2])
take(%x, {ROWS}, axis=0)
gather(%x, axis=0, argsort(%x, axis=0))
gather_nd(%x, expand_dims({ROWS}, axis=0))
scatter_elements(%x, argsort(%x, axis=0), %y, axis=0, reduction="add")
scatter_nd(%x, expand_dims({ROWS}, axis=0), %y, mode="add")
trilu(%x, 1i64, upper=False)
where(greater(%x, %y), %x, %y)
one_hot(cast(%u, dtype="int32"), K, Z, depth=m)
sequence_mask(%x, cast(%v, dtype="int32"))
nn.dense(%x, %y)
nn.matmul(%x, %y, transpose_a=True)
einsum((%x, %y), equation="ij,ij->i")
einsum((%q, %y), equation="aij,ij->a")
einsum((%x, %u, %v), equation="ij,i,j->")
nn.batch_matmul(%q, %q)
add(%x, %v)
multiply(%x, expand_dims(%u, axis=1))
nn.pad(%x, pad_width=[[1, 0], [2, 3]])
nn.pad(%x, pad_width=[[1, 2], [0, 0]], pad_mode="edge")
broadcast_to(expand_dims(%u, axis=1), shape=[n, m])
full(K, shape=[n, 2, m])
arange(0i64, take(shape_of(%x, dtype="int64"), 0i64), 1i64, dtype="int64")
meshgrid((%u, %v))
split(%q, indices_or_sections=3, axis=0)
split(concatenate((%x, %y, %x, %x), axis=1), indices_or_sections=2, axis=1)
collapse_sum_to(%x, shape=[1, m])
any(greater(%x, K), axis=[0])
cast(%x, dtype="int16")
adv_index((%x, {ROWS}))
dyn.tile(%x, const[(2,), int64]{{1, 2}})
dyn.strided_slice(%x, const[(2,), int64]{{0, 0}}, const[(2,), int64]{{2, 1}}, const[(2,), int64]{{1, 1}})
dyn.broadcast_to(%v, shape_of(%q, dtype="int64"))
dyn.nn.pad(%x, const[(2, 2), int64]{{0, 1, 2, 0}})
sliding_window(nn.pad(%x, pad_width=[[0, 2], [0, 2]]), axis=0, window_shape=[2, 3], strides=[1, 2])
strided_set(%q, %p, const[(1,), int64]{{0}}, const[(1,), int64]{{3}}, const[(1,), int64]{{2}})
nn.max_pool2d(%im, pool_size=[2, 2], strides=[2, 1], padding=[1, 1])
nn.avg_pool2d(%im, pool_size=[3, 3], strides=[2, 2], padding=[1, 1], ceil_mode=True)
nn.conv2d(%im, ones(shape=[3, 2, 2, 2], dtype="D"), padding=[1, 1])
nn.conv2d_transpose(%im, ones(shape=[2, 3, 2, 2], dtype="D"), strides=[2, 2])
nn.upsampling(%im, scale_h=2f, scale_w=3f)
nn.depth_to_space(concatenate((%im, %im), axis=1), block_size=2)
nn.dilate(%x, strides=[2, 3])
layout_transform(%im, src_layout="NCHW", dst_layout="NHWC")
""".split("\n")[1:-1]
FLOATS = """
nn.softmax(%x, axis=0)
nn.log_softmax(%x)
logsumexp(%x, axis=[0])
variance(%x, axis=[1])
nn.layer_norm(%x, ones(shape=[m], dtype="D"), %v, axis=-1)
nn.l2_normalize(%x, axis=[0], eps=0.001)
nn.instance_norm(%q, %u, %u)
nn.lrn(%q)
isnan(sqrt(%x))
nn.prelu(%q, %u)
divide(%x, %y)
power(abs(%x), %y)
nn.batch_norm(%q, %u, %u, %u, abs(%u))
nn.cross_entropy_with_logits(nn.log_softmax(%x), %y)
image.resize2d(%im, size=[n, 5], method="nearest_neighbor")
dyn.image.resize2d(%im, shape_of(%y, dtype="int64"), method="cubic")
round(%x)
""".split("\n")[1:-1]
INTEGERS = """
floor_mod(%x, %y)
trunc_mod(%x, %y)
bitwise_xor(%x, %y)
left_shift(%x, abs(%y))
right_shift(%x, %y)
invert_permutation(argsort(%u))
""".split("\n")[1:-1]
SCALARS = {"float32": ("0.5f", "-2f"), "float64": ("0.5f64", "-2f64"), "int32": ("1", "0"), "int64": ("1i64", "0i64"), "int8": ("1i8", "0i8")}
BEFORE = ["{}", "{}", "{}", "nn.relu({})", "negative({})", "add({0}, {0})"]
TOLERANCE = {"float32": 2e-3, "float64": 1e-6}


class Program:
    def __init__(self, number):
        self.number, self.pick = number, random.Random(number)
        pick = self.pick
        self.dtype = pick.choice(["float32", "float32", "float32", "float64", "int32", "int64", "int8"])
        forms = ANY + (FLOATS * 2 if self.is_float() else INTEGERS)
        chosen = [self.filled(pick.choice(forms)) for _ in range(pick.choice([1, 1, 2, 3]))]
        self.names = [name for name in SHAPES if name == "x" or re.search(rf"%{name}\b", " ".join(chosen))]
        self.text = self.wrapped("".join(f"%r{i} = {form}; " for i, form in enumerate(chosen)) +
                                 "(" + "".join(f"%r{i}, " for i in range(len(chosen))) + ")")

    def is_float(self):
        return "float" in self.dtype

    def filled(self, form):
        before = {name: self.pick.choice(BEFORE).format(f"%{name}") for name in SHAPES}
        form = re.sub(r"%(\w+)", lambda found: before[found[1]], form)
        some, other = SCALARS[self.dtype]
        return re.sub(r"\bK\b", some, re.sub(r"\bZ\b", other, re.sub(r"\bD\b", self.dtype, form)))

    def wrapped(self, body):
        dims = f"<n: Dim{self.pick.choice(['', '', ' in 0..64', ' in 0..64 step 1'])}, m: Dim>"
        params = dims + "(" + ", ".join(f"%{name}: Tensor[{SHAPES[name]}, {self.dtype}]" for name in self.names)
        names = ", ".join(f"%{name}" for name in self.names)
        kind = self.pick.choice(["plain", "called", "branch", "loop"])
        if kind == "plain":
            return f"def @main{params}) {{ {body} }}\n"
        if kind == "called":
            return f"def @f{params}) {{ {body} }}\ndef @main{params}) {{ @f({names}) }}\n"
        if kind == "branch":
            other = body.replace("%x", "negative(%x)")
            return f"def @main{params}) {{ %c = greater(take(shape_of(%x), 0), 2); if (%c) {{ {body} }} else {{ {other} }} }}\n"
        again = names.replace("%x", "add(%x, %x)", 1)
        return (f"def @loop{params}, %i: int32) {{ if (less(%i, 2)) {{ @loop({again}, %i + 1) }} else {{ {body} }} }}\n"
                f"def @main{params}) {{ @loop({names}, 0) }}\n")

    def inputs(self, n, m):
        draw = numpy.random.default_rng([self.number, n, m])
        shapes = {name: eval(SHAPES[name].replace(")", ",)"), {"n": n, "m": m}) for name in self.names}
        return {name: (draw.uniform(-3, 3, shape) if self.is_float() else draw.integers(-5, 6, shape)).astype(self.dtype)
                for name, shape in shapes.items()}


def differs(got, wanted, dtype):
    if isinstance(got, str) or isinstance(wanted, str):
        return None if isinstance(got, str) and isinstance(wanted, str) and not got.startswith("exit") else f"{got}\nis to be\n{wanted}"
    if list(got) != list(wanted):
        return f"results {list(got)}, not {list(wanted)}"
    for name, value in wanted.items():
        few = TOLERANCE.get(dtype, 0) if value.dtype.kind == "f" else 0
        if got[name].dtype != value.dtype or got[name].shape != value.shape or \
                not numpy.allclose(got[name], value, rtol=few, atol=few, equal_nan=value.dtype.kind == "f"):
            return f"{name} is\n{got[name]}\nand is to be\n{value}"
    return None


class Check(kit.Check):
    def __init__(self):
        super().__init__()
        self.nuntyped = 0

    def check(self, number):
        program = Program(number)
        self.write('#[version = "baton 0.1"]\n\n' + program.text)
        if self.run("opt", "program.baton").returncode:
            self.nuntyped += 1
            return
        fault = self.fault_of(program)
        if fault:
            self.fault(number, fault)

    def fault_of(self, program):
        """What is wrong with a program that is typed; None: nothing."""
        pick = program.pick
        isa, threads = self.isa_here(pick.choice(["portable", "avx2", "avx512"])), pick.choice([1, 2, 3])
        target = pick.choice([f"cpu{{threads={threads}}}", f"cpu{{threads={threads}}}", "c"])
        hot = pick.choice([[], [], ["--hot", "n=3"], ["--hot", "n=2..8"], ["--hot", "m=4 n=3.."], ["--hot", "m=1,2"]])
        words = ["program.baton", "--no-specialise", "--executor", "vm", "--target", target]
        if pick.random() < 0.5:
            done = self.run("compile", "program.baton", "-o", "program.bta", "--target", target, *hot, BATON_CPU=isa)
            words = ["program.bta"]
            if done.returncode:
                return None if hot and "hot=" in done.stderr else f"compile {hot}: {done.stderr}"
        for n, m in [(3, 4)] + pick.sample(SIZES, 3):
            inputs = kit.save(program.inputs(n, m))
            wanted = self.results("program.baton", "--passes=", "--no-specialise", *inputs, BATON_CPU="portable")
            fault = differs(self.results(*words, *inputs, BATON_CPU=isa), wanted, program.dtype)
            if fault:
                return f"n={n} m={m}, {isa}, {target} {hot}: {fault}"
        return None


check = Check()
check.check_in_folder()
print(f"{len(check.numbers)} programs, {check.nuntyped} have no type, {check.nfault} give something else")
sys.exit(check.nfault > 0 or 4 * check.nuntyped > len(check.numbers))
