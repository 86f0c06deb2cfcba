# What a run takes: the plan of memory, the profile, the trace. Times are never looked at.
. "$(dirname "$0")/kit.sh"

cat > p.baton <<'END1'
#[version = "baton 0.1"]
def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32]) {
  let %d = nn.dense(%x, %w);
  let %r = nn.relu(%d);
  let %s = nn.softmax(%r);
  reshape(nn.softmax(%s), newshape=[8])
}
END1
set -- "$baton" run p.baton -i x=random:1 -i w=random:2

# The plan: without inputs nothing is run.
expect 0 '^memory: 32 bytes shared, of which 32 are in use at once; 64 if none were shared; 32 of results$' \
    '^tensor  *bytes storage  *offset  launches  written by$' \
    '^     0  *32  *0  *0  *1\.\.2  fused_nn_dense_nn_relu  line 3, line 4$' \
    '^     2  *32  *1  *0  *3\.\.  fused_nn_softmax  line 6$' \
    -- "$baton" run p.baton --executor graph --target reference --memory
refuse 'inputs:' 'Tensor'
expect 0 '^memory: 32 bytes shared' '^output' -- "$@" --executor graph --target reference --memory
expect 0 '"shared_bytes": 32, "live_bytes": 32, "unshared_bytes": 64, "result_bytes": 32' '"outputs"' \
    -- "$@" --executor graph --target reference --memory --json
expect 0 '^{"memory": {"shared_bytes": 32' -- "$baton" run p.baton --executor graph --target reference --memory --json
# Another pipeline of the lowered program, or none: then each tensor has memory of its own.
expect 0 '^memory: 64 bytes shared, of which 64 are in use at once; 64 if none were shared; 32 of results$' \
    -- "$baton" run p.baton --executor graph --target reference --memory --plan ''
expect 0 '^memory: 32 bytes shared' -- "$baton" run p.baton --executor graph --target reference --memory --plan plan-memory
expect 1 'no pass is named "nothing"' -- "$@" --executor graph --target reference --plan nothing
expect 1 'executor interp compiles nothing, so there is nothing to plan' -- "$@" --plan ''
expect 1 'executor interp compiles nothing, so there is nothing to fuse' -- "$@" --fuse fuse-ops
# Calls alone.
expect 0 '^     0  *32 .* fused_nn_dense  line 3$' '^     1  *32 .* fused_nn_relu  line 4$' \
    -- "$baton" run p.baton --executor graph --target reference --memory --fuse 'fuse-ops{max-ops=1}'
expect 1 '%d is not computed by a primitive function' -- "$baton" run p.baton --executor graph --target reference --memory --fuse ''
expect 2 'memory needs a program that is planned: give --executor graph' -- "$@" --memory
expect 2 'memory needs a program that is planned' -- "$@" --memory --json

# The profile, of both executors: rows know their work, bytes and where they came from.
expect 0 '^profile: .* ms in 3 calls$' '^  *share  *ms  *calls  *GFLOP/s  *GB/s  what  *from$' \
    ' %  *[0-9.]*  *1  *[0-9.]*  *[0-9.]*  fused_nn_dense_nn_relu  line 3, line 4$' '  fused_nn_softmax  *line [56]$' \
    -- "$@" --executor graph --target reference --profile
expect 0 '^profile: .* ms in 5 calls$' ' %  *[0-9.]*  *1  *[0-9.]*  *[0-9.]*  nn.dense  *line 3$' '  nn.relu  *line 4$' \
    -- "$@" --profile --passes ''
expect 0 '"profile": \[{"name": "' '"multiply_adds": 64' '"bytes": 224' -- "$@" --profile --json --passes ''

# Open dims: the values that they had.
cat > open.baton <<'END1'
#[version = "baton 0.1"]
def @main<n: Dim, m: Dim>(%x: Tensor[(n, m), float32], %c: bool) -> Tensor[(n, m), float32] {
  if (%c) { nn.relu(%x) } else { exp(%x) }
}
END1
for executor in 'interp' 'vm --target reference'; do
    expect 0 '^dim m=3 in 1 run$' '^dim n=2 in 1 run$' -- \
        "$baton" run open.baton --executor $executor --no-specialise -i x=2x3xfloat32=random:1 -i c=true --profile
    expect 0 '"dims": \[{"name": "m", "value": 3, "runs": 1}, {"name": "n", "value": 2, "runs": 1}\]' -- \
        "$baton" run open.baton --executor $executor --no-specialise -i x=2x3xfloat32=random:1 -i c=true --profile --json
done

# Functions: how often each began.
cat > calls.baton <<'END1'
#[version = "baton 0.1"]
def @sum(%i: int32, %s: int32) -> int32 { if (%i <= 0) { %s } else { @sum(%i - 1, %s + @fib(%i)) } }
def @fib(%i: int32) -> int32 { if (%i <= 1) { %i } else { @fib(%i - 1) + @fib(%i - 2) } }
def @main(%n: int32) -> int32 { @sum(%n, 0) }
END1
for executor in 'interp' 'vm --target reference'; do
    expect 0 '^output: int32$' '^function fib in 33 calls$' '^function sum in 6 calls$' '^function main in 1 call$' -- \
        "$baton" run calls.baton --executor $executor --passes '' -i n=5 --profile
    expect 0 '"functions": \[{"name": "fib", "calls": 33}, {"name": "sum", "calls": 6}, {"name": "main", "calls": 1}\]' -- \
        "$baton" run calls.baton --executor $executor --passes '' -i n=5 --profile --json
done

# Of more calls than are kept one by one, all are counted.
cat > many.baton <<'END1'
#[version = "baton 0.1"]
def @loop(%i: int32) -> int32 { if (%i < 600000) { @loop(%i + 1) } else { %i } }
def @main(%n: int32) -> int32 { @loop(%n) }
END1
expect 0 '^profile: .* ms in 1200001 calls$' ' 600000 .* add ' ' 600001 .* less ' -- \
    "$baton" run many.baton --executor interp --passes '' -i n=0 --profile

# The trace.
expect 0 '^output' -- "$@" --executor graph --target reference --trace trace.json
expect 0 '"traceEvents": \[{"name": "thread_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": "host"}}, {"name": "fused_nn_dense_nn_relu", "cat": "baton", "ph": "X", "ts": ' '"from": "line 3, line 4"' \
    -- cat trace.json
expect 1 'nowhere' -- "$@" --trace nowhere/trace.json
# Queues have tracks of their own, with the times that the target tells; copies are shown.
cat > away.baton <<'END1'
#[version = "baton 0.1"]
def @main(%x: Tensor[(4, 8), float32]) { exp(negative(%x)) }
END1
expect 0 '^profile: .* ms in 4 calls$' ' memory.copy  *line 2$' ' device_claims_negative  *line 2$' -- env BATON_PLUGIN_PATH="$wrong" \
    "$baton" run away.baton --executor graph --target device.claims,reference -i random:1 --profile --trace away.json
expect 0 '"tid": 2, "args": {"name": "device.claims copies"}}' '"tid": 3, "args": {"name": "device.claims kernels"}}' \
    '{"name": "device_claims_negative", "cat": "baton", "ph": "X", [^}]*"tid": 3, ' -- cat away.json

# Conditions of a pipeline ask for the target that programs are compiled for, named or not.
cat > when.baton <<'END1'
#[version = "baton 0.1"]
def @main(%x: Tensor[(4), float32]) { reverse(multiply(%x, 1f), axis=0) }
END1
echo '{ "name": "p", "sequence": [ { "sequence": [ "simplify-expr" ], "when": { "target": [ "cpu" ] } } ] }' > when.json
set -- "$baton" run when.baton --executor graph --pipeline when.json --memory
expect 0 ' fused_reverse ' -- "$@"
expect 0 ' fused_reverse ' -- "$@" --target cpu
expect 0 ' fused_multiply_reverse ' -- "$@" --target reference

# Numbers of JSON have the shortest digits that read back.
printf '#[version = "baton 0.1"]\ndef @main(%%x: Tensor[(4), float64]) { abs(%%x) }\n' > abs.baton
expect 0 '"data": \[0.1, 39.302399, 1e-300, 2.0\]' -- "$baton" run abs.baton -i '[0.1, 39.302399, 1e-300, 2]' --json
expect 0 '"data": \[0.30000000000000004, 0.0, 1e+22, 123456789.0\]' -- \
    "$baton" run abs.baton -i '[0.30000000000000004, 0.0, 1e22, 123456789]' --json

# Of a run that finds all in place.
expect 0 '^median ' '^profile: ' -- "$baton" bench abs.baton --warmup 0 --repeat 2 --profile
expect 0 '"median_ms": .*"profile": \[{"name": "' -- "$baton" bench abs.baton --warmup 0 --repeat 2 --profile --json
# With the share of the peak that bench measures, and how the target computes each function; a table of 120 columns, whatever the
# names of functions and of what they came from.
{
    printf '#[version = "baton 0.1"]\ndef @main(%%x: Tensor[(1, 64, 28, 28), float32]) {\n'
    printf '    %%w = ones(shape=[64, 64, 1, 1]);\n    %%0 = nn.conv2d(%%x, %%w);\n'
    for i in 1 2 3 4 5 6 7 8 9; do printf '    %%%d = tanh(sigmoid(%%%d));\n' $i $((i - 1)); done
    printf '    concatenate((%%9, %%9), axis=1)\n}\n'
} > deep.baton
expect 0 '^  *share  *ms  *calls  *GFLOP/s  *peak  *GB/s  way  *what  *from$' \
    ' [0-9.]* %  *[0-9.]*  *1  *[0-9.]*  *[0-9.]* %  *[0-9.]*  tiles.*  fused_nn_conv[a-z_0-9]*\.\.[a-z_]*  line' -- \
    "$baton" bench deep.baton --target cpu --warmup 0 --repeat 2 --profile
[ "$(sed -n '/^profile/,$p' out | wc -L)" -le 120 ] || fault "the table is wider than 120 columns"
expect 0 '"peak_share": [0-9.e-]*, "gbytes_per_second": [0-9.e-]*, "way": "tiles' -- \
    "$baton" bench deep.baton --target cpu --warmup 0 --repeat 2 --profile --json
expect 0 '"median_ms"' -- "$baton" bench abs.baton --warmup 0 --repeat 2 --json
refuse '"profile"'

# Where a target has memory of its own, the plan says what is copied there and back.
cat > far.baton <<'END1'
#[version = "baton 0.1"]
def @main(%x: Tensor[(2, 2), float32]) { exp(nn.dense(%x, const[(2, 2), float32]{1, 2, 3, 4})) }
END1
BATON_PLUGIN_PATH=$targets expect 0 ' copy of %x, to far$' ' copy of tensor [0-9]*, to the host$' -- \
    "$baton" run far.baton -i x=random:1 --target far,reference --memory
refuse '(nothing)'
