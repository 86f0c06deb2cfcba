# Compiled programs: baton compile, run and info, and what each says when something is in the way.
. "$(dirname "$0")/kit.sh"
compile() { # MODEL OPTION... for target reference, whose code is the same on any machine
    "$baton" compile "$@" --target reference
}
digits=$here/../../sdk/examples/digits/digits.baton

# What runs is what was compiled.
expect 0 '^d.bta: for target reference: [0-9]* kernels, ' -- compile "$digits" -o d.bta
expect 0 '^scores: ' -- "$baton" run "$digits" --executor graph --target reference -i image=random:1 -o model
cp out expected
expect 0 '^scores: ' -- "$baton" run d.bta -i image=random:1 -o artifact
cmp -s out expected || fault "the artifact and the model print different results"
cmp -s model/scores.npy artifact/scores.npy || fault "the artifact and the model give different results"
expect 0 '^  image  Tensor' 'baton run d.bta -i image=random:1$' -- "$baton" run d.bta
expect 0 '"outputs"' -- "$baton" run d.bta -i image=random:1 --json
mkdir elsewhere && mv d.bta elsewhere/e && cp elsewhere/e d.bta
expect 0 '^scores: ' -- "$baton" run elsewhere/e -i image=random:1 # any name will do, and it needs no other file

# The same model gives the same bytes.
expect 0 -- compile "$digits" -o again.bta
cmp -s d.bta again.bta || fault "compiled twice, the bytes differ"
expect 0 -- compile "$digits" -o none.bta --passes ''
! cmp -s d.bta none.bta || fault "compiled by another pipeline, the bytes are the same"

# What it is made of.
expect 0 '^compiled for     reference$' '^entry            @main$' '^input    image  *Tensor' '^kernels          [0-9]*, called' \
    '^constants        4, 25.1 k bytes; 25.1 k before they were packed$' '^memory           ' '^program  *[0-9]' '^constants  *[0-9]' '^multiply-adds    140 k$' \
    '^FUNCTION  *CALLS  TARGET  *KERNELS  MULTIPLY-ADDS  *BYTES  WAY$' '^fused_nn_dense_add  *1  reference  *1  .* k  .* k$' \
    '^baton [0-9]' '^plugin baton.ops.nn [0-9]' '^pipeline [0-9a-f]\{16\}$' -- "$baton" info d.bta
refuse 'which needs' # reference asks nothing of a machine
pipeline=$(sed -n 's/^pipeline //p' out)
expect 0 "digest $pipeline" -- "$baton" pipeline resolve default --target reference --digest
expect 0 '"targets": \[{"target": "reference"' '"kernels": \[{"name": "fused' '"functions": \[{"function": "fused' '"multiply_adds": 140' '"crc32c": [0-9]' '"provenance": \["baton ' -- "$baton" info d.bta --json
expect 0 '"constant_bytes": 25064, "unpacked_bytes": 25064' -- "$baton" info d.bta --json
expect 0 -- "$baton" info none.bta
refuse '^pipeline' # there was none

# What a run costs is known without the model.
work() { sed -n 's/.*"multiply_adds": \([0-9]*\), "gflops".*/\1/p' out; }
expect 0 '"gflops": ' -- "$baton" bench "$digits" --target reference --warmup 0 --repeat 1 --json
model=$(work)
expect 0 '"gflops": ' -- "$baton" bench d.bta --warmup 0 --repeat 1 --json
[ -n "$model" ] && [ "$(work)" = "$model" ] || fault "the artifact takes $(work) multiply-adds, the model $model"
rows() { sed 's/{"name": /\n&/g' out | sed -n 's/"ms": [^,]*, \(.*\), "gflops".*\("bytes": [0-9]*\).*/\1 \2/p' | sort; }
expect 0 '^profile: ' 'fused_' -- "$baton" run d.bta -i image=random:1 --profile
expect 0 '"profile": ' -- "$baton" run "$digits" --target reference -i image=random:1 --profile --json
rows > expected
expect 0 '"profile": ' -- "$baton" run d.bta -i image=random:1 --profile --json
rows | cmp -s - expected && grep -q . expected || fault "the artifact and the model have different profiles"

# What is settled is settled.
for option in '--target=cpu' '--target=reference, reference{}' '--passes=dead-code' '--pipeline=default' '--opt-level=1' '--dim=n=1' '--fix=image=1'; do
    expect 1 'd.bta is compiled, for target reference: to change its .* takes the model it was compiled from' -- "$baton" run d.bta "$option"
done
# ... and of a target's options those that only compiling heeds; what they were compiled with may be said again.
expect 0 -- "$baton" compile "$digits" --target 'cpu{accuracy="exact"}' -o exact.bta
for option in 'accuracy="default"' 'weights="small"' 'engine="bytecode"' 'compiler="x"' 'threads=1, accuracy="fast"'; do
    expect 1 'exact.bta is compiled, for target cpu{accuracy="exact"}: to change its [a-z]* takes the model it was compiled from' -- \
        "$baton" run exact.bta --target "cpu{$option}" -i image=random:1
done
for option in '' '{}' '{accuracy="exact"}' '{ weights = "fast" , threads=1}' '{denormals="keep"}'; do
    expect 0 '^scores: ' -- "$baton" run exact.bta --target "cpu$option" -i image=random:1
done
expect 0 '^scores: ' -- "$baton" run exact.bta --threads 1 -i image=random:1
expect 2 'threads: d.bta is compiled for no target that has any' -- "$baton" run d.bta --threads 3
expect 1 'd.bta has no function @other: it is @main' -- "$baton" run d.bta --entry other
expect 0 -- "$baton" run d.bta --entry main
expect 1 'executor interp runs programs as they are written, graph and vm run compiled ones' -- "$baton" run d.bta --executor interp
expect 2 'dim is for models: d.bta is compiled' -- "$baton" info d.bta --dim n=1
expect 2 'why is for models: d.bta is compiled' -- "$baton" info d.bta --why
expect 2 'check-kernels is for models: d.bta is compiled' -- "$baton" run d.bta --check-kernels -i image=random:1
expect 2 'check-kernels is of programs that are compiled: give --target cpu' -- "$baton" run "$digits" --check-kernels -i image=random:1
expect 2 'target is for models: d.bta is compiled' -- "$baton" info d.bta --target reference
expect 0 '^median ' -- "$baton" bench d.bta --warmup 0 --repeat 2
for verb in opt import; do
    expect 1 'd.bta is an artifact, a compiled program' -- "$baton" "$verb" d.bta
done
expect 1 'd.bta is an artifact, a compiled program' -- compile d.bta -o e.bta
expect 1 'is an artifact, a compiled program' -- sh -c "cat d.bta | $baton run -"

# Targets that compute nothing of it are not asked for; of one that is not there its plugin is named.
cat > small.baton <<'END'
#[version = "baton 0.1"]

def @main(%x: Tensor[(3), float32]) { tanh(%x) }
END
expect 0 -- env BATON_PLUGIN_PATH="$targets" "$baton" compile small.baton --target claim,reference -o unused.bta
expect 0 '^compiled for     reference$' -- "$baton" info unused.bta
expect 0 '^output' -- "$baton" run unused.bta -i x=random:1
expect 0 -- env BATON_PLUGIN_PATH="$targets" "$baton" compile small.baton --target claim.any,reference -o used.bta
expect 1 'no target is named "claim.any"' 'used.bta has code of target claim.any, build [0-9a-f]* of test.targets: ' -- \
    "$baton" run used.bta -i x=random:1

# Branches, calls and data: for the executor that has them, which runs the file unless another is named.
cat > loop.baton <<'END'
#[version = "baton 0.1"]

def @sum(%n: int32) -> int32 { if (less(%n, 1)) { 0 } else { add(%n, @sum(subtract(%n, 1))) } }
def @main(%n: int32) { @sum(%n) }
END
lacks='executor graph has no branches, which @main uses; vm has them all'
expect 0 '^loop.bta: for target reference: ' -- compile loop.baton -o loop.bta
expect 0 '^output: int32$' '^  6$' -- "$baton" run loop.bta -i n=3
expect 0 '^  5050$' -- "$baton" run loop.bta --executor vm -i n=100
expect 1 "$lacks" -- "$baton" run loop.bta --executor graph -i n=3
expect 1 "$lacks" -- "$baton" run loop.baton --executor graph -i n=3
expect 1 "$lacks" -- compile loop.baton -o graph.bta --executor graph
expect 1 'executor interp compiles nothing, so there is nothing to write' -- compile loop.baton -o graph.bta --executor interp

# All that it reaches is counted, and told as places where a run may come by often.
cat > rows.baton <<'END'
#[version = "baton 0.1"]

def @rows(%x: Tensor[(4, 4), float32], %n: int32) -> Tensor[(4, 4), float32] {
    if (less(%n, 1)) { %x } else { @rows(nn.relu(nn.dense(%x, %x)), subtract(%n, 1)) }
}
def @main(%x: Tensor[(4, 4), float32], %n: int32) { @rows(%x, %n) }
END
expect 0 -- "$baton" compile rows.baton -o rows.bta --target reference
expect 0 '^kernels  *1, called in 1 place$' '^multiply-adds  *80$' '^memory .*, and what its branches and calls take while they run$' \
    '^fused_nn_dense_nn_relu  *1  reference  *1  *80  ' -- "$baton" info rows.bta
expect 0 '"calls": 1,' '"multiply_adds": 80,' -- "$baton" info rows.bta --json
expect 0 '^fused_nn_dense_nn_relu  *1  reference  *1  *80  nn.dense nn.relu$' -- "$baton" info rows.baton --target reference
expect 0 '^multiply-adds  *82$' '^nn.dense  *1  64$' -- "$baton" info rows.baton

# Its code, which is the same as of the model.
expect 0 '^@main( n0 )  objects 0, ' '^ *[0-9]*  call  *n[0-9]* @sum n[0-9]*  *; [0-9]*:[0-9]*$' -- "$baton" info loop.bta --code
cp out expected
expect 0 -- "$baton" info loop.baton --code --target reference
cmp -s out expected || fault "the artifact and the model have different code"
expect 0 '^ *[0-9]*  kernel  *fused_nn_dense' -- "$baton" info d.bta --code --executor vm
expect 1 'executor graph makes no code of a program: vm does' -- "$baton" info d.bta --code
# An executor that was asked for is the one that runs it, unless the run asks for another.
expect 0 -- compile "$digits" -o vm.bta --executor vm
expect 0 '^executor         vm$' -- "$baton" info vm.bta
expect 0 '"executor": "vm"' -- "$baton" info vm.bta --json
expect 0 '^ *[0-9]*  kernel  *fused_nn_dense' -- "$baton" info vm.bta --code
expect 0 '^executor vm, target reference$' -- "$baton" bench vm.bta --warmup 0 --repeat 1
expect 0 '^executor graph, target reference$' -- "$baton" bench vm.bta --warmup 0 --repeat 1 --executor graph
expect 0 '^executor graph, target reference$' -- "$baton" bench d.bta --warmup 0 --repeat 1
expect 2 'executor says whose code is shown: give --code too' -- "$baton" info d.bta --executor vm

# What cannot be compiled is told, and nothing is written.
cat > open.baton <<'END'
#[version = "baton 0.1"]

def @main<n: Dim>(%x: Tensor[(n, 3), float32]) { exp(%x) }
END
printf '#[version = "baton 0.1"]\ndef @main<t: DType>(%%x: Tensor[(3), t]) { %%x }\n' > typed.baton
expect 1 '@main, which the program is run from, has type parameters other than dims: state the types of its inputs' -- compile typed.baton -o open.bta
expect 1 'no target is named "refrence"; did you mean reference' -- "$baton" compile "$digits" -o t.bta --target refrence
expect 2 'speed' -- "$baton" compile "$digits" -o t.bta --target 'reference{speed=2}'
expect 1 'nowhere' -- compile nowhere.onnx -o t.bta
[ ! -e graph.bta ] && [ ! -e open.bta ] && [ ! -e t.bta ] || fault "something was written"
expect 0 -- compile open.baton -o open.bta --dim n=2
expect 0 'x  *Tensor\[(2, 3), float32\]' -- "$baton" info open.bta
expect 0 '^output: Tensor\[(2, 3), float32\]' -- "$baton" run open.bta -i 'x=[[0, 0, 0], [0, 0, 0]]'
expect 1 'x' -- "$baton" run open.bta -i 'x=[[0, 0, 0]]'

# Where it goes.
expect 2 'o FILE is missing' -- compile "$digits"
expect 2 'an artifact is a file' -- compile "$digits" -o -
cp open.baton mine.baton
expect 2 'mine.baton is the model itself' -- compile mine.baton -o ./mine.baton --dim n=2
expect 1 'No space left' -- compile "$digits" -o /dev/full
expect 0 -- compile "$digits" -o /dev/null
expect 1 'is a folder' -- compile "$digits" -o elsewhere
expect 1 'cannot be written' -- compile "$digits" -o nowhere/d.bta

# Damage is told, with its place; nothing is run.
head -c 5000 d.bta > cut.bta
expect 1 'cut.bta: error: the artifact has 5000 bytes, and was written with [0-9]' -- "$baton" run cut.bta -i image=random:1
head -c 100 d.bta > cut.bta
expect 1 'cut off in its table of sections, at byte 100' -- "$baton" info cut.bta
code=$("$baton" info d.bta | sed -n 's/^code  *[0-9]*  *\([0-9]*\) .*/\1/p')
(head -c "$code" d.bta && printf '\377' && tail -c +"$((code + 2))" d.bta) > bad.bta
expect 1 'bad.bta: error: section code is damaged: its checksum is' -- "$baton" run bad.bta -i image=random:1
expect 1 'section code is damaged' -- "$baton" info bad.bta

# An operator whose plugin is away: the file and the plugin are named.
mkdir few
ln -s "$(dirname "$baton")"/../lib/baton/plugins/* few
rm -f few/ops.memory.*
BATON_PLUGIN_ONLY=$PWD/few expect 1 'd.bta:program:[0-9]*:[0-9]*: note: no op is named .memory.alloc_' \
    'd.bta was made with plugins that are not here: .*ops.memory' -- "$baton" run d.bta -i image=random:1

# The same where its code alone names the operator, which the evaluator computes.
printf '#[version = "baton 0.1"]\ndef @main<n: Dim>(%%x: Tensor[(n), float32]) { sort(%%x) }\n' > sort.baton
expect 0 -- "$baton" compile sort.baton -o sort.bta
ln -s "$(dirname "$baton")"/../lib/baton/plugins/ops.memory.* few
rm -f few/ops.tensor.*
BATON_PLUGIN_ONLY=$PWD/few expect 1 'no op is named .sort' 'sort.bta was made with plugins that are not here: .*ops.tensor' -- \
    "$baton" run sort.bta -i '[2, 1]'

# Threads: as many as run says, whatever compile said.
expect 0 '^two.bta: for target cpu{threads=2}: ' -- "$baton" compile "$digits" -o two.bta --threads 2
expect 0 '^compiled for     cpu{threads=2}, which needs [a-z0-9]*$' -- "$baton" info two.bta
for n in 1 2 3; do
    expect 0 "^executor graph, target cpu{threads=$n}\$" -- "$baton" bench two.bta --warmup 0 --repeat 1 --threads "$n"
    refuse 'note:'
    expect 0 '^scores: ' -- "$baton" run two.bta -i image=random:1 --threads "$n" -o "threads$n"
done
for n in 2 3; do
    cmp -s threads1/scores.npy threads$n/scores.npy || fault "one thread and $n give different results"
done
expect 0 -- "$baton" compile "$digits" -o plan.bta --target 'cpu{threads=2, engine="bytecode"}'
expect 0 '^executor graph, target cpu{threads=1, engine="bytecode"}$' -- "$baton" bench plan.bta --warmup 0 --repeat 1 --threads 1
for verb in run bench "compile -o t.bta"; do
    expect 2 'threads 3 and threads = 2 of --target cpu{ threads = 2 , engine="bytecode"} both say how many threads: give one' \
        -- "$baton" $verb "$digits" --threads 3 --target 'cpu{ threads = 2 , engine="bytecode"}'
done
expect 2 'threads needs a target that has threads: give --target cpu' -- compile "$digits" -o t.bta --threads 3
# Targets that differ in their threads alone.
cat > two.baton <<'END'
#[version = "baton 0.1"]
#[attrs(devices=["cpu", "cpu{threads=1}"])]
def @main(%x: Tensor[(4), float32]) {
    %a on 1 = exp(%x);
    %b on 2 = tanh(%a);
    %b
}
END
expect 0 '^both.bta: for target cpu, cpu{threads=1}: ' -- "$baton" compile two.baton -o both.bta --target 'cpu, cpu{threads=1}'
expect 0 '^b: ' -- "$baton" run both.bta -i x=random:1
expect 2 'threads 1 makes two targets of both.bta one and the same, cpu{threads=1}: leave it out' -- "$baton" run both.bta --threads 1

# Code for a processor that is not here.
expect 0 '^cpu.bta: for target cpu: ' -- "$baton" compile "$digits" -o cpu.bta --target cpu
needs=$("$baton" info cpu.bta | sed -n 's/^compiled for     cpu, which needs \([a-z0-9]*\)$/\1/p')
[ -n "$needs" ] || fault "info does not say what the code needs"
if [ "$needs" != portable ]; then
    BATON_CPU=portable
    export BATON_CPU
    expect 1 "code of target cpu is for $needs, this machine has portable: compile the module here" -- "$baton" run cpu.bta -i image=random:1
    unset BATON_CPU
fi
BATON_CPU=portable "$baton" compile "$digits" -o portable.bta --target cpu > /dev/null || fault "no code for any machine"
expect 0 '^scores: ' -- "$baton" run portable.bta -i image=random:1
BATON_CPU=avx512bf16
export BATON_CPU
if "$baton" compile "$digits" -o pairs.bta --target 'cpu{accuracy="fast"}' > pairs.text 2>&1; then
    expect 0 'which needs avx512bf16$' -- "$baton" info pairs.bta
    expect 0 -- "$baton" compile "$digits" -o kept.bta --target 'cpu{accuracy="fast",denormals="keep"}' # no set for pairs keeps them
    expect 0 'which needs avx512$' -- "$baton" info kept.bta
    "$baton" compile small.baton -o unrounded.bta --target 'cpu{accuracy="fast"}' > /dev/null || fault "no code where nothing is rounded"
    expect 0 'which needs avx512$' -- "$baton" info unrounded.bta # what no kernel does needs no machine that can
    BATON_CPU=avx512
    expect 0 -- "$baton" run unrounded.bta -i x=random:1
    expect 1 'code of target cpu is for avx512bf16, this machine has avx512: compile' -- "$baton" run pairs.bta -i image=random:1
else
    expect 0 'BATON_CPU is avx512bf16, this machine has no more than ' -- cat pairs.text
fi
BATON_CPU=
expect 0 '^scores: ' -- "$baton" run "$digits" --executor graph --target cpu -i image=random:1
expect 0 'BATON_CPU' -- "$baton" list targets cpu
expect 2 'cpu: error: target cpu{threads=1: a closing } is missing' -- "$baton" run "$digits" --target 'cpu{threads=1'
BATON_CPU=fast
expect 1 'BATON_CPU is "fast", expected portable, avx2, avx512, avx512bf16 or amx' -- "$baton" run "$digits" --executor graph --target cpu
unset BATON_CPU

# Naming a target is asking for it.
expect 1 'no target is named "nosuch"' -- "$baton" run "$digits" --target nosuch -i image=random:1
expect 0 '^profile: ' 'fused_nn_dense' -- "$baton" run "$digits" --target cpu -i image=random:1 --profile
head -c 5 d.bta > five.bta
expect 1 'the artifact is cut off after 5 bytes' -- "$baton" run five.bta

# A column means the same of a model and of what was compiled from it: all calls together.
cat > twice.baton <<'END'
#[version = "baton 0.1"]

def @main(%x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32]) {
    nn.dense(nn.dense(%x, %w), %w)
}
END
rows() { sed -n 's/^\(fused_nn_dense\)  *\([0-9]*\)  reference  *1  *\([0-9]*\) .*/\1 \2 \3/p' out; }
expect 0 -- "$baton" info twice.baton --target reference
[ "$(rows)" = "fused_nn_dense 2 128" ] || fault "of the model: $(rows)"
expect 0 -- compile twice.baton -o twice.bta
expect 0 '^kernels          1, called 2 times$' '^multiply-adds    128$' -- "$baton" info twice.bta
[ "$(rows)" = "fused_nn_dense 2 128" ] || fault "of the artifact: $(rows)"
expect 0 '"calls": 2, .*"multiply_adds": 128, "bytes": 384' -- "$baton" info twice.bta --json
expect 0 'for target reference: 1 kernel, ' -- compile twice.baton -o twice.bta

# What info shows of a model is what run would compile by the same options.
expect 0 '^fused_nn_dense_add ' -- "$baton" info "$digits" --target reference
expect 0 '^fused_nn_dense ' '^fused_add ' -- "$baton" info "$digits" --target reference --fuse 'fuse-ops{max-ops=1}'
refuse '^fused_nn_dense_add '
printf '#[version = "baton 0.1"]\ndef @main(%%x: Tensor[(3), float32]) { add(%%x, multiply(2f, 3f)) }\n' > fold.baton
expect 0 '^fused_add ' -- "$baton" info fold.baton --target reference
refuse multiply
for option in --passes= --passes=dead-code --pipeline=fuse-nothing --opt-level=0; do
    printf '{ "name": "fuse-nothing", "sequence": [ "dead-code" ] }' > fuse-nothing.json
    [ "$option" = --pipeline=fuse-nothing ] && option=--pipeline=fuse-nothing.json
    expect 0 multiply -- "$baton" info fold.baton --target reference $option
done
expect 0 '^cpu{threads=1}' -- "$baton" info fold.baton --target cpu --threads 1
expect 2 'fuse is of programs that are compiled: give --target cpu' -- "$baton" info "$digits" --fuse fuse
expect 2 'fuse is for models: d.bta is compiled' -- "$baton" info d.bta --fuse fuse

# A cost that needs dims is not passed over.
expect 0 'and those of 1 call with symbolic shapes, which --dim NAME=N settles$' '^exp  *1  ?$' -- "$baton" info open.baton

# A dim that is found at run time beside an open one: the text of an artifact says what the program says.
for program in found_beside_open rank_of_a_call; do
    expect 0 ' kernels\{0,1\}, ' -- compile "$here/../golden/vm/$program.baton" -o open.bta
    expect 0 -- "$baton" run open.bta -i 'x=[1, -2, 3]' -i k=2
done

# In threads: sdk/examples/threads.c.
if [ -x "$(dirname "$baton")/threads" ]; then
    expect 0 "^thread 0: 100 runs, inputs 0: the outputs' sum is 1$" "^thread 1: 100 runs, inputs 0.5: the outputs' sum is 1$" \
        -- "$(dirname "$baton")/threads" d.bta
fi
