// SPDX-License-Identifier: Apache-2.0
// What tests do with pages: they open one as a person would, look at what it shows, and see to it that nothing went wrong
// meanwhile: no error, nothing that the content security policy forbids, no request to anyone else.
import assert from 'node:assert/strict';
import { eventually } from './server.mjs';

const kBound = Number(process.env.ALLOT_WAIT_MS ?? 20_000);

// What a page may ask for.
const kPaths = [/^\/assets\/[\w.-]+$/, /^\/docs\//, /^\/v1\/server$/, /^\/v1\/queues(\/|$)/, /^\/v1\/strategies(\/check)?$/];

// Where every kind of page is, of what `ids` names.
export function allPages({ job, worker, limit }) {
  return {
    queues: '/',
    overview: '/q/default',
    jobs: '/q/default/jobs',
    job: `/jobs/${job}`,
    workers: '/workers',
    worker: `/workers/${worker}`,
    sharing: '/sharing',
    limits: '/limits',
    limit: `/limits/${limit}`,
    strategies: '/strategies',
  };
}

export class Tab {
  // A window of its own, with no memory of others.
  static async open(browser, server, path, { width = 1400, height = 900, theme = 'light' } = {}) {
    const tab = new Tab();
    tab.server = server;
    tab.context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: 'reduce' });
    tab.context.setDefaultTimeout(kBound);
    await tab.context.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', (event) => {
        console.error(`content security policy: ${event.violatedDirective} ${event.blockedURI}`);
      });
    });
    tab.page = await tab.context.newPage();
    tab.errors = [];
    tab.requests = [];
    tab.page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') tab.errors.push(`${message.text()} (${message.location().url})`);
    });
    tab.page.on('pageerror', (error) => tab.errors.push(`uncaught: ${error.stack ?? error}`));
    tab.context.on('request', (request) => tab.requests.push({ method: request.method(), url: request.url(), document: request.isNavigationRequest() }));
    tab.page.on('dialog', (dialog) => {
      tab.errors.push(`a dialog of the browser: ${dialog.message()}`);
      dialog.dismiss().catch(() => {});
    });
    await tab.go(path);
    return tab;
  }

  async go(path) {
    await this.page.goto(this.server.url + path);
    await this.page.locator('#main').first().waitFor();
  }

  async close() {
    await this.context.close();
  }

  // Nothing went wrong, but for what `allowed` describes.
  clean(allowed = /^$/) {
    assert.deepEqual(this.errors.filter((text) => !allowed.test(text)), []);
    for (const { url, document } of this.requests) {
      const { origin, pathname, protocol } = new URL(url);
      if (protocol === 'data:') continue;
      assert.equal(origin, this.server.url, `a request to elsewhere: ${url}`);
      if (!document) assert.ok(kPaths.some((path) => path.test(pathname)), `an unexpected request: ${url}`);
    }
  }

  text(selector = '#main') {
    return this.page.locator(selector).first().innerText();
  }

  // Waits until all of these are among what is shown there.
  async shows(texts, selector = '#main') {
    const wanted = [texts].flat();
    let text = '';
    try {
      await eventually('shown', async () => {
        text = await this.text(selector);
        return wanted.every((one) => (one instanceof RegExp ? one.test(text) : text.includes(one)));
      });
    } catch {
      const missing = wanted.filter((one) => !(one instanceof RegExp ? one.test(text) : text.includes(one)));
      assert.fail(`${this.page.url()} does not show ${missing.map(String).join(' | ')}, but:\n${text.slice(0, 4000)}`);
    }
  }

  row(id) {
    return this.page.locator(`#main [data-row="${id}"]`);
  }

  button(name, inside = '#main') {
    return this.page.locator(inside).getByRole('button', { name, exact: true }).first();
  }

  async press(name, inside = '#main') {
    await this.button(name, inside).click();
  }

  // The dialog that asks whether one is sure: what it asks, and the answer yes.
  async asked() {
    await this.page.locator('dialog[open]').waitFor();
    return this.page.locator('dialog[open] h2').innerText();
  }

  async sure(name) {
    await this.press(name, 'dialog[open]');
    await this.page.locator('dialog[open]').waitFor({ state: 'detached' });
  }

  async toast(text) {
    await this.page.locator('.toasts').getByText(text).first().waitFor();
  }

  // How far the page can be scrolled to the side, and what sticks out.
  sideways() {
    return this.page.evaluate(() => {
      const { scrollWidth, clientWidth } = document.documentElement;
      const wide = scrollWidth <= clientWidth ? [] : [...document.querySelectorAll('body *')]
        .map((one) => ({ one, right: one.getBoundingClientRect().left + Math.max(one.offsetWidth ?? 0, one.scrollWidth) }))
        .filter(({ right }) => right > clientWidth + 1)
        .map(({ one, right }) => `${one.tagName.toLowerCase()}.${one.className} ${Math.round(right)} ${one.textContent.slice(0, 30)}`).reverse();
      return { by: scrollWidth - clientWidth, wide: wide.slice(0, 8) };
    });
  }
}
