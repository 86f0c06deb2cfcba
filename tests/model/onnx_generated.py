"""Generated ONNX models: onnx_generated.py DRIVER [NAME]...

What the onnx package's suite has no case of: forms of operators that real models use, symbolic dims that a run decides, several
operators together. ONNX Runtime says what is right, or the standard's own evaluator where the case says so, within rtol 1e-4 and atol
1e-5; shapes and element types exactly.
"""
import fnmatch
import os
import sys

import harness

harness.need_packages("numpy", "onnx", "onnxruntime")
import numpy
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

RTOL, ATOL = 1e-4, 1e-5
CASES, BY_STANDARD = {}, set()
APART = {}  # case -> another model that gives the same, and its inputs: what ONNX Runtime runs in its place


def case(name, make, *args, **kwargs):
    CASES[name] = (make, args, kwargs)


def standard_case(name, make, *args, **kwargs):
    """A case in which ONNX Runtime does not do what the standard says."""
    case(name, make, *args, **kwargs)
    BY_STANDARD.add(name)


def random_of(name):
    return numpy.random.default_rng(list(name.encode()))


def value(name, dtype, shape):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype)), shape)


def model_of(nodes, inputs, outputs, constants=None, opset=17, domains=()):
    """inputs and outputs: ValueInfo; constants: name -> array."""
    graph = helper.make_graph(nodes, "generated", inputs, outputs,
                              [numpy_helper.from_array(a, k) for k, a in (constants or {}).items()])
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(*d) for d in domains]
    return helper.make_model(graph, ir_version=8, opset_imports=imports)


# ---- recurrent layers ----

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def recurrent(name, op, steps=5, lines=3, symbolic=(), lengths=None, states=True, bias=True, peephole=False, **attrs):
    """symbolic: names of the data's dims that only a run gives."""
    random, size, hidden = random_of(name), 4, 6
    count, gates = 2 if attrs.get("direction") == "bidirectional" else 1, GATES[op]
    shape = [steps, lines, size]
    declared = [s if s in symbolic else n for s, n in zip(["steps", "lines", "size"], shape)]
    constants = {"w": random.normal(0, 0.5, [count, gates * hidden, size]).astype(numpy.float32),
                 "r": random.normal(0, 0.5, [count, gates * hidden, hidden]).astype(numpy.float32)}
    names = ["x", "w", "r", "", "", "", "", ""]
    if bias:
        names[3] = "b"
        constants["b"] = random.normal(0, 0.3, [count, 2 * gates * hidden]).astype(numpy.float32)
    if lengths:
        names[4] = "lengths"
        constants["lengths"] = numpy.array(lengths, numpy.int32)
    feeds = {"x": random.normal(0, 1, shape).astype(numpy.float32)}
    inputs = [value("x", "float32", declared)]
    if states:
        for i, state in enumerate(["h", "c"][:2 if op == "LSTM" else 1]):
            names[5 + i] = state
            feeds[state] = random.normal(0, 1, [count, lines, hidden]).astype(numpy.float32)
            inputs.append(value(state, "float32", [count, declared[1], hidden]))
    if peephole:
        names[7] = "p"
        constants["p"] = random.normal(0, 0.3, [count, 3 * hidden]).astype(numpy.float32)
    while not names[-1]:
        names.pop()
    outputs = ["y", "yh", "yc"][:3 if op == "LSTM" else 2]
    node = helper.make_node(op, names, outputs, hidden_size=hidden, **attrs)
    infos = [helper.make_empty_tensor_value_info(o) for o in outputs]
    return model_of([node], inputs, infos, constants), feeds


for op in GATES:
    case(f"{op}_plain", recurrent, op, states=False, bias=False)
    case(f"{op}_reverse", recurrent, op, direction="reverse")
    case(f"{op}_both", recurrent, op, direction="bidirectional")
    case(f"{op}_both_lengths", recurrent, op, direction="bidirectional", lengths=[5, 2, 3])
    case(f"{op}_reverse_lengths_zero", recurrent, op, direction="reverse", lengths=[5, 1, 4], states=False)
    case(f"{op}_symbolic_lines", recurrent, op, symbolic=["lines"], states=False)
    case(f"{op}_symbolic_steps", recurrent, op, symbolic=["steps", "lines"], direction="bidirectional")
    case(f"{op}_symbolic_lengths", recurrent, op, symbolic=["steps", "lines"], direction="reverse", lengths=[5, 2, 3])
    case(f"{op}_long", recurrent, op, steps=300, lines=1)
    case(f"{op}_clip", recurrent, op, clip=0.25)
case("RNN_relu", recurrent, "RNN", activations=["Relu"])
case("RNN_numbers", recurrent, "RNN", direction="bidirectional", activations=["LeakyRelu", "Affine"],
     activation_alpha=[0.2, 0.5], activation_beta=[0.1])
case("RNN_scaled", recurrent, "RNN", activations=["ScaledTanh"], activation_alpha=[1.5], activation_beta=[0.7])
case("RNN_softsign", recurrent, "RNN", activations=["Softsign"])
case("RNN_softplus", recurrent, "RNN", activations=["Softplus"])
case("RNN_elu", recurrent, "RNN", activations=["Elu"], activation_alpha=[0.8])
case("RNN_thresholded", recurrent, "RNN", activations=["ThresholdedRelu"], activation_alpha=[0.3])
case("GRU_linear", recurrent, "GRU", linear_before_reset=1)
case("GRU_linear_both", recurrent, "GRU", linear_before_reset=1, direction="bidirectional", lengths=[5, 2, 3])
case("GRU_linear_no_bias", recurrent, "GRU", linear_before_reset=1, bias=False)
case("GRU_hard", recurrent, "GRU", activations=["HardSigmoid", "Softsign"])
case("LSTM_peephole", recurrent, "LSTM", peephole=True)
case("LSTM_peephole_both", recurrent, "LSTM", peephole=True, direction="bidirectional", lengths=[4, 5, 1])
case("LSTM_coupled", recurrent, "LSTM", input_forget=1)
case("LSTM_hard", recurrent, "LSTM", activations=["HardSigmoid", "Tanh", "Relu"])


# ---- loops, as functions that call themselves ----

def scalar_node(name, number, dtype):
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(numpy.array(number, dtype), name))


def counted(name, trips, runs, begins=None, goes_on="true", least=0.0):
    """A sum that grows, collected; trips: "m", an input; "size", that of the data; "less", five less; None.
    goes_on: what the body says: "same" as before, "true", "false", or "small", while the sum is."""
    conditions = {"same": [helper.make_node("Identity", ["before"], ["after"])], "true": [scalar_node("after", True, bool)],
                  "false": [scalar_node("after", False, bool)],
                  "small": [helper.make_node("ReduceSum", ["next"], ["size"], keepdims=0), scalar_node("most", 9.0, "float32"),
                            helper.make_node("Less", ["size", "most"], ["after"])]}
    body = helper.make_graph(
        [helper.make_node("Cast", ["i"], ["number"], to=1), helper.make_node("Add", ["s", "number"], ["t"]),
         helper.make_node("Add", ["t", "step"], ["next"]), helper.make_node("ReduceSum", ["next"], ["row"], keepdims=0),
         *conditions[goes_on]], "body",
        [value("i", "int64", []), value("before", "bool", []), value("s", "float32", [2])],
        [helper.make_empty_tensor_value_info(o) for o in ["after", "next", "next", "row"]])
    x = random_of(name).uniform(least, 1, (runs, 2)).astype(numpy.float32)
    feeds, inputs, nodes = {"x": x}, [value("x", "float32", ["n", 2])], [helper.make_node("ReduceMax", ["x"], ["step"], axes=[0], keepdims=0)]
    given = {"m": "m", "size": "count", "less": "fewer", None: ""}[trips]
    if trips == "m":
        feeds["m"] = numpy.array(runs)
        inputs.append(value("m", "int64", []))
    nodes += [helper.make_node("Shape", ["x"], ["shape"]), helper.make_node("Gather", ["shape", "zero"], ["count"]),
              helper.make_node("Sub", ["count", "five"], ["fewer"])]
    if begins is not None:
        feeds["c"] = numpy.array(begins)
        inputs.append(value("c", "bool", []))
    nodes.append(helper.make_node("Loop", [given, "" if begins is None else "c", "start"], ["last", "states", "sums"], body=body))
    return model_of(nodes, inputs, [helper.make_empty_tensor_value_info(o) for o in ["last", "states", "sums"]],
                    {"start": numpy.zeros(2, numpy.float32), "zero": numpy.array(0), "five": numpy.array(5)}), feeds


for trips in ["m", "size", "less"]:
    for runs in [1, 7, 80]:
        case(f"Loop_{trips}_{runs}", counted, trips, runs)
    case(f"Loop_{trips}_while_small", counted, trips, 20, begins=True, goes_on="small", least=0.5)
for begins in [True, False]:
    case(f"Loop_begins_{begins}", counted, "m", 70, begins=begins)
    case(f"Loop_begins_{begins}_and_stays", counted, "m", 7, begins=begins, goes_on="same")
    case(f"Loop_begins_{begins}_once", counted, "m", 7, begins=begins, goes_on="false")
    case(f"Loop_begins_{begins}_without_count", counted, None, 7, begins=begins, goes_on="small", least=0.5)


def scanned(name, steps, declared, **attrs):
    """Differences of two sequences, summed."""
    random = random_of(name)
    body = helper.make_graph(
        [helper.make_node("Sub", ["p", "q"], ["d"]), helper.make_node("Add", ["s", "d"], ["t"]),
         helper.make_node("MatMul", ["t", "w"], ["row"])], "body",
        [value("s", "float32", [3]), value("p", "float32", [3]), value("q", "float32", [3])],
        [helper.make_empty_tensor_value_info(o) for o in ["t", "row"]])
    shape = lambda axis, n: [n, 3] if axis == 0 else [3, n]
    axes = attrs.get("scan_input_axes", [0, 0])
    feeds = {k: random.normal(0, 1, shape(a, steps)).astype(numpy.float32) for k, a in zip("xy", axes)}
    inputs = [value(k, "float32", shape(a, declared)) for k, a in zip("xy", axes)]
    node = helper.make_node("Scan", ["start", "x", "y"], ["last", "rows"], body=body, num_scan_inputs=2, **attrs)
    return model_of([node], inputs, [helper.make_empty_tensor_value_info(o) for o in ["last", "rows"]],
                    {"start": numpy.zeros(3, numpy.float32), "w": random.normal(0, 1, (3, 5)).astype(numpy.float32)}), feeds


for steps in [1, 5, 90]:
    for declared in ["n", steps]:
        case(f"Scan_{steps}_of_{declared}", scanned, steps, declared)
        case(f"Scan_{steps}_of_{declared}_backward", scanned, steps, declared, scan_input_directions=[0, 1], scan_output_directions=[1])
        case(f"Scan_{steps}_of_{declared}_along_1", scanned, steps, declared, scan_input_axes=[1, 0], scan_output_axes=[1])


# ---- positions and boxes ----

def one_node(name, op, feeds, outputs=1, constants=None, opset=17, symbolic=(), domains=(), **attrs):
    """One node: inputs are feeds, in order, then constants; symbolic: inputs whose dims only a run gives."""
    inputs = [value(k, a.dtype, [f"{k}{i}" for i in range(a.ndim)] if k in symbolic else a.shape) for k, a in feeds.items()]
    names = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, list(feeds) + list(constants or {}), names, **attrs)
    return model_of([node], inputs, [helper.make_empty_tensor_value_info(o) for o in names], constants, opset, domains), feeds


def grid_sample(name, mode, padding, aligns, symbolic=(), sizes=(5, 7), opset=16):
    random = random_of(name)
    feeds = {"x": random.normal(0, 1, (2, 3, *sizes)).astype(numpy.float32),
             "grid": random.uniform(-1.6, 1.6, (2, *[4] * len(sizes), len(sizes))).astype(numpy.float32)}
    return one_node(name, "GridSample", feeds, symbolic=symbolic, opset=opset, mode=mode, padding_mode=padding, align_corners=aligns)


def suppression(name, count, most, symbolic=(), **attrs):
    random = random_of(name)
    corner = random.uniform(0, 0.7, (2, count, 2))
    feeds = {"boxes": numpy.concatenate([corner, corner + random.uniform(0.1, 0.4, (2, count, 2))], 2).astype(numpy.float32),
             "scores": random.uniform(0, 1, (2, 3, count)).astype(numpy.float32)}
    constants = {"most": numpy.array([most], numpy.int64), "limit": numpy.array([0.4], numpy.float32),
                 "least": numpy.array([0.2], numpy.float32)}
    return one_node(name, "NonMaxSuppression", feeds, constants=constants, symbolic=symbolic, **attrs)


def chosen_and_all(name):
    """What a run finds the size of, beside what it is chosen from."""
    nodes = [helper.make_node("Greater", ["x", "zero"], ["chosen"]), helper.make_node("Compress", ["x", "chosen"], ["some"], axis=0),
             helper.make_node("Concat", ["some", "x"], ["y"], axis=0)]
    feeds = {"x": numpy.array([1, -2, 3], numpy.float32)}
    return model_of(nodes, [value("x", feeds["x"].dtype, ["n"])], [helper.make_empty_tensor_value_info("y")],
                    {"zero": numpy.array(0, numpy.float32)}), feeds


def align(name, symbolic=(), samples=2, fixed_boxes=False, **attrs):
    random = random_of(name)
    corner = random.uniform(-4, 20, (6, 2))
    feeds = {"x": random.normal(0, 1, (2, 3, 11, 13)).astype(numpy.float32),
             "boxes": numpy.concatenate([corner, corner + random.uniform(0, 20, (6, 2))], 1).astype(numpy.float32),
             "image": random.integers(0, 2, 6)}
    constants = {k: feeds.pop(k) for k in ["boxes", "image"]} if fixed_boxes else None
    return one_node(name, "RoiAlign", feeds, constants=constants, symbolic=symbolic, opset=16, sampling_ratio=samples, **attrs)


for padding in ["zeros", "border", "reflection"]:
    for aligns in [0, 1]:
        for mode in ["bilinear", "nearest", "bicubic"]:
            case(f"GridSample_{mode}_{padding}_{aligns}", grid_sample, mode, padding, aligns)
        case(f"GridSample_3d_{padding}_{aligns}", grid_sample, "linear", padding, aligns, sizes=(3, 4, 5), opset=20)
case("GridSample_symbolic", grid_sample, "bilinear", "zeros", 0, symbolic=["x"])
case("NonMaxSuppression_many", suppression, 40, 100)
case("NonMaxSuppression_few", suppression, 90, 5)
case("NonMaxSuppression_symbolic", suppression, 30, 70, symbolic=["boxes", "scores"])
case("NonMaxSuppression_none", suppression, 10, 0)
case("NonMaxSuppression_centred", suppression, 30, 10, center_point_box=1)
case("Compress_beside_all", chosen_and_all)
case("RoiAlign_avg", align, output_height=3, output_width=2, spatial_scale=0.5)
case("RoiAlign_max", align, output_height=2, output_width=3, mode="max")
case("RoiAlign_symbolic", align, symbolic=["x", "boxes", "image"], output_height=3, output_width=2,
     coordinate_transformation_mode="output_half_pixel")
case("RoiAlign_by_size", align, samples=0, output_height=3, output_width=2)
case("RoiAlign_by_size_of_constants", align, samples=0, fixed_boxes=True, output_height=2, output_width=3, spatial_scale=0.5,
     coordinate_transformation_mode="output_half_pixel")
case("RoiAlign_by_size_max", align, samples=0, fixed_boxes=True, output_height=2, output_width=2, mode="max",
     coordinate_transformation_mode="output_half_pixel")
case("RoiAlign_by_size_symbolic", align, symbolic=["x", "boxes", "image"], samples=0, output_height=3, output_width=2)


# ---- small results ----

def magnified(name, op):
    """What far negative numbers give, in units of its size."""
    feeds = {"x": numpy.array([-8, -12, -16, -20], numpy.float32)}
    unit = numpy.exp(feeds["x"])
    nodes = [helper.make_node(op, ["x"], ["small"]), helper.make_node("Div", ["small", "unit"], ["y"])]
    return model_of(nodes, [value("x", numpy.float32, [4])], [helper.make_empty_tensor_value_info("y")], {"unit": unit}, 18), feeds


case("Small_softplus", magnified, "Softplus")
case("Small_mish", magnified, "Mish")


# ---- windows over axes whose size only a run gives ----

def windows(name, op, size, kernel, opset=18, **attrs):
    """A weight for convolutions; a size that is not fixed."""
    random = random_of(name)
    weight = {} if op.endswith("Pool") else {"w": random.normal(0, 1, (2, 2, kernel, kernel)).astype(numpy.float32)}
    feeds = {"x": random.normal(0, 1, (2, 2, size, size + 1)).astype(numpy.float32)}
    return one_node(name, op, feeds, constants=weight, opset=opset, symbolic=["x"], **attrs, **({} if weight else {"kernel_shape": [kernel] * 2}))


for size in [1, 2, 5, 6]:
    for where in ["SAME_UPPER", "SAME_LOWER"]:
        for kernel in [1, 2, 3, 4]:
            case(f"Windows_{where}_{size}_{kernel}", windows, "Conv", size, kernel, auto_pad=where)
        case(f"Windows_{where}_{size}_one_by_strides", windows, "Conv", size, 1, auto_pad=where, strides=[3, 2])
        for kernel, stride in [(2, 2), (3, 2), (3, 1), (4, 3)]:
            case(f"Windows_transposed_{where}_{size}_{kernel}_{stride}", windows, "ConvTranspose", size, kernel, auto_pad=where, strides=[stride] * 2)
    for op in ["MaxPool", "AveragePool", "LpPool"]:
        case(f"Windows_{op}_{size}_halves", windows, op, size, 2, auto_pad="SAME_UPPER", strides=[2, 2])
    for op in ["MaxPool", "AveragePool"]:
        for kernel, stride in [(2, 2), (3, 3), (4, 4)]:
            case(f"Windows_{op}_{size}_{kernel}_{stride}_up", windows, op, size, kernel, strides=[stride] * 2, ceil_mode=1)


# ---- sequences ----

def sequences(name, op):
    """Cut, changed, mapped and joined again."""
    body = helper.make_graph([helper.make_node("Mul", ["e", "k"], ["f"])], "body",
                             [value("e", "float32", None), value("k", "float32", None)], [value("f", "float32", None)])
    make = {"split": [helper.make_node("SplitToSequence", ["x", "three"], ["s"], axis=1)],
            "sizes": [helper.make_node("SplitToSequence", ["x", "sizes"], ["s"], axis=1)],
            "ones": [helper.make_node("SplitToSequence", ["x"], ["s"], axis=1, keepdims=0)]}[op]
    nodes = make + [
        helper.make_node("SequenceAt", ["s", "last"], ["e"]),
        helper.make_node("SequenceInsert", ["s", "e", "first"], ["t"]),
        helper.make_node("SequenceErase", ["t", "last"], ["u"]),
        helper.make_node("SequenceMap", ["u", "k"], ["v"], body=body),
        helper.make_node("SequenceLength", ["v"], ["length"]),
        helper.make_node("ConcatFromSequence", ["v"], ["y"], axis=0, new_axis=int(op == "ones"))]
    if op == "split":  # parts of different sizes join along their axis
        nodes[-1].attribute[0].i = 1
    feeds = {"x": random_of(name).normal(0, 1, (2, 7)).astype(numpy.float32), "k": numpy.array(2, numpy.float32)}
    constants = {"three": numpy.array(3), "sizes": numpy.array([2, 2, 3]), "last": numpy.array(-1), "first": numpy.array(0)}
    if op == "sizes":
        nodes[-1].attribute[0].i = -1
    return model_of(nodes, [value(k, a.dtype, a.shape) for k, a in feeds.items()],
                    [helper.make_empty_tensor_value_info(o) for o in ["y", "length"]], constants), feeds


for op in ["split", "sizes", "ones"]:
    case(f"sequences_{op}", sequences, op)


# ---- branches that types decide ----

def branch_by_size(name, shape, data):
    """The branch that is not taken would be an error: it drops an axis that is not of size 1."""
    yes = helper.make_graph([helper.make_node("Squeeze", ["x", "one"], ["a"])], "yes", [], [helper.make_empty_tensor_value_info("a")])
    no = helper.make_graph([helper.make_node("Identity", ["x"], ["b"])], "no", [], [helper.make_empty_tensor_value_info("b")])
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "one"], ["d"]),
             helper.make_node("Equal", ["d", "one"], ["c"]), helper.make_node("If", ["c"], ["y"], then_branch=yes, else_branch=no)]
    return model_of(nodes, [value("x", "float32", shape)], [helper.make_empty_tensor_value_info("y")],
                    {"one": numpy.array([1])}), {"x": random_of(name).normal(0, 1, data).astype(numpy.float32)}


def branch_of_unknown(name, taken):
    """One branch has as many lines as the data, the other as many as the data decides."""
    same = helper.make_graph([helper.make_node("Identity", ["x"], ["a"])], "same", [], [helper.make_empty_tensor_value_info("a")])
    some = helper.make_graph([helper.make_node("Greater", ["x", "zero"], ["g"]), helper.make_node("Gather", ["g", "first"], ["h"], axis=1),
                              helper.make_node("Compress", ["x", "h"], ["b"], axis=0)], "some", [],
                             [helper.make_empty_tensor_value_info("b")])
    node = helper.make_node("If", ["c"], ["y"], then_branch=same, else_branch=some)
    return model_of([node], [value("c", "bool", []), value("x", "float32", ["n", 4])], [helper.make_empty_tensor_value_info("y")],
                    {"zero": numpy.array(0, numpy.float32), "first": numpy.array(0)}), \
        {"c": numpy.array(taken), "x": random_of(name).normal(0, 1, (9, 4)).astype(numpy.float32)}


for taken in [True, False]:
    case(f"If_of_unknown_{taken}", branch_of_unknown, taken)
standard_case("If_by_size", branch_by_size, [2, 3], [2, 3])
standard_case("If_by_size_of_one_axis", branch_by_size, ["n", 3], [2, 3])
standard_case("If_by_size_1_of_one_axis", branch_by_size, ["n", 1], [2, 1])


# ---- slices and ranges that end where the size of another value says ----

def cropped(name, first, size, like, less=0):
    """Elements of both axes from `first` up to the size of another value, numbered."""
    nodes = [helper.make_node("Shape", ["like"], ["shape"]), helper.make_node("Sub", ["shape", "less"], ["ends"]),
             helper.make_node("Slice", ["x", "first", "ends"], ["y0"]), helper.make_node("Gather", ["ends", "one"], ["end"]),
             helper.make_node("Range", ["begin", "end", "one"], ["y1"])]
    feeds = {k: random_of(name).normal(0, 1, s).astype(numpy.float32) for k, s in [("x", size), ("like", like)]}
    inputs = [value("x", "float32", ["h", "w"]), value("like", "float32", ["p", "q"])]
    constants = {"first": numpy.array(first), "less": numpy.array([less, less]), "one": numpy.array(1), "begin": numpy.array(first[1])}
    return model_of(nodes, inputs, [helper.make_empty_tensor_value_info(o) for o in ["y0", "y1"]], constants), feeds


case("Crop_smaller", cropped, [0, 0], (7, 9), (4, 5))
case("Crop_larger", cropped, [0, 0], (3, 5), (4, 9))
case("Crop_from", cropped, [2, 1], (7, 9), (5, 9))
case("Crop_from_beyond", cropped, [2, 6], (7, 9), (5, 4))
case("Crop_of_none", cropped, [0, 0], (0, 9), (4, 0))
case("Crop_of_one", cropped, [0, 0], (1, 1), (1, 1))
case("Ends_before_the_begin", cropped, [0, 1], (7, 9), (5, 9), less=2)


# ---- values at the edge of what an operator says ----

def resized(name, dtype, sizes, mode, content=None):
    """content: what every element is; None: different numbers."""
    x = random_of(name).integers(0, 100, (1, 1, 4, 5)) if content is None else numpy.full((1, 1, 4, 5), content)
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y0"], mode=mode)
    return model_of([node], [value("x", dtype, x.shape)], [helper.make_empty_tensor_value_info("y0")],
                    {"sizes": numpy.array([1, 1, *sizes])}), {"x": x.astype(dtype)}


def transposed_conv(name, stride, where):
    """A weight that is not a number, at a place of the window."""
    random = random_of(name)
    weight = random.normal(0, 1, (4, 3, 3, 3)).astype(numpy.float32)
    weight[:, :, where, where] = numpy.nan
    return one_node(name, "ConvTranspose", {"x": random.normal(0, 1, (1, 4, 5, 6)).astype(numpy.float32)},
                    constants={"w": weight}, strides=[stride, stride])


def resized_open(name, scales=None, sizes=None, follows=False, shape=(1, 2, 4, 5), **attrs):
    """An axis whose size only a run gives. follows: the sizes are twice those of the data."""
    x = random_of(name).normal(0, 1, shape).astype(numpy.float32)
    nodes, constants = [], {}
    if follows:
        nodes = [helper.make_node("Shape", ["x"], ["shape"]), helper.make_node("Mul", ["shape", "times"], ["sizes"])]
        constants["times"] = numpy.array([1, 1, 2, 3])
    elif sizes:
        constants["sizes"] = numpy.array(sizes)
    else:
        constants["scales"] = numpy.array(scales, numpy.float32)
    nodes.append(helper.make_node("Resize", ["x", "", "scales" if scales else "", "" if scales else "sizes"], ["y"], **attrs))
    return model_of(nodes, [value("x", "float32", ["n", 2, "h", "w"])], [helper.make_empty_tensor_value_info("y")], constants), {"x": x}


for coordinates in ["half_pixel", "asymmetric", "pytorch_half_pixel", "align_corners"]:
    for scales in [[1, 1, 2, 3], [1, 1, 0.5, 1.5]]:
        by = standard_case if (coordinates, scales[3]) == ("align_corners", 1.5) else case
        by(f"Resize_open_{coordinates}_{scales[3]}", resized_open, scales, mode="linear", coordinate_transformation_mode=coordinates)
    case(f"Resize_open_{coordinates}_sizes", resized_open, sizes=[1, 2, 7, 3], mode="linear", coordinate_transformation_mode=coordinates)
for rounding in ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"]:
    case(f"Resize_open_{rounding}", resized_open, [1, 1, 1.5, 2], mode="nearest", nearest_mode=rounding)
case("Resize_open_follows", resized_open, follows=True, mode="linear")
case("Resize_open_to_one", resized_open, [1, 1, 0.25, 2], mode="linear", coordinate_transformation_mode="pytorch_half_pixel")
for dtype in ["uint8", "int8", "int32"]:
    standard_case(f"Resize_{dtype}_constant", resized, dtype, (7, 9), "linear", content=100)
    standard_case(f"Resize_{dtype}_linear", resized, dtype, (3, 11), "linear")
standard_case("Resize_uint8_cubic_constant", resized, "uint8", (7, 9), "cubic", content=100)
ROWS = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
case("TopK_none", one_node, "TopK", {"x": ROWS}, constants={"k": numpy.array([0])}, outputs=2)
case("TopK_none_at_run", one_node, "TopK", {"x": ROWS, "k": numpy.array([0])}, outputs=2)
case("TopK_some_at_run", one_node, "TopK", {"x": ROWS, "k": numpy.array([2])}, outputs=2, axis=1)
case("Gemm_beta_0", one_node, "Gemm", {"a": ROWS, "b": ROWS.T.copy(), "c": numpy.full((2, 2), numpy.nan, numpy.float32)}, beta=0.0)
case("ArgMin_no_result", one_node, "ArgMin", {"x": numpy.zeros((0, 2), numpy.float32)}, axis=1)
for stride in [1, 2]:
    case(f"ConvTranspose_nan_{stride}", transposed_conv, stride, 0)


# ---- complex numbers, which are moved ----

for kind in ["complex64", "complex128"]:  # ONNX Runtime has neither
    PAIRS = ((numpy.arange(6) - 2.5) * (1 - 2j)).reshape(2, 3).astype(kind)
    standard_case(f"Concat_{kind}", one_node, "Concat", {"x": PAIRS}, constants={"more": PAIRS[::-1].copy()}, axis=0)
    standard_case(f"Transpose_{kind}", one_node, "Transpose", {"x": PAIRS}, perm=[1, 0])
    standard_case(f"Gather_{kind}", one_node, "Gather", {"x": PAIRS}, constants={"at": numpy.array([2, -3, 2])}, axis=1)
    standard_case(f"Pad_{kind}", one_node, "Pad", {"x": PAIRS}, constants={"pads": numpy.array([0, 1, 2, 0])})
    standard_case(f"Where_{kind}", one_node, "Where", {"which": numpy.array([True, False, True]), "x": PAIRS, "y": PAIRS[::-1].copy()})


# ---- operators that the standard had on trial ----

IMAGE = numpy.arange(60, dtype=numpy.float32).reshape(1, 3, 4, 5) - 30
case("ImageScaler", one_node, "ImageScaler", {"x": IMAGE}, opset=7, scale=0.5, bias=[1.0, -2.0, 3.0])
case("Affine", one_node, "Affine", {"x": IMAGE}, opset=7, alpha=2.0, beta=0.25)
case("Crop_border", one_node, "Crop", {"x": IMAGE}, opset=7, border=[1, 0, 2, 1])
case("Crop_size", one_node, "Crop", {"x": IMAGE}, opset=7, border=[2, 1, 0, 0], scale=[3, 2])


# ---- operators that ONNX Runtime has beyond the standard ----

def fixed(array):
    """An input that is a constant of the model."""
    return ("fixed", array)


def beyond(name, op, make, outputs=1, domain="com.microsoft", symbolic=(), **attrs):
    """One node. make(random): its inputs in order, each an array, fixed(array) or None, which is left out."""
    given = make(random_of(name))
    while given[-1] is None:
        given.pop()
    names = ["" if x is None else f"x{i}" for i, x in enumerate(given)]
    feeds = {k: x for k, x in zip(names, given) if isinstance(x, numpy.ndarray)}
    constants = {k: x[1] for k, x in zip(names, given) if isinstance(x, tuple)}
    inputs = [value(k, a.dtype, [f"{k}{i}" for i in range(a.ndim)] if k in symbolic else a.shape) for k, a in feeds.items()]
    results = [f"y{i}" if outputs is None or i in outputs else "" for i in range(max(outputs) + 1)] if isinstance(outputs, list) \
        else [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, domain=domain, **attrs)
    return model_of([node], inputs, [helper.make_empty_tensor_value_info(o) for o in results if o], constants,
                    domains=[("com.microsoft", 1)] if domain else []), feeds


def real(random, *shape, scale=1.0):
    return random.normal(0, scale, shape).astype(numpy.float32)


def scale_of(number):
    return fixed(numpy.array(number, numpy.float32))


def numbers(random, dtype, *shape):
    """Quantized numbers, and a zero point of theirs."""
    low, high = numpy.iinfo(dtype).min, numpy.iinfo(dtype).max
    return random.integers(low, high + 1, shape).astype(dtype), fixed(numpy.array((low + high) // 2 + 3, dtype))


def quantized_inputs(random, dtype, shapes, result=0.03):
    """Data with scale and zero point for each shape, then those of the result."""
    given = []
    for i, shape in enumerate(shapes):
        x, zero = numbers(random, dtype, *shape)
        given += [x, scale_of(0.02 + 0.01 * i), zero]
    return given + [scale_of(result), zero]


def concat_inputs(random):
    given = quantized_inputs(random, numpy.uint8, [(2, 3), (2, 4), (2, 1)])
    return given[-2:] + given[:-2]


def where_inputs(random):
    return [random.integers(0, 2, (2, 5)).astype(bool)] + quantized_inputs(random, numpy.uint8, [(2, 5), (2, 5)])


def gemm_inputs(random, with_result, by_column):
    a, b = random.integers(0, 256, (3, 8)).astype(numpy.uint8), random.integers(-128, 128, (5, 8)).astype(numpy.int8)
    b_scale = fixed(random.uniform(0.01, 0.03, 5).astype(numpy.float32)) if by_column else scale_of(0.02)
    b_zero = fixed(numpy.zeros(5, numpy.int8)) if by_column else fixed(numpy.array(3, numpy.int8))
    result = [scale_of(0.5), fixed(numpy.array(100, numpy.uint8))] if with_result else [None, None]
    return [a, scale_of(0.05), fixed(numpy.array(120, numpy.uint8)), fixed(b), b_scale, b_zero,
            fixed(random.integers(-500, 500, 5).astype(numpy.int32))] + result


def product_inputs(random):
    a, b = random.integers(0, 256, (3, 8)).astype(numpy.uint8), random.integers(0, 256, (8, 5)).astype(numpy.uint8)
    return [a, fixed(b), scale_of(0.05), fixed(random.uniform(0.01, 0.03, 5).astype(numpy.float32)),
            fixed(numpy.array(120, numpy.uint8)), fixed(numpy.array(130, numpy.uint8)), fixed(real(random, 5))]


def vector_product_inputs(random, left, right, is_quantized):
    """Matrices, or vectors, of codes."""
    a, a_zero = numbers(random, numpy.uint8, *left)
    b, b_zero = numbers(random, numpy.uint8, *right)
    y_zero = fixed(numpy.array(100, numpy.uint8))
    return [a, scale_of(0.05), a_zero, b, scale_of(0.02), b_zero, scale_of(2.5), y_zero] if is_quantized else [a, b, a_zero, b_zero]


def dynamic_inputs(random):
    return [real(random, 2, 3, 8), fixed(random.integers(-128, 128, (8, 5)).astype(numpy.int8)), scale_of(0.02),
            fixed(numpy.array(5, numpy.int8)), fixed(real(random, 5))]


def skipped(random, *more):
    """Data, what is added to it, then vectors."""
    return [real(random, 2, 3, 8), real(random, 2, 3, 8)] + [fixed(real(random, 8)) if m else None for m in more]


def embedding_inputs(random, with_segments=True, with_mask=True, with_positions=False):
    words = random.integers(0, 11, (2, 5)).astype(numpy.int32)
    mask = (numpy.arange(5) < [[3], [5]]).astype(numpy.int32)
    return [words, random.integers(0, 2, (2, 5)).astype(numpy.int32) if with_segments else None, fixed(real(random, 11, 8)),
            fixed(real(random, 7, 8)), fixed(real(random, 2, 8)) if with_segments else None, fixed(real(random, 8)), fixed(real(random, 8)),
            mask if with_mask else None, random.integers(0, 7, (2, 5)).astype(numpy.int32) if with_positions else None]


def attention_inputs(random, mask=None, past=False, bias=False):
    masks = {"lengths": numpy.array([3, 5], numpy.int32), "keys": (numpy.arange(5) < [[3], [5]]).astype(numpy.int32),
             "queries": random.integers(0, 2, (2, 5, 5)).astype(numpy.int32) | numpy.eye(5, dtype=numpy.int32)}
    return [real(random, 2, 5, 6), fixed(real(random, 6, 24)), fixed(real(random, 24)), masks.get(mask),
            real(random, 2, 2, 2, 4, 4) if past else None, real(random, 2, 2, 5, 5) if bias else None]


def heads_inputs(random, bias=False, mask=False, scores=False, past=False, keys=5):
    count = keys + (3 if past else 0)
    return [real(random, 2, 5, 8), real(random, 2, keys, 8), real(random, 2, keys, 8), fixed(real(random, 24)) if bias else None,
            (numpy.arange(count) < [[3], [count]]).astype(numpy.int32) if mask else None,
            real(random, 2, 2, 5, count) if scores else None,
            real(random, 2, 2, 3, 4) if past else None, real(random, 2, 2, 3, 4) if past else None]


def rotary_inputs(random, shape, positions):
    angle = random.uniform(-3, 3, (16, 4))
    at = numpy.array([2]) if positions == "first" else random.integers(0, 16, (2, 5))
    return [real(random, *shape), at, fixed(numpy.cos(angle).astype(numpy.float32)), fixed(numpy.sin(angle).astype(numpy.float32))]


def packed_bits(q, bits):
    """Bytes with several numbers of the last axis each, the first in the lowest bits; rows end with whole bytes."""
    per = 8 // bits
    q = numpy.pad(q, [(0, 0)] * (q.ndim - 1) + [(0, -q.shape[-1] % per)]).reshape(*q.shape[:-1], -1, per).astype(numpy.uint8)
    return numpy.bitwise_or.reduce(q << (bits * numpy.arange(per, dtype=numpy.uint8)), axis=-1)


def nbits_inputs(random, bits, k, rows=5, size=16, zeros=False, bias=False, packed_zeros=True):
    blocks = -(-k // size)
    q = random.integers(0, 2**bits, (rows, blocks, size))
    zero = random.integers(0, 2**bits, (rows, blocks))
    zero = packed_bits(zero, bits).reshape(-1) if packed_zeros else zero.astype(numpy.float32)
    return [real(random, 2, 3, k), fixed(packed_bits(q, bits)), fixed(random.uniform(0.01, 0.1, rows * blocks).astype(numpy.float32)),
            fixed(zero) if zeros else None, None, fixed(real(random, rows)) if bias else None]


def nbits_gathered(random, bits=4, size=16, zeros=False):
    q, zero = random.integers(0, 2**bits, (7, 48)), random.integers(0, 2**bits, (7, 48 // size))
    return [fixed(packed_bits(q, bits)), random.integers(0, 7, (2, 3)), fixed(random.uniform(0.01, 0.1, (7, 48 // size)).astype(numpy.float32)),
            fixed(packed_bits(zero, bits)) if zeros else None]


def grouped_inputs(random, new=1, past=None, total=None, last=None, packed=False, rotary=False, positions=False, bias=False, lines=2, size=16):
    """Four heads of queries, two of keys and values; `last`: the last place of each sample. ONNX Runtime takes several new ones behind a
    past of one sample only, and of positions of several the first, from which it counts."""
    total = total or new + (past or 0)
    x = [real(random, lines, new, h * size) for h in (4, 2, 2)]
    angle = random.uniform(-3, 3, (16, size // 2))
    return [numpy.concatenate(x, 2) if packed else x[0], None if packed else x[1], None if packed else x[2],
            real(random, lines, 2, past, size) if past is not None else None, real(random, lines, 2, past, size) if past is not None else None,
            numpy.array(last or [total - 1] * lines, numpy.int32), fixed(numpy.array(total, numpy.int32)),
            fixed(numpy.cos(angle).astype(numpy.float32)) if rotary else None,
            fixed(numpy.sin(angle).astype(numpy.float32)) if rotary else None,
            numpy.tile(numpy.arange(3, 3 + new), (lines, 1)) if positions else None, real(random, 1, 4, new, total) if bias else None]


def quantized_attention_inputs(random, mask=None, past=False, by_column=False, dtype=numpy.int8):
    low, high = numpy.iinfo(dtype).min, numpy.iinfo(dtype).max
    masks = {"lengths": numpy.array([3, 5], numpy.int32), "keys": (numpy.arange(5) < [[3], [5]]).astype(numpy.int32)}
    return [random.integers(0, 256, (2, 5, 8)).astype(numpy.uint8), fixed(random.integers(low, high + 1, (8, 24)).astype(dtype)),
            fixed(real(random, 24)), scale_of(0.02),
            fixed(random.uniform(0.004, 0.01, 24).astype(numpy.float32)) if by_column else scale_of(0.008),
            masks.get(mask), fixed(numpy.array(121, numpy.uint8)), fixed(numpy.array((low + high) // 2 + 2, dtype)),
            real(random, 2, 2, 2, 4, 4) if past else None]


def packed_heads(name, count, op="MultiHeadAttention"):
    """Queries, keys and values in one tensor, or keys and values; ONNX Runtime on CPUs takes them apart only: so does the oracle."""
    random = random_of(name)
    parts = [real(random, 2, 5, 2, 4) for _ in range(3)]
    feeds = {"p": numpy.stack(parts[3 - count:], 3)}
    names = ["p"]
    if count == 2:
        feeds = {"q": parts[0].reshape(2, 5, 8), **feeds}
        names = ["q", "p"]
    node = helper.make_node(op, names, ["y0"], domain="com.microsoft", num_heads=2)
    model = model_of([node], [value(k, a.dtype, a.shape) for k, a in feeds.items()], [helper.make_empty_tensor_value_info("y0")],
                     domains=[("com.microsoft", 1)])
    apart = [x.reshape(2, 5, 8) for x in parts]
    node = helper.make_node(op, ["q", "k", "v"], ["y0"], domain="com.microsoft", num_heads=2)
    oracle = model_of([node], [value(k, "float32", [2, 5, 8]) for k in "qkv"], [helper.make_empty_tensor_value_info("y0")],
                      domains=[("com.microsoft", 1)])
    APART[name] = oracle, dict(zip("qkv", apart))
    return model, feeds


for dtype in [numpy.uint8, numpy.int8]:
    for op in ["Add", "Mul"]:
        case(f"QLinear{op}_{dtype.__name__}", beyond, f"QLinear{op}", lambda r, d=dtype: quantized_inputs(r, d, [(2, 3, 4), (3, 1)]))
    case(f"QLinearSigmoid_{dtype.__name__}", beyond, "QLinearSigmoid", lambda r, d=dtype: quantized_inputs(r, d, [(2, 9)], 0.004))
    case(f"QLinearLeakyRelu_{dtype.__name__}", beyond, "QLinearLeakyRelu", lambda r, d=dtype: quantized_inputs(r, d, [(2, 9)]), alpha=0.3)
    case(f"QLinearSoftmax_{dtype.__name__}", beyond, "QLinearSoftmax", lambda r, d=dtype: quantized_inputs(r, d, [(2, 9)], 1 / 256), opset=13)
    case(f"QLinearGlobalAveragePool_{dtype.__name__}", beyond, "QLinearGlobalAveragePool",
         lambda r, d=dtype: quantized_inputs(r, d, [(2, 3, 4, 5)]))
case("QLinearGlobalAveragePool_last", beyond, "QLinearGlobalAveragePool",
     lambda r: quantized_inputs(r, numpy.uint8, [(2, 4, 5, 3)]), channels_last=1)
case("QLinearAveragePool", beyond, "QLinearAveragePool", lambda r: quantized_inputs(r, numpy.uint8, [(1, 3, 6, 7)]),
     kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
case("QLinearAveragePool_padding", beyond, "QLinearAveragePool", lambda r: quantized_inputs(r, numpy.uint8, [(1, 3, 6, 7)]),
     kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
case("QLinearConcat", beyond, "QLinearConcat", concat_inputs, axis=1)
case("QLinearWhere", beyond, "QLinearWhere", where_inputs)
for by_column in [False, True]:
    case(f"QGemm_{'columns' if by_column else 'one'}", beyond, "QGemm", lambda r, c=by_column: gemm_inputs(r, True, c), transB=1, alpha=1.5)
case("QGemm_real", beyond, "QGemm", lambda r: gemm_inputs(r, False, False), transB=1)
case("MatMulIntegerToFloat", beyond, "MatMulIntegerToFloat", product_inputs)
for name, left, right in [("row", (8,), (8, 5)), ("rows", (8,), (2, 8, 5)), ("column", (3, 8), (8,)), ("columns", (2, 3, 8), (8,)), ("vectors", (8,), (8,))]:
    for op, is_quantized in [("QLinearMatMul", True), ("MatMulInteger", False)]:
        case(f"{op}_{name}", beyond, op, lambda r, a=left, b=right, q=is_quantized: vector_product_inputs(r, a, b, q), domain="")
case("DynamicQuantizeMatMul", beyond, "DynamicQuantizeMatMul", dynamic_inputs)
for op in ["Gelu", "QuickGelu", "FastGelu"]:
    case(op, beyond, op, lambda r: [real(r, 2, 9, scale=3)])
for op in ["BiasGelu", "FastGelu"]:
    case(f"{op}_bias", beyond, op, lambda r: [real(r, 2, 9, scale=3), fixed(real(r, 9))])
case("FusedMatMul", beyond, "FusedMatMul", lambda r: [real(r, 2, 4, 3), real(r, 2, 5, 4)], transA=1, transB=1, alpha=0.3)
case("FusedConv_relu", beyond, "FusedConv", lambda r: [real(r, 1, 3, 6, 7), fixed(real(r, 4, 3, 3, 3)), fixed(real(r, 4))],
     activation="Relu", pads=[1, 1, 1, 1])
case("FusedConv_sum", beyond, "FusedConv", lambda r: [real(r, 1, 3, 6, 7), fixed(real(r, 4, 3, 3, 3)), None, real(r, 1, 4, 4, 5)],
     activation="LeakyRelu", activation_params=[0.2])
case("LayerNormalization_float64_moments", one_node, "LayerNormalization",
     {"x": numpy.arange(24, dtype=numpy.float64).reshape(2, 3, 4) ** 1.5, "scale": numpy.linspace(0.5, 2, 4)}, outputs=3)
case("SkipLayerNormalization", beyond, "SkipLayerNormalization", lambda r: skipped(r, 1, 1, 1), outputs=[0, 3])
case("SkipLayerNormalization_plain", beyond, "SkipLayerNormalization", lambda r: skipped(r, 1, 0, 0), epsilon=1e-5)
case("SkipSimplifiedLayerNormalization", beyond, "SkipSimplifiedLayerNormalization", lambda r: skipped(r, 1, 1), outputs=[0, 3], epsilon=1e-5)
case("SimplifiedLayerNormalization", beyond, "SimplifiedLayerNormalization", lambda r: [real(r, 2, 3, 8), fixed(real(r, 8))], domain="",
     outputs=2)
case("EmbedLayerNormalization", beyond, "EmbedLayerNormalization", embedding_inputs, outputs=3)
case("EmbedLayerNormalization_words", beyond, "EmbedLayerNormalization", lambda r: embedding_inputs(r, False, False, True), outputs=2)
for mask in [None, "lengths", "keys", "queries"]:
    case(f"Attention_{mask}", beyond, "Attention", lambda r, m=mask: attention_inputs(r, m), num_heads=2)
case("Attention_unidirectional", beyond, "Attention", attention_inputs, num_heads=2, unidirectional=1)
case("Attention_past", beyond, "Attention", lambda r: attention_inputs(r, past=True), num_heads=2, unidirectional=1, outputs=2,
     qkv_hidden_sizes=[8, 8, 8])
case("Attention_scores", beyond, "Attention", lambda r: attention_inputs(r, bias=True), num_heads=2, scale=0.7)
case("MultiHeadAttention", beyond, "MultiHeadAttention", lambda r: heads_inputs(r, keys=7), num_heads=2)
case("MultiHeadAttention_bias", beyond, "MultiHeadAttention", lambda r: heads_inputs(r, bias=True, mask=True), num_heads=2)
case("MultiHeadAttention_past", beyond, "MultiHeadAttention", lambda r: heads_inputs(r, scores=True, past=True), num_heads=2, outputs=3)
for count in [2, 3]:
    case(f"MultiHeadAttention_packed_{count}", packed_heads, count)
for mask in [None, "lengths", "keys"]:
    case(f"QAttention_{mask}", beyond, "QAttention", lambda r, m=mask: quantized_attention_inputs(r, m), num_heads=2)
case("QAttention_past", beyond, "QAttention", lambda r: quantized_attention_inputs(r, past=True, dtype=numpy.uint8), num_heads=2,
     unidirectional=1, outputs=2)
case("QAttention_columns", beyond, "QAttention", lambda r: quantized_attention_inputs(r, by_column=True), num_heads=2)
GROUPED = {"num_heads": 4, "kv_num_heads": 2, "outputs": 3}
case("GroupQuery_prompt", beyond, "GroupQueryAttention", lambda r: grouped_inputs(r, new=5), **GROUPED)
case("GroupQuery_rotary", beyond, "GroupQueryAttention", lambda r: grouped_inputs(r, new=5, rotary=True), do_rotary=1, **GROUPED)
case("GroupQuery_alternates", beyond, "GroupQueryAttention", lambda r: grouped_inputs(r, new=5, rotary=True, packed=True), do_rotary=1,
     rotary_interleaved=1, **GROUPED)
case("GroupQuery_past", beyond, "GroupQueryAttention", lambda r: grouped_inputs(r, past=6, rotary=True), do_rotary=1, **GROUPED)
case("GroupQuery_past_of_different_lengths", beyond, "GroupQueryAttention",
     lambda r: grouped_inputs(r, past=6, rotary=True, last=[4, 6]), do_rotary=1, **GROUPED)
case("GroupQuery_packed_past", beyond, "GroupQueryAttention", lambda r: grouped_inputs(r, past=6, packed=True, new=2, lines=1), scale=0.3, **GROUPED)
case("GroupQuery_window", beyond, "GroupQueryAttention", lambda r: grouped_inputs(r, past=6, new=2, lines=1), local_window_size=3, softcap=2.0,
     **GROUPED)
case("GroupQuery_positions", beyond, "GroupQueryAttention", lambda r: grouped_inputs(r, new=5, rotary=True, positions=True), do_rotary=1,
     **GROUPED)
case("GroupQuery_position_of_one", beyond, "GroupQueryAttention", lambda r: grouped_inputs(r, past=6, rotary=True, positions=True), do_rotary=1,
     **GROUPED)
case("GroupQuery_buffer", beyond, "GroupQueryAttention", lambda r: grouped_inputs(r, past=9, total=7, rotary=True, last=[4, 6]), do_rotary=1,
     **GROUPED)
case("GroupQuery_bias", beyond, "GroupQueryAttention", lambda r: grouped_inputs(r, past=3, new=2, bias=True, lines=1), **GROUPED)
for bits, k in [(2, 32), (4, 32), (4, 40), (8, 32)]:
    case(f"MatMulNBits_{bits}_{k}", beyond, "MatMulNBits", lambda r, b=bits, k=k: nbits_inputs(r, b, k), K=k, N=5, bits=bits, block_size=16)
case("MatMulNBits_zeros", beyond, "MatMulNBits", lambda r: nbits_inputs(r, 4, 48, zeros=True, bias=True), K=48, N=5, bits=4, block_size=16)
case("MatMulNBits_zeros_8", beyond, "MatMulNBits", lambda r: nbits_inputs(r, 8, 48, zeros=True), K=48, N=5, bits=8, block_size=16)
case("MatMulNBits_zeros_float", beyond, "MatMulNBits", lambda r: nbits_inputs(r, 4, 48, zeros=True, packed_zeros=False), K=48, N=5, bits=4,
     block_size=16)
for zeros in [False, True]:
    case(f"GatherBlockQuantized_{zeros}", beyond, "GatherBlockQuantized", lambda r, z=zeros: nbits_gathered(r, zeros=z), block_size=16,
         bits=4)
for positions in ["first", "each"]:
    case(f"RotaryEmbedding_{positions}", beyond, "RotaryEmbedding", lambda r, p=positions: rotary_inputs(r, (2, 5, 24), p))
    case(f"RotaryEmbedding_heads_{positions}", beyond, "RotaryEmbedding", lambda r, p=positions: rotary_inputs(r, (2, 3, 5, 8), p), interleaved=1)


# ---- running them ----

def check(driver, name):
    make, args, kwargs = CASES[name]
    model, feeds = make(name, *args, **kwargs)
    path = os.path.join(driver.folder.name, "generated.onnx")
    onnx.save(model, path)
    stated, given = APART.get(name, (model, feeds))
    stated_path = os.path.join(driver.folder.name, "stated.onnx")
    onnx.save(stated, stated_path)
    oracle = ReferenceEvaluator(model) if name in BY_STANDARD else harness.reference(stated_path)
    wanted = oracle.run(None, given)
    _, noutput = driver.open(path)
    for i, info in enumerate(model.graph.input):
        driver.set(i, feeds[info.name])
    for i, (got, want) in enumerate(zip(driver.run(noutput), wanted, strict=True)):
        if got.shape != want.shape or got.dtype != want.dtype:
            raise AssertionError(f"output {i}: {got.dtype}{got.shape}, expected {want.dtype}{want.shape}")
        numpy.testing.assert_allclose(got, want, rtol=RTOL, atol=ATOL, err_msg=f"output {i}")


def main():
    driver = harness.Driver(sys.argv[1])
    patterns, failed, count = sys.argv[2:] or ["*"], 0, 0
    for name in CASES:
        if not any(fnmatch.fnmatchcase(name, p) for p in patterns):
            continue
        count += 1
        try:
            check(driver, name)
        except (AssertionError, harness.Refused) as error:
            print(f"{name}: FAILED: {error}")
            failed += 1
    driver.close()
    print(f"{count - failed} of {count} generated models agree with ONNX Runtime")
    return failed != 0 or count == 0


sys.exit(main())
