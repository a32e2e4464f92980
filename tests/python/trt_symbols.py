# SPDX-License-Identifier: Apache-2.0
"""What real programs use of TensorRT's Python module, by class: names alone are of both levels, 8: and 10: of one."""

MODULE = """Logger Runtime Builder OnnxParser nptype NetworkDefinitionCreationFlag float32 MemoryPoolType BuilderFlag init_libnvinfer_plugins TensorIOMode
DataType get_plugin_registry PluginFieldCollection float16 PluginField PluginFieldType __version__ int32 ActivationType ElementWiseOperation
IInt8EntropyCalibrator2 volume MatrixOperation PoolingType LayerType TensorFormat TensorLocation Weights ICudaEngine DeviceType int8 PreviewFeature
TacticSource ILayer ProfilingVerbosity Refitter Dims4 DimsHW CalibrationAlgoType IInt8Calibrator ReduceOperation ScaleMode bool ILogger Dims2 10:int64
IOutputAllocator 10:TensorRTPhase 8:ResizeMode IBuilderConfig INetworkDefinition LayerInformationFormat QuantizationFlag Dims ITensor IHostMemory
ITimingCache Profiler PaddingMode InterpolationMode 8:SliceMode UnaryOperation IInt8MinMaxCalibrator 10:OnnxParserRefitter 10:IProgressMonitor uint8 fp8
10:bfloat16 10:int4 10:fp4 IInt8EntropyCalibrator IInt8LegacyCalibrator IExecutionContext EngineCapability OnnxParserFlag Permutation ILoop
ExecutionContextAllocationStrategy HardwareCompatibilityLevel 10:RuntimePlatform 10:TilingOptimizationLevel 10:IDebugListener 10:IStreamWriter
10:IStreamReader IProfiler IErrorRecorder IGpuAllocator IOptimizationProfile EngineInspector TopKOperation ResizeCoordinateTransformation FillOperation
GatherMode ScatterMode SampleMode IPluginCreator IPluginV2 10:IPluginV2DynamicExt 10:IPluginV3 10:IPluginResource 10:IPluginResourceContext 10:plugin 10:QuickPluginCreationRequest 10:IGpuAsyncAllocator 10:get_builder_plugin_registry
PluginFieldCollection_
10:IPluginCapability 10:IPluginV3OneCore
10:IPluginV3OneBuild 10:IPluginV3OneRuntime 10:IPluginCreatorV3One 10:DimsExprs 10:DimensionOperation 10:PluginCapabilityType 10:PluginTensorDesc
10:DynamicPluginTensorDesc"""

LAYERS = """IConvolutionLayer IActivationLayer IPoolingLayer ILRNLayer IScaleLayer ISoftMaxLayer IDeconvolutionLayer IConcatenationLayer IElementWiseLayer
IUnaryLayer IPaddingLayer IShuffleLayer IReduceLayer ITopKLayer IGatherLayer IMatrixMultiplyLayer IConstantLayer IIdentityLayer ISliceLayer IShapeLayer
IParametricReLULayer IResizeLayer ISelectLayer IFillLayer IQuantizeLayer IDequantizeLayer IScatterLayer IEinsumLayer IGridSampleLayer IOneHotLayer
INonZeroLayer INMSLayer IReverseSequenceLayer INormalizationLayer ICastLayer IAssertionLayer 10:ISqueezeLayer 10:IUnsqueezeLayer 10:ICumulativeLayer
8:IFullyConnectedLayer IPluginV2Layer 10:IPluginV3Layer IRaggedSoftMaxLayer ITripLimitLayer
IRecurrenceLayer IIteratorLayer ILoopOutputLayer IConditionLayer IIfConditionalInputLayer IIfConditionalOutputLayer"""

CLASSES = {
    "Builder": """create_network create_builder_config build_serialized_network create_optimization_profile 8:build_engine platform_has_fast_fp16
platform_has_fast_int8 8:max_batch_size 10:build_serialized_network_to_stream 10:build_engine_with_config num_DLA_cores max_threads logger error_recorder
is_network_supported reset get_plugin_registry __enter__ __exit__""",
    "IBuilderConfig": """set_memory_pool_limit set_flag add_optimization_profile 8:max_workspace_size int8_calibrator DLA_core default_device_type
create_timing_cache set_timing_cache get_tactic_sources profiling_verbosity get_timing_cache set_calibration_profile get_flag get_preview_feature
get_quantization_flag get_memory_pool_limit get_calibration_profile num_optimization_profiles engine_capability avg_timing_iterations 10:progress_monitor
can_run_on_DLA set_device_type flags builder_optimization_level clear_flag set_preview_feature set_tactic_sources set_quantization_flag
clear_quantization_flag hardware_compatibility_level max_aux_streams 10:runtime_platform 10:tiling_optimization_level __enter__ __exit__""",
    "INetworkDefinition": """get_input num_inputs mark_output get_output num_outputs add_input num_layers add_activation add_elementwise add_shuffle
get_layer add_constant add_matrix_multiply add_softmax add_convolution_nd add_concatenation add_slice add_pooling_nd unmark_output add_scale add_reduce
8:add_fully_connected add_resize 10:get_flag has_implicit_batch_dimension name add_identity add_cast add_unary add_topk add_gather add_padding_nd
add_deconvolution_nd add_shape add_parametric_relu add_select add_scale_nd add_quantize add_dequantize add_nms add_einsum add_scatter add_fill add_non_zero
add_plugin_v2 10:add_plugin_v3 10:add_plugin add_loop add_if_conditional add_normalization add_reverse_sequence add_lrn add_gather_v2 add_assertion add_grid_sample add_one_hot __len__ __getitem__ __enter__ __exit__""",
    "ILayer": """get_output precision name type num_outputs get_input num_inputs set_input set_output_type reset_precision precision_is_set
reset_output_type output_type_is_set metadata""",
    "ITensor": """name shape dtype is_shape_tensor location is_network_output dynamic_range set_dynamic_range allowed_formats is_execution_tensor
is_network_input""",
    "ICudaEngine": """create_execution_context get_tensor_name get_tensor_dtype num_io_tensors get_tensor_mode serialize 8:get_binding_dtype
8:binding_is_input get_tensor_shape 8:get_binding_shape 8:num_bindings 8:get_binding_name get_tensor_profile_shape num_optimization_profiles
8:max_batch_size 8:get_binding_index 8:get_profile_shape has_implicit_batch_dimension is_shape_inference_io create_engine_inspector get_tensor_location
get_tensor_format name num_layers refittable profiling_verbosity device_memory_size 8:__len__ __getitem__ 10:device_memory_size_v2
10:get_aliased_input_tensor get_tensor_components_per_element get_tensor_vectorized_dim 10:get_device_memory_size_for_profile_v2 __enter__ __exit__""",
    "IExecutionContext": """engine set_input_shape execute_v2 execute_async_v3 set_tensor_address get_tensor_shape 8:execute_async_v2 8:get_binding_shape
8:set_binding_shape 8:execute_async set_optimization_profile_async profiler set_output_allocator active_optimization_profile device_memory
get_tensor_address get_tensor_strides 10:update_device_memory_size_for_shapes 10:set_device_memory infer_shapes __enter__ __exit__""",
    "OnnxParser": """parse get_error num_errors parse_from_file supports_model flags set_flag clear_flag get_flag 10:supports_model_v2 10:num_subgraphs
10:get_subgraph_nodes 10:is_subgraph_supported 10:get_layer_output_tensor clear_errors __enter__ __exit__""",
    "Runtime": "deserialize_cuda_engine max_threads gpu_allocator DLA_core engine_host_code_allowed logger error_recorder __enter__ __exit__",
    "IOptimizationProfile": "set_shape get_shape set_shape_input get_shape_input __bool__",
    "Logger": "INFO VERBOSE WARNING ERROR min_severity Severity INTERNAL_ERROR log __enter__ __exit__",
    "IPluginRegistry": """get_plugin_creator plugin_creator_list 10:get_creator 10:all_creators load_library 10:register_creator 10:deregister_creator
error_recorder 10:all_creators_recursive 10:acquire_plugin_resource 10:release_plugin_resource""",
    "Refitter": "refit_cuda_engine set_named_weights get_missing_weights get_all 10:get_weights_prototype set_weights get_missing get_all_weights",
    "EngineInspector": "get_layer_information get_engine_information execution_context",
    "ITimingCache": "serialize combine",
    "IHostMemory": "nbytes __enter__ __exit__",
    "Weights": "numpy dtype size nbytes",
}


def of_level(names, level):
    """The names that a level has, and those that it must not have."""
    has, lacks = [], []
    for name in names.split():
        number, _, bare = name.rpartition(":")
        (has if number in ("", str(level)) else lacks).append(bare)
    return has, lacks
