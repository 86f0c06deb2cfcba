"""Images resampled to sizes that are values, against the operators with the sizes as attributes: resample.py BATON FIRST COUNT

The former is C (ops/tensor/plain/resample.h), the latter index notation; both must give the same, on interp, and on vm with a target and
without: but for what another order of a sum rounds away. The program of a number is the same on every run; the first three that give something else are printed.
"""
import random
import sys

import kit

numpy = kit.import_numpy()

CALLS = 6
MODES = ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize"]
ROUNDINGS = ["round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil", ""]
DTYPES = ["float32", "float32", "float64", "float16", "int8", "uint8", "int32", "uint64"]
WAYS = [["--executor", "interp"], ["--executor", "vm"], ["--executor", "vm", "--target", "c"]]


def image(pick, layout, space):
    extents = {"N": pick.choice([1, 2]), "C": pick.choice([1, 3])}
    extents.update({letter: pick.choice([1, 2, 3, 4, 5, 7, 9]) for letter in space})
    return [extents[letter] for letter in layout]


def resize(pick, name):
    """Lines that bind a tuple of both results, and the inputs with their values."""
    layout = pick.choice(["NCHW", "NCHW", "NHWC", "HWNC"])
    size = [pick.choice([0, 1, 2, 3, 4, 5, 6, 8, 11]) for _ in "HW"]
    mode = pick.choice(MODES)
    attrs = {"layout": layout, "method": pick.choice(["nearest_neighbor", "linear", "cubic"]), "coordinate_transformation_mode": mode,
             "rounding_method": pick.choice(ROUNDINGS)}
    words = [f'{key}="{value}"' for key, value in attrs.items()] + [f"cubic_alpha={pick.choice([-0.5, -0.75, 0.3])}f"]
    words += [f"cubic_exclude={pick.choice([0, 1])}", f"extrapolation_value={pick.choice([0, 7, -3.5])}f"]
    if pick.random() < 0.3:
        words.append(f'out_dtype="{pick.choice(DTYPES)}"')
    inputs = [(f"{name}s", f"2x{pick.choice(['int64', 'int32'])}", size)]
    given, more = f"%{name}, %{name}s", ""
    if mode == "tf_crop_and_resize":
        roi = [pick.choice([0, 0.25, -0.5, 0.1, 1, 1.375, 0.7]) for _ in range(4)]
        inputs.append((f"{name}r", "4xfloat64", roi))
        given, more = given + f", %{name}r", f", roi=[{', '.join(f'{number}f' for number in roi)}]"
    text = ", ".join(words)
    line = f"(dyn.image.resize2d({given}, {text}), image.resize2d(%{name}, size=[{size[0]}, {size[1]}]{more}, {text}))"
    return line, image(pick, layout, "HW"), inputs


def upsample(pick, name):
    scales = [pick.choice([0.25, 0.5, 1, 1.5, 1.7, 2, 3]) for _ in range(pick.choice([2, 3]))]
    space = "DHW"[-len(scales):]
    layout = pick.choice([f"NC{space}", f"N{space}C"])
    words = [f'layout="{layout}"']
    if len(scales) == 2:
        words += [f'method="{pick.choice(["nearest_neighbor", "bilinear", "bicubic"])}"', f"align_corners={pick.choice([True, False])}"]
    else:
        words += [f'method="{pick.choice(["nearest_neighbor", "trilinear"])}"', f'coordinate_transformation_mode="{pick.choice(MODES[:3])}"']
    op = "nn.upsampling" if len(scales) == 2 else "nn.upsampling3d"
    inputs = [(f"{name}{letter.lower()}", "float64", scale) for letter, scale in zip(space, scales)]
    given = ", ".join(f"%{each}" for each, _, _ in inputs)
    fixed = ", ".join(f"scale_{letter.lower()}={scale}f" for letter, scale in zip(space, scales))
    return f"(dyn.{op}(%{name}, {given}, {', '.join(words)}), {op}(%{name}, {fixed}, {', '.join(words)}))", image(pick, layout, space), inputs


class Program:
    def __init__(self, number):
        pick = random.Random(number)
        draw = numpy.random.default_rng(number)
        self.values, self.given, params, lines = {}, [], [], []
        for i in range(CALLS):
            name, dtype = "abcdef"[i], pick.choice(DTYPES)
            line, shape, inputs = pick.choice([resize, resize, upsample])(pick, name)
            lines.append(f"    %{name}_both = {line};\n")
            params.append(f"%{name}: Tensor[({', '.join(map(str, shape))}), {dtype}]")
            value = draw.uniform(-9, 9, shape)
            self.values[name] = (numpy.abs(value) if dtype[0] == "u" else value).astype(dtype)
            for each, kind, content in inputs:
                *extents, element = kind.split("x")
                params.append(f"%{each}: Tensor[({', '.join(extents)}), {element}]" if extents else f"%{each}: {element}")
                self.given += ["-i", f"{each}={content}"]
        self.text = (f'#[version = "baton 0.1"]\n\ndef @main({", ".join(params)}) {{\n' + "".join(lines) +
                     "    (" + ", ".join(f"%{name}_both" for name in "abcdef"[:CALLS]) + ")\n}\n")


def is_same(a, b):
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind != "f":  # a sum that is just below or above a half
        return numpy.allclose(a.astype("float64"), b.astype("float64"), rtol=0, atol=1)
    few = 8 * float(numpy.finfo(a.dtype).eps)
    return numpy.allclose(a, b, rtol=few, atol=9 * few, equal_nan=True)


def differs(results):
    if len(results) != 2 * CALLS:
        return f"{len(results)} results: {list(results)}"
    for name in results:
        if name.endswith(".0"):
            dynamic, fixed = results[name], results[name.replace(".0", ".1")]
            if not is_same(dynamic, fixed):
                return f"{name}:\n{dynamic}\nis to be\n{fixed}"
    return None


class Check(kit.Check):
    def check(self, number):
        program, way = Program(number), WAYS[number % len(WAYS)]
        self.write(program.text)
        results = self.results("program.baton", "--no-specialise", *way, *kit.save(program.values), *program.given)
        fault = results if isinstance(results, str) else differs(results)
        if fault:
            self.fault(number, f"{' '.join(way)}: {fault}")


check = Check()
check.check_in_folder()
print(f"{len(check.numbers)} programs, {check.nfault} give something else")
sys.exit(check.nfault > 0)
