"""What the ONNX importer refuses: onnx_refused.py DRIVER [NAME]...

Each refusal is provoked by a small model; code, message and the name of the node are checked. No answer may be a crash, and none
an internal error."""
import fnmatch
import os
import sys

import harness

harness.need_packages("numpy", "onnx")
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

CASES = []  # (name, code, text, bytes of the model, inputs that the caller fixes)
F, I = numpy.float32, numpy.int64


def ints(*numbers):
    return numpy.array(numbers, I)


def floats(*numbers):
    return numpy.array(numbers, F)


def zeros(*shape):
    return numpy.zeros(shape, F)


def tensor_info(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def make(nodes, inputs=(), outputs=("y",), constants=(), opset=17, ir=8, **more):
    infos = [helper.make_empty_tensor_value_info(o) if isinstance(o, str) else o for o in outputs]
    graph = helper.make_graph(nodes, "graph", list(inputs), infos, list(constants))
    domains = more.pop("domains", ()) or {(n.domain, 1) for n in nodes if n.domain}
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(*d) for d in domains]
    return helper.make_model(graph, ir_version=ir, opset_imports=imports, **more)


def refuse(name, code, text, model, fixed=()):
    CASES.append((name, code, text, model if isinstance(model, bytes) else model.SerializeToString(), fixed))


def node(code, text, op, *inputs, opset=17, noutput=1, constants=True, **attrs):
    """One node. Inputs: shapes (float inputs of the model), (dtype, shape), arrays (constants), "" (left out)."""
    names, infos, tensors = [], [], []
    for i, given in enumerate(inputs):
        names.append("" if isinstance(given, str) else f"x{i}")
        if isinstance(given, numpy.ndarray):
            tensors.append(numpy_helper.from_array(given, names[-1]))
        elif isinstance(given, tuple):
            infos.append(tensor_info(names[-1], given[1], given[0]))
        elif isinstance(given, list):
            infos.append(tensor_info(names[-1], given))
    outputs = [f"y{i}" for i in range(noutput)]
    proto = helper.make_node(op, names, outputs, name="the_node", **attrs)
    number = sum(1 for c in CASES if c[0].startswith(op + "_"))
    refuse(f"{op}_{number}", code, ("the_node", text), make([proto], infos, outputs, tensors, opset))


def unknown(what, op, *inputs, at=None, **kwargs):
    """Input `at` is what is not known, or the last of rank 0 or 1."""
    at = at or max(i for i, x in enumerate(inputs) if isinstance(x, tuple) and len(x[1]) < 2 or isinstance(x, list) and len(x) < 2)
    text = f"{what} not known before run time; input x{at} can be fixed when the model is imported: --fix 'x{at}="
    node("unsupported", text, op, *inputs, **kwargs)


L, B = TensorProto.INT64, TensorProto.BOOL
x23, x4 = [2, 3], [1, 2, 5, 5]

# ---- what every operator may be refused for ----

node("attribute", "Softmax: axis 7 is out of range for rank 2", "Softmax", x23, axis=7)
node("attribute", "Softmax: axis -3 is out of range for rank 2", "Softmax", x23, axis=-3)
node("attribute", "attribute axis is a float where an int is expected", "Softmax", x23, axis=1.5)
node("attribute", "attribute perm is an int where ints is expected", "Transpose", x23, perm=1)
node("format", "Relu: input 0 is missing", "Relu")
node("format", "Relu: input 0 is missing", "Relu", "")
node("format", "Add: input 1 is missing", "Add", x23)
node("shape", "shapes (2, 3) and (2, 4) do not broadcast", "Add", [2, 3], [2, 4])
node("shape", "columns of tensor_a and rows of tensor_b must be equal, but are 3 and 4", "MatMul", [2, 3], [4, 5])
node("unsupported", "the rank of an input is not known", "Softmax", (TensorProto.FLOAT, None), axis=0)

# ---- activations, elementwise ----

node("attribute", "Flatten: axis 3 is out of range for rank 2", "Flatten", x23, axis=3)
node("attribute", "axis is 2: from there on the second operand, of rank 1, does not fit into the first, of rank 2", "Add", x23, [3], opset=6, broadcast=1, axis=2)
node("unsupported", "element type STRING is not supported", "Cast", x23, to=8)

# ---- attention ----

node("attribute", "the number of heads is missing", "Attention", [1, 4, 8], [1, 4, 8], [1, 4, 8], opset=23)
node("format", "data of rank 2; 3 and 4 are known", "Attention", x23, x23, x23, opset=23)
node("format", "keys and values have 2 heads, queries 3, which is not a multiple", "Attention", [1, 3, 4, 8], [1, 2, 4, 8], [1, 2, 4, 8], opset=23)
node("attribute", "qk_matmul_output_mode is 0 to 3", "Attention", [1, 2, 4, 8], [1, 2, 4, 8], [1, 2, 4, 8], opset=23, noutput=4,
     qk_matmul_output_mode=9)
node("unsupported", "the size of a head is symbolic: bind it with --dim", "Attention", [1, 2, 4, "d"], [1, 2, 4, "d"], [1, 2, 4, "d"],
     opset=23)
node("format", "data of rank 2; 3 and 4 are known", "RotaryEmbedding", x23, zeros(3, 1), zeros(3, 1), opset=23)

# ---- attention and weights of few bits, as ONNX Runtime has them ----

MS = {"domain": "com.microsoft"}
qkv, heads, table = [1, 2, 64], {"num_heads": 4, "kv_num_heads": 4, **MS}, zeros(8, 8)
past, last, total = [1, 4, 3, 16], (TensorProto.INT32, [1]), numpy.array(5, numpy.int32)
node("format", "1 of queries, keys and values are given", "MultiHeadAttention", qkv, num_heads=4, **MS)
node("unsupported", "rotary positions are not supported", "Attention", qkv, zeros(64, 192), num_heads=4, do_rotary=1, **MS)
node("unsupported", "a buffer for the past is not supported", "QAttention", (TensorProto.UINT8, qkv), numpy.zeros((64, 192), numpy.int8),
     zeros(192), numpy.array(1, F), numpy.array(1, F), num_heads=4, past_present_share_buffer=1, **MS)
grouped = lambda code, text, *inputs, **attrs: node(code, text, "GroupQueryAttention", *inputs, **{**heads, **attrs})
grouped("unsupported", "smooth_softmax and head_sink are not supported", qkv, qkv, qkv, "", "", last, total, smooth_softmax=1)
grouped("unsupported", "smooth_softmax and head_sink are not supported", qkv, qkv, qkv, "", "", last, total, "", "", "", "", zeros(4))
grouped("unsupported", "the scores as a result are not supported", qkv, qkv, qkv, "", "", last, total, qk_output=1)
grouped("unsupported", "a quantized past (PER_TENSOR, NONE)", qkv, qkv, qkv, "", "", last, total, k_quant_type="PER_TENSOR")
grouped("attribute", "num_heads is 4, kv_num_heads 3", qkv, qkv, qkv, "", "", last, total, kv_num_heads=3)
grouped("format", "keys without values", qkv, qkv, "", "", "", last, total)
grouped("format", "is not a multiple of 12 heads", [1, 2, 64], "", "", "", "", last, total)
grouped("unsupported", "total_sequence_length is not known before run time", qkv, qkv, qkv, past, past, last, (TensorProto.INT32, []))
grouped("unsupported", "total_sequence_length must be the length of the past and the new keys together", qkv, qkv, qkv, past, past, last, numpy.array(9, numpy.int32))
grouped("format", "the past is not of rank 4", qkv, qkv, qkv, [1, 4, 3], [1, 4, 3], last, total)
grouped("attribute", "of the 16 elements of a head are to be rotated; an even number", qkv, qkv, qkv, "", "", last, total, zeros(8, 9), zeros(8, 9), do_rotary=1)
nbits = lambda code, text, *inputs, **attrs: node(code, text, "MatMulNBits", *inputs, **{"K": 32, "N": 5, "block_size": 16, **MS, **attrs})
packed = numpy.zeros((5, 2, 8), numpy.uint8)
nbits("unsupported", "weights of 3 bits; 2, 4 and 8 are known", [2, 32], packed, zeros(10), bits=3)
nbits("unsupported", "g_idx, an order of groups, is not supported", [2, 32], packed, zeros(10), "", numpy.zeros(32, numpy.int32))
nbits("unsupported", "prepacked weights are not supported", [2, 32], packed, zeros(10), weight_prepacked=1)
nbits("attribute", "K is 0, N 5, block_size 16", [2, 32], packed, zeros(10), K=0)
nbits("", "reshape", [2, 32], packed, zeros(10), N=6)
node("unsupported", "only data of element type uint8 is known, with gather_axis 0", "GatherBlockQuantized",
     numpy.zeros((4, 8), numpy.uint8), (L, [2]), zeros(4, 1), gather_axis=1, block_size=16, **MS)

# ---- signals, folds, steps of training ----

node("attribute", "DFT: axis 2 is out of range: the last axis, of 3, holds the real and the imaginary part", "DFT", [1, 4, 2], axis=2)
node("unsupported", "the size of the axis is symbolic: bind it with --dim", "DFT", [1, "n", 1])
node("format", "the last dim is 3; 1, for real numbers, or 2, for complex ones, is expected", "DFT", [1, 4, 3])
node("attribute", "dft_length is -4", "DFT", [1, 4, 1], ints(-4), axis=1)
node("limit", "5000 samples; up to some 4,000 are supported", "DFT", [1, 5000, 1])
unknown("dft_length is", "DFT", [1, 4, 1], (L, []))
node("attribute", "frame_step is 0", "STFT", [1, 16, 1], ints(0), "", ints(4))
node("format", "frames are longer than the signal", "STFT", [1, 16, 1], ints(1), "", ints(17))
node("unsupported", "output_datatype is not supported", "HannWindow", ints(3), output_datatype=8)
unknown("image_shape is", "Col2Im", [1, 4, 4], (L, [2]), ints(2, 2), opset=18)
node("format", "image and blocks have different ranks", "Col2Im", [1, 4, 4], ints(3, 3), ints(2, 2, 2), opset=18)
node("format", "data is not [batch, channels * 4, 4], as blocks and image are", "Col2Im", [1, 4, 5], ints(3, 3), ints(2, 2), opset=18)
node("attribute", "axis 1: strides and dilations must be numbers from 1 to 32767, pads from 0", "Col2Im", [1, 4, 4], ints(3, 3), ints(2, 2), opset=18, strides=[1, 0])
node("unsupported", "axis 2 of the data is empty or symbolic: bind it with --dim", "MaxUnpool", [1, 1, "h", 2], (L, [1, 1, "h", 2]), kernel_shape=[2, 2])
node("unsupported", "output_shape has 2 at axis 3, where windows need 3", "MaxUnpool", [1, 1, 2, 2], (L, [1, 1, 2, 2]), ints(1, 1, 3, 2),
     kernel_shape=[2, 2])
node("attribute", "activation relu is not known", "CausalConvWithState", [1, 2, 4], zeros(2, 1, 3), opset=27, activation="relu")
node("unsupported", "matrices of 1, 2 or 3 rows and columns are known", "Det", [4, 4])
training = {"domain": "ai.onnx.preview.training"}
node("attribute", "mode quick is not known", "Momentum", [], (L, []), [2], [2], [2], noutput=2, alpha=0.9, beta=0.9, norm_coefficient=0.0,
     mode="quick", **training)
node("format", "5 inputs and 2 outputs; for each tensor 4 and 3 are expected", "Adam", [], (L, []), [2], [2], [2], noutput=2, **training)

# ---- positions and boxes ----

node("format", "boxes have rank 2, scores 3; both need 3", "NonMaxSuppression", [5, 4], [1, 1, 5])
node("attribute", "RoiAlign: mode best is not known", "RoiAlign", x4, [2, 4], (L, [2]), sampling_ratio=2, mode="best")
node("attribute", "coordinate_transformation_mode none is not known", "RoiAlign", x4, [2, 4], (L, [2]), sampling_ratio=2,
     coordinate_transformation_mode="none")
node("attribute", "output_height is 0, output_width 1, sampling_ratio 2; 1 to 32767 is expected", "RoiAlign", x4, [2, 4], (L, [2]), sampling_ratio=2, output_height=0)
node("format", "data needs rank 4, boxes rank 2", "RoiAlign", x23, [2, 4], (L, [2]), sampling_ratio=2)
node("attribute", "GridSample: mode sharp is not known", "GridSample", x4, [1, 3, 3, 2], mode="sharp")
node("attribute", "padding_mode torus is not known", "GridSample", x4, [1, 3, 3, 2], padding_mode="torus")
node("unsupported", "data of rank 4 needs a grid of that rank, with a last axis of 2", "GridSample", x4, [1, 3, 3, 3])
node("unsupported", "data of rank 2 needs a grid", "GridSample", x23, x23)
unknown("the size is", "AffineGrid", [1, 2, 3], (L, [4]), opset=20)
node("format", "theta has rank 2, the size 4 elements; 3 and 4 or 5 are needed", "AffineGrid", x23, ints(1, 1, 4, 4), opset=20)
node("format", "size 2 is 0; 1 to 2147483647 is expected", "AffineGrid", [1, 2, 3], ints(1, 1, 0, 4), opset=20)

# ---- reductions ----

node("shape", "argmin: one element and the extent of a reduced axis: 1 must be at most 0", "ArgMin", [2, 0], axis=1)
node("attribute", "TopK: k is -1; 0 or more is expected", "TopK", x23, ints(-1), noutput=2)

# ---- images ----

unknown("the scales are", "Resize", x4, "", [4])
unknown("the sizes are", "Resize", x4, "", "", (L, [4]))
node("format", "either scales or sizes are to be given", "Resize", x4)
node("format", "2 scales where 4 are needed", "Resize", x4, "", floats(2, 2))
node("unsupported", "axis 2 has a symbolic size, and its mode is neither nearest nor linear", "Resize", [1, 2, "h", 5], "", floats(1, 1, 2, 2),
     mode="cubic")
node("unsupported", "an axis with a symbolic size is scaled by 0.414214", "Resize", [1, 2, "h", 5], "", floats(1, 1, 2 ** 0.5 - 1, 2))
node("unsupported", "coordinate_transformation_mode half_pixel_symmetric where a size is symbolic", "Resize", [1, 2, "h", 5], "",
     floats(1, 1, 2, 2), opset=19, coordinate_transformation_mode="half_pixel_symmetric")
node("attribute", "the scale -1 is out of range", "Resize", x4, "", floats(1, 1, -1, 2))
node("attribute", "Resize: mode sinc is not known", "Resize", x4, "", floats(1, 1, 2, 2), mode="sinc")
node("attribute", "coordinate_transformation_mode middle is not known", "Resize", x4, "", floats(1, 1, 2, 2),
     coordinate_transformation_mode="middle")
node("attribute", "3 axes for data of rank 2", "Resize", x23, "", floats(1, 1, 2), opset=18, axes=[0, 1, 1])
node("format", "the scales are missing", "Upsample", x4, zeros(0), opset=9)
node("attribute", "DepthToSpace: mode XYZ is not known", "DepthToSpace", [1, 4, 2, 2], blocksize=2, mode="XYZ")

# ---- positions of elements ----

node("format", "indices have rank 0; at least 1 is needed", "GatherND", x23, (L, []))
node("attribute", "reduction xor is not known", "ScatterElements", x23, (L, x23), x23, opset=18, reduction="xor")
node("unsupported", "slices along an axis are not supported", "Unique", x23, axis=0)

# ---- joining and cutting ----

unknown("the sizes are", "Split", x23, (L, [2]), noutput=2)
node("format", "3 sizes for 2 outputs", "Split", x23, ints(1, 1, 1), noutput=2, axis=1)
node("format", "the size of output 0 is -1", "Split", x23, ints(-1, 4), noutput=2, axis=1)
node("format", "starts, ends, axes and steps have different lengths, or more than 2", "Slice", x23, ints(0, 0), ints(1))
node("format", "starts or ends are missing", "Slice", x23, opset=9, starts=[0])
unknown("the axes are", "Slice", x23, ints(0), ints(1), (L, [1]))
unknown("how many axes are sliced is", "Slice", x23, (L, ["n"]), (L, ["n"]), at=1)
unknown("the count is", "Tile", x23, (L, [1]), (L, [1]), opset=5, at=1)
unknown("the pads are", "Pad", x23, (L, [4]), mode="wrap")
unknown("the axes are", "Pad", x23, ints(1, 1), "", (L, [1]), opset=18)
node("format", "3 pads for 2 axes", "Pad", x23, ints(1, 1, 1))
node("attribute", "Pad: mode spiral is not known", "Pad", x23, ints(1, 1, 1, 1), mode="spiral")
node("format", "pads are missing", "Pad", x23, opset=10)
unknown("the shape is", "CenterCropPad", x23, (L, [2]), opset=18)
node("format", "1 sizes for 2 axes", "CenterCropPad", x23, ints(1), opset=18)
node("unsupported", "axis 0 is negative, or has a symbolic size", "CenterCropPad", ["n", 3], ints(1, 1), opset=18)

# ---- products, norms, losses ----

node("attribute", "reduction most is not known", "NegativeLogLikelihoodLoss", x23, (L, [2]), reduction="most")
node("attribute", "equation i?j->ij: letters , - > . are expected", "Einsum", x23, equation="i?j->ij")
node("unsupported", "training is not supported, as it draws random numbers", "Dropout", x23, floats(0.5).reshape(()), numpy.array(True))
unknown("whether it is training is", "Dropout", x23, floats(0.5).reshape(()), (B, []))
node("format", "5 channels cannot be cut into 2 groups", "GroupNormalization", [1, 5, 4, 4], zeros(2), zeros(2), opset=18, num_groups=2)
node("unsupported", "p is 3; 1 and 2 are known", "LpNormalization", x23, p=3)
node("unsupported", "training is not supported before operator set 14", "BatchNormalization", x4, zeros(2), zeros(2), zeros(2), zeros(2),
     opset=9, noutput=3)

# ---- quantization ----

node("type", "input_scale has rank 3, the data 2; it is a number, a vector along an axis", "DequantizeLinear", (TensorProto.INT8, x23), numpy.ones((1, 1, 1), F), opset=21)
for bad, shown in (0, "0"), (-1, "-1"), (numpy.inf, "inf"), (numpy.nan, "nan"):
    text = f"element 1 is {shown}; scales are finite and above 0"
    node("argument", f"input 1: {text}", "QuantizeLinear", x23, floats(1, bad, 1))
    node("argument", f"input 1: {text}", "DequantizeLinear", (TensorProto.INT8, x23), floats(1, bad, 1))
    codes, code = numpy.zeros((3, 2), numpy.int8), numpy.array(0, numpy.int8)
    node("argument", f"input 4: {text}", "QLinearMatMul", (TensorProto.INT8, x23), floats(1), code, codes, floats(1, bad), code, floats(1), code)

I8, U8, unit = (TensorProto.INT8, x23), (TensorProto.UINT8, x23), floats(1).reshape(())
i8, u8 = numpy.array(0, numpy.int8), numpy.array(0, numpy.uint8)
node("type", "the zero point is int32; codes are integers of at most 16 bits or floats of at most 8", "QuantizeLinear", x23, unit, numpy.array(0, numpy.int32))
node("type", "the zero point is float32; codes are", "QuantizeLinear", x23, unit, unit)
node("type", "output_dtype is float32; codes are", "QuantizeLinear", x23, unit, opset=21, output_dtype=TensorProto.FLOAT)
node("type", "a zero point is int8, and its codes are int16", "QuantizeLinear", x23, unit, i8, opset=21, output_dtype=TensorProto.INT16)
node("type", "scales have rank 1, and their zero points 0", "QuantizeLinear", x23, floats(1, 1, 1), i8)
node("attribute", "axis -9223372036854775808 is out of range for rank 2", "QuantizeLinear", x23, floats(1, 1, 1), axis=-2**63)
node("type", "the data is float32; codes are", "DequantizeLinear", x23, unit)
node("type", "a zero point is uint8, and its codes are int8", "DequantizeLinear", I8, unit, u8)
weight = numpy.zeros((3, 2), numpy.int8)
node("type", "a zero point is uint8, and its codes are int8", "MatMulInteger", I8, weight, u8)
node("type", "a zero point is uint8, and its codes are int8", "MatMulInteger", I8, weight, i8, u8)
node("type", "a zero point is uint8, and its codes are int8", "QLinearMatMul", I8, unit, u8, weight, unit, i8, unit, i8)
picture, window = (TensorProto.UINT8, [1, 1, 3, 3]), numpy.zeros((1, 1, 2, 2), numpy.int8)
node("type", "a zero point is int8, and its codes are uint8", "QLinearConv", picture, unit, i8, window, unit, i8, unit, u8)
node("type", "a zero point is uint8, and its codes are int8", "QLinearConv", picture, unit, u8, window, unit, u8, unit, u8)
node("type", "input 1 is 2 scales; one is expected", "QLinearConv", picture, floats(1, 2), u8, window, unit, i8, unit, u8)
node("type", "input 6 is 2 scales; one is expected", "QLinearConv", picture, unit, u8, window, unit, i8, floats(1, 2), u8)
node("type", "a zero point is int8, and its codes are uint8", "ConvInteger", picture, window, i8)
node("type", "a zero point is uint8, and its codes are int8", "QLinearAdd", I8, unit, u8, I8, unit, i8, unit, i8, domain="com.microsoft")
node("attribute", "attribute opset is missing", "QLinearSoftmax", I8, unit, i8, unit, i8, domain="com.microsoft")

# ---- recurrent layers ----

def layer(op, gates, **attrs):
    return op, [5, 2, 3], zeros(1, gates * 4, 3), zeros(1, gates * 4, 4)


node("attribute", "direction sideways is not known", *layer("GRU", 3), direction="sideways")
node("attribute", "2 activations where 1 are needed", *layer("RNN", 1), activations=["Tanh", "Tanh"])
node("attribute", "activation Sinc is not known", *layer("RNN", 1), activations=["Sinc"])
node("format", "data has rank 2, the recurrent weight 3; both need 3", "LSTM", [5, 3], zeros(1, 16, 3), zeros(1, 16, 4))
node("format", "hidden_size is 9, the recurrent weight has 4", *layer("LSTM", 4), hidden_size=9)
node("unsupported", "the hidden size, dim 2 of input 2, is symbolic: bind it with --dim", "RNN", [5, 2, 3], [1, "h", 3], [1, "h", "h"])

# ---- reductions, shapes ----

unknown("the axes are", "ReduceSum", x23, (L, [1]))
unknown("the axis is", "CumSum", x23, (L, []))
node("unsupported", "no attribute value, value_int(s) or value_float(s)", "Constant", value_string="text")
node("format", "value has 2 elements where one is expected", "ConstantOfShape", ints(2),
     value=numpy_helper.from_array(floats(1, 2), "v"))
node("type", "it decides the rank of the result", "Reshape", x23, (L, ["n"]))
unknown("the axes are", "Unsqueeze", x23, (L, [1]))
node("format", "axes are missing", "Unsqueeze", x23, opset=11)
node("attribute", "axis 0 is stated twice", "Unsqueeze", x23, ints(0, 0))
node("limit", "the limit is", "Unsqueeze", x23, ints(*range(40)))
node("type", "newshape has too many dims", "Reshape", x23, ints(*[1] * 40))

# ---- sequences ----

node("format", "input 0 is no sequence", "SequenceLength", x23)
node("unsupported", "an optional value that is left out", "Optional", type=helper.make_tensor_type_proto(1, [2]))
unknown("the sizes are", "SplitToSequence", x23, (L, [2]))
node("format", "part 1 has 2 elements where 1 of the axis are left", "SplitToSequence", x23, ints(2, 2), axis=1)
node("format", "an axis of 3 elements is to be split into parts of 0; at least 1", "SplitToSequence", x23, numpy.array(0), axis=1)
node("unsupported", "axis 0 is split, and its size is symbolic", "SplitToSequence", ["n", 3])


def sequence(code, text, op, *inputs, **attrs):
    nodes = [helper.make_node("SequenceConstruct", ["x", "x"], ["s"]),
             helper.make_node(op, ["s", *inputs], ["y"], name="the_node", **attrs)]
    constants = [numpy_helper.from_array(numpy.array(5), "five")]
    refuse(f"{op}_sequence_{text[:12]}", code, ("the_node", text), make(nodes, [tensor_info("x", x23), tensor_info("at", [], L)], ["y"], constants))


sequence("format", "position 5 is out of range for 2", "SequenceAt", "five")
sequence("unsupported", "the position is not known before run time", "SequenceAt", "at")
sequence("format", "input 1 is missing", "SequenceAt")
sequence("format", "position 5 is out of range for 2", "SequenceErase", "five")
sequence("format", "position 5 is out of range for 2", "SequenceInsert", "x", "five")
sequence("format", "graph body is missing, or has too few outputs", "SequenceMap")
sequence("unsupported", "the rank of an input is not known", "Softmax")
refuse("ConcatFromSequence_empty", "format", ("the_node", "the sequence is empty"),
       make([helper.make_node("SequenceEmpty", [], ["s"]), helper.make_node("ConcatFromSequence", ["s"], ["y"], name="the_node", axis=0)]))

# ---- windows ----

node("unsupported", "data of rank 2; 3 to 5 are known", "Conv", x23, zeros(2, 3))
node("format", "data has rank 4, the weight 3", "Conv", x4, zeros(1, 2, 3))
node("attribute", "strides has length 1 where 2 is expected", "Conv", x4, zeros(1, 2, 3, 3), strides=[1])
node("attribute", "kernel, strides and dilations must be numbers from 1", "Conv", x4, zeros(1, 2, 3, 3), strides=[0, 1])
node("attribute", "pads not negative", "MaxPool", x4, kernel_shape=[2, 2], pads=[-1, 0, 0, 0])
node("unsupported", "auto_pad=SAME_UPPER with stride 2: how many elements are added before axis 3 depends on its size, which is symbolic",
     "Conv", [1, 2, 5, "w"], zeros(1, 2, 3, 3), auto_pad="SAME_UPPER", strides=[2, 2])
node("unsupported", "auto_pad=SAME_LOWER with stride 2", "MaxPool", [1, 2, 5, "w"], kernel_shape=[2, 2], auto_pad="SAME_LOWER", strides=[2, 2])
node("attribute", "auto_pad is SAME; NOTSET, VALID, SAME_UPPER and SAME_LOWER are known", "Conv", x4, zeros(1, 2, 3, 3), auto_pad="SAME")
node("attribute", "auto_pad is SAME_; NOTSET, VALID, SAME_UPPER and SAME_LOWER are known", "ConvTranspose", x4, zeros(2, 1, 3, 3), auto_pad="SAME_")
node("shape", "the window and the padded data with the rest of a stride (ceil_mode): 3 must be at most 2", "MaxPool", [1, 2, 1],
     kernel_shape=[3], strides=[2], ceil_mode=1)
node("unsupported", "output_shape needs the size of axis 2, which is symbolic", "ConvTranspose", [1, 2, "h", 5], zeros(2, 1, 3, 3),
     output_shape=[9, 9])
node("attribute", "output_padding has -1; 0 to 32767 is expected", "ConvTranspose", x4, zeros(2, 1, 3, 3), output_padding=[-1, 0])
node("attribute", "output_shape has 0; 1 to 2147483647 is expected", "ConvTranspose", x4, zeros(2, 1, 3, 3), output_shape=[5, 0])
node("limit", "the size of axis 2 overflows", "ConvTranspose", [1, 2, 2 ** 62, 5], zeros(2, 1, 3, 3), output_shape=[5, 5], strides=[4, 4])
node("unsupported", "the positions of the greatest elements (output 1) are not supported", "MaxPool", x4, kernel_shape=[2, 2], noutput=2)
node("attribute", "p must be greater than 0", "LpPool", x4, kernel_shape=[2, 2], p=0)
node("unsupported", "ceil_mode needs the size of axis 3", "LpPool", [1, 2, 5, "w"], opset=18, kernel_shape=[2, 2], ceil_mode=1)
node("format", "data of rank 1; at least 2 is needed", "GlobalMaxPool", [3])

# ---- graphs within nodes ----

def body(nodes=(), inputs=(), outputs=()):
    return helper.make_graph(list(nodes), "inner", [helper.make_empty_tensor_value_info(i) for i in inputs],
                             [helper.make_empty_tensor_value_info(o) for o in outputs])


one = helper.make_node("Constant", [], ["one"], value_float=1.0)
true = helper.make_node("Constant", [], ["true"], value=numpy_helper.from_array(numpy.array(True), "t"))
node("format", "graph then_branch is missing", "If", (B, []), else_branch=body([one], [], ["one"]))
node("format", "the branches have 1 and 2 outputs", "If", (B, []), then_branch=body([one], [], ["one"]),
     else_branch=body([one], [], ["one", "one"]))
node("format", "graph inner has 0 outputs where 1 are needed", "Loop", ints(3).reshape(()), "", body=body())
node("format", "graph inner takes 0 inputs where its node gives 1", "Scan", x23, num_scan_inputs=1, body=body([one], [], ["one"]))
node("attribute", "num_scan_inputs is 0 of 1 inputs", "Scan", x23, body=body())
node("attribute", "scan_input_axes has length 2 where 1 is expected", "Scan", x23, num_scan_inputs=1, scan_input_axes=[0, 0],
     body=body([], ["e"], ["e"]))
node("unsupported", "a value changes its rank or element type from iteration to iteration", "Loop", (L, []), "", [3],
     body=body([true, helper.make_node("Unsqueeze", ["s", "axis"], ["t"]),
                helper.make_node("Constant", [], ["axis"], value_ints=[0])], ["i", "c", "s"], ["true", "t"]))
node("unsupported", "an output that each iteration adds to has a shape that only a run gives", "Loop", (L, []), "", [3],
     body=body([true, helper.make_node("NonZero", ["s"], ["t"])], ["i", "c", "s"], ["true", "s", "t"]), noutput=2)

# ---- models ----

relu = helper.make_node("Relu", ["x"], ["y"], name="the_node")
x = tensor_info("x", x23)
refuse("unknown_operators", "unsupported", ("operator Sparkle of domain ai.onnx, version 17, is not supported", "first",
                                             "operator Glow of domain com.example, version 4, is not supported",
                                             "operator Shine of domain ai.onnx, version 17"),
       make([helper.make_node("Sparkle", ["x"], ["a"], name="first"), helper.make_node("Glow", ["a"], ["b"], domain="com.example"),
             helper.make_node("Sparkle", ["b"], ["c"]),
             helper.make_node("If", ["c"], ["y"], then_branch=body([helper.make_node("Shine", ["b"], ["d"])], [], ["d"]),
                              else_branch=body([one], [], ["one"]))], [x], domains=[("com.example", 4)]))
refuse("ir_version_2", "unsupported", "IR version 2; known are 3 to 13", make([relu], [x], ir=2))
refuse("ir_version_99", "unsupported", "IR version 99; known are 3 to 13", make([relu], [x], ir=99))
refuse("opset_99", "unsupported", "operator set 99 of ai.onnx; known are 1 to 27", make([relu], [x], opset=99))
refuse("no_graph", "format", "has no graph; is it an ONNX file?", onnx.ModelProto(ir_version=8).SerializeToString())
refuse("truncated", "format", "the file is cut off after", make([relu], [x]).SerializeToString()[:-5])
refuse("text", "", "", b"this is no model\n")
refuse("value_twice", "name", "the value y is given twice", make([relu, helper.make_node("Abs", ["x"], ["y"])], [x]))
refuse("value_unknown", "name", "the value z is used, but no node before it gives it", make([helper.make_node("Relu", ["z"], ["y"])], [x]))
refuse("output_unknown", "name", "the value z is used, but no node before it gives it", make([relu], [x], ["z"]))
refuse("cycle", "format", "node first reads what is computed from its own output", make([helper.make_node("Add", ["x", "b"], ["a"], name="first"), helper.make_node("Relu", ["a"], ["b"])], [x], ["a"]))
refuse("input_twice", "name", "input x is stated twice", make([relu], [x, x]))
refuse("initializer_twice", "name", "initializer k is defined twice",
       make([relu], [x], constants=[numpy_helper.from_array(floats(1), "k")] * 2))
refuse("input_rank", "limit", "input x has rank 40; the limit is", make([relu], [tensor_info("x", [1] * 40)]))
refuse("input_string", "unsupported", "input x has element type STRING, which is not supported", make([relu], [tensor_info("x", x23, TensorProto.STRING)]))
refuse("input_sequence", "unsupported", "input x is a sequence; only tensors are supported",
       make([relu], [helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, None)]))


def with_constant(name, code, text, **fields):
    tensor = onnx.TensorProto(name="k", data_type=TensorProto.FLOAT, dims=[2, 3])
    for key, field in fields.items():
        if isinstance(field, list):
            del getattr(tensor, key)[:]
            getattr(tensor, key).extend(field)
        else:
            setattr(tensor, key, field)
    refuse("tensor_" + name, code, text, make([helper.make_node("Relu", ["k"], ["y"])], constants=[tensor]))


def external(**entries):
    return {"data_location": TensorProto.EXTERNAL,
            "external_data": [onnx.StringStringEntryProto(key=k, value=v) for k, v in entries.items()]}


with_constant("short", "format", "tensor k has 20 bytes where its shape needs 24", raw_data=bytes(20))
with_constant("few", "format", "tensor k has 20 bytes where its shape needs 24", float_data=[1.0] * 5)
with_constant("beyond", "format", "tensor k has an element that is none of FLOAT8E4M3FN", data_type=TensorProto.FLOAT8E4M3FN,
              int32_data=[0, 1, 2, 3, 255, 256])
with_constant("below", "format", "tensor k has an element that is none of INT8", data_type=TensorProto.INT8,
              int32_data=[0, 1, -128, 127, 0, -129])
with_constant("type", "unsupported", "tensor k has element type STRING, which is not supported", data_type=TensorProto.STRING)
with_constant("rank", "limit", "tensor k has rank 40; the limit is", dims=[1] * 40, raw_data=bytes(4))
with_constant("shape", "format", "tensor k has an impossible shape", dims=[2, -3], raw_data=bytes(24))
with_constant("huge", "", "tensor k", dims=[2 ** 40, 2 ** 40], raw_data=bytes(24))
with_constant("missing", "io", "", **external(location="nowhere.bin"))
with_constant("outside", "", "", **external(location="../../../etc/passwd"))
with_constant("absolute", "", "", **external(location="/etc/passwd"))
with_constant("offset", "format", "external data has offset x, which is no number", **external(location="generated.onnx", offset="x"))
with_constant("beyond", "format", "is to lie at byte 999999 of generated.onnx, 24 bytes long", **external(location="generated.onnx", offset="999999"))
sparse = make([relu], [x])
sparse.graph.sparse_initializer.add()
refuse("sparse", "unsupported", "sparse initializers are not supported", sparse)


def wire(number, payload):
    """A field of bytes as protobuf has it: the library itself nests no deeper than 100."""
    size, length = len(payload), b""
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + payload


def deep_graphs(count):
    graph = b""
    for _ in range(count):  # GraphProto.node, NodeProto.attribute, AttributeProto.g
        graph = wire(1, wire(4, b"If") + wire(5, wire(1, b"then_branch") + wire(6, graph)))
    return b"\x08\x08" + wire(7, graph)


refuse("deep", "limit", "graphs nest deeper than", deep_graphs(300))

# ---- functions of the model ----

def functions(name, code, text, call, *protos):
    refuse("function_" + name, code, text, make([call], [x], functions=protos, domains=[("own", 1)]))


def function(name, inputs, outputs, nodes):
    return helper.make_function("own", name, inputs, outputs, nodes, [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)])


calls_g, calls_f = helper.make_node("g", ["a"], ["b"], domain="own"), helper.make_node("f", ["a"], ["b"], domain="own")
call = helper.make_node("f", ["x"], ["y"], domain="own", name="the_node")
functions("cycle", "format", "function f calls itself", call, function("f", ["a"], ["b"], [calls_g]), function("g", ["a"], ["b"], [calls_f]))
functions("arguments", "format", "function f has 0 inputs and 1 outputs where its call has 1 and 1", call,
          function("f", [], ["b"], [helper.make_node("Constant", [], ["b"], value_float=1.0)]))
functions("unknown", "unsupported", "operator Sparkle of domain ai.onnx, version 17", call,
          function("f", ["a"], ["b"], [helper.make_node("Sparkle", ["a"], ["b"])]))

# ---- what the caller fixes ----

symbolic = make([helper.make_node("Reshape", ["x", "s"], ["y"])], [tensor_info("x", ["n", 3]), tensor_info("s", [2], L)])
refuse("given_unused", "name", "has no input for m=4; it has x, s", symbolic, ["m=4"])
refuse("given_form", "argument", "NAME=VALUE is expected", symbolic, ["m"])
refuse("given_input", "argument", "input s is given as [1; a number or [NUMBER, ...] is expected", symbolic, ["s=[1"])
refuse("given_count", "argument", "input s is given as 3 numbers, which its shape is not for", symbolic, ["s=[1, 2, 3]"])


# ---- running them ----

def check(driver, code, texts, model, fixed):
    path = os.path.join(driver.folder.name, "generated.onnx")
    with open(path, "wb") as file:
        file.write(model)
    try:
        driver.open(path, fixed=fixed)
    except harness.Refused as error:
        if error.code in ("crash", "internal") or (code and error.code != code):
            return f"code {error.code}, expected {code}: {error.text}"
        missing = [t for t in ([texts] if isinstance(texts, str) else texts) if t not in error.text]
        return f"{missing} not said: {error.text}" if missing else None
    return "accepted"


def main():
    driver = harness.Driver(sys.argv[1])
    patterns, failed, count = sys.argv[2:] or ["*"], 0, 0
    for name, code, texts, model, fixed in CASES:
        if any(fnmatch.fnmatchcase(name, p) for p in patterns):
            count += 1
            problem = check(driver, code, texts, model, fixed)
            if problem:
                failed += 1
                print(f"{name}: {problem}")
    driver.close()
    print(f"{count - failed} of {count} models are refused as stated")
    return failed != 0 or count == 0


sys.exit(main())
