// SPDX-License-Identifier: Apache-2.0
// What tells how something went: dialogs, toasts, empty, loading and error states.
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../api';
import type { Live } from '../live';
import { errorAddress } from '../manual';
import { can } from '../session';
import type { Scope } from '../types';

export function Loading({ what = 'loading' }: { what?: string }) {
  return (
    <p class="quiet" role="status">
      {what}…
    </p>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="empty">{children}</div>;
}

// Why there is nothing to show. What an older server does not have is said quietly.
export function ErrorState({ error, what }: { error: ApiError; what?: string }) {
  if (error.notAvailable) return <p class="quiet">{what ? `${what}: not` : 'Not'} available on this server.</p>;
  return (
    <div class="failure" role="alert">
      <strong>{error.message}</strong>
      {error.hint && <p>{error.hint}</p>}
      <a href={errorAddress(error.code)} target="_blank" title="what to do about it">
        <code>{error.code}</code>
      </a>
    </div>
  );
}

// A live view: its content once there is any; else why not. What was seen stays while the connection is lost.
export function Show<T>({
  live,
  what,
  children,
}: {
  live: Pick<Live<T>, 'data' | 'error'>;
  what?: string;
  children: (data: T) => ComponentChildren;
}) {
  if (live.data !== undefined) {
    const ended = live.error && live.error.status >= 400 && live.error.status < 500;
    return (
      <>
        {ended && <ErrorState error={live.error!} what={what} />}
        {children(live.data)}
      </>
    );
  }
  if (live.error) return <ErrorState error={live.error} what={what} />;
  return <Loading />;
}

// Toasts.
interface ToastText {
  id: number;
  text: string;
  hint: string;
  failed: boolean;
}
const toasts = signal<ToastText[]>([]);
let lastToast = 0;

export function toast(text: string, options: { failed?: boolean; hint?: string } = {}): void {
  const id = ++lastToast;
  toasts.value = [...toasts.value.slice(-3), { id, text, hint: options.hint ?? '', failed: options.failed ?? false }];
  setTimeout(() => dismiss(id), options.failed ? 12_000 : 5_000);
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

export function toastError(error: unknown): void {
  if (error instanceof ApiError) toast(error.message, { failed: true, hint: error.hint });
  else toast(error instanceof Error ? error.message : String(error), { failed: true });
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((one) => (
        <div key={one.id} class={`toast ${one.failed ? 'toast-failed' : ''}`}>
          <div>
            <strong>{one.text}</strong>
            {one.hint && <p>{one.hint}</p>}
          </div>
          <button type="button" class="plain" aria-label="dismiss" onClick={() => dismiss(one.id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}

// A modal dialog: the browser keeps the focus inside and gives it back; Escape closes.
export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    const dialog = ref.current!;
    dialog.showModal();
    return () => {
      // As long as it is open nothing behind it takes the focus.
      dialog.close();
      before?.focus?.();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class="dialog"
      aria-labelledby="dialog-title"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === ref.current) onClose();
      }}>
      <div class="dialog-body">
        <h2 id="dialog-title">{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

// "Really?", from anywhere: `if (await confirm({…})) …`.
export interface Question {
  title: string;
  text?: ComponentChildren;
  yes: string;
  danger?: boolean;
}
const asked = signal<(Question & { answer: (yes: boolean) => void }) | null>(null);

export function confirm(question: Question): Promise<boolean> {
  asked.value?.answer(false);
  return new Promise((resolve) => {
    asked.value = {
      ...question,
      answer: (yes) => {
        asked.value = null;
        resolve(yes);
      },
    };
  });
}

export function Confirmations() {
  const question = asked.value;
  if (!question) return null;
  return (
    <Dialog title={question.title} onClose={() => question.answer(false)}>
      {question.text && <div class="dialog-text">{question.text}</div>}
      <div class="dialog-buttons">
        <button type="button" autoFocus={question.danger} onClick={() => question.answer(false)}>
          Keep as it is
        </button>
        <button
          type="button"
          class={question.danger ? 'danger' : 'primary'}
          autoFocus={!question.danger}
          onClick={() => question.answer(true)}>
          {question.yes}
        </button>
      </div>
    </Dialog>
  );
}

// A button that does something on the server; only there with the scope for it (any of several). While it works it
// cannot be pressed again; failures are told by a toast.
export function ActionButton({
  scope,
  allowed,
  action,
  children,
  danger,
  primary,
  title,
  disabled,
  small,
}: {
  scope?: Scope | Scope[];
  allowed?: boolean;
  action: () => Promise<unknown> | unknown;
  children: ComponentChildren;
  danger?: boolean;
  primary?: boolean;
  title?: string;
  disabled?: boolean;
  small?: boolean;
}) {
  const [busy, setBusy] = useState(false);
  const may = allowed ?? (scope === undefined || (Array.isArray(scope) ? scope : [scope]).some(can));
  if (!may) return null;
  const run = async () => {
    setBusy(true);
    try {
      await action();
    } catch (error) {
      toastError(error);
    } finally {
      setBusy(false);
    }
  };
  const cls = [danger && 'danger', primary && 'primary', small && 'small'].filter(Boolean).join(' ');
  return (
    <button type="button" class={cls} title={title} disabled={disabled || busy} aria-busy={busy} onClick={run}>
      {children}
    </button>
  );
}

async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without TLS browsers have no clipboard for pages, but the old way works.
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'visually-hidden';
    document.body.append(area);
    area.select();
    const copied = document.execCommand('copy');
    area.remove();
    return copied;
  }
}

// Copies a command line, such as `allot explain 123`.
export function CopyButton({ text, label }: { text: string; label?: string }) {
  return (
    <button
      type="button"
      class="copy"
      title={`copy: ${text}`}
      aria-label={`copy ${text}`}
      onClick={async () => toast((await copyText(text)) ? `Copied: ${text}` : 'The browser does not let this page copy', {})}>
      <code>{label ?? text}</code>
      <svg viewBox="0 0 16 16" width="12" height="12" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.5">
        <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
        <path d="M3 10.5H2.5v-8h8V3" />
      </svg>
    </button>
  );
}
