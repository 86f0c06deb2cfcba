"""What the tests of bad files and bad streams share: runs baton with limits and states what must hold."""
import os
import resource
import signal
import subprocess

MEMORY_NBYTES = 2 << 30
SECONDS = 60


class Kit:
    """Cases against one program; `say` lines of those that do not hold."""

    def __init__(self, program, is_sanitized):
        self.program = os.path.abspath(program)
        self.is_sanitized = is_sanitized  # whose shadow memory is larger than any limit
        self.ncase = 0
        self.faults = []

    def limit(self, file_nbytes):
        if not self.is_sanitized:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_NBYTES, MEMORY_NBYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if file_nbytes is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_nbytes, file_nbytes))

    def run(self, args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, close=(), file_nbytes=None, data=None):
        def prepare():
            self.limit(file_nbytes)
            for fd in close:
                os.close(fd)

        if data is not None:
            stdin = None
        environment = dict(os.environ, ASAN_OPTIONS="allocator_may_return_null=1:" + os.environ.get("ASAN_OPTIONS", ""))
        try:
            return subprocess.run([self.program, *args], stdin=stdin, input=data, stdout=stdout, stderr=subprocess.PIPE,
                                  preexec_fn=prepare, restore_signals=file_nbytes is None, env=environment,
                                  timeout=SECONDS * (10 if self.is_sanitized else 1))
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(args, None, b"", b"it runs for ever")

    def fault(self, name, args, why, result):
        text = result.stderr.decode("utf-8", "replace")
        self.faults.append(f"{name}: baton {' '.join(args)}\n  {why}\n  exit {result.returncode}: {text[:600]}")

    def works(self, name, args, **how):
        self.ncase += 1
        result = self.run(args, **how)
        if result.returncode != 0:
            self.fault(name, args, "expected success", result)
        return result

    def refused(self, name, args, place, codes=(1,), **how):
        """Exit 1, and messages of a few lines that name the place; nothing on the way to a crash."""
        self.ncase += 1
        result = self.run(args, **how)
        text = result.stderr.decode("utf-8", "replace")
        if result.returncode not in codes:
            self.fault(name, args, f"expected exit {codes}", result)
        elif place not in text:
            self.fault(name, args, f"expected a message that names {place}", result)
        elif "Sanitizer" in text or "runtime error" in text:
            self.fault(name, args, "expected no fault of memory", result)
        elif len(text) > 20000:
            self.fault(name, args, f"expected a short message, found {len(text)} bytes", result)
        return result

    def end(self):
        for fault in self.faults:
            print(fault)
        print(f"{self.ncase - len(self.faults)} of {self.ncase} cases hold")
        return 1 if self.faults else 0
