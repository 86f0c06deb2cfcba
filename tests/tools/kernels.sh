# baton run --check-kernels: each kernel of a target against the evaluator. What it finds is in tests/compile/check.c.
. "$(dirname "$0")/kit.sh"
digits=$here/../../sdk/examples/digits/digits.baton
isas=$(for isa in portable avx2 avx512; do
    BATON_CPU=$isa "$baton" info "$digits" --target cpu > /dev/null 2>&1 && echo $isa
done)

for isa in $isas; do
    for engine in bytecode auto; do
        expect 0 '^[0-9]* kernels, 5 calls checked, 0 wrong; all agree: the largest error is [0-9.e-]* % of its bound, in @fused_nn' -- \
            env BATON_CPU=$isa "$baton" run "$digits" --target "cpu{engine=\"$engine\"}" -i image=random:1 --check-kernels
    done
done
expect 0 '^5 kernels, 5 calls checked, 0 wrong; all agree exactly$' -- \
    "$baton" run "$digits" --executor graph --target reference -i image=random:1 --check-kernels
expect 0 '^{"check": {"kernels": 5, "calls": 5, "wrong": 0, ' '"functions": \[{"function": "fused_[a-z_0-9]*", "way": "", "calls": 1, "error": 0.0, "bound": ' -- \
    "$baton" run "$digits" --executor graph --target reference -i image=random:1 --check-kernels --json

# Each function: the way that its target takes, how far that is off, and how far it may be. Winograd's transforms of more than
# F(2,3) and factors rounded to bfloat16 have a bound of their own, which is not for other functions of the program.
cat > ways.baton <<'END1'
#[version = "baton 0.1"]
def @main(%x: Tensor[(1, 32, 28, 28), float32]) {
    %w = cast(reshape(arange(0, 9216, 1), newshape=[32, 32, 3, 3]), dtype="float32");
    %0 = nn.relu(nn.conv2d(%x, sin(%w), padding=[1, 1]));
    nn.softmax(%0, axis=3)
}
def @point(%x: Tensor[(1, 128, 28, 28), float32]) {
    %w = cast(reshape(arange(0, 16384, 1), newshape=[128, 128, 1, 1]), dtype="float32");
    nn.relu(nn.conv2d(%x, sin(%w)))
}
END1
for isa in $isas; do
    expect 0 '^    error     bound     share  calls  way  *function$' \
        '^[ 0-9.e-]* [23][0-9.]*e-05 .* winograd F(4,3)  *fused_nn_conv2d_nn_relu$' \
        '^[ 0-9.e-]* [0-9.]*e-06 .* strips  *fused_nn_softmax$' \
        -- env BATON_CPU=$isa "$baton" run ways.baton --entry main --target cpu -i x=random:1 --check-kernels
    expect 0 -- env BATON_CPU=$isa "$baton" run ways.baton --entry main --target 'cpu{accuracy="exact"}' -i x=random:1 --check-kernels
    refuse 'e-05'
done
for isa in avx512bf16 amx; do
    BATON_CPU=$isa "$baton" info ways.baton --target cpu > /dev/null 2>&1 || continue
    expect 0 '^[ 0-9.]*e-0[34] *1[0-9.]*e-02 .* \(bf16 tiles.*\|amx, bf16\)  *fused_nn_conv2d_nn_relu$' ', 0 wrong' \
        -- env BATON_CPU=$isa "$baton" run ways.baton --entry point --target 'cpu{accuracy="fast"}' -i x=random:1 --check-kernels
done

# A set that BATON_CPU names and that nothing would use is not passed over in silence.
if BATON_CPU=avx512bf16 "$baton" info ways.baton --target cpu > /dev/null 2>&1; then
    expect 0 'note: BATON_CPU is avx512bf16, .* and avx512 is taken$' '^  instructions: avx512$' -- \
        env BATON_CPU=avx512bf16 "$baton" info ways.baton --entry main --target cpu
    expect 0 '^  instructions: avx512bf16$' -- env BATON_CPU=avx512bf16 "$baton" info ways.baton --entry point --target 'cpu{accuracy="fast"}'
    refuse 'BATON_CPU'
fi

# By the fusion that was asked for: a kernel for each operator.
# float64 of products that are float32 has the bound of float32
cat > norm.baton <<'END8'
#[version = "baton 0.1"]
def @f(%x: Tensor[(3, 4, 6, 6), float32], %g: Tensor[(4), float32], %b: Tensor[(4), float32], %m: Tensor[(4), float32], %v: Tensor[(4), float32]) -> float32 {
    let %r = nn.batch_norm_training(%x, %g, %b, %m, %v);
    sum(%r.0 * sin(%r.0))
}
gradient @df = @f(wrt=[0, 1, 2]);
END8
expect 0 ' calls checked, 0 wrong' -- "$baton" run norm.baton --entry df --target cpu -i x=random:1 -i g=random:2 -i b=random:3 -i m=random:4 -i v=random:5 --check-kernels
expect 0 ' calls checked, 0 wrong' -- "$baton" run "$digits" --target reference --fuse 'fuse-ops{max-ops=1}' -i image=random:1 --check-kernels
refuse ' 5 calls checked'

# What has no kernels, or not the functions that they are of.
expect 2 'is of programs that are compiled: give --target cpu' -- "$baton" run "$digits" --executor interp -i image=random:1 --check-kernels
expect 0 -- "$baton" compile "$digits" --target reference -o d.bta
expect 2 'is for models: d.bta is compiled' -- "$baton" run d.bta -i image=random:1 --check-kernels

# What is of a run is not left out without a word.
for option in '--output out' '--trace out' --profile; do
    expect 2 "check-kernels compares kernels one by one and runs nothing that ${option%% *} is about" -- \
        "$baton" run "$digits" --target reference -i image=random:1 --check-kernels $option
done

# What rounding does to sums goes on into what is computed of them: the cosine of a large sum is off by as much as the sum.
cat > cosine.baton <<'END1'
#[version = "baton 0.1"]
def @main(%x: Tensor[(1, 16, 8, 8), float32], %w: Tensor[(16, 16, 3, 3), float32]) {
    cos(nn.conv2d(multiply(%x, 10f), multiply(%w, 10f)))
}
END1
expect 0 ' call checked, 0 wrong' -- "$baton" run cosine.baton --target cpu -i x=random:1 -i w=random:2 --check-kernels

# A transposed convolution has no zeros around: what is not finite spreads as far as it is read, and no further.
cat > spread.baton <<'END1'
#[version = "baton 0.1"]
def @main(%x: Tensor[(1, 3, 10, 10), float32], %w: Tensor[(3, 2, 3, 3), float32]) {
    %0 = nn.conv2d_transpose(%x, %w, strides=[2, 2], output_padding=[1, 1]);
    sum(cast(isnan(%0), dtype="int32"))
}
END1
for isa in $isas; do
    expect 0 '^  882$' -- env BATON_CPU=$isa "$baton" run spread.baton --target cpu -i x=random:1 -i w=nan
    expect 0 '^  0$' -- env BATON_CPU=$isa "$baton" run spread.baton --target cpu -i x=inf -i w=random:1
done
expect 0 '^  882$' -- "$baton" run spread.baton --executor interp -i x=random:1 -i w=nan

# Nor with steps of 1: of 12 x 12 elements of two channels, four at a corner read neither the last row of the weight nor its last column.
# Dims may be open.
cat > beside.baton <<'END1'
#[version = "baton 0.1"]
def @main<n: Dim, h: Dim>(%x: Tensor[(n, 3, h, 10), float32], %w: Tensor[(3, 2, 2, 2), float32]) {
    %0 = nn.pad(%w, divide(0f, 0f), pad_width=[[0, 0], [0, 0], [0, 1], [0, 1]]);
    sum(cast(isnan(nn.conv2d_transpose(%x, %0)), dtype="int32"))
}
END1
for isa in $isas; do
    for option in '' --no-specialise; do
        expect 0 '^  280$' -- \
            env BATON_CPU=$isa "$baton" run beside.baton $option --target cpu -i x=1x3x10x10xfloat32=random:1 -i w=random:2
    done
done
expect 0 '^  280$' -- "$baton" run beside.baton --executor interp -i x=1x3x10x10xfloat32=random:1 -i w=random:2
expect 0 'by the evaluator: 0$' -- "$baton" info beside.baton --target cpu

# The same of a line, where data are few and it is the weights that are read outside.
cat > line.baton <<'END1'
#[version = "baton 0.1"]
def @main(%x: Tensor[(1, 1, 2), float32], %w: Tensor[(1, 1, 3), float32]) {
    nn.conv1d_transpose(%x, %w, strides=[2])
}
END1
for isa in $isas; do
    expect 0 '\[\[\[1, -1, inf, -inf, inf\]\]\]' -- \
        env BATON_CPU=$isa "$baton" run line.baton --target cpu -i 'x=[[[1,inf]]]' -i 'w=[[[1,-1,1]]]'
done

# Programs with branches, calls, data and open dims: each call is checked on the values that it has there, as often as it runs.
cat > loop.baton <<'END1'
#[version = "baton 0.1"]
type Tree { Leaf(Tensor[(4), float32]), Node(Tree, Tree), }
def @main(%x: Tensor[(2, 3), float32], %k: int32) -> Tensor[(2, 3), float32] { if (%k == 0) { %x } else { @main(negative(%x), %k - 1) } }
def @grow(%x: Tensor[(4), float32], %k: int32) -> Tree { if (%k == 0) { Leaf(%x) } else { Node(@grow(exp(%x), %k - 1), Leaf(tanh(%x))) } }
def @sum(%t: Tree) -> Tensor[(4), float32] { match (%t) { Leaf(%x) => %x, Node(%l, %r) => add(@sum(%l), @sum(%r)) } }
def @tree(%x: Tensor[(4), float32], %k: int32) { @sum(@grow(%x, %k)) }
def @rows<n: Dim>(%x: Tensor[(n, 3), float32], %k: int32) -> Tensor[(n), float32] {
    if (%k == 0) { sum(%x, axis=[1]) } else { @rows(nn.softmax(negative(%x)), %k - 1) }
}
END1
for target in reference cpu; do
    expect 0 '^3 kernels, 10 calls checked, 0 wrong; all agree exactly$' -- \
        "$baton" run loop.baton --target $target -i x=1 -i k=3 --check-kernels
    expect 0 '^5 kernels, 11 calls checked, 0 wrong; all agree' -- \
        "$baton" run loop.baton --executor vm --target $target --entry tree -i x=0.1 -i k=2 --check-kernels
    expect 0 ' 10 calls checked, 0 wrong; all agree' -- \
        "$baton" run loop.baton --target $target --entry rows --no-specialise -i x=5x3xfloat32=random:1 -i k=2 --check-kernels
done
expect 1 '10 calls checked, 3 wrong; the others agree exactly' -- env BATON_PLUGIN_PATH=$targets \
    "$baton" run loop.baton --target 'liar{fault="wrong"},reference' -i x=1 -i k=3 --check-kernels
expect 1 'target liar{fault="wrong"}: @fused_negative: output 0\[1, 2\] is 0, expected -1' -- env BATON_PLUGIN_PATH=$targets \
    "$baton" run loop.baton --target 'liar{fault="wrong"},reference' -i x=1 -i k=3 --check-kernels

# An only function is the entry whatever passes add to it, and its branches are looked into.
cat > only.baton <<'END1'
#[version = "baton 0.1"]
def @step(%x: Tensor[(2), float32]) { if (greater(sum(%x), 0f)) { exp(%x) } else { negative(%x) } }
END1
for kind in graph loops c lowered planned; do
    expect 0 'fused_exp' 'fused_negative' -- "$baton" opt only.baton --passes fuse-ops --kernels "$kind"
done
expect 0 'only.bta: for target' -- "$baton" compile only.baton -o only.bta
expect 0 '2.7182817' -- "$baton" run only.bta -i x=1
expect 0 '2.7182817' -- "$baton" run only.baton --passes fuse-ops -i x=1
"$baton" compile only.baton --executor aot -o only || exit 1

# Zeros between the elements of a transposed convolution are not multiplied by what is infinite beside them.
cat > strides.baton <<'END1'
#[version = "baton 0.1"]
def @main(%x: Tensor[(1, 2, 5, 4), float32], %w: Tensor[(2, 3, 3, 3), float32]) { nn.conv2d_transpose(%x, %w, strides=[2, 2], padding=[1, 1]) }
END1
row='[1, 1, 1, 1]' taps='[[1, 1, 1], [1, 1, 1], [1, 1, 1]]'
image="[[$row, [1, inf, 1, 1], $row, $row, $row], [$row, $row, $row, $row, $row]]"
weights="[[$taps, [[1, 1, 1], [1, 1, nan], [1, 1, 1]], $taps], [$taps, $taps, $taps]]"
for isa in $isas; do
    expect 0 '1 call checked, 0 wrong' -- env BATON_CPU=$isa "$baton" run strides.baton --target cpu --check-kernels -i "x=[$image]" -i w=1
    expect 0 '1 call checked, 0 wrong' -- env BATON_CPU=$isa "$baton" run strides.baton --target cpu --check-kernels -i x=1 -i "w=$weights"
done

# A function that the program has on another target, by its constants, is not checked on the first one, and told.
expect 0 -- "$baton" quantize "$digits" --data "${digits%/*}/samples" -o q.baton
expect 0 ', 0 wrong, [1-9] not checked, whose constants send them to another target; all agree' -- \
    "$baton" run q.baton -i image=random:1 --target npu,cpu --fuse 'partition, fuse-ops' --check-kernels
expect 0 -- "$baton" quantize "$digits" --data "${digits%/*}/samples" --scheme shifts -o q.baton
expect 0 ', 0 wrong; all agree' -- \
    "$baton" run q.baton -i image=random:1 --target npu,cpu --fuse 'partition, fuse-ops' --check-kernels
