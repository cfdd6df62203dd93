// SPDX-License-Identifier: Apache-2.0
// Fields of forms: their text, what is wrong with it, and where.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { excerpt } from '../places';
import type { Place } from '../places';

// `value`, once it has not changed for so long.
export function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

// When `data` came, by this machine's clock: what it counted down then goes on counting from there.
export function useArrival(data: unknown): number {
  const came = useRef({ data: undefined as unknown, at: 0 });
  if (came.current.data !== data) came.current = { data, at: Date.now() };
  return came.current.at;
}

// An error with its place: the line, and a caret below what the server did not understand.
export function PlaceShown({ place, text, id }: { place: Place; text: string; id?: string }) {
  const where = place.byte === null ? null : excerpt(text, place.byte);
  const several = text.includes('\n');
  return (
    <div class="place" id={id} role="alert">
      {where && (
        <pre class="place-line" aria-hidden="true">
          {where.before}
          <mark>{where.at || '\u00a0'}</mark>
          {where.after}
        </pre>
      )}
      <p class="bad">
        {place.message}
        {where && (
          <span class="visually-hidden">
            , at {several && `line ${where.line}, `}character {where.column}
          </span>
        )}
        {place.hint && <span class="dim"> {place.hint}</span>}
      </p>
    </div>
  );
}

// A field with a line of help below it, or with what is wrong. Errors of the server find it by `name`.
export function TextField({
  label,
  value,
  onInput,
  help,
  name,
  error,
  wrong,
  lines,
  mono,
  wide,
  placeholder,
  required,
  max,
  numeric,
  filter,
  disabled,
  autoFocus,
}: {
  label: ComponentChildren;
  value: string;
  onInput: (text: string) => void;
  help?: ComponentChildren;
  name?: string;
  // An error of the server; shown if it is of the field `name`.
  error?: Place | null;
  // What this page itself finds wrong.
  wrong?: string | false;
  lines?: number;
  mono?: boolean;
  wide?: boolean;
  placeholder?: string;
  required?: boolean;
  max?: number;
  numeric?: boolean;
  // Where `/` goes.
  filter?: boolean;
  disabled?: boolean;
  autoFocus?: boolean;
}) {
  const id = useId();
  const place = error && name !== undefined && isOf(error, name) ? error : null;
  const bad = !!place || !!wrong;
  const shared = {
    value,
    placeholder,
    required,
    disabled,
    autoFocus,
    maxLength: max,
    spellcheck: false,
    autoComplete: 'off',
    class: mono ? 'mono' : undefined,
    'aria-invalid': bad,
    'aria-describedby': bad || help ? id : undefined,
    'data-filter': filter ? '' : undefined,
    onInput: (event: { currentTarget: { value: string } }) => onInput(event.currentTarget.value),
  };
  return (
    <div class={`form-field ${wide ? 'form-wide' : ''}`}>
      <label class="field">
        <span>{label}</span>
        {lines ? <textarea rows={lines} {...shared} /> : <input type="text" inputMode={numeric ? 'decimal' : undefined} {...shared} />}
      </label>
      {place ? (
        <PlaceShown id={id} place={place} text={value} />
      ) : wrong ? (
        <p id={id} class="bad form-help" role="alert">
          {wrong}
        </p>
      ) : help ? (
        <p id={id} class="dim form-help">
          {help}
        </p>
      ) : null}
    </div>
  );
}

export function isOf(place: Place, name: string): boolean {
  return place.field === name || place.field.startsWith(`${name}[`) || place.field.startsWith(`${name}.`);
}
