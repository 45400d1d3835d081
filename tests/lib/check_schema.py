#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_schema.py SCHEMA PATH...: validate every report in the files, and in the files below the directories, against the
schema. A report is JSON with "schema": "tapline:...", alone or in a page; other files are skipped. Print the number of
reports of each kind, and the errors. Exit status 1: errors; 3: python3-jsonschema is missing."""

import json
import os
import re
import sys

try:
    import jsonschema
except ImportError:
    sys.exit(3)

TAG = '<script id="report" type="application/json">'
SIGN = re.compile(r'"schema": ?"tapline:')


def files_below(path):
    if not os.path.isdir(path):
        yield path
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            yield os.path.join(folder, name)


def report_in(path):
    """Return the report in a file, or None. Large files are recognized by their beginning, or the page's script."""
    if not os.path.isfile(path) or os.path.islink(path):
        return None
    with open(path, "rb") as file:
        head = file.read(1 << 16)
        if head[:1] not in (b"{", b"<"):
            return None
        text = (head + file.read()).decode("utf-8", "replace")
    if TAG in text:
        text = text.split(TAG, 1)[1].split("</script>", 1)[0]
    if not SIGN.search(text):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None  # truncated by its test


def deepest(error):
    """Return the error of the alternative that matched furthest, if all fail."""
    while error.context:
        error = max(error.context, key=lambda one: len(one.absolute_path))
    return error


def main(schema_path, *paths):
    with open(schema_path, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    kinds, wrong = {}, []
    for path in (file for path in paths for file in files_below(path)):
        report = report_in(path)
        if not isinstance(report, dict) or "schema" not in report:
            continue
        kinds[str(report["schema"])] = kinds.get(str(report["schema"]), 0) + 1
        for error in list(map(deepest, validator.iter_errors(report)))[:5]:
            place = "/".join(map(str, error.absolute_path))
            wrong.append(f"{path}: {place}: {error.message[:300]}")
    print(" ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())))
    print("\n".join(wrong), end="")
    return 1 if wrong else 0


sys.exit(main(*sys.argv[1:]))
