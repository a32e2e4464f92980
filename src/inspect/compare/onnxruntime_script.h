// SPDX-License-Identifier: Apache-2.0
// The other side of onnxruntime.cc: Python that runs a model in ONNX Runtime. A message is a length (u64, little endian), so many bytes
// of JSON, and the .npy files whose lengths the JSON has in "arrays". Everything wrong is answered in "error".
#pragma once

namespace octet {

inline constexpr const char* kOnnxRuntimeScript = R"py(
import sys
sys.path[:] = [folder for folder in sys.path if folder]  # no module comes from the current folder
import io, json, os, socket, struct

channel = socket.socket(fileno=os.dup(0))
reader = channel.makefile('rb')
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)


def send(answer, arrays=()):
    files = []
    for array in arrays:
        file = io.BytesIO()
        numpy.lib.format.write_array(file, numpy.asarray(array, order='C'), allow_pickle=False)
        files.append(file.getbuffer())
    text = json.dumps({**answer, 'arrays': [len(file) for file in files]}).encode()
    channel.sendall(struct.pack('<Q', len(text)) + text)
    for file in files:
        channel.sendall(file)


def receive():
    head = reader.read(8)
    if len(head) < 8:
        sys.exit(0)
    request = json.loads(reader.read(struct.unpack('<Q', head)[0]))
    files = [reader.read(length) for length in request['arrays']]
    return request, [numpy.lib.format.read_array(io.BytesIO(file), allow_pickle=False) for file in files]


def describe(values):
    return [{'name': value.name, 'type': value.type,
             'shape': [size if isinstance(size, int) else -1 for size in value.shape or []]} for value in values]


def open_session(request, arrays):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = request['threads']
    options.log_severity_level = 3
    if not request['rewrites']:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    model = arrays[0].tobytes() if arrays else request['model']
    return onnxruntime.InferenceSession(model, options, providers=['CPUExecutionProvider'])


def run(session, request, arrays):
    results = session.run(request['outputs'], dict(zip(request['inputs'], arrays)))
    for name, result in zip(request['outputs'], results):
        if not isinstance(result, numpy.ndarray) or result.dtype.kind not in 'fiub':
            raise TypeError(f"output '{name}' is no tensor of numbers")
    return results


missing = []
for module in ('numpy', 'onnxruntime'):
    try:
        globals()[module] = __import__(module)
    except Exception as error:
        missing.append(f'{module} ({error})')
if missing:
    send({'missing': ', '.join(missing), 'python': sys.executable})
    sys.exit(0)
send({'version': onnxruntime.__version__, 'python': sys.executable})
session = None
while True:
    request, arrays = receive()
    try:
        if session is None:
            session = open_session(request, arrays)
            send({'inputs': describe(session.get_inputs()), 'outputs': describe(session.get_outputs())})
        else:
            send({}, run(session, request, arrays))
    except Exception as error:
        send({'error': f'{type(error).__name__}: {error}'})
)py";

}  // namespace octet
