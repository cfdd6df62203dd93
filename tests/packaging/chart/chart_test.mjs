// SPDX-License-Identifier: Apache-2.0
// The Helm chart without Helm: rendered with several values, and what comes out is what Kubernetes' own types have.
// Where `helm` is there, it lints the chart, and has to render the same.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import Ajv from 'ajv';
import ts from 'typescript';
import { parseAllDocuments, parse } from 'yaml';
import { over, renderChart } from './template.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const chart = join(root, 'packaging/helm/allotter');
const files = Object.fromEntries(
  readdirSync(chart, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const path = join(entry.parentPath ?? entry.path, entry.name);
      return [path.slice(chart.length + 1), readFileSync(path, 'utf8')];
    }),
);
const values = parse(files['values.yaml']);

const kCases = {
  'as it is': {},
  'with TLS, a database, names and settings': {
    tls: { existingSecret: 'cert' },
    store: { existingSecret: 'database' },
    allowedHosts: ['queue.example.com'],
    settings: { worker_grace: '1m', max_connections: 100, allow_no_standby: true },
    persistence: { storageClass: 'fast' },
    imagePullSecrets: [{ name: 'registry' }],
    image: { repository: 'registry.example:5000/a/allotter', tag: '1.2.3' },
  },
  'placed and watched': {
    metrics: { serviceMonitor: true, tokenSecret: 'prometheus' },
    podAnnotations: { 'a.example/b': 'true' },
    nodeSelector: { disk: 'ssd' },
    tolerations: [{ key: 'queue', operator: 'Exists', effect: 'NoSchedule' }],
    affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: { matchExpressions: [] } }] } },
    service: { type: 'LoadBalancer', port: 80, annotations: { note: 'x: y' } },
  },
};

const folder = mkdtempSync(join(tmpdir(), 'allot-chart-'));
after(() => rmSync(folder, { recursive: true }));

// Objects as TypeScript literals: a field that the type lacks, or one of another type, does not compile.
function typeErrors(objects) {
  const kTypes = { 'apps/v1 StatefulSet': 'apps/v1', 'v1 Service': 'core/v1' };
  const types = createRequire(import.meta.url).resolve('kubernetes-types/package.json').replace(/\/package.json$/, '');
  const lines = objects.flatMap((object, i) => {
    const from = kTypes[`${object.apiVersion} ${object.kind}`];
    if (!from) return [];
    return [
      `import type { ${object.kind} as T${i} } from ${JSON.stringify(`${types}/${from}`)};`,
      `export const o${i}: T${i} = ${JSON.stringify(object, null, 1)};`,
    ];
  });
  assert.ok(lines.length >= 4, 'no object has a type that is known');
  const file = join(folder, 'objects.ts');
  writeFileSync(file, lines.join('\n'));
  const program = ts.createProgram([file], { strict: true, noEmit: true, skipLibCheck: true, types: [] });
  return ts.getPreEmitDiagnostics(program).map((one) => ts.flattenDiagnosticMessageText(one.messageText, '\n'));
}

const ajv = new Ajv({ allowUnionTypes: true, strict: false });
const schema = ajv.compile(JSON.parse(files['values.schema.json']));

for (const [name, changes] of Object.entries(kCases)) {
  test(`the chart, ${name}, is what Kubernetes takes`, () => {
    assert.ok(schema(over(values, changes)), JSON.stringify(schema.errors));
    const out = renderChart(files, changes);
    const objects = Object.values(out).filter((one) => one !== null && typeof one === 'object');
    assert.deepEqual(typeErrors(objects), []);
    const set = out['templates/statefulset.yaml'];
    const pod = set.spec.template.spec;
    const [container] = pod.containers;
    // What is selected is there, and what is mounted is a volume.
    for (const [key, value] of Object.entries(set.spec.selector.matchLabels)) assert.equal(set.spec.template.metadata.labels[key], value);
    assert.deepEqual(out['templates/service.yaml'].spec.selector, set.spec.selector.matchLabels);
    assert.equal(set.spec.serviceName, out['templates/service.yaml'].metadata.name);
    const volumes = [...pod.volumes, ...set.spec.volumeClaimTemplates.map((claim) => claim.metadata)].map((volume) => volume.name);
    assert.deepEqual(container.volumeMounts.map((mount) => mount.name).sort(), volumes.sort());
    // The image's own user, nothing to write to but the volume.
    assert.equal(pod.securityContext.runAsUser, 10001);
    assert.equal(container.securityContext.readOnlyRootFilesystem, true);
    assert.match(out['templates/NOTES.txt'], /port-forward service\/queue-allotter/);
    for (const { name } of container.env) assert.match(name, /^ALLOT_[A-Z_]+$/);
  });
}

test('values arrive where they are meant', () => {
  const out = renderChart(files, kCases['with TLS, a database, names and settings']);
  const [container] = out['templates/statefulset.yaml'].spec.template.spec.containers;
  const env = Object.fromEntries(container.env.map(({ name, value }) => [name, value]));
  assert.equal(env.ALLOT_WORKER_GRACE, '1m');
  assert.equal(env.ALLOT_MAX_CONNECTIONS, '100');
  assert.equal(env.ALLOT_ALLOWED_HOSTS.split(',').at(-1), 'queue.example.com');
  assert.ok(env.ALLOT_ALLOWED_HOSTS.split(',').includes('queue-allotter.jobs.svc'));
  assert.equal(container.image, 'registry.example:5000/a/allotter:1.2.3');
  assert.equal(container.readinessProbe.httpGet.scheme, 'HTTPS');
  const plain = renderChart(files, {});
  assert.equal(plain['templates/statefulset.yaml'].spec.template.spec.containers[0].image, `registry.example/allotter:${parse(files['Chart.yaml']).appVersion}`);
  assert.equal(plain['templates/servicemonitor.yaml'], null);
  assert.equal(renderChart(files, kCases['placed and watched'])['templates/servicemonitor.yaml'].spec.endpoints[0].authorization.credentials.name, 'prometheus');
});

test('settings are settings of the server, and wrong values are refused', () => {
  const known = execFileSync(process.env.ALLOT_BIN, ['config', 'show', '-o', 'id'], { encoding: 'utf8' }).split('\n');
  for (const setting of Object.keys(kCases['with TLS, a database, names and settings'].settings)) assert.ok(known.includes(setting), setting);
  for (const wrong of [
    { unknown: 1 },
    { settings: { listen: '0.0.0.0:1' } },
    { settings: { worker_grace: [] } },
    { tokens: { existingSecret: '' } },
    { service: { port: 0 } },
    { persistence: { accessModes: ['ReadWriteMany'] } },
    { metrics: { serviceMonitor: true } },
  ])
    assert.equal(schema(over(values, wrong)), false, JSON.stringify(wrong));
});

test('helm agrees', (t) => {
  try {
    execFileSync('helm', ['version'], { stdio: 'ignore' });
  } catch {
    return t.skip('no helm');
  }
  execFileSync('helm', ['lint', '--strict', chart], { stdio: 'inherit' });
  for (const changes of Object.values(kCases)) {
    const file = join(folder, 'values.json');
    writeFileSync(file, JSON.stringify(changes));
    const rendered = execFileSync('helm', ['template', 'queue', chart, '--namespace', 'jobs', '--values', file], { encoding: 'utf8' });
    const theirs = parseAllDocuments(rendered).map((one) => one.toJS()).filter(Boolean);
    const ours = Object.values(renderChart(files, changes)).filter((one) => one !== null && typeof one === 'object');
    const byKind = (a, b) => (a.kind < b.kind ? -1 : 1);
    assert.deepEqual(ours.sort(byKind), theirs.sort(byKind));
  }
});
