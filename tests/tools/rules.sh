# Rewriting rules of a plugin: listed, checked and applied; each fault is told with its place in the rule.
. "$(dirname "$0")/kit.sh"

mkdir rules
cat > rules/rules.baton.json <<'EOF'
{ "id": "org.example.rules", "version": "1.0.0", "license": "Apache-2.0", "doc": "Rules.", "abi": { "major": 0, "needs": 1, "built": 1 }, "sources": [ "rules.c" ] }
EOF
# rules TEXT [PASS]: the plugin, with one rule
rules() {
    cat > rules/rules.c <<EOF
#include <baton/pass.h>
static const bt_rule rows[] = {
    { .name = "example.rule", .doc = "One.", .pass = "${2-simplify-expr}", .text = "$1", ${3-} },
    { 0 },
};
const bt_table bt_rules_rules[] = { BT_RULES(rows), { 0 } };
EOF
    expect 0 -- "$baton" plugin describe "$work/rules/rules.baton.json" --write
}
BATON_PLUGIN_PATH=$work/rules
export BATON_PLUGIN_PATH

rules 'multiply(multiply(x, 0.5), 0.5) => multiply(x, scalar(0.25, x)) if float(x)'
expect 0 '^example.rule  *One\.$' -- "$baton" list rules
expect 0 '^pass      simplify-expr$' '^rule      multiply(multiply(x, 0.5), 0.5) => ' -- "$baton" list rules example.rule
expect 0 '^promise   equal, for all values, NaN and infinities too$' -- "$baton" list rules example.rule
rules 'multiply(multiply(x, 0.5), 0.5) => multiply(x, scalar(0.25, x)) if float(x)' simplify-expr '.ulp = 2, .from = -1, .to = 1.5'
expect 0 '^promise   floats differ by 2 ulp of 1 + |result| at most, for floats from -1 to 1.5, where the result is not infinite$' -- "$baton" list rules example.rule
expect 0 '"ulp":2,"from":-1.0,"to":1.5}' -- "$baton" list rules example.rule --json
rules 'multiply(multiply(x, 0.5), 0.5) => multiply(x, scalar(0.25, x)) if float(x)'
expect 0 '^rule example.rule: multiply' '^  ok      both sides are equal in 32 programs$' -- "$baton" plugin check org.example.rules
refuse FAILED
cat > halves.baton <<'EOF'
#[version = "baton 0.1"]
def @main(%x: Tensor[(2), float32], %i: Tensor[(2), int32]) {
    (multiply(multiply(%x, 0.5f), 0.5f), multiply(multiply(%i, 2), 2))
}
EOF
expect 0 'multiply(%x, 0.25f)' 'multiply(2, 2)' -- "$baton" opt halves.baton --passes 'simplify-expr, dead-code'
refuse '0.5f'

# Truth values are no numbers; a name is one value wherever it stands; a word does not end at an underscore.
cat > words.baton <<'EOF'
#[version = "baton 0.1"]
def @main(%a: Tensor[(2), bool], %x: Tensor[(2), float32]) {
    %r = nn.relu(%x);
    (logical_and(%a, const[(2), bool]{True, True}), logical_and(%a, const[(2), bool]{False, False}),
     subtract(%x, %r), subtract(%r, %r))
}
EOF
rules 'logical_and(x, True) => x'
expect 0 '(%a, %0, ' 'zeros_like(%a)' -- "$baton" opt words.baton --passes 'simplify-expr, dead-code'
refuse 'True \.\.'
rules 'logical_and(x, 0) => x' # it would give %a twice
expect 0 '(%a, %0, ' 'zeros_like(%a)' -- "$baton" opt words.baton --passes 'simplify-expr, dead-code'
rules 'subtract(y, y: nn.relu(x)) => negative(y)'
expect 0 ' = subtract(%x' 'negative(' -- "$baton" opt words.baton --passes 'simplify-expr, dead-code'
[ "$(grep -c 'negative(' out)" = 1 ] || fault "y is two values"
# An operator of another plugin, with attributes, definitions and several results.
rules 'nn.softmax(x, axis=a) => divide(e, sum(e, axis=axis(a, x), keepdims=True)) where e = exp(x)' simplify-inference
cat > softmax.baton <<'EOF'
#[version = "baton 0.1"]
def @main(%x: Tensor[(2, 3), float32]) { nn.softmax(%x) }
EOF
expect 0 '%0: .* = exp(%x);' '%1: .* = sum(%0, axis=\[1\], keepdims=True);' 'divide(%0, %1)' -- \
    "$baton" opt softmax.baton --passes simplify-inference
expect 1 'element [0-9]* is .*, what is put in place gives' -- "$baton" plugin check org.example.rules # no ulp is allowed

# wrong TEXT COLUMN MESSAGE: a rule with a fault
wrong() {
    rules "$1"
    expect 1 "rules:1:$2: error: rule example.rule: $3" -- "$baton" plugin check org.example.rules
}
wrong 'nn.rellu(x) => x' 1 '.*nn.rellu'
wrong 'nn.relu(x, x) => x' 1 'nn.relu takes 1 operand, not 2'
wrong 'power(x, 2) => multiply(x, y)' 28 'y is not bound by the pattern'
wrong 'transpose(x, axis=a) => x' 19 'transpose has no attribute axis'
wrong 'transpose(x, axes=a) => cast(x, dtype=a)' 39 'a is of another kind than attribute dtype of cast'
wrong 'cast(x, dtype=\"nosuch\") => x' 1 '.*nosuch'
wrong 'abs|floor(x) => abs|floor(x)' 17 'one of several operators cannot be built'
wrong 'abs(x) => F(x)' 11 'F stands for no operator of the pattern'
wrong 'abs(x) => x if positive(x)' 16 '.*positive'
wrong 'abs(x) => x if commutative(x)' 28 'commutative expects a variable for an operator here'
wrong 'abs(x) => x if rank(x)' 16 'rank takes 2 operands, not 1'
wrong 'abs(x) x' 8 'expected =>'
wrong 'abs(x => x' 7 'expected )'
wrong 'x => x' 1 'a pattern is a call'
wrong 'abs(x) => y where y = z' 23 'z is not bound by the pattern'
wrong 'abs(x) => y where y = negative(z), z = negative(y)' 49 'y is defined by itself'
wrong 'abs(x) => x x' 13 'expected where, if or the end'
expect 1 '^ *abs(x) => x x$' '^  *^' -- "$baton" plugin check org.example.rules
wrong 'abs(x) => x if flaot(x)' 16 'flaot is no condition; did you mean float?'
wrong 'abs(x) => x if shape(x)' 16 'shape is no condition'
wrong 'transpose(x, axis=a) => x' 19 'transpose has no attribute axis; did you mean axes?'
wrong 'nn.leaky_relu(x, alpha=a) => multiply(x, a)' 42 'a is an attribute, a value is expected: scalar(a, x) is one'
wrong 'cast(x, dtype=d) => multiply(x, scalar(d, x))' 40 'scalar expects a number, or an attribute that is one here, which is another kind of attribute than d'
wrong 'nn.softmax(x, axis=a) => cast(x, dtype=x)' 40 'x is a value, attribute dtype of cast is none; shape(x), dtype(x)'
wrong 'abs(x) => multiply(x, scaler(2, x))' 23 '.*scaler.*did you mean scalar?'
wrong 'multiply(x, None) => x' 13 'None is no number: a constant is compared with a number, True or False'
wrong 'multiply(x, 1x) => x' 13 '1x is no number'
wrong 'abs(x) => 0' 11 '0 has no element type here: write scalar(0, x)'
wrong 'abs(x) => float(x)' 11 'float gives no value'
wrong 'abs(x) => x if float(negative(x))' 22 'float expects a value that the pattern names, or result, here'
wrong 'F(x, axis=1) => x' 1 'F stands for an operator with all its attributes'

# Sides that differ: in value, in the last places, for some types, at infinity or NaN, by a failure.
differ() {
    rules "$1"
    expect 1 '^  FAILED$' "^ *on $2 element [0-9]* is .*, what is put in place gives " '^ *is not$' '^ *def @main(%x: ' -- \
        "$baton" plugin check org.example.rules
}
differ 'power(x, 2) => multiply(x, multiply(x, x))' '.*random values'
differ 'abs(negative(x)) => x' '.*'
differ 'divide(x, x) => ones_like(x) if float(x)' 'infinities, NaN and the like'
differ 'minimum(x, 99) => x if integer(x)' 'ends of ranges and the like'
differ 'nn.relu(x) => x' '.*'
differ 'transpose(transpose(x, axes=a), axes=b) => transpose(x, axes=compose(b, a, x))' '.*random values'
rules 'multiply(multiply(x, 0.1), 3) => multiply(x, scalar(0.3, x)) if float(x)'
expect 1 ' on .*random values element ' -- "$baton" plugin check org.example.rules
rules 'multiply(multiply(x, 0.5), 0.5) => multiply(x, scalar(0.25, x)) if rank(x, 99)'
expect 0 '^  not tried: it applies to none of [0-9]* programs that were made of its pattern$' -- "$baton" plugin check org.example.rules

# many TEXT...: each rule under several names, which other values are drawn for; and the rules of which nothing is found.
many() {
    echo '#include <baton/pass.h>' > rules/rules.c
    echo 'static const bt_rule rows[] = {' >> rules/rules.c
    for text in "$@"; do
        for name in $names; do
            echo "{ .name = \"$name\", .doc = \"One.\", .pass = \"simplify-expr\", .ulp = ${ulp-0}, .text = \"$text\" }," >> rules/rules.c
        done
    done
    echo '{ 0 } }; const bt_table bt_rules_rules[] = { BT_RULES(rows), { 0 } };' >> rules/rules.c
    expect 0 -- "$baton" plugin describe "$work/rules/rules.baton.json" --write
    "$baton" plugin check org.example.rules > out
    found=$(grep -c "^  FAILED" out)
}
# Wrong for one value, or one pair of them (of infinities of one sign), of a few element types: always found.
for text in 'multiply(x, 0) => zeros_like(x)' 'divide(x, x) => ones_like(x) if float(x)' 'less_equal(x, y) => less(x, y) if float(x)' \
    'maximum(x, y) => where(greater(x, y), x, y)' 'nn.relu(multiply(x, x)) => multiply(x, x)' 'subtract(x, y) => where(equal(x, y), zeros_like(x), add(x, negative(y))) if float(x)'; do
    names='one two three four five six'
    many "$text"
    [ "$found" = 6 ] || fault "wrong for some special values, and found $found times of 6: $text"
done
# A rule that rounds otherwise and says no range holds for all values: NaN stays NaN, and nothing becomes infinite.
names=one
ulp=4
for text in 'divide(multiply(x, y), z) => multiply(x, divide(y, z)) if float(x)' 'divide(exp(x), exp(y)) => exp(subtract(x, y)) if float(x)' \
    'divide(x, sqrt(x)) => sqrt(x)' 'nn.relu(x) => where(isnan(x), zeros_like(x), nn.relu(x)) if float(x)'; do
    many "$text"
    [ "$found" = 1 ] || fault "it is another number where values are special: $text"
done
many 'multiply(multiply(x, 0.1), 0.5) => multiply(x, scalar(0.05, x)) if float(x)'
[ "$found" = 0 ] || fault "it rounds otherwise, no more"
unset ulp

# Rules that hold in a range: what is outside is not tried, what is inside is, both ends too.
# range FROM TO ULP TEXT
range() {
    cat > rules/rules.c <<EOF
#include <baton/pass.h>
static const bt_rule rows[] = {
    { .name = "example.rule", .doc = "One.", .pass = "fast-math", .text = "$4", .ulp = $3, .from = $1, .to = $2 },
    { 0 },
};
const bt_table bt_rules_rules[] = { BT_RULES(rows), { 0 } };
EOF
    expect 0 -- "$baton" plugin describe "$work/rules/rules.baton.json" --write
}
range 1e-30 1e30 128 'exp(log(x)) => x'
expect 0 '^  ok      both sides are equal in 32 programs$' -- "$baton" plugin check org.example.rules
range 1e-3 1e3 4 'divide(multiply(x, y), z) => multiply(x, divide(y, z)) if float(x) and float(y)'
expect 0 '^  ok      both sides are equal in 32 programs$' -- "$baton" plugin check org.example.rules
range -40 40 4 'divide(x, y) => where(isnan(divide(x, y)), zeros_like(x), divide(x, y)) if float(x)' # 0 / 0
expect 1 '^  FAILED$' 'on zeros, ends of the range and the like element ' -- "$baton" plugin check org.example.rules
range -1 1e30 128 'exp(log(x)) => x'
expect 1 '^  FAILED$' ' element [0-9]* is -*nan, what is put in place gives -' -- "$baton" plugin check org.example.rules
range -3e38 3e38 0 'multiply(x, 0) => zeros_like(x)'
expect 0 '^  ok      both sides are equal in 32 programs$' -- "$baton" plugin check org.example.rules
range 5 -5 8 'log(exp(x)) => x'
expect 1 '^  FAILED  no number is between .from = 5 and .to = -5, where it is to hold' -- "$baton" plugin check org.example.rules
range -3e38 3e38 0 'multiply(multiply(x, x), 0) => zeros_like(x)' # the square of a finite number may be infinite
expect 1 '^  FAILED$' -- "$baton" plugin check org.example.rules
range 0 1 0 'nn.relu(x) => x if float(x)'
expect 0 '^  ok ' -- "$baton" plugin check org.example.rules
range 0 1 0 'minimum(x, y) => x if float(x)'
expect 1 '^  FAILED$' -- "$baton" plugin check org.example.rules

# Rules without end: one that applies to what it puts in place, larger or not, and two that undo each other.
for text in 'nn.relu(x) => nn.relu(nn.relu(x)) if float(x)' 'add(x, y) => add(y, x)' 'floor(x) => floor(reshape(x, newshape=shape(x)))'; do
    rules "$text"
    expect 1 '^  FAILED$' '^ *example.rule has no end: after [0-9]* rounds it still applies to what it .*put in place' '^ *def @main(%' -- \
        "$baton" plugin check org.example.rules
done
for text in 'abs(x) => abs(x)' 'multiply(x, 0.5) => multiply(x, scalar(0.5, x))' 'transpose(x, axes=a) => transpose(x, axes=a) if float(x)'; do
    rules "$text"
    expect 1 '^  FAILED$' '^ *example.rule changes nothing: it puts in place what is there$' '^ *def @main(%' -- "$baton" plugin check org.example.rules
done
cat > rules/rules.c <<'EOF'
#include <baton/pass.h>
static const bt_rule rows[] = {
    { .name = "example.there", .doc = "One.", .pass = "canonicalize", .text = "negative(x) => subtract(zeros_like(x), x) if integer(x)" },
    { .name = "example.back", .doc = "One.", .pass = "canonicalize", .text = "subtract(zeros_like(x), y) => negative(y) if integer(x)" },
    { 0 },
};
const bt_table bt_rules_rules[] = { BT_RULES(rows), { 0 } };
EOF
expect 0 -- "$baton" plugin describe "$work/rules/rules.baton.json" --write
expect 1 'example.there has no end: after 16 rounds .* what it and others have put in place; so do example.back$' -- "$baton" plugin check org.example.rules

# One bad rule is left out, with a note; the other one, the pass and every model go on. A check tells them apart.
cat > rules/rules.c <<'EOF'
#include <baton/pass.h>
static const bt_rule rows[] = {
    { .name = "example.bad", .doc = "One.", .pass = "simplify-expr", .text = "multiply(x, y) => nosuch(x)" },
    { .name = "example.worse", .doc = "One.", .pass = "simplify-expr", .text = "multiply(x =>" },
    { .name = "example.good", .doc = "One.", .pass = "simplify-expr",
      .text = "multiply(multiply(x, 0.5), 0.5) => multiply(x, scalar(0.25, x)) if float(x)" },
    { 0 },
};
const bt_table bt_rules_rules[] = { BT_RULES(rows), { 0 } };
EOF
expect 0 -- "$baton" plugin describe "$work/rules/rules.baton.json" --write
expect 0 'multiply(%x, 0.25f)' 'note: rule example.bad: .*nosuch' 'note: rule example.worse: expected' \
    'the rule is left out; baton plugin check org.example.rules looks at all' -- "$baton" opt halves.baton --passes 'simplify-expr, simplify-expr, dead-code'
[ "$(grep -c 'the rule is left out' out)" = 2 ] || fault "a rule that is left out is told more than once"
expect 0 -- "$baton" run halves.baton -i x=1 -i i=1
expect 1 'org.example.rules:1:19: error: rule example.bad: .*nosuch' 'error: rule example.worse: ' \
    '^  ok      both sides are equal in 32 programs$' -- "$baton" plugin check org.example.rules
[ "$(grep -c '^  FAILED' out)" = 2 ] || fault "two of three rules are wrong"
expect 1 'pass canonicalize has no rule example.good' -- "$baton" opt halves.baton --passes 'canonicalize{rule="example.good"}'

rules 'abs(abs(x)) => abs(x)' fold-constant
expect 1 'nothing reads it: no pass fold-constant that goes by rules is there' -- "$baton" plugin check org.example.rules

# Facets: one that there is not is refused, one of an operator that there is not too; what nothing reads is said.
facets() {
    cat > rules/rules.c <<EOF
#include <baton/op.h>
static const bt_algebra_facet laws = { BT_IDEMPOTENT };
static const bt_facet rows[] = {
    { .facet = "$1", .op = "$2", .table_nbytes = $3, .table = &laws, .priority = 9 },
    { 0 },
};
const bt_table bt_rules_rules[] = { BT_FACETS(rows), { 0 } };
EOF
}
facets algebra floor 'sizeof(laws)'
expect 0 -- "$baton" plugin describe "$work/rules/rules.baton.json" --write
expect 0 -- "$baton" plugin check org.example.rules
# What a compiler of C says of sources, and goes on: each time, also where the object was kept.
for compiler in tcc cc; do
    sed "s/\"sources\"/\"compiler\": \"$compiler\", \"sources\"/" rules/rules.baton.json > rules/other.json
    mkdir -p "with_$compiler" && cp rules/other.json "with_$compiler/rules.baton.json" && rm rules/other.json
    { cat rules/rules.c; echo 'static int *warned(long *p) { return p; }'; echo 'extern int *used(long *p); int *used(long *p) { return warned(p); }'; } \
        > "with_$compiler/rules.c"
    for round in 1 2; do
        expect 0 '^  its C text compiles with warnings:$' '^ *[^ ]*rules.c:[0-9:]*: warning: ' -- \
            env "BATON_PLUGIN_PATH=$work/with_$compiler" XDG_CACHE_HOME="$work/cache" "$baton" plugin check org.example.rules
    done
done
expect 0 -- "$baton" plugin check org.example.rules
refuse warning
facets algebra nn.flor 'sizeof(laws)'
expect 0 -- "$baton" plugin describe "$work/rules/rules.baton.json" --write
expect 1 '^  FAILED  facet algebra: .*nn.flor' -- "$baton" plugin check org.example.rules
facets algbra floor 'sizeof(laws)'
expect 1 "facet algbra is none of Baton's; did you mean algebra?" -- "$baton" plugin describe "$work/rules/rules.baton.json"
facets layout floor 'sizeof(laws)'
expect 1 'facet layout: its table has 4 bytes, its struct 8: is it of another facet?' -- \
    "$baton" plugin describe "$work/rules/rules.baton.json"

# What an operator says that it costs is what it costs.
cat > rules/rules.c <<EOF
#include <baton/op.h>
static bt_status estimate(bt_ctx *ctx, const bt_formula_call *call, int64_t *multiply_adds, int64_t *nbytes)
{
    (void)ctx;
    (void)call;
    *multiply_adds = 4711;
    *nbytes = 8;
    return NULL;
}
static const bt_cost_facet cost = { estimate };
static const bt_op_input inputs[] = { { .name = "data", .type = "t:float[..]", .doc = "any" }, { 0 } };
static const bt_op rows[] = {
    { .name = "example.dear", .revision = 1, .doc = "Dear.", .inputs = inputs, .relation = "Identity",
      .formula = "y: t[..] = data[..] * 2", .facets = BT_FACET_ROWS(BT_FACET("cost", cost)) },
    { 0 },
};
const bt_table bt_rules_rules[] = { BT_OPS(rows), { 0 } };
EOF
expect 0 -- "$baton" plugin describe "$work/rules/rules.baton.json" --write
cat > dear.baton <<'EOF'
#[version = "baton 0.1"]
def @main(%x: Tensor[(2), float32]) { example.dear(%x) }
EOF
expect 0 '^example.dear  *1  4.71 k' -- "$baton" info dear.baton

# What a compiler of C warns of is no refusal of a target.
sed 's/"sources"/"compiler": "cc", "sources"/' rules/rules.baton.json > rules/other.json && mv rules/other.json rules/rules.baton.json
echo 'static int *warned(long *p) { return p; } int *used(long *p); int *used(long *p) { return warned(p); }' >> rules/rules.c
for form in "" --json; do
    expect 0 example.dear -- "$baton" info dear.baton --target reference $form
    refuse 'warn'
done
expect 0 '^cpu computes nothing: those before it take all$' -- "$baton" info dear.baton --target reference,cpu
