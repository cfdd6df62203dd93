// SPDX-License-Identifier: Apache-2.0
// Overview, history, users, pictures, receipts and actions on many jobs, to and from JSON text. As codec.h.
#pragma once

#include <string>

#include "allotter/overview.h"
#include "client/codec.h"

namespace allotter {

void AppendManyJobs(const ManyJobs& which, std::string& out);

extern template Result<Overview> Parse<Overview>(const std::string& json);
extern template Result<History> Parse<History>(const std::string& json);
extern template Result<UserPage> Parse<UserPage>(const std::string& json);
extern template Result<Picture> Parse<Picture>(const std::string& json);
extern template Result<Receipt> Parse<Receipt>(const std::string& json);
extern template Result<ReceiptPage> Parse<ReceiptPage>(const std::string& json);
extern template Result<ManyJobsAnswer> Parse<ManyJobsAnswer>(const std::string& json);

}  // namespace allotter
