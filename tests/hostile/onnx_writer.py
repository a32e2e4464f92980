# SPDX-License-Identifier: Apache-2.0
"""ONNX files byte by byte, for tests that run without the package onnx. Only what the hostile models need."""

import struct

FLOAT, UINT8, INT8, INT32, INT64, BOOL = 1, 2, 3, 6, 7, 9


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, value):
    """An integer, or anything with a length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def fields(number, values):
    return b"".join(field(number, value) for value in values)


def attribute(name, value):
    """An integer, integers, a float, floats, a string or a graph (bytes)."""
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    if isinstance(value, float):
        return field(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + field(20, 1)
    if isinstance(value, str):
        return field(1, name) + field(4, value) + field(20, 3)
    if isinstance(value, bytes):
        return field(1, name) + field(6, value) + field(20, 5)
    if value and isinstance(value[0], float):
        return field(1, name) + field(7, struct.pack(f"<{len(value)}f", *value)) + field(20, 6)
    return field(1, name) + fields(8, value) + field(20, 7)


def node(op, inputs, outputs, **attributes):
    written = fields(5, (attribute(name, value) for name, value in attributes.items()))
    return fields(1, inputs) + fields(2, outputs) + field(4, op) + written


def value(name, shape, dtype=FLOAT):
    dims = b"".join(field(1, field(1, dim) if isinstance(dim, int) else field(2, dim)) for dim in shape)
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, dims)))


def integers(name, values, scalar=False):
    data = b"".join(struct.pack("<q", v) for v in values)
    return tensor(name, [] if scalar else [len(values)], INT64, data)


def codes(name, values, dtype=UINT8, scalar=False):
    """Of one byte each."""
    return tensor(name, [] if scalar else [len(values)], dtype, bytes(v & 255 for v in values))


def floats(name, shape, values):
    return tensor(name, shape, FLOAT, struct.pack(f"<{len(values)}f", *values))


def tensor(name, shape, dtype, data):
    return fields(1, shape) + field(2, dtype) + field(8, name) + field(9, data)


def graph(nodes, inputs, outputs, initializers=()):
    return (fields(1, nodes) + field(2, "g") + fields(5, initializers) + fields(11, inputs) + fields(12, outputs))


def external(name, shape, dtype, location, **entries):
    """A tensor whose bytes lie in a file."""
    listed = {"location": location, **entries}
    pairs = fields(13, (field(1, key) + field(2, str(text)) for key, text in listed.items()))
    return fields(1, shape) + field(2, dtype) + field(8, name) + pairs + field(14, 1)


def sparse(name, shape, values, indices):
    """Indices into the flat tensor."""
    return field(1, floats(name, [len(values)], values)) + field(2, integers("i", indices)) + fields(3, shape)


def function(name, inputs, outputs, nodes, opset=17):
    """Of the domain `loc`."""
    imported = fields(9, [field(1, "") + field(2, opset), field(1, "loc") + field(2, 1)])
    return field(1, name) + fields(4, inputs) + fields(5, outputs) + fields(7, nodes) + imported + field(10, "loc")


def call(name, inputs, outputs):
    return node(name, inputs, outputs) + field(7, "loc")


def model(nodes, inputs, outputs, initializers=(), opset=17, functions=(), extra=b""):
    """`extra`: more fields of the graph."""
    opsets = [field(1, "") + field(2, opset), field(1, "loc") + field(2, 1), field(1, "com.microsoft") + field(2, 1)]
    body = graph(nodes, inputs, outputs, initializers) + extra
    return field(1, 8) + fields(8, opsets) + field(7, body) + fields(25, functions)
