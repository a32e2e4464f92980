# SPDX-License-Identifier: Apache-2.0
"""What plugins share (IPluginResource), and the context that they are attached to: level 10 has them."""

import threading
import typing
import unittest

import harness
import numpy as np
from trt_support import EXPLICIT, LEVEL, Case, trt

if LEVEL == 10:
    import tensorrt.plugin as trtp


@unittest.skipUnless(LEVEL == 10, "of level 10")
class Resources(Case):
    def test_one_for_all_until_the_last_user(self):
        class Table(trt.IPluginResource):
            cloned, released = 0, []

            def __init__(self, values):
                trt.IPluginResource.__init__(self)
                self.values = values

            def clone(self):
                Table.cloned += 1
                trt.get_plugin_registry().get_creator("none", "1", "")  # the registry may be used
                return Table(list(self.values))

            def release(self):
                Table.released.append(self.values)

        registry = trt.get_plugin_registry()
        kept = registry.acquire_plugin_resource("table", Table([1, 2]))
        self.assertEqual((kept.values, Table.cloned), ([1, 2], 1))
        found = []
        threads = [threading.Thread(target=lambda: found.append(registry.acquire_plugin_resource("table", Table([3])))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertTrue(all(one is kept for one in found))
        for _ in range(8):
            self.assertEqual(registry.release_plugin_resource("table"), 0)
        self.assertEqual(Table.released, [])
        self.assertEqual(registry.release_plugin_resource("table"), 0)
        self.assertEqual(Table.released, [[1, 2]])
        self.assertEqual(registry.release_plugin_resource("table"), -1)
        with self.assertRaisesRegex(TypeError, "derives from IPluginResource"):
            registry.acquire_plugin_resource("table", object())

    def test_one_that_cannot_be_cloned(self):
        class Alone(trt.IPluginResource):
            def clone(self):
                raise ValueError("there is one of me")

        self.assertIsNone(trt.get_plugin_registry().acquire_plugin_resource("alone", Alone()))

    def test_plugins_are_attached_to_a_context(self):
        seen = []

        @trtp.register("quick::attached")
        def describe(x: trtp.TensorDesc) -> trtp.TensorDesc:
            return x.like()

        @trtp.impl("quick::attached")
        def compute(x: trtp.Tensor, outputs: typing.Tuple[trtp.Tensor], stream: int) -> None:
            np.asarray(outputs[0])[:] = x

        plugin_class = type(trtp.op.quick.attached.creator.create_plugin("x", trt.PluginFieldCollection(), trt.TensorRTPhase.BUILD))
        attach = plugin_class.attach_to_context
        self.addCleanup(setattr, plugin_class, "attach_to_context", attach)
        plugin_class.attach_to_context = lambda self, context: (seen.append((type(context), context.gpu_allocator, context.error_recorder)),
                                                                attach(self, context))[1]
        network = self.builder.create_network(EXPLICIT)
        layer = network.add_plugin(trtp.op.quick.attached(network.add_input("x", trt.float32, (2,))))
        network.mark_output(layer.get_output(0))
        context = self.engine(self.built(network)).create_execution_context()
        x, y = np.float32([1, 2]), np.zeros(2, np.float32)
        self.assertTrue(context.execute_v2([x.ctypes.data, y.ctypes.data]), self.log.errors())
        self.assertEqual(set(seen), {(trt.IPluginResourceContext, None, None)})


if __name__ == "__main__":
    harness.main()
