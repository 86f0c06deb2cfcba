"""Times a peer on a model, for comparison with `baton bench`: peer.py [--runtime NAME] [--threads N] [--warmup N] [--repeat N] MODEL.onnx
Run it with the packages of the tests: tests/run-python BUILD tests/bench/peer.py ...     Models: tests/model/zoo.py.

--runtime NAME   onnxruntime, unless told; openvino; openvino-bf16, which may compute in bfloat16; pytorch, where it is installed with
                 onnx2torch, which makes modules of ONNX: the faster of these and what TorchScript makes of them, traced and frozen

Exit status 3: the runtime cannot run this model.

Prints one JSON object: median_ms, min_ms and max_ms of the repetitions, quartile_ms (first and third), and what was run: runtime,
model, threads, warmup, repeat. All graph optimisations are on, threads spin between runs where they do so by default; inputs are
random, or 1 if they are integers, and given once. A repetition is one whole call; those in which the system took the processor away are left out, unless they
are the most. For a fair pair run both programs in turn on an otherwise idle machine (tests/bench/peers).
"""
import argparse
import json
import resource
import statistics
import sys
import time
import warnings

import numpy

DTYPES = {"tensor(float)": numpy.float32, "tensor(double)": numpy.float64, "tensor(float16)": numpy.float16,
          "tensor(int64)": numpy.int64, "f32": numpy.float32, "f64": numpy.float64, "f16": numpy.float16, "i64": numpy.int64}


def random_array(name, dtype, shape):
    if dtype not in DTYPES or not all(isinstance(d, int) for d in shape):
        raise ValueError(f"input {name} is {dtype}{shape}, expected floats or int64 of a known shape")
    if DTYPES[dtype] is numpy.int64:
        return numpy.ones(shape, numpy.int64)
    return numpy.random.default_rng(1).uniform(-1, 1, shape).astype(DTYPES[dtype])


def open_onnxruntime(path, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feeds = {port.name: random_array(port.name, port.type, port.shape) for port in session.get_inputs()}
    return f"onnxruntime {onnxruntime.__version__}", lambda: session.run(None, feeds)


def open_openvino(path, threads, precision="f32"):
    import openvino
    options = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": precision}
    request = openvino.Core().compile_model(path, "CPU", options).create_infer_request()
    for i, port in enumerate(request.model_inputs):
        shape = [d.get_length() if d.is_static else None for d in port.partial_shape]
        request.set_input_tensor(i, openvino.Tensor(random_array(port.any_name, port.element_type.get_type_name(), shape)))
    return f"openvino {openvino.__version__.split('-')[0]} {precision}", request.infer


class Unsupported(Exception):
    """The runtime has no such operator."""


def best_of(runs):
    """The fastest of a few calls that do the same."""
    for run in runs:
        time_runs(run, 3, 2)  # the first calls compile
    return min(runs, key=lambda run: statistics.median(time_runs(run, 1, 5)))


def open_pytorch(path, threads):
    import onnx
    import onnx2torch
    import torch
    torch.set_num_threads(threads)
    model = onnx.load(path)
    try:
        module = onnx2torch.convert(model).eval()
    except NotImplementedError as error:
        raise Unsupported(f"onnx2torch: {error}") from error
    constants = {tensor.name for tensor in model.graph.initializer}
    ports = [port for port in model.graph.input if port.name not in constants]
    names = {onnx.TensorProto.FLOAT: "f32", onnx.TensorProto.DOUBLE: "f64", onnx.TensorProto.INT64: "i64"}
    inputs = [torch.from_numpy(random_array(port.name, names.get(port.type.tensor_type.elem_type),
                                            [dim.dim_value or None for dim in port.type.tensor_type.shape.dim])) for port in ports]

    def without_gradients(module):
        def run():
            with torch.inference_mode():
                return module(*inputs)
        return run

    runs = [without_gradients(module)]
    try:
        with torch.inference_mode(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what a trace makes a constant: shapes, which are known
            runs.append(without_gradients(torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(module, inputs)))))
    except RuntimeError as error:
        print(f"peer.py: no TorchScript: {error}", file=sys.stderr)
    return f"pytorch {torch.__version__}", best_of(runs)


RUNTIMES = {"onnxruntime": open_onnxruntime, "openvino": open_openvino,
            "openvino-bf16": lambda path, threads: open_openvino(path, threads, "bf16"), "pytorch": open_pytorch}


def interruptions():
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def time_runs(run, warmup, repeat):
    """Milliseconds of each repetition that counts."""
    whole, all_times = [], []
    for i in range(warmup + repeat):
        before, start = interruptions(), time.perf_counter_ns()
        run()
        took = (time.perf_counter_ns() - start) / 1e6
        if i >= warmup:
            all_times.append(took)
            if interruptions() == before:
                whole.append(took)
    return whole if len(whole) >= max(2, repeat / 2) else all_times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--runtime", choices=RUNTIMES, default="onnxruntime")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=50)
    options = parser.parse_args()
    if options.threads < 1 or options.warmup < 0 or options.repeat < 2:
        parser.error("threads must be 1 at least, repetitions 2")
    try:
        runtime, run = RUNTIMES[options.runtime](options.model, options.threads)
    except Unsupported as error:
        print(f"peer.py: {error}", file=sys.stderr)
        sys.exit(3)
    except Exception as error:  # the runtimes have an exception class for each way to fail
        sys.exit(f"peer.py: {error}")
    times = time_runs(run, options.warmup, options.repeat)
    figures = {"median_ms": statistics.median(times), "min_ms": min(times), "max_ms": max(times)}
    first, _, third = statistics.quantiles(times, n=4, method="inclusive")
    answer = {**{k: round(v, 4) for k, v in figures.items()}, "quartile_ms": [round(first, 4), round(third, 4)], **vars(options),
              "runtime": runtime}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
