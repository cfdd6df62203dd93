// Node has a WebSocket of its own from 22 on only. By its path: `ws` itself refuses to be in a browser.
const { WebSocket } = (await import(new URL('../../node_modules/ws/wrapper.mjs', import.meta.url).href)) as typeof import('ws');

Object.assign(globalThis, { WebSocket });
export {};
