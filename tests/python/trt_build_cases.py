# SPDX-License-Identifier: Apache-2.0
"""Calibration and networks of the module tensorrt, at the level of OCTET_TENSORRT_VERSION."""

import gc
import json

import harness
import numpy as np
from harness import DIGITS
from trt_support import EXPLICIT, Calibrator, Case, digits, pointers, trt


class Calibration(Case):
    def test_a_calibrator_builds_an_int8_engine(self):
        calibrator = Calibrator(pointers())
        plan = self.calibrated(calibrator)
        self.assertIs(self.config.int8_calibrator, calibrator)
        self.assertEqual(calibrator.calls, ["size", "read"] + ["batch"] * 21 + ["write"])
        self.assertEqual(calibrator.names, ["image"])
        self.assertTrue(calibrator.written.startswith(b"TRT-") and b"-EntropyCalibration2\nimage: " in calibrator.written)
        context = self.engine(plan).create_execution_context()
        images, logits = digits("test", 64), np.zeros((64, 10), np.float32)
        context.set_input_shape("image", images.shape)
        self.assertTrue(context.execute_v2([images.ctypes.data, logits.ctypes.data]))
        self.assertGreater((logits.argmax(1) == np.load(DIGITS / "digits.npz")["test_labels"][:64]).mean(), 0.95)
        again = Calibrator([], cache=calibrator.written)
        from_cache = self.calibrated(again)
        self.assertEqual(again.calls, ["size", "read"])
        self.assertEqual(bytes(from_cache), bytes(self.calibrated(Calibrator([], cache=bytearray(calibrator.written)))))
        self.assertEqual(self.log.errors(), [])

    def test_arrays_instead_of_pointers(self):
        images = digits("train", 200)
        from_arrays = self.calibrated(Calibrator([images[i : i + 10]] for i in range(0, 200, 10)))
        self.assertEqual(bytes(from_arrays), bytes(self.calibrated(Calibrator(pointers()))))

        class Lazy:
            def __init__(self, first):
                self.first = first

            def __len__(self):
                return 1

            def __getitem__(self, i):
                if i != 0:
                    raise IndexError
                return images[self.first : self.first + 10].copy()
        lazy = Calibrator(Lazy(i) for i in range(0, 200, 10))
        self.assertEqual(bytes(self.calibrated(lazy)), bytes(from_arrays))

    def test_batches_of_another_size_than_is_read_are_told(self):
        for size, told in ((10, False), (1, True)):
            self.log.lines.clear()
            self.calibrated(Calibrator(pointers(), size=size))
            warned = [line for _, line in self.log.lines if f"the calibrator's batch size is {size}, and input 'image'" in line]
            self.assertEqual(len(warned), int(told))

    def test_every_kind(self):
        algorithm = trt.CalibrationAlgoType
        kinds = {trt.IInt8EntropyCalibrator: algorithm.ENTROPY_CALIBRATION, trt.IInt8EntropyCalibrator2: algorithm.ENTROPY_CALIBRATION_2,
                 trt.IInt8MinMaxCalibrator: algorithm.MINMAX_CALIBRATION, trt.IInt8LegacyCalibrator: algorithm.LEGACY_CALIBRATION,
                 trt.IInt8Calibrator: algorithm.MINMAX_CALIBRATION}
        caches = {}
        for base, expected in kinds.items():
            self.assertTrue(issubclass(base, trt.IInt8Calibrator))
            members = {name: value for name, value in vars(Calibrator).items() if callable(value) and name != "__init__"}
            members |= {"get_quantile": lambda _: 0.999, "get_regression_cutoff": lambda _: 1.0, "read_histogram_cache": lambda *_: None,
                        "write_histogram_cache": lambda *_: None}
            if base is trt.IInt8Calibrator:
                members["get_algorithm"] = lambda _: algorithm.MINMAX_CALIBRATION
            calibrator = type("Derived", (base,), members)()
            calibrator.batches, calibrator.cache, calibrator.size, calibrator.calls = pointers(5), None, 10, []
            self.assertEqual(calibrator.get_algorithm(), expected)
            self.assertIsNotNone(self.calibrated(calibrator), self.log.errors())
            caches[base] = calibrator.written.split(b"\n", 1)[1]
        self.assertEqual(caches[trt.IInt8Calibrator], caches[trt.IInt8MinMaxCalibrator])
        self.assertNotEqual(caches[trt.IInt8EntropyCalibrator2], caches[trt.IInt8MinMaxCalibrator])

    def refused(self, calibrator, *words):
        self.log.lines.clear()
        self.assertIsNone(self.calibrated(calibrator))
        errors = self.log.errors()
        self.assertEqual(len(errors), 1, errors)
        for word in words:
            self.assertIn(word, errors[0])

    def test_obeying_nothing_is_said_once(self):
        self.config.set_flag(trt.BuilderFlag.OBEY_PRECISION_CONSTRAINTS)
        self.assertIsNotNone(self.built())
        self.assertEqual([text for _, text in self.log.lines if "obey" in text.lower()],
                         ["kOBEY_PRECISION_CONSTRAINTS is set, and no layer has a precision or type of output: it binds nothing"])

    def test_wrong_calibrators_are_one_message_each(self):
        good = digits("train", 10)

        def broken():
            raise OSError("no such folder")
        self.refused(Calibrator([]), "before the first sample")
        self.refused(Calibrator([[]]), "before the first sample")
        self.refused(Calibrator([[0]]), "Tensor `image` is bound to nullptr")
        self.refused(Calibrator([[1, 2]]), "2 pointers", "1 inputs")
        self.refused(Calibrator([[17]]), "17 is no address")
        self.refused(Calibrator([[None]]), "get_batch", "NoneType")
        self.refused(Calibrator([17]), "neither None nor a list")
        self.refused(Calibrator([["text"]]), "get_batch")
        self.refused(Calibrator([[good[:, :, ::2]]]), "not contiguous", "ascontiguousarray")
        self.refused(Calibrator([[good.astype(np.float64)]]), "5120 bytes", "needs 2560")
        self.refused(Calibrator([[good[:5]]]), "1280 bytes", "needs 2560")
        self.refused(Calibrator([broken]), "Calibrator.get_batch(): OSError: no such folder")
        self.refused(Calibrator(pointers(), cache=17), "read_calibration_cache")
        unreadable = Calibrator(pointers(), cache=b"TRT-8601-EntropyCalibration2\nimage: what is this\n")
        self.refused(unreadable, "line 2: tensor 'image'", "writeCalibrationCache() is not called")
        self.assertEqual((unreadable.calls[:2], unreadable.written), (["size", "read"], None))
        self.refused(Calibrator(pointers(), size="ten"), "get_batch_size")
        self.refused(type("Empty", (trt.IInt8MinMaxCalibrator,), {})(), "get_batch_size")

    def test_constraints_and_ranges(self):
        network = self.parsed()
        self.config.flags |= 1 << int(trt.BuilderFlag.INT8) | 1 << int(trt.BuilderFlag.OBEY_PRECISION_CONSTRAINTS)
        self.config.int8_calibrator = Calibrator(pointers(5))
        network[0].precision = trt.float32
        self.assertEqual([(layer.precision_is_set, layer.precision) for layer in network][:2], [(True, trt.float32), (False, trt.float32)])
        layers = json.loads(self.engine(self.built(network)).create_engine_inspector().get_engine_information(trt.LayerInformationFormat.JSON))
        self.assertIn("Layers", layers)
        tensor = network.get_input(0)
        self.assertIsNone(tensor.dynamic_range)
        tensor.dynamic_range = (-1, 1)
        self.assertEqual(tensor.dynamic_range, (-1, 1))
        with self.assertRaises(ValueError):
            tensor.dynamic_range = (1, -1)
        network[0].reset_precision()
        self.assertFalse(network[0].precision_is_set)


class Networks(Case):
    def test_layer_by_layer(self):
        network = self.builder.create_network(EXPLICIT)
        kernel = np.random.default_rng(1).normal(size=(4, 1, 3, 3)).astype(np.float32)
        x = network.add_input("x", trt.float32, (1, 1, 6, 6))
        convolution = network.add_convolution_nd(input=x, num_output_maps=4, kernel_shape=(3, 3), kernel=kernel, bias=trt.Weights())
        convolution.stride_nd = (1, 1)
        convolution.padding_nd = trt.DimsHW(1, 1)
        del kernel
        gc.collect()
        relu = network.add_activation(convolution.get_output(0), trt.ActivationType.RELU)
        pool = network.add_pooling_nd(relu.get_output(0), trt.PoolingType.MAX, (2, 2))
        pool.stride_nd = [2, 2]
        shuffle = network.add_shuffle(pool.get_output(0))
        shuffle.reshape_dims = (1, -1)
        total = network.add_reduce(shuffle.get_output(0), trt.ReduceOperation.SUM, axes=2, keep_dims=True)
        total.name = "total"
        total.get_output(0).name = "y"
        network.mark_output(total.get_output(0))
        self.assertEqual((len(network), [layer.type for layer in network][-1]), (5, trt.LayerType.REDUCE))
        self.assertEqual(convolution.get_output(0).shape, (1, 4, 6, 6))
        self.assertEqual(convolution.kernel.shape, (36,))
        self.assertEqual((pool.stride_nd, pool.type, network[-1].name), ((2, 2), trt.PoolingType.MAX, "total"))
        with self.assertRaises(IndexError):
            network[5]
        engine = self.engine(self.built(network))
        given, result = np.ones((1, 1, 6, 6), np.float32), np.zeros((1, 1), np.float32)
        self.assertTrue(engine.create_execution_context().execute_v2([given.ctypes.data, result.ctypes.data]))
        self.assertNotEqual(result[0, 0], 0)

    def test_a_layer_is_looked_at_as_what_its_type_says(self):
        network = self.builder.create_network(EXPLICIT)
        x = network.add_input("x", trt.float32, (1, 3, 4, 4))
        added = network.add_convolution_nd(x, 16, (3, 3), np.zeros((16, 3, 3, 3), np.float32))
        layer = network.get_layer(0)
        self.assertEqual((type(layer), layer, layer.type), (trt.ILayer, added, trt.LayerType.CONVOLUTION))
        layer.__class__ = trt.IConvolutionLayer
        self.assertEqual((layer.kernel_size_nd, layer.num_output_maps), ((3, 3), 16))
        for parsed in self.parsed():
            self.assertIsInstance(parsed, trt.ILayer)

    def test_builders_may_be_derived(self):
        class Builder(trt.Builder):
            def __init__(self, logger):
                super().__init__(logger)
                self.built = 0

            def build_serialized_network(self, network, config):
                self.built += 1
                return super().build_serialized_network(network, config)
        with Builder(self.log) as self.builder, self.builder.create_builder_config() as self.config:
            self.assertGreater(self.built().nbytes, 1000)
            self.assertEqual(self.builder.built, 1)
            self.assertIs(self.builder.logger, self.log)

    def test_a_loop_with_a_condition_inside(self):
        network = self.builder.create_network(EXPLICIT)
        x = network.add_input("x", trt.float32, (3, 2))
        loop = network.add_loop()
        loop.name = "rows"
        count = network.add_constant((), np.int32(3).reshape(())).get_output(0)
        limit = loop.add_trip_limit(count, kind=trt.TripLimit.COUNT)
        rows = loop.add_iterator(x, reverse=True)
        state = loop.add_recurrence(network.add_constant((2,), np.zeros(2, np.float32)).get_output(0))
        total = network.add_elementwise(state.get_output(0), rows.get_output(0), trt.ElementWiseOperation.SUM).get_output(0)
        state.set_input(1, total)
        either = network.add_if_conditional()
        either.name = "either"
        sum_of_all = network.add_reduce(total, trt.ReduceOperation.SUM, 1, False).get_output(0)
        is_much = network.add_elementwise(sum_of_all, network.add_constant((), np.float32(9).reshape(())).get_output(0),
                                          trt.ElementWiseOperation.GREATER)
        condition = either.set_condition(is_much.get_output(0))
        inside = either.add_input(total).get_output(0)
        chosen = either.add_output(network.add_unary(inside, trt.UnaryOperation.NEG).get_output(0), inside)
        out = loop.add_loop_output(chosen.get_output(0), trt.LoopOutput.CONCATENATE, axis=1)
        out.set_input(1, count)
        network.mark_output(out.get_output(0))
        self.assertEqual((loop.name, limit.loop.name, limit.kind, rows.axis, rows.reverse), ("rows", "rows", trt.TripLimit.COUNT, 0, True))
        self.assertEqual((out.kind, out.axis, condition.conditional.name), (trt.LoopOutput.CONCATENATE, 1, "either"))
        engine = self.engine(self.built(network))
        given, result = np.arange(6, dtype=np.float32).reshape(3, 2), np.zeros((2, 3), np.float32)
        context = engine.create_execution_context()
        self.assertTrue(context.execute_v2([given.ctypes.data, result.ctypes.data]))
        np.testing.assert_array_equal(result, [[4, -6, -6], [5, -8, -9]])

    def test_scale_constant_and_concatenation(self):
        network = self.builder.create_network(EXPLICIT)
        x = network.add_input("x", trt.float32, (1, 2, 2, 2))
        scale = network.add_scale(x, trt.ScaleMode.CHANNEL, np.float32([1, 2]), np.float32([2, 3]), np.ones(2, np.float32))
        constant = network.add_constant((1, 2, 2, 2), np.arange(8, dtype=np.float32))
        joined = network.add_concatenation([scale.get_output(0), constant.get_output(0)])
        joined.axis = 1
        network.mark_output(joined.get_output(0))
        np.testing.assert_array_equal(constant.weights, np.arange(8))
        engine = self.engine(self.built(network))
        given, result = np.ones((1, 2, 2, 2), np.float32), np.zeros((1, 4, 2, 2), np.float32)
        self.assertTrue(engine.create_execution_context().execute_v2([given.ctypes.data, result.ctypes.data]))
        np.testing.assert_array_equal(result[0, :2, 0, 0], [3, 5])
        np.testing.assert_array_equal(result[0, 2:].ravel(), np.arange(8))


if __name__ == "__main__":
    harness.main()
