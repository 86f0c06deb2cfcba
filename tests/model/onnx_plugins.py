"""Operators that plugins bring to ONNX models: onnx_plugins.py BATON

Plugins of C source, as `baton plugin new onnx` writes them, and models that use their operators.
"""
import json
import os
import subprocess
import sys
import tempfile

import harness

harness.need_packages("numpy", "onnx")
from onnx import TensorProto, helper, save

DOMAIN = "com.example"
CODE = """
#include <baton/onnx.h>
static void scaled(bt_onnx_node *n)
{
    const bt_value *x = n->tools->input(n, 0);
    double factor = n->tools->get_float(n, "factor", n->opset >= 3 ? 3 : 2);
    const bt_value *both[2] = { x, n->tools->number(n, x, factor) };
    n->tools->give(n, 0, n->tools->call(n, "multiply", NULL, 2, both));
}
static void refused(bt_onnx_node *n)
{
    n->tools->fail(n, BT_ERR_UNSUPPORTED, "opset %d and no more", (int)n->opset);
    n->tools->give(n, 0, n->tools->call(n, "add", NULL, 0, NULL));
}
static const bt_onnx_operator operators[] = { ROWS { 0 } };
const bt_table bt_NAME_NAME[] = { BT_ONNX_OPERATORS(operators), { 0 } };
"""


class Work:
    def __init__(self, baton, folder):
        self.baton, self.folder, self.faults = baton, folder, 0

    def run(self, *args, plugins=(), use=""):
        env = dict(os.environ, BATON_PLUGIN_PATH=":".join(os.path.join(self.folder, p) for p in plugins), BATON_PLUGIN_USE=use)
        done = subprocess.run([self.baton, *args], capture_output=True, text=True, env=env, check=False, cwd=self.folder)
        return done.returncode, done.stdout + done.stderr

    def plugin(self, name, rows):
        """A plugin of C source with these rows."""
        folder = os.path.join(self.folder, name)
        os.mkdir(folder)
        with open(os.path.join(folder, f"{name}.c"), "w") as file:
            file.write(CODE.replace("ROWS", rows).replace("NAME", name))
        manifest = os.path.join(folder, f"{name}.baton.json")
        with open(manifest, "w") as file:
            json.dump({"id": f"org.example.{name}", "version": "1.0.0", "license": "Apache-2.0", "sources": [f"{name}.c"]}, file)
        self.expect("the manifest", "", 0, "plugin", "describe", manifest, "--write")

    def model(self, node, opset=1, functions=(), imports=()):
        """A model of one node, on two numbers. Its name."""
        graph = helper.make_graph([node], "graph", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
                                  [helper.make_empty_tensor_value_info("y")])
        imports = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, opset)] + [helper.make_opsetid(d, 1) for d in imports]
        save(helper.make_model(graph, ir_version=8, opset_imports=imports, functions=functions), os.path.join(self.folder, "m.onnx"))
        return "m.onnx"

    def expect(self, what, text, code, *args, **kwargs):
        got, said = self.run(*args, **kwargs)
        if got != code or text not in said:
            print(f"{what}: exit {got}, expected {code} and \"{text}\":\n{said}")
            self.faults += 1


def node(op, **attrs):
    return helper.make_node(op, ["x"], ["y"], domain=DOMAIN, **attrs)


def main():
    with tempfile.TemporaryDirectory() as folder:
        w = Work(os.path.abspath(sys.argv[1]), folder)
        w.plugin("ours", '{ .name = "com.example.Leaky-1", .arg = "nn.leaky_relu" },'
                 '{ .name = "com.example.Scaled-1", .convert = scaled }, { .name = "com.example.Scaled-3", .convert = scaled },'
                 '{ .name = "com.example.Refused-1", .convert = refused }, { .name = "com.example.Late-15", .arg = "negative" },'
                 '{ .name = "com.example.Sum-1", .arg = "sum" }, { .name = "ai.onnx.Relu-15", .arg = "negative" },')
        w.plugin("theirs", '{ .name = "com.example.Leaky-1", .arg = "nn.relu" },')
        w.plugin("wrong", '{ .name = "com.example.Scaled" }, { .name = "com.example.Nothing-1" },'
                 '{ .name = "com.example.Near-1", .arg = "nn.relo" },')
        ours, given = {"plugins": ["ours"]}, ["-i", "x=[1,-2]"]

        def runs(what, text, proto, code=0, opset=1, functions=(), imports=(), **kwargs):
            w.expect(what, text, code, "run", w.model(proto, opset, functions, imports), *given, **(kwargs or ours))

        runs("a call with attributes", "[1, -1]", node("Leaky", alpha=0.5))
        runs("an attribute that there is not", "nn.leaky_relu has no attribute slope", node("Leaky", slope=0.5), 1)
        runs("lists and flags", "y: Tensor[(1), float32]\n  [-1]", node("Sum", axis=[0], keepdims=1))
        runs("a function", "[4, -8]", node("Scaled", factor=4.0))
        runs("its first version", "[2, -4]", node("Scaled"), opset=2)
        runs("its second version", "[3, -6]", node("Scaled"), opset=4)
        runs("a failure of its own", "Refused: opset 1 and no more", node("Refused"), 1)
        runs("an operator of the standard, from a version on", "[-1, 2]", helper.make_node("Relu", ["x"], ["y"]))
        runs("without the plugin", "operator Leaky of domain com.example, version 1, is not supported", node("Leaky"), 1, plugins=[])
        for text in ["a plugin states it by a row com.example.Leaky-1 of onnx.operator/1 (baton plugin new onnx)", "m.onnx: y:"]:
            w.expect("which says how", text, 1, "run", "m.onnx", *given)
        if w.run("run", "m.onnx", *given)[1].count("is not supported") != 1:
            print("what is not supported is said more than once")
            w.faults += 1
        runs("a domain misspelt", "of domain com.exmaple, version 1, is not supported; did you mean com.example.Leaky",
             helper.make_node("Leaky", ["x"], ["y"], domain="com.exmaple"), 1, imports=["com.exmaple"])
        runs("a domain that is not imported", "operator Leaky is of domain com.other, and the model does not say of which version: its "
             "opset_import states none for the domain", helper.make_node("Leaky", ["x"], ["y"], domain="com.other"), 1)
        runs("before the first version", "it is supported from version 15 on", helper.make_node("Late", ["x"], ["y"], domain=DOMAIN), 1)
        runs("two plugins", "by org.example.ours", node("Leaky"), 1, plugins=["ours", "theirs"])
        runs("one of two that is chosen", "[1, 0]", node("Leaky"), plugins=["ours", "theirs"],
             use="com.example.Leaky-1=org.example.theirs")
        body = helper.make_function(DOMAIN, "Scaled", ["x"], ["y"], [helper.make_node("Neg", ["x"], ["y"])], [helper.make_opsetid("", 17)])
        runs("before the model's own function", "[2, -4]", node("Scaled"), functions=[body])
        runs("the model's own function without it", "[-1, 2]", node("Scaled"), functions=[body], plugins=[])
        runs("beside a row without a version", "[2, -4]", node("Scaled"), plugins=["ours", "wrong"])
        runs("which says so", "com.example.Scaled of org.example.wrong is left out", node("Scaled"), plugins=["ours", "wrong"])
        w.expect("rows that are right", "7 operators of ONNX models, 0 with faults", 0, "plugin", "check", "org.example.ours", **ours)
        for text in ["ONNX com.example.Scaled: FAILED: its name is not DOMAIN.OPERATOR-VERSION",
                     "ONNX com.example.Nothing-1: FAILED: it states neither convert nor arg",
                     "ONNX com.example.Near-1: FAILED", "nn.relu", "3 operators of ONNX models, 3 with faults"]:
            w.expect("rows that are wrong", text, 1, "plugin", "check", "org.example.wrong", plugins=["wrong"])
        w.expect("what there is", "com.example.Scaled-3", 0, "plugin", "why", "com.example.Scaled-3", **ours)
        return w.faults != 0


if __name__ == "__main__":
    sys.exit(main())
