/* SPDX-License-Identifier: Apache-2.0
 *
 * y = sign(x) * |x|^power in C, over octet/plugin.h alone. The powers of all distances between two codes are its state: building an engine
 * computes them once, and the engine keeps them.
 *
 *   cc -std=c11 -O2 -shared -fPIC -fvisibility=hidden -I include power.c -o libpower.so -lm
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "octet/plugin.h"

#define CODES 256

typedef struct {
  float power;
  float of[CODES]; /* of[d] = d^power */
} Power;

static int32_t says(int32_t status, char* message, uint64_t capacity, const char* why) {
  if (message != NULL && capacity > 0) snprintf(message, capacity, "%s", why);
  return status;
}

/* What building made comes back as `state`: from an engine file, which may hold anything. */
static int32_t create(octet_plugin_creation* c) {
  Power* p = malloc(sizeof *p);
  if (p == NULL) return says(OCTET_PLUGIN_FAILED, c->message, c->message_capacity, "no memory");
  p->power = c->attributes[0].floats[0];
  if (c->state == NULL) {
    for (int d = 0; d < CODES; ++d) p->of[d] = powf((float)d, p->power);
  } else if (c->state_bytes == sizeof p->of) {
    memcpy(p->of, c->state, sizeof p->of);
  } else {
    free(p);
    return says(OCTET_PLUGIN_REFUSED, c->message, c->message_capacity, "a state of another size");
  }
  c->instance = p;
  return OCTET_PLUGIN_OK;
}

static void destroy(const octet_plugin_operator* op, void* instance) {
  (void)op;
  free(instance);
}

static int64_t serialize(const octet_plugin_operator* op, const void* instance, void* buffer,
                         uint64_t capacity) {
  (void)op;
  const Power* p = instance;
  if (buffer != NULL && capacity >= sizeof p->of) memcpy(buffer, p->of, sizeof p->of);
  return sizeof p->of;
}

static int32_t shapes(octet_plugin_call* call) {
  call->outputs[0].rank = call->inputs[0].rank;
  memcpy(call->outputs[0].dims, call->inputs[0].dims, sizeof call->inputs[0].dims);
  return OCTET_PLUGIN_OK;
}

static int64_t elements(const octet_plugin_tensor* tensor) {
  int64_t count = 1;
  for (int32_t i = 0; i < tensor->rank; ++i) count *= tensor->dims[i];
  return count;
}

static int32_t reals(octet_plugin_call* call) {
  const Power* p = call->instance;
  const float* x = call->inputs[0].data;
  float* y = call->outputs[0].data;
  const int64_t count = elements(&call->inputs[0]);
  for (int64_t i = 0; i < count; ++i) y[i] = copysignf(powf(fabsf(x[i]), p->power), x[i]);
  return OCTET_PLUGIN_OK;
}

/* (scale * d)^power = scale^power * d^power */
static int32_t codes(octet_plugin_call* call) {
  const Power* p = call->instance;
  const octet_plugin_tensor *in = &call->inputs[0], *out = &call->outputs[0];
  const int8_t* x = in->data;
  int8_t* y = out->data;
  const float by = powf(in->scales[0], p->power) / out->scales[0];
  const int64_t count = elements(in);
  for (int64_t i = 0; i < count; ++i) {
    const int32_t d = x[i] - in->zero_points[0];
    const float code = nearbyintf((d < 0 ? -by : by) * p->of[abs(d)]) + (float)out->zero_points[0];
    y[i] = (int8_t)(code < -128 ? -128 : code > 127 ? 127 : code);
  }
  return OCTET_PLUGIN_OK;
}

static const float half[] = {0.5f};
static const octet_plugin_value by_default = {.size = sizeof by_default,
                                              .name = "power",
                                              .type = OCTET_ATTRIBUTE_FLOAT,
                                              .count = 1,
                                              .floats = half};
static const octet_plugin_attribute attributes[] = {{.size = sizeof attributes[0],
                                                     .name = "power",
                                                     .type = OCTET_ATTRIBUTE_FLOAT,
                                                     .otherwise = &by_default,
                                                     .least = 0.1,
                                                     .most = 4}};
static const octet_plugin_port
    x[] = {{.size = sizeof x[0], .name = "x", .max_rank = OCTET_PLUGIN_MAX_RANK}},
    y[] = {{.size = sizeof y[0], .name = "y", .max_rank = OCTET_PLUGIN_MAX_RANK}};
static const octet_plugin_format real[] = {{.size = sizeof real[0], .type = OCTET_TYPE_F32}},
                                 code[] = {{.size = sizeof code[0],
                                            .type = OCTET_TYPE_S8,
                                            .params = OCTET_PARAMS_PER_TENSOR}};
static const octet_plugin_combination combinations[] = {{.size = sizeof combinations[0],
                                                         .name = "reals",
                                                         .inputs = real,
                                                         .outputs = real,
                                                         .run = reals},
                                                        {.size = sizeof combinations[0],
                                                         .name = "int8",
                                                         .inputs = code,
                                                         .outputs = code,
                                                         .run = codes}};
static const octet_plugin_operator power = {.size = sizeof power,
                                            .name = "Power",
                                            .domain = "octet.examples",
                                            .version = 1,
                                            .flags = OCTET_OPERATOR_CONCURRENT,
                                            .attribute_count = 1,
                                            .attributes = attributes,
                                            .input_count = 1,
                                            .inputs = x,
                                            .output_count = 1,
                                            .outputs = y,
                                            .combination_count = 2,
                                            .combinations = combinations,
                                            .infer = shapes,
                                            .create = create,
                                            .destroy = destroy,
                                            .serialize = serialize};
static const octet_plugin_operator* const operators[] = {&power};
static const octet_plugin plugin = {.size = sizeof plugin,
                                    .abi = OCTET_PLUGIN_ABI,
                                    .name = "power",
                                    .version = "1.0",
                                    .operator_count = 1,
                                    .operators = operators};

const octet_plugin* octet_plugin_entry(const octet_plugin_host* host) {
  (void)host;
  return &plugin;
}
