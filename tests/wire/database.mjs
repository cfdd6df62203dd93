// SPDX-License-Identifier: Apache-2.0
// A PostgreSQL of one's own, in a folder that goes with it: it ends with stop(), at the latest with this process.
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { eventually } from '../web/server.mjs';

export function freePort() {
  return new Promise((resolve, reject) => {
    const listening = createServer().once('error', reject);
    listening.listen(0, '127.0.0.1', () => {
      const { port } = listening.address();
      listening.close(() => resolve(port));
    });
  });
}

// The newest that is installed.
function programs() {
  const versions = '/usr/lib/postgresql';
  const newest = existsSync(versions) ? readdirSync(versions).map(Number).sort((a, b) => b - a)[0] : undefined;
  const folder = process.env.ALLOT_POSTGRES_BIN ?? join(versions, String(newest), 'bin');
  return existsSync(join(folder, 'initdb')) ? folder : null;
}

export class Database {
  // null where there is no PostgreSQL.
  static async start() {
    const bin = programs();
    if (!bin) return null;
    const database = new Database();
    await database.#begin(bin);
    return database;
  }

  async #begin(bin) {
    this.folder = mkdtempSync(join(tmpdir(), 'allot-database-'));
    chmodSync(this.folder, 0o711);
    const home = join(this.folder, 'pg');
    mkdirSync(home);
    const who = {};
    // It does not run as root.
    if (process.getuid() === 0) {
      who.uid = Number(execFileSync('id', ['-u', 'nobody']));
      who.gid = Number(execFileSync('id', ['-g', 'nobody']));
      chownSync(home, who.uid, who.gid);
    }
    const options = { ...who, cwd: home, env: { ...process.env, HOME: home }, stdio: 'ignore' };
    execFileSync(join(bin, 'initdb'), ['-D', join(home, 'data'), '-U', 'allot', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'], options);
    this.process = spawn(join(bin, 'postgres'), ['-D', join(home, 'data'), '-k', home, '-h', ''], options);
    process.on('exit', () => this.stop());
    this.url = `postgres://allot@/postgres?host=${home}`;
    await eventually('the database answers', () => {
      execFileSync(join(bin, 'pg_isready'), ['-h', home, '-q'], { stdio: 'ignore' });
      return true;
    });
  }

  stop() {
    if (!this.process) return;
    this.process.kill('SIGQUIT');
    this.process = null;
    rmSync(this.folder, { recursive: true, force: true });
  }
}
