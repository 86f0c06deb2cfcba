# What -i gives settles open dims before a program is compiled, which a note says.
. "$(dirname "$0")/kit.sh"

cat > p.baton <<'END'
#[version = "baton 0.1"]
def @main<n: Dim, m: Dim>(%x: Tensor[(n, m), float32], %y: Tensor[(n), float32]) {
    nn.relu(add(%x, expand_dims(%y, axis=1)))
}
END
x='x=[[1, 2, 3], [4, 5, -60]]'
expect 0 '^output: Tensor\[(2, 3), float32\]$' '\[11, 12, 13\], \[24, 25, 0\]' \
    '^note: compiled for what -i gives: n=2, m=3; --no-specialise leaves that open$' -- \
    "$baton" run p.baton -i "$x" -i 'y=[10, 20]' --target cpu
expect 0 'n=2, m=3' '\[24, 25, 0\]' -- "$baton" run p.baton -i "$x" -i 'y=[10, 20]'
expect 0 '\[24, 25, 0\]' -- "$baton" run p.baton -i "$x" -i 'y=[10, 20]' --no-specialise
refuse note:
expect 0 'm=3' '^median' -- "$baton" bench p.baton -i x=2x3xfloat32=random:1 -i 'y=[1, 2]' --repeat 2 --warmup 1

# What --dim says counts, and the value is held against it.
expect 1 -- "$baton" run p.baton -i "$x" -i 'y=[10, 20]' --dim n=3
expect 1 -- "$baton" run p.baton -i "$x" -i 'y=[1, 2, 3]'

# By the shape in a file; of what gives no shape nothing is known.
expect 0 -- "$baton" run p.baton -i "$x" -i 'y=[10, 20]' -o saved
expect 0 'n=2, m=3' '\[21, 22, 23\], \[44, 45, ' -- "$baton" run p.baton -i x=saved/output.npy -i 'y=[10, 20]'
expect 0 'n=2, m=3' -- "$baton" run p.baton -i x=2x3xfloat32=random:1 -i y=2xfloat32=random:2

# Two `?` are two dims, of a gradient too, and get no number by name.
cat > any.baton <<'END'
#[version = "baton 0.1"]

def @f(%x: Tensor[(?, ?), float32]) -> float32 { sum(%x * %x) }
gradient @df = @f();
END
for target in reference cpu; do
    expect 0 '^output: Tensor\[(2, 3), float32\]$' '\[2, 4, 6\], \[8, 10, -120\]' -- "$baton" run any.baton --entry df -i "$x" --target $target
done

# An artifact has its numbers already.
expect 0 -- "$baton" compile p.baton --dim n=2 --dim m=3 -o p.bta
expect 0 '\[24, 25, 0\]' -- "$baton" run p.bta -i "$x" -i 'y=[10, 20]'
refuse note:

# What is wrong with a program is told, not that it takes no values.
printf '#[version = "baton 0.1"]\n\ndef @main(%%x: Tensor[(2), float32]) {\n    nosuch(%%x)\n}\n' > wrong.baton
expect 1 'no op is named "nosuch"' -- "$baton" run wrong.baton -i 'x=[1, 2]'
refuse 'not fixed'
