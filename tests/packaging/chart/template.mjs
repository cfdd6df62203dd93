// SPDX-License-Identifier: Apache-2.0
// As much of Helm's templates as the chart uses: Go's text/template with a dozen functions. What it does not know is an
// error, so the chart stays within it, or this learns more.
import { parse, stringify } from 'yaml';

function tokensOf(text) {
  const tokens = [];
  for (const [, string, raw, word, sign] of text.matchAll(/"((?:[^"\\]|\\.)*)"|`([^`]*)`|([^\s"`()|,:=]+)|(:=|[()|,=])/g)) {
    if (string !== undefined) tokens.push({ value: JSON.parse(`"${string}"`) });
    else if (raw !== undefined) tokens.push({ value: raw });
    else if (word !== undefined) tokens.push({ word });
    else tokens.push({ sign });
  }
  return tokens;
}

const truthy = (value) =>
  Array.isArray(value) ? value.length > 0 : value !== null && typeof value === 'object' ? Object.keys(value).length > 0 : Boolean(value);

const text = (value) => (value === undefined || value === null ? '' : String(value));

const kFunctions = {
  quote: (value) => JSON.stringify(text(value)),
  default: (other, value) => (truthy(value) ? value : other),
  nindent: (width, value) => `\n${text(value).replace(/^(?=.)/gm, ' '.repeat(width))}`,
  toYaml: (value) => stringify(value, { lineWidth: 0 }).trimEnd(),
  trunc: (length, value) => text(value).slice(0, length),
  trimSuffix: (suffix, value) => (text(value).endsWith(suffix) ? text(value).slice(0, -suffix.length) : text(value)),
  upper: (value) => text(value).toUpperCase(),
  printf: (form, ...values) => form.replace(/%s/g, () => text(values.shift())),
};

export class Templates {
  constructor() {
    this.defined = new Map();
  }

  // The parts of a template: texts and what stands in braces, with the white space that `{{-` and `-}}` take.
  parse(source) {
    const parts = [];
    let at = 0;
    for (const match of source.matchAll(/\{\{(-)?\s*([\s\S]*?)\s*(-)?\}\}/g)) {
      const [all, left, action, right] = match;
      const before = source.slice(at, match.index);
      parts.push({ text: left ? before.trimEnd() : before });
      parts.push({ action });
      at = match.index + all.length;
      if (right) at += /^\s*/.exec(source.slice(at))[0].length;
    }
    parts.push({ text: source.slice(at) });
    return this.block(parts, { at: 0 }, []);
  }

  block(parts, place, ends) {
    const nodes = [];
    while (place.at < parts.length) {
      const part = parts[place.at++];
      if (part.text !== undefined) {
        nodes.push({ kind: 'text', text: part.text });
        continue;
      }
      const [word, ...rest] = part.action.split(/\s+/);
      const argument = rest.join(' ');
      if (ends.includes(word)) return { nodes, end: word, argument };
      if (word === 'define') {
        this.defined.set(JSON.parse(argument), this.block(parts, place, ['end']).nodes);
      } else if (['if', 'with', 'range'].includes(word)) {
        const body = this.block(parts, place, ['else', 'end']);
        if (body.argument) throw new Error(`else ${body.argument} is not known here`);
        const other = body.end === 'else' ? this.block(parts, place, ['end']).nodes : [];
        nodes.push({ kind: word, argument, body: body.nodes, other });
      } else if (!part.action.startsWith('/*')) {
        nodes.push({ kind: 'value', argument: part.action });
      }
    }
    if (ends.length) throw new Error(`no {{ end }}`);
    return { nodes, end: '', argument: '' };
  }

  render(nodes, dot, names) {
    return nodes
      .map((node) => {
        if (node.kind === 'text') return node.text;
        if (node.kind === 'value') return text(this.value(node.argument, dot, names));
        if (node.kind === 'range') {
          const [, key, one, of] = /^(?:\$(\w+), \$(\w+) := )?(.*)$/.exec(node.argument);
          const entries = Object.entries(this.value(of, dot, names) ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
          return entries.map(([k, v]) => this.render(node.body, v, key ? { ...names, [key]: k, [one]: v } : names)).join('');
        }
        const value = this.value(node.argument, dot, names);
        return this.render(truthy(value) ? node.body : node.other, node.kind === 'with' && truthy(value) ? value : dot, names);
      })
      .join('');
  }

  value(source, dot, names) {
    const tokens = tokensOf(source);
    const place = { at: 0 };
    const value = this.pipeline(tokens, place, dot, names);
    if (place.at < tokens.length) throw new Error(`what is this: {{ ${source} }}`);
    return value;
  }

  pipeline(tokens, place, dot, names) {
    let value = this.call(tokens, place, dot, names, []);
    while (tokens[place.at]?.sign === '|') {
      place.at++;
      value = this.call(tokens, place, dot, names, [value]);
    }
    return value;
  }

  call(tokens, place, dot, names, piped) {
    const first = tokens[place.at];
    const named = first?.word && (Object.hasOwn(kFunctions, first.word) || first.word === 'include');
    if (!named) {
      if (piped.length) throw new Error(`there is no function ${first?.word}`);
      return this.operand(tokens, place, dot, names);
    }
    place.at++;
    const given = [];
    while (place.at < tokens.length && !['|', ')'].includes(tokens[place.at].sign)) given.push(this.operand(tokens, place, dot, names));
    if (first.word === 'include') {
      const [name, inner] = [...given, ...piped];
      if (!this.defined.has(name)) throw new Error(`there is no template ${name}`);
      return this.render(this.defined.get(name), inner, { $: inner });
    }
    return kFunctions[first.word](...given, ...piped);
  }

  operand(tokens, place, dot, names) {
    const token = tokens[place.at++];
    if (token?.sign === '(') {
      const value = this.pipeline(tokens, place, dot, names);
      if (tokens[place.at++]?.sign !== ')') throw new Error('no )');
      return value;
    }
    if (token && 'value' in token) return token.value;
    const word = token?.word ?? '';
    if (/^-?\d+$/.test(word)) return Number(word);
    const [, base, path] = /^(\$\w*)?(\.[\w.]*)?$/.exec(word) ?? [];
    if (base === undefined && path === undefined) throw new Error(`what is \`${word}\`?`);
    let value = base === undefined ? dot : base === '$' ? names.$ : names[base.slice(1)];
    for (const key of (path ?? '').split('.').filter(Boolean)) {
      if (value === null || typeof value !== 'object') throw new Error(`${word} is of nothing`);
      if (!Object.hasOwn(value, key) && value === names.$?.Values) throw new Error(`values.yaml has no ${word}`);
      value = value[key];
    }
    return value;
  }
}

// Values over values, as Helm lays them: maps are joined, all else is replaced.
export function over(base, changes) {
  if (changes === undefined) return base;
  const maps = [base, changes].every((one) => one !== null && typeof one === 'object' && !Array.isArray(one));
  if (!maps) return changes;
  return Object.fromEntries([...Object.keys(base), ...Object.keys(changes)].map((key) => [key, over(base[key], changes[key])]));
}

// What `helm template NAME` gives: the objects of each file.
export function renderChart(files, changes, release = { Name: 'queue', Namespace: 'jobs', Service: 'Helm' }) {
  const chart = parse(files['Chart.yaml']);
  const root = {
    Values: over(parse(files['values.yaml']), changes),
    Release: release,
    Chart: Object.fromEntries(Object.entries(chart).map(([key, value]) => [key[0].toUpperCase() + key.slice(1), value])),
  };
  const templates = new Templates();
  const parsed = Object.entries(files)
    .filter(([name]) => name.startsWith('templates/'))
    .map(([name, source]) => [name, templates.parse(source).nodes]);
  const out = {};
  for (const [name, nodes] of parsed) {
    if (name.endsWith('.tpl')) continue;
    const rendered = templates.render(nodes, root, { $: root });
    out[name] = name.endsWith('.yaml') ? parse(rendered) : rendered;
  }
  return out;
}
