# --dim: a number in place of a symbolic dim of the entry, wherever a model is read.
. "$(dirname "$0")/kit.sh"

cat > p.baton <<'END'
#[version = "baton 0.1"]

def @helper<n: Dim>(%x: Tensor[(n, 3), float32]) {
    nn.relu(%x)
}

def @main<n: Dim, m: Dim in 2..8 step 2>(%x: Tensor[(n, 3), float32], %w: Tensor[(m, 3), float32]) {
    %h: Tensor[(n, m), float32] = nn.dense(@helper(%x), %w);
    let %f = fn (%a: Tensor[(n, m), float32]) { nn.softmax(%a) };
    %f(%h)
}
END
expect 0 'def @helper<n: Dim>' 'def @main<m: Dim in 2..8 step 2>(%x: Tensor\[(4, 3)' '%h: Tensor\[(4, m), float32\]' \
    'fn (%a: Tensor\[(4, m)' -- "$baton" opt p.baton --dim n=4
expect 0 'def @main(%x: Tensor\[(4, 3).*(2, 3)' -- "$baton" opt p.baton --dim n=4 --dim m=2
refuse 'check'
expect 0 'def @main(%x: Tensor\[(4, 3)' -- "$baton" import p.baton --dim n=4 --dim m=2
expect 0 'input .* x .*Tensor\[(4, 3), float32\]' 'multiply-adds    56' -- "$baton" info p.baton --dim n=4 --dim m=2
expect 0 'x  Tensor\[(4, 3), float32\]' 'run p.baton --dim n=4 --dim m=2 -i x=random:1 -i w=random:2' -- \
    "$baton" run p.baton --dim n=4 --dim m=2
expect 0 'Tensor\[(4, 2), float32\]' -- "$baton" run p.baton --dim n=4 --dim m=2 -i x=random:1 -i w=random:2
expect 0 'def @helper(%x: Tensor\[(4, 3)' -- "$baton" opt p.baton --entry helper --dim n=4

# A typed text is inferred anew; a lone function is the entry, whatever its name.
"$baton" opt p.baton > typed.baton
expect 0 'def @main(%x: Tensor\[(4, 3).*(2, 3)' -- "$baton" opt typed.baton --dim n=4 --dim m=2
printf '#[version = "baton 0.1"]\ndef @f<k: Dim>(%%x: Tensor[(k), int8]) { %%x }\n' > lone.baton
expect 0 'def @f(%x: Tensor\[(7), int8\])' -- "$baton" opt lone.baton --dim k=7

# What is wrong is refused, everywhere.
for verb in opt run info import; do
    expect 1 'has no symbolic dim k; it has n, m' -- "$baton" $verb p.baton --dim k=4
    expect 1 'has no symbolic dim k; it has m, n' -- "$baton" $verb p.baton --dim k=4 --dim n=3
done
expect 1 'p.baton:7:19: error: dim m is given as 3' -- "$baton" opt p.baton --dim m=3
expect 1 'p.baton:7:19: error: dim m is given as 10' -- "$baton" opt p.baton --dim m=10

# A size that does not do is told with its place, and with the dim that it was given for.
printf '#[version = "baton 0.1"]\ndef @main<n: Dim>(%%x: Tensor[(n, 3), float32]) {\n    topk(%%x, k=1, axis=0)\n}\n' > least.baton
for verb in opt run info "compile -o least.bta"; do
    expect 1 'least.baton:3:5: error: topk: .*: 1 must be at most 0$' '^note: given by --dim: n=0$' -- "$baton" $verb least.baton --dim n=0
done
for wrong in n n= n=-1 n=x n=99999999999999999999 =4; do
    expect 1 "NAME=N, N a whole number of at least 0, not as $wrong\$" -- "$baton" opt p.baton --dim "$wrong"
done
expect 1 'dim n is given twice' -- "$baton" opt p.baton --dim n=4 --dim n=5
printf '#[version = "baton 0.1"]\ndef @main(%%x: int8) { %%x }\n' > none.baton
expect 1 'has no symbolic dim n; it has none' -- "$baton" run none.baton --dim n=1

# of a gradient that is declared, the function's
cat > declared.baton <<'END9'
#[version = "baton 0.1"]
def @f<n: Dim, m: Dim>(%x: Tensor[(n), float32], %w: Tensor[(m), float32]) -> float32 { sum(%x) * sum(%w) }
gradient @df = @f(wrt=[0]);
END9
for verb in run info opt; do
    expect 1 'has no symbolic dim k; it has n, m' -- "$baton" $verb declared.baton --entry df --dim k=1
done
expect 0 '^input  *x  *Tensor\[(3), float32\]' -- "$baton" info declared.baton --entry df --dim n=3
expect 1 'inputs of a text program are not fixed' -- "$baton" run p.baton --fix x=1

# ONNX.
expect 1 'tiny.onnx has no symbolic dim for k=1; it has batch' -- "$baton" info "$here/../fault/programs/tiny.onnx" --dim k=1
expect 1 'tiny.onnx has no input for k=1; it has' -- "$baton" info "$here/../fault/programs/tiny.onnx" --fix k=1
expect 0 'input .*(4, ' -- "$baton" info "$here/../fault/programs/tiny.onnx" --dim batch=4

# Nobody needs numbers where inputs show the dims.
cat > both.baton <<'END'
#[version = "baton 0.1"]
def @main<n: Dim, m: Dim>(%x: Tensor[(n, 3), float32], %w: Tensor[(m, 3), float32]) { nn.dense(%x, %w) }
END
expect 0 '\[\[32\]\]' -- "$baton" run both.baton --executor graph --no-specialise -i 'x=[[1, 2, 3]]' -i 'w=[[4, 5, 6]]'
expect 1 'input w is not set; it takes Tensor\[(m, 3), float32\]: give -i w=VALUE, such as -i w=1x3xfloat32=random:1$' \
    -- "$baton" run both.baton -i 'x=[[1, 2, 3]]'
expect 1 'input w is not set; it takes Tensor\[(4, 3), float32\]: give -i w=VALUE, such as -i w=random:1$' \
    -- "$baton" run both.baton -i 'x=[[1, 2, 3]]' --dim m=4

# Memory is counted in one way where a dim with a step is divided.
for step in 2 4; do
    printf '#[version = "baton 0.1"]\ndef @main<m: Dim in 2..64 step %d, n: Dim>(%%x: Tensor[(1, n, m), float32]) {
        nn.max_pool1d(%%x, pool_size=[3], strides=[2], padding=[1])\n}\n' "$step" > step.baton
    expect 0 'for target cpu' -- "$baton" compile step.baton -o step.bta
done

# A product of an open number of rows has a program of its own for one row, which packs nothing.
cat > rows.baton <<'END'
#[version = "baton 0.1"]
def @main<n: Dim in 1..64>(%x: Tensor[(n, 24), float32], %w: Tensor[(6, 24), float32]) { nn.dense(%x, %w) }
END
expect 0 'cpu_epilogue_f32_portable(' 'cpu_across_f32_portable(' -- env BATON_CPU=portable "$baton" opt rows.baton --kernels c
# .. or goes along the panels of a constant.
cat > panels.baton <<'END'
#[version = "baton 0.1"]
def @main<n: Dim in 1..64>(%x: Tensor[(n, 24), float32]) { nn.dense(%x, const[(6, 24), float32]{0.5 ..}) }
END
expect 0 'cpu_epilogue_f32_portable(' 'cpu_line_f32_portable(' -- env BATON_CPU=portable "$baton" opt panels.baton --kernels c

# Values of dims that kernels have code of their own for: asked for, listed, chosen by the call.
expect 0 'versions for n=1; n=8; any' -- "$baton" info rows.baton --target cpu --hot n=1,8
expect 0 '^  open dims are taken for 1024, or a bound that is nearer; of the versions this is the one for any$' -- \
    "$baton" info rows.baton --target cpu --hot n=1,8 --why
expect 0 '^  open dims are taken for 1024, or a bound that is nearer$' -- "$baton" info rows.baton --target cpu --why
expect 0 -- "$baton" info rows.baton --target cpu --dim n=8 --why
refuse 'open dims'
sed 's/) {/, hot="n=8") {/' rows.baton > hot.baton
expect 0 'versions for n=8; any' -- "$baton" info hot.baton --target cpu
[ "$("$baton" info hot.baton --target reference | grep -c versions)" = 0 ]
for n in 1 7 8; do
    for hot in '--no-specialise' '--hot n=7,8,64'; do
        "$baton" run rows.baton --target cpu $hot -i x=${n}x24xfloat32=random:1 -i w=random:2 > "$n.out"
        "$baton" run rows.baton --target cpu --dim n=$n -i x=random:1 -i w=random:2 | cmp - "$n.out"
    done
done
expect 1 'hot="n=65": 65 is outside of the dim.s values; expected dims of @main and values of each, "n=1,8..32 step 8 m=64"' \
    -- "$baton" info rows.baton --target cpu --hot n=65
expect 1 'hot="n =8": this is no list of values' -- "$baton" info rows.baton --target cpu --hot 'n =8'
# .. ranges of values, ..
expect 0 'versions for n=1; n=8..32 step 8; n=40..64; any' -- "$baton" info rows.baton --target cpu --hot 'n=1,8..32 step 8,40..'
expect 1 'n=65..": 65.. is outside of the dim.s values' -- "$baton" info rows.baton --target cpu --hot n=65..
expect 1 'n=8.. step 0": 8.. step 0 has a step below 1' -- "$baton" info rows.baton --target cpu --hot 'n=8.. step 0'
sed 's/) {/, hot="n=8..32 step 8,40..") {/' rows.baton > ranges.baton
BATON_CPU=portable "$baton" opt rows.baton --kernels c > rows.c
BATON_CPU=portable "$baton" opt ranges.baton --kernels c > ranges.c
[ "$(grep -c 'cpu_epilogue_f32_portable(' ranges.c)" -gt "$(grep -c 'cpu_epilogue_f32_portable(' rows.c)" ]
for n in 1 7 8 12 16 32 33 40 64; do
    "$baton" run ranges.baton --target cpu --no-specialise -i x=${n}x24xfloat32=random:1 -i w=random:2 > "$n.out"
    "$baton" run rows.baton --target cpu --dim n=$n -i x=random:1 -i w=random:2 | cmp - "$n.out"
done
# Target c has none.
expect 0 'note: target c has no code of its own for the values of dims that --hot' -- \
    "$baton" compile rows.baton --executor aot --hot n=8 -o rows_c
expect 0 -- "$baton" compile rows.baton --executor aot -o rows_c
refuse 'note: target c'
# .. by the file of an artifact, ..
"$baton" compile rows.baton --target cpu --hot n=8 -o rows.artifact > compile.out
expect 0 'versions for     n=8; any' -- "$baton" info rows.artifact
expect 0 '"versions": "n=8"' -- "$baton" info rows.artifact --json
"$baton" compile rows.baton --target cpu --hot 'n=1,8..32 step 8' -o rows.artifact > compile.out
expect 0 'versions for     n=1,8..32 step 8; any' -- "$baton" info rows.artifact
"$baton" compile rows.baton --target cpu -o rows.artifact > compile.out
[ "$("$baton" info rows.artifact | grep -c versions)" = 0 ]
# .. and by profiles of runs, those that were most often first.
for n in 9 3 9; do
    "$baton" run rows.baton --no-specialise --profile --json -i x=${n}x24xfloat32=random:1 -i w=random:2 >> seen.json
done
expect 0 'versions for n=9; n=3; any' -- "$baton" info rows.baton --target cpu --hot seen.json
for n in 1 2 4 5 6 7 8; do
    "$baton" run rows.baton --no-specialise --profile --json -i x=${n}x24xfloat32=random:1 -i w=random:2 >> seen.json
done
expect 0 'versions for n=9; n=1; n=2; n=3; n=4; n=5; n=6; n=7; any' -- "$baton" info rows.baton --target cpu --hot seen.json
"$baton" run rows.baton --profile --json -i x=3x24xfloat32=random:1 -i w=random:2 > settled.json
expect 1 'settled.json: the runs had no open dims; give --no-specialise' -- "$baton" info rows.baton --target cpu --hot settled.json
echo '{"dims": [{"name": "n", "value": "8", "runs": 1}]}' > other.json
expect 1 '\-\-hot other.json: byte 0: this is no profile; expected a file with what baton run' \
    -- "$baton" info rows.baton --target cpu --hot other.json
printf '{"dims": []}\n{"dims"' > cut.json
expect 1 '\-\-hot cut.json: byte 13: ' -- "$baton" info rows.baton --target cpu --hot cut.json
expect 1 'n 8' '\-\-hot takes ranges of dims, such as "n=1,8..32 step 8", or a file' -- "$baton" info rows.baton --target cpu --hot 'n 8'
expect 1 'a dim has two lists of values' -- "$baton" info rows.baton --target cpu --hot 'n=1 n=8'
expect 1 'these are more than 8 versions' -- "$baton" info rows.baton --target cpu --hot 'n=1,2,3,4,5,6,7,8,9'
expect 1 'hot="n=1 step 2": a step is of a range, FROM..TO; expected' -- "$baton" info rows.baton --target cpu --hot 'n=1 step 2'
expect 1 'hot="n=1,m=2": between dims stands a blank; expected' -- "$baton" info rows.baton --target cpu --hot 'n=1,m=2'
expect 1 'hot="n=8;9": this is no list of values' -- "$baton" info rows.baton --target cpu --hot 'n=8;9'
expect 1 'hot="m=8": @main has no open dim m' -- "$baton" info rows.baton --target cpu --hot m=8
expect 2 '\-\-hot is of programs that are compiled: give --target cpu' -- "$baton" info rows.baton --hot n=8
