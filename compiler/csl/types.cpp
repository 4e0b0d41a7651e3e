// Interning of types. The key of a type is its printed form, with an identity for named ones, so that equal
// types meet in one map entry.
#include "compiler/csl/types.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "runtime/isa/dsd.h"

namespace cs::csl {
namespace {

constexpr std::pair<const char*, Fp16Format> kHalves[] = {
    {"f16", Fp16Format::f16}, {"bf16", Fp16Format::bf16}, {"cb16", Fp16Format::cb16}};

}  // namespace

uint64_t Type::elements() const {
  uint64_t n = 1;
  for (uint32_t d : dims) n *= d;
  return n;
}

int Type::field_index(std::string_view wanted) const {
  for (size_t i = 0; i < fields.size(); ++i)
    if (fields[i].name == wanted) return int(i);
  return -1;
}

const Field* Type::field(std::string_view wanted) const {
  const int i = field_index(wanted);
  return i < 0 ? nullptr : &fields[size_t(i)];
}

int Type::packed_bits() const {
  switch (kind) {
    case TypeKind::boolean:
      return 1;
    case TypeKind::integer:
    case TypeKind::floating:
    case TypeKind::packed:
      return bits;
    case TypeKind::enumeration:
      return element->bits;
    case TypeKind::pointer:
      return 16;
    default:
      return -1;
  }
}

TypeTable::TypeTable() : simple_(size_t(TypeKind::range) + 1) {
  using enum TypeKind;
  simple(void_, "void", 0);
  simple(undefined, "undefined", 0);
  simple(any, "anytype", 0);
  simple(enum_literal, "enum literal", 0);
  simple(boolean, "bool", 2);
  simple(comptime_int, "comptime_int", 0);
  simple(comptime_float, "comptime_float", 0);
  simple(comptime_string, "comptime_string", 0);
  simple(comptime_struct, "comptime_struct", 0);
  simple(type, "type", 0);
  simple(module, "imported_module", 0);
  for (auto [kind, name] : {std::pair{color, "color"},
                            {direction, "direction"},
                            {input_queue, "input_queue"},
                            {output_queue, "output_queue"},
                            {ut_id, "ut_id"},
                            {local_task_id, "local_task_id"},
                            {data_task_id, "data_task_id"},
                            {control_task_id, "control_task_id"}})
    simple(kind, name, 2);
  simple(mem1d_dsd, "mem1d_dsd", isa::kDsdBytes);
  simple(mem4d_dsd, "mem4d_dsd", isa::kDsd4dBytes);
  simple(fabin_dsd, "fabin_dsd", isa::kDsdBytes);
  simple(fabout_dsd, "fabout_dsd", isa::kDsdBytes);
  simple(circbuf_dsd, "circbuf_dsd", isa::kDsdRingBytes);
  simple(fifo_dsd, "fifo_dsd", 0);  // known at comptime, its registers are set before the start
  for (auto [kind, name] : {std::pair{dsr_dest, "dsr_dest"},
                            {dsr_src0, "dsr_src0"},
                            {dsr_src1, "dsr_src1"},
                            {dsr_fifo_dest, "dsr_fifo_dest"},
                            {dsr_fifo_src1, "dsr_fifo_src1"},
                            {xdsr, "xdsr"},
                            {sr, "sr"}})
    simple(kind, name, 0);
  simple(range, "range", 0);
  f32_ = names_["f32"] = add("f32", {.kind = floating, .name = "f32", .bits = 32, .bytes = 4, .align = 4});
  for (auto [name, format] : kHalves)
    names_[name] =
        add(name, {.kind = floating, .name = name, .bits = 16, .format = format, .bytes = 2, .align = 2});
  f16_ = names_["f16"];
  names_["anyopaque"] = add("anyopaque", {.kind = void_, .name = "anyopaque"});
}

// The other formats are for values known at comptime. `f16` names the program's format whatever it is, so
// that kernels need no parameter for it.
void TypeTable::select(Fp16Format format) {
  for (auto [name, f] : kHalves)
    if (f == format) f16_ = names_[name];
  names_["f16"] = f16_;
}

Type* TypeTable::add(const std::string& key, Type type) {
  auto [it, inserted] = types_.try_emplace(key);
  if (inserted) it->second = std::make_unique<Type>(std::move(type));
  return it->second.get();
}

const Type* TypeTable::simple(TypeKind kind, const char* name, uint32_t bytes) {
  Type t{.kind = kind, .name = name, .bytes = bytes, .align = bytes ? 2u : 1u};
  return simple_[size_t(kind)] = names_[name] = add(name, t);
}

const Type* TypeTable::integer(int bits, bool is_signed) {
  const std::string name = fmt::format("{}{}", is_signed ? 'i' : 'u', bits);
  const uint32_t bytes = bits == 0    ? 0
                         : bits <= 8  ? 1
                         : bits <= 16 ? 2
                         : bits <= 32 ? 4
                         : bits <= 64 ? 8
                                      : 0;  // wider ones: comptime only
  return add(name, {.kind = TypeKind::integer,
                    .name = name,
                    .bits = uint8_t(bits),
                    .is_signed = is_signed,
                    .bytes = bytes,
                    .align = std::clamp(bytes, 1u, 4u)});
}

const Type* TypeTable::array(const Type* element, std::vector<uint32_t> dims) {
  const std::string name = fmt::format("[{}]{}", fmt::join(dims, ", "), element->name);
  Type t{.kind = TypeKind::array,
         .name = name,
         .element = element,
         .dims = std::move(dims),
         .align = element->align};
  t.bytes = uint32_t(std::min<uint64_t>(t.elements() * element->bytes, UINT32_MAX));
  return add(fmt::format("{}#{}", name, fmt::ptr(element)), t);
}

const Type* TypeTable::pointer(const Type* target, bool is_const, bool many) {
  const std::string name = fmt::format("{}{}{}", many ? "[*]" : "*", is_const ? "const " : "", target->name);
  return add(fmt::format("{}#{}", name, fmt::ptr(target)), {.kind = TypeKind::pointer,
                                                            .name = name,
                                                            .is_const = is_const,
                                                            .many = many,
                                                            .element = target,
                                                            .bytes = 2,
                                                            .align = 2});
}

const Type* TypeTable::function(std::vector<const Type*> params, const Type* result, bool is_task) {
  std::string name = is_task ? "task (" : "fn (", key;
  for (size_t i = 0; i < params.size(); ++i) {
    name += (i ? ", " : "") + params[i]->name;
    key += fmt::format("{} ", fmt::ptr(params[i]));
  }
  name += ") " + result->name;
  return add(fmt::format("{}#{}{}", name, key, fmt::ptr(result)), {.kind = TypeKind::function,
                                                                   .name = name,
                                                                   .is_task = is_task,
                                                                   .element = result,
                                                                   .params = std::move(params),
                                                                   .bytes = 2,
                                                                   .align = 2});
}

const Type* TypeTable::structure(const std::string& identity, const std::string& name,
                                 std::vector<Field> fields, bool is_union, bool is_extern) {
  Type t{.kind = TypeKind::structure,
         .name = name,
         .is_union = is_union,
         .is_extern = is_extern,
         .fields = std::move(fields)};
  bool runtime = true;
  for (Field& f : t.fields) {
    runtime &= f.type->bytes != 0;
    t.align = std::max(t.align, f.type->align);
    const uint32_t end = is_union ? 0 : t.bytes;
    f.offset = (end + f.type->align - 1) / f.type->align * f.type->align;
    t.bytes = std::max(t.bytes, f.offset + f.type->bytes);
  }
  t.bytes = runtime ? (t.bytes + t.align - 1) / t.align * t.align : 0;
  return add("struct " + identity, t);
}

const Type* TypeTable::packed(const std::string& identity, const std::string& name, std::vector<Field> fields,
                              bool is_union) {
  Type t{.kind = TypeKind::packed, .name = name, .is_union = is_union, .fields = std::move(fields)};
  for (Field& f : t.fields) {
    f.bits = uint8_t(f.type->packed_bits());
    f.bit_offset = is_union ? 0 : t.bits;
    t.bits = std::max(t.bits, uint8_t(f.bit_offset + f.bits));
  }
  t.element = integer(t.bits, false);
  t.bytes = t.bits <= 16 ? 2 : t.bits <= 32 ? 4 : (t.bits + 15u) / 16 * 2;
  t.align = t.bytes == 4 ? 4 : 2;
  return add("packed " + identity, t);
}

const Type* TypeTable::enumeration(const std::string& identity, const std::string& name, const Type* tag,
                                   std::vector<Field> fields) {
  return add("enum " + identity, {.kind = TypeKind::enumeration,
                                  .name = name,
                                  .element = tag,
                                  .fields = std::move(fields),
                                  .bytes = tag->bytes,
                                  .align = tag->align});
}

const Type* TypeTable::by_name(std::string_view name) {
  if (auto it = names_.find(name); it != names_.end()) return it->second;
  constexpr int kWidest = 128;  // of values known at comptime; 32 bits exist at run time
  if (name.size() < 2 || name.size() > 4 || (name[0] != 'i' && name[0] != 'u')) return nullptr;
  if (name[1] == '0' && name.size() > 2) return nullptr;
  int bits = 0;
  auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), bits);
  if (error != std::errc{} || end != name.data() + name.size() || bits < 0 || bits > kWidest) return nullptr;
  return integer(bits, name[0] == 'i');
}

std::vector<std::string> TypeTable::names() const {
  std::vector<std::string> out{"i8", "i16", "i32", "u8", "u16", "u32"};
  for (const auto& [name, type] : names_) out.push_back(name);
  return out;
}

bool to_data_type(const Type& t, DataType& out) {
  const bool wide = t.bytes == 4;
  if (t.kind == TypeKind::floating)
    out = wide ? DataType::f32 : DataType::f16;
  else if (t.kind == TypeKind::integer && t.bytes >= 2 && t.bytes <= 4)
    out = t.is_signed ? (wide ? DataType::i32 : DataType::i16) : (wide ? DataType::u32 : DataType::u16);
  else if (t.kind == TypeKind::packed && t.bytes <= 4)
    out = wide ? DataType::u32 : DataType::u16;
  else if (t.kind == TypeKind::boolean || t.kind == TypeKind::enumeration || t.kind == TypeKind::pointer ||
           t.is_id())
    out = wide ? DataType::u32 : DataType::u16;
  else
    return false;
  return true;
}

}  // namespace cs::csl
