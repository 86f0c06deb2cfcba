"""Files of ONNX models, large and wrong ones: onnx_files.py BATON

What memory `baton` needs for models with weights of 128 MiB, beside the model and within it, where they need not be aligned; weights that
are not fetched, or go away; dims that have no name.
"""
import io
import os
import subprocess
import sys
import tempfile

import harness

harness.need_packages("numpy", "onnx")
import numpy
from onnx import TensorProto, helper, numpy_helper, save

SIZE, COUNT = 2048, 8
WEIGHT = SIZE * SIZE * 4
MIB = 1 << 20
faults = 0


# What a process has had at most counts that of the one that it was forked from: this one is small.
MEASURE = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024, file=sys.stderr)
"""


def run(*command):
    """Exit code, what was printed, and the most memory that it had, in bytes."""
    done = subprocess.run([sys.executable, "-S", "-E", "-c", MEASURE, *command], capture_output=True, text=True, check=True)
    said, _, last = done.stderr.rstrip().rpartition("\n")
    code, peak = last.split()
    return int(code), done.stdout + said, int(peak)


def check(what, holds, said):
    global faults
    if not holds:
        print(f"{what}: {said}")
        faults += 1


def product(op, *names):
    return helper.make_node("Gemm", *names, transB=1) if op == "Gemm" else helper.make_node(op, *names)


def layers(weights, lines, op="Gemm"):
    """A chain of dense layers: Gemm takes weights as they are, those of MatMul are transposed."""
    nodes, value = [], "x"
    for weight in weights:
        nodes += [product(op, [value, weight.name], [f"m_{weight.name}"]), helper.make_node("Relu", [f"m_{weight.name}"], [f"h_{weight.name}"])]
        value = nodes[-1].output[0]
    graph = helper.make_graph(nodes, "layers", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [lines, SIZE])],
                              [helper.make_empty_tensor_value_info(value)], weights)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def table(rows):
    """Rows that are taken by number. Nothing packs the table; it lies at an odd byte of the file."""
    graph = helper.make_graph([helper.make_node("Gather", ["w", "x"], ["y"])], "table", [helper.make_tensor_value_info("x", TensorProto.INT64, [3])],
                              [helper.make_empty_tensor_value_info("y")], [numpy_helper.from_array(rows, "w")])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    while model.SerializeToString().find(rows[0].tobytes()) % 2 == 0:
        graph = model.graph
        graph.name += "."
    return model


def beside(i, location="weights.bin", offset=None):
    tensor = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[SIZE, SIZE], data_location=TensorProto.EXTERNAL)
    for key, text in [("location", location), ("offset", str(i * WEIGHT if offset is None else offset)), ("length", str(WEIGHT))]:
        tensor.external_data.add(key=key, value=text)
    return tensor


def check_memory(baton, folder):
    random = numpy.random.default_rng(1)
    kinds = [random.random((SIZE, SIZE), numpy.float32) - 0.5 for _ in range(COUNT)]
    with open(os.path.join(folder, "weights.bin"), "wb") as file:
        for weight in kinds:
            file.write(weight.tobytes())
    total = COUNT * WEIGHT
    own = [numpy_helper.from_array(kinds[i], f"w{i}") for i in range(COUNT)]
    models = {"outside.onnx": layers([beside(i) for i in range(COUNT)], 16), "inside.onnx": layers(own, 16),
              "inside_turned.onnx": layers(own, 16, "MatMul"), "table.onnx": table(numpy.concatenate(kinds))}
    artifact = os.path.join(folder, "out.bta")
    for name, model in models.items():
        path = os.path.join(folder, name)
        save(model, path)
        code, said, peak = run(baton, "info", path)
        check(f"info of {name}, {peak / MIB:.0f} MiB", code == 0 and peak < 50 * MIB, said)
        print(f"info of {total / MIB:.0f} MiB, {name}: {peak / MIB:.0f} MiB")
        code, said, peak = run(baton, "compile", path, "-o", artifact)
        check(f"compile of {name}, {peak / MIB:.0f} MiB", code == 0 and peak < 1.2 * total + 50 * MIB, said)
        print(f"compile of {total / MIB:.0f} MiB, {name}: {peak / MIB:.0f} MiB")
        os.remove(artifact)
        os.remove(path)


def check_files(baton, folder):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 1000\n"
    for name in ["pointer.onnx", "pointer.bin"]:
        with open(os.path.join(folder, name), "w") as file:
            file.write(pointer)
    model = os.path.join(folder, "model.onnx")
    code, said, _ = run(baton, "info", os.path.join(folder, "pointer.onnx"))
    check("a pointer of Git LFS", code == 1 and "pointer.onnx is a pointer of Git LFS" in said, said)
    save(layers([beside(0, "pointer.bin")], 1), model)
    code, said, _ = run(baton, "info", model)
    check("weights that are one", code == 1 and "pointer.bin is a pointer of Git LFS" in said and "git lfs pull" in said, said)
    with open(os.path.join(folder, "sparse.bin"), "wb") as file:  # 3 GiB of which nothing is read
        file.truncate(3 << 30)
    save(layers([beside(0, "sparse.bin", (3 << 30) - WEIGHT)], 1), model)
    code, said, peak = run(baton, "info", model)
    check(f"the end of a large file, {peak / MIB:.0f} MiB", code == 0 and peak < 50 * MIB, said)
    save(layers([beside(0, "sparse.bin", (3 << 30) - WEIGHT + 4)], 1), model)
    code, said, peak = run(baton, "info", model)
    check("beyond its end", code == 1 and f"{WEIGHT} bytes long; the file has {3 << 30} bytes" in said and peak < 50 * MIB, said)


def check_shortened(baton, folder):
    """Weights that go away between the import and the run: an error that names the file, not a crash."""
    weights, values, path = (os.path.join(folder, name) for name in ["lost.bin", "x.npy", "lost.onnx"])
    with open(weights, "wb") as file:
        file.truncate(WEIGHT)
    save(layers([beside(0, "lost.bin")], 1), path)
    content = io.BytesIO()
    numpy.save(content, numpy.ones((1, SIZE), numpy.float32))
    os.mkfifo(values)  # the program is open when it reads what it runs on
    command = [baton, "run", path, "--executor", "interp", "--no-specialise", "-i", f"x={values}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        with open(values, "wb") as file:
            os.truncate(weights, 4096)
            file.write(content.getvalue())
        said = process.communicate()[0]
    check(f"weights that are lost, {process.returncode}",
          process.returncode == 1 and f"error: {os.path.realpath(weights)}: it was made shorter while it was in use" in said, said)


def check_dims(baton, folder):
    """Dims without a name are called by their place; --dim takes what messages and `info` say."""
    path = os.path.join(folder, "dims.onnx")
    graph = helper.make_graph([helper.make_node("Add", ["Input3", "b"], ["y"])], "dims",
                              [helper.make_tensor_value_info("Input3", TensorProto.FLOAT, [None, 3, None]),
                               helper.make_tensor_value_info("b", TensorProto.FLOAT, ["batch", 1, 1])],
                              [helper.make_empty_tensor_value_info("y")])
    save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)
    code, said, _ = run(baton, "info", path)
    check("info names dims", code == 0 and '("Input3.0", 3, "Input3.2")' in said, said)
    code, said, _ = run(baton, "info", path, "--dim", "Input3.0=2", "--dim", "Input3.2=4", "--dim", "batch=2")
    check("dims by place", code == 0 and "(2, 3, 4)" in said, said)
    code, said, _ = run(baton, "info", path, "--dim", "n=2")
    check("a dim that there is not", code == 1 and "Input3.0" in said and "Input3.2" in said and "batch" in said, said)
    given = ["-i", "Input3=[[[1],[2],[3]]]", "-i", "b=[[[1]]]"]
    code, said, _ = run(baton, "run", path, *given)
    check("dims by values", code == 0 and "Input3.0=1, Input3.2=1, batch=1" in said, said)


def check_values(baton, folder):
    """Inputs that NumPy compressed."""
    path, values = os.path.join(folder, "double.baton"), os.path.join(folder, "values.npz")
    with open(path, "w") as file:
        file.write('#[version = "baton 0.1"]\ndef @main(%x: Tensor[(3), float32]) { add(%x, %x) }\n')
    numpy.savez_compressed(values, a=numpy.zeros(1000), b=numpy.array([1, 2, 3.5], numpy.float32))
    code, said, _ = run(baton, "run", path, "-i", f"x={values}:b")
    check("compressed values", code == 0 and "[2, 4, 7]" in said or "built without zlib" in said, said)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for part in [check_files, check_shortened, check_dims, check_values, check_memory]:
            part(os.path.abspath(sys.argv[1]), folder)
    return faults != 0


if __name__ == "__main__":
    sys.exit(main())
