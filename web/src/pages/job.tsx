// SPDX-License-Identifier: Apache-2.0
// One job: how it stands, why it does not run, its tasks, what they failed with, and what can be done to it.
import { useRef, useState } from 'preact/hooks';
import { apiPath, patch } from '../api';
import { serverNow, useNow } from '../clock';
import { Legend, ProgressBar } from '../components/bars';
import { ActionButton, CopyButton, Dialog, Show, toast, toastError } from '../components/feedback';
import { Duration, Fact, Facts, ReasonChip, State, Tags, TextBlock, TimeAgo, User } from '../components/text';
import * as format from '../format';
import { actOnJob, applies, ended, kActions } from '../job_actions';
import type { Action } from '../job_actions';
import { useLive } from '../live';
import { estimateRate, RateMeter, remainingMs } from '../rates';
import { href } from '../router';
import { canChangeJobs } from '../session';
import type { Job } from '../types';
import { JobErrors } from './job_errors';
import { JobExplanation } from './job_explanation';
import { JobPicture } from './job_picture';
import { JobTasks } from './job_tasks';

export function JobPage({ queue, id, query }: { queue: string; id: string; query: URLSearchParams }) {
  const live = useLive<Job>(apiPath(queue, 'jobs', id));
  return (
    <>
      {!live.data && (
        <div class="head">
          <h1>Job {id}</h1>
          <a href={href('jobs', queue)}>all jobs</a>
        </div>
      )}
      <Show live={live} what="The job">
        {(job) => <Body queue={queue} job={job} query={query} />}
      </Show>
    </>
  );
}

function Body({ queue, job, query }: { queue: string; job: Job; query: URLSearchParams }) {
  const now = useNow();
  const meter = useRef(new RateMeter()).current;
  meter.add(serverNow(), job.done + job.failed);
  const rate = estimateRate(job, meter, now);
  const left = job.paused ? null : remainingMs(job, rate);
  const over = ended(job);
  const more = queue === 'default' ? '' : ` -q ${format.shellWord(queue)}`;
  return (
    <>
      <div class="head">
        <h1>
          Job <span class="mono">{job.id}</span>
        </h1>
        <State state={job.state} />
        {job.held && !over && <ReasonChip held={job.held} />}
        <JobActions job={job} />
      </div>
      <section class="card" aria-label="progress">
        <ProgressBar job={job} />
        <Legend counts={job} />
        <Facts>
          <Fact name="tasks">
            {format.count(job.count)}
            {job.promised ? <span class="dim"> ({format.count(job.promised)} promised)</span> : null}
          </Fact>
          {job.progress !== undefined && (
            <Fact name="under way">
              {format.real(job.progress)} <span class="dim">of {format.count(job.running)} running</span>
            </Fact>
          )}
          <Fact name={over ? 'rate, on the whole' : 'rate'}>{rate === null ? '–' : format.rate(rate)}</Fact>
          {over ? (
            <Fact name="took">
              <Duration ms={job.started_at_ms === null ? null : job.ended_at_ms! - job.started_at_ms} />
            </Fact>
          ) : (
            <Fact name="left">
              <Duration ms={left} />
            </Fact>
          )}
          <Fact name="user">
            <User user={job.user} link />
          </Fact>
          <Fact name="tags">
            <Tags tags={job.tags} link most={16} />
          </Fact>
          <Fact name="priority">{job.priority ?? <span class="dim">none</span>}</Fact>
          <Fact name="submitted">
            <TimeAgo at={job.submitted_at_ms} />
          </Fact>
          {job.scheduled_at_ms > job.submitted_at_ms && (
            <Fact name="scheduled">
              <TimeAgo at={job.scheduled_at_ms} />
            </Fact>
          )}
          <Fact name="started">
            <TimeAgo at={job.started_at_ms} />
          </Fact>
          {over && (
            <Fact name="ended">
              <TimeAgo at={job.ended_at_ms} />
            </Fact>
          )}
          {job.next_retry_at_ms !== null && (
            <Fact name="next retry">
              <TimeAgo at={job.next_retry_at_ms} />
            </Fact>
          )}
        </Facts>
        {job.reason && <p class="bad job-reason">{job.reason}</p>}
        <div class="actions">
          <CopyButton text={`allot job ${job.id}${more}`} />
          <CopyButton text={`allot explain ${job.id}${more}`} />
          <CopyButton text={`allot results ${job.id}${more}`} />
        </div>
      </section>
      {!over && <JobExplanation queue={queue} id={job.id} worker={query.get('worker') ?? ''} />}
      {job.count > 0 && <JobPicture queue={queue} job={job} query={query} />}
      {(job.failed > 0 || job.retrying > 0) && <JobErrors queue={queue} job={job} />}
      {job.count > 0 && <JobTasks queue={queue} job={job} query={query} />}
      <Settings job={job} />
    </>
  );
}

function JobActions({ job }: { job: Job }) {
  const [editing, setEditing] = useState(false);
  const all: Action[] = ['pause', 'resume', 'retry', 'cancel'];
  if (!canChangeJobs()) return null;
  return (
    <div class="actions">
      {!ended(job) && (
        <button type="button" onClick={() => setEditing(true)}>
          Priority…
        </button>
      )}
      {all
        .filter((action) => applies(action, job))
        .map((action) => (
          <ActionButton key={action} danger={kActions[action].danger} action={() => actOnJob(action, job)}>
            {kActions[action].name}
          </ActionButton>
        ))}
      {editing && <PriorityDialog job={job} onClose={() => setEditing(false)} />}
    </div>
  );
}

function PriorityDialog({ job, onClose }: { job: Job; onClose: () => void }) {
  const [text, setText] = useState(job.priority === null ? '' : String(job.priority));
  const valid = /^\s*-?\d{0,15}\s*$/.test(text) && text.trim() !== '-';
  const save = async (event: Event) => {
    event.preventDefault();
    if (!valid) return;
    const priority = text.trim() === '' ? null : Number(text);
    try {
      await patch<Job>(apiPath(job.queue, 'jobs', job.id), { priority });
      toast(priority === null ? `Job ${job.id} has no priority now` : `Job ${job.id} has priority ${priority} now`);
      onClose();
    } catch (error) {
      toastError(error);
    }
  };
  return (
    <Dialog title={`Priority of job ${job.id}`} onClose={onClose}>
      <form onSubmit={save}>
        <label class="field">
          <span>A higher number comes first; empty: none, which comes last.</span>
          <input
            type="text"
            inputMode="numeric"
            autoFocus
            value={text}
            aria-invalid={!valid}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <div class="dialog-buttons">
          <button type="button" onClick={onClose}>
            Keep as it is
          </button>
          <button type="submit" class="primary" disabled={!valid}>
            Set
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function Settings({ job }: { job: Job }) {
  const meta = Object.entries(job.meta);
  const { backoff } = job;
  return (
    <section class="card" aria-label="settings">
      <h2>As it was submitted</h2>
      <Facts>
        <Fact name="attempts of a task">{job.max_attempts}</Fact>
        <Fact name="failed tasks it bears">{String(job.max_failed_tasks)}</Fact>
        <Fact name="backoff">
          {format.duration(backoff.first_ms)} × {format.real(backoff.factor)}, at most {format.duration(backoff.max_ms)}, jitter{' '}
          {format.percent(backoff.jitter)}
        </Fact>
        <Fact name="lease">
          <Duration ms={job.lease_ms} />
        </Fact>
        <Fact name="timeout">{job.timeout_ms ? <Duration ms={job.timeout_ms} /> : <span class="dim">none</span>}</Fact>
        <Fact name="kept after its end">
          <Duration ms={job.retention_ms} />
        </Fact>
        <Fact name="waited for by a person">{job.async ? 'no' : 'yes'}</Fact>
        {job.idempotency_key && (
          <Fact name="idempotency key">
            <span class="mono">{job.idempotency_key}</span>
          </Fact>
        )}
        {job.payload_prefix && (
          <Fact name="payload prefix">
            <span class="mono">{job.payload_prefix}</span>
          </Fact>
        )}
        {job.trace && (
          <Fact name="trace">
            <span class="mono">{job.trace}</span>
          </Fact>
        )}
        {job.constraint_tags.length > 0 && (
          <Fact name="constraints">
            <Tags tags={job.constraint_tags} most={16} />
          </Fact>
        )}
      </Facts>
      {job.requirements !== null && (
        <>
          <h3>Requirements</h3>
          <TextBlock text={job.requirements} label="requirements" />
        </>
      )}
      {job.rank !== null && (
        <>
          <h3>Rank</h3>
          <TextBlock text={String(job.rank)} label="rank" />
        </>
      )}
      {meta.length > 0 && (
        <>
          <h3>Meta</h3>
          <Facts>
            {meta.map(([key, value]) => (
              <Fact key={key} name={key}>
                <span class="mono">{String(value)}</span>
              </Fact>
            ))}
          </Facts>
        </>
      )}
    </section>
  );
}
