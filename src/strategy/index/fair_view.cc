// Groups of cells, in the order of their shares.
#include <algorithm>

#include <boost/container/small_vector.hpp>

#include "base/check.h"
#include "strategy/index/views.h"

namespace allot::order {
namespace {

bool HasBit(const View& view, const Shared& shared, Bit bit) {
  std::vector<std::uint64_t> mask(shared.width);
  view.AddMask(mask.data());
  return (mask[bit / 64] >> (bit % 64) & 1) != 0;
}

}  // namespace

class FairView;

struct ShareKey {
  std::uint32_t leased = 0, weight = 1;
  Stamp served;
  const std::string* name = nullptr;
  ValueId value = kNoValue;
  friend bool operator==(const ShareKey&, const ShareKey&) = default;
  friend bool operator<(const ShareKey& a, const ShareKey& b) {
    const std::uint64_t left = std::uint64_t{a.leased} * b.weight;
    const std::uint64_t right = std::uint64_t{b.leased} * a.weight;
    if (left != right) return left < right;
    if (a.served != b.served) return a.served < b.served;
    if (const int names = a.name->compare(*b.name); names != 0) return names < 0;
    return a.value < b.value;
  }
};

ShareKey KeyOfShare(const Plan& plan, const Shared& shared, ValueId id) {
  const ValueTable::Value& value = shared.values.Get(shared.keys[plan.key], id);
  return {value.leased, value.weight, value.Served(), &value.text, id};
}

int CompareShares(const Plan& plan, const Shared& shared, ValueId a, ValueId b) {
  if (a == b) return 0;
  return KeyOfShare(plan, shared, a) < KeyOfShare(plan, shared, b) ? -1 : 1;
}

// What a value has in one view.
struct Share {
  FairView* view = nullptr;
  ShareKey key;
  std::unique_ptr<View> below;
  Share *before = nullptr, *next = nullptr;               // of the same value, in other views; hashed ones come last
  bool hashed = false;                                    // its view finds it by a table of its own
  boost::container::small_vector<std::uint64_t, 1> mask;  // as it stands in the tree; more than is true, until a pick
};

void Shared::FreeShare::operator()(Share* share) const { delete share; }

// fair: a view for every value that has cells, in the order of what they have.
class FairView : public View {
 public:
  FairView(const Plan& plan, Shared& shared) : plan_(plan), shared_(shared) {}
  ~FairView() override {
    ForEachShare([this](Share* share) { Delete(share); });
  }
  FairView(const FairView&) = delete;
  FairView& operator=(const FairView&) = delete;

  bool Put(Cell& cell) override {
    const ValueId value = cell.values[plan_.key];
    Share* share = Find(value);
    const bool fresh = share == nullptr;
    if (fresh) {
      auto& spare = shared_.spare[plan_.fair];
      if (spare.empty()) {
        share = new Share;
        share->below = MakeView(*plan_.inner.front(), shared_);
      } else {
        share = spare.back().release();
        spare.pop_back();
      }
      share->view = this;
      Link(value, share);
    }
    if (!share->below->Put(cell)) {
      if (fresh) Retire(share);
      cell.shares[plan_.fair] = nullptr;
      return false;
    }
    cell.shares[plan_.fair] = share;
    if (fresh) {
      share->key = KeyOfShare(plan_, shared_, value);
      Insert(share);
    } else if (many_ && !Has(*share, shared_.Mask(cell))) {
      Remask(*share);
    }
    return true;
  }
  void Drop(Cell& cell) override {
    Share* share = cell.shares[plan_.fair];
    if (share == nullptr) return;
    cell.shares[plan_.fair] = nullptr;
    share->below->Drop(cell);
    if (!share->below->Empty()) return;
    Erase(share);
    Retire(share);
  }
  void Moved(Cell& cell) override {
    Share* share = cell.shares[plan_.fair];
    if (share != nullptr) share->below->Moved(cell);
  }
  Choice Pick(Bit bit, Rng* rng) override {
    if (!many_) return PickOfFew(bit, rng);
    for (;;) {
      Share* const* first = many_->First(bit);
      if (first == nullptr) return {};
      Share& share = **first;
      const Choice choice = share.below->Pick(bit, rng);
      if (choice || shared_.gave_up) return choice;
      // All that it had for this bit is gone or held by now.
      Remask(share);
      CHECK((share.mask[bit / 64] >> (bit % 64) & 1) == 0);
    }
  }
  void AddMask(std::uint64_t* out) const override {
    if (many_) return many_->AddMask(out);
    for (const Share* share : few_) share->below->AddMask(out);
  }
  bool Empty() const override { return !many_ && few_.empty(); }
  void Recolour(Bit bit) override {
    ForEachShare([&](Share* share) { share->below->Recolour(bit); });
    if (!many_) return;
    many_->SetBit(bit, [&](Share* share) {
      const bool has = HasBit(*share->below, shared_, bit);
      const std::uint64_t flag = std::uint64_t{1} << (bit % 64);
      std::uint64_t& word = share->mask[bit / 64];
      word = has ? word | flag : word & ~flag;
      return has;
    });
  }
  bool Shrink(std::size_t& budget) override {
    // About in the order in which they were made, so that the allocator joins what is free at once.
    while (budget > 0 && !Empty()) {
      Share* share = many_ ? many_->Back() : few_.back();
      if (!share->below->Shrink(budget)) return false;
      budget -= std::min(budget, kFreeCost);
      if (many_) {
        many_->PopBack();
      } else {
        few_.pop_back();
      }
      Delete(share);
      if (many_ && many_->size() == 0) many_.reset();
    }
    return Empty();
  }
  std::size_t MemoryBytes() const override {
    std::size_t bytes = sizeof(*this) + few_.capacity() * sizeof(Share*);
    if (many_) bytes += sizeof(*many_) + many_->MemoryBytes();
    bytes += hashed_.MemoryBytes();
    ForEachShare([&](const Share* share) { bytes += sizeof(Share) + share->below->MemoryBytes(); });
    return bytes;
  }
  void Rekey(Share& share) {
    const ShareKey key = KeyOfShare(plan_, shared_, share.key.value);
    if (key == share.key) return;
    if (many_) {
      many_->Erase(share.key);
      many_->Insert(key, &share, {share.mask.data(), share.mask.size()});
    }
    share.key = key;
  }

 private:
  static constexpr std::size_t kFew = 8;
  static constexpr std::size_t kMostSpare = 2048;
  static constexpr std::size_t kMostUnhashed = 4;

  template <typename F>
  void ForEachShare(F f) const {
    if (many_) {
      many_->ForEach(f);
    } else {
      for (Share* share : few_) f(share);
    }
  }
  // A value has shares in few views, most often: they are asked one by one. The others are in tables.
  Share* Find(ValueId value) const {
    Share* const* head = shared_.shares[plan_.key].Find(value);
    Share* share = head == nullptr ? nullptr : *head;
    for (; share != nullptr && !share->hashed; share = share->next) {
      if (share->view == this) return share;
    }
    if (share == nullptr) return nullptr;
    Share* const* found = hashed_.Find(Mixed(value), [&](const Share* s) { return s->key.value == value; });
    return found == nullptr ? nullptr : *found;
  }
  void Insert(Share* share) {
    if (!many_ && few_.size() < kFew) {
      few_.push_back(share);
      return;
    }
    if (!many_) {
      many_ = std::make_unique<MaskTree<ShareKey, Share*>>(shared_.width);
      for (Share* other : std::exchange(few_, {})) InsertAmongMany(other);
    }
    InsertAmongMany(share);
  }
  void InsertAmongMany(Share* share) {
    const auto& mask = MaskOf(*share);
    share->mask.assign(mask.begin(), mask.end());
    many_->Insert(share->key, share, mask);
  }
  void Erase(Share* share) {
    if (!many_) {
      std::erase(few_, share);
      return;
    }
    many_->Erase(share->key);
    if (many_->size() == 0) many_.reset();
  }
  Choice PickOfFew(Bit bit, Rng* rng) {
    // One after the other, the first first; most often that is enough.
    const Share* after = nullptr;
    for (;;) {
      Share* best = nullptr;
      for (Share* share : few_) {
        if (after != nullptr && !(after->key < share->key)) continue;
        if (best == nullptr || share->key < best->key) best = share;
      }
      if (best == nullptr) return {};
      const Choice choice = best->below->Pick(bit, rng);
      if (choice || shared_.gave_up) return choice;
      after = best;
    }
  }

  std::vector<std::uint64_t>& MaskOf(const Share& share) {
    scratch_.assign(shared_.width, 0);
    share.below->AddMask(scratch_.data());
    return scratch_;
  }
  static bool Has(const Share& share, std::span<const std::uint64_t> mask) {
    for (std::size_t w = 0; w < mask.size(); ++w) {
      if ((mask[w] & ~share.mask[w]) != 0) return false;
    }
    return true;
  }
  void Remask(Share& share) {
    const auto& mask = MaskOf(share);
    share.mask.assign(mask.begin(), mask.end());
    many_->SetMask(share.key, mask);
  }

  void Link(ValueId value, Share* share) {
    share->key.value = value;
    Share** place = &shared_.shares[plan_.key].Make(value);
    Share* before = nullptr;
    std::size_t unhashed = 0;
    for (Share* other = *place; other != nullptr && !other->hashed; other = other->next) ++unhashed;
    share->hashed = unhashed == kMostUnhashed;
    if (share->hashed) {
      for (; unhashed > 0; --unhashed) {
        before = *place;
        place = &before->next;
      }
      hashed_.Insert(Mixed(value), share);
    }
    share->before = before;
    share->next = *place;
    if (share->next != nullptr) share->next->before = share;
    *place = share;
  }
  void Unlink(ValueId value, Share* share) {
    (share->before != nullptr ? share->before->next : shared_.shares[plan_.key][value]) = share->next;
    if (share->next != nullptr) share->next->before = share->before;
    if (share->hashed) hashed_.Erase(Mixed(value), [&](const Share* s) { return s == share; });
  }
  // It has no cells.
  void Retire(Share* share) {
    auto& spare = shared_.spare[plan_.fair];
    if (spare.size() == kMostSpare) return Delete(share);
    Unlink(share->key.value, share);
    spare.emplace_back(share);
  }
  void Delete(Share* share) {
    Unlink(share->key.value, share);
    delete share;
  }

  const Plan& plan_;
  Shared& shared_;
  std::vector<Share*> few_;  // owned
  std::unique_ptr<MaskTree<ShareKey, Share*>> many_;
  ShardedSet<Share*> hashed_;
  std::vector<std::uint64_t> scratch_;
};

std::unique_ptr<View> MakeShareView(const Plan& plan, Shared& shared) {
  return std::make_unique<FairView>(plan, shared);
}

void Rekey(Shared& shared, std::size_t key, ValueId value) {
  Share** head = shared.shares[key].Find(value);
  for (Share* share = head == nullptr ? nullptr : *head; share != nullptr; share = share->next) {
    share->view->Rekey(*share);
  }
}

}  // namespace allot::order
