"""References that stay: in data, in closures that functions of the module call, under two names, in a ring."""
from oracle_program import BOOL, INT32, Expr, Ref, count_of, show

DECLARATIONS = """type Box[A] { Box(Ref[A]), Empty }
type Chain[A] { Link(A, Ref[Chain[A]]), End }
def @each<A>(%l: List[Ref[A]], %f: fn (A) -> A) -> () {
    match (%l) { Cons(%r, %t) => { ref_write(%r, %f(ref_read(%r))); @each(%t, %f) }, Nil => () }
}
def @times(%n: int32, %f: fn (int32) -> ()) -> () { if (greater(%n, 0)) { %f(%n); @times(subtract(%n, 1), %f) } else { () } }
def @twist<A>(%a: Ref[A], %b: Ref[A], %n: int32, %f: fn (A, A) -> A) -> A {
    if (greater(%n, 0)) { ref_write(%a, %f(ref_read(%b), ref_read(%a))); @twist(%b, %a, subtract(%n, 1), %f) } else { ref_read(%b) }
}
def @around<A>(%c: Chain[A], %n: int32, %x: A, %f: fn (A, A) -> A) -> A {
    match (%c) {
        Link(%y, %r) => { if (greater(%n, 0)) { @around(ref_read(%r), subtract(%n, 1), %f(%x, %y), %f) } else { %x } },
        End => %x
    }
}
"""


def step(p, type_, depth, env, params):
    """A closure of these parameters that gives the type."""
    body = p.make(type_, min(depth, 2), {**env, **dict(params)})
    listed = ", ".join(f"%{name}: {show(t)}" for name, t in params)
    return f"fn ({listed}) -> {show(type_)} {{ {body.text} }}"


def each(p, type_, depth, env):
    """In a list, perhaps twice."""
    r, q, l, v = (p.name(hint) for hint in ("r", "q", "l", "v"))
    a, b = p.make(type_, depth, env), p.make(type_, depth, env)
    items = "Nil"
    for _ in range(p.pick.choice([1, 2, 3])):
        items = f"Cons(%{p.pick.choice([r, q])}, {items})"
    inner = {**env, r: Ref(type_), q: Ref(type_)}
    return Expr(f"{{ let %{r} = ref({a.text}); let %{q} = ref({b.text}); let %{l} = {items}; "
                f"@each(%{l}, {step(p, type_, depth, inner, [(v, type_)])}); ref_read(%{r}) }}", None)


def times(p, type_, depth, env):
    """In a closure that is called again and again."""
    r, v, i = (p.name(hint) for hint in ("r", "v", "i"))
    a = p.make(type_, depth, env)
    b = p.make(type_, min(depth, 2), {**env, r: Ref(type_), v: type_, i: INT32})
    return Expr(f"{{ let %{r} = ref({a.text}); @times({count_of(p, env).text}, fn (%{i}: int32) -> () "
                f"{{ let %{v} = ref_read(%{r}); ref_write(%{r}, {b.text}) }}); ref_read(%{r}) }}", None)


def boxed(p, type_, depth, env):
    """In data that a branch gives."""
    b, r = p.name("b"), p.name("r")
    c, first, second, other = (p.make(t, depth, env) for t in (BOOL, type_, type_, type_))
    inner = {**env, r: Ref(type_)}
    body = p.make(type_, depth, inner)
    return Expr(f"{{ let %{b} = if ({c.text}) {{ Box(ref({first.text})) }} else {{ {p.pick.choice([f'Box(ref({second.text}))', 'Empty'])} }}; "
                f"match (%{b}) {{ Box(%{r}) => {{ ref_write(%{r}, {body.text}); {p.make(type_, depth, inner).text} }}, Empty => {{ {other.text} }} }} }}",
                None)


def both(p, type_, depth, env):
    """Two parameters of a loop, which may be one cell."""
    r, q, x, y = (p.name(hint) for hint in ("r", "q", "x", "y"))
    a, b = p.make(type_, depth, env), p.make(type_, depth, env)
    f = step(p, type_, depth, env, [(x, type_), (y, type_)])
    return Expr(f"{{ let %{r} = ref({a.text}); let %{q} = {p.pick.choice([f'ref({b.text})', f'%{r}'])}; "
                f"@twist(%{r}, %{q}, {count_of(p, env).text}, {f}) }}", None)


def ring(p, type_, depth, env):
    """Data that holds itself."""
    r, n, x, y = (p.name(hint) for hint in ("r", "n", "x", "y"))
    first, a, b = (p.make(type_, depth, env) for _ in range(3))
    f = step(p, type_, depth, env, [(x, type_), (y, type_)])
    return Expr(f"{{ let %{r} = ref(End[{show(type_)}]()); let %{n} = Link({a.text}, %{r}); "
                f"ref_write(%{r}, Link({b.text}, {p.pick.choice([f'ref(%{n})', f'%{r}'])})); "
                f"@around(%{n}, {count_of(p, env).text}, {first.text}, {f}) }}", None)


def stacked(p, type_, depth, env):
    """A list in a cell, which grows."""
    r, i, h = (p.name(hint) for hint in ("r", "i", "h"))
    a, other = p.make(type_, min(depth, 2), {**env, i: INT32}), p.make(type_, depth, env)
    return Expr(f"{{ let %{r} = ref(Nil[{show(type_)}]()); @times({count_of(p, env).text}, fn (%{i}: int32) -> () "
                f"{{ ref_write(%{r}, Cons({a.text}, ref_read(%{r}))) }}); "
                f"match (ref_read(%{r})) {{ Cons(%{h}, _) => %{h}, Nil => {{ {other.text} }} }} }}", None)


MAKERS = [each, times, boxed, both, ring, stacked]
