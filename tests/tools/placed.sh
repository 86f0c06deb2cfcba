# baton info: why functions are left to a later target; a note where a program names a target that does not take what is on it.
. "$(dirname "$0")/kit.sh"
BATON_PLUGIN_PATH=$targets
export BATON_PLUGIN_PATH
printf '#[version = "baton 0.1"]\ndef @main(%%x: Tensor[(8), float32]) { nn.softmax(exp(%%x)) }\n' > p.baton

expect 0 '^     not claim.any{ns=900, confidence=1}: with copies nothing is done sooner for sure: @[a-z_]*exp[a-z_]* (0.001 ms, on claim.any{ns=30, confidence=1} 0.000)' \
    '^claim.any{ns=900, confidence=1} computes nothing: others are sooner done with what it could do, as place says$' \
    -- "$baton" info p.baton --target 'claim.any{ns=900, confidence=1}, claim.any{ns=30, confidence=1}'
expect 0 '^     not claim.any{.*refuse="exp".*}: it has no exp: @[a-z_]*exp' -- \
    "$baton" info p.baton --target 'claim.any{ns=9, confidence=1, refuse="exp"}, claim.any{ns=30, confidence=1}'
expect 0 '^     not claim{.*}: no pattern of it matches, or none that it supports: @[a-z_]*exp' -- \
    "$baton" info p.baton --target 'claim{ns=9, confidence=1}, claim.any{ns=30, confidence=1}, claim.any{ns=40, confidence=1}'

cat > codes.baton <<'END'
#[version = "baton 0.1"]
def @main(%x: Tensor[(4, 8), int8]) {
    %a = qnn.dequantize(%x, 0.0625f, 0i8);
    %w = qnn.dequantize(const[(8, 8), int8]{3 ..}, 0.0625f, 0i8);
    qnn.quantize(nn.dense(%a, %w), 0.25f, 0i8)
}
END
expect 0 '^     not npu: with copies nothing is done sooner for sure: ' \
    '^npu computes nothing: others are sooner done with what it could do, as place says$' -- "$baton" info codes.baton --target npu,cpu
refuse 'no call matches'

cat > on.baton <<'END'
#[version = "baton 0.1"]
#[attrs(devices=["npu", "cpu"])]

def @main(%x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32]) {
    %0 on 1 = nn.dense(%x, %w);
    %0
}
END
expect 0 '^note: the program has @[a-z_]*nn_dense on target npu, which refuses it, and another computes it: its result is float32; int8 or int32 is expected$' -- \
    "$baton" run on.baton --target npu,cpu -i x=random:1 -i w=random:2
expect 1 'is of target npu, which is not among those compiled for' -- "$baton" run on.baton --target cpu -i x=random:1 -i w=random:2
expect 1 'target npu is the last of the list' -- "$baton" run on.baton --target npu -i x=random:1 -i w=random:2

# Relay's annotations are read over, and that is told.
cat > relay.txt <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(4, 4), float32]) {
  %0 = on_device(%x, virtual_device=meta[VirtualDevice][0], constrain_result=True);
  on_device(nn.relu(%0), virtual_device=meta[VirtualDevice][0], constrain_result=True)
}
END
expect 0 '^note: on_device and device_copy are read over: ' '^output' -- "$baton" run relay.txt --target npu,cpu -i x=random:1
[ "$(grep -c 'read over' out)" = 1 ] || fault "it is told once"
sed 's/on_device(/annotation.on_device(/' relay.txt > older.txt
expect 1 'no op is named "annotation.on_device"' -- "$baton" run older.txt -i x=random:1
