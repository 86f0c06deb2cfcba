# baton plugin check: every operator is tried on its cases, and each of those that are wrong is found, with its reason.
. "$(dirname "$0")/kit.sh"
BATON_PLUGIN_PATH=$wrong
export BATON_PLUGIN_PATH

# found OPERATOR TEXT...: the check of one operator fails and says so.
found() {
    name=$1
    shift
    expect 1 "^wrong.$name\$" '^  FAILED' "$@" '^1 operator, 1 with faults' -- "$baton" plugin check test.wrong "wrong.$name"
}
found formula '^  FAILED  float32\[2, 3\]$' 'no scalar operator or dtype is called `sigmoyd`' \
    '^              y: t\[..\] = data\[..\] \* sigmoyd(data\[..\])$' '^                                    ^$'
found syntax 'expected `)`, found the end of the formula'
found pattern 'refused: expected a dtype or a class of dtypes in the type of an input' 't:flaot\[..\]'
found hook 'expected an expression, found the end of the formula'
found bounds 'failed: wrong.bounds: index 3 is out of bounds for axis 1 of data'
found extent 'refused: the extent of `j` is not known, as no read is indexed by it alone: state it, as in `j in n`$' '^                      ^$'
found relation '^  ok      float32\[2, 2\]$' 'axis 0 of result 0 has extent 2 in its type, computed was 3'
found fresh 'its relation, asked twice, gives other dims: one that only the data decide is asked of bt_relation_opaque, under a number$'
found counts 'its relation, asked twice: '
found laid 'its rule for layouts states that the result is AB:AB2b, its relation gives another: '
found eval 'its formula and its plain C give different results 0' '^  ok      float32\[0\]$'
found case 'case "float32\[2, 3": \] expected'
found attribute 'wrong.attribute has no attribute `axis`'
found dtype 'refused: wrong.dtype: elements of data are int8, but must be float'
expect 0 '^  ok      float32\[2, 3\]$' '^  ok      float64\[\]$' '^1 operator, 0 with faults; 2 cases, 0 failed$' -- \
    "$baton" plugin check test.wrong wrong.right
found beyond 'it writes behind the elements of result 0$'
[ "$(grep -c behind out)" = 1 ] || fault "it is told once"
found zeros 'it writes behind the elements of result 0$'
found ahead 'it writes before the elements of result 0$'
found input 'it writes into input 0$'
refuse strides
found before 'it writes before the elements of input 0$'
found keeps 'each call keeps 1 block of memory: bt_alloc without bt_free$'
found plain 'its facet plain gives another result 0 than the evaluator$'
found plain_sizes 'its facet plain gives axis 0 of result 0 the extent 4, the evaluator 3$'
found plain_alone 'its facet plain gives another result 0 than the evaluator, where it is not asked for sizes before$'
found plain_fails 'its facet plain fails: it fails$'
expect 0 '^  ok      float32\[3\]$' -- "$baton" plugin check test.wrong wrong.text
found text_wrong 'its facet plain gives another result 0 than the evaluator$'
found text_none 'its facet plain: .*text_five'
found expected 'result 0: element 1 is 4, expected 5$' 'what is expected of result 0: 2 numbers are expected, found "\[1\]"$' \
    '^  ok      float32\[2, 2\] = \[\[1, 2\], \[3, 4\]\] -> \[\[2, 6\], \[4, 8\]\]$' '^  ok      float32\[1, 2\] = 3 -> 6$'
found gradient_value 'vjp: along a direction the adjoint of input 0 (data) comes to .*, expected .*, as tangents of results do; where'
found gradient_zero 'vjp: along a direction the adjoint of input 0 (data), which is not given, comes to 0, expected '
for number in forgets forgets_many; do
    found gradient_$number 'vjp: along a direction the adjoint of input 1 (right), which is not given, comes to 0, expected '
done
found gradient_wanted 'vjp: where the adjoint of input 0 (left) alone is wanted, not that of input 1 (right), the adjoint of input 0 (left), which is not given, element 0, is 0, expected .*, as where all are wanted$'
found gradient_moved 'jvp: with the seed of input 0 (left) alone, and NULL, which is zero, for input 1 (right), the tangent of result 0, which is not given, element 0, is 0, expected .*, as with zeros for the others$'
found gradient_silent 'vjp: with the seed of result 0 alone, and NULL, which is zero, for result 1, the adjoint of input 0 (left), which is not given, element 0, is 0, expected '
found gradient_seeded 'vjp: with the seed of result 0 alone, and NULL, which is zero, for result 1: the vjp hook of wrong.gradient_seeded: compute: operand 3 is missing$'
found gradient_type 'vjp: facet `gradient` of wrong.gradient_type gives for input 0 float64, expected Tensor\[(2, 3), float64\]$'
found gradient_fails 'vjp: the vjp hook of wrong.gradient_fails: it does not know how$'
found gradient_name 'vjp: the vjp hook of wrong.gradient_name: no op is named "mutliply"; did you mean multiply?$'
found gradient_forward 'jvp: the tangent of result 0, element 0, is .*, by differences '
found gradient_blocked 'jvp: the tangent of result 0, element 0, is 0, by differences '
found gradient_behind 'the facet blocks an argument behind the last one, which is 0$'
found gradient_both 'the facet says why there is no derivative, and has a hook$'
found gradient_alone 'vjp: along a direction the adjoint of input 0 (data) comes to .*, by differences '
found gradient_step 'jvp: the tangent of result 0, element 0, is 1, by differences 0: what is not the derivative on purpose, as one straight through a step, says why in `.instead`$'
found gradient_step_back 'expected 0, as tangents of results do; .* needs a jvp that agrees, and says why in `.instead`$'
expect 0 '^  ok      float32\[3\]$' -- "$baton" plugin check test.wrong wrong.random
expect 0 '^  on cpu  2 cases, as interp$' -- "$baton" plugin check test.wrong wrong.right
expect 0 '^  on vm   5 cases, as interp$' -- "$baton" plugin check baton.ops.tensor argwhere # it has no kernels
refuse 'by interp alone'
expect 0 '^  derivative  2 cases, as differences$' -- "$baton" plugin check test.wrong wrong.right
expect 0 '^  ok      float32\[0\], float32\[0\]$' '^  derivative  not compared: no case has elements$' -- "$baton" plugin check test.wrong wrong.gradient_empty
expect 0 '^  ok      float32\[2, 3\]$' '^  derivative  1 case, as differences; backward alone, there is no jvp$' -- \
    "$baton" plugin check test.wrong wrong.right_alone
printf '#[version = "baton 0.1"]\ndef @f(%%x: Tensor[(2), float32]) -> float32 { sum(wrong.right_alone(%%x)) }\ngradient @df = @f();\njvp @jf = @f();\n' > alone.baton
expect 0 '\[2, 4\]$' -- "$baton" run alone.baton --entry df -i 'x=[1, 2]'
expect 1 'wrong.right_alone has no derivative: it is computed by plain C, and its facet `gradient` has no jvp$' -- \
    "$baton" run alone.baton --entry jf -i 'x=[1, 2]' -i 'dx=[1, 2]'
expect 0 '^  derivative  none: unique has no derivative: which elements ' -- "$baton" plugin check baton.ops.tensor unique
expect 0 '^  derivative  what it gives is none: straight through: ' -- "$baton" plugin check baton.ops.quant quant.simulate
expect 0 'not tried: it states no cases' -- "$baton" plugin check test.wrong wrong.untried

# All together: one fault does not hide the next.
expect 1 'test.wrong: its tables agree with its manifest' '56 operators, 45 with faults; 56 cases, 46 failed' -- \
    "$baton" plugin check test.wrong
expect 1 'plugin test.wrong has no operator wrong.wrong' -- "$baton" plugin check test.wrong wrong.wrong
expect 1 'no plugin has the id "test.wrung"; did you mean test.wrong?' -- "$baton" plugin check test.wrung

# Targets: a kernel is run through the queues, and programs with tensors side by side, by known and open dims, with one and two
# kernels; what is wrong is found, and what hangs comes to an end.
expect 0 '^target device: opens, 0 patterns$' '^target device.claims: opens, 2 patterns$' '^  queues    keep the order of commands$' \
    '^  code      stays when the target.s functions have returned$' '^  memory    keeps what is copied, in sizes that are odd too$' \
    '^  kernels   of [1-9][0-9]* programs as by the evaluator, each alone$' \
    '^  stop      not tried: its kernels are done before anybody asks them to stop$' '^  leaks     gives back all memory that it asks for$' \
    '^  programs  45 as by interp, of these 12 with open dims, 0 with a function of several kernels, 0 of codes$' \
    '^  sessions  the same in 8 threads, by two instances, after [1-9][0-9]* allocations that fail and when it is cancelled$' \
    '^  artifact  the same from a file, which is refused with other needs, and 500 times with damage$' \
    '^  calls     [1-9][0-9]* of [1-9][0-9]* operators as by the evaluator$' \
    '^            first tensor     operators  cases  taken  wrong$' '^            float32                  [1-9]  *[0-9]*      [1-9]      0$' \
    '^            int16                    0  *[1-9][0-9]*      0      0$' '^            nothing is taken of 1 operator, of the first case as only negative of float32$' '^              nn.dense$' \
    '^            nothing is taken of [1-9][0-9]* more, as no pattern names them$' -- "$baton" plugin check test.device --every 50
[ "$(grep -c '^  queues  ' out)$(grep -c '^  programs  ' out)" = 22 ] || fault "there are two targets"
expect 0 '^target device{kernels=2}: opens' '45 as by interp, of these 12 with open dims, 45 with a function of several kernels, 0 of codes$' -- \
    "$baton" plugin check test.device --every 500 --target 'device{kernels=2}'
[ "$(grep -c '^target' out)" = 1 ] || fault "one target is asked for"
# Which of the early ones is seen first depends on when its thread gets a processor.
while IFS='|' read -r fault message; do
    expect 1 "FAILED  $message" -- "$baton" plugin check test.device --every 20 --target "device{fault=\"$fault\", kernels=${kernels:=1}}"
done <<'END1'
constant|memory: enqueue_copy gives value 1 after 1: it is more for each command of a queue$
deaf|queues: a co[a-z]* does not wait for the events of its bt_order, or `wait` returns before it is done$
early|memory: `wait` returns before a copy is done$
mute|queues: wait fails (the device has stopped) and .failed is 0: it is the value of the command that has failed, 1$
copy|memory: a copy of 16384 bytes from the host, or of these back: byte 8192 is then
offset|kernels:$
full|queues: its queues fail: a command waits for 1 events, at most 0$
untimed|queues: tells_times is set, and bt_order.times of a command that is done is not written$
sooner|queues: bt_order.times of two commands, from when the first is given: -[0-9]*\.\.[0-9]* and .*times are those of bt_now_ns$
over|memory: a copy of [0-9]* bytes 
few|kernels:$
lazy|queues: what arguments of enqueue or enqueue_copy point to is used when the function has returned, and may be gone
lazy_copy|queues: what arguments of enqueue or enqueue_copy point to is used when the function has returned, and may be gone
lazy_two|queues: what arguments of enqueue or enqueue_copy point to is used when the function has returned, and may be gone
hasty|queues: a copy does not wait for the events of its bt_order, or `wait` returns before it is done$
runs_on|queues: a command fails, and what is behind it runs all the same: it never runs$
forgets|queues: a command of a queue fails, and wait for the one behind it says nothing of that: it fails as well$
unmoved|queues: a command fails, and one of another queue that waits for its event does not: it fails as well$
here|code: the code of a kernel changes when `compile` has returned: what bt_kernel_code.at points to lives in the arena$
far|kernels:$
stubborn|stop: a kernel that takes [0-9]* ms takes [0-9]* when it is asked to stop: it is to look at bt_kernel_call.stop now and then$
leaks_calls|leaks: each call keeps 1 block of memory: bt_alloc without bt_free$
leaks_queues|leaks: each session, with its queues and blocks, keeps [12] blocks* of memory
leaks_code|leaks: each compilation, from lower to unload, keeps 1 block of memory
leaks_instances|leaks: each instance, from open to close, keeps 1 block of memory
odd|memory: a copy of 1 bytes from the host, to offset 0: byte 0 of the block is then 1, expected 100$
dims|programs:$
fives|kernels:$
twins|sessions: two instances called in turn: a result is another one$
trusting|artifact: code is loaded that needs "a machine that nobody has": accepts says nothing against it$
sour|sessions: after a call with an allocation that failed the next one, in a new session where the old one is lost: its result is
END1
expect 1 'FAILED  calls: nn.dense: .*: target device.claims{fault="eights"}: @.*: output 0\[' -- \
    "$baton" plugin check test.device --target 'device.claims{fault="eights"}'
expect 0 '45 as by interp' -- "$baton" plugin check test.device --every 500 --target 'device{fault="alone"}' # it is opened once
expect 0 '45 as by interp' -- "$baton" plugin check test.device --every 500 --target 'device{fault="slow"}'
expect 1 '^ *target device{fault="behind"}: @.*: kernel .* writes behind its output 0, which has [0-9]* bytes: at byte [0-9]*, in$' -- \
    "$baton" plugin check test.device --target 'device{fault="behind"}'
# The second kernel does not wait for the first: which of the programs loses that race is not known.
expect 1 '^  FAILED  kernels:$' ': @fused_negative: output 0\[[0-9, ]*\] is .*, expected ' '^ *def @f(%a: ' -- \
    "$baton" plugin check test.device --target 'device{fault="second", kernels=2}'
expect 1 ': kernel fused_negative writes [0-9]* bytes before its output 0, which begins at bt_kernel_call.offsets in its block, in$' -- \
    "$baton" plugin check test.device --target 'device{fault="offset"}'
expect 1 ': @fused_negative: kernel 0 computes in place what it has not, in$' -- "$baton" plugin check test.device --target 'device{fault="few"}'
expect 1 '^ *element [0-9]* is .*, with n = [0-9]*.*, in$' '^ *def @f<n: Dim[^>]*>(%a: ' -- "$baton" plugin check test.device --target 'device{fault="dims"}'
hanging="lower compile load unload alloc_block free_block open_queue close_queue enqueue enqueue_copy run wait_for close_device"
for function in $hanging; do
    "$baton" plugin check test.device --target "device{hang=\"$function\"}" --timeout 1 > "hang_$function" 2>&1 &
done
wait
for function in $hanging; do
    expect 0 "^error: target device{hang=\"$function\"}, [a-z_ ]*.*: it has not come back for 1 s (--timeout)\$" -- cat "hang_$function"
done
expect 0 ', wait, for a copy of 16384 bytes: ' -- cat hang_wait_for
expect 1 '^error: target device{fault="silent"}, wait for value 1 of a queue, its last command, which waits for an event of another queue: it has not' -- \
    "$baton" plugin check test.device --target 'device{fault="silent"}' --timeout 1
expect 2 '\--target: reference is of plugin baton.reference, and test.device is checked' -- "$baton" plugin check test.device --target reference
expect 2 '\--target: reference is of plugin baton.reference' -- "$baton" plugin check test.device --target device,reference
refuse '^target device'
expect 2 '\--every takes a number' -- "$baton" plugin check test.device --every 0
refuse 'tables agree'
expect 2 'attribute' -- "$baton" plugin check test.device --target 'device{fualt="early"}'
expect 0 '^target reference: opens, 0 patterns$' -- env -u BATON_PLUGIN_PATH "$baton" plugin check baton.reference --every 500
refuse queues

# Baton's own operators are right, and plugins without operators have only tables.
expect 0 '0 with faults' -- "$baton" plugin check baton.ops.image
expect 0 'its tables agree with its manifest' -- "$baton" plugin check baton.passes
refuse operators

# In a program, the place of the call is told.
cat > calls.baton <<'EOF'
#[version = "baton 0.1"]
def @main(%x: Tensor[(2, 3), float32]) {
    %a = wrong.window(%x, window=[3]);
    %b = wrong.second(%x);
    %c = wrong.syntax(%x);
    %d = wrong.pattern(%x);
    (%a, %b, %c, %d)
}
EOF
expect 1 'calls.baton:3:5: error: wrong.window: attribute `window` has 1 element, the formula reads window\[1\]$' \
    'calls.baton:4:5: error: relation Broadcast asks for argument 2; wrong.second has 1 input$' \
    'wrong.syntax:1:25: error: expected `)`' 'calls.baton:5:5: note: in this call of wrong.syntax$' \
    'wrong.pattern(data):1:3: error: expected a dtype' 'calls.baton:6:5: note: in this call of wrong.pattern$' -- \
    "$baton" opt calls.baton

# How an operator fuses: a reduction that stands by itself keeps it alone.
unset BATON_PLUGIN_PATH
expect 0 rms.c -- "$baton" plugin new op example.rms --source
BATON_PLUGIN_PATH=$work/rms
export BATON_PLUGIN_PATH
formula() {
    sed "s|\.formula = .*|.formula = \"$1\",|; s|t:float\[\.\.\]|t:float[n, m]|; s|BT_CASES(.*)),|BT_CASES(\"float32[4, 8]\")),|" rms/rms.c > edited
    cp edited rms/rms.c
    expect 0 -- "$baton" plugin describe "$work/rms/rms.baton.json" --write
}
cat > chain.baton <<'END1'
#[version = "baton 0.1"]

def @main(%x: Tensor[(4, 8), float32]) { nn.relu(example.rms(%x)) }
END1
formula 'q: t[i] = sum(k: data[i, k] * data[i, k]); y: t[i, j] = data[i, j] / sqrt(q[i]) * beta'
expect 0 '^  fuses   with nothing: it stands alone$' -- "$baton" plugin check org.example.rms
expect 0 '^fused_example_rms ' '^fused_nn_relu ' -- "$baton" info chain.baton --target reference
formula 'y: t[i, j] = data[i, j] / sqrt(sum(k: data[i, k] * data[i, k])) * beta'
expect 0 '^  fuses   as sums of products, with what follows it element by element$' -- "$baton" plugin check org.example.rms
expect 0 '^fused_example_rms_nn_relu ' -- "$baton" info chain.baton --target reference

# An operator whose type follows from a formula that goes element by element keeps the layout of what it is given, as Identity does.
formula 'y: t[..] = data[..] * beta'
cat > laid.baton <<'END1'
#[version = "baton 0.1"]

def @main(%x: Tensor[(4, 8), float32, "AB:AB4b"]) { example.rms(%x) }
END1
expect 0 'Tensor\[(4, 8), float32, "AB:AB4b"\] = example.rms(%x)' -- "$baton" opt laid.baton
