# Sums of int16, whole or in parts, are those of int32: convolutions of all kinds, by what quant-accumulate makes of them.
. "$(dirname "$0")/kit.sh"

weights() { # N: numbers of int8, large and small
    awk -v n="$1" 'BEGIN { s = 7; for (i = 0; i < n; i++) { s = (s * 1103515245 + 12345) % 2147483648; printf "%s%d", i ? ", " : "", int(s / 65536) % 255 - 127 } }'
}
ncut=0
while IFS='|' read -r data dims n zero attrs; do
    printf '#[version = "baton 0.1"]\ndef @main(%%x: Tensor[(%s), int8]) {\n    %s, const[(%s), int8]{%s}, %s, 0, 1f, 1f%s)\n}\n' \
        "$data" "$(case $dims in *,*,*) echo 'qnn.conv2d(%x' ;; *) echo 'qnn.dense(%x' ;; esac)" "$dims" "$(weights "$n")" "$zero" "$attrs" > wide.baton
    expect 0 -- "$baton" opt wide.baton -p 'quant-accumulate{scheme="int8{accumulator=\"int16\"}", max-parts=4096}' -o narrow.baton
    grep -q 'int16' narrow.baton || fault "nothing is summed in int16: $data, $dims"
    grep -q 'add(' narrow.baton && ncut=$((ncut + 1))
    for executor in interp graph; do
        expect 0 -- "$baton" run wide.baton -i x=random:3 -o wide --executor $executor
        expect 0 -- "$baton" run narrow.baton -i x=random:3 -o narrow --executor $executor
        expect 0 'max abs 0 ' -- "$baton" compare narrow wide
    done
done << END
2, 3, 9, 8|4, 3, 3, 3|108|0|
2, 3, 9, 8|4, 3, 3, 3|108|-128|, padding=[1, 2]
1, 2, 11, 12|3, 2, 3, 4|72|5|, padding=[3, 1, 0, 2], strides=[2, 3], dilation=[2, 1]
1, 4, 7, 7|4, 1, 3, 3|36|0|, groups=4, padding=[1]
1, 6, 5, 5|4, 3, 2, 2|48|0|, groups=2
1, 9, 9, 3|3, 3, 3, 2|54|3|, data_layout="NHWC", kernel_layout="HWIO", padding=[1]
3, 40|5, 40|200|17|
END
[ "$ncut" -ge 6 ] || fault "only $ncut of 7 are cut"
