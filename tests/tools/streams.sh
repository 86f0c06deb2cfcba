# Standard streams that are full, closed or left, and files that cannot be written: an exit code of 1, and nothing half written.
. "$(dirname "$0")/kit.sh"
[ -c /dev/full ] || exit 0

printf '#[version = "baton 0.1"]\ndef @main(%%x: Tensor[(3), float32]) { nn.relu(%%x) }\n' > p.baton
through() { sh -c "$1"; }
for words in --help --version 'list ops' 'plugin list' 'opt p.baton' 'run p.baton -i 1' 'run p.baton -i 1 --json' 'info p.baton' \
    'list --help' 'plugin why nn.relu' 'pipeline resolve default'; do
    expect 1 'standard output cannot be written: No space left' -- through "'$baton' $words > /dev/full"
    expect 1 'standard output cannot be written' -- through "'$baton' $words >&-"
    # A reader that has enough: no message.
    expect 0 '^rc 1$' -- through "{ sleep 0.1; '$baton' $words; echo rc \$? > rc; } | true; cat rc"
    refuse 'cannot be written'
done
# A model that comes through a pipe is read once, whatever is tried with it.
printf '#[version = "baton 0.1"]\ndef @main(%%x: Tensor[(3), float32]) { nn.relux(%%x) }\n' > wrong.baton
expect 1 'no op is named "nn.relux"' -- through "'$baton' run - -i 1 < wrong.baton"
printf '#[version = "baton 0.1"]\ndef @main(%%x, %%y) { add(%%x, %%y) }\n' > untyped.baton
expect 0 '^  2$' -- through "'$baton' run - -i x=int32=1 -i y=int32=1 --no-specialise < untyped.baton"
# More than a pipe holds, to one that reads a line.
expect 0 '^rc [01]$' -- through "{ '$baton' list ops --json; echo rc \$? > rc; } | head -1 > /dev/null; cat rc"
refuse 'cannot be written' 'Broken'

# With all streams closed, files do not get in their place.
cp p.baton kept.baton
through "'$baton' opt p.baton -o out.baton <&- >&- 2>&-"
[ $? = 0 ] || fault "a run without streams that writes to a file only"
expect 0 'nn.relu' -- cat out.baton
through "'$baton' opt p.baton <&- >&- 2>&-" && fault "a run whose output nobody gets"
cmp -s p.baton kept.baton || fault "the program was written to"
expect 1 -- through "'$baton' opt - <&-"

# What cannot be written is left as it was.
expect 1 'no/such/folder/x.baton' -- "$baton" opt p.baton -o no/such/folder/x.baton
expect 1 '/dev/full' 'No space left' -- "$baton" opt p.baton -o /dev/full
[ -c /dev/full ] || fault "/dev/full was replaced"
"$baton" opt p.baton -o good.baton && cp good.baton kept.baton
printf '#[version = "baton 0.1"]\ndef @main(%%x: Tensor[(3), float32]) { nn.relux(%%x) }\n' > wrong.baton
expect 1 -- "$baton" opt wrong.baton -o good.baton
cmp -s good.baton kept.baton || fault "a failed run changed its output file"
expect 1 -- "$baton" run wrong.baton -i 1 -o folder
[ ! -e folder ] || fault "a failed run left a folder"
# A limit on the size of files stands for a full disk.
dd if=/dev/zero of=big.raw bs=1024 count=64 2> /dev/null
printf '#[version = "baton 0.1"]\ndef @main(%%x: Tensor[(65536), float32]) { nn.relu(%%x) }\n' > big.baton
expect 1 'cannot be written' -- through "ulimit -f 16; trap '' XFSZ; '$baton' run big.baton -i 1 -o folder"
[ -z "$(ls folder)" ] || fault "a file that was not finished is there: $(ls folder)"

# What takes long is told on a terminal, on one line that goes; elsewhere it is not.
terminal() { # COMMAND: what a terminal gets
    TERM=xterm script -qec "$1" /dev/null < /dev/null > terminal 2>&1 || fault "exit code $? on a terminal: $1"
}
if script -qec true /dev/null < /dev/null > /dev/null 2>&1; then # not without /dev/pts
    cp "$here/../../sdk/examples/digits/"digits.* . # by a short path: lines are cut to the terminal's width
    digits=digits.baton
    cleared=$(printf '\r\033\\[K')
    terminal "$baton compile $digits -o d.bta --target reference"
    cp terminal out
    for what in "reading digits.baton" "pass fuse-ops" "compiling [0-9]* kernels for target reference"; do
        grep -q "$cleared$what$cleared" out || fault "a terminal is not told: $what"
    done
    grep -q "$cleared""d.bta: for target reference" out || fault "what was told does not go"
    terminal "$baton compile $digits -o d.bta --target reference 2> errors"
    cat terminal errors > out
    refuse 'reading' 'pass '
    # Large constants are for files, pipes and who asks.
    for verb in opt import; do
        terminal "$baton $verb $digits"
        cp terminal out
        grep -q 'const\[(10, 256), float32\]{data "w4"}' out || fault "$verb does not print the program on a terminal"
        grep -q 'note: 4 large constants are not shown on a terminal: -o FILE writes them beside it, -o - prints all' out ||
            fault "$verb does not say what it leaves out"
        refuse '#\[data\]'
    done
    terminal "$baton opt $digits -o -"
    cp terminal out
    grep -q '#\[data\]' out || fault "opt -o - leaves constants out"
    terminal "$baton opt $digits > all 2> errors"
    cat all errors > out
    grep -q '#\[data\]' out || fault "a file gets no constants"
    refuse 'note:'
    terminal "NO_COLOR=1 TERM=dumb $baton compile $digits -o d.bta --target reference"
    cp terminal out
    refuse 'reading' 'pass '
fi

# A stream without an end stops at what its format may have; one of no known format at once.
for words in 'run /dev/zero -i 1' 'opt /dev/zero' 'info /dev/zero' 'pipeline check /dev/zero' 'filecheck /dev/zero' \
    'run p.baton -i x=/dev/zero' 'run p.baton -i x=/dev/urandom' 'opt /dev/urandom' 'run - -i 1 < /dev/zero' \
    'compare /dev/zero /dev/zero'; do
    expect 1 'error' -- through "ulimit -v 4000000; '$baton' $words"
    refuse 'no memory'
done
expect 1 'exceeds the limit of 268435456 bytes' -- through "ulimit -v 4000000; yes '#' | '$baton' opt -"
expect 0 -- "$baton" run p.baton -i x=3xfloat32=1 -o saved
name=$(ls saved)
expect 1 'exceeds the limit of 140 bytes' -- through "cat 'saved/$name' /dev/zero | '$baton' run p.baton -i x=/dev/stdin"
expect 0 -- through "cat 'saved/$name' | '$baton' run p.baton -i x=/dev/stdin"

# What a writer left that was killed is removed by the next one; what a living one has is not.
touch .good.baton.1-0.tmp .good.baton.99999-3.tmp .good.baton.x-0.tmp .other.1-0.tmp
"$baton" opt p.baton -o good.baton || fault "a leftover is in the way"
for name in .good.baton.1-0.tmp .good.baton.99999-3.tmp; do
    [ ! -e $name ] || fault "$name stays"
done
[ -e .good.baton.x-0.tmp ] && [ -e .other.1-0.tmp ] || fault "a file of somebody else was removed"
if command -v flock > /dev/null; then
    touch .good.baton.2-0.tmp
    flock .good.baton.2-0.tmp "$baton" opt p.baton -o good.baton
    [ -e .good.baton.2-0.tmp ] || fault "the file of a living writer was removed"
    rm .good.baton.2-0.tmp
fi
# Writers that are killed at any moment.
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    "$baton" compile big.baton -o killed.bta > /dev/null 2>&1 &
    sleep "0.0$i"
    kill -9 $! 2> /dev/null
    wait $! 2> /dev/null
done
expect 0 -- "$baton" compile big.baton -o killed.bta
[ -z "$(ls -A | grep '^.killed')" ] || fault "temporary files stay: $(ls -A | grep '^.killed')"
