"""The conformance suite of the onnx package: onnx_node_suite.py DRIVER [--write | --table] [NAME]...

Runs every case of the groups below through Baton, within rtol 1e-3 and atol 1e-7, shapes and element types exactly.
onnx_expected.txt names each case that does not pass, and why; a case that passes or fails against it fails the run.
  NAME      runs these cases only and shows what they give
  --write   writes the list anew from what it finds; reasons are to be read and completed by hand
  --table   runs every executor in turn, and shows how many cases pass on each
With BATON_MODEL_TARGET (driver.c) what only executors with branches run is refused besides: onnx_expected_compiled.txt names that.
With BATON_MODEL_EXECUTOR=vm too nothing is: vm passes what interp passes. BATON_MODEL_EXECUTOR=written runs the C that executor aot
writes (tests/aot): it too passes what interp passes.
"""
import collections
import fnmatch
import glob
import os
import sys

import harness

harness.need_packages("numpy", "onnx", "ml_dtypes")
import ml_dtypes
import numpy
import onnx
import onnx.backend.test
from onnx import numpy_helper

RTOL, ATOL = 1e-3, 1e-7
FLOAT8S = ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]
PACKED = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2, "float4_e2m1fn": 4}  # bits of an element; npy has the bytes
GROUPS = ["node", "simple", "pytorch-operator", "pytorch-converted"]
TARGET = "BATON_MODEL_TARGET"
EXECUTOR = "BATON_MODEL_EXECUTOR"
EXECUTORS = {"interp": "", "graph": "cpu", "vm": "cpu", "written": ""}  # executor -> target (driver.c)
HERE = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(HERE, "onnx_expected.txt")
OWN_LISTS = {"graph": os.path.join(HERE, "onnx_expected_compiled.txt")}


def find_cases():
    """Group/name -> folder."""
    data = os.path.join(os.path.dirname(onnx.backend.test.__file__), "data")
    return {f"{group}/{os.path.basename(path)}": path
            for group in GROUPS for path in sorted(glob.glob(os.path.join(data, group, "test_*")))}


def read_expected(path):
    tensor = onnx.TensorProto()
    with open(path, "rb") as file:
        tensor.ParseFromString(file.read())
    return numpy_helper.to_array(tensor)


def read_outputs(folder, infos):
    """What a case states; the elements of sequences one after the other, as the driver gives fields of tuples."""
    out = []
    for i, info in enumerate(infos):
        path = os.path.join(folder, f"output_{i}.pb")
        if info.type.HasField("tensor_type"):
            out.append(read_expected(path))
            continue
        sequence = onnx.SequenceProto()
        with open(path, "rb") as file:
            sequence.ParseFromString(file.read())
        out.extend(numpy_helper.to_array(tensor) for tensor in sequence.tensor_values)
    return out


def unpacked(data, want):
    """Bytes as elements, the first in the lowest bits; ml_dtypes has a byte for each."""
    width = PACKED[want.dtype.name]
    codes = (data[:, None] >> numpy.arange(0, 8, width, dtype=numpy.uint8) & ((1 << width) - 1)).astype(numpy.uint8).ravel()
    return codes[:want.size].view(want.dtype).reshape(want.shape)


def compare(got, want):
    """None, or how they differ."""
    if got.dtype == numpy.dtype("V2"):
        got = got.view(ml_dtypes.bfloat16)
    if got.dtype == numpy.dtype("V1") and want.dtype.name in FLOAT8S:  # npy says no more of them than their width
        got = got.view(want.dtype)
    if got.dtype == numpy.dtype("V1") and want.dtype.name in PACKED:
        got = unpacked(got.view(numpy.uint8), want)
    if got.dtype != want.dtype:
        return f"element type {got.dtype}, expected {want.dtype}"
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if want.dtype.kind not in "biuf":
        got, want = got.astype(numpy.float32), want.astype(numpy.float32)
    bad = ~numpy.isclose(got, want, rtol=RTOL, atol=ATOL, equal_nan=True)
    if not bad.any():
        return None
    at = tuple(int(i) for i in numpy.argwhere(bad)[0])
    return f"{int(bad.sum())} of {bad.size} elements differ, first {at}: {got[at]}, expected {want[at]}"


def fixable(name, tensor):
    """Whether an input may be fixed when the model is imported: small, and a number or a list of them."""
    return tensor.ndim <= 1 and tensor.size <= 64 and (tensor.dtype.kind in "iub" or name in ("scales", "roi"))


def fixed_inputs(path):
    """What fixes the inputs that decide axes, counts and shapes: all but the first that are small."""
    model = onnx.load(os.path.join(path, "model.onnx"))
    out = {}
    for i, info in enumerate(model.graph.input):
        file = os.path.join(path, "test_data_set_0", f"input_{i}.pb")
        if i and os.path.exists(file) and info.type.HasField("tensor_type"):
            tensor = read_expected(file)
            if fixable(info.name, tensor):
                numbers = [repr(v) for v in (tensor + 0).flatten().tolist()]
                out[i] = f"{info.name}=" + (f"[{', '.join(numbers)}]" if tensor.ndim else numbers[0])
    return out


def run_set(driver, folder, fixed, ninput, noutput):
    """None, or what is wrong with the outputs for one data set."""
    inputs = glob.glob(os.path.join(folder, "input_*.pb"))
    wanted = read_outputs(folder, onnx.load(os.path.join(os.path.dirname(folder), "model.onnx")).graph.output)
    if len(inputs) != ninput + len(fixed) or len(wanted) != noutput:
        return f"{ninput} inputs and {noutput} outputs where the case has {len(inputs)} and {len(wanted)}"
    position = 0
    for i in range(len(inputs)):
        if i not in fixed:
            driver.set(position, os.path.join(folder, f"input_{i}.pb"))
            position += 1
    got = driver.run(noutput)
    for i in range(noutput):
        problem = compare(got[i], wanted[i])
        if problem:
            return f"output {i}: {problem}"
    return None


def run_sets(driver, path, fixed, ninput, noutput):
    """None, or what is wrong with the outputs for a data set."""
    for folder in sorted(glob.glob(os.path.join(path, "test_data_set_*"))):
        problem = run_set(driver, folder, fixed, ninput, noutput)
        if problem:
            return problem
    return None


def run_case(driver, path):
    """("pass" | "fixed" | "refused" | "fail", reason). Refused: Baton says that it does not support the model; fixed:
    it passes with inputs fixed at import, which they are only where the model, or the executor, needs that."""
    for fixed in [{}, fixed_inputs(path)]:
        is_open = False
        try:
            counts = driver.open(os.path.join(path, "model.onnx"), fixed=fixed.values())
            is_open = True
            problem = run_sets(driver, path, fixed, *counts)
        except harness.Refused as error:
            kind, reason = "refused" if error.code == "unsupported" and not is_open else "fail", str(error)
            if error.code in ("crash", "internal") or (is_open and error.code != "unsupported"):
                break
            continue
        return ("fail", problem) if problem else ("fixed", ", ".join(fixed.values())) if fixed else ("pass", "")
    return kind, reason


def read_list_of(path):
    out = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.strip() and not line.startswith("#"):
                    pattern, kind, reason = line.rstrip("\n").split(None, 2)
                    out[pattern] = (kind, reason)
    return out


def own_list():
    """The list of what the executor alone does not pass; None: it has none."""
    return OWN_LISTS.get(os.environ.get(EXECUTOR, "graph" if TARGET in os.environ else "interp"))


def read_list():
    """Pattern -> (kind, reason); those of the executor first."""
    own = own_list()
    return {**(read_list_of(own) if own else {}), **read_list_of(LIST)}


def expectations(cases, rows):
    """Case -> (kind, reason): the first pattern that fits."""
    out = {}
    for case in cases:
        for pattern, row in rows.items():
            if fnmatch.fnmatchcase(case, pattern):
                out[case] = row
                break
    return out


def check(results, rows):
    """Compares what came out with the list; gives the number of disagreements."""
    expected = expectations(results, rows)
    wrong = 0
    for case, (kind, reason) in results.items():
        stated, why = expected.get(case, ("pass", ""))
        if ("pass" if kind == "fixed" else kind) != stated:
            wrong += 1
            print(f"{case}: {kind} where {stated} is expected: {reason or why}")
    for pattern in rows:
        if not fnmatch.filter(results, pattern):
            wrong += 1
            print(f"{pattern}: no such case")
    return wrong


def summarise(results):
    print("group              passed claimed  total   (of the passed, with inputs fixed at import)")
    for group in GROUPS + [""]:
        kinds = collections.Counter(k for case, (k, _) in results.items() if case.startswith(group))
        total = sum(kinds.values())
        passed = kinds["pass"] + kinds["fixed"]
        print(f"{group or 'all':18} {passed:6} {total - kinds['refused']:7} {total:6}   ({kinds['fixed']})")


def run_cases(program, cases):
    driver = harness.Driver(program)
    results = {case: run_case(driver, path) for case, path in cases.items()}
    driver.close()
    return results


def show_table(program, cases):
    """Exit status: whether some executor does not give what its list says."""
    passed, wrong = {}, 0
    for name, target in EXECUTORS.items():
        os.environ.pop(TARGET, None)
        os.environ[EXECUTOR] = name
        if target:
            os.environ[TARGET] = target
        results = run_cases(program, cases)
        wrong += check(results, read_list())
        passed[name] = {case for case, (kind, _) in results.items() if kind in ("pass", "fixed")}
    print("group             " + "".join(f"{name:>8}" for name in EXECUTORS) + "   total")
    for group in GROUPS + [""]:
        counts = [sum(case.startswith(group) for case in passed[name]) for name in EXECUTORS]
        print(f"{group or 'all':18}" + "".join(f"{n:8}" for n in counts) + f"{sum(case.startswith(group) for case in cases):8}")
    return wrong != 0


def write_list(results):
    own = own_list()
    expected = expectations(results, read_list_of(LIST) if own else {})
    with open(own or LIST, "w", encoding="utf-8") as file:
        for case, (kind, reason) in results.items():
            if kind in ("refused", "fail") and expected.get(case, ("", ""))[0] != kind:
                file.write(f"{case} {kind} {reason}\n")


def main():
    names = [a for a in sys.argv[2:] if not a.startswith("-")]
    cases = find_cases()
    if names:
        cases = {c: p for c, p in cases.items() if any(fnmatch.fnmatchcase(c, n) for n in names)}
    if "--table" in sys.argv:
        return show_table(sys.argv[1], cases)
    results = run_cases(sys.argv[1], cases)
    if "--write" in sys.argv:
        write_list(results)
    if names:
        for case, (kind, reason) in results.items():
            print(f"{case}: {kind} {reason}")
        return 0
    wrong = check(results, read_list())
    for case, (kind, reason) in results.items():
        if kind == "fail":
            print(f"claimed, but wrong: {case}: {reason}")
    summarise(results)
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
