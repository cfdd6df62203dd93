// SPDX-License-Identifier: Apache-2.0
#include "cluster/signature.h"

#include <gtest/gtest.h>

#include <string>

namespace allot::cluster {
namespace {

const SignedRequest kRequest{"POST", "/v1/queues/q/jobs?a=1", "Bearer x"};

TEST(Signature, IsGoodForThatRequestAndThatSecretAlone) {
  const Signer signer("a secret of many letters");
  const std::string header = signer.Sign({"10.0.0.1:1234", 1}, kRequest);
  const std::optional<Forwarded> read = signer.Verify(header, kRequest);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->peer, "10.0.0.1:1234");
  EXPECT_EQ(read->hops, 1);
  EXPECT_FALSE(Signer("another one of many letters").Verify(header, kRequest));
  const SignedRequest others[] = {{"GET", kRequest.target, kRequest.authorization},
                                  {"POST", "/v1/queues/r/jobs?a=1", kRequest.authorization},
                                  {"POST", kRequest.target, "Bearer y"},
                                  {"POST", "/v1/queues/q/jobs?a=1Bearer", " x"}};
  for (const SignedRequest& other : others) EXPECT_FALSE(signer.Verify(header, other)) << other.target;
}

TEST(Signature, RefusesWhatIsChangedOrNoHeaderAtAll) {
  const Signer signer("a secret of many letters");
  const std::string header = signer.Sign({"10.0.0.1:1234", 1}, kRequest);
  for (std::size_t i = 0; i < header.size(); ++i) {
    std::string changed = header;
    changed[i] = changed[i] == '1' ? '2' : '1';
    EXPECT_FALSE(signer.Verify(changed, kRequest)) << changed;
    EXPECT_FALSE(signer.Verify(header.substr(0, i), kRequest)) << i;
  }
  for (const char* none : {"", " ", "v1", "v1 a 1", "v1 a 1 ", "v1 a -1 x", "v1 a 0 x", "v1 a 100 x", "v2 a 1 x"})
    EXPECT_FALSE(signer.Verify(none, kRequest)) << none;
}

TEST(Signature, NodesSeeWhetherTheyHaveTheSameSecret) {
  EXPECT_EQ(Signer("a secret of many letters").Check(), Signer("a secret of many letters").Check());
  EXPECT_NE(Signer("a secret of many letters").Check(), Signer("another one of many letters").Check());
  EXPECT_TRUE(CheckSecret("0123456789abcdef").ok());
  EXPECT_FALSE(CheckSecret("0123456789abcde").ok());
}

}  // namespace
}  // namespace allot::cluster
