// SPDX-License-Identifier: Apache-2.0
// Requests to the server. Every failure is an ApiError with the protocol's code, message and hint.
import { rawMembers } from './raw_json';
import { token } from './token';
import type { Task } from './types';

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint = '',
  ) {
    super(message);
    this.name = 'ApiError';
  }

  // Whether the server does not have this path at all: an older one than this page was made for.
  get notAvailable(): boolean {
    return this.status === 404 && this.code === 'not_found';
  }
}

// Who is told that the token is not (or no longer) good; set by the session.
let onUnauthorized: () => void = () => {};
export function whenUnauthorized(tell: () => void): void {
  onUnauthorized = tell;
}

export function tellUnauthorized(): void {
  onUnauthorized();
}

export function headers(more: Record<string, string> = {}): Record<string, string> {
  return token.value ? { ...more, Authorization: `Bearer ${token.value}` } : more;
}

// What an answer of 400 and above says; also where it is not of the protocol's form, as from a proxy.
export async function errorOf(response: Response): Promise<ApiError> {
  let body: unknown;
  try {
    body = await response.json();
  } catch {
    body = undefined;
  }
  if (response.status === 401) tellUnauthorized();
  return errorFrom(response.status, body);
}

export function errorFrom(status: number, body: unknown): ApiError {
  const error = (body as { error?: { code?: unknown; message?: unknown; hint?: unknown } } | undefined)?.error;
  if (error && typeof error.code === 'string') {
    return new ApiError(status, error.code, String(error.message ?? error.code), String(error.hint ?? ''));
  }
  return new ApiError(status, 'bad_answer', `the server answered with status ${status}`);
}

// The status that the protocol has for a code.
const kStatuses: Record<string, number> = {
  unauthorized: 401,
  forbidden: 403,
  foreign_origin: 403,
  not_found: 404,
  method_not_allowed: 405,
  timed_out: 408,
  stale: 409,
  idempotency_conflict: 409,
  job_ended: 409,
  job_active: 409,
  queue_exists: 409,
  queue_not_empty: 409,
  too_large: 413,
  unsupported_media: 415,
  unknown_field: 400,
  internal: 500,
  stopping: 503,
  unavailable: 503,
  disk_full: 507,
};

// Codes that are not known here, as newer servers may have, are told by how they begin; else they pass.
export function statusOf(code: string): number {
  const known = kStatuses[code];
  if (known !== undefined) return known;
  if (code.startsWith('bad_') && code !== 'bad_answer') return 400;
  if (code.startsWith('unknown_')) return 404;
  if (code.startsWith('too_many_') || code === 'memory_full') return 429;
  if (code.startsWith('store_')) return 500;
  return 503;
}

export function unreachable(): ApiError {
  return new ApiError(0, 'unreachable', 'the server cannot be reached', 'it may be restarting, or the network is down');
}

export async function requestText(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<string> {
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers: headers(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      credentials: 'omit',
      cache: 'no-store',
    });
  } catch (cause) {
    if ((cause as Error).name === 'AbortError') throw cause;
    throw unreachable();
  }
  if (!response.ok) throw await errorOf(response);
  return response.text();
}

function parsed<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new ApiError(200, 'bad_answer', 'the answer is not JSON');
  }
}

export async function request<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  return parsed<T>(await requestText(method, path, body, signal));
}

// A task with its payload and result also as the text that they are.
export type TaskWithText = Task & { payloadText?: string; resultText?: string };

export async function getTask(path: string): Promise<TaskWithText> {
  const text = await requestText('GET', path);
  const task = parsed<Task>(text);
  const members = rawMembers(text);
  return { ...task, payloadText: members.get('payload'), resultText: members.get('result') };
}

export const get = <T>(path: string, signal?: AbortSignal) => request<T>('GET', path, undefined, signal);
export const post = <T>(path: string, body?: unknown) => request<T>('POST', path, body);
export const put = <T>(path: string, body?: unknown) => request<T>('PUT', path, body);
export const patch = <T>(path: string, body: unknown) => request<T>('PATCH', path, body);
export const del = <T>(path: string) => request<T>('DELETE', path);

export type Query = Record<string, string | number | boolean | null | undefined>;

// `?a=1&b=2` of what is neither null nor undefined nor empty; in the order given, so that equal queries are equal text.
export function queryText(query: Query): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === '') continue;
    parts.push(`${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`);
  }
  return parts.length ? `?${parts.join('&')}` : '';
}

// apiPath('default', 'jobs', id): every part is escaped.
export function apiPath(queue: string, ...parts: (string | number)[]): string {
  return ['/v1/queues', queue, ...parts].map((part, i) => (i === 0 ? part : encodeURIComponent(String(part)))).join('/');
}
