// SPDX-License-Identifier: Apache-2.0
// What is around every page: queue, navigation, theme, who one is, the state of the connection.
import { useEffect, useState } from 'preact/hooks';
import { get } from './api';
import { useNow } from './clock';
import { Confirmations, Dialog, Toasts } from './components/feedback';
import * as format from './format';
import icon from './icon.svg';
import { keysShown, kGo } from './keys';
import { lostSince } from './live';
import { JobPage } from './pages/job';
import { JobsPage } from './pages/jobs';
import { LimitPage } from './pages/limit';
import { LimitsPage } from './pages/limits';
import { OverviewPage } from './pages/overview';
import { QueuesPage } from './pages/queues';
import { SharingPage } from './pages/sharing';
import { SignInPage } from './pages/sign_in';
import { StrategiesPage } from './pages/strategies';
import { WorkerPage } from './pages/worker';
import { WorkersPage } from './pages/workers';
import { href, navigate, route } from './router';
import type { Page, Route } from './router';
import { begin, server, sessionState, signOut, you } from './session';
import { setTheme, theme } from './theme';
import type { Theme } from './theme';
import type { Queue } from './types';

// Which page of the navigation a page belongs to.
const kPart: Partial<Record<Page, Page>> = { job: 'jobs', worker: 'workers', limit: 'limits' };

function Content({ at }: { at: Route }) {
  switch (at.page) {
    case 'queues':
      return <QueuesPage />;
    case 'overview':
      return <OverviewPage key={at.queue} queue={at.queue} />;
    case 'jobs':
      return <JobsPage key={at.queue} queue={at.queue} query={at.query} />;
    case 'job':
      return <JobPage key={`${at.queue}/${at.id}`} queue={at.queue} id={at.id} query={at.query} />;
    case 'workers':
      return <WorkersPage key={at.queue} queue={at.queue} query={at.query} />;
    case 'worker':
      return <WorkerPage key={`${at.queue}/${at.id}`} queue={at.queue} id={at.id} query={at.query} />;
    case 'sharing':
      return <SharingPage key={at.queue} queue={at.queue} query={at.query} />;
    case 'limits':
      return <LimitsPage key={at.queue} queue={at.queue} query={at.query} />;
    case 'limit':
      return <LimitPage key={`${at.queue}/${at.id}`} queue={at.queue} id={at.id} query={at.query} />;
    case 'strategies':
      return <StrategiesPage key={at.queue} queue={at.queue} query={at.query} />;
    case 'unknown':
      return (
        <>
          <h1>No such page</h1>
          <p>
            There is nothing at this address. <a href="/">All queues</a>
          </p>
        </>
      );
  }
}

function QueueSwitch({ at }: { at: Route }) {
  const [names, setNames] = useState<string[]>([at.queue]);
  const load = () => {
    get<{ queues: Queue[] }>('/v1/queues').then(
      ({ queues }) => setNames(queues.map((queue) => queue.name)),
      () => {},
    );
  };
  useEffect(load, [sessionState.value]);
  const all = names.includes(at.queue) ? names : [at.queue, ...names];
  const change = (queue: string) => {
    const part = kPart[at.page] ?? at.page;
    navigate(href(part === 'queues' || part === 'unknown' ? 'overview' : part, queue));
  };
  return (
    <label class="queue-switch">
      <span class="visually-hidden">queue</span>
      <select value={at.page === 'queues' ? '' : at.queue} onFocus={load} onChange={(event) => change(event.currentTarget.value)}>
        {at.page === 'queues' && <option value="">all queues</option>}
        {all.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function ThemeSwitch() {
  const order: Theme[] = ['auto', 'light', 'dark'];
  const next = order[(order.indexOf(theme.value) + 1) % 3]!;
  const mark = { auto: '◐', light: '☀', dark: '☾' }[theme.value];
  return (
    <button
      type="button"
      class="plain"
      title={`theme: ${theme.value}`}
      aria-label={`theme: ${theme.value}; switch to ${next}`}
      onClick={() => setTheme(next)}>
      <span aria-hidden="true">{mark}</span>
    </button>
  );
}

function Lost() {
  const now = useNow();
  void now;
  const since = lostSince.value;
  if (since === null) return null;
  return (
    <div class="lost" role="status">
      Connection lost, last seen {format.duration(Math.max(0, Date.now() - since))} ago. Trying again…
    </div>
  );
}

function Keys() {
  if (!keysShown.value) return null;
  return (
    <Dialog title="Keys" onClose={() => (keysShown.value = false)}>
      <dl class="keys">
        {kGo.map(([key, , name]) => (
          <div key={key}>
            <dt>
              <kbd>g</kbd> <kbd>{key}</kbd>
            </dt>
            <dd>{name}</dd>
          </div>
        ))}
        <div>
          <dt>
            <kbd>/</kbd>
          </dt>
          <dd>Filter</dd>
        </div>
        <div>
          <dt>
            <kbd>j</kbd> <kbd>k</kbd>
          </dt>
          <dd>Next and previous row</dd>
        </div>
        <div>
          <dt>
            <kbd>Enter</kbd>
          </dt>
          <dd>Open the row</dd>
        </div>
        <div>
          <dt>
            <kbd>x</kbd>
          </dt>
          <dd>Select the row</dd>
        </div>
        <div>
          <dt>
            <kbd>Esc</kbd>
          </dt>
          <dd>Leave a field, close a dialog</dd>
        </div>
        <div>
          <dt>
            <kbd>?</kbd>
          </dt>
          <dd>This list</dd>
        </div>
      </dl>
      <div class="dialog-buttons">
        <button type="button" autoFocus onClick={() => (keysShown.value = false)}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

function Unreachable() {
  useEffect(() => {
    const timer = setInterval(begin, 2000);
    return () => clearInterval(timer);
  }, []);
  return (
    <main id="main" class="sign-in">
      <h1>Allotter</h1>
      <p role="status">The server cannot be reached. Trying again…</p>
    </main>
  );
}

export function App() {
  const state = sessionState.value;
  const at = route.value;
  const part = kPart[at.page] ?? at.page;
  useEffect(() => {
    const what = at.page === 'queues' ? 'Queues' : `${at.id ? `${at.page} ${at.id}` : at.page} · ${at.queue}`;
    document.title = state === 'signed_out' ? 'Sign in · Allotter' : `${what} · Allotter`;
  });
  if (state === 'starting')
    return (
      <main id="main" class="sign-in">
        <p class="quiet">…</p>
      </main>
    );
  if (state === 'unreachable') return <Unreachable />;
  if (state === 'signed_out')
    return (
      <>
        <SignInPage />
        <Toasts />
      </>
    );
  const me = you.value;
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById('main')?.focus();
        }}>
        Skip to content
      </a>
      <header class="top">
        <a class="brand" href="/" aria-label="Allotter: all queues">
          <img src={icon} alt="" width="20" height="20" />
          <span>Allotter</span>
        </a>
        <QueueSwitch at={at} />
        <nav aria-label="pages">
          {kGo.slice(0, 6).map(([key, page, name]) => (
            <a key={page} href={href(page, at.queue)} aria-current={part === page ? 'page' : undefined} title={`g ${key}`}>
              {name}
            </a>
          ))}
        </nav>
        <div class="top-right">
          {me.tokens && (
            <span class="who" title={`scopes: ${me.scopes.join(', ') || 'none'}`}>
              {me.name ?? me.user ?? 'signed in'}
            </span>
          )}
          {me.tokens && (
            <button type="button" class="plain" onClick={signOut}>
              Sign out
            </button>
          )}
          <a class="manual" href="/docs/" target="_blank">
            Docs
          </a>
          <ThemeSwitch />
          <button type="button" class="plain" aria-label="keys" title="keys: ?" onClick={() => (keysShown.value = true)}>
            ?
          </button>
        </div>
      </header>
      <Lost />
      <main id="main" tabIndex={-1}>
        <Content at={at} />
      </main>
      <footer class="foot">Allotter {server.value?.version ?? ''}</footer>
      <Keys />
      <Confirmations />
      <Toasts />
    </>
  );
}
