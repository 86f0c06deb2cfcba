"""What name_rnn.baton learns from nine tenths of all surnames, tried on the others: learned.py BATON LEARNS STEPS PERCENT"""
import os
import random
import subprocess
import sys
import tempfile

import gradients

RATE = 0.2


def write(path, samples):
    with open(path, "w", encoding="utf-8") as file:
        for sample, label in samples:
            file.write(f"{label} {len(sample)} {' '.join(map(str, sample))}\n")


def main():
    learns, steps, percent = os.path.abspath(sys.argv[2]), sys.argv[3], sys.argv[4]
    names = [name for name in gradients.all_names() if name[0]]
    random.Random(1).shuffle(names)
    nlearned = len(names) * 9 // 10
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write("learned", names[:nlearned])
        write("others", names[nlearned:])
        code = subprocess.run([learns, os.path.join(gradients.here, "name_rnn.baton"), "learned", steps, str(RATE), "others", percent], check=False).returncode
        os.chdir("/")
    return code


if __name__ == "__main__":
    sys.exit(main())
