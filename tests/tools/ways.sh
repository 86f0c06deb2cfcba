# Ways to compute that a plugin brings to target cpu: the example of <baton/cpu.h>.
. "$(dirname "$0")/kit.sh"
ways=$(cd "$targets/../ways" && pwd)

pool() {
    printf '#[version = "baton 0.1"]\n\ndef @main(%%x: Tensor[(%s), float32]) {\n' "$2"
    printf '    %%output = nn.avg_pool2d(%%x, pool_size=[%s, %s]);\n    nn.relu(%%output)\n}\n' "$1" "$1"
}
pool 9 '1, 3, 40, 30' > large.baton
pool 2 '1, 64, 3, 3' > small.baton

expect 0 'all loops' -- "$baton" info large.baton --target cpu --why
refuse 'way of'
expect 0 -- "$baton" run large.baton --target cpu -i x=random:1 -o without

BATON_PLUGIN_PATH=$ways
export BATON_PLUGIN_PATH
expect 0 'way of cpu  *[0-9.]* ms$' 'way of example.separable  *[0-9.]* ms  taken$' -- \
    "$baton" info large.baton --target cpu --why
expect 0 'way of cpu  *[0-9.]* ms  taken$' 'way of example.separable  *[0-9.]* ms$' -- \
    "$baton" info small.baton --target cpu --why
expect 0 -- "$baton" info large.baton --target 'cpu{accuracy="exact"}' --why
refuse 'way of'

# Tuning measures both programs where their estimates come near each other; who has not the plugin uses nothing that was recorded with
# it.
pool 3 '1, 16, 20, 20' > near.baton
expect 0 -- "$baton" info near.baton --target cpu --tune records --why
expect 0 'way of cpu .* ms measured' 'way of example.separable .* ms measured' 'taken, by its record' -- \
    "$baton" info near.baton --target cpu --tune records --why
[ "$(wc -l < records)" = 2 ] || fault "not one record: $(cat records)"
expect 0 -- "$baton" run near.baton --target cpu --tune records -i x=random:1 -o tuned
expect 0 -- "$baton" run near.baton --target cpu -i x=random:1 -o near
expect 0 'equal' -- "$baton" compare tuned/output.npy near/output.npy --rtol 1e-6
cp records with
for way in cpu example.separable; do
    {
        head -1 with
        sed -n 2p with | cut -f2-4 | sed "s/\$/	$way	0	$way	0	1/" | while IFS= read -r line; do
            printf '%s\t%s\n' "$(printf %s "$line" | sha256sum | cut -d' ' -f1)" "$line"
        done
    } > chosen
    expect 0 "way of $way .*taken, by its record" -- "$baton" info near.baton --target cpu --tune chosen --why
    expect 0 -- "$baton" run near.baton --target cpu --tune chosen -i x=random:1 -o "by-$way"
    expect 0 'equal' -- "$baton" compare "by-$way/output.npy" near/output.npy --rtol 1e-6
done
cmp -s by-cpu/output.npy by-example.separable/output.npy && fault "both programs are the same"
unset BATON_PLUGIN_PATH
expect 0 -- "$baton" info near.baton --target cpu --tune records --why
refuse 'way of' 'by its record'
cmp -s records with || fault "without the plugin there is something to measure: $(cat records)"
BATON_PLUGIN_PATH=$ways
export BATON_PLUGIN_PATH
expect 0 'all agree' -- "$baton" run large.baton --target cpu --check-kernels -i x=random:1
for threads in 1 2 3; do
    expect 0 -- "$baton" run large.baton --target cpu --threads $threads -i x=random:1 -o t$threads
done
cmp -s t1/output.npy t2/output.npy && cmp -s t1/output.npy t3/output.npy || fault "the result depends on the number of threads"
cmp -s t1/output.npy without/output.npy && fault "the other order of terms shows nowhere"
expect 0 'equal' -- "$baton" compare t1/output.npy without/output.npy --rtol 1e-6
expect 0 'its tables agree with its manifest' -- "$baton" plugin check org.example.ways
expect 0 'cpu.way/1' -- "$baton" plugin why example.separable

# What is compiled needs the plugin no more.
expect 0 -- "$baton" compile large.baton -o large.bta
unset BATON_PLUGIN_PATH
expect 0 -- "$baton" run large.bta -i x=random:1 -o artifact
cmp -s artifact/output.npy t1/output.npy || fault "the artifact computes otherwise"
