// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';

import { task, Worker } from 'allotter';
import ts from 'typescript';
import { Server } from './server.js';

const run = promisify(execFile);
const root = new URL('../../', import.meta.url);
const place = new URL('build/readme/', root);

// The blocks of README.md, and of the project's own pages, by page and the line at which they begin. What a page outside
// of the package does not run is not compiled either: it may be somebody else's.
async function blocks(): Promise<{ name: string; run: boolean; text: string }[]> {
  const project = new URL('../../', root);
  const inDocs = (await readdir(new URL('docs/', project), { recursive: true })).filter((path) => path.endsWith('.md')).sort();
  const pages = [new URL('README.md', root), new URL('README.md', project), ...inDocs.map((path) => new URL(`docs/${path}`, project))];
  const found: { name: string; run: boolean; text: string }[] = [];
  for (const [n, page] of pages.entries()) {
    const lines = (await readFile(page, 'utf8')).split('\n');
    const name = fileURLToPath(page)
      .slice(fileURLToPath(n === 0 ? root : project).length)
      .replace(/\W/g, '_');
    for (let i = 0; i < lines.length; i++) {
      if (lines[i] !== '```ts') continue;
      const end = lines.indexOf('```', i);
      const run = !lines[i - 1]?.startsWith('<!-- not run');
      const block = { name: `${n === 0 ? 'package_' : ''}${name}_${i + 1}`, run, text: lines.slice(i + 1, end).join('\n') + '\n' };
      if (run || n === 0) found.push(block);
      i = end;
    }
  }
  return found;
}

describe('README.md and examples/', () => {
  let server: Server;
  const stop = new AbortController();
  let working: Promise<void>;
  before(async () => {
    server = await Server.start();
    const square = task<number, number>('square', (n) => n * n);
    working = new Worker([square], { server: server.url, handleSignals: false }).run({ signal: stop.signal });
    await rm(place, { recursive: true, force: true });
    await mkdir(place, { recursive: true });
  });
  after(async () => {
    stop.abort();
    await working;
    await server.stop();
  });
  const program = (path: string) => run(process.execPath, [path], { timeout: 60_000, env: { ...process.env, ALLOT_SERVER: server.url } });

  it('have blocks that compile, strictly, and that run', async () => {
    const all = await blocks();
    assert.ok(all.length >= 9);
    const files: string[] = [];
    for (const { name, text } of all) {
      files.push(fileURLToPath(new URL(`${name}.ts`, place)));
      await writeFile(files.at(-1)!, text);
    }
    const options: ts.CompilerOptions = {
      ...{ target: ts.ScriptTarget.ES2022, lib: ['lib.es2022.d.ts'], types: ['node'], strict: true, noUncheckedIndexedAccess: true },
      ...{ module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, skipLibCheck: true },
    };
    const compiled = ts.createProgram(files, options);
    const { diagnostics } = compiled.emit();
    const problems = [...ts.getPreEmitDiagnostics(compiled), ...diagnostics];
    const host = { getCurrentDirectory: () => '', getCanonicalFileName: (name: string) => name, getNewLine: () => '\n' };
    assert.equal(ts.formatDiagnostics(problems, host), '');
    for (const [i, block] of all.entries()) if (block.run) await program(files[i]!.replace(/ts$/, 'js'));
  });
  it('have a first example that squares', async () => {
    const { stdout } = await program(fileURLToPath(new URL('build/examples/square.js', root)));
    assert.equal(stdout, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((n) => `${n * n}\n`).join(''));
  });
});
