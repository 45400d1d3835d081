#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes a file as a C array: embed.py INPUT OUTPUT NAME HEADER."""

import sys

source, target, name, header = sys.argv[1:]
with open(source, 'rb') as file:
    data = file.read()
lines = [''.join(f'{byte},' for byte in data[i : i + 32]) for i in range(0, len(data), 32)]
with open(target, 'w', encoding='ascii') as file:
    file.write(f'#include "{header}"\n')
    file.write(f'const unsigned char {name}[] = {{\n' + '\n'.join(lines) + '\n};\n')
    file.write(f'const size_t {name}_bytes = sizeof({name});\n')
