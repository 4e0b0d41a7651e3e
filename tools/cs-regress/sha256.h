// SHA-256 (FIPS 180-4) of bytes in memory: golden collections name the digest of each of their files.
#pragma once

#include <string>
#include <string_view>

namespace cs {

std::string sha256_text(std::string_view bytes);  // 64 hexadecimal digits

}  // namespace cs
