# baton quantize: a program on integers, and what is told of it.
. "$(dirname "$0")/kit.sh"
digits=$here/../../sdk/examples/digits
samples=$digits/samples

# The program that is written runs on integers, gives the same digits, and is smaller.
expect 0 '^image  *-128..127 ' '^nn.dense.weight  *-127..127 ' '^results .* in 10 of 10 samples$' '^constants 7.08 k bytes, before 25.1 k$' -- \
    "$baton" quantize "$digits/digits.baton" --scheme int8 --calibrate max --data "$samples" --statistics seen.npz -o q.baton
grep -q 'qnn.conv2d(.*const.*int8' q.baton || fault "no convolution of codes: $(grep conv2d q.baton)"
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

# What runs in float with the losses of codes gives what runs on them: but for rounding, and one step of a bias.
passes='default, quant-annotate{scheme="int8"}, quant-calibrate{by="global", options="range=4f"}'
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

# What a user gets wrong.
expect 2 '--data FOLDER is missing' -- "$baton" quantize "$digits/digits.baton" --scheme int8 --calibrate max -o q.baton
expect 2 'a brace is not closed' -- "$baton" quantize "$digits/digits.baton" --scheme 'int8{' --calibrate max --data "$samples" -o q.baton
expect 1 'no scheme is named "int9"' -- "$baton" quantize "$digits/digits.baton" --scheme int9 --calibrate max --data "$samples" -o q.baton
expect 1 'int8 has no attribute `skp`; did you mean `skip`' -- "$baton" quantize "$digits/digits.baton" --scheme 'int8{skp=1}' --calibrate max --data "$samples" -o q.baton
expect 1 'none cannot be read as a folder' -- "$baton" quantize "$digits/digits.baton" --scheme int8 --calibrate max --data none -o q.baton
mkdir empty odd
expect 1 'empty holds 0 files: samples are wanted' -- "$baton" quantize "$digits/digits.baton" --scheme int8 --calibrate max --data empty -o q.baton
echo text > odd/a.txt
expect 1 'odd/a.txt is no sample' -- "$baton" quantize "$digits/digits.baton" --scheme int8 --calibrate max --data odd -o q.baton
ls "${TMPDIR:-/tmp}"/baton-quantize.* 2> /dev/null && fault "a folder is left behind"

# Statistics of another program, and damaged ones.
step='quant-annotate{scheme="int8"}, quant-calibrate{by="max", statistics='
expect 0 -- "$baton" opt "$digits/digits.baton" -p 'default' -o prepared.baton
expect 0 -- "$baton" opt prepared.baton -p "$step\"seen.npz\"}"
expect 1 'was made of another program' -- "$baton" opt prepared.baton -p "quant-annotate{scheme=\"uint8\"}, quant-calibrate{by=\"max\", statistics=\"seen.npz\"}"
expect 1 'tells their range alone' -- "$baton" opt prepared.baton -p "quant-annotate{scheme=\"int8\"}, quant-calibrate{by=\"kl\", statistics=\"seen.npz\"}"
head -c 200 seen.npz > cut.npz
expect 1 'cut.npz' -- "$baton" opt prepared.baton -p "$step\"cut.npz\"}"
