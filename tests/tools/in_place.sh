# A row put in its place, in a function with more results that may lie on inputs than a kernel lists: all else of it stays.
. "$(dirname "$0")/kit.sh"
type='Tensor[(35, 16), float32]'
numbers='0 1 2 3 4 5 6 7 8 9 10 11 12 13'
names= params= types= inputs=
for i in $numbers; do
    names="$names%a$i, " params="$params%a$i: $type, " types="$types$type, " inputs="$inputs -i a$i=random:$i"
done
params="$params%x: $type, %row: Tensor[(1, 16), float32], %at: Tensor[(1, 1), int64]"
{
    printf '#[version = "baton 0.1"]\n\ndef @main(%s) { @all(%s%%x, %%row, %%at) }\n\n' "$params" "$names"
    printf 'def @all(%s, primitive=1) -> (%s%s) {\n' "$params" "$types" "$type"
    before=13 results=
    for i in $numbers; do
        printf '    %%r%s = multiply(%%a%s, %%a%s);\n' $i $i $before
        before=$i results="$results%r$i, "
    done
    printf '    %%put = scatter_nd(%%x, %%at, %%row);\n    (%s%%put)\n}\n' "$results"
} > all.baton
inputs="$inputs -i x=random:20 -i row=random:21 -i at=[[3]]"
for target in reference cpu; do
    # shellcheck disable=SC2086
    expect 0 -- "$baton" run all.baton --target $target $inputs -o $target
done
for i in $numbers 14; do
    cmp -s reference/output$i.npy cpu/output$i.npy || fault "result $i differs"
done
