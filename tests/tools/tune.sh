# --tune: ways to compute are measured, and what was found is kept in a file.
. "$(dirname "$0")/kit.sh"

cat > p.baton <<'END'
#[version = "baton 0.1"]

def @main(%x: Tensor[(1, 32, 16, 16), float32]) {
    %a: Tensor[(1, 32, 16, 16), float32] = nn.relu(nn.conv2d(%x, const[(32, 32, 3, 3), float32]{0.125 ..}, padding=[1, 1, 1, 1]));
    %output = nn.conv2d(%a, const[(64, 32, 1, 1), float32]{0.25 ..});
    %output
}
END
machine=$("$baton" info p.baton --target cpu --why)
case $machine in *'tiles, turned'*) ;; *) fault "there is nothing to choose from: $machine" ;; esac

# Measured once: from then on the records choose, and compiling gives the same bytes.
expect 0 'a.bta: for target cpu: ' -- "$baton" compile p.baton --target cpu --tune records -o a.bta
cp records first
grep -q '^baton.cpu.tune 2$' records || fault "no head: $(cat records)"
[ "$(wc -l < records)" = 3 ] || fault "not a record for each of two functions: $(cat records)"
expect 0 -- "$baton" compile p.baton --tune records -o b.bta
cmp -s a.bta b.bta || fault "compiled by the same records, the bytes differ"
cmp -s records first || fault "records that were there have changed"
expect 0 'ms, [0-9.]* ms measured  taken, by its record' 'ms, [0-9.]* ms measured$' -- \
    "$baton" info p.baton --target cpu --tune records --why
expect 0 'taken$' -- "$baton" info p.baton --target cpu --why
refuse 'by its record' measured
expect 0 -- "$baton" compile p.baton --target cpu --tune records --threads 1 -o c.bta
cmp -s records first || fault "records depend on the number of threads"

# What is compiled does not depend on what the file is called, and says nothing of it.
cp records other.name
expect 0 'b.bta: for target cpu{accuracy="default", denormals="flush"}: ' -- \
    "$baton" compile p.baton --target 'cpu{accuracy="default", tune="other.name", denormals="flush"}' -o b.bta
refuse other.name
expect 0 -- "$baton" compile p.baton --tune other.name -o b.bta
cmp -s a.bta b.bta || fault "the name of the records is in what they choose"
expect 0 -- "$baton" info p.baton --target cpu --tune records --json
refuse records

# Lines with the digests that they should have.
with_digests() {
    while IFS= read -r line; do
        printf '%s\t%s\n' "$(printf %s "$line" | sha256sum | cut -d' ' -f1)" "$line"
    done
}

# Whichever way is recorded, the result is near, and the same for any number of threads.
expect 0 -- "$baton" run p.baton --target cpu -i x=random:1 -o plain
for way in tiles 'tiles, turned' 'winograd F(2,3)' 'winograd F(4,3)'; do
    {
        head -1 first
        sed -n 2p first | cut -f2-4 | sed "s/\$/	cpu	0	cpu	0	1	cpu	1	$way	0	1/" | with_digests
        sed -n 3p first
    } > chosen
    expect 0 "  $way  .*taken, by its record" -- "$baton" info p.baton --target cpu --tune chosen --why
    for threads in 1 2 3; do
        expect 0 -- "$baton" run p.baton --tune chosen --threads $threads -i x=random:1 -o t$threads
    done
    cmp -s t1/output.npy t2/output.npy && cmp -s t1/output.npy t3/output.npy || fault "$way: the result depends on the number of threads"
    expect 0 'equal' -- "$baton" compare t1/output.npy plain/output.npy --rtol 2e-5
done

# Records of another machine, of what is not a way, and damaged ones are not used.
{
    head -1 first
    tail -n +2 first | cut -f2- | sed 's/^[^,]*,/other,/' | with_digests
} > other
cp other before
expect 0 -- "$baton" compile p.baton --tune other -o d.bta
refuse damaged
[ "$(head -3 other)" = "$(cat before)" ] && [ "$(wc -l < other)" = 5 ] || fault "records of two machines: $(cat other)"
sed 's/conv2d/conv3d/' first > flipped
expect 0 'flipped: 2 of its tuning records are damaged, and not used' -- "$baton" compile p.baton --tune flipped -o d.bta
[ "$(wc -l < flipped)" = 5 ] || fault "what was damaged was not measured: $(cat flipped)"
cp flipped mended
expect 0 'damaged, and not used' -- "$baton" compile p.baton --tune flipped -o d.bta
cmp -s flipped mended || fault "beside damaged records those that are whole are not used"
head -c 300 first > short
expect 0 'damaged, and not used' -- "$baton" compile p.baton --tune short -o d.bta
cp short mended
expect 0 -- "$baton" compile p.baton --tune short -o d.bta
cmp -s short mended || fault "a record behind half a line is lost: $(cat short)"
# A record of ways that there are not, or of too few, is none; nor is it measured again.
for choices in 'cpu	0	cpu	0	1	cpu	1	by hand	0	1' 'cpu	0	cpu	0	1' 'other.way	0	other.way	0	1' 'cpu	1	tiles	0	1'; do
    {
        head -1 first
        sed -n 2p first | cut -f2-4 | sed "s/\$/	$choices/" | with_digests
        sed -n 3p first
    } > strange
    cp strange before
    expect 0 'strange: its record of .* is of ways that are not here, and not used' -- \
        "$baton" info p.baton --target cpu --tune strange --why
    [ "$(grep -c 'by its record' out)" = 1 ] || fault "a record of other choices is used: $choices"
    cmp -s strange before || fault "a strange record is written over"
done
cp p.baton model
expect 1 'model: .*is no file of tuning records, and stays as it is' -- "$baton" compile p.baton --tune model -o d.bta
cmp -s p.baton model || fault "a file of another kind was written over"
sed '1s/2$/7/' first > later
expect 1 'later: .*another version' -- "$baton" compile p.baton --tune later -o d.bta

# Processes that measure at once lose none.
for i in 1 2 3 4 5 6; do
    sed "s/(64, 32, 1, 1)/($((16 * i)), 32, 1, 1)/" p.baton > m$i.baton
    "$baton" compile m$i.baton --tune shared -o m$i.bta > m$i.out 2>&1 &
done
wait
[ "$(wc -l < shared)" = 8 ] || fault "not a record for each of seven functions: $(cat shared m*.out)"
cp shared all
for i in 1 2 3 4 5 6; do
    expect 0 -- "$baton" compile m$i.baton --tune shared -o again.bta
done
cmp -s shared all || fault "what was recorded is measured again"

# A link stays one, also to a file that is not there yet; who names the file and who names the link share it.
ln -s aim link
expect 0 -- "$baton" compile m1.baton --tune link -o d.bta
expect 0 -- "$baton" compile m2.baton --tune aim -o d.bta
expect 0 -- "$baton" compile m3.baton --tune link -o d.bta
[ -L link ] && [ "$(wc -l < aim)" = 5 ] || fault "records by a link and by its file: $(ls -l link aim; cat aim)"

# An artifact runs without them; what cannot be is said.
rm records
expect 0 -- "$baton" run a.bta -i x=random:1
[ ! -e records ] || fault "to run an artifact has made records"
expect 2 '--tune is for models' -- "$baton" run a.bta --tune records -i x=random:1
expect 1 'a.bta is compiled, for target cpu: to change its tune takes the model it was compiled from' -- \
    "$baton" run a.bta --target 'cpu{tune="records"}' -i x=random:1
[ ! -e records ] || fault "what was refused has made records"
expect 2 '--tune needs a target that has tuning records' -- "$baton" run p.baton --target reference --tune records -i x=random:1
expect 2 'both say which records' -- "$baton" run p.baton --target 'cpu{tune="a"}' --tune records -i x=random:1
expect 2 'without quotes' -- "$baton" run p.baton --tune 'a"b' -i x=random:1
mkfifo pipe
expect 1 'is a pipe' -- "$baton" compile p.baton --tune pipe -o d.bta
expect 1 'is a folder' -- "$baton" compile p.baton --tune . -o d.bta
if [ "$(id -u)" != 0 ]; then
    cp first fixed
    chmod a-w fixed
    expect 0 -- "$baton" compile p.baton --tune fixed -o d.bta
    expect 0 'fixed: note: cannot be locked to add tuning records: Permission denied' 'is used, and not recorded' -- \
        "$baton" compile m1.baton --tune fixed -o d.bta
    [ "$(grep -c note: out)" = 1 ] || fault "said more than once"
    mkdir locked
    chmod a-w locked
    expect 0 'locked/records: note: cannot be made' -- "$baton" compile m1.baton --tune locked/records -o d.bta
    chmod a-r fixed
    expect 1 'fixed' -- "$baton" compile p.baton --tune fixed -o d.bta
fi
expect 1 'missing/records: .*there is no such folder' -- "$baton" compile p.baton --tune missing/records -o d.bta
expect 1 'is a device or a socket, expected a file of tuning records' -- "$baton" compile p.baton --tune /dev/full -o d.bta
sed '1s/$/\r/' first > lines
expect 1 'lines: .*a damaged first line, expected "baton.cpu.tune 2"' -- "$baton" compile p.baton --tune lines -o d.bta
expect 2 '--tune needs FILE, not --why' -- "$baton" info p.baton --target cpu --tune --why
[ ! -e ./--why ] || fault "an option was taken for a file"
expect 2 '--tune x and --tune y both say which records' -- "$baton" compile p.baton --tune x --tune y -o d.bta
for file in y.bta first; do
    cp first before
    expect 2 "-o $file is the file of --tune" -- "$baton" compile p.baton --tune $file -o $file
    cmp -s first before || fault "the artifact has taken the place of the records"
done

# The file is made also where there is nothing to choose.
cat > none.baton <<'END'
#[version = "baton 0.1"]

def @main(%x: Tensor[(8), float32]) { nn.relu(%x) }
END
expect 0 -- "$baton" compile none.baton --tune empty -o d.bta
[ "$(cat empty)" = 'baton.cpu.tune 2' ] || fault "no file without records: $(cat empty)"

# Who holds the lock for long is not waited for.
if command -v flock > /dev/null; then
    cp first held
    (
        flock 9
        exec sleep 60
    ) 9>> held &
    holder=$!
    while flock -n held true; do sleep 0.01; done
    expect 0 'held: note: cannot be locked to add tuning records: another process has it locked' 'is used, and not recorded' -- \
        "$baton" compile m1.baton --tune held -o d.bta
    kill $holder
    cmp -s first held || fault "a file was written that another process had locked"
fi
