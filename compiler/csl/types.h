// Types of the CSL language and their layout in PE memory.
//
// Types are interned in a TypeTable: equal types are the same pointer. A type whose `bytes` is 0 exists at
// comptime only (comptime_int, type, modules, anonymous structs before they are given a type).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/program/program.h"

namespace cs::csl {

enum class TypeKind : uint8_t {
  void_,
  undefined,
  any,
  enum_literal,
  boolean,
  comptime_int,
  comptime_float,
  comptime_string,
  comptime_struct,
  type,
  module,
  integer,
  floating,
  array,
  pointer,
  structure,  // struct and union, plain and extern
  packed,     // packed struct and packed union: the bits of one integer
  enumeration,
  function,
  color,
  direction,
  input_queue,
  output_queue,
  ut_id,
  local_task_id,
  data_task_id,
  control_task_id,
  mem1d_dsd,
  mem4d_dsd,
  fabin_dsd,
  fabout_dsd,
  circbuf_dsd,
  fifo_dsd,
  dsr_dest,
  dsr_src0,
  dsr_src1,
  dsr_fifo_dest,
  dsr_fifo_src1,
  xdsr,
  sr,
  range
};

struct Type;

struct Field {
  std::string name;
  const Type* type = nullptr;
  uint32_t offset = 0;            // bytes, in structures
  uint8_t bit_offset = 0, bits = 0;  // in packed ones
  __int128 value = 0;             // in enumerations
  const void* initial = nullptr;  // default value: the syntax node, or null
};

struct Type {
  TypeKind kind = TypeKind::void_;
  std::string name;               // as in messages
  uint8_t bits = 0;               // integer, floating, packed
  Fp16Format format{};            // floating of 16 bits
  bool is_signed = false;         // integer
  bool is_const = false;          // pointer to const
  bool many = false;              // pointer [*]T
  bool is_task = false;           // function
  bool is_union = false;          // structure, packed
  bool is_extern = false;         // structure: other variants of a union may be read
  // Array element, pointer target, integer of an enumeration or packed structure, function result.
  const Type* element = nullptr;
  std::vector<uint32_t> dims;     // array
  std::vector<const Type*> params;  // function
  std::vector<Field> fields;        // structure, enumeration
  uint32_t bytes = 0, align = 1;    // in PE memory; 0 bytes: comptime only

  bool is_int() const { return kind == TypeKind::integer || kind == TypeKind::comptime_int; }
  bool is_float() const { return kind == TypeKind::floating || kind == TypeKind::comptime_float; }
  bool is_number() const { return is_int() || is_float(); }
  bool is_dsd() const { return kind >= TypeKind::mem1d_dsd && kind <= TypeKind::fifo_dsd; }
  bool is_dsr() const { return kind >= TypeKind::dsr_dest && kind <= TypeKind::dsr_fifo_src1; }
  // Small enumerated values that are 16-bit words at run time: colors, queues, task ids, directions.
  bool is_id() const { return kind >= TypeKind::color && kind <= TypeKind::control_task_id; }
  bool is_task_id() const { return kind >= TypeKind::local_task_id && kind <= TypeKind::control_task_id; }
  bool is_aggregate() const {
    return kind == TypeKind::array || kind == TypeKind::structure || (kind == TypeKind::packed && bytes > 4);
  }
  bool has_fields() const { return kind == TypeKind::structure || kind == TypeKind::packed; }
  // Bits in a packed structure; -1: cannot be in one.
  int packed_bits() const;
  // An integer of 33 to 64 bits: two words in memory, never in registers as a whole (ops_int64.cpp).
  bool is_int64() const { return kind == TypeKind::integer && bytes == 8; }
  // Fits registers: one (2 bytes or less) or a pair (4 bytes).
  bool is_scalar() const { return bytes != 0 && !is_aggregate() && !is_dsd() && !is_int64(); }
  bool is_pair() const { return is_scalar() && bytes == 4; }
  uint64_t elements() const;
  const Field* field(std::string_view name) const;
  int field_index(std::string_view name) const;  // -1: none
};

class TypeTable {
 public:
  TypeTable();

  const Type* get(TypeKind kind) const { return simple_[size_t(kind)]; }
  const Type* integer(int bits, bool is_signed);
  const Type* f16() const { return f16_; }  // the 16-bit format of the program
  void select(Fp16Format);                  // before anything is compiled
  const Type* f32() const { return f32_; }
  const Type* array(const Type* element, std::vector<uint32_t> dims);
  const Type* pointer(const Type* target, bool is_const, bool many);
  const Type* function(std::vector<const Type*> params, const Type* result, bool is_task);
  // Named or anonymous structures and enumerations: `identity` tells equal-looking ones apart.
  const Type* structure(const std::string& identity, const std::string& name, std::vector<Field> fields,
                        bool is_union = false, bool is_extern = false);
  // Fields whose packed_bits() are known, from the lowest bit on; those of a union lie over one another.
  const Type* packed(const std::string& identity, const std::string& name, std::vector<Field> fields,
                     bool is_union);
  const Type* enumeration(const std::string& identity, const std::string& name, const Type* tag,
                          std::vector<Field> fields);
  // Names of the language: "u16", "f32", "color", "mem1d_dsd" …; null if it is no type name.
  const Type* by_name(std::string_view name);
  std::vector<std::string> names() const;  // for suggestions

 private:
  Type* add(const std::string& key, Type type);
  const Type* simple(TypeKind kind, const char* name, uint32_t bytes);

  std::map<std::string, std::unique_ptr<Type>, std::less<>> types_;
  std::vector<const Type*> simple_;
  std::map<std::string, const Type*, std::less<>> names_;
  const Type *f16_ = nullptr, *f32_ = nullptr;
};

// The host's view of an element type; false for types the host cannot copy.
bool to_data_type(const Type&, DataType& out);

}  // namespace cs::csl
