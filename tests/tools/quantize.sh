# baton quantize: a program on integers, and what is told of it.
. "$(dirname "$0")/kit.sh"
digits=$here/../../sdk/examples/digits
samples=$digits/samples
mkdir -p tmp
export TMPDIR=$PWD/tmp
npy() { # FILE DIMS NBYTES: zeros of float32, or with a fourth word NaN
    header="{'descr': '<f4', 'fortran_order': False, 'shape': ($2), }"
    { printf '\223NUMPY\001\000\166\000'; printf '%-117s\n' "$header"; if [ $# = 4 ]; then
        awk -v n=$(($3 / 4)) 'BEGIN { for (i = 0; i < n; i++) printf "NAN." }' | sed 's/NAN\./\xff\xff\xff\x7f/g'; else head -c "$3" /dev/zero; fi; } > "$1"
}

# The program that is written runs on integers, gives the same digits, and is smaller.
expect 0 '^image  *-128..127 ' '^nn.dense.weight  *-127..127 ' '^results .* in 10 of 10 samples$' '^constants 6.69 k bytes, before 25.1 k$' -- \
    "$baton" quantize "$digits/digits.baton" --scheme int8 --calibrate max --data "$samples" --statistics seen.npz -o q.baton
grep -q 'qnn.conv2d(.*const.*int8' q.baton || fault "no convolution of codes: $(grep conv2d q.baton)"
grep -q 'int32\] = qnn.dense(' q.baton || fault "the last layer is in float: $(grep dense q.baton)"
expect 0 'qnn_dense' -- "$baton" info q.baton --target cpu
refuse 'nn_dense_add\|dequantize_nn'
refuse note
expect 0 -- "$baton" run q.baton -i image=random:1 -o integer
expect 0 -- "$baton" run "$digits/digits.baton" -i image=random:1 -o float
expect 0 'equal within tolerance' -- "$baton" compare integer float --atol 0.1

# The same file of statistics, program and table whatever the number of processes, and whatever is observed.
for by in max mse kl percentile; do
    for n in 1 3; do
        mkdir -p $n
        expect 0 -- "$baton" quantize "$digits/digits.baton" --scheme uint8 --calibrate $by --data "$samples" \
            --processes $n --statistics $n/seen.npz -o $n/q.baton
        cp out $n/table
    done
    diff -r 1 3 > /dev/null || fault "$by: 3 processes find something else than one"
done

# Numbers are counted where the batch is open.
mkdir -p open
npy open/x.npy '3, 4' 48
cat > open.baton <<'EOF'
#[version = "baton 0.1"]
def @main<n: Dim>(%x: Tensor[(n, 4), float32]) { nn.dense(%x + 1f, const[(2, 4), float32]{1 ..}) }
EOF
for by in max mse kl percentile; do
    expect 0 '^results ' -- "$baton" quantize open.baton --calibrate $by --data open -o q.baton
done

# What runs in float with the losses of codes gives what runs on them: but for rounding, and one step of a bias.
passes='default, quant-annotate{scheme="int8"}, quant-calibrate{by="global{range=4f}"}'
expect 0 -- "$baton" opt "$digits/digits.baton" -p "$passes" -o simulated.baton
expect 0 -- "$baton" opt simulated.baton -p 'quant-realize, qdq-to-integer, dead-code' -o integer.baton
for seed in 1 2 3; do
    for executor in interp graph; do
        expect 0 -- "$baton" run simulated.baton -i image=random:$seed -o simulated
        expect 0 -- "$baton" run integer.baton -i image=random:$seed --executor $executor -o integer.$executor
        expect 0 'equal within tolerance' -- "$baton" compare integer.$executor simulated --atol 0.01
    done
    expect 0 'equal within tolerance' -- "$baton" compare integer.interp integer.graph
done

# Layers that stay in float, by name and by number.
expect 0 '^image ' -- "$baton" quantize "$digits/digits.baton" --scheme 'int8{skip=["nn.dense"], skip_layers=[1]}' --calibrate max \
    --data "$samples" -o q.baton
refuse 'nn.dense.weight'
left() { # OPTION TEXT: one that no call fits
    expect 1 "error: $2" -- "$baton" quantize "$model" --scheme "int8{$1}" --data "$samples" -o q.baton
}
model=$digits/digits.baton
left 'skip=["nn.dens"]' 'skip: no call fits "nn.dens"; did you mean nn.dense?$'
left 'skip=["nn.dense", "fc*"]' 'skip: no call fits "fc\*"; there are [a-z0-9_.]*, .*nn.dense$'
left 'skip_layers=[0, 4]' 'skip_layers holds 4: layers are counted from 0, the last one is 3$'
left 'skip_layers=[-1]' 'skip_layers holds -1: '

# Weights of 4 bits take 4, in the program; its constants are smaller when compiled, too, where they are packed as kernels want them.
expect 0 '^constants 3.58 k bytes, before 25.1 k$' -- "$baton" quantize "$model" --scheme int4 --data "$samples" -o few.baton
grep -q 'const\[[^]]*int4\]' few.baton || fault "no weights of 4 bits"
packed() { # PROGRAM: bytes of its constants in the artifact, in thousands
    "$baton" compile "$1" -o packed.bta | sed -n 's/.*constants \([0-9.]*\) k.*/\1/p'
}
expect 0 -- "$baton" quantize "$model" --data "$samples" -o eight.baton
for program in few eight; do
    awk -v codes="$(packed $program.baton)" -v floats="$(packed "$model")" 'BEGIN { exit !(codes > 0 && codes * 1.5 < floats) }' ||
        fault "$program: constants of $(packed $program.baton) k bytes, of floats $(packed "$model") k"
done

# Options are written as baton list schemes prints them, and as the manifest has them.
expect 0 'weight-bits' -- "$baton" list schemes int8
expect 0 '^nn.dense.weight  *-1..1 ' -- "$baton" quantize "$model" --scheme 'int8{weight-bits=2, skip-layers=[0]}' --data "$samples" -o dashes.baton
left 'skip=["nn-dense"]' 'skip: no call fits "nn-dense"'

# Labels: one for each sample, and integers.
labels() { # FILE N: an IDX file of N bytes
    { printf '\0\0\010\001\0\0\0'; printf "\\$(printf %o "$2")"; head -c "$2" /dev/zero; } > "$1"
}
labels ten 10
labels nine 9
expect 0 '^results ' -- "$baton" quantize "$model" --data "$samples" --labels ten -o q.baton
expect 0 '^results ' -- "$baton" quantize "$model" --data "$samples" --labels ten --samples 7 -o q.baton
expect 1 'error: nine holds 9 labels, and .*samples has 10 samples$' -- "$baton" quantize "$model" --data "$samples" --labels nine -o q.baton
labels eleven 11
expect 1 'error: eleven holds 11 labels, and .*samples has 10 samples$' -- "$baton" quantize "$model" --data "$samples" --labels eleven -o q.baton
expect 0 -- "$baton" run "$model" -i image=random:1 -o float
expect 1 'float.*npy is Tensor\[(1, 10), float32\], and labels are integers with one axis' -- \
    "$baton" quantize "$model" --data "$samples" --labels "$(ls float/*.npy)" -o q.baton

# Sums of 16 bits: where they may not hold, in parts, and the same integers.
for bits in 8 4; do
    expect 0 -- "$baton" quantize "$model" --scheme "int8{weight_bits=$bits}" --data "$samples" -o wide.baton
    expect 0 -- "$baton" quantize "$model" --scheme "int8{weight_bits=$bits, accumulator=\"int16\"}" --data "$samples" -o narrow.baton
    grep -q 'int16\] = qnn.conv2d' narrow.baton || fault "no sums of 16 bits"
    expect 0 -- "$baton" run wide.baton -i image=random:4 -o wide
    expect 0 -- "$baton" run narrow.baton -i image=random:4 -o narrow
    expect 0 'max abs 0 ' -- "$baton" compare wide narrow
done

# Rounding by chance: by keys, so again the same.
chance='int8{rounding="stochastic"}'
expect 0 '^results ' -- "$baton" quantize "$model" --scheme "$chance" --data "$samples" -o chance.baton
grep -q 'rounding="STOCHASTIC"' chance.baton || fault "nothing is rounded by chance"
for executor in interp graph; do
    expect 0 -- "$baton" run chance.baton -i image=random:4 -o chance.$executor --executor $executor
done
expect 0 'equal within tolerance' -- "$baton" compare chance.interp chance.graph

# Every other rounding on integers, the same on all executors.
for rounding in away:TONEAREST up:UPWARD floor:FLOOR ceil:CEIL; do
    expect 0 '^results ' -- "$baton" quantize "$model" --scheme "int8{rounding=\"${rounding%:*}\"}" --data "$samples" -o round.baton
    refuse note
    grep -q "qnn.requantize(.*rounding=\"${rounding#*:}\"" round.baton || fault "no sums are rounded: $rounding"
    for executor in interp graph; do
        expect 0 -- "$baton" run round.baton -i image=random:4 -o round.$executor --executor $executor
    done
    expect 0 'equal within tolerance' -- "$baton" compare round.interp round.graph
done

# Layers that stay in float for a loss: as few products as do.
expect 0 'in [0-9]* of 10 samples$' -- "$baton" quantize "$model" --scheme 'int8{weight_bits=3}' --data "$samples" -o q.baton
refuse 'in 10 of 10 samples'
expect 0 '^LAYER ' ' float  ' '^[12] of 4 layers in float' 'in 10 of 10 samples$' -- \
    "$baton" quantize "$model" --scheme 'int8{weight_bits=3}' --loss 0 --data "$samples" -o q.baton
expect 0 '^0 of 4 layers in float, 0.0 % of the products' '1 programs were tried' -- \
    "$baton" quantize "$model" --loss 0 --data "$samples" -o q.baton
expect 0 '"lost_percent": 0.0' '"trials": 3' '"float": true' -- \
    "$baton" quantize "$model" --scheme 'int8{weight_bits=3}' --loss 0 --trials 3 --json --data "$samples" -o q.baton
expect 2 '--loss takes percent' -- "$baton" quantize "$model" --loss much --data "$samples" -o q.baton
expect 2 '--loss takes percent' -- "$baton" quantize "$model" --loss -1 --data "$samples" -o q.baton
expect 2 '--trials is of a search' -- "$baton" quantize "$model" --trials 3 --data "$samples" -o q.baton

# Those that the scheme leaves out count, too.
expect 0 '^nn.conv2d  *float  *-  *41.8 %$' '^1 of 4 layers in float, 41.8 % of the products' '^note: nn.conv2d stays in float: the scheme gives an operand no codes$' -- \
    "$baton" quantize "$model" --scheme 'int8{skip_layers=[1]}' --loss 100 --data "$samples" -o q.baton
# So do those whose sums int32 may not hold, and nothing is made codes for them.
mkdir -p long
cat > long.baton <<'EOF'
#[version = "baton 0.1"]
def @main(%x: Tensor[(1, 4096), float32]) {
    let %h = nn.dense(%x, const[(8, 4096), float32]{1 ..});
    nn.dense(nn.relu(%h), const[(3, 8), float32]{1 ..})
}
EOF
npy long/a.npy '1, 4096' 16384
expect 0 '^x  *float ' '^h.weight  *float ' '^nn.dense.weight  *-127..127 ' '^note: h of nn.dense stays in float: its sums may leave int32$' \
    '^h.weight  *float .* 99.9 %$' '^1 of 2 layers in float, 99.9 % of the products' -- \
    "$baton" quantize long.baton --scheme int16 --loss 0 --data long -o q.baton
grep -q 'float32\] = nn.dense(%x, const' q.baton || fault "codes before a layer in float: $(grep dense q.baton)"
expect 0 '"notes": \["h of nn.dense stays in float: its sums may leave int32"' '"layer": "h.weight", "float": true' -- \
    "$baton" quantize long.baton --scheme int16 --loss 0 --json --data long -o q.baton

# In a branch nothing is observed.
mkdir -p few
npy few/a.npy '1, 4' 16
cat > branch.baton <<'EOF'
#[version = "baton 0.1"]
def @main(%x: Tensor[(1, 4), float32]) {
    let %h = nn.dense(%x, const[(8, 4), float32]{1 ..});
    let %p = less(sum(%h), 0f);
    if (%p) {
        let %y = nn.dense(%h, const[(3, 8), float32]{1 ..});
        %y
    } else {
        let %z = nn.dense(%h, const[(3, 8), float32]{2 ..});
        %z
    }
}
EOF
expect 0 '^note: y of nn.dense stays in float: it stands in a branch, where nothing is observed$' '^note: z of nn.dense' -- \
    "$baton" quantize branch.baton --data few -o q.baton
grep -q 'int32\] = qnn.dense(' q.baton || fault "the layer before a branch is in float"

# Compiled at once.
expect 0 -- "$baton" quantize "$model" --data "$samples" -o q.baton
expect 0 -- "$baton" quantize "$model" --data "$samples" -o q.bta
expect 0 -- "$baton" run q.baton -i image=random:4 -o plain
expect 0 -- "$baton" run q.bta -i image=random:4 -o compiled
expect 0 'equal within tolerance' -- "$baton" compare plain compiled --atol 1e-5
expect 1 'no target is named "none"\|none' -- "$baton" quantize "$model" --data "$samples" --target none -o q.bta

# Where the program cannot go: told before samples are run.
cp "$model" own.baton && cp "$digits/digits.npz" .
mkdir -p folder
expect 2 'own.baton is the model itself' -- "$baton" quantize own.baton --data "$samples" -o own.baton
ln -s own.baton other.baton
expect 2 'other.baton is the model itself' -- "$baton" quantize own.baton --data "$samples" -o other.baton
expect 2 'folder is a folder' -- "$baton" quantize "$model" --data "$samples" -o folder
expect 1 'missing/q.baton cannot be written to' -- "$baton" quantize "$model" --data "$samples" -o missing/q.baton

# What -o does not write, and what it has no use for.
expect 2 '-o q.onnx: what is written is Baton.s text' -- "$baton" quantize "$model" --data "$samples" -o q.onnx
[ ! -e q.onnx ] || fault "it is written"
expect 2 '--target is what FILE.bta is compiled for, and -o q.baton' -- "$baton" quantize "$model" --data "$samples" --target npu -o q.baton

# Nor over what it reads, or what else it writes: nothing is written then.
cp -r "$samples" own && cp own.baton kept.baton && cp digits.npz kept.npz
own() { # TEXT OPTION...
    text=$1 && shift
    expect 2 "$text" -- "$baton" quantize own.baton --data own "$@"
}
own 'digits.npz is read, and large constants of the program would replace it' -o digits.int8
own 'digits.npz is read, and the program would replace it' -o digits.npz
own 'digits.npz is read, and the statistics would replace it' -o q.baton --statistics ./digits.npz
own 'own.baton is read, and the statistics would replace it' -o q.baton --statistics own.baton
own 'name.npz would hold the program and large constants of the program' -o name.npz
own 'q.baton would hold the program and the statistics' -o q.baton --statistics ./q.baton
own 'q.npz would hold large constants of the program and the statistics' -o q.baton --statistics q.npz
own 'new.bta would hold the compiled program and the statistics' -o new.bta --statistics folder/../new.bta
own 'own/q.baton lies among the samples of own' -o own/q.baton
own 'own/seen.npz lies among the samples of own' -o q.baton --statistics own/seen.npz
for option in data test labels statistics; do
    expect 2 "--$option takes a name" -- "$baton" quantize own.baton --data "$samples" -o q.baton "--$option="
done
expect 2 'digits.npz is read, and large constants' -- "$baton" import own.baton -o digits.out
expect 2 'own.baton is read, and the program' -- "$baton" opt own.baton -o ./own.baton
expect 2 'name.npz would hold the program and large' -- "$baton" opt own.baton -o name.npz
expect 2 'digits.npz is read, and the compiled program' -- "$baton" compile own.baton -o digits.npz
cmp -s own.baton kept.baton && cmp -s digits.npz kept.npz || fault "what was read was replaced"
[ ! -e digits.int8 ] && [ ! -e digits.out ] && [ ! -e name.npz ] && [ ! -e new.bta ] || fault "something was written"

# Samples that are none, or say nothing; scales that are none.
mkdir -p shapes numbers zeros
npy shapes/a.npy '3, 5' 60
npy numbers/a.npy '1, 1, 28, 28' 3136 nan
npy zeros/a.npy '1, 1, 28, 28' 3136
expect 1 'shapes/a.npy holds Tensor\[(3, 5), float32\], and samples of input image are Tensor' -- "$baton" quantize "$model" --data shapes -o q.baton
npy shapes/a.npy '' 4
expect 1 'shapes/a.npy holds one number, float32, and samples of input image are Tensor' -- "$baton" quantize "$model" --data shapes -o q.baton
expect 1 'sample 0 of numbers gives site image nothing but NaN and infinities, and so do all 1: there is no range' -- \
    "$baton" quantize "$model" --data numbers -o q.baton
cp "$digits"/samples/* numbers
expect 0 '784 NaN or infinite' -- "$baton" quantize "$model" --data numbers -o q.baton
for by in max mse kl percentile; do
    expect 0 '^results ' -- "$baton" quantize "$model" --data zeros --calibrate $by -o q.baton
done
for range in 0f -1f inf nan; do
    expect 1 'range is .*, and is to be above 0 and finite' -- "$baton" quantize "$model" --data "$samples" --calibrate "global{range=$range}" -o q.baton
done

# A file that is no statistics stays as it is; one that is, is written again, of the samples that there are now.
echo text > text.txt
expect 1 'text.txt: that file is there, and holds no statistics' -- "$baton" quantize "$model" --data "$samples" --statistics text.txt -o q.baton
[ "$(cat text.txt)" = text ] || fault "a file of another kind is written over"
cp "$digits/digits.npz" other.npz
expect 1 'other.npz: that file is there, and holds no statistics' -- "$baton" quantize "$model" --data "$samples" --statistics other.npz -o q.baton
expect 0 '^results ' -- "$baton" quantize "$model" --data "$samples" --statistics seen.npz -o q.baton
cp seen.npz before.npz
expect 0 '^results ' -- "$baton" quantize "$model" --data zeros --statistics seen.npz -o q.baton
expect 0 '^results ' -- "$baton" quantize "$model" --data zeros --statistics anew.npz -o r.baton
cmp -s seen.npz before.npz && fault "statistics of other samples stay"
cmp -s seen.npz anew.npz || fault "statistics that were there count"
expect 0 '^results ' -- "$baton" quantize "$model" --data "$samples" --statistics seen.npz -o q.baton

# What a user gets wrong.
expect 2 'a number other than 0, not 0.0' -- "$baton" quantize "$model" --data "$samples" --factor 0.0 -o q.baton
expect 1 'attribute `per_channel`: expected True or False, found `false`' -- "$baton" quantize "$model" --data "$samples" --scheme 'int8{per-channel=false}' -o q.baton
expect 1 'no scheme is named "int9"; did you mean .*int8' -- "$baton" list schemes int9
expect 1 'no calibrate is named "kll"; did you mean kl' -- "$baton" list calibrations kll
expect 2 '--data FOLDER is missing' -- "$baton" quantize "$digits/digits.baton" --scheme int8 --calibrate max -o q.baton
expect 2 '--scheme int8{: a closing } is missing' -- "$baton" quantize "$digits/digits.baton" --scheme 'int8{' --calibrate max --data "$samples" -o q.baton
expect 1 'no scheme is named "int9"' -- "$baton" quantize "$digits/digits.baton" --scheme int9 --calibrate max --data "$samples" -o q.baton
expect 1 'int8 has no attribute `skp`; did you mean `skip`' -- "$baton" quantize "$digits/digits.baton" --scheme 'int8{skp=1}' --calibrate max --data "$samples" -o q.baton
expect 1 'none cannot be read as a folder' -- "$baton" quantize "$digits/digits.baton" --scheme int8 --calibrate max --data none -o q.baton
mkdir empty odd
expect 1 'empty holds 0 files: samples are wanted' -- "$baton" quantize "$digits/digits.baton" --scheme int8 --calibrate max --data empty -o q.baton
echo text > odd/a.txt
expect 1 'odd/a.txt is no sample' -- "$baton" quantize "$digits/digits.baton" --scheme int8 --calibrate max --data odd -o q.baton
ls "$TMPDIR"/baton-quantize.* 2> /dev/null && fault "a folder is left behind"

# Statistics of another program, and damaged ones.
step='quant-annotate{scheme="int8"}, quant-calibrate{by="max", statistics='
expect 0 -- "$baton" opt "$digits/digits.baton" -p 'default' -o prepared.baton
expect 0 -- "$baton" opt prepared.baton -p "$step\"seen.npz\"}"
expect 1 'was made of another program' -- "$baton" opt prepared.baton -p "quant-annotate{scheme=\"uint8\"}, quant-calibrate{by=\"max\", statistics=\"seen.npz\"}"
expect 1 'tells their range alone' -- "$baton" opt prepared.baton -p "quant-annotate{scheme=\"int8\"}, quant-calibrate{by=\"kl\", statistics=\"seen.npz\"}"
head -c 200 seen.npz > cut.npz
expect 1 'cut.npz' -- "$baton" opt prepared.baton -p "$step\"cut.npz\"}"

# A layer that is none, by the pass.
expect 1 'quant-skip: no layer has a weight with site "nn.dense.wait"; did you mean nn.dense.weight?' -- \
    "$baton" opt prepared.baton -p 'quant-annotate, quant-skip{weights=["nn.dense.weight", "nn.dense.wait"]}'
# Without layers on codes there are none.
expect 0 -- "$baton" opt prepared.baton -p \
    'quant-annotate, quant-skip{weights=["nn.conv2d.weight", "nn.conv2d.weight_1", "nn.conv2d.weight_2", "nn.dense.weight"]}, dead-code'
refuse 'quant.simulate'

# What is of no use is written all the same, and said.
expect 0 '^warning: the codes of 4 sites keep less than 1 dB of the numbers there, first image: calibration global{range=0.0001f} chooses scales that do not fit$' \
    '^warning: the results are no longer those of ' -- "$baton" quantize "$model" --data "$samples" --calibrate 'global{range=0.0001f}' -o q.baton
expect 0 '"warnings": \["the codes of 4 sites' '"constants_nbytes": [0-9]*, ' -- \
    "$baton" quantize "$model" --data "$samples" --calibrate 'global{range=0.0001f}' -o q.baton --json
expect 0 '^results ' -- "$baton" quantize "$model" --data "$samples" -o q.baton
refuse '^warning'
