"""The nine networks of the ONNX backend suite as text: light_text.py BATON
Each is imported with every type inferred, and printing, parsing and printing again gives the same bytes."""
import os
import subprocess
import sys

import harness



def check(program, path, folder):
    first, second = os.path.join(folder, "first.baton"), os.path.join(folder, "second.baton")
    subprocess.run([program, "import", path, "-o", first], check=True)
    subprocess.run([program, "opt", first, "--passes", "", "-o", second], check=True)
    with open(first, "rb") as file:
        text = file.read()
    with open(second, "rb") as file:
        again = file.read()
    is_typed = b"#[typed]" in text and b"?" not in text
    print(f"{os.path.basename(path)}: {len(text)} bytes, {'typed' if is_typed else 'TYPES ARE MISSING'}, "
          f"{'the same again' if text == again else 'PRINTS DIFFERENTLY'}")
    return is_typed and text == again


sys.exit(harness.check_light(check, sys.argv[1]))
