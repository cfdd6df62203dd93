// SPDX-License-Identifier: Apache-2.0
// Every family of commands adds itself here.
#pragma once

#include "cli/context.h"

namespace allot::cli {

void AddServeCommand(CLI::App& app, Context& context);
void AddDemoCommand(CLI::App& app, Context& context);
void AddSubmitCommand(CLI::App& app, Context& context);
void AddWorkCommand(CLI::App& app, Context& context);
void AddJobCommands(CLI::App& app, Context& context);  // jobs, job, job set, cancel, pause, resume, retry
void AddExplainCommand(CLI::App& app, Context& context);
void AddTaskCommands(CLI::App& app, Context& context);      // tasks, results, wait
void AddReceiptCommands(CLI::App& app, Context& context);   // receipt, receipts
void AddWorkerCommands(CLI::App& app, Context& context);    // workers, worker, worker set, worker next, drain
void AddStrategyCommands(CLI::App& app, Context& context);  // strategy …
void AddLimitCommands(CLI::App& app, Context& context);     // limit …
void AddDemandCommand(CLI::App& app, Context& context);
void AddTopCommand(CLI::App& app, Context& context);
void AddQueueCommands(CLI::App& app, Context& context);   // queue …
void AddNodeCommands(CLI::App& app, Context& context);    // nodes, node …
void AddQueueMove(CLI::App& queue, Context& context);     // queue move
void AddBackupCommands(CLI::App& app, Context& context);  // backup, restore
void AddCheckCommand(CLI::App& app, Context& context);
void AddTokenCommands(CLI::App& app, Context& context);   // token …
void AddConfigCommands(CLI::App& app, Context& context);  // config …
void AddExprCommands(CLI::App& app, Context& context);    // expr …
void AddCompletionCommand(CLI::App& app, Context& context);
void AddReadyCommand(CLI::App& app, Context& context);
void AddVersionCommand(CLI::App& app, Context& context);

}  // namespace allot::cli
