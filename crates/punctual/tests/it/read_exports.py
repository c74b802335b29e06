# Reads what was exported with the readers that others use, and says what they saw as JSON. One argument: the folder.
import glob, json, os, re, sys, tarfile
from decimal import Decimal
import duckdb
import pyarrow.parquet
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from junitparser import JUnitXml
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus
from tap.parser import Parser
from xmlschema import XMLSchema

folder = sys.argv[1]
at = lambda name: os.path.join(folder, name)
text = lambda name: open(at(name)).read()
seen = {"hdr": {}}


def intervals(name):
    reader = HistogramLogReader(at(name), HdrHistogram(1, 3_600_000_000_000, 3))
    while (histogram := reader.get_next_interval_histogram()) is not None:
        yield histogram


for histogram in intervals("r.hlog"):
    cells = []
    for item in histogram.get_recorded_iterator():
        us = histogram.get_lowest_equivalent_value(item.value_iterated_to) // 1000
        cells.append([us, item.count_added_in_this_iter_step])
    seen["hdr"][histogram.get_tag() or ""] = cells

# Each interval of a recording: its tag, when it began and ended in milliseconds since 1970, how many values it holds.
seen["hdr_over_time"] = [
    [of.get_tag(), of.get_start_time_stamp(), of.get_end_time_stamp(), of.get_total_count()] for of in intervals("ours.hlog")
]


def metrics(families):
    all = {}
    for family in families:
        for sample in family.samples:
            if not sample.name.startswith("punctual_latency_seconds"):
                continue
            one = all.setdefault(sample.labels["series"], {})
            if sample.name.endswith("_count"):
                one["count"] = int(sample.value)
            edge = sample.labels.get("le")
            if edge == "+Inf":
                one["infinity"] = int(sample.value)
            elif edge is not None and abs(float(edge) - 20e-6) < 1e-12:
                one["20us"] = int(sample.value)
    return all


seen["prometheus"] = metrics(prometheus(text("r.prom")))
seen["openmetrics"] = metrics(openmetrics(text("r.prom")))

cases = [case for suite in JUnitXml.fromfile(at("r.xml")) for case in suite]
failed = [case for case in cases if any(type(result).__name__ == "Failure" for result in case.result)]
seen["junit"] = {"tests": len(cases), "failures": len(failed), "names": [case.name for case in cases]}

# The kernel's dialect has its own first line; the rest is TAP 14.
lines = text("r.ktap").replace("KTAP version 1", "TAP version 14", 1)
parsed = list(Parser().parse_text(lines))
tests = [line for line in parsed if line.category == "test"]
seen["ktap"] = {
    "plan": [line.expected_tests for line in parsed if line.category == "plan"],
    "unknown": sum(line.category == "unknown" for line in parsed),
    "tests": [[line.number, line.ok, line.skip, line.description.strip()] for line in tests],
}

# What LAVA's dispatcher takes: a name and words without blanks, each a key, one equals sign and a value; a result of
# its four; a name once only; a number where there is a measurement.
seen["lava"] = {}
for signal, words in re.findall(r"<LAVA_SIGNAL_(\S+) ([^>]+)>", text("r.lava")):
    assert signal == "TESTCASE", signal
    pairs = [word.split("=") for word in words.split()]
    assert all(len(pair) == 2 for pair in pairs), words
    case = dict(pairs)
    name = case["TEST_CASE_ID"]
    assert name not in seen["lava"], name
    assert case["RESULT"] in ("pass", "fail", "skip", "unknown"), words
    measured = str(Decimal(case["MEASUREMENT"])) if "MEASUREMENT" in case else None
    seen["lava"][name] = [case["RESULT"], measured, case.get("UNITS")]

# One table of all files, as of a fleet.
table = f"read_parquet('{at('*.parquet')}')"
flat = f"select run, series, unnest(histogram, recursive := true) from {table}"
seen["duckdb"] = {
    "runs": duckdb.sql(f"select run, machine, count(*)::int, sum(ran)::bigint from {table} group by all order by run").fetchall(),
    "cells": duckdb.sql(f"select run, series, sum(count)::bigint, max(high_ns) from ({flat}) group by all order by all").fetchall(),
    "types": duckdb.sql(f"select typeof(started), typeof(histogram) from {table} limit 1").fetchall()[0],
}
seen["pyarrow"] = {}
for name in sorted(os.listdir(folder)):
    if name.endswith(".parquet"):
        whole = pyarrow.parquet.read_table(at(name))
        assert whole.schema.metadata[b"punctual.schema"] == b"punctual/fleet/1"
        seen["pyarrow"][name] = {
            "columns": whole.column_names,
            "sums": [sum(cell["count"] for cell in row["histogram"]) for row in whole.to_pylist()],
        }

# A schema of such documents comes with the sources of pytest.
with tarfile.open(glob.glob(at("sources/pytest-*.tar.gz"))[0]) as archive:
    member = next(name for name in archive.getnames() if name.endswith("/junit-10.xsd"))
    schema = XMLSchema(archive.extractfile(member).read().decode())
documents = sorted(name for name in os.listdir(folder) if name.endswith(".xml"))
seen["schema"] = {name: [str(error.reason) for error in schema.iter_errors(at(name))] for name in documents}
seen["must_not_fit"] = sum(1 for _ in schema.iter_errors("<testsuites><testsuite/></testsuites>"))
print(json.dumps(seen))
