"""Random programs that know their own results: expressions with a text and a value that NumPy computes, apart from all that Baton has.

A form of a type makes a value of it: a number, a tuple, a constructor, a closure. A maker of control flow makes a value of any type, and a
definer a function of the module. Each takes the program, whose random numbers it draws, how deep it may nest, and what names there are.
"""
import collections
import random

import numpy

numpy.seterr(all="ignore")

# ---- types

Tensor = collections.namedtuple("Tensor", "dtype shape")
Tuple = collections.namedtuple("Tuple", "fields")
Data = collections.namedtuple("Data", "name arg")
Function = collections.namedtuple("Function", "params result")
Ref = collections.namedtuple("Ref", "of")

DECLARATIONS = """type List[A] { Cons(A, List[A]), Nil }
type Option[A] { Some(A), Nothing }
type Tree[A] { Node(Tree[A], A, Tree[A]), Leaf }
type Held[A] { Apply(fn (A) -> A, A), Both(Held[A], Held[A]), Just(A) }
type Even[A] { EvenEnd, EvenCons(A, Odd[A]) }
type Odd[A] { OddCons(A, Even[A]) }
"""
# The first constructor of each needs no value of its own type.
CONSTRUCTORS = {
    "List": lambda a: [("Nil", ()), ("Cons", (a, Data("List", a)))],
    "Option": lambda a: [("Nothing", ()), ("Some", (a,))],
    "Tree": lambda a: [("Leaf", ()), ("Node", (Data("Tree", a), a, Data("Tree", a)))],
    "Held": lambda a: [("Just", (a,)), ("Apply", (Function((a,), a), a)), ("Both", (Data("Held", a), Data("Held", a)))],
    "Even": lambda a: [("EvenEnd", ()), ("EvenCons", (a, Data("Odd", a)))],
    "Odd": lambda a: [("OddCons", (a, Data("Even", a)))],
}
INT32, BOOL = Tensor("int32", ()), Tensor("bool", ())
SUFFIX = {"float32": "f", "float64": "f64", "int32": "", "int64": "i64", "int8": "i8", "uint8": "u8"}
MAX_STEPS = 10000


def show(type_):
    if isinstance(type_, Tensor):
        return f"Tensor[({', '.join(map(str, type_.shape))}), {type_.dtype}]" if type_.shape else type_.dtype
    if isinstance(type_, Tuple):
        return f"({', '.join(map(show, type_.fields))},)" if len(type_.fields) == 1 else f"({', '.join(map(show, type_.fields))})"
    if isinstance(type_, Data):
        return f"{type_.name}[{show(type_.arg)}]"
    if isinstance(type_, Ref):
        return f"Ref[{show(type_.of)}]"
    return f"fn ({', '.join(map(show, type_.params))}) -> {show(type_.result)}"


def dims_of(types):
    """Names of the open dims in tensor types."""
    return sorted({d for t in types for d in t.shape if isinstance(d, str)})


def is_float(type_):
    return type_.dtype.startswith("float")


class TooLong(Exception):
    pass


class Expr:
    """`text`, and its value in an environment: names of values and of dims -> what they are."""
    steps = 0

    def __init__(self, text, compute):
        self.text, self.compute = text, compute

    def value(self, env):
        Expr.steps += 1
        if Expr.steps > MAX_STEPS:
            raise TooLong
        return self.compute(env)


def variable(name):
    return Expr(f"%{name}", lambda env: env[name])


def bounded(type_, expr):
    """Floats stay such that all sums of them are exact."""
    if not is_float(type_):
        return expr
    return Expr(f"clip({expr.text}, a_min=-60f, a_max=60f)", lambda env: numpy.clip(expr.value(env), -60, 60).astype(type_.dtype))


class Program:
    data = list(CONSTRUCTORS)

    def __init__(self, number):
        self.pick = random.Random(number)
        self.nname, self.functions, self.definitions = 0, [], []
        dtypes = [self.pick.choice(["float32", "float32", "int32", "int64", "float64"]), self.pick.choice(["int32", "int8", "uint8", "float32"])]
        shapes = [("n",), ("n", 3), (3,), (), (17,), (2, "n"), (1, "n"), (0,), ("n", "m"), (4, 5), ("m",), (1,)]
        self.tensors = [Tensor(self.pick.choice(dtypes), self.pick.choice(shapes)) for _ in range(3)]
        self.inputs = [(f"x{i}", t) for i, t in enumerate(self.tensors)] + [("k", INT32), ("c", BOOL)]
        self.dims = dims_of(self.tensors)
        # functions take these, so that all dims are known in them
        self.anchors = [(f"d{i}", next(t for t in self.tensors if d in t.shape)) for i, d in enumerate(self.dims)]
        for _ in range(self.pick.choice([0, 1, 2, 3])):
            self.define(self.pick.choice(DEFINERS))
        self.outputs = [self.make(self.pick.choice(self.tensors), self.pick.choice([5, 6, 7]), dict(self.inputs))
                        for _ in range(self.pick.choice([1, 2, 3]))]
        self.outputs += self.of_elements()

    def name(self, hint):
        self.nname += 1
        return f"{hint}{self.nname}"

    def chance(self, p):
        return self.pick.random() < p

    # ---- the whole

    def text(self):
        params = ", ".join(f"%{name}: {show(t)}" for name, t in self.inputs)
        results = ",\n     ".join(e.text for e in self.outputs)
        return (f'#[version = "baton 0.1"]\n{DECLARATIONS}' + "\n".join(self.definitions) +
                f"\ndef @main{self.generics()}({params}) {{\n    ({results},)\n}}\n")

    def generics(self):
        return f"<{', '.join(d + ': Dim' for d in self.dims)}>" if self.dims else ""

    def arguments(self, i):
        """The dims and inputs of run i."""
        dims = {d: self.pick.choice([0, 1, 3, 17] if d == "n" else [1, 2, 3, 5]) if i else 3 for d in self.dims}
        values = {}
        for name, t in self.inputs:
            shape = [dims.get(d, d) for d in t.shape]
            low, high = (0, 2) if t == BOOL else (-1, 10) if name == "k" else (0, 16) if t.dtype[0] == "u" else (-6, 10)
            values[name] = numpy.array([self.pick.randrange(low, high) for _ in range(int(numpy.prod(shape)))]).reshape(shape).astype(t.dtype)
        return dims, values

    def expected(self, dims, values):
        Expr.steps = 0
        return [e.value({**dims, **values}) for e in self.outputs]

    def of_elements(self):
        """A result whose size on the way elements decide."""
        name, t = self.inputs[self.pick.randrange(3)]
        if not t.shape or self.chance(0.6):
            return []
        if self.chance(0.5):
            return [Expr(f'sum(cast(argwhere(greater(%{name}, 2{SUFFIX[t.dtype]})), dtype="int64"))',
                         lambda env: numpy.asarray(numpy.argwhere(env[name] > 2).sum(), "int64"))]
        grow = self.name("grow")
        self.definitions.append(f"def @{grow}<a: Dim>(%i: int32, %x: Tensor[(a), int32]) -> Tensor[(?), int32] {{ if (less_equal(%i, 0)) {{ %x }} "
                                f"else {{ @{grow}(subtract(%i, 1), concatenate((%x, reshape(%i, newshape=[1])), axis=0)) }} }}")
        return [Expr(f"{{ let %g = @{grow}(floor_mod(%k, 5), const[(1), int32]{{5}}); sum(multiply(%g, %g)) }}",
                     lambda env: numpy.asarray(25 + sum(i * i for i in range(int(env["k"]) % 5 + 1)), "int32"))]

    # ---- types, values

    def any_type(self, depth):
        x = self.pick.random()
        if depth <= 0 or x < 0.45:
            return self.pick.choice(self.tensors)
        if x < 0.55:
            return self.pick.choice([INT32, BOOL])
        if x < 0.7:
            return Tuple(tuple(self.any_type(depth - 1) for _ in range(self.pick.choice([1, 2, 3]))))
        if x < 0.92:
            return Data(self.pick.choice(self.data), self.any_type(depth - 1))
        return Function((self.any_type(0),), self.any_type(0))

    def make(self, type_, depth, env):
        """An expression of a type, from the names of `env`."""
        known = [name for name, t in env.items() if t == type_]
        if known and (depth <= 0 or self.chance(0.1)):
            return variable(self.pick.choice(known))
        if depth > 0 and self.chance(0.6):
            made = self.pick.choice(self.makers())(self, type_, depth - 1, env)
            if made:
                return made
        return FORMS[type(type_)](self, type_, depth - 1, env)

    def makers(self):
        return MAKERS

    def arithmetic(self, type_):
        return ARITHMETIC

    def number(self, type_):
        least = 0 if type_.dtype[0] == "u" else -2
        value = self.pick.choice([least, 0, 1, 2, 3, 5])
        return f"{value}{SUFFIX[type_.dtype]}", value

    # ---- functions of the module

    def define(self, make):
        self.functions.append(make(self, self.name("f")))

    def signature(self, name, params, result):
        listed = ", ".join(f"%{p}: {show(t)}" for p, t in params + self.anchors)
        return f"def @{name}{self.generics()}({listed}) -> {show(result)}"

    def rest(self):
        return "".join(f", %{name}" for name, _ in self.anchors)


# ---- forms: by constructor of the type

def constant(p, type_, env):
    if type_.dtype == "bool":
        text, value = p.pick.choice([("True", True), ("False", False)])
    else:
        text, value = p.number(type_)
    if not type_.shape:
        return Expr(text, lambda env: numpy.array(value, type_.dtype))
    return Expr(f"full({text}, shape=[{', '.join(map(str, type_.shape))}])",
                lambda env: numpy.full([env.get(d, d) for d in type_.shape], value, type_.dtype))


def tensor(p, type_, depth, env):
    if depth <= 0:
        return constant(p, type_, env)
    if type_.dtype == "bool":
        return p.pick.choice([compare, compare, logic])(p, type_, depth, env)
    return p.pick.choice(p.arithmetic(type_))(p, type_, depth, env) or binary(p, type_, depth, env)


def binary(p, type_, depth, env):
    name = p.pick.choice(["add", "subtract", "multiply", "maximum", "minimum"])
    a = p.make(type_, depth, env)
    b = p.make(type_ if p.chance(0.6) else Tensor(type_.dtype, ()), depth, env)
    return bounded(type_, Expr(f"{name}({a.text}, {b.text})",
                               lambda env: numpy.asarray(getattr(numpy, name)(a.value(env), b.value(env)), type_.dtype)))


def unary(p, type_, depth, env):
    a = p.make(type_, depth, env)
    name, compute = p.pick.choice([("copy", lambda x: x), ("nn.relu", lambda x: numpy.maximum(x, 0))] +
                                  ([] if type_.dtype[0] == "u" else [("negative", numpy.negative), ("abs", numpy.abs), ("sign", numpy.sign)]))
    return Expr(f"{name}({a.text})", lambda env: numpy.asarray(compute(a.value(env)), type_.dtype))


def where(p, type_, depth, env):
    c, a, b = p.make(Tensor("bool", type_.shape), depth, env), p.make(type_, depth, env), p.make(type_, depth, env)
    return Expr(f"where({c.text}, {a.text}, {b.text})", lambda env: numpy.where(c.value(env), a.value(env), b.value(env)))


def cast(p, type_, depth, env):
    others = [t for t in p.tensors if t.shape == type_.shape and t.dtype != type_.dtype]
    if not others:
        return None
    other = p.pick.choice(others)
    a = p.make(other, depth, env)

    def compute(env):
        value = a.value(env)
        if is_float(other) and not is_float(type_):  # what does not fit becomes the nearest that does
            limits = numpy.iinfo(type_.dtype)
            value = numpy.clip(numpy.trunc(value.astype("float64")), limits.min, limits.max)
        return numpy.asarray(value).astype(type_.dtype)
    return bounded(type_, Expr(f'cast({a.text}, dtype="{type_.dtype}")', compute))


def divide(p, type_, depth, env):
    if is_float(type_):
        return None
    by = p.pick.choice([1, 2, 3, 7])
    name, compute = p.pick.choice([("floor_mod", numpy.mod), ("floor_divide", numpy.floor_divide)])
    a = p.make(type_, depth, env)
    return Expr(f"{name}({a.text}, {by}{SUFFIX[type_.dtype]})",
                lambda env: numpy.asarray(compute(a.value(env), numpy.array(by, type_.dtype)), type_.dtype))


def reduce(p, type_, depth, env):
    others = [t for t in p.tensors if t.dtype == type_.dtype and t.shape]
    if type_.shape or not others:
        return None
    a = p.make(p.pick.choice(others), depth, env)
    return bounded(type_, Expr(f"sum({a.text})", lambda env: numpy.asarray(numpy.sum(a.value(env), dtype=type_.dtype), type_.dtype)))


def reverse(p, type_, depth, env):
    if not type_.shape:
        return None
    a = p.make(type_, depth, env)
    return Expr(f"reverse({a.text}, axis=0)", lambda env: a.value(env)[::-1].copy())


def rows(p, type_, depth, env):
    """A local loop that writes row after row."""
    if not type_.shape or type_.shape[0] == 0:
        return None
    source, buffer = p.make(type_, depth, env), p.make(type_, 0, env)
    s, b, i, loop, row, made = (p.name(hint) for hint in ("s", "b", "i", "loop", "row", "made"))
    row_type = Tensor(type_.dtype, type_.shape[1:])
    step = p.make(row_type, min(depth, 2), {**env, row: row_type, i: INT32})
    carries = p.chance(0.3)
    text = (f"{{ let %{s} = {source.text}; let %{b} = {buffer.text}; "
            f"let %{loop} = fn (%{i}: int32, %{b}: {show(type_)}) -> {show(type_)} {{ if (less(%{i}, take(shape_of(%{s}), 0))) {{ "
            f'let %{row} = take(%{b if carries else s}, %{i}, axis=0, mode="clip"); let %{made} = {step.text}; '
            f"%{loop}(add(%{i}, 1), scatter_nd(%{b}, reshape(%{i}, newshape=[1, 1]), expand_dims(%{made}, axis=0))) }} else {{ %{b} }} }}; "
            f"%{loop}(0, %{b}) }}")

    def compute(env):
        read, written = source.value(env), buffer.value(env).copy()
        for k in range(len(read)):
            taken = (written if carries else read)[k].copy()
            written[k] = step.value({**env, row: taken, i: numpy.array(k, "int32")})
        return written
    return Expr(text, compute)


ARITHMETIC = [binary, binary, binary, unary, where, cast, divide, reduce, reverse, rows]


def compare(p, type_, depth, env):
    operand = p.pick.choice([t for t in p.tensors if t.shape == type_.shape] or [Tensor("int32", type_.shape)])
    name = p.pick.choice(["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"])
    a = p.make(operand, depth, env)
    b = p.make(operand if p.chance(0.6) else Tensor(operand.dtype, ()), depth, env)
    return Expr(f"{name}({a.text}, {b.text})", lambda env: numpy.asarray(getattr(numpy, name)(a.value(env), b.value(env))))


def logic(p, type_, depth, env):
    name = p.pick.choice(["logical_and", "logical_or", "logical_xor"])
    a, b = p.make(type_, depth, env), p.make(type_, depth, env)
    return Expr(f"{name}({a.text}, {b.text})", lambda env: numpy.asarray(getattr(numpy, name)(a.value(env), b.value(env))))


def tuple_(p, type_, depth, env):
    fields = [p.make(t, depth, env) for t in type_.fields]
    return Expr(f"({', '.join(f.text for f in fields)}{',' * (len(fields) == 1)})", lambda env: tuple(f.value(env) for f in fields))


def data(p, type_, depth, env):
    constructors = CONSTRUCTORS[type_.name](type_.arg)
    name, types = constructors[0] if depth <= 0 else p.pick.choice(constructors)
    fields = [p.make(t, depth, env) for t in types]
    text = f"{name}({', '.join(f.text for f in fields)})" if fields else f"{name}[{show(type_.arg)}]()"
    return Expr(text, lambda env: (name, [f.value(env) for f in fields]))


def closure(p, type_, depth, env):
    params = [p.name("a") for _ in type_.params]
    body = p.make(type_.result, depth, {**env, **dict(zip(params, type_.params))})
    listed = ", ".join(f"%{name}: {show(t)}" for name, t in zip(params, type_.params))
    return Expr(f"fn ({listed}) -> {show(type_.result)} {{ {body.text} }}",
                lambda env: lambda *args: body.value({**env, **dict(zip(params, args))}))


FORMS = {Tensor: tensor, Tuple: tuple_, Data: data, Function: closure}


# ---- control flow: of any type

def if_(p, type_, depth, env):
    c, a, b = p.make(BOOL, depth, env), p.make(type_, depth, env), p.make(type_, depth, env)
    return Expr(f"(if ({c.text}) {{ {a.text} }} else {{ {b.text} }})", lambda env: (a if c.value(env) else b).value(env))


def let(p, type_, depth, env):
    of, name = p.any_type(2), p.name("l")
    a = p.make(of, depth, env)
    b = p.make(type_, depth, {**env, name: of})
    return Expr(f"{{ let %{name} = {a.text}; {b.text} }}", lambda env: b.value({**env, name: a.value(env)}))


def project(p, type_, depth, env):
    types = [p.any_type(1) for _ in range(p.pick.choice([0, 1, 2]))]
    k = p.pick.randint(0, len(types))
    a = p.make(Tuple(tuple(types[:k] + [type_] + types[k:])), depth, env)
    return Expr(f"({a.text}).{k}", lambda env: a.value(env)[k])


def reference(p, type_, depth, env):
    """Writes one that is there, or makes one that what follows may write."""
    known = [name for name, t in env.items() if isinstance(t, Ref)]
    if known and p.chance(0.65):
        name = p.pick.choice(known)
        a, b = p.make(env[name].of, depth, env), p.make(type_, depth, env)

        def write(env):
            env[name][0] = a.value(env)
            return b.value(env)
        return Expr(f"{{ ref_write(%{name}, {a.text}); {b.text} }}", write)
    name = p.name("r")
    a, b = p.make(type_, depth, env), p.make(type_, depth, {**env, name: Ref(type_)})

    def compute(env):
        cell = [a.value(env)]
        b.value({**env, name: cell})
        return cell[0]
    return Expr(f"{{ let %{name} = ref({a.text}); let %{p.name('u')} = {b.text}; ref_read(%{name}) }}", compute)


def read(p, type_, depth, env):
    known = [name for name, t in env.items() if t == Ref(type_)]
    return Expr(f"ref_read(%{known[0]})", lambda env: env[known[0]][0]) if known else None


def call_closure(p, type_, depth, env):
    known = [name for name, t in env.items() if isinstance(t, Function) and t.result == type_]
    if not known:
        of, name = Function(tuple(p.any_type(1) for _ in range(p.pick.choice([0, 1, 2]))), type_), p.name("f")
        a, b = closure(p, of, depth, env), p.make(type_, depth, {**env, name: of})
        return Expr(f"{{ let %{name} = {a.text}; {b.text} }}", lambda env: b.value({**env, name: a.value(env)}))
    name = p.pick.choice(known)
    args = [p.make(t, depth, env) for t in env[name].params]
    return Expr(f"%{name}({', '.join(a.text for a in args)})", lambda env: env[name](*[a.value(env) for a in args]))


def choose_closure(p, type_, depth, env):
    """Of two closures, by a branch or out of a list, one is called."""
    of = Function((p.pick.choice(p.tensors),), type_)
    f, g, a, name = closure(p, of, depth, env), closure(p, of, depth, env), p.make(of.params[0], depth, env), p.name("q")
    if p.chance(0.5):
        c = p.make(BOOL, depth, env)
        return Expr(f"{{ let %{name} = if ({c.text}) {{ {f.text} }} else {{ {g.text} }}; %{name}({a.text}) }}",
                    lambda env: (f if c.value(env) else g).value(env)(a.value(env)))
    head, other = p.name("h"), p.make(type_, 0, env)
    return Expr(f"{{ let %{name} = Cons({f.text}, Cons({g.text}, Nil)); match (%{name}) {{ Cons(%{head}, _) => %{head}({a.text}), "
                f"Nil => {other.text} }} }}", lambda env: f.value(env)(a.value(env)))


def pattern(p, type_, depth, names):
    """A pattern's text, and whether a value fits, which binds its variables. `names` gets their types."""
    parts, constructor = None, ""
    if depth > 0 and p.chance(0.75):
        if isinstance(type_, Tuple):
            parts = type_.fields
        elif isinstance(type_, Data):
            constructor, parts = p.pick.choice(CONSTRUCTORS[type_.name](type_.arg))
    if parts is None:
        if p.chance(0.3):
            return "_", lambda value, env: True
        name = p.name("p")
        names[name] = type_
        return f"%{name}", lambda value, env: env.update({name: value}) or True
    inner = [pattern(p, t, depth - 1, names) for t in parts]
    text = f"{constructor}({', '.join(text for text, _ in inner)}{',' * (not constructor and len(inner) == 1)})" if inner else constructor

    def fits(value, env):
        if constructor and value[0] != constructor:
            return False
        return all([fit(v, env) for (_, fit), v in zip(inner, value[1] if constructor else value)])
    return text, fits


def match(p, type_, depth, env):
    known = [name for name, t in env.items() if isinstance(t, (Data, Tuple))]
    if known and p.chance(0.6):
        of, on = env[known[-1]], variable(known[-1])
    else:
        of = Data(p.pick.choice(p.data), p.any_type(1)) if p.chance(0.7) else Tuple((Data("Option", p.any_type(0)), Data("List", INT32)))
        on = p.make(of, depth, env)
    clauses = []
    for levels in [p.pick.choice([1, 2, 3]) for _ in range(p.pick.choice([1, 2, 3]))] + [0]:
        names = {}
        text, fits = pattern(p, of, levels, names)
        clauses.append((text, fits, p.make(type_, depth, {**env, **names})))

    def compute(env):
        value = on.value(env)
        for _, fits, body in clauses:
            inner = dict(env)
            if fits(value, inner):
                return body.value(inner)
    return Expr(f"match ({on.text}) {{ {', '.join(f'{text} => {{ {body.text} }}' for text, _, body in clauses)} }}", compute)


def count_of(p, env):
    return p.pick.choice([Expr("3", lambda env: 3), Expr("0", lambda env: 0)] +
                         [Expr(f"floor_mod(%{n}, 5)", lambda env, n=n: int(env[n]) % 5) for n, t in env.items() if t == INT32])


def repeated(step, i, acc, env, counts, value):
    for k in counts:
        value = step.value({**env, i: numpy.array(k, "int32"), acc: value})
    return value


def local_recursion(p, type_, depth, env):
    """A closure that calls itself, in tail position or not, or two that call each other."""
    f, g, i, acc = (p.name(hint) for hint in ("f", "g", "i", "w"))
    count, first = count_of(p, env), p.make(type_, depth, env)
    step = p.make(type_, min(depth, 2), {**env, i: INT32, acc: type_})
    head = f"fn (%{i}: int32, %{acc}: {show(type_)}) -> {show(type_)}"
    tail = lambda callee: f"{head} {{ if (greater(%{i}, 0)) {{ %{callee}(subtract(%{i}, 1), {step.text}) }} else {{ %{acc} }} }}"
    kind = p.pick.choice(["tail", "inner", "two"])
    if kind == "two":
        of = show(Function((INT32, type_), type_))
        bodies = f"let %{f}: {of}, %{g}: {of} = {tail(g)}, {tail(f)};"
    elif kind == "tail":
        bodies = f"let %{f} = {tail(f)};"
    else:
        bodies = (f"let %{f} = {head} {{ if (greater(%{i}, 0)) {{ let %{acc} = %{f}(subtract(%{i}, 1), %{acc}); {step.text} }} "
                  f"else {{ %{acc} }} }};")

    def compute(env):
        n = count.value(env)
        return repeated(step, i, acc, env, range(1, n + 1) if kind == "inner" else range(n, 0, -1), first.value(env))
    return Expr(f"{{ {bodies} %{f}({count.text}, {first.text}) }}", compute)


def call_function(p, type_, depth, env):
    known = [f for f in p.functions if f.result == type_]
    if not known or not all(any(t == u for u in env.values()) for _, t in p.anchors):
        return None
    f = p.pick.choice(known)
    args = [count_of(p, env) if t == "count" else p.make(t, depth, env) for t in f.params]
    args += [variable(next(name for name, t in env.items() if t == u)) for _, u in p.anchors]

    def compute(env):
        values = [a.value(env) for a in args]
        dims = {d: env[d] for d in p.dims}
        return f.call({**dims, **dict(zip((name for name, _ in p.anchors), values[len(f.params):]))}, *values[:len(f.params)])
    return Expr(f"@{f.name}({', '.join(a.text for a in args)})", compute)


MAKERS = [if_, match, match, let, project, reference, read, call_closure, choose_closure, local_recursion, call_function, call_function]


# ---- functions of the module: each gives its name, types, and what a call computes from dims, anchors and arguments

Known = collections.namedtuple("Known", "name params result call")


def define_plain(p, name):
    params = [(p.name("x"), p.any_type(2)), (p.name("h"), Function((p.tensors[0],), p.tensors[0]))]
    result = p.any_type(1)
    body = p.make(result, 3, dict(params + p.anchors))
    p.definitions.append(f"{p.signature(name, params, result)} {{ {body.text} }}")
    return Known(name, [t for _, t in params], result, lambda env, *args: body.value({**env, **dict(zip((n for n, _ in params), args))}))


def define_loop(p, name):
    i, acc, result = p.name("i"), p.name("acc"), p.any_type(1)
    params = [(i, INT32), (acc, result)]
    step = p.make(result, 2, dict(params + p.anchors))
    is_inner, other = p.chance(0.4), p.name("g") if p.chance(0.4) else name
    if is_inner:
        body = f"if (less_equal(%{i}, 0)) {{ %{acc} }} else {{ let %{acc} = @{name}(subtract(%{i}, 1), %{acc}{p.rest()}); {step.text} }}"
        p.definitions.append(f"{p.signature(name, params, result)} {{ {body} }}")
    else:
        for at, to in {name: other, other: name}.items():
            body = f"if (less_equal(%{i}, 0)) {{ %{acc} }} else {{ @{to}(subtract(%{i}, 1), {step.text}{p.rest()}) }}"
            p.definitions.append(f"{p.signature(at, params, result)} {{ {body} }}")
    return Known(name, ["count", result], result,
                 lambda env, n, first: repeated(step, i, acc, env, range(1, n + 1) if is_inner else range(n, 0, -1), first))


def define_fold(p, name):
    element, result = p.any_type(1), p.any_type(1)
    items, acc, head, tail = (p.name(hint) for hint in ("l", "acc", "h", "t"))
    step = p.make(result, 2, dict([(head, element), (acc, result)] + p.anchors))
    is_left = p.chance(0.5)
    params = [(items, Data("List", element)), (acc, result)]
    again = (f"@{name}(%{tail}, {step.text}{p.rest()})" if is_left else
             f"{{ let %{acc} = @{name}(%{tail}, %{acc}{p.rest()}); {step.text} }}")
    p.definitions.append(f"{p.signature(name, params, result)} {{ match (%{items}) {{ Cons(%{head}, %{tail}) => {again}, Nil => %{acc} }} }}")

    def call(env, value, first):
        elements = []
        while value[0] == "Cons":
            elements.append(value[1][0])
            value = value[1][1]
        for element in elements if is_left else reversed(elements):
            first = step.value({**env, head: element, acc: first})
        return first
    return Known(name, [t for _, t in params], result, call)


def define_list(p, name):
    i, element = p.name("i"), p.any_type(1)
    item = p.make(element, 2, dict([(i, INT32)] + p.anchors))
    result = Data("List", element)
    p.definitions.append(f"{p.signature(name, [(i, INT32)], result)} {{ if (less_equal(%{i}, 0)) {{ Nil }} "
                         f"else {{ Cons({item.text}, @{name}(subtract(%{i}, 1){p.rest()})) }} }}")

    def call(env, n):
        value = ("Nil", [])
        for element in reversed([item.value({**env, i: numpy.array(k, "int32")}) for k in range(n, 0, -1)]):
            value = ("Cons", [element, value])
        return value
    return Known(name, ["count"], result, call)


def define_tree(p, name):
    element = p.pick.choice(p.tensors)
    tree, acc, left, middle, right, low, high = (p.name(hint) for hint in ("t", "acc", "l", "m", "r", "low", "high"))
    step = p.make(element, 2, dict([(low, element), (middle, element), (high, element)] + p.anchors))
    params = [(tree, Data("Tree", element)), (acc, element)]
    p.definitions.append(f"{p.signature(name, params, element)} {{ match (%{tree}) {{ Node(%{left}, %{middle}, %{right}) => {{ "
                         f"let %{low} = @{name}(%{left}, %{acc}{p.rest()}); let %{high} = @{name}(%{right}, %{middle}{p.rest()}); {step.text} }}, "
                         f"Leaf => %{acc} }} }}")

    def call(env, value, first):
        if value[0] == "Leaf":
            return first
        below, at, above = value[1]
        return step.value({**env, low: call(env, below, first), middle: at, high: call(env, above, at)})
    return Known(name, [t for _, t in params], element, call)


DEFINERS = [define_plain, define_loop, define_loop, define_fold, define_list, define_tree]
