# What a long program takes grows with its length alone: 25,000 calls in 700 MB of addresses.
. "$(dirname "$0")/kit.sh"

within() { sh -c "ulimit -v 700000 && $1"; }
printf '#[version = "baton 0.1"]\ndef @main(%%x: float32) { %%x + %%x }\n' > short.baton
within "'$baton' run short.baton -i x=1" > out 2>&1 || exit 0 # sanitizers need more than that by themselves
{
    printf '#[version = "baton 0.1"]\ndef @main(%%x: float32) {\n'
    i=0
    while [ $i -lt 2500 ]; do
        printf ' %%x + %%x + %%x + %%x + %%x + %%x + %%x + %%x + %%x + %%x +\n'
        i=$((i + 1))
    done
    printf ' %%x }\n'
} > long.baton
for how in '--executor vm' '--executor graph' ''; do
    expect 0 '25001f' -- within "'$baton' run long.baton -i x=1 $how"
done
