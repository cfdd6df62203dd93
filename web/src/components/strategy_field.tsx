// SPDX-License-Identifier: Apache-2.0
// A field for a strategy or a policy, checked as one types: what is wrong and where, or what it will do in words.
import { useEffect, useState } from 'preact/hooks';
import { ApiError, post } from '../api';
import { placeOf } from '../places';
import type { Place } from '../places';
import type { StrategyCheck } from '../types';
import { TextField, useSettled } from './fields';

export interface Checked {
  // The text that was checked.
  text: string;
  check: StrategyCheck | null;
  place: Place | null;
  // Why it could not be checked at all.
  error: ApiError | null;
}

const kNothing: Checked = { text: '', check: null, place: null, error: null };

// What the server says of `text`, a moment after it was typed; the one before until then. Nothing is asked of no text.
export function useCheck(kind: 'strategy' | 'policy', text: string, pause = 300): Checked {
  const settled = useSettled(text.trim(), pause);
  const [checked, setChecked] = useState<Checked>(kNothing);
  useEffect(() => {
    if (!settled) {
      setChecked(kNothing);
      return;
    }
    let current = true;
    post<StrategyCheck>('/v1/strategies/check', { [kind]: settled }).then(
      (check) => current && setChecked({ text: settled, check, place: null, error: null }),
      (error: ApiError) => {
        if (!current) return;
        const place = placeOf(error);
        setChecked({ text: settled, check: null, place, error: place ? null : error });
      },
    );
    return () => {
      current = false;
    };
  }, [kind, settled]);
  return checked;
}

export function StrategyField({
  label,
  name,
  kind = 'strategy',
  value,
  onInput,
  error,
  lines = 3,
  help,
  filter,
  checked: given,
}: {
  label: string;
  name: string;
  kind?: 'strategy' | 'policy';
  value: string;
  onInput: (text: string) => void;
  // What a request with it said; the check's own word comes first.
  error?: Place | null;
  lines?: number;
  help?: string;
  filter?: boolean;
  // Where the page checks it itself.
  checked?: Checked;
}) {
  const own = useCheck(kind, given ? '' : value);
  const checked = given ?? own;
  // The place counts from the beginning of the text that was checked, without the space before it.
  const lead = value.length - value.trimStart().length;
  const fresh = checked.text === value.trim();
  const place =
    checked.place && fresh
      ? { ...checked.place, field: name, byte: checked.place.byte === null ? null : checked.place.byte + lead }
      : error;
  return (
    <div class="form-wide">
      <TextField
        wide
        mono
        label={label}
        name={name}
        lines={lines}
        value={value}
        onInput={onInput}
        error={place}
        max={4096}
        filter={filter}
        help={value.trim() === '' ? help : undefined}
      />
      {checked.check && fresh && <pre class="words">{checked.check.words.trimEnd()}</pre>}
      {checked.error && fresh && <p class="warn form-help">It could not be checked: {checked.error.message}.</p>}
    </div>
  );
}
