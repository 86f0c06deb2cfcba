# An error in a kernel tells the line of the program, on every executor and from an artifact.
. "$(dirname "$0")/kit.sh"

cat > failing.baton <<'END'
#[version = "baton 0.1"]
def @main<n: Dim, m: Dim>(%x: Tensor[(n), float32], %v: Tensor[(m), float32], %i: Tensor[(1), int32]) {
    strided_set(%x, %v, %i, %i, const[(1), int32]{1})
}
END
for target in cpu reference; do
    expect 0 'for target' -- "$baton" compile failing.baton --target "$target" -o failing.bta
    for executor in graph vm; do
        expect 1 'strided_set: v has another shape than the part' 'in kernel fused_strided_set' 'failing.baton:3:5: note: in this call' -- \
            "$baton" run failing.baton --executor "$executor" --target "$target" --no-specialise -i x=[3,1] -i v=[9,8] -i i=[0]
    done
    expect 1 'failing.baton:3:5: note: in this call' -- "$baton" run failing.bta -i x=[3,1] -i v=[9,8] -i i=[0]
done

# The extent of an open dim is not in the code.
printf '#[version = "baton 0.1"]\ndef @main<n: Dim>(%%x: Tensor[(n), float32], %%i: int32) { add(take(%%x, %%i, mode="fast"), 1f) }\n' > open.baton
for target in cpu c; do
    expect 1 'error: fused_take_add[.1]*: an index is out of bounds for axis 0 of flat$' '^open.baton:2:58: note: in this call' \
        -- "$baton" run open.baton --executor vm --target $target --no-specialise -i 'x=[1, 2, 3]' -i i=7
done

# A scale that a program is given, and that is none.
printf '#[version = "baton 0.1"]\ndef @main(%%x: Tensor[(2), float32], %%s: float32) { qnn.quantize(%%x, qnn.check_scale(%%s), 0) }\n' > scale.baton
for executor in graph vm; do
    for scale in 0 -1 inf nan; do
        expect 1 'out of bounds for axis 0 of scales_above_0_and_finite' '^scale.baton:2:69: note: in this call' \
            -- "$baton" run scale.baton --executor $executor --target cpu -i 'x=[1, 2]' -i s=$scale
    done
done

# A zero point that a program is given, and that is no code: near the ends of its type differences would wrap. Constants are
# looked at before.
printf '#[version = "baton 0.1"]\ndef @main(%%x: Tensor[(2), int8], %%z: int32) { qnn.dequantize(%%x, 1f, %%z) }\n' > zero.baton
for executor in interp graph vm; do
    expect 0 '\[-99, 28\]' -- "$baton" run zero.baton --executor $executor -i 'x=[-100, 27]' -i z=-1
    for zero in 128 -129 2147483647 -2147483648; do
        expect 1 'out of bounds for axis 0 of zero_points_that_are_codes' 'zero.baton:2:47: ' \
            -- "$baton" run zero.baton --executor $executor -i 'x=[-100, 27]' -i z=$zero
    done
done

# A result that is larger than a tensor may be is told where it is made, and not when its cost is estimated.
printf '#[version = "baton 0.1"]\ndef @main(%%k: int32) { full(%%k, shape=[1000000, 1000000]) }\n' > large.baton
for executor in interp vm; do
    expect 1 'large.baton:2:24: error: .*more than 17179869184 bytes, the limit of one tensor' -- "$baton" run large.baton --executor $executor -i k=3
done
