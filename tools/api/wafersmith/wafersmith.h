// The library: compile a model or a CSL layout, run it on a simulated wafer, read values and figures.
//
//   find_package(Wafersmith REQUIRED)
//   target_link_libraries(mine PRIVATE Wafersmith::wafersmith)
#pragma once

#include "wafersmith/array.h"
#include "wafersmith/bytes.h"
#include "wafersmith/compile.h"
#include "wafersmith/error.h"
#include "wafersmith/program.h"
#include "wafersmith/session.h"
#include "wafersmith/version.h"
