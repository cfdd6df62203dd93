// SPDX-License-Identifier: Apache-2.0
// The blocks of a policy and a strategy on the way to a pick, as words.
import type { Reason, Why } from '../types';
import { reasonAddress } from '../manual';
import { kKinds } from '../reasons';
import { CopyButton } from './feedback';
import { Since } from './text';

export function WhyList({ why }: { why: Why[] }) {
  if (!why.length) return <span class="dim">–</span>;
  return (
    <ol class="why">
      {why.map((block, i) => (
        <li key={i}>
          <code title={`of the ${block.of}`}>{block.block}</code> <span>{block.text}</span>
        </li>
      ))}
    </ol>
  );
}

// Commands are to be copied: one, or several to choose from, each perhaps with words behind it.
function Hint({ text }: { text: string }) {
  return (
    <>
      {text.split('; or ').map((part, i) => {
        const words = part.indexOf(', on a machine ');
        const command = words < 0 ? part : part.slice(0, words);
        return (
          <span key={part}>
            {i > 0 && ' or '}
            {command.startsWith('allot ') ? <CopyButton text={command} /> : command}
            {part.slice(command.length)}
          </span>
        );
      })}
    </>
  );
}

// Verdicts and reasons: what to do, why, and a hint.
export function ReasonLine({ reason, strong = false }: { reason: Reason; strong?: boolean }) {
  return (
    <div class={`verdict verdict-${reason.kind} ${strong ? 'verdict-strong' : ''}`}>
      <span class="verdict-kind">{kKinds[reason.kind] ?? reason.kind}</span>
      <span class="grow">
        <span>{reason.message}</span>
        {reason.hint && (
          <span class="dim">
            {' '}
            <Hint text={reason.hint} />
          </span>
        )}
      </span>
      {reason.since_at_ms !== null && reason.since_at_ms !== undefined && (
        <span class="dim">
          for <Since at={reason.since_at_ms} />
        </span>
      )}
      <a class="dim" href={reasonAddress(reason.code)} target="_blank" title="what it means">
        <code>{reason.code}</code>
      </a>
    </div>
  );
}
