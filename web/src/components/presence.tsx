// SPDX-License-Identifier: Apache-2.0
// How a worker is there: a mark that differs in form as well as in colour, and the word.
import type { Worker } from '../types';
import { ShareBar } from './bars';
import * as format from '../format';

export type PresenceWord = 'connected' | 'polling' | 'away' | 'draining';

const kMeaning: Record<PresenceWord, string> = {
  connected: 'it has a connection',
  polling: 'it asks over HTTP, each time anew',
  away: 'it lost its connection, and may come back',
  draining: 'it takes nothing new',
};

export function presenceOf(worker: Pick<Worker, 'connected' | 'away' | 'draining'>): PresenceWord {
  if (worker.draining) return 'draining';
  if (worker.away) return 'away';
  return worker.connected ? 'connected' : 'polling';
}

export function Presence({ worker }: { worker: Pick<Worker, 'connected' | 'away' | 'draining'> }) {
  const word = presenceOf(worker);
  const both = worker.draining && worker.away;
  return (
    <span class={`state presence-${word}`} title={kMeaning[word] + (both ? `; ${kMeaning.away}` : '')}>
      <i class="mark" aria-hidden="true" />
      {word}
      {both && <span class="dim">, away</span>}
    </span>
  );
}

export function SlotsBar({ worker }: { worker: Pick<Worker, 'slots' | 'running' | 'name' | 'id'> }) {
  return (
    <div class="bar-cell slots-cell">
      <ShareBar value={worker.slots ? worker.running / worker.slots : 0} label={`slots used by ${worker.name || worker.id}`} />
      <span class="num dim">
        {format.count(worker.running)}/{format.count(worker.slots)}
      </span>
    </div>
  );
}
