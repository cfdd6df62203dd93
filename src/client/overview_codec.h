// Overview, history, users, pictures, receipts and actions on many jobs, to and from JSON text. As codec.h.
#pragma once

#include <string>

#include "allotter/overview.h"
#include "client/codec.h"

namespace allotter {

void AppendManyJobs(const ManyJobs& which, std::string& out);

}  // namespace allotter
