// SPDX-License-Identifier: Apache-2.0
// The pictures of README and documents, from a real `allot demo`: `./dev pictures`
//
//   node tools/pictures.mjs PROGRAM FOLDER            all of them, after as many seconds of life as ALLOT_PICTURES_AFTER says
//   node tools/pictures.mjs PROGRAM FOLDER recording  only that of a terminal, which needs no browser
//
// overview.png, job.png   the dashboard
// explain.svg             a terminal: what was typed, and what the program answered
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const [program, folder, only] = process.argv.slice(2);
assert.ok(program && folder, 'usage: node tools/pictures.mjs PROGRAM FOLDER [recording]');
const kColumns = 92;

const place = mkdtempSync(join(tmpdir(), 'allot-pictures-'));
symlinkSync(resolve(program), join(place, 'allot'));
const demo = spawn(join(place, 'allot'), ['demo', '--listen', '127.0.0.1:0', '--for', '5m'], { stdio: ['ignore', 'pipe', 'inherit'] });
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function addressOf() {
  let said = '';
  for await (const chunk of demo.stdout) {
    said += chunk;
    const found = /The dashboard: (\S+)\//.exec(said);
    if (found) return found[1];
  }
  throw new Error(`the demo ended: ${said}`);
}

// --- A terminal.

// A line of a terminal as runs of text with their looks.
function runsOf(line) {
  const runs = [];
  let look = {};
  for (const part of line.split(/(\x1b\[[0-9;]*m)/)) {
    const code = /^\x1b\[([0-9;]*)m$/.exec(part);
    if (!code) {
      if (part) runs.push({ ...look, text: part });
      continue;
    }
    for (const number of (code[1] || '0').split(';').map(Number)) {
      if (number === 0) look = {};
      else if (number === 1) look = { ...look, bold: true };
      else if (number === 2) look = { ...look, dim: true };
      else if (number >= 30 && number <= 37) look = { ...look, colour: number - 30 };
      else if (number === 39) delete look.colour;
      else throw new Error(`the terminal got what this does not know: ${number}`);
    }
  }
  return runs;
}

const kColours = ['#3b4252', '#ef6b73', '#8fc983', '#e6c07b', '#74aef5', '#c792ea', '#6cc7d6', '#d8dee9'];
const escapeXml = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');

// Frames: lines, and when in seconds each of them is there. Without animation all of them are.
function terminal(frames, seconds) {
  const width = 8.43, height = 19, left = 18, top = 44;
  const rows = frames.map(({ at, runs }, i) => {
    let column = 0;
    const texts = runs.map((run) => {
      const x = (left + column * width).toFixed(1);
      const length = [...run.text].length;
      column += length;
      if (!run.text.trim()) return '';
      const fill = run.colour === undefined ? (run.dim ? '#8a94a6' : '#d8dee9') : kColours[run.colour];
      const weight = run.bold ? ' font-weight="bold"' : '';
      return `<text x="${x}" y="${top + i * height}" fill="${fill}"${weight} textLength="${(length * width).toFixed(1)}" lengthAdjust="spacingAndGlyphs" xml:space="preserve">${escapeXml(run.text)}</text>`;
    });
    const from = (at / seconds).toFixed(4);
    const appears = `<animate attributeName="opacity" values="0;1;1" keyTimes="0;${from};1" calcMode="discrete" dur="${seconds}s" repeatCount="indefinite"/>`;
    return `<g>${at > 0 ? appears : ''}${texts.join('')}</g>`;
  });
  const across = Math.round(2 * left + kColumns * width), down = top + frames.length * height;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${across} ${down}" width="${across}" height="${down}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">
<rect width="${across}" height="${down}" rx="8" fill="#1d222b"/>
<circle cx="20" cy="18" r="5" fill="#596273"/><circle cx="37" cy="18" r="5" fill="#596273"/><circle cx="54" cy="18" r="5" fill="#596273"/>
${rows.join('\n')}
</svg>
`;
}

function record(server) {
  const env = { ...process.env, PATH: `${place}:${process.env.PATH}`, ALLOT_SERVER: server, TERM: 'xterm-256color', LINES: '40', COLUMNS: String(kColumns) };
  delete env.NO_COLOR;
  const frames = [];
  let at = 0;
  for (const command of ['allot submit --tag thumbnail --count 20', 'allot explain last']) {
    frames.push({ at, runs: [{ text: '$ ', dim: true }, { text: command, bold: true }] });
    at += 1.2;
    const said = execFileSync('script', ['-qefc', `stty cols ${kColumns}; ${command}`, '/dev/null'], { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
    for (const line of said.replace(/\r\n/g, '\n').trimEnd().split('\n')) {
      const runs = runsOf(line.trimEnd());
      assert.ok(runs.reduce((sum, run) => sum + [...run.text].length, 0) <= kColumns + 8, `a line is too long: ${line}`);
      frames.push({ at, runs });
      at += 0.06;
    }
    frames.push({ at, runs: [] });
    at += 1.2;
  }
  return terminal(frames.slice(0, -1), Math.ceil(at + 9));
}

// --- The dashboard.

async function pictures(server) {
  const { launch } = await import('../tests/web/browser.mjs');
  const browser = await launch();
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: 'light', reducedMotion: 'reduce' });
    const page = await context.newPage();
    const shoot = async (path, name, ready) => {
      await page.goto(server + path);
      await page.getByText(ready).first().waitFor();
      await page.waitForFunction(() => !document.getElementById('main').innerText.includes('loading…'));
      await sleep(3000); // what is live has come
      await page.screenshot({ path: join(folder, name) });
    };
    await shoot('/q/default', 'overview.png', 'Why tasks wait');
    const answer = await (await fetch(`${server}/v1/queues/default/jobs?user=eli&limit=1`)).json();
    await shoot(`/jobs/${answer.jobs[0].id}`, 'job.png', 'Why it waits');
  } finally {
    await browser.close();
  }
}

try {
  const server = await addressOf();
  mkdirSync(folder, { recursive: true });
  const explained = record(server);
  if (only !== 'recording') {
    await sleep(1000 * Number(process.env.ALLOT_PICTURES_AFTER ?? 90));
    await pictures(server);
  }
  writeFileSync(join(folder, 'explain.svg'), explained);
} finally {
  demo.kill('SIGINT');
  rmSync(place, { recursive: true });
}
