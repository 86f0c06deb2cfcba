"""overlap.py BATON FOLDER TARGETS OTHER: work of the accelerator and of OTHER ("host", "opencl kernels") overlaps.

Runs overlap.baton with a trace until a kernel in queue "npu kernels" and one on track OTHER have a time in common, 20 times at
most: threads may be late. The results are those of interp but for rounding in each run. 77: a target has no device here."""
import json
import os
import subprocess
import sys

baton, folder, targets, other = sys.argv[1:]
program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "overlap.baton")
os.makedirs(folder, exist_ok=True)
trace = os.path.join(folder, "trace.json")


def run(*options):
    done = subprocess.run([baton, "run", program, "-i", "x=random:1", *options], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if "there is no OpenCL here" in done.stdout or "no driver with a device" in done.stdout:
        print("skipped:", done.stdout)
        sys.exit(77)
    if done.returncode:
        print(done.stdout)
        sys.exit(1)


def common():
    """The two calls with the longest time in common, in microseconds."""
    with open(trace) as file:
        events = json.load(file)["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
    calls = {name: [e for e in events if e["ph"] == "X" and names[e["tid"]] == name] for name in ("npu kernels", other)}
    best = (0, "", "")
    for a in calls["npu kernels"]:
        for b in calls[other]:
            length = min(a["ts"] + a["dur"], b["ts"] + b["dur"]) - max(a["ts"], b["ts"])
            best = max(best, (length, a["name"], b["name"]))
    return best


run("--executor", "interp", "-o", os.path.join(folder, "expected"))
for attempt in range(20):
    run("--executor", "graph", "--target", targets, "--trace", trace, "-o", os.path.join(folder, "found"))
    code = subprocess.call([baton, "compare", os.path.join(folder, "found"), os.path.join(folder, "expected"), "--atol", "1e-5"],
                           stdout=subprocess.DEVNULL)
    if code:
        sys.exit("another result than interp's")
    length, first, second = common()
    if length > 0:
        print(f"{first} and {second} have {length:.1f} us in common, run {attempt + 1}")
        sys.exit(0)
sys.exit(f"no time in common of npu kernels and {other} in 20 runs: {trace}")
