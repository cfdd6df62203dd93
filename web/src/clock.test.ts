// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { whenSeen } from './clock';

const heard = new Set<() => void>();
const doc = {
  hidden: false,
  addEventListener: (_: string, f: () => void) => void heard.add(f),
  removeEventListener: (_: string, f: () => void) => void heard.delete(f),
};
const hide = (hidden: boolean) => {
  doc.hidden = hidden;
  [...heard].forEach((f) => f());
};

beforeEach(() => {
  heard.clear();
  doc.hidden = false;
  vi.stubGlobal('document', doc);
});
afterEach(() => vi.unstubAllGlobals());

describe('whenSeen', () => {
  it('runs at once where the page is seen', () => {
    const run = vi.fn();
    whenSeen(run);
    expect(run).toHaveBeenCalledTimes(1);
    expect(heard.size).toBe(0);
  });

  it('waits for a hidden page to be seen, and runs once', () => {
    doc.hidden = true;
    const run = vi.fn();
    whenSeen(run);
    hide(true);
    expect(run).not.toHaveBeenCalled();
    hide(false);
    hide(true);
    hide(false);
    expect(run).toHaveBeenCalledTimes(1);
  });

  it('does not run once cancelled', () => {
    doc.hidden = true;
    const run = vi.fn();
    whenSeen(run)();
    hide(false);
    expect(run).not.toHaveBeenCalled();
    expect(heard.size).toBe(0);
  });
});
