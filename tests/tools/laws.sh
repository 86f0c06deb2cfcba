# Operators of a plugin on codes: what can be done is seen in their formulas, as of all others; what stays in float is told.
. "$(dirname "$0")/kit.sh"

mkdir mine
cat > mine/mine.baton.json <<'EOF'
{ "id": "org.example.mine", "version": "1.0.0", "license": "Apache-2.0", "doc": "Mine.", "abi": { "major": 0, "needs": 1, "built": 1 }, "sources": [ "mine.c" ] }
EOF
cat > mine/mine.c <<'EOF'
#include <baton/op.h>
static const bt_op_input one[] = { { .name = "x", .type = "t:number[..]" }, { 0 } };
static const bt_op_input two[] = { { .name = "a", .type = "t:number[m, k]" }, { .name = "b", .type = "t[n, k]" }, { 0 } };
static const bt_op_input floats[] = { { .name = "a", .type = "t:float[m, k]" }, { .name = "b", .type = "t[n, k]" }, { 0 } };
static const bt_op ops[] = {
    { .name = "mine.product", .revision = 1, .doc = "a b^T, by columns.", .inputs = two, .formula = "y: t[j in extent(b, 0), i in extent(a, 0)] = sum(k in extent(a, 1): a[i, k] * b[j, k])" },
    { .name = "mine.float_product", .revision = 1, .doc = "Of floats only.", .inputs = floats, .formula = "y: t[i, j] = sum(k: a[i, k] * b[j, k])" },
    { .name = "mine.turn", .revision = 1, .doc = "The last first.", .inputs = two + 1, .formula = "y: t[i, j in extent(b, 1)] = b[i, extent(b, 1) - 1 - j]" },
    { .name = "mine.top", .revision = 1, .doc = "The greatest of each row.", .inputs = two + 1, .formula = "y: t[i] = max(j: b[i, j])" },
    { .name = "mine.cut", .revision = 1, .doc = "From -1 to 2.", .inputs = one, .formula = "y: t[..] = min(max(x[..], -1), 2)" },
    { .name = "mine.curve", .revision = 1, .doc = "x by 1 + |x|.", .inputs = floats + 1, .formula = "y: t[i, j] = b[i, j] / (1 + abs(b[i, j]))" },
    { 0 },
};
const bt_table bt_mine_mine[] = { BT_OPS(ops), { 0 } };
EOF
BATON_PLUGIN_PATH=$work/mine
export BATON_PLUGIN_PATH
expect 0 -- "$baton" plugin describe "$work/mine/mine.baton.json" --write

# law NAME RESULT [TEXT]...: a program of one region, RESULT; what its integer form has, and that it gives the codes that the
# floats give, at most a step away.
law() {
    cat > "$1.baton" <<EOF
#[version = "baton 0.1"]
def @main(%x: Tensor[(4, 6), int8], %w: Tensor[(3, 6), int8]) {
    let %a = qnn.dequantize(%x, 0.05f, 3i8);
    let %b = qnn.dequantize(%w, const[(3), float32]{0.01, 0.02, 0.03}, 0i8, axis=0);
    $2
}
EOF
    name=$1
    shift 2
    expect 0 "$@" -- "$baton" opt "$name.baton" -p 'qdq-to-integer, dead-code'
    refuse dequantize
    for seed in 1 2; do
        expect 0 -- "$baton" run "$name.baton" --passes= --executor interp -i x=random:$seed -i w=random:9 -o float
        for target in '' '--target cpu'; do
            expect 0 -- "$baton" run "$name.baton" $target -i x=random:$seed -i w=random:9 -o codes
            expect 0 'equal within tolerance' -- "$baton" compare codes float --atol 1
        done
    done
}
# By columns: the scales of the second operand lie along the first axis of the result.
law product 'qnn.quantize(mine.product(%a, %b), 0.1f, 5i8)' 'int32.* = mine.product(%' 'qnn.requantize(.*axis=0'
law product_and_bias 'qnn.quantize(nn.relu(add(mine.product(%a, %b), const[(3, 1), float32]{0.1, -0.2, 0.3})), 0.1f, -100i8)' 'int32.* = mine.product(%' 'nn.bias_add' 'clip'
law turn 'qnn.quantize(mine.turn(%a), 0.05f, 3i8)' 'mine.turn(%x)'
law top 'qnn.quantize(mine.top(%a), 0.05f, 3i8)' 'mine.top(%x)'
law cut 'qnn.quantize(mine.cut(%a), 0.05f, 0i8)' 'clip(%x, a_min=-17f, a_max=43f)'
law curve 'qnn.quantize(mine.curve(%a), 0.01f, 0i8)' ' = take('

# Where the product is used as numbers: sums of integers, then one multiplication.
sed 's/qnn.quantize(mine.product(%a, %b), 0.1f, 5i8)/exp(mine.product(%a, %b))/' product.baton > numbers.baton
expect 0 'int32.* = mine.product(%' 'qnn.dequantize(.*axis=0' -- "$baton" opt numbers.baton -p 'qdq-to-integer, dead-code'
expect 0 -- "$baton" run numbers.baton --passes= --executor interp -i x=random:1 -i w=random:9 -o float
for target in '' '--target cpu'; do
    expect 0 -- "$baton" run numbers.baton $target -i x=random:1 -i w=random:9 -o numbers
    expect 0 'equal within tolerance' -- "$baton" compare numbers float
done

# Sums of floats have no integers.
sed 's/mine.product(%a, %b)/mine.float_product(%a, %b)/' product.baton > float.baton
expect 0 'mine.float_product stays in float: it takes no integers' -- "$baton" info float.baton --target cpu
expect 0 'float32.* = mine.float_product(' -- "$baton" opt float.baton -p 'qdq-to-integer, dead-code'
