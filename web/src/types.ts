// Made from the tables of src/wire/ by `ALLOT_UPDATE=1 build/server_tests --gtest_filter='OpenApi.*'`: change those.

export type Ms = number;
export type Json = unknown;
export type Scope = 'submit' | 'work' | 'read' | 'operate' | 'admin';
export type Feature = 'job_headers' | 'retry_in_ms' | 'progress' | 'results_as_completed' | 'job_payload' | 'number_names';
export type NodeState = 'alive' | 'draining' | 'dead';
export type DispatchMode = 'fanout' | 'balanced';
export type Balancing = 'least_queue' | 'round_robin' | 'random';
export type Kind = 'wait' | 'operator' | 'change_request';
export type Source = 'policy' | 'strategy';
export type Level = 'info' | 'warning' | 'error';
export type JobState = 'scheduled' | 'active' | 'paused' | 'done' | 'failed' | 'cancelled';
export type TaskState = 'queued' | 'running' | 'retrying' | 'done' | 'failed' | 'skipped';
export type Stage =
  'total' | 'available' | 'tags' | 'constraint' | 'requirements' | 'worker_requirements' | 'free_slot' | 'limits' | 'others';
export type TagStatus = 'never_seen' | 'gone' | 'unavailable' | 'busy' | 'free';
export type Outcome = 'true' | 'false' | 'undefined' | 'error' | 'no_boolean';
export type HistoryStep = 'second' | 'minute';

// Why something was refused.
export interface ErrorInfo {
  code: string; // a stable word
  message: string; // what is wrong
  hint: string; // what to do about it; may be empty
}

// An answer that refuses.
export interface ErrorAnswer {
  error: ErrorInfo; // why
}

// All is well.
export interface Status {
  status: string; // ok
}

// Who asks.
export interface You {
  tokens: boolean; // false: everyone may do everything
  name: string; // of the token; empty: none
  user: string | null; // that the token is fixed to
  queue: string | null; // that the token is fixed to
  scopes: Scope[]; // what it may do
}

// The server.
export interface ServerInfo {
  name: string; // allotter
  version: string; // of the program
  protocol: number; // its version
  started_at_ms: Ms; // since when it runs
  now_at_ms: Ms; // its clock
  queues: number; // how many
  you: You; // who asks
  features: Feature[]; // what clients may use
}

// A strategy that has a name.
export interface NamedStrategy {
  name: string; // how others call it
  strategy: string; // as text
  json: Json; // as a word or an object
  words: string; // what it does, in lines
}

// The strategies that have a name.
export interface Strategies {
  strategies: NamedStrategy[]; // fair, and those of the configuration
}

// A strategy to check.
export interface StrategyQuestion {
  strategy?: Json; // text, or the strategy as an object
  policy?: Json; // one with the word worker in it, instead of `strategy`
}

// What a strategy does.
export interface StrategyCheck {
  strategy: string; // as text
  json: Json; // as a word or an object
  words: string; // what it does, in lines
}

// A queue that a node has.
export interface NodeQueue {
  name: string; // its name
  since_at_ms: Ms; // since when this node has it, by the database's clock
  pinned?: string; // the node on which it is to be
}

// A server that shares the queues of a database.
export interface Node {
  name: string; // its name
  address: string; // by which other nodes reach it
  version: string; // of the program
  state: NodeState; // alive, draining or dead
  self: boolean; // it is the one that answers
  started_at_ms: Ms; // since when it runs, by the database's clock
  queues: NodeQueue[]; // that it has
}

// The nodes of a cluster.
export interface Nodes {
  nodes: Node[]; // all of them; none if this server shares nothing
  unowned: string[]; // queues that no node has at the moment
}

// A node hands over all that it has.
export interface Draining {
  draining: string; // the node
}

// Jobs by state.
export interface JobCounts {
  scheduled: number; // jobs in this state
  active: number; // jobs in this state
  paused: number; // jobs in this state
  done: number; // jobs in this state
  failed: number; // jobs in this state
  cancelled: number; // jobs in this state
}

// Tasks that have not ended, by state.
export interface OpenTasks {
  queued: number; // tasks that may start
  retrying: number; // tasks that wait for their next attempt
  running: number; // tasks that workers have
}

// What is set for a queue.
export interface QueueSettings {
  max_finished_jobs: number; // that are kept
  worker_grace_ms: Ms; // how long a worker may be away
  max_result_bytes: number; // of one task
  property_keys: string[]; // that jobs and workers may use
  max_property_keys: number; // how many there may be
  policy?: string; // the strategy above those of workers; not for tokens that are fixed to a user
  weights?: Record<string, number>; // of users and other values; not for tokens that are fixed to a user
  max_limit_expiration_ms: Ms; // how long a limit may last without being renewed
  limit_ban_window_ms: Ms; // how long a user that a limit blocked counts as blocked
  demand_lookahead_ms: Ms; // how far ahead demand looks
  dispatch: DispatchMode; // who holds a queued task
  balance: Balancing; // who is promised it, where dispatch is balanced
  memory_budget_bytes: number; // 0: as much as the server has for all queues
}

// What a queue takes on disk.
export interface StoreUse {
  file_bytes: number; // of the queue's file
  journal_rows: number; // that are not folded yet
}

// What a queue takes of memory.
export interface MemoryUse {
  budget_bytes: number; // what it may use
  used_bytes: number; // what it uses
  parts: Record<string, number>; // by what uses it
}

// A queue.
export interface Queue {
  name: string; // its name
  paused: boolean; // it gives out nothing
  created_at_ms: Ms; // when it was created
  jobs: JobCounts; // jobs by state
  tasks: OpenTasks; // tasks that have not ended
  workers: number; // that are registered
  workers_waiting: number; // that wait for tasks
  settings: QueueSettings; // what is set for it
  store: StoreUse; // what it takes on disk
  memory: MemoryUse; // what it takes of memory
}

// The queues.
export interface Queues {
  queues: Queue[]; // those that the token may reach
  missing?: string[]; // nodes of a cluster that did not answer in time
}

// What to set; what is not there stays.
export interface QueueSettingsChange {
  max_finished_jobs?: number; // that are kept
  worker_grace_ms?: Ms; // how long a worker may be away
  max_result_bytes?: number; // of one task
  property_keys?: string[]; // that jobs and workers may use
  max_property_keys?: number; // how many there may be
  policy?: Json; // text, or a strategy as an object, with the word worker in it
  weights?: Record<string, number | null> | null; // those to change; a null takes one away, or all
  max_limit_expiration_ms?: Ms; // how long a limit may last without being renewed
  dispatch?: DispatchMode | null; // who holds a queued task
  balance?: Balancing | null; // who is promised it, where dispatch is balanced
  memory_budget_bytes?: number | null; // 0: as much as the server has for all queues
  limit_ban_window_ms?: Ms; // how long a user that a limit blocked counts as blocked
  demand_lookahead_ms?: Ms; // how far ahead demand looks
}

// A queue to create.
export interface QueueCreate {
  name: string; // its name
  settings?: QueueSettingsChange; // what differs from the defaults
}

// A change of a queue.
export interface QueueChange {
  settings: QueueSettingsChange; // what to set
}

// What was deleted.
export interface Deleted {
  deleted: string; // what was deleted
}

// Where a queue is to be.
export interface Move {
  to: string; // the node; empty: wherever it belongs
}

// A queue goes to a node.
export interface Moving {
  queue: string; // its name
  to: string; // the node
}

// Over the last ten seconds.
export interface Rates {
  submitted: number; // tasks a second
  started: number; // tasks a second
  done: number; // tasks a second
  failed: number; // attempts a second
}

// The job that waits the longest.
export interface OldestWaiting {
  job?: string; // not for tokens that are fixed to a user
  since_at_ms: Ms; // since when
}

// Workers and their slots.
export interface WorkerCounts {
  registered: number; // workers
  waiting: number; // for tasks
  away: number; // their connections were lost
  draining: number; // workers
  slots: number; // of all workers
  busy: number; // slots
}

// A limit that stops tasks.
export interface BlockedByLimit {
  uuid: string; // the limit's
  tag: string; // the limit's
  name: string; // the limit's
  tasks: number; // that it stops
}

// A ceiling of a strategy that stops tasks.
export interface BlockedByCeiling {
  of: Source; // whose rule it is
  key: string; // what it goes by, as user
  value: Json; // of the key: text, a number or a boolean
  running: number; // tasks with this value
  max: number; // how many may run
  tasks: number; // that it stops
}

// Why tasks do not run.
export interface OverviewReason {
  code: string; // the reason, as in an explanation
  kind: Kind; // what to do about it
  tasks: number; // that do not run for it
  jobs: number; // theirs
  classes: number; // ways of matching, theirs
  since_at_ms: Ms | null; // null: since before the server's start
  job?: string | null; // the one with the most tasks; not for tokens that are fixed to a user
  tags?: string[]; // of that job
  limits?: BlockedByLimit[]; // those that stop the most, where limits do
  ceilings?: BlockedByCeiling[]; // those that stop the most, where ceilings do
}

// What people should know at once.
export interface Banner {
  level: Level; // how bad it is
  code: string; // a stable word
  message: string; // what is wrong
  hint: string; // what to do about it
  job?: string; // an example
}

// How a queue stands.
export interface Overview {
  queue: Queue; // the queue
  rates: Rates; // what goes through it
  oldest_waiting: OldestWaiting | null; // null: nothing waits
  workers: WorkerCounts; // who works
  reasons: OverviewReason[]; // those first that block the most
  banners: Banner[]; // the gravest first
}

// A queue's numbers over time, the oldest first.
export interface History {
  step_ms: Ms; // between two numbers
  from_at_ms: Ms; // of the first
  submitted: number[]; // tasks within the step
  started: number[]; // tasks within the step
  done: number[]; // tasks within the step
  failed: number[]; // attempts within the step
  queued: number[]; // tasks at its end
  retrying: number[]; // tasks at its end
  running: number[]; // tasks at its end
  oldest_ms: number[]; // how long the oldest job had waited at its end
}

// How long the last starts had waited.
export interface Waited {
  mean: number; // in milliseconds
  p50: number; // in milliseconds
  p95: number; // in milliseconds
}

// A user's share of a queue against its use.
export interface User {
  user: string; // the name; empty: jobs of nobody
  weight: number; // of the queue's settings
  share: number; // the part of the queue that is due, 0 to 1
  use: number; // the part of what runs, 0 to 1
  jobs: number; // that have not ended
  queued: number; // tasks that may start
  retrying: number; // tasks that wait for their next attempt
  running: number; // tasks that workers have
  started: number; // tasks since the server's start
  starts_per_s: number; // in the last time
  oldest_at_ms: Ms | null; // the oldest job that waits
  waited_ms: Waited; // how long the last starts had waited
}

// A page of users.
export interface UsersPage {
  users: User[]; // in the order of their names
  next: string | null; // ask for it with `after`; null: that was all
  active: number; // users with something that may start, or runs
  running: number; // tasks of all
  starts_per_s: number; // of all
}

// What a stage decided.
export interface ReceiptStage {
  stage: string; // match, limits or dispatch
  open?: number; // match: classes with open tasks
  passed?: number; // match: those of them that the worker may run
  blocked?: number; // limits: groups that they blocked
  met?: number; // limits: limits that applied and were paid
  mode?: DispatchMode; // dispatch: who holds a queued task
  from?: string; // dispatch: whose queue it came from
  text: string; // in words
}

// When something was served: one of these.
export interface Served {
  pick?: number; // by which pick of this answer
  never_since_ms?: Ms; // never, since its oldest job was submitted
  at_ms?: Ms; // when
}

// A block of a policy or strategy on the way to a pick, with what it looked at.
export interface Why {
  block: string; // of the strategy
  of: Source; // whose block
  key?: string; // what it goes by, as user
  value?: Json; // of the key: text, a number or a boolean
  running?: number; // tasks with this value
  max?: number; // how many may run
  percent?: number; // of the slots
  slots?: number; // how many there are
  level?: number; // of the value
  weight?: number; // of the value
  served?: Served; // when this value was
  branch?: number; // which branch, from 1
  branches?: number; // how many there are
  rank?: number; // that the worker gives the job
  priority?: number | null; // of the job
  scheduled_at_ms?: Ms; // of the job
  submitted_at_ms?: Ms; // of the job
  picked?: Served; // when this branch was
  candidates?: number; // among which chance chose
  text: string; // all of it in words
}

// How a start was decided.
export interface Receipt {
  serial: number; // its number
  job: string; // the job's id
  index: number; // of the task
  attempt: number; // from 1
  worker: string; // that was given it
  worker_name: string; // for people
  user: string; // of the job
  at_ms: Ms; // when
  waited_ms: Ms; // how long it had waited
  stages?: ReceiptStage[]; // not for tokens that are fixed to a user
  strategy: string; // as text
  policy?: string; // not for tokens that are fixed to a user
  why?: Why[]; // not for tokens that are fixed to a user
}

// A page of receipts.
export interface ReceiptsPage {
  receipts: Receipt[]; // the newest first
  next: number | null; // ask for it with `before`; null: that was all
}

// Demand of all rows.
export interface DemandTotals {
  queued: number; // tasks that have not started
  startable: number; // of those, what could start if workers were there
  running: number; // also of jobs of which nothing waits, which have no row
  wanted: number; // startable and running: how many slots there is work for
  jobs: number; // of all rows
  rows: number; // shown or not
  oldest_at_ms: Ms | null; // the oldest job that waits
  oldest_age_ms: Ms | null; // how long it waits
}

// A limit by name.
export interface LimitName {
  uuid: string; // its id
  tag: string; // for whoever made it
  name: string; // for people
}

// Jobs that ask for the same workers.
export interface DemandRow {
  user: string; // whose jobs
  tags: string[]; // theirs
  constraints: Record<string, string>[]; // theirs
  constraint_tags: string[]; // one for each alternative
  requirements: string | null; // theirs; null: none
  jobs: number; // how many
  queued: number; // tasks that have not started
  startable: number; // of those, what could start if workers were there
  running: number; // tasks that workers have
  oldest_at_ms: Ms | null; // the oldest job that waits
  oldest_age_ms: Ms | null; // how long it waits
  limits: LimitName[]; // that are in the way
}

// What could start if workers were there.
export interface Demand {
  totals: DemandTotals; // of all rows
  paused: boolean; // the queue gives out nothing
  complete: boolean; // all jobs were looked at
  lookahead_ms: Ms; // how far it looks ahead
  rows: DemandRow[]; // the oldest first
  took_ms: Ms; // how long it took
}

// How long a failed task waits before its next attempt.
export interface BackoffSpec {
  first_ms?: Ms; // before the second attempt
  factor?: number; // each further wait is longer by it
  max_ms?: Ms; // no wait is longer
  jitter?: number; // by which part of itself a wait may differ, by chance
}

// A job to submit.
export interface JobSpec {
  tags?: string[]; // what kind of work it is; a worker needs one of them
  tag?: string; // instead of `tags`, where it has one
  count?: number; // how many tasks
  payload?: Json; // what all tasks are given
  payloads?: Json[]; // what each task is given: instead of `count`
  priority?: number | null; // higher ones come first; null comes last
  user?: string; // whose it is
  async?: boolean; // false: whoever submitted it waits for it
  delay_ms?: Ms; // from its submission to its start
  scheduled_at_ms?: Ms; // when it may start, instead of `delay_ms`
  meta?: Record<string, string | number | boolean>; // what expressions can read, and people
  constraints?: Json; // properties that a worker must have: an object, a constraint tag, or a list
  requirements?: string | null; // an expression, true of workers that may run it
  rank?: string | number | null; // an expression: of several waiting workers the highest gets it
  max_attempts?: number; // for each task
  backoff?: BackoffSpec; // how long a failed task waits
  lease_ms?: Ms; // how long a worker may be silent
  timeout_ms?: Ms; // how long an attempt may take; 0: as long as it likes
  max_failed_tasks?: string | number; // one more, and the job fails: a number or "5%"
  retention_ms?: Ms; // how long it is kept when it has ended
  idempotency_key?: string; // the same job submitted twice is one; empty: none
  payload_prefix?: string; // stands before the payload where a command reads it
  trace?: string; // handed to workers as it is
}

// A job's tasks that have not ended.
export interface TaskCounts {
  queued: number; // tasks that may start
  running: number; // tasks that workers have
  retrying: number; // tasks that wait for their next attempt
}

// Why something does not run.
export interface Reason {
  kind: Kind; // what to do about it
  code: string; // a stable word
  message: string; // in words
  hint: string; // what to do about it
  since_at_ms: Ms | null; // null: not known
}

// How a limit stands to a job.
export interface ExplainedLimit {
  uuid: string; // its id
  tag: string; // for whoever made it
  name: string; // for people
  monitor: boolean; // it holds nothing back
  reads_worker: boolean; // it holds on some workers alone
  level: number; // its tokens
  cost: number; // of a start
  blocks: boolean; // now
  never: boolean; // it can never pay
  stops: boolean; // its count is 0
  overtaken: boolean; // cheaper starts keep the job waiting
  payable_in_ms: Ms | null; // when it can pay, if nothing else starts
  workers: number; // that it applies to, where it reads the worker
  workers_blocked: number; // on which it blocks the job
}

// What comes first.
export interface FirstInOrder {
  job: string; // the job's id
  user: string; // of the job
  why: Why[]; // from the outermost block on
}

// How the job itself stands.
export interface OwnPlace {
  why: Why[]; // from the outermost block on
}

// A ceiling of a strategy that a value has reached.
export interface Ceiling {
  of: Source; // whose rule it is
  key: string; // what it goes by, as user
  value: Json; // of the key: text, a number or a boolean
  running: number; // tasks with this value
  max: number; // how many may run
}

// Where a job stands among the others.
export interface Order {
  strategy?: string; // of most workers that are given it; not for tokens that are fixed to a user
  policy?: string; // of the queue; the same
  workers?: number; // that have this strategy
  place?: number | null; // from 1; null: not known
  complete?: boolean; // all jobs were looked at
  first?: FirstInOrder | null; // null: nothing comes first
  own?: OwnPlace; // how the job itself stands
  ceilings: Ceiling[]; // that hold it back
}

// The worker that was promised the most of a job.
export interface PromisedMost {
  worker: string; // its id
  name: string; // for people
  tasks: number; // of the job that it was promised
  queue: number; // all that it was promised
}

// Who holds a job's tasks, where dispatch is balanced.
export interface Promised {
  tasks: number; // that were promised
  workers: number; // to how many
  longest: PromisedMost | null; // null: none, or not told
}

// How far a running task is, as its worker says.
export interface Progress {
  done: number; // how much
  of?: number; // how much there is; missing: it is not known
  note?: string; // for people
}

// A task of a job.
export interface Task {
  index: number; // its number in the job, from 0
  state: TaskState; // how it stands
  attempts: number; // deliveries so far, as far as they are known
  worker: string | null; // that has it
  started_at_ms: Ms | null; // since when
  error: string; // of its last attempt; empty: none
  retry_at_ms?: Ms; // when its next attempt may start, where it is retrying
  progress?: Progress; // where it is running, and its worker says so
  payload?: Json; // where one task is asked for, and has one
  result?: Json; // where one task is asked for, and is done
}

// Workers, as an explanation saw them.
export interface Examined {
  total: number; // workers
  examined: number; // in the time there was
  draining: number; // workers
  away: number; // workers
  matching: number; // that may run it
}

// How many workers come past a stage.
export interface FunnelStage {
  stage: Stage; // the stage
  workers: number; // that come past it
}

// Who has a tag of the job.
export interface TagStanding {
  tag: string; // of the job
  status: TagStatus; // of workers with it
  workers: number; // with it
  available: number; // neither draining nor away
  free: number; // with a free slot
  last_seen_at_ms: Ms | null; // when a worker had it
}

// Who has a property.
export interface PropertyStanding {
  key: string; // of the property
  value: string; // that is asked for
  workers: number; // that have it
}

// Who meets one of the alternatives.
export interface ConstraintStanding {
  tag: string; // its constraint tag
  workers: number; // that meet it
  properties: PropertyStanding[]; // one by one
}

// A part of requirements, and where it fails.
export interface Clause {
  clause: string; // as text
  reached: number; // workers for which it was asked
  failed: number; // of these: it was false
  undefined: number; // of these: something was missing
  error: number; // of these: it had an error
  best: string | null; // the value that came nearest
}

// What a condition read.
export interface SeenValue {
  name: string; // of the attribute
  value: string | null; // null: it has none
}

// What a worker must be, and whether it is.
export interface Condition {
  stage: Stage; // which stage it is of
  condition: string; // as text
  holds: boolean; // for this worker
  outcome: Outcome; // of the expression
  values: SeenValue[]; // what it read
  message: string; // in words
}

// The worker that misses the least.
export interface Nearest {
  worker: string; // its id
  name: string; // for people
  misses: Condition[]; // what it is not
}

// What may have been meant.
export interface Suggestion {
  kind: string; // what looks like a slip
  given: string; // what the job says
  nearest: string; // what is there
  where: string; // whose it is
  message: string; // in words
}

// Why a job does not run.
export interface Explanation {
  job: string | null; // null: it is not submitted
  state: JobState; // how it stands
  tasks: TaskCounts; // that have not ended
  verdict: Reason; // the first of the reasons
  reasons: Reason[]; // the gravest first
  limits: ExplainedLimit[]; // that apply
  order?: Order; // where it stands among the others
  promised: Promised | null; // null: dispatch is not balanced
  task?: Task; // where it was asked for
  workers: Examined; // as they were seen
  funnel: FunnelStage[]; // how many workers come past each stage
  tags: TagStanding[]; // of the job
  constraints: ConstraintStanding[]; // one for each alternative
  requirements: Clause[]; // of the job
  worker_requirements: Clause[]; // of workers
  nearest: Nearest | null; // null: none, or not told
  suggestions: Suggestion[]; // what may have been meant
}

// A strategy to try.
export interface StrategyTrial {
  strategy: Json; // text, or the strategy as an object
  policy?: Json; // instead of the queue's own
  worker?: Json; // the id of one, or a description as in Hello; missing: one that may run every job
  count?: number; // how many picks
}

// What limits block.
export interface BlockedByLimits {
  jobs: number; // how many
  tasks: number; // theirs
  job: string | null; // one of them
}

// A task that a worker would be given.
export interface PickedTask {
  job: string; // the job's id
  index: number | null; // of the task; null: it was taken meanwhile
  random: boolean; // chance had a say
  user: string; // of the job
  tags: string[]; // of the job
  why: Why[]; // from the outermost block on
}

// What a worker with some strategy would be given.
export interface StrategyTry {
  strategy: string; // as text
  policy: string; // as text
  paused: boolean; // the queue gives out nothing
  draining: boolean; // the worker is given nothing
  complete: boolean; // all jobs were looked at
  jobs_looked_at: number; // how many
  may_run: number; // jobs that the worker may run
  queued_tasks: number; // theirs
  took_ms: Ms; // how long it took
  blocked: BlockedByLimits; // what limits block, which is left out
  limited: boolean; // there are fewer picks than asked for, and limits block others
  picks: PickedTask[]; // in order
}

// How long a failed task waits before its next attempt.
export interface Backoff {
  first_ms: Ms; // before the second attempt
  factor: number; // each further wait is longer by it
  max_ms: Ms; // no wait is longer
  jitter: number; // by which part of itself a wait may differ, by chance
}

// Why what waits of a job does not run.
export interface WaitReason {
  code: string; // the reason, as in an explanation
  kind: Kind; // what to do about it
  since_at_ms: Ms | null; // null: since before the server's start
}

// A job.
export interface Job {
  id: string; // its id
  queue: string; // the name of its queue
  state: JobState; // how it stands
  paused: boolean; // the same as the state paused
  tags: string[]; // what kind of work it is
  priority: number | null; // higher ones come first; null comes last
  user: string; // whose it is
  async: boolean; // false: whoever submitted it waits for it
  meta: Record<string, string | number | boolean>; // what expressions can read, and people
  constraints: Record<string, string>[]; // properties that a worker must have: alternatives
  constraint_tags: string[]; // one for each alternative
  requirements: string | null; // an expression, true of workers that may run it
  rank: string | null; // an expression: of several waiting workers the highest gets it
  count: number; // tasks
  queued: number; // tasks that may start
  running: number; // tasks that workers have
  retrying: number; // tasks that wait for their next attempt
  done: number; // tasks that are done
  failed: number; // tasks that failed for good
  skipped: number; // tasks that will not run
  promised?: number; // of the queued ones, those in queues of workers; missing: none
  progress?: number; // what running tasks have done, in tasks; missing: none says so
  payload?: Json; // of the job for all of its tasks, where one job is asked for, and has one
  max_attempts: number; // for each task
  max_failed_tasks: number; // one more, and the job fails
  backoff: Backoff; // how long a failed task waits
  lease_ms: Ms; // how long a worker may be silent
  timeout_ms: Ms; // how long an attempt may take; 0: as long as it likes
  retention_ms: Ms; // how long it is kept when it has ended
  submitted_at_ms: Ms; // when it was submitted
  scheduled_at_ms: Ms; // when it may start
  started_at_ms: Ms | null; // when its first task was given out
  ended_at_ms: Ms | null; // when it ended
  next_retry_at_ms: Ms | null; // when the next of its retrying tasks may run
  reason: string; // why it failed, where it did
  idempotency_key: string; // the same job submitted twice is one; empty: none
  payload_prefix: string; // stands before the payload where a command reads it
  trace: string; // handed to workers as it is
  wait_reason: WaitReason | null; // null: nothing of it waits, or it is not known
}

// A page of jobs.
export interface JobsPage {
  jobs: Job[]; // the newest first
  next: string | null; // ask for it with `before`; null: that was all
}

// The answer to a submit.
export interface Submitted {
  job: Job; // as it is now
  existing: boolean; // it was there, found by its idempotency key
  matching_workers: number; // those that may run it
}

// Several jobs to submit.
export interface Batch {
  jobs: JobSpec[]; // all of them are submitted, or none
}

// One job of a batch.
export interface SubmittedId {
  id: string; // the job's
  existing: boolean; // it was there, found by its idempotency key
  matching_workers: number; // those that may run it
}

// The answer to a batch.
export interface SubmittedBatch {
  jobs: SubmittedId[]; // in the order of the batch
}

// Which jobs to do something with.
export interface JobsFilter {
  state?: JobState; // only jobs in it
  tag?: string; // only jobs with it
  user?: string; // only this user's
  up_to?: string; // only jobs that are not newer
  dry_run?: boolean; // only counts
  all?: boolean; // needed where nothing else says which jobs
}

// What became of many jobs at once.
export interface BulkAnswer {
  matching: number; // jobs that the filter finds
  tasks: number; // of theirs that have not ended
  changed: number; // jobs that were changed
  up_to: string; // the newest job that was looked at
  complete: boolean; // false: it took too long, ask again
  dry_run: boolean; // nothing was changed
  took_ms: Ms; // how long it took
}

// What to change of a job; what is not there stays.
export interface JobChange {
  priority?: number | null; // null comes last
  tags?: string[]; // what kind of work it is
  tag?: string; // instead of `tags`
  delay_ms?: Ms; // from now to its start
  scheduled_at_ms?: Ms; // when it may start, instead of `delay_ms`
  meta?: Record<string, string | number | boolean>; // all of it
  constraints?: Json; // as in JobSpec; null: none
  requirements?: string | null; // null: none
  rank?: string | number | null; // null: none
}

// The answer to a retry.
export interface Retried {
  job: Job; // as it is now
  retried: number; // tasks that will run again
}

// What a rank comes to.
export interface Rank {
  expression: string | null; // null: none
  value: number; // 0 where there is none
}

// A job and one worker, condition by condition.
export interface WorkerExplanation {
  job: string | null; // null: it is not submitted
  state: JobState; // how it stands
  tasks: TaskCounts; // that have not ended
  verdict: Reason; // the first of the reasons
  reasons: Reason[]; // the gravest first
  limits: ExplainedLimit[]; // that apply
  worker: string; // its id
  name: string; // for people
  matches: boolean; // it may run the job
  conditions: Condition[]; // one by one
  job_rank: Rank; // that the job gives the worker
  worker_rank: Rank; // that the worker gives the job
}

// How many tasks are in which state, over the range of their indices.
export interface Picture {
  job: string; // the job's id
  count: number; // tasks of the job
  from: number; // the first index of the range
  to: number; // the first index behind it
  width: number; // tasks of a part; the last may have fewer
  queued: number[]; // of each part
  running: number[]; // of each part
  retrying: number[]; // of each part
  done: number[]; // of each part
  failed: number[]; // of each part
  skipped: number[]; // of each part
}

// Tasks that failed for what looks like one reason.
export interface ErrorGroup {
  text: string; // with # for what differs from task to task
  example: string; // the first as it was
  tasks: number; // how many
  first: number; // the first index
  last: number; // the last index
}

// The errors of a job's tasks, grouped.
export interface ErrorsPage {
  job: string; // the job's id
  groups: ErrorGroup[]; // those with the most tasks first
  examined: number; // errors that were looked at
  next: number | null; // ask for it with `from`; null: that was all
}

// What came out of a task.
export interface TaskResult {
  index: number; // of the task
  state: TaskState; // done, failed or skipped
  result?: Json; // of one that is done
  error?: string; // of one that failed
}

// A page of results.
export interface ResultsPage {
  results: TaskResult[]; // of tasks that have ended, up to the first that has not
  next: number | null; // ask for it with `from`; null: that was all
  job_state: JobState; // of the job
}

// A page of tasks.
export interface TasksPage {
  tasks: Task[]; // in the order of their indices
  next: number | null; // ask for it with `from`; null: that was all
}

// Tasks of a job.
export interface Range {
  from: number; // the first index
  to: number; // the first index behind the range
}

// A job whose results are to be told as they complete.
export interface Follow {
  job: string; // the job's id
  credit: number; // so many more of its results, at most
  have?: Range[]; // results that are there already; of the job's first entry alone
}

// Which jobs to wait for.
export interface Wait {
  wait?: string[]; // ids of jobs
  results?: Follow[]; // jobs whose results are wanted as they complete
}

// Results of a job, as they complete.
export interface Followed {
  job: string; // the job's id
  results: TaskResult[]; // of tasks that have ended, in the order in which that was seen
  end: boolean; // these are the last: the job has ended, and all has been told
}

// A job that has ended.
export interface Ended {
  id: string; // the job's
  state: JobState; // how it ended
  done: number; // tasks that are done
  failed: number; // tasks that failed
}

// Which jobs have ended.
export interface WaitNews {
  results?: Followed[]; // results that were asked for
  ended?: Ended[]; // jobs that have ended
  unknown?: string[]; // jobs that are not there
  error?: ErrorInfo; // what was asked is refused
}

// A user that a limit blocks.
export interface IgnoredUser {
  user: string; // whose starts it blocked
  at_ms: Ms; // when the last time
}

// A limit, and what it does.
export interface Limit {
  uuid: string; // its id
  tag: string; // for whoever made it, to find its own
  name: string; // for people
  expr: string; // to which starts it applies
  cost: string | null; // of a start; null: 1
  count: number; // tokens of a window
  window_ms: Ms; // the window
  burst: number; // how far it may go into debt
  max_burst_cost: number; // no start costs more; 0: as much as it costs
  monitor: boolean; // it counts, and holds nothing back
  job_only: boolean; // it does not read the worker
  expires_in_ms: Ms; // unless it is renewed
  tokens: number; // its level; below 0: in debt
  allowed: number; // starts that it paid for
  cost_allowed: number; // what those cost
  skipped: number; // tries that it denied
  ignored_matches: number; // starts that it met while it only monitored, or blocked
  last_ignored_at_ms: Ms | null; // when the last time
  ignored_users: string[]; // that it blocks, the last one last
  ignored: IgnoredUser[]; // the same, with when
  blocked_ms: Ms; // how long it blocked something, in all
  waiting: number; // groups of jobs that wait for it
  waiting_forever: number; // those of them that it can never pay for
  cheapest: number | null; // the cost of the cheapest that waits
  payable_in_ms: Ms | null; // when it can pay that
  cost_failed: boolean; // its cost was no number for some start
}

// The limits of a queue.
export interface Limits {
  limits: Limit[]; // in the order of their ids
}

// A limit to set.
export interface LimitSpec {
  tag: string; // for whoever made it, to find its own
  name?: string; // for people
  expr: string; // to which starts it applies
  cost?: string | number | null; // of a start: an expression; 1 if there is none
  count: number; // tokens of a window
  window_ms: Ms; // the window
  burst?: number; // how far it may go into debt
  max_burst_cost?: number; // no start costs more; 0: as much as it costs
  monitor?: boolean; // it counts, and holds nothing back
  expires_in_ms: Ms; // unless it is renewed
}

// A limit's lease.
export interface LimitAnswer {
  uuid: string; // its id
  created?: boolean; // false: one that was there was replaced
  expires_in_ms: Ms; // unless it is renewed
  capped: boolean; // it is less than was asked for
}

// A limit to try.
export interface LimitQuestion {
  expr: string; // to which starts it would apply
  cost?: string | number | null; // of a start
}

// A user whose jobs a limit would apply to.
export interface LimitTryUser {
  user: string; // the name
  jobs: number; // that it would apply to
  tasks: number; // theirs
}

// A worker by name.
export interface NamedWorker {
  worker: string; // its id
  name: string; // for people
}

// What a limit would apply to.
export interface LimitTry {
  job_only: boolean; // it does not read the worker
  complete: boolean; // all jobs were looked at
  jobs_looked_at: number; // how many
  jobs: number; // that it would apply to
  tasks: number; // theirs
  least_cost: number; // of a start
  most_cost: number; // of a start
  cost_failed: boolean; // its cost was no number for some start
  users: LimitTryUser[]; // those with the most tasks
  worker_count: number; // workers that it would apply to, where it reads the worker
  workers: NamedWorker[]; // the first of them
  took_ms: Ms; // how long it took
}

// A renewal of a limit.
export interface Renewal {
  expires_in_ms?: Ms; // as before if it is not given
}

// A limit's level over time.
export interface LimitHistory {
  step_ms: Ms; // between two numbers
  from_at_ms: Ms; // of the first
  tokens: number[]; // its level
  waiting: number[]; // groups of jobs that wait for it
}

// A task that a worker has.
export interface WorkerTask {
  job: string; // the job's id
  index: number; // the task's number in it
}

// Tasks of one job in a worker's queue.
export interface PromisedShare {
  job: string; // the job's id
  tasks: number; // how many of its tasks
  priority: number | null; // of the job
  user: string; // of the job
  tags: string[]; // of the job
}

// A worker.
export interface Worker {
  id: string; // its id
  name: string; // for people
  tags: string[]; // what kinds of work it does
  properties: Record<string, string>; // what constraints ask for
  attributes: Record<string, string | number | boolean>; // what expressions read
  requirements: string | null; // an expression, true of jobs that it takes
  rank: string | null; // an expression: the jobs it prefers
  strategy: string; // which task first
  slots: number; // tasks at a time
  running: number; // tasks that it has
  credit: number; // tasks that it waits for
  promised?: number; // tasks in its queue, where dispatch is balanced
  promised_jobs?: number; // jobs in its queue, where dispatch is balanced
  draining: boolean; // it is given no further tasks
  connected: boolean; // over a WebSocket, or in a pull
  away: boolean; // its connection was lost; it may come back
  address: string; // where it called from
  user: string; // of its token
  registered_at_ms: Ms; // since when
  last_seen_at_ms: Ms; // when it last said something
  constraint_tags?: string[]; // where one is asked for: those that it meets
  tasks?: WorkerTask[]; // where one is asked for: the first of what it has
  queue?: PromisedShare[]; // where one is asked for: the first of what it was promised
}

// A page of workers.
export interface WorkersPage {
  workers: Worker[]; // in the order of their ids
  next: string | null; // ask for it with `after`; null: that was all
}

// A task in a worker's hands.
export interface TaskRef {
  job: string; // the job's id
  index: number; // the task's number in it
  lease: string; // the lease it is held by
}

// How a worker introduces itself.
export interface Hello {
  name?: string; // for people
  tags?: string[]; // what kinds of work it does
  slots?: number; // tasks at a time
  properties?: Record<string, string>; // what constraints ask for
  attributes?: Record<string, string | number | boolean>; // what expressions read
  requirements?: string | null; // an expression, true of jobs that it takes
  rank?: string | number | null; // an expression: the jobs it prefers
  strategy?: Json; // which task first: text, or the strategy as an object
  worker?: string; // it was registered before
  key?: string; // given with `worker`
  resume?: TaskRef[]; // what it still works on
}

// A worker is registered.
export interface Welcome {
  worker: string; // its id
  key: string; // proves that it is it
  heartbeat_ms: Ms; // it says something at least so often
  resumed: TaskRef[]; // what it goes on with
  lost: TaskRef[]; // what is no longer its own
  features: Feature[]; // what it may use
}

// A change of a worker as a request.
export interface WorkerPatch {
  tags?: string[] | null; // what kinds of work it does
  properties?: Record<string, string> | null; // what constraints ask for
  attributes?: Record<string, string | number | boolean> | null; // what expressions read
  requirements?: string | null; // an expression, true of jobs that it takes
  rank?: string | number | null; // an expression: the jobs it prefers
  strategy?: Json; // which task first: text, or the strategy as an object
  key?: string; // where the worker itself asks for it
}

// A worker's key.
export interface WorkerKey {
  key: string; // proves that it is this worker
}

// A task that is done.
export interface Done {
  job: string; // the job's id
  index: number; // the task's number in it
  lease: string; // the lease it is held by
  result?: Json; // what came out of it
}

// An attempt that failed.
export interface Failed {
  job: string; // the job's id
  index: number; // the task's number in it
  lease: string; // the lease it is held by
  error?: string; // why
  final?: boolean; // without a further attempt
  retry_in_ms?: Ms; // when its next attempt may start, instead of after its backoff
}

// A task that goes on.
export interface Extend {
  job: string; // the job's id
  index: number; // the task's number in it
  lease: string; // the lease it is held by
  progress?: Progress; // how far it is; what was said before is replaced
}

// What to change of a worker; null empties, what is not there stays.
export interface WorkerChange {
  tags?: string[] | null; // what kinds of work it does
  properties?: Record<string, string> | null; // what constraints ask for
  attributes?: Record<string, string | number | boolean> | null; // what expressions read
  requirements?: string | null; // an expression, true of jobs that it takes
  rank?: string | number | null; // an expression: the jobs it prefers
  strategy?: Json; // which task first: text, or the strategy as an object
}

// What a worker says over plain HTTP.
export interface Pull {
  done?: Done[]; // tasks that are done
  failed?: Failed[]; // attempts that failed
  released?: TaskRef[]; // tasks that were not started
  extend?: Extend[]; // tasks that go on: their leases begin anew
  pull?: number; // tasks that it can take
  strategy?: Json; // of this pull
  set?: WorkerChange; // what it changes of itself
  job_headers?: boolean; // headers of their jobs come with the tasks
  key: string; // proves that it is this worker
  wait_ms?: Ms; // how long to wait for tasks
}

// A report that changed nothing.
export interface Stale {
  job: string; // the job's id
  index: number; // the task's number in it
  lease: string; // the lease it is held by
  code: string; // stale or job_ended
}

// A task for a worker.
export interface Assignment {
  job: string; // the job's id
  index: number; // the task's number in it
  lease: string; // the lease it is held by
  attempt: number; // from 1
  count: number; // tasks of the job
  lease_ms: Ms; // how long the worker may be silent
  timeout_ms: Ms; // how long the attempt may take; 0: as long as it likes
  payload?: Json; // the task's own, or else the job's
  job_payload?: Json; // the job's, where the task has its own
  payload_prefix?: string; // stands before the payload where a command reads it
  trace?: string; // as the job has it
}

// A task that the worker should stop.
export interface Cancel {
  job: string; // the job's id
  index: number; // the task's number in it
  lease: string; // the lease it is held by
  reason: string; // cancelled, job_failed, timeout, expired or lost
}

// What a worker may know of a job.
export interface JobHeader {
  id: string; // the job's id
  tags: string[]; // what kind of work it is
  meta: Record<string, string | number | boolean>; // what expressions can read, and people
  user: string; // whose it is
}

// What a worker is told over plain HTTP.
export interface PullAnswer {
  stale: Stale[]; // reports that changed nothing
  tasks: Assignment[]; // for the worker
  cancel: Cancel[]; // what it should stop
  drain: boolean; // it should finish what it has, and leave
  set?: WorkerChange; // what others changed of it
  jobs?: JobHeader[]; // of the tasks, where they are asked for
}

// Queued tasks that a worker would not be given.
export interface NotForWorker {
  stage: Stage; // where they fail; others: what was not looked at
  classes: number; // ways of matching
  tasks: number; // that are queued
  job: string | null; // an example
  message: string; // in words
}

// What a worker would be given next.
export interface WorkerNext {
  worker: string; // its id
  name: string; // for people
  verdict: Reason; // how it stands
  strategy: string; // as text
  policy: string; // as text
  complete: boolean; // all jobs were looked at
  picks: PickedTask[]; // what it would be given, in order
  others: NotForWorker[]; // what not, and why
}

// What a worker sends first.
export interface FirstMessage {
  hello: Hello; // who it is
}

// What a worker says.
export interface WorkerMessage {
  seq?: number; // comes back as `ack`
  bye?: boolean; // it leaves, and has nothing in its hands
  done?: Done[]; // tasks that are done
  failed?: Failed[]; // attempts that failed
  released?: TaskRef[]; // tasks that were not started
  extend?: Extend[]; // tasks that go on: their leases begin anew
  pull?: number; // tasks that it can take
  strategy?: Json; // of this pull
  set?: WorkerChange; // what it changes of itself
  job_headers?: boolean; // from now on, headers of jobs come with their first tasks
}

// What a worker is told.
export interface WorkerNews {
  ack?: number; // the `seq` of a message that is on disk
  stale?: Stale[]; // reports that changed nothing
  cancel?: Cancel[]; // what it should stop
  drain?: boolean; // it should finish what it has, and leave
  set?: WorkerChange; // what others changed of it
  tasks?: Assignment[]; // for the worker
  jobs?: JobHeader[]; // of tasks of this message, where they are asked for
  welcome?: Welcome; // the answer to its hello
  error?: ErrorInfo; // what it said is refused
  seq?: number; // of the message that is refused
}
