// SPDX-License-Identifier: Apache-2.0
// Who looks: signing in, and which scopes there are.
import { computed, signal } from '@preact/signals';
import { ApiError, get, whenUnauthorized } from './api';
import { setServerNow } from './clock';
import { homeQueue } from './router';
import { setToken, token } from './token';
import type { Scope, ServerInfo, You } from './types';

export type SessionState = 'starting' | 'ready' | 'signed_out' | 'unreachable';

export const sessionState = signal<SessionState>('starting');
export const server = signal<ServerInfo | null>(null);
// Why one is on the sign-in page, if there is something to say.
export const signInError = signal('');

const kEveryone: You = { tokens: false, name: '', user: null, queue: null, scopes: ['submit', 'work', 'read', 'operate', 'admin'] };

export const you = computed<You>(() => server.value?.you ?? kEveryone);

// Whether actions that need this scope are shown. The server decides in any case.
export function can(scope: Scope): boolean {
  const scopes = you.value.scopes;
  return scopes.includes(scope) || scopes.includes('admin');
}

// Jobs may be changed by `operate`, and own ones by `submit`. A token that is fixed to a user sees only that user's
// jobs, one that is not has all for its own: so whatever is seen is own.
export function canChangeJobs(): boolean {
  return can('operate') || can('submit');
}

export function canChangeManyJobs(): boolean {
  return can('operate') || (can('submit') && you.value.user !== null);
}

// Asks the server who we are. Leaves the state at `ready`, `signed_out` or `unreachable`.
export async function begin(): Promise<void> {
  const asked = Date.now();
  try {
    const info = await get<ServerInfo>('/v1/server');
    setServerNow(info.now_at_ms, asked);
    server.value = info;
    homeQueue.value = info.you?.queue ?? 'default';
    signInError.value = '';
    sessionState.value = 'ready';
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) {
      if (token.value) signInError.value = 'The server does not know this token; it may have expired or been revoked.';
      setToken('');
      sessionState.value = 'signed_out';
    } else if (error instanceof ApiError && error.status !== 0 && error.status !== 503) {
      signInError.value = error.message;
      sessionState.value = 'signed_out';
    } else {
      sessionState.value = 'unreachable';
    }
  }
}

export async function signIn(value: string): Promise<void> {
  signInError.value = '';
  setToken(value.trim());
  await begin();
}

export function signOut(): void {
  setToken('');
  server.value = null;
  signInError.value = '';
  sessionState.value = 'signed_out';
}

whenUnauthorized(() => {
  if (sessionState.value !== 'ready') return;
  signInError.value = token.value ? 'The token has expired or was revoked.' : '';
  setToken('');
  server.value = null;
  sessionState.value = 'signed_out';
});
