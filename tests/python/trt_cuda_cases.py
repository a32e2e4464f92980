# SPDX-License-Identifier: Apache-2.0
"""The stand-ins for pycuda and cuda-python, which `import tensorrt` provides where there is no GPU: device memory is the host's."""

import sys
import unittest

import harness
import numpy as np
from trt_support import EXPLICIT, Calibrator, Case, digits, trt

STANDS_IN = trt.stand_ins_folder in sys.path


@unittest.skipUnless(STANDS_IN, "there is a GPU")
class Pycuda(Case):
    def test_memory(self):
        import pycuda.driver as cuda

        array, stream = np.arange(6, dtype=np.float32), cuda.Stream()
        memory = cuda.mem_alloc(array.nbytes)
        cuda.memcpy_htod_async(memory, array, stream)
        back = cuda.pagelocked_empty(array.shape, array.dtype)
        cuda.memcpy_dtoh_async(back, memory, stream)
        stream.synchronize()
        np.testing.assert_array_equal(back, array)
        np.testing.assert_array_equal(cuda.from_device_like(cuda.to_device(array), array), array)
        cuda.memset_d8(memory, 0, memory.size)
        cuda.memcpy_dtoh(back, memory)
        self.assertFalse(back.any())
        memory.free()
        self.assertEqual(int(memory), 0)

    def test_contexts_and_events(self):
        import pycuda.autoinit
        import pycuda.driver as cuda

        self.assertEqual((cuda.Device.count(), pycuda.autoinit.device.compute_capability()), (1, (8, 6)))
        context = cuda.Device(0).make_context()
        context.push()
        cuda.Context.synchronize()
        cuda.Context.pop()
        start, end, stream = cuda.Event(), cuda.Event(), cuda.Stream()
        start.record(stream)
        self.assertGreaterEqual(end.record(stream).time_since(start), 0)
        self.assertTrue(end.query() and stream.is_done())

    def test_what_is_wrong_is_said(self):
        import pycuda.driver as cuda

        memory, array = cuda.mem_alloc(16), np.zeros((4, 4), np.float32)
        for wrong, kind in ((lambda: cuda.memcpy_htod(memory, array), cuda.LogicError), (lambda: cuda.mem_alloc(1 << 62), cuda.MemoryError),
                            (lambda: cuda.Device(1), cuda.LogicError), (lambda: cuda.memcpy_htod(memory, array[:, 0]), ValueError),
                            (lambda: cuda.Function, AttributeError)):
            with self.assertRaises(kind) as caught:
                wrong()
            self.assertTrue(str(caught.exception))

    def test_a_calibrator(self):
        import pycuda.driver as cuda

        images = digits("train", 200)
        memory = cuda.mem_alloc(images[:10].nbytes)

        def batches():
            for i in range(0, len(images), 10):
                cuda.memcpy_htod(memory, images[i : i + 10])
                yield [memory]  # an allocation, where most give int(memory)

        calibrator = Calibrator(batches())
        self.assertGreater(self.calibrated(calibrator).nbytes, 1000)
        self.assertTrue(calibrator.written)


@unittest.skipUnless(STANDS_IN, "there is a GPU")
class CudaPython(Case):
    def test_results_are_tuples(self):
        from cuda.bindings import runtime as cudart

        array = np.arange(4, dtype=np.int32)
        error, memory = cudart.cudaMalloc(array.nbytes)
        self.assertEqual((error, error.name), (cudart.cudaError_t.cudaSuccess, "cudaSuccess"))
        kind = cudart.cudaMemcpyKind
        self.assertEqual(cudart.cudaMemcpy(memory, array, array.nbytes, kind.cudaMemcpyHostToDevice), (cudart.cudaError_t.cudaSuccess,))
        back = np.zeros_like(array)
        error, stream = cudart.cudaStreamCreate()
        cudart.cudaMemcpyAsync(back.ctypes.data, memory, back.nbytes, kind.cudaMemcpyDeviceToHost, stream)
        cudart.cudaStreamSynchronize(stream)
        np.testing.assert_array_equal(back, array)
        self.assertEqual(cudart.cudaFree(memory)[0], 0)
        error, = cudart.cudaFree(memory)
        self.assertEqual(cudart.cudaGetErrorName(error), (0, b"cudaErrorInvalidValue"))
        self.assertEqual(cudart.cudaGetDeviceProperties(0)[1].major, cudart.cudaDeviceGetAttribute(cudart.cudaDeviceAttr.cudaDevAttrComputeCapabilityMajor, 0)[1])
        with self.assertRaises(TypeError):
            cudart.cudaMalloc()

    def test_a_graph_runs_an_engine_again(self):
        """Python opens the runtime where TensorRT's library does not see its symbols."""
        from cuda.bindings import runtime as cudart

        network = self.builder.create_network(EXPLICIT)
        relu = network.add_activation(network.add_input("x", trt.float32, (1, 2)), trt.ActivationType.RELU)
        relu.get_output(0).name = "y"
        network.mark_output(relu.get_output(0))
        plan = self.builder.build_serialized_network(network, self.builder.create_builder_config())
        context = self.engine(plan).create_execution_context()
        x, y = np.float32([[-1, 1]]), np.float32([[9, 9]])
        context.set_tensor_address("x", x.ctypes.data)
        context.set_tensor_address("y", y.ctypes.data)
        _, stream = cudart.cudaStreamCreate()
        cudart.cudaStreamBeginCapture(stream, cudart.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal)
        self.assertTrue(context.execute_async_v3(int(stream)))
        self.assertEqual(y.tolist(), [[9, 9]], "captured, not run")
        _, graph = cudart.cudaStreamEndCapture(stream)
        _, made = cudart.cudaGraphInstantiate(graph, 0)
        for values, expected in (([-1, 1], [0, 1]), ([3, -3], [3, 0])):
            x[:] = values
            cudart.cudaGraphLaunch(made, stream)
            self.assertEqual(y.tolist(), [expected])
        cudart.cudaGraphExecDestroy(made)
        cudart.cudaGraphDestroy(graph)
        cudart.cudaStreamDestroy(stream)

    def test_older_names_and_the_driver(self):
        from cuda import cuda, cudart, nvrtc

        self.assertIs(cudart.cudaError_t, __import__("cuda.bindings.runtime", fromlist=["cudaError_t"]).cudaError_t)
        self.assertEqual(cuda.cuInit(0), (cuda.CUresult.CUDA_SUCCESS,))
        self.assertEqual(cuda.cuDeviceGet(0), (0, 0))
        self.assertEqual(cuda.cuDeviceGet(1)[0], cuda.CUresult.CUDA_ERROR_INVALID_DEVICE)
        self.assertEqual(cuda.cuCtxCreate(None, 0, 0)[0], cuda.CUresult.CUDA_SUCCESS)
        for module, name in ((cuda, "cuLaunchKernel"), (nvrtc, "nvrtcCreateProgram"), (cudart, "cudaLaunchKernel")):
            with self.assertRaisesRegex(AttributeError, "runs no kernels"):
                getattr(module, name)


if __name__ == "__main__":
    harness.main()
