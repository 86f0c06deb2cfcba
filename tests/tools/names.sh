# Names that nobody provides, words that are near, and places that cannot be searched.
. "$(dirname "$0")/kit.sh"

expect 2 'did you mean ops?' -- "$baton" list op
expect 2 'did you mean ops?' -- "$baton" list operators
expect 2 'did you mean passes?' -- "$baton" list pass
expect 2 'did you mean analyses?' -- "$baton" list analysis
expect 2 'did you mean schemes?' -- "$baton" list scheme
expect 2 'did you mean schedules?' -- "$baton" list schedule
expect 2 'did you mean optimizers?' -- "$baton" list optimizer
expect 2 'there are ops, relations, passes' -- "$baton" list things
expect 2 'KIND is missing; there are ops, relations, passes' -- "$baton" list
expect 0 '^  compiler   string, default ""$' -- "$baton" list targets cpu
expect 1 'no op is named "nn.relux"; did you mean nn.relu' 'baton plugin why nn.relux' -- "$baton" list ops nn.relux
expect 1 'no pass is named "dead-cod"; did you mean dead-code?' -- "$baton" list passes dead-cod
expect 1 'no pipeline is named "defaul"; did you mean default?' -- "$baton" list pipelines defaul
expect 0 'nn.relu (baton.ops.nn)' -- "$baton" list ops nn.relu
mkdir costs
cat > costs/costs.baton.json <<'END1'
{ "id": "test.costs", "version": "0.1.0", "license": "Apache-2.0", "doc": "A facet of an operator of another plugin.",
  "abi": { "major": 0, "needs": 1, "built": 1 }, "binaries": [ { "path": "costs.so", "os": "linux", "arch": "x86_64" } ],
  "provides": { "facets": [ { "op": "nn.relu", "facet": "cost", "priority": 10 } ] } }
END1
expect 0 '^added     cost, by test.costs$' -- env BATON_PLUGIN_PATH="$PWD/costs" "$baton" list ops nn.relu
expect 0 '^call-graph  Which globals' '^effects     What each binding' -- "$baton" list analyses
expect 0 '^after-simplify  in pipeline default$' -- "$baton" list slots
expect 0 '^ai.onnx.Pad-11  *baton.onnx$' -- "$baton" list onnx
expect 0 '^ai.onnx.Pad-11 (baton.onnx)$' -- "$baton" list onnx ai.onnx.Pad-11
expect 0 '^nn.dense  *baton.onnx.write$' '^einsum  *baton.onnx.write$' -- "$baton" list exports
expect 1 'is named "ai.onnx.Padd-11"; did you mean ai.onnx.Pad-11' -- "$baton" list onnx ai.onnx.Padd-11

# What a device is, the program says.
printf '#[version = "baton 0.1"]\ndef @main(%%x: float32) { %%y on 1 = exp(%%x); %%y }\n' > placed.baton
expect 1 '`on 1`: the module.s attribute devices does not list so many targets' -- "$baton" run placed.baton -i 1 --executor graph
expect 0 '2.7182817f' -- "$baton" run placed.baton -i 1 --executor interp

# Its table alone opens targets, by name; what is placed nowhere goes to them in their order, and to the host's last. Options of
# targets are of the command line.
cat > table.baton <<'END'
#[version = "baton 0.1"]
#[attrs(devices=["reference"])]
def @main(%x: Tensor[(4), float32]) { %y on 1 = exp(%x); %y }
END
expect 0 '^table.bta: for target reference: 1 kernel, ' -- "$baton" compile table.baton -o table.bta
expect 0 '^fused_exp  *1  reference ' -- "$baton" info table.bta
for executor in graph vm; do
    expect 0 '^  .2.7182817, 2.7182817,' -- "$baton" run table.baton -i 1 --executor $executor --profile
done
cat > branch.baton <<'END'
#[version = "baton 0.1"]
#[attrs(devices=["reference"])]
def @main(%x: Tensor[(4), float32], %n: int32) { if (less(%n, 1)) { %y on 1 = exp(%x); %y } else { %x } }
END
expect 0 '^branch.bta: for target reference: 1 kernel, ' -- "$baton" compile branch.baton -o branch.bta
for executor in '' '--executor vm' '--target reference'; do
    expect 0 '^  .2.7182817, 2.7182817,' -- "$baton" run branch.baton -i x=1 -i n=0 $executor
done
expect 1 '@fused_exp is of target reference, which is not among those compiled for' -- \
    "$baton" compile table.baton -o table.bta --target cpu
sed -i 's/"reference"/"cpu{compiler=\\"cc\\"}"/' table.baton
expect 1 'a module opens targets by their names alone; its attribute devices has cpu{compiler="cc"}: give target ' -- \
    "$baton" compile table.baton -o table.bta
sed -i '2s/.*/#[attrs(devices=["cpu", 3])]/' table.baton
expect 1 'item 2 of the module.s attribute devices is no text: it is a list of names of targets, as in' -- \
    "$baton" compile table.baton -o table.bta
sed -i '2s/.*/#[attrs(devices=["nowhere"])]/' table.baton
expect 1 'no target is named "nowhere"' -- "$baton" compile table.baton -o table.bta

printf '#[version = "baton 0.1"]\ndef @main(%%x: float32) { %%x }\n' > nothing.baton
expect 0 '^cpu computes nothing: the program has no call for a target$' -- "$baton" info nothing.baton --target cpu

printf '#[version = "baton 0.1"]\ndef @main(%%x: float32) { nn.relux(%%x) }\n' > unknown.baton
printf '#[version = "baton 0.1"]\ndef @main(%%x: float32) { nn.relu(%%x) }\n' > p.baton
expect 1 'no op is named "nn.relux"; did you mean nn.relu' '`baton plugin why nn.relux` tells' -- "$baton" opt unknown.baton
expect 1 'no pass is named "dead-cod"; did you mean dead-code' '`baton plugin why dead-cod` tells' -- \
    "$baton" opt p.baton --passes dead-cod
expect 1 'no executor is named "inter"; did you mean interp' '`baton plugin why inter` tells' -- \
    "$baton" run p.baton --executor inter
expect 1 'no pipeline is named "defaul"; did you mean default' '`baton plugin why defaul` tells' -- \
    "$baton" run p.baton --pipeline defaul

# An explanation of nothing is exit code 1.
expect 0 'baton.ops.nn is used' 'searched, in this order' -- "$baton" plugin why nn.relu
expect 1 'no plugin found provides "nn.relux"; did you mean nn.relu' 'searched, in this order' -- "$baton" plugin why nn.relux
refuse 'error:'

# Elements of BATON_PLUGIN_PATH that are not searched are listed with the reason.
expect 0 'baton.ops.nn' -- "$baton" plugin list
refuse 'not searched'
touch file && mkdir empty
BATON_PLUGIN_PATH="build:$work/no:$work/file:$work/empty:" expect 0 'baton.ops.nn' 'not searched:' \
    '"build" (BATON_PLUGIN_PATH): refused: the path is relative' "\"$work/no\" (BATON_PLUGIN_PATH): no such folder" \
    "\"$work/file\" (BATON_PLUGIN_PATH): is neither a folder nor a manifest" \
    '"" (BATON_PLUGIN_PATH): refused: an empty element would mean the current folder' -- "$baton" plugin list
refuse "$work/empty"

# Targets and their options, before the model is read; a wrong option is one of the command line.
expect 1 'no target is named "cpuu"; did you mean cpu' -- "$baton" run no-such-model.onnx --target cpuu
expect 2 '^cpu:1:8: error: cpu: attribute `engine`: expected a string in quotes, "like this", found `bytecode`$' '^    engine=bytecode$' '^           ^~~~~~~~$' \
    -- "$baton" run p.baton --target 'cpu{engine=bytecode}'
refuse 'in pass'
expect 2 '^    threads=2, engine=bytecode$' '^                      ^~~~~~~~$' -- "$baton" compile p.baton -o p.bta --target 'reference, cpu{threads=2, engine=bytecode}'
expect 2 'expected one of auto|bytecode|tcc|cc, found' -- "$baton" bench p.baton --target 'cpu{engine="bytecod"}'

# Likewise of executors.
expect 2 '^vm:1:7: error: vm: attribute `steps` is -1, expected at least 0$' '^    steps=-1$' -- \
    "$baton" run p.baton --executor 'vm{steps=-1}'
expect 2 'vm has no attribute `stepz`; did you mean `steps`' -- "$baton" bench p.baton --executor 'vm{stepz=1}'

# A word of an operator's name may be all of it here.
printf '#[version = "baton 0.1"]\ndef @main(%%x: Tensor[(4), float32]) { reduce_sum(%%x) }\n' > reduce.baton
expect 1 'no op is named "reduce_sum"; did you mean sum?' -- "$baton" opt reduce.baton

# New plugins: names that programs can call; sources whose manifest is behind say the command.
expect 2 'programs cannot call bad-name.x-y: ' -- "$baton" plugin new op bad-name.x-y
[ ! -e x_y ] || fault "something was written"
for kind in op pass target; do
    expect 2 'example.9x is no name: .* each part between dots begins with a letter' -- "$baton" plugin new $kind example.9x
    [ ! -e 9x ] || fault "something was written"
done
expect 0 'swish.baton.json' -- "$baton" plugin new op example.swish --source
sed 's/FLOAT, "1"/FLOAT, "2"/' swish/swish.c > edited && cp edited swish/swish.c
BATON_PLUGIN_PATH=$work/swish
export BATON_PLUGIN_PATH
expect 0 'org.example.swish is used: no other plugin that may be opened has it; it has not been opened: what is wrong with it is told by baton plugin check org.example.swish$' \
    -- "$baton" plugin why example.swish
expect 1 "\`baton plugin describe $work/swish/swish.baton.json --write\` writes the manifest again" -- "$baton" plugin check org.example.swish
expect 0 -- "$baton" plugin describe "$work/swish/swish.baton.json" --write
expect 0 'its tables agree with its manifest' -- "$baton" plugin check org.example.swish
echo '{' > swish/other.baton.json
expect 1 'no plugin has the id "org.example.other"; .*1 plugin is refused, see `baton plugin list`' -- "$baton" plugin check org.example.other
unset BATON_PLUGIN_PATH

# A module's attributes, lists too.
cat > devices.baton <<'END1'
#[version = "baton 0.1"]
#[attrs(devices=["cpu", "reference"], n=3, name="two")]

def @main(%x: float32) { negative(%x) }
END1
expect 0 '^devices          cpu, reference$' '^n                3$' '^name             two$' -- "$baton" info devices.baton

# A name that somebody else has is refused before anything is written; the README of a new plugin tells of its own kind.
unset BATON_PLUGIN_PATH
expect 2 'scheme int8 is there, of plugin baton.quantize, and two of one name clash: my.int8 would do;' -- "$baton" plugin new scheme int8
expect 2 'target cpu is there, of plugin baton.cpu' -- "$baton" plugin new target cpu
expect 2 'loss huber is there, in library losses of plugin baton.train, and two of one name clash: my_huber would do;' -- \
    "$baton" plugin new loss example.huber
expect 2 'schedule cosine is there, in library schedules' -- "$baton" plugin new schedule cosine
[ ! -e int8 ] && [ ! -e cpu ] && [ ! -e huber ] && [ ! -e cosine ] || fault "something was written"
expect 0 'README.md says how' -- "$baton" plugin new scheme own_codes
# A folder that is empty is as good as none.
mkdir bare kept
echo text > kept/notes.txt
expect 0 'bare/README.md says how' -- "$baton" plugin new op example.ramped bare
expect 1 'kept is there, and is no plugin that gets further files' -- "$baton" plugin new op example.ramped kept
expect 0 'bt_ramped_ramped\[\]' -- cat bare/ramped.c
expect 0 'tries the codes that it gives the operands of a small network' -- cat own_codes/README.md

# Whatever the length of the comment above a loss, all of it is shown.
mkdir -p long/more
cat > long/more.baton.json <<'END1'
{ "id": "org.example.more", "version": "1.0.0", "license": "MIT", "abi": { "major": 0, "needs": 1, "built": 1 },
  "provides": { "libraries": [ { "name": "more_losses", "path": "more/more.baton" } ] } }
END1
{
    echo '#[version = "baton 0.1"]'
    i=0
    while [ $i -lt 100 ]; do
        echo "// line $i: the näher, the dearer, the farther, the dear"
        i=$((i + 1))
    done
    echo 'def @loss.dear(%z: Tensor[(2), float32], %y: Tensor[(2), float32]) -> float32 { sum(%z * %y) }'
} > long/more/more.baton
for form in '' --json; do
    BATON_PLUGIN_PATH=$PWD/long expect 0 'line 99: the näher, the dearer' -- "$baton" list losses dear $form
done
