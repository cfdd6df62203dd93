// SPDX-License-Identifier: Apache-2.0
// Weights: shares under `fair`, by key and value.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { apiPath, patch } from '../api';
import { ActionButton, confirm, Dialog, Empty, toast, toastError } from '../components/feedback';
import { TextField } from '../components/fields';
import { Table } from '../components/table';
import * as format from '../format';
import { can } from '../session';
import type { Queue } from '../types';

const kMost = 1_000_000;
// There may be 10,000 of them: so many are drawn.
const kShown = 100;

async function setWeight(queue: string, name: string, weight: number | null): Promise<void> {
  await patch<Queue>(apiPath(queue), { settings: { weights: { [name]: weight } } });
  toast(weight === null ? `Weight 1 again: ${name}` : `Weight ${format.count(weight)}: ${name}`);
}

// A whole number from 1 to a million; null for anything else.
function weightOf(text: string): number | null {
  const bare = text.trim().replace(/,/g, '');
  return /^\d{1,7}$/.test(bare) && Number(bare) >= 1 && Number(bare) <= kMost ? Number(bare) : null;
}

export function WeightDialog({
  queue,
  name,
  title,
  weight,
  onClose,
}: {
  queue: string;
  name: string;
  title: ComponentChildren;
  weight: number;
  onClose: () => void;
}) {
  const [text, setText] = useState(String(weight));
  const value = weightOf(text);
  const save = async (event: Event) => {
    event.preventDefault();
    if (value === null) return;
    try {
      // One is what everyone has who is not named.
      await setWeight(queue, name, value === 1 ? null : value);
      onClose();
    } catch (error) {
      toastError(error);
    }
  };
  return (
    <Dialog title="Weight" onClose={onClose}>
      <form class="form form-one" onSubmit={save}>
        <TextField
          wide
          autoFocus
          numeric
          label={title}
          value={text}
          onInput={setText}
          wrong={value === null && 'A whole number from 1 to 1,000,000.'}
          help="Under fair(user, …) someone with weight 3 gets three times what someone with weight 1 gets, while both have work."
        />
        <div class="dialog-buttons">
          <button type="button" onClick={onClose}>
            Keep as it is
          </button>
          <button type="submit" class="primary" disabled={value === null}>
            Set
          </button>
        </div>
      </form>
    </Dialog>
  );
}

export function Weights({ queue, weights }: { queue: string; weights: Record<string, number> }) {
  const [find, setFind] = useState('');
  const [name, setName] = useState('');
  const [text, setText] = useState('');
  const [editing, setEditing] = useState<string | null>(null);
  const all = Object.entries(weights);
  const found = find ? all.filter(([key]) => key.toLowerCase().includes(find.toLowerCase())) : all;
  const shown = found.slice(0, kShown);
  const value = weightOf(text);
  const named = /^[^.]+\../s.test(name.trim());
  const add = async (event: Event) => {
    event.preventDefault();
    if (value === null || !named) return;
    try {
      await setWeight(queue, name.trim(), value);
      setName('');
      setText('');
    } catch (error) {
      toastError(error);
    }
  };
  return (
    <section class="card" aria-label="weights">
      <div class="head">
        <h2>
          Weights <span class="dim num">{format.count(all.length)}</span>
        </h2>
        {all.length > 10 && (
          <label class="field-inline">
            find <input type="search" value={find} onInput={(event) => setFind(event.currentTarget.value)} />
          </label>
        )}
      </div>
      {all.length === 0 && <Empty>None: everyone has one share.</Empty>}
      {shown.length > 0 && (
        <Table
          label="weights"
          rows={shown}
          id={([key]) => key}
          columns={[
            { name: 'key and value', main: true, cell: ([key]) => <code class="because">{key}</code> },
            { name: 'weight', num: true, cell: ([, weight]) => format.count(weight) },
            {
              name: 'actions',
              quiet: true,
              num: true,
              cell: ([key]) =>
                can('operate') && (
                  <span class="row-actions">
                    <button type="button" class="small" onClick={() => setEditing(key)}>
                      Change
                    </button>
                    <ActionButton
                      small
                      danger
                      action={async () => {
                        if (
                          await confirm({
                            title: 'Take the weight away?',
                            text: (
                              <>
                                <code>{key}</code> has one share then, as everyone who is not named.
                              </>
                            ),
                            yes: 'Take away',
                            danger: true,
                          })
                        )
                          await setWeight(queue, key, null);
                      }}>
                      Remove
                    </ActionButton>
                  </span>
                ),
            },
          ]}
        />
      )}
      {found.length > shown.length && <p class="dim">{format.count(found.length - shown.length)} more: find them by name.</p>}
      {can('operate') && (
        <form class="filters weights-new" onSubmit={add} aria-label="a new weight">
          <label class="field">
            <span>key and value</span>
            <input
              type="text"
              value={name}
              placeholder="user.ann"
              spellcheck={false}
              autoComplete="off"
              aria-invalid={name !== '' && !named}
              onInput={(event) => setName(event.currentTarget.value)}
            />
          </label>
          <label class="field">
            <span>weight</span>
            <input
              type="text"
              inputMode="numeric"
              value={text}
              placeholder="3"
              aria-invalid={text !== '' && value === null}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </label>
          <button type="submit" disabled={value === null || !named}>
            Set
          </button>
        </form>
      )}
      {editing !== null && (
        <WeightDialog
          queue={queue}
          name={editing}
          title={
            <>
              Weight of <code>{editing}</code>
            </>
          }
          weight={weights[editing] ?? 1}
          onClose={() => setEditing(null)}
        />
      )}
    </section>
  );
}
