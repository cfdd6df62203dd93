#include "engine/jobs/job_record.h"

#include <gtest/gtest.h>

namespace allot {
namespace {

std::unique_ptr<EngineJob> SomeJob() {
  auto job = std::make_unique<EngineJob>(JobId{7}, 5);
  JobTerms terms;
  terms.tags = {"a", "b"};
  terms.user = "ann";
  terms.lease = milliseconds(500);
  terms.max_failed_tasks.percent = 12.5;
  job->terms = std::make_shared<const JobTerms>(terms);
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
