# Schemes and calibrations of a plugin that are wrong: by the verb, and by baton plugin check.
. "$(dirname "$0")/kit.sh"
export BATON_PLUGIN_PATH="$wrong"
model=$here/../../sdk/examples/digits/digits.baton
samples=$here/../../sdk/examples/digits/samples

# What is no scale: never put right in silence.
calibrate() { # NAME TEXT
    expect 1 "error: calibration $1 gives image $2" -- "$baton" quantize "$model" --data "$samples" --calibrate "$1" -o q.baton
}
cannot='scales are above 0 and finite'
calibrate zero "the scale 0 .*$cannot"
calibrate below "the scale -1 .*$cannot"
calibrate nan "the scale -\?nan .*$cannot"
calibrate great "the scale inf .*$cannot"
calibrate beyond 'more scales or zero points than the 1 '
expect 1 'error: calibration unset gives nn.conv2d.weight the scale -\?nan ' -- \
    "$baton" quantize "$model" --data "$samples" --calibrate unset -o q.baton
expect 1 'error: calibration outside gives image the scale 1 and the zero point 256' -- \
    "$baton" quantize "$model" --data "$samples" --scheme uint8 --calibrate outside -o q.baton
for by in fixed least; do
    expect 0 '^results ' -- "$baton" quantize "$model" --data "$samples" --calibrate $by -o q.baton
done

# What is no form: which field, and its number.
scheme() { # NAME TEXT
    expect 1 "error: scheme $1 gives nn.conv2d $2" -- "$baton" quantize "$model" --data "$samples" --scheme "$1" -o q.baton
}
scheme low 'codes -300..127: int8 holds -128..127$'
scheme high 'codes -127..300: int8 holds -128..127$'
scheme float 'codes of type float32: codes are integers of at most 16 bits$'
scheme axis 'a scale for each element of axis 17: the operand has 4 axes'
scheme rounding 'rounding 99: BT_ROUND_... end at 5$'
scheme kind 'scale_kind 77: BT_SCALE_... end at 2$'
expect 0 '^results ' -- "$baton" quantize "$model" --data "$samples" --scheme right -o q.baton

# Forms that are none of use: a program in which no integer is left is not written.
expect 1 'error: nothing of .*digits.baton was quantized: by scheme wide each of its layers stays in float$' \
    '^note: nn.dense stays in float: its sums may leave int32$' -- "$baton" quantize "$model" --data "$samples" --scheme wide -o none.baton
[ ! -e none.baton ] || fault "a program without integers was written"

# The check tells all of them, and what shows on a second call alone; what does not come back ends it.
expect 1 'error: calibrate zz_endless: it has not come back for 3 s (--timeout), in pass quant-calibrate$' \
    '  ok      scheme right$' '  ok      calibrate fixed$' \
    'scheme turns gives another result for the same program when it is asked again$' \
    'scheme behind writes behind the form that it is given for nn.conv2d$' \
    'scheme affine gives nn.conv2d is_affine 5: 1 asks for a zero point, 0 for none$' \
    'scheme signs gives d.weight codes from 0 on without a zero point (is_affine): its numbers below 0 become 0$' \
    'scheme inner gives [a-z0-9.]*weight a scale for each element of axis 1, over which products are summed: such a layer computes in float; its' \
    'scheme wide gives codes, and no product of them is computed on codes: every layer ends in float' \
    'note: scheme says says so of nn.conv2d$' \
    'calibration neighbour gives [a-z_]* other scales where others come before it' \
    'calibration useless gives both_signs the scale 1e+30: its numbers, up to 2, all become 0$' \
    'calibration least gives both_signs the scale 1.1[0-9]*e-38: codes reach to .*, and its numbers to 2$' \
    'scheme none gives no operand codes' \
    'scheme differs gives another result for the same program when it is asked again$' \
    'scheme keeps keeps 17 blocks of memory of each program: bt_alloc without bt_free$' \
    'calibrate varies gives another result for the same program when it is asked again$' \
    'calibrate holds keeps 32 blocks of memory of each program: bt_alloc without bt_free$' \
    'calibration unknown needs 0x1001, of which 0x1000 is none of BT_STAT_...$' \
    'calibration zero gives both_signs the scale 0 ' -- "$baton" plugin check test.numbers --timeout 3
for name in low high axis rounding kind float none differs keeps turns behind affine signs inner wide says; do
    grep -q "FAILED  scheme $name$" out || fault "scheme $name is not told"
done
for name in zero below nan great beyond outside unset varies holds unknown least useless neighbour; do
    grep -q "FAILED  calibrate $name$" out || fault "calibration $name is not told"
done
unset BATON_PLUGIN_PATH
expect 0 'ok      scheme int8$' 'ok      calibrate mse$' -- "$baton" plugin check baton.quantize
