// SPDX-License-Identifier: Apache-2.0
#include "cli/text/result_printer.h"

#include "cli/text/payload_text.h"

namespace allot::cli {

void ResultPrinter::Print(const allotter::TaskResult& result) {
  switch (format_) {
    case Format::kNdjson:
      out_ << result.json << '\n';
      break;
    case Format::kJson:
      out_ << (begun_ ? ",\n" : "{\"results\":[\n") << result.json;
      begun_ = true;
      break;
    case Format::kId:
      if (result.state == "done") out_ << result.index << '\n';
      break;
    case Format::kTable: {
      const std::string bytes = JsonToBytes(result.result);
      if (result.state == "done") out_ << (style_.terminal ? VisibleLines(bytes) : bytes);
      out_ << '\n';
      if (result.state == "failed") {
        out_.flush();
        errors_ << "task " << result.index << " failed" << (result.error.empty() ? "" : ": ") << Visible(result.error)
                << '\n';
      }
      break;
    }
  }
}

void ResultPrinter::End() {
  if (format_ == Format::kJson) out_ << (begun_ ? "\n]}\n" : "{\"results\":[]}\n");
  out_.flush();
}

}  // namespace allot::cli
