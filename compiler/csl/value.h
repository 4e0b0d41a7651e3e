// Values of the evaluator: known at comptime, or standing for what the tile program will compute.
//
// A Value is small and cheap to copy; big contents are shared and copied when written (unshare). Kinds from
// `integer` to `pointer` are known at comptime; `scalar` and `place` are MIR operands and addresses.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/csl/types.h"
#include "runtime/isa/dsd.h"
#include "runtime/isa/isa.h"

namespace cs::csl {

struct ModuleInstance;
struct FunctionRef;

// Where something is in PE memory: an optional register plus a literal, global or slot. Also a register
// itself.
struct Location {
  isa::OperandKind kind =
      isa::OperandKind::none;  // reg, pair: the value is in it; imm, global, slot: an address
  int32_t value = 0, extra = 0;
  int32_t index = -1;  // register added to the address, -1: none

  isa::Operand operand() const {
    if (kind == isa::OperandKind::imm) return {kind, value + extra, 0};
    return {kind, value, extra};
  }
  bool in_register() const { return kind == isa::OperandKind::reg || kind == isa::OperandKind::pair; }
  static Location of(const isa::Operand& o) { return {o.kind, o.value, o.extra, -1}; }
  bool operator==(const Location&) const = default;
};

enum class ValueKind : uint8_t {
  poison,  // an error was reported; nothing more is said about it
  void_,
  undefined,
  integer,  // numbers, bool, enumerations, ids
  floating,
  text,
  type,
  function,
  module,
  aggregate,  // array, structure, anonymous structure; items may be run-time values
  range,
  dsr,
  dsd,      // see DsdValue; known at comptime unless it has run-time words
  pointer,  // to a global, to a frame slot, or (target set) to a comptime variable
  scalar,   // in a register
  place     // in memory at `location`
};

struct Value;
using Names = std::vector<std::string_view>;

// Contents of aggregates. With `count` set, one item stands for `count` equal ones.
struct Aggregate {
  std::vector<Value> items;
  std::shared_ptr<const Names> names;  // anonymous structure; null: tuple, array or named structure
  uint64_t count = 0;
};

// A DSD: fixed fields, and words that override what `base` and the fields say.
struct DsdValue {
  isa::Dsd dsd;
  isa::Operand base;       // base address: imm, global or slot; memory DSDs only
  bool in_memory = false;  // words without an override are those at `place`
  Location place;
  std::array<std::optional<isa::Operand>, 10> words{};
};

struct RangeValue;
struct DsrValue {
  isa::OperandKind file = isa::OperandKind::dest;
  int index = 0;
};

struct Value {
  const Type* type = nullptr;
  ValueKind kind = ValueKind::poison;
  bool is_const = false;  // place: cannot be written
  bool variable = false;  // scalar: the register of a mutable variable; copy before keeping it
  // place: a field of a packed structure, these bits of the 16-bit word (or of 32 bits) at `location`, which may
  // then be a register as well.
  uint8_t part_bits = 0, part_shift = 0;
  union {
    __int128 i = 0;
    double f;
    Location location;
  };
  std::shared_ptr<void>
      object;  // by kind: Aggregate, std::string, DsdValue, RangeValue, Value (pointer target) …

  Value() {}
  Value(const Type* t, ValueKind k) : type(t), kind(k) {}
  static Value integer(const Type* t, __int128 v) {
    Value r(t, ValueKind::integer);
    r.i = v;
    return r;
  }
  static Value floating(const Type* t, double v) {
    Value r(t, ValueKind::floating);
    r.f = v;
    return r;
  }
  static Value scalar(const Type* t, const isa::Operand& o, bool is_variable = false) {
    Value r(t, ValueKind::scalar);
    r.location = Location::of(o);
    r.variable = is_variable;
    return r;
  }
  static Value place(const Type* t, const Location& where, bool constant) {
    Value r(t, ValueKind::place);
    r.location = where;
    r.is_const = constant;
    return r;
  }
  static Value pointer(const Type* t, const Location& where) {
    Value r(t, ValueKind::pointer);
    r.location = where;
    return r;
  }
  template <class T>
  static Value with(const Type* t, ValueKind k, T contents) {
    Value r(t, k);
    r.object = std::make_shared<T>(std::move(contents));
    return r;
  }

  bool ok() const { return kind != ValueKind::poison; }
  bool is(ValueKind k) const { return kind == k; }
  bool runtime() const { return kind == ValueKind::scalar || kind == ValueKind::place; }
  template <class T>
  const T& as() const {
    return *static_cast<const T*>(object.get());
  }
  // For writing: the contents become this value's own.
  template <class T>
  T& unshare() {
    if (object.use_count() > 1) object = std::make_shared<T>(*static_cast<const T*>(object.get()));
    return *static_cast<T*>(object.get());
  }
  const Aggregate& aggregate() const { return as<Aggregate>(); }
  const DsdValue& dsd() const { return as<DsdValue>(); }
  const std::string& text() const { return as<std::string>(); }
  const Type* type_value() const { return static_cast<const Type*>(object.get()); }
  bool truth() const { return i != 0; }
};

struct RangeValue {
  const Type* element = nullptr;
  Value start, stop, step;
};

Value text_value(const TypeTable&, std::string text);
Value type_value(const TypeTable&, const Type*);
Value bool_value(const TypeTable&, bool);
// Aggregate access that knows equal items. `items` writes all of them out first.
uint64_t item_count(const Value&);
Value item(const Value&, uint64_t index);
std::vector<Value>& items(Value&);
const Value* named_item(const Value& aggregate, std::string_view name);  // anonymous structures
// No run-time part anywhere inside.
bool is_comptime(const Value&);
// Same value and type; for keys of tile programs and of instances of functions.
bool equal(const Value&, const Value&);
size_t hash(const Value&);
// As in messages: "4", "1.5", "EAST", ".{ .a = 1 }".
std::string print(const Value&);
std::string print_int(__int128);
__int128 wrapped(const Type&, __int128);  // the low bits as a value of the type (coerce.cpp)

// The parameter of tile programs in messages and names: "M=4, x_color=2".
std::string print_params(const Value& aggregate);

}  // namespace cs::csl
