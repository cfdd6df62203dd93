// SPDX-License-Identifier: Apache-2.0
// Which field of an object of the protocol (wire/field.h) is read into which member. Inner header of the codecs.
//
//   template <>
//   struct FieldsOf<Banner> {
//     static constexpr auto kRows = RowsOf<Banner, wire::kBanner>(In<&Banner::level>("level"), …, Unread("code"));
//   };
//
// One that names a field which is not in its table, reads it as another type, or leaves one out, does not compile; so
// does one that could meet null and has no place for it. Then json_in::Read reads a Banner, lists of it, and what has
// one as a member. A member `json`, where there is one, gets the object as it came.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "allotter/types.h"
#include "client/codec.h"
#include "client/json_in.h"
#include "wire/field.h"

namespace allotter::json_in {

namespace wire = allot::wire;

// What a member can take.
struct Takes {
  unsigned types = ~0u;
  const wire::Object* object = nullptr;  // null: any
  bool null = true;
  bool list = true;
  bool plain = true;
};

struct Unread {
  std::string_view name;
  consteval explicit Unread(std::string_view field) : name(field) {}
};

template <typename T>
struct Row {
  std::string_view name;
  void (*read)(Value& value, T& out) = nullptr;  // null: it is not read
  Takes takes;

  constexpr Row() = default;
  constexpr Row(Unread unread) : name(unread.name) {}  // NOLINT: one of the rows
  constexpr Row(std::string_view n, void (*r)(Value&, T&), Takes t = {}) : name(n), read(r), takes(t) {}
};

// What compilers show of a row that cannot be: not constant.
inline void NoPlaceForNull(std::string_view) {}
inline void FieldReadTwice(std::string_view) {}

template <typename T, std::size_t N>
struct Rows {
  const wire::Object* object;
  std::array<Row<T>, N> rows;  // in the order of the object's fields, which is the one in which they come

  template <typename... R>
  consteval explicit Rows(const wire::Object& described, R... given) : object(&described), rows{} {
    const std::array<Row<T>, sizeof...(R)> all{Row<T>(given)...};
    for (const Row<T>& row : all) {
      const wire::Field* field = wire::Find(described, row.name);
      if (field == nullptr) wire::NoSuchField(row.name);
      const std::size_t at = static_cast<std::size_t>(field - described.fields.data());
      if (!rows[at].name.empty()) FieldReadTwice(row.name);
      rows[at] = row;
      const Takes& takes = row.takes;
      if ((takes.types >> static_cast<unsigned>(field->type) & 1) == 0) wire::FieldOfAnotherType(row.name);
      if (field->list ? !takes.list : !takes.plain) wire::FieldOfAnotherType(row.name);
      if (takes.object != nullptr && takes.object != field->object) wire::FieldOfAnotherType(row.name);
      if (field->nullable && !takes.null) NoPlaceForNull(row.name);
    }
    for (std::size_t i = 0; i < N; ++i) {
      if (rows[i].name.empty()) wire::FieldWithoutReader(described.fields[i].name);
    }
  }

  void Read(Value& value, T& out) const {
    std::size_t next = 0;
    EachField(value, [&](std::string_view key, Value field) { Take(key, field, next, out); });
  }
  // Reads one field, if it is one of these. `next` is where the last one was found: they come in order.
  bool Take(std::string_view key, Value& field, std::size_t& next, T& out) const {
    for (std::size_t tried = 0; tried < N; ++tried) {
      const Row<T>& row = rows[next];
      next = next + 1 == N ? 0 : next + 1;
      if (row.name != key) continue;
      if (row.read != nullptr) row.read(field, out);
      return true;
    }
    return false;
  }
};

template <typename T>
struct FieldsOf {};
template <typename T>
concept Bound = requires {
  FieldsOf<T>::kRows;
};

void Read(Value value, Properties& out);
void Read(Value value, Meta& out);
void Read(Value value, std::vector<std::pair<std::string, std::uint64_t>>& out);
template <Bound T>
void Read(Value value, T& out);
template <typename T>
void Read(Value value, std::vector<T>& out);

template <typename T>
void Read(Value value, std::optional<T>& out) {
  out.reset();
  if (!value.is_null()) Read(value, out.emplace());
}
// null is as good as nothing: an empty text, 0.
template <typename T>
void ReadOrEmpty(Value value, T& out) {
  out = T();
  if (!value.is_null()) Read(value, out);
}
template <typename T>
void Read(Value value, std::vector<T>& out) {
  Each(value, [&](Value item) { Read(item, out.emplace_back()); });
}
// What comes a hundred thousand times a second says so (kHot): each row is code of its own.
template <Bound T, std::size_t kRow>
[[gnu::always_inline]] inline bool TakeRow(std::string_view key, Value& field, T& out) {
  constexpr const Row<T>& row = FieldsOf<T>::kRows.rows[kRow];
  constexpr std::string_view name = row.name;
  if (key.size() != name.size() || std::memcmp(key.data(), name.data(), name.size()) != 0) return false;
  if constexpr (row.read != nullptr) row.read(field, out);
  return true;
}
template <Bound T>
void Read(Value value, T& out) {
  if constexpr (requires { out.json; }) out.json = Raw(value);
  if constexpr (requires { FieldsOf<T>::kHot; }) {
    EachField(value, [&](std::string_view key, Value field) {
      [&]<std::size_t... kRow>(std::index_sequence<kRow...>) {
        static_cast<void>((TakeRow<T, kRow>(key, field, out) || ...));
      }
      (std::make_index_sequence<FieldsOf<T>::kRows.rows.size()>());
    });
  } else {
    FieldsOf<T>::kRows.Read(value, out);
  }
}

constexpr unsigned Bits(std::initializer_list<wire::Type> types) {
  unsigned bits = 0;
  for (const wire::Type type : types) bits |= 1u << static_cast<unsigned>(type);
  return bits;
}

template <typename M>
struct TakenBy {
  static constexpr Takes Get() {
    using enum wire::Type;
    Takes takes{0, nullptr, false, false, true};
    if constexpr (Bound<M>) {
      takes.types = Bits({kObject});
      takes.object = FieldsOf<M>::kRows.object;
    } else if constexpr (std::is_same_v<M, bool>) {
      takes.types = Bits({kBool});
    } else if constexpr (std::is_integral_v<M>) {
      takes.types = Bits({kCount, kMillis, kTime}) | (std::is_signed_v<M> ? Bits({kInt}) : 0);
    } else if constexpr (std::is_same_v<M, double>) {
      takes.types = Bits({kReal, kCount});
    } else if constexpr (std::is_same_v<M, milliseconds>) {
      takes.types = Bits({kMillis});
    } else if constexpr (std::is_same_v<M, std::string>) {
      takes.types = Bits({kText, kId});
    } else if constexpr (std::is_same_v<M, Properties>) {
      takes.types = Bits({kTexts});
    } else if constexpr (std::is_same_v<M, Meta>) {
      takes.types = Bits({kValues});
    } else {
      static_assert(std::is_same_v<M, std::vector<std::pair<std::string, std::uint64_t>>>, "what does it take?");
      takes.types = Bits({kCounts});
    }
    return takes;
  }
};
template <typename T>
struct TakenBy<std::optional<T>> {
  static constexpr Takes Get() {
    Takes takes = TakenBy<T>::Get();
    takes.null = true;
    return takes;
  }
};
template <typename T>
requires(!std::is_same_v<std::vector<T>, Properties> && !std::is_same_v<std::vector<T>, Meta> &&
         !std::is_same_v<T, std::pair<std::string, std::uint64_t>>) struct TakenBy<std::vector<T>> {
  static constexpr Takes Get() {
    Takes takes = TakenBy<T>::Get();
    takes.list = true;
    takes.plain = false;
    return takes;
  }
};

template <typename T, typename M>
T ClassOf(M T::*);
template <auto kMember>
using Of = decltype(ClassOf(kMember));

template <auto kMember, auto... kInner, typename T>
constexpr auto& MemberOf(T& object) {
  if constexpr (sizeof...(kInner) == 0) {
    return object.*kMember;
  } else {
    return MemberOf<kInner...>(object.*kMember);
  }
}
template <auto... kMembers, typename T>
std::remove_cvref_t<decltype(MemberOf<kMembers...>(std::declval<T&>()))> TypeOf(T*);

// Into a member, or a member of one.
template <auto kMember, auto... kInner>
consteval auto In(std::string_view name) {
  using T = Of<kMember>;
  using M = decltype(TypeOf<kMember, kInner...>(static_cast<T*>(nullptr)));
  return Row<T>(
      name,
      [](Value & value, T & out) __attribute__((always_inline)) { Read(value, MemberOf<kMember, kInner...>(out)); },
      TakenBy<M>::Get());
}
// The same; null makes it empty.
template <auto kMember, auto... kInner>
consteval auto InOrEmpty(std::string_view name) {
  using T = Of<kMember>;
  using M = decltype(TypeOf<kMember, kInner...>(static_cast<T*>(nullptr)));
  Takes takes = TakenBy<M>::Get();
  takes.null = true;
  return Row<T>(
      name, [](Value& value, T& out) { ReadOrEmpty(value, MemberOf<kMember, kInner...>(out)); }, takes);
}
// Its JSON text.
template <auto kMember>
consteval auto InRaw(std::string_view name) {
  using T = Of<kMember>;
  return Row<T>(name, [](Value& value, T& out) { out.*kMember = Raw(value); });
}
// The fields of an object within into the same; null leaves it as it is.
template <typename T, const auto& kRows>
consteval auto Inside(std::string_view name) {
  return Row<T>(
      name,
      [](Value& value, T& out) {
        if (!value.is_null()) kRows.Read(value, out);
      },
      Takes{Bits({wire::Type::kObject}), kRows.object, true, false, true});
}
// By other means: a function with a name. clang 14 builds a lambda that is an argument here twice, and the one that is
// called reads the parameters of the other.
template <typename T>
consteval auto By(std::string_view name, void (*read)(Value& value, T& out)) {
  return Row<T>(name, read);
}
// For answers that are lists: the list alone is of interest.
template <typename T>
void ReadItems(Value& value, std::vector<T>& out) {
  Read(value, out);
}

// The rows of an object: RowsOf<Job>(wire::kJob, …). kObject's fields are as many.
template <typename T, const wire::Object& kObject, typename... R>
consteval auto RowsOf(R... rows) {
  return Rows<T, kObject.fields.size()>(kObject, rows...);
}

// An answer that is a list in an object.
template <typename T, typename R>
Result<std::vector<T>> ParseList(const std::string& json, const R& rows) {
  return DocumentAs<std::vector<T>>(json, [&](Value root, std::vector<T>& out) { rows.Read(root, out); });
}

}  // namespace allotter::json_in

namespace allotter {

// The definition of codec.h's: for explicit instantiations, beside the rows.
template <typename T>
Result<T> Parse(const std::string& json) {
  return json_in::DocumentAs<T>(json, [](json_in::Value root, T& out) { json_in::Read(root, out); });
}

}  // namespace allotter
