// SPDX-License-Identifier: Apache-2.0
// The objects of the protocol (docs/reference/protocol), as they are on the wire. Fields that older servers do not send are
// optional here; fields that servers add later are ignored.

import type { JobState, TaskState } from './states.js';
export type { JobState, TaskState } from './states.js';

export type Ms = number;
export type Kind = 'wait' | 'operator' | 'change_request';
export type Scope = 'submit' | 'work' | 'read' | 'operate' | 'admin';
export type MetaValue = string | number | bigint | boolean;
export type Json = unknown;

// How many tasks of a job are in each state.
export type TaskCounts = Record<TaskState, number>;

export interface You {
  tokens: boolean;
  name: string | null;
  user: string | null;
  queue: string | null;
  scopes: Scope[];
}

export interface ServerInfo {
  name: string;
  version: string;
  protocol: number;
  started_at_ms: Ms;
  now_at_ms: Ms;
  queues: number;
  you?: You;
  // What it can beyond the first version of the protocol; servers of that version have none.
  features?: string[];
}

export interface Queue {
  name: string;
  paused: boolean;
  created_at_ms: Ms;
  jobs: Record<JobState, number>;
  tasks: Partial<Record<TaskState, number>>;
  workers: number;
  workers_waiting: number;
  settings: QueueSettings;
  store: { file_bytes: number; journal_rows: number };
  memory?: { budget_bytes: number; used_bytes: number; parts: Record<string, number> };
}

export interface QueueSettings {
  max_finished_jobs: number;
  worker_grace_ms: Ms;
  max_result_bytes: number;
  property_keys: string[];
  max_property_keys: number;
  // Not told to tokens that are fixed to a user: they may name others.
  policy?: string;
  weights?: Record<string, number>;
  max_limit_expiration_ms: Ms;
  limit_ban_window_ms: Ms;
  demand_lookahead_ms: Ms;
  dispatch: 'fanout' | 'balanced';
  balance: 'least_queue' | 'round_robin' | 'random';
  memory_budget_bytes?: number;
}

export interface Held {
  code: string;
  kind: Kind;
  since_at_ms: Ms | null;
}

export interface Job extends TaskCounts {
  id: string;
  queue: string;
  state: JobState;
  paused: boolean;
  tags: string[];
  priority: number | null;
  user: string;
  async: boolean;
  meta: Record<string, MetaValue>;
  // The payload for all tasks, where it was asked for: of servers with the feature.
  payload?: Json;
  // What running tasks have done, in tasks, where their workers say so.
  progress?: number;
  constraints: Record<string, string>[];
  constraint_tags: string[];
  requirements: string | null;
  rank: string | number | null;
  count: number;
  promised?: number;
  max_attempts: number;
  max_failed_tasks: number | string;
  backoff: { first_ms: Ms; factor: number; max_ms: Ms; jitter: number };
  lease_ms: Ms;
  timeout_ms: Ms;
  retention_ms: Ms;
  submitted_at_ms: Ms;
  scheduled_at_ms: Ms;
  started_at_ms: Ms | null;
  ended_at_ms: Ms | null;
  next_retry_at_ms: Ms | null;
  reason: string;
  idempotency_key: string;
  payload_prefix: string;
  trace: string;
  held?: Held | null;
}

export interface JobsPage {
  jobs: Job[];
  next: string | null;
}

export interface Task {
  index: number;
  state: TaskState;
  attempts: number;
  worker: string | null;
  started_at_ms: Ms | null;
  // Empty where there is none.
  error: string;
  // While it is retrying: when its next attempt may start.
  retry_at_ms?: Ms;
  // While it is running, where its worker says so.
  progress?: { done: number; of?: number; note?: string };
  payload?: Json;
  result?: Json;
}

export interface TasksPage {
  tasks: Task[];
  next: number | null;
}

export interface Picture extends Record<TaskState, number[]> {
  job: string;
  count: number;
  from: number;
  to: number;
  width: number;
}

export interface ErrorGroup {
  text: string;
  example: string;
  tasks: number;
  first: number;
  last: number;
}

export interface ErrorsPage {
  job: string;
  groups: ErrorGroup[];
  examined: number;
  next: number | null;
}

export interface Worker {
  id: string;
  name: string;
  tags: string[];
  properties: Record<string, string>;
  attributes: Record<string, MetaValue>;
  requirements: string | null;
  rank: string | number | null;
  strategy: string;
  slots: number;
  running: number;
  credit: number;
  promised?: number;
  promised_jobs?: number;
  draining: boolean;
  connected: boolean;
  away: boolean;
  address: string;
  user: string;
  registered_at_ms: Ms;
  last_seen_at_ms: Ms;
  constraint_tags?: string[];
  tasks?: { job: string; index: number }[];
  queue?: { job: string; tasks: number; priority: number | null; user: string; tags: string[] }[];
}

export interface WorkersPage {
  workers: Worker[];
  next: string | null;
}

export interface OverviewReason {
  code: string;
  kind: Kind;
  tasks: number;
  jobs: number;
  classes: number;
  since_at_ms: Ms | null;
  job?: string;
  tags?: string[];
  // What stops them, those that stop the most first: where limits or ceilings do.
  limits?: { uuid: string; tag: string; name: string; tasks: number }[];
  ceilings?: { of: 'policy' | 'strategy'; key: string; value: unknown; running: number; max: number; tasks: number }[];
}

export interface Banner {
  level: 'info' | 'warning' | 'error';
  code: string;
  message: string;
  hint: string;
  job?: string;
}

export interface Overview {
  queue: Queue;
  rates: { submitted: number; started: number; done: number; failed: number };
  // Tokens that are fixed to a user are not told which job.
  oldest_waiting: { job?: string; since_at_ms: Ms } | null;
  workers: { registered: number; waiting: number; away: number; draining: number; slots: number; busy: number };
  reasons: OverviewReason[];
  banners: Banner[];
}

// Beside these, a list for each state that tasks can be in before they end.
export interface History {
  step_ms: Ms;
  from_at_ms: Ms;
  submitted: number[];
  started: number[];
  done: number[];
  failed: number[];
  oldest_ms: number[];
}

// What a request on many jobs finds them by; at least one field, or `all`.
export interface JobsFilter {
  state?: JobState;
  tag?: string;
  user?: string;
  all?: true;
  up_to?: string;
  dry_run?: boolean;
}

export interface BulkAnswer {
  matching: number;
  tasks: number;
  changed: number;
  up_to: string | null;
  complete: boolean;
  dry_run: boolean;
  took_ms: Ms;
}

export interface Reason {
  kind: Kind;
  code: string;
  message: string;
  hint: string;
  // Null where it is not known; not told of what a worker would get next.
  since_at_ms?: Ms | null;
}

export type Stage = 'total' | 'available' | 'tags' | 'constraint' | 'requirements' | 'worker_requirements' | 'free_slot' | 'limits';

export interface Condition {
  stage: Stage;
  condition: string;
  holds: boolean;
  outcome: 'true' | 'false' | 'undefined' | 'error' | 'no_boolean';
  // Null: it has none of that name.
  values: { name: string; value: string | null }[];
  message: string;
}

export interface Clause {
  clause: string;
  reached: number;
  failed: number;
  undefined: number;
  error: number;
  best: string | null;
}

export interface ExplainedLimit {
  uuid: string;
  tag: string;
  name: string;
  monitor: boolean;
  reads_worker: boolean;
  level: number;
  cost: number;
  holds_back: boolean;
  never: boolean;
  stops: boolean;
  overtaken: boolean;
  payable_in_ms: Ms | null;
  workers: number;
  workers_held: number;
}

export interface Ceiling {
  of: 'policy' | 'strategy';
  key: string;
  value: string | number | boolean | null;
  running: number;
  max: number;
}

export interface Order {
  strategy?: string;
  policy?: string;
  workers?: number;
  place?: number | null;
  complete?: boolean;
  first?: { job: string; user: string; why: Why[] } | null;
  own?: { why: Why[] } | null;
  ceilings: Ceiling[];
}

export interface Explanation {
  job: string | null;
  state: JobState;
  tasks: Partial<Record<TaskState, number>>;
  verdict: Reason;
  reasons: Reason[];
  workers: { total: number; examined: number; draining: number; away: number; matching: number };
  funnel: { stage: Stage; workers: number }[];
  tags: {
    tag: string;
    status: 'never_seen' | 'gone' | 'unavailable' | 'busy' | 'free';
    workers: number;
    available: number;
    free: number;
    last_seen_at_ms: Ms | null;
  }[];
  constraints: { tag: string; workers: number; properties: { key: string; value: string; workers: number }[] }[];
  requirements: Clause[];
  worker_requirements: Clause[];
  nearest: { worker: string; name: string; misses: Condition[] } | null;
  suggestions: { kind: string; given: string; nearest: string; where: string; message: string }[];
  limits?: ExplainedLimit[];
  order?: Order | null;
  promised?: {
    tasks: number;
    workers: number;
    longest: { worker: string; name: string; tasks: number; queue: number } | null;
  } | null;
  task?: Task;
}

// A job and one worker, condition by condition.
export interface WorkerExplanation extends Pick<Explanation, 'job' | 'state' | 'tasks' | 'verdict' | 'reasons' | 'limits'> {
  worker: string;
  name: string;
  matches: boolean;
  conditions: Condition[];
  job_rank: { expression: string | null; value: number };
  worker_rank: { expression: string | null; value: number };
}

// When something was served: at a time, by a pick of the same answer, or never since its oldest job was submitted.
export interface Served {
  at_ms?: Ms;
  pick?: number;
  never_since_ms?: Ms;
}

// A block of a policy or strategy on the way to a pick, with what it looked at.
export interface Why {
  block: string;
  of: 'policy' | 'strategy';
  text: string;
  key?: string;
  value?: string | number | boolean | null;
  running?: number;
  max?: number;
  percent?: number;
  slots?: number;
  level?: number;
  weight?: number;
  served?: Served;
  picked?: Served;
  branch?: number;
  branches?: number;
  rank?: number;
  priority?: number | null;
  scheduled_at_ms?: Ms;
  submitted_at_ms?: Ms;
  candidates?: number;
}

export interface PickedTask {
  job: string;
  index: number | null;
  random: boolean;
  user: string;
  tags: string[];
  why: Why[];
}

export interface StrategyTry {
  strategy: string;
  policy: string;
  paused: boolean;
  draining: boolean;
  complete: boolean;
  jobs_looked_at: number;
  held?: { jobs: number; tasks: number; job: string | null };
  limited?: boolean;
  may_run: number;
  queued_tasks: number;
  took_ms: Ms;
  picks: PickedTask[];
}

export interface StrategyCheck {
  name?: string;
  strategy: string;
  json: Json;
  words: string;
}

export interface WorkerNext {
  worker: string;
  name: string;
  verdict: Reason;
  strategy: string;
  policy: string;
  picks: PickedTask[];
  // The stage `others` is what was not looked at, and has no example.
  others: { stage: Stage | 'others'; classes: number; tasks: number; job: string | null; message: string }[];
  complete: boolean;
}

export interface Receipt {
  serial: number;
  job: string;
  index: number;
  attempt: number;
  worker: string;
  worker_name: string;
  user: string;
  at_ms: Ms;
  waited_ms: Ms;
  strategy: string;
  // Not told to tokens that are fixed to a user: they tell of everyone's jobs.
  stages?: { stage: string; text: string; [name: string]: Json }[];
  policy?: string;
  why?: Why[];
}

export interface ReceiptsPage {
  receipts: Receipt[];
  next: number | null;
}

export interface User {
  user: string;
  weight: number;
  share: number;
  use: number;
  jobs: number;
  queued: number;
  retrying: number;
  running: number;
  started: number;
  starts_per_s: number;
  oldest_at_ms: Ms | null;
  waited_ms: { mean: Ms; p50: Ms; p95: Ms };
}

export interface UsersPage {
  users: User[];
  next: string | null;
  active: number;
  running: number;
  starts_per_s: number;
}

export interface LimitSpec {
  tag: string;
  name?: string;
  expr: string;
  cost?: string | number | null;
  count: number;
  window_ms: Ms;
  burst?: number;
  max_burst_cost?: number;
  monitor?: boolean;
  expires_in_ms: Ms;
}

export interface Limit {
  uuid: string;
  tag: string;
  name: string;
  expr: string;
  cost: string | number | null;
  count: number;
  window_ms: Ms;
  burst: number;
  max_burst_cost: number;
  monitor: boolean;
  job_only: boolean;
  expires_in_ms: Ms;
  tokens: number;
  allowed: number;
  cost_allowed: number;
  skipped: number;
  ignored_matches: number;
  last_ignored_at_ms: Ms | null;
  ignored_users: string[];
  ignored: { user: string; at_ms: Ms }[];
  blocked_ms: Ms;
  waiting: number;
  waiting_forever: number;
  cheapest: number | null;
  payable_in_ms: Ms | null;
  cost_failed: boolean;
}

export interface LimitAnswer {
  uuid: string;
  expires_in_ms: Ms;
  capped: boolean;
  created?: boolean;
}

export interface LimitHistory {
  step_ms: Ms;
  from_at_ms: Ms;
  tokens: number[];
  waiting: number[];
}

export interface LimitTry {
  job_only: boolean;
  complete: boolean;
  jobs_looked_at: number;
  jobs: number;
  tasks: number;
  least_cost: number;
  most_cost: number;
  cost_failed: boolean;
  users: { user: string; jobs: number; tasks: number }[];
  worker_count: number;
  workers: { worker: string; name: string }[];
  took_ms: Ms;
}

export interface Backoff {
  first_ms?: Ms;
  factor?: number;
  max_ms?: Ms;
  jitter?: number;
}

export type Constraint = Record<string, string> | string;

export interface JobSpec {
  tags?: string[];
  tag?: string;
  constraints?: Constraint | Constraint[] | null;
  requirements?: string | null;
  rank?: string | number | null;
  count?: number;
  payload?: Json;
  payloads?: Json[];
  payload_prefix?: string;
  priority?: number | null;
  user?: string;
  async?: boolean;
  delay_ms?: Ms;
  scheduled_at_ms?: Ms;
  meta?: Record<string, MetaValue>;
  max_attempts?: number;
  backoff?: Backoff;
  lease_ms?: Ms;
  timeout_ms?: Ms;
  max_failed_tasks?: number | string;
  retention_ms?: Ms;
  idempotency_key?: string;
  trace?: string;
}

export interface JobChange {
  priority?: number | null;
  tags?: string[];
  tag?: string;
  delay_ms?: Ms;
  scheduled_at_ms?: Ms;
  meta?: Record<string, MetaValue>;
  constraints?: Constraint | Constraint[] | null;
  requirements?: string | null;
  rank?: string | number | null;
}

export interface Submitted {
  job: Job;
  existing: boolean;
  matching_workers: number;
}

export interface BatchSubmitted {
  jobs: { id: string; existing: boolean; matching_workers: number }[];
}

export interface Result {
  index: number;
  state: TaskState;
  result?: Json;
  error?: string;
}

export interface ResultsPage {
  results: Result[];
  next: number | null;
  job_state: JobState;
}

export interface Demand {
  totals: {
    queued: number;
    startable: number;
    running: number;
    wanted: number;
    jobs: number;
    rows: number;
    oldest_at_ms: Ms | null;
    oldest_age_ms: Ms | null;
  };
  paused: boolean;
  complete: boolean;
  lookahead_ms: Ms;
  rows: {
    user: string;
    tags: string[];
    constraints: Record<string, string>[];
    constraint_tags: string[];
    requirements: string | null;
    jobs: number;
    queued: number;
    startable: number;
    running: number;
    oldest_at_ms: Ms | null;
    oldest_age_ms: Ms | null;
    limits: { uuid: string; tag: string; name: string }[];
  }[];
  took_ms: Ms;
}

export interface ErrorBody {
  code: string;
  message: string;
  hint?: string;
}

// ---- What workers and the server say to each other.

export interface TaskRef {
  job: string;
  index: number;
  lease: string;
}

export interface Assignment extends TaskRef {
  attempt: number;
  count: number;
  lease_ms: Ms;
  timeout_ms: Ms;
  payload?: Json;
  job_payload?: Json;
  payload_prefix?: string;
  trace?: string;
}

// What there is to know of an assignment's job beside the assignment.
export interface JobHeader {
  id: string;
  tags: string[];
  meta: Record<string, MetaValue>;
  user?: string;
}

// What a worker is.
export interface WorkerTraits {
  tags?: string[];
  properties?: Record<string, string>;
  attributes?: Record<string, MetaValue>;
  requirements?: string | null;
  rank?: string | number | null;
  strategy?: Json;
}

export interface Hello extends WorkerTraits {
  name?: string;
  slots?: number;
  worker?: string;
  key?: string;
  resume?: TaskRef[];
}

export interface Welcome {
  worker: string;
  key: string;
  heartbeat_ms: Ms;
  resumed: TaskRef[];
  lost: TaskRef[];
  features?: string[];
}

export interface CancelOrder extends TaskRef {
  reason: string;
}

export interface ServerMessage {
  welcome?: Welcome;
  ack?: number;
  stale?: (TaskRef & { code: string })[];
  tasks?: Assignment[];
  cancel?: CancelOrder[];
  drain?: boolean;
  set?: WorkerTraits;
  error?: ErrorBody;
  // Headers of jobs of these tasks, where they were asked for.
  jobs?: JobHeader[];
  // The message that `error` answers.
  seq?: number;
}

// What a message of a worker may have. Reports travel as JSON text, since results do.
export interface WorkerMessage {
  seq?: number;
  done?: string[];
  failed?: string[];
  released?: string[];
  extend?: string[];
  pull?: number;
  set?: WorkerTraits;
  bye?: boolean;
}
