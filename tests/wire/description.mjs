// SPDX-License-Identifier: Apache-2.0
// What the server says of itself, /v1/openapi.json, and whether what it then says is that.
import assert from 'node:assert/strict';

import { Validator } from '@seriousme/openapi-schema-validator';
import Ajv from 'ajv/dist/2020.js';

const kSchemas = '#/components/schemas/';

export class Description {
  // All that was seen: operations, parameters, fields of answers.
  #seen = new Set();

  constructor(document) {
    this.document = document;
    this.schemas = document.components.schemas;
    // Clients ignore what they do not know; a test knows everything.
    const strict = structuredClone(document.components);
    for (const schema of Object.values(strict.schemas)) {
      if (schema.properties) schema.additionalProperties = false;
    }
    this.ajv = new Ajv({ strict: false, allErrors: true });
    this.ajv.addSchema({ $id: 'api', components: strict });
  }

  static async of(server) {
    const document = await (await fetch(`${server.url}/v1/openapi.json`)).json();
    const result = await new Validator().validate(structuredClone(document));
    assert.ok(result.valid, `it is no OpenAPI: ${JSON.stringify(result.errors)}`);
    assert.equal(document.openapi, '3.1.0');
    return new Description(document);
  }

  operation(method, path) {
    const operation = this.document.paths[path]?.[method.toLowerCase()];
    assert.ok(operation, `${method} ${path} is not described`);
    this.#seen.add(`${method} ${path}`);
    return operation;
  }

  parameter(method, path, name) {
    const parameter = this.operation(method, path).parameters.find((one) => one.in === 'query' && one.name === name);
    assert.ok(parameter, `${method} ${path}?${name} is not described`);
    this.#seen.add(`${method} ${path}?${name}`);
  }

  // `what` for messages.
  check(schema, value, what) {
    if (!schema) return; // JSON, but not of ours
    const validate = this.ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll(kSchemas, `api${kSchemas}`)));
    if (!validate(value)) {
      const faults = validate.errors.map((error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`);
      assert.fail(`${what} is not as described:\n  ${faults.slice(0, 5).join('\n  ')}\n  ${JSON.stringify(value).slice(0, 2000)}`);
    }
    this.#see(schema, value);
  }

  // Notes which fields were there, and not null.
  #see(schema, value) {
    if (value === null || value === undefined) return;
    if (schema.anyOf) {
      // Of two objects it is the one that has all of its fields.
      for (const one of schema.anyOf) if (!one.$ref || this.#fits(one.$ref, value)) this.#see(one, value);
    }
    if (schema.$ref) {
      const name = schema.$ref.slice(kSchemas.length);
      for (const [key, field] of Object.entries(this.schemas[name].properties ?? {})) {
        if (value[key] === undefined || value[key] === null) continue;
        this.#seen.add(`${name}.${key}`);
        this.#see(field, value[key]);
      }
    }
    if (schema.items) for (const item of value) this.#see(schema.items, item);
  }

  #fits(reference, value) {
    return Object.keys(value).every((key) => this.schemas[reference.slice(kSchemas.length)].properties?.[key] !== undefined);
  }

  #of(schema, found = new Set()) {
    for (const match of JSON.stringify(schema ?? {}).matchAll(/#\/components\/schemas\/(\w+)/g)) {
      if (found.has(match[1])) continue;
      found.add(match[1]);
      this.#of(this.schemas[match[1]], found);
    }
    return found;
  }

  // Operations, parameters and fields that nobody has seen.
  unseen() {
    const all = [];
    const answered = new Set();
    for (const [path, methods] of Object.entries(this.document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const name = `${method.toUpperCase()} ${path}`;
        all.push(name);
        for (const parameter of operation.parameters) if (parameter.in === 'query') all.push(`${name}?${parameter.name}`);
        this.#of([operation.responses, operation['x-websocket']?.server], answered);
        this.#of([operation.requestBody, operation['x-websocket']?.client], answered);
      }
    }
    for (const name of answered) for (const key of Object.keys(this.schemas[name].properties ?? {})) all.push(`${name}.${key}`);
    return all.filter((name) => !this.#seen.has(name));
  }
}
