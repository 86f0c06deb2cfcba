# A program with open dims is compiled once and runs for any of them: artifacts, sessions, targets.
. "$(dirname "$0")/kit.sh"

cat > p.baton <<'END'
#[version = "baton 0.1"]
def @main<n: Dim in 1..64, m: Dim>(%x: Tensor[(n, 4), float32], %w: Tensor[(8, 4), float32], %b: Tensor[(n, m), float32]) {
    %0 = nn.relu(nn.dense(%x, %w));
    %1 = concatenate((%0, %b), axis=1);
    %2 = transpose(%1, axes=[1, 0]);
    (reshape(%0, newshape=[2*n, 4]), add(%2, %2), sum(%2, axis=0))
}
END
for target in cpu reference 'cpu, reference'; do
    expect 0 'for target' -- "$baton" compile p.baton --target "$target" -o "p.bta"
    expect 0 'x  *Tensor\[(n, 4), float32\]' 'memory  *.*\*n.* bytes' -- "$baton" info p.bta
    for n in 1 5 2 64; do
        for m in 1 7; do
            set -- -i x=${n}x4xfloat32=random:1 -i w=random:2 -i b=${n}x${m}xfloat32=random:3
            expect 0 "output0: Tensor\[($((2 * n)), 4), float32\]" "output1: Tensor\[($((8 + m)), $n), float32\]" -- \
                "$baton" run p.bta "$@" -o "compiled"
            expect 0 -- "$baton" run p.baton --executor interp "$@" -o "expected"
            expect 0 -- "$baton" compare compiled expected
        done
    done
done
expect 0 "for target cpu" -- "$baton" compile p.baton --target cpu -o p.bta
refuse 'to the evaluator'
cat > many.baton <<'END'
#[version = "baton 0.1"]
def @main<n: Dim>(%x: Tensor[(n, 4), float32]) {
    (sort(%x, axis=0), topk(%x, k=1, axis=0), argsort(%x, axis=0), sort(%x, axis=1))
}
END
expect 0 'leaves 4 of 4 kernels to the evaluator, which is slow: fused_sort (sort is computed by plain C), fused_topk (.*), fused_argsort (.*) and 1 more; where a reason is a size, --dim' -- \
    "$baton" compile many.baton --target cpu -o many.bta
expect 0 'topk is computed by plain C' -- "$baton" info many.baton --target cpu

# Sizes in the line to copy are a guess, and said to be one.
expect 0 '-i x=1x4xfloat32=random:1 -i w=random:2 -i b=1x1xfloat32=random:3' '^where sizes that are open are the least' -- \
    "$baton" run p.bta

# They are sizes that the type allows.
cat > ranges.baton <<'END'
#[version = "baton 0.1"]
def @main<n: Dim in 5..64 step 4, m: Dim>(%x: Tensor[(2*n + 1, m), float32], %y: (Tensor[(n + m), int32], bool)) { negative(%x) }
END
expect 0 '-i x=17x1xfloat32=random:1 -i y.0=9xint32=random:2' -- "$baton" run ranges.baton
expect 0 'median' -- "$baton" bench ranges.baton --repeat 1 --warmup 0
expect 0 'median' -- "$baton" bench ranges.baton --target reference --repeat 1 --warmup 0
cat > less.baton <<'END'
#[version = "baton 0.1"]
def @main<n: Dim, m: Dim step 4>(%x: Tensor[(n - m, m - 5), float32], %y: Tensor[(n - 2, m), int32]) { negative(%x) }
END
expect 0 '-i x=1x3xfloat32=random:1 -i y=7x8xint32=random:2' -- "$baton" run less.baton
expect 0 'median' -- "$baton" bench less.baton --executor interp --repeat 1 --warmup 0

# Products of matrices and of vectors and sums are compiled with open batch, rows, columns and depth; what is packed of constants is packed once.
cat > products.baton <<'END'
#[version = "baton 0.1"]
def @main<n: Dim, k: Dim, b: Dim>(%x: Tensor[(n, 4), float32], %y: Tensor[(b, n, k), float32], %z: Tensor[(b, 3, k), float32], %v: Tensor[(b, 1, k), float32]) {
    %w = reshape(arange(0f, 32f, 1f), newshape=[8, 4]);
    %0 = nn.batch_matmul(%y, %z);
    %c = reshape(arange(0f, 1f, 0.25f), newshape=[1, 4]);
    (nn.dense(%x, %w), %0, nn.softmax(%0, axis=1), mean(%y, axis=[-1]), nn.dense(%x, %c), nn.batch_matmul(%y, %v), nn.batch_matmul(%v, %z))
}
END
for target in cpu 'cpu{engine="bytecode"}'; do
    expect 0 'for target' -- "$baton" compile products.baton --target "$target" -o products.bta
    refuse 'to the evaluator'
    for n in 1 2 17 40; do
        set -- -i x=${n}x4xfloat32=random:1 -i y=2x${n}x$((n + 2))xfloat32=random:2 -i z=2x3x$((n + 2))xfloat32=random:3 \
            -i v=2x1x$((n + 2))xfloat32=random:4
        expect 0 "output0: Tensor\[($n, 8), float32\]" -- "$baton" run products.bta "$@" -o open
        expect 0 -- "$baton" run products.baton --target "$target" "$@" -o known
        expect 0 -- "$baton" compare --rtol 0 open known
    done
done

# Calls are joined as they are with numbers: a block of a transformer has as many kernels.
cat > block.baton <<'END'
#[version = "baton 0.1"]
def @main<n: Dim>(%x: Tensor[(n, 6, 16), float32], %q: Tensor[(16, 16), float32], %k: Tensor[(16, 16), float32], %v: Tensor[(16, 16), float32], %g: Tensor[(16), float32], %b: Tensor[(16), float32], %w: Tensor[(32, 16), float32], %u: Tensor[(16, 32), float32]) {
    %0 = nn.layer_norm(%x, %g, %b);
    %1 = nn.dense(%0, %q);
    %2 = nn.dense(%0, %k);
    %3 = nn.dense(%0, %v);
    %4 = nn.softmax(multiply(nn.batch_matmul(%1, %2), 0.25f));
    %5 = add(%x, nn.batch_matmul(%4, transpose(%3, axes=[0, 2, 1])));
    %6 = nn.dense(nn.relu(nn.dense(%5, %w)), %u);
    add(%5, %6)
}
END
expect 0 'for target cpu: 18 kernels' -- "$baton" compile block.baton --target cpu --dim n=5 -o block.bta
expect 0 'for target cpu: 16 kernels' -- "$baton" compile block.baton --target cpu -o block.bta
refuse 'to the evaluator'
for n in 1 3 40; do
    set -- -i x=${n}x6x16xfloat32=random:1 -i q=random:2 -i k=random:3 -i v=random:4 -i g=random:5 -i b=random:6 -i w=random:7 -i u=random:8
    expect 0 "output: Tensor\[($n, 6, 16), float32\]" -- "$baton" run block.bta "$@" -o open
    expect 0 -- "$baton" run block.baton --executor interp "$@" -o known
    expect 0 -- "$baton" compare open known
done

# Of open rows a kernel keeps what one of them needs, and computes in place, as with numbers: memory is that of two tensors.
cat > rows.baton <<'END'
#[version = "baton 0.1"]
def @main<n: Dim>(%x: Tensor[(n, 64), float32]) { nn.softmax(nn.softmax(nn.softmax(%x))) }
END
expect 0 -- "$baton" compile rows.baton -o rows.bta
expect 0 'memory  *512\*n + [0-9]* bytes' -- "$baton" info rows.bta
for n in 1 9; do
    expect 0 -- "$baton" run rows.bta -i x=${n}x64xfloat32=random:1 -o open
    expect 0 -- "$baton" run rows.baton --executor graph --target cpu --dim n=$n -i x=random:1 -o known
    expect 0 -- "$baton" compare --rtol 0 open known
done

# What is given must be what the dims admit; both who say so are named.
expect 1 '@main: argument 0 (%x) has n = 65, outside 1..64' -- \
    "$baton" run p.bta -i x=65x4xfloat32=1 -i w=random:2 -i b=65x2xfloat32=1
expect 1 '@main: argument 2 (%b) says by dim 0 that n is 4, which is 3 by dim 0 of argument 0 (%x)' -- \
    "$baton" run p.bta -i x=3x4xfloat32=1 -i w=random:2 -i b=4x2xfloat32=1

# A target that takes numbers only hands on, or says what to do.
printf '#[version = "baton 0.1"]\ndef @main<n: Dim>(%%x: Tensor[(n), float32]) { negative(%%x) }\n' > q.baton
expect 0 '\[-1, -2\]' -- env BATON_PLUGIN_PATH="$targets" "$baton" run q.baton --no-specialise --target 'liar,reference' -i 'x=[1, 2]'
expect 1 'takes no functions whose dims are known at the call only.*--dim' -- \
    env BATON_PLUGIN_PATH="$targets" "$baton" run q.baton --no-specialise --target liar -i 'x=[1, 2]'

# A model with a symbolic batch.
model=$here/../fault/programs/tiny.onnx
expect 0 -- "$baton" compile "$model" -o tiny.bta
for batch in 1 3 2; do
    expect 0 "y: Tensor\[($batch, 3), float32\]" -- "$baton" run tiny.bta -i "x=${batch}x1x4x4xfloat32=random:1" -o compiled
    expect 0 -- "$baton" run "$model" --executor interp -i "x=${batch}x1x4x4xfloat32=random:1" -o expected
    expect 0 -- "$baton" compare compiled expected
done

# A kernel that reads nothing but dims is none of constants; an offset that cannot be proved to be one is no place.
printf '#[version = "baton 0.1"]\ndef @main<n: Dim>(%%x: Tensor[(n, 3), float32]) { shape_of(%%x) }\n' > shape.baton
expect 0 -- "$baton" compile shape.baton -o shape.bta
expect 0 '\[2, 3\]' -- "$baton" run shape.bta -i x=2x3xfloat32=1
cat > cube.baton <<'P'
#[version = "baton 0.1"]
def @main<n: Dim in 2..13>(%x: Tensor[(n, n, n), float32]) {
    %t = split(%x, indices_or_sections=[1], axis=0);
    add(%t.1, %t.0)
}
P
expect 0 -- "$baton" compile cube.baton -o cube.bta
for n in 2 3 13; do
    expect 0 -- "$baton" run cube.bta -i "x=${n}x${n}x${n}xfloat32=random:1" -o compiled
    expect 0 -- "$baton" run cube.baton --executor interp -i "x=${n}x${n}x${n}xfloat32=random:1" -o expected
    expect 0 -- "$baton" compare compiled expected
done

# Height and width may be open too: whether windows fit is checked at the call, with the text and place that interp has.
cat > net.baton <<'END2'
#[version = "baton 0.1"]
def @main<n: Dim, h: Dim, w: Dim>(%x: Tensor[(n, 3, h, w), float32], %k: Tensor[(8, 3, 5, 5), float32], %l: Tensor[(4, 8, 3, 3), float32]) {
    %0 = nn.relu(nn.conv2d(%x, %k, padding=[1, 1, 1, 1], strides=[2, 2]));
    %1 = nn.max_pool2d(%0, pool_size=[2, 2], strides=[2, 2]);
    nn.avg_pool2d(nn.conv2d(%1, %l, padding=[1, 1, 1, 1]), pool_size=[2, 1], strides=[1, 1])
}
END2
for target in cpu reference; do
    expect 0 -- "$baton" compile net.baton --target $target -o net.bta
    for size in 1x3x16x16 2x3x23x18 1x3x11x40; do
        set -- -i x=${size}xfloat32=random:1 -i k=random:2 -i l=random:3
        expect 0 -- "$baton" run net.bta "$@" -o compiled
        expect 0 -- "$baton" run net.baton --executor interp "$@" -o expected
        expect 0 -- "$baton" compare compiled expected
    done
    expect 1 'net.baton:3:18: error: nn.conv2d: the window and the padded data: 5 was to be at most h + 2 = 4' -- \
        "$baton" run net.bta -i x=1x3x2x16xfloat32=1 -i k=random:2 -i l=random:3
    expect 1 'net.baton:4:5: error: nn.max_pool2d: the window and the padded data: 2 was to be at most floordiv(w + 1, 2) - 1 = 1' -- \
        "$baton" run net.bta -i x=1x3x16x4xfloat32=1 -i k=random:2 -i l=random:3
done
printf '#[version = "baton 0.1"]\ndef @main<n: Dim>(%%x: Tensor[(n), float32]) { argwhere(%%x) }\n' > late.baton
expect 1 'executor graph has no dynamic shapes, which @main uses; vm has them all' -- "$baton" compile late.baton -o late.bta --executor graph
expect 0 -- "$baton" compile late.baton -o late.bta
expect 0 '^output: Tensor\[(2, 1), int32\]' -- "$baton" run late.bta -i 'x=[0, 3, 4]'

# What is checked at the call stays where weights are packed when the program is compiled.
cat > packed.baton <<'END'
#[version = "baton 0.1"]
def @main<n: Dim, m: Dim>(%x: Tensor[(n, 4), float32], %y: Tensor[(m, 4), float32]) {
    (nn.dense(%x, const[(3, 4), float32]{0.5 ..}), add(%x, %y), argmax(%x, axis=[0]))
}
END
expect 0 -- "$baton" compile packed.baton -o packed.bta
expect 0 'output0: Tensor\[(3, 3), float32\]' -- "$baton" run packed.bta -i x=3x4xfloat32=1 -i y=3x4xfloat32=1
expect 1 'add: m = 2 was to be 1 or equal to n = 3' -- "$baton" run packed.bta -i x=3x4xfloat32=1 -i y=2x4xfloat32=1
expect 1 'add: m = 2 was to be 1 or equal to n = 3' -- "$baton" run packed.baton --executor graph --no-specialise -i x=3x4xfloat32=1 -i y=2x4xfloat32=1
expect 1 'argmax: ' -- "$baton" run packed.bta -i x=0x4xfloat32=1 -i y=0x4xfloat32=1

# What needs numbers, or dims that shapes show, says of which function; kernels are checked with the sizes of each call.
expect 1 '^packed.baton:2:1: error: .* dims are numbers: --dim gives them' -- "$baton" run packed.baton --executor graph --memory
expect 0 ' 3 calls checked, 0 wrong' -- \
    "$baton" run packed.baton --executor graph --no-specialise --check-kernels -i x=3x4xfloat32=1 -i y=3x4xfloat32=1
cat > untold.baton <<'END'
#[version = "baton 0.1"]
def @main<n: Dim, m: Dim>(%x: Tensor[(n + m), float32]) { exp(%x) }
END
expect 1 '^untold.baton:2:1: error: @main: the shape of no argument tells its dim n' -- "$baton" compile untold.baton -o untold.bta
cat > where.baton <<'END'
#[version = "baton 0.1"]
def @main<A, B, C>(%x: A, %y: B) -> C where add(A, B) -> C { add(%x, %y) }
END
expect 1 '^where.baton:2:1: error: @main, which the program is run from, has type parameters other than dims' -- "$baton" compile where.baton -o where.bta
# Blocks of channels where dims are open: also where the blocked axis is, with columns that do not fill its last block.
for shape in 'b, 13, 4, 4' 'b, n, 4, 4'; do
    dims=$(echo "$shape" | tr -cd 'bn, ' | sed 's/, *,.*//; s/, *$//; s/\([bn]\)/\1: Dim/g')
    cat > laid.baton <<END
#[version = "baton 0.1"]
def @main<$dims>(%x: Tensor[($shape), float32]) {
    %y = layout_transform(%x, src_layout="", dst_layout="NCHW:NCHW8c");
    layout_transform(nn.relu(%y), src_layout="NCHW:NCHW8c", dst_layout="")
}
END
    "$baton" run laid.baton -i x=2x13x4x4xfloat32=random:1 -o want || fault "interp does not run ($shape)"
    for target in cpu 'cpu{engine="bytecode"}' reference; do
        expect 0 -- "$baton" compile laid.baton -o laid.bta --target "$target"
        expect 0 -- "$baton" run laid.bta -i x=2x13x4x4xfloat32=random:1 -o got
        cmp want/output.npy got/output.npy || fault "$target gives something else for ($shape)"
    done
done
