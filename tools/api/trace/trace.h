// Static graphs from C++: all that a program needs (docs/cpp.md).
#pragma once

// IWYU pragma: begin_exports
#include "tools/api/trace/backend.h"
#include "tools/api/trace/compiled_model.h"
#include "tools/api/trace/errors.h"
#include "tools/api/trace/functions.h"
#include "tools/api/trace/layers.h"
#include "tools/api/trace/loss.h"
#include "tools/api/trace/optimizer.h"
#include "tools/api/trace/section.h"
#include "tools/api/trace/step.h"
#include "tools/api/trace/tensor.h"
// IWYU pragma: end_exports
