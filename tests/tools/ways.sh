# Ways to compute that a plugin brings to target cpu: the example of <baton/cpu.h>.
. "$(dirname "$0")/kit.sh"
ways=$(cd "$targets/../ways" && pwd)

pool() {
    printf '#[version = "baton 0.1"]\n\ndef @main(%%x: Tensor[(%s), float32]) {\n' "$2"
    printf '    %%output = nn.avg_pool2d(%%x, pool_size=[%s, %s]);\n    nn.relu(%%output)\n}\n' "$1" "$1"
}
pool 9 '1, 3, 40, 30' > large.baton
pool 2 '1, 64, 3, 3' > small.baton

expect 0 'all loops' -- "$baton" info large.baton --target cpu --why
refuse 'way of'
expect 0 -- "$baton" run large.baton --target cpu -i x=random:1 -o without

BATON_PLUGIN_PATH=$ways
export BATON_PLUGIN_PATH
expect 0 'way of cpu  *[0-9.]* ms$' 'way of example.separable  *[0-9.]* ms  taken$' -- \
    "$baton" info large.baton --target cpu --why
expect 0 'way of cpu  *[0-9.]* ms  taken$' 'way of example.separable  *[0-9.]* ms$' -- \
    "$baton" info small.baton --target cpu --why
expect 0 -- "$baton" info large.baton --target 'cpu{accuracy="exact"}' --why
refuse 'way of'

# Tuning measures both programs where their estimates come near each other; who has not the plugin uses nothing that was recorded with
# it.
pool 4 '1, 16, 20, 20' > near.baton
expect 0 -- "$baton" info near.baton --target cpu --tune records --why
expect 0 'way of cpu .* ms measured' 'way of example.separable .* ms measured' 'taken, by its record' -- \
    "$baton" info near.baton --target cpu --tune records --why
[ "$(wc -l < records)" = 2 ] || fault "not one record: $(cat records)"
expect 0 -- "$baton" run near.baton --target cpu --tune records -i x=random:1 -o tuned
expect 0 -- "$baton" run near.baton --target cpu -i x=random:1 -o near
expect 0 'equal' -- "$baton" compare tuned/output.npy near/output.npy --rtol 1e-6
cp records with
for way in cpu example.separable; do
    {
        head -1 with
        sed -n 2p with | cut -f2-4 | sed "s/\$/	$way	0	$way	0	1/" | while IFS= read -r line; do
            printf '%s\t%s\n' "$(printf %s "$line" | sha256sum | cut -d' ' -f1)" "$line"
        done
    } > chosen
    expect 0 "way of $way .*taken, by its record" -- "$baton" info near.baton --target cpu --tune chosen --why
    expect 0 -- "$baton" run near.baton --target cpu --tune chosen -i x=random:1 -o "by-$way"
    expect 0 'equal' -- "$baton" compare "by-$way/output.npy" near/output.npy --rtol 1e-6
done
cmp -s by-cpu/output.npy by-example.separable/output.npy && fault "both programs are the same"
unset BATON_PLUGIN_PATH
expect 0 -- "$baton" info near.baton --target cpu --tune records --why
refuse 'way of' 'by its record'
cmp -s records with || fault "without the plugin there is something to measure: $(cat records)"
BATON_PLUGIN_PATH=$ways
export BATON_PLUGIN_PATH
expect 0 'all agree' -- "$baton" run large.baton --target cpu --check-kernels -i x=random:1
for threads in 1 2 3; do
    expect 0 -- "$baton" run large.baton --target cpu --threads $threads -i x=random:1 -o t$threads
done
cmp -s t1/output.npy t2/output.npy && cmp -s t1/output.npy t3/output.npy || fault "the result depends on the number of threads"
cmp -s t1/output.npy without/output.npy && fault "the other order of terms shows nowhere"
expect 0 'equal' -- "$baton" compare t1/output.npy without/output.npy --rtol 1e-6

# What is read has axes of one element, which the result has more of.
cat > broadcast.baton <<'END'
#[version = "baton 0.1"]
def @main(%x: Tensor[(1, 1, 40, 30), float32]) { @pool(%x) }
def @pool(%x: Tensor[(1, 1, 40, 30), float32], primitive=1) -> Tensor[(4, 3, 32, 22), float32] {
    %wide = broadcast_to(%x, shape=[4, 3, 40, 30]);
    nn.avg_pool2d(%wide, pool_size=[9, 9])
}
END
expect 0 'way of example.separable .* taken$' -- "$baton" info broadcast.baton --target cpu --why
expect 0 'all agree' -- "$baton" run broadcast.baton --target cpu --check-kernels -i x=random:1

expect 0 'its tables agree with its manifest' -- "$baton" plugin check org.example.ways
expect 0 '^way example.separable of target cpu$' ' [1-9][0-9]* cases\{0,1\} of operators, 0 wrong$' -- "$baton" plugin check org.example.ways
expect 0 'cpu.way/1' -- "$baton" plugin why example.separable
expect 0 '^example.separable  org.example.ways$' -- "$baton" list ways
expect 0 'way of cpu  *[0-9.]* ms$' 'way of example.separable  *[0-9.]* ms  taken$' -- \
    "$baton" info small.baton --target 'cpu{way="example.separable"}' --why
expect 1 'no plugin has way example.none' -- "$baton" info small.baton --target 'cpu{way="example.none"}' --why

# What is compiled needs the plugin no more.
expect 0 -- "$baton" compile large.baton -o large.bta
unset BATON_PLUGIN_PATH
expect 0 -- "$baton" run large.bta -i x=random:1 -o artifact
cmp -s artifact/output.npy t1/output.npy || fault "the artifact computes otherwise"

# Ways of C source: way NAME BODY, where g is the graph and last its last array.
way() {
    mkdir -p own
    printf '{ "id": "org.example.own", "version": "0.1.0", "license": "Apache-2.0", "doc": "A way.", "sources": ["own.c"] }\n' > own/own.json
    cat > own/own.c <<END
#include <baton/cpu.h>
static bt_status make(bt_ctx *ctx, bt_arena *arena, bt_cpu_way_call *call)
{
    bt_graph *g = call->graph;
    bt_array *last = g->arrays[g->narray - 1];
    call->is_made = 1;
    call->ns = 1;
    $2
    return 0;
}
static const bt_cpu_way ways[] = { { .name = "$1", .doc = "One.", .make = make }, { 0 } };
const bt_table bt_own_own[] = { BT_CPU_WAYS(ways), { 0 } };
END
    mv own/own.json own/own.baton.json
    BATON_PLUGIN_PATH= expect 0 -- "$baton" plugin describe own/own.baton.json --write
}
run() {
    "$baton" run near.baton --target cpu -i x=random:1 "$@"
}
BATON_PLUGIN_PATH= expect 0 -- run -o alone
BATON_PLUGIN_PATH=$work/own
export BATON_PLUGIN_PATH

# What is no graph of the function is an error that names the way, not a crash.
way own.way 'last->dtype = BT_FLOAT64;'
expect 1 'error: way own.way changes what function fused_nn_avg_pool2d takes and gives' -- run
way own.way 'last->rank = 9;'
expect 1 'error: way own.way changes what function' -- run
way own.way 'last->body = 0;'
expect 1 'error: way own.way makes no graph of function .*has no body' -- run
way own.way 'const bt_node *at[4] = { bt_node_int(g, 0), bt_node_int(g, 0), bt_node_int(g, 0), bt_node_int(g, 0) };
    last->body = bt_node_read(g, 0, BT_FLOAT32, 1, at);'
expect 1 'error: way own.way makes no graph of function .*has rank 4, at 1 indices' -- run
way own.way 'call->ns = -1;'
expect 1 'error: way own.way estimates -1 ns' -- run

# What cannot be compiled leaves the function to target cpu.
cat > open.baton <<'END'
#[version = "baton 0.1"]
def @main<n: Dim>(%x: Tensor[(n, 4), float32]) { nn.relu(%x) }
END
way own.way 'const bt_node *n = bt_node_dim(g, 0), *at[2] = { bt_node_index(g, 2, n), bt_node_index(g, 1, last->extents[1]) };
    last->body = bt_node_reduce(g, BT_REDUCER_LOGSUMEXP, 2, 1, &n, bt_node_bool(g, 1), bt_node_read(g, 0, BT_FLOAT32, 2, at));'
expect 0 'note: fused_nn_relu: dim n is known at the call only' 'target cpu does without way own.way for function fused_nn_relu' \
    'by the evaluator: 0' -- "$baton" info open.baton --target cpu --why
refuse 'own.way .* taken'
expect 0 '\[2, 2, 2, 2\]' -- "$baton" run open.baton --no-specialise --target cpu -i x=5x4xfloat32=2

# One that can be used is taken, and named where the result is looked at.
way own.way ''
expect 0 'way of own.way  *0.000001 ms  taken' -- "$baton" info near.baton --target cpu --why
expect 0 -- run -o unchanged
cmp -s unchanged/output.npy alone/output.npy || fault "a way that changes nothing changes the result"

# Whatever it estimates, the best program for its graph is made.
cat > tiled.baton <<'END'
#[version = "baton 0.1"]
def @main(%x: Tensor[(64, 64), float32]) { nn.relu(tile(%x, reps=[8, 8])) }
END
loops() {
    "$baton" info tiled.baton --target cpu --why | grep 'all loops'
}
[ "$(loops)" = "$(BATON_PLUGIN_PATH= loops)" ] || fault "a way that changes nothing has other loops: $(loops)"

# One that cannot is left out, and running what is compiled looks at none.
expect 0 -- "$baton" compile near.baton -o near.bta
for name in cpu tiles; do
    way $name ''
    expect 0 "note: way $name has no dot in its name" 'does without this way of plugin org.example.own' -- run -o named
    cmp -s named/output.npy alone/output.npy || fault "the refused way was taken"
done
way own.way ''
rm own/own.c
expect 0 'target cpu does without this way of plugin org.example.own' -- run -o missing
cmp -s missing/output.npy alone/output.npy || fault "the missing way was taken"
expect 0 -- "$baton" run near.bta -i x=random:1
refuse 'does without'

# What computes something else is found, whatever its estimate.
way own.way 'const bt_node *one = bt_node_float(g, BT_FLOAT32, 1);
    if (last->dtype == BT_FLOAT32) last->body = bt_node_scalar(g, BT_SCALAR_ADD, last->body, one);
    call->is_made = last->dtype == BT_FLOAT32;
    call->ns = 1e9;'
expect 0 -- run
expect 1 'FAILED  abs: float32' 'on cpu: target cpu{way="own.way"}: @fused_abs: output' ' cases of operators, [1-9]' -- \
    "$baton" plugin check org.example.own
way cpu ''
expect 1 'way cpu of target cpu' 'FAILED  its name has no dot' -- "$baton" plugin check org.example.own
