"""The promises of pass partial-eval: limits.py BATON

It ends on every program, leaves no more bindings than it may, finds nothing to do a second time, takes time in proportion to what it
does, and no stack of C for recursion that it unfolds. A recurrent network over a list that is known, and its gradient, become
straight code.
"""
import math
import os
import re
import resource
import subprocess
import sys
import tempfile

BATON = os.path.abspath(sys.argv[1])
HEAD = '#[version = "baton 0.1"]\n'
STACK = 256 << 10  # bytes: what a call of C for each of 20,000 activations would exceed many times

# Programs that no evaluation ends, or that grow as far as they are let.
ENDLESS = {
    "ackermann": """
def @ack(%m: int32, %n: int32) -> int32 {
    if (%m == 0) { %n + 1 } else { if (%n == 0) { @ack(%m - 1, 1) } else { @ack(%m - 1, @ack(%m, %n - 1)) } }
}
def @main() { @ack(4, 2) }""",
    "self": """
type Self { Self(fn (Self) -> float32), }
def @main(%x: float32) -> float32 {
    let %w = fn (%s: Self) -> float32 { match (%s) { Self(%f) => %f(%s) * 2f } };
    if (%x > 0f) { %w(Self(%w)) } else { %x }
}""",
    "growing list": """
type List { Cons(float32, List), Nil, }
def @grow(%xs: List, %ys: List) -> float32 {
    match (%xs) { Cons(%x, %rest) => %x + @grow(Cons(%x, Cons(%x, %rest)), %rest), Nil => 0f }
}
def @main(%x: float32) { @grow(Cons(%x, Nil()), Nil()) }""",
    "to and fro": """
def @swing(%n: int32, %x: float32) -> float32 { if (%n == 0) { @swing(1, exp(%x)) } else { @swing(0, tanh(%x)) } }
def @main(%x: float32) { @swing(5, %x) }""",
    "through a cell": """
def @main(%x: float32) -> float32 {
    let %r = ref(fn (%y: float32) -> float32 { %y });
    let %f = fn (%y: float32) -> float32 { let %g = ref_read(%r); %g(exp(%y)) };
    ref_write(%r, %f);
    %f(%x)
}""",
    "twice as many": """
def @both(%x: float32, %n: int32) -> float32 { if (%n == 0) { %x } else { @both(%x + 1f, %n - 1) * @both(tanh(%x), %n - 1) } }
def @main(%x: float32) { @both(%x, 40) }""",
    "closures in closures": """
def @wrap(%n: int32, %f: fn (float32) -> float32, %x: float32) -> float32 {
    if (%n == 0) { %f(%x) } else { @wrap(%n - 1, fn (%y: float32) -> float32 { %f(%f(%y)) }, %x) }
}
def @main(%x: float32, %n: int32) { (@wrap(30, fn (%y: float32) { exp(%y) }, %x), @wrap(%n, fn (%y: float32) { tanh(%y) }, %x)) }""",
}

RNN = """
import "list"
def @rnn(%s: Tensor[(1, 4), float32], %xs: List[Tensor[(1, 3), float32]], %w: Tensor[(4, 3), float32], %u: Tensor[(4, 4), float32]) -> Tensor[(1, 4), float32] {
    match (%xs) {
        Cons(%x, %rest) => @rnn(tanh(nn.dense(%x, %w) + nn.dense(%s, %u)), %rest, %w, %u),
        Nil => %s,
    }
}
def @loss(%x: Tensor[(1, 3), float32], %w: Tensor[(4, 3), float32], %u: Tensor[(4, 4), float32]) -> float32 {
    sum(@rnn(zeros(shape=[1, 4]), LIST, %w, %u))
}
gradient @gradients = @loss(wrt=[1, 2], keep=[0]);
def @main(%x: Tensor[(1, 3), float32], %w: Tensor[(4, 3), float32], %u: Tensor[(4, 4), float32]) { @gradients(%x, %w, %u) }"""
INPUTS = ["-i", "x=random:1", "-i", "w=random:2", "-i", "u=random:3"]


class Fault(Exception):
    pass


def run(*words, stack=None):
    def bound():
        resource.setrlimit(resource.RLIMIT_STACK, (stack, stack))
    done = subprocess.run([BATON, *words], capture_output=True, text=True, preexec_fn=bound if stack else None)
    if done.returncode:
        raise Fault(f"{' '.join(words)}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def write(text):
    with open("program.baton", "w") as file:
        file.write(text if text.startswith("#") else HEAD + text)


def evaluated(text, options="", passes="partial-eval", stack=None):
    write(text)
    return run("opt", "program.baton", "--entry", "main", "--verify-each", "--passes", passes.replace("partial-eval", "partial-eval" + options), stack=stack)


def nbinding(text):
    return len(re.findall(r"^ +%.* = ", text, re.MULTILINE))


def expect(holds, what):
    if not holds:
        raise Fault(what)


def check_ends():
    for name, text in ENDLESS.items():
        write(text)
        before = nbinding(run("opt", "program.baton", "--passes", ""))
        for factor, more in (4, 4096), (1, 0), (2, 100):
            options = f"{{max-factor={factor}, max-bindings={more}}}"
            once = evaluated(text, options)
            expect(nbinding(once) <= factor * before + more,
                   f"{name}: {nbinding(once)} bindings of {before} with {options}")
            expect(evaluated(once, options) == once, f"{name}: a second run with {options} changes it")
            expect(evaluated(once) == once or more < 4096, f"{name}: a second run changes it")


def deep(depth):
    return f"""
import "list"
def @down(%n: int32, %x: float32) -> float32 {{ if (%n <= 0) {{ %x }} else {{ tanh(%x + @down(%n - 1, %x)) }} }}
def @cells(%n: int32, %r: Ref[float32], %xs: List[Ref[float32]]) -> List[Ref[float32]] {{
    if (%n <= 0) {{ %xs }} else {{ @cells(%n - 1, ref(ref_read(%r)), Cons(%r, %xs)) }}
}}
def @up(%n: int32, %xs: List[float32]) -> List[float32] {{ if (%n <= 0) {{ %xs }} else {{ @up(%n - 1, Cons(1f, %xs)) }} }}
def @main(%x: float32) {{ (@down({depth}, %x), @up({depth}, Nil()), @cells({depth}, ref(%x), Nil())) }}"""


def check_depth():
    left = evaluated(deep(20000), "{max-bindings=1000000}", "partial-eval, dead-code", STACK)
    expect(left.count("@down(") == 0 and left.count("tanh(") == 20000, "recursion of 20,000 calls is not unfolded")
    expect(left.count("= ref(") == 20000, "20,000 cells that are given away are not made")
    expect(run("run", "program.baton", "-i", "x=1", "--executor", "interp", "--passes", "") is not None, "it does not run")


def seconds(text):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    write(text)
    run("opt", "program.baton", "--entry", "main", "--passes", "partial-eval{max-bindings=1000000}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def check_time():
    few, many = min(seconds(deep(2000)) for _ in range(3)), seconds(deep(16000))
    expect(many < 24 * few, f"8 times as many calls take {many / few:.1f} times as long: {few:.2f} and {many:.2f} s")


def numbers(text):
    return [float(n) for n in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", text)]


def check_network():
    values = "Nil()"
    for _ in range(20):
        values = f"Cons(%x, {values})"
    write(RNN.replace("LIST", values))
    gradients = run("opt", "program.baton", "--entry", "main", "--passes", "inline, dead-code, match-tree, lambda-lift, monomorphize, promote-refs, differentiate, dead-code")
    expect("match (" in gradients and ".Path" in gradients, "the gradient has no tape before the pass")
    wanted = run("run", "program.baton", "--executor", "interp", *INPUTS)
    left = evaluated(gradients, "", "partial-eval, dead-code")
    body = left[left.index("def @main"):]
    for word in "match (", "Path", "Cons", "@rnn", "if (":
        expect(word not in body, f"of a network over 20 known inputs, {word} is left")
    expect(body.count("tanh(") == 20, f"{body.count('tanh(')} steps instead of 20")
    found = run("run", "program.baton", "--executor", "interp", "--passes", "", *INPUTS)
    # steps that stand side by side may be added up in another order
    is_same = len(numbers(found)) == len(numbers(wanted)) and all(math.isclose(a, b, rel_tol=1e-5) for a, b in zip(numbers(found), numbers(wanted)))
    expect(is_same, f"its gradient is\n{found}not\n{wanted}")


faults = 0
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for check in check_ends, check_depth, check_time, check_network:
        try:
            check()
            print(f"{check.__name__}: passed")
        except Fault as fault:
            faults += 1
            print(f"{check.__name__}: {fault}")
sys.exit(faults > 0)
