"""Random straight programs within budgets of memory: budgets.py BATON FIRST COUNT

A program computes tensors of those before, of which some are read again much later: by products, maps, reductions, parts of tuples. Half of
them are differentiated. Call by call each is computed without pass keep-or-recompute and with it; then as usual, and within two budgets
(--checkpoint-memory) below what it takes so. Both pairs give the same bits. What a budget leaves is planned in as many bytes, as --memory tells,
or it is refused with names of what lives where most bytes do.
"""
import json
import random
import re
import sys

import kit

numpy = kit.import_numpy()

BEFORE = "unroll, dynamic-to-static, (inline{all=True}, canonicalize, dead-code)*8, "
PLAIN, ALONE, AGAIN = BEFORE + "fuse-ops", BEFORE + "fuse-ops{max-ops=1}", BEFORE + "keep-or-recompute, dead-code, fuse-ops{max-ops=1}"
MAPS = ["tanh(%{a})", "sigmoid(%{a})", "multiply(%{a}, %{b})", "add(%{a}, %{b})", "subtract(%{a}, %{b})", "transpose(%{a}, axes=[1, 0])",
        "nn.relu(%{a})", "multiply(%{a}, 0.5f)"]
OTHERS = ["nn.dense(%{a}, %{b})", "nn.dense(%{a}, %{b})", "nn.softmax(%{a}, axis=1)", "broadcast_to(mean(%{a}, axis=[1], keepdims=True), shape=[{n}, {n}])"]


class Program:
    def __init__(self, number):
        self.pick = random.Random(number)
        self.n = self.pick.choice([16, 32, 64])
        self.names, lines = ["x", "w"], []
        for i in range(self.pick.choice([6, 15, 40])):
            lines.append(f"    %v{i} = {self.step()};\n")
            self.names.append(f"v{i}")
        tensor = f"Tensor[({self.n}, {self.n}), float32]"
        args = f"%x: {tensor}, %w: {tensor}"
        text = "".join(lines)
        for i, name in enumerate([n for n in self.names if f"%{n}" not in text]):  # nothing is left unread
            lines.append(f"    %u{i} = {self.pick.choice(['add', 'nn.dense'])}(%{self.names[-1]}, %{name});\n")
            self.names.append(f"u{i}")
        last = self.names[-1]
        if self.pick.random() < 0.5:
            self.text = (f"def @f({args}) {{\n{''.join(lines)}    mean(%{last})\n}}\ngradient @g = @f(keep=[0]);\n"
                         f"def @main({args}) {{ @g(%x, %w) }}\n")
        else:
            kept = self.pick.sample(self.names[2:], self.pick.choice([0, 0, 1, 2]))
            self.text = f"def @main({args}) {{\n{''.join(lines)}    ({', '.join('%' + name for name in [last, *kept])},)\n}}\n"
        self.text = '#[version = "baton 0.1"]\n' + self.text

    def value(self):
        """One of the last, or any."""
        return self.pick.choice(self.names[-2:] if self.pick.random() < 0.7 else self.names)

    def step(self):
        kind = self.pick.random()
        a, b, n = self.value(), self.value(), self.n
        if kind < 0.1:
            return f"concatenate((split(%{a}, indices_or_sections=2, axis=1).1, split(%{b}, indices_or_sections=2, axis=1).0), axis=1)"
        return self.pick.choice(MAPS if kind < 0.6 else OTHERS).format(a=a, b=b, n=n)


class Check(kit.Check):
    def __init__(self):
        super().__init__()
        self.nless, self.nfit, self.nrefused = 0, 0, 0

    def memory(self, *words):
        """Bytes that tensors share, or why there is no program."""
        done = self.run("run", "program.baton", "--target", "cpu{threads=1}", "--memory", "--json", *words)
        if done.returncode:
            return done.stderr + done.stdout
        return json.loads(done.stdout)["memory"]["shared_bytes"]

    def values(self, *words):
        return self.results("program.baton", "--target", "cpu{threads=1}", *self.inputs, *words)

    def check_values(self, number, wanted, *words):
        found = self.values(*words)
        if isinstance(found, str) or found.keys() != wanted.keys() or any(found[k].tobytes() != wanted[k].tobytes() for k in wanted):
            self.fault(number, f"{words}: {found}\nnot\n{wanted}")

    def check(self, number):
        program = Program(number)
        self.write(program.text)
        values = numpy.random.default_rng(number)
        self.inputs = kit.save({k: values.uniform(-1, 1, (program.n, program.n)).astype("float32") for k in "xw"})
        plain, usual = self.values("--fuse", ALONE), self.values()
        before, now = self.memory("--fuse", PLAIN), self.memory()
        if isinstance(plain, str) or isinstance(usual, str) or isinstance(before, str) or isinstance(now, str):
            return self.fault(number, f"{plain}\n{usual}\n{before}\n{now}")
        self.nless += now < before
        self.check_values(number, plain, "--fuse", AGAIN)
        for share in 0.95, 0.75:
            budget = int(now * share)
            found = self.memory("--checkpoint-memory", str(budget)) if budget else 0
            if isinstance(found, str):
                self.nrefused += 1
                if not re.search(r"a budget of \d+ bytes (cannot be met: at the least \d+ are needed at once, here by|is not met: tensors take)", found):
                    self.fault(number, f"{budget}: {found}")
            elif found > budget:
                self.fault(number, f"{budget}: its tensors take {found} bytes")
            elif budget:
                self.nfit += 1
                self.check_values(number, usual, "--checkpoint-memory", str(budget))
                self.check_values(number, usual, "--executor", "vm", "--checkpoint-memory", str(budget))


check = Check()
check.check_in_folder()
print(f"{len(check.numbers)} programs, {check.nless} take less without a budget, {check.nfit} budgets are met, {check.nrefused} refused, {check.nfault} faults")
sys.exit(check.nfault > 0 or 20 * check.nless < len(check.numbers) or 5 * check.nfit < len(check.numbers))
