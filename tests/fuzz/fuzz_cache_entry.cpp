// Any bytes as an entry of a cache: what was sealed, with the parts that it holds, or a reason. Input: the
// sealed bytes, which say for which key they are; half of the runs also get the hash that their content has,
// so that what lies behind it is read too.
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/support/files.h"
#include "tools/cache/entry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  for (const bool repaired : {false, true}) {
    if (repaired && size > 40) bytes.replace(8, 32, cs::wide_hash_text(std::string_view(bytes).substr(40)));
    const auto key = cs::cache::sealed_key(bytes);
    if (!key) continue;
    std::string why;
    const auto entry = cs::cache::unseal(*key, bytes, why);
    if (!entry) {
      if (why.empty()) __builtin_trap();
      continue;
    }
    if (cs::cache::seal(*key, entry->label, entry->value) != bytes) __builtin_trap();
    if (const auto parts = cs::cache::split_parts(entry->value))
      if (cs::cache::join_parts(*parts) != entry->value) __builtin_trap();
  }
  return 0;
}
