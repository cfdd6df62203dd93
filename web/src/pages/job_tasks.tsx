// SPDX-License-Identifier: Apache-2.0
// The tasks of a job in order of index, and one of them with its payload, result, reasons and receipt.
import { useEffect, useState } from 'preact/hooks';
import { apiPath, getTask, queryText } from '../api';
import type { TaskWithText } from '../api';
import { CopyButton, Empty, ErrorState, Loading, Show } from '../components/feedback';
import { Pager, Table } from '../components/table';
import { Fact, Facts, Nothing, State, TextBlock, TimeAgo, User, WorkerLink } from '../components/text';
import { ReasonLine, WhyList } from '../components/why';
import * as format from '../format';
import { useGet, useLive } from '../live';
import { prettyRaw } from '../raw_json';
import { setQuery } from '../router';
import type { Explanation, Job, Receipt, TasksPage, TaskState } from '../types';

const kStates: TaskState[] = ['queued', 'running', 'retrying', 'done', 'failed', 'skipped'];
const kPerPage = 20;

const digits = (text: string | null): number | null => (text !== null && /^\d{1,10}$/.test(text) ? Number(text) : null);

export function JobTasks({ queue, job, query }: { queue: string; job: Job; query: URLSearchParams }) {
  const state = query.get('tstate') ?? '';
  // Where the picture is zoomed to the list begins, unless it was paged on.
  const from = digits(query.get('tfrom')) ?? digits(query.get('from')) ?? 0;
  const chosen = digits(query.get('task'));
  const path = apiPath(queue, 'jobs', job.id, 'tasks') + queryText({ state, from: from || null, limit: kPerPage });
  const live = useLive<TasksPage>(path, { secondary: true, keep: true });
  return (
    <section class="card" aria-label="tasks">
      <div class="head">
        <h2>One by one</h2>
        <div class="actions">
          <label class="field-inline">
            state{' '}
            <select value={state} onChange={(event) => setQuery({ tstate: event.currentTarget.value, tfrom: null })}>
              <option value="">any</option>
              {kStates.map((one) => (
                <option key={one} value={one}>
                  {one} ({format.short(job[one])})
                </option>
              ))}
            </select>
          </label>
          <GoTo count={job.count} />
        </div>
      </div>
      {chosen !== null && <OneTask key={chosen} queue={queue} job={job} index={chosen} />}
      <Show live={live} what="Tasks">
        {({ tasks, next }) => (
          <>
            {tasks.length === 0 ? (
              <Empty>{next === null ? 'No such tasks.' : 'None among the ones looked at.'}</Empty>
            ) : (
              <Table
                label="tasks"
                rows={tasks}
                id={(task) => String(task.index)}
                current={chosen === null ? null : String(chosen)}
                columns={[
                  {
                    name: 'task',
                    main: true,
                    num: true,
                    cell: (task) => (
                      <button type="button" class="link" data-open onClick={() => setQuery({ task: task.index })}>
                        {format.count(task.index)}
                      </button>
                    ),
                  },
                  { name: 'state', bare: true, cell: (task) => <State state={task.state} /> },
                  { name: 'attempts', num: true, cell: (task) => task.attempts || <Nothing /> },
                  { name: 'worker', cell: (task) => (task.worker ? <WorkerLink id={task.worker} /> : <Nothing />) },
                  { name: 'since', num: true, cell: (task) => <TimeAgo at={task.started_at_ms} /> },
                  { name: 'progress', cell: (task) => (task.progress ? format.progress(task.progress) : '') },
                  { name: 'error', wide: true, cell: (task) => (task.error ? <span class="error-text">{task.error}</span> : '') },
                ]}
              />
            )}
            <Pager
              first={from === 0}
              next={next}
              older="Further"
              label="pages of tasks"
              onFirst={() => setQuery({ tfrom: null, from: null, to: null })}
              onNext={() => setQuery({ tfrom: next })}
            />
          </>
        )}
      </Show>
    </section>
  );
}

function GoTo({ count }: { count: number }) {
  const [text, setText] = useState('');
  const index = digits(text.replace(/[,\s]/g, ''));
  const valid = text === '' || (index !== null && index < count);
  return (
    <form
      class="field-inline"
      onSubmit={(event) => {
        event.preventDefault();
        if (index !== null && valid) setQuery({ task: index });
      }}>
      <label>
        index{' '}
        <input
          class="index"
          type="text"
          inputMode="numeric"
          value={text}
          aria-invalid={!valid}
          placeholder={`0 – ${format.short(Math.max(0, count - 1))}`}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
    </form>
  );
}

function OneTask({ queue, job, index }: { queue: string; job: Job; index: number }) {
  // What one task is changes with the job's counts, if at all.
  const version = `${job.running} ${job.done} ${job.failed} ${job.retrying} ${job.skipped}`;
  const path = apiPath(queue, 'jobs', job.id, 'tasks', index);
  const task = useGet<TaskWithText>(path, version, 2_000, getTask);
  useEffect(() => document.getElementById('one-task')?.scrollIntoView({ block: 'nearest' }), []);
  return (
    <div id="one-task" class="one-task" role="region" aria-label={`task ${index}`}>
      <div class="head">
        <h3>
          Task <span class="num">{format.count(index)}</span>
        </h3>
        {task.data && <State state={task.data.state} />}
        <div class="actions">
          <CopyButton text={`allot tasks ${job.id} ${index}`} />
          <button type="button" class="small plain" aria-label="close" onClick={() => setQuery({ task: null })}>
            ×
          </button>
        </div>
      </div>
      {!task.data && task.loading && <Loading />}
      {!task.data && task.error && <ErrorState error={task.error} />}
      {task.data && <TaskBody queue={queue} job={job} task={task.data} version={version} />}
    </div>
  );
}

function TaskBody({ queue, job, task, version }: { queue: string; job: Job; task: TaskWithText; version: string }) {
  const over = task.state === 'done' || task.state === 'failed' || task.state === 'skipped';
  const explained = useGet<Explanation>(
    over ? null : apiPath(queue, 'jobs', job.id, 'explain') + queryText({ task: task.index }),
    version,
    5_000,
  );
  // What was never delivered has none; of what has ended that is not told.
  const started = over || task.attempts > 0 || task.state === 'running';
  const receipt = useGet<Receipt>(
    !started ? null : apiPath(queue, 'jobs', job.id, 'tasks', task.index, 'receipt'),
    `${task.state} ${task.attempts}`,
  );
  return (
    <>
      <Facts>
        {!over && (
          <Fact name="attempts">
            {task.attempts} of {job.max_attempts}
          </Fact>
        )}
        {task.worker && (
          <Fact name="worker">
            <WorkerLink id={task.worker} />
          </Fact>
        )}
        {task.started_at_ms !== null && (
          <Fact name="started">
            <TimeAgo at={task.started_at_ms} />
          </Fact>
        )}
        {task.progress && <Fact name="progress">{format.progress(task.progress)}</Fact>}
        {task.retry_at_ms !== undefined && (
          <Fact name="next attempt">
            <TimeAgo at={task.retry_at_ms} />
          </Fact>
        )}
      </Facts>
      {explained.data?.task && explained.data.reasons.map((reason, i) => <ReasonLine key={i} reason={reason} />)}
      <div class="columns">
        {task.error && (
          <div>
            <h3>Error</h3>
            <TextBlock text={task.error} label="error" />
          </div>
        )}
        {task.payloadText !== undefined && (
          <div>
            <h3>Payload</h3>
            <TextBlock text={prettyRaw(task.payloadText)} label="payload" />
          </div>
        )}
        {task.resultText !== undefined && (
          <div>
            <h3>Result</h3>
            <TextBlock text={prettyRaw(task.resultText)} label="result" />
          </div>
        )}
      </div>
      {receipt.data && <ReceiptPart receipt={receipt.data} />}
      {receipt.error && !receipt.data && receipt.error.code === 'unknown_receipt' && (
        <p class="quiet">How it was started is not known: it was not, or not among the last 10,000 starts.</p>
      )}
    </>
  );
}

export function ReceiptPart({ receipt }: { receipt: Receipt }) {
  return (
    <details class="receipt" open>
      <summary>{receipt.why || receipt.stages ? 'How its last start was decided' : 'Its last start'}</summary>
      <Facts>
        <Fact name="attempt">{receipt.attempt}</Fact>
        <Fact name="worker">
          <WorkerLink id={receipt.worker} name={receipt.worker_name} />
        </Fact>
        <Fact name="user">
          <User user={receipt.user} />
        </Fact>
        <Fact name="started">
          <TimeAgo at={receipt.at_ms} />
        </Fact>
        <Fact name="had waited">{format.duration(receipt.waited_ms)}</Fact>
        <Fact name="strategy">
          <code>{receipt.strategy}</code>
        </Fact>
        {receipt.policy !== undefined && (
          <Fact name="policy">
            <code>{receipt.policy}</code>
          </Fact>
        )}
      </Facts>
      {receipt.stages && receipt.stages.length > 0 && (
        <ol class="why">
          {receipt.stages.map((stage, i) => (
            <li key={i}>
              <code>{stage.stage}</code> <span>{stage.text}</span>
            </li>
          ))}
        </ol>
      )}
      {receipt.why && receipt.why.length > 0 && (
        <>
          <h3>Order</h3>
          <WhyList why={receipt.why} />
        </>
      )}
    </details>
  );
}
