# The target that <baton/target.h> begins with is whole: as a plugin of C source it is found, checked and run.
. "$(dirname "$0")/kit.sh"
mkdir simple
sed -n '/This is a whole target/,/It gets a function for each kernel/p' "$here/../../sdk/include/baton/target.h" |
    sed -n 's/^ \*     //p; s/^ \*$//p' > simple/simple.c
printf '{ "id": "simple", "version": "0.1.0", "license": "Apache-2.0", "doc": "Negates.", "sources": ["simple.c"] }\n' > simple/simple.baton.json
expect 0 -- "$baton" plugin describe simple/simple.baton.json --write
cat > negate.baton <<'END'
#[version = "baton 0.1"]
def @main(%x: Tensor[(2, 3), float32]) { exp(negative(%x)) }
END
BATON_PLUGIN_PATH=$PWD/simple
export BATON_PLUGIN_PATH
run() {
    "$baton" run negate.baton --target simple,reference --fuse 'fuse-ops{max-ops=1}' -i x='[[0, 1, 2], [3, 4, 5]]' "$@"
}
expect 0 '^2 kernels, 2 calls checked, 0 wrong; all agree exactly$' -- run --check-kernels
expect 0 '^fused_negative .* simple ' '^fused_exp .* reference ' -- \
    "$baton" info negate.baton --target simple,reference --fuse 'fuse-ops{max-ops=1}'
