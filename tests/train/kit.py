"""What the tests of training share: runs of baton, files of tensors, and a model of two parameters."""
import json
import os
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "model"))
import harness

harness.need_packages("numpy")
import numpy

TYPES = {"F32": numpy.float32, "F64": numpy.float64, "I64": numpy.int64}
LINEAR = """#[version = "baton 0.1"]
def @main(%x: Tensor[(8, 4), float32], %w: Tensor[(3, 4), float32], %b: Tensor[(3), float32]) -> Tensor[(8, 3), float32] {
    nn.dense(%x, %w) + %b
}
"""


def write(path, content):
    with open(path, "wb" if isinstance(content, bytes) else "w") as file:
        file.write(content)
    return path


def read_tensors(path):
    """Tensors by name, and what is noted beside them."""
    with open(path, "rb") as file:
        content = file.read()
    nheader = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + nheader])
    notes = header.pop("__metadata__", {})
    tensors = {}
    for name, row in header.items():
        begin, end = row["data_offsets"]
        data = numpy.frombuffer(content[8 + nheader + begin:8 + nheader + end], TYPES[row["dtype"]])
        tensors[name] = data.reshape(row["shape"])
    return tensors, notes


def write_tensors(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        tensor = numpy.ascontiguousarray(tensor, numpy.float32)
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + tensor.nbytes]}
        data += tensor.tobytes()
    text = json.dumps(header).encode()
    return write(path, len(text).to_bytes(8, "little") + text + data)


class Runs:
    """baton in the folder at hand; faults are lines of what does not hold."""

    def __init__(self, program):
        self.program = os.path.abspath(program)
        self.faults = []
        self.ncheck = 0

    def run(self, *args, **how):
        return subprocess.run([self.program, *map(str, args)], capture_output=True, text=True, **how)

    def train(self, *args, **how):
        """It succeeds."""
        done = self.run("train", *args, **how)
        self.check(done.returncode == 0, f"train {' '.join(map(str, args))}: exit {done.returncode}\n{done.stderr}")
        return done

    def refused(self, words, *args, code=1, **how):
        """It ends with that exit code and a message that has the words."""
        done = self.run(*args, **how)
        self.check(done.returncode == code and words in done.stderr,
                   f"{' '.join(map(str, args))}: expected exit {code} and \"{words}\", got exit {done.returncode}\n{done.stderr}")
        return done

    def check(self, holds, what):
        self.ncheck += 1
        if not holds:
            self.faults.append(what)

    def last(self, folder):
        """The path of the last checkpoint."""
        names = sorted(name for name in os.listdir(folder) if name.startswith("step-") and name.endswith(".safetensors"))
        return os.path.join(folder, names[-1])

    def end(self):
        for fault in self.faults:
            print(f"fault: {fault}")
        print(f"{self.ncheck - len(self.faults)} of {self.ncheck} hold")
        sys.exit(bool(self.faults))
