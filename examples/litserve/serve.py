# SPDX-License-Identifier: Apache-2.0
"""An engine behind LitServe, requests in batches: python serve.py digits.octet [PORT]; POST /predict {"input": [[[...]]]} of one sample."""

import sys

import litserve
import numpy as np
import octet
from fastapi.responses import JSONResponse


class EngineApi(litserve.LitAPI):
    def setup(self, device):  # in each worker
        self.context = octet.Context(octet.Engine.load(sys.argv[1]), threads=2)
        self.info = self.context.engine.inputs[0]

    def decode_request(self, request):
        try:
            sample = np.array(request["input"], self.info.dtype)
        except (KeyError, TypeError, ValueError, OverflowError, MemoryError) as error:  # whatever else is raised fails the whole batch
            return f"no array as input: {error!r}"
        return sample if sample.shape == self.info.shape[1:] else f"a sample of shape {sample.shape}; expected {self.info.shape[1:]}"

    def batch(self, samples):
        return samples

    def predict(self, samples):  # a wrong one fails alone: what LitServe is raised here fails the whole batch
        good = [sample for sample in samples if not isinstance(sample, str)]
        rows = iter(self.context.run(np.stack(good))[0] if good else ())
        return [sample if isinstance(sample, str) else next(rows) for sample in samples]

    def unbatch(self, outputs):
        return outputs

    def encode_response(self, output):
        return JSONResponse({"detail": output}, 400) if isinstance(output, str) else {"output": output.tolist()}


if __name__ == "__main__":
    server = litserve.LitServer(EngineApi(max_batch_size=8, batch_timeout=0.001), accelerator="cpu", workers_per_device=1)
    server.run(host="127.0.0.1", port=int(sys.argv[2]) if sys.argv[2:] else 8000, generate_client_file=False)
