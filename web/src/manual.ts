// SPDX-License-Identifier: Apache-2.0
// Where the documents at /docs/ say what a word, a reason or an error of the dashboard means. manual.test.ts looks
// whether it is there.

// What stands on pages, by the word of the glossary that it is.
const kTerms: Record<string, string> = {
  attempt: 'attempt',
  attempts: 'attempt',
  'attempts of a task': 'attempt',
  backoff: 'backoff',
  constraint: 'constraint',
  constraints: 'constraint',
  'constraints it meets': 'constraint',
  dispatch: 'dispatch',
  'grace of lost workers': 'grace-time',
  'idempotency key': 'idempotency-key',
  job: 'job',
  'kept after its end': 'retention',
  lease: 'lease',
  limit: 'limit',
  policy: 'policy',
  promised: 'promised',
  properties: 'property',
  'property keys': 'property',
  queue: 'queue',
  queued: 'queued',
  retrying: 'retrying',
  running: 'running',
  slots: 'slot',
  starts: 'start',
  'starts allowed': 'start',
  strategy: 'strategy',
  tag: 'tag',
  tags: 'tag',
  task: 'task',
  tasks: 'task',
  user: 'user',
  weight: 'weight',
  worker: 'worker',
  workers: 'worker',
};

export const kTermsForTest = kTerms;

// undefined: the word speaks for itself.
export function termAddress(name: string): string | undefined {
  const term = Object.hasOwn(kTerms, name) ? kTerms[name] : undefined;
  return term && `/docs/glossary#${term}`;
}

export function reasonAddress(code: string): string {
  return `/docs/reference/protocol/explain#${encodeURIComponent(code)}`;
}

export function errorAddress(code: string): string {
  return `/docs/reference/errors#${encodeURIComponent(code)}`;
}
