// The two JSON files that host programs of the vendor's SDK read beside the compiled program.
#pragma once

#include "tools/api/api.h"

namespace cs::api {

// out.json: the options that the layout was compiled with.
std::string out_json(const Compiled&);
// bin/out_rpc.json: what the host may copy and call, with ids, names and types.
std::string out_rpc_json(const Program&);

}  // namespace cs::api
