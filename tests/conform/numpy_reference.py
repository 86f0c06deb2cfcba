#!/usr/bin/env python3
"""Compares what conform_dump wrote with NumPy.

    numpy_reference.py FOLDER [OPERATOR]

Each operator has a reference function in reference/, written from its documentation. Inputs reach it as
NumPy arrays, floats widened to float64; its result is rounded to the result's dtype and compared: integers
and copies exactly, other floats within a number of units in the last place that the function states.
An operator without a function fails.
"""
import json
import os
import sys
import warnings
from pathlib import Path

try:
    import numpy as np
except ImportError as error:
    must_be = os.environ.get("CI") == "true"
    print(f"{'failed' if must_be else 'skipped'}: {error}; see tests/requirements.txt")
    sys.exit(1 if must_be else 77)

from reference import FUNCTIONS, Call, Mismatch, Undefined, compare, load


def check_call(function, record, arrays):
    """None, or what is wrong."""
    call = Call(record, arrays)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            expected = function(call, *call.args)
    except Undefined:
        return None
    except (IndexError, ValueError, ZeroDivisionError, OverflowError) as error:
        return None if record["failed"] else f"NumPy refuses what was computed: {error!r}"
    if record["failed"]:
        return f"fails ({record['failed']}), NumPy gives a result"
    expected = expected if isinstance(expected, tuple) else (expected,)
    if len(expected) != len(call.results):
        return f"{len(call.results)} results, NumPy gives {len(expected)}"
    for result, value in zip(call.results, expected):
        try:
            compare(result, value, function)
        except Mismatch as mismatch:
            return str(mismatch)
    return None


def describe(record):
    args = ", ".join(describe_arg(a) for a in record["args"])
    attrs = ", ".join(f"{k}={v!r}" for k, v in record["attrs"].items())
    return f"({args}) | {attrs}" if attrs else f"({args})"


def describe_arg(arg):
    if isinstance(arg, list):
        return "(" + ", ".join(describe_arg(a) for a in arg) + ")"
    return arg["dtype"] + str(arg["dims"])


def check_operator(path):
    """(number of calls, list of faults) of one operator."""
    name = path.stem
    records = json.loads(path.read_text())
    if name not in FUNCTIONS:
        return len(records), [f"{name}: has no reference function"]
    arrays = load(path.with_suffix(".npz"))
    faults = []
    for record in records:
        for leaf in leaves(record):
            leaf["dims"] = list(arrays[leaf["array"]].shape)
        wrong = check_call(FUNCTIONS[name], record, arrays)
        if wrong:
            faults.append(f"{name}{describe(record)}: {wrong}")
    return len(records), faults


def leaves(record):
    for arg in record["args"] + record["results"]:
        yield from arg if isinstance(arg, list) else [arg]


def main(folder, only=None):
    paths = sorted(p for p in Path(folder).glob("*.json") if only in (None, p.stem))
    ncall = nfault = 0
    for path in paths:
        n, faults = check_operator(path)
        ncall += n
        nfault += len(faults) > 0
        for fault in faults[:8]:
            print(fault)
        if len(faults) > 8:
            print(f"{path.stem}: {len(faults) - 8} more calls differ")
    print(f"{len(paths)} operators, {ncall} calls, {nfault} operators with faults")
    return 1 if nfault or not paths else 0


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: numpy_reference.py FOLDER [OPERATOR]")
    sys.exit(main(*sys.argv[1:]))
