// SPDX-License-Identifier: Apache-2.0
// One worker: what it is, what it does, and what it would get next.
import { useEffect, useRef, useState } from 'preact/hooks';
import { apiPath, patch } from '../api';
import { returns, tick } from '../clock';
import { ActionButton, CopyButton, Dialog, Empty, ErrorState, Loading, Show, toast, toastError } from '../components/feedback';
import { TextField } from '../components/fields';
import { Picks, TaskLink } from '../components/picks';
import { Presence, SlotsBar } from '../components/presence';
import { StrategyField } from '../components/strategy_field';
import { Table } from '../components/table';
import { Fact, Facts, JobLink, Nothing, Num, Since, Tags, TextBlock, TimeAgo, User } from '../components/text';
import { ReasonLine } from '../components/why';
import * as format from '../format';
import { useGet, useLive } from '../live';
import { placeOf } from '../places';
import type { Place } from '../places';
import { kStages } from '../reasons';
import { href } from '../router';
import { can } from '../session';
import type { Worker, WorkerNext } from '../types';
import { drain } from '../worker_actions';
import { Properties } from './workers';

const kTasksShown = 60;

export function WorkerPage({ queue, id }: { queue: string; id: string; query: URLSearchParams }) {
  const live = useLive<Worker>(apiPath(queue, 'workers', id));
  const gone = live.error?.code === 'unknown_worker';
  return (
    <>
      {!live.data && (
        <div class="head">
          <h1>Worker {id}</h1>
          <a href={href('workers', queue)}>all workers</a>
        </div>
      )}
      {gone && live.data && (
        <div class="banner banner-warning" role="status">
          This worker has left. What is shown is how it was last seen. <a href={href('workers', queue)}>All workers</a>
        </div>
      )}
      <Show live={gone && live.data ? { data: live.data, error: undefined } : live} what="The worker">
        {(worker) => <Body queue={queue} worker={worker} gone={gone} />}
      </Show>
    </>
  );
}

function Body({ queue, worker, gone }: { queue: string; worker: Worker; gone: boolean }) {
  const [editing, setEditing] = useState(false);
  const more = queue === 'default' ? '' : ` -q ${format.shellWord(queue)}`;
  const attributes = Object.entries(worker.attributes);
  return (
    <>
      <div class="head">
        <h1>Worker {worker.name || <span class="mono">{worker.id}</span>}</h1>
        {!gone && <Presence worker={worker} />}
        {!gone && (
          <div class="actions">
            {can('operate') && (
              <button type="button" onClick={() => setEditing(true)}>
                Change…
              </button>
            )}
            {!worker.draining && (
              <ActionButton scope="operate" danger action={() => drain(queue, [worker])}>
                Drain…
              </ActionButton>
            )}
          </div>
        )}
      </div>
      <section class="card" aria-label="worker">
        <Facts>
          <Fact name="slots">
            <SlotsBar worker={worker} />
          </Fact>
          <Fact name="asks for">
            <span title="its credit: tasks that it would take at once">{format.plural(worker.credit, 'more task')}</span>
          </Fact>
          {worker.promised !== undefined && (
            <Fact name="promised">
              {format.plural(worker.promised, 'task')} of {format.plural(worker.promised_jobs ?? 0, 'job')}
            </Fact>
          )}
          <Fact name="last seen">
            <TimeAgo at={worker.last_seen_at_ms} />
          </Fact>
          <Fact name="registered">
            <Since at={worker.registered_at_ms} /> ago
          </Fact>
          <Fact name="id">
            <span class="mono">{worker.id}</span>
          </Fact>
          <Fact name="address">
            <span class="mono">{worker.address || '–'}</span>
          </Fact>
          {worker.user && (
            <Fact name="user of its token">
              <User user={worker.user} />
            </Fact>
          )}
          <Fact name="tags">
            <Tags tags={worker.tags} link most={256} />
          </Fact>
          <Fact name="properties">
            <Properties of={worker.properties} most={16} />
          </Fact>
          {worker.constraint_tags && worker.constraint_tags.length > 1 && (
            <Fact name="constraints it meets">
              <Tags tags={worker.constraint_tags} most={8} />
            </Fact>
          )}
        </Facts>
        <div class="columns">
          <div>
            <h3>Strategy</h3>
            <TextBlock text={worker.strategy} label="strategy" />
            <p>
              <a href={href('strategies', queue, '', { s: worker.strategy, w: worker.id })}>Try another one on this worker</a>
            </p>
          </div>
          {worker.requirements !== null && (
            <div>
              <h3>Requirements</h3>
              <TextBlock text={worker.requirements} label="requirements" />
            </div>
          )}
          {worker.rank !== null && (
            <div>
              <h3>Rank</h3>
              <TextBlock text={String(worker.rank)} label="rank" />
            </div>
          )}
        </div>
        {attributes.length > 0 && (
          <>
            <h3>Attributes</h3>
            <Facts>
              {attributes.map(([key, value]) => (
                <Fact key={key} name={key}>
                  <span class="mono">{JSON.stringify(value)}</span>
                </Fact>
              ))}
            </Facts>
          </>
        )}
        <div class="actions">
          <CopyButton text={`allot worker ${worker.id}${more}`} />
        </div>
      </section>
      {!gone && <Next queue={queue} worker={worker} />}
      <div class="columns">
        <Tasks worker={worker} />
        {worker.queue && <Promised worker={worker} />}
      </div>
      {editing && <ChangeDialog queue={queue} worker={worker} onClose={() => setEditing(false)} />}
    </>
  );
}

// What it would get is looked up anew when the worker changes, and now and then: the queue changes, too.
function Next({ queue, worker }: { queue: string; worker: Worker }) {
  const slow = `${Math.floor(tick.value / 10)} ${returns.value}`;
  const version = `${worker.running} ${worker.credit} ${worker.promised} ${worker.draining} ${worker.away} ${worker.strategy} ${worker.tags.join()} ${slow}`;
  const next = useGet<WorkerNext>(apiPath(queue, 'workers', worker.id, 'next'), version, 3_000);
  return (
    <section class="card" aria-label="what it would get next">
      <h2>What it would get next</h2>
      {!next.data && next.loading && <Loading />}
      {!next.data && next.error && <ErrorState error={next.error} what="What it would get next" />}
      {next.data && <NextBody next={next.data} />}
    </section>
  );
}

function NextBody({ next }: { next: WorkerNext }) {
  return (
    <>
      <div aria-live="polite">
        <ReasonLine reason={next.verdict} strong />
      </div>
      <p class="dim">
        By its strategy <code>{next.strategy}</code>
        {next.policy !== 'worker' && (
          <>
            {' '}
            below the queue’s policy <code>{next.policy}</code>
          </>
        )}
        .{!next.complete && <span class="warn"> Looking took too long: what is behind, the newest, is missing.</span>}
      </p>
      {next.picks.length > 0 && <Picks picks={next.picks} />}
      {next.others.length > 0 && (
        <>
          <h3>Why not the others</h3>
          <Table
            label="tasks that it may not run"
            rows={next.others}
            id={(other) => other.stage}
            columns={[
              { name: 'they fail at', main: true, cell: (other) => kAt[other.stage] ?? kStages[other.stage] ?? other.stage },
              { name: 'tasks', num: true, cell: (other) => <Num value={other.tasks} /> },
              { name: 'ways of matching', num: true, cell: (other) => (other.classes ? <Num value={other.classes} /> : <Nothing />) },
              { name: 'for example', cell: (other) => (other.job ? <JobLink id={other.job} /> : <Nothing />) },
              { name: 'because', wide: true, cell: (other) => <span class="because">{other.message}</span> },
            ]}
          />
        </>
      )}
    </>
  );
}

const kAt: Record<string, string> = {
  tags: 'their tags',
  constraint: 'the properties they need',
  requirements: 'their requirements',
  worker_requirements: 'its own requirements',
  limits: 'limits',
  available: 'its presence',
  free_slot: 'its slots',
  others: 'not looked at',
};

function Tasks({ worker }: { worker: Worker }) {
  const [all, setAll] = useState(false);
  const tasks = worker.tasks ?? [];
  const shown = all ? tasks : tasks.slice(0, kTasksShown);
  return (
    <section class="card" aria-label="tasks it runs">
      <h2>
        Tasks it runs <span class="dim num">{format.count(worker.running)}</span>
      </h2>
      {tasks.length === 0 ? (
        <Empty>None.</Empty>
      ) : (
        <ul class="task-list">
          {shown.map((task) => (
            <li key={`${task.job} ${task.index}`}>
              <TaskLink job={task.job} index={task.index} />
            </li>
          ))}
        </ul>
      )}
      {tasks.length > shown.length && (
        <button type="button" class="small" onClick={() => setAll(true)}>
          {format.count(tasks.length - shown.length)} more
        </button>
      )}
      {worker.running > tasks.length && tasks.length > 0 && <p class="dim">Only the first {format.count(tasks.length)} are told.</p>}
    </section>
  );
}

function Promised({ worker }: { worker: Worker }) {
  const shares = worker.queue ?? [];
  return (
    <section class="card" aria-label="its queue">
      <h2>
        Its queue <span class="dim num">{format.plural(worker.promised ?? 0, 'task')}</span>
      </h2>
      {shares.length === 0 ? (
        <Empty>Nothing is promised to it.</Empty>
      ) : (
        <Table
          label="its queue"
          rows={shares}
          id={(share) => share.job}
          columns={[
            { name: 'job', main: true, cell: (share) => <JobLink id={share.job} /> },
            { name: 'tasks', num: true, cell: (share) => <Num value={share.tasks} /> },
            { name: 'priority', num: true, cell: (share) => share.priority ?? <Nothing /> },
            { name: 'user', cell: (share) => <User user={share.user} link /> },
            { name: 'tags', cell: (share) => <Tags tags={share.tags} link most={4} /> },
          ]}
        />
      )}
      {(worker.promised_jobs ?? 0) > shares.length && shares.length > 0 && (
        <p class="dim">
          The first {format.count(shares.length)} of {format.plural(worker.promised_jobs ?? 0, 'job')}. Which of these it gets first is up
          to its strategy.
        </p>
      )}
    </section>
  );
}

const tagsOf = (text: string) => [...new Set(text.split(/[\s,]+/).filter(Boolean))];

function ChangeDialog({ queue, worker: now, onClose }: { queue: string; worker: Worker; onClose: () => void }) {
  // What it was when the dialog was opened: only what was changed since is sent.
  const worker = useRef(now).current;
  const [tags, setTags] = useState(worker.tags.join(' '));
  const [strategy, setStrategy] = useState(worker.strategy);
  const [requirements, setRequirements] = useState(worker.requirements ?? '');
  const [rank, setRank] = useState(worker.rank === null ? '' : String(worker.rank));
  const [error, setError] = useState<Place | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => setError(null), [tags, strategy, requirements, rank]);
  const changes: Record<string, unknown> = {};
  const newTags = tagsOf(tags);
  if (newTags.join() !== worker.tags.join()) changes.tags = newTags;
  if (strategy.trim() !== worker.strategy) changes.strategy = strategy.trim() || null;
  if (requirements.trim() !== (worker.requirements ?? '')) changes.requirements = requirements.trim() || null;
  if (rank.trim() !== (worker.rank === null ? '' : String(worker.rank))) changes.rank = rank.trim() || null;
  const any = Object.keys(changes).length > 0;
  const save = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await patch<Worker>(apiPath(queue, 'workers', worker.id), changes);
      toast(`Changed: ${worker.name || worker.id}`);
      onClose();
    } catch (failure) {
      const place = placeOf(failure);
      const known = place && ['tags', 'strategy', 'requirements', 'rank'].some((name) => place.field.startsWith(name));
      if (known) setError(place);
      else toastError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title={`Change ${worker.name || worker.id}`} onClose={onClose}>
      <form class="form" onSubmit={save}>
        <TextField wide autoFocus label="tags, separated by spaces" name="tags" error={error} mono value={tags} onInput={setTags} />
        <StrategyField label="strategy" name="strategy" error={error} value={strategy} onInput={setStrategy} lines={2} />
        <TextField
          wide
          label="requirements"
          name="requirements"
          error={error}
          mono
          lines={2}
          value={requirements}
          onInput={setRequirements}
          help="An expression that must be true of a job (TARGET); empty: none."
        />
        <TextField
          wide
          label="rank"
          name="rank"
          error={error}
          mono
          value={rank}
          onInput={setRank}
          help="An expression: jobs where it is highest come first; empty: none."
        />
        <p class="dim form-help">
          Waiting jobs are matched anew; what it holds stays. The worker is told, and keeps it when it comes back.
        </p>
        <div class="dialog-buttons">
          <button type="button" onClick={onClose}>
            Keep as it is
          </button>
          <button type="submit" class="primary" disabled={!any || busy}>
            Change
          </button>
        </div>
      </form>
    </Dialog>
  );
}
