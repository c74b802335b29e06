"""Reads a trace by Perfetto's published schema and prints what a test compares, as JSON."""

import json
import sys
from collections import defaultdict

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema


def unknown(message):
    """How many fields the schema does not know, in the message and all within it."""
    count = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type is not None:
            values = value if hasattr(value, "__len__") and not hasattr(value, "ListFields") else [value]
            count += sum(unknown(inner) for inner in values)
    return count


trace = schema.Trace()
with open(sys.argv[1], "rb") as file:
    trace.ParseFromString(file.read())
tracks, open_slices, slices, clock = {}, defaultdict(list), [], None
for packet in trace.packet:
    if packet.HasField("clock_snapshot"):
        clock = packet.clock_snapshot.primary_trace_clock
    if packet.HasField("track_descriptor"):
        tracks[packet.track_descriptor.uuid] = packet.track_descriptor.name
    if not packet.HasField("track_event"):
        continue
    assert packet.timestamp_clock_id == 3, packet
    event = packet.track_event
    assert event.track_uuid in tracks, event
    if event.type == event.TYPE_SLICE_BEGIN:
        open_slices[event.track_uuid].append((event.name, packet.timestamp))
    elif event.type == event.TYPE_SLICE_END:
        name, begin = open_slices[event.track_uuid].pop()
        slices.append((name, packet.timestamp - begin))
assert not any(open_slices.values()), open_slices
print(json.dumps({"unknown_fields": unknown(trace), "primary_trace_clock": clock, "slices": slices}))
