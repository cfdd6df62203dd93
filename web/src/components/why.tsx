// The blocks of a policy and a strategy on the way to a pick, as words.
import type { Reason, Why } from '../types';
import { kKinds } from '../reasons';
import { CopyButton } from './feedback';
import { Since } from './text';

export function WhyList({ why }: { why: Why[] }) {
  if (!why.length) return <span class="dim">–</span>;
  return (
    <ol class="why">
      {why.map((block, i) => (
        <li key={i}><code title={`of the ${block.of}`}>{block.block}</code> <span>{block.text}</span></li>
      ))}
    </ol>
  );
}

// Verdicts and reasons: what to do, why, and a hint.
export function ReasonLine({ reason, strong = false }: { reason: Reason; strong?: boolean }) {
  return (
    <div class={`verdict verdict-${reason.kind} ${strong ? 'verdict-strong' : ''}`}>
      <span class="verdict-kind">{kKinds[reason.kind] ?? reason.kind}</span>
      <span class="grow">
        <span>{reason.message}</span>
        {reason.hint && <span class="dim"> {reason.hint.startsWith('allot ') ? <CopyButton text={reason.hint} /> : reason.hint}</span>}
      </span>
      {reason.since_at_ms !== null && reason.since_at_ms !== undefined && <span class="dim">for <Since at={reason.since_at_ms} /></span>}
      <code class="dim">{reason.code}</code>
    </div>
  );
}
