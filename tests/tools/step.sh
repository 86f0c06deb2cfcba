# A run that stops before bindings: interp and vm alike.
. "$(dirname "$0")/kit.sh"

cat > loop.baton <<'END1'
#[version = "baton 0.1"]
def @down(%n: int64, %s: int64) -> int64 {
    if (less(%n, 1i64)) {
        %s
    } else {
        let %m = subtract(%n, 1i64);
        let %t = add(%s, %n);
        @down(%m, %t)
    }
}
def @main(%k: int64) -> int64 {
    let %d = @down(%k, 10i64);
    let %e = multiply(%d, 2i64);
    subtract(%e, %k)
}
END1
step() { printf "$1" | "$baton" run loop.baton --passes '' --step -i k=2 $2; }

for executor in 'interp' 'vm --target reference --fuse fuse-ops{max-ops=1}'; do
    # To a line, values there, again there a call later, over the rest.
    expect 0 '^> down 7:13, depth 2: before %t$' '| *let %t = add' ' %m = 1i64$' '^> *%n = 2i64$' '^ *%s = 10i64$' '%m = 0i64$' \
        '%s = 12i64$' '%d = 13i64$' '%x: nothing is known here' '^  24i64$' -- step 'b 7\np\nb 7\np %%m\np %%s\nb 13\np %%d\np %%x\nc\n' "--executor $executor"
    # What is not computed yet is not known, and the run may be ended.
    expect 0 '%t: nothing is known here' -- step 'b 7\np t\nq\n' "--executor $executor"
    refuse '24i64' 'error'
    # Over a call: its steps are left out.
    expect 0 '^main 12:9, depth 1: before %d$' 'before %e$' -- step 'o\no\nc\n' "--executor $executor"
    refuse 'down '
    # Over the last call of a function likewise, which has no frame of that function below it; at a branch it goes on as before.
    expect 0 '^> main 13:9, depth 1: before %e$' -- step 'b 8\no\nc\n' "--executor $executor"
    refuse 'depth 2: before %m$'
    expect 0 'before %m$' -- step 'n\nn\no\no\nc\n' "--executor $executor"
    # Without a line it goes to the end; a wrong one is answered.
    expect 0 '24i64' 'n: next' -- step 'x\n' "--executor $executor"
done

# A line of another file is told with it; one that is never met, too.
cat > twice.baton <<'END1'
#[version = "baton 0.1"]


def @twice(%x: float32) -> float32 {
    let %y = add(%x, %x);
    negative(%y)
}
END1
printf '#[version = "baton 0.1"]\nimport "twice.baton"\ndef @main(%%x: float32) { exp(@twice(%%x)) }\n' > far.baton
far() { printf "$1" | "$baton" run far.baton --executor interp --passes '' --step -i x=1; }
expect 0 'twice twice.baton:6:5, depth 2: before' '%y = 2f' -- far 'b twice.baton:6\np\nc\n'
expect 0 'note: no step of the run stands in far.baton:6' -- far 'b 6\n'

for executor in interp vm; do
    expect 0 'note: the passes left no binding to stop before; --executor interp --passes .. runs the program as it is written' -- \
        sh -c "printf '#[version = \"baton 0.1\"]\ndef @main() { 2f * 3f }\n' > folds.baton && '$baton' run folds.baton --executor $executor --step < /dev/null"
done
expect 0 '^main 2:15, depth 1: before' -- sh -c "echo c | '$baton' run folds.baton --executor interp --passes '' --step"
expect 2 'give a file' -- "$baton" run - --step
expect 0 'note: executor graph made no steps of bindings; interp and vm do' -- \
    sh -c "printf '#[version = \"baton 0.1\"]\ndef @main(%%x: Tensor[(4), float32]) { abs(%%x) }\n' > abs.baton && '$baton' run abs.baton --executor graph --target reference -i x=1 --step < /dev/null"
