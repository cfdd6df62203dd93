// SPDX-License-Identifier: Apache-2.0
// Light, dark, or as the system is.
import { computed, effect, signal } from '@preact/signals';

export type Theme = 'auto' | 'light' | 'dark';
const kKey = 'allot.theme';

function stored(): Theme {
  try {
    const value = localStorage.getItem(kKey);
    return value === 'light' || value === 'dark' ? value : 'auto';
  } catch {
    return 'auto';
  }
}

export const theme = signal<Theme>(stored());
const prefersDark = window.matchMedia('(prefers-color-scheme: dark)');
const systemDark = signal(prefersDark.matches);
prefersDark.addEventListener('change', () => (systemDark.value = prefersDark.matches));

export const dark = computed(() => theme.value === 'dark' || (theme.value === 'auto' && systemDark.value));

effect(() => {
  document.documentElement.dataset.theme = dark.value ? 'dark' : 'light';
});

export function setTheme(value: Theme): void {
  theme.value = value;
  try {
    if (value === 'auto') localStorage.removeItem(kKey);
    else localStorage.setItem(kKey, value);
  } catch {
    // Not remembered.
  }
}
