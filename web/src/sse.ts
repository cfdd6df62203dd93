// SPDX-License-Identifier: Apache-2.0
// A parser of server-sent events, fed with text in any pieces.
export interface SseEvent {
  event: string;
  data: string;
}

export class SseParser {
  private rest = '';
  private event = '';
  private data: string[] = [];

  // The events that are complete with this piece.
  feed(text: string): SseEvent[] {
    const events: SseEvent[] = [];
    this.rest += text;
    for (;;) {
      const match = /\r\n|\n|\r/.exec(this.rest);
      if (!match) break;
      // A CR at the very end may be the first half of a CRLF.
      if (match[0] === '\r' && match.index === this.rest.length - 1) break;
      const line = this.rest.slice(0, match.index);
      this.rest = this.rest.slice(match.index + match[0].length);
      const done = this.line(line);
      if (done) events.push(done);
    }
    return events;
  }

  private line(line: string): SseEvent | null {
    if (line === '') {
      const done = this.data.length ? { event: this.event || 'message', data: this.data.join('\n') } : null;
      this.event = '';
      this.data = [];
      return done;
    }
    if (line.startsWith(':')) return null;
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? '' : line.slice(colon + 1);
    if (value.startsWith(' ')) value = value.slice(1);
    if (field === 'event') this.event = value;
    else if (field === 'data') this.data.push(value);
    return null;
  }
}
