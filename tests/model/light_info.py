"""What is known of the nine networks of the ONNX backend suite: light_info.py BATON

`baton info` counts the multiply-adds of convolutions and products that follow from ONNX's own shape inference, within what it prints (3
digits), and those stated in the literature within 2 %; with weights in place of constants, the parameters that each network has.
Every binding names the node that it came from, after import and after the default pipeline."""
import os
import re
import subprocess
import sys

import harness

harness.need_packages("numpy", "onnx")
import numpy
import onnx
from onnx import numpy_helper

# Millions of multiply-adds for one image of 224 x 224, and parameters, the statistics of batch norm and the scales
# beside it counted (densenet121's convolutions are followed by both).
KNOWN_MACS = {"bvlc_alexnet": 655, "densenet121": 2834, "inception_v1": 1432, "resnet50": 4089, "squeezenet": 349, "vgg19": 19632}
KNOWN_PARAMETERS = {"densenet121": 7978856 + 2 * 83648, "inception_v1": 6998552, "squeezenet": 1235496}
UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}


def shapes_of(model):
    graph = onnx.shape_inference.infer_shapes(model).graph
    out = {t.name: list(t.dims) for t in graph.initializer}
    for info in list(graph.value_info) + list(graph.input) + list(graph.output):
        out[info.name] = [d.dim_value for d in info.type.tensor_type.shape.dim]
    tensors = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            out[node.output[0]] = tensors[node.input[0]].tolist()
    return out


def count_macs(model):
    """Each element of the result takes a column of the weight."""
    shapes, total = shapes_of(model), 0
    for node in model.graph.node:
        if node.op_type == "Conv":
            total += numpy.prod(shapes[node.output[0]]) * numpy.prod(shapes[node.input[1]][1:])
        elif node.op_type == "Gemm":
            (turned,) = [a.i for a in node.attribute if a.name == "transB"] or [0]
            total += numpy.prod(shapes[node.output[0]]) * shapes[node.input[1]][turned]
    return int(total)


def said_macs(text):
    rows = re.findall(r"^nn\.(?:conv2d|dense|matmul) +\d+ +([\d.]+) ?([kMG]?)", text, re.M)
    return sum(float(number) * UNITS[unit] for number, unit in rows)


def with_weights(model):
    """Splats become initializers, which are parameters."""
    graph = model.graph
    shapes = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    kept = []
    for node in graph.node:
        if node.op_type == "ConstantOfShape" and node.input[0] in shapes:
            graph.initializer.append(numpy_helper.from_array(numpy.ones(shapes[node.input[0]], numpy.float32), node.output[0]))
        else:
            kept.append(node)
    del graph.node[:]
    graph.node.extend(kept)
    model.ir_version = max(model.ir_version, 4)


def run(program, *args):
    return subprocess.run([program, *args], check=True, capture_output=True, text=True).stdout


def check_provenance(program, path, names, *args):
    """None, or a binding that names no node of the model."""
    text = run(program, "opt", path, "--spans", *args)
    origins = dict(re.findall(r'^#\[origin (\d+) = 0:"([^"]*)"\]', text, re.M))
    for line in re.findall(r"^ +%.* = .*", text, re.M):
        found = re.search(r" from (\d+(?:, \d+)*);", line)
        if not found or not all(origins.get(i) in names for i in found[1].split(", ")):
            return line.strip()
    return None


def check(program, path, folder):
    model, wrong = onnx.load(path), []
    net = os.path.basename(path)[len("light_"):-len(".onnx")]
    names = {node.name or node.output[0] for node in model.graph.node}
    want, got = count_macs(model), said_macs(run(program, "info", path))
    if abs(got - want) > 0.005 * want:
        wrong.append(f"{got:.4g} multiply-adds, expected {want:.4g}")
    if net in KNOWN_MACS and abs(want - KNOWN_MACS[net] * 1e6) > 0.02 * want:
        wrong.append(f"{want / 1e6:.5g} M multiply-adds, the literature has {KNOWN_MACS[net]} M")
    for args in [], ["--pipeline=default"]:
        unnamed = check_provenance(program, path, names, *args)
        if unnamed:
            wrong.append(f"{args}: no node is named by {unnamed[:100]}")
    if net in KNOWN_PARAMETERS:
        with_weights(model)
        onnx.save(model, os.path.join(folder, "weights.onnx"))
        said = re.search(r'"parameters": (\d+)', run(program, "info", os.path.join(folder, "weights.onnx"), "--json"))
        if int(said[1]) not in range(KNOWN_PARAMETERS[net], KNOWN_PARAMETERS[net] + 16):  # shapes of reshapes are constants too
            wrong.append(f"{said[1]} parameters, expected {KNOWN_PARAMETERS[net]}")
    print(f"{net}: {want / 1e6:.5g} M multiply-adds, {'; '.join(wrong) or 'as known'}")
    return not wrong


sys.exit(harness.check_light(check, sys.argv[1]))
