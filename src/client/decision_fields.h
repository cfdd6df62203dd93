// SPDX-License-Identifier: Apache-2.0
// What several of the codecs read: reasons, and the blocks that a pick went through.
#pragma once

#include "allotter/explanation.h"
#include "allotter/preview.h"
#include "client/fields.h"
#include "wire/decisions.h"

namespace allotter::json_in {

template <>
struct FieldsOf<Reason> {
  static constexpr auto kRows = RowsOf<Reason, wire::kReason>(
      In<&Reason::kind>("kind"), In<&Reason::code>("code"), In<&Reason::message>("message"), In<&Reason::hint>("hint"),
      In<&Reason::since_at_ms>("since_at_ms"));
};

template <>
struct FieldsOf<StrategyPreview::Step> {
  static constexpr auto kRows = RowsOf<StrategyPreview::Step, wire::kWhy>(
      In<&StrategyPreview::Step::block>("block"), In<&StrategyPreview::Step::of>("of"), Unread("key"), Unread("value"),
      Unread("running"), Unread("max"), Unread("percent"), Unread("slots"), Unread("level"), Unread("weight"),
      Unread("served"), Unread("branch"), Unread("branches"), Unread("rank"), Unread("priority"),
      Unread("scheduled_at_ms"), Unread("submitted_at_ms"), Unread("picked"), Unread("candidates"),
      In<&StrategyPreview::Step::text>("text"));
};

}  // namespace allotter::json_in
