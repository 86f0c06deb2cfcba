"""What `baton run` settles by the values that it is given: onnx_cli.py BATON [NAME]...

Runs the cases of onnx_node_suite.py that have small inputs besides the first, which may decide axes, counts and shapes, as a user
does: every input by -i, and no --fix. Those that the suite expects to pass must give what they state.
"""
import fnmatch
import glob
import os
import re
import subprocess
import sys
import tempfile

import harness

harness.need_packages("numpy", "onnx", "ml_dtypes")
import numpy
import onnx
from onnx_node_suite import compare, expectations, find_cases, fixed_inputs, read_expected, read_list


def saved_name(name):
    return re.sub(r"[^A-Za-z0-9._-]", "_", name) + ".npy"


def run_case(baton, path):
    """None, or what is wrong; and whether the program settled something by itself."""
    graph = onnx.load(os.path.join(path, "model.onnx")).graph
    folder = os.path.join(path, "test_data_set_0")
    command = [baton, "run", os.path.join(path, "model.onnx")]
    for i, info in enumerate(graph.input):
        file = os.path.join(folder, f"input_{i}.pb")
        if os.path.exists(file):
            command += ["-i", f"{info.name}={file}"]
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run(command + ["-o", out], capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr.strip().split("\n")[0], False
        for i, info in enumerate(graph.output):
            got = numpy.load(os.path.join(out, saved_name(info.name)))
            problem = compare(got, read_expected(os.path.join(folder, f"output_{i}.pb")))
            if problem:
                return f"output {i}: {problem}", False
    return None, "as a constant" in done.stderr


def is_plain(path):
    graph = onnx.load(os.path.join(path, "model.onnx")).graph
    values = list(graph.input) + list(graph.output)
    return all(value.type.HasField("tensor_type") for value in values) and fixed_inputs(path)


def main():
    names = sys.argv[2:] or ["*"]
    cases = {case: path for case, path in find_cases().items()
             if any(fnmatch.fnmatchcase(case, name) for name in names) and is_plain(path)}
    expected = expectations(cases, read_list())
    npassed = nsettled = nwrong = 0
    for case, path in cases.items():
        problem, is_settled = run_case(sys.argv[1], path)
        npassed += not problem
        nsettled += is_settled
        if problem and expected.get(case, ("pass", ""))[0] == "pass":
            nwrong += 1
            print(f"{case}: {problem}")
    print(f"{len(cases)} cases, {npassed} pass, {nsettled} of them with inputs that became constants; {nwrong} wrong")
    return nwrong != 0 or (npassed == 0 and cases)


if __name__ == "__main__":
    sys.exit(main())
