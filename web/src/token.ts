// SPDX-License-Identifier: Apache-2.0
// The token of this tab. It is kept for as long as the tab is: neither on disk nor in other tabs.
import { signal } from '@preact/signals';

const kKey = 'allot.token';

function stored(): string {
  try {
    return sessionStorage.getItem(kKey) ?? '';
  } catch {
    return '';
  }
}

export const token = signal(stored());

export function setToken(value: string): void {
  token.value = value;
  try {
    if (value) sessionStorage.setItem(kKey, value);
    else sessionStorage.removeItem(kKey);
  } catch {
    // No storage: it is held until the page is loaded anew.
  }
}
