#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tapline-parquet: convert a CSV of pairs, as written by `tapline latency`, `client` and `run --latency`, to a Parquet file.

Types are those of the columns below, regardless of the values. The manifest beside the CSV goes into the file's
metadata, after a check that it belongs to this CSV. pyarrow converts in batches: memory does not grow with the
file."""

import argparse
import hashlib
import json
import os
import sys

INTEGER = ("packet_id time_ns latency_ns reply_ns trigger_packet reply_packet trigger_unit_ns reply_unit_ns "
           "trigger_start_bound_ns reply_start_bound_ns segments version").split()
TEXT = "trigger_interface reply_interface trigger_source reply_source".split()
BOOLEAN = "ambiguous retransmitted".split()
VERSION = 1
NEEDED = "packet_id,time_ns,latency_ns"


def fail(status, text):
    print(f"tapline-parquet: error: {text}", file=sys.stderr)
    sys.exit(status)


def load_library():
    try:
        import pyarrow
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError as missing:
        fail(2, f"the Python library pyarrow cannot be loaded: {missing}; Debian 12 has no package of it: install it in an environment "
                "of its own (python3 -m venv DIR && DIR/bin/pip install pyarrow) and run DIR/bin/python3 "
                f"{os.path.abspath(sys.argv[0])}")
    return pyarrow


def types_of(arrow):
    return ({name: arrow.int64() for name in INTEGER} | {name: arrow.string() for name in TEXT} |
            {name: arrow.bool_() for name in BOOLEAN})


def read_names(path):
    with open(path, "rb") as file:
        names = file.readline(4096).decode("ascii", "replace").strip().split(",")
    strange = [name for name in names if name not in INTEGER + TEXT + BOOLEAN]
    if strange or ",".join(names[:3]) != NEEDED:
        fail(1, f"{path}: is no CSV of pairs that this version knows: it begins with {','.join(names)[:60]!r}")
    return names


def digest(path):
    sha256 = hashlib.sha256()
    with open(path, "rb") as file:
        while part := file.read(1 << 20):
            sha256.update(part)
    return sha256.hexdigest()


def read_manifest(path):
    """Return the text of PATH.manifest.json; None if there is none."""
    beside = path + ".manifest.json"
    if not os.path.exists(beside):
        return None
    with open(beside, encoding="utf-8") as file:
        text = file.read()
    try:
        said = json.loads(text)["file"]["sha256"]
    except (ValueError, KeyError, TypeError):
        fail(1, f"{beside}: is no manifest of a file; remove it, or measure again")
    if said != digest(path):
        fail(1, f"{beside}: is of another file: its SHA-256 is not that of {path}; remove it, or measure again")
    return text


def convert(arrow, source, target):
    names, types = read_names(source), types_of(arrow)
    manifest = read_manifest(source)
    metadata = {"tapline.schema": f"tapline:pairs:{VERSION}"} | ({"tapline.manifest": manifest} if manifest else {})
    schema = arrow.schema([(name, types[name]) for name in names], metadata=metadata)
    options = arrow.csv.ConvertOptions(column_types=schema, null_values=[""], strings_can_be_null=False,
                                       true_values=["1"], false_values=["0"])
    parse = arrow.csv.ParseOptions(newlines_in_values=True)
    with arrow.csv.open_csv(source, convert_options=options, parse_options=parse) as batches, \
            arrow.parquet.ParquetWriter(target, schema, compression="zstd") as writer:
        for batch in batches:
            if "version" in names and any(version != VERSION for version in batch.column("version").unique().to_pylist()):
                fail(1, f"{source}: has lines of another version than {VERSION}; take the tapline-parquet of the program that wrote it")
            writer.write_batch(batch.cast(schema) if batch.schema != schema else batch)


def main():
    parser = argparse.ArgumentParser(prog="tapline-parquet", description="Converts a CSV of pairs of tapline to Parquet.")
    parser.add_argument("csv", metavar="PAIRS.csv", help="what --csv of tapline latency or client wrote")
    parser.add_argument("parquet", metavar="OUT.parquet", help="the file to write")
    call = parser.parse_args()
    arrow = load_library()
    part = call.parquet + ".part"
    try:
        os.umask(0o027)
        convert(arrow, call.csv, part)
        os.replace(part, call.parquet)
    except (OSError, arrow.ArrowException) as error:
        fail(1, f"{call.csv} to {call.parquet}: {error}")
    finally:
        if os.path.exists(part):
            os.remove(part)


main()
