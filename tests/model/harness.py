"""What the model tests share: skipping, and the driver process that runs models."""
import glob
import os
import select
import subprocess
import sys
import tempfile

LOCALE = "BATON_MODEL_LOCALE"  # of the driver's process: it is made
SKIPPED = 77  # the exit status that ctest takes for a skip


def skip(reason):
    """Ends the test: not run here. On a build server nothing may be missing."""
    if os.environ.get("CI") == "true":
        sys.exit(f"failed: {reason}, and CI=true allows no skips")
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def cpu_bound():
    """Of networks by target cpu: with AMX a product of float32 is within 2^-16 of what it is (targets/cpu/bits.md)."""
    with open("/proc/cpuinfo") as file:
        return 1e-4 if "amx_tile" in file.read() else 5e-6


def need_packages(*names):
    for name in names:
        try:
            __import__(name)
        except ImportError as error:
            skip(f"the Python package {name} is missing ({error})")


def shared_folder(*parts):
    """A folder of the data sets, which lie beside the source tree."""
    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = os.path.join(top, "..", "shared", *parts)
    if not os.path.exists(path):
        print(f"skipped: {os.path.join('../shared', *parts)} is not here")
        sys.exit(SKIPPED)
    return path


def check_light(check, program):
    """Exit status: whether check(program, path, folder), with a folder for its files, holds for each of the nine light networks."""
    paths = sorted(glob.glob(os.path.join(shared_folder("data", "models", "light"), "*.onnx")))
    with tempfile.TemporaryDirectory() as folder:
        good = [path for path in paths if check(program, path, folder)]
    print(f"{len(good)} of {len(paths)}")
    return len(good) != 9


def reference(path, optimizes=True):
    """A session of ONNX Runtime, which says errors only, and adds products of 8 bits exactly by AVX2, too."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if not optimizes:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(path, options)


class Refused(Exception):
    """The driver answered with an error: `code` and `text`."""

    def __init__(self, answer):
        self.code, _, self.text = answer.partition(" ")
        super().__init__(answer)


def make_locale(name, folder):
    """The C library's locale of this name, as de_DE.UTF-8, in a folder of locales."""
    language, _, charset = name.partition(".")
    try:
        done = subprocess.run(["localedef", "-i", language, "-f", charset, os.path.join(folder, name)], capture_output=True, text=True)
    except FileNotFoundError:
        skip("there is no localedef")
    if done.returncode:
        skip(f"localedef makes no locale {name}: {done.stderr.strip()}")


class Driver:
    def __init__(self, program, seconds=120):
        """seconds: the longest that a request may take."""
        self.program, self.seconds = program, seconds
        self.process = None
        self.folder = tempfile.TemporaryDirectory()
        self.own = {}  # of its environment
        if LOCALE in os.environ:
            make_locale(os.environ[LOCALE], self.folder.name)
            self.own["LOCPATH"] = self.folder.name

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()
            self.process = None
        self.folder.cleanup()

    def _kill(self, why):
        self.process.kill()
        self.process.wait()
        self.process = None
        raise Refused(f"crash {why}")

    def request(self, *fields):
        """Sends a request and gives the fields of the answer."""
        if not self.process:
            self.process = subprocess.Popen(
                [self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env={**os.environ, **self.own})
        try:
            self.process.stdin.write(("\t".join(fields) + "\n").encode())
        except BrokenPipeError:
            self._kill("the driver is gone")
        answer = b""
        while not answer.endswith(b"\n"):
            if not select.select([self.process.stdout], [], [], self.seconds)[0]:
                self._kill(f"no answer within {self.seconds} s")
            part = os.read(self.process.stdout.fileno(), 65536)
            if not part:
                self._kill(f"the driver ended, status {self.process.wait()}")
            answer += part
        answer = answer.decode(errors="replace").rstrip("\n")
        if answer.startswith("error "):
            raise Refused(answer[6:])
        return answer.split()[1:]

    def open(self, path, pipeline="default", fixed=()):
        """Gives the counts of inputs and outputs. pipeline: None of an artifact. fixed: "NAME=VALUE" of inputs that become constants."""
        ninput, noutput = self.request("open", path, *([pipeline] if pipeline else []), *fixed)
        return int(ninput), int(noutput)

    def set(self, index, value):
        """An input from a file, or from an array."""
        import numpy
        if not isinstance(value, str):
            array, value = value, os.path.join(self.folder.name, "in.npy")
            numpy.save(value, array)
        self.request("set", str(index), value)

    def run(self, noutput):
        """Gives the outputs as arrays."""
        import numpy
        self.request("run", self.folder.name)
        return [numpy.load(os.path.join(self.folder.name, f"{i}.npy")) for i in range(noutput)]
