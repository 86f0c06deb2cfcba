"""Random programs with gradients: those of oracle_program.py, of floats and smooth operators; a third has references (gradient_cells.py),
two fifths compute some values again on the way back (annotation.checkpoint).

Values stay small, so that differences can be told from rounding. The text computes a number and a tensor of the inputs, their
gradients, one of them by a closure that holds the other inputs, forward the slope along a direction, and the product of the second derivatives and a direction in three ways: by a gradient
of a gradient, forward over reverse and reverse over forward.
"""
import random

import gradient_cells
import oracle_program
from oracle_program import BOOL, DECLARATIONS, DEFINERS, INT32, MAKERS, Expr, Tensor, show

SHAPES = [(), (), (3,), (2, 3), (2,), (1, 3), ("n",), (2, "n"), ("n", "m")]
CELLS = [oracle_program.reference, oracle_program.read]
MAKERS_OF_CELLS = MAKERS + gradient_cells.MAKERS


class Program(oracle_program.Program):
    def __init__(self, number):
        self.pick = random.Random(number)
        self.nname, self.functions, self.definitions = 0, [], []
        self.has_cells = self.chance(0.35)
        self.has_marks = self.chance(0.4)
        self.tensors = [Tensor("float64", self.pick.choice(SHAPES)) for _ in range(3)]
        self.tensors[0] = Tensor("float64", ())
        self.inputs = [(f"x{i}", t) for i, t in enumerate(self.tensors)] + [("k", INT32), ("c", BOOL)]
        self.dims = oracle_program.dims_of(self.tensors)
        self.anchors = [(f"d{i}", next(t for t in self.tensors if d in t.shape)) for i, d in enumerate(self.dims)]
        for _ in range(self.pick.choice([0, 1, 2, 3])):
            self.define(self.pick.choice(DEFINERS))
        depth = self.pick.choice([3, 4, 5])
        self.outputs = [self.make(self.pick.choice(self.tensors), depth, dict(self.inputs)) for _ in range(self.pick.choice([1, 2]))]
        self.wrt = sorted(self.pick.sample(range(3), self.pick.choice([1, 2, 3, 3])))

    def make(self, type_, depth, env):
        """Some is computed again on the way back."""
        made = self.make_plain(type_, depth, env)
        return Expr(f"annotation.checkpoint({made.text})", made.compute) if self.has_marks and depth > 0 and self.chance(0.2) else made

    def make_plain(self, type_, depth, env):
        """Numbers at the leaves come from what there is more often than they are constants."""
        known = [(name, t) for name, t in env.items() if isinstance(t, Tensor) and t.dtype == "float64"]
        if depth > 0 or not known or not isinstance(type_, Tensor) or type_.dtype != "float64" or self.chance(0.2):
            return super().make(type_, depth, env)
        name, t = self.pick.choice(known)
        if t == type_:
            return oracle_program.variable(name)
        return Expr(f"broadcast_to(tanh(sum(%{name})), shape=[{', '.join(map(str, type_.shape))}])" if type_.shape else f"tanh(sum(%{name}))", None)

    def makers(self):
        return MAKERS_OF_CELLS if self.has_cells else [make for make in MAKERS if make not in CELLS]

    def arithmetic(self, type_):
        return SMOOTH if type_.dtype == "float64" else oracle_program.ARITHMETIC

    def listed(self, mark=""):
        return "".join(f", %{mark}{self.inputs[i][0]}" for i in self.wrt)

    # ---- the text

    def moved(self, mark, step):
        """The inputs, those that are derived by further along a direction."""
        words = [f"%{name}" for name, _ in self.inputs]
        for i in self.wrt:
            words[i] = f"add({words[i]}, multiply({step}, %{mark}{self.inputs[i][0]}))"
        return ", ".join(words)

    def text(self):
        params = ", ".join(f"%{name}: {show(t)}" for name, t in self.inputs)
        args = ", ".join(f"%{name}" for name, _ in self.inputs)
        along, across = (", ".join(f"%{mark}{self.inputs[i][0]}: {show(self.inputs[i][1])}" for i in self.wrt) for mark in "vu")
        g = self.generics()
        one, (first, of_first) = len(self.wrt) == 1, self.inputs[self.wrt[0]]
        held = ", ".join("%z" if name == first else f"%{name}" for name, _ in self.inputs)
        dots = "0f64"
        for k, i in enumerate(self.wrt):
            dots = f"add({dots}, sum(multiply(%d{'' if one else f'.{k}'}, %v{self.inputs[i][0]})))"
        total = "0f64"
        for i, _ in enumerate(self.outputs):
            total = f"add({total}, sum(%r{i}))"
        lets = "\n    ".join(f"let %r{i} = {e.text};" for i, e in enumerate(self.outputs))
        steps = ["-2f64", "-1f64", "-0.5f64", "0f64", "0.5f64", "1f64", "2f64"]
        values = ",\n     ".join(f"@value({self.moved('v', f'multiply(%h, {s})')})" for s in steps)
        slopes = ",\n     ".join(f"@slope({self.moved('u', f'multiply(%h, {s})')}{self.listed('v')})" for s in steps)
        return (f'#[version = "baton 0.1"]\n{DECLARATIONS}{gradient_cells.DECLARATIONS if self.has_cells else ""}' +
                "\n".join(self.definitions) + f"""
def @value{g}({params}) -> float64 {{
    {lets}
    {total}
}}
gradient @both = @value(wrt={self.wrt}, keep=[0]);
def @main{g}({params}) {{ @both({args}) }}
gradient @gradient = @value(wrt={self.wrt});
def @slope{g}({params}, {along}) -> float64 {{
    let %d = @gradient({args});
    {dots}
}}
gradient @slopes_gradient = @slope(wrt={self.wrt});
jvp @moved = @value(wrt={self.wrt});
jvp @gradient_moved = @gradient(wrt={self.wrt});
gradient @moved_gradient = @moved(from=1, wrt={self.wrt});
def @closed{g}({params}) {{
    let %closure = fn (%z: {show(of_first)}) -> float64 {{ @value({held}) }};
    gradient(%closure)(%{first})
}}
def @forward{g}({params}, {along}) {{ @moved({args}{self.listed('v')}) }}
def @forward_over_reverse{g}({params}, {along}) {{ @gradient_moved({args}{self.listed('v')}).1 }}
def @reverse_over_forward{g}({params}, {along}) {{ @moved_gradient({args}{self.listed('v')}) }}
def @second{g}({params}, {along}) {{ @slopes_gradient({args}{self.listed('v')}) }}
def @values{g}({params}, {along}, %h: float64) {{
    ({values})
}}
def @slopes{g}({params}, {along}, {across}, %h: float64) {{
    ({slopes})
}}
""")


# ---- smooth operators

def unary(p, type_, depth, env):
    name = p.pick.choice(["tanh({})", "sin({})", "cos({})", "sigmoid({})", "negative({})", "exp(tanh({}))", "nn.relu({})", "abs({})", "copy({})",
                          "sqrt(add(1f64, abs({})))", "log(add(2f64, abs({})))", "clip({}, a_min=-1f, a_max=1f)", "erf({})", "atan({})"])
    return Expr(name.format(p.make(type_, depth, env).text), None)


def binary(p, type_, depth, env):
    a = p.make(type_, depth, env)
    b = p.make(type_ if p.chance(0.6) else Tensor(type_.dtype, ()), depth, env)
    text = p.pick.choice(["add({0}, {1})", "subtract({0}, {1})", "tanh(multiply({0}, {1}))", "maximum({0}, {1})", "minimum({0}, {1})",
                          "divide({0}, add(2f64, sin({1})))", "power(add(1.5f64, sin({0})), tanh({1}))"])
    return Expr(f"multiply(0.7f64, {text.format(a.text, b.text)})", None)


def where(p, type_, depth, env):
    c, a, b = p.make(Tensor("bool", type_.shape), depth, env), p.make(type_, depth, env), p.make(type_, depth, env)
    return Expr(f"where({c.text}, {a.text}, {b.text})", None)


def reduce(p, type_, depth, env):
    others = [t for t in p.tensors if t.shape]
    if type_.shape or not others:
        return None
    other = p.pick.choice(others)
    names = ["sum({})", "logsumexp({})", "mean({})", "max({})", "prod({})", "variance({})"]
    return Expr(f"tanh({p.pick.choice(names).format(p.make(other, depth, env).text)})", None)


def along_axis(p, type_, depth, env):
    if not type_.shape:
        return None
    a = p.make(type_, depth, env)
    text = p.pick.choice(["reverse({}, axis=0)", "tanh(cumsum({}, axis=0))", "nn.softmax({}, axis=-1)", "nn.log_softmax({}, axis=-1)",
                          "multiply(sum({0}, axis=[-1], keepdims=True), sin({0}))"])
    return Expr(text.format(a.text), None)


def spread(p, type_, depth, env):
    """A number, or a row, in every place."""
    if not type_.shape:
        return None
    a = p.make(Tensor(type_.dtype, ()), depth, env)
    return Expr(f"broadcast_to({a.text}, shape=[{', '.join(map(str, type_.shape))}])", None)


def taken(p, type_, depth, env):
    """Elements by positions that are inputs."""
    others = [t for t in p.tensors if t.shape and t.shape[1:] == type_.shape]
    if not others:
        return None
    a, i = p.make(p.pick.choice(others), depth, env), p.make(INT32, depth, env)
    return Expr(f'take({a.text}, {i.text}, axis=0, mode="{p.pick.choice(["clip", "wrap"])}")', None)


def product(p, type_, depth, env):
    """Of matrices."""
    if len(type_.shape) != 2:
        return None
    a = p.make(type_, depth, env)
    b = p.make(type_, depth, env)
    return Expr(f"tanh(nn.matmul(nn.dense({a.text}, {b.text}), {a.text}))", None)


def joined(p, type_, depth, env):
    """Two concatenated, the parts changed and added."""
    if not type_.shape:
        return None
    a, b, name = p.make(type_, depth, env), p.make(type_, depth, env), p.name("j")
    return Expr(f"{{ let %{name} = split(concatenate(({a.text}, {b.text}), axis=0), indices_or_sections=2, axis=0); "
                f"tanh(add(multiply(%{name}.0, %{name}.1), %{name}.0)) }}", None)


SMOOTH = [unary, unary, unary, binary, binary, binary, where, reduce, along_axis, spread, taken, product, joined, oracle_program.rows]
