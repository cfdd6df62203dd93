// SPDX-License-Identifier: Apache-2.0
// What the codes of reasons mean, in a sentence for people. New codes may come: they are shown as they are.
const kSentences: Record<string, string> = {
  can_start: 'A worker with a free slot could take it',
  all_busy: 'Workers could run it, and none has a free slot',
  being_matched: 'The queue is working out which workers may run it',
  workers_away: 'Those that could run it lost their connection, and may come back',
  scheduled: 'Its time has not come',
  backoff: 'All that waits does so for its next attempt',
  running: 'All that is left runs',
  ended: 'It has ended',
  empty: 'There is nothing to do',
  job_paused: 'The job is paused',
  queue_paused: 'The queue is paused',
  no_workers: 'There are no workers',
  workers_draining: 'Those that could run it take nothing new',
  tag_never_seen: 'No worker has been seen with one of its tags',
  tag_gone: 'The last worker with one of its tags has left',
  tag_unavailable: 'The workers with one of its tags are draining or away',
  tags_apart: 'Each tag is there, but no worker has all of them',
  constraint_unmet: 'No worker with its tags has the properties it needs',
  requirements_unmet: 'Its requirements hold for none of the workers',
  requirements_never_true: 'Its requirements can hold for no worker at all',
  workers_refuse: 'Workers fit, but their own requirements refuse it',
  mismatch: 'The worker fails a condition',
  limit: 'A limit holds it back',
  limit_overtaken: 'A limit holds it back, and cheaper starts were there first',
  limit_never: 'A limit holds it back that can never pay for it',
  max_simultaneous: 'As many tasks of its value run as is allowed',
  not_selected: 'No strategy of the workers that may run it gives it out',
  behind: 'Others come first',
  promised: 'It is in the queues of workers that are busy',
  no_match: 'No registered worker may run it',
  disk_full: 'The disk is full: nothing new is taken',
};

export const kSentencesForTest = kSentences;

export function sentence(code: string): string {
  return kSentences[code] ?? code.replace(/_/g, ' ');
}

export const kKinds: Record<string, string> = {
  wait: 'Wait',
  operator: 'Ask the operator',
  change_request: 'Change the request',
};

export const kStages: Record<string, string> = {
  total: 'registered',
  available: 'available',
  tags: 'with its tags',
  constraint: 'with its properties',
  requirements: 'that meet its requirements',
  worker_requirements: 'that accept it',
  free_slot: 'with a free slot',
  limits: 'blocked by limits',
};
