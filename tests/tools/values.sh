# Values of inputs on the command line.
. "$(dirname "$0")/kit.sh"

cat > p.baton <<'END'
#[version = "baton 0.1"]

def @main<n: Dim>(%x: Tensor[(n), float32]) { nn.relu(%x) }
def @matrix(%m: Tensor[(2, 3), int8]) { %m }
def @scalar(%k: uint64) { %k }
def @flags(%f: Tensor[(3), bool]) { %f }
def @two(%a: Tensor[(2), int64], %b: Tensor[(2), float64]) { (%a, %b) }
def @open<n: Dim, m: Dim>(%m: Tensor[(n, 3, m), int32]) { %m }
END
value() { # CODE TEXT ENTRY VALUE...
    code=$1
    text=$2
    entry=$3
    shift 3
    given=""
    for word; do given="$given -i $word"; done
    # no value here holds blanks
    expect "$code" "$text" -- "$baton" run p.baton --entry "$entry" $given
}
value 0 '\[1, 2, 3, 0\]' main 'x=4xfloat32=[1,2,3,-4]'
value 0 '\[1, 2, 3, 0\]' main 'x=[1,2,3,-4]'
value 0 '\[1.5, 0\]' main '[1.5,-1e3]'
value 0 'inf, 0' main '[inf,-inf]'
value 0 '(0), float32\|Tensor\[' main '[]'
value 0 '\[\[1, 2, 3\], \[-128, 127, 0\]\]' matrix '[[1,2,3],[-128,127,0]]'
expect 0 '\[\[1, 2, 3\], \[4, 5, 6\]\]' -- "$baton" run p.baton --entry matrix -i ' [ [1, 2, 3] , [4, 5, 6] ] '
expect 0 '\[\[1, 2, 3\], \[4, 5, 6\]\]' -- "$baton" run p.baton --entry matrix -i 'm=2x3xint8=[[1, 2, 3], [4, 5, 6]]'
value 0 '\[\[7, 7, 7\], \[7, 7, 7\]\]' matrix 7
value 0 '18446744073709551615' scalar 18446744073709551615
value 0 '\[1, 0, 1\]\|\[True, False, True\]\|\[true, false, true\]' flags '[true,false,1]'
value 0 '9007199254740993' two 'a=[9007199254740993,-1]' 'b=[0.1,2]'
value 0 'Tensor\[' open 'm=[[[1],[2],[3]]]'

# Shapes and elements are checked.
value 1 'the shape of the list is 4, expected was 3' main 'x=3xfloat32=[1,2,3,4]'
value 1 'the shape of the list is 6, expected was 2x3' matrix '[1,2,3,4,5,6]'
value 1 'the shape of the list is 3x2, expected was 2x3' matrix '[[1,2],[3,4],[5,6]]'
value 1 'the shape of the list is 1x2x1, expected was ?x3x?' open '[[[1],[2]]]'
value 1 'the shape of the list is 1, expected was a single number' scalar '[1]'
value 1 'rows of one list have 3 and 2 elements' matrix '[[1,2,3],[4,5]]'
value 1 'expected a list, as beside it, found 4' matrix '[[1,2,3],4]'
value 1 'expected a number, as beside it, found ' matrix '[1,[2,3]]'
value 1 'expected a number, found x]' main '[1,x]'
value 1 'expected `,` or `]` before the end' main '[1,2'
value 1 'expected the end, found ]' main '[1,2]]'
value 1 'expected a number, found ,' main '[,1]'
value 1 'expected fewer nested lists' main '[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[['
value 1 '128 is no int8' matrix 128
value 1 '1.5 is no int8' matrix '[[1.5,2,3],[4,5,6]]'
value 1 '-1 is no uint64' scalar -1
value 1 '2 is no bool' flags '[0,1,2]'
value 1 'true is no float32' main '[true]'
value 1 'SEED is a whole number' matrix random:x
value 1 'SEED is a whole number' matrix random:-1
value 1 'SEED is a whole number of at most 64 bits' matrix random:18446744073709551616

# A size that no dim has is told as it was given, and no dim is settled by it.
for size in 9223372036854775808 18446744073709551617; do
    value 1 "input m: size 2 of 0x3x${size}xint32 is greater than 9223372036854775807" open "m=0x3x${size}xint32=1"
    value 1 "input x: size 0 of ${size}xfloat32 is greater" main "x=${size}xfloat32=random:1"
    refuse 'compiled for what -i gives'
done
value 1 'is not wholly known: write SHAPExDTYPE=3 with sizes of your own, as in m=1x3x1xint32=3$' open 3

# Truth values as Python and as programs write them.
value 0 '\[True, False, True\]' flags '[True,False,1]'
value 1 'yes' flags '[yes,False,1]'

# A name of a function is given without @; a number has its type behind it already.
expect 1 'no function is named @@two: names are given without @; the module has @main, @matrix' -- "$baton" run p.baton --entry @two
printf '#[version = "baton 0.1"]\ndef @f(%%x: float32) { %%x }\ngradient @df = @f();\n' > entries.baton
expect 1 'no function is named @nosuch: the module has @f, @df$' -- "$baton" run entries.baton --entry nosuch
printf '#[version = "baton 0.1"]\ndef @main() { 256u8 }\n' > beyond.baton
expect 1 'beyond uint8, 0..255$' -- "$baton" run beyond.baton
printf '#[version = "baton 0.1"]\ndef @main() { 3000000000 }\n' > beyond.baton
expect 1 'beyond int32, -2147483648..2147483647; write the type behind it, as in 3000000000i64$' -- "$baton" run beyond.baton
