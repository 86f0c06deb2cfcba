"""Every rewriting rule on random programs: what the rule puts in place computes what stood there.

    rules.py BATON SEED

The left side of each rule is written as a program, with random types for its names, and rewritten by the rule's pass alone. Both
programs run on the same random values: integers agree to the bit, floats as far as the rule's `ulp` says. A rule that never
applied is a fault: then it is tested by nothing.
"""
import json, math, random, re, subprocess, sys, tempfile, os

baton, rng = sys.argv[1], random.Random(int(sys.argv[2]))
os.chdir(tempfile.mkdtemp())
WANTED, TRIES = 2, 40
LOOSE = {"batch-norm", "layer-norm", "instance-norm"}  # floats may differ in their last places
CLASSES = {"bool": ["bool"], "float": ["float32", "float64"], "integer": ["int32", "int64", "uint8"], "int": ["int32"], "uint": ["uint8"],
           "number": ["float32", "int32", "float64", "int8"], "": ["float32", "int32", "float64", "bool"]}


def run(*args):
    p = subprocess.run([baton, *args], capture_output=True, text=True)
    return p.stdout if p.returncode == 0 else None


def listed(kind):
    return json.loads(run("list", kind, "--json"))


OPS = {op["name"]: op for op in listed("ops")}
LAWFUL = [n for n, op in OPS.items() if any(f["facet"] == "algebra" for f in op.get("facets", []))]


class Program:
    """A pattern as a program: names become parameters, or constants where the pattern wants them."""

    def __init__(self, pattern):
        self.tokens = re.findall(r'"[^"]*"|\[[^\]]*\]|\.\.|[A-Za-z_][\w.]*|-?[\d.]+|=>|.', pattern.replace(" ", ""))
        for i, t in enumerate(self.tokens):  # `const x` lost its blank
            m = re.match(r"const([a-z])$", t)
            if m:
                self.tokens[i] = "const " + m.group(1)
        self.at, self.names, self.attrs, self.ops = 0, {}, {}, {}
        self.extent, self.rank = rng.choice([1, 2, 3]), rng.choice([1, 2, 2, 3])
        if "layout_transform" in pattern or "instance_norm" in pattern:
            self.rank = 4
        if "matmul" in pattern:
            self.rank = 2
        self.dtype = None
        self.text = self.expr("t[..]", "")

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def type_of(self, wanted, name):
        m = re.match(r"\(?(\w+)?:?(\w*)?\[(.*?)\]", wanted)
        kind, dims = (m.group(2) or "", m.group(3)) if m else ("", "..")
        if m and m.group(1) == "u":
            kind = kind or "integer"
        own = m is None or m.group(1) in (None, "t")
        if not own:
            dtype = "int64" if kind == "integer" else rng.choice(CLASSES[kind])
        elif self.dtype:
            dtype = self.dtype
        else:
            dtype = self.dtype = rng.choice(CLASSES[kind])
        rank = self.rank if ".." in dims else len([d for d in dims.split(",") if d])
        return dtype, rank

    def value(self, name, wanted, input_name, is_const):
        if name in self.names:
            return self.names[name]
        dtype, rank = self.type_of(wanted, name)
        fixed = {"begin": 0, "end": self.extent, "strides": 1, "newshape": self.extent, "shape": self.extent, "reps": 1, "k": 1,
                 "depth": self.extent, "axis": 0}
        if input_name in fixed:  # what a shape, a count or a position may be
            n = 1 if input_name in ("k", "depth", "axis") else self.rank
            self.names[name] = "const[(%d), int64]{%s}" % (n, ", ".join([str(fixed[input_name])] * n))
            if n == 1 and input_name != "axis" and rng.random() < 0.5:
                self.names[name] = "%di64" % fixed[input_name]
        elif is_const:
            n = self.extent ** rank
            numbers = ", ".join(str(rng.randint(0, 1 if dtype == "bool" else 3)) for _ in range(n))
            dims = ", ".join([str(self.extent)] * rank)
            self.names[name] = "const[(%s), %s]{%s}" % (dims, dtype, numbers.replace("1", "True").replace("0", "False") if dtype == "bool" else numbers)
        else:
            self.names[name] = "%" + name
            self.params[name] = "Tensor[(%s), %s]" % (", ".join([str(self.extent)] * rank), dtype)
        return self.names[name]

    def attr(self, name, given):
        axes = list(range(self.rank))
        rng.shuffle(axes)
        shape = rng.choice([[self.extent] * self.rank, [-1], [1, -1]])
        values = {"axes": str(axes), "axis": str(rng.choice([0, -1, 1 if self.rank > 1 else 0])), "epsilon": "0.01f",
                  "center": rng.choice(["True", "False"]), "scale": rng.choice(["True", "False"]), "units": "None", "out_dtype": "None",
                  "dtype": '"%s"' % rng.choice(["float32", "float64", "int32", "int64", "int8", "uint8"]),
                  "src_layout": rng.choice(['"NCHW"', '"NHWC"']), "dst_layout": rng.choice(['"NCHW"', '"NHWC"']), "newshape": str(shape),
                  "shape": str([self.extent] * self.rank), "is_ascend": rng.choice(["True", "False"]), "ret_type": '"values"',
                  "slice_mode": '"end"', "num_newaxis": "1"}
        if given is None:
            return values.get(name)
        return self.attrs.setdefault(given, values.get(name))

    params = None

    def expr(self, wanted, input_name):
        self.params = {} if self.params is None else self.params
        t = self.take()
        if self.peek() == ":":
            self.take()
            return self.expr(wanted, input_name)
        if t == "(":
            fields = []
            while self.peek() != ")":
                fields.append(self.expr("t[..]", ""))
                if self.peek() == ",":
                    self.take()
            self.take()
            return "(" + ", ".join(fields) + ("," if len(fields) == 1 else "") + ")"
        if re.match(r"-?[\d.]+$", t):
            dtype, _ = self.type_of(wanted, "")
            if dtype == "bool":
                return "True" if t == "1" else "False"
            return "cast(%sf, dtype=\"%s\")" % (t, dtype) if dtype != "float32" and False else constant(t, dtype)
        if t.startswith("const "):
            return self.value(t[6:], wanted, input_name, True)
        if self.peek() not in ("(", "|"):
            return self.value(t, wanted, input_name, False)
        choices = [t]
        while self.peek() == "|":
            self.take()
            choices.append(self.take())
        op = rng.choice(choices)
        if len(t) == 1 and t.isupper():
            op = self.ops.setdefault(t, rng.choice(self.fit))
        return self.call(op, wanted)

    def call(self, op, wanted):
        self.take()
        inputs, args, given, is_open = OPS[op]["inputs"], [], {}, False
        while self.peek() != ")":
            if self.peek() == "..":
                self.take()
                is_open = True
            elif self.tokens[self.at + 1] == "=":
                name = self.take()
                self.take()
                token = self.take()
                given[name] = self.attr(name, token) if re.match(r"[a-z]", token) else token
            else:
                at = inputs[len(args)] if len(args) < len(inputs) else {"type": "t[..]", "name": ""}
                args.append(self.expr(at["type"], at["name"]))
            if self.peek() == ",":
                self.take()
        self.take()
        for row in OPS[op].get("attrs", []):
            if row["name"] not in given and "default" not in row:
                given[row["name"]] = self.attr(row["name"], None)
            elif row["name"] not in given and is_open and row["name"] in ("axis", "dtype") and rng.random() < 0.3:
                given[row["name"]] = self.attr(row["name"], None)
        return "%s(%s)" % (op, ", ".join(args + ["%s=%s" % g for g in given.items() if g[1] and g[1] != "None"]))


def constant(number, dtype):
    return {"float32": number + "f", "int32": number}.get(dtype, "const[(1), %s]{%s}" % (dtype, number)) if dtype in ("float32", "int32") \
        else number + {"float64": "f64", "int64": "i64", "int8": "i8", "uint8": "u8", "float16": "f16"}[dtype]


def close(a, b, loose):
    a, b = (re.sub(r"(?m)^[\w.]+:", "output:", t) for t in (a, b))  # a parameter that is the result gives it its name
    if a == b or not loose:
        return a == b
    x, y = (re.findall(r"-?(?:\d[\d.e+-]*|inf|nan)", t) for t in (a, b))
    return len(x) == len(y) and all(p == q or abs(float(p) - float(q)) <= 1e-4 * max(1, abs(float(p))) for p, q in zip(x, y))


def body(text):
    return text[text.index("def @main"):]


def check(rule):
    applied = 0
    pattern = rule["rule"].split("=>")[0].strip()
    narg = pattern.count(",") + 1
    Program.fit = [n for n in LAWFUL if len(OPS[n]["inputs"]) == narg]
    for _ in range(TRIES):
        try:
            program = Program(pattern)
        except (IndexError, KeyError):
            continue
        text = '#[version = "baton 0.1"]\n\ndef @main(%s) { %s }\n' % (
            ", ".join("%%%s: %s" % p for p in program.params.items()), program.text)
        open("before.baton", "w").write(text)
        before = run("opt", "before.baton")
        after = before and run("opt", "before.baton", "--passes", rule["pass"])
        if not after or body(before) == body(after):
            continue
        open("after.baton", "w").write(after)
        inputs = [a for i, name in enumerate(program.params) for a in ("-i", "%s=random:%d" % (name, rng.randint(1, 99) + i))]
        results = [run("run", f, *inputs, "--passes", "dead-code") for f in ("before.baton", "after.baton")]
        if not results[0] or not results[1] or not close(*results, rule["name"] in LOOSE):
            print("%s: the two sides differ:\n%s%s\n%s\n%s" % (rule["name"], text, body(after), *results))
            return 1
        applied += 1
        if applied == WANTED:
            return 0
    print("%s: applied %d times in %d programs, the last was\n%s" % (rule["name"], applied, TRIES, text))
    return applied == 0


rules = listed("rules")
faults = sum(check(rule) for rule in rules)
print("%d rules, %d with faults" % (len(rules), faults))
sys.exit(faults > 0)
