# SPDX-License-Identifier: Apache-2.0
"""The execution provider on its GPU, which is the emulated one wherever there is none: sessions whose tensors lie in the GPU's memory."""

import ctypes
import os
import threading
import time
import unittest

import harness
import provider
from harness import DIGITS, digits_engine, octet, scratch
from provider import run, run_octet, same

NVIDIA = 0x10DE


def setUpModule():
    global np, onnx, ort
    np, onnx = harness.need("numpy", "onnx")
    if not os.path.exists("/dev/nvidia0"):
        emulated = harness.emulated_gpu()
        if emulated is None:
            raise unittest.SkipTest("the emulated GPU was not built")
        os.environ.update(emulated, OCTET_KERNEL_CACHE=str(scratch() / "kernels"))
    ort = provider.runtime()
    if not provider.devices("GPU"):
        raise unittest.SkipTest("there is no GPU that Octet can use")


def model():
    path = scratch() / "digits_qdq.onnx"
    if not path.exists():
        octet("export", digits_engine(), "--onnx", path)
    return path


def images(count, first=0):
    with np.load(DIGITS / "digits.npz") as digits:
        return np.ascontiguousarray(digits["train_images"][first:first + count, None].astype(np.float32) / 16)


def on_gpu(value):
    return ort.OrtValue.ortvalue_from_numpy(value, "gpu", 0, NVIDIA)


class Blocks:
    """Blocks of the provider's memory, and which of all that were ever made its driver still knows: no other process has a part in that, as it has in how
    much of the GPU is free."""

    def __init__(self):
        self.driver = ctypes.CDLL(os.environ.get("OCTET_CUDA_DRIVER", "libcuda.so.1"))
        self.sizes, context = {}, ctypes.c_void_p()
        for name, *arguments in ("cuInit", 0), ("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0), ("cuCtxSetCurrent", context):
            error = getattr(self.driver, name)(*arguments)
            assert error == 0, f"{name}: error {error}"

    def make(self, bytes_):
        block = ort.OrtValue.ortvalue_from_shape_and_type([bytes_], np.uint8, "gpu", 0, NVIDIA)
        self.sizes[block.data_ptr()] = bytes_
        return block

    def held(self):
        """Sizes of those in use and of those kept."""
        return [bytes_ for address, bytes_ in self.sizes.items() if self.is_allocated(address)]

    def is_allocated(self, address):
        memory_type, which = ctypes.c_uint(), 2  # CU_POINTER_ATTRIBUTE_MEMORY_TYPE
        error = self.driver.cuPointerGetAttribute(ctypes.byref(memory_type), which, ctypes.c_uint64(address))
        assert error in (0, 1), f"cuPointerGetAttribute: error {error}"  # 1: it is of no allocation
        return error == 0


def session(path, config=None, **of_provider):
    options = ort.SessionOptions()
    for key, value in (config or {}).items():
        options.add_session_config_entry(key, value)
    options.add_provider_for_devices(provider.devices("GPU"), {f"octet.{key}": str(value) for key, value in of_provider.items()})
    return ort.InferenceSession(str(path), options, enable_fallback=0)


class Gpu(unittest.TestCase):
    def test_memory_of_the_host_is_copied(self):
        made = session(model())
        for count in (3, 1, 9, 3):
            feeds = {"image": images(count)}
            same(self, run_octet(model(), feeds), run(made, feeds))

    def test_tensors_stay_on_the_gpu(self):
        made = session(model())
        name = made.get_outputs()[0].name
        for count in (4, 2):
            feeds = {"image": images(count)}
            binding = made.io_binding()
            binding.bind_ortvalue_input("image", on_gpu(feeds["image"]))
            out = ort.OrtValue.ortvalue_from_shape_and_type([count, 10], np.float32, "gpu", 0, NVIDIA)
            binding.bind_ortvalue_output(name, out)
            made.run_with_iobinding(binding)
            same(self, run_octet(model(), feeds), {name: out.numpy()})
            if ort.__version__.startswith("1.24."):
                continue  # whose Python names a GPU without its vendor
            # Where ONNX Runtime asks for the output's memory itself.
            binding = made.io_binding()
            binding.bind_ortvalue_input("image", on_gpu(feeds["image"]))
            binding.bind_output(name, "cuda", 0)
            made.run_with_iobinding(binding)
            got, = binding.get_outputs()
            self.assertNotEqual("cpu", got.device_name())
            same(self, run_octet(model(), feeds), {name: got.numpy()})

    def test_two_contexts_at_once(self):
        made = session(model(), streams=2)
        name = made.get_outputs()[0].name
        failures = []

        def ask(first):
            feeds = {"image": images(3, first)}
            want = wanted[first]
            binding = made.io_binding()
            binding.bind_ortvalue_input("image", on_gpu(feeds["image"]))
            out = ort.OrtValue.ortvalue_from_shape_and_type([3, 10], np.float32, "gpu", 0, NVIDIA)
            binding.bind_ortvalue_output(name, out)
            for _ in range(5):
                made.run_with_iobinding(binding)
                if out.numpy().tobytes() != want:
                    failures.append(first)

        wanted = {first: run_octet(model(), {"image": images(3, first)})[name].tobytes() for first in (0, 20, 40)}
        threads = [threading.Thread(target=ask, args=(first,)) for first in wanted]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([], failures)

    def test_observed_inputs_come_from_the_gpu(self):
        cache = scratch() / "observed.cache"
        made = session(DIGITS / "digits.onnx", int8="observe:4", calibration_cache=cache)
        binding = made.io_binding()
        for i in range(4):
            binding.bind_ortvalue_input("image", on_gpu(images(1, i)))
            binding.bind_output(made.get_outputs()[0].name, "cpu")
            made.run_with_iobinding(binding)
        for _ in range(3000):
            if cache.exists():
                break
            time.sleep(0.01)
        np.savez(scratch() / "seen.npz", image=images(4))
        octet("build", DIGITS / "digits.onnx", "--int8", "--calib", scratch() / "seen.npz", "--calib-cache", scratch() / "wanted.cache",
              "-o", scratch() / "wanted.octet", "--quiet")
        self.assertEqual((scratch() / "wanted.cache").read_bytes(), cache.read_bytes())

    def test_a_compiled_model(self):
        compiled = scratch() / "compiled.onnx"
        compiled.unlink(missing_ok=True)
        session(model(), {"ep.context_enable": "1", "ep.context_file_path": str(compiled)})
        feeds = {"image": images(3)}
        same(self, run_octet(model(), feeds), run(session(compiled), feeds))

    def test_a_foreign_node_in_the_middle(self):
        """Its memory is the host's: tensors are copied between."""
        path, feeds = provider.with_foreign_node(model()), {"image": images(9)}
        same(self, run(provider.session(path), feeds), run(session(path), feeds))

    def test_initializers_that_are_inputs(self):
        made = onnx.load(model())
        weights = next(t for t in made.graph.initializer if len(t.dims) == 4)
        made.graph.input.append(onnx.helper.make_tensor_value_info(weights.name, weights.data_type, list(weights.dims)))
        path = scratch() / "replaceable.onnx"
        onnx.save(made, path)
        made, feeds, values = session(path), {"image": images(3)}, onnx.numpy_helper.to_array(weights)
        same(self, run_octet(model(), feeds), run(made, feeds))
        same(self, run_octet(model(), feeds), run(made, {**feeds, weights.name: values}))
        with self.assertRaises(Exception) as caught:
            made.run(None, {**feeds, weights.name: np.zeros_like(values)})
        self.assertIn(f"initializer '{weights.name}'", str(caught.exception))

    def test_freed_memory_is_kept_for_the_next_run_within_bounds(self):
        mib, memory = 1 << 20, Blocks()
        blocks = [memory.make(60 * mib + i) for i in range(8)]
        self.assertEqual([60 * mib + i for i in range(8)], memory.held())
        del blocks
        kept = memory.held()
        self.assertLessEqual(sum(kept), 256 * mib)
        self.assertGreaterEqual(sum(kept), 180 * mib)
        again = memory.make(60 * mib)
        self.assertEqual(kept, memory.held())  # one of them
        del again
        one_larger = memory.make(300 * mib)
        del one_larger
        self.assertLessEqual(sum(memory.held()), 256 * mib)
        small = [memory.make(4096 + i) for i in range(100)]
        self.assertEqual(100, len(set(memory.held()) & set(range(4096, 4196))))
        del small
        self.assertLessEqual(len(memory.held()), 16)
        self.assertLessEqual(sum(memory.held()), 256 * mib)

    def test_the_processor_has_a_device_of_its_own(self):
        with self.assertRaises(Exception) as caught:
            session(model(), device="cpu")
        self.assertIn("choose the provider's CPU device", str(caught.exception))
        feeds = {"image": images(3)}
        same(self, run_octet(model(), feeds), run(provider.session(model(), device="cuda:0"), feeds))


if __name__ == "__main__":
    harness.main()
