"""Networks in Baton and in its peers, in turn: peers.py BATON [--rounds N] [--threads LIST] [--write FILE] [NETWORK ...]
tests/bench/peers runs it with the packages it needs.

Prints a table: the milliseconds of each program, and how many times as fast Baton is as the faster of ONNX Runtime and OpenVINO in
float32. A figure is the median of N rounds; in each round every program has its turn: it starts, warms up, and gives the median of
its own runs of about a second, without those in which the system took the processor away. Baton compiles with no option.
OpenVINO has a column in bfloat16 more where the processor has AMX. PyTorch has one where it is installed with onnx2torch, which it
needs to read ONNX: build/check/peers/bin/pip install torch onnx2torch (some GB; not done by itself). `-`: onnx2torch has not all of a
network's operators. It does not count for the ratio. The row `one operator` is a model of one small addition: what a
call costs beside the work. NAME_int8 is a network of 8-bit codes, where a peer's column is its integers, too.
  --rounds N       3, unless told
  --threads LIST   1,2 unless told
  --write FILE     also appends the table to FILE with the date, the machine and the command
  --list           the networks
"""
import argparse
import datetime
import importlib.util
import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "model"), os.path.join(here, "..", "language")]
import language
import transformers
import zoo

from onnx import helper

SECOND_MS, WARM, LEAST, MOST = 1000, 10, 10, 5000
UNSUPPORTED = 3  # exit status of peer.py


def zoo_network(name):
    return lambda folder: zoo.generate(name, folder)[0]


def zoo_network_int8(name):
    """What ONNX Runtime's own tools make of the network: batch norms folded, QDQ of uint8 codes and int8 weights by channel."""
    def make(folder):
        import numpy
        import onnxruntime
        from onnxruntime import quantization

        class Images(quantization.CalibrationDataReader):
            def __init__(self):
                draw = numpy.random.default_rng(1)
                self.left = iter([{graph.input.name: draw.uniform(-1, 1, graph.input.shape).astype(numpy.float32)} for _ in range(4)])

            def get_next(self):
                return next(self.left, None)

        plain, graph, _ = zoo.generate(name, folder)
        folded, path = plain + ".folded", os.path.join(folder, name + "_int8.onnx")
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = folded
        onnxruntime.InferenceSession(plain, options, providers=["CPUExecutionProvider"])
        logging.getLogger().setLevel(logging.ERROR)  # it advises what was done
        quantization.quantize_static(folded, path, Images(), quant_format=quantization.QuantFormat.QDQ, per_channel=True,
                                     activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8)
        os.remove(plain)
        os.remove(folded)
        return path
    return make


def recurrent(op, hidden):
    return lambda folder: language.layer(folder, op, hidden)


def one_operator(folder):
    import numpy
    return language.save(os.path.join(folder, "one.onnx"), [helper.make_node("Add", ["x", "c"], ["y"])], [language.value("x", [1, 16])],
                         {"c": numpy.ones((1, 16), numpy.float32)}, ["y"])


NETWORKS = {
    **{name: zoo_network(name) for name in zoo.NETWORKS},
    **{f"{name}_int8": zoo_network_int8(name) for name in ["resnet18", "resnet50", "mobilenet_v2"]},
    **{f"{op.lower()}_{hidden}": recurrent(op, hidden) for op in ["LSTM", "GRU", "RNN"] for hidden in [650, 256]},
    **{f"char_step_{hidden}": (lambda folder, hidden=hidden: language.char_step(folder, hidden)) for hidden in [128, 512]},
    "encoder": transformers.encoder,
    "decoder_step": transformers.decoder_step,
    "one operator": one_operator,
}


def cpu_facts():
    """What the processor is called, and its flags."""
    facts = {}
    with open("/proc/cpuinfo", encoding="ascii") as file:
        for line in file:
            name, _, text = line.partition(":")
            facts.setdefault(name.strip(), text.strip())
    return facts.get("model name", "unknown"), set(facts.get("flags", "").split())


def call(command):
    """Milliseconds; None: the runtime cannot run this model."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == UNSUPPORTED and command[0] == sys.executable:
        return None
    if done.returncode != 0:
        sys.exit(f"peers.py: {' '.join(command)}\n{done.stderr}{done.stdout}")
    return json.loads(done.stdout)["median_ms"]


def commands(baton, path, threads, runtimes):
    """A command for each program, without the number of its runs."""
    own = [baton, "bench", path, "--target", "cpu", "--threads", str(threads), "--json"]
    peer = [sys.executable, "-B", os.path.join(here, "peer.py"), "--threads", str(threads), path]
    return {"baton": own, **{name: [*peer, "--runtime", name] for name in runtimes}}


def measure(programs, rounds):
    """The median of each program's rounds; None: it cannot run the model."""
    counted, times = {}, {name: [] for name in programs}
    for name, command in programs.items():
        first = call([*command, "--warmup", "3", "--repeat", "5"])
        if first is None:
            continue
        repeat = str(int(max(LEAST, min(MOST, SECOND_MS / first))))
        counted[name] = [*command, "--warmup", str(WARM), "--repeat", repeat]
    for _ in range(rounds):
        for name, command in counted.items():
            times[name].append(call(command))
    return {name: statistics.median(all_times) if all_times else None for name, all_times in times.items()}


class Table:
    def __init__(self, names):
        self.lines = []
        self.say(f"{'network':<18}{'threads':>8}" + "".join(f"{name:>15}" for name in names) + f"{'ratio':>8}")

    def say(self, line):
        self.lines.append(line)
        print(line, flush=True)

    def row(self, network, threads, times):
        peers = [t for name, t in times.items() if name in ("onnxruntime", "openvino")]
        self.say(f"{network:<18}{threads:>8}" + "".join(f"{'-' if t is None else f'{t:.4f}':>15}" for t in times.values()) + f"{min(peers) / times['baton']:>8.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("baton")
    parser.add_argument("network", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--write")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_intermixed_args()
    if options.list:
        return print("\n".join(NETWORKS))
    unknown = [name for name in options.network if name not in NETWORKS]
    if unknown:
        parser.error(f"there is no network {unknown[0]}, see --list")
    model, flags = cpu_facts()
    has_pytorch = all(importlib.util.find_spec(name) for name in ("torch", "onnx2torch"))
    runtimes = ["onnxruntime", "openvino"] + ["openvino-bf16"] * ("amx_bf16" in flags) + ["pytorch"] * has_pytorch
    table = Table(["baton", *runtimes])
    with tempfile.TemporaryDirectory() as folder:
        for name in options.network or NETWORKS:
            path = NETWORKS[name](folder)
            for threads in options.threads.split(","):
                table.row(name, threads, measure(commands(options.baton, path, int(threads), runtimes), options.rounds))
            os.remove(path)
    if options.write:
        with open(options.write, "a", encoding="utf-8") as file:
            file.write(f"\n## {datetime.date.today()}\n\n{model}, {os.cpu_count()} cores; milliseconds, and the faster float32 peer's time / Baton's.\n\n"
                       f"    tests/bench/peers build/check {' '.join(sys.argv[2:])}\n\n" + "".join(f"    {line}\n" for line in table.lines))


if __name__ == "__main__":
    main()
