# Names of outputs: settled before any pass, the same on the screen, in JSON, in files and in info; and no control character of a
# model reaches a terminal.
. "$(dirname "$0")/kit.sh"

cat > p.baton <<'END'
#[version = "baton 0.1"]
def @main(%x: Tensor[(2), float32]) {
    %y = exp(%x);
    %"a/b" = exp(%x);
    (%y, %"a/b", %y, tanh(%x))
}
END
for options in "" "--passes=" "-O 4" "--target cpu" "--target cpu --passes="; do
    rm -rf saved
    expect 0 '^y: ' '^a/b: ' '^y_1: ' '^output3: ' -- "$baton" run p.baton -i 'x=[1, 2]' $options -o saved
    for name in y a_b y_1 output3; do
        [ -f "saved/$name.npy" ] || fault "saved/$name.npy is missing: $options"
    done
    expect 0 '"name": "y"' '"name": "a/b"' '"name": "y_1"' '"name": "output3"' -- "$baton" run p.baton -i 'x=[1, 2]' $options --json
done
# The folder is made with those that it is in, before the program runs.
expect 0 -- "$baton" run p.baton -i 'x=[1, 2]' -o new/folder/saved/
[ -f new/folder/saved/y.npy ] || fault "new/folder/saved/y.npy is missing"
expect 1 '^p.baton/saved: error: the folder cannot be made: Not a directory' -- "$baton" run p.baton -i 'x=[1, 2]' -o p.baton/saved
refuse '^y: '
expect 1 '^p.baton: error: the folder cannot be made: Not a directory' -- "$baton" run p.baton -i 'x=[1, 2]' -o p.baton
expect 0 '^output   y ' '^output   a/b ' '^output   y_1 ' '^output   output3 ' -- "$baton" info p.baton
expect 0 -- "$baton" compile p.baton -o p.bta
expect 0 '^y: ' '^a/b: ' '^y_1: ' '^output3: ' -- "$baton" run p.bta -i 'x=[1, 2]'
expect 0 '^output   y_1 ' -- "$baton" info p.bta

printf '#[version = "baton 0.1"]\ndef @main(%%"\\x1b[2Jx": Tensor[(2), float32]) { %%"\\xc2\\x9b2J" = exp(%%"\\x1b[2Jx"); %%"\\xc2\\x9b2J" }\n' > escape.baton
for command in "run escape.baton" "run escape.baton -i [1,2]" "info escape.baton" "run escape.baton -i 1 --target nosuch" \
    "bench escape.baton --repeat 1 --profile" "run escape.baton -i [1,2] --no-specialise --target cpu --profile"; do
    "$baton" $command > out 2>&1
    ! grep -q "$(printf '\033')" out || fault "an escape character comes through: $command"
    ! grep -q "$(printf '\302\233')" out || fault "a C1 control character comes through: $command"
done

# Nor does one of the command line, which messages quote; nor a mark that turns the direction of text.
escape=$(printf '\033[31m')
for turn in "$escape" "$(printf '\302\233')" "$(printf '\342\200\256')" "$(printf '\342\201\246')" "$(printf '\330\234')"; do
    for command in "run p.baton -i ${turn}y=1" "run p.baton --$turn" "run p.baton --dim ${turn}y=1" "${turn}run" "run p.baton $turn" \
        "run ${turn}.baton" "info ${turn}.baton --json" "opt p.baton --passes $turn" "plugin show $turn" "list $turn" "run p.baton --target $turn"; do
        "$baton" $command > out 2>&1
        ! grep -q -a -F "$turn" out || fault "it comes through: $command"
    done
done

# Numbers in JSON: the greatest integers as they are, null for what JSON has no number for; a text is none, whatever stands in it.
cat > numbers.baton <<'END'
#[version = "baton 0.1"]
def @main(%u: Tensor[(3), uint64], %f: Tensor[(4), float32]) {
    (%u, cast(%u, dtype="int64"), %f, cast(%f, dtype="float16"), cast(%f, dtype="bool"))
}
END
expect 0 '"data": \[1, 9223372036854775808, 18446744073709551615\]' '"data": \[1, -9223372036854775808, -1\]' \
    '"data": \[null, null, -0.0, 0.5\]}, .*"data": \[null, null, -0.0, 0.5\]' '"data": \[true, true, false, true\]' \
    -- "$baton" run numbers.baton -i u=[1,9223372036854775808,18446744073709551615] -i f=[nan,-inf,-0.0,0.5] --json

# The best of a vector, and the ends of many numbers, have as many digits as their type does.
cat > short.baton <<'END'
#[version = "baton 0.1"]
def @main(%x: Tensor[(100), float32]) {
    %h = cast(%x, dtype="float16");
    (%h, cast(%x, dtype="float8_e4m3fn"), reshape(cast(%x, dtype="bfloat16"), newshape=[10, 10]), %x)
}
END
expect 0 '^ *2  *0.971$' '^ *49  *0.94$' '^  min 0.000114  max 0.996  mean ' '^ *2  *0.971[0-9]*$' -- "$baton" run short.baton -i x=random:1

# Files have no names for float8 and packed types: --dtype says of what type the bits are, and a note that nobody did.
cat > bits.baton <<'END'
#[version = "baton 0.1"]
def @main(%x: Tensor[(3), float32]) {
    (cast(%x, dtype="float8_e4m3fn"), cast(%x, dtype="int4"), exp(%x))
}
END
expect 0 -- "$baton" run bits.baton -i 'x=[0.1, 3.3, -2]' -o bits
expect 0 -- "$baton" run bits.baton -i 'x=[0.1, 3.4, -3]' -o other
expect 1 '^  3 of 3 elements differ\|^  2 of 3 elements differ, first at .1.: 69 and 70$' \
    '^  note: the files hold bytes and not of what type they are, and bytes were compared as integers; --dtype NAME, ' -- \
    "$baton" compare bits/output0.npy other/output0.npy
expect 1 '^  1 of 3 elements differ, first at .2.: -2 and -3$' -- "$baton" compare bits/output0.npy other/output0.npy --dtype float8_e4m3fn --rtol 0.1
refuse note:
expect 1 'elements differ, first at .2.: -2 and -3$' -- "$baton" compare bits/output1.npy other/output1.npy --dtype int4
expect 1 '^output0.npy: different' '^output2.npy: different' -- "$baton" compare bits other --dtype float8_e4m3fn --rtol 0
expect 1 'bits/output0.npy: --dtype: its elements are not the bits of int32$' -- "$baton" compare bits/output0.npy other/output0.npy --dtype int32
expect 2 '\--dtype flat is no element type' -- "$baton" compare bits/output0.npy other/output0.npy --dtype flat

# What is read stays: inputs, and the program that a folder of C would have a file of the same name as.
expect 0 -- "$baton" run p.baton -i 'x=[1, 2]' -o again
expect 2 'again/y.npy is read, and an output would replace it: give another name' -- "$baton" run p.baton -i x=again/y.npy -o again
refuse '^y: '
mkdir own && cp short.baton own/own.c
expect 1 'own/own.c is read, and the program would replace it: write to another folder' -- "$baton" compile own/own.c --executor aot -o own
cmp short.baton own/own.c || fault "the program was replaced"
expect 0 -- "$baton" compile short.baton --executor aot -o short
expect 0 -- "$baton" compile short.baton --executor aot -o short
