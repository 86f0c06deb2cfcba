# baton bench: what it says, of whom, with how many threads. Times are never looked at.
. "$(dirname "$0")/../tools/kit.sh"
BATON_PLUGIN_PATH=$wrong # here the folder with the target `plain`
export BATON_PLUGIN_PATH

cat > p.baton <<'END1'
#[version = "baton 0.1"]
def @main(%x: Tensor[(10, 10), float32], %p: (Tensor[(10, 10), float32], Tensor[(10, 10), float32])) {
  negative(add(%x, %p.0))
}
END1
cat > refused.baton <<'END1'
#[version = "baton 0.1"]
def @main(%x: Tensor[(3), float32]) { exp(%x) }
END1
bench() { # CODE [TEXT]... -- OPTION...
    code=$1
    shift
    texts=""
    while [ "$1" != -- ]; do
        texts="$texts$1
"
        shift
    done
    shift
    printf '%s' "$texts" > wanted
    expect "$code" -- "$baton" bench p.baton "$@"
    while IFS= read -r text; do
        grep -q -e "$text" out || fault "expected \"$text\" of: bench $*"
    done < wanted
}

bench 0 '^executor graph, target plain$' '^median  [0-9.]* ms$' '^spread  .* (10 % to 90 %), least .*, most ' \
    '^runs    7, and [0-9]* left out\|^runs    [56], and [12] left out' '^rate    .* GFLOP/s, 200 multiply-adds a run$' \
    '^peak    1000000.00 GFLOP/s of the machine, 0.0 % of it used$' -- --target plain --repeat 7 --warmup 1
refuse 'counted as the model has them'
bench 0 '^        (multiply-adds are counted as the model has them: some ways to compute do' -- --target 'plain{slow=1}' --repeat 5
bench 0 '^executor graph, target plain{threads=3}$' '^peak    3000000.00 GFLOP/s' -- --target plain --threads 3 --repeat 5
bench 0 'target reference, plain{threads=2}$' -- --target 'reference, plain{}' --threads 2 --repeat 5
bench 0 '^executor graph, target cpu$' '^peak .* % of it used$' -- --repeat 5
bench 2 'seed takes a number from 1 to [0-9]*, not 0' -- --target plain --seed 0
bench 2 'threads needs a target that has threads: give --target cpu' -- --target reference --threads 2
bench 2 'threads 2 and threads=1 of --target plain{threads=1} both say how many threads' -- --target 'plain{threads=1}' --threads 2
bench 1 'no target is named "nowhere"' -- --target nowhere
bench 0 '^executor interp$' '^rate    ' -- --executor interp --repeat 5
refuse '^peak'
bench 0 '"executor": "graph", "targets": \["plain{threads=2}"\], "median_ms": [0-9.e-]*, "min_ms": ' '"warmup": 0, "seed": 7, "threads": 2' \
    '"multiply_adds": 200, "gflops": ' '"peak_gflops": 2000000.0, "peak_share": ' -- --target plain --threads 2 --warmup 0 --repeat 5 --seed 7 --json
bench 0 '^median' -- --target plain --repeat 5 -i x=3
bench 1 'of shape\|shape\|dim' -- --target plain --repeat 5 -i 'x=[1, 2]'
expect 1 'plain.*fused_exp.*negative, abs and add' -- "$baton" bench refused.baton --target plain
bench 2 'repeat takes a number from 1 to [0-9]*, not 0; see baton bench --help' -- --repeat 0
