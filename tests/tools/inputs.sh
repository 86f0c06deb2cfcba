# Inputs and outputs that are no plain tensors, and names of inputs.
. "$(dirname "$0")/kit.sh"

cat > p.baton <<'END1'
#[version = "baton 0.1"]

type List[A] { Cons(A, List[A]), Nil }
def @main(%p: (Tensor[(2), float32], (Tensor[(), int32], Tensor[(2), float32])), %y: Tensor[(2), float32]) {
    %q = %p.1;
    (add(%p.0, %y), (%q.0, multiply(%q.1, %y)))
}
def @open<n: Dim>(%p: (Tensor[(n, 3), float32], Tensor[(), bool])) { %p.0 }
def @lists(%l: List[Tensor[(), float32]], %y: Tensor[(), float32]) { %l }
def @one(%y: Tensor[(), float32]) { (%y, Cons(%y, Nil)) }
def @two(%a: Tensor[(), int32], %b: Tensor[(), int32]) { add(%a, %b) }
def @scores(%x: Tensor[(1, 12, 1, 1), float32]) { %x }
def @none(%x: Tensor[(0, 3), float32]) { %x }
def @many<n: Dim, m: Dim>(%x: Tensor[(n, m), float32]) { nn.relu(%x) }
END1

# The line to copy works.
expect 0 ' -i p.0=random:1 -i p.1.0=random:2 -i p.1.1=random:3 -i y=random:4$' -- "$baton" run p.baton
sh -c "\"$baton\" $(sed -n 's/^  baton //p' out)" > copied 2>&1 || fault "the line to copy fails"
expect 0 '^  baton run p.baton --entry open -i p.0=1x3xfloat32=random:1 -i p.1=random:2' -- "$baton" run p.baton --entry open
expect 0 'l cannot be given on the command line: it is of a data type' 'by --entry' -- "$baton" run p.baton --entry lists
refuse random
expect 1 'input l, List.*, cannot be given on the command line: it is of a data type' -- "$baton" run p.baton --entry lists -i y=1

# Fields of tuples.
expect 0 '\[11, 22\]' '(7[a-z0-9]*, \[3, 8\])' -- "$baton" run p.baton -i 'p.0=[1, 2]' -i p.1.0=7 -i 'p.1.1=[0.3, 0.4]' -i 'y=[10, 20]'
expect 1 'input p.1.0 is not set; it takes int32' -- "$baton" run p.baton -i 'p.0=[1, 2]' -i 'p.1.1=[3, 4]' -i 'y=[10, 20]'
expect 2 'p.1 is a tuple, .*: give each field, as in -i p.1.0=' -- "$baton" run p.baton -i p.1=3
expect 1 'input y is not set' -- "$baton" run p.baton -i 'p.0=[1, 2]' -i p.1.0=7 -i 'p.1.1=[3, 4]'

# A file for each tensor; what is none is named.
expect 0 -- "$baton" run p.baton -i 'p.0=[1, 2]' -i p.1.0=7 -i 'p.1.1=[3, 4]' -i 'y=[10, 20]' -o saved
expect 0 '^output0.npy$' '^output1.0.npy$' '^output1.1.npy$' -- ls saved
expect 0 'warning: output1 is not saved: it is a value of a data type' -- "$baton" run p.baton --entry one -i 1 -o saved

# Nothing is bent, and messages name the input.
expect 1 'input b: 2.5 is no int32' -- "$baton" run p.baton --entry two -i a=1 -i b=2.5
expect 1 'input b: 99999999999 is no int32' -- "$baton" run p.baton --entry two -i a=1 -i b=99999999999
expect 2 'i foo=1 names no input of the program; there are a, b; see' -- "$baton" run p.baton --entry two -i foo=1
expect 2 'i 1 names no input of the program; there are a, b: write NAME=VALUE; see' -- "$baton" run p.baton --entry two -i 1
expect 2 'a is given twice' -- "$baton" run p.baton --entry two -i a=1 -i a=2
expect 1 'input a: unknown element type float23; did you mean float16 or float32 or float64?' -- \
    "$baton" run p.baton --entry two -i a=2x3xfloat23=1 -i b=1
expect 1 'input a: unknown element type imt32; did you mean int32?' -- "$baton" run p.baton --entry two -i a=2x3ximt32=1 -i b=1
expect 1 'absent.npy: error: input a: ' -- "$baton" run p.baton --entry two -i a=absent.npy -i b=1

# Outputs have the shape that they got; scores stand among axes of one.
expect 0 'top 5' -- "$baton" run p.baton --entry scores -i random:1
expect 0 'Tensor\[(0, 3), float32\]' -- "$baton" run p.baton --entry none -i random:1
expect 0 ': Tensor\[(2, 5), float32\]' -- "$baton" run p.baton --entry many -i x=2x5xfloat32=random:1

# What is compared is named.
mkdir folder
expect 0 -- "$baton" run p.baton --entry many -i x=2x5xfloat32=1 -o m
expect 0 -- "$baton" run p.baton --entry one -i 1 -o n
expect 1 'folder is a folder, absent does not exist' -- "$baton" compare folder absent
expect 1 'folder is a folder, p.baton is none' -- "$baton" compare p.baton folder
expect 1 'm/.*npy and n/.*npy: compare: rank 2 meets rank 0' -- "$baton" compare m/*.npy n/*.npy

# Tolerances: by type, and by the largest element; what differs is told.
cat > save.baton <<'END'
#[version = "baton 0.1"]
def @main(%a: Tensor[(2), float32], %b: Tensor[(2), float64], %c: Tensor[(2), int64], %d: Tensor[(2), float16]) {
    (%a, %b, %c, %d)
}
END
save() { expect 0 -- "$baton" run save.baton -o "$1" -i "a=$2" -i "b=$3" -i "c=$4" -i "d=$5"; }
save right '[100, 0]' '[100, 0]' '[100, 0]' '[100, 0]'
save near '[100, 0.0009]' '[100, 9e-11]' '[100, 0]' '[100, 0.3]' # nothing beside the largest
save far '[100, 0.0011]' '[100, 2e-10]' '[100, 1]' '[100, 0.5]'
a=$(ls right | sed -n 1p) b=$(ls right | sed -n 2p) c=$(ls right | sed -n 3p) d=$(ls right | sed -n 4p)
expect 0 "^$a: equal within tolerance" "^$b: equal" "^$c: equal" "^$d: equal" -- "$baton" compare near right
expect 1 "^$a: different" "^$b: different" "^$c: different" "^$d: different" '  1 of 2 elements differ, first at \[1\]: 1 and 0' \
    -- "$baton" compare far right
expect 1 "^$a: different" "^$b: different" "^$c: equal" -- "$baton" compare near right --rtol 0
cp -r near fewer && rm "fewer/$c"
expect 1 '^error: fewer holds 3 .npy files, right holds 4: all that both have agree$' -- "$baton" compare fewer right
expect 1 "fewer/$c: error: cannot be opened" -- "$baton" compare right fewer
expect 0 -- "$baton" compare "near/$a" "right/$a" --rtol 0 --atol 0.001
expect 1 -- "$baton" compare "near/$a" "right/$a" --atol 1e-7

# A word that is neither a value nor a file.
expect 1 'image: rand:1 is neither a value (random:SEED, a number, a list) nor a file; did you mean random?' -- \
    "$baton" run "$here/../../sdk/examples/digits/digits.baton" -i image=rand:1
expect 1 'no.npy.*cannot be opened' -- "$baton" run "$here/../../sdk/examples/digits/digits.baton" -i image=no.npy
: > empty
expect 1 'empty:1:1: error: the text is empty' -- "$baton" run empty
printf '\0\0PK\003"\\\377 no more' > other.bin
expect 1 'other.bin: no importer knows this format, which is no text and starts with "\\x00\\x00PK\\x03\\x22\\x5c\\xff";' -- \
    "$baton" info other.bin
head -c 300 "$here/../fault/programs/tiny.onnx" > cut.onnx
expect 1 'cut.onnx: the file is cut off after 300 bytes: what begins at byte 2 is longer' -- "$baton" info cut.onnx

# Random integers of a small type are numbers that it has, none below 0.
printf '#[version = "baton 0.1"]\n\ndef @main(%%x: Tensor[(40), int4], %%y: Tensor[(40), int2]) { (%%x, %%y) }\n' > small.baton
expect 0 -- "$baton" run small.baton -i x=random:3 -i y=random:3
refuse '-[1-9]'
