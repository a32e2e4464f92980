# SPDX-License-Identifier: Apache-2.0
"""Engines behind Ray Serve.

    from ray import serve
    import octet.ray.serve
    serve.run(octet.ray.serve.Engine.bind("model.octet"), route_prefix="/")

Clients of the Open Inference Protocol (KServe's, Triton's) ask it over HTTP, other deployments by its handle. docs/ray.md has the rest.
"""

from ._serve import Engine, EngineReplica

__all__ = ["Engine", "EngineReplica"]
