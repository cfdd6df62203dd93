// SPDX-License-Identifier: Apache-2.0
#include "client/overview_codec.h"

#include "base/json.h"
#include "client/decision_fields.h"
#include "client/fields.h"
#include "client/queue_fields.h"
#include "wire/jobs.h"
#include "wire/queues.h"
#include "wire/writer.h"

namespace allotter {
namespace json_in {

template <>
struct FieldsOf<Overview::Rates> {
  static constexpr auto kRows = RowsOf<Overview::Rates, wire::kRates>(
      In<&Overview::Rates::submitted>("submitted"), In<&Overview::Rates::started>("started"),
      In<&Overview::Rates::done>("done"), In<&Overview::Rates::failed>("failed"));
};

template <>
struct FieldsOf<Overview::OldestWaiting> {
  static constexpr auto kRows = RowsOf<Overview::OldestWaiting, wire::kOldestWaiting>(
      In<&Overview::OldestWaiting::job>("job"), In<&Overview::OldestWaiting::since_at_ms>("since_at_ms"));
};

template <>
struct FieldsOf<Overview::WorkerCounts> {
  static constexpr auto kRows = RowsOf<Overview::WorkerCounts, wire::kWorkerCounts>(
      In<&Overview::WorkerCounts::registered>("registered"), In<&Overview::WorkerCounts::waiting>("waiting"),
      In<&Overview::WorkerCounts::away>("away"), In<&Overview::WorkerCounts::draining>("draining"),
      In<&Overview::WorkerCounts::slots>("slots"), In<&Overview::WorkerCounts::busy>("busy"));
};

template <>
struct FieldsOf<Overview::WaitReason::Limit> {
  static constexpr auto kRows = RowsOf<Overview::WaitReason::Limit, wire::kBlockedByLimit>(
      In<&Overview::WaitReason::Limit::uuid>("uuid"), In<&Overview::WaitReason::Limit::tag>("tag"),
      In<&Overview::WaitReason::Limit::name>("name"), In<&Overview::WaitReason::Limit::tasks>("tasks"));
};

template <>
struct FieldsOf<Overview::WaitReason::Ceiling> {
  static constexpr auto kRows = RowsOf<Overview::WaitReason::Ceiling, wire::kBlockedByCeiling>(
      In<&Overview::WaitReason::Ceiling::of>("of"), In<&Overview::WaitReason::Ceiling::key>("key"),
      InRaw<&Overview::WaitReason::Ceiling::value>("value"), In<&Overview::WaitReason::Ceiling::running>("running"),
      In<&Overview::WaitReason::Ceiling::max>("max"), In<&Overview::WaitReason::Ceiling::tasks>("tasks"));
};

template <>
struct FieldsOf<Overview::WaitReason> {
  static constexpr auto kRows = RowsOf<Overview::WaitReason, wire::kOverviewReason>(
      In<&Overview::WaitReason::code>("code"), In<&Overview::WaitReason::kind>("kind"),
      In<&Overview::WaitReason::tasks>("tasks"), In<&Overview::WaitReason::jobs>("jobs"),
      In<&Overview::WaitReason::classes>("classes"), In<&Overview::WaitReason::since_at_ms>("since_at_ms"),
      InOrEmpty<&Overview::WaitReason::job>("job"), In<&Overview::WaitReason::tags>("tags"),
      In<&Overview::WaitReason::limits>("limits"), In<&Overview::WaitReason::ceilings>("ceilings"));
};

template <>
struct FieldsOf<Overview::Banner> {
  static constexpr auto kRows = RowsOf<Overview::Banner, wire::kBanner>(
      In<&Overview::Banner::level>("level"), In<&Overview::Banner::code>("code"),
      In<&Overview::Banner::message>("message"), In<&Overview::Banner::hint>("hint"),
      In<&Overview::Banner::job>("job"));
};

template <>
struct FieldsOf<Overview> {
  static constexpr auto kRows = RowsOf<Overview, wire::kOverview>(
      In<&Overview::queue>("queue"), In<&Overview::rates>("rates"), In<&Overview::oldest_waiting>("oldest_waiting"),
      In<&Overview::workers>("workers"), In<&Overview::reasons>("reasons"), In<&Overview::banners>("banners"));
};

template <>
struct FieldsOf<History> {
  static constexpr auto kRows = RowsOf<History, wire::kHistory>(
      In<&History::step_ms>("step_ms"), In<&History::from_at_ms>("from_at_ms"), In<&History::submitted>("submitted"),
      In<&History::started>("started"), In<&History::done>("done"), In<&History::failed>("failed"),
      In<&History::queued>("queued"), In<&History::retrying>("retrying"), In<&History::running>("running"),
      In<&History::oldest_wait_ms>("oldest_ms"));
};

constexpr auto kWaitedOfUser = RowsOf<UserInfo, wire::kWaited>(InOrEmpty<&UserInfo::waited_mean_ms>("mean"),
                                                               InOrEmpty<&UserInfo::waited_p50_ms>("p50"),
                                                               InOrEmpty<&UserInfo::waited_p95_ms>("p95"));
template <>
struct FieldsOf<UserInfo> {
  static constexpr auto kRows = RowsOf<UserInfo, wire::kUser>(
      In<&UserInfo::user>("user"), In<&UserInfo::weight>("weight"), In<&UserInfo::share>("share"),
      In<&UserInfo::use>("use"), In<&UserInfo::jobs>("jobs"), In<&UserInfo::queued>("queued"),
      In<&UserInfo::retrying>("retrying"), In<&UserInfo::running>("running"), In<&UserInfo::started>("started"),
      In<&UserInfo::starts_per_s>("starts_per_s"), In<&UserInfo::oldest_at_ms>("oldest_at_ms"),
      Inside<UserInfo, kWaitedOfUser>("waited_ms"));
};

template <>
struct FieldsOf<UserPage> {
  static constexpr auto kRows = RowsOf<UserPage, wire::kUsersPage>(
      In<&UserPage::users>("users"), InOrEmpty<&UserPage::next>("next"), In<&UserPage::active>("active"),
      In<&UserPage::running>("running"), In<&UserPage::starts_per_s>("starts_per_s"));
};

template <>
struct FieldsOf<Picture> {
  static constexpr auto kRows = RowsOf<Picture, wire::kPicture>(
      In<&Picture::job>("job"), In<&Picture::count>("count"), In<&Picture::from>("from"), In<&Picture::to>("to"),
      In<&Picture::width>("width"), In<&Picture::queued>("queued"), In<&Picture::running>("running"),
      In<&Picture::retrying>("retrying"), In<&Picture::done>("done"), In<&Picture::failed>("failed"),
      In<&Picture::skipped>("skipped"));
};

template <>
struct FieldsOf<Receipt::Stage> {
  static constexpr auto kRows = RowsOf<Receipt::Stage, wire::kReceiptStage>(
      In<&Receipt::Stage::stage>("stage"), Unread("open"), Unread("passed"), Unread("blocked"), Unread("met"),
      Unread("mode"), Unread("from"), In<&Receipt::Stage::text>("text"));
};

template <>
struct FieldsOf<Receipt> {
  static constexpr auto kRows = RowsOf<Receipt, wire::kReceipt>(
      In<&Receipt::serial>("serial"), In<&Receipt::job>("job"), In<&Receipt::index>("index"),
      In<&Receipt::attempt>("attempt"), In<&Receipt::worker>("worker"), In<&Receipt::worker_name>("worker_name"),
      In<&Receipt::user>("user"), In<&Receipt::at_ms>("at_ms"), In<&Receipt::waited_ms>("waited_ms"),
      In<&Receipt::stages>("stages"), In<&Receipt::strategy>("strategy"), In<&Receipt::policy>("policy"),
      In<&Receipt::why>("why"));
};

template <>
struct FieldsOf<ReceiptPage> {
  static constexpr auto kRows =
      RowsOf<ReceiptPage, wire::kReceiptsPage>(In<&ReceiptPage::receipts>("receipts"), In<&ReceiptPage::next>("next"));
};

template <>
struct FieldsOf<ManyJobsAnswer> {
  static constexpr auto kRows = RowsOf<ManyJobsAnswer, wire::kBulkAnswer>(
      In<&ManyJobsAnswer::matching>("matching"), In<&ManyJobsAnswer::tasks>("tasks"),
      In<&ManyJobsAnswer::changed>("changed"), In<&ManyJobsAnswer::up_to>("up_to"),
      In<&ManyJobsAnswer::complete>("complete"), In<&ManyJobsAnswer::dry_run>("dry_run"), Unread("took_ms"));
};

}  // namespace json_in

void AppendManyJobs(const ManyJobs& which, std::string& out) {
  allot::JsonWriter json(out);
  allot::wire::Writer<allot::wire::kJobsFilter> w(json);
  if (!which.state.empty()) w.Text("state", which.state);
  if (!which.tag.empty()) w.Text("tag", which.tag);
  if (!which.user.empty()) w.Text("user", which.user);
  if (which.all) w.Bool("all", true);
  if (!which.up_to.empty()) w.Text("up_to", which.up_to);
  if (which.dry_run) w.Bool("dry_run", true);
}

template Result<Overview> Parse<Overview>(const std::string& json);
template Result<History> Parse<History>(const std::string& json);
template Result<UserPage> Parse<UserPage>(const std::string& json);
template Result<Picture> Parse<Picture>(const std::string& json);
template Result<Receipt> Parse<Receipt>(const std::string& json);
template Result<ReceiptPage> Parse<ReceiptPage>(const std::string& json);
template Result<ManyJobsAnswer> Parse<ManyJobsAnswer>(const std::string& json);

}  // namespace allotter
