"""Artifacts with random damage: damaged.py BATON COUNT [sanitized]
COUNT files with bytes changed, left out or added must be refused, or run as the whole file does. As many, with bytes of one section
changed and all checksums made to fit, must be run or refused with a message: what a section says is checked, not trusted. Code of
machines is left alone, since whoever can write it is trusted."""
import os
import random
import struct
import sys
import tempfile

import bad_input

PROGRAM = """#[version = "baton 0.1"]
def @main<n: Dim in 1..64>(%x: Tensor[(n, 3), float32]) {
    %0 = nn.dense(%x, const[(2, 3), float32]{1, 2, 3, 4, 5, 6});
    (transpose(concatenate((%0, nn.relu(%0)), axis=1)), reshape(%0, newshape=[-1]))
}
"""
INPUT = ["-i", "x=5x3xfloat32=random:1"]
HEAD = struct.Struct("<8sIIIIQ")  # magic, byte order, version, sections, checksum, bytes
ROW = struct.Struct("<IIQQ")  # kind, checksum, offset, bytes
CODE = 7


def crc_row(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


CRC = [crc_row(byte) for byte in range(256)]


def crc32c(content):
    crc = 0xFFFFFFFF
    for byte in content:
        crc = CRC[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def rows_of(content):
    count = HEAD.unpack_from(content)[3]
    return [ROW.unpack_from(content, HEAD.size + i * ROW.size) for i in range(count)]


def seal(content):
    rows = rows_of(content)
    for i, (kind, _, offset, size) in enumerate(rows):
        ROW.pack_into(content, HEAD.size + i * ROW.size, kind, crc32c(content[offset:offset + size]), offset, size)
    head = list(HEAD.unpack_from(content))
    HEAD.pack_into(content, 0, *head[:4], 0, head[5])
    head[4] = crc32c(content[:HEAD.size + len(rows) * ROW.size])
    HEAD.pack_into(content, 0, *head)


def write(content):
    with open("damaged.bta", "wb") as file:
        file.write(content)


def change(pick, content, at):
    content[at] = pick.choice([content[at] ^ 1 << pick.randrange(8), pick.randrange(256), 0, 255, (content[at] + 1) % 256])


def damage(pick, content):
    content = bytearray(content)
    way = pick.random()
    if way < 0.5:  # half of it in the header and the table
        change(pick, content, pick.randrange(256 if pick.random() < 0.5 else len(content)))
    elif way < 0.7:
        del content[pick.randrange(len(content)):]
    elif way < 0.9:
        for at in range(pick.randrange(len(content) - 8), len(content))[:pick.choice([1, 4, 8])]:
            content[at] = pick.randrange(256)
    else:
        content += bytes(pick.randrange(1, 5000))
    return content


def check_damage(k, content, count):
    """Left as they are, checksums find it."""
    whole = k.works("the whole file", ["run", "whole.bta", *INPUT]).stdout
    for number in range(count):
        write(damage(random.Random(number), content))
        result = k.refused(f"damage {number}", ["run", "damaged.bta", *INPUT], "", (0, 1))
        if result.returncode == 0 and result.stdout != whole:
            k.fault(f"damage {number}", ["run", "damaged.bta"], "expected the output of the whole file", result)


def check_sealed(k, content, count):
    """With checksums that fit, what the sections say is read."""
    nread = 0
    for number in range(count):
        pick = random.Random(number)
        damaged = bytearray(content)
        sections = [row for row in rows_of(content) if row[3] and row[0] != CODE]
        _, _, offset, size = pick.choice(sections)
        for _ in range(pick.choice([1, 1, 2])):
            change(pick, damaged, offset + pick.randrange(size))
        seal(damaged)
        write(damaged)
        result = k.refused(f"sealed damage {number}", ["run", "damaged.bta", *INPUT], "", (0, 1))
        if b"checksum" in result.stderr:
            k.fault(f"sealed damage {number}", ["run", "damaged.bta"], "expected the reader to get past the checksums", result)
        nread += result.returncode == 0
        k.refused(f"sealed damage {number}", ["info", "damaged.bta"], "", (0, 1))
    print(f"{nread} of {count} with sealed damage run")


def main():
    k = bad_input.Kit(sys.argv[1], "sanitized" in sys.argv[3:])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("p.baton", "w") as file:
            file.write(PROGRAM)
        for target in ("reference", "cpu"):
            k.works(target, ["compile", "p.baton", "--target", target, "-o", "whole.bta"])
            with open("whole.bta", "rb") as file:
                content = file.read()
            sealed = bytearray(content)
            seal(sealed)
            if sealed != content:
                raise SystemExit("damaged.py: the checksums of an artifact are other than this test makes them")
            check_damage(k, content, int(sys.argv[2]))
            check_sealed(k, content, int(sys.argv[2]))
        os.chdir("/")
    return k.end()


sys.exit(main())
