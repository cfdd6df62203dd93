// SPDX-License-Identifier: Apache-2.0
#include "engine/jobs/job_record.h"

#include <gtest/gtest.h>

#include "engine/jobs/job_table.h"

namespace allot {
namespace {

std::unique_ptr<EngineJob> SomeJob() {
  auto job = std::make_unique<EngineJob>(JobId{7}, 5);
  JobTerms terms;
  terms.tags = {"a", "b"};
  terms.user = "ann";
  terms.lease = milliseconds(500);
  terms.max_failed_tasks.percent = 12.5;
  static JobTable table;
  job->terms = table.Intern(terms);
  job->key.priority = -4;
  job->submitted_at = FromMillis(1'800'000'000'000);
  return job;
}

std::string HeaderOf(const EngineJob& job) {
  std::string bytes;
  ByteWriter out(bytes);
  PutHeader(job, out);
  return bytes;
}

bool Read(std::string_view bytes, JobHeader& header) {
  StoredExprs exprs;
  ByteReader in(bytes);
  return GetHeader(in, exprs, header) && in.AtEnd();
}

TEST(JobRecord, AHeaderIsReadAsItWasWritten) {
  const auto job = SomeJob();
  JobHeader header;
  ASSERT_TRUE(Read(HeaderOf(*job), header));
  EXPECT_EQ(header.terms, *job->terms);
  EXPECT_EQ(header.key.priority, -4);
  EXPECT_EQ(header.submitted_at, job->submitted_at);
  EXPECT_EQ(header.state, JobState::kActive);
  EXPECT_EQ(header.extras, nullptr);
}

TEST(JobRecord, DetailsAreReadAsTheyWereWritten) {
  const auto job = SomeJob();
  JobDetails details;
  ForEach(kJobDetails, [&](const auto& detail) {
    auto& value = details.*detail.member;
    if constexpr (std::is_same_v<std::remove_reference_t<decltype(value)>, std::string>) {
      value = "a text for " + std::string(detail.name);
    } else {
      value = std::remove_reference_t<decltype(value)>(1);
    }
  });
  job->extras = std::make_unique<JobExtras>(JobExtras{details, Interned<Meta>(Meta{{"k", true}}), {1, 2}});
  JobHeader header;
  ASSERT_TRUE(Read(HeaderOf(*job), header));
  ASSERT_NE(header.extras, nullptr);
  EXPECT_EQ(static_cast<const JobDetails&>(*header.extras), details);
  EXPECT_EQ(*header.extras->meta, (Meta{{"k", true}}));
  EXPECT_EQ(header.extras->content, (ContentHash{1, 2}));
}

TEST(JobRecord, AHeaderThatIsCutIsRefusedEverywhere) {
  const std::string bytes = HeaderOf(*SomeJob());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    JobHeader header;
    EXPECT_FALSE(Read(std::string_view(bytes).substr(0, length), header)) << length;
  }
}

// As a newer program writes it: two fields that this one does not know.
TEST(JobRecord, FieldsThatAreNotKnownArePassedOver) {
  std::string bytes = HeaderOf(*SomeJob());
  constexpr std::size_t kReason = 1;
  bytes[kReason] = static_cast<char>(bytes[kReason] | 128);
  std::string extension;
  ByteWriter fields(extension);
  for (const std::uint64_t number : {1'000'000, 1'000'001}) {
    fields.Varint(number);
    fields.Text("whatever");
  }
  std::string whole = bytes;
  ByteWriter(whole).Text(extension);
  JobHeader header;
  ASSERT_TRUE(Read(whole, header));
  EXPECT_EQ(header.reason, JobReason::kNone);
  EXPECT_EQ(header.terms.user, "ann");
  // Where an extension is said to follow, it must.
  EXPECT_FALSE(Read(bytes, header));
  std::string torn = bytes;
  ByteWriter(torn).Text(std::string_view(extension).substr(0, extension.size() - 1));
  EXPECT_FALSE(Read(torn, header));
}

TEST(JobRecord, AnExpressionThatCannotBeReadAnyMoreIsKept) {
  StoredExprs exprs;
  ExprPtr expr;
  EXPECT_TRUE(exprs.Read("no such function(", expr));
  ASSERT_NE(expr, nullptr);
  EXPECT_EQ(expr->source(), "no such function(");
  EXPECT_FALSE(exprs.Read("\xff\xfe", expr));
  ExprPtr none;
  EXPECT_TRUE(exprs.Read("", none));
  EXPECT_EQ(none, nullptr);
}

// A job's own record, with a page of tasks of which one is running.
struct Stored {
  std::string blob;
  std::size_t picked_at = 0, picked_bytes = 0;  // where it says when the job was picked
};
Stored RecordOf(EngineJob& job, LeaseTable& leases) {
  job.tasks.Finish(4);
  job.tasks.Claim(1);
  Lease& lease = leases.Grant(job.id(), 1);
  lease.worker = WorkerId{33};
  lease.attempt = 2;
  lease.granted_at = FromMillis(1'800'000'000'500);
  job.Course().leases.push_back(lease);
  job.picked = {1'800'000'000'500, 77};
  Stored stored;
  ByteWriter out(stored.blob);
  PutStart(12, out);
  out.Varint(job.tasks.count());
  PutHeader(job, out);
  stored.picked_at = stored.blob.size();
  out.Signed(job.picked.ms);
  out.Varint(job.picked.serial);
  stored.picked_bytes = stored.blob.size() - stored.picked_at;
  EXPECT_TRUE(JobRecord(job, 12).starts_with(stored.blob));
  stored.blob = JobRecord(job, 12);
  return stored;
}

void ExpectReadBack(std::string_view blob, std::uint8_t version) {
  ByteReader in(blob);
  const std::optional<RecordStart> start = GetStart(in);
  ASSERT_TRUE(start.has_value());
  EXPECT_EQ(start->version, version);
  EXPECT_EQ(start->position, 12u);
  EXPECT_EQ(in.Varint(), 5u);
  StoredExprs exprs;
  JobHeader header;
  ASSERT_TRUE(GetHeader(in, exprs, header));
  EngineJob job(JobId{7}, 5);
  std::vector<StoredLease> leases;
  ASSERT_TRUE(GetRest(job, version, in, leases));
  EXPECT_TRUE(in.AtEnd());
  EXPECT_EQ(job.picked.serial, version == 1 ? 0u : 77u);
  EXPECT_EQ(job.tasks.State(4), TaskState::kDone);
  EXPECT_EQ(job.tasks.State(1), TaskState::kQueued);  // until its lease is restored
  ASSERT_EQ(leases.size(), 1u);
  EXPECT_EQ(leases[0].index, 1u);
  EXPECT_EQ(leases[0].worker, WorkerId{33});
  EXPECT_EQ(leases[0].attempt, 2u);
  EXPECT_EQ(leases[0].granted_at, FromMillis(1'800'000'000'500));
}

TEST(JobRecord, ARecordOfEachVersionIsRead) {
  const auto job = SomeJob();
  LeaseTable table(SipKey{1, 2});
  const Stored stored = RecordOf(*job, table);
  ExpectReadBack(stored.blob, 2);
  // Version 1 did not say when the job was picked.
  std::string first = stored.blob;
  first.erase(stored.picked_at, stored.picked_bytes);
  first[0] = 1;
  ExpectReadBack(first, 1);
  // One that is cut is refused.
  for (std::size_t length = 0; length < stored.blob.size(); ++length) {
    ByteReader in(std::string_view(stored.blob).substr(0, length));
    StoredExprs exprs;
    JobHeader header;
    EngineJob other(JobId{7}, 5);
    std::vector<StoredLease> leases;
    const bool read = GetStart(in) && in.Varint() == 5 && GetHeader(in, exprs, header) && GetRest(other, 2, in, leases);
    EXPECT_FALSE(read) << length;
  }
  job->course->leases.clear();
}

TEST(JobRecord, TheQueuesOwnIsReadAsItWasWritten) {
  const std::string blob = ToRecord({true, 991, 4242}, 8);
  ByteReader in(blob);
  EXPECT_EQ(GetStart(in)->position, 8u);
  QueueRecord queue;
  ASSERT_TRUE(GetQueue(in, queue));
  EXPECT_TRUE(queue.paused);
  EXPECT_EQ(queue.next_serial, 991u);
  EXPECT_EQ(queue.highest_id, 4242u);
}

TEST(JobRecord, RecordsOfAVersionThatIsNotKnownAreRefused) {
  for (const char version : {char{0}, static_cast<char>(kRecordVersion + 1), '\xff'}) {
    const std::string bytes = {version, 5};
    ByteReader in(bytes);
    EXPECT_FALSE(GetStart(in).has_value()) << static_cast<int>(version);
  }
  std::string bytes;
  ByteWriter out(bytes);
  PutStart(300, out);
  ByteReader in(bytes);
  EXPECT_EQ(GetStart(in)->position, 300u);
}

}  // namespace
}  // namespace allot
