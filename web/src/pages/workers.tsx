import { Empty } from '../components/feedback';

export function WorkersPage(_: { queue: string; query: URLSearchParams }) {
  return <><h1>Workers</h1><Empty>Not available yet.</Empty></>;
}
