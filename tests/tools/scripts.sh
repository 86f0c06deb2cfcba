# sdk/quickstart and sdk/check in a tree of their own, where the programs that they call are stand-ins.
. "$(dirname "$0")/kit.sh"

mkdir -p tree/sdk/examples/digits tree/tests stand-in
cp "$here/../../sdk/quickstart" "$here/../../sdk/check" "$here/../../sdk/packages" tree/sdk/
echo numpy > tree/tests/requirements.txt
touch tree/sdk/examples/digits/3.txt

# stand_in NAME LINES: a program that notes its call in `calls`, then does LINES.
stand_in() {
    printf '#!/bin/sh\necho "%s $*" >> "%s/calls"\n%s\n' "$1" "$work" "$2" > "stand-in/$1"
    chmod +x "stand-in/$1"
}
quickstart="env PATH=$work/stand-in:$PATH tree/sdk/quickstart"
check="env PATH=$work/stand-in:$PATH tree/sdk/check"
stand_in id 'echo 1000'
stand_in dpkg-query 'echo "install ok installed"'
stand_in ctest :
cmake_works='[ "$1" = --build ] || { mkdir -p "$4"; : > "$4/build.ninja"; exit 0; }
mkdir -p "$2/bin"; printf "#!/bin/sh\necho classified\n" > "$2/bin/digits"; chmod +x "$2/bin/digits"
for i in 1 2 3 4 5 6 7 8 9 10; do echo "[$i/10] Building C object x$i.o"; done'

# Packages are missing, and this is not root: the line to copy, and nothing else.
stand_in dpkg-query '[ "$4" != ninja-build ] && echo "install ok installed"'
stand_in cmake "$cmake_works"
expect 1 'apt-get install -y --no-install-recommends ninja-build' -- $quickstart
expect 1 -- grep -q '^cmake' calls
expect 1 'apt-get install' -- $check
stand_in dpkg-query 'echo "install ok installed"'

# A build shows how far it is and no line of the compiler's, and is not configured twice.
expect 0 'building Baton' '2 of 10' '10 of 10' classified -- $quickstart
refuse 'Building C object' 'x1.o'
expect 0 'cmake -S' -- cat calls
rm calls
expect 0 classified -- $quickstart
expect 1 -- grep -q 'cmake -S' calls
stand_in cmake 'echo "[1/10] Building C object x.o"; echo "x.c:1: error: broken"; exit 1'
expect 1 'x.c:1: error: broken' 'the build failed' -- $quickstart
refuse classified

# What pip could not finish is not there afterwards, and is made by the next run.
stand_in cmake "$cmake_works"
python='[ "$2" = venv ] || exit 0; mkdir -p "$3/bin"; printf "#!/bin/sh\nexit RESULT\n" > "$3/bin/python"; chmod +x "$3/bin/python"'
stand_in python3 "$(echo "$python" | sed s/RESULT/1/)"
mkdir -p tree/build/check/venv/bin && touch tree/build/check/venv/bin/python
expect 0 'no Python packages' -- $check
expect 2 -- ls -d tree/build/check/venv
expect 2 -- ls -d tree/build/check/venv.new
stand_in python3 "$(echo "$python" | sed s/RESULT/0/)"
expect 0 -- $check
refuse 'no Python packages'
expect 0 -- ls tree/build/check/venv/bin/python
expect 2 -- ls -d tree/build/check/venv.new
rm calls
expect 0 -- $check
expect 1 -- grep -q '^python3' calls
echo numpy onnx > tree/tests/requirements.txt
expect 0 -- $check
expect 0 -- grep -q '^python3' calls
