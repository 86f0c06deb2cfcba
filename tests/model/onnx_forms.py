"""Odd forms of ONNX models, for onnx_random.py: what else a file may say without another meaning.

A form changes a model in place: other names, values stated elsewhere, parts that nothing uses. What the nodes compute stays, and so does
what is known of their results. Outputs may come behind them, and inputs of zeros: a form returns {name: array} of the outputs.
"""
import random

import numpy
import onnx
from onnx import helper, numpy_helper

ODD_NAMES = ["", " ", "a b", "0", "-1", "%x", "%0", "@main", "let", "n=3", "x=[1, 2]", "a/b.c:d", "..", "\\", "'", '"', "`", "}", "//", "\n", "\t",
             "\x01", "\x1b[31m", "\x7f", "\u00e9", "\u202e", "\U0001f600", "Tensor[(2), float32]", "output0", "v", "x" * 300]


def places_of_names(graph):
    """Where values are named: (list, position) or (message, "name")."""
    for node in graph.node:
        yield from ((names, i) for names in (node.input, node.output) for i, name in enumerate(names) if name)
    yield from ((info, "name") for infos in (graph.input, graph.output, graph.initializer, graph.value_info) for info in infos)


def other_names(pick, model):
    """Of values: odd ones, no two the same."""
    new = {}
    for holder, key in places_of_names(model.graph):
        old = holder[key] if isinstance(key, int) else holder.name
        new.setdefault(old, pick.choice(ODD_NAMES) + pick.choice(["", "\x02", ".", " ", "_"]) + str(len(new)))
        if isinstance(key, int):
            holder[key] = new[old]
        else:
            holder.name = new[old]
    return {}


def other_dims(pick, model):
    for info in model.graph.input:
        for dim in info.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_param = "\x1b[0m n=" + dim.dim_param + pick.choice(["", "+1", " * 2", "?"])
    return {}


def other_node_names(pick, model):
    """None, or one for all; texts for a reader."""
    name = pick.choice(["", "\x1b[2J", "n\n1"])
    for node in model.graph.node:
        node.name = name
        node.doc_string = "\x00\x1b]0;title\x07"
    model.producer_name = model.graph.name = "\x1b[31m\n"
    model.metadata_props.add(key="\x01", value="\xff")
    return {}


def unused(pick, model):
    """Constants and imports that nothing needs; the types of values."""
    model.graph.initializer.append(numpy_helper.from_array(numpy.zeros((0, 3), "float64"), "nobody's"))
    model.opset_import.append(helper.make_opsetid("com.example.nobody", pick.randint(1, 99)))
    typed = onnx.shape_inference.infer_shapes(model)
    model.graph.value_info.extend(typed.graph.value_info)
    return {}


def constants_by_nodes(_, model):
    """What initializers hold comes from nodes."""
    nodes = [helper.make_node("Constant", [], [tensor.name], value=tensor) for tensor in model.graph.initializer]
    nodes += model.graph.node
    del model.graph.initializer[:], model.graph.node[:]
    model.graph.node.extend(nodes)
    return {}


def typed_fields(_, model):
    """Elements as numbers in lists, not as bytes."""
    plain = [numpy_helper.to_array(tensor) for tensor in model.graph.initializer]
    for tensor, array in zip(model.graph.initializer, plain):
        flat = array.reshape(-1)
        if array.dtype == numpy.float16:
            flat = flat.view(numpy.uint16)
        elif array.dtype == bool:
            flat = flat.astype(int)
        tensor.CopyFrom(onnx.TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims))
        field = helper.tensor_dtype_to_field(tensor.data_type)
        getattr(tensor, field).extend(flat.tolist())
    return {}


def initializers_are_inputs(_, model):
    """As all were before version 4 of the format."""
    model.ir_version = 3
    for tensor in model.graph.initializer:
        model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    return {}


def more_outputs(pick, model):
    """Constants are results as they are."""
    tensors = list(model.graph.initializer)
    if not tensors:
        return {}
    tensor = pick.choice(tensors)
    model.graph.output.append(helper.make_empty_tensor_value_info(tensor.name))
    return {tensor.name: numpy_helper.to_array(tensor)}


def more_inputs(pick, model):
    """One that nothing reads, and that is a result as it is."""
    array = numpy.zeros(pick.choice([(), (0,), (1, 0, 2), (3,)]), pick.choice(["bool", "float16", "uint64", "int8", "float64"]))
    info = helper.make_tensor_value_info("unread", helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
    model.graph.input.append(info)
    if pick.random() < 0.5:
        return {}
    model.graph.output.append(info)
    return {"unread": array}


def other_order(pick, model):
    """The standard wants nodes after what they read; the importer does not."""
    nodes = list(model.graph.node)
    pick.shuffle(nodes)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return {}


def empty_operands(_, model):
    """Optional inputs and outputs at the end are left out by empty names, of which there may be as many as the operator has."""
    opset = model.opset_import[0].version
    for node in model.graph.node:
        if not onnx.defs.has(node.op_type, opset, node.domain):
            continue  # nobody takes it
        schema = onnx.defs.get_schema(node.op_type, opset, node.domain)
        for names, formal, most in ((node.input, schema.inputs, schema.max_input), (node.output, schema.outputs, schema.max_output)):
            if formal and formal[-1].option != onnx.defs.OpSchema.FormalParameterOption.Variadic:
                names.extend([""] * (most - len(names)))
    return {}


def domain_by_name(_, model):
    model.opset_import[0].domain = "ai.onnx"
    for node in model.graph.node:
        node.domain = "ai.onnx"
    return {}


def no_nodes(pick, model):
    """A graph of constants."""
    del model.graph.node[:], model.graph.output[:], model.graph.input[:]
    return more_outputs(pick, model)


# In the order in which they are applied: what reads names comes before what changes them.
FORMS = [unused, more_inputs, more_outputs, typed_fields, initializers_are_inputs, constants_by_nodes, empty_operands, other_order,
         domain_by_name, other_dims, other_node_names, other_names]
APART = {initializers_are_inputs, constants_by_nodes}  # one of these at most


def change(number, model, names):
    """Gives a model odd forms, one to three of them. names: of its outputs.

    Returns the forms' names; the outputs' names as they were, or as they are where a form adds one; what the forms add: {name: array}.
    """
    pick = random.Random(f"form {number}")
    chosen = pick.sample(FORMS, pick.randint(1, 3))
    if APART <= set(chosen):
        chosen.remove(constants_by_nodes)
    if model.graph.initializer and pick.random() < 0.04:
        chosen, names = [no_nodes, other_names], []
    added = {}
    for form in sorted(chosen, key=([no_nodes] + FORMS).index):
        added.update(form(pick, model))
    return [form.__name__ for form in chosen], names + list(added), added
