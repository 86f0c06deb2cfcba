"""The conformance suite of the onnx package: onnx_node_suite.py DRIVER [--write] [NAME]...

Runs every case of the groups below through Baton, within rtol 1e-3 and atol 1e-7, shapes and element types exactly.
onnx_expected.txt names each case that does not pass, and why; a case that passes or fails against it fails the run.
  NAME      runs these cases only and shows what they give
  --write   writes the list anew from what it finds; reasons are to be read and completed by hand
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
GROUPS = ["node", "simple", "pytorch-operator", "pytorch-converted"]
LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "onnx_expected.txt")


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


def compare(got, want):
    """None, or how they differ."""
    if got.dtype == numpy.dtype("V2"):
        got = got.view(ml_dtypes.bfloat16)
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


def run_set(driver, folder, ninput, noutput):
    """None, or what is wrong with the outputs for one data set."""
    inputs = glob.glob(os.path.join(folder, "input_*.pb"))
    outputs = glob.glob(os.path.join(folder, "output_*.pb"))
    if len(inputs) != ninput or len(outputs) != noutput:
        return f"{ninput} inputs and {noutput} outputs where the case has {len(inputs)} and {len(outputs)}"
    for i in range(ninput):
        driver.set(i, os.path.join(folder, f"input_{i}.pb"))
    got = driver.run(noutput)
    for i in range(noutput):
        problem = compare(got[i], read_expected(os.path.join(folder, f"output_{i}.pb")))
        if problem:
            return f"output {i}: {problem}"
    return None


def run_case(driver, path):
    """("pass" | "refused" | "fail", reason). Refused: Baton says that it does not support the model."""
    try:
        ninput, noutput = driver.open(os.path.join(path, "model.onnx"))
    except harness.Refused as error:
        return ("refused" if error.code == "unsupported" else "fail"), str(error)
    try:
        for folder in sorted(glob.glob(os.path.join(path, "test_data_set_*"))):
            problem = run_set(driver, folder, ninput, noutput)
            if problem:
                return "fail", problem
    except harness.Refused as error:
        return "fail", str(error)
    return "pass", ""


def read_list():
    """Pattern -> (kind, reason)."""
    out = {}
    with open(LIST, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                pattern, kind, reason = line.rstrip("\n").split(None, 2)
                out[pattern] = (kind, reason)
    return out


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
        if kind != stated:
            wrong += 1
            print(f"{case}: {kind} where {stated} is expected: {reason or why}")
    for pattern in rows:
        if not fnmatch.filter(results, pattern):
            wrong += 1
            print(f"{pattern}: no such case")
    return wrong


def summarise(results):
    print("group              passed claimed  total")
    for group in GROUPS + [""]:
        kinds = collections.Counter(k for case, (k, _) in results.items() if case.startswith(group))
        total = sum(kinds.values())
        print(f"{group or 'all':18} {kinds['pass']:6} {total - kinds['refused']:7} {total:6}")


def write_list(results):
    with open(LIST, "w", encoding="utf-8") as file:
        for case, (kind, reason) in results.items():
            if kind != "pass":
                file.write(f"{case} {kind} {reason}\n")


def main():
    names = [a for a in sys.argv[2:] if not a.startswith("-")]
    driver = harness.Driver(sys.argv[1])
    cases = find_cases()
    if names:
        cases = {c: p for c, p in cases.items() if any(fnmatch.fnmatchcase(c, n) for n in names)}
    results = {case: run_case(driver, path) for case, path in cases.items()}
    driver.close()
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


sys.exit(main())
