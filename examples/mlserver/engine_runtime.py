# SPDX-License-Identifier: Apache-2.0
"""An engine as a model of MLServer (model-settings.json names this class): mlserver start FOLDER; POST /v2/models/digits/infer, or gRPC."""

import asyncio

import octet
from mlserver import MLModel, types
from mlserver.codecs import NumpyCodec
from mlserver.errors import InferenceError
from mlserver.utils import get_model_uri


class Engine(MLModel):
    async def load(self):
        self.context = octet.Context(octet.Engine.load(await get_model_uri(self.settings)), threads=2)
        self.one = asyncio.Lock()  # a context has one run at a time
        return True

    async def predict(self, payload):
        try:
            inputs = {tensor.name: NumpyCodec.decode_input(tensor) for tensor in payload.inputs}
            async with self.one:
                results = await asyncio.to_thread(self.context.run, inputs)
        except (KeyError, TypeError, ValueError, OverflowError, octet.Error) as error:
            raise InferenceError(f"no run: {error}") from error
        outputs = [NumpyCodec.encode_output(info.name, result) for info, result in zip(self.context.engine.outputs, results)]
        return types.InferenceResponse(model_name=self.name, model_version=self.version, outputs=outputs)
