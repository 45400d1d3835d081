#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_parquet.py CSV PARQUET: compare a file with its CSV, in the types of docs/latency.md. Requires pyarrow."""

import csv
import json
import sys

import pyarrow.parquet

FORMS = {"int64": lambda text: None if text == "" else int(text), "bool": lambda text: {"0": False, "1": True}[text], "string": str}


def main(csv_path, parquet_path):
    table = pyarrow.parquet.read_table(parquet_path)
    with open(csv_path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    forms = {field.name: FORMS[str(field.type)] for field in table.schema}
    assert list(forms) == list(rows[0]), "columns"
    assert str(table.schema.field("time_ns").type) == "int64" and str(table.schema.field("ambiguous").type) == "bool", "types"
    assert str(table.schema.field("trigger_interface").type) == "string", "types"
    assert table.to_pylist() == [{name: forms[name](text) for name, text in row.items()} for row in rows], "values"
    with open(csv_path + ".manifest.json", encoding="utf-8") as file:
        assert json.loads(table.schema.metadata[b"tapline.manifest"]) == json.load(file), "manifest"


main(*sys.argv[1:])
