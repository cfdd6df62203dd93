// SPDX-License-Identifier: Apache-2.0
// Small pieces of text that look the same everywhere. Whatever users named is shown as text, never as markup.
import type { ComponentChildren } from 'preact';
import { useNow } from '../clock';
import * as format from '../format';
import { reasonAddress, termAddress } from '../manual';
import { sentence } from '../reasons';
import { href, route } from '../router';
import type { WaitReason, JobState, Kind, TaskState } from '../types';

// In the place of what is not there; cells with nothing else are left out of cards.
export function Nothing() {
  return <span class="nothing">–</span>;
}

export function Num({ value, short = false }: { value: number; short?: boolean }) {
  return (
    <span class="num" title={short ? format.count(value) : undefined}>
      {short ? format.short(value) : format.count(value)}
    </span>
  );
}

// "3m ago", with the time itself on hover; null is a dash.
export function TimeAgo({ at, bare = false }: { at: number | null | undefined; bare?: boolean }) {
  const now = useNow();
  if (at === null || at === undefined) return <Nothing />;
  return (
    <time class="num" dateTime={new Date(at).toISOString()} title={format.dateTime(at)}>
      {bare ? format.shortDuration(now - at) : format.ago(at, now)}
    </time>
  );
}

export function Duration({ ms }: { ms: number | null | undefined }) {
  if (ms === null || ms === undefined) return <Nothing />;
  return <span class="num">{format.duration(ms)}</span>;
}

// For how long since: grows as one looks.
export function Since({ at }: { at: number | null | undefined }) {
  const now = useNow();
  if (at === null || at === undefined) return <Nothing />;
  return (
    <time class="num" dateTime={new Date(at).toISOString()} title={`since ${format.dateTime(at)}`}>
      {format.duration(now - at)}
    </time>
  );
}

// A tag; with `link` one that filters the jobs by it.
export function Tag({ tag, link = false }: { tag: string; link?: boolean }) {
  if (!link) return <span class="tag">{tag}</span>;
  return (
    <a class="tag" href={href('jobs', route.value.queue, '', { tag })} title={`jobs with the tag ${tag}`}>
      {tag}
    </a>
  );
}

export function Tags({ tags, link = false, most = 8 }: { tags: string[]; link?: boolean; most?: number }) {
  if (!tags.length) return <Nothing />;
  return (
    <span class="tags">
      {tags.slice(0, most).map((tag) => (
        <Tag key={tag} tag={tag} link={link} />
      ))}
      {tags.length > most && (
        <span class="dim" title={tags.slice(most).join(' ')}>
          +{tags.length - most}
        </span>
      )}
    </span>
  );
}

export function User({ user, link = false }: { user: string; link?: boolean }) {
  if (user === '') return <Nothing />;
  if (!link) return <span class="user">{user}</span>;
  return (
    <a class="user" href={href('jobs', route.value.queue, '', { user })} title={`jobs of ${user}`}>
      {user}
    </a>
  );
}

// A state of jobs or tasks: a mark that differs in form as well as in colour, and the word.
export function State({ state }: { state: JobState | TaskState }) {
  return (
    <span class={`state state-${state}`}>
      <i class="mark" aria-hidden="true" />
      {state}
    </span>
  );
}

// Why something waits, in a word, since when; the sentence on hover and for readers of the screen.
export function ReasonChip({
  reason,
  code,
  kind,
  since,
}: {
  reason?: WaitReason | null;
  code?: string;
  kind?: Kind;
  since?: number | null;
}) {
  const what = reason?.code ?? code;
  if (!what) return <Nothing />;
  const from = reason ? reason.since_at_ms : since;
  return (
    <span class={`reason reason-${reason?.kind ?? kind ?? 'wait'}`} title={sentence(what)}>
      <a class="code" href={reasonAddress(what)} target="_blank">
        {what.replace(/_/g, ' ')}
      </a>
      {from !== null && from !== undefined && (
        <span class="for">
          <Since at={from} />
        </span>
      )}
    </span>
  );
}

// A command line to copy: `allot explain 123`.
export function Code({ children }: { children: ComponentChildren }) {
  return <code class="code-text">{children}</code>;
}

// Text of any length and origin, as it is: payloads, results, errors.
export function TextBlock({ text, label }: { text: string; label: string }) {
  return (
    <pre class="block" tabIndex={0} aria-label={label}>
      {text}
    </pre>
  );
}

export function JobLink({ id, queue, children }: { id: string; queue?: string; children?: ComponentChildren }) {
  return (
    <a class="id" data-open href={href('job', queue ?? route.value.queue, id)}>
      {children ?? id}
    </a>
  );
}

export function WorkerLink({ id, name, queue }: { id: string; name?: string; queue?: string }) {
  return (
    <a class={name ? 'named' : 'id'} href={href('worker', queue ?? route.value.queue, id)} title={name ? `worker ${id}` : undefined}>
      {name || id}
    </a>
  );
}

// A name, with a link to what the documents say of it.
export function Named({ name }: { name: string }) {
  const address = termAddress(name);
  if (!address) return <>{name}</>;
  return (
    <a class="term" href={address} target="_blank" title={`${name}: what it is`}>
      {name}
    </a>
  );
}

// Name and value pairs.
export function Facts({ children }: { children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>;
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>
        <Named name={name} />
      </dt>
      <dd>{children}</dd>
    </div>
  );
}
