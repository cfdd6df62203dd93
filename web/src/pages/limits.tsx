import { Empty } from '../components/feedback';

export function LimitsPage(_: { queue: string; query: URLSearchParams }) {
  return <><h1>Limits</h1><Empty>Not available yet.</Empty></>;
}
