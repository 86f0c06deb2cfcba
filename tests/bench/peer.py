"""Times ONNX Runtime on a model, as a peer for `baton bench`: peer.py [--threads N] [--warmup N] [--repeat N] MODEL.onnx
Run it with the packages of the tests: tests/run-python BUILD tests/bench/peer.py ...     Models: tests/model/zoo.py.

Prints one JSON object: median_ms, min_ms and max_ms of the repetitions, quartile_ms (first and third), and what was run: runtime,
model, threads, warmup, repeat. All graph optimisations are on, threads spin between runs as they do by default; inputs are random
and given once. A repetition is one whole call. For a fair pair run both programs in turn on an otherwise idle machine.
"""
import argparse
import json
import statistics
import sys
import time

import numpy
import onnxruntime

DTYPES = {"tensor(float)": numpy.float32, "tensor(double)": numpy.float64, "tensor(float16)": numpy.float16}


def open_session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def random_inputs(session):
    random, feeds = numpy.random.default_rng(1), {}
    for port in session.get_inputs():
        if port.type not in DTYPES or not all(isinstance(d, int) for d in port.shape):
            sys.exit(f"peer.py: input {port.name} is {port.type}{port.shape}, expected floats of a known shape")
        feeds[port.name] = random.uniform(-1, 1, port.shape).astype(DTYPES[port.type])
    return feeds


def time_runs(session, feeds, warmup, repeat):
    """Milliseconds of each repetition."""
    times = []
    for i in range(warmup + repeat):
        start = time.perf_counter_ns()
        session.run(None, feeds)
        if i >= warmup:
            times.append((time.perf_counter_ns() - start) / 1e6)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=50)
    options = parser.parse_args()
    if options.threads < 1 or options.warmup < 0 or options.repeat < 2:
        parser.error("threads must be 1 at least, repetitions 2")
    try:
        session = open_session(options.model, options.threads)
    except Exception as error:  # the runtime has an exception class for each way to fail
        sys.exit(f"peer.py: {error}")
    times = time_runs(session, random_inputs(session), options.warmup, options.repeat)
    figures = {"median_ms": statistics.median(times), "min_ms": min(times), "max_ms": max(times)}
    first, _, third = statistics.quantiles(times, n=4, method="inclusive")
    answer = {**{k: round(v, 4) for k, v in figures.items()}, "quartile_ms": [round(first, 4), round(third, 4)],
              "runtime": f"onnxruntime {onnxruntime.__version__}", **vars(options)}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
