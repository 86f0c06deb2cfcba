"""Files made to do harm: hostile.py BATON [sanitized]
Each goes through the verb that would read it, with 2 GiB of memory and a minute: exit 1, and a message that says where."""
import json
import os
import struct
import sys
import tempfile
import zlib

import bad_input

HEAD = '#[version = "baton 0.1"]\n'
TYPED = HEAD + "#[typed]\n"


def write(name, content):
    with open(name, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return name


# ---- text ----

def texts():
    deep = 100000
    yield "parentheses", HEAD + "def @main() { " + "(" * deep + "1" + ")" * deep + " }"
    yield "tuples", HEAD + "def @main() { " + "(1, " * deep + "1" + ")" * deep + " }"
    yield "open parentheses", HEAD + "def @main() { " + "(" * deep
    yield "negations", HEAD + "def @main(%x: int32) { " + "-" * deep + "%x }"
    yield "blocks", HEAD + "def @main(%c: bool) { " + "if (%c) { " * deep + "1" + " } else { 2 }" * deep + " }"
    yield "functions", HEAD + "def @main() { " + "fn (%x: int32) { " * deep + "1" + " }" * deep + " }"
    yield "types", HEAD + "def @main(%x: " + "(" * deep + "int32" + ",)" * deep + ") { %x }"
    yield "references", HEAD + "def @main(%x: " + "Ref[" * deep + "int32" + "]" * deep + ") { %x }"
    yield "function types", HEAD + "def @main(%x: " + "fn (" * deep + "int32" + ") -> int32" * deep + ") { %x }"
    yield "dims in dims", HEAD + "def @main<n: Dim>(%x: Tensor[(" + "floordiv(n + " * deep + "1" + ", 2)" * deep + "), int8]) { %x }"
    yield "patterns", HEAD + "type T { A(T), B }\ndef @main(%x: T) { match (%x) { " + "A(" * deep + "B" + ")" * deep + " => { 1 } } }"
    yield "attributes", HEAD + "def @main(%x: int32) { op \"f\"(%x, a=" + "[" * deep + "]" * deep + ") }"
    yield "comments", HEAD + "/*" * deep + " def @main() { 1 }"
    yield "a string without an end", HEAD + 'def @main() { %"' + "x" * 1000000
    yield "a number of a million digits", HEAD + "def @main() { " + "9" * 1000000 + " }"
    yield "an exponent of a million digits", HEAD + "def @main() { 1e" + "9" * 1000000 + "x }"
    yield "an unknown name of a megabyte", HEAD + "def @main() { @" + "f" * 1000000 + "(1) }"
    yield "a dim beyond 64 bits", HEAD + "def @main(%x: Tensor[(99999999999999999999), int8]) { %x }"
    yield "a dim below zero", HEAD + "def @main(%x: Tensor[(-1), int8]) { %x }"
    yield "a dim that is no number", HEAD + "def @main(%x: Tensor[(nan), int8]) { %x }"
    yield "a rank of 1000", HEAD + "def @main(%x: Tensor[(" + "1, " * 1000 + "1), int8]) { exp(%x) }"
    yield "a constant of 2^62 elements", HEAD + "def @main() { const[(4611686018427387904), int8]{1} }"
    yield "a constant with too few elements", HEAD + "def @main() { const[(1000000), float32]{1, 2} }"
    yield "a splat of 2^63 bytes", HEAD + "def @main() { const[(3037000500, 3037000500), float64]{7 ..} }"
    yield "damaged base64", HEAD + 'def @main() { const[(2), float32]{"AA@AAAAAAA=="} }'
    yield "data that is not there", HEAD + 'def @main() { const[(100), float32]{data "w"} }'
    yield "weights above", HEAD + '#[weights = "../weights.npz"]\ndef @main() { const[(100), float32]{data "w"} }'
    yield "weights by an absolute path", HEAD + '#[weights = "/etc/passwd"]\ndef @main() { const[(100), float32]{data "w"} }'
    yield "weights by a link", HEAD + '#[weights = "link.npz"]\ndef @main() { const[(100), float32]{data "w"} }'
    yield "a name twice", HEAD + "def @f() { 1 }\ndef @f() { 2 }\ndef @main() { @f() }"
    yield "a type that holds itself", HEAD + "def @main() { let %f = fn (%x) { %x(%x) }; %f(%f) }"
    yield "invalid UTF-8", HEAD.encode() + b'def @main() { @"\xff\xfe\xc0\x80"() }'
    yield "a zero byte", HEAD.encode() + b"def @main() { \0 }"
    yield "another version", '#[version = "baton 99.0"]\ndef @main() { 1 }'
    yield "an unknown operator", HEAD + "def @main(%x: int32) { no.such.operator(%x) }"
    yield "a sum that overflows", HEAD + "def @main(%x: Tensor[(9223372036854775807), int8]) { concatenate((%x, %x), axis=0) }"
    yield "a product that overflows", HEAD + "def @main(%x: Tensor[(4611686018427387904, 46116860184), int8]) { nn.batch_flatten(expand_dims(%x, axis=0)) }"
    yield "a window that overflows", HEAD + "def @main(%x: Tensor[(1, 3, 9223372036854775807, 5), float32], %w: Tensor[(4, 3, 3, 3), float32]) { nn.conv2d(%x, %w, padding=[2, 2]) }"
    yield "a result too large", HEAD + "def @main() { %x = zeros(shape=[1000000, 1000000, 1000], dtype=\"float32\"); sum(%x) }"
    yield "calls without end", HEAD + "def @f(%x: int32) -> int32 { %y = @f(%x); %z = add(%y, 1); %z }\ndef @main() { @f(1) }"
    yield "metadata of 10000 levels", '#[version = "0.0.5"]\ndef @main() { meta[relay.Constant][0] }\n#[metadata]\n' + "[" * 10000
    yield "metadata in circles", ('#[version = "0.0.5"]\ndef @main() { meta[relay.Constant][0] }\n#[metadata]\n'
                                  '{"nodes":[{"keys":["relay.Constant"],"data":[0]}],"b64ndarrays":[]}')
    yield "types as large as 2^60", (HEAD + "def @main(%a: int32) { " +
                                    " ".join(f"let %x{i} = (%{'a' if i == 0 else f'x{i - 1}'}, %{'a' if i == 0 else f'x{i - 1}'});" for i in range(60)) + " %x59 }")


RUNS = {"a result too large", "calls without end"}


def check_texts(k):
    os.symlink("/etc/passwd", "link.npz")
    for name, text in texts():
        path = write(name.replace(" ", "_").replace("/", "_") + ".baton", text)
        k.refused(name, ["run", path, "--passes", ""] if name in RUNS else ["opt", path], path + ":")
    program = (HEAD + "type L { C(int32, L), N }\ndef @f<n: Dim>(%x: Tensor[(n, 2), float32], %c: bool) {\n"
               "  %y = if (%c) { add(%x, 1f) } else { %x };\n  %z = reshape(%y, newshape=[n * 2]);\n"
               "  let %l = C(1, N);\n  match (%l) { C(_, N) => { %z } _ => { exp(%z) } }\n}\n")
    whole = write("whole.baton", program)
    k.works("whole", ["opt", whole])
    for n in range(0, len(program) - 3, 5):
        path = write("cut.baton", program[:n])
        if not program[:n].rstrip().endswith("}") and program[:n].count("def"):
            k.refused(f"text cut at {n}", ["opt", path], "cut.baton:")


# ---- npy and npz ----

def npy(header, data=b"", version=b"\x01\x00", nbytes=None):
    header = header if isinstance(header, bytes) else header.encode()
    size = len(header) if nbytes is None else nbytes
    packed = struct.pack("<H", size) if version == b"\x01\x00" else struct.pack("<I", size)
    return b"\x93NUMPY" + version + packed + header + data


def described(descr="'<f4'", order="False", shape="(2,)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


GOOD = npy(described(), bytes(8))


def arrays():
    yield "no magic", b"NUMPY" + GOOD
    yield "version 9", npy(described(), bytes(8), b"\x09\x00")
    yield "a header longer than the file", npy(described(), b"", nbytes=60000)
    yield "a header of 4 GiB", npy(described(), b"", b"\x02\x00", 0xFFFFFFFF)
    yield "no data", npy(described(shape="(1000000000,)"))
    yield "2^64 bytes", npy(described(shape="(4294967296, 4294967296)"), bytes(8))
    yield "2^200 elements", npy(described(shape="(" + "99999, " * 12 + ")"), bytes(8))
    yield "a dim of 100 digits", npy(described(shape="(" + "9" * 100 + ",)"), bytes(8))
    yield "a dim below zero", npy(described(shape="(-2,)"), bytes(8))
    yield "a dim that is NaN", npy(described(shape="(nan,)"), bytes(8))
    yield "a float for a dim", npy(described(shape="(2.0,)"), bytes(8))
    yield "1000 axes", npy(described(shape="(" + "1, " * 1000 + ")"), bytes(8))
    yield "nested shapes", npy(described(shape="(" * 10000 + ")" * 10000), bytes(8))
    yield "an object dtype", npy(described(descr="'|O'"), bytes(8))
    yield "a structured dtype", npy(described(descr="[('a', '<f4')]"), bytes(8))
    yield "a dtype of 10000 levels", npy(described(descr="[" * 10000), bytes(8))
    yield "no shape", npy("{'descr': '<f4', 'fortran_order': False, }\n", bytes(8))
    yield "a field twice", npy("{'descr': '<f4', 'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n", bytes(8))
    yield "no header", npy("", bytes(8))
    yield "binary in the header", npy(bytes(range(256)), bytes(8))
    for n in range(0, len(GOOD), 7):
        yield f"npy cut at {n}", GOOD[:n]


def entry(name, data, crc=None, method=0, size=None, stored=None, offset=None, flags=0):
    return {"name": name, "data": data, "crc": zlib.crc32(data) if crc is None else crc, "method": method,
            "size": len(data) if size is None else size, "stored": len(data) if stored is None else stored,
            "offset": offset, "flags": flags}


def archive(entries, count=None, directory_offset=None, comment=b""):
    out, directory = b"", b""
    for e in entries:
        at = len(out)
        name = e["name"] if isinstance(e["name"], bytes) else e["name"].encode()
        fields = (e["flags"], e["method"], 0, 0, e["crc"], e["stored"], e["size"], len(name), 0)
        out += b"PK\x03\x04" + struct.pack("<HHHHHIIIHH", 20, *fields) + name + e["data"]
        directory += (b"PK\x01\x02" + struct.pack("<HHHHHHIIIHHHHHII", 20, 20, *fields, 0, 0, 0, 0,
                                                    at if e["offset"] is None else e["offset"]) + name)
    n = len(entries) if count is None else count
    at = len(out) if directory_offset is None else directory_offset
    return out + directory + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, n & 0xFFFF, n & 0xFFFF, len(directory), at, len(comment)) + comment


def archives():
    yield "a wrong checksum", archive([entry("a.npy", GOOD, crc=1)])
    yield "overlapping entries", archive([entry("a.npy", GOOD), entry("b.npy", GOOD, offset=0)])
    yield "an entry outside", archive([entry("a.npy", GOOD, offset=0xFFFFFF00)])
    yield "an entry longer than the file", archive([entry("a.npy", GOOD, size=0xFFFFFFF0, stored=0xFFFFFFF0)])
    yield "a deflated bomb", archive([entry("a.npy", zlib.compress(bytes(1 << 20))[2:-4], method=8, size=0xFFFFFFFF)])
    yield "an unknown method", archive([entry("a.npy", GOOD, method=99)])
    yield "an encrypted entry", archive([entry("a.npy", GOOD, flags=1)])
    yield "a name twice", archive([entry("a.npy", GOOD), entry("a.npy", GOOD)])
    yield "65535 entries claimed", archive([entry("a.npy", GOOD)], count=65535)
    yield "a directory outside", archive([entry("a.npy", GOOD)], directory_offset=0xFFFFFF00)
    yield "a directory in itself", archive([entry("a.npy", GOOD)], directory_offset=1)
    yield "no entries", archive([])
    yield "a broken array inside", archive([entry("a.npy", GOOD[:-3])])
    whole = archive([entry("a.npy", GOOD)])
    for n in range(0, len(whole), 17):
        yield f"npz cut at {n}", whole[:n]


def check_arrays(k):
    write("good.npy", GOOD)
    program = write("two.baton", HEAD + "def @main(%x: Tensor[(2), float32]) { add(%x, 1f) }\n")
    for name, content in arrays():
        path = write("bad.npy", content)
        k.refused(name, ["compare", path, "good.npy"], "bad.npy")
        k.refused(name, ["run", program, "-i", path], "bad.npy")
    for name, content in archives():
        path = write("bad.npz", content)
        k.refused(name, ["run", program, "-i", path + ":a"], "bad.npz")
    text = write("weights.baton", HEAD + '#[weights = "bad.npz"]\ndef @main() { const[(2), float32]{data "a"} }\n')
    for name, content in archives():
        write("bad.npz", content)
        k.refused(name, ["opt", text], "bad.npz")


# ---- ONNX ----

def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, content):
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def value(name, dims=(2,), dtype=1):
    shape = b"".join(field(1, field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, shape)))


def node(op, inputs, outputs, *more):
    return field(1, b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(4, op) + b"".join(more))


def external(location, offset=None, length=None):
    pairs = [("location", location)] + ([("offset", offset)] if offset else []) + ([("length", length)] if length else [])
    return b"".join(field(13, field(1, k) + field(2, v)) for k, v in pairs) + field(14, 1)


def tensor(name, dims=(2,), dtype=1, data=b""):
    return field(5, b"".join(field(1, d) for d in dims) + field(2, dtype) + field(8, name) + data)


def model(*parts, output="y", version=8, opset=13):
    graph = field(2, "g") + b"".join(parts) + field(11, value("x")) + field(12, value(output))
    return field(1, version) + field(8, field(2, opset)) + field(7, graph)


def attribute(name, *parts):
    return field(5, field(1, name) + b"".join(parts))


def nested_graphs(depth):
    """If in If in If ..."""
    inner = field(2, "g") + node("Relu", ["x"], ["z"]) + field(12, value("z"))
    for _ in range(depth):
        branches = attribute("then_branch", field(6, inner), field(20, 5)) + attribute("else_branch", field(6, field(2, "g")), field(20, 5))
        inner = field(2, "g") + node("If", ["c"], ["z"], branches) + field(12, value("z"))
    return model(node("If", ["c"], ["y"], attribute("then_branch", field(6, inner), field(20, 5))))


RELU = node("Relu", ["x"], ["y"])
ADD = node("Add", ["x", "w"], ["y"])


def models():
    yield "a cycle", model(node("Relu", ["b"], ["a"]), node("Relu", ["a"], ["b"]), node("Relu", ["b"], ["y"]))
    yield "a node of itself", model(node("Relu", ["y"], ["y"]))
    yield "an output twice", model(RELU, RELU)
    yield "an unknown input", model(node("Relu", ["nothing"], ["y"]))
    yield "an output that nobody gives", model(RELU, output="z")
    yield "an unknown operator", model(node("NoSuchOperator", ["x"], ["y"]))
    yield "graphs of 200 levels", nested_graphs(200)
    yield "a tensor of 2^62 elements", model(tensor("w", (1 << 31, 1 << 31), data=field(9, bytes(8))), ADD)
    yield "a tensor of 2^126 elements", model(tensor("w", (1 << 62, 1 << 62), data=field(9, bytes(8))), ADD)
    yield "a dim below zero", model(tensor("w", (-2,), data=field(9, bytes(8))), ADD)
    yield "too few bytes", model(tensor("w", (1000,), data=field(9, bytes(8))), ADD)
    yield "too many bytes", model(tensor("w", (1,), data=field(9, bytes(800))), ADD)
    yield "an element type of 99", model(tensor("w", (2,), 99, data=field(9, bytes(8))), ADD)
    yield "1000 axes", model(tensor("w", (1,) * 1000, data=field(9, bytes(4))), ADD)
    for name, location in (("above", "../secret"), ("absolute", "/etc/passwd"), ("a link", "secret_link"), ("deep above", "a/../../secret"),
                           ("gone", "gone.bin"), ("a folder", "."), ("empty", ""), ("a pipe", "pipe"), ("of 100 kB", "x" * 100000)):
        yield "external data " + name, model(tensor("w", data=external(location)), ADD)
    yield "external data beyond the end", model(tensor("w", data=external("weights.bin", "8", "8")), ADD)
    yield "external data from 2^64", model(tensor("w", data=external("weights.bin", "18446744073709551615", "8")), ADD)
    yield "external data from -1", model(tensor("w", data=external("weights.bin", "-1", "8")), ADD)
    yield "external data from nan", model(tensor("w", data=external("weights.bin", "nan", "8")), ADD)
    yield "opset 9999", model(RELU, opset=9999)
    yield "a length of 2^63", field(1, 8) + varint(7 << 3 | 2) + varint(1 << 63)
    yield "a number without an end", field(1, 8) + varint(7 << 3 | 2) + b"\xff" * 40
    yield "groups", field(1, 8) + b"\x3b" * 100000
    yield "an axis of 2^63 - 1", model(node("Softmax", ["x"], ["y"], attribute("axis", field(3, (1 << 63) - 1), field(20, 2))))
    yield "pads of 2^62", model(tensor("p", (2,), 7, field(9, struct.pack("<qq", 1 << 62, 1 << 62))), node("Pad", ["x", "p"], ["y"]))
    yield "invalid UTF-8 in a name", model(node(b"\xff\xfe", ["x"], ["y"]))
    yield "fill of 2^60", model(tensor("s", (1,), 7, field(9, struct.pack("<q", 1 << 60))), node("ConstantOfShape", ["s"], ["f"]), node("Exp", ["f"], ["y"]))
    whole = model(tensor("w", data=field(9, bytes(8))), ADD)
    for n in range(1, len(whole), 9):
        yield f"model cut at {n}", whole[:n]


NEED_NOT_FAIL = {"fill of 2^60"}  # import alone need not compute


def check_models(k):
    os.mkdir("models")
    write("secret", bytes(8))
    write("models/weights.bin", bytes(8))
    os.symlink("../secret", "models/secret_link")
    os.mkfifo("models/pipe")
    k.works("a good model", ["import", write("models/good.onnx", model(tensor("w", data=field(9, bytes(8))), ADD))])
    k.works("external data", ["import", write("models/good.onnx", model(tensor("w", data=external("weights.bin", "0", "8")), ADD))])
    for name, content in models():
        path = write("models/bad.onnx", content)
        if name in NEED_NOT_FAIL:
            k.refused(name, ["run", path, "-i", "1"], "")
        else:
            k.refused(name, ["import", path], "bad.onnx")
            k.refused(name, ["info", path], "bad.onnx")


# ---- pipelines and manifests ----

def pipelines():
    def pipeline(**fields):
        return json.dumps(dict({"name": "p", "doc": "P."}, **fields))
    nested = '{"sequence": [' * 10000
    deep = '{"name": "p", "doc": "P.", "sequence": ['
    yield "10000 levels of sequences", deep + nested
    yield "10000 levels of arrays", "[" * 10000 + "]" * 10000
    yield "a million repeats", pipeline(sequence=[{"repeat": 1000000, "sequence": ["dead-code"]}])
    yield "nested repeats", deep + '{"repeat": 1000, "sequence": [' * 30 + '"dead-code"' + "]}" * 30 + "]}"
    yield "an unknown pass", pipeline(sequence=["no-such-pass"])
    yield "a sequence that is none", pipeline(sequence={"a": 1})
    yield "a number of 400 digits", '{"name": "p", "doc": "P.", "level": ' + "9" * 400 + ', "sequence": []}'
    yield "a level below zero", pipeline(level=-1, sequence=[])
    yield "a field twice", '{"name": "p", "name": "q", "doc": "P.", "sequence": []}'
    yield "invalid UTF-8", b'{"name": "\xff", "doc": "P.", "sequence": []}'
    yield "a zero in a string", '{"name": "a\\u0000b", "doc": "P.", "sequence": []}'
    yield "half a surrogate", '{"name": "\\ud800", "doc": "P.", "sequence": []}'
    yield "an option of a megabyte", pipeline(sequence=[{"pass": "dead-code", "options": {"x" * 1000000: 1}}])
    yield "nothing", ""
    yield "a cut", pipeline(sequence=["dead-code"])[:-4]
    yield "a lone null", "null"


def check_pipelines(k):
    program = write("one.baton", HEAD + "def @main(%x: int32) { %x }\n")
    for name, content in pipelines():
        path = write("bad.json", content)
        k.refused(name, ["pipeline", "check", path], "bad.json")
        k.refused(name, ["opt", program, "--pipeline", path], "bad.json")
    for line in ("dead-code, " * 100 + "no-such-pass", "dead-code{" * 10000, "dead-code{x=" + "[" * 100000, "(" * 100000,
                 "dead-code" + "," * 100000 + "!", "\xff" * 100):
        k.refused("a line", ["opt", program, "--passes", line], "<passes>:1:")


def manifests():
    def manifest(**fields):
        m = {"id": "org.example.bad", "version": "0.1.0", "license": "x", "doc": "Bad.", "abi": {"major": 0, "needs": 1, "built": 1},
             "binaries": [{"path": "bad.so", "os": "linux", "arch": os.uname().machine}], "provides": {}}
        m.update(fields)
        return json.dumps(m)
    machine = os.uname().machine
    yield "10000 levels", "[" * 10000
    yield "a library above", manifest(binaries=[{"path": "../secret.so", "os": "linux", "arch": machine}])
    yield "a library by an absolute path", manifest(binaries=[{"path": "/lib/x86_64-linux-gnu/libc.so.6", "os": "linux", "arch": machine}])
    yield "an ABI of 2^40", manifest(abi={"major": 1 << 40, "needs": 1, "built": 1})
    yield "an ABI below zero", manifest(abi={"major": -1, "needs": 1, "built": 1})
    yield "provides that is a list", manifest(provides=[1])
    yield "an empty id", manifest(id="")
    yield "an id of a megabyte", manifest(id="x" * 1000000)
    yield "an id with slashes", manifest(id="../../etc")
    yield "invalid UTF-8", manifest().encode().replace(b"Bad.", b"\xff\xfe")
    yield "a cut", manifest()[:-10]
    yield "nothing", ""


def check_manifests(k):
    os.makedirs("plugins")
    os.environ["BATON_PLUGIN_ONLY"] = os.path.abspath("plugins")
    for name, content in manifests():
        write("plugins/bad.baton.json", content)
        k.ncase += 1
        result = k.run(["plugin", "list"])
        said = (result.stdout + result.stderr).decode("utf-8", "replace")
        if result.returncode not in (0, 1) or "bad.baton.json" not in said or "Sanitizer" in said:
            k.fault(name, ["plugin", "list"], f"expected a refusal that names the manifest, found {said[:300]}", result)
    write("plugins/bad.baton.json", next(content for name, content in manifests() if name == "a library above"))
    k.refused("a refused plugin", ["plugin", "check", "org.example.bad"], "")
    write("plugins/bad.baton.json", "{")
    k.refused("a plugin whose manifest is cut", ["plugin", "check", "bad"], "plugin bad is refused: expected a string in double quotes, found the end")
    del os.environ["BATON_PLUGIN_ONLY"]


def main():
    k = bad_input.Kit(sys.argv[1], "sanitized" in sys.argv[2:])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for check in (check_texts, check_arrays, check_models, check_pipelines, check_manifests):
            check(k)
        os.chdir("/")
    return k.end()


sys.exit(main())
